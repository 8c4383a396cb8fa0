//! Differences of material in a device's memory, a word a child, and the runs over them.

use crate::shogi::engines::fit::{Evaluated, Run};
use crate::shogi::engines::kernels::{MaterialKernels, RunArrays};
use crate::shogi::evaluation::HALF;
use crate::shogi::positions::check_number;
use crate::shogi::shard::Shard;
use crate::{Buffer, Device, Result, Stream};

/// The words that are not 0, and the arrays for runs over them.
pub(super) struct Words {
    pub kernels: MaterialKernels,
    pub words: Buffer<u64>,
    pub arrays: RunArrays,
    pub stream: Stream,
    /// Number of children that are not stored, since they have no difference.
    zeros: u64,
}

impl Words {
    /// Uploads the differences of shards, `repeat` times.
    pub fn upload(device: &Device, shards: &[&Shard], repeat: u32) -> Result<Self> {
        let stream = device.stream()?;
        let kernels = MaterialKernels::load(device)?;
        let repeated = || (0..repeat).flat_map(|_| shards.iter().copied());
        let all = repeated().flat_map(|shard| shard.differences.iter().copied());
        let words: Vec<u64> = all.filter(|&difference| difference != 0).collect();
        check_number(words.len())?;
        let children: usize = repeated().map(|shard| shard.n_children()).sum();
        let zeros = (children - words.len()) as u64;
        let (words, arrays) = (stream.upload(&words)?, RunArrays::new(&stream, 1)?);
        stream.synchronize()?;
        Ok(Self { kernels, words, arrays, stream, zeros })
    }

    /// Reads the results of a run, including the children that have no difference.
    pub fn read(&self, run: &Run) -> Result<Vec<Evaluated>> {
        let mut evaluations = self.arrays.read(&self.stream, run.evaluations)?;
        for (sums, _) in &mut evaluations {
            for sum in sums {
                *sum += HALF * i128::from(self.zeros);
            }
        }
        Ok(evaluations)
    }
}
