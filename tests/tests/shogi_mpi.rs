//! Ranks that are processes: this program starts itself with `mpirun`. What they find must have the bits that one process alone finds.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::learner::{Checkpoint, EarlyStopping, LearnRow, Learner, LearnerBuilder, Options};
use warpplay::shogi::ranks::{self, Alone, Mpi, Ranks};
use warpplay::shogi::{FeatureSet, Optimizer};
use warpplay::{Backend, Device, Progress, Result};
use warpplay_tests::backends::gpu;
use warpplay_tests::learning::few;
use warpplay_tests::programs::{end_of, signal};

/// What a rank is to do, and the folder for what it finds.
const CASE: &str = "WARPPLAY_MPI_CASE";
const FOLDER: &str = "WARPPLAY_MPI_FOLDER";

/// Not a test by itself: a rank's work, when `mpirun` started the program.
#[test]
fn as_rank() {
    let (Ok(case), Some(folder)) = (std::env::var(CASE), std::env::var_os(FOLDER)) else { return };
    let ranks = Mpi::start().unwrap();
    if let Err(error) = work(&case, Path::new(&folder), &ranks) {
        eprintln!("error: {error}");
        ranks.abort("");
    }
    assert!(Mpi::start().is_err(), "once in a process");
}

fn work(case: &str, folder: &Path, ranks: &dyn Ranks) -> Result<()> {
    let found = match case {
        "collectives" => collectives(ranks)?,
        #[cfg(feature = "papers")]
        "features" | "data" => format!("{:?}", papers::learn(ranks, case.parse()?)?),
        "adam" => learn(Optimizer::Adam, None, ranks, &Device::cpu())?,
        "lbfgs" => learn(Optimizer::Lbfgs, None, ranks, &Device::cpu())?,
        "gpu" => learn(Optimizer::Adam, None, ranks, &Device::cuda(0)?)?,
        "gpu_pairs" => pairs(ranks, &Device::cuda(0)?)?,
        "dies" => {
            // The checkpoint of step 2 is whole when the process goes down without a word.
            let sets = few();
            let builder = builder(&sets, Optimizer::Adam).ranks(ranks).checkpoint(folder.join("state"));
            let mut learner = builder.checkpoint_every(Duration::from_nanos(1)).build(&Device::cpu())?;
            learner.run(|progress: &Progress<LearnRow>| {
                if (ranks.rank(), progress.steps) == (1, 3) {
                    std::process::abort();
                }
                ControlFlow::Continue(())
            })?;
            String::new()
        }
        "resume" => learn(Optimizer::Adam, Some(Checkpoint::load(folder.join("state"))?), ranks, &Device::cpu())?,
        "fails" if ranks.rank() == 1 => return Err(warpplay::Error::option("case", case, "one that works")),
        "fails" => {
            ranks.sum(&mut [0])?;
            String::new()
        }
        other => panic!("{other}"),
    };
    std::fs::write(folder.join(format!("rank{}", ranks.rank())), found).unwrap();
    Ok(())
}

fn collectives(ranks: &dyn Ranks) -> Result<String> {
    let (rank, size) = (ranks.rank(), ranks.size());
    // More than one chunk.
    let mut values: Vec<i64> = (0..(1 << 20) + 3).map(|at| at + rank as i64).collect();
    ranks.sum(&mut values)?;
    let n = size as i64;
    assert!(values.iter().zip(0..).all(|(&value, at)| value == n * at + n * (n - 1) / 2));
    ranks.sum(&mut [])?;
    let gathered = ranks.gather(&vec![rank as f64; rank])?;
    assert!(gathered.iter().copied().eq((0..size).flat_map(|rank| vec![rank as f64; rank])));
    let bytes = ranks.gather_bytes(&vec![rank as u8; size - rank - 1])?;
    assert!(bytes.into_iter().enumerate().all(|(rank, bytes)| bytes == vec![rank as u8; size - rank - 1]));
    let mut wide = [i128::from(i64::MAX) * 5, -3];
    ranks::sum_wide(ranks, &mut wide)?;
    assert_eq!(wide, [i128::from(i64::MAX) * 5 * size as i128, -3 * size as i128]);
    let differing = ranks::expect_same(ranks, "number", &rank.to_string());
    assert_eq!(differing.is_err(), size > 1);
    if size > 1 {
        assert!(ranks.sum(&mut vec![0; 1 + rank.min(1)]).is_err());
    }
    Ok(String::new())
}

fn builder(sets: &(Dataset, Dataset), optimizer: Optimizer) -> LearnerBuilder<'_> {
    Learner::builder(&sets.0).held_out(&sets.1).options(Options {
        features: FeatureSet::PieceSquare,
        optimizer,
        early_stopping: Some(EarlyStopping { patience: 9, min_delta: 0.0 }),
        iterations: 4,
        ..Options::default()
    })
}

fn learn(optimizer: Optimizer, checkpoint: Option<Checkpoint>, ranks: &dyn Ranks, device: &Device) -> Result<String> {
    let sets = few();
    let mut builder = builder(&sets, optimizer).ranks(ranks);
    if let Some(checkpoint) = checkpoint {
        builder = builder.resume(checkpoint);
    }
    let mut learner = builder.build(device)?;
    let exchange = learner.run(|_| ControlFlow::Continue(()))?.exchange;
    // Processes on one GPU read each other's memory.
    assert_eq!(
        exchange.is_some_and(|exchange| exchange.on_device()),
        device.backend() == Backend::Cuda && ranks.size() > 1
    );
    let measures: Vec<_> = learner.rows().iter().map(|row| (row.train, row.held_out)).collect();
    let bits: Vec<u32> = learner.weights()?.values().iter().map(|weight| weight.to_bits()).collect();
    Ok(format!("{measures:?} {bits:?}"))
}

/// A step of 53 million weights: the rows that are touched fill several blocks of the driver's memory. A sum of the weights' bits, in their order.
fn pairs(ranks: &dyn Ranks, device: &Device) -> Result<String> {
    let (train, _) = few();
    let builder = Learner::builder(&train).features(FeatureSet::KingPiecePiece).optimizer(Optimizer::Gd).iterations(1);
    let mut learner = builder.ranks(ranks).build(device)?;
    let exchange = learner.run(|_| ControlFlow::Continue(()))?.exchange.unwrap_or_default();
    assert!(ranks.size() == 1 || exchange.rows * 128 > 2 * (2 << 20), "{} rows", exchange.rows);
    let weights = learner.weights()?;
    let bits = weights.values().iter().map(|weight| u64::from(weight.to_bits()));
    Ok(bits.fold(0, |sum: u64, bits| sum.rotate_left(5).wrapping_add(bits)).to_string())
}

/// The paper's learning.
#[cfg(feature = "papers")]
mod papers {
    use super::*;
    use warpplay::shogi::{Objective, Row};
    use warpplay_papers::shogi_bonanza::{Split, reproduce};
    use warpplay_tests::shogi_bonanza::Distinct;

    pub fn learn(ranks: &dyn Ranks, split: Split) -> Result<Vec<Row>> {
        let (all, _) = Distinct::reference();
        let (rank, size) = if split == Split::Data { (ranks.rank(), ranks.size()) } else { (0, 1) };
        let go_on = |_: Option<&Row>| ControlFlow::Continue(());
        reproduce(&mut all.share(rank, size), ranks, split, &Objective::default(), &[3.0; 12], 10, go_on)
    }

    #[test]
    fn the_papers_learning_is_the_same() {
        let rows = learn(&Alone, Split::Features).unwrap();
        expect("features", &[1, 2, 4, 5, 7], &format!("{rows:?}"));
        expect("data", &[2, 3, 4], &format!("{rows:?}"));
    }
}

/// Time in which a group ends on any machine; one that waits for itself never does.
const MOST: Duration = Duration::from_secs(300);

/// Starts so many ranks and waits for them.
fn start(case: &str, ranks: usize, folder: &Path) -> ExitStatus {
    // One group at a time: what is tested is the ranks, not how many groups a machine bears.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "--bind-to", "none", "-np", &ranks.to_string()]);
    // Open MPI asks root to say that it means it; others may say so too.
    command.arg("--allow-run-as-root").arg(std::env::current_exe().unwrap());
    command.args(["--exact", "as_rank", "--nocapture"]);
    command.env(CASE, case).env(FOLDER, folder).env("RAYON_NUM_THREADS", "1");
    let mut child = command.spawn().unwrap_or_else(|error| panic!("mpirun: {error}"));
    if let Some(status) = end_of(&mut child, MOST) {
        return status;
    }
    // Asked to end, it takes its ranks with it; killed, it may leave them.
    signal(&child, "TERM");
    if end_of(&mut child, Duration::from_secs(10)).is_none() {
        let _ = child.kill();
    }
    panic!("{case}, {ranks} ranks: not at an end after {MOST:?}");
}

/// That all ranks find this.
fn expect(case: &str, sizes: &[usize], expected: &str) {
    for &size in sizes {
        let folder = tempfile::tempdir().unwrap();
        assert!(start(case, size, folder.path()).success(), "{case}, {size} ranks");
        for rank in 0..size {
            let found = std::fs::read_to_string(folder.path().join(format!("rank{rank}"))).unwrap();
            assert!(found == expected, "{case}, rank {rank} of {size}: {found} instead of {expected}");
        }
    }
}

#[test]
fn collectives_are_of_all_ranks() {
    expect("collectives", &[1, 2, 5], "");
}

#[test]
fn learning_is_the_same() {
    expect("adam", &[1, 2, 4], &learn(Optimizer::Adam, None, &Alone, &Device::cpu()).unwrap());
    expect("lbfgs", &[2], &learn(Optimizer::Lbfgs, None, &Alone, &Device::cpu()).unwrap());
}

#[test]
fn processes_on_one_gpu_add_up_there() {
    if gpu().is_some() {
        expect("gpu", &[1, 2, 4], &learn(Optimizer::Adam, None, &Alone, &Device::cpu()).unwrap());
        expect("gpu_pairs", &[2], &pairs(&Alone, &Device::cpu()).unwrap());
    }
}

#[test]
fn a_rank_that_dies_ends_the_others_and_a_restart_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!start("fails", 3, folder.path()).success());
    assert!(!start("dies", 2, folder.path()).success());
    assert!(!folder.path().join("rank0").exists());
    let checkpoint = Checkpoint::load(folder.path().join("state")).unwrap();
    assert!((2..=3).contains(&checkpoint.iteration()), "{}", checkpoint.iteration());
    assert!(start("resume", 2, folder.path()).success());
    let expected = learn(Optimizer::Adam, None, &Alone, &Device::cpu()).unwrap();
    for rank in 0..2 {
        assert!(std::fs::read_to_string(folder.path().join(format!("rank{rank}"))).unwrap() == expected);
    }
}
