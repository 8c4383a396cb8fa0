//! Many small games solved at once, a block each.

use std::sync::Arc;

use warpplay_gpu::cfr::regret::Step;

use super::kernels::{Arrays, Kernels, MAX_ITERATIONS, SmallKernels, memory, n_tables};
use super::plan::Plan;
use crate::cfr::engines::Solve;
use crate::cfr::layout::{Measured, Tables, Values, VectorGame};
use crate::cfr::options::Options;
use crate::{Device, Error, Memory, Precision, Result, Stream};

macro_rules! inner {
    ($self:expr, $games:ident => $body:expr) => {
        match $self {
            Inner::F32($games) => $body,
            Inner::F64($games) => $body,
        }
    };
}

/// Games in one precision.
pub(super) struct Games<T: SmallKernels> {
    stream: Stream,
    kernels: Kernels<T>,
    arrays: Arrays<T>,
    games: Vec<Arc<VectorGame>>,
    options: Options,
    iteration: u64,
    memory: Memory,
}

impl<T: SmallKernels> Games<T> {
    /// Lays the games out and allocates the memory. Games that are the same `Arc` share a plan.
    pub fn new(device: &Device, games: &[Arc<VectorGame>], options: &Options) -> Result<Self> {
        let mut plans = Vec::new();
        let mut firsts: Vec<&Arc<VectorGame>> = Vec::new();
        let mut plan_of = Vec::with_capacity(games.len());
        for game in games {
            // The same game usually stands next to itself.
            let known = firsts.iter().rposition(|&first| Arc::ptr_eq(first, game));
            plan_of.push(match known {
                Some(plan) => plan,
                None => {
                    plans.push(Plan::new(device, game, options)?);
                    firsts.push(game);
                    plans.len() - 1
                }
            });
        }
        let memory = memory(&plans, &plan_of, options, size_of::<T>() as u64);
        device.expect_memory(&memory)?;
        let stream = device.stream()?;
        let kernels = Kernels::load(device)?;
        let arrays = Arrays::new(&stream, &plans, &plan_of, options)?;
        let mut new = Self { stream, kernels, arrays, games: games.to_vec(), options: *options, iteration: 0, memory };
        (0..games.len()).try_for_each(|game| new.write_locks(game))?;
        Ok(new)
    }

    /// Writes given strategies to the averages.
    fn write_locks(&mut self, game: usize) -> Result<()> {
        if self.games[game].locks.is_empty() {
            return Ok(());
        }
        let lengths = self.lengths(game);
        // Regrets of both seats, then their averages.
        let mut state = vec![T::ZERO; self.n_tables() * (lengths[0] + lengths[1])];
        for seat in 0..2 {
            let first = lengths[0] + lengths[1] + if seat == 1 { lengths[0] } else { 0 };
            for (at, given) in self.games[game].given_rows(seat) {
                for (value, &probability) in state[first + at..].iter_mut().zip(given.strategy.iter().flatten()) {
                    *value = T::from_f64(probability);
                }
            }
        }
        self.arrays.set_state(&self.stream, game, &state)
    }

    /// Runs `n` more iterations of every game, and waits for them.
    pub fn run(&mut self, n: u32) -> Result<()> {
        let mut left = n;
        while left > 0 {
            let now = left.min(MAX_ITERATIONS);
            let steps = (1..=u64::from(now)).map(|t| self.options.step(self.iteration + t).rounded());
            let steps: Vec<Step<T>> = steps.collect();
            self.arrays.solve(&self.stream, &self.kernels, &steps, self.iteration)?;
            self.iteration += u64::from(now);
            left -= now;
        }
        self.stream.synchronize()
    }

    /// Number of values of one table, by seat.
    fn lengths(&self, game: usize) -> [usize; 2] {
        [0, 1].map(|seat| self.games[game].table_len(seat))
    }

    /// Number of tables of a seat.
    fn n_tables(&self) -> usize {
        n_tables(&self.options) as usize
    }

    /// The complete state of one game.
    pub fn tables(&self, game: usize) -> Result<Tables> {
        let lengths = self.lengths(game);
        let state = self.arrays.state(&self.stream, game, self.n_tables() * (lengths[0] + lengths[1]))?;
        let mut rest = &state[..];
        let mut next = |seat: usize| {
            let (table, after) = rest.split_at(lengths[seat]);
            rest = after;
            let mut table = table.to_vec();
            clear_blocked(&self.games[game], seat, &mut table);
            T::wrap(table)
        };
        let regrets = vec![next(0), next(1)];
        let averages = vec![next(0), next(1)];
        let predictions = if self.n_tables() == 3 { vec![next(0), next(1)] } else { Vec::new() };
        let utilities = self.arrays.utilities(&self.stream)?[2 * game..2 * game + 2].to_vec();
        let (iteration, random, choice) = (self.iteration, Vec::new(), Vec::new());
        Ok(Tables { iteration, regrets, averages, predictions, utilities, random, choice })
    }

    /// Restores the state of one game. All games of a batch are at the same iteration.
    pub fn set_tables(&mut self, game: usize, tables: &Tables) -> Result<()> {
        let lengths = self.lengths(game);
        let mut state = Vec::with_capacity(self.n_tables() * (lengths[0] + lengths[1]));
        let parts =
            [("regrets", &tables.regrets), ("averages", &tables.averages), ("predictions", &tables.predictions)];
        for (name, by_seat) in &parts[..self.n_tables()] {
            for (seat, &length) in lengths.iter().enumerate() {
                let values = by_seat.get(seat).and_then(|values| T::unwrap(values));
                let values = values.filter(|values| values.len() == length).ok_or_else(|| {
                    let expected = format!("{length} values in {}", self.options.precision);
                    Error::shape(format!("{name} of seat {seat}"), expected, "another number or precision")
                })?;
                state.extend_from_slice(values);
            }
        }
        if tables.utilities.len() != 2 {
            return Err(Error::shape("utilities", 2, tables.utilities.len()));
        }
        self.arrays.set_state(&self.stream, game, &state)?;
        self.arrays.set_utilities(&self.stream, game, &tables.utilities)?;
        self.iteration = tables.iteration;
        self.stream.synchronize()
    }

    /// Sums of utilities of one game, by seat.
    pub fn utilities(&self, game: usize) -> Result<Vec<f64>> {
        Ok(self.arrays.utilities(&self.stream)?[2 * game..2 * game + 2].to_vec())
    }
}

/// Sets values of hands that the board blocks to 0, since they are meaningless.
fn clear_blocked<T: SmallKernels>(game: &VectorGame, seat: usize, table: &mut [T]) {
    let mut rows = table.chunks_exact_mut(game.hands[seat].len());
    for street in &game.streets {
        for board in &street.boards {
            for _ in 0..street.n_slots[seat] {
                let Some(row) = rows.next() else { return };
                for (value, &hand) in row.iter_mut().zip(&game.hands[seat]) {
                    if hand & board.cards != 0 {
                        *value = T::ZERO;
                    }
                }
            }
        }
    }
}

impl Games<f64> {
    /// Values and best responses of the averages of all games.
    fn measure(&mut self) -> Result<Vec<Measured>> {
        let results = self.arrays.measure(&self.stream, &self.kernels)?;
        let measured = |of_game: &[f64]| Measured {
            values: vec![of_game[0], of_game[2]],
            best_responses: vec![of_game[1], of_game[3]],
        };
        Ok(results.chunks_exact(4).map(measured).collect())
    }
}

/// Games in single precision, and copies in double precision for measuring.
pub(super) struct F32Games {
    games: Games<f32>,
    exact: Games<f64>,
}

impl F32Games {
    fn new(device: &Device, games: &[Arc<VectorGame>], options: &Options) -> Result<Self> {
        let exact = Games::new(device, games, &Options { precision: Precision::F64, ..*options })?;
        Ok(Self { games: Games::new(device, games, options)?, exact })
    }

    fn run(&mut self, n: u32) -> Result<()> {
        self.games.run(n)
    }

    fn measure(&mut self) -> Result<Vec<Measured>> {
        let widened = |values: &Values| Values::F64((0..values.len()).map(|at| values.get(at)).collect());
        for game in 0..self.games.games.len() {
            let mut tables = self.games.tables(game)?;
            for by_seat in [&mut tables.regrets, &mut tables.averages, &mut tables.predictions] {
                by_seat.iter_mut().for_each(|values| *values = widened(values));
            }
            self.exact.set_tables(game, &tables)?;
        }
        self.exact.measure()
    }

    fn utilities(&self, game: usize) -> Result<Vec<f64>> {
        self.games.utilities(game)
    }

    fn tables(&self, game: usize) -> Result<Tables> {
        self.games.tables(game)
    }
}

/// Memory of games, and of their copies in double precision for measuring.
pub(super) fn with_measuring(games: Memory, exact: &Memory) -> Memory {
    games.on_device("measuring in f64", exact.device())
}

impl Solve for SmallBatch {
    fn run(&mut self, n: u32) -> Result<()> {
        SmallBatch::run(self, n)
    }

    fn measure(&mut self) -> Result<Measured> {
        let mut all = inner!(&mut self.inner, games => games.measure())?;
        Ok(all.swap_remove(0))
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        inner!(&self.inner, games => games.utilities(0))
    }

    fn tables(&mut self) -> Result<Tables> {
        inner!(&self.inner, games => games.tables(0))
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        match &mut self.inner {
            Inner::F32(single) => single.games.set_tables(0, tables),
            Inner::F64(games) => games.set_tables(0, tables),
        }
    }
}

/// Measures of the average strategies of a game, in chips, by seat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GameMeasure {
    /// Expected winnings if both seats play the average strategy.
    pub values: [f64; 2],
    /// Expected winnings of the best response to the other's average strategy.
    pub best_responses: [f64; 2],
}

impl GameMeasure {
    /// Σ over seats of (best response − value).
    pub fn nash_conv(&self) -> f64 {
        (0..2).map(|seat| self.best_responses[seat] - self.values[seat]).sum()
    }
}

enum Inner {
    F32(Box<F32Games>),
    F64(Box<Games<f64>>),
}

/// Small two-player games in vector form, of equal or different shapes, solved at the same time: each game in one block of the GPU, with its tables in shared memory.
///
/// A game of [`Engine::Small`](crate::cfr::Engine::Small) in a [`Solver`](crate::cfr::Solver) is a batch of one. The same options and games give the same bits, which depend
/// neither on the other games of the batch nor on how the iterations are divided among calls.
///
/// This is a tool for experts: [`run`](Self::run) takes a number of iterations, without limit, `watch` or report, since there is no single solve to report on. All games
/// advance together, many iterations per launch, and the caller decides when to measure.
pub struct SmallBatch {
    inner: Inner,
    n_games: usize,
    memory: Memory,
}

impl SmallBatch {
    /// Lays the games out and allocates the memory. Games that are the same `Arc` share read-only data.
    ///
    /// # Errors
    /// [`Error::Option`] if a game does not fit in a block, or this engine does not support an option; [`Error::Shape`] without games; [`Error::Unsupported`] on the CPU
    /// back end; [`Error::OutOfMemory`] if the device has too little memory.
    pub fn new(device: &Device, games: &[Arc<VectorGame>], options: &Options) -> Result<Self> {
        if games.is_empty() {
            return Err(Error::shape("games of a batch", "at least 1", 0));
        }
        let inner = match options.precision {
            Precision::F64 => Inner::F64(Box::new(Games::new(device, games, options)?)),
            // The plan refuses 16 bits.
            _ => Inner::F32(Box::new(F32Games::new(device, games, options)?)),
        };
        let memory = match &inner {
            Inner::F64(games) => games.memory.clone(),
            Inner::F32(single) => with_measuring(single.games.memory.clone(), &single.exact.memory),
        };
        Ok(Self { inner, n_games: games.len(), memory })
    }

    /// Number of games.
    pub fn n_games(&self) -> usize {
        self.n_games
    }

    /// Runs `n` more iterations of every game, and waits for them.
    ///
    /// # Errors
    /// [`Error::Driver`] if the device fails.
    pub fn run(&mut self, n: u32) -> Result<()> {
        inner!(&mut self.inner, games => games.run(n))
    }

    /// Values and exact best responses of the average strategies, by game.
    ///
    /// # Errors
    /// [`Error::Driver`] if the device fails.
    pub fn measure(&mut self) -> Result<Vec<GameMeasure>> {
        let measured = inner!(&mut self.inner, games => games.measure())?;
        let pair = |values: &[f64]| [values[0], values[1]];
        let measure = |m: &Measured| GameMeasure { values: pair(&m.values), best_responses: pair(&m.best_responses) };
        Ok(measured.iter().map(measure).collect())
    }

    fn number(&self, game: usize) -> Result<usize> {
        if game < self.n_games {
            return Ok(game);
        }
        Err(Error::shape("number of a game", format!("below {}", self.n_games), game))
    }

    /// Sums over the iterations of the utilities of the strategies used, by seat.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such game; [`Error::Driver`] if the device fails.
    pub fn utilities(&self, game: usize) -> Result<[f64; 2]> {
        let game = self.number(game)?;
        let sums = inner!(&self.inner, games => games.utilities(game))?;
        Ok([sums[0], sums[1]])
    }

    /// A game's cumulative regrets, by seat, laid out as by [`VectorGame::offset`].
    ///
    /// # Errors
    /// As [`utilities`](Self::utilities).
    pub fn regrets(&self, game: usize) -> Result<[Vec<f64>; 2]> {
        let game = self.number(game)?;
        inner!(&self.inner, games => games.tables(game)).map(|tables| doubles(&tables.regrets))
    }

    /// A game's weighted sums of strategies, by seat, laid out as by [`VectorGame::offset`].
    ///
    /// # Errors
    /// As [`utilities`](Self::utilities).
    pub fn averages(&self, game: usize) -> Result<[Vec<f64>; 2]> {
        let game = self.number(game)?;
        inner!(&self.inner, games => games.tables(game)).map(|tables| doubles(&tables.averages))
    }

    /// Memory that was requested.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }
}

impl std::fmt::Debug for SmallBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SmallBatch").field("n_games", &self.n_games).field("memory", &self.memory).finish()
    }
}

/// Both seats' values in double precision.
fn doubles(values: &[Values]) -> [Vec<f64>; 2] {
    [0, 1].map(|seat: usize| match values.get(seat) {
        Some(Values::F32(values)) => values.iter().map(|&value| value.into()).collect(),
        Some(Values::F64(values)) => values.clone(),
        None => Vec::new(),
    })
}
