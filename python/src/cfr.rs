//! `warpplay.cfr`: poker by counterfactual regret minimisation.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::cfr::{GameDef, Options, Solver as Library, Strategy as LibraryStrategy};

use crate::convert::{device, error, options, to_python};
use crate::work::{self, Shared};

/// A game that is solved on a device: `kuhn`, `leduc`, or a definition of the Annual Computer Poker Competition, as text. Value and exploitability are measured after the
/// iterations `measure_at`, by default at the end. Options are those of the library's `cfr::Options`, such as `algorithm`, `iterations`, `engine`, `precision`.
#[pyclass(module = "warpplay.cfr")]
pub struct Solver {
    solver: Shared<Library>,
}

#[pymethods]
impl Solver {
    /// Solves `"kuhn"`, `"leduc"`, or a definition of the Annual Computer Poker Competition, as text; `measure_at` lists the iterations after which value and exploitability
    /// are measured.
    #[new]
    #[pyo3(signature = (game, *, device="auto", measure_at=None, **given))]
    fn new(
        py: Python<'_>,
        game: &str,
        device: &str,
        measure_at: Option<Vec<u64>>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (options, device) = (options(&Options::default(), given)?, self::device(device)?);
        let limit = options.iterations;
        if let Some(wrong) = measure_at.iter().flatten().find(|at| !(1..=limit).contains(*at)) {
            let text = format!("option measure_at: {wrong} is not allowed (1 to {limit}, the iterations)");
            return Err(PyValueError::new_err(text));
        }
        let game = GameDef::named(game).map_or_else(|| GameDef::parse(game), Ok).map_err(error)?;
        let builder = Library::builder(game).options(options);
        let builder = match measure_at {
            Some(iterations) => builder.measure_at(iterations),
            None => builder,
        };
        Ok(Self { solver: Shared::new(py.detach(|| builder.build(&device)).map_err(error)?) })
    }

    /// Runs to the last iteration, or until `progress` returns `False`; returns the report, whose `trajectory` has the measurements: `iteration`, `value` `[players]`,
    /// `nash_conv`, `exploitability`.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let report =
            work::run(py, &self.solver, progress, |solver, watch| solver.run(|progress| watch.go_on(progress)))?;
        to_python(py, &report)
    }

    /// Measures the average strategy: a dictionary with `value` `[players]` of each seat, `nash_conv` and `exploitability`.
    fn exploitability<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &work::run(py, &self.solver, None, |solver, _| solver.exploitability())?)
    }

    /// The average strategy.
    fn strategy(&self, py: Python<'_>) -> PyResult<Strategy> {
        Ok(Strategy { strategy: work::run(py, &self.solver, None, |solver, _| solver.strategy())? })
    }
}

/// A strategy: the probabilities of actions in every information set.
#[pyclass(module = "warpplay.cfr")]
pub struct Strategy {
    strategy: LibraryStrategy,
}

#[pymethods]
impl Strategy {
    /// Reads a file that `save` or `warpplay cfr solve --strategy` wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self { strategy: py.detach(|| LibraryStrategy::load(path)).map_err(error)? })
    }

    /// Writes a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.strategy.save(path)).map_err(error)
    }

    /// Actions and probabilities, which sum to 1, of a hand (`"4c"`, `"QsJh"`) after a history (`"crc/r"`: fold, call, raise, a slash between rounds) on a board (`"3d"`).
    #[pyo3(signature = (history="", *, board="", hand))]
    fn query<'py>(&self, py: Python<'py>, history: &str, board: &str, hand: &str) -> PyResult<Bound<'py, PyDict>> {
        let answer = self.strategy.query(history, board, hand).map_err(error)?;
        let found = PyDict::new(py);
        for choice in answer.choices {
            found.set_item(choice.action, choice.probability)?;
        }
        Ok(found)
    }

    /// Actions and probabilities for every hand of the acting seat, after a history on a board as in `query`.
    ///
    /// * returns `hands`: the hands, `[n_hands]` strings; `actions`: `[n_actions]` strings; `probabilities`: `[n_hands, n_actions]` float64, whose rows sum to 1.
    #[pyo3(signature = (history="", *, board=""))]
    fn query_all<'py>(&self, py: Python<'py>, history: &str, board: &str) -> PyResult<AllHands<'py>> {
        let answers = py.detach(|| self.strategy.query_all(history, board)).map_err(error)?;
        let actions: Vec<String> =
            answers.first().iter().flat_map(|one| &one.choices).map(|choice| choice.action.clone()).collect();
        let hands = answers.iter().map(|answer| answer.hand().to_string()).collect::<Vec<_>>();
        let probabilities = answers.iter().flat_map(|one| &one.choices).map(|choice| choice.probability);
        let probabilities = PyArray1::from_iter(py, probabilities).reshape([hands.len(), actions.len()])?;
        Ok((hands, actions, probabilities))
    }
}

/// Hands, actions and the probability of each action with each hand.
type AllHands<'py> = (Vec<String>, Vec<String>, Bound<'py, PyArray2<f64>>);
