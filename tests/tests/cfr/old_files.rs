//! Files of version 0.1 are read, and solves go on from them with the same bits: see `tests/golden/cfr/v0.1/README.md`.

use std::path::PathBuf;

use warpplay::cfr::{Checkpoint, Engine, Report, Solver, Spot, SpotRun, Strategy};
use warpplay::{Device, Error, Precision};
use warpplay_tests::cfr::{game, run_on};
use warpplay_tests::golden;

fn path(name: &str) -> PathBuf {
    golden::path(&format!("cfr/v0.1/{name}"))
}

fn load(name: &str) -> Checkpoint {
    Checkpoint::load(path(&format!("{name}.checkpoint"))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Name, engine, arithmetic.
const CHECKPOINTS: [(&str, Engine, Precision); 18] = [
    ("small-f32", Engine::Small, Precision::F32),
    ("small-f64", Engine::Small, Precision::F64),
    ("small-sampled-f32", Engine::Small, Precision::F32),
    ("street-f32", Engine::Street, Precision::F32),
    ("street-sampled-f32", Engine::Street, Precision::F32),
    ("subset-f32", Engine::Subset, Precision::F32),
    ("subset-f64", Engine::Subset, Precision::F64),
    ("explicit-f32", Engine::Explicit, Precision::F32),
    ("explicit-f64", Engine::Explicit, Precision::F64),
    ("explicit-cpu-f64", Engine::Explicit, Precision::F64),
    ("mccfr-external-f32", Engine::Mccfr, Precision::F32),
    ("mccfr-outcome-f64", Engine::Mccfr, Precision::F64),
    ("mccfr-cpu-f64", Engine::Mccfr, Precision::F64),
    ("walk-f32", Engine::Walk, Precision::F32),
    ("walk-f64", Engine::Walk, Precision::F64),
    ("cpu-f32", Engine::Cpu, Precision::F32),
    ("cpu-f64", Engine::Cpu, Precision::F64),
    ("cpu-f64", Engine::Auto, Precision::F64),
];

#[test]
fn every_checkpoint_is_gone_on_from_with_the_same_bits() {
    for (name, engine, precision) in CHECKPOINTS {
        let checkpoint = load(name);
        assert_eq!((checkpoint.iteration(), checkpoint.options().precision), (3, precision), "{name}");
        let device = if name.contains("cpu") { Device::cpu() } else { Device::simt() };
        let problem = checkpoint.problem().expect("a game of poker");
        let mut solver = Solver::builder(problem)
            .engine(engine)
            .precision(precision)
            .resume(checkpoint)
            .build(&device)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(solver.plan().engine(), Engine::Auto);
        run_on(&mut solver, 2).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (now, then) = (solver.checkpoint().expect("a state"), load(&format!("{name}.continued")));
        assert_eq!(then.iteration(), 5);
        assert!(now.same_tables(&then), "{name}");
        let (now, then) = (now.trajectory().last().expect("a point"), then.trajectory().last().expect("a point"));
        // The CPU adds measured values in another order since: sums of at most 1,000 terms in a row of at most 13 chips, in double precision.
        let rounding = if name.contains("cpu") { 1000.0 * 13.0 * f64::EPSILON } else { 0.0 };
        assert!((now.nash_conv - then.nash_conv).abs() <= rounding, "{name}: {}, {}", now.nash_conv, then.nash_conv);
        let apart = now.value.iter().zip(&then.value).map(|(now, then)| (now - then).abs());
        assert!(now.value.len() == then.value.len() && apart.fold(0.0, f64::max) <= rounding, "{name}");
    }
}

/// Tables of 16 bits had other scales then, and round otherwise: from the same state at iteration 3 both go on, and come to the same values but for that.
#[test]
fn a_checkpoint_of_16_bits_is_gone_on_from() {
    let checkpoint = load("street-i16");
    let then = load("street-i16.continued");
    let problem = checkpoint.problem().expect("a game of poker");
    let builder = Solver::builder(problem).engine(Engine::Street).precision(Precision::I16).resume(checkpoint);
    let mut solver = builder.build(&Device::simt()).expect("it fits");
    run_on(&mut solver, 2).expect("it runs");
    assert_eq!((solver.checkpoint().expect("a state").iteration(), then.iteration()), (5, 5));
    let now = solver.exploitability().expect("values");
    let then = then.trajectory().last().expect("a point").clone();
    // Both values lie within what both seats can still gain of the game's.
    assert!((now.value[0] - then.value[0]).abs() <= now.nash_conv + then.nash_conv, "{now:?}, {then:?}");
}

#[test]
fn what_is_asked_beside_a_checkpoint_must_not_contradict_it() {
    let refused = |name: &str, error: Error| {
        assert!(matches!(&error, Error::Option { name: found, .. } if *found == name), "{name}: {error}");
        assert!(error.to_string().contains("as in the checkpoint"), "{error}");
    };
    let builder = || Solver::builder(game("kuhn.limit.2p")).resume(load("cpu-f64"));
    let algorithm = warpplay::cfr::Algorithm::Cfr;
    refused("algorithm", builder().algorithm(algorithm).build(&Device::cpu()).expect_err("another algorithm"));
    refused("seed", builder().seed(9).build(&Device::cpu()).expect_err("another seed"));
    refused("engine", builder().engine(Engine::Explicit).build(&Device::cpu()).expect_err("another engine"));
    refused("isomorphism", builder().isomorphism(false).build(&Device::cpu()).expect_err("other boards"));
    let same = builder().algorithm(warpplay::cfr::Algorithm::PcfrPlus).iterations(7).threads(Some(2));
    assert_eq!(same.build(&Device::cpu()).expect("nothing else").options().iterations, 7);
}

#[test]
fn strategies_are_read() {
    for name in ["kuhn.strategy", "kuhn-compact.strategy"] {
        let strategy = Strategy::load(path(name)).expect("a strategy");
        let answer = strategy.query("cr", "", "3c").expect("an answer");
        assert!((answer.choices[0].probability - 0.4709).abs() < 1e-4, "{name}: {answer:?}");
        let profile = strategy.profile(&Device::cpu(), Precision::F64).expect("a profile");
        assert!((profile.nash_conv - 0.002_388_809).abs() < 1e-4, "{name}: {profile:?}");
    }
    for name in ["kuhn3-subset.strategy", "kuhn3-walk.strategy", "kuhn3-explicit.strategy"] {
        let strategy = Strategy::load(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(strategy.iterations(), 5, "{name}");
        let profile = strategy.profile(&Device::cpu(), Precision::F64).expect("a profile");
        assert_eq!(profile.value.len(), 3, "{name}");
    }
}

#[test]
fn reports_are_read() {
    let text = std::fs::read_to_string(path("solve.json")).expect("a file");
    let file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let report: Report = serde_json::from_value(file["report"].clone()).expect("a report");
    assert_eq!((report.engine, report.options.precision, report.iterations), (Engine::Cpu, Precision::F64, 100));
    // The spot of `subgame.json`, solved again.
    let spot = Spot::read(path("river.json")).expect("a spot");
    let text = std::fs::read_to_string(path("subgame.json")).expect("a file");
    let then: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let options = warpplay::cfr::Options {
        algorithm: warpplay::cfr::Algorithm::CfrPlus,
        precision: Precision::F64,
        iterations: 20,
        ..Default::default()
    };
    let now =
        spot.solve(&Device::cpu(), &SpotRun { options, measure_at: Vec::new(), ..SpotRun::default() }).expect("solves");
    assert_eq!(serde_json::json!(now.ev), then["ev"]);
    // Sums of at most 1,000 terms in a row, each at most the pot and both stacks, in another order since.
    let (now, then) = (now.trajectory[&20], then["trajectory"]["20"].as_f64().expect("a number"));
    let chips = spot.pot + 2.0 * spot.effective_stack;
    assert!((now - then).abs() <= 1000.0 * chips * f64::EPSILON, "{now}, {then}");
}
