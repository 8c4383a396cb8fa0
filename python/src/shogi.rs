//! `warpplay.shogi`: evaluations learnt from game records.

use std::path::PathBuf;

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::Device;
use warpplay::shogi::board::Board;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::learner::{Learner as Library, Options, Weights};
use warpplay::shogi::records::{self, Records};
use warpplay::shogi::{Evaluator as LibraryEvaluator, FeatureSet, Window};

use crate::convert::{device, error, options, to_python};
use crate::dlpack::{Copied, copy_of};
use crate::work::{self, Shared};

/// A learning on a device, from records of games: a file or folder of them (CSA, KIF, KI2 or USI moves, plain or `.gz`), from the half-moves `plies` of each. A share
/// `held_out` of the games may be reserved for measuring. Options are those of the library's `shogi::learner::Options`, such as `features`, `iterations`, `optimizer`,
/// `learning_rate`.
#[pyclass(module = "warpplay.shogi")]
pub struct Learner {
    learning: Shared<Learning>,
}

/// The data, the options and the weights found.
struct Learning {
    train: Dataset,
    held_out: Option<Dataset>,
    options: Options,
    device: Device,
    weights: Option<Weights>,
}

#[pymethods]
impl Learner {
    /// Reads `games`, the path of a file or folder of records (CSA, KIF, KI2 or USI moves, plain or `.gz`); half-moves `plies` of each; a share of the games may be held out.
    #[new]
    #[pyo3(signature = (games, *, plies=(40, 80), held_out=None, device="auto", **given))]
    fn new(
        py: Python<'_>,
        games: PathBuf,
        plies: (u32, u32),
        held_out: Option<f64>,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (options, device) = (options(&Options::default(), given)?, self::device(device)?);
        let (train, held_out) = work::wait(py, None, move |watch| {
            let records = records::read(&games, |progress| watch.go_on(progress))?;
            let set = |records: &Records| {
                Dataset::builder().plies(Window { start: plies.0, end: plies.1, step: 1 }).build(records)
            };
            Ok(match held_out {
                None => (set(&records)?, None),
                Some(share) => {
                    let (train, test) = records.split(share)?;
                    (set(&train)?, Some(set(&test)?))
                }
            })
        })?;
        Ok(Self { learning: Shared::new(Learning { train, held_out, options, device, weights: None }) })
    }

    /// Learns to the last iteration, or until `progress` returns `False`; returns the report. Each call starts over.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let report = work::run(py, &self.learning, progress, |learning, watch| {
            let mut builder = Library::builder(&learning.train).options(learning.options.clone());
            if let Some(set) = &learning.held_out {
                builder = builder.held_out(set);
            }
            let mut learner = builder.build(&learning.device)?;
            let report = learner.run(|progress| watch.go_on(progress))?;
            // The best of those that were held out, where there are such.
            learning.weights = Some(match learner.best_weights()? {
                Some(weights) => weights,
                None => learner.weights()?,
            });
            Ok(report)
        })?;
        to_python(py, &report)
    }

    /// Writes the weights that the last `run` found to a safetensors file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let weights = self.learnt()?;
        py.detach(|| weights.save(path)).map_err(error)
    }

    /// An evaluation with the weights that the last `run` found.
    fn evaluator(&self) -> PyResult<Evaluator> {
        Ok(Evaluator { evaluator: LibraryEvaluator::from(self.learnt()?) })
    }
}

impl Learner {
    fn learnt(&self) -> PyResult<Weights> {
        self.learning
            .lend()?
            .weights
            .clone()
            .ok_or_else(|| PyValueError::new_err("nothing is learnt yet: call run first"))
    }
}

/// An evaluation of positions.
///
/// * `features`: `material`, `kp` or `kpp`.
/// * `weights`: `[n_weights]` float32, as many as the features have (13 for `material`): an array of numpy, or another object with `__dlpack__` in the host's memory. They
///   are copied.
#[pyclass(module = "warpplay.shogi")]
pub struct Evaluator {
    evaluator: LibraryEvaluator,
}

#[pymethods]
impl Evaluator {
    /// Makes an evaluation from features and their weights.
    #[new]
    fn new(features: &str, weights: &Bound<'_, PyAny>) -> PyResult<Self> {
        let features = features.parse::<FeatureSet>().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let weights: Copied<f32, 1> = copy_of("weights", weights, None)?;
        let evaluator = LibraryEvaluator::new(features, weights.values).map_err(error)?;
        Ok(Self { evaluator })
    }

    /// Reads a safetensors file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let weights = py.detach(|| Weights::load(path)).map_err(error)?;
        Ok(Self { evaluator: LibraryEvaluator::from(weights) })
    }

    /// The value of a position for Black in pawns; the position is USI's `startpos moves …`, or `sfen …`.
    #[pyo3(signature = (position="startpos"))]
    fn evaluate(&self, position: &str) -> PyResult<f64> {
        let board = Board::from_usi(position).map_err(error)?;
        self.evaluator.evaluate_position(&board).map_err(error)
    }

    /// The weights, `[n_weights]` float32.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, self.evaluator.weights())
    }
}
