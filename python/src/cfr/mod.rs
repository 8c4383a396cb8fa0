//! `warpplay.cfr`: poker by counterfactual regret minimisation.

pub mod spot;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::cfr::preflop::{N_CLASSES, PushFold, class_name};
use warpplay::cfr::{
    Abstraction, GameDef, Options, Problem, Recipe, Solver as Library, SpotRun, Strategy as LibraryStrategy, Subgame,
};
use warpplay::{Device, Precision};

use crate::convert::{device, error, to_python};
use crate::options::{argument, options};
use crate::work::{self, Shared};

/// A game that is solved on a device. After the iterations `measure_at` value and exploitability are measured, else at the end.
///
/// Options, with their defaults:
///
/// * `algorithm="cfr"`: `cfr`, `cfr_plus`, `lcfr`, `dcfr`, `pcfr_plus` or `cfr_br`. `iterations=1000`.
/// * `updates="alternating"`: `alternating` or `simultaneous`. `averaging="auto"`: `auto`, `uniform`, `linear` or `quadratic`. `discounts=[1.5, 0.0, 2.0]`: exponents of `dcfr`.
/// * `sampling="none"`: `none`, `chance`, `public_chance`, `opponent_public`, `self_public`, `external` or `outcome`. `batch=1`: what is sampled in an iteration. `exploration=0.6`: of
///   `outcome`. `seed=1`: of what is sampled.
/// * `precision="f32"`: `f32`, `f64` or `i16`. `engine="auto"`: `auto`, `small`, `street`, `subset`, `explicit`, `mccfr`, `walk` or `cpu`.
/// * `isomorphism=True`: whether boards that differ by names of suits only are solved once. `threads=None`: threads of the CPU, `None` for all cores.
#[pyclass(module = "warpplay.cfr")]
pub struct Solver {
    solver: Shared<Library>,
    options: Options,
}

/// The game of a name, a text or a path.
///
/// # Errors
/// `ValueError` for a text that looks like a path; those of the library.
fn game_def(game: &Bound<'_, PyAny>) -> PyResult<GameDef> {
    let Ok(text) = game.extract::<String>() else {
        let path: PathBuf = game.extract().map_err(|_| {
            PyTypeError::new_err(
                "game is not a name, a definition as text, nor a path such as pathlib.Path(\"x.game\")",
            )
        })?;
        return GameDef::read(path).map_err(error);
    };
    let looks_like_path = text.lines().count() == 1 && (text.ends_with(".game") || text.contains(['/', '\\']));
    match GameDef::named(&text) {
        Some(game) => Ok(game),
        None if looks_like_path => Err(PyValueError::new_err(format!(
            "game is the text {text:?}, which looks like the path of a file: give pathlib.Path({text:?})"
        ))),
        None => GameDef::parse(&text).map_err(error),
    }
}

/// A game in the buckets of a recipe, or of a file if there is one of this name.
fn in_buckets(game: GameDef, abstraction: &Path, device: &Device, options: Options) -> warpplay::Result<Problem> {
    if abstraction.is_file() {
        return Problem::abstracted(game, Abstraction::load(abstraction)?);
    }
    let recipe: Recipe = abstraction.to_string_lossy().parse()?;
    device.expect_memory(&Library::builder(&game).options(options).memory_in_buckets(device, &recipe)?)?;
    let abstraction = Abstraction::build(device, &game, &recipe)?;
    Problem::abstracted(game, abstraction)
}

/// The iterations after which is measured.
///
/// # Errors
/// `ValueError` for one that does not come.
fn points(measure_at: Option<&Bound<'_, PyAny>>, limit: u64) -> PyResult<Option<Vec<u64>>> {
    let Some(given) = measure_at else { return Ok(None) };
    let given = given.try_iter()?.map(|at| argument("measure_at", &at?)).collect::<PyResult<Vec<u64>>>()?;
    match given.iter().find(|at| !(1..=limit).contains(*at)) {
        Some(wrong) => {
            let text = format!("option measure_at: {wrong} is not allowed (1 to {limit}, the iterations)");
            Err(PyValueError::new_err(text))
        }
        None => Ok(Some(given)),
    }
}

#[pymethods]
impl Solver {
    /// Of `"kuhn"`, `"leduc"`, or a definition of the Annual Computer Poker Competition: its text, or the path of its file as an `os.PathLike` (`pathlib.Path("x.game")`); `measure_at` lists the iterations after which value and exploitability are measured.
    ///
    /// With `abstraction` players know buckets of their cards only, and deals are sampled (`sampling="chance"`) unless the algorithm needs all of them: for each round `lossless`, `strength:N`, `histogram:N` or, on the whole board, `even:N`
    /// with N buckets (`"lossless,strength:3"`), or the path of a file that `warpplay cfr solve --save-abstraction` wrote.
    #[new]
    #[pyo3(signature = (game, *, device="auto", measure_at=None, abstraction=None, **given))]
    fn new(
        py: Python<'_>,
        game: &Bound<'_, PyAny>,
        device: &str,
        measure_at: Option<&Bound<'_, PyAny>>,
        abstraction: Option<PathBuf>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let says_sampling = given.is_some_and(|given| given.contains("sampling").unwrap_or(false));
        let mut options = options(&Options::default(), given)?;
        if abstraction.is_some() && !says_sampling {
            options = options.in_buckets();
        }
        let (game, device) = (game_def(game)?, self::device(device)?);
        let problem = match abstraction {
            Some(abstraction) => py.detach(|| in_buckets(game, &abstraction, &device, options)).map_err(error)?,
            None => Problem::from(game),
        };
        Self::build(py, problem, &device, measure_at, options)
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
    }

    /// Runs to the last iteration, or until `progress` returns `False`; returns the report.
    ///
    /// * `trajectory`: what was measured, a dictionary each: `iteration`; `value` `[players]`, what each seat wins with the average strategies; `nash_conv` and `exploitability`.
    /// * `average_utility` `[players]`: the mean of what each seat won in the iterations themselves. Where seats learn in turn (`updates="alternating"`) each entry is of other strategies,
    ///   so that they need not sum to 0.
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

impl Solver {
    fn build(
        py: Python<'_>,
        problem: Problem,
        device: &Device,
        measure_at: Option<&Bound<'_, PyAny>>,
        options: Options,
    ) -> PyResult<Self> {
        let measure_at = points(measure_at, options.iterations)?;
        let builder = Library::builder(problem).options(options);
        let builder = match measure_at {
            Some(iterations) => builder.measure_at(iterations),
            None => builder,
        };
        Ok(Self { solver: Shared::new(py.detach(|| builder.build(device)).map_err(error)?), options })
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

    /// A solver of the rest of a hand after `history` on `board`, in which `seat` plays better than by this strategy for a whole game of poker of two players. Before the first decision the opponent
    /// may end with what it could win at best against this strategy, for each of its hands; `nash_conv` is what it wins more by playing on, and at 0 the new strategy is as safe as this one
    /// (Burch, Johanson and Bowling, 2014). Histories of the new strategy begin where the rest does; it has none for the opponent.
    ///
    /// * further options are those of `Solver`, with other defaults of two: `algorithm="dcfr"`, `discounts=[1.5, 0.0, 4.0]`.
    #[pyo3(signature = (history, *, board="", seat, device="auto", measure_at=None, **given))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn resolve(
        &self,
        py: Python<'_>,
        history: &str,
        board: &str,
        seat: usize,
        device: &str,
        measure_at: Option<&Bound<'_, PyAny>>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Solver> {
        let (options, device) = (options(&Options::SPOT, given)?, self::device(device)?);
        let subgame = py.detach(|| Subgame::new(&self.strategy, history, board, seat)).map_err(error)?;
        Solver::build(py, Problem::from(subgame), &device, measure_at, options)
    }

    /// Exact value and best responses in the whole game, whose players know their cards: a dictionary with `value` and `best_response` `[players]`, `nash_conv` and `exploitability` in chips.
    #[pyo3(signature = (*, device="auto"))]
    fn profile<'py>(&self, py: Python<'py>, device: &str) -> PyResult<Bound<'py, PyAny>> {
        let device = self::device(device)?;
        to_python(py, &py.detach(|| self.strategy.profile(&device, Precision::F64)).map_err(error)?)
    }

    /// A lower bound of the exploitability, for games that are too large for `profile`: what a local best response wins over `deals` deals (Lisý and Bowling, 2017).
    ///
    /// * returns a dictionary: `exploitability_at_least`, `values` `[2]` at each seat, and `sampled`, with the standard errors.
    #[pyo3(signature = (*, deals, seed=1))]
    fn local_best_response<'py>(&self, py: Python<'py>, deals: u64, seed: u64) -> PyResult<Bound<'py, PyAny>> {
        let bound = py.detach(|| self.strategy.local_best_response(deals, seed, |_| ControlFlow::Continue(())));
        to_python(py, &bound.map_err(error)?)
    }

    /// Actions and probabilities for every hand of the acting seat, after a history on a board as in `query`.
    ///
    /// * returns a named tuple, `AllHands`: `hands`, `[n_hands]` strings; `actions`, `[n_actions]` strings; `probabilities`, `[n_hands, n_actions]` float64, whose rows sum to 1.
    #[pyo3(signature = (history="", *, board=""))]
    fn query_all<'py>(&self, py: Python<'py>, history: &str, board: &str) -> PyResult<Bound<'py, PyAny>> {
        let answers = py.detach(|| self.strategy.query_all(history, board)).map_err(error)?;
        let actions: Vec<String> =
            answers.first().iter().flat_map(|one| &one.choices).map(|choice| choice.action.clone()).collect();
        let hands = answers.iter().map(|answer| answer.hand().to_string()).collect::<Vec<_>>();
        let probabilities = answers.iter().flat_map(|one| &one.choices).map(|choice| choice.probability);
        let probabilities = PyArray1::from_iter(py, probabilities).reshape([hands.len(), actions.len()])?;
        let tuple = py.import(intern!(py, "warpplay.cfr"))?.getattr(intern!(py, "AllHands"))?;
        tuple.call1((hands, actions, probabilities))
    }
}

/// Solves the game of pushing all-in or folding before the flop, heads-up, with exact chances of winning.
///
/// * `stack`: what each seat has before blinds and antes, in big blinds; `small_blind` and `ante` in big blinds.
/// * returns a dictionary: `push` and `call`, how often the small blind pushes and the big blind calls, by class of hands (`{"AKs": 1.0}`); `value`, what the small blind wins a hand, and
///   `exploitability`, in big blinds.
#[pyfunction]
#[pyo3(signature = (stack, *, small_blind=0.5, ante=0.0, iterations=500, device="auto"))]
pub fn push_fold<'py>(
    py: Python<'py>,
    stack: f64,
    small_blind: f64,
    ante: f64,
    iterations: u64,
    device: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let device = self::device(device)?;
    let game = PushFold { stack, small_blind, ante };
    let solved = py.detach(|| game.solve(&device, iterations)).map_err(error)?;
    let by_class = |parts: &[f64]| {
        let found = PyDict::new(py);
        let named = (0..N_CLASSES).filter_map(class_name).zip(parts);
        named.into_iter().try_for_each(|(name, part)| found.set_item(name, part)).map(|()| found)
    };
    let found = PyDict::new(py);
    found.set_item("push", by_class(&solved.push)?)?;
    found.set_item("call", by_class(&solved.call)?)?;
    found.set_item("value", solved.value)?;
    found.set_item("exploitability", solved.exploitability)?;
    Ok(found)
}

/// Solves a spot of hold'em: a board with ranges, pot, stacks and sizes of bets, from the flop, turn or river on. Returns the report.
///
/// * `spot`: a dictionary with the fields of a file of `warpplay cfr solve-spot`. Needed are `pot`, `effective_stack`, `flop` (`"Qs Jh 2h"`) and `ranges` `[2]` (`["AA,QQ:0.5,AKs", "KK"]`, seat 0
///   acts first on every street). `turn` and `river` are dealt where they are left out. Further: `bet_fraction_of_pot`; by street (`{"river": [0.5, "75%", "all-in"]}`) `bet_sizes`, `raise_sizes`,
///   `donk_sizes`, `max_raises` or `limit`; `add_all_in`, `force_all_in`, `merge_sizes`; `added_lines`, `removed_lines`; `rake` (`{"part": 0.05, "cap": 3}`); `icm`, a tournament (`{"others": [800, 250], "prizes": [50, 30, 20]}`); `locks`, strategies that are given and not learnt (`[{"history": "c", "seat": 1, "strategy": [0.25, 0.75]}]`).
/// * `measure_at`: the iterations after which the exploitability is measured; the last one always is.
/// * `progress` is called with a dictionary (`steps` is the number of iterations done), first after the first iteration; where it returns `False`, the report is that of the iterations so far.
/// * returns a dictionary: `ev` `[2]` and `equity` `[2]`, each seat's share of the pot, in chips (with `icm` in prizes, beyond `icm_base` `[2]`) and with checks to the end; `trajectory`, the exploitability in chips by iteration; `actions`, those
///   at each history of the first street; `by_hand` `[2]`, for each seat a list with a dictionary for each hand: `hand`, `weight`, `ev`, `equity` and `strategy`, probabilities by history.
/// * further options are those of `Solver`, with other defaults of two: `algorithm="dcfr"`, `discounts=[1.5, 0.0, 4.0]`.
#[pyfunction]
#[pyo3(signature = (spot, *, device="auto", measure_at=None, progress=None, **given))]
pub fn solve_spot<'py>(
    py: Python<'py>,
    spot: &Bound<'py, PyAny>,
    device: &str,
    measure_at: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
    given: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let spot = spot::of_dictionary(spot)?;
    let (options, device) = (options(&Options::SPOT, given)?, self::device(device)?);
    let measure_at = points(measure_at, options.iterations)?.unwrap_or_default();
    let run = SpotRun { options, measure_at, ..SpotRun::default() };
    let report =
        work::wait(py, progress, move |watch| spot.solve_watched(&device, &run, |progress| watch.go_on(progress)))?;
    to_python(py, &report)
}
