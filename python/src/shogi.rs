//! `warpplay.shogi`: evaluations learnt from game records.

use std::path::PathBuf;

use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyRange, PyRangeMethods};
use warpplay::Device;
use warpplay::shogi::board::Board;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::learner::{Learner as Library, Options, Weights};
use warpplay::shogi::records::{self, Records};
use warpplay::shogi::{Evaluator as LibraryEvaluator, FeatureSet, Window};

use crate::convert::{device, error, to_python};
use crate::dlpack::{Copied, copy_of};
use crate::options::{argument, options};
use crate::work::{self, Shared};

/// A learning on a device, from records of games: a file or folder of them (CSA, KIF, KI2 or USI moves, plain or `.gz`), from the half-moves `plies` of each. A share
/// `held_out` of the games, 0 to 1, may be kept to measure.
///
/// Options, with their defaults:
///
/// * `features="material"`: what the evaluation counts: `material`, `material_hand`, `piece_square`, `kp`, `kkp` or `kpp`. `iterations=50`.
/// * `optimizer="adam"`: `gd`, `momentum`, `adagrad`, `adam`, `lbfgs` or `sign`. `learning_rate=None`: `None` for one that suits optimiser and features. `rate_factor=1.0`: factor of the
///   rate after each iteration. `beta1=0.9`, `beta2=0.999`, `epsilon=1e-08`: of the optimisers. `history=6`: steps that L-BFGS remembers.
/// * `l1=0.0`, `l2=0.0`: weights of the sum of all |w|, and of w²/2. `keep_scale=False`: whether the sum of the values of pieces stays.
/// * `a=3.0`: slope of the sigmoid. `window=None`: siblings that differ by more pawns do not count. `siblings=0`: most siblings that count, 0 for all.
/// * `init`: first values of the pieces, a number for each of `PIECES[1:]`, all 3.
/// * `batch=0`: positions of a step, 0 for all. `seed=0`: of the draws of batches and siblings.
/// * `early_stopping=None`: `{"patience": 3}` stops after 3 measurements without a lower objective on the held-out games; `min_delta` (0) is what counts as lower.
/// * `quiet=None`: `{"every": 1}` compares the ends of quiet lines of at most `depth` half-moves, searched anew after so many iterations.
/// * `engine="auto"`: `auto`, `cpu` or `sparse`. `threads=None`: threads of the CPU, `None` for all cores. `device_bytes=None`: most bytes of positions on the device, `None` for what is free.
#[pyclass(module = "warpplay.shogi")]
pub struct Learner {
    learning: Shared<Learning>,
    options: Options,
}

/// The half-moves of a game that are learnt from: `(first, one after the last)`, or a range.
///
/// # Errors
/// `TypeError` for what is neither, `ValueError` for numbers that are not allowed.
fn window(plies: Option<&Bound<'_, PyAny>>) -> PyResult<Window> {
    let Some(plies) = plies else { return Ok(Window { start: 40, end: 80, step: 1 }) };
    if let Ok(range) = plies.cast::<PyRange>() {
        let part = |value: isize| argument("plies", value.into_pyobject(plies.py())?.as_any());
        return Ok(Window { start: part(range.start()?)?, end: part(range.stop()?)?, step: part(range.step()?)? });
    }
    if !plies.hasattr("__len__")? || plies.len()? != 2 {
        return Err(PyTypeError::new_err("plies is not a pair of numbers, nor a range"));
    }
    Ok(Window { start: argument("plies", &plies.get_item(0)?)?, end: argument("plies", &plies.get_item(1)?)?, step: 1 })
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
    /// Of `games`, the path of a file or folder of records (CSA, KIF, KI2 or USI moves, plain or `.gz`); half-moves `plies` of each, `(40, 80)` where nothing is said, or a range; a
    /// share of the games may be held out.
    #[new]
    #[pyo3(signature = (games, *, plies=None, held_out=None, device="auto", **given))]
    fn new(
        py: Python<'_>,
        games: PathBuf,
        plies: Option<&Bound<'_, PyAny>>,
        held_out: Option<f64>,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let window = window(plies)?;
        let (options, device) = (options(&Options::default(), given)?, self::device(device)?);
        let (train, held_out) = work::wait(py, None, move |watch| {
            let records = records::read(&games, |progress| watch.go_on(progress))?;
            let set = |records: &Records| Dataset::builder().plies(window).build(records);
            Ok(match held_out {
                None => (set(&records)?, None),
                Some(share) => {
                    let (train, test) = records.split(share)?;
                    (set(&train)?, Some(set(&test)?))
                }
            })
        })?;
        let learning = Learning { train, held_out, options: options.clone(), device, weights: None };
        Ok(Self { learning: Shared::new(learning), options })
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
    }

    /// Learns to the last iteration, or until `progress` returns `False`; returns the report. Each call begins anew.
    ///
    /// In the report `rows` has a dictionary for each iteration that was measured: its objective `j`, and `values` `[12]`, those of the pieces in pawns in the order of `PIECES[1:]`; a
    /// pawn is worth 1.
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
/// * `features`: `material`, `material_hand`, `piece_square`, `kp`, `kkp` or `kpp`.
/// * `weights`: `[n_weights]` float32, as many as the features have (13 of `material`, in the order of `PIECES`): an array of numpy, or another object with `__dlpack__` in the host's memory. They are copied.
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
