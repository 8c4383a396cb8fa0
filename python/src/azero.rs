//! `warpplay.azero`: the network for checkers.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray4};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::azero::{Evaluator as Library, EvaluatorOptions, Network, NetworkShape};

use crate::convert::{Exclusive, device, error, options};

/// AlphaZero's network on a device, ready to evaluate positions.
#[pyclass(module = "warpplay.azero")]
pub struct Evaluator {
    evaluator: Exclusive<Library>,
}

#[pymethods]
impl Evaluator {
    /// Of `weights`, a safetensors file or OpenSpiel's `checkpoint-N.pt`; without, the network of `seed`, which knows nothing of the game.
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
        let evaluator = py.detach(|| {
            let network = match weights {
                Some(path) => Network::load(path)?,
                None => Network::seeded(NetworkShape::default(), seed)?,
            };
            Library::builder(&network).options(options).build(&device)
        });
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
        let (n, actions) = (observations.as_array().shape()[0], legal.as_array().ncols());
        let observations: Vec<f32> = observations.as_array().iter().copied().collect();
        let legal: Vec<u8> = legal.as_array().iter().copied().collect();
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
