//! Several threads, GPUs or processes that learn together.
//!
//! Each rank works on its [`share`] of the parents, and the ranks add up what they found. Everything that they add up is a whole number, so the sum does not depend on
//! how many ranks there are: one rank and seven learn the same bits. A [`Learner`](super::learner::Learner) takes a group by [`ranks`](super::learner::LearnerBuilder::ranks).
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::shogi::ranks::{Alone, Ranks, Threads};
//! use warpplay::shogi::{Window, dataset::Dataset, learner::Learner, records::Records};
//!
//! let records = Records::from_bytes("game.usi".as_ref(), b"7g7f 3c3d 8h2b+ 3a2b");
//! let set = Dataset::builder().plies(Window { start: 0, end: 4, step: 1 }).build(&records)?;
//! let learn = |ranks: &dyn Ranks| {
//!     let mut learner = Learner::builder(&set).ranks(ranks).iterations(3).build(&Device::cpu())?;
//!     learner.run(|_| ControlFlow::Continue(()))?;
//!     learner.weights()
//! };
//! let alone = learn(&Alone)?;
//! let together = Threads::run(2, |ranks| learn(ranks))?;
//! assert_eq!(together[0].values(), alone.values());
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | group | where its ranks are |
//! | --- | --- |
//! | [`Alone`] | this thread only |
//! | [`Threads`] | threads of this process: for tests, and for several GPUs of one machine |
//! | `Mpi` (feature `mpi`) | processes that `mpirun` started |
//!
//! | item | what it is |
//! | --- | --- |
//! | [`Ranks`] | the trait: sums, gathers, and the end of the whole group |
//! | [`share`] | a rank's part of the shards |
//! | [`device`] | the GPU of a rank |
//! | [`agree`], [`expect_same`], [`sum_wide`] | what ranks make sure of before they go on; sums of 128 bits |
//!
//! The paper divides the work in another way too, which is in the crate `warpplay-papers`.

mod agree;
#[cfg(feature = "mpi")]
mod mpi;
mod share;
mod threads;

pub use agree::{agree, device, expect_same, sum_wide};
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use share::share;
pub use threads::Threads;

use std::any::Any;
use std::sync::Arc;

use crate::Result;

/// Communication between the ranks of a group. Every rank must call the same methods in the same order.
pub trait Ranks {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Sums arrays of the same length, element by element, wrapping; all ranks receive the sum.
    ///
    /// # Errors
    /// [`Error::Rank`](crate::Error::Rank) if another rank failed or made a different call.
    fn sum(&self, values: &mut [i64]) -> Result<()>;

    /// Concatenates the arrays of all ranks, rank by rank; lengths may differ.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    fn gather(&self, values: &[f64]) -> Result<Vec<f64>>;

    /// As [`gather`](Self::gather) for bytes, with one array per rank: names of data, errors.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Passes a value to all ranks of the same process and returns theirs, rank by rank; returns `None` at once in a group whose ranks are separate processes.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    fn lend(&self, _value: Arc<dyn Any + Send + Sync>) -> Result<Option<Vec<Arc<dyn Any + Send + Sync>>>> {
        Ok(None)
    }

    /// Makes the other ranks fail with an error at their next wait for this rank. Between processes the whole group is stopped, this process too, with exit status 1: report
    /// the reason first.
    fn abort(&self, reason: &str);
}

/// A group of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Ranks for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn sum(&self, _: &mut [i64]) -> Result<()> {
        Ok(())
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>> {
        Ok(values.to_vec())
    }

    fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(vec![bytes.to_vec()])
    }

    fn abort(&self, _: &str) {}
}
