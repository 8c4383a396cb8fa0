//! Mini-batches: the gradient is that of their positions, an epoch has every position once, and a course has the same bits on every back end, with any ranks and shards, and after a stop in
//! the middle of an epoch.

use std::ops::ControlFlow;

use warpplay::shogi::learner::{
    Checkpoint, EarlyStopping, LearnReport, LearnRow, Learner, LearnerBuilder, Measures, Options, epoch_order,
    siblings_seed,
};
use warpplay::shogi::ranks::{Ranks, Threads};
use warpplay::shogi::{FeatureSet, Loss, Optimizer, Selection, Shard, Sparse, SparseOptions, StoppedBy, Totals};
use warpplay::{Device, Progress, Result};
use warpplay_cpu_ref::shogi::sparse as reference;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::learning::{dataset, few};

const LOSS: Loss = Loss { a: 3.0, window: 6.0, siblings: 12, seed: 3 };

/// Columns of some parents, put together here from the shard's rows.
#[derive(Default)]
struct Rows {
    pieces: Vec<[u16; 40]>,
    sides: Vec<u8>,
    plies: Vec<u16>,
    games: Vec<u64>,
    first_child: Vec<u32>,
    played: Vec<u16>,
    first_change: Vec<u32>,
    changes: Vec<u32>,
}

impl Rows {
    /// Parents by their numbers, counted through all shards.
    fn of(shards: &[&Shard], parents: &[u32]) -> Self {
        let mut rows = Self { first_child: vec![0], first_change: vec![0], ..Self::default() };
        for &parent in parents {
            let mut parent = parent as usize;
            let mut at = 0;
            while parent >= shards[at].n_parents() {
                parent -= shards[at].n_parents();
                at += 1;
            }
            let shard = shards[at];
            rows.pieces.push(shard.pieces[parent]);
            rows.sides.push(shard.sides[parent]);
            rows.plies.push(shard.plies[parent]);
            rows.games.push(shard.games[parent]);
            rows.played.push(shard.played[parent]);
            for child in shard.children(parent) {
                rows.changes.extend(shard.changes_of(child));
                rows.first_change.push(rows.changes.len() as u32);
            }
            rows.first_child.push(rows.first_change.len() as u32 - 1);
        }
        rows
    }

    fn columns(&self) -> reference::Columns<'_> {
        reference::Columns {
            pieces: &self.pieces,
            sides: &self.sides,
            plies: &self.plies,
            games: &self.games,
            first_child: &self.first_child,
            played: &self.played,
            first_change: &self.first_change,
            changes: &self.changes,
        }
    }
}

fn set_of(features: FeatureSet) -> reference::Set {
    match features {
        FeatureSet::PieceSquare => reference::Set::PieceSquare,
        FeatureSet::KingPiece => reference::Set::KingPiece,
        other => panic!("no test of {other}"),
    }
}

/// Totals and gradient by the plain program, from all rows.
fn plain(features: FeatureSet, weights: &[f32], rows: &Rows, loss: &Loss) -> (reference::Totals, Vec<i64>) {
    let Loss { a, window, siblings, seed } = *loss;
    let loss = reference::Loss { a, window, siblings, seed };
    let mut gradient = vec![0; features.len()];
    let totals = reference::pass(set_of(features), weights, &rows.columns(), &loss, Some(&mut gradient));
    (totals, gradient)
}

fn same(totals: &Totals, expected: &reference::Totals) -> bool {
    let reference::Totals { loss, children, parents, first, first_three } = *expected;
    *totals == Totals { loss, children, parents, first, first_three }
}

/// The parents of a batch, shard by shard.
fn lists(shards: &[&Shard], batch: &[u32]) -> Vec<Vec<u32>> {
    let mut begin = 0;
    let mut lists = Vec::new();
    for shard in shards {
        let end = begin + shard.n_parents() as u32;
        let mut list: Vec<u32> = batch.iter().filter(|&&p| (begin..end).contains(&p)).map(|p| p - begin).collect();
        list.sort_unstable();
        lists.push(list);
        begin = end;
    }
    lists
}

/// On the device, streamed to it, and on the CPU: each batch has the reference's gradient, and all batches of an epoch add up to the whole.
#[test]
fn gradients_of_batches_are_those_of_their_positions() {
    let set = dataset(0..6, 40..80, 7, 9);
    let shards = set.views();
    assert!(shards.len() > 3);
    for features in [FeatureSet::PieceSquare, FeatureSet::KingPiece] {
        let weights = features.weights_of(&[2.5, 3.0, 4.5, 5.0, 7.0, 8.0, 5.5, 5.0, 5.0, 5.0, 9.5, 11.0]);
        let order = epoch_order(&shards, 4, 2).unwrap();
        let whole = plain(features, &weights, &Rows::of(&shards, &order), &LOSS);
        let check = |device: &Device, options: SparseOptions| -> Result<()> {
            let mut sparse = Sparse::builder(features).options(options).build(device)?;
            sparse.set_weights(&weights)?;
            let (mut totals, mut gradient) = (Totals::default(), vec![0_i64; features.len()]);
            for batch in order.chunks(8) {
                let expected = plain(features, &weights, &Rows::of(&shards, batch), &LOSS);
                let lists = lists(&shards, batch);
                let parts: Vec<Selection<'_>> =
                    shards.iter().zip(&lists).map(|(&shard, list)| Selection { shard, parents: Some(list) }).collect();
                let found = sparse.pass_some(&parts, &LOSS, true)?;
                assert!(same(&found, &expected.0), "{features} on {device}: {found:?} instead of {:?}", expected.0);
                let of_batch = sparse.gradient()?;
                assert!(of_batch == expected.1, "{features} on {device}");
                totals += found;
                gradient.iter_mut().zip(of_batch).for_each(|(sum, term)| *sum += term);
            }
            assert!(same(&totals, &whole.0) && gradient == whole.1, "{features} on {device}");
            // What was kept of the shards is whole.
            let found = sparse.pass(&shards, &LOSS, true)?;
            assert!(found == totals && sparse.gradient()? == gradient, "{features} on {device}");
            Ok(())
        };
        for threads in [Some(1), None] {
            check(&Device::cpu(), SparseOptions { threads, ..SparseOptions::default() }).unwrap();
        }
        for_each_device(|device| {
            check(device, SparseOptions::default())?;
            // No shard fits: the parents of a batch are copied for each pass.
            check(device, SparseOptions { device_bytes: Some(60_000), ..SparseOptions::default() })
        });
    }
}

#[test]
fn bad_parents_are_named() {
    let set = dataset(0..1, 40..50, 2, 100);
    let shards = set.views();
    let mut devices = warpplay_tests::backends::kernel_devices();
    devices.push(Device::cpu());
    for device in devices {
        let mut sparse = Sparse::builder(FeatureSet::Material).build(&device).unwrap();
        let mut error = |parents: &[u32]| {
            let part = Selection { shard: shards[0], parents: Some(parents) };
            sparse.pass_some(&[part], &Loss::default(), true).unwrap_err().to_string()
        };
        assert!(error(&[0, 5]).contains("below 5"), "{device}: {}", error(&[0, 5]));
        assert!(error(&[1, 1]).starts_with("parents of a selection"), "{device}: {}", error(&[1, 1]));
        assert!(error(&[2, 1]).starts_with("parents of a selection"), "{device}");
        let nothing = Selection { shard: shards[0], parents: Some(&[]) };
        assert_eq!(sparse.pass_some(&[nothing], &Loss::default(), true).unwrap(), Totals::default());
    }
}

/// Steps by hand: the order of the epoch, cut, the plain gradient of each batch, the plain step.
#[test]
fn steps_are_those_of_the_plain_program() {
    let (train, _) = few();
    let shards = train.views();
    let (features, size, rate) = (FeatureSet::PieceSquare, 9, 3.0);
    let mut weights = features.weights_of(&[3.0; 12]);
    let mut rows = Vec::new();
    let n: usize = shards.iter().map(|shard| shard.n_parents()).sum();
    let per_epoch = n.div_ceil(size);
    assert!(per_epoch > 2 && !n.is_multiple_of(size));
    let steps = 2 * per_epoch + 1;
    for iteration in 0..steps {
        let epoch = (iteration / per_epoch) as u64;
        let order = epoch_order(&shards, 11, epoch).unwrap();
        let batch = order.chunks(size).nth(iteration % per_epoch).unwrap();
        let loss = Loss { siblings: 20, seed: siblings_seed(11, epoch), ..Loss::default() };
        let (totals, gradient) = plain(features, &weights, &Rows::of(&shards, batch), &loss);
        rows.push((totals.children, totals.parents, totals.loss));
        let update = reference::Update {
            optimizer: reference::Optimizer::Gd,
            step: iteration as u32 + 1,
            rate,
            l1: 0.0,
            l2: 0.0,
            beta1: 0.0,
            beta2: 0.0,
            epsilon: 1.0,
        };
        reference::update(&update, &mut weights, &gradient, totals.children, &mut []);
    }
    let run = |device: &Device| {
        let builder = Learner::builder(&train).features(features).optimizer(Optimizer::Gd).batch(size as u32);
        let builder = builder.learning_rate(rate.into()).siblings(20).seed(11).iterations(steps as u32);
        let mut learner = builder.build(device)?;
        let report = learner.run(Progress::go_on)?;
        assert_eq!(report.steps_per_epoch, Some(per_epoch as u64));
        for (row, &(children, parents, loss)) in report.rows.iter().zip(&rows) {
            assert_eq!((row.train.children, row.train.parents), (children, parents), "{}", row.iteration);
            let j = loss as f64 / (1_u64 << 36) as f64 / children as f64;
            assert_eq!(row.train.j, j, "{}", row.iteration);
        }
        assert!(learner.weights()?.values() == weights, "{device}");
        let whole = report.whole.unwrap();
        assert_eq!(whole.train, learner.measure(&shards)?);
        assert_eq!(whole.train.parents, n as u64);
        Ok::<(), warpplay::Error>(())
    };
    run(&Device::cpu()).unwrap();
    for_each_device(run);
}

/// The seed of each epoch has other siblings count, and as many; that a learner takes these seeds, the test before holds.
#[test]
fn seeds_of_epochs_draw_other_siblings() {
    let (train, _) = few();
    let shards = train.views();
    let weights = FeatureSet::PieceSquare.weights_of(&[3.0; 12]);
    let order = epoch_order(&shards, 11, 0).unwrap();
    let of_epoch = |epoch| {
        let loss = Loss { siblings: 3, seed: siblings_seed(11, epoch), ..Loss::default() };
        plain(FeatureSet::PieceSquare, &weights, &Rows::of(&shards, &order), &loss)
    };
    let [(first, gradient), (second, other)] = [0, 1].map(of_epoch);
    assert_eq!((first.children, first.parents), (second.children, second.parents));
    assert!(gradient != other);
}

/// What was measured at each row, on the games learnt from and on those held out; and the weights' bits.
type Learnt = (Vec<(Measures, Option<Measures>)>, Vec<u32>);

/// The report without what the clock and the number of ranks say, and the bits of the weights.
fn learn(builder: LearnerBuilder<'_>, device: &Device) -> Result<Learnt> {
    let mut learner = builder.build(device)?;
    let report = learner.run(Progress::go_on)?;
    Ok(found(&report, &learner))
}

fn found(report: &LearnReport, learner: &Learner<'_>) -> Learnt {
    let whole = report.whole.unwrap();
    let rows = report.rows.iter().map(|row| (row.train, row.held_out)).chain([(whole.train, whole.held_out)]);
    (rows.collect(), learner.weights().unwrap().values().iter().map(|weight| weight.to_bits()).collect())
}

fn options(optimizer: Optimizer) -> Options {
    Options {
        features: FeatureSet::PieceSquare,
        optimizer,
        batch: 6,
        seed: 5,
        siblings: 20,
        rate_factor: 0.97,
        l2: 1e-5,
        early_stopping: Some(EarlyStopping { patience: 100, min_delta: 0.0 }),
        iterations: 9,
        ..Options::default()
    }
}

#[test]
fn every_optimizer_has_the_same_bits_everywhere() {
    let ((train, held_out), whole) = (few(), dataset(0..8, 40..80, 13, 1000));
    let n = whole.n_parents() as usize;
    for &optimizer in Optimizer::ALL {
        let of = |set| Learner::builder(set).held_out(&held_out).options(options(optimizer));
        let cpu = Device::cpu();
        let expected = learn(of(&train), &cpu).unwrap();
        // Held-out games are measured where an epoch begins.
        let per_epoch = n.div_ceil(6);
        for (iteration, (_, held_out)) in expected.0[..10].iter().enumerate() {
            assert_eq!(held_out.is_some(), iteration % per_epoch == 0, "{optimizer}, {iteration}");
        }
        assert!(expected.0[10].1.is_some());
        assert!(learn(of(&whole), &cpu).unwrap() == expected, "{optimizer}: shards");
        for size in [2, 3, 40] {
            let runs = Threads::run(size, |ranks| learn(of(&train).ranks(ranks), &cpu)).unwrap();
            assert!(runs.iter().all(|run| *run == expected), "{optimizer}, {size} ranks");
        }
        if [Optimizer::Gd, Optimizer::Adam, Optimizer::Lbfgs].contains(&optimizer) {
            for_each_device(|device| {
                let builder = of(&train).iterations(4);
                let found = learn(builder, device)?;
                let expected = learn(of(&train).iterations(4), &cpu)?;
                assert!(found == expected, "{optimizer} on {device}");
                Ok(())
            });
        }
        // Each learns: all positions agree better with the weights than they did at first.
        let mut learner = of(&train).iterations(4 * per_epoch as u32).build(&cpu).unwrap();
        let before = learner.measure(&train.views()).unwrap();
        let report = learner.run(Progress::go_on).unwrap();
        assert!(report.whole.unwrap().train.j < before.j, "{optimizer}");
        assert!(report.to_string().contains("mini-batches of 6 positions, "), "{report}");
    }
}

#[test]
fn a_batch_of_all_positions_is_all_positions() {
    let (train, held_out) = few();
    let run = |batch| {
        let builder = Learner::builder(&train).held_out(&held_out).features(FeatureSet::KingPiece).batch(batch);
        let mut learner = builder.iterations(5).build(&Device::cpu()).unwrap();
        let report = learner.run(Progress::go_on).unwrap();
        let rows: Vec<_> = report.rows.iter().map(|row| (row.train, row.held_out)).collect();
        (rows, learner.weights().unwrap().values().to_vec())
    };
    assert!(run(0) == run(1_000_000));
    assert!(run(0).1 != run(10).1);
}

/// Stopped in the middle of an epoch and gone on from a file, on another number of ranks.
#[test]
fn a_course_goes_on_in_the_middle_of_an_epoch() {
    let (train, held_out) = few();
    let n: usize = train.views().iter().map(|shard| shard.n_parents()).sum();
    let per_epoch = n.div_ceil(6) as u64;
    let stop_at = per_epoch + per_epoch / 2;
    assert!(!stop_at.is_multiple_of(per_epoch));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let cpu = Device::cpu();
    for &optimizer in Optimizer::ALL {
        let steps = 2 * per_epoch as u32 + 1;
        let builder = || Learner::builder(&train).held_out(&held_out).options(options(optimizer)).iterations(steps);
        let whole = learn(builder(), &cpu).unwrap();
        let stopped = Threads::run(2, |ranks| {
            let mut learner = builder().ranks(ranks).checkpoint(&path).build(&cpu)?;
            let stop = |progress: &Progress<LearnRow>| match (ranks.rank(), progress.steps == stop_at) {
                (0, true) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            learner.run(stop)
        });
        assert!(stopped.unwrap().iter().all(|report| report.stopped_by == StoppedBy::Request));
        let checkpoint = Checkpoint::load(&path).unwrap();
        assert_eq!((u64::from(checkpoint.iteration()), checkpoint.options().batch), (stop_at, 6));
        assert!(learn(builder().resume(checkpoint.clone()), &cpu).unwrap() == whole, "{optimizer}");
        let bare = || Learner::builder(&train).held_out(&held_out).resume(checkpoint.clone());
        let runs = Threads::run(3, |ranks| learn(bare().ranks(ranks), &cpu)).unwrap();
        assert!(runs.iter().all(|run| *run == whole), "{optimizer}: three ranks");
        let text = bare().batch(7).build(&cpu).unwrap_err().to_string();
        assert_eq!(text, "option batch: 7 is not allowed (6, as in the checkpoint)");
        // One step a call.
        let mut learner = builder().build(&cpu).unwrap();
        for iteration in 0..=steps {
            learner.set_limit(iteration);
            learner.run(Progress::go_on).unwrap();
        }
        assert!(found(&learner.report(StoppedBy::Iterations), &learner) == whole, "{optimizer}: one step a call");
    }
}

/// Quiet leaves are those of the batch's positions; the search is of all, when it is due.
#[test]
fn batches_of_quiet_leaves() {
    let (train, held_out) = few();
    let cpu = Device::cpu();
    let builder = || {
        let options = Options { iterations: 8, ..options(Optimizer::Adam) };
        Learner::builder(&train).held_out(&held_out).options(options).quiet(3, 2)
    };
    let expected = learn(builder(), &cpu).unwrap();
    let runs = Threads::run(2, |ranks| learn(builder().ranks(ranks), &cpu)).unwrap();
    assert!(runs.iter().all(|run| *run == expected));
    let plain =
        Learner::builder(&train).held_out(&held_out).options(Options { iterations: 8, ..options(Optimizer::Adam) });
    assert!(learn(plain, &cpu).unwrap().1 != expected.1);
}

/// Held-out games are measured once an epoch, so only there a course can be found to get no better.
#[test]
fn early_stopping_waits_for_a_measurement() {
    let (train, held_out) = few();
    let n: usize = train.views().iter().map(|shard| shard.n_parents()).sum();
    let per_epoch = n.div_ceil(6) as u32;
    // Steps so large that nothing good can come of them.
    let builder = Learner::builder(&train).held_out(&held_out).optimizer(Optimizer::Sign).learning_rate(20.0).batch(6);
    let report =
        builder.early_stopping(1, 0.0).iterations(40 * per_epoch).build(&Device::cpu()).unwrap().run(Progress::go_on);
    let report = report.unwrap();
    assert_eq!(report.stopped_by, StoppedBy::EarlyStopping);
    let best = report.best_iteration.unwrap();
    assert_eq!(report.rows.last().unwrap().iteration, best + per_epoch);
    assert_eq!(best % per_epoch, 0);
}
