//! The solver as a program sees it: how a run is divided does not matter, checkpoints go on with the same bits, strategies are kept in files without
//! loss, damaged files are refused, and the reference tables come out of a strategy's queries.

use std::fs;
use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::Value;

use warpplay::cfr::{Algorithm, Checkpoint, Engine, Options, Sampling, Solver, Strategy, Updates, head_to_head};
use warpplay::{Backend, Device, Error, Precision};
use warpplay_tests::backends::kernel_devices;
use warpplay_tests::cfr::{TRAJECTORIES, game, reference, run_on};

/// Every device, the plain one too.
fn devices() -> Vec<Device> {
    let mut devices = kernel_devices();
    devices.push(Device::cpu());
    devices
}

/// The arithmetic that every device offers.
const OPTIONS: Options = Options {
    algorithm: Algorithm::CfrPlus,
    updates: Updates::Alternating,
    averaging: warpplay::cfr::Averaging::Auto,
    sampling: Sampling::None,
    batch: 1,
    discounts: [1.5, 0.0, 2.0],
    exploration: 0.6,
    seed: 1,
    precision: Precision::F64,
    engine: Engine::Auto,
    isomorphism: true,
    iterations: 1000,
    threads: None,
};

#[test]
fn how_a_run_is_divided_does_not_matter() {
    for device in devices() {
        for algorithm in [Algorithm::CfrPlus, Algorithm::PcfrPlus, Algorithm::Dcfr] {
            let options = Options { algorithm, ..OPTIONS };
            let solve = |parts: &[u32]| {
                let mut solver =
                    Solver::builder(game("kuhn.limit.2p")).options(options).build(&device).expect("a solver");
                for &part in parts {
                    run_on(&mut solver, part.into()).expect("iterations");
                }
                (solver.exploitability().expect("a point"), solver.strategy().expect("a strategy"))
            };
            let (whole, parts) = (solve(&[30]), solve(&[1, 2, 20, 7]));
            assert_eq!((whole.0.iteration, whole.0.nash_conv), (30, parts.0.nash_conv), "{device} {algorithm}");
            assert_eq!((&whole.0.value, &whole.0.average_utility), (&parts.0.value, &parts.0.average_utility));
            let key = "0:3c::cr";
            assert_eq!(whole.1.query_key(key).expect("an answer"), parts.1.query_key(key).expect("an answer"));
        }
    }
}

#[test]
fn a_checkpoint_goes_on_with_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("half.checkpoint");
    for device in devices() {
        for algorithm in [Algorithm::Cfr, Algorithm::PcfrPlus] {
            for precision in [Precision::F64, Precision::F32] {
                if device.backend() == Backend::Cpu && precision == Precision::F32 {
                    continue;
                }
                let options = Options { algorithm, precision, ..OPTIONS };
                let build =
                    || Solver::builder(game("kuhn.limit.2p")).options(options).build(&device).expect("a solver");
                let mut whole = build();
                run_on(&mut whole, 25).expect("iterations");
                let mut half = build();
                run_on(&mut half, 10).expect("iterations");
                half.exploitability().expect("a point");
                half.checkpoint().expect("a state").save(&path).expect("a file");
                let checkpoint = Checkpoint::load(&path).expect("a checkpoint");
                assert_eq!((checkpoint.iteration(), checkpoint.trajectory().len()), (10, 1));
                let problem = checkpoint.problem().expect("a game of poker");
                let mut resumed = Solver::builder(problem).resume(checkpoint.clone()).build(&device).expect("a solver");
                run_on(&mut resumed, 15).expect("iterations");
                assert_eq!(resumed.iterations(), 25);
                let state = |solver: &mut Solver| solver.checkpoint().expect("a state");
                let point = |solver: &mut Solver| {
                    let point = solver.exploitability().expect("a point");
                    (point.nash_conv, point.value, point.best_response, point.average_utility)
                };
                assert_eq!(point(&mut whole), point(&mut resumed), "{device} {algorithm} {precision}");
                let [whole, resumed] = [state(&mut whole), state(&mut resumed)];
                assert!(whole.same_tables(&resumed), "{device} {algorithm} {precision}");
            }
        }
    }
}

#[test]
fn a_checkpoint_is_written_while_a_solve_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { iterations: 40, ..OPTIONS };
    let builder = || Solver::builder(game("kuhn.limit.2p")).options(options);
    for (number, device) in devices().iter().enumerate() {
        let mut whole = builder().build(device).expect("a solver");
        whole.run(|_| ControlFlow::Continue(())).expect("iterations");
        let path = folder.path().join(format!("{number}.checkpoint"));
        let copy = folder.path().join(format!("{number}.copy"));
        let kept = builder().checkpoint(&path).checkpoint_every(Duration::from_nanos(1));
        let mut copied_at = None;
        kept.build(device)
            .expect("a solver")
            .run(|progress| {
                // What is there now was written after the part before this one.
                if copied_at.is_none() && path.exists() {
                    fs::copy(&path, &copy).expect("a copy");
                    copied_at = Some(progress.steps);
                }
                ControlFlow::Continue(())
            })
            .expect("iterations");
        let copied_at = copied_at.expect("a checkpoint before the end");
        let checkpoint = Checkpoint::load(&copy).expect("a checkpoint");
        assert!((1..copied_at).contains(&checkpoint.iteration()), "{device}: {}", checkpoint.iteration());
        assert_eq!(Checkpoint::load(&path).expect("a checkpoint").iteration(), 40, "{device}");
        let mut resumed = builder().resume(checkpoint).build(device).expect("a solver");
        resumed.run(|_| ControlFlow::Continue(())).expect("iterations");
        assert_eq!(resumed.iterations(), 40);
        let [whole, resumed] = [whole, resumed].map(|mut solver| solver.checkpoint().expect("a state"));
        assert!(whole.same_tables(&resumed), "{device}");
    }
    // Where the time is longer than the solve, the only checkpoint is that of its end, which is written before the end is measured and told.
    let path = folder.path().join("rare.checkpoint");
    let rare = builder().checkpoint(&path).checkpoint_every(Duration::from_secs(3600));
    let mut solver = rare.build(&Device::cpu()).expect("a solver");
    let mut seen = 0;
    let watched = solver.run(|progress| {
        assert_eq!(path.exists(), Some(progress.steps) == progress.n_steps);
        seen += 1;
        ControlFlow::Continue(())
    });
    watched.expect("iterations");
    assert!(seen > 1 && path.exists());
}

#[test]
fn a_checkpoint_of_another_game_is_refused() {
    let device = Device::cpu();
    let mut solver = Solver::builder(game("kuhn.limit.2p")).options(OPTIONS).build(&device).expect("a solver");
    run_on(&mut solver, 1).expect("an iteration");
    let checkpoint = solver.checkpoint().expect("a checkpoint");
    let error = Solver::builder(game("variant_a")).resume(checkpoint.clone()).build(&device).expect_err("another game");
    assert!(matches!(error, Error::Shape { .. }), "{error}");
}

#[test]
fn a_strategy_is_kept_in_a_file_without_loss_and_every_damage_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.strategy");
    let device = Device::cpu();
    let mut solver = Solver::builder(game("leduc.limit.2p")).options(OPTIONS).build(&device).expect("a solver");
    run_on(&mut solver, 20).expect("iterations");
    let strategy = solver.strategy().expect("a strategy");
    strategy.save(&path).expect("a file");
    let again = Strategy::load(&path).expect("a strategy");
    assert_eq!((again.iterations(), again.options()), (20, &Options { iterations: 20, ..OPTIONS }));
    let all = |strategy: &Strategy| {
        let mut answers = Vec::new();
        let visited: Result<(), ()> = strategy.each(|answer| {
            answers.push(answer);
            Ok(())
        });
        visited.expect("nothing fails");
        answers
    };
    assert_eq!(all(&strategy), all(&again));
    // The compact form is near, and less than two thirds as large.
    let compact = folder.path().join("c.strategy");
    strategy.save_compact(&compact).expect("a file");
    for (exact, near) in all(&strategy).iter().zip(&all(&Strategy::load(&compact).expect("a strategy"))) {
        assert_eq!(exact.key, near.key);
        for (exact, near) in exact.choices.iter().zip(&near.choices) {
            assert!((exact.probability - near.probability).abs() < 2e-5, "{exact:?} {near:?}");
        }
    }
    let size = |path| fs::metadata(path).expect("a file").len();
    assert!(3 * size(&compact) < 2 * size(&path), "{} {}", size(&compact), size(&path));
    // A bit turned anywhere, and every cut.
    let bytes = fs::read(&path).expect("a file");
    let damaged = folder.path().join("d.strategy");
    let refused = |bytes: &[u8], what: &str| {
        fs::write(&damaged, bytes).expect("a file");
        let error = Strategy::load(&damaged).expect_err(what);
        assert!(matches!(error, Error::File { .. }), "{what}: {error}");
    };
    for at in (0..bytes.len()).step_by(97) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        refused(&bytes, &format!("byte {at}"));
    }
    for length in [0, 1, 7, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        refused(&bytes[..length], &format!("{length} bytes"));
    }
    refused(b"GAMEDEF\n", "a foreign file");
    // A checkpoint is no strategy.
    solver.checkpoint().expect("a state").save(&path).expect("a file");
    let error = Strategy::load(&path).expect_err("a checkpoint");
    assert!(error.to_string().contains("not a strategy"), "{error}");
}

#[test]
fn the_reference_tables_come_out_of_queries() {
    let reference = reference();
    for device in devices() {
        for (name, algorithm, iterations) in [
            ("kuhn.limit.2p", Algorithm::CfrPlus, 10),
            ("variant_a", Algorithm::CfrPlus, 10),
            ("leduc.limit.2p", Algorithm::CfrPlus, 2),
            ("kuhn.limit.3p", Algorithm::Cfr, 10),
        ] {
            let updates = Updates::Alternating;
            let (label, ..) =
                TRAJECTORIES.into_iter().find(|&(_, of, by)| (of, by) == (algorithm, updates)).expect("one");
            let table = &reference["games"][name]["tables"][label][iterations.to_string()];
            let table = table.as_object().expect("a table");
            let options = Options { algorithm, updates, ..OPTIONS };
            let mut solver = Solver::builder(game(name)).options(options).build(&device).expect("a solver");
            run_on(&mut solver, iterations).expect("iterations");
            let strategy = solver.strategy().expect("a strategy");
            for (key, expected) in table {
                let answer = strategy.query_key(key).unwrap_or_else(|error| panic!("{device} {name} {key}: {error}"));
                let actions: String = answer.choices.iter().map(|choice| choice.action.as_str()).collect();
                assert_eq!(expected["actions"], Value::from(actions), "{key}");
                for (choice, expected) in answer.choices.iter().zip(expected["avg"].as_array().expect("a list")) {
                    let expected = expected.as_f64().expect("a number");
                    assert!(
                        (choice.probability - expected).abs() < 1e-6,
                        "{device} {name} {key}: {answer:?}, {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn one_strategy_against_another_is_exact_and_zero_sum() {
    for device in devices() {
        let strategy = |n: u32| {
            let mut solver = Solver::builder(game("leduc.limit.2p")).options(OPTIONS).build(&device).expect("a solver");
            run_on(&mut solver, n.into()).expect("iterations");
            (solver.strategy().expect("a strategy"), solver.exploitability().expect("a point"))
        };
        // After one iteration the average is uniform.
        let ((uniform, first), (good, second)) = (strategy(1), strategy(30));
        let own = head_to_head(&device, &good, &good, Precision::F64).expect("values");
        assert!(own.value.abs() < 1e-9, "{own:?}");
        assert!((own.values[0] - second.value[0]).abs() < 1e-6, "{own:?} {second:?}");
        let gain = head_to_head(&device, &good, &uniform, Precision::F64).expect("values");
        let loss = head_to_head(&device, &uniform, &good, Precision::F64).expect("values");
        assert!((gain.value + loss.value).abs() < 1e-9 && gain.value > 0.0, "{gain:?} {loss:?}");
        // Nobody wins more than by a best response.
        assert!(gain.values[0] <= first.best_response[0] + 1e-9 && gain.values[1] <= first.best_response[1] + 1e-9);
        let profile = uniform.profile(&device, Precision::F64).expect("a profile");
        assert!((profile.nash_conv - first.nash_conv).abs() < 1e-6, "{profile:?} {first:?}");
    }
}

#[test]
fn wrong_options_are_refused_with_their_name() {
    let device = Device::cpu();
    let refused = |options: Options, name: &str| {
        let error = Solver::builder(game("kuhn.limit.2p")).options(options).build(&device).expect_err(name);
        assert!(matches!(&error, Error::Option { name: found, .. } if *found == name), "{name}: {error}");
    };
    refused(Options { batch: 0, ..OPTIONS }, "batch");
    refused(Options { batch: 2, ..OPTIONS }, "batch");
    refused(Options { discounts: [f64::NAN, 0.0, 0.0], ..OPTIONS }, "discounts");
    // 1000^13 overflows single precision, 1000^12 times 1000 does not; fewer iterations would do.
    let dcfr = |discounts, precision| Options { algorithm: Algorithm::Dcfr, discounts, precision, ..OPTIONS };
    refused(dcfr([1.5, 0.0, 13.0], Precision::F32), "iterations");
    refused(dcfr([200.0, 0.0, 2.0], Precision::F64), "iterations");
    refused(dcfr([1.5, 200.0, 2.0], Precision::F64), "iterations");
    refused(dcfr([1.5, 0.0, 103.0], Precision::F64), "iterations");
    for (gamma, precision) in [(11.0, Precision::F32), (13.0, Precision::F64)] {
        dcfr([1.5, -200.0, gamma], precision).check().expect("discounts that are numbers");
    }
    refused(Options { exploration: 0.0, ..OPTIONS }, "exploration");
    refused(Options { threads: Some(0), ..OPTIONS }, "threads");
    refused(Options { threads: Some(1025), ..OPTIONS }, "threads");
    for (path, every) in [(Some("a"), Duration::ZERO), (None, Duration::from_secs(1))] {
        let builder = Solver::builder(game("kuhn.limit.2p")).options(OPTIONS).checkpoint_every(every);
        let builder = path.into_iter().fold(builder, |builder, path| builder.checkpoint(path));
        let error = builder.build(&device).expect_err("no time, or no path");
        assert!(matches!(&error, Error::Option { name: "checkpoint_every", .. }), "{error}");
    }
    let options = Options { algorithm: Algorithm::CfrBr, ..OPTIONS };
    let error = Solver::builder(game("kuhn.limit.3p")).options(options).build(&device).expect_err("three players");
    assert!(error.to_string().contains("cfr_br"), "{error}");
}

#[test]
fn progress_stops_a_run() {
    let mut solver = Solver::builder(game("kuhn.limit.2p")).options(OPTIONS).build(&Device::cpu()).expect("a solver");
    let mut seen = Vec::new();
    let report = solver
        .run(|progress| {
            assert_eq!(progress.n_steps, Some(1000));
            seen.push(progress.steps);
            if seen.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .expect("iterations");
    assert_eq!((seen.len(), report.iterations, solver.iterations()), (3, seen[2], seen[2]));
    assert!(report.iterations < 1000 && seen.is_sorted());
}

#[test]
fn the_cpu_follows_the_reference() {
    let reference = reference();
    for (name, last) in [("kuhn.limit.2p", 100), ("variant_a", 10), ("leduc.limit.2p", 10)] {
        for (label, algorithm, updates) in TRAJECTORIES {
            let points = &reference["games"][name]["trajectories"][label];
            let options = Options { algorithm, updates, ..OPTIONS };
            let mut solver = Solver::builder(game(name)).options(options).build(&Device::cpu()).expect("a solver");
            for t in [1, 2, 3, 5, 10, 100].into_iter().filter(|&t| t <= last) {
                let missing = t - solver.iterations();
                run_on(&mut solver, missing).expect("iterations");
                let point = solver.exploitability().expect("measured");
                let expected = points[t.to_string()]["nash_conv"].as_f64().expect("a number");
                let what = format!("{name} {label} at {t}: {}, {expected}", point.nash_conv);
                assert!((point.nash_conv - expected).abs() < 1e-9 * expected.max(1e-3), "{what}");
            }
        }
    }
}
