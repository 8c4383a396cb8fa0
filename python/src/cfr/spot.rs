//! `SpotSolver`, `SolvedSpot`, `Node`: hold'em spots with the strategies of every street, and a spot on many boards.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::cfr::spot::{self as library, NodeHand, NodeReport, SpotForm, SpotSolverBuilder, SpotTarget};
use warpplay::cfr::{Options, Spot, SpotRun};

use super::points;
use crate::convert::{device, error, to_python};
use crate::options::{argument, options};
use crate::work::{self, Shared};

/// A spot of a dictionary.
///
/// # Errors
/// `TypeError` for anything else; `ValueError` for a field that it cannot have.
pub fn of_dictionary(spot: &Bound<'_, PyAny>) -> PyResult<Spot> {
    if spot.is_instance_of::<PyDict>() {
        return argument("spot", spot);
    }
    let kind = spot.get_type().name()?;
    Err(PyTypeError::new_err(format!("spot is a {kind}: a dictionary is expected")))
}

/// Chips, or a text as `"0.5%pot"`.
fn target(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<SpotTarget>> {
    let Some(given) = given else { return Ok(None) };
    match given.extract::<f64>() {
        Ok(chips) => Ok(Some(SpotTarget::Chips(chips))),
        Err(_) => given.extract::<String>()?.parse().map(Some).map_err(error),
    }
}

/// When and where a solve is saved.
fn kept(builder: SpotSolverBuilder, file: Option<PathBuf>, every: f64) -> PyResult<SpotSolverBuilder> {
    let every = Duration::try_from_secs_f64(every).map_err(|_| {
        pyo3::exceptions::PyValueError::new_err(format!("checkpoint_every: {every} is not allowed (seconds, above 0)"))
    })?;
    Ok(match file {
        Some(file) => builder.checkpoint(file).checkpoint_every(every),
        None => builder,
    })
}

/// A solve of one hold'em spot, in steps: up to a target, saved, gone on with.
///
/// * `spot`: a dictionary as for `solve_spot`. `target`: the exploitability at which `run` ends, in chips (`0.25`) or as a part of the pot (`"0.5%pot"`).
/// * `measure_at`: iterations after which the exploitability is measured. `checkpoint`: a file to which the solve is saved at the end of every run and every `checkpoint_every` seconds of it.
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
    #[pyo3(signature = (spot, *, device="auto", target=None, measure_at=None, checkpoint=None, checkpoint_every=300.0, **given))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        spot: &Bound<'_, PyAny>,
        device: &str,
        target: Option<&Bound<'_, PyAny>>,
        measure_at: Option<&Bound<'_, PyAny>>,
        checkpoint: Option<PathBuf>,
        checkpoint_every: f64,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (spot, options) = (of_dictionary(spot)?, options(&Options::SPOT, given)?);
        let measure_at = points(measure_at, options.iterations)?.unwrap_or_default();
        let builder = library::SpotSolver::builder(&spot).options(options).measure_at(measure_at);
        Self::build(py, kept(builder.target(self::target(target)?), checkpoint, checkpoint_every)?, device)
    }

    /// Goes on from a file of form `full`: its options hold, but for `iterations`, the total.
    #[staticmethod]
    #[pyo3(signature = (path, *, device="auto", target=None, iterations=None, checkpoint=None, checkpoint_every=300.0))]
    fn resume(
        py: Python<'_>,
        path: PathBuf,
        device: &str,
        target: Option<&Bound<'_, PyAny>>,
        iterations: Option<u64>,
        checkpoint: Option<PathBuf>,
        checkpoint_every: f64,
    ) -> PyResult<Self> {
        let builder = py.detach(|| library::SpotSolver::resume(path)).map_err(error)?.target(self::target(target)?);
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
        Ok(SolvedSpot { solved: Arc::new(solved) })
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

/// A solved spot, of a solver or a file.
#[pyclass(module = "warpplay.cfr", frozen)]
pub struct SolvedSpot {
    solved: Arc<library::SolvedSpot>,
}

#[pymethods]
impl SolvedSpot {
    /// Opens a file that `SpotSolver.save` or `warpplay cfr solve-spot --save` wrote. Its strategies are read where they are asked for.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self { solved: Arc::new(py.detach(|| library::SolvedSpot::open(path)).map_err(error)?) })
    }

    /// The first node.
    fn root(&self) -> Node {
        Node::of(&self.solved, &self.solved.root())
    }

    /// The node after these actions and cards: `history` with `/` between streets (`"cr50c/"`), `board` the cards dealt since the spot's (`"8c 3s"`).
    #[pyo3(signature = (history="", *, board=""))]
    fn at(&self, history: &str, board: &str) -> PyResult<Node> {
        Ok(Node::of(&self.solved, &self.solved.at(history, board).map_err(error)?))
    }

    /// The spot, a dictionary.
    #[getter]
    fn spot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.solved.spot())
    }

    /// The options of the solve, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.solved.options())
    }

    /// Number of iterations done.
    #[getter]
    fn iterations(&self) -> u64 {
        self.solved.iterations()
    }

    /// Exploitability in chips by iteration, where it was measured: a dictionary.
    #[getter]
    fn trajectory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.solved.trajectory())
    }
}

/// A node of a solved spot: who acts, or which card comes, after a line of actions and cards.
#[pyclass(module = "warpplay.cfr", frozen)]
pub struct Node {
    solved: Arc<library::SolvedSpot>,
    /// The actions so far, with `/` between streets.
    #[pyo3(get)]
    history: String,
    /// The cards on the table.
    #[pyo3(get)]
    board: String,
    /// The cards dealt since the spot's board, in their order, as `SolvedSpot.at` takes them.
    #[pyo3(get)]
    dealt: String,
    /// The street: `"flop"`, `"turn"` or `"river"`.
    #[pyo3(get)]
    street: &'static str,
    /// Chips in the pot.
    #[pyo3(get)]
    pot: f64,
    /// The seat that acts; `None` where a card comes or the hand is over.
    #[pyo3(get)]
    seat: Option<usize>,
    /// The actions that lead on, as `child` takes them.
    #[pyo3(get)]
    actions: Vec<String>,
    /// The cards that can come, as `deal` takes them; empty where a seat acts.
    #[pyo3(get)]
    cards: Vec<String>,
}

impl Node {
    fn of(solved: &Arc<library::SolvedSpot>, node: &library::Node<'_>) -> Self {
        Self {
            solved: Arc::clone(solved),
            history: node.history(),
            board: node.board(),
            dealt: node.dealt(),
            street: node.street(),
            pot: node.pot(),
            seat: node.seat(),
            actions: node.actions(),
            cards: node.cards(),
        }
    }

    fn node(&self) -> PyResult<library::Node<'_>> {
        self.solved.at(&self.history, &self.dealt).map_err(error)
    }
}

#[pymethods]
impl Node {
    /// The node after an action.
    fn child(&self, action: &str) -> PyResult<Self> {
        Ok(Self::of(&self.solved, &self.node()?.child(action).map_err(error)?))
    }

    /// The node after a card.
    fn deal(&self, card: &str) -> PyResult<Self> {
        Ok(Self::of(&self.solved, &self.node()?.deal(card).map_err(error)?))
    }

    /// What the acting seat does with a hand (`"AhKd"`): probabilities by action.
    fn strategy<'py>(&self, py: Python<'py>, hand: &str) -> PyResult<Bound<'py, PyDict>> {
        let probabilities = self.node()?.strategy(hand).map_err(error)?;
        let found = PyDict::new(py);
        for (action, probability) in self.actions.iter().zip(probabilities) {
            found.set_item(action, probability)?;
        }
        Ok(found)
    }

    /// Values of all hands of both seats, which are computed now.
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        // In a thread of its own, as all work: a node borrows its spot.
        let (solved, history, dealt) = (Arc::clone(&self.solved), self.history.clone(), self.dealt.clone());
        let report = work::wait(py, None, move |_| solved.at(&history, &dealt)?.report())?;
        Ok(Report { report })
    }
}

/// The values of a node.
#[pyclass(module = "warpplay.cfr", frozen, name = "NodeReport")]
pub struct Report {
    report: NodeReport,
}

impl Report {
    /// A value of each hand.
    fn column<'py>(py: Python<'py>, hands: &[NodeHand], value: impl Fn(&NodeHand) -> f64) -> Bound<'py, PyAny> {
        PyArray1::from_iter(py, hands.iter().map(value)).into_any()
    }

    /// Values `[n, actions]` of some things, in their order.
    fn table<'py>(py: Python<'py>, shape: &[usize], rows: impl Iterator<Item = f64>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyArray1::from_iter(py, rows).reshape(shape.to_vec())?.into_any())
    }
}

#[pymethods]
impl Report {
    /// Expected share of the pot `[2]`, in chips.
    #[getter]
    fn ev(&self) -> [f64; 2] {
        self.report.ev
    }

    /// Share of the pot `[2]`, 0 to 1, that is won if nobody bets any more.
    #[getter]
    fn equity(&self) -> [f64; 2] {
        self.report.equity
    }

    /// The actions of the acting seat.
    #[getter]
    fn actions(&self) -> Vec<String> {
        self.report.actions.clone()
    }

    /// The seat that acts; `None` where a card comes or the hand is over.
    #[getter]
    fn seat(&self) -> Option<usize> {
        self.report.seat
    }

    /// The hands of a seat, a named tuple, `HandValues`.
    fn hands<'py>(&self, py: Python<'py>, seat: usize) -> PyResult<Bound<'py, PyAny>> {
        // The library's own error for a seat that is none.
        self.report.classes(seat).map_err(error)?;
        let hands = &self.report.by_hand[seat];
        let n_actions = if self.report.seat == Some(seat) { self.report.actions.len() } else { 0 };
        let shape = [hands.len(), n_actions];
        let names: Vec<&str> = hands.iter().map(|hand| &hand.hand[..]).collect();
        let tuple = py.import(intern!(py, "warpplay.cfr"))?.getattr(intern!(py, "HandValues"))?;
        tuple.call1((
            names,
            Self::column(py, hands, |hand| hand.reach),
            Self::column(py, hands, |hand| hand.ev),
            Self::column(py, hands, |hand| hand.equity),
            Self::table(py, &shape, hands.iter().flat_map(|hand| hand.strategy.iter().copied()))?,
            Self::table(py, &shape, hands.iter().flat_map(|hand| hand.action_ev.iter().copied()))?,
        ))
    }

    /// The hands of a seat in a grid of 169 classes, a named tuple, `HandGrid`.
    fn grid<'py>(&self, py: Python<'py>, seat: usize) -> PyResult<Bound<'py, PyAny>> {
        let classes = self.report.classes(seat).map_err(error)?;
        let n_actions = classes.first().map_or(0, |class| class.strategy.len());
        let side = 13;
        let names: Vec<Vec<&str>> =
            classes.chunks(side).map(|row| row.iter().map(|class| &class.name[..]).collect()).collect();
        let square = [side, side];
        let tuple = py.import(intern!(py, "warpplay.cfr"))?.getattr(intern!(py, "HandGrid"))?;
        tuple.call1((
            names,
            Self::table(py, &square, classes.iter().map(|class| class.probability))?,
            Self::table(py, &square, classes.iter().map(|class| class.ev))?,
            Self::table(py, &square, classes.iter().map(|class| class.equity))?,
            Self::table(py, &[side, side, n_actions], classes.iter().flat_map(|class| class.strategy.iter().copied()))?,
        ))
    }
}

/// Solves a spot on many boards. Returns a dictionary: `rows`, for each board its values, frequencies and texture; `mean` over all; `groups`, the means by feature of the board.
///
/// * `boards`: `"all"`, a number of flops (`"25"`) or a list (`"8c,Kd"`), as for `warpplay cfr solve-boards`. `target` ends each board's solve, as in `SpotSolver`.
/// * `progress` is called with the number of boards done; where it returns `False`, the rest is left out.
/// * further options are those of `solve_spot`.
#[pyfunction]
#[pyo3(signature = (spot, boards="all", *, device="auto", target=None, progress=None, **given))]
pub fn solve_boards<'py>(
    py: Python<'py>,
    spot: &Bound<'py, PyAny>,
    boards: &str,
    device: &str,
    target: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
    given: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (spot, options, device) = (of_dictionary(spot)?, options(&Options::SPOT, given)?, self::device(device)?);
    let boards = py.detach(|| library::Boards::parse(boards, &spot)).map_err(error)?;
    let run = SpotRun { options, target: self::target(target)?, ..SpotRun::default() };
    let n_boards = boards.len() as u64;
    let found = work::wait(py, progress, move |watch| {
        let watch = std::sync::Mutex::new(watch);
        let began = std::time::Instant::now();
        warpplay::cfr::solve_boards(&[device], &spot, &boards, &run, |n| {
            let progress: warpplay::Progress<()> = warpplay::Progress {
                steps: n as u64,
                n_steps: Some(n_boards),
                elapsed: began.elapsed(),
                time_limit: None,
                latest: None,
            };
            match watch.lock() {
                Ok(mut watch) => watch.go_on(&progress),
                Err(_) => ControlFlow::Break(()),
            }
        })
    })?;
    let dictionary = PyDict::new(py);
    dictionary.set_item("rows", to_python(py, &found.rows)?)?;
    dictionary.set_item("blocked", &found.blocked)?;
    dictionary.set_item("left", to_python(py, &found.left)?)?;
    dictionary.set_item("mean", to_python(py, &found.mean())?)?;
    dictionary.set_item("groups", to_python(py, &found.groups())?)?;
    Ok(dictionary.into_any())
}
