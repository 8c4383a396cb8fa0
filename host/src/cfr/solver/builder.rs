//! What a solver is built from.

use super::Solver;
use crate::cfr::abstraction::Recipe;
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
    /// Names of the options that the caller set, which a checkpoint must not contradict.
    asked: Vec<&'static str>,
    measure_at: Option<Vec<u64>>,
    resume: Option<Checkpoint>,
    keep: Keep,
}

impl SolverBuilder {
    pub(super) fn new(problem: Problem) -> Self {
        let options =
            if matches!(problem, Problem::Spot(_) | Problem::Subgame(_)) { Options::SPOT } else { Options::default() };
        Self { problem, options, asked: Vec::new(), measure_at: None, resume: None, keep: Keep::default() }
    }

    setters! {
        noted in asked;
        /// How regrets become strategies; default `Cfr`, for a spot or subgame `Dcfr`.
        algorithm: Algorithm,
        /// Who learns in an iteration; default `Alternating`.
        updates: Updates,
        /// Weights of the average; default those with which the algorithm was published.
        averaging: Averaging,
        /// What is sampled; default nothing, and of a game with buckets of cards as [`Options::in_buckets`] says.
        sampling: Sampling,
        /// Deals, boards or traversals of an iteration, with sampling; at least 1, default 1.
        batch: u32,
        /// Exponents α, β, γ of discounted CFR; default 1.5, 0, 2, for a spot or subgame those of [`Options::SPOT`].
        discounts: [f64; 3],
        /// Exploration ε of outcome sampling, above 0 and at most 1; default 0.6.
        exploration: f64,
        /// Seed of sampling.
        seed: u64,
        /// Arithmetic; default `F32`.
        precision: Precision,
        /// The engine; default by the rule of [`cfr`](crate::cfr).
        engine: Engine,
        /// Whether boards that differ only by renaming suits are solved once; default true.
        isomorphism: bool,
        /// Total number of iterations, including those before a resume; default 1000.
        iterations: u64,
        /// Threads of the CPU back end, 1 to 1024; default all cores.
        threads: impl Into<Option<usize>> = threads.into(),
    }

    /// Sets all options at once; each of them then counts as set by the caller.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self.asked = Options::NAMES.to_vec();
        self
    }

    /// Iterations after which a run measures the exploitability; default only at the end, never with an empty list. Strategies do not depend on it, so a checkpoint does not
    /// store it. The program measures after 1, 10, 100 and so on.
    #[must_use]
    pub fn measure_at(mut self, iterations: impl IntoIterator<Item = u64>) -> Self {
        self.measure_at = Some(iterations.into_iter().collect());
        self
    }

    checkpoint_setters! {
        /// Continues from a checkpoint of the same problem. Options that the caller did not set are the checkpoint's; only `iterations` (at least those done) and `threads`
        /// may differ.
        resume,

        /// File to which the complete state is written, at the end of every run and every [`checkpoint_every`](Self::checkpoint_every) during it.
        checkpoint,

        /// Time between two checkpoints while it runs, above 0; default 5 minutes.
        checkpoint_every
    }

    /// Memory of a solve of the builder's game in the buckets of a recipe, without computing the buckets, which may take minutes. It assumes the number of buckets that the recipe asks for in
    /// each round, though fewer may be found; for rounds without merging, a lower bound of the number of hands. Where all deals are walked it builds the tree of single hands, which needs a little more memory than those of buckets. Wrong
    /// options are thus reported at once.
    ///
    /// # Errors
    /// [`Error::Option`] for a recipe that does not suit the game, for options that are not allowed or not supported with buckets, and for a problem that is not a game of poker.
    pub fn memory_in_buckets(&self, device: &Device, recipe: &Recipe) -> Result<Memory> {
        let options = self.settled_with(true)?;
        options.check()?;
        self.keep.check()?;
        let Some(rules) = self.problem.rules() else {
            return Err(Error::option("problem", self.problem.describe(), "a game of poker where there are buckets"));
        };
        dispatch::memory_of_recipe(device, rules, recipe, &options)
    }

    /// The engine that would solve the problem on `device`, and the memory that it needs, regardless of how much is free. Allocates no device memory.
    ///
    /// # Errors
    /// As [`build`](Self::build), except [`Error::OutOfMemory`].
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

    /// Memory that the solve takes on `device`, regardless of how much is free.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        Ok(self.plan(device)?.memory_needed().clone())
    }

    /// Lays the game out and allocates the memory.
    ///
    /// # Errors
    /// [`Error::Option`] for options that are not allowed, not supported for this game on this device, or differ from the checkpoint's; [`Error::Shape`] if the checkpoint
    /// belongs to another problem or engine; [`Error::OutOfMemory`] if the tables do not fit, before anything is allocated; errors of the device.
    pub fn build(self, device: &Device) -> Result<Solver> {
        let plan = self.plan(device)?;
        self.build_plan(device, plan)
    }

    /// As [`build`](Self::build), from a plan that [`plan`](Self::plan) gave for the same device and options.
    ///
    /// # Errors
    /// As [`build`](Self::build).
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

    /// The options of the solve: those that the caller set, and otherwise the checkpoint's, if there is one.
    fn settled(&self) -> Result<Options> {
        self.settled_with(matches!(self.problem, Problem::Abstracted(..)))
    }

    /// The same for a game that is given in buckets or not.
    fn settled_with(&self, in_buckets: bool) -> Result<Options> {
        match &self.resume {
            Some(checkpoint) => {
                self.options.going_on(&self.asked, checkpoint.options(), checkpoint.engine(), checkpoint.iteration())
            }
            None if in_buckets && !self.asked.contains(&"sampling") => Ok(self.options.in_buckets()),
            None => Ok(self.options),
        }
    }
}
