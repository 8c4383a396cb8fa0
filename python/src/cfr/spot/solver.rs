//! `SpotSolver`: a hold'em spot solved in steps.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::cfr::Options;
use warpplay::cfr::spot::{self as library, SpotForm, SpotSolverBuilder};

use super::node::SolvedSpot;
use super::of_dictionary;
use crate::cfr::points;
use crate::convert::{device, error, to_python};
use crate::options::options;
use crate::work::{self, Shared};

/// When and where a solve is saved.
fn kept(builder: SpotSolverBuilder, file: Option<PathBuf>, every: Option<f64>) -> PyResult<SpotSolverBuilder> {
    let wrong = |every: f64, allowed: &str| {
        PyValueError::new_err(format!("checkpoint_every: {every} is not allowed ({allowed})"))
    };
    let time = |every: f64| {
        let time = Duration::try_from_secs_f64(every).ok().filter(|time| !time.is_zero());
        time.ok_or_else(|| wrong(every, "seconds, above 0"))
    };
    Ok(match (file, every.map(|every| Ok::<_, PyErr>((every, time(every)?))).transpose()?) {
        (Some(file), Some((_, time))) => builder.checkpoint(file).checkpoint_every(time),
        (Some(file), None) => builder.checkpoint(file),
        (None, Some((every, _))) => return Err(wrong(every, "only with checkpoint, the file to write")),
        (None, None) => builder,
    })
}

/// A solve of one hold'em spot, in steps: up to a target, saved, resumed.
///
/// * `spot`: a dictionary as for `solve_spot`. `target`: the exploitability at which `run` ends, in chips (`0.25`) or as a part of the pot (`"0.5%pot"`).
/// * `measure_at`: iterations after which the exploitability is measured. `checkpoint`: a file to which the solve is saved at the end of every run and every `checkpoint_every` seconds of it, by default 300.
/// * further options are those of `Solver`, with the defaults of `solve_spot`.
#[pyclass(module = "warpplay.cfr")]
pub struct SpotSolver {
    solver: Shared<library::SpotSolver>,
}

impl SpotSolver {
    fn build(py: Python<'_>, builder: SpotSolverBuilder, device: &str) -> PyResult<Self> {
        let device = self::device(device)?;
        Ok(Self { solver: Shared::new(py.detach(|| builder.build(&device)).map_err(error)?) })
    }
}

#[pymethods]
impl SpotSolver {
    /// Lays the spot out and takes the memory; `WarpplayError` where it does not fit.
    #[new]
    #[pyo3(signature = (spot, *, device="auto", target=None, measure_at=None, checkpoint=None, checkpoint_every=None, **given))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        spot: &Bound<'_, PyAny>,
        device: &str,
        target: Option<&Bound<'_, PyAny>>,
        measure_at: Option<&Bound<'_, PyAny>>,
        checkpoint: Option<PathBuf>,
        checkpoint_every: Option<f64>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (spot, options) = (of_dictionary(spot)?, options(&Options::SPOT, given)?);
        let measure_at = points(measure_at, options.iterations)?.unwrap_or_default();
        let builder = library::SpotSolver::builder(&spot).options(options).measure_at(measure_at);
        Self::build(py, kept(builder.target(super::target(target)?), checkpoint, checkpoint_every)?, device)
    }

    /// Resumes from a file of form `full`: its options hold, except `iterations`, the total, and its target unless another is given.
    #[staticmethod]
    #[pyo3(signature = (path, *, device="auto", target=None, iterations=None, checkpoint=None, checkpoint_every=None))]
    fn resume(
        py: Python<'_>,
        path: PathBuf,
        device: &str,
        target: Option<&Bound<'_, PyAny>>,
        iterations: Option<u64>,
        checkpoint: Option<PathBuf>,
        checkpoint_every: Option<f64>,
    ) -> PyResult<Self> {
        let builder = py.detach(|| library::SpotSolver::resume(path)).map_err(error)?;
        let builder = match super::target(target)? {
            Some(target) => builder.target(target),
            None => builder,
        };
        let builder = match iterations {
            Some(iterations) => builder.iterations(iterations),
            None => builder,
        };
        Self::build(py, kept(builder, checkpoint, checkpoint_every)?, device)
    }

    /// Iterates until the target is reached or all iterations are done, or `progress` returns `False`; returns the exploitability then, in chips.
    #[pyo3(signature = (*, progress=None))]
    fn run(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<f64> {
        work::run(py, &self.solver, progress, |solver, watch| solver.run(|progress| watch.go_on(progress)))
    }

    /// Measures the exploitability of the average strategies, in chips.
    fn exploitability(&self, py: Python<'_>) -> PyResult<f64> {
        work::run(py, &self.solver, None, |solver, _| solver.measure())
    }

    /// Writes a file that `SolvedSpot.open` reads: form `"full"`, from which a solve can go on, or `"strategies"`, a quarter of its size.
    #[pyo3(signature = (path, *, form="full"))]
    fn save(&self, py: Python<'_>, path: PathBuf, form: &str) -> PyResult<()> {
        let form: SpotForm = form.parse().map_err(error)?;
        work::run(py, &self.solver, None, move |solver, _| solver.save(path, form))
    }

    /// The average strategies of all streets, as they are now.
    fn solved(&self, py: Python<'_>) -> PyResult<SolvedSpot> {
        let solved = work::run(py, &self.solver, None, |solver, _| solver.solved())?;
        Ok(SolvedSpot::new(solved))
    }

    /// The report that `solve_spot` returns.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &work::run(py, &self.solver, None, |solver, _| solver.report())?)
    }

    /// Number of iterations done.
    #[getter]
    fn iterations(&self) -> PyResult<u64> {
        Ok(self.solver.lend()?.iterations())
    }

    /// Exploitability in chips by iteration, where it was measured: a dictionary.
    #[getter]
    fn trajectory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.solver.lend()?.trajectory())
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.solver.lend()?.options())
    }

    /// The memory that the solve takes, in words.
    #[getter]
    fn memory_needed(&self) -> PyResult<String> {
        Ok(self.solver.lend()?.memory_needed().to_string())
    }
}
