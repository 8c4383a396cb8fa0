//! `warpplay.mcts`: searches.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::mcts::{Checkers, Connect4, Gomoku, Options, Search as Library, position_after};

use crate::convert::{device, error, options, to_python};
use crate::work::{self, Shared};

enum Game {
    Connect4(Library<Connect4>),
    Gomoku(Library<Gomoku>),
    Checkers(Library<Checkers>),
}

/// A Monte Carlo tree search on a device: built once, with its memory, for many searches of `connect4`, `gomoku` or `checkers`. Options are those of the library's
/// `mcts::Options`, such as `n_trees`, `n_playouts`, `steps`, `seconds`, `seed`; `steps` alone is the only limit.
#[pyclass(module = "warpplay.mcts")]
pub struct Search {
    game: Shared<Game>,
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
        Ok(Self { game: Shared::new(game) })
    }

    /// Searches the position after `moves`, and returns the report.
    ///
    /// `moves` are those of the command line: columns from 1 for Connect 4 (`"4453"`), squares for gomoku (`"h8i9"`), two squares per jump for checkers (`"a3b4"`). In the
    /// report, `actions` has a dictionary for each legal action (`name`, `n` visits, `wins`, `q`), and `best` is that of the best one.
    #[pyo3(signature = (moves="", *, progress=None))]
    fn run<'py>(&self, py: Python<'py>, moves: &str, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let moves = moves.to_string();
        let report = work::run(py, &self.game, progress, move |game, watch| match game {
            Game::Connect4(search) => search.run(&position_after(&moves)?, |progress| watch.go_on(progress)),
            Game::Gomoku(search) => search.run(&position_after(&moves)?, |progress| watch.go_on(progress)),
            Game::Checkers(search) => search.run(&position_after(&moves)?, |progress| watch.go_on(progress)),
        })?;
        to_python(py, &report)
    }

    /// The options of the search, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &*self.game.lend()? {
            Game::Connect4(search) => to_python(py, search.options()),
            Game::Gomoku(search) => to_python(py, search.options()),
            Game::Checkers(search) => to_python(py, search.options()),
        }
    }
}
