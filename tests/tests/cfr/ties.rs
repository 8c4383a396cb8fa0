//! A game with exact ties: what `docs/exact-ties.md` promises of it.

use std::sync::Arc;

use serde_json::Value;
use warpplay::cfr::engines::{SmallBatch, SubsetSolver};
use warpplay::cfr::layout::{Node, VectorGame};
use warpplay::cfr::{Algorithm, BettingTree, Engine, GameDef, Options, Solver, Updates};
use warpplay::{Device, Precision};
use warpplay_tests::backends::kernel_devices;
use warpplay_tests::cfr::{floats, run_on};
use warpplay_tests::golden;
use warpplay_tests::tolerance::{Tolerance, close};

/// Sums in another order.
const DOUBLE: Tolerance = Tolerance { abs: 1e-12, rel: 1e-12 };
/// NashConv is made of four sums, a value and a best response for each seat. Each goes over 20 deals with 9 ends, and an addition rounds what is below 5 chips.
const SINGLE: Tolerance = Tolerance { abs: 4.0 * 20.0 * 9.0 * 5.0 * f32::EPSILON as f64, rel: 0.0 };

fn rules() -> GameDef {
    GameDef::parse(&golden::text("cfr/ties/kuhn_5ranks_2raises.game")).expect("a definition")
}

/// What 200 digits come to.
fn exact() -> Value {
    serde_json::from_str(&golden::text("cfr/ties/exact.json")).expect("JSON")
}

/// The best precision of an engine is double, but for `street`.
fn options(engine: Engine) -> Options {
    Options {
        algorithm: Algorithm::Cfr,
        updates: Updates::Alternating,
        precision: if engine == Engine::Street { Precision::F32 } else { Precision::F64 },
        engine,
        ..Options::default()
    }
}

/// All ways to solve the game without sampling.
fn ways() -> Vec<(Device, Engine)> {
    let mut ways = vec![(Device::cpu(), Engine::Cpu), (Device::cpu(), Engine::Explicit)];
    let engines = [Engine::Small, Engine::Explicit, Engine::Subset, Engine::Street];
    ways.extend(kernel_devices().into_iter().flat_map(|device| engines.map(|engine| (device.clone(), engine))));
    ways
}

fn solver(device: &Device, engine: Engine) -> Solver {
    Solver::builder(rules()).options(options(engine)).build(device).expect("an engine")
}

#[test]
fn all_engines_agree_until_a_tie_decides() {
    let first = floats(&exact()["nash_conv"])[0];
    for (device, engine) in ways() {
        for (precision, tolerance) in [(Precision::F64, DOUBLE), (Precision::F32, SINGLE)] {
            if engine == Engine::Street && precision == Precision::F64 {
                continue;
            }
            let options = Options { precision, ..options(engine) };
            let mut solver = Solver::builder(rules()).options(options).build(&device).expect("an engine");
            run_on(&mut solver, 1).expect("an iteration");
            let found = solver.exploitability().expect("a measure").nash_conv;
            close(&format!("{engine} in {precision} on {device}"), &[found], &[first], tolerance);
        }
    }
}

/// Best responses of any profile enclose the game's value: the first seat can win no more than its own against the second's strategy, and no less than the second's leaves it.
#[test]
fn the_value_of_the_game_lies_within_nash_conv() {
    let rounding = |precision| if precision == Precision::F64 { 1e-9 } else { SINGLE.abs };
    let plus = Options { algorithm: Algorithm::CfrPlus, ..options(Engine::Explicit) };
    let mut good = Solver::builder(rules()).options(plus).build(&Device::cpu()).expect("an engine");
    run_on(&mut good, 1000).expect("iterations");
    let good = good.exploitability().expect("a measure");
    let (least, most) = (-good.best_response[1], good.best_response[0]);
    for (device, engine) in ways() {
        let mut solver = solver(&device, engine);
        for n in [1, 9, 90] {
            run_on(&mut solver, n).expect("iterations");
            let found = solver.exploitability().expect("a measure");
            let (value, reach) = (found.value[0], found.nash_conv + rounding(options(engine).precision));
            let what = format!("{engine} on {device} after {}: {value} ± {reach}", found.iteration);
            assert!(value - reach <= most && least <= value + reach, "{what}, the game's is in {least}..{most}");
        }
    }
}

/// Here each term of the sets with ties is exactly 0, or cancels with its neighbour, where histories are added one after the other.
#[test]
fn histories_one_by_one_follow_exact_arithmetic() {
    let expected = floats(&exact()["nash_conv"]);
    for (device, engine) in ways().into_iter().filter(|&(_, engine)| engine == Engine::Explicit) {
        let mut solver = solver(&device, engine);
        for (t, &expected) in (1..).zip(&expected) {
            run_on(&mut solver, 1).expect("an iteration");
            let found = solver.exploitability().expect("a measure").nash_conv;
            close(&format!("after {t} on {device}"), &[found], &[expected], Tolerance { abs: 1e-9, rel: 0.0 });
        }
    }
}

#[test]
fn the_same_engine_has_the_same_bits_again() {
    for (device, engine) in ways() {
        let bits = || {
            let mut solver = solver(&device, engine);
            run_on(&mut solver, 10).expect("iterations");
            solver.checkpoint().expect("a state")
        };
        assert!(bits().same_tables(&bits()), "{engine} on {device}");
    }
}

/// Seat, rank and history of each information set, with its regrets.
fn regrets(batch: &SmallBatch, game: &VectorGame, tree: &BettingTree) -> Vec<(Value, Vec<f64>)> {
    let regrets = batch.regrets(0).expect("tables");
    let mut sets = Vec::new();
    for node in game.streets[0].entries.iter().flat_map(|entry| &entry.nodes) {
        let &Node::Decision { seat, ref actions, slot, betting, .. } = node else { continue };
        for (hand, &cards) in game.hands[seat].iter().enumerate() {
            let slots = slot..slot + actions.len() as u32;
            let of_set = slots.map(|slot| regrets[seat][game.offset(seat, 0, 0, slot) + hand]).collect();
            sets.push((serde_json::json!([seat, cards.trailing_zeros(), tree.history(betting)]), of_set));
        }
    }
    sets
}

/// In the vector form values of all hands are found at once, from sums less what a hand blocks: where exact regrets are 0 a rounding may be left, and decides the next
/// strategy. It is nowhere else that small, and what follows is a run of the algorithm like any other, with its bound.
#[test]
fn rounding_decides_at_exact_ties_alone_and_the_bound_holds() {
    const ITERATIONS: u32 = 1000;
    let rules = rules();
    let tree = BettingTree::new(&rules).expect("a tree");
    let game = Arc::new(VectorGame::from_game(&rules, &tree, false).expect("two players"));
    let exact = exact();
    let ties = exact["ties"]["1"].as_array().expect("a list");
    for device in kernel_devices() {
        let mut batch =
            SmallBatch::new(&device, std::slice::from_ref(&game), &options(Engine::Small)).expect("it fits");
        batch.run(1).expect("an iteration");
        let mut seen = 0;
        for (set, regrets) in regrets(&batch, &game, &tree) {
            let largest = regrets.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if ties.contains(&set) {
                seen += 1;
                // Sums of at most 20 deals of at most 5 chips.
                let rounding = 20.0 * 5.0 * f64::EPSILON;
                assert!(regrets.iter().all(|regret| regret.abs() <= rounding), "{set} on {device}: {regrets:?}");
            } else {
                assert!(largest > 1e-3, "{set} on {device}: {regrets:?}");
            }
        }
        assert_eq!(seen, ties.len(), "{device}");
        // A seat's average regret is at most the sum of the sets' positive ones. With alternating updates the second seat met strategies that are one iteration further than those of
        // the average: they differ by the first and the last, 10 chips at most, and a seat's update does not make it win less (Burch, Moravčík and Schmid, 2019).
        let holds = |engine: Engine, found: f64, regrets: Vec<f64>| {
            let positive: f64 = regrets.iter().filter(|&&regret| regret > 0.0).sum();
            let most = (positive + 10.0) / f64::from(ITERATIONS);
            assert!(found <= most, "{engine} on {device}: {found}, at most {most}");
        };
        batch.run(ITERATIONS - 1).expect("iterations");
        let found = batch.measure().expect("a measure")[0].nash_conv();
        let all = regrets(&batch, &game, &tree).into_iter().flat_map(|(_, regrets)| regrets);
        holds(Engine::Small, found, all.collect());
        let mut subset = SubsetSolver::new(&device, &rules, &options(Engine::Subset)).expect("it fits");
        subset.run(ITERATIONS).expect("iterations");
        let found = subset.measure().expect("a measure").nash_conv();
        let all = (0..2).flat_map(|seat| subset.regrets(seat).expect("tables"));
        holds(Engine::Subset, found, all.collect());
    }
}
