//! Differences of material, thirteen exponentials a child, all iterations in one launch.

use crate::shogi::engines::fit::{Evaluated, Fit, Run};
use crate::shogi::engines::words::Words;
use crate::shogi::shard::Shard;
use crate::{Device, Result};

/// One word per child on a device that runs kernels.
pub(in crate::shogi) struct Plain(Words);

impl Plain {
    /// Uploads the words of shards, `repeat` times.
    pub fn new(device: &Device, shards: &[&Shard], repeat: u32) -> Result<Self> {
        Words::upload(device, shards, repeat).map(Self)
    }
}

impl Fit for Plain {
    fn evaluate(&mut self, run: &Run) -> Result<Vec<Evaluated>> {
        let Words { kernels, words, arrays, stream, .. } = &mut self.0;
        kernels.plain(stream, words, arrays, run)?;
        self.0.read(run)
    }
}
