//! The solver: one builder for every game, layout, engine and device.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cfr::dispatch::{self, Plan};
use crate::cfr::engines::Solve;
use crate::cfr::options::{Algorithm, Averaging, Engine, Options, Sampling, Updates};
use crate::cfr::problem::Problem;
use crate::cfr::report::{Point, Report};
use crate::cfr::strategy::{Checkpoint, State, Strategy};
use crate::{Device, Error, Memory, Precision, Progress, Result};

/// Builds a [`Solver`].
#[derive(Clone, Debug)]
pub struct SolverBuilder {
    problem: Problem,
    options: Options,
    /// Options that were asked for, by name: those that a checkpoint must not contradict.
    asked: Vec<&'static str>,
    isomorphism: Option<bool>,
    measure_at: Option<Vec<u64>>,
    resume: Option<Checkpoint>,
    keep: Keep,
}

/// Where the state is written while a solver runs, and how often.
#[derive(Clone, Debug)]
struct Keep {
    path: Option<PathBuf>,
    every: Duration,
}

/// A solve that can be run on, looked at, stored and gone on with.
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

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident => $field:ident: $kind:ty),+ $(,)?) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $field: $kind) -> Self {
            self.options.$field = $field;
            self.asked.push(stringify!($field));
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
        precision => precision: Precision,
        /// Which engine; by the rule of [`cfr`](crate::cfr) unless said.
        engine => engine: Engine,
        /// Iterations in all, those before a resume included; 1000 unless said.
        iterations => iterations: u64,
        /// Threads of the CPU back end; all cores unless said.
        threads => threads: Option<usize>,
    }

    /// All options at once; each of them counts as asked for.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self.asked = NAMES.to_vec();
        self
    }

    /// Whether boards that differ by names of suits only are solved once; yes unless said.
    #[must_use]
    pub fn isomorphism(mut self, isomorphism: bool) -> Self {
        self.isomorphism = Some(isomorphism);
        self
    }

    /// Iterations after which a run finds the exploitability; at its end only unless said, nowhere with an empty list.
    #[must_use]
    pub fn measure_at(mut self, iterations: impl IntoIterator<Item = u64>) -> Self {
        self.measure_at = Some(iterations.into_iter().collect());
        self
    }

    /// Goes on from a checkpoint of the same problem. Options that were not asked for are the checkpoint's; `iterations` and `threads` may be others.
    #[must_use]
    pub fn resume(mut self, checkpoint: Checkpoint) -> Self {
        self.resume = Some(checkpoint);
        self
    }

    /// Where the whole state is written: at the end of every run, and every [`checkpoint_every`](Self::checkpoint_every) while it runs.
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.keep.path = Some(path.into());
        self
    }

    /// Time between two checkpoints while it runs; 5 minutes unless said.
    #[must_use]
    pub fn checkpoint_every(mut self, time: Duration) -> Self {
        self.keep.every = time;
        self
    }

    /// What would solve it on `device`, and the memory that it needs. Takes none of the device's memory.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn plan(&self, device: &Device) -> Result<Plan> {
        let options = self.settled()?;
        options.check()?;
        if options.algorithm == Algorithm::CfrBr && self.problem.n_players() != 2 {
            return Err(Error::option("algorithm", options.algorithm, "another than cfr_br, which is for two players"));
        }
        let isomorphism = match &self.resume {
            Some(checkpoint) => checkpoint.isomorphism(),
            None => self.isomorphism.unwrap_or(true),
        };
        dispatch::plan(device, &self.problem, &options, isomorphism)
    }

    /// Memory that the solve takes on `device`.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        Ok(self.plan(device)?.memory_needed().clone())
    }

    /// Lays the game out and takes the memory.
    ///
    /// # Errors
    /// [`Error::Option`] for options that are not allowed, or not for this game on this device, or are not those of the checkpoint; [`Error::Shape`] where the
    /// checkpoint is of another problem or another engine's; [`Error::OutOfMemory`] where the tables do not fit, before anything is taken; as the device says.
    pub fn build(self, device: &Device) -> Result<Solver> {
        let plan = self.plan(device)?;
        self.build_plan(device, plan)
    }

    /// As [`build`](Self::build), from a plan that [`plan`](Self::plan) gave for the same device and options.
    ///
    /// # Errors
    /// As there.
    pub fn build_plan(self, device: &Device, plan: Plan) -> Result<Solver> {
        let options = self.settled()?;
        if let Some(checkpoint) = &self.resume {
            checkpoint.check_fits(&plan)?;
        }
        device.expect_memory(plan.memory_needed())?;
        let mut solver = Solver {
            device: device.clone(),
            engine: dispatch::build(device, &plan, &options)?,
            problem: self.problem,
            options,
            plan,
            iteration: 0,
            seconds: 0.0,
            exploitability_seconds: 0.0,
            trajectory: Vec::new(),
            measure_at: self.measure_at,
            keep: self.keep,
        };
        if let Some(checkpoint) = self.resume {
            solver.engine.set_tables(checkpoint.tables())?;
            solver.iteration = checkpoint.iteration();
            (solver.seconds, solver.exploitability_seconds) = checkpoint.seconds();
            solver.trajectory = checkpoint.trajectory().to_vec();
        }
        Ok(solver)
    }

    /// The options of the solve: those asked for, and where there is a checkpoint its own.
    fn settled(&self) -> Result<Options> {
        let Some(checkpoint) = &self.resume else { return Ok(self.options) };
        let (mut options, asked, kept) = (*checkpoint.options(), &self.options, checkpoint.options());
        for &name in &self.asked {
            let text = |options: &Options| match name {
                "algorithm" => options.algorithm.to_string(),
                "updates" => options.updates.to_string(),
                "averaging" => options.averaging.to_string(),
                "sampling" => options.sampling.to_string(),
                "batch" => options.batch.to_string(),
                "discounts" => format!("{:?}", options.discounts),
                "exploration" => options.exploration.to_string(),
                "seed" => options.seed.to_string(),
                "precision" => options.precision.to_string(),
                _ => String::new(),
            };
            match name {
                "threads" => options.threads = asked.threads,
                "iterations" => options.iterations = asked.iterations,
                // What was chosen then may be asked for now.
                "engine" if [Engine::Auto, kept.engine, checkpoint.engine()].contains(&asked.engine) => {}
                "engine" => return Err(Error::option("engine", asked.engine, in_checkpoint(checkpoint.engine()))),
                _ if text(asked) == text(kept) => {}
                _ => return Err(Error::option(name, text(asked), in_checkpoint(text(kept)))),
            }
        }
        if self.isomorphism.is_some_and(|asked| asked != checkpoint.isomorphism()) {
            return Err(Error::option(
                "isomorphism",
                !checkpoint.isomorphism(),
                in_checkpoint(checkpoint.isomorphism()),
            ));
        }
        Ok(options)
    }
}

/// What is allowed where a solve goes on.
fn in_checkpoint(value: impl std::fmt::Display) -> String {
    format!("{value}, as in the checkpoint, whose solve goes on")
}

/// Names of all options.
const NAMES: [&str; 12] = [
    "algorithm",
    "updates",
    "averaging",
    "sampling",
    "batch",
    "discounts",
    "exploration",
    "seed",
    "precision",
    "engine",
    "iterations",
    "threads",
];

impl Solver {
    /// A solver of a game: a [`GameDef`](super::GameDef) or another [`Problem`].
    pub fn builder(problem: impl Into<Problem>) -> SolverBuilder {
        SolverBuilder {
            problem: problem.into(),
            options: Options::default(),
            asked: Vec::new(),
            isomorphism: None,
            measure_at: None,
            resume: None,
            keep: Keep { path: None, every: Duration::from_secs(300) },
        }
    }

    /// Iterates until [`iterations`](SolverBuilder::iterations) are done in all, and finds the exploitability where
    /// [`measure_at`](SolverBuilder::measure_at) says, else at the end. Calls `watch` about ten times a second, and with every point that was measured; where it answers `Break`
    /// the solver stops early, and can be run on.
    ///
    /// # Errors
    /// As the device says: the solver is of no more use then; [`Error::File`] if a checkpoint cannot be written.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<Point>) -> ControlFlow<()>) -> Result<Report> {
        let (began, limit) = (Instant::now(), self.options.iterations);
        let mut written = Instant::now();
        let mut part = 1u32;
        let mut go_on = true;
        while go_on && self.iteration < limit {
            let stops = self.measure_at.iter().flatten().copied().filter(|&at| at > self.iteration && at < limit);
            let stop = stops.min().unwrap_or(limit);
            let now = (stop - self.iteration).min(u64::from(part)) as u32;
            let start = Instant::now();
            self.engine.run(now)?;
            let seconds = start.elapsed().as_secs_f64();
            self.seconds += seconds;
            self.iteration += u64::from(now);
            let latest = if self.is_measured() { Some(self.exploitability()?) } else { None };
            go_on = watch(&self.progress(began, latest)).is_continue();
            if let Some(path) = self.keep.path.clone().filter(|_| written.elapsed() >= self.keep.every) {
                self.save_checkpoint(path)?;
                written = Instant::now();
            }
            // Large enough that the calls cost nothing, small enough that a caller is heard.
            if seconds < 0.05 {
                part = part.saturating_mul(2);
            } else if seconds > 0.2 {
                part = (part / 2).max(1);
            }
        }
        if self.measure_at.is_none() {
            self.exploitability()?;
        }
        if let Some(path) = self.keep.path.clone() {
            self.save_checkpoint(path)?;
        }
        Ok(self.report())
    }

    /// Whether the exploitability is to be found after the iterations so far.
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

    /// Sets the iterations after which [`run`](Self::run) ends, in all.
    pub fn set_limit(&mut self, iterations: u64) {
        self.options.iterations = iterations;
    }

    /// Memory that the solve has taken.
    pub fn memory_needed(&self) -> Memory {
        let (tables, all) = (self.plan.tables(), self.engine.bytes());
        let memory = Memory::default().on_device("regrets and averages", tables);
        if all > tables { memory.on_device("the rest of the engine", all - tables) } else { memory }
    }

    /// Exploitability, values and best responses of the average profile now, on the device; kept in the report's trajectory. A run finds it by itself.
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
        Ok(State::new(&self.problem, &self.plan, &self.options, tables, seconds, self.trajectory.clone()))
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
            engine: self.plan.engine(),
            options: self.options,
            device: self.device.to_string(),
            device_name: self.device.name(),
            iterations: self.iteration,
            seconds: self.seconds,
            exploitability_seconds: self.exploitability_seconds,
            infoset_actions: self.plan.infoset_actions(),
            table_bytes: self.plan.tables(),
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
