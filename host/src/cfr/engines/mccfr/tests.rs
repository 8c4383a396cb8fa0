//! Means over seeds against the reference's, and exactness of the sums.

use std::sync::Arc;

use super::*;
use crate::cfr::engines::explicit::tests::{after, all_devices, devices};
use crate::cfr::game::extensive::tests::{KUHN, KUHN_3P, LEDUC, poker};
use crate::cfr::layout::Tables;
use crate::cfr::options::Updates;

fn options(sampling: Sampling, batch: u32, seed: u64) -> Options {
    Options { sampling, batch, seed, precision: Precision::F64, ..Options::default() }
}

/// Mean and standard error of NashConv after `n` iterations over seeds.
fn mean(tree: &Arc<Tree>, device: &Device, sampling: Sampling, n: u32, seeds: u64) -> (f64, f64) {
    let of_seed = |seed| {
        let mut engine = build(device, Arc::clone(tree), &options(sampling, 1, seed)).expect("an engine");
        after(&mut *engine, n).0
    };
    let all: Vec<f64> = (1..=seeds).map(of_seed).collect();
    let n = seeds as f64;
    let mean = all.iter().sum::<f64>() / n;
    let variance = all.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn means_are_those_of_the_reference() {
    let (kuhn, leduc) = (Arc::new(poker(KUHN)), Arc::new(poker(LEDUC)));
    for device in all_devices() {
        // Mean and standard deviation of 12 seeds.
        for (tree, sampling, n, expected, deviation, seeds) in [
            (&kuhn, Sampling::External, 100, 0.190729461255668, 0.0812816346786654, 24),
            (&kuhn, Sampling::External, 1000, 0.0527446363050877, 0.0143715877342494, 12),
            (&kuhn, Sampling::Outcome, 100, 0.48610985772179, 0.177872694669055, 24),
            (&kuhn, Sampling::Outcome, 1000, 0.193559639399502, 0.0508879313085098, 12),
            (&leduc, Sampling::External, 1000, 2.50872299350739, 0.209581999143789, 3),
            (&leduc, Sampling::Outcome, 1000, 4.56545627158675, 0.236580953562759, 3),
        ] {
            let (got, error) = mean(tree, &device, sampling, n, seeds);
            // Both means have an error; the deviation is the reference's where there are few seeds.
            let error = error.max(deviation / (seeds as f64).sqrt()).hypot(deviation / 12f64.sqrt());
            let far = (got - expected).abs() / error;
            assert!(far < 3.0, "{} {sampling} {n}: {got}, expected {expected}: {far:.1} errors", tree.name());
        }
    }
}

#[test]
fn many_traversals_approach_the_full_one() {
    let tree = Arc::new(poker(KUHN_3P));
    let full = Options { precision: Precision::F64, updates: Updates::Simultaneous, ..Options::default() };
    for device in devices() {
        let mut exact = crate::cfr::engines::explicit::build(&device, Arc::clone(&tree), &full).expect("an engine");
        exact.run(1).expect("an iteration");
        let exact = exact.tables().expect("tables");
        // Means of 32 batches, whose sums are normal, are further than this from what they estimate with a chance of one in ten million (Student, 31 degrees of freedom).
        const BATCHES: u64 = 32;
        const FAR: f64 = 7.0;
        for (sampling, batch) in [(Sampling::Chance, 128), (Sampling::External, 256), (Sampling::Outcome, 512)] {
            let of_seed = |seed: u64| {
                let options = Options { updates: Updates::Simultaneous, ..options(sampling, batch, seed) };
                let mut engine = build(&device, Arc::clone(&tree), &options).expect("an engine");
                engine.run(1).expect("an iteration");
                engine.tables().expect("tables")
            };
            let all: Vec<Tables> = (0..BATCHES).map(of_seed).collect();
            let near = |what: &str, of: &dyn Fn(&Tables) -> f64| {
                let expected = of(&exact);
                let n = BATCHES as f64;
                let mean = all.iter().map(of).sum::<f64>() / n;
                let variance = all.iter().map(|tables| (of(tables) - mean).powi(2)).sum::<f64>() / (n - 1.0);
                let apart = (mean - expected).abs();
                let most = FAR * (variance / n).sqrt() + 1e-12;
                assert!(apart <= most, "{sampling}: {what}: {mean}, not {expected}, at most {most} apart");
            };
            for seat in 0..3 {
                for at in 0..tree.table_len(seat) {
                    near(&format!("seat {seat}, {at}"), &|tables| tables.regrets[seat].get(at));
                }
                near(&format!("seat {seat}"), &|tables| tables.utilities[seat]);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let tree = Arc::new(poker(KUHN_3P));
    for sampling in [Sampling::External, Sampling::Outcome, Sampling::Chance] {
        let mut first: Option<Tables> = None;
        for device in devices() {
            let options = Options { algorithm: Algorithm::CfrPlus, ..options(sampling, 100, 9) };
            let mut whole = build(&device, Arc::clone(&tree), &options).expect("an engine");
            whole.run(40).expect("iterations");
            let whole = whole.tables().expect("tables");
            let mut parts = build(&device, Arc::clone(&tree), &options).expect("an engine");
            parts.run(13).expect("iterations");
            let stored = parts.tables().expect("tables");
            let mut resumed = build(&device, Arc::clone(&tree), &options).expect("an engine");
            resumed.set_tables(&stored).expect("tables of the same game");
            resumed.run(27).expect("iterations");
            assert_eq!(whole, resumed.tables().expect("tables"), "{sampling} on {device}");
            // One device as another.
            let first = first.get_or_insert(whole.clone());
            assert_eq!(*first, whole, "{sampling} on {device}");
            let other = Options { seed: 10, ..options };
            let mut other = build(&device, Arc::clone(&tree), &other).expect("an engine");
            other.run(40).expect("iterations");
            assert_ne!(whole.regrets, other.tables().expect("tables").regrets);
        }
    }
}

#[test]
fn the_plain_program_goes_on_with_the_same_bits() {
    let (device, tree) = (Device::cpu(), Arc::new(poker(KUHN_3P)));
    for sampling in [Sampling::External, Sampling::Outcome, Sampling::Chance] {
        let options = options(sampling, 1, 4);
        let mut whole = build(&device, Arc::clone(&tree), &options).expect("an engine");
        whole.run(50).expect("iterations");
        let mut first = build(&device, Arc::clone(&tree), &options).expect("an engine");
        first.run(20).expect("iterations");
        let mut second = build(&device, Arc::clone(&tree), &options).expect("an engine");
        second.set_tables(&first.tables().expect("tables")).expect("tables of the same game");
        second.run(30).expect("iterations");
        assert_eq!(whole.tables().expect("tables"), second.tables().expect("tables"), "{sampling}");
        let batch = Options { batch: 2, ..options };
        assert!(matches!(fits(&device, &tree, &batch), Err(Error::Option { name: "batch", .. })));
        let plus = Options { algorithm: Algorithm::CfrPlus, ..options };
        assert!(matches!(fits(&device, &tree, &plus), Err(Error::Option { name: "algorithm", .. })));
    }
}

#[test]
fn what_the_engine_does_not_do_is_an_error() {
    let device = Device::simt();
    let tree = poker(KUHN);
    for options in [
        options(Sampling::None, 1, 1),
        options(Sampling::PublicChance, 1, 1),
        options(Sampling::External, 0, 1),
        options(Sampling::External, u32::MAX, 1),
        Options { exploration: 0.0, ..options(Sampling::Outcome, 1, 1) },
        Options { exploration: 1e-9, ..options(Sampling::Outcome, 1, 1) },
        Options { algorithm: Algorithm::CfrBr, ..options(Sampling::External, 1, 1) },
        Options { precision: Precision::I16, ..options(Sampling::External, 1, 1) },
    ] {
        let error = fits(&device, &tree, &options).expect_err("not offered");
        assert!(matches!(error, Error::Option { .. }), "{error}");
    }
}
