//! Local best responses: never more than exact ones win.

use std::ops::ControlFlow;

use warpplay::cfr::{Abstraction, Algorithm, Engine, GameDef, Problem, Sampling, Solver, Strategy};
use warpplay::{Device, Precision};
use warpplay_tests::cfr::game;

fn solved(problem: Problem, iterations: u64) -> Strategy {
    let builder = Solver::builder(problem).algorithm(Algorithm::CfrPlus).sampling(Sampling::Chance).batch(32);
    let builder = builder.engine(Engine::Walk).iterations(iterations).measure_at([]);
    let mut solver = builder.build(&Device::cpu()).expect("a solver");
    solver.run(|_| ControlFlow::Continue(())).expect("runs");
    solver.strategy().expect("a strategy")
}

/// Strategies near and far from an equilibrium, with and without buckets, of fixed sizes and of menus. Beyond 4 standard errors lies a mean of so many deals once in 30,000.
#[test]
fn a_local_best_response_wins_no_more_than_the_best() {
    let menu = GameDef {
        bet_sizes: vec!["0.5 1 allin".split(' ').map(|size| size.parse().expect("a size")).collect(); 2],
        max_raises: vec![2; 2],
        ..game("leduc.nolimit.2p")
    };
    // Two rounds with a card each on the board.
    let mut rhode_island = game("rhode_island.limit.2p");
    (rhode_island.deck.n_suits, rhode_island.deck.n_ranks) = (2, 4);
    rhode_island.max_raises = vec![1; 3];
    for rules in [game("kuhn.limit.2p"), GameDef::leduc(), menu, rhode_island] {
        let recipe = vec!["ehs:1"; rules.n_rounds].join(",").parse().expect("a recipe");
        let blind = Abstraction::build(&Device::cpu(), &rules, &recipe).expect("buckets");
        let blind = Problem::abstracted(rules.clone(), blind).expect("fits");
        for (problem, iterations) in [(Problem::from(&rules), 2), (Problem::from(&rules), 300), (blind, 100)] {
            let strategy = solved(problem, iterations);
            let bound = strategy.local_best_response(2000, 5, |_| ControlFlow::Continue(())).expect("a bound");
            let exact = strategy.profile(&Device::cpu(), Precision::F64).expect("a profile");
            let (error, least) = (bound.sampled.standard_error, bound.exploitability_at_least);
            assert!(least <= exact.exploitability + 4.0 * error, "{least} +- {error}, expected at most {exact:?}");
            for seat in 0..2 {
                let (value, error) = (bound.values[seat], bound.sampled.standard_errors[seat]);
                assert!(value <= exact.best_response[seat] + 4.0 * error, "seat {seat}: {value} +- {error}, {exact:?}");
            }
        }
    }
}

#[test]
fn what_a_local_best_response_cannot_play_is_said() {
    let strategy = solved(Problem::from(game("kuhn.limit.3p")), 2);
    let bound = |strategy: &Strategy, deals| strategy.local_best_response(deals, 1, |_| ControlFlow::Continue(()));
    let error = bound(&strategy, 9).expect_err("three players").to_string();
    assert!(
        error.contains("option strategy: limit 3p is not allowed (a whole game of poker for two players"),
        "{error}"
    );
    let error = bound(&solved(Problem::from(GameDef::kuhn()), 2), 1).expect_err("one deal").to_string();
    assert!(error.contains("option deals: 1 is not allowed (at least 2"), "{error}");
}
