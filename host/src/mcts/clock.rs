//! When a search ends.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::options::Options;
use super::report::StoppedBy;
use crate::Progress;

/// Decides when a search ends, and reports its progress to the caller.
pub(super) struct Clock<'a> {
    /// When the search was called.
    begun: Instant,
    /// When the search was ready for its first step.
    start: Instant,
    options: &'a Options,
    watch: &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
    pub stopped_by: StoppedBy,
}

impl<'a> Clock<'a> {
    /// Starts a clock for a search that is called now.
    pub fn new(options: &'a Options, watch: &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send)) -> Self {
        let now = Instant::now();
        Self { begun: now, start: now, options, watch, stopped_by: StoppedBy::Steps }
    }

    /// Starts the time limit, once everything is prepared.
    pub fn start(&mut self) {
        self.start = Instant::now();
    }

    /// Milliseconds since the search was called.
    pub fn total_ms(&self) -> f64 {
        self.begun.elapsed().as_secs_f64() * 1e3
    }

    /// Milliseconds since [`start`](Self::start).
    pub fn loop_ms(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * 1e3
    }

    fn time_limit(&self) -> Option<Duration> {
        // More seconds than a `Duration` holds are no limit that anybody reaches.
        self.options.seconds.map(|s| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX))
    }

    /// Time until the limit; if there is none, a very long time.
    pub fn left(&self) -> Duration {
        self.time_limit().map_or(Duration::MAX, |limit| limit.saturating_sub(self.start.elapsed()))
    }

    /// Whether the search makes another step after `steps` steps; calls the caller's `watch`.
    pub fn goes_on(&mut self, steps: u64) -> bool {
        let time_limit = self.time_limit();
        let elapsed = self.start.elapsed();
        let progress = Progress { steps, n_steps: self.options.steps, elapsed, time_limit, latest: None };
        let asked = (self.watch)(&progress).is_break();
        // The first step is always made: without it there is nothing to report.
        if steps == 0 {
            return true;
        }
        if self.options.steps.is_some_and(|limit| steps >= limit) {
            self.stopped_by = StoppedBy::Steps;
            return false;
        }
        if time_limit.is_some_and(|limit| elapsed >= limit) {
            self.stopped_by = StoppedBy::Seconds;
            return false;
        }
        if asked {
            self.stopped_by = StoppedBy::Request;
        }
        !asked
    }
}
