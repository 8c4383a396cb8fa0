//! `warpplay.azero`: the network for checkers, its games and its training.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArray4, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::azero::checkers::{Checkers, N_ACTIONS, legal_mask, observation};
use warpplay::azero::player::{SelfPlay as LibrarySelfPlay, SelfPlayOptions};
use warpplay::azero::train::{Options as TrainOptions, Samples, Trainer as LibraryTrainer};
use warpplay::azero::{
    Evaluator as Library, EvaluatorOptions, GameRecord, Inputs, Network, NetworkShape, ObservationLayout, Outputs,
    ValueOf,
};
use warpplay::mcts::{Game, Notation, position_after};
use warpplay::{Backend, Stream};

use crate::convert::{copied, device, error, expect_shape, to_python};
use crate::dlpack::{Array, Tensor, expect_dimensions, numpy_array};
use crate::options::{argument, options};
use crate::work::{self, Shared};

/// The seed of a network where none is given.
const NETWORK_SEED: u64 = 27;

/// The seed that is given as the argument `name`.
///
/// # Errors
/// `ValueError` for what is no whole number from 0 to 2⁶⁴ - 1.
fn seed_of(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    given.map_or(Ok(NETWORK_SEED), |seed| argument(name, seed))
}

/// An observation `[5, 8, 8]` and the legal actions `[512]` of it.
type Seen<'py> = (Bound<'py, PyArray4<f32>>, Bound<'py, PyArray2<u8>>);

/// What a network sees of the position of checkers after `moves`, two squares a jump (`"a3b4"`), as the player to move sees it.
///
/// * `layout`: which planes there are: `default`, `egocentric` or `legacy`, that of an evaluator being its `layout`. `default`: white men, white kings, black men, black kings, empty
///   squares; `egocentric`: the same with the player to move in place of white and the other in place of black; `legacy`: so too, but the other's kings before the other's men.
/// * returns `observations`: `[1, 5, 8, 8]` float32, 0 or 1, the top row of the board (8) first; `legal`: `[1, 512]` uint8, 1 for a legal action. White moves first, from the
///   bottom. `ACTIONS` has the name of each action.
#[pyfunction]
#[pyo3(signature = (moves="", *, layout="default"))]
pub fn observe<'py>(py: Python<'py>, moves: &str, layout: &str) -> PyResult<Seen<'py>> {
    let layout: ObservationLayout = layout.parse().map_err(error)?;
    seen(py, moves, layout)
}

fn seen<'py>(py: Python<'py>, moves: &str, layout: ObservationLayout) -> PyResult<Seen<'py>> {
    let position: Checkers = position_after(moves).map_err(error)?;
    let planes = observation(&position, position.to_move(), layout);
    let observations = PyArray1::from_slice(py, &planes).reshape([1, planes.len() / 64, 8, 8])?;
    let mask = legal_mask(&position);
    Ok((observations, PyArray1::from_slice(py, &mask).reshape([1, mask.len()])?))
}

/// The names of all actions of checkers, `[512]`: two squares (`"a3b4"`), or a number after `#` for one that leaves the board.
pub fn actions() -> Vec<String> {
    (0..N_ACTIONS as u32).map(Checkers::action_name).collect()
}

/// The network of a file, or that of a seed.
fn network(weights: Option<PathBuf>, seed: u64) -> warpplay::Result<Network> {
    match weights {
        Some(path) => Network::load(path),
        None => Network::seeded(NetworkShape::default(), seed),
    }
}

/// AlphaZero's network on a device, ready to evaluate positions.
///
/// Options, with their defaults:
///
/// * `engine="auto"`: `auto`, `fused`, `layers` or `cpu`. `precision="f32"`: `f32`, `tf32`, `bf16` or `f16` on a GPU, `f32` or `f64` on the CPU.
/// * `max_batch=128`: most positions of a call. `threads=None`: threads of the CPU, `None` for all cores.
#[pyclass(module = "warpplay.azero")]
pub struct Evaluator {
    evaluator: Shared<Ready>,
    options: EvaluatorOptions,
    shape: NetworkShape,
    layout: ObservationLayout,
    value_of: ValueOf,
}

/// The library's evaluator, with a stream for positions that are already on the device.
struct Ready {
    evaluator: Library,
    stream: Option<Stream>,
}

#[pymethods]
impl Evaluator {
    /// Loads the network from `weights`, a safetensors file or OpenSpiel's `checkpoint-N.pt`; without, it is the network of `seed` (27), which knows nothing of the game.
    #[new]
    #[pyo3(signature = (weights=None, *, seed=None, device="auto", **given))]
    fn new(
        py: Python<'_>,
        weights: Option<PathBuf>,
        seed: Option<&Bound<'_, PyAny>>,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let seed = seed_of("seed", seed)?;
        let (options, device) = (options(&EvaluatorOptions::default(), given)?, self::device(device)?);
        let from = options.clone();
        let evaluator = py.detach(|| Library::builder(&network(weights, seed)?).options(from).build(&device));
        let evaluator = evaluator.map_err(error)?;
        let (shape, layout, value_of) = (evaluator.shape(), evaluator.observation(), evaluator.value_of());
        Ok(Self { evaluator: Shared::new(Ready { evaluator, stream: None }), options, shape, layout, value_of })
    }

    /// Values and policies of positions.
    ///
    /// * `observations`: `[n, planes, rows, columns]` float32, finite.
    /// * `legal`: `[n, actions]` uint8 or bool, 1 for a legal action and 0 for another; every position has a legal one.
    /// * returns `values`: `[n]` in [-1, 1], what the player of the property `value_of` can expect, 1 for a win; `policies`: `[n, actions]`, rows sum to 1, 0 for what is not legal.
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
            return self.evaluate_arrays(py, &numpy_array("observations", observations)?, &legal_array(legal)?);
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

    /// Gives `observations` `[1, planes, rows, columns]` and `legal` `[1, actions]` of the position of checkers after `moves` (`"a3b4"`), for `evaluate`: as `observe` with the layout of this network.
    #[pyo3(signature = (moves=""))]
    fn observe<'py>(&self, py: Python<'py>, moves: &str) -> PyResult<Seen<'py>> {
        seen(py, moves, self.layout)
    }

    /// Whose result the values are: `"first"` for that of the first player (White), whoever is to move, `"mover"` for that of the player to move.
    #[getter]
    fn value_of(&self) -> &'static str {
        self.value_of.name()
    }

    /// Which planes the network expects, as `observe` describes them: `"default"`, `"egocentric"` or `"legacy"`.
    #[getter]
    fn layout(&self) -> &'static str {
        self.layout.name()
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
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
        let [n, ..] = expect_dimensions::<4>("observations", observations)?;
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
        observations: &PyReadonlyArrayDyn<'py, f32>,
        legal: &PyReadonlyArrayDyn<'py, u8>,
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

/// The legal actions of positions; numpy's own type of truth is bytes of 0 and 1.
fn legal_array<'py>(legal: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, u8>> {
    match legal.getattr("dtype")?.getattr("kind")?.extract::<char>()? {
        'b' => numpy_array("legal", &legal.call_method1("view", ("uint8",))?),
        _ => numpy_array("legal", legal),
    }
}

/// Evaluates positions on a device, and waits for it, also where something fails: then nothing that was queued uses the inputs any more.
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

/// Games that a network plays against itself.
///
/// Options, with their defaults:
///
/// * `games=100`: games in all. `first=0`: the number of the first game. `parallel=256`: games played at the same time.
/// * `search`: a dictionary, of which only the fields to change are given: `simulations=100` of a move, `leaves=4` evaluated together, `c_puct=2.0`, `noise` at the root with
///   `alpha=1.0` and `epsilon=0.25` (`None` for no noise), `temperature=1.0` in the first `temperature_plies=20` actions of a game, `max_nodes=None` of a tree (`None` for enough),
///   `seed=0`, `trees="auto"` (`auto`, `host` or `device`).
#[pyclass(module = "warpplay.azero")]
pub struct SelfPlay {
    playing: Shared<Playing>,
    options: SelfPlayOptions,
}

/// The player, and the finished games.
struct Playing {
    play: LibrarySelfPlay,
    games: Vec<GameRecord>,
}

#[pymethods]
impl SelfPlay {
    /// With the network of `weights`, or of `network_seed` (27), as in `Evaluator`; `seed` is that of the games, else that of the option `search`.
    #[new]
    #[pyo3(signature = (weights=None, *, network_seed=None, seed=None, device="auto", **given))]
    fn new(
        py: Python<'_>,
        weights: Option<PathBuf>,
        network_seed: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let network_seed = seed_of("network_seed", network_seed)?;
        let (mut options, device) = (options(&SelfPlayOptions::default(), given)?, self::device(device)?);
        if let Some(seed) = seed {
            options.search.seed = argument("seed", seed)?;
        }
        let play =
            py.detach(|| LibrarySelfPlay::builder(network(weights, network_seed)?).options(options).build(&device));
        Ok(Self { playing: Shared::new(Playing { play: play.map_err(error)?, games: Vec::new() }), options })
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

    /// The games so far: a dictionary each, with lists of an entry for each ply, and `returns` `[2]`, what the players got: 1 for a win, -1 for a loss, 0 for a draw.
    ///
    /// * `actions` `[plies]`: what was played, indices of `ACTIONS`; `players` `[plies]`: who was to move, 0 (White, who begins) or 1.
    /// * `boards` `[plies]`: the 64 squares before the action, row 8 of the board first, from column a: `o` a man of White, `8` a king of White, `+` a man of Black, `*` a king of Black,
    ///   `.` nothing.
    /// * `visits` `[plies]`: a list of pairs, an action and how often the search visited it; `root_values` `[plies]`: the search's value for the player to move, in [-1, 1].
    #[getter]
    fn games<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.playing.lend()?.games)
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
    }

    /// Writes the games so far to a file, one in each line, for `Trainer` and `warpplay azero train --records`.
    fn save_games(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let playing = self.playing.lend()?;
        let games = &playing.games;
        py.detach(|| warpplay::azero::write_records(&path, games)).map_err(error)
    }
}

/// One path, or those of a list.
fn paths(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    if let Ok(path) = given.extract::<PathBuf>() {
        return Ok(vec![path]);
    }
    let wrong = || PyTypeError::new_err(format!("{what} is not a path, nor a list of paths"));
    let one = |value: PyResult<Bound<'_, PyAny>>| value?.extract::<PathBuf>().map_err(|_| wrong());
    given.try_iter().map_err(|_| wrong())?.map(one).collect()
}

/// A training of a network on games.
///
/// Options, with their defaults:
///
/// * `batch=1024`: positions of a step. `epochs=10`; `steps=None`: most steps in all, `None` for those of the epochs.
/// * `learning_rate=0.001`, `beta1=0.9`, `beta2=0.999`, `epsilon=1e-08`: of Adam.
/// * `weight_decay=0.0001`: factor of the L2 term. `value_weight=1.0`: factor of the value's loss.
/// * `momentum=0.1`: share of a batch in the running statistics of the norms.
/// * `validation=0.0`: share of the games that is kept for validation. `seed=1`: of the order of positions and the draw of these games.
/// * `precision="f32"`: arithmetic of the convolutions of 3 × 3: `f32`, or `tf32` or `bf16` on GPUs of compute capability 9.0, with sums, weights and Adam in f32.
/// * `engine="auto"`: `auto`, `device` or `cpu`.
#[pyclass(module = "warpplay.azero")]
pub struct Trainer {
    trainer: Shared<LibraryTrainer>,
    options: TrainOptions,
}

#[pymethods]
impl Trainer {
    /// Reads a file of games, or a list of them, as `SelfPlay.save_games` writes them, and first `weights`, or the network of `network_seed` (27), as in `Evaluator`.
    #[new]
    #[pyo3(signature = (games, weights=None, *, network_seed=None, device="auto", **given))]
    fn new(
        py: Python<'_>,
        games: &Bound<'_, PyAny>,
        weights: Option<PathBuf>,
        network_seed: Option<&Bound<'_, PyAny>>,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let games = paths("games", games)?;
        let network_seed = seed_of("network_seed", network_seed)?;
        let (options, device) = (options(&TrainOptions::default(), given)?, self::device(device)?);
        let from = options.clone();
        let trainer = py.detach(|| {
            let network = network(weights, network_seed)?;
            let samples = Samples::read(&games, network.observation(), network.value_of())?;
            LibraryTrainer::builder(&network, &Arc::new(samples)).options(from).build(&device)
        });
        Ok(Self { trainer: Shared::new(trainer.map_err(error)?), options })
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
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
