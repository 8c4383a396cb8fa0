//! Ranks add up the rows of the gradient that one of them has touched, through host memory or on the device they share: the bits of one rank, and as many bytes as rows.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use warpplay::shogi::learner::{Exchange, Learner, Options, Sharing};
use warpplay::shogi::ranks::{Ranks, Threads, share};
use warpplay::shogi::{FeatureSet, Loss, Optimizer, Shard, Sparse};
use warpplay::{Device, Error, Progress, Result};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::learning::{dataset, few};
use warpplay_tests::skipped::skipped;

/// Weights of a row, as the report's documentation says.
const ROW: usize = 16;

fn run(builder: warpplay::shogi::learner::LearnerBuilder<'_>, device: &Device) -> Result<(Vec<u32>, Option<Exchange>)> {
    let mut learner = builder.build(device)?;
    let report = learner.run(Progress::go_on)?;
    Ok((learner.weights()?.values().iter().map(|weight| weight.to_bits()).collect(), report.exchange))
}

/// Rows that each rank of so many touches at the first weights.
fn touched(shards: &[&Shard], features: FeatureSet, ranks: usize) -> Vec<BTreeSet<usize>> {
    let of_rank = |rank| {
        let mut sparse = Sparse::builder(features).build(&Device::cpu()).unwrap();
        sparse.set_weights(&features.weights_of(&[3.0; 12])).unwrap();
        let share = share(shards, rank, ranks).unwrap();
        let own: Vec<&Shard> = share.iter().map(|shard| &**shard).collect();
        sparse.pass(&own, &Loss::default(), true).unwrap();
        let gradient = sparse.gradient().unwrap();
        gradient.iter().enumerate().filter(|(_, term)| **term != 0).map(|(at, _)| at / ROW).collect()
    };
    (0..ranks).map(of_rank).collect()
}

/// A learner of one step, on ranks and alone; what the ranks exchanged is told by the rows that they touched.
fn check(features: FeatureSet, sizes: &[usize]) {
    let set = dataset(0..4, 40..80, 9, 5);
    let builder = || Learner::builder(&set).features(features).optimizer(Optimizer::Gd).iterations(1);
    let cpu = Device::cpu();
    let (alone, nothing) = run(builder(), &cpu).unwrap();
    assert_eq!(nothing, None);
    for &size in sizes {
        let runs = Threads::run(size, |ranks| run(builder().ranks(ranks), &cpu)).unwrap();
        let touched = touched(&set.views(), features, size);
        let all: BTreeSet<usize> = touched.iter().flatten().copied().collect();
        for ((bits, exchange), own) in runs.iter().zip(&touched) {
            assert!(*bits == alone, "{features}, {size} ranks");
            let bytes = (4 * own.len() + 8 * ROW * all.len()) as u64;
            let expected = Exchange { sums: 1, rows: all.len() as u64, bytes, sharing: Sharing::Apart };
            assert_eq!(*exchange, Some(expected), "{features}, {size} ranks");
        }
    }
}

#[test]
fn only_touched_rows_are_exchanged() {
    check(FeatureSet::Material, &[2]);
    check(FeatureSet::KingPiece, &[2, 3, 5]);
    check(FeatureSet::KingKingPiece, &[2]);
}

/// 53 million weights, of which some games touch one in a hundred: the exchange must not know the rest.
#[test]
fn pairs_exchange_what_they_touch() {
    check(FeatureSet::KingPiecePiece, &[2]);
    let set = dataset(0..4, 40..80, 9, 5);
    let rows: BTreeSet<usize> = touched(&set.views(), FeatureSet::KingPiecePiece, 2).into_iter().flatten().collect();
    assert!(rows.len() * ROW * 10 < FeatureSet::KingPiecePiece.len(), "{} rows", rows.len());
}

/// A group whose ranks cannot reach each other's memory, as processes cannot.
struct Apart<'a>(&'a Threads);

impl Ranks for Apart<'_> {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn sum(&self, values: &mut [i64]) -> Result<()> {
        self.0.sum(values)
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>> {
        self.0.gather(values)
    }

    fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.0.gather_bytes(bytes)
    }

    fn abort(&self, reason: &str) {
        self.0.abort(reason);
    }
}

#[test]
fn ranks_on_one_device_add_up_there() {
    let (train, held_out) = few();
    for optimizer in [Optimizer::Adam, Optimizer::Lbfgs] {
        let options = Options { features: FeatureSet::KingPiece, optimizer, iterations: 3, ..Options::default() };
        let builder = || Learner::builder(&train).held_out(&held_out).options(options.clone());
        let alone = run(builder(), &Device::cpu()).unwrap().0;
        for_each_device(|device| {
            let mut bytes = Vec::new();
            for on_device in [true, false] {
                let runs = Threads::run(3, |ranks| match on_device {
                    true => run(builder().ranks(ranks), device),
                    false => run(builder().ranks(&Apart(ranks)), device),
                })?;
                for (bits, exchange) in &runs {
                    assert!(*bits == alone, "{optimizer} on {device}");
                    let exchange = exchange.unwrap();
                    assert_eq!(exchange.on_device(), on_device);
                    assert!(exchange.sums >= 3 && exchange.rows > 0);
                    bytes.push((exchange.rows, exchange.bytes));
                }
            }
            // The same rows; their values went through the host in the second case alone.
            for (shared, apart) in bytes[..3].iter().zip(&bytes[3..]) {
                assert_eq!(shared.0, apart.0);
                assert_eq!(apart.1 - shared.1, (8 * ROW) as u64 * apart.0);
            }
            Ok(())
        });
    }
}

/// A rank on another device: the rows go through the host.
#[test]
fn ranks_on_several_devices_do_not_share_memory() {
    let (train, _) = few();
    let builder = || Learner::builder(&train).features(FeatureSet::PieceSquare).iterations(2);
    let alone = run(builder(), &Device::cpu()).unwrap().0;
    let devices = [Device::simt(), Device::cpu()];
    let runs = Threads::run(2, |ranks| run(builder().ranks(ranks), &devices[ranks.rank()])).unwrap();
    assert!(runs.iter().all(|(bits, exchange)| *bits == alone && !exchange.unwrap().on_device()));
}

/// A rank on each of two GPUs: the bits of one rank, by rows that go through the host.
#[test]
fn ranks_on_two_gpus_have_the_bits_of_one() {
    let devices: Vec<Device> = (0..2).map_while(|ordinal| Device::cuda(ordinal).ok()).collect();
    if devices.len() < 2 {
        return skipped(format_args!("{} GPUs, and two are needed", devices.len()));
    }
    let (train, held_out) = few();
    for optimizer in [Optimizer::Adam, Optimizer::Lbfgs] {
        let options = Options { features: FeatureSet::KingPiece, optimizer, iterations: 3, ..Options::default() };
        let builder = || Learner::builder(&train).held_out(&held_out).options(options.clone());
        let alone = run(builder(), &Device::cpu()).unwrap().0;
        let runs = Threads::run(2, |ranks| run(builder().ranks(ranks), &devices[ranks.rank()])).unwrap();
        for (bits, exchange) in runs {
            let exchange = exchange.unwrap();
            assert!(bits == alone && exchange.sharing == Sharing::Apart && exchange.rows > 0, "{optimizer}");
        }
    }
}

#[test]
fn threads_lend_and_others_do_not() {
    let lent = Threads::run(3, |ranks| {
        let mine: Arc<dyn Any + Send + Sync> = Arc::new(ranks.rank());
        let all = ranks.lend(mine)?.unwrap();
        Ok(all.iter().map(|value| *value.downcast_ref::<usize>().unwrap()).collect::<Vec<_>>())
    });
    assert_eq!(lent.unwrap(), [[0, 1, 2]; 3]);
    let none = Threads::run(2, |ranks| Ok(Apart(ranks).lend(Arc::new(0))?.is_none()));
    assert_eq!(none.unwrap(), [true, true]);
}

/// A rank whose calls of the group fail after so many.
struct Failing<'a> {
    ranks: &'a Threads,
    left: Cell<usize>,
}

impl Failing<'_> {
    fn call(&self) -> Result<()> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| Error::option("calls", 0, "more"))?;
        self.left.set(left);
        Ok(())
    }
}

impl Ranks for Failing<'_> {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }

    fn size(&self) -> usize {
        self.ranks.size()
    }

    fn sum(&self, values: &mut [i64]) -> Result<()> {
        self.call().and_then(|()| self.ranks.sum(values))
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>> {
        self.call().and_then(|()| self.ranks.gather(values))
    }

    fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.call().and_then(|()| self.ranks.gather_bytes(bytes))
    }

    fn lend(&self, value: Arc<dyn Any + Send + Sync>) -> Result<Option<Vec<Arc<dyn Any + Send + Sync>>>> {
        self.call().and_then(|()| self.ranks.lend(value))
    }

    fn abort(&self, reason: &str) {
        self.ranks.abort(reason);
    }
}

/// Wherever a rank fails, building or in a step, the others end too: none waits for ever.
#[test]
fn a_rank_that_fails_ends_all() {
    let (train, _) = few();
    let device = Device::cpu();
    let calls = |n: usize| {
        Threads::run(3, |ranks| {
            let failing = Failing { ranks, left: Cell::new(if ranks.rank() == 1 { n } else { usize::MAX }) };
            let builder = Learner::builder(&train).features(FeatureSet::PieceSquare).optimizer(Optimizer::Gd);
            run(builder.iterations(1).ranks(&failing), &device)?;
            Ok(failing.left.get())
        })
    };
    let needed = usize::MAX - calls(usize::MAX).unwrap()[1];
    assert!(needed > 10, "{needed} calls");
    for n in 0..needed {
        assert!(calls(n).unwrap_err().to_string().contains("option calls"), "after {n} calls");
    }
    calls(needed).unwrap();
}
