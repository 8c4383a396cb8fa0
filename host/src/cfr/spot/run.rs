//! How long spots are solved.

use crate::Result;
use crate::cfr::options::Options;

/// How long spots are solved, and when they are measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpotRun {
    /// Algorithm, arithmetic, iterations of each spot and so on.
    pub options: Options,
    /// Iterations after which the exploitability is measured; the last one always is.
    pub measure_at: Vec<u64>,
}

impl SpotRun {
    /// Iterations after which to measure, in order.
    pub(super) fn points(&self) -> Vec<u64> {
        let mut points: Vec<u64> =
            self.measure_at.iter().copied().filter(|&at| at > 0 && at < self.options.iterations).collect();
        points.push(self.options.iterations);
        points.sort_unstable();
        points.dedup();
        points
    }
}

/// Runs `n` iterations in parts that an engine takes.
pub(super) fn run_on(mut n: u64, mut run: impl FnMut(u32) -> Result<()>) -> Result<()> {
    while n > 0 {
        let part = u32::try_from(n).unwrap_or(u32::MAX);
        run(part)?;
        n -= u64::from(part);
    }
    Ok(())
}
