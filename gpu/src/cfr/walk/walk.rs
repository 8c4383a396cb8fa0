//! The walk: a warp goes through a piece of the betting tree depth first, 32 deals side by side.
//!
//! One warp, one piece; a lane, a deal. All lanes do the same operation at the same time. The pieces of a stage need those of earlier stages only.
//!
//! Reaches and the values of the sequence at hand are in registers, those of the sequences before it in shared memory; nothing of an iteration is stored but a
//! value a piece, seat and deal. A value is what a seat wins from here on, less what it still puts in: what it has put in before is the same for all actions, so
//! regrets do not change. Regrets are read before the launch that changes them ends: a strategy on the way belongs to a later stage, one of the piece to this warp.

#![allow(clippy::needless_range_loop, reason = "the counter is part of an address or a condition too")]

use super::links::link;
use super::op::{NO_ACTION, Op, kind};
use crate::cfr::beats;
use crate::cfr::regret::{self, Real};
use crate::cuda::memory::{self, Vec4};
use crate::cuda::shared::{self, Shared};
use crate::cuda::warp::{ALL, Word};
use crate::cuda::{DeviceArgs, thread, warp};
use crate::launch::LaunchShape;

/// Actions of a limit game: fold, call, raise.
pub const ACTIONS: usize = 3;
/// Lanes, as a length of arrays.
const LANES: usize = thread::WARP as usize;

/// Values that a sequence leaves in shared memory while its followers are walked: own reach, strategy, values of the actions, sums by seat.
const fn frame(n_players: u32) -> u32 {
    1 + 2 * ACTIONS as u32 + n_players
}

/// Sequences in shared memory at a time: all but the one at hand.
const fn frames(depth: u32) -> u32 {
    if depth < 2 { 1 } else { depth - 1 }
}

/// Launch shape for `n_pieces` pieces of at most `depth` sequences below each other, for kernels of `n_players` seats.
pub const fn shape(n_pieces: u32, depth: u32, n_players: u32, value_bytes: u32) -> LaunchShape {
    LaunchShape::new(n_pieces, thread::WARP).with_shared(frames(depth) * frame(n_players) * thread::WARP * value_bytes)
}

/// What one batch does with regrets and averages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change<T> {
    /// Factor of the batch's regrets.
    pub gain: T,
    /// Factor of negative cumulative regrets after they were added; 0 is CFR+.
    pub negative: T,
    /// Weight of the batch's strategies in the average.
    pub weight: T,
    /// 0.
    pub reserved: T,
}

// SAFETY: four values of one type.
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for Change<T> {}
// SAFETY: as above, so no padding.
unsafe impl<T: bytemuck::Pod> bytemuck::Pod for Change<T> {}

/// What a walk works on. `T` is `f32` or `f64`.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Operations of all pieces.
    n_ops: u32,
    /// Pieces.
    n_pieces: u32,
    /// Rows of the tables.
    n_rows: u32,
    /// Batches on the device.
    n_batches: u32
)]
pub struct Walk<T> {
    /// Operations of all pieces, and one more.
    #[len(n_ops)]
    pub ops: *const Vec4,
    /// First operation of each piece.
    #[len(n_pieces)]
    pub pieces: *const u32,
    /// Cumulative regrets, `[row][ACTIONS]`.
    #[len(n_rows * ACTIONS)]
    pub regrets: *mut T,
    /// Sums of strategies, likewise.
    #[len(n_rows * ACTIONS)]
    pub averages: *mut T,
    /// Values, `[piece][n_players][32]`.
    #[len(n_pieces * n_players * LANES)]
    pub values: *mut T,
    /// Buckets, `[batch][n_slots][32]`.
    #[len(n_batches * n_slots * LANES)]
    pub buckets: *const u32,
    /// See [`links`](super::links), likewise.
    #[len(n_batches * n_slots * LANES)]
    pub links: *const u32,
    /// See [`beats`], `[batch][n_players][32]`.
    #[len(n_batches * n_players * LANES)]
    pub beats: *const u32,
    /// `[batch]`.
    #[len(n_batches)]
    pub changes: *const Change<T>,
    /// Sums of the root's values over all deals, `[n_players]`.
    #[len(n_players)]
    pub sums: *mut f64,
    /// The batch at hand.
    #[len(1)]
    pub next: *mut u32,
    /// Seats and rounds.
    pub n_slots: u32,
    /// Seats.
    pub n_players: u32,
    /// First piece of the stage.
    pub first: u32,
    /// Seats that learn in this pass: bit `seat`.
    pub seats: u32,
    /// The piece with the root, where this is the last pass of an iteration; else a number that no piece has.
    pub root: u32,
    /// Most sequences below each other in a piece of the stage.
    pub depth: u32,
}

const _: () = assert!(size_of::<Walk<f32>>() == 11 * 8 + 6 * 4 && size_of::<Change<f32>>() == 16);

/// An element by a number that is the same for all lanes; every index is known to the compiler, so the array stays in registers.
#[device_inline]
fn pick<T: Copy, const N: usize>(values: &[T; N], at: u32) -> T {
    let (mut value, mut other) = (values[0], 1);
    while other < N {
        if at == other as u32 {
            value = values[other];
        }
        other += 1;
    }
    value
}

/// Sets such an element.
#[device_inline]
fn put<T: Copy, const N: usize>(values: &mut [T; N], at: u32, value: T) {
    for other in 0..N {
        if at == other as u32 {
            values[other] = value;
        }
    }
}

/// Probabilities of the allowed actions of a set; 0 for the others. A lane without a deal reads no regrets, and gets those of a set without any.
///
/// # Safety
/// The table has the row.
#[device_inline]
#[track_caller]
unsafe fn strategy<T: Real>(regrets: *const T, row: usize, allowed: u32, is_dealt: bool) -> [T; ACTIONS] {
    let (mut positive, mut sum, mut action) = ([T::ZERO; ACTIONS], T::ZERO, 0);
    while action < ACTIONS {
        // `allowed` is the same for all lanes: what depends on the lane is the load alone.
        if allowed >> action & 1 != 0 && is_dealt {
            // SAFETY: a row has a regret for each action.
            positive[action] = unsafe { memory::load(regrets, row * ACTIONS + action) }.positive();
        }
        sum += positive[action];
        action += 1;
    }
    action = 0;
    while action < ACTIONS {
        let probability = regret::probability(positive[action], sum, allowed.count_ones());
        positive[action] = if allowed >> action & 1 != 0 { probability } else { T::ZERO };
        action += 1;
    }
    positive
}

/// The sequence at hand.
#[derive(Clone, Copy)]
struct Level<T, const N: usize> {
    /// The acting seat's own reach.
    own: T,
    strategy: [T; ACTIONS],
    /// Value of each action to the acting seat.
    actions: [T; ACTIONS],
    /// Mean value over the actions so far, by seat.
    sums: [T; N],
}

impl<T: Real, const N: usize> Level<T, N> {
    /// A sequence none of whose actions has been walked.
    #[device_inline]
    fn new(own: T, strategy: [T; ACTIONS]) -> Self {
        Self { own, strategy, actions: [T::ZERO; ACTIONS], sums: [T::ZERO; N] }
    }

    /// Offset of the lane's value `field` at a depth: neighbouring lanes are neighbouring words.
    #[device_inline]
    fn offset(depth: u32, field: u32) -> u32 {
        (depth * frame(N as u32) + field) * thread::WARP + thread::lane()
    }

    /// Leaves the sequence for one behind it. Each lane reads its own column only, so no barrier is needed.
    #[device_inline]
    #[track_caller]
    fn push(&self, frames: Shared<T>, depth: u32) {
        frames.set(Self::offset(depth, 0), self.own);
        let mut at = 0;
        while at < ACTIONS {
            frames.set(Self::offset(depth, 1 + at as u32), self.strategy[at]);
            frames.set(Self::offset(depth, 1 + (ACTIONS + at) as u32), self.actions[at]);
            at += 1;
        }
        at = 0;
        while at < N {
            frames.set(Self::offset(depth, 1 + (2 * ACTIONS + at) as u32), self.sums[at]);
            at += 1;
        }
    }

    /// Comes back to it.
    #[device_inline]
    #[track_caller]
    fn pop(&mut self, frames: Shared<T>, depth: u32) {
        self.own = frames.get(Self::offset(depth, 0));
        let mut at = 0;
        while at < ACTIONS {
            self.strategy[at] = frames.get(Self::offset(depth, 1 + at as u32));
            self.actions[at] = frames.get(Self::offset(depth, 1 + (ACTIONS + at) as u32));
            at += 1;
        }
        at = 0;
        while at < N {
            self.sums[at] = frames.get(Self::offset(depth, 1 + (2 * ACTIONS + at) as u32));
            at += 1;
        }
    }

    /// Adds what an action of `seat` brings.
    #[device_inline]
    fn add(&mut self, action: u32, seat: u32, cost: T, mut values: [T; N]) {
        let own = pick(&values, seat) - cost;
        put(&mut values, seat, own);
        put(&mut self.actions, action, own);
        let (probability, mut at) = (pick(&self.strategy, action), 0);
        while at < N {
            self.sums[at] += probability * values[at];
            at += 1;
        }
    }
}

/// Adds a sequence's regrets and strategies of all lanes to the tables: the lanes of one bucket are summed by doubling, in an order that depends on the deals only,
/// and the first of them writes.
///
/// # Safety
/// As [`walk`]; the operation names a sequence of the warp's piece, and all lanes are here.
#[device_inline]
#[track_caller]
unsafe fn learn<T: Real + Word, const N: usize>(
    walk: &Walk<T>,
    change: &Change<T>,
    op: &Op,
    level: &Level<T, N>,
    others: T,
    bucket: u32,
    link: u32,
) {
    let mean = pick(&level.sums, op.seat);
    let (mut gains, mut played) = ([T::ZERO; ACTIONS], [T::ZERO; ACTIONS]);
    let mut action = 0;
    if link::is_dealt(link) {
        while action < ACTIONS {
            gains[action] = others * (level.actions[action] - mean);
            played[action] = level.own * level.strategy[action];
            action += 1;
        }
    }
    let (mut k, steps) = (0, link::steps(link));
    while k < steps {
        let behind = link::behind(link, k);
        let is_last = behind == thread::lane();
        action = 0;
        while action < ACTIONS {
            let gain = warp::shuffle(ALL, gains[action], behind);
            let play = warp::shuffle(ALL, played[action], behind);
            if !is_last {
                gains[action] += gain;
                played[action] += play;
            }
            action += 1;
        }
        k += 1;
    }
    if link::is_first(link) {
        let row = (op.index as usize + bucket as usize) * ACTIONS;
        action = 0;
        while action < ACTIONS {
            if op.allowed >> action & 1 != 0 {
                // SAFETY: the tables have the row, which in this launch is this warp's, and of the warp's lanes this one's.
                unsafe {
                    let sum = memory::load(walk.regrets, row + action) + change.gain * gains[action];
                    let sum = if sum < T::ZERO { sum * change.negative } else { sum };
                    memory::store(walk.regrets, row + action, sum);
                    let average = memory::load(walk.averages, row + action) + change.weight * played[action];
                    memory::store(walk.averages, row + action, average);
                }
            }
            action += 1;
        }
    }
}

/// Reach of all seats but one.
#[device_inline]
fn others<T: Real, const N: usize>(reaches: &[T; N], of: u32) -> T {
    let (mut others, mut seat) = (T::ONE, 0);
    while seat < N {
        if seat as u32 != of {
            others *= reaches[seat];
        }
        seat += 1;
    }
    others
}

/// Adds the root's values of all deals to the sums, and counts the batch.
///
/// # Safety
/// As [`walk`]; the piece is the root's, alone in the last stage, and every lane has read `next`.
#[device_inline]
#[track_caller]
unsafe fn count<T: Real, const N: usize>(walk: &Walk<T>, values: &[T; N], batch: usize, is_dealt: bool) {
    // SAFETY: the walk has a sum for each of `n_players` seats and the number of the batch, which all lanes have read; no other warp is there, since the piece is alone in its stage.
    unsafe {
        for seat in 0..N {
            // A loop with a shuffle stays a loop, so the index is not known to the compiler.
            let value = pick(values, seat as u32).to_f64();
            let sum = warp::reduce_sum(if is_dealt { value } else { 0.0 });
            if thread::lane() == 0 && (seat as u32) < walk.n_players {
                memory::store(walk.sums, seat, memory::load(walk.sums, seat) + sum);
            }
        }
        if thread::lane() == 0 {
            memory::store(walk.next, 0, batch as u32 + 1);
        }
    }
}

/// Leaves the values of the warp's piece for the pieces that need them, or counts them where the piece is the root's.
///
/// # Safety
/// As [`walk`]; the piece is the warp's.
#[device_inline]
#[track_caller]
unsafe fn hand_on<T: Real, const N: usize>(walk: &Walk<T>, values: &[T; N], number: u32, batch: usize, is_dealt: bool) {
    let lane = thread::lane() as usize;
    // SAFETY: a value for each seat and lane of the piece; every lane has read `next`.
    unsafe {
        for seat in 0..N {
            if (seat as u32) < walk.n_players {
                let offset = (number as usize * walk.n_players as usize + seat) * LANES + lane;
                memory::store(walk.values, offset, values[seat]);
            }
        }
        if number == walk.root {
            count(walk, values, batch, is_dealt);
        }
    }
}

/// Who beats whom among the lane's hands, a word for each seat; 0 for seats that there are not.
///
/// # Safety
/// `walk` is a launch's, `batch` one of its batches and `lane` below [`LANES`].
#[device_inline]
#[track_caller]
unsafe fn beats_of_seats<T: Real, const N: usize>(walk: &Walk<T>, batch: usize, lane: usize) -> [u32; N] {
    let mut words = [0u32; N];
    for seat in 0..N {
        if (seat as u32) < walk.n_players {
            let offset = (batch * walk.n_players as usize + seat) * LANES + lane;
            // SAFETY: the seat is below `n_players`, and a launch's `beats` have a word for each batch, seat and lane.
            words[seat] = unsafe { memory::load(walk.beats, offset) };
        }
    }
    words
}

/// Adds each seat's share of a pot, to nothing where it is the first pot of its end.
#[device_inline]
fn share_pot<T: Real, const N: usize>(op: &Op, words: &[u32; N], values: &mut [T; N]) {
    let mut seat = 0;
    while seat < N {
        if op.first {
            values[seat] = T::ZERO;
        }
        if op.index >> seat & 1 != 0 {
            let winners = beats::winners(words[seat], op.index);
            let pot = T::from_f64(op.pot as f64);
            if winners == 1 {
                values[seat] += pot;
            } else if winners > 1 {
                values[seat] += pot / T::from_u32(winners);
            }
        }
        seat += 1;
    }
}

/// Follows the action of a sequence before the piece, played by strategy `matched`.
#[device_inline]
fn follow<T: Real, const N: usize>(op: &Op, matched: &[T; ACTIONS], reaches: &mut [T; N]) {
    let reach = pick(reaches, op.seat) * pick(matched, op.action);
    put(reaches, op.seat, reach);
}

/// Goes into a sequence in which a seat acts by strategy `matched`; the one at hand is left in shared memory, unless this is the piece's first.
#[device_inline]
#[track_caller]
fn enter<T: Real, const N: usize>(
    op: &Op,
    matched: [T; ACTIONS],
    level: &mut Level<T, N>,
    reaches: &mut [T; N],
    frames: Shared<T>,
    depth: &mut u32,
) {
    if op.action != NO_ACTION {
        level.push(frames, *depth);
        *depth += 1;
        let reach = level.own * pick(&level.strategy, op.action);
        put(reaches, op.before, reach);
    }
    *level = Level::new(pick(reaches, op.seat), matched);
}

/// Comes back from a sequence with its values to the one before it, unless this was the piece's first.
#[device_inline]
#[track_caller]
fn leave<T: Real, const N: usize>(
    op: &Op,
    values: [T; N],
    level: &mut Level<T, N>,
    reaches: &mut [T; N],
    frames: Shared<T>,
    depth: &mut u32,
) {
    if op.action != NO_ACTION {
        *depth -= 1;
        level.pop(frames, *depth);
        put(reaches, op.before, level.own);
        level.add(op.action, op.before, T::from_f64(op.cost as f64), values);
    }
}

/// Walks a piece of a stage.
///
/// # Safety
/// Launched with [`shape`] for a stage after all earlier stages of the batch; all that `walk` points to is of the game.
#[device_inline]
pub(super) unsafe fn walk<T: Real + Word, const N: usize>(walk: Walk<T>) {
    let (lane, number) = (thread::lane() as usize, walk.first + thread::block_idx_x());
    let frames = shared::dynamic::<T>(0, frames(walk.depth) * frame(N as u32) * thread::WARP);
    let mut reaches = [T::ONE; N];
    let mut level = Level::new(T::ONE, [T::ZERO; ACTIONS]);
    let (mut values, mut depth) = ([T::ZERO; N], 0);
    // SAFETY: a launch's arrays have the lengths that `Walk` says. Operations name rows, slots, seats and pieces that exist, and end with STOP before the last; columns are each one lane's.
    unsafe {
        let batch = memory::load(walk.next, 0) as usize;
        let change = memory::load(walk.changes, batch);
        let of_slots = batch * walk.n_slots as usize * LANES + lane;
        let words = beats_of_seats::<T, N>(&walk, batch, lane);
        // All slots have the same lanes without deals. Their buckets are those of other lanes, whose rows they must not read while these write them.
        let is_dealt = link::is_dealt(memory::load(walk.links, of_slots));
        let mut at = memory::load(walk.pieces, number as usize) as usize;
        let mut packed = memory::load_vec4(walk.ops.add(at));
        loop {
            let op = Op::unpacked(packed);
            if op.kind == kind::STOP {
                break;
            }
            // The next operation is on its way while this one is done.
            at += 1;
            packed = memory::load_vec4(walk.ops.add(at));
            if op.kind == kind::END {
                share_pot(&op, &words, &mut values);
                if op.last {
                    level.add(op.action, op.seat, T::from_f64(op.cost as f64), values);
                }
            } else if op.kind == kind::LEAF {
                for seat in 0..N {
                    if (seat as u32) < walk.n_players {
                        let offset = (op.index as usize * walk.n_players as usize + seat) * LANES + lane;
                        values[seat] = memory::load(walk.values, offset);
                    }
                }
                level.add(op.action, op.seat, T::from_f64(op.cost as f64), values);
            } else {
                let slot = of_slots + op.slot as usize * LANES;
                let bucket = memory::load(walk.buckets, slot);
                if op.kind == kind::EXIT {
                    if walk.seats >> op.seat & 1 != 0 {
                        let others = others(&reaches, op.seat);
                        learn(&walk, &change, &op, &level, others, bucket, memory::load(walk.links, slot));
                    }
                    values = level.sums;
                    leave(&op, values, &mut level, &mut reaches, frames, &mut depth);
                } else {
                    let matched = strategy(walk.regrets, op.index as usize + bucket as usize, op.allowed, is_dealt);
                    if op.kind == kind::PATH {
                        follow(&op, &matched, &mut reaches);
                    } else {
                        enter(&op, matched, &mut level, &mut reaches, frames, &mut depth);
                    }
                }
            }
        }
        hand_on(&walk, &values, number, batch, is_dealt);
    }
}
