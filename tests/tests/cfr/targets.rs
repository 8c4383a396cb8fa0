//! The defaults of spots, and how the bench `cfr --only targets` measures them.

use warpplay::Device;
use warpplay::cfr::{Algorithm, Options, Solver, Spot, SpotRun, SpotSolver};
use warpplay_tests::backends::kernel_devices;
use warpplay_tests::programs::{Scratch, warpplay};

#[path = "../../../host/benches/cfr/approach.rs"]
mod approach;

use approach::{Approach, Limits};

/// A river where seat 0 has the best hand or nothing.
const RIVER: &str = r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "river": "3s",
    "ranges": ["AA,65s", "QQ"]}"#;
/// The same before the river.
const TURN: &str = r#"{"pot": 100, "effective_stack": 100, "bet_fraction_of_pot": 1.0, "flop": "Ks 7h 2d", "turn": "8c", "ranges": ["AA,65s", "QQ"]}"#;

#[test]
fn spots_have_one_default_everywhere() {
    let default = Options::SPOT;
    assert_eq!((default.algorithm, default.discounts), (Algorithm::Dcfr, [1.5, 0.0, 4.0]));
    assert_eq!(Options { algorithm: Algorithm::Cfr, discounts: [1.5, 0.0, 2.0], ..default }, Options::default());
    let spot = Spot::parse(RIVER).expect("a spot");
    assert_eq!(SpotRun::default().options, default);
    assert_eq!(SpotSolver::builder(&spot).settled().expect("options"), default);
    assert_eq!(Solver::builder(&spot).build(&Device::cpu()).expect("a solver").options(), &default);
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "cfr");
    scratch.write("river.json", RIVER.as_bytes());
    scratch.write("turn.json", TURN.as_bytes());
    let of = |line: &str, pointer: &str| -> Options {
        scratch.ok(&format!("{line} --device cpu --json found.json --quiet"));
        let options = scratch.json("found.json").pointer(pointer).expect("options").clone();
        serde_json::from_value(options).expect("options")
    };
    let few = Options { iterations: 2, ..default };
    for (line, pointer) in [
        ("solve-spot river.json --iterations 2", "/report/options"),
        ("solve-boards turn.json --boards 3s --iterations 2", "/options"),
    ] {
        assert_eq!(of(line, pointer), few, "{line}");
    }
    // A file keeps its own.
    let old = "solve-spot river.json --iterations 2 --discounts 1.5,0,2 --save old.spot";
    let kept = Options { discounts: [1.5, 0.0, 2.0], ..few };
    assert_eq!(of(old, "/report/options"), kept);
    let gone_on = of("solve-spot --resume old.spot --iterations 3", "/report/options");
    assert_eq!(gone_on, Options { iterations: 3, ..kept });
}

#[test]
fn a_spot_is_measured_on_a_grid_until_a_target() {
    let spot = Spot::parse(RIVER).expect("a spot");
    let limits = Limits { percent: 0.5, iterations: 10_000, seconds: f64::INFINITY, apart: 1 };
    for device in kernel_devices().into_iter().chain([Device::cpu()]) {
        let solve = |limits| Approach::of(&device, &spot, Options::SPOT, limits).expect("solves");
        let found = solve(limits);
        let at: Vec<u64> = found.steps.iter().map(|step| step.iterations).collect();
        // Each a tenth more, rounded up.
        let grid = std::iter::successors(Some(10u64), |&at| Some(at + at.div_ceil(10)));
        assert_eq!(at, grid.take(at.len()).collect::<Vec<_>>(), "{device}");
        assert!(found.steps.windows(2).all(|pair| pair[0].seconds <= pair[1].seconds), "{device}: {found:?}");
        assert!(found.steps.first().is_some_and(|step| step.seconds >= found.set_up), "{device}: {found:?}");
        let (last, before) = found.steps.split_last().expect("a step");
        assert!(last.percent <= 0.5 && before.iter().all(|step| step.percent > 0.5), "{device}: {found:?}");
        assert_eq!(found.reached(0.5).map(|step| step.iterations), Some(last.iterations));
        assert!(found.reached(0.0).is_none());
        assert!(!found.engine.is_empty() && found.infoset_actions > 0 && found.bytes > 0, "{device}: {found:?}");
        assert!(found.measuring > 0.0, "{device}: {found:?}");
        assert!(found.seconds_per_iteration() * last.iterations as f64 <= last.seconds, "{device}: {found:?}");
        // The limits of work and time.
        let short = solve(Limits { percent: 0.0, iterations: 15, ..limits });
        assert_eq!(short.steps.iter().map(|step| step.iterations).collect::<Vec<_>>(), [10, 11, 13, 15], "{device}");
        let rare = solve(Limits { percent: 0.0, iterations: 25, apart: 10, ..limits });
        assert_eq!(rare.steps.iter().map(|step| step.iterations).collect::<Vec<_>>(), [10, 20, 25], "{device}");
        let none = solve(Limits { seconds: 0.0, ..limits });
        assert_eq!(none.steps.len(), 1, "{device}");
    }
}
