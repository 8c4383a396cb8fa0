//! What properties are tried on: sizes, positions, shapes of a search.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use warpplay::mcts::{Game, Options, Variant};
use warpplay_cpu_ref::mcts::Streams;

use crate::golden::package;

/// Sizes that straddle warps and blocks of 128 threads.
pub const SIZES: [u32; 12] = [0, 1, 31, 32, 33, 63, 100, 127, 128, 129, 255, 257];

/// Block sizes of whole warps.
pub const BLOCKS: [u32; 7] = [32, 64, 96, 128, 256, 480, 1024];

/// Settings of a property test: `cases` random cases, and failing seeds kept in `tests/regressions/NAME.txt`.
pub fn config(name: &str, cases: u32) -> ProptestConfig {
    // proptest wants a path that lives as long as the program; there is one for each property.
    let file = package().join("regressions").join(format!("{name}.txt"));
    let file = Box::leak(file.to_string_lossy().into_owned().into_boxed_str());
    ProptestConfig {
        cases,
        // A search is too dear to be shrunk for long.
        max_shrink_iters: 40,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
        ..ProptestConfig::default()
    }
}

/// The position after up to `plies` random legal actions from `start`; the last one in which somebody can move.
pub fn random_position<G: Game>(start: G, seed: u64, plies: u32) -> G {
    random_line(start, seed, plies).0
}

/// The same with the actions that led there.
pub fn random_line<G: Game>(start: G, seed: u64, plies: u32) -> (G, Vec<u32>) {
    let mut stream = Streams::new(seed ^ 0x7465_7374).expansion(7);
    let (mut position, mut actions) = (start, Vec::new());
    for _ in 0..plies {
        let legal = legal_actions(&position);
        let action = legal[stream.below(legal.len() as u32) as usize];
        let mut next = position;
        next.apply(action);
        if next.outcome().is_over() || legal_actions(&next).is_empty() {
            break;
        }
        actions.push(action);
        position = next;
    }
    (position, actions)
}

/// Legal actions, ascending.
pub fn legal_actions<G: Game>(position: &G) -> Vec<u32> {
    (0..G::MAX_ACTIONS).filter(|&action| position.is_legal(action)).collect()
}

/// Options of a small search.
pub fn options(most_trees: u32, most_playouts_log2: u32, most_steps: u64) -> impl Strategy<Value = Options> {
    (
        proptest::sample::select(Variant::ALL),
        1..=most_trees,
        0..=most_playouts_log2,
        1..=most_steps,
        proptest::sample::select(&[0.0f32, 0.3, 1.25, 2.0, 50.0][..]),
        proptest::sample::select(&[0.0f32, 0.5, 1.0, 0.37][..]),
        any::<u64>(),
    )
        .prop_map(|(variant, n_trees, log2, steps, ucb_c, draw_value, seed)| Options {
            variant,
            n_trees,
            n_playouts: 1 << log2,
            steps: Some(steps),
            seconds: None,
            ucb_c,
            draw_value,
            device_memory_gb: 0.05,
            seed,
            ..Options::default()
        })
}

/// Something that is done for one game.
pub trait Visitor {
    /// Does it; `number` chooses among the starts of games that have several.
    fn visit<G: warpplay::mcts::KernelSet + PartialEq + std::fmt::Debug>(&mut self, start: G);
}

/// Number of games that [`visit_game`] knows.
pub const N_GAMES: usize = 11;

/// Visits the game of this index, from a start that `number` chooses where there are several.
pub fn visit_game(index: usize, number: u64, visitor: &mut impl Visitor) {
    use warpplay::mcts::{Checkers, Connect4, Connect4Large, Gomoku, GomokuFree, GomokuLarge};
    use warpplay_example_hex::Hex;
    use warpplay_example_lights_out::LightsOut;
    use warpplay_test_kernels::games::{Hashed, Thin, Wide};
    match index {
        0 => visitor.visit(Connect4::new()),
        1 => visitor.visit(Connect4Large::new()),
        2 => visitor.visit(Gomoku::new()),
        3 => visitor.visit(GomokuFree::new()),
        4 => visitor.visit(GomokuLarge::new()),
        5 => visitor.visit(Hex::new()),
        6 => {
            let presses = [number % 25, number / 25 % 25, number / 625 % 25].map(|lamp| lamp as u32);
            // Three equal presses leave one; two equal ones cancel and leave the third.
            let puzzle = LightsOut::from_presses(&presses);
            visitor.visit(puzzle.expect("lamps below 25"));
        }
        7 => visitor.visit(Hashed::new(number)),
        8 => visitor.visit(Thin::new(3 + (number % 60) as u32)),
        9 => visitor.visit(Wide::default()),
        _ => visitor.visit(Checkers::new()),
    }
}
