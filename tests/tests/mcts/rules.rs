//! The games' rules on bitboards against the same rules on plain arrays: every position's legal actions, whose turn it is, how it ends; and
//! playouts that draw the same numbers.

use proptest::prelude::*;
use warpplay::mcts::{Adapted, Checkers, Game, Outcome};
use warpplay_cpu_ref::mcts::{Game as PlainGame, GameResult, Stream, Streams, games};
use warpplay_example_hex::Hex;
use warpplay_example_lights_out::LightsOut;
use warpplay_gpu::mcts::games::connect4::Connect4;
use warpplay_gpu::mcts::games::gomoku::Gomoku;
use warpplay_test_kernels::games::{Hashed, Thin, Wide};
use warpplay_tests::strategies::{config, legal_actions, random_position};

fn result(outcome: Outcome) -> Option<GameResult> {
    match outcome {
        Outcome::Ongoing => None,
        Outcome::Draw => Some(GameResult::Draw),
        Outcome::Win(player) => Some(GameResult::Win(player.index())),
    }
}

/// Plays both forms to the end move by move; before each move both play a game out with the same numbers.
fn plays_alike<G: Game, P: PlainGame>(mut position: G, mut plain: P, seed: u64) {
    let mut moves = Streams::new(seed).expansion(0);
    let mut playouts = Streams::new(seed).playout(0);
    let mut plies = 0;
    loop {
        let legal: Vec<usize> = (0..plain.max_actions()).filter(|&action| plain.is_legal(action)).collect();
        assert_eq!(plain.max_actions(), G::MAX_ACTIONS as usize);
        assert_eq!(position.to_move().index(), plain.to_move(), "ply {plies}");
        // Some actions beyond the board, too: none of them is legal.
        let of_bits: Vec<usize> =
            (0..G::MAX_ACTIONS as usize + 40).filter(|&action| position.is_legal(action as u32)).collect();
        assert_eq!(of_bits, legal, "ply {plies}");
        assert_eq!(position.n_playout_actions() as usize, legal.len(), "ply {plies}");
        let nth: Vec<usize> = (0..legal.len() as u32).map(|n| position.nth_playout_action(n) as usize).collect();
        assert_eq!(nth, legal, "ply {plies}");
        playout_alike(&position, &plain, &mut playouts);

        let action = legal[moves.below(legal.len() as u32) as usize];
        position.apply(action as u32);
        plain.apply(action);
        plies += 1;
        let outcome = result(position.outcome());
        assert_eq!(outcome, plain.result(), "ply {plies}, the whole position");
        assert_eq!(
            result(position.outcome_after(action as u32)),
            plain.result_after(action),
            "ply {plies}, after {action}"
        );
        assert_eq!(outcome, plain.result_after(action), "ply {plies}: both ways of looking agree");
        if outcome.is_some() {
            return;
        }
    }
}

/// One playout of each form with the same stream: winner, plies, and where the stream stands afterwards.
fn playout_alike<G: Game, P: PlainGame>(position: &G, plain: &P, stream: &mut Stream) {
    let mut same = stream.clone();
    let expected = plain.playout(stream);
    assert_eq!(Adapted(*position).playout(&mut same), expected);
    assert_eq!(same, *stream, "as many numbers were drawn");
}

macro_rules! connect4_sizes {
    ($seed:expr, $($rows:literal x $columns:literal),*) => {
        $( plays_alike(Connect4::<$rows, $columns>::new(), games::connect4::Connect4::new($rows, $columns), $seed); )*
    };
}

macro_rules! gomoku_sizes {
    ($seed:expr, $($size:literal),*) => {$(
        plays_alike(Gomoku::<$size, true>::new(), games::gomoku::Gomoku::new($size, true), $seed);
        plays_alike(Gomoku::<$size, false>::new(), games::gomoku::Gomoku::new($size, false), $seed);
    )*};
}

proptest! {
    #![proptest_config(config("mcts_rules", 60))]

    #[test]
    fn connect_4_of_all_sizes_plays_as_on_arrays(seed in any::<u64>()) {
        connect4_sizes!(seed, 6 x 7, 8 x 8, 4 x 4, 4 x 8, 8 x 4, 5 x 6, 7 x 5, 1 x 8, 8 x 1, 3 x 3, 2 x 7, 7 x 7, 6 x 8, 8 x 7);
    }

    #[test]
    fn checkers_plays_as_on_arrays(seed in any::<u64>()) {
        plays_alike(Checkers::new(), games::checkers::Checkers::new(), seed);
    }

    #[test]
    fn hex_lights_out_and_the_test_games_keep_their_own_rules(seed in any::<u64>(), plies in 0u32..60) {
        own_rules(random_position(Hex::new(), seed, plies));
        own_rules(random_position(LightsOut::new((seed % (1 << 25)) as u32 | 1, 15).expect("a pattern"), seed, plies % 14));
        own_rules(random_position(Hashed::new(seed), seed, plies));
        own_rules(random_position(Thin::new(50), seed, plies));
        own_rules(random_position(Wide::default(), seed, plies % 2));
    }
}

proptest! {
    #![proptest_config(config("mcts_rules", 8))]

    #[test]
    fn gomoku_of_all_sizes_plays_as_on_arrays(seed in any::<u64>()) {
        gomoku_sizes!(seed, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
    }
}

/// What the search relies on, for games that have no second form here.
fn own_rules<G: Game>(position: G) {
    let legal = legal_actions(&position);
    assert!(!legal.is_empty() && !position.outcome().is_over(), "a position to be searched");
    assert!((G::MAX_ACTIONS..G::MAX_ACTIONS + 64).all(|action| !position.is_legal(action)));
    assert_eq!(position.n_playout_actions() as usize, legal.len());
    let nth: Vec<u32> = (0..legal.len() as u32).map(|n| position.nth_playout_action(n)).collect();
    assert_eq!(nth, legal);
    for &action in &legal {
        let mut next = position;
        next.apply(action);
        assert_eq!(next.outcome_after(action), next.outcome(), "action {action}");
        let goes_on = !next.outcome().is_over();
        assert!(!goes_on || !legal_actions(&next).is_empty(), "somebody can move");
    }
    let (result, plies) = Adapted(position).playout(&mut Streams::new(u64::from(legal[0])).playout(3));
    assert!(plies > 0, "{result:?}");
}

/// A line for Gomoku: positions with long rows are too rare in random play.
fn gomoku_line<const SIZE: usize, const EXACT: bool>(first: &[u32], last: u32) {
    let mut position = Gomoku::<SIZE, EXACT>::new();
    let mut plain = games::gomoku::Gomoku::new(SIZE, EXACT);
    let size = SIZE as u32;
    // The second player's stones: scattered over cells where the first has none, no two of them in a row.
    let mut others = (0..size * size)
        .filter(|a| !first.contains(a) && *a != last && [a / size, a % size].iter().all(|i| i.is_multiple_of(2)));
    for &action in first {
        for action in [action, others.next().expect("room")] {
            position.apply(action);
            plain.apply(action as usize);
        }
    }
    assert_eq!(result(position.outcome()), plain.result(), "before {last}");
    position.apply(last);
    plain.apply(last as usize);
    let outcome = result(position.outcome());
    assert_eq!(outcome, plain.result(), "{first:?} and {last} on {SIZE}, exact {EXACT}");
    assert_eq!(result(position.outcome_after(last)), plain.result_after(last as usize));
    assert_eq!(result(position.outcome_after(last)), outcome);
    let length = first.len() + 1;
    let wins = if EXACT { length == 5 } else { length >= 5 };
    assert_eq!(outcome, wins.then_some(GameResult::Win(0)), "{length} in a row, exact {EXACT}");
}

/// Every row of four to seven stones in every direction, completed at each of its cells, at the edges and in the middle.
fn gomoku_rows<const SIZE: usize>() {
    let size = SIZE as i32;
    for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
        for length in 4..=7.min(size) {
            for x in 0..size {
                for y in 0..size {
                    let end = (x + dx * (length - 1), y + dy * (length - 1));
                    // All starts at the edges, and some inside.
                    let at_edge =
                        x == 0 || y == 0 || end.0 == size - 1 || end.1 == size - 1 || end.1 == 0 || y == size - 1;
                    if end.0 >= size || !(0..size).contains(&end.1) || !(at_edge || (x + 2 * y) % 7 == 0) {
                        continue;
                    }
                    let row: Vec<u32> = (0..length).map(|i| ((y + dy * i) * size + x + dx * i) as u32).collect();
                    let gap = ((x + y) % length) as usize;
                    let mut others = row.clone();
                    let last = others.remove(gap);
                    gomoku_line::<SIZE, true>(&others, last);
                    gomoku_line::<SIZE, false>(&others, last);
                }
            }
        }
    }
}

#[test]
fn rows_of_five_and_overlines_in_all_directions() {
    gomoku_rows::<15>();
    gomoku_rows::<16>();
    gomoku_rows::<17>();
    gomoku_rows::<19>();
}
