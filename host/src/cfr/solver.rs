//! The solver: one builder for every game, layout, engine and device.

mod builder;

use std::ops::ControlFlow;
use std::time::Instant;

pub use builder::SolverBuilder;

use crate::cfr::dispatch::Plan;
use crate::cfr::engines::Solve;
use crate::cfr::options::{Engine, Options};
use crate::cfr::problem::Problem;
use crate::cfr::report::{Point, Report};
use crate::cfr::strategy::{Checkpoint, State, Strategy};
use crate::runtime::keep::Keep;
use crate::runtime::pace::Pace;
use crate::{Device, Error, Memory, Progress, Result};

/// A solve that can be run in steps, inspected, saved and resumed.
///
/// ```no_run
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::cfr::{Algorithm, GameDef, Solver};
///
/// let game = GameDef::read("kuhn.limit.2p.game")?;
/// let mut solver = Solver::builder(game).algorithm(Algorithm::CfrPlus).iterations(1000).build(&Device::auto())?;
/// let report = solver.run(|_| ControlFlow::Continue(()))?;
/// println!("{report}");
/// solver.strategy()?.save("kuhn.strategy")?;
/// # Ok::<(), warpplay::Error>(())
/// ```
///
/// An engine on a device gives the same bits every time, however the iterations are divided among calls; a solve saved as a [`Checkpoint`] and resumed by the same engine
/// gives the same bits, too.
pub struct Solver {
    device: Device,
    problem: Problem,
    options: Options,
    plan: Plan,
    engine: Box<dyn Solve>,
    iteration: u64,
    seconds: f64,
    exploitability_seconds: f64,
    trajectory: Vec<Point>,
    unmeasured: Option<String>,
    /// Numbers of iterations and of measured points in the last checkpoint written.
    kept: Option<(u64, usize)>,
    measure_at: Option<Vec<u64>>,
    keep: Keep,
}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver")
            .field("device", &self.device)
            .field("plan", &self.plan)
            .field("options", &self.options)
            .field("iteration", &self.iteration)
            .finish_non_exhaustive()
    }
}

impl Solver {
    /// Makes a builder of a solver of a game, a [`GameDef`](super::GameDef) or another [`Problem`].
    pub fn builder(problem: impl Into<Problem>) -> SolverBuilder {
        SolverBuilder::new(problem.into())
    }

    /// Iterates until a total of [`iterations`](SolverBuilder::iterations) is done, and measures the exploitability after the iterations of
    /// [`measure_at`](SolverBuilder::measure_at), by default at the end. Calls `watch` about ten times a second, and with every measured point; if it returns `Break`, the
    /// solver stops early and can be run again.
    ///
    /// The checkpoint is written before the last measurement, and again with its result. If the engine cannot compute the exploitability of the game, the report says so
    /// ([`Report::unmeasured`]) and the run continues without it.
    ///
    /// # Errors
    /// Errors of the device, after which the solver is unusable; [`Error::File`](crate::Error::File) if a checkpoint cannot be written.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<Point>) -> ControlFlow<()>) -> Result<Report> {
        let (began, limit) = (Instant::now(), self.options.iterations);
        self.keep.begin();
        let mut pace = Pace::new();
        let mut go_on = true;
        if self.iteration == 0 && limit > 0 && self.is_measured() {
            self.try_measure()?;
        }
        while go_on && self.iteration < limit {
            let stops = self.measure_at.iter().flatten().copied().filter(|&at| at > self.iteration && at < limit);
            let stop = stops.min().unwrap_or(limit);
            let now = pace.next(stop - self.iteration);
            let start = Instant::now();
            self.engine.run(now)?;
            let seconds = start.elapsed().as_secs_f64();
            self.seconds += seconds;
            self.iteration += u64::from(now);
            if self.iteration == limit {
                break;
            }
            let latest = if self.is_measured() { self.try_measure()? } else { None };
            go_on = watch(&self.progress(began, latest)).is_continue();
            if self.keep.is_due() {
                self.keep_state()?;
            }
            pace.took(now, seconds);
        }
        self.keep_state()?;
        let latest = if self.measure_at.is_none() || self.is_measured() { self.measure()? } else { None };
        if go_on {
            // The run has ended, so the answer of `watch` has no effect.
            let _ = watch(&self.progress(began, latest));
        }
        Ok(self.report())
    }

    /// Measures the exploitability now, as a run does at its end, and adds it to the trajectory and the checkpoint. `None`, with the reason in the report, if the engine
    /// cannot compute it for this game.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn measure(&mut self) -> Result<Option<Point>> {
        let point = self.try_measure()?;
        self.keep_state()?;
        Ok(point)
    }

    /// Measures the exploitability now; `None` if the engine cannot compute it. The checkpoint is written before an error is returned.
    fn try_measure(&mut self) -> Result<Option<Point>> {
        if self.unmeasured.is_some() {
            return Ok(None);
        }
        match self.exploitability() {
            Ok(point) => Ok(Some(point)),
            Err(error @ Error::Unsupported { .. }) => {
                self.unmeasured = Some(error.to_string());
                Ok(None)
            }
            Err(error) => {
                // The caller gets the error of the measurement, even if the file cannot be written.
                let _ = self.keep_state();
                Err(error)
            }
        }
    }

    /// Writes the state if a file was given that does not hold it already.
    fn keep_state(&mut self) -> Result<()> {
        let now = Some((self.iteration, self.trajectory.len()));
        if !self.keep.is_wanted() || self.kept == now {
            return Ok(());
        }
        let state = self.checkpoint()?;
        self.keep.write(&state)?;
        self.kept = now;
        Ok(())
    }

    /// Whether to measure the exploitability after the present iteration.
    fn is_measured(&self) -> bool {
        match &self.measure_at {
            Some(at) => at.contains(&self.iteration),
            None => self.iteration == self.options.iterations,
        }
    }

    fn progress(&self, began: Instant, latest: Option<Point>) -> Progress<Point> {
        let n_steps = Some(self.options.iterations);
        Progress { steps: self.iteration, n_steps, elapsed: began.elapsed(), time_limit: None, latest }
    }

    /// Sets the total number of iterations after which [`run`](Self::run) ends.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for a number that is not allowed.
    pub fn set_limit(&mut self, iterations: u64) -> Result<()> {
        let options = Options { iterations, ..self.options };
        options.check()?;
        self.options = options;
        Ok(())
    }

    /// Memory that was requested.
    pub fn memory_needed(&self) -> &Memory {
        self.plan.memory_needed()
    }

    /// Measures exploitability, values and best responses of the present average profile on the device, and adds them to the report's trajectory. A run does so by itself.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn exploitability(&mut self) -> Result<Point> {
        if let Some(last) = self.trajectory.last().filter(|point| point.iteration == self.iteration) {
            return Ok(last.clone());
        }
        let start = Instant::now();
        let measured = self.engine.measure()?;
        let seconds = start.elapsed().as_secs_f64();
        self.exploitability_seconds += seconds;
        let utility = self.average_utility()?;
        let point = Point::new(self.iteration, measured, utility, [self.seconds, seconds]);
        self.trajectory.push(point.clone());
        Ok(point)
    }

    /// The average strategy now.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn strategy(&mut self) -> Result<Strategy> {
        let tables = self.engine.tables()?;
        Strategy::from_tables(&self.problem, &self.plan, &self.options, &tables)
    }

    /// The complete state of the solve, to be saved in a file and resumed.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        let tables = self.engine.tables()?;
        let seconds = (self.seconds, self.exploitability_seconds);
        Ok(State::new(&self.problem, &self.plan, &self.options, tables, seconds, self.trajectory.clone()))
    }

    /// The report so far.
    pub fn report(&self) -> Report {
        Report {
            game: self.problem.describe(),
            engine: self.plan.engine(),
            options: self.options,
            seed: self.options.seed,
            device: self.device.to_string(),
            device_name: self.device.name(),
            iterations: self.iteration,
            seconds: self.seconds,
            exploitability_seconds: self.exploitability_seconds,
            infoset_actions: self.plan.infoset_actions(),
            table_bytes: self.plan.tables(),
            bytes: self.memory_needed().device().saturating_add(self.memory_needed().host()),
            memory: self.memory_needed().clone(),
            trajectory: self.trajectory.clone(),
            unmeasured: self.unmeasured.clone(),
        }
    }

    /// Mean over the iterations of the winnings under the strategies used in them, in chips, by seat, for one deal; 0 before the first.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn average_utility(&mut self) -> Result<Vec<f64>> {
        // The walk adds up all deals of a batch.
        let batch = if self.plan.engine() == Engine::Walk { self.options.batch.max(1) } else { 1 };
        let n = self.iteration.max(1) as f64 * f64::from(batch);
        Ok(self.engine.utilities()?.into_iter().map(|sum| sum / n).collect())
    }

    /// Iterations done.
    pub fn iterations(&self) -> u64 {
        self.iteration
    }

    /// The plan of the solve.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The problem being solved.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}
