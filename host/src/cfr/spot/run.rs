//! How long spots are solved.

use std::time::Instant;

use super::file::Spot;
use super::report::SpotReport;
use super::target::SpotTarget;
use crate::cfr::options::Options;
use crate::runtime::journal::Target;
use crate::runtime::pace::Pace;
use crate::{Error, Result};

/// How to solve and when to measure spots.
#[derive(Clone, Debug, PartialEq)]
pub struct SpotRun {
    /// Options of each spot: algorithm, arithmetic, iterations and so on; default [`Options::SPOT`].
    pub options: Options,
    /// Iterations after which the exploitability is measured; the last one always is.
    pub measure_at: Vec<u64>,
    /// Exploitability at which each spot ends, if that is before its iterations; default none. [`SpotSolver::run`](super::SpotSolver::run) says when it is measured.
    pub target: Option<SpotTarget>,
    /// File in which [`solve_spots`](super::solve_spots) saves the report of every spot as soon as it is solved: a new [journal](crate::journal), or an existing one, whose
    /// spots are not solved again. Default none.
    pub journal: Option<Target>,
}

impl Default for SpotRun {
    fn default() -> Self {
        Self { options: Options::SPOT, measure_at: Vec::new(), target: None, journal: None }
    }
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

    /// Whether a report of `spot` is that of a whole solve: all iterations, or the target reached.
    pub fn is_finished(&self, report: &SpotReport, spot: &Spot) -> bool {
        self.is_end(report.iterations, report.exploitability(), spot)
    }

    /// Whether a solve of `spot` ends after these iterations with this exploitability.
    pub(super) fn is_end(&self, iterations: u64, exploitability: Option<f64>, spot: &Spot) -> bool {
        let is_reached = |target: SpotTarget| exploitability.is_some_and(|chips| chips <= target.chips(spot.pot));
        iterations == self.options.iterations || self.target.is_some_and(is_reached)
    }
}

/// Returns whether running work continues.
pub(super) type GoOn<'a> = &'a (dyn Fn() -> bool + Sync);

/// Runs `n` iterations in parts of about a tenth of a second while `go_on`, given the number done, returns true; returns the number done, and their seconds.
pub(super) fn run_on(
    n: u64,
    mut run: impl FnMut(u32) -> Result<()>,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<(u64, f64)> {
    let (mut done, mut all, mut pace) = (0, 0.0, Pace::new());
    while done < n && go_on(done) {
        let now = pace.next(n - done);
        let began = Instant::now();
        run(now)?;
        let seconds = began.elapsed().as_secs_f64();
        done += u64::from(now);
        all += seconds;
        pace.took(now, seconds);
    }
    Ok((done, all))
}

/// The error of a spot that was not begun when the caller stopped.
pub(super) fn stopped() -> Error {
    Error::Order { what: "solve_spots", reason: "it was stopped before this spot was begun".to_string() }
}
