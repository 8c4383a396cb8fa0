//! `warpplay.azero`: the network for checkers, its games and its training.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray4, PyUntypedArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::azero::player::{SelfPlay as LibrarySelfPlay, SelfPlayOptions};
use warpplay::azero::train::{Options as TrainOptions, Samples, Trainer as LibraryTrainer};
use warpplay::azero::{Evaluator as Library, EvaluatorOptions, GameRecord, Inputs, Network, NetworkShape, Outputs};
use warpplay::{Backend, Stream};

use crate::convert::{copied, device, error, expect_shape, options, to_python};
use crate::dlpack::{Array, Tensor};
use crate::work::{self, Shared};

/// The network of a file, or of a seed.
fn network(weights: Option<PathBuf>, seed: u64) -> warpplay::Result<Network> {
    match weights {
        Some(path) => Network::load(path),
        None => Network::seeded(NetworkShape::default(), seed),
    }
}

/// AlphaZero's network on a device, ready to evaluate positions.
#[pyclass(module = "warpplay.azero")]
pub struct Evaluator {
    evaluator: Shared<Ready>,
    shape: NetworkShape,
}

/// The library's evaluator, with a stream for positions that are already on the device.
struct Ready {
    evaluator: Library,
    stream: Option<Stream>,
}

#[pymethods]
impl Evaluator {
    /// Loads the network from `weights`, a safetensors file or OpenSpiel's `checkpoint-N.pt`; without `weights`, uses the network of `seed`, which is untrained.
    #[new]
    #[pyo3(signature = (weights=None, *, seed=27, device="auto", **given))]
    fn new(
        py: Python<'_>,
        weights: Option<PathBuf>,
        seed: u64,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (options, device) = (options(&EvaluatorOptions::default(), given)?, self::device(device)?);
        let evaluator = py.detach(|| Library::builder(&network(weights, seed)?).options(options).build(&device));
        let evaluator = evaluator.map_err(error)?;
        let shape = evaluator.shape();
        Ok(Self { evaluator: Shared::new(Ready { evaluator, stream: None }), shape })
    }

    /// Values and policies of positions.
    ///
    /// * `observations`: `[n, planes, rows, columns]` float32, finite.
    /// * `legal`: `[n, actions]` uint8, 1 for a legal action and 0 for any other; every position has a legal action.
    /// * returns `values`: `[n]` in [-1, 1], for the player whose value the network gives; `policies`: `[n, actions]`, rows sum to 1, 0 for illegal actions.
    ///
    /// Arrays of numpy give arrays of numpy, in float64. Two objects with `__dlpack__` on the evaluator's device (tensors of PyTorch, CuPy, JAX) give two `warpplay.Array`
    /// of float32 on the same device. They are read in place, so they must be contiguous and, except on the device `cpu`, aligned to 256 bytes, and must not be written
    /// during the call. Their values are checked on `cpu` only: elsewhere a position without a legal action, or with numbers that are not finite, gives meaningless results.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        observations: &Bound<'py, PyAny>,
        legal: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let is_numpy = |value: &Bound<'py, PyAny>| value.cast::<PyUntypedArray>().is_ok();
        if is_numpy(observations) && is_numpy(legal) {
            return self.evaluate_arrays(py, observations.extract()?, legal.extract()?);
        }
        let is_shared = |value: &Bound<'py, PyAny>| value.hasattr("__dlpack_device__").is_ok_and(|is| is);
        if is_shared(observations) && is_shared(legal) && !is_numpy(observations) && !is_numpy(legal) {
            let (values, policies) = self.evaluate_shared(py, observations, legal)?;
            return Ok((Bound::new(py, values)?.into_any(), Bound::new(py, policies)?.into_any()));
        }
        let kinds = (observations.get_type().name()?, legal.get_type().name()?);
        Err(PyTypeError::new_err(format!(
            "observations is a {} and legal a {}: two arrays of numpy are expected, or two objects with __dlpack__",
            kinds.0, kinds.1
        )))
    }

    /// Planes, rows and columns of an observation, and the number of actions.
    #[getter]
    fn shape(&self) -> (u32, u32, u32, u32) {
        let NetworkShape { planes, rows, columns, actions, .. } = self.shape;
        (planes, rows, columns, actions)
    }
}

impl Evaluator {
    /// The number of positions of these shapes.
    fn positions(&self, observations: &[usize], legal: &[usize], most: usize) -> PyResult<usize> {
        let NetworkShape { planes, rows, columns, actions, .. } = self.shape;
        let n = observations.first().copied().unwrap_or(0);
        expect_shape("observations", observations, &[n, planes as usize, rows as usize, columns as usize])?;
        expect_shape("legal", legal, &[n, actions as usize])?;
        if n > most {
            let text = format!("{n} observations, at most {most} at once (option max_batch)");
            return Err(PyValueError::new_err(text));
        }
        Ok(n)
    }

    fn evaluate_arrays<'py>(
        &self,
        py: Python<'py>,
        observations: PyReadonlyArray4<'py, f32>,
        legal: PyReadonlyArray2<'py, u8>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let mut ready = self.evaluator.lend()?;
        let evaluator = &mut ready.evaluator;
        let (observations, legal) = (observations.as_array(), legal.as_array());
        let n = self.positions(observations.shape(), legal.shape(), evaluator.max_batch())?;
        let (observations, legal) = (copied(observations)?, copied(legal)?);
        let found = py.detach(|| evaluator.evaluate(&observations, &legal)).map_err(error)?;
        let policies = PyArray1::from_vec(py, found.policies).reshape([n, self.shape.actions as usize])?;
        Ok((PyArray1::from_vec(py, found.values).into_any(), policies.into_any()))
    }

    /// Positions in the device's memory, or in the host's memory if that is the device.
    fn evaluate_shared(
        &self,
        py: Python<'_>,
        observations: &Bound<'_, PyAny>,
        legal: &Bound<'_, PyAny>,
    ) -> PyResult<(Array, Array)> {
        let mut ready = self.evaluator.lend()?;
        let Ready { evaluator, stream } = &mut *ready;
        let device = evaluator.device().clone();
        if stream.is_none() && device.backend() != Backend::Cpu {
            *stream = Some(device.stream().map_err(error)?);
        }
        let observations = Tensor::of("observations", observations, &device, stream.as_ref())?;
        let legal = Tensor::of("legal", legal, &device, stream.as_ref())?;
        let n = self.positions(observations.shape(), legal.shape(), evaluator.max_batch())?;
        let shape = [n, self.shape.actions as usize];
        let Some(stream) = stream else {
            // SAFETY: the CPU's memory is the host's; the caller does not write during the call.
            let (observations, legal) = unsafe { (observations.values("observations")?, legal.values("legal")?) };
            let found = py.detach(|| evaluator.evaluate(observations, legal)).map_err(error)?;
            let narrowed = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<_>>();
            let (values, policies) = (narrowed(found.values), narrowed(found.policies));
            return Ok((Array::of_values(&values, &shape[..1]), Array::of_values(&policies, &shape)));
        };
        // SAFETY: the caller does not write during the call, and all work that uses them ends below.
        let inputs = unsafe {
            Inputs {
                observations: observations.buffer("observations", &device)?,
                masks: legal.buffer("legal", &device)?,
            }
        };
        let (lent, inputs_of) = (&mut *stream, &inputs);
        let size = self.shape;
        let found = py.detach(move || evaluated(evaluator, lent, size, inputs_of, n)).map_err(error);
        // The producers' deleters are called with the interpreter's lock.
        drop(inputs);
        let Outputs { values, policies, .. } = found?;
        Ok((Array::of_buffer(values, &shape[..1]), Array::of_buffer(policies, &shape)))
    }
}

/// Evaluates positions on a device and waits for it, also after an error, so that no queued work uses the inputs any more.
fn evaluated(
    evaluator: &mut Library,
    stream: &mut Stream,
    shape: NetworkShape,
    inputs: &Inputs,
    n: usize,
) -> warpplay::Result<Outputs> {
    let mut outputs = Outputs::new(stream, shape, n)?;
    let enqueued = evaluator.enqueue(stream, inputs, n, &mut outputs);
    stream.synchronize()?;
    enqueued?;
    // What is too large for the engine makes its position's value NaN.
    if evaluator.may_overflow() && stream.read(&outputs.values)?.iter().any(|value| value.is_nan()) {
        let enqueued = evaluator.enqueue_again(stream, inputs, n, &mut outputs);
        stream.synchronize()?;
        enqueued?;
    }
    Ok(outputs)
}

/// Games that a network plays against itself. Options are those of the library's `azero::player::SelfPlayOptions`, such as `games`, `parallel`, and `search` with `simulations`
/// in it.
#[pyclass(module = "warpplay.azero")]
pub struct SelfPlay {
    playing: Shared<Playing>,
}

/// The player, and the finished games.
struct Playing {
    play: LibrarySelfPlay,
    games: Vec<GameRecord>,
}

#[pymethods]
impl SelfPlay {
    /// Uses the network of `weights`, as in `Evaluator`; `seed` is the seed of the games, by default that of the option `search`.
    #[new]
    #[pyo3(signature = (weights=None, *, network_seed=27, seed=None, device="auto", **given))]
    fn new(
        py: Python<'_>,
        weights: Option<PathBuf>,
        network_seed: u64,
        seed: Option<u64>,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (options, device) = (options(&SelfPlayOptions::default(), given)?, self::device(device)?);
        let play = py.detach(|| {
            let builder = LibrarySelfPlay::builder(network(weights, network_seed)?).options(options);
            match seed {
                Some(seed) => builder.seed(seed),
                None => builder,
            }
            .build(&device)
        });
        Ok(Self { playing: Shared::new(Playing { play: play.map_err(error)?, games: Vec::new() }) })
    }

    /// Plays to the last game, or until `progress` returns `False`; returns the report.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let report = work::run(py, &self.playing, progress, |Playing { play, games }, watch| {
            play.run(|progress| {
                games.extend(progress.latest.clone());
                watch.go_on(progress)
            })
        })?;
        to_python(py, &report)
    }

    /// The games so far: a dictionary for each, with `actions` `[plies]`, `players`, `boards` and `root_values` of each ply, and `returns` `[2]`.
    #[getter]
    fn games<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.playing.lend()?.games)
    }

    /// Writes the games so far to a file, one per line, for `Trainer` and `warpplay azero train --records`.
    fn save_games(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let playing = self.playing.lend()?;
        let games = &playing.games;
        py.detach(|| warpplay::azero::write_records(&path, games)).map_err(error)
    }
}

/// A training of a network on games. Options are those of the library's `azero::train::Options`, such as `batch`, `epochs`, `steps`, `learning_rate`.
#[pyclass(module = "warpplay.azero")]
pub struct Trainer {
    trainer: Shared<LibraryTrainer>,
}

#[pymethods]
impl Trainer {
    /// Reads files of games, as `SelfPlay.save_games` writes them; `weights` are the initial weights, as in `Evaluator`.
    #[new]
    #[pyo3(signature = (games, weights=None, *, network_seed=27, device="auto", **given))]
    fn new(
        py: Python<'_>,
        games: Vec<PathBuf>,
        weights: Option<PathBuf>,
        network_seed: u64,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (options, device) = (options(&TrainOptions::default(), given)?, self::device(device)?);
        let trainer = py.detach(|| {
            let network = network(weights, network_seed)?;
            let samples = Samples::read(&games, network.observation(), network.value_of())?;
            LibraryTrainer::builder(&network, &Arc::new(samples)).options(options).build(&device)
        });
        Ok(Self { trainer: Shared::new(trainer.map_err(error)?) })
    }

    /// Trains to the last epoch, or until `progress` returns `False`; returns the report.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let report =
            work::run(py, &self.trainer, progress, |trainer, watch| trainer.run(|progress| watch.go_on(progress)))?;
        to_python(py, &report)
    }

    /// Writes the present network to a safetensors file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut guard = self.trainer.lend()?;
        let trainer = &mut *guard;
        py.detach(|| trainer.network()?.save(path)).map_err(error)
    }
}
