//! Several threads, GPUs or processes that work together.
//!
//! Each rank has its share of the work, and tells the others what came of it. A rank that fails ends the whole group, with its error. Learners of `shogi` add up
//! gradients in this way, and boards of hold'em (`cfr::spot`) are divided among ranks.
//!
//! ```
//! use warpplay::ranks::{Ranks, Threads, agree};
//!
//! let texts = Threads::run(3, |ranks| {
//!     let mut numbers = [ranks.rank() as i64];
//!     ranks.sum(&mut numbers)?;
//!     assert_eq!(numbers, [3]);
//!     let text = agree(ranks, Ok(format!("rank {}", ranks.rank())))?;
//!     ranks.gather_bytes(text.as_bytes())
//! })?;
//! assert_eq!(texts[2][1], b"rank 1");
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
//! | [`device`] | the GPU of a rank |
//! | [`agree`], [`expect_same`], [`sum_wide`] | what ranks make sure of before they go on; sums of 128 bits |

mod agree;
#[cfg(feature = "mpi")]
mod mpi;
mod threads;

pub use agree::{agree, device, expect_same, sum_wide};
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
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
