//! `warpplay.azero`: the network for checkers, its games and its training.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray4};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::azero::player::{SelfPlay as LibrarySelfPlay, SelfPlayOptions};
use warpplay::azero::train::{Options as TrainOptions, Samples, Trainer as LibraryTrainer};
use warpplay::azero::{Evaluator as Library, EvaluatorOptions, GameRecord, Network, NetworkShape};

use crate::convert::{Exclusive, copied, device, error, expect_same_process, expect_shape, options, to_python};
use crate::watch::Watch;

/// The network of a file, or that of a seed.
fn network(weights: Option<PathBuf>, seed: u64) -> warpplay::Result<Network> {
    match weights {
        Some(path) => Network::load(path),
        None => Network::seeded(NetworkShape::default(), seed),
    }
}

/// AlphaZero's network on a device, ready to evaluate positions.
#[pyclass(module = "warpplay.azero")]
pub struct Evaluator {
    evaluator: Exclusive<Library>,
}

#[pymethods]
impl Evaluator {
    /// Loads the network from `weights`, a safetensors file or OpenSpiel's `checkpoint-N.pt`; without, it is the network of `seed`, which knows nothing of the game.
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
        Ok(Self { evaluator: Exclusive::new(evaluator.map_err(error)?) })
    }

    /// Values `[n]` and policies `[n, actions]` of observations `[n, planes, rows, columns]`; `legal` `[n, actions]` has 1 for a legal action.
    #[allow(clippy::type_complexity, reason = "a pair of arrays")]
    fn evaluate<'py>(
        &mut self,
        py: Python<'py>,
        observations: PyReadonlyArray4<'py, f32>,
        legal: PyReadonlyArray2<'py, u8>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>)> {
        expect_same_process()?;
        let NetworkShape { planes, rows, columns, actions, .. } = self.evaluator.get().shape();
        let (n, actions) = (observations.as_array().shape()[0], actions as usize);
        expect_shape(
            "observations",
            observations.as_array().shape(),
            &[n, planes as usize, rows as usize, columns as usize],
        )?;
        expect_shape("legal", legal.as_array().shape(), &[n, actions])?;
        let most = self.evaluator.get().max_batch();
        if n > most {
            let text = format!("{n} observations, at most {most} at once (option max_batch)");
            return Err(PyValueError::new_err(text));
        }
        let (observations, legal) = (copied(observations.as_array())?, copied(legal.as_array())?);
        let found = py.detach(|| self.evaluator.get().evaluate(&observations, &legal)).map_err(error)?;
        let policies = PyArray1::from_vec(py, found.policies).reshape([n, actions])?;
        Ok((PyArray1::from_vec(py, found.values), policies))
    }

    /// Planes, rows and columns of an observation, and the number of actions.
    #[getter]
    fn shape(&mut self) -> (u32, u32, u32, u32) {
        let NetworkShape { planes, rows, columns, actions, .. } = self.evaluator.get().shape();
        (planes, rows, columns, actions)
    }
}

/// Games that a network plays against itself.
#[pyclass(module = "warpplay.azero")]
pub struct SelfPlay {
    play: Exclusive<LibrarySelfPlay>,
    games: Vec<GameRecord>,
}

#[pymethods]
impl SelfPlay {
    /// With the network of `weights`, as in `Evaluator`; `seed` is that of the games, else that of the option `search`.
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
        Ok(Self { play: Exclusive::new(play.map_err(error)?), games: Vec::new() })
    }

    /// Plays to the last game, or until `progress` returns `False`; returns the report.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&mut self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let mut watch = Watch::new(progress)?;
        let Self { play, games } = self;
        let play = play.get();
        let found = py.detach(|| {
            play.run(|progress| {
                games.extend(progress.latest.clone());
                watch.go_on(progress)
            })
        });
        to_python(py, &watch.result(found)?)
    }

    /// The games so far: a dictionary each.
    #[getter]
    fn games<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.games)
    }

    /// Writes the games so far to a file, one in each line, for `Trainer` and `warpplay azero train --records`.
    fn save_games(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| warpplay::azero::write_records(&path, &self.games)).map_err(error)
    }
}

/// A training of a network on games.
#[pyclass(module = "warpplay.azero")]
pub struct Trainer {
    trainer: Exclusive<LibraryTrainer>,
}

#[pymethods]
impl Trainer {
    /// Reads files of games, as `SelfPlay.save_games` writes them, and first `weights`, as in `Evaluator`.
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
        Ok(Self { trainer: Exclusive::new(trainer.map_err(error)?) })
    }

    /// Trains to the last epoch, or until `progress` returns `False`; returns the report.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&mut self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let mut watch = Watch::new(progress)?;
        let trainer = self.trainer.get();
        let found = py.detach(|| trainer.run(|progress| watch.go_on(progress)));
        to_python(py, &watch.result(found)?)
    }

    /// Writes the network as it is now to a safetensors file.
    fn save(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let trainer = self.trainer.get();
        py.detach(|| trainer.network()?.save(path)).map_err(error)
    }
}
