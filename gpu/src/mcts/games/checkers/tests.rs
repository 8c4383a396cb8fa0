//! Known positions, and the fast forms against the slow ones.

use super::*;
use crate::mcts::notation::Notation;
use crate::mcts::rng::Stream;
use bytemuck::{Pod, Zeroable};

/// The same game without its own playout and lists.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
struct Plain(Checkers);

impl Game for Plain {
    const NAME: &'static str = "checkers, plainly";
    const MAX_ACTIONS: u32 = Checkers::MAX_ACTIONS;
    const BOARD: (u32, u32) = Checkers::BOARD;

    fn to_move(&self) -> Player {
        self.0.to_move()
    }

    fn is_legal(&self, action: u32) -> bool {
        self.0.is_legal(action)
    }

    fn apply(&mut self, action: u32) {
        self.0.apply(action);
    }

    fn outcome(&self) -> Outcome {
        self.0.outcome()
    }
}

struct NoWords;

impl Scratch for NoWords {
    fn get(&self, _: u32) -> u32 {
        unreachable!("checkers asks for no words")
    }

    fn set(&mut self, _: u32, _: u32) {
        unreachable!("checkers asks for no words")
    }
}

fn stream(seed: u64) -> Stream {
    Stream::from_state([seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, !seed])
}

fn perft(position: &Checkers, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let leaf = |&action: &u32| {
        let mut next = *position;
        next.apply(action);
        perft(&next, depth - 1)
    };
    position.legal_actions().iter().map(leaf).sum()
}

#[test]
fn move_counts() {
    let counts: Vec<u64> = (1..=6).map(|depth| perft(&Checkers::new(), depth)).collect();
    assert_eq!(counts, [7, 49, 302, 1469, 7361, 36768]);
}

#[test]
fn a_faster_playout_is_the_same_playout() {
    for seed in 0..300 {
        let (mut fast, mut slow) = (stream(seed), stream(seed));
        let start = Checkers::new();
        assert_eq!(start.playout(&mut fast, &mut NoWords), Plain(start).playout(&mut slow, &mut NoWords), "{seed}");
        assert_eq!(fast.below(1 << 31), slow.below(1 << 31), "seed {seed} took other numbers");
    }
}

#[test]
fn fast_lists_are_the_slow_ones() {
    for seed in 0..50 {
        let mut draw = stream(seed);
        let mut position = Checkers::new();
        while !position.outcome().is_over() {
            let slow: Vec<u32> = (0..600).filter(|&action| position.is_legal(action)).collect();
            assert_eq!(position.legal_actions(), slow, "{}", position.to_text());
            assert_eq!(Plain(position).n_playout_actions(), position.n_playout_actions());
            assert_eq!(Checkers::from_text(&position.to_text()), Ok(position));
            position.apply(slow[draw.below(slow.len() as u32) as usize]);
        }
        assert_eq!(position.legal_actions(), []);
    }
}

#[test]
fn names_are_read_back() {
    let named = |action: &u32| !Checkers::action_name(*action).starts_with('#');
    let actions: Vec<u32> = (0..512).filter(named).collect();
    assert_eq!(actions.len(), 4 * (7 * 7 + 6 * 6));
    for action in actions {
        assert_eq!(Checkers::parse_moves(&Checkers::action_name(action)), Ok(vec![action]));
    }
    assert_eq!(Checkers::action_name(352), "e3d4");
    assert_eq!(Checkers::parse_moves("a3-b4, C3xE5"), Ok(vec![(40 * 4 + 1) * 2, (42 * 4 + 1) * 2 + 1]));
    for action in [448, 511, 512, u32::MAX] {
        assert_eq!(Checkers::action_name(action), format!("#{action}"));
    }
}

#[test]
fn wrong_moves_are_named() {
    for (text, column, found) in [("a3b4 c3", 6, "c3"), ("a3b4c3c4", 5, "c3c4"), ("a3d6", 1, "a3d6"), ("a3i4", 3, "i4")]
    {
        let error = Checkers::parse_moves(text).unwrap_err();
        assert_eq!((error.column, error.found.as_str()), (column, found), "{text}");
    }
}

#[test]
fn wrong_positions_are_named() {
    let start = Checkers::new().board_text();
    for (text, part, reason) in [
        ("".to_string(), "board", "0 characters"),
        (start[1..].to_string(), "board", "63 characters"),
        (start.replacen('+', "x", 1), "board", "`x` on b8"),
        (format!("o{}", &start[1..]), "board", "light square a8"),
        (start.replacen('+', "o", 1), "board", "man of the first player on its last row"),
        (format!(".8{}", &start[2..]), "board", "13 pieces of the first player"),
        (format!("{start} 2"), "player", "`2`"),
        (format!("{start} 0 41"), "quiet actions", "41"),
        (format!("{start} 0 -1"), "quiet actions", "`-1`"),
        (format!("{start} 0 0 a3"), "jumper", "can jump"),
        (format!("{start} 0 0 a9"), "jumper", "`a9`"),
        (format!("{start} 0 0 - 7"), "position", "`7`"),
    ] {
        let error = Checkers::from_text(&text).unwrap_err();
        assert!(error.part == part && error.reason.contains(reason), "{text}: {error}");
    }
}

/// The position of some pieces, as `o` on `c3`.
fn with(pieces: &[(char, &str)], player: Player) -> Checkers {
    let mut board = vec!['.'; 64];
    for (piece, square) in pieces {
        let name = square.as_bytes();
        board[(b'8' - name[1]) as usize * 8 + (name[0] - b'a') as usize] = *piece;
    }
    Checkers::from_parts(&board.iter().collect::<String>(), player, 0, None).unwrap()
}

fn played(mut position: Checkers, moves: &str) -> Checkers {
    for action in Checkers::parse_moves(moves).unwrap() {
        assert!(position.is_legal(action), "{moves}\n{}", position.draw());
        position.apply(action);
    }
    position
}

fn names(position: &Checkers) -> Vec<String> {
    position.legal_actions().iter().map(|&action| Checkers::action_name(action)).collect()
}

#[test]
fn a_piece_that_jumped_must_jump_on_and_alone() {
    let position = with(&[('o', "a1"), ('o', "g1"), ('+', "b2"), ('+', "d4"), ('+', "h2"), ('+', "f2")], Player::First);
    assert_eq!(names(&position), ["a1c3", "g1e3"]);
    let after = played(position, "a1c3");
    assert_eq!((after.to_move(), names(&after)), (Player::First, vec!["c3e5".to_string()]));
    assert_eq!(after.jumper().map(square_of), Some(42));
    assert_eq!(played(after, "c3e5").to_move(), Player::Second);
}

#[test]
fn a_new_king_stops() {
    let man = with(&[('o', "a5"), ('+', "b6"), ('+', "d6"), ('+', "h8")], Player::First);
    assert_eq!(played(man, "a5c7").to_move(), Player::Second, "a man on c7 cannot take d6");
    let king = with(&[('o', "b6"), ('+', "c7"), ('+', "e7"), ('+', "h8")], Player::First);
    let crowned = played(king, "b6d8");
    assert_eq!(crowned.to_move(), Player::Second, "the king on d8 could take e7");
    assert_eq!(crowned.kings().count_ones(), 1);
    assert_eq!(crowned.board_text().chars().filter(|&piece| piece == '8').count(), 1);
}

#[test]
fn forty_quiet_actions_draw_before_anything_else() {
    let mut position = with(&[('8', "a1"), ('*', "h8")], Player::First);
    let mut plies = 0;
    while !position.outcome().is_over() {
        let back_and_forth = [["a1b2", "h8g7"], ["b2a1", "g7h8"]][plies / 2 % 2][plies % 2];
        position = played(position, back_and_forth);
        plies += 1;
        assert_eq!(position.quiet_actions() as usize, plies);
    }
    assert_eq!((plies, position.outcome()), (40, Outcome::Draw));
    assert_eq!(position.legal_actions(), []);
    // The player to move is blocked as well: still a draw.
    let mut text = with(&[('o', "a7"), ('+', "b8")], Player::First).to_text();
    assert_eq!(Checkers::from_text(&text).unwrap().outcome(), Outcome::Win(Player::Second));
    text = text.replace(" 0 0 -", " 0 40 -");
    assert_eq!(Checkers::from_text(&text).unwrap().outcome(), Outcome::Draw);
}
