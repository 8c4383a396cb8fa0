//! The walk without kernels: the same pieces and operations, the deals of a batch side by side, the pieces of a stage by the threads of a pool.
//!
//! Additions are in the order of the kernels: depth first in a piece, and for each row the deals of its bucket by doubling.

#![allow(clippy::needless_range_loop, reason = "a lane is the index of several arrays at a time")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;
use warpplay_gpu::cfr::beats::{self, MAX_PLAYERS};
use warpplay_gpu::cfr::regret::{self, Real};
use warpplay_gpu::cfr::walk::op::{NO_ACTION, Op, kind};
use warpplay_gpu::cfr::walk::walk::{ACTIONS, Change};

use super::draws::Draws;
use super::kernels::{BATCHES, Batches, LANES};
use super::measure::measure;
use super::plan::Plan;
use crate::cfr::engines::Solve;
use crate::cfr::layout::{Measured, Number, Tables};
use crate::cfr::options::Options;
use crate::runtime::threads::Threads;
use crate::{Error, Memory, Precision, Result};

/// Number of pieces that a thread takes at a time; a piece is some microseconds of work.
const PART: usize = 8;

/// An engine whose tables can be read in parts.
pub(super) trait Reading: Solve {
    /// Regrets and averages of a row.
    fn row(&self, row: usize) -> Result<[[f64; ACTIONS]; 2]>;
}

/// A number type of the tables. Pieces of a stage write different rows, but their rows are interleaved, so each number is an atomic word; without contention it costs no
/// more than a plain one.
pub(super) trait Stored: Real + Number {
    type Word: Send + Sync;
    fn word(self) -> Self::Word;
    fn get(word: &Self::Word) -> Self;
    fn put(word: &Self::Word, value: Self);
}

macro_rules! stored {
    ($type:ty, $word:ty) => {
        impl Stored for $type {
            type Word = $word;

            fn word(self) -> $word {
                <$word>::new(self.to_bits())
            }

            #[inline(always)]
            fn get(word: &$word) -> Self {
                Self::from_bits(word.load(Ordering::Relaxed))
            }

            #[inline(always)]
            fn put(word: &$word, value: Self) {
                word.store(value.to_bits(), Ordering::Relaxed);
            }
        }
    };
}
stored!(f32, AtomicU32);
stored!(f64, AtomicU64);

/// Number of lanes computed for a batch of this many deals.
fn lanes(batch: u32) -> usize {
    match batch {
        1 => 1,
        2..=8 => 8,
        _ => LANES,
    }
}

/// Memory of a solve, all of it counted as the host's.
pub(super) fn memory(plan: &Plan, options: &Options) -> Memory {
    let value = if options.precision == Precision::F64 { 8 } else { 4 };
    let values = plan.pieces.starts.len() * plan.sequences.n_players * lanes(options.batch);
    Memory::default()
        .on_host("regrets and averages", 2 * plan.n_values() as u64 * value)
        .on_host("values", values as u64 * value)
        .on_host("lists of operations", (plan.pieces.ops.len() * 16 + plan.pieces.starts.len() * 4) as u64)
}

/// Deals of one slot of a batch that share a bucket, in the order of their lanes.
type Groups = Vec<Vec<usize>>;

/// The data of one batch that pieces read.
struct Batch<'a, T> {
    /// `[slot][LANES]`.
    buckets: &'a [u32],
    /// `[seat][LANES]`.
    beats: &'a [u32],
    /// By slot.
    groups: Vec<Groups>,
    change: Change<T>,
    /// Seats that learn: bit `seat`.
    seats: u32,
}

/// Deals of a slot by bucket.
fn groups(buckets: &[u32], n_deals: usize) -> Groups {
    let mut groups: Vec<(u32, Vec<usize>)> = Vec::new();
    for (lane, &bucket) in buckets.iter().enumerate().take(n_deals) {
        match groups.iter_mut().find(|(other, _)| *other == bucket) {
            Some((_, lanes)) => lanes.push(lane),
            None => groups.push((bucket, vec![lane])),
        }
    }
    groups.into_iter().map(|(_, lanes)| lanes).collect()
}

/// The state of a walked sequence, by lane.
#[derive(Clone, Copy)]
struct Level<T, const L: usize> {
    own: [T; L],
    strategy: [[T; L]; ACTIONS],
    actions: [[T; L]; ACTIONS],
    sums: [[T; L]; MAX_PLAYERS],
}

impl<T: Real, const L: usize> Level<T, L> {
    fn new(own: [T; L], strategy: [[T; L]; ACTIONS]) -> Self {
        Self { own, strategy, actions: [[T::ZERO; L]; ACTIONS], sums: [[T::ZERO; L]; MAX_PLAYERS] }
    }

    /// Adds the values of an action of `seat`.
    fn add(&mut self, op: &Op, seat: usize, mut values: [[T; L]; MAX_PLAYERS], n_players: usize) {
        let (action, cost) = (op.action as usize, T::from_f64(f64::from(op.cost)));
        for value in &mut values[seat] {
            *value -= cost;
        }
        self.actions[action] = values[seat];
        for (sums, values) in self.sums.iter_mut().zip(&values).take(n_players) {
            for lane in 0..L {
                sums[lane] += self.strategy[action][lane] * values[lane];
            }
        }
    }
}

/// The walk on the CPU.
pub(super) struct OnCpu<T: Stored> {
    plan: Arc<Plan>,
    options: Options,
    threads: Threads,
    draws: Draws,
    regrets: Vec<T::Word>,
    averages: Vec<T::Word>,
    /// Values of each piece, `[piece][n_players][lanes]`.
    values: Vec<T>,
    sums: Vec<f64>,
    iteration: u64,
}

impl<T: Stored> OnCpu<T> {
    /// Allocates the memory.
    pub fn new(plan: &Arc<Plan>, options: &Options) -> Result<Self> {
        let (n_players, n_values) = (plan.sequences.n_players, plan.n_values());
        let zeros = || (0..n_values).map(|_| T::ZERO.word()).collect();
        Ok(Self {
            options: *options,
            threads: Threads::pooled(options.threads)?,
            draws: Draws::new(plan, options)?,
            regrets: zeros(),
            averages: zeros(),
            values: vec![T::ZERO; plan.pieces.starts.len() * n_players * lanes(options.batch)],
            sums: vec![0.0; n_players],
            iteration: 0,
            plan: Arc::clone(plan),
        })
    }

    /// Runs the batches that were drawn.
    fn batches<const L: usize>(&mut self, drawn: &Batches<T>, passes: &[u32]) {
        let (n_players, n_slots) = (self.plan.sequences.n_players, self.plan.n_slots());
        let n_deals = self.options.batch as usize;
        for (number, &change) in drawn.changes.iter().enumerate() {
            let buckets = &drawn.buckets[number * n_slots * LANES..][..n_slots * LANES];
            let beats = &drawn.beats[number * n_players * LANES..][..n_players * LANES];
            let groups = buckets.chunks(LANES).map(|slot| groups(slot, n_deals)).collect();
            let mut batch = Batch { buckets, beats, groups, change, seats: 0 };
            for &seats in passes {
                batch.seats = seats;
                self.pass::<L>(&batch);
            }
            let root = (self.plan.pieces.starts.len() - 1) * n_players * L;
            for (seat, sum) in self.sums.iter_mut().enumerate() {
                let mut values = [0.0; LANES];
                for (value, won) in values.iter_mut().zip(&self.values[root + seat * L..][..L]).take(n_deals) {
                    *value = won.to_f64();
                }
                *sum += halved(values);
            }
        }
    }

    /// Walks all pieces, stage by stage.
    fn pass<const L: usize>(&mut self, batch: &Batch<'_, T>) {
        let Self { plan, regrets, averages, values, .. } = self;
        let each = plan.sequences.n_players * L;
        for stage in &plan.pieces.stages {
            let (before, now) = values.split_at_mut(stage.first as usize * each);
            let now = &mut now[..stage.n as usize * each];
            let walk = Walk::<T, L> { plan, batch, regrets, averages, before };
            let piece = |frames: &mut Vec<Level<T, L>>, (number, values): (usize, &mut [T])| {
                walk.piece(stage.first as usize + number, values, frames);
            };
            if stage.n as usize <= PART {
                let mut frames = Vec::with_capacity(stage.depth as usize);
                now.chunks_mut(each).enumerate().for_each(|work| piece(&mut frames, work));
            } else {
                let work = now.par_chunks_mut(each).enumerate().with_min_len(PART);
                work.for_each_init(|| Vec::with_capacity(stage.depth as usize), piece);
            }
        }
    }
}

/// Sums a batch's values by halving, in the order of a warp's reduction.
fn halved(mut values: [f64; LANES]) -> f64 {
    let mut n = LANES / 2;
    while n > 0 {
        for at in 0..n {
            values[at] += values[at + n];
        }
        n /= 2;
    }
    values[0]
}

/// Data shared by the pieces of a stage.
struct Walk<'a, T: Stored, const L: usize> {
    plan: &'a Plan,
    batch: &'a Batch<'a, T>,
    regrets: &'a [T::Word],
    averages: &'a [T::Word],
    /// Values of the pieces of earlier stages.
    before: &'a [T],
}

impl<T: Stored, const L: usize> Walk<'_, T, L> {
    /// Walks a piece and writes its values, `[n_players][L]`.
    fn piece(&self, number: usize, out: &mut [T], frames: &mut Vec<Level<T, L>>) {
        let n_players = self.plan.sequences.n_players;
        let mut reaches = [[T::ONE; L]; MAX_PLAYERS];
        let mut values = [[T::ZERO; L]; MAX_PLAYERS];
        let mut level = Level::new([T::ONE; L], [[T::ZERO; L]; ACTIONS]);
        for &packed in &self.plan.pieces.ops[self.plan.pieces.starts[number] as usize..] {
            let op = Op::unpacked(packed);
            let (seat, before) = (op.seat as usize, op.before as usize);
            match op.kind {
                kind::STOP => break,
                kind::END => {
                    self.pot(&op, &mut values);
                    if op.last {
                        level.add(&op, seat, values, n_players);
                    }
                }
                kind::LEAF => {
                    let there = &self.before[op.index as usize * n_players * L..][..n_players * L];
                    for (values, there) in values.iter_mut().zip(there.chunks(L)) {
                        values.copy_from_slice(there);
                    }
                    level.add(&op, seat, values, n_players);
                }
                kind::EXIT => {
                    if self.batch.seats >> seat & 1 != 0 {
                        self.learn(&op, &level, &reaches);
                    }
                    values = level.sums;
                    if op.action != NO_ACTION
                        && let Some(last) = frames.pop()
                    {
                        level = last;
                        reaches[before] = level.own;
                        level.add(&op, before, values, n_players);
                    }
                }
                kind::PATH => {
                    let strategy = self.strategy(&op);
                    for lane in 0..L {
                        reaches[seat][lane] *= strategy[op.action as usize][lane];
                    }
                }
                _ => {
                    let strategy = self.strategy(&op);
                    if op.action != NO_ACTION {
                        frames.push(level);
                        for lane in 0..L {
                            reaches[before][lane] = level.own[lane] * level.strategy[op.action as usize][lane];
                        }
                    }
                    level = Level::new(reaches[seat], strategy);
                }
            }
        }
        for (out, values) in out.chunks_mut(L).zip(&values) {
            out.copy_from_slice(values);
        }
    }

    /// Divides a pot of an end.
    fn pot(&self, op: &Op, values: &mut [[T; L]; MAX_PLAYERS]) {
        let pot = T::from_f64(f64::from(op.pot));
        for (seat, values) in values.iter_mut().enumerate().take(self.plan.sequences.n_players) {
            if op.first {
                *values = [T::ZERO; L];
            }
            if op.index >> seat & 1 != 0 {
                let words = &self.batch.beats[seat * LANES..][..L];
                for (value, &word) in values.iter_mut().zip(words) {
                    match beats::winners(word, op.index) {
                        0 => {}
                        1 => *value += pot,
                        n => *value += pot / T::from_u32(n),
                    }
                }
            }
        }
    }

    /// Row of a sequence in a lane's deal.
    fn row(&self, op: &Op, lane: usize) -> usize {
        (op.index + self.batch.buckets[op.slot as usize * LANES + lane]) as usize * ACTIONS
    }

    /// Strategies of a sequence, by lane; 0 for actions that are not allowed.
    fn strategy(&self, op: &Op) -> [[T; L]; ACTIONS] {
        let mut strategy = [[T::ZERO; L]; ACTIONS];
        let n_allowed = op.allowed.count_ones();
        for lane in 0..L {
            let row = self.row(op, lane);
            let (mut positive, mut sum) = ([T::ZERO; ACTIONS], T::ZERO);
            for (action, positive) in positive.iter_mut().enumerate() {
                if op.allowed >> action & 1 != 0 {
                    *positive = T::get(&self.regrets[row + action]).positive();
                }
                sum += *positive;
            }
            for (action, positive) in positive.into_iter().enumerate() {
                if op.allowed >> action & 1 != 0 {
                    strategy[action][lane] = regret::probability(positive, sum, n_allowed);
                }
            }
        }
        strategy
    }

    /// Adds a sequence's regrets and strategies to the tables: the deals of one bucket are summed pairwise and written once.
    fn learn(&self, op: &Op, level: &Level<T, L>, reaches: &[[T; L]; MAX_PLAYERS]) {
        let seat = op.seat as usize;
        let change = &self.batch.change;
        let mut others = [T::ONE; L];
        for (other, reaches) in reaches.iter().enumerate().take(self.plan.sequences.n_players) {
            if other != seat {
                for lane in 0..L {
                    others[lane] *= reaches[lane];
                }
            }
        }
        for lanes in &self.batch.groups[op.slot as usize] {
            let n = lanes.len();
            let (mut gains, mut played) = ([[T::ZERO; ACTIONS]; L], [[T::ZERO; ACTIONS]; L]);
            for (at, &lane) in lanes.iter().enumerate() {
                for action in 0..ACTIONS {
                    gains[at][action] = others[lane] * (level.actions[action][lane] - level.sums[seat][lane]);
                    played[at][action] = level.own[lane] * level.strategy[action][lane];
                }
            }
            let mut distance = 1;
            while distance < n {
                // In ascending order, so that what is added was not yet added to in this round.
                for at in 0..n - distance {
                    for action in 0..ACTIONS {
                        let (gain, play) = (gains[at + distance][action], played[at + distance][action]);
                        gains[at][action] += gain;
                        played[at][action] += play;
                    }
                }
                distance *= 2;
            }
            let row = self.row(op, lanes[0]);
            for action in (0..ACTIONS).filter(|action| op.allowed >> action & 1 != 0) {
                let (regret, average) = (&self.regrets[row + action], &self.averages[row + action]);
                let sum = T::get(regret) + change.gain * gains[0][action];
                T::put(regret, if sum < T::ZERO { sum * change.negative } else { sum });
                T::put(average, T::get(average) + change.weight * played[0][action]);
            }
        }
    }
}

impl<T: Stored> Solve for OnCpu<T> {
    fn run(&mut self, n: u32) -> Result<()> {
        let passes = self.draws.passes();
        let mut left = n as usize;
        while left > 0 {
            let done = left.min(BATCHES);
            // The pool is taken out for the work, which has the whole engine.
            let threads = std::mem::replace(&mut self.threads, Threads::All);
            threads.run_inside(|| {
                let drawn: Batches<T> = self.draws.draw(self.iteration, done);
                match lanes(self.options.batch) {
                    1 => self.batches::<1>(&drawn, &passes),
                    8 => self.batches::<8>(&drawn, &passes),
                    _ => self.batches::<LANES>(&drawn, &passes),
                }
            });
            self.threads = threads;
            self.iteration += done as u64;
            left -= done;
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<Measured> {
        measure(&self.plan, || Ok(self.averages.iter().map(|word| T::get(word).to_f64()).collect()))
    }

    fn utilities(&mut self) -> Result<Vec<f64>> {
        Ok(self.plan.winnings(&self.sums, self.iteration * u64::from(self.options.batch)))
    }

    fn tables(&mut self) -> Result<Tables> {
        let read = |words: &[T::Word]| self.plan.by_seat(&words.iter().map(T::get).collect::<Vec<T>>());
        Ok(Tables {
            iteration: self.iteration,
            regrets: read(&self.regrets),
            averages: read(&self.averages),
            predictions: Vec::new(),
            utilities: self.sums.clone(),
            random: vec![self.draws.state()],
            choice: Vec::new(),
        })
    }

    fn set_tables(&mut self, tables: &Tables) -> Result<()> {
        let &[state] = tables.random.as_slice() else {
            return Err(Error::shape("state of the generator", 1, tables.random.len()));
        };
        if tables.utilities.len() != self.sums.len() {
            return Err(Error::shape("utilities", self.sums.len(), tables.utilities.len()));
        }
        let regrets: Vec<T> = self.plan.in_rows("regrets", &tables.regrets)?;
        let averages: Vec<T> = self.plan.in_rows("averages", &tables.averages)?;
        self.draws.set_state(state)?;
        self.regrets.iter().zip(regrets).for_each(|(word, value)| T::put(word, value));
        self.averages.iter().zip(averages).for_each(|(word, value)| T::put(word, value));
        self.sums.clone_from(&tables.utilities);
        self.iteration = tables.iteration;
        Ok(())
    }
}

impl<T: Stored> Reading for OnCpu<T> {
    fn row(&self, row: usize) -> Result<[[f64; ACTIONS]; 2]> {
        let read = |words: &[T::Word]| std::array::from_fn(|action| T::get(&words[row * ACTIONS + action]).to_f64());
        Ok([read(&self.regrets), read(&self.averages)])
    }
}
