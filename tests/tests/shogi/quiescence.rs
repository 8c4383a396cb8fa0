//! Quiet lines: against a plain search of all of them, by hand on small positions, and over whole data sets.

use warpplay::shogi::board::{Board, List, Rules};
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::quiescence::{self, MaterialValues, Options, Promotions, QuietEvaluator};
use warpplay::shogi::records::Records;
use warpplay::shogi::{Shard, Window};
use warpplay_gpu::shogi::difference;
use warpplay_gpu::shogi::piece::parts;
use warpplay_tests::learning::{list_of_child, material};

const VALUES: [f64; 13] = [1.0, 2.25, 2.5, 4.0, 5.0, 8.0, 10.0, 3.5, 4.25, 4.5, 5.125, 10.0, 12.0];

/// A shard of one position, in which a move was played.
fn shard(sfen: &str, played: &str) -> Shard {
    let records = Records::from_bytes("a.usi".as_ref(), format!("sfen {sfen} 1 moves {played}").as_bytes());
    assert_eq!(records.games.len(), 1, "{:?}", records.skipped);
    let set = Dataset::builder().plies(Window { start: 0, end: 1, step: 1 }).build(&records).unwrap();
    set.shards()[0].clone()
}

fn child_of(shard: &Shard, sfen: &str, played: &str) -> usize {
    let mut moves = Vec::new();
    Board::from_sfen(sfen).unwrap().legal_moves(&mut moves);
    let number = moves.iter().position(|legal| legal.to_string() == played).unwrap();
    shard.children(0).start + 1 + number
}

fn options(depth: u32) -> Options {
    Options { depth, ..Options::default() }
}

/// Every line of captures and promotions, without bounds or an order: what a quiet position is worth to the side that moves.
fn plain(board: &Board, evaluator: &impl QuietEvaluator, options: &Options) -> f64 {
    let depth = options.depth;
    let list = List::new(board).unwrap();
    let sign = if board.side() == 0 { 1.0 } else { -1.0 };
    let mut best = sign * evaluator.evaluate(list.numbers());
    if depth == 0 {
        return best;
    }
    let mut moves = Vec::new();
    board.legal_moves(&mut moves);
    for &played in &moves {
        let Some(from) = played.from() else { continue };
        let captures = list.piece_on(played.to()).is_some();
        if !captures && !played.promotes() {
            continue;
        }
        if !captures && options.promotions == Promotions::Pawns && list.piece_on(from).unwrap().0 != 0 {
            continue;
        }
        // What loses nothing by promotion promotes; so do lances and knights on the last two ranks.
        let (kind, side) = list.piece_on(from).unwrap();
        let rank = |square: u32| if side == 0 { square % 9 } else { 8 - square % 9 };
        let could = matches!(kind, 0..=3 | 5 | 6) && (rank(from) < 3 || rank(played.to()) < 3);
        if !played.promotes() && could && !(kind == 3 || matches!(kind, 1 | 2) && rank(played.to()) >= 2) {
            continue;
        }
        let mut next = board.clone();
        assert!(next.play(played));
        best = best.max(-plain(&next, evaluator, &Options { depth: depth - 1, ..*options }));
    }
    best
}

#[test]
fn leaves_are_worth_what_a_plain_search_finds() {
    let evaluator = MaterialValues::new(&VALUES).unwrap();
    let positions = [
        ("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p", 1),
        ("ln1gkg1nl/3s1s3/p1pp1p1pp/4p1p2/8B/2PSPP1P1/P4KP1P/3+r5/LN3+rSNL b BGg3p", 3),
        ("lnsgkgsnl/1r7/p1ppp1bpp/1p3pp2/7P1/2P6/PP1PPPP1P/1B3S1R1/LNSGKG1NL b -", 4),
        ("4k4/1P7/2n1l4/9/9/9/4S4/9/4K4 b -", 5),
    ];
    let both = |(sfen, depth)| Promotions::ALL.iter().map(move |&promotions| (sfen, depth, promotions));
    for (sfen, depth, promotions) in positions.into_iter().flat_map(both) {
        let options = Options { depth, promotions, threads: None };
        let sfen_of = format!("{sfen} 1");
        let board = Board::from_sfen(&sfen_of).unwrap();
        let mut moves = Vec::new();
        board.legal_moves(&mut moves);
        let shard = shard(sfen, &moves[0].to_string());
        let rebuilt = quiescence::rebuild(&shard, &evaluator, &options).unwrap();
        assert!(rebuilt.left_out.is_empty());
        let mover = board.side();
        let sign = if mover == 0 { 1.0 } else { -1.0 };
        for (child, &legal) in shard.children(0).zip(std::iter::once(&moves[0]).chain(&moves)) {
            let mut next = board.clone();
            assert!(next.play(legal));
            let leaf = list_of_child(&rebuilt.shard, 0, child);
            List::from_numbers(&leaf).unwrap();
            assert_eq!(sign * evaluator.evaluate(&leaf), -plain(&next, &evaluator, &options), "{sfen} {legal}");
        }
        check_differences(&rebuilt.shard);
    }
}

/// Differences are those of the leaves' material.
fn check_differences(shard: &Shard) {
    for parent in 0..shard.n_parents() {
        let side = shard.sides[parent].into();
        let base = material(&list_of_child(shard, parent, shard.children(parent).start), side);
        for child in shard.children(parent) {
            let counts = material(&list_of_child(shard, parent, child), side);
            let expected: [i32; 13] = std::array::from_fn(|kind| counts[kind] - base[kind]);
            assert_eq!(Some(shard.differences[child]), difference::pack(&expected));
        }
    }
}

/// The paper's suspicion: a pawn that promotes and is taken at once is no promoted pawn.
#[test]
fn a_promoted_pawn_that_is_taken_does_not_count() {
    let sfen = "3gk4/9/3P5/9/9/9/9/9/4K4 b -";
    let evaluator = MaterialValues::new(&VALUES).unwrap();
    let shard = shard(sfen, "5i5h");
    let promotes = child_of(&shard, &format!("{sfen} 1"), "6c6b+");
    assert_eq!(
        (0..13).map(|kind| difference::field(shard.differences[promotes], kind)).collect::<Vec<_>>()[..8],
        [-1, 0, 0, 0, 0, 0, 0, 1]
    );
    let rebuilt = quiescence::rebuild(&shard, &evaluator, &options(4)).unwrap();
    let leaf = list_of_child(&rebuilt.shard, 0, promotes);
    // The gold or the king takes it: White has a pawn in hand. After the king's move the pawn promotes in the quiet line as well, and is taken too, so it stays.
    let white_pawns = leaf[..38]
        .iter()
        .filter(|&&number| parts(number.into()).is_some_and(|(kind, side, _)| (kind, side) == (0, 1)))
        .count();
    assert_eq!(white_pawns, 1);
    assert_eq!(difference::field(rebuilt.shard.differences[promotes], 7), 0);
    assert!(rebuilt.nodes > shard.n_children() as u64);
}

#[test]
fn threads_change_nothing_and_options_are_checked() {
    let game = "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b 5i6h 5a6b 6h7h 6b7b 5g5f 7b8b 4i5h 7a7b 9g9f 9c9d 7i6h 3d3e 6g6f 4b3b 6h5g 3a4b 2f2e 3b3d 6f6e 1c1d 8h6f 2a3c 4g4f 7c7d 6f5e 7b7c 2e2d 3d2d 2h2d 2c2d R*2c 4a3b 2c2d+";
    let records = Records::from_bytes("a.usi".as_ref(), game.as_bytes());
    let window = Window { start: 0, end: 60, step: 1 };
    let set = Dataset::builder().plies(window).build(&records).unwrap();
    let evaluator = MaterialValues::new(&VALUES).unwrap();
    let shard = &set.shards()[0];
    let one = quiescence::rebuild(shard, &evaluator, &Options { threads: Some(1), ..Options::default() }).unwrap();
    let three = quiescence::rebuild(shard, &evaluator, &Options { threads: Some(3), ..Options::default() }).unwrap();
    assert_eq!(one, three);
    assert_eq!((one.shard.n_parents(), one.shard.n_children()), (shard.n_parents(), shard.n_children()));
    check_differences(&one.shard);
    // It is a shard like any other.
    let folder = tempfile::tempdir().unwrap();
    let leaves = Dataset::from_shards(vec![one.shard], set.origin().clone()).unwrap();
    leaves.save(folder.path()).unwrap();
    assert_eq!(Dataset::open(folder.path()).unwrap().shards(), leaves.shards());
    for depth in [0, 33] {
        let error = quiescence::rebuild(shard, &evaluator, &options(depth)).unwrap_err().to_string();
        assert_eq!(error, format!("option depth: {depth} is not allowed (1 to 32)"));
    }
    let mut values = VALUES;
    values[3] = f64::NAN;
    assert!(MaterialValues::new(&values).unwrap_err().to_string().contains("NaN"));
    let mut broken = shard.clone();
    broken.pieces.to_mut()[0][3] = 5000;
    let error = quiescence::rebuild(&broken, &evaluator, &options(2)).unwrap_err().to_string();
    assert!(
        error.starts_with("the shard: expected columns that fit together, got slot 3 of parent 0: expected below"),
        "{error}"
    );
    broken.pieces.to_mut()[0][3] = broken.pieces[0][4];
    let error = quiescence::rebuild(&broken, &evaluator, &options(2)).unwrap_err().to_string();
    assert!(error.starts_with("parent 0 of a shard: expected a position, got two pieces are on square"), "{error}");
}
