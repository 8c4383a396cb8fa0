//! The kernels that solve a game in one block, resolved, with a safe function for each; and the device arrays they work on.

use warpplay_gpu::cfr::regret::Step;
use warpplay_gpu::cfr::small::layout::{BoardRecord, Game};
use warpplay_gpu::cfr::small::sample::sampling;
use warpplay_gpu::cfr::small::{self, TaskArgs};
use warpplay_gpu::ptx::embedded::CFR_SMALL;

use super::plan::{Plan, n_deals};
use crate::cfr::layout::Number;
use crate::cfr::options::{Algorithm, Options, Sampling, Updates};
use crate::runtime::launch::views;
use crate::{Buffer, Device, Error, Memory, Module, Result, Stream};

/// Iterations of one launch: their steps are uploaded together, and a display's watchdog has no reason to bark.
pub(super) const MAX_ITERATIONS: u32 = 1 << 14;

/// A precision of the kernels.
pub(super) trait SmallKernels: small::SmallKernels + Number {}

impl<T: small::SmallKernels + Number> SmallKernels for T {}

/// The kernels.
pub(super) struct Kernels<T: SmallKernels> {
    set: small::RealKernels<Module, T>,
    measure: small::Kernels<Module>,
}

impl<T: SmallKernels> Kernels<T> {
    /// Loads the module.
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &CFR_SMALL)?;
        Ok(Self { set: small::RealKernels::load(&module)?, measure: small::Kernels::load(&module)? })
    }
}

/// What a task says of the options.
#[derive(Clone, Copy)]
struct Asked {
    seed: u64,
    sampling: u32,
    n_deals: u32,
    simultaneous: bool,
    responds: bool,
    predicts: bool,
}

/// All games on the device.
pub(super) struct Arrays<T: SmallKernels> {
    games: Buffer<Game>,
    chunks: Buffer<u64>,
    words: Buffer<u32>,
    reals: Buffer<T>,
    boards: Buffer<BoardRecord>,
    hands: Buffer<u64>,
    state: Buffer<T>,
    utilities: Buffer<f64>,
    results: Buffer<f64>,
    steps: Buffer<Step<T>>,
    /// Games, items of the largest phase and bytes of shared memory: what the launch shape depends on.
    launch: (u32, u32, u32),
    asked: Asked,
    /// Where the tables of each game begin.
    state_from: Vec<u64>,
    /// Offsets after those of the last game.
    end: Game,
}

/// Tables of a seat: regrets, averages, and last regrets where the algorithm predicts.
pub(super) fn n_tables(options: &Options) -> u64 {
    if options.step(1).predicts { 3 } else { 2 }
}

/// Memory that [`Arrays::new`] takes with numbers of `real` bytes.
pub(super) fn memory(plans: &[Plan], plan_of: &[usize], options: &Options, real: u64) -> Memory {
    let of_plan = |plan: &Plan| {
        let lists = size_of_val(&plan.chunks[..]) + size_of_val(&plan.words[..]);
        let cards = size_of_val(&plan.boards[..]) + size_of_val(&plan.hands[..]);
        (lists + cards) as u64 + real * plan.reals.len() as u64
    };
    let tables = |&plan: &usize| real * n_tables(options) * u64::from(plans[plan].game.table_len());
    // The game's record, two sums of utilities and four results.
    let of_game = (size_of::<Game>() + 6 * size_of::<f64>()) as u64;
    Memory::default()
        .on_device("regrets and averages", plan_of.iter().map(tables).sum())
        .on_device("games and results", of_game * plan_of.len() as u64)
        .on_device("lists and cards", plans.iter().map(of_plan).sum())
        .on_device("steps", 4 * real * u64::from(MAX_ITERATIONS))
}

impl<T: SmallKernels> Arrays<T> {
    /// Uploads plans; `plan_of` gives each game's.
    pub fn new(stream: &Stream, plans: &[Plan], plan_of: &[usize], options: &Options) -> Result<Self> {
        let predicts = options.step(1).predicts;
        let (mut words, mut chunks, mut reals) = (Vec::new(), Vec::new(), Vec::new());
        let (mut boards, mut hands, mut planned) = (Vec::new(), Vec::new(), Vec::new());
        for plan in plans {
            let mut game = plan.game;
            game.words_from = offset(words.len())?;
            game.chunks_from = offset(chunks.len())?;
            game.reals_from = offset(reals.len())?;
            game.boards_from = offset(boards.len())?;
            game.hands_from = offset(hands.len())?;
            words.extend(&plan.words);
            chunks.extend(&plan.chunks);
            reals.extend(plan.reals.iter().map(|&real| T::from_f64(real)));
            boards.extend(&plan.boards);
            hands.extend(&plan.hands);
            planned.push(game);
        }
        let mut end = Game {
            words_from: offset(words.len())?,
            chunks_from: offset(chunks.len())?,
            reals_from: offset(reals.len())?,
            boards_from: offset(boards.len())?,
            hands_from: offset(hands.len())?,
            ..Game::default()
        };
        let tables = n_tables(options);
        let mut games = Vec::with_capacity(plan_of.len());
        let mut state_from = Vec::with_capacity(plan_of.len());
        for &plan in plan_of {
            let mut game = planned[plan];
            game.state_from = end.state_from;
            state_from.push(end.state_from);
            end.state_from += tables * u64::from(game.table_len());
            games.push(game);
        }
        let n_games = offset(games.len())?;
        let largest_phase = plans.iter().map(|plan| plan.largest_phase).max().unwrap_or(1);
        let shared_bytes = plans.iter().map(|plan| plan.shared_bytes).max().unwrap_or(0);
        Ok(Self {
            games: stream.upload(&games)?,
            chunks: stream.upload(&chunks)?,
            words: stream.upload(&words)?,
            reals: stream.upload(&reals)?,
            boards: stream.upload(&boards)?,
            hands: stream.upload(&hands)?,
            state: stream.alloc(end.state_from as usize)?,
            utilities: stream.alloc(2 * games.len())?,
            results: stream.alloc(4 * games.len())?,
            steps: stream.alloc(MAX_ITERATIONS as usize)?,
            launch: (n_games, largest_phase, shared_bytes),
            asked: Asked {
                seed: options.seed,
                sampling: sampling_of(options.sampling)?,
                n_deals: n_deals(options)?,
                simultaneous: options.updates == Updates::Simultaneous,
                responds: options.algorithm == Algorithm::CfrBr,
                predicts,
            },
            state_from,
            end,
        })
    }

    /// Parameters of a launch: of one that measures where there are no iterations.
    fn task(&mut self, n_iterations: u32, first_iteration: u64) -> TaskArgs<'_, T> {
        let asked = self.asked;
        let (utilities, n_utilities) =
            if n_iterations == 0 { (&mut self.results, 4) } else { (&mut self.utilities, 2) };
        views! { TaskArgs {
            self reads games, chunks, words, reals, boards, hands, steps;
            asked has seed, sampling, n_deals;
            end: self.end,
            state: self.state.view_mut(),
            utilities: utilities.view_mut(),
            first_iteration,
            n_iterations,
            simultaneous: asked.simultaneous.into(),
            responds: asked.responds.into(),
            predicts: asked.predicts.into(),
            n_games: self.state_from.len() as u32,
            n_utilities,
        } }
    }

    /// Queues iterations of all games, at most [`MAX_ITERATIONS`]; `done` were before.
    pub fn solve(&mut self, stream: &Stream, kernels: &Kernels<T>, steps: &[Step<T>], done: u64) -> Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        stream.write(&mut self.steps, 0, steps)?;
        let launch = self.launch;
        let task = self.task(steps.len() as u32, done);
        // SAFETY: phases and shared memory are the plans' largest, and what the games name is within the plans.
        unsafe { stream.run_unchecked_with(&kernels.set.cfr_small_solve, launch, (task,)) }
    }

    /// Sums of utilities, `[game, seat]`.
    pub fn utilities(&self, stream: &Stream) -> Result<Vec<f64>> {
        stream.read(&self.utilities)
    }

    /// Replaces a game's sums of utilities.
    pub fn set_utilities(&mut self, stream: &Stream, game: usize, sums: &[f64]) -> Result<()> {
        stream.write(&mut self.utilities, 2 * game, sums)
    }

    /// Table values of a game from its first one on.
    pub fn state(&self, stream: &Stream, game: usize, n: usize) -> Result<Vec<T>> {
        let mut values = vec![T::default(); n];
        stream.read_into(&self.state, self.state_from[game] as usize, &mut values)?;
        Ok(values)
    }

    /// Replaces them.
    pub fn set_state(&mut self, stream: &Stream, game: usize, values: &[T]) -> Result<()> {
        stream.write(&mut self.state, self.state_from[game] as usize, values)
    }
}

impl Arrays<f64> {
    /// Values and best responses of all games, `[game, seat, value or best response]`; waits for them.
    pub fn measure(&mut self, stream: &Stream, kernels: &Kernels<f64>) -> Result<Vec<f64>> {
        let launch = self.launch;
        let task = self.task(0, 0);
        // SAFETY: as in `solve`.
        unsafe { stream.run_unchecked_with(&kernels.measure.cfr_small_measure_f64, launch, (task,)) }?;
        stream.read(&self.results)
    }
}

/// An offset in an array of all games.
fn offset(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::shape("plans of all games", "less than 2³² elements", len))
}

fn sampling_of(sampling: Sampling) -> Result<u32> {
    match sampling {
        Sampling::None => Ok(sampling::NONE),
        Sampling::Chance => Ok(sampling::CHANCE),
        Sampling::PublicChance => Ok(sampling::PUBLIC),
        Sampling::OpponentPublic => Ok(sampling::OPPONENT_PUBLIC),
        Sampling::SelfPublic => Ok(sampling::SELF_PUBLIC),
        Sampling::External | Sampling::Outcome => {
            Err(Error::option("sampling", sampling, "what a block draws: chance or a board"))
        }
    }
}

#[cfg(test)]
mod tests;
