//! What a solver is built from.

use super::Solver;
use crate::cfr::dispatch::{self, Plan};
use crate::cfr::options::{Algorithm, Averaging, Engine, Options, Sampling, Updates};
use crate::cfr::problem::Problem;
use crate::cfr::strategy::Checkpoint;
use crate::runtime::keep::Keep;
use crate::runtime::setters::{checkpoint_setters, setters};
use crate::{Device, Error, Memory, Precision, Result};

/// Builds a [`Solver`].
#[derive(Clone, Debug)]
pub struct SolverBuilder {
    problem: Problem,
    options: Options,
    /// Options that were asked for, by name: those that a checkpoint must not contradict.
    asked: Vec<&'static str>,
    measure_at: Option<Vec<u64>>,
    resume: Option<Checkpoint>,
    keep: Keep,
}

impl SolverBuilder {
    pub(super) fn new(problem: Problem) -> Self {
        Self {
            problem,
            options: Options::default(),
            asked: Vec::new(),
            measure_at: None,
            resume: None,
            keep: Keep::default(),
        }
    }

    setters! {
        noted in asked;
        /// How regrets become strategies; `Cfr` unless said.
        algorithm: Algorithm,
        /// Who learns in an iteration; `Alternating` unless said.
        updates: Updates,
        /// Weights of the average; what the algorithm is published with unless said.
        averaging: Averaging,
        /// What is sampled; nothing unless said.
        sampling: Sampling,
        /// Deals, boards or traversals of an iteration, where something is sampled; at least 1, and 1 unless said.
        batch: u32,
        /// Exponents α, β, γ of discounted CFR; 1.5, 0, 2 unless said.
        discounts: [f64; 3],
        /// Exploration ε of outcome sampling, above 0 and at most 1; 0.6 unless said.
        exploration: f64,
        /// Seed of what is sampled.
        seed: u64,
        /// Arithmetic; `F32` unless said.
        precision: Precision,
        /// Which engine; by the rule of [`cfr`](crate::cfr) unless said.
        engine: Engine,
        /// Whether boards that differ by names of suits only are solved once; yes unless said.
        isomorphism: bool,
        /// Iterations in all, those before a resume included; 1000 unless said.
        iterations: u64,
        /// Threads of the CPU back end, 1 to 1024; all cores unless said.
        threads: impl Into<Option<usize>> = threads.into(),
    }

    /// All options at once; each of them counts as asked for.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self.asked = NAMES.to_vec();
        self
    }

    /// Iterations after which a run finds the exploitability; at its end only unless said, nowhere with an empty list. No option of the solve, whose strategies do not
    /// depend on it: a checkpoint does not keep it. The program measures after 1, 10, 100 and so on.
    #[must_use]
    pub fn measure_at(mut self, iterations: impl IntoIterator<Item = u64>) -> Self {
        self.measure_at = Some(iterations.into_iter().collect());
        self
    }

    checkpoint_setters! {
        /// Goes on from a checkpoint of the same problem. Options that were not asked for are the checkpoint's; `iterations` (at least those that are done) and `threads`
        /// may be others.
        resume,

        /// Where the whole state is written: at the end of every run, and every [`checkpoint_every`](Self::checkpoint_every) while it runs.
        checkpoint,

        /// Time between two checkpoints while it runs, above 0; 5 minutes unless said.
        checkpoint_every
    }

    /// What would solve it on `device`, and the memory that it needs, whether there is as much or not. Takes none of the device's memory.
    ///
    /// # Errors
    /// As [`build`](Self::build), but for [`Error::OutOfMemory`].
    pub fn plan(&self, device: &Device) -> Result<Plan> {
        let mut options = self.settled()?;
        options.check()?;
        self.keep.check()?;
        if let Some(checkpoint) = &self.resume
            && checkpoint.engine() == Engine::Mccfr
            && options.engine == Engine::Auto
        {
            // The rule once took it on the CPU where it takes the walk now.
            options.engine = Engine::Mccfr;
        }
        if options.algorithm == Algorithm::CfrBr && self.problem.n_players() != 2 {
            return Err(Error::option(
                "algorithm",
                options.algorithm,
                "an algorithm other than cfr_br, which is for two players",
            ));
        }
        dispatch::plan(device, &self.problem, &options)
    }

    /// Memory that the solve takes on `device`, whether there is as much or not.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
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
            unmeasured: None,
            kept: None,
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
                "isomorphism" => options.isomorphism.to_string(),
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
        let done = checkpoint.iteration();
        if options.iterations < done {
            let allowed = format!("at least {done}, the number done in the checkpoint");
            return Err(Error::option("iterations", options.iterations, allowed));
        }
        Ok(options)
    }
}

/// What is allowed where a solve goes on.
fn in_checkpoint(value: impl std::fmt::Display) -> String {
    format!("{value}, as in the checkpoint that is resumed")
}

/// Names of all options.
const NAMES: [&str; 13] = [
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
    "isomorphism",
    "iterations",
    "threads",
];
