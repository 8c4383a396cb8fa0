//! `warpplay.mcts`: searches.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::Device;
use warpplay::mcts::{
    Checkers, Connect4, Connect4Large, Game, Gomoku, GomokuFree, GomokuLarge, KernelSet, Notation, Options, Report,
    Search as Library, position_after,
};

use crate::convert::{device, error, to_python};
use crate::options::options;
use crate::work::{self, Shared, Watch};

/// A search of any of the games.
trait AnySearch: Send {
    /// Searches the position after `moves`.
    fn run(&mut self, moves: &str, watch: &mut Watch) -> warpplay::Result<Report>;
}

impl<G: KernelSet + Notation> AnySearch for Library<G>
where
    Self: Send,
{
    fn run(&mut self, moves: &str, watch: &mut Watch) -> warpplay::Result<Report> {
        let position: G = position_after(moves)?;
        let report = Library::run(self, &position, |progress| watch.go_on(progress))?;
        Ok(Report { moves: moves.to_string(), ..report })
    }
}

/// The games by name, with what builds a search of each.
static GAMES: [(&str, Build); 6] = [
    (Connect4::NAME, build::<Connect4>),
    (Connect4Large::NAME, build::<Connect4Large>),
    (Gomoku::NAME, build::<Gomoku>),
    (GomokuFree::NAME, build::<GomokuFree>),
    (GomokuLarge::NAME, build::<GomokuLarge>),
    (Checkers::NAME, build::<Checkers>),
];

type Build = fn(Options, &Device) -> warpplay::Result<Box<dyn AnySearch>>;

fn build<G: KernelSet + Notation + 'static>(options: Options, device: &Device) -> warpplay::Result<Box<dyn AnySearch>>
where
    Library<G>: Send,
{
    let search = Library::<G>::builder().options(options).action_names(G::action_name).build(device)?;
    Ok(Box::new(search))
}

/// A Monte Carlo tree search on a device: built once, with its memory, for many searches of `game`: `connect4`, `connect4_8x8`, `gomoku`, `gomoku_free`, `gomoku_19` or
/// `checkers`.
///
/// Options, with their defaults; `steps` alone is the only limit of a search, else it ends after 5 seconds:
///
/// * `variant="acp_prodigal"`: which children are played out, and how blocks are given to them: `ocp_thrifty`, `ocp_prodigal`, `acp_thrifty` or `acp_prodigal`.
/// * `n_trees=8`: independent trees, 1 to 512. `n_playouts=128`: random games of a child in one step, a power of two, 1 to 512.
/// * `steps=None`, `seconds=5.0`: the limits; at least one of them is needed.
/// * `ucb_c=2.0`: exploration constant, 0 or more. `draw_value=0.5`: what a draw is worth, where a win is 1.
/// * `device_memory_gb=2.0`: memory for all trees, in GiB. `seed=0`: seed of all random numbers.
/// * `engine="auto"`: `auto`, `graph`, `stage_graph`, `stages` or `cpu`. `threads=None`: threads of the CPU, `None` for all cores.
#[pyclass(module = "warpplay.mcts")]
pub struct Search {
    search: Shared<Box<dyn AnySearch>>,
    options: Options,
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
        let Some((_, build)) = GAMES.iter().find(|(name, _)| *name == game) else {
            let allowed = GAMES.map(|(name, _)| name).join(", ");
            return Err(PyValueError::new_err(format!("option game: {game} is not allowed ({allowed})")));
        };
        let search = py.detach(|| build(options.clone(), &device)).map_err(error)?;
        Ok(Self { search: Shared::new(search), options })
    }

    /// Searches the position after `moves`, and returns the report.
    ///
    /// `moves` are those of the command line: columns from 1 for Connect 4 (`"4453"`), squares for gomoku (`"h8i9"`), two squares a jump for checkers (`"a3b4"`). In the report
    /// `moves` are these, `actions` has a dictionary for each legal action (`name`, `n` visits, `wins`, `q`), `best` that of the best one.
    #[pyo3(signature = (moves="", *, progress=None))]
    fn run<'py>(&self, py: Python<'py>, moves: &str, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let moves = moves.to_string();
        let report = work::run(py, &self.search, progress, move |search, watch| search.run(&moves, watch))?;
        to_python(py, &report)
    }

    /// The options of the search, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
    }
}
