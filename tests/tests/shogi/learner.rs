//! The learner: every optimiser lowers the objective, and comes to the same bits on every back end, with any shards, and after a stop.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use warpplay::shogi::learner::{
    Checkpoint, EarlyStopping, Engine, LearnReport, LearnRow, Learner, LearnerBuilder, Options, Weights,
};
use warpplay::shogi::ranks::{Ranks, Threads};
use warpplay::shogi::{FeatureSet, Optimizer, Shard, StoppedBy};
use warpplay::{Device, Error, Progress, Result};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::learning::{dataset, few, reference};

/// Between two checkpoints: one every iteration.
const SOON: Duration = Duration::from_nanos(1);

/// The report without what the clock says.
fn timeless(mut report: LearnReport) -> LearnReport {
    for row in &mut report.rows {
        row.seconds = 0.0;
    }
    LearnReport {
        device: String::new(),
        device_name: String::new(),
        engine: Engine::Auto,
        seconds: 0.0,
        ranks: 0,
        exchange: None,
        ..report
    }
}

/// A run's report and the bits of its weights.
fn learn(builder: LearnerBuilder<'_>, device: &Device, iterations: u32) -> Result<(LearnReport, Vec<u32>)> {
    let mut learner = builder.iterations(iterations).build(device)?;
    let report = learner.run(Progress::go_on)?;
    Ok((timeless(report), bits(&learner.weights()?)))
}

fn bits(weights: &Weights) -> Vec<u32> {
    weights.values().iter().map(|weight| weight.to_bits()).collect()
}

/// Options that use much at once.
fn busy(features: FeatureSet, optimizer: Optimizer) -> Options {
    let lbfgs = optimizer == Optimizer::Lbfgs;
    Options {
        features,
        optimizer,
        rate_factor: 0.9,
        l1: if lbfgs { 0.0 } else { 1e-6 },
        l2: 1e-5,
        window: Some(6.0),
        siblings: 20,
        seed: 7,
        keep_scale: !lbfgs,
        early_stopping: Some(EarlyStopping { patience: 100, min_delta: 0.0 }),
        ..Options::default()
    }
}

#[test]
fn every_optimizer_lowers_the_objective() {
    let set = dataset(0..100, 40..80, 1, 1000);
    let reference = reference();
    let rows = &reference["first_100_games"]["rows"];
    let last = rows.as_array().unwrap().last().unwrap()["J"].as_f64().unwrap();
    for &optimizer in Optimizer::ALL {
        let builder = Learner::builder(&set).optimizer(optimizer).iterations(20);
        let report = builder.build(&Device::cpu()).unwrap().run(Progress::go_on).unwrap();
        let (first, end) = (&report.rows[0], &report.rows[report.rows.len() - 1]);
        assert!((first.train.j - rows[0]["J"].as_f64().unwrap()).abs() < 1e-9, "{optimizer}");
        assert_eq!((first.train.children, first.train.parents), (272_355, 3823));
        assert!(end.train.j < first.train.j, "{optimizer}: {} after {}", end.train.j, first.train.j);
        println!(
            "{optimizer}: {:.6} to {:.6}, agreement {:.4} to {:.4}",
            first.train.j, end.train.j, first.train.agreement, end.train.agreement
        );
        if optimizer == Optimizer::Lbfgs {
            assert!(end.train.j < last, "{} by the paper's rule, {}", last, end.train.j);
        }
        assert!(
            report.rows.iter().all(|row| row.held_out.is_none() && row.train.agreement <= row.train.agreement_of_three)
        );
    }
}

#[test]
fn back_ends_learn_the_same_bits() {
    let (train, held_out) = few();
    let cases = [
        (FeatureSet::Material, Optimizer::Lbfgs, 3),
        (FeatureSet::MaterialHand, Optimizer::Momentum, 3),
        (FeatureSet::PieceSquare, Optimizer::Adam, 3),
        (FeatureSet::PieceSquare, Optimizer::Lbfgs, 2),
        (FeatureSet::KingPiece, Optimizer::AdaGrad, 2),
        (FeatureSet::KingPiece, Optimizer::Sign, 2),
    ];
    for (features, optimizer, iterations) in cases {
        let builder = || Learner::builder(&train).held_out(&held_out).options(busy(features, optimizer));
        let expected = learn(builder(), &Device::cpu(), iterations).unwrap();
        for_each_device(|device| {
            let found = learn(builder(), device, iterations)?;
            assert!(
                found == expected,
                "{features}, {optimizer}: {:#?} instead of {:#?}",
                found.0.rows,
                expected.0.rows
            );
            Ok(())
        });
    }
}

#[test]
fn shards_and_ranks_do_not_matter() {
    let ((train, held_out), whole) = (few(), dataset(0..8, 40..80, 13, 1000));
    assert!(train.shards().len() > 4 && whole.shards().len() == 1);
    for optimizer in [Optimizer::Adam, Optimizer::Lbfgs] {
        let of = |set| Learner::builder(set).held_out(&held_out).options(busy(FeatureSet::PieceSquare, optimizer));
        let cpu = Device::cpu();
        let expected = learn(of(&train), &cpu, 4).unwrap();
        assert!(learn(of(&whole), &cpu, 4).unwrap() == expected, "{optimizer}");
        for size in [1, 2, 3, 4, 5, 7, 40] {
            let runs = Threads::run(size, |ranks| learn(of(&train).ranks(ranks), &cpu, 4)).unwrap();
            assert!(runs.iter().all(|run| *run == expected), "{optimizer}, {size} ranks");
        }
    }
}

/// Stopped after some iterations, written, read and resumed: the bits of a course that never stopped.
#[test]
fn a_course_goes_on_where_it_stopped() {
    let (train, held_out) = few();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let cpu = Device::cpu();
    for &optimizer in Optimizer::ALL {
        let features = if optimizer == Optimizer::Adam { FeatureSet::KingPiece } else { FeatureSet::PieceSquare };
        let builder = || Learner::builder(&train).held_out(&held_out).options(busy(features, optimizer)).iterations(6);
        let whole = learn(builder(), &cpu, 6).unwrap();
        // Stopped by its caller before the fourth step, on two ranks, with the file that the learner itself wrote.
        let stopped = Threads::run(2, |ranks| {
            let builder = builder().ranks(ranks).checkpoint(&path).checkpoint_every(SOON);
            let mut learner = builder.build(&cpu)?;
            // One rank alone wants to stop.
            let stop = |progress: &Progress<LearnRow>| match (ranks.rank(), progress.steps) {
                (1, 3) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            learner.run(stop)
        });
        for report in stopped.unwrap() {
            assert_eq!((report.stopped_by, report.rows.len()), (StoppedBy::Request, 4));
        }
        let checkpoint = Checkpoint::load(&path).unwrap();
        assert_eq!((checkpoint.iteration(), checkpoint.rows().len()), (3, 4));
        let resumed = learn(builder().resume(checkpoint.clone()), &cpu, 6).unwrap();
        assert!(resumed == whole, "{optimizer}: {:#?} instead of {:#?}", resumed.0.rows, whole.0.rows);
        // In the same learner too, and with one step a call.
        let mut learner = builder().build(&cpu).unwrap();
        for iteration in 0..=6 {
            learner.set_limit(iteration);
            learner.run(Progress::go_on).unwrap();
        }
        assert!(bits(&learner.weights().unwrap()) == whole.1, "{optimizer}");
        // Without options: they are the checkpoint's, how far it was to go too.
        let bare = || Learner::builder(&train).held_out(&held_out).resume(checkpoint.clone());
        let mut learner = bare().build(&cpu).unwrap();
        assert!(
            (timeless(learner.run(Progress::go_on).unwrap()), bits(&learner.weights().unwrap())) == whole,
            "{optimizer}"
        );
        let mut learner = bare().iterations(4).threads(1).build(&cpu).unwrap();
        assert_eq!(learner.run(Progress::go_on).unwrap().rows.len(), 5);
        // Not with other data or options.
        let other = Learner::builder(&held_out).resume(checkpoint.clone()).build(&cpu);
        assert!(matches!(other, Err(Error::Shape { .. } | Error::Option { .. })));
        let text = bare().learning_rate(0.5).build(&cpu).unwrap_err().to_string();
        assert_eq!(text, "option learning_rate: 0.5 is not allowed (none, as in the checkpoint)");
        let text = bare().window(2.5).build(&cpu).unwrap_err().to_string();
        assert_eq!(text, "option window: 2.5 is not allowed (6.0, as in the checkpoint)");
        let other = if optimizer == Optimizer::Gd { Optimizer::Sign } else { Optimizer::Gd };
        let text = bare().optimizer(other).build(&cpu).unwrap_err().to_string();
        assert_eq!(text, format!("option optimizer: {other} is not allowed ({optimizer}, as in the checkpoint)"));
    }
}

#[test]
fn damaged_checkpoints_are_refused() {
    let (train, _) = few();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut learner = Learner::builder(&train).iterations(2).build(&Device::cpu()).unwrap();
    learner.run(Progress::go_on).unwrap();
    learner.checkpoint().unwrap().save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let error = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let error = Checkpoint::load(&path).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{error}");
        error.to_string()
    };
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        error(&damaged);
        error(&bytes[..at]);
    }
    assert!(error(&[]).contains("the file is empty"));
    let mut other = bytes.clone();
    let at = bytes.windows(11).position(|window| window == br#"ersion\":2,"#.as_slice()).unwrap();
    other[at + 9] = b'1';
    assert!(error(&other).contains("checksum"));
    learner.weights().unwrap().save(&path).unwrap();
    assert!(Checkpoint::load(&path).unwrap_err().to_string().contains("not a checkpoint"));
    // A folder that is gone, a device that is full: what was there stays.
    assert!(learner.checkpoint().unwrap().save(folder.path().join("none").join("state")).is_err());
    assert!(learner.checkpoint().unwrap().save(Path::new("/dev/full")).is_err());
    assert_eq!(Weights::load(&path).unwrap(), learner.weights().unwrap());
}

#[test]
fn options_do_what_they_say() {
    let (train, held_out) = few();
    let cpu = Device::cpu();
    let (views, held) = (train.views(), held_out.views());
    // The scale is kept, the pawn's value is 1.
    let options = Options { keep_scale: true, features: FeatureSet::PieceSquare, ..Options::default() };
    let builder = || Learner::builder(&train).held_out(&held_out);
    let mut learner = builder().options(options).iterations(5).build(&cpu).unwrap();
    let report = learner.run(Progress::go_on).unwrap();
    assert!(report.to_string().starts_with("5 iterations in ") && report.to_string().contains("held out"), "{report}");
    let text = serde_json::to_string(&report).unwrap();
    assert!(serde_json::from_str::<LearnReport>(&text).unwrap() == report);
    assert_eq!(report.engine, Engine::Cpu);
    assert!(report.to_string().contains("engine cpu on ") && report.to_string().contains(", seed 0\n"), "{report}");
    assert!(learner.memory_needed().device() == 20 * 1104);
    for row in &report.rows {
        assert!((row.values.iter().sum::<f64>() - 36.0).abs() < 1e-4, "{row:?}");
    }
    assert!(report.rows[5].values != report.rows[0].values);
    let weights = learner.weights().unwrap();
    assert_eq!(weights.values()[0], 1.0);
    // Measuring gives the rows' numbers.
    assert_eq!(Some(learner.measure(&held).unwrap()), report.rows[5].held_out);
    assert_eq!(learner.measure(&views).unwrap(), report.rows[5].train);
    // On from weights that were learnt.
    let second = builder().features(FeatureSet::PieceSquare).weights(weights.clone()).iterations(0);
    assert_eq!(second.build(&cpu).unwrap().run(Progress::go_on).unwrap().rows[0].train, report.rows[5].train);
    // Held-out J that only rises: steps so large that nothing good can come of them.
    let wild = builder().optimizer(Optimizer::Sign).learning_rate(20.0).early_stopping(3, 0.0);
    let mut learner = wild.build(&cpu).unwrap();
    let report = learner.run(Progress::go_on).unwrap();
    assert_eq!(report.stopped_by, StoppedBy::EarlyStopping);
    let best = report.best_iteration.unwrap();
    assert_eq!(report.rows.len() as u32, best + 4);
    let j = |row: &LearnRow| row.held_out.unwrap().j;
    assert!(report.rows.iter().all(|row| j(row) >= j(&report.rows[best as usize])));
    let best_weights = learner.best_weights().unwrap().unwrap();
    let values = best_weights.material();
    assert_eq!(values, report.rows[best as usize].values);
    // A rate that leaves the range is named.
    let mut learner = builder().optimizer(Optimizer::Sign).learning_rate(600.0).iterations(5).build(&cpu).unwrap();
    let error = learner.run(Progress::go_on).unwrap_err();
    assert!(error.to_string().starts_with("option learning_rate: 600 is not allowed (a smaller one: "), "{error}");
    assert!(matches!(learner.run(Progress::go_on), Err(Error::Order { .. })));
}

/// A course's weights on [`few`] games.
fn learnt(options: &Options, iterations: u32) -> Vec<f32> {
    let (train, held_out) = few();
    let builder = Learner::builder(&train).held_out(&held_out).options(options.clone()).iterations(iterations);
    let mut learner = builder.build(&Device::cpu()).unwrap();
    learner.run(Progress::go_on).unwrap();
    learner.weights().unwrap().values().to_vec()
}

/// An option that is stored but not passed on would go unnoticed elsewhere, since all runs would be without it alike.
#[test]
fn every_option_reaches_what_is_learnt() {
    type Change = fn(&mut Options);
    let with = |base: &Options, change: Change| {
        let mut options = base.clone();
        change(&mut options);
        learnt(&options, 4)
    };
    // No two are the same, so that no option is another's.
    let all_differ = |base: &Options, changes: &[(&str, Change)]| {
        let mut found: Vec<(&str, Vec<f32>)> = vec![("none", learnt(base, 4))];
        for &(name, change) in changes {
            let weights = with(base, change);
            for (other, others) in &found {
                assert!(weights != *others, "{name} learns what {other} does");
            }
            found.push((name, weights));
        }
    };
    let base = Options { features: FeatureSet::PieceSquare, ..Options::default() };
    all_differ(
        &base,
        &[
            ("learning_rate", |o| o.learning_rate = Some(0.02)),
            ("rate_factor", |o| o.rate_factor = 0.5),
            ("l1", |o| o.l1 = 1e-3),
            ("l2", |o| o.l2 = 1e-2),
            ("beta1", |o| o.beta1 = 0.5),
            ("beta2", |o| o.beta2 = 0.9),
            ("epsilon", |o| o.epsilon = 1e-3),
            ("a", |o| o.a = 2.0),
            ("window", |o| o.window = Some(1.0)),
            ("siblings", |o| o.siblings = 5),
            ("seed", |o| (o.siblings, o.seed) = (5, 1)),
            ("batch", |o| o.batch = 5),
            ("seed of batches", |o| (o.batch, o.seed) = (5, 1)),
            ("keep_scale", |o| o.keep_scale = true),
            ("init", |o| o.init = [4.0; 12]),
        ],
    );
    let lbfgs = Options { optimizer: Optimizer::Lbfgs, ..base.clone() };
    all_differ(
        &lbfgs,
        &[
            ("learning_rate", |o| o.learning_rate = Some(0.1)),
            ("l2", |o| o.l2 = 1e-2),
            ("history", |o| o.history = 1),
            ("a", |o| o.a = 2.0),
            ("window", |o| o.window = Some(1.0)),
            ("siblings", |o| o.siblings = 5),
            ("seed", |o| (o.siblings, o.seed) = (5, 1)),
        ],
    );
    // Penalties pull to 0. The values of pieces begin far from it; the table, which begins there, shows it best.
    let sum = |weights: &[f32], of: fn(f64) -> f64| {
        weights[base.features.n_values()..].iter().map(|&weight| of(weight.into())).sum::<f64>()
    };
    let sizes = |weights: &[f32]| sum(weights, f64::abs);
    let squares = |weights: &[f32]| sum(weights, |weight| weight * weight);
    let free = learnt(&base, 4);
    let (l1, l2) = (with(&base, |o| o.l1 = 1e-3), with(&base, |o| o.l2 = 1e-2));
    assert!(sizes(&l1) < sizes(&free), "{} with l1, {} without", sizes(&l1), sizes(&free));
    assert!(squares(&l2) < squares(&free), "{} with l2, {} without", squares(&l2), squares(&free));
    let (free, l2) = (learnt(&lbfgs, 4), with(&lbfgs, |o| o.l2 = 1e-2));
    assert!(squares(&l2) < squares(&free), "lbfgs: {} with l2, {} without", squares(&l2), squares(&free));
}

/// Until the second search a course is that of one search alone; from then on it is another.
#[test]
fn quiet_lines_are_searched_anew_when_they_are_due() {
    let (train, held_out) = few();
    // Steps so large that other lines become best.
    let builder = || Learner::builder(&train).held_out(&held_out).learning_rate(0.5);
    let course = |every: u32| learn(builder().quiet(every, 4), &Device::cpu(), 5).unwrap();
    let (each, second, once) = (course(1), course(2), course(100));
    for (found, every) in [(&each, 1), (&second, 2)] {
        assert_eq!(found.0.rows[..every], once.0.rows[..every], "every {every}");
        let (row, of_once) = (&found.0.rows[every], &once.0.rows[every]);
        assert!(row.values == of_once.values && row.train.j != of_once.train.j, "{row:?}, once {of_once:?}");
    }
    assert!(each.1 != second.1 && each.1 != once.1 && second.1 != once.1);
}

#[test]
fn bad_input_is_named() {
    let (train, held_out) = few();
    let cpu = Device::cpu();
    let fails = |builder: LearnerBuilder<'_>| builder.build(&cpu).map(|_| ()).unwrap_err().to_string();
    let builder = || Learner::builder(&train).held_out(&held_out);
    let nothing: [&Shard; 0] = [];
    assert!(
        fails(Learner::builder(&nothing).held_out(&held_out))
            .starts_with("positions to learn from: expected 1 or more")
    );
    assert!(fails(builder().init([f64::NAN; 12])).starts_with("option init: NaN"));
    assert!(fails(builder().learning_rate(f64::INFINITY)).starts_with("option learning_rate: inf"));
    assert!(fails(builder().threads(0)).starts_with("option threads: 0"));
    assert!(fails(Learner::builder(&train).early_stopping(2, 0.0)).contains("only with held-out positions"));
    let text = fails(builder().checkpoint("state").checkpoint_every(Duration::ZERO));
    assert_eq!(text, "option checkpoint_every: 0 s is not allowed (a time above 0)");
    let text = fails(builder().checkpoint_every(SOON));
    assert_eq!(text, "option checkpoint_every: 1ns is not allowed (only with a checkpoint's path)");
    assert!(fails(builder().engine(Engine::Sparse)).contains("engine sparse"));
    let weights = Weights::new(FeatureSet::Material, vec![1.0; 13]).unwrap();
    let text = fails(builder().features(FeatureSet::KingPiece).weights(weights));
    assert!(text.starts_with("option features: kp is not allowed (material"), "{text}");
    let mut torn = train.shards()[0].clone();
    torn.differences.to_mut().pop();
    let text = fails(Learner::builder(&torn).held_out(&held_out));
    assert!(
        text.starts_with("shard 0 to learn from: expected columns that fit together, got column first_change"),
        "{text}"
    );
    // Ranks with other data, or other options.
    let error = Threads::run(3, |ranks| {
        let train = if ranks.rank() == 2 { &held_out } else { &train };
        Learner::builder(train).ranks(ranks).build(&cpu).map(|_| ())
    });
    assert!(error.unwrap_err().to_string().contains("its fingerprint of data is "));
    let error = Threads::run(3, |ranks| {
        builder().learning_rate(0.1 + ranks.rank() as f64).ranks(ranks).build(&cpu).map(|_| ())
    });
    assert!(error.unwrap_err().to_string().starts_with("rank 1 of 3: its set of options is"));
    // One rank cannot write the checkpoint: all end.
    let error = Threads::run(3, |ranks| {
        let builder = builder().iterations(3).checkpoint("/nowhere/state").ranks(ranks);
        builder.build(&cpu)?.run(Progress::go_on).map(|_| ())
    });
    assert!(error.unwrap_err().to_string().starts_with("/nowhere/state: cannot be written"));
}

/// Lines are searched every second iteration; a course that stopped between two searches goes on with the lines that it had.
#[test]
fn quiet_lines_go_on_after_a_stop_and_on_ranks() {
    let (train, held_out) = few();
    let cpu = Device::cpu();
    for (features, optimizer) in [(FeatureSet::Material, Optimizer::Adam), (FeatureSet::PieceSquare, Optimizer::Lbfgs)]
    {
        let still = || Learner::builder(&train).held_out(&held_out).options(busy(features, optimizer));
        let builder = || still().quiet(2, 4);
        let still = learn(still(), &cpu, 5).unwrap();
        let whole = learn(builder(), &cpu, 5).unwrap();
        assert!(whole.0.rows[0].train.j != still.0.rows[0].train.j && whole.1 != still.1);
        for iterations in [1, 4] {
            let mut learner = builder().iterations(iterations).build(&cpu).unwrap();
            learner.run(Progress::go_on).unwrap();
            let builder = builder().resume(learner.checkpoint().unwrap());
            assert!(learn(builder, &cpu, 5).unwrap() == whole, "{features}, after {iterations}");
        }
        let runs = Threads::run(3, |ranks| learn(builder().ranks(ranks), &cpu, 5)).unwrap();
        assert!(runs.iter().all(|run| *run == whole), "{features}");
    }
}
