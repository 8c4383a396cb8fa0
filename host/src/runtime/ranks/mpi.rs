//! Ranks that are processes, over the system's MPI library.

use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Equivalence};
use mpi::{Count, Threading};

use super::Ranks;
use crate::{Error, Result};

/// Number of elements per call of the MPI library: its counts have 31 bits, and the extra buffer stays small.
const CHUNK: usize = 1 << 20;

/// This process among those that `mpirun` started; without `mpirun`, a group of one.
///
/// If a process ends without dropping this value, the MPI library stops the others. A process with an error must therefore report it and call [`Ranks::abort`], unless all
/// ranks have the error (which [`agree`](super::agree) ensures).
pub struct Mpi {
    world: SimpleCommunicator,
    rank: usize,
    size: usize,
    _universe: Universe,
}

impl Mpi {
    /// Joins the group. Call it once in a process, from the thread that uses the group afterwards.
    ///
    /// # Errors
    /// [`Error::Order`] for a second call.
    pub fn start() -> Result<Self> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled).ok_or_else(|| Error::Order {
            what: "MPI",
            reason: "it was started before: start it once in a process".into(),
        })?;
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        Ok(Self { world, rank, size, _universe: universe })
    }

    /// The values of all ranks one after the other, and how many each had.
    fn gather_all<T: Equivalence + Copy + Default>(&self, values: &[T]) -> Result<(Vec<T>, Vec<usize>)> {
        let mut lengths = vec![0_u64; self.size];
        self.world.all_gather_into(&(values.len() as u64), &mut lengths[..]);
        let lengths: Vec<usize> = lengths.iter().map(|&length| length as usize).collect();
        let total = lengths.iter().try_fold(0_usize, |sum, &length| sum.checked_add(length));
        let total = total.filter(|&total| Count::try_from(total).is_ok());
        let Some(total) = total else {
            return Err(Error::shape("values of all ranks", "fewer than 2^31", format!("{lengths:?}")));
        };
        let counts: Vec<Count> = lengths.iter().map(|&length| length as Count).collect();
        let starts: Vec<Count> = counts
            .iter()
            .scan(0, |next, &count| {
                let start = *next;
                *next += count;
                Some(start)
            })
            .collect();
        let mut all = vec![T::default(); total];
        if total == 0 {
            return Ok((all, lengths));
        }
        // The address of an empty slice can be 1, which Open MPI reads as its sign for "in~slot".
        let nothing = [T::default()];
        let values = if values.is_empty() { &nothing[..0] } else { values };
        self.world.all_gather_varcount_into(values, &mut PartitionMut::new(&mut all[..], counts, starts));
        Ok((all, lengths))
    }
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mpi").field("rank", &self.rank).field("size", &self.size).finish()
    }
}

impl Ranks for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, values: &mut [i64]) -> Result<()> {
        // Lengths that differ would make the library read what is not there.
        let (lengths, _) = self.gather_all(&[values.len() as u64])?;
        if let Some(rank) = lengths.iter().position(|&length| length != values.len() as u64) {
            let reason = format!("sums {} values, rank {} sums {}", lengths[rank], self.rank, values.len());
            return Err(Error::Rank { rank, size: self.size, reason });
        }
        let mut sums = vec![0; values.len().min(CHUNK)];
        for chunk in values.chunks_mut(CHUNK) {
            let sums = &mut sums[..chunk.len()];
            self.world.all_reduce_into(&*chunk, sums, SystemOperation::sum());
            chunk.copy_from_slice(sums);
        }
        Ok(())
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>> {
        Ok(self.gather_all(values)?.0)
    }

    fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let (all, lengths) = self.gather_all(bytes)?;
        let mut rest = &all[..];
        let take = |length: &usize| {
            let (part, others) = rest.split_at_checked(*length).unwrap_or((rest, &[]));
            rest = others;
            part.to_vec()
        };
        Ok(lengths.iter().map(take).collect())
    }

    fn abort(&self, _: &str) {
        self.world.abort(1)
    }
}
