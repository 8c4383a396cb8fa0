//! The same seed and the same steps give the same statistics: on every back end, for every variant, launch form and block size, and against games
//! on plain arrays.

use std::fmt::Debug;

use proptest::prelude::*;
use warpplay::mcts::{BlockSizes, Checkers, Connect4, Engine, Gomoku, KernelSet, Options, Search, Variant};
use warpplay::{Backend, Device, Progress};
use warpplay_cpu_ref::mcts::{self as reference, games};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, gpu, kernel_devices};
use warpplay_tests::forest::{self, Forest, Shape};
use warpplay_tests::invariants::{Found, check_report};
use warpplay_tests::strategies::{self, N_GAMES, Visitor, config, random_line, random_position, visit_game};

/// One search from the builder's first option to the report, held to the report's own rules.
fn search<G: KernelSet>(
    device: &Device,
    position: &G,
    options: &Options,
    more: impl FnOnce(warpplay::mcts::SearchBuilder<G>) -> warpplay::mcts::SearchBuilder<G>,
) -> Result<Found, warpplay::Error> {
    let builder = Search::<G>::builder().options(options.clone()).profile_steps(0);
    let report = more(builder).build(device)?.run(position, Progress::go_on)?;
    check_report(&report);
    Ok(Found::from(&report))
}

/// One search in every way there is. Returns what all of them found.
fn all_ways<G: KernelSet>(position: &G, options: &Options) -> Found {
    let cpu = Device::cpu();
    let expected = search(&cpu, position, options, |b| b.threads(1)).expect("cpu");
    let parallel = search(&cpu, position, options, |b| b.threads(2)).expect("cpu");
    assert_eq!(parallel, expected, "{} with threads on {}", options.variant, G::NAME);
    for_each_device(|device| {
        let n_trees = options.n_trees;
        for blocks in [BlockSizes::listing_1::<G>(n_trees), BlockSizes::smallest::<G>(n_trees)] {
            let engines: &[Engine] = match options.variant.is_thrifty() {
                true => &[Engine::Stages],
                false => &[Engine::Graph, Engine::StageGraph, Engine::Stages],
            };
            for &engine in engines {
                let found = search(device, position, options, |b| b.block_sizes(blocks).engine(engine))?;
                assert_eq!(found, expected, "{} of {} on {device}, {engine:?}, {blocks:?}", options.variant, G::NAME);
            }
        }
        Ok(())
    });
    expected
}

/// Searches a random position of the visited game in all ways.
struct AllWays<'a> {
    options: &'a Options,
    plies: u32,
}

impl Visitor for AllWays<'_> {
    fn visit<G: KernelSet + PartialEq + Debug>(&mut self, start: G) {
        let position = random_position(start, self.options.seed, self.plies);
        all_ways(&position, self.options);
    }
}

/// Options of a search small enough for every game.
fn small(variant: Variant) -> Options {
    Options {
        variant,
        n_trees: 2,
        n_playouts: 2,
        steps: Some(3),
        seconds: None,
        device_memory_gb: 0.05,
        seed: 3,
        ..Options::default()
    }
}

#[test]
fn every_game_and_variant_agrees_on_all_back_ends() {
    for game in 0..N_GAMES {
        for &variant in Variant::ALL {
            visit_game(game, 5, &mut AllWays { options: &small(variant), plies: 4 });
        }
    }
}

/// Games whose simulation is quick enough for many random cases: Connect 4 twice, Lights Out, the hashed and the thin game.
const QUICK_GAMES: [usize; 5] = [0, 1, 6, 7, 8];

proptest! {
    #![proptest_config(config("mcts_agree", 150))]

    #[test]
    fn random_searches_agree_on_all_back_ends(
        options in strategies::options(5, 6, 6),
        game in proptest::sample::select(&QUICK_GAMES[..]),
        number in any::<u64>(),
        plies in 0u32..30,
    ) {
        visit_game(game, number, &mut AllWays { options: &options, plies });
    }

    #[test]
    fn searches_agree_with_connect_4_on_arrays(options in strategies::options(4, 4, 12), plies in 0u32..38, seed in any::<u64>()) {
        let (position, line) = random_line(Connect4::new(), seed, plies);
        agrees_with_arrays(&position, &line, games::connect4::Connect4::new(6, 7), &options, 40);
    }
}

proptest! {
    #![proptest_config(config("mcts_agree", 24))]

    #[test]
    fn searches_agree_with_gomoku_on_arrays(options in strategies::options(2, 2, 4), plies in 0u32..120, seed in any::<u64>()) {
        let (position, line) = random_line(Gomoku::new(), seed, plies);
        agrees_with_arrays(&position, &line, games::gomoku::Gomoku::new(15, true), &options, 6);
    }
}

proptest! {
    #![proptest_config(config("mcts_agree", 16))]

    #[test]
    fn searches_agree_with_checkers_on_arrays(options in strategies::options(2, 2, 4), plies in 0u32..90, seed in any::<u64>()) {
        let (position, line) = random_line(Checkers::new(), seed, plies);
        agrees_with_arrays(&position, &line, games::checkers::Checkers::new(), &options, 6);
    }
}

/// The engine on each back end against the reference with a game that was written separately.
fn agrees_with_arrays<G: KernelSet, H: reference::Game>(
    position: &G,
    line: &[u32],
    mut arrays: H,
    options: &Options,
    most_steps: u64,
) {
    let options = Options { steps: options.steps.map(|steps| steps.min(most_steps)), ..options.clone() };
    for &action in line {
        arrays.apply(action as usize);
    }
    let builder = Search::<G>::builder().options(options.clone());
    let capacity = builder.capacity().expect("small");
    let all_children = options.variant.plays_all_children();
    let params = reference::Params {
        variant: if all_children { reference::Variant::Acp } else { reference::Variant::Ocp },
        n_trees: options.n_trees as usize,
        n_playouts: options.n_playouts as usize,
        max_tree_nodes: capacity as usize,
        ucb_c: options.ucb_c,
        draw_value: options.draw_value,
        seed: options.seed,
        max_depth: 2048,
    };
    let mut plain = reference::Search::new(params, arrays);
    for _ in 0..options.steps.unwrap_or(1) {
        plain.step();
    }
    let expected = plain.statistics();
    let devices = kernel_devices().into_iter().chain([Device::cpu()]);
    for device in devices {
        let found = search(&device, position, &options, |b| b).expect("a small search");
        assert_eq!(found.counts, [expected.steps, expected.n_root], "{device}");
        assert_eq!(found.best.index as usize, expected.best, "{device}");
        let got: Vec<_> = found.actions.iter().map(|a| (a.index as usize, a.n, a.wins, a.draws, a.win_flag)).collect();
        let plain: Vec<_> = expected.actions.iter().map(|a| (a.action, a.n, a.wins, a.draws, a.win_flag)).collect();
        assert_eq!(got, plain, "{device}");
        for (got, plain) in found.actions.iter().zip(&expected.actions) {
            assert_eq!(got.q.map(f32::to_bits), plain.q(options.draw_value).map(f32::to_bits));
            let ucb = plain.ucb(expected.n_root, options.ucb_c, options.draw_value);
            assert_eq!(got.ucb.map(f32::to_bits), ucb.map(f32::to_bits));
        }
        let trees = &expected.trees;
        assert_eq!(
            (found.trees.max_depth, found.trees.max_size, found.trees.mean_size, found.trees.mean_depth),
            (trees.max_depth, trees.max_size, trees.mean_size, trees.mean_depth)
        );
        assert_eq!((found.trees.full as usize, found.trees.refused), (trees.full, trees.refused));
    }
}

/// Grows trees stage by stage and in the fast form, and compares every node with the reference's.
struct NodeByNode {
    shape: Shape,
    steps: u32,
}

impl Visitor for NodeByNode {
    fn visit<G: KernelSet + PartialEq + Debug>(&mut self, start: G) {
        let position = random_position(start, 11, 3);
        let mut plain = reference::Search::new(self.shape.reference(), warpplay::mcts::Adapted(position));
        for _ in 0..self.steps {
            plain.step();
        }
        for_each_device(|device| {
            let mut staged = Forest::new(device, self.shape, &position)?;
            for _ in 0..self.steps {
                staged.step()?;
            }
            forest::compare(&staged, &plain)?;
            if !self.shape.variant.is_thrifty() {
                let mut fused = Forest::new(device, self.shape, &position)?;
                for _ in 0..self.steps {
                    fused.fused_step()?;
                }
                fused.backup()?;
                forest::compare(&fused, &plain)?;
            }
            Ok(())
        });
    }
}

#[test]
fn every_node_of_every_tree_is_the_references() {
    for &variant in Variant::ALL {
        for (game, steps) in [(0, 25), (1, 10), (2, 3), (5, 3), (6, 12), (7, 30), (8, 30), (9, 2), (10, 4)] {
            // Blocks of one warp for some games, of many for the others.
            let block = if game % 2 == 0 { 128 } else { 32 };
            let shape = Shape { block, n_trees: 2, n_playouts: 2, ..Shape::new(variant) };
            visit_game(game, 77, &mut NodeByNode { shape, steps });
        }
    }
}

#[test]
fn long_searches_with_small_trees_use_recorded_graphs_and_agree() {
    // So small that a step takes less time than the engine asks before it records 32 of them as a graph.
    let options = Options { n_trees: 1, n_playouts: 1, steps: Some(101), ..small(Variant::OcpProdigal) };
    all_ways(&Connect4::new(), &options);
    let options = Options { variant: Variant::AcpProdigal, ..options };
    all_ways(&random_position(Connect4::new(), 5, 20), &options);
}

#[test]
fn thrifty_and_prodigal_find_the_same() {
    for (thrifty, prodigal) in
        [(Variant::OcpThrifty, Variant::OcpProdigal), (Variant::AcpThrifty, Variant::AcpProdigal)]
    {
        let position = random_position(Connect4::new(), 9, 12);
        let options = |variant| Options { steps: Some(40), n_playouts: 8, ..small(variant) };
        assert_eq!(all_ways(&position, &options(thrifty)), all_ways(&position, &options(prodigal)));
    }
}

#[test]
fn another_seed_finds_something_else() {
    let of_seed = |seed| {
        let options = Options { seed, n_playouts: 32, steps: Some(5), ..small(Variant::AcpProdigal) };
        search(&Device::simt(), &Connect4::new(), &options, |b| b).expect("small")
    };
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1).actions, of_seed(2).actions);
}

/// Two thousand steps on a GPU against the CPU.
struct Long {
    gpu: Device,
}

impl Visitor for Long {
    fn visit<G: KernelSet + PartialEq + Debug>(&mut self, start: G) {
        for &variant in Variant::ALL {
            // As many playouts as the CPU makes in some seconds, whatever the game.
            let steps = if G::MAX_ACTIONS > 64 { 200 } else { 2000 };
            let options =
                Options { n_trees: 4, n_playouts: 32, steps: Some(steps), device_memory_gb: 1.0, ..small(variant) };
            let position = random_position(start, 21, 4);
            let expected = search(&Device::cpu(), &position, &options, |b| b).expect("cpu");
            let engines: &[Engine] = match variant.is_thrifty() {
                true => &[Engine::Stages],
                false => &[Engine::Graph, Engine::StageGraph, Engine::Stages],
            };
            for &engine in engines {
                let found = search(&self.gpu, &position, &options, |b| b.engine(engine)).expect("gpu");
                assert_eq!(found, expected, "{variant} of {}, {engine:?}", G::NAME);
            }
        }
    }
}

#[test]
fn long_searches_agree_between_gpu_and_cpu() {
    let Some(gpu) = gpu() else { return };
    assert_eq!(gpu.backend(), Backend::Cuda);
    for game in [0, 1, 2, 5, 6, 7, 10] {
        visit_game(game, 13, &mut Long { gpu: gpu.clone() });
    }
}

#[test]
fn two_engines_side_by_side_do_not_disturb_each_other() -> Checked {
    let positions = [Connect4::new(), random_position(Connect4::new(), 4, 9)];
    let options = Options { steps: Some(20), ..small(Variant::AcpThrifty) };
    for device in kernel_devices() {
        let alone: Vec<_> = positions.iter().map(|p| search(&device, p, &options, |b| b).expect("small")).collect();
        let together: Vec<Found> = std::thread::scope(|scope| {
            let start = |position| {
                let (device, options) = (&device, &options);
                scope.spawn(move || search(device, position, options, |b| b).expect("small"))
            };
            let threads: Vec<_> = positions.iter().map(start).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert_eq!(together, alone, "on {device}");
    }
    Ok(())
}
