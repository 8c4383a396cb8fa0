//! Sampled solves, by their means over seeds.

use std::sync::Arc;

use warpplay_cpu_ref::cfr::mccfr::{Sampling, Solver};
use warpplay_cpu_ref::cfr::poker::Poker;
use warpplay_cpu_ref::cfr::tree::Tree;

use super::read::{Reference, number, rules};

/// Seeds, as many as the reference has.
const N_SEEDS: u64 = 12;

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
}

fn tree(reference: &Reference, game: &str) -> Arc<Tree<String>> {
    let text = reference.game(game)["gamedef"].as_str().expect("the game's text");
    Arc::new(Tree::new(&Poker::new(rules(text))))
}

/// Holds the mean NashConv over seeds to the reference's, within three standard errors of their difference.
fn check(game: &str, key: &str, sampling: Sampling) {
    let reference = Reference::open();
    let tree = tree(&reference, game);
    let mut solvers: Vec<_> = (0..N_SEEDS).map(|seed| Solver::new(tree.clone(), sampling, seed)).collect();
    for iteration in [100, 1000, 10_000] {
        let expected = &reference.0["mccfr"][game][key][iteration.to_string()];
        if expected.is_null() {
            continue;
        }
        let conv: Vec<f64> = solvers
            .iter_mut()
            .map(|solver| {
                solver.iterate(iteration - solver.state().iteration);
                solver.nash_conv()
            })
            .collect();
        let (mean, variance) = mean_and_variance(&conv);
        let error = ((variance + number(&expected["std"]).powi(2)) / N_SEEDS as f64).sqrt();
        let expected = number(&expected["mean"]);
        assert!((mean - expected).abs() < 3.0 * error, "{game}, {key}, {iteration}: {mean}, not {expected} ± {error}");
    }
}

#[test]
fn external_sampling_has_the_references_means() {
    check("kuhn.limit.2p", "external_sampling", Sampling::External);
    check("leduc.limit.2p", "external_sampling", Sampling::External);
}

#[test]
fn outcome_sampling_has_the_references_means() {
    let sampling = Sampling::Outcome { exploration: 0.6 };
    check("kuhn.limit.2p", "outcome_sampling_eps0.6", sampling);
    check("leduc.limit.2p", "outcome_sampling_eps0.6", sampling);
}

#[test]
fn every_sampling_approaches_the_equilibrium_and_goes_on_from_its_state() {
    let reference = Reference::open();
    let tree = tree(&reference, "kuhn.limit.2p");
    for sampling in [Sampling::Chance, Sampling::External, Sampling::Outcome { exploration: 0.5 }] {
        let [mut whole, mut first, mut second] = [0; 3].map(|_| Solver::new(tree.clone(), sampling, 3));
        whole.iterate(30_000);
        first.iterate(12_000);
        second.set_state(first.state().clone());
        second.iterate(18_000);
        assert!(second.state() == whole.state(), "{sampling:?}");
        // No worse than the worst of the reference's seeds after a third of the iterations; drawing chance alone is no worse than drawing the opponent too.
        let key =
            if matches!(sampling, Sampling::Outcome { .. }) { "outcome_sampling_eps0.6" } else { "external_sampling" };
        let (conv, most) = (whole.nash_conv(), number(&reference.0["mccfr"]["kuhn.limit.2p"][key]["10000"]["max"]));
        assert!(conv < most, "{sampling:?}: {conv}, at most {most}");
        // The game's value is no further than both seats can still gain.
        assert!((whole.values()[0] + 1.0 / 18.0).abs() <= conv, "{sampling:?}: {:?}, NashConv {conv}", whole.values());
    }
}
