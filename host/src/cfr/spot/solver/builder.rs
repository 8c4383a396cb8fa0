//! What a spot's solver is built from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::SpotSolver;
use crate::cfr::dispatch::{self, Plan};
use crate::cfr::layout::Layout;
use crate::cfr::options::{Algorithm, Averaging, Engine, Options, Sampling, Updates};
use crate::cfr::problem::Problem;
use crate::cfr::spot::file::Spot;
use crate::cfr::spot::saved::SpotForm;
use crate::cfr::spot::solved::SolvedSpot;
use crate::cfr::spot::target::SpotTarget;
use crate::runtime::keep::Keep;
use crate::runtime::setters::setters;
use crate::{Device, Error, Memory, Precision, Result};

/// Builds a [`SpotSolver`]. Options that are not set are those of [`Options::SPOT`].
#[derive(Debug)]
pub struct SpotSolverBuilder {
    spot: Arc<Spot>,
    /// The layout, if it is known already.
    layout: Option<Layout>,
    options: Options,
    /// Names of the options that the caller set, which a file must not contradict.
    asked: Vec<&'static str>,
    measure_at: Vec<u64>,
    target: Option<SpotTarget>,
    form: SpotForm,
    keep: Keep,
    resume: Option<SolvedSpot>,
}

impl SpotSolver {
    /// Makes a builder of a solver of a spot.
    pub fn builder(spot: &Spot) -> SpotSolverBuilder {
        SpotSolverBuilder::new(Arc::new(spot.clone()))
    }

    /// Makes a builder of a solver that resumes from a file of form `full`. Options that the caller does not set are the file's; only `iterations` (at least those done) and `threads` may
    /// differ. The target is the file's too, if it has one, until another is set.
    ///
    /// # Errors
    /// As [`SolvedSpot::open`]; [`Error::File`] for a file of strategies alone.
    pub fn resume(path: impl AsRef<Path>) -> Result<SpotSolverBuilder> {
        let path = path.as_ref();
        let solved = SolvedSpot::open(path)?;
        if solved.form() != SpotForm::Full {
            let reason = format!("has strategies alone (form {}), expected form full to go on from", solved.form());
            return Err(Error::file(path, None, reason));
        }
        let builder = SpotSolverBuilder::new(Arc::new(solved.spot().clone())).laid(solved.layout().clone());
        Ok(SpotSolverBuilder { target: solved.target(), resume: Some(solved), ..builder })
    }
}

impl SpotSolverBuilder {
    pub(in crate::cfr::spot) fn new(spot: Arc<Spot>) -> Self {
        Self {
            spot,
            layout: None,
            options: Options::SPOT,
            asked: Vec::new(),
            measure_at: Vec::new(),
            target: None,
            form: SpotForm::Full,
            keep: Keep::default(),
            resume: None,
        }
    }

    /// Takes a layout of the same spot and options that is there already.
    pub(in crate::cfr::spot) fn laid(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    setters! {
        noted in asked;
        algorithm: Algorithm,
        updates: Updates,
        averaging: Averaging,
        sampling: Sampling,
        batch: u32,
        discounts: [f64; 3],
        exploration: f64,
        seed: u64,
        precision: Precision,
        engine: Engine,
        isomorphism: bool,
        iterations: u64,
        threads: impl Into<Option<usize>> = threads.into(),
    }

    /// Sets all options at once; each of them then counts as set by the caller.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self.asked = Options::NAMES.to_vec();
        self
    }

    /// Iterations after which a run measures the exploitability, 1 to [`iterations`](Self::iterations); it always does at its end.
    #[must_use]
    pub fn measure_at(mut self, iterations: impl IntoIterator<Item = u64>) -> Self {
        self.measure_at = iterations.into_iter().collect();
        self
    }

    /// The exploitability at which a run ends, if that is before its [`iterations`](Self::iterations); default none, and for a solve that is resumed that of its file. `None` takes it away.
    #[must_use]
    pub fn target(mut self, target: impl Into<Option<SpotTarget>>) -> Self {
        self.target = target.into();
        self
    }

    /// File to which the solve is saved, at the end of every run and every [`checkpoint_every`](Self::checkpoint_every) during it: the complete state, unless [`form`](Self::form) says
    /// otherwise for a finished solve.
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.keep.path = Some(path.into());
        self
    }

    /// Time between two checkpoints while it runs, above 0; default 5 minutes.
    #[must_use]
    pub fn checkpoint_every(mut self, time: Duration) -> Self {
        self.keep.every = Some(time);
        self
    }

    /// The form of the checkpoint once the solve is finished; default `full`. Before that it is always `full`, from which a solve can be resumed.
    #[must_use]
    pub fn form(mut self, form: SpotForm) -> Self {
        self.form = form;
        self
    }

    /// The spot.
    pub fn spot(&self) -> &Spot {
        &self.spot
    }

    /// The options of the solve: those that the caller set, and otherwise the file's, if there is one.
    ///
    /// # Errors
    /// [`Error::Option`] for one that differs from the file's and may not.
    pub fn settled(&self) -> Result<Options> {
        match &self.resume {
            Some(saved) => self.options.going_on(&self.asked, saved.options(), saved.engine(), saved.iterations()),
            None => Ok(self.options),
        }
    }

    /// The options that the solve will have, after all that the caller set was checked.
    fn checked(&self) -> Result<Options> {
        let options = self.settled()?;
        options.check()?;
        self.keep.check()?;
        if let Some(path) = &self.keep.path
            && let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
        {
            let reason = format!("cannot be written: there is no folder {}", folder.display());
            return Err(Error::file(path, None, reason));
        }
        // A solve that goes on may be asked for points that it has passed.
        if let Some(wrong) = self.measure_at.iter().find(|&&at| at == 0 || at > options.iterations) {
            let allowed = format!("1 to {}, the iterations", options.iterations);
            return Err(Error::option("measure_at", wrong, allowed));
        }
        if let Some(target) = self.target {
            target.check_for(&self.spot)?;
        }
        Ok(options)
    }

    /// The engine that would solve the spot on `device`, and the memory that it needs, regardless of how much is free. Allocates no device memory.
    ///
    /// # Errors
    /// As [`build`](Self::build), except [`Error::OutOfMemory`].
    pub fn plan(&self, device: &Device) -> Result<Plan> {
        let options = self.checked()?;
        let problem = Problem::Spot(Arc::clone(&self.spot));
        let kind = dispatch::kind_on(device, &problem, &options)?;
        let layout = match &self.layout {
            Some(layout) => layout.clone(),
            None => dispatch::layout_of(&problem, kind, options.isomorphism)?,
        };
        let plan = dispatch::plan_layout(device, &layout, &options)?;
        // Tables of 16-bit numbers are read in double precision.
        let value = if options.precision == Precision::F32 { 4 } else { 8 };
        let table = plan.infoset_actions().saturating_mul(value);
        let plan = plan.with_host("averages for the report", table);
        if self.resume.is_none() {
            return Ok(plan);
        }
        let n_tables = if options.step(1).predicts { 3 } else { 2 };
        Ok(plan.with_host("tables of the file", table.saturating_mul(n_tables)))
    }

    /// Memory that the solve takes on `device`, regardless of how much is free.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        Ok(self.plan(device)?.memory_needed().clone())
    }

    /// Lays the spot out and allocates the memory.
    ///
    /// # Errors
    /// As [`Spot::build`]; [`Error::Option`] for options that are not allowed, not supported on this device, or differ from the file's; [`Error::Shape`] if another engine wrote the file;
    /// [`Error::File`] if the file is damaged; [`Error::OutOfMemory`] if the tables do not fit, before anything is allocated; errors of the device.
    pub fn build(self, device: &Device) -> Result<SpotSolver> {
        let plan = self.plan(device)?;
        self.build_plan(device, plan)
    }

    /// As [`build`](Self::build), from a plan that [`plan`](Self::plan) gave for the same device and options.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_plan(self, device: &Device, plan: Plan) -> Result<SpotSolver> {
        let options = self.checked()?;
        let Layout::Vector { game, tree } = &plan.layout else {
            return Err(Error::shape("layout of a spot", "vector", plan.layout.kind()));
        };
        let (game, tree) = (Arc::clone(game), Arc::clone(tree));
        if let Some(saved) = &self.resume
            && saved.engine() != plan.engine()
        {
            let expected = format!("engine {}, which wrote it", saved.engine());
            return Err(Error::shape("resuming a solved spot", expected, format!("engine {}", plan.engine())));
        }
        let mut solver = SpotSolver {
            device: device.clone(),
            engine: dispatch::build(device, &plan, &options)?,
            spot: self.spot,
            options,
            plan,
            game,
            tree,
            iteration: 0,
            seconds: 0.0,
            trajectory: BTreeMap::new(),
            measured: None,
            measure_at: self.measure_at,
            target: self.target,
            form: self.form,
            keep: self.keep,
            kept: None,
        };
        if let Some(saved) = self.resume {
            solver.engine.set_tables(&saved.tables()?)?;
            solver.iteration = saved.iterations();
            solver.seconds = saved.seconds();
            solver.trajectory = saved.trajectory().clone();
        }
        Ok(solver)
    }
}
