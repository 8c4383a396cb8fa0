//! The learner: every optimiser lowers the objective, and comes to the same bits on every back end, with any shards, and after a stop.

use std::ops::ControlFlow;
use std::path::Path;

use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::learner::{
    Checkpoint, EarlyStopping, LearnReport, LearnRow, Learner, LearnerBuilder, Options, StoppedBy, Weights,
};
use warpplay::shogi::ranks::{Alone, Ranks, Threads};
use warpplay::shogi::{FeatureSet, Optimizer, Shard};
use warpplay::{Device, Error, Result};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::learning::{dataset, few, reference};

fn on(_: &LearnRow) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The report without what the clock says.
fn timeless(mut report: LearnReport) -> LearnReport {
    for row in &mut report.rows {
        row.seconds = 0.0;
    }
    LearnReport { device: String::new(), device_name: String::new(), ranks: 0, ..report }
}

/// A run's report and the bits of its weights.
fn learn(
    builder: LearnerBuilder,
    device: &Device,
    sets: (&Dataset, &Dataset),
    ranks: &dyn Ranks,
    iterations: u32,
) -> Result<(LearnReport, Vec<u32>)> {
    let mut learner = builder.build(device, &sets.0.views(), &sets.1.views(), ranks)?;
    let report = learner.run(iterations, on)?;
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
        let builder = Learner::builder().optimizer(optimizer);
        let views = set.views();
        let mut learner = builder.build(&Device::cpu(), &views, &[], &Alone).unwrap();
        let report = learner.run(20, on).unwrap();
        let (first, end) = (&report.rows[0], &report.rows[report.rows.len() - 1]);
        assert!((first.train.j - rows[0]["J"].as_f64().unwrap()).abs() < 1e-9, "{optimizer}");
        assert_eq!((first.train.children, first.train.parents), (272_355, 3823));
        assert!(end.train.j < first.train.j - 0.005, "{optimizer}: {} after {}", end.train.j, first.train.j);
        println!(
            "{optimizer}: {:.6} to {:.6}, agreement {:.4} to {:.4}",
            first.train.j, end.train.j, first.train.agreement, end.train.agreement
        );
        if optimizer == Optimizer::Lbfgs {
            assert!(end.train.j < last, "{} by the source's rule, {}", last, end.train.j);
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
        let builder = Learner::builder().options(busy(features, optimizer));
        let expected = learn(builder.clone(), &Device::cpu(), (&train, &held_out), &Alone, iterations).unwrap();
        for_each_device(|device| {
            let found = learn(builder.clone(), device, (&train, &held_out), &Alone, iterations)?;
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
        let builder = Learner::builder().options(busy(FeatureSet::PieceSquare, optimizer));
        let cpu = Device::cpu();
        let expected = learn(builder.clone(), &cpu, (&train, &held_out), &Alone, 4).unwrap();
        assert!(learn(builder.clone(), &cpu, (&whole, &held_out), &Alone, 4).unwrap() == expected, "{optimizer}");
        for size in [1, 2, 3, 4, 5, 7, 40] {
            let runs = Threads::run(size, |ranks| learn(builder.clone(), &cpu, (&train, &held_out), ranks, 4)).unwrap();
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
    let sets = (&train, &held_out);
    for &optimizer in Optimizer::ALL {
        let features = if optimizer == Optimizer::Adam { FeatureSet::KingPiece } else { FeatureSet::PieceSquare };
        let builder = Learner::builder().options(busy(features, optimizer));
        let whole = learn(builder.clone(), &cpu, sets, &Alone, 6).unwrap();
        // Stopped by its caller before the fourth step, on two ranks, with the file that the learner itself wrote.
        let stopped = Threads::run(2, |ranks| {
            let builder = builder.clone().checkpoint(&path, 2);
            let mut learner = builder.build(&cpu, &train.views(), &held_out.views(), ranks)?;
            // One rank alone wants to stop.
            let stop = |row: &LearnRow| match (ranks.rank(), row.iteration) {
                (1, 3) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            learner.run(6, stop)
        });
        for report in stopped.unwrap() {
            assert_eq!((report.stopped_by, report.rows.len()), (StoppedBy::Request, 4));
        }
        let checkpoint = Checkpoint::load(&path).unwrap();
        assert_eq!((checkpoint.iteration(), checkpoint.rows().len()), (3, 4));
        let resumed = learn(builder.clone().resume(checkpoint.clone()), &cpu, sets, &Alone, 6).unwrap();
        assert!(resumed == whole, "{optimizer}: {:#?} instead of {:#?}", resumed.0.rows, whole.0.rows);
        // In the same learner too, and with one step a call.
        let mut learner = builder.clone().build(&cpu, &train.views(), &held_out.views(), &Alone).unwrap();
        for iteration in 0..=6 {
            learner.run(iteration, on).unwrap();
        }
        assert!(bits(&learner.weights().unwrap()) == whole.1, "{optimizer}");
        // Not with other data or options.
        let other = builder.clone().resume(checkpoint.clone()).build(&cpu, &held_out.views(), &[], &Alone);
        assert!(matches!(other, Err(Error::Shape { .. } | Error::Option { .. })));
        let other = builder.clone().rate(0.5).resume(checkpoint).build(&cpu, &train.views(), &held_out.views(), &Alone);
        let text = other.unwrap_err().to_string();
        assert_eq!(text, "option rate: Some(0.5) is not allowed (None as in the checkpoint)");
    }
}

#[test]
fn damaged_checkpoints_are_refused() {
    let (train, _) = few();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut learner = Learner::builder().build(&Device::cpu(), &train.views(), &[], &Alone).unwrap();
    learner.run(2, on).unwrap();
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
    assert!(Checkpoint::load(&path).unwrap_err().to_string().contains("no checkpoint"));
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
    let mut learner = Learner::builder().options(options).build(&cpu, &views, &held, &Alone).unwrap();
    let report = learner.run(5, on).unwrap();
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
    let builder = Learner::builder().features(FeatureSet::PieceSquare).weights(weights.clone());
    let mut second = builder.build(&cpu, &views, &held, &Alone).unwrap();
    assert_eq!(second.run(0, on).unwrap().rows[0].train, report.rows[5].train);
    // Held-out J that only rises: steps so large that nothing good can come of them.
    let builder = Learner::builder().optimizer(Optimizer::Sign).rate(20.0).early_stopping(3, 0.0);
    let mut learner = builder.build(&cpu, &views, &held, &Alone).unwrap();
    let report = learner.run(50, on).unwrap();
    assert_eq!(report.stopped_by, StoppedBy::EarlyStopping);
    let best = report.best_iteration.unwrap();
    assert_eq!(report.rows.len() as u32, best + 4);
    let j = |row: &LearnRow| row.held_out.unwrap().j;
    assert!(report.rows.iter().all(|row| j(row) >= j(&report.rows[best as usize])));
    let best_weights = learner.best_weights().unwrap().unwrap();
    let values = best_weights.material();
    assert_eq!(values, report.rows[best as usize].values);
    // A rate that leaves the range is named.
    let builder = Learner::builder().optimizer(Optimizer::Sign).rate(600.0);
    let mut learner = builder.build(&cpu, &views, &[], &Alone).unwrap();
    let error = learner.run(5, on).unwrap_err();
    assert!(error.to_string().starts_with("option rate: 600 is not allowed (a smaller one: "), "{error}");
    assert!(matches!(learner.run(5, on), Err(Error::Order { .. })));
}

/// A course's weights on [`few`] games.
fn learnt(options: &Options, iterations: u32) -> Vec<f32> {
    let (train, held_out) = few();
    let builder = Learner::builder().options(options.clone());
    let mut learner = builder.build(&Device::cpu(), &train.views(), &held_out.views(), &Alone).unwrap();
    learner.run(iterations, on).unwrap();
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
            ("rate", |o| o.rate = Some(0.02)),
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
            ("keep_scale", |o| o.keep_scale = true),
            ("init", |o| o.init = [4.0; 12]),
        ],
    );
    let lbfgs = Options { optimizer: Optimizer::Lbfgs, ..base.clone() };
    all_differ(
        &lbfgs,
        &[
            ("rate", |o| o.rate = Some(0.1)),
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
    assert!(sizes(&l1) < 0.8 * sizes(&free), "{} with l1, {} without", sizes(&l1), sizes(&free));
    assert!(squares(&l2) < 0.8 * squares(&free), "{} with l2, {} without", squares(&l2), squares(&free));
    let (free, l2) = (learnt(&lbfgs, 4), with(&lbfgs, |o| o.l2 = 1e-2));
    assert!(squares(&l2) < 0.8 * squares(&free), "lbfgs: {} with l2, {} without", squares(&l2), squares(&free));
}

/// Until the second search a course is that of one search alone; from then on it is another.
#[test]
fn quiet_lines_are_searched_anew_when_they_are_due() {
    let (train, held_out) = few();
    let sets = (&train, &held_out);
    // Steps so large that other lines become best.
    let builder = Learner::builder().rate(0.5);
    let course = |every: u32| learn(builder.clone().quiet(every, 4), &Device::cpu(), sets, &Alone, 5).unwrap();
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
    let (views, held) = (train.views(), held_out.views());
    let fails = |builder: LearnerBuilder, train: &[&Shard], held: &[&Shard]| {
        builder.build(&cpu, train, held, &Alone).map(|_| ()).unwrap_err().to_string()
    };
    let builder = Learner::builder;
    assert!(fails(builder(), &[], &held).starts_with("positions to learn from: expected 1 or more"));
    assert!(fails(builder().init([f64::NAN; 12]), &views, &held).starts_with("option init: NaN"));
    assert!(fails(builder().rate(f64::INFINITY), &views, &held).starts_with("option rate: inf"));
    assert!(fails(builder().early_stopping(2, 0.0), &views, &[]).contains("only with held-out positions"));
    assert!(fails(builder().checkpoint("state", 0), &views, &[]).starts_with("option checkpoint"));
    let weights = Weights::new(FeatureSet::Material, vec![1.0; 13]).unwrap();
    let text = fails(builder().features(FeatureSet::KingPiece).weights(weights), &views, &[]);
    assert!(text.starts_with("option features: kp is not allowed (material"), "{text}");
    let mut torn = train.shards()[0].clone();
    torn.differences.to_mut().pop();
    let text = fails(builder(), &[&torn], &held);
    assert!(
        text.starts_with("shard 0 to learn from: expected columns that fit together, got column first_change"),
        "{text}"
    );
    // Ranks with other data, or other options.
    let error = Threads::run(3, |ranks| {
        let train = if ranks.rank() == 2 { &held } else { &views };
        builder().build(&cpu, train, &[], ranks).map(|_| ())
    });
    assert!(error.unwrap_err().to_string().contains("its fingerprint of data is "));
    let error =
        Threads::run(3, |ranks| builder().rate(0.1 + ranks.rank() as f64).build(&cpu, &views, &[], ranks).map(|_| ()));
    assert!(error.unwrap_err().to_string().starts_with("rank 1 of 3: its set of options is"));
    // One rank cannot write the checkpoint: all end.
    let error = Threads::run(3, |ranks| {
        let builder = builder().checkpoint("/nowhere/state", 1);
        builder.build(&cpu, &views, &[], ranks)?.run(3, on).map(|_| ())
    });
    assert!(error.unwrap_err().to_string().starts_with("/nowhere/state: cannot be written"));
}

/// Lines are searched every second iteration; a course that stopped between two searches goes on with the lines that it had.
#[test]
fn quiet_lines_go_on_after_a_stop_and_on_ranks() {
    let (train, held_out) = few();
    let cpu = Device::cpu();
    let sets = (&train, &held_out);
    for (features, optimizer) in [(FeatureSet::Material, Optimizer::Adam), (FeatureSet::PieceSquare, Optimizer::Lbfgs)]
    {
        let builder = Learner::builder().options(busy(features, optimizer));
        let still = learn(builder.clone(), &cpu, sets, &Alone, 5).unwrap();
        let builder = builder.quiet(2, 4);
        let whole = learn(builder.clone(), &cpu, sets, &Alone, 5).unwrap();
        assert!(whole.0.rows[0].train.j != still.0.rows[0].train.j && whole.1 != still.1);
        for iterations in [1, 4] {
            let mut learner = builder.clone().build(&cpu, &train.views(), &held_out.views(), &Alone).unwrap();
            learner.run(iterations, on).unwrap();
            let builder = builder.clone().resume(learner.checkpoint().unwrap());
            assert!(learn(builder, &cpu, sets, &Alone, 5).unwrap() == whole, "{features}, after {iterations}");
        }
        let runs = Threads::run(3, |ranks| learn(builder.clone(), &cpu, sets, ranks, 5)).unwrap();
        assert!(runs.iter().all(|run| *run == whole), "{features}");
    }
}
