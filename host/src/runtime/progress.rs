//! How far a long piece of work has come.

use std::ops::ControlFlow;
use std::time::Duration;

/// The progress that an engine reports to the caller's `watch`, from time to time.
///
/// `watch` returns [`ControlFlow::Continue`](std::ops::ControlFlow::Continue) to continue, or [`Break`](std::ops::ControlFlow::Break) to stop; the engine then returns the
/// results so far. `R` is a measurement of the family, such as an epoch or a point of a curve; `()` if it measures nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<R = ()> {
    /// Total number of steps done, including those before a resume. The engine defines a step: a step of the search, an iteration, an epoch, a game.
    pub steps: u64,
    /// Total number of steps after which the work ends; `None` if only time limits it.
    pub n_steps: Option<u64>,
    /// Time since this run began.
    pub elapsed: Duration,
    /// Time after which this run ends; `None` if only steps limit it.
    pub time_limit: Option<Duration>,
    /// The latest measurement, if there is a new one.
    pub latest: Option<R>,
}

impl<R> Progress<R> {
    /// The fraction of the work done, 0 to 1, by whichever limit is nearer.
    ///
    /// ```
    /// use std::time::Duration;
    /// let progress = warpplay::Progress::<()> {
    ///     steps: 10,
    ///     n_steps: Some(100),
    ///     elapsed: Duration::from_secs(1),
    ///     time_limit: Some(Duration::from_secs(4)),
    ///     latest: None,
    /// };
    /// assert_eq!(progress.fraction(), 0.25);
    /// ```
    pub fn fraction(&self) -> f64 {
        let steps = self.n_steps.map_or(0.0, |n| part(self.steps as f64, n as f64));
        let time = self.time_limit.map_or(0.0, |limit| part(self.elapsed.as_secs_f64(), limit.as_secs_f64()));
        steps.max(time)
    }

    /// A `watch` that never stops the work.
    pub fn go_on(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// `done / all`, clamped to 0 to 1; 1 if `all` is 0.
fn part(done: f64, all: f64) -> f64 {
    if all > 0.0 { (done / all).min(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fraction_stays_between_0_and_1() {
        let mut progress =
            Progress::<()> { steps: 7, n_steps: None, elapsed: Duration::from_secs(9), time_limit: None, latest: None };
        assert_eq!(progress.fraction(), 0.0);
        progress.n_steps = Some(5);
        assert_eq!(progress.fraction(), 1.0);
        progress.n_steps = Some(0);
        assert_eq!(progress.fraction(), 1.0);
    }
}
