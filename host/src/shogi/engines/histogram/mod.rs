//! Distinct differences with their counts, all iterations in one launch.

mod count;

pub use count::Differences;

use crate::shogi::engines::fit::{Evaluated, Fit, Run};
use crate::shogi::engines::kernels::{MaterialKernels, RowArrays, RunArrays};
use crate::shogi::evaluation::{LEARNT, ONE};
use crate::shogi::histogram::Histogram as Rows;
use crate::shogi::objective::{Objective, Values};
use crate::shogi::shard::Shard;
use crate::{Device, Result, Stream};

/// A histogram on a device that runs kernels.
pub(in crate::shogi) struct Histogram {
    kernels: MaterialKernels,
    rows: RowArrays,
    arrays: RunArrays,
    stream: Stream,
    children: u64,
}

impl Histogram {
    /// Counts the differences of shards on the device; `repeat` multiplies the counts, so that repetition costs nothing.
    pub fn new(device: &Device, shards: &[&Shard], repeat: u32) -> Result<Self> {
        let stream = device.stream()?;
        let histogram = Rows::on_device(device, shards)?.repeated(repeat);
        let kernels = MaterialKernels::load(device)?;
        let (differences, counts): (Vec<u64>, Vec<u64>) = histogram.rows().iter().copied().unzip();
        let rows = RowArrays { differences: stream.upload(&differences)?, counts: stream.upload(&counts)? };
        let arrays = RunArrays::new(&stream, 1)?;
        stream.synchronize()?;
        Ok(Self { kernels, rows, arrays, stream, children: histogram.children() })
    }
}

impl Fit for Histogram {
    fn evaluate(&mut self, run: &Run) -> Result<Vec<Evaluated>> {
        self.kernels.histogram(&self.stream, &self.rows, &mut self.arrays, run)?;
        self.arrays.read(&self.stream, run.evaluations)
    }

    fn gradient(&mut self, objective: &Objective, values: &Values) -> Result<Option<[f64; LEARNT]>> {
        let sums = self.kernels.gradient(&self.stream, &self.rows, values, objective.a)?;
        Ok(Some(sums.map(|sum| sum as f64 / ONE / self.children as f64)))
    }
}
