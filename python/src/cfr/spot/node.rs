//! `SolvedSpot`, `Node`, `NodeReport`: the strategies and values of every street.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::cfr::preflop::SIDE;
use warpplay::cfr::spot::{self as library, NodeHand, NodeReport};

use crate::convert::{error, to_python};
use crate::work;

/// A solved spot, of a solver or a file.
#[pyclass(module = "warpplay.cfr", frozen)]
pub struct SolvedSpot {
    solved: Arc<library::SolvedSpot>,
}

impl SolvedSpot {
    pub fn new(solved: library::SolvedSpot) -> Self {
        Self { solved: Arc::new(solved) }
    }

    /// The library's.
    pub fn library(&self) -> &Arc<library::SolvedSpot> {
        &self.solved
    }
}

#[pymethods]
impl SolvedSpot {
    /// Opens a file that `SpotSolver.save` or `warpplay cfr solve-spot --save` wrote. Its strategies are read where they are asked for.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self::new(py.detach(|| library::SolvedSpot::open(path)).map_err(error)?))
    }

    /// The first node.
    fn root(&self) -> Node {
        Node::of(&self.solved, &self.solved.root())
    }

    /// The node after these actions and cards: `history` with `/` between streets (`"cr50c/"`), `board` the cards dealt since the spot's (`"8c 3s"`).
    #[pyo3(signature = (history="", *, board=""))]
    fn at(&self, py: Python<'_>, history: &str, board: &str) -> PyResult<Node> {
        py.detach(|| Ok(Node::of(&self.solved, &self.solved.at(history, board)?))).map_err(error)
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

    fn node(&self) -> Result<library::Node<'_>, warpplay::Error> {
        self.solved.at(&self.history, &self.dealt)
    }
}

#[pymethods]
impl Node {
    /// The node after an action.
    fn child(&self, py: Python<'_>, action: &str) -> PyResult<Self> {
        py.detach(|| Ok(Self::of(&self.solved, &self.node()?.child(action)?))).map_err(error)
    }

    /// The node after a card.
    fn deal(&self, py: Python<'_>, card: &str) -> PyResult<Self> {
        py.detach(|| Ok(Self::of(&self.solved, &self.node()?.deal(card)?))).map_err(error)
    }

    /// What the acting seat does with a hand (`"AhKd"`): probabilities by action.
    fn strategy<'py>(&self, py: Python<'py>, hand: &str) -> PyResult<Bound<'py, PyDict>> {
        let probabilities = py.detach(|| self.node()?.strategy(hand)).map_err(error)?;
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
        let side = SIDE;
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
