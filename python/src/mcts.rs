//! `warpplay.mcts`: searches.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::mcts::{Checkers, Connect4, Gomoku, Options, Search as Library, position_after};

use crate::convert::{Exclusive, device, error, options, to_python};
use crate::watch::Watch;

enum Game {
    Connect4(Library<Connect4>),
    Gomoku(Library<Gomoku>),
    Checkers(Library<Checkers>),
}

/// A Monte Carlo tree search on a device: built once, with its memory, for many searches.
#[pyclass(module = "warpplay.mcts")]
pub struct Search {
    game: Exclusive<Game>,
}

#[pymethods]
impl Search {
    #[new]
    #[pyo3(signature = (game="connect4", *, device="auto", **given))]
    fn new(py: Python<'_>, game: &str, device: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut defaults = Options::default();
        // A limit that is asked for is the only one.
        if given
            .is_some_and(|given| given.get_item("steps").is_ok_and(|steps| steps.is_some_and(|steps| !steps.is_none())))
        {
            defaults.seconds = None;
        }
        let (options, device) = (options(&defaults, given)?, self::device(device)?);
        macro_rules! build {
            ($name:ident, $type:ty) => {{
                let builder = Library::<$type>::builder().options(options).action_names(<$type>::action_name);
                py.detach(|| builder.build(&device)).map(Game::$name).map_err(error)?
            }};
        }
        use warpplay::mcts::Notation;
        let game = match game {
            "connect4" => build!(Connect4, Connect4),
            "gomoku" => build!(Gomoku, Gomoku),
            "checkers" => build!(Checkers, Checkers),
            other => {
                return Err(PyValueError::new_err(format!(
                    "option game: {other} is not allowed (connect4, gomoku, checkers)"
                )));
            }
        };
        Ok(Self { game: Exclusive::new(game) })
    }

    /// Searches the position after `moves`, and returns the report.
    #[pyo3(signature = (moves="", *, progress=None))]
    fn run<'py>(&mut self, py: Python<'py>, moves: &str, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        macro_rules! run {
            ($search:expr) => {{
                let position = position_after(moves).map_err(error)?;
                let mut watch = Watch::new(progress)?;
                let found = py.detach(|| $search.run(&position, |progress| watch.go_on(progress)));
                watch.result(found)?
            }};
        }
        let report = match self.game.get() {
            Game::Connect4(search) => run!(search),
            Game::Gomoku(search) => run!(search),
            Game::Checkers(search) => run!(search),
        };
        to_python(py, &report)
    }

    /// The options.
    #[getter]
    fn options<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.game.get() {
            Game::Connect4(search) => to_python(py, search.options()),
            Game::Gomoku(search) => to_python(py, search.options()),
            Game::Checkers(search) => to_python(py, search.options()),
        }
    }
}
