//! Several processes that learn together.
//!
//! Everything that ranks add up is a whole number, so the sum does not depend on how many ranks there are: one rank and seven learn the same bits.
//!
//! | group | where its ranks are |
//! | --- | --- |
//! | [`Alone`] | this thread only |
//! | [`Threads`] | threads of this process: for tests, and for several GPUs of one machine |
//! | `Mpi` (feature `mpi`) | processes that `mpirun` started |
//!
//! Each rank has a share of the parents ([`share`]). The paper divides the work in another way too, which is in the crate `warpplay-papers`.

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

/// What the ranks of a group tell each other. Every rank calls the same methods in the same order.
pub trait Ranks {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// Ranks in all.
    fn size(&self) -> usize;

    /// Sums arrays of the same length, element by element, wrapping; all get the sum.
    ///
    /// # Errors
    /// [`Error::Rank`](crate::Error::Rank) if another rank failed or does something else.
    fn sum(&self, values: &mut [i64]) -> Result<()>;

    /// Puts the arrays of all ranks one after the other, rank by rank; lengths may differ.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    fn gather(&self, values: &[f64]) -> Result<Vec<f64>>;

    /// The same for bytes, one array a rank: names of data, errors.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Hands a value to all ranks of the same process, and gets theirs, rank by rank; `None`, without waiting for anybody, in a group whose ranks are processes of their own.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    fn lend(&self, _value: Arc<dyn Any + Send + Sync>) -> Result<Option<Vec<Arc<dyn Any + Send + Sync>>>> {
        Ok(None)
    }

    /// Makes the other ranks end with an error, which they get where they wait for this one. Between processes the whole group is stopped, this process too, with
    /// exit status 1: report the reason first.
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
