//! The paper's descent inside one launch: evaluations of the objective, each followed by a step of all values.
//!
//! A cooperative grid makes all iterations. In each, every block adds its sums of T to the evaluation's line of `sums`, the grid meets once, and then every
//! block makes the same step from the same sums, so that the new values need not be sent. A line is used once: nothing has to be cleared between two
//! iterations, and one barrier is enough.
//!
//! ```text
//!  sums   evaluation 0: | low, 13 words | 3 | high, 13 words | 3 |   evaluation 1: …        Σ T = high · 2³² + low, in multiples of 2⁻³⁶
//!  rows   evaluation 0: | 12 values | 4 |                             evaluation 1: …        the values of each evaluation
//! ```
//!
//! Twin: `warpplay_cpu_ref::shogi::material::learn`.   Source: the paper's equations (1) to (6).

use super::difference::{KINDS, float, float_of_four, learnt_kinds};
use super::fixed::fixed;
use super::sigmoid;
use crate::cuda::shared::Shared;
use crate::cuda::{DeviceArgs, atomic, memory, sync, thread, trap, warp};

/// Words of an evaluation in `sums`.
pub const SUM_WORDS: usize = 32;
/// Where the high parts begin.
pub const HIGH: usize = 16;
/// Floats of an evaluation in `rows`.
pub const ROW: usize = 16;

/// A run: some evaluations, and the steps between them.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(evaluations >= 1 && first >= 1 && end <= KINDS)]
pub struct Descent {
    /// `[evaluations * SUM_WORDS]`, 0 at the launch.
    #[len(evaluations * SUM_WORDS)]
    pub sums: *mut u64,
    /// `[evaluations * ROW]`; the first line holds the values to begin with.
    #[len(evaluations * ROW)]
    pub rows: *mut f64,
    /// One word, 0 at the launch.
    #[len(1)]
    pub arrivals: *mut u32,
    /// Slope of the sigmoid.
    pub a: f64,
    /// Step of the differences.
    pub delta: f64,
    /// Step of the first update.
    pub h: f64,
    /// Factor of `h` after each update.
    pub factor: f64,
    /// Evaluations, one more than updates.
    pub evaluations: u32,
    /// First learnt kind (1 to 12) whose J(v + Δ e) is wanted.
    pub first: u32,
    /// One after the last. With more than one evaluation all are wanted.
    pub end: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Descent>() == 72);

impl Descent {
    /// Whether the sum with kind `kind` raised is wanted; kind 0 is the sum with nothing raised.
    #[device_inline]
    pub fn wants(&self, kind: u32) -> bool {
        kind == 0 || (kind >= self.first && kind < self.end)
    }

    /// The kind after `kind` whose sum is wanted; past the last where there is none.
    #[device_inline]
    pub fn after(&self, kind: u32) -> u32 {
        if kind == 0 && self.first < self.end {
            self.first
        } else if kind > 0 && kind + 1 < self.end {
            kind + 1
        } else {
            KINDS
        }
    }

    /// The wanted kinds, as bits at the positions of [`learnt_kinds`].
    #[device_inline]
    pub fn kinds(&self) -> u64 {
        let below = |kind: u32| (1u64 << (4 * kind.clamp(1, KINDS) - 4)) - 1;
        below(self.end) & !below(self.first)
    }

    /// Adds one block's sum for `kind`.
    ///
    /// # Safety
    /// `sums` is valid, `evaluation` and `kind` are in range.
    #[device_inline]
    pub unsafe fn add(&self, evaluation: u32, kind: u32, low: u64, high: i64) {
        let at = evaluation as usize * SUM_WORDS + kind as usize;
        // SAFETY: a line of words for each evaluation; every access meanwhile is one of these.
        unsafe {
            atomic::add_u64(self.sums.add(at), low);
            atomic::add_u64(self.sums.add(at + HIGH), high as u64);
        }
    }

    /// A sum that all blocks have added to, as a pair that orders like it.
    ///
    /// # Safety
    /// As [`add`](Self::add); the grid has met since the last addition.
    #[device_inline]
    unsafe fn sum(&self, evaluation: u32, kind: u32) -> (i64, u64) {
        let at = evaluation as usize * SUM_WORDS + kind as usize;
        // SAFETY: a line of words for each evaluation, which nobody adds to any more.
        let (low, high) = unsafe { (memory::load(self.sums, at), memory::load(self.sums, at + HIGH)) };
        (high as i64 + (low >> 32) as i64, low & 0xffff_ffff)
    }
}

/// Makes all evaluations and steps of `descent`: `pass(evaluation)` adds this block's sums for the values in `values` (`[KINDS]`, the pawn's first).
///
/// # Safety
/// Called by all threads of a cooperative grid whose blocks have 13 threads or more; everything `descent` points to is valid. `pass` is called by all threads
/// alike, and ends with a barrier of the block after its last reading of `values`.
#[device_inline]
pub unsafe fn descend(descent: &Descent, values: Shared<f64>, pass: impl Fn(u32)) {
    let kind = thread::thread_idx_x();
    let mut h = descent.h;
    let mut evaluation = 0;
    if kind < KINDS {
        // SAFETY: the first line holds 12 values.
        let value = if kind == 0 { 1.0 } else { unsafe { memory::load(descent.rows, kind as usize - 1) } };
        values.set(kind, value);
    }
    loop {
        // The values of this evaluation must be there.
        sync::sync_threads();
        pass(evaluation);
        evaluation += 1;
        if evaluation >= descent.evaluations {
            break;
        }
        // SAFETY: the launch is cooperative, the word is only used here, and all threads make the same turns. Behind the barrier all blocks have added to the line; each row is written by one
        // thread of the first block and read by nobody.
        unsafe {
            sync::sync_grid(descent.arrivals);
            if kind > 0 && kind < KINDS {
                let raised = descent.sum(evaluation - 1, kind) > descent.sum(evaluation - 1, 0);
                let value = if raised { values.get(kind) - h } else { values.get(kind) + h };
                values.set(kind, value);
                if thread::block_idx_x() == 0 {
                    memory::store(descent.rows, evaluation as usize * ROW + kind as usize - 1, value);
                }
            }
        }
        h *= descent.factor;
    }
}

/// Sums of a block's threads, a column a thread: `[KINDS * BLOCK]`, so that a thread may add to any of its sums without taking a register for each.
#[derive(Clone, Copy)]
pub struct Columns<const BLOCK: u32> {
    sums: Shared<i64>,
}

impl<const BLOCK: u32> Columns<BLOCK> {
    /// The sums in this shared memory, which has `13 * BLOCK` words.
    ///
    /// # Safety
    /// The block has `BLOCK` threads or fewer, in one dimension.
    #[device_inline]
    #[track_caller]
    pub unsafe fn new(sums: Shared<i64>) -> Self {
        if sums.len() < KINDS * BLOCK {
            trap();
        }
        Self { sums }
    }

    /// Clears the thread's own sums.
    #[device_inline]
    pub fn clear(self) {
        for kind in 0..KINDS {
            self.sums.set(kind * BLOCK + thread::thread_idx_x(), 0);
        }
    }

    /// Adds to one of the thread's own sums.
    ///
    /// # Safety
    /// `kind` is one of the 13.
    #[device_inline]
    pub unsafe fn add_unchecked(self, kind: u32, value: i64) {
        let at = kind * BLOCK + thread::thread_idx_x();
        // SAFETY: a line of 13, and a column of BLOCK: the contract of `new`.
        unsafe { self.sums.set_unchecked(at, self.sums.get_unchecked(at) + value) };
    }

    /// Adds the block's sums to those of the grid. Begins and ends with a barrier.
    ///
    /// # Safety
    /// As [`Descent::add`]; called by all threads of the block, `BLOCK` of them and whole warps.
    #[device_inline]
    pub unsafe fn flush(self, descent: &Descent, evaluation: u32) {
        // All columns must be complete.
        sync::sync_threads();
        for kind in thread::strided(thread::warp_index(), KINDS, BLOCK / thread::WARP) {
            let mut sum = 0;
            for column in thread::strided(thread::lane(), BLOCK, thread::WARP) {
                sum += self.sums.get(kind * BLOCK + column);
            }
            let sum = warp::reduce_sum(sum);
            if thread::lane() == 0 {
                // SAFETY: one of the 13 kinds; the evaluation is in range.
                unsafe { descent.add(evaluation, kind, sum as u64 & 0xffff_ffff, sum >> 32) };
            }
        }
        // All columns have been read: they may be cleared.
        sync::sync_threads();
    }
}

/// Fills `powers`, `[16]`, with exp(−a Δ n) for n of −8 to 7.
#[device_inline]
pub fn fill_powers(descent: &Descent, powers: Shared<f64>) {
    let n = thread::thread_idx_x();
    if n < 16 {
        powers.set(n, sigmoid::exp(-descent.a * descent.delta * (n as i32 - 8) as f64));
    }
}

/// Adds the thirteen terms of one child, whose difference is not 0, with one exponential: exp(−a (x + Δ n)) = exp(−a x) · exp(−a Δ n), and where the
/// child's number of a kind is 0, raising the kind changes nothing. The factors of `powers` ([`fill_powers`]) cost a term an error of 2⁻⁵¹ of itself at most.
///
/// `wanted` are the kinds to be raised ([`Descent::kinds`]). The term with nothing raised is returned; the sums of `columns` get what the other terms differ from it by.
/// `values` has 13 values or more and `powers` 16.
#[device_inline]
#[track_caller]
pub fn add_fused<const BLOCK: u32>(
    descent: &Descent,
    wanted: u64,
    packed: u64,
    values: Shared<f64>,
    powers: Shared<f64>,
    columns: Columns<BLOCK>,
) -> i64 {
    if values.len() < KINDS || powers.len() < 16 {
        trap();
    }
    let mut x = float(packed, 0);
    let kinds = learnt_kinds(packed);
    let mut left = kinds;
    // In the order of the kinds: a number that is 0 would add 0.
    while left != 0 {
        let shift = left.trailing_zeros();
        let number = (packed >> (8 + shift)) as u32 & 15;
        // SAFETY: a set bit is one of the twelve, at a multiple of 4, so the slot is 12 at most, of 13.
        x += unsafe { values.get_unchecked(shift / 4 + 1) } * float_of_four(number);
        left &= left - 1;
    }
    let power = sigmoid::exp(-descent.a * x);
    let term = fixed(1.0 / (1.0 + power));
    let mut left = kinds & wanted;
    while left != 0 {
        let shift = left.trailing_zeros();
        let number = (packed >> (8 + shift)) as u32 & 15;
        // SAFETY: below 16; a kind as above.
        unsafe {
            let raised = power * powers.get_unchecked(number ^ 8);
            columns.add_unchecked(shift / 4 + 1, fixed(1.0 / (1.0 + raised)) - term);
        }
        left &= left - 1;
    }
    term
}

/// Adds the thread's sum of the terms with nothing raised to all its sums, which then are whole ones.
#[device_inline]
pub fn complete<const BLOCK: u32>(columns: Columns<BLOCK>, sum: i64) {
    for kind in 0..KINDS {
        // SAFETY: below 13.
        unsafe { columns.add_unchecked(kind, sum) };
    }
}
