//! The solver: one builder for every game, layout, engine and device.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::cfr::dispatch::{self, Plan};
use crate::cfr::engines::Solve;
use crate::cfr::options::{Algorithm, Averaging, Form, Numbers, Options, Sampling, Updates};
use crate::cfr::problem::Problem;
use crate::cfr::report::{Point, Report};
use crate::cfr::strategy::{Checkpoint, Strategy};
use crate::{Device, Error, Progress, Result};

/// Builds a [`Solver`].
#[derive(Clone, Debug)]
pub struct SolverBuilder {
    problem: Problem,
    options: Options,
    isomorphism: bool,
}

/// A solve that can be run on, looked at, stored and gone on with.
///
/// ```no_run
/// use std::ops::ControlFlow;
/// use warpplay::Device;
/// use warpplay::cfr::{Algorithm, GameDef, Solver};
///
/// let game = GameDef::read("kuhn.limit.2p.game")?;
/// let mut solver = Solver::builder(game).algorithm(Algorithm::CfrPlus).build(&Device::auto())?;
/// solver.run(1000, |_| ControlFlow::Continue(()))?;
/// println!("{:?}", solver.exploitability()?);
/// solver.strategy()?.save("kuhn.strategy")?;
/// # Ok::<(), warpplay::Error>(())
/// ```
///
/// One engine on one device gives the same bits every time, however the iterations are divided among calls, and a solve that is stored as a
/// [`Checkpoint`] and resumed by the same engine goes on with the same bits.
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

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident => $field:ident: $kind:ty),+ $(,)?) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $field: $kind) -> Self {
            self.options.$field = $field;
            self
        })+
    };
}

impl SolverBuilder {
    setters! {
        /// How regrets become strategies; `Cfr` unless said.
        algorithm => algorithm: Algorithm,
        /// Who learns in an iteration; `Alternating` unless said.
        updates => updates: Updates,
        /// Weights of the average; what the algorithm is published with unless said.
        averaging => averaging: Averaging,
        /// What is sampled; nothing unless said.
        sampling => sampling: Sampling,
        /// Deals, boards or traversals of an iteration, where something is sampled; at least 1, and 1 unless said.
        batch => batch: u32,
        /// Exponents α, β, γ of discounted CFR; 1.5, 0, 2 unless said.
        discounts => discounts: [f64; 3],
        /// Exploration ε of outcome sampling, above 0 and at most 1; 0.6 unless said.
        exploration => exploration: f64,
        /// Seed of what is sampled.
        seed => seed: u64,
        /// Arithmetic; `F32` unless said.
        precision => numbers: Numbers,
        /// Layout; by the rule of [`cfr`](crate::cfr) unless said.
        form => form: Form,
        /// Threads of the CPU back end; all cores unless said.
        threads => threads: Option<usize>,
    }

    /// All options at once.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Whether boards that differ by names of suits only are solved once; yes unless said.
    #[must_use]
    pub fn isomorphism(mut self, isomorphism: bool) -> Self {
        self.isomorphism = isomorphism;
        self
    }

    /// What would solve it on `device` and how much memory the tables need. Takes none of the device's memory.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn plan(&self, device: &Device) -> Result<Plan> {
        check(&self.options, self.problem.n_players())?;
        dispatch::plan(device, &self.problem, &self.options, self.isomorphism)
    }

    /// Lays the game out and takes the memory.
    ///
    /// # Errors
    /// [`Error::Option`] for options that are not allowed, or not for this game on this device; [`Error::OutOfMemory`] where the tables do not fit, before
    /// anything is taken; as the device says.
    pub fn build(self, device: &Device) -> Result<Solver> {
        let plan = self.plan(device)?;
        self.build_plan(device, plan)
    }

    /// As [`build`](Self::build), from a plan that [`plan`](Self::plan) gave for the same device and options.
    ///
    /// # Errors
    /// As there.
    pub fn build_plan(self, device: &Device, plan: Plan) -> Result<Solver> {
        let free = device.memory()?.free;
        if plan.table_bytes() > free {
            return Err(Error::OutOfMemory { device: device.to_string(), needed: plan.table_bytes(), free });
        }
        let engine = dispatch::build(device, &plan, &self.options)?;
        Ok(Solver {
            device: device.clone(),
            problem: self.problem,
            options: self.options,
            plan,
            engine,
            iteration: 0,
            seconds: 0.0,
            exploitability_seconds: 0.0,
            trajectory: Vec::new(),
        })
    }

    /// Goes on from a checkpoint of the same problem. The options are the checkpoint's; of this builder's only `threads` counts.
    ///
    /// # Errors
    /// As [`build`](Self::build); [`Error::Shape`] where the checkpoint is of another problem or another engine's.
    pub fn resume(mut self, device: &Device, checkpoint: &Checkpoint) -> Result<Solver> {
        let threads = self.options.threads;
        self.options = Options { threads, ..*checkpoint.options() };
        self.isomorphism = checkpoint.isomorphism();
        let mut solver = self.build(device)?;
        checkpoint.check_fits(&solver.plan)?;
        solver.engine.set_tables(checkpoint.tables())?;
        solver.iteration = checkpoint.iteration();
        (solver.seconds, solver.exploitability_seconds) = checkpoint.seconds();
        solver.trajectory = checkpoint.trajectory().to_vec();
        Ok(solver)
    }
}

impl Solver {
    /// A solver of a game: a [`GameDef`](super::GameDef) or another [`Problem`].
    pub fn builder(problem: impl Into<Problem>) -> SolverBuilder {
        SolverBuilder { problem: problem.into(), options: Options::default(), isomorphism: true }
    }

    /// Does `n` more iterations, and calls `progress` about ten times a second; where it answers `Break` the solver stops early. Returns the iterations
    /// done by this call.
    ///
    /// # Errors
    /// As the device says; the solver is of no more use then.
    pub fn run(&mut self, n: u32, mut progress: impl FnMut(&Progress) -> ControlFlow<()>) -> Result<u32> {
        let began = Instant::now();
        let (mut done, mut part) = (0, 1);
        while done < n {
            let now = part.min(n - done);
            let start = Instant::now();
            self.engine.run(now)?;
            let seconds = start.elapsed().as_secs_f64();
            self.seconds += seconds;
            self.iteration += u64::from(now);
            done += now;
            let state = Progress {
                steps: done.into(),
                n_steps: Some(n.into()),
                elapsed: began.elapsed(),
                time_limit: None,
                latest: None,
            };
            if progress(&state).is_break() {
                break;
            }
            // Large enough that the calls cost nothing, small enough that a caller is heard.
            if seconds < 0.05 {
                part = part.saturating_mul(2);
            } else if seconds > 0.2 {
                part = (part / 2).max(1);
            }
        }
        Ok(done)
    }

    /// Exploitability, values and best responses of the average profile now, on the device; kept in the report's trajectory.
    ///
    /// # Errors
    /// As the device says.
    pub fn exploitability(&mut self) -> Result<Point> {
        if let Some(last) = self.trajectory.last().filter(|point| point.iteration == self.iteration) {
            return Ok(last.clone());
        }
        let start = Instant::now();
        let measured = self.engine.measure()?;
        let seconds = start.elapsed().as_secs_f64();
        self.exploitability_seconds += seconds;
        let utilities = self.engine.utilities()?;
        let point = Point::new(self.iteration, measured, &utilities, [self.seconds, seconds]);
        self.trajectory.push(point.clone());
        Ok(point)
    }

    /// The average strategy now.
    ///
    /// # Errors
    /// As the device says.
    pub fn strategy(&mut self) -> Result<Strategy> {
        let tables = self.engine.tables()?;
        Strategy::from_tables(&self.problem, &self.plan, &self.options, &tables)
    }

    /// Everything that the solve remembers, to be written to a file and gone on with.
    ///
    /// # Errors
    /// As the device says.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        let tables = self.engine.tables()?;
        let seconds = (self.seconds, self.exploitability_seconds);
        Ok(Checkpoint::new(&self.problem, &self.plan, &self.options, tables, seconds, self.trajectory.clone()))
    }

    /// [`checkpoint`](Self::checkpoint), written to a file; it replaces the file whole or not at all.
    ///
    /// # Errors
    /// As the device says; [`Error::File`] if it cannot be written.
    pub fn save_checkpoint(&mut self, path: impl AsRef<std::path::Path>) -> Result<()> {
        self.checkpoint()?.save(path)
    }

    /// What was done so far.
    pub fn report(&self) -> Report {
        Report {
            game: self.problem.describe(),
            engine: self.plan.engine().to_string(),
            options: self.options,
            device: self.device.to_string(),
            device_name: self.device.name(),
            iterations: self.iteration,
            seconds: self.seconds,
            exploitability_seconds: self.exploitability_seconds,
            infoset_actions: self.plan.infoset_actions(),
            table_bytes: self.plan.table_bytes(),
            bytes: self.engine.bytes(),
            trajectory: self.trajectory.clone(),
        }
    }

    /// Iterations done.
    pub fn iterations(&self) -> u64 {
        self.iteration
    }

    /// What solves.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What is solved.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

/// That options can be used at all, and together.
pub(in crate::cfr) fn check(options: &Options, n_players: usize) -> Result<()> {
    // Exhaustive, so that a new option is thought of here.
    let Options {
        algorithm,
        updates: _,
        averaging: _,
        sampling,
        batch,
        discounts,
        exploration,
        seed: _,
        numbers: _,
        form: _,
        threads,
    } = *options;
    if batch == 0 {
        return Err(Error::option("batch", batch, "at least 1"));
    }
    if sampling == Sampling::None && batch != 1 {
        return Err(Error::option("batch", batch, "1 where nothing is sampled"));
    }
    if let Some(exponent) = discounts.iter().find(|exponent| !exponent.is_finite()) {
        return Err(Error::option("discounts", exponent, "finite numbers"));
    }
    if !(exploration > 0.0 && exploration <= 1.0) {
        return Err(Error::option("exploration", exploration, "above 0, at most 1"));
    }
    if threads == Some(0) {
        return Err(Error::option("threads", 0, "at least 1"));
    }
    if algorithm == Algorithm::CfrBr && n_players != 2 {
        return Err(Error::option("algorithm", algorithm, "another than cfr_br, which is for two players"));
    }
    if algorithm == Algorithm::CfrBr && sampling != Sampling::None {
        return Err(Error::option("sampling", sampling, "none with cfr_br, whose best responses are exact"));
    }
    Ok(())
}
