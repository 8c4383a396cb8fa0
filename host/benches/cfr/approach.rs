//! How the exploitability of a spot falls with time.

use std::ops::ControlFlow;
use std::time::Instant;

use warpplay::cfr::{Options, Solver, Spot};
use warpplay::{Device, Result};

/// The first iteration after which the exploitability is measured.
const FIRST: u64 = 10;

/// Where a solve ends.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Exploitability in per cent of the pot.
    pub percent: f64,
    pub iterations: u64,
    /// Seconds of everything, measurements among them.
    pub seconds: f64,
    /// Iterations between measurements at least, from 1.
    pub apart: u64,
}

/// A measurement.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub iterations: u64,
    /// Seconds of set-up and of these iterations.
    pub seconds: f64,
    /// Exploitability, half of NashConv, in per cent of the pot.
    pub percent: f64,
}

/// A solve, measured on its way.
#[derive(Clone, Debug)]
pub struct Approach {
    pub engine: String,
    pub infoset_actions: u64,
    /// Bytes taken on device and host.
    pub bytes: u64,
    /// Seconds from the spot to a solver that can iterate: tree, tables, upload.
    pub set_up: f64,
    pub steps: Vec<Step>,
    /// Seconds of all measurements, which the steps do not count.
    pub measuring: f64,
}

/// The iteration after which is measured next: a tenth more, rounded up.
fn next(iterations: u64, apart: u64) -> u64 {
    FIRST.max(iterations + iterations.div_ceil(10).max(apart))
}

impl Approach {
    /// Solves `spot` until a limit is reached. The exploitability is measured after 10 iterations and then each time after a tenth more, and once more where the time ends
    /// the solve.
    ///
    /// # Errors
    /// As the solver says.
    pub fn of(device: &Device, spot: &Spot, options: Options, limits: Limits) -> Result<Self> {
        let began = Instant::now();
        let is_over = || began.elapsed().as_secs_f64() >= limits.seconds;
        let mut solver = Solver::builder(spot).options(options).measure_at([]).build(device)?;
        let set_up = began.elapsed().as_secs_f64();
        let mut steps = Vec::new();
        loop {
            solver.set_limit(next(solver.iterations(), limits.apart).min(limits.iterations))?;
            solver.run(|_| if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })?;
            let point = solver.exploitability()?;
            let percent = 100.0 * point.exploitability / spot.pot;
            steps.push(Step { iterations: point.iteration, seconds: set_up + point.seconds, percent });
            if percent <= limits.percent || point.iteration >= limits.iterations || is_over() {
                break;
            }
        }
        let report = solver.report();
        Ok(Self {
            engine: report.engine.to_string(),
            infoset_actions: report.infoset_actions,
            bytes: report.bytes,
            set_up,
            steps,
            measuring: report.exploitability_seconds,
        })
    }

    /// The first step with at most this exploitability.
    pub fn reached(&self, percent: f64) -> Option<&Step> {
        self.steps.iter().find(|step| step.percent <= percent)
    }

    /// Seconds of an iteration.
    pub fn seconds_per_iteration(&self) -> f64 {
        self.steps.last().map_or(f64::NAN, |last| (last.seconds - self.set_up) / last.iterations as f64)
    }
}
