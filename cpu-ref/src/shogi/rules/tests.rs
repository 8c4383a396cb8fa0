//! Positions whose moves are known.

use super::*;

fn moves(sfen: &str) -> Vec<String> {
    let mut moves: Vec<String> =
        Position::from_sfen(sfen).unwrap().legal_moves().into_iter().map(|(mv, _)| mv.usi()).collect();
    moves.sort();
    moves
}

#[test]
fn the_start_is_the_start() {
    assert_eq!(Position::from_sfen(START).unwrap(), Position::start());
    let counts: Vec<u64> = (0..=3).map(|depth| perft(&Position::start(), depth)).collect();
    assert_eq!(counts, [1, 30, 900, 25_470]);
}

#[test]
fn pieces_in_hand_go_anywhere_but_where_they_are_stuck() {
    let kings = "4k4/9/9/9/9/9/9/9/4K4 b";
    let drops = |hand: &str| moves(&format!("{kings} {hand} 1")).iter().filter(|mv| mv.contains('*')).count();
    assert_eq!(drops("G"), 79);
    assert_eq!(drops("P"), 71);
    assert_eq!(drops("L"), 71);
    assert_eq!(drops("N"), 62);
    // White's own last ranks are on the other side.
    let white = moves("4k4/9/9/9/9/9/9/9/4K4 w n 1");
    assert!(white.contains(&"N*1g".to_string()) && !white.contains(&"N*1h".to_string()));
}

#[test]
fn two_pawns_on_a_file_are_too_many() {
    let moves = moves("4k4/9/9/9/9/9/P7+P/9/4K4 b P 1");
    assert!(!moves.iter().any(|mv| mv.starts_with("P*9")));
    assert!(moves.contains(&"P*1b".to_string()));
}

#[test]
fn a_pawn_may_be_dropped_to_check_but_not_to_mate() {
    // White's king on 1a, guarded in by its own pieces; Black's gold guards 1b.
    let mate = "7nk/7l1/8G/9/9/9/9/9/4K4 b P 1";
    assert!(!moves(mate).contains(&"P*1b".to_string()));
    // With the gold away the king takes the pawn.
    let check = "7nk/7l1/9/9/9/9/9/9/4K4 b P 1";
    assert!(moves(check).contains(&"P*1b".to_string()));
}

#[test]
fn pinned_pieces_stay_and_checks_are_answered() {
    let pinned = moves("4k4/9/9/4r4/9/9/4S4/9/4K4 b - 1");
    assert!(pinned.contains(&"5g5f".to_string()) && !pinned.contains(&"5g4f".to_string()));
    let check = moves("4k4/9/9/4r4/9/9/9/9/4K4 b P 1");
    assert!(check.contains(&"P*5h".to_string()) && !check.contains(&"P*4h".to_string()));
    assert!(!check.contains(&"5i5h".to_string()));
}

#[test]
fn notation_comes_back() {
    for text in ["7g7f", "8h2b+", "P*5e", "R*1a", "9i9a"] {
        assert_eq!(Move::from_usi(text).unwrap().usi(), text);
    }
    for text in ["", "7g", "7g7f++", "0a1b", "K*5e", "7j7f", "P*", "７六歩"] {
        assert!(Move::from_usi(text).is_none(), "{text}");
    }
    for sfen in [
        "",
        "9/9 b -",
        "9/9/9/9/9/9/9/9/8 b -",
        "9/9/9/9/9/9/9/9/+G8 b -",
        "9/9/9/9/9/9/9/9/9 x -",
        "9/9/9/9/9/9/9/9/9 b 0P",
    ] {
        assert!(Position::from_sfen(sfen).is_err(), "{sfen}");
    }
}

#[test]
fn captured_pieces_are_turned_over() {
    let position = Position::from_sfen("4k4/9/9/9/9/4+p4/4R4/9/4K4 b - 1").unwrap();
    let children = children(&position, Move::from_usi("5g5f").unwrap()).unwrap();
    assert_eq!(children.positions[0].hands[0][0], 1);
    assert_eq!(children.positions[children.played], children.positions[0]);
    assert_eq!(children.differences[0], 0);
    // Another move has one pawn less, and the promoted pawn still against it.
    let other = children.differences.iter().find(|&&difference| difference != 0).unwrap();
    assert_eq!((crate::shogi::material::number(*other, 0), crate::shogi::material::number(*other, 7)), (-1, -1));
    assert_eq!(position.list()[38..], [44, 36]);
}

#[test]
fn games_at_random_keep_all_pieces() {
    let mut state = 11u64;
    let mut draw = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for _ in 0..20 {
        let mut position = Position::start();
        for ply in 0..120 {
            let moves = position.legal_moves();
            if moves.is_empty() {
                assert!(position.ply > 3);
                break;
            }
            let (mv, after) = moves[draw(moves.len())].clone();
            assert!(!after.in_check(position.side));
            assert_eq!((after.ply, after.side), (ply + 1, 1 - position.side));
            let mut counts = [0; 7];
            for piece in after.list()[..38].iter().map(|&number| crate::shogi::sparse::features::piece(number)) {
                counts[super::position::unpromoted(piece.unwrap().kind)] += 1;
            }
            assert_eq!(counts, [18, 4, 4, 4, 4, 2, 2], "{}", mv.usi());
            assert!(after.king(0).is_some() && after.king(1).is_some());
            position = after;
        }
    }
}
