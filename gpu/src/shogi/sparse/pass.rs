//! One pass over positions: evaluations of all children, the loss and the ranks, and the gradient. Everything in one launch, for every set of features.
//!
//! A block, a parent after the other; a warp of it, a child after the other.
//!
//! A child is evaluated by what differs from its parent. A perspective whose kings stay loses the terms of the slots that change and wins those of their new
//! numbers; one whose king moves is counted anew. What a slot's old number takes away is summed once a parent: a child reads one sum for it. In the same way the
//! gradient of all that children take away from a slot is summed first, and the parent's terms get it once.
//!
//! ```text
//! parent's list -> rows of both perspectives -> (pairs: weights of all 2 * 703 pairs) -> what each slot is worth
//!   each child: y = sum of new terms - worth of what went          -> evaluations
//!   block:      x = y - y of child 0, T, the ranks, slopes         -> totals
//!   each child: new terms += slope, slots that changed += slope   -> gradient
//!   block:      parent's terms -= slopes of their slots           -> gradient
//! ```
//!
//! Sums are exact: weights are multiples of 2⁻³⁰ below 2¹⁰, so that the `f64` sum of up to 2¹³ = 8,192 of them is not rounded. The most are 5,700, of a child of
//! `kpp` whose 38 pieces all change while the kings stay: for both perspectives 38 · 37 that went, 703 new pairs and 703 that went twice, and 76 values. An
//! evaluation is in the end the difference of two positions of at most 1,444 weights each, and so is the difference of two evaluations. Terms of loss and gradient
//! are whole multiples of 2⁻³⁶. So blocks, warps and their order leave no trace in the bits.

use super::draw::is_drawn;
use super::index::{HAND_VALUES, NONE, Set, is_mirrored, kind_and_side, sets, tri, view_square};
use crate::cuda::shared::Shared;
use crate::cuda::warp::{self, ALL};
use crate::cuda::{DeviceArgs, atomic, block, kernel, math, memory, shared_array, sync, thread};
use crate::launch::LaunchShape;
use crate::shogi::fixed::fixed;
use crate::shogi::piece::{BLACK_KING, PIECES, SLOTS, WHITE_KING};

/// Threads of a block.
pub const BLOCK: u32 = 128;
/// Blocks that a multiprocessor holds at once: as many as leave each thread the 93 registers that it needs.
pub const BLOCKS: u32 = 5;
/// Warps of a block.
const WARPS: u32 = BLOCK / thread::WARP;
/// Pairs of pieces.
const N_PAIRS: u32 = PIECES * (PIECES - 1) / 2;
/// Rows of both perspectives, a slot each.
const BOTH: u32 = 2 * SLOTS;
/// Length of [`BOTH`] rows for every warp.
const OF_WARPS: usize = (WARPS * BOTH) as usize;

/// Launch shape of `n_blocks` blocks.
pub const fn shape(n_blocks: u32) -> LaunchShape {
    LaunchShape::new(if n_blocks == 0 { 1 } else { n_blocks }, BLOCK)
}

/// Where the sums of [`Pass::totals`] stand. Sums that may not fit 64 bits are two: of the terms' lower 32 bits, and of the rest.
pub mod total {
    /// Loss, lower bits; then the rest.
    pub const LOSS: usize = 0;
    /// Children that count.
    pub const CHILDREN: usize = 2;
    /// Parents with children.
    pub const PARENTS: usize = 3;
    /// Played moves that rank first, lower bits; then the rest.
    pub const FIRST: usize = 4;
    /// Among the first three, lower bits; then the rest.
    pub const FIRST_THREE: usize = 6;
    /// Sums.
    pub const LEN: usize = 8;
}

/// What a pass works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Parents that there are.
    n_all: usize,
    /// Children of all parents.
    n_children: usize,
    /// Changes of all children.
    n_changes: usize,
    /// Parameters of the set.
    n_weights: usize
)]
pub struct Pass {
    /// Lists of all parents, `[n_all][40]`.
    #[len(n_all * SLOTS)]
    pub pieces: *const u16,
    /// Who moves, a parent each.
    #[len(n_all)]
    pub sides: *const u8,
    /// Half-moves before.
    #[len(n_all)]
    pub plies: *const u16,
    /// Hashes of games.
    #[len(n_all)]
    pub games: *const u64,
    /// First children, `[n_all + 1]`.
    #[len(n_all + 1)]
    pub first_child: *const u32,
    /// Played moves among the children, from 1.
    #[len(n_all)]
    pub played: *const u16,
    /// First changes, `[n_children + 1]`.
    #[len(n_children + 1)]
    pub first_change: *const u32,
    /// Changes, `slot << 16 | number`, `[n_changes]`.
    #[len(n_changes)]
    pub changes: *const u32,
    /// The parents that are worked on, `[n_parents]`, in this order: those whose kings stand alike beside each other.
    #[len(n_parents)]
    pub order: *const u32,
    /// Weights of the set.
    #[len(n_weights)]
    pub weights: *const f32,
    /// Gradient of the set, two's complement, added to; may be null without.
    #[len(if with_gradient != 0 { n_weights } else { 0 })]
    pub gradient: *mut u64,
    /// Evaluations of the children, seen from the side that moved, `[n_children]`.
    #[len(n_children)]
    pub evaluations: *mut f64,
    /// Slopes of the children, `[n_children]`; may be null without gradient.
    #[len(if with_gradient != 0 { n_children } else { 0 })]
    pub slopes: *mut u64,
    /// See [`total`]; added to.
    #[len(total::LEN)]
    pub totals: *mut u64,
    /// Slope of the sigmoid.
    pub a: f64,
    /// Largest difference that counts.
    pub window: f64,
    /// Seed of the draw.
    pub seed: u64,
    /// Parents that are worked on: all, or some.
    pub n_parents: u32,
    /// Most siblings that count; 0 for all.
    pub siblings: u32,
    /// 1 for the gradient.
    pub with_gradient: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Pass>() == 152);

/// Shared memory of a block: the parent, what its slots are worth, and a child for each warp.
#[derive(Clone, Copy)]
struct Scratch {
    /// The parent's list.
    old: Shared<u32>,
    /// Its rows, `[2][40]`.
    old_rows: Shared<u32>,
    /// What a perspective loses with a slot alone, `[2][40]`.
    worth: Shared<f64>,
    /// What a perspective counts in all.
    whole: Shared<f64>,
    /// A child's list, `[WARPS][40]`.
    now: Shared<u32>,
    /// Its rows, `[WARPS][2][40]`.
    rows: Shared<u32>,
    /// Slopes of the children that take a slot away, `[2][40]`, then of those that take all.
    gone: Shared<u64>,
    /// Gradient of the values of pieces.
    values: Shared<u64>,
}

/// A child as its warp knows it; the same on every lane.
#[derive(Clone, Copy)]
struct Child {
    /// A bit for each slot that changes.
    changed: u64,
    /// A bit for each perspective that is counted anew.
    anew: u32,
    /// First parameters of the perspectives' tables.
    bases: [u32; 2],
}

impl Child {
    #[device_inline]
    fn changes(&self, slot: u32) -> bool {
        (self.changed >> slot) & 1 != 0
    }

    #[device_inline]
    fn is_anew(&self, perspective: u32) -> bool {
        (self.anew >> perspective) & 1 != 0
    }

    #[device_inline]
    fn base(&self, perspective: u32) -> u32 {
        if perspective == 0 { self.bases[0] } else { self.bases[1] }
    }
}

/// What is done with a child's terms.
trait Visitor {
    /// A piece's value.
    fn value(&mut self, parameter: u32, negative: bool);
    /// A parameter of the table.
    fn term(&mut self, parameter: u32, negative: bool);
}

/// The set's weights. Parameters come from a [`Set`], so they lie in its table, which is as long as the weights: the contract of the kernels.
#[derive(Clone, Copy)]
struct Weights(*const f32);

impl Weights {
    #[device_inline]
    fn get(self, parameter: u32) -> f32 {
        // SAFETY: the parameter lies in the set's table.
        unsafe { memory::load(self.0, parameter as usize) }
    }
}

/// The set's gradient, as long as its table too.
#[derive(Clone, Copy)]
struct Gradient(*mut u64);

impl Gradient {
    #[device_inline]
    fn add(self, parameter: u32, value: u64) {
        // SAFETY: the parameter lies in the set's table; the gradient is only added to, atomically, while the kernel runs.
        unsafe { atomic::add_u64(self.0.add(parameter as usize), value) };
    }
}

/// Adds up weights.
struct Sum {
    weights: Weights,
    sum: f64,
}

impl Visitor for Sum {
    #[device_inline]
    fn value(&mut self, parameter: u32, negative: bool) {
        self.term(parameter, negative);
    }

    #[device_inline]
    fn term(&mut self, parameter: u32, negative: bool) {
        let weight = self.weights.get(parameter) as f64;
        self.sum += if negative { -weight } else { weight };
    }
}

/// Adds a slope to the gradient.
struct Scatter {
    gradient: Gradient,
    values: Shared<u64>,
    slope: u64,
}

impl Visitor for Scatter {
    #[device_inline]
    fn value(&mut self, parameter: u32, negative: bool) {
        atomic::shared_add_u64(self.values, parameter, signed(self.slope, negative));
    }

    #[device_inline]
    fn term(&mut self, parameter: u32, negative: bool) {
        self.gradient.add(parameter, signed(self.slope, negative));
    }
}

#[device_inline]
const fn signed(value: u64, negative: bool) -> u64 {
    if negative { value.wrapping_neg() } else { value }
}

/// The pieces of pair `pair`: all pairs of neighbours at distance 1, 2, … in a ring of 38 slots.
#[device_inline]
const fn slots_of(pair: u32) -> (u32, u32) {
    let (i, distance) = (pair % PIECES, pair / PIECES + 1);
    let j = i + distance;
    (i, if j >= PIECES { j - PIECES } else { j })
}

/// Kings of a list as a perspective sees them: whether it is mirrored, and where its rows begin.
#[device_inline]
fn stand<S: Set>(list: Shared<u32>, first: u32, perspective: u32) -> (bool, u32) {
    let own = list.get(first + BLACK_KING + perspective);
    let other = list.get(first + WHITE_KING - perspective);
    let mirrored = S::OWN_KING && is_mirrored(own, perspective);
    let base = S::base(view_square(own, perspective, mirrored), view_square(other, perspective, mirrored));
    (mirrored, base as u32)
}

/// What each slot of a parent is worth with all others: the sum of its pairs. Called by the whole block once the parent's rows are there; it meets at barriers.
#[device_inline]
#[track_caller]
fn worth_of_pairs<S: Set>(weights: Weights, scratch: Scratch) {
    let pair_weights = shared_array![f32; 2 * N_PAIRS as usize];
    let thread = thread::thread_idx_x();
    let bases = [stand::<S>(scratch.old, 0, 0).1, stand::<S>(scratch.old, 0, 1).1];
    for at in thread::strided(thread, 2 * N_PAIRS, BLOCK) {
        let of_white = at >= N_PAIRS;
        let (first, base) = if of_white { (SLOTS, bases[1]) } else { (0, bases[0]) };
        let (i, j) = slots_of(if of_white { at - N_PAIRS } else { at });
        let (a, b) = (scratch.old_rows.get(first + i), scratch.old_rows.get(first + j));
        let weight = if a == NONE || b == NONE { 0.0 } else { weights.get(base + tri(a, b)) };
        pair_weights.set(at, weight);
    }
    // All pairs are there.
    sync::sync_threads();
    // Not the conditions from before the barriers: the compiler would give each of their outcomes a barrier of its own.
    let thread = math::opaque(thread);
    let (perspective, slot) = (thread / SLOTS, thread % SLOTS);
    if thread < BOTH && slot < PIECES {
        let first = perspective * N_PAIRS;
        let mut worth = pair_weights.get(first + 18 * PIECES + slot % 19) as f64;
        let mut distance = 1;
        while distance <= 18 {
            let before = if slot >= distance { slot - distance } else { slot + PIECES - distance };
            let row = first + (distance - 1) * PIECES;
            worth += pair_weights.get(row + slot) as f64 + pair_weights.get(row + before) as f64;
            distance += 1;
        }
        scratch.worth.set(thread, worth);
    }
    sync::sync_threads();
}

/// Reads a parent and finds its rows, and what each of its slots is worth. Called by the whole block, which meets at barriers.
#[device_inline]
#[track_caller]
unsafe fn prepare_parent<S: Set>(pass: &Pass, scratch: Scratch, parent: u32) {
    let thread = thread::thread_idx_x();
    if thread < SLOTS {
        // SAFETY: the parent is one of the pass's, with 40 slots.
        let number = unsafe { memory::load(pass.pieces, parent as usize * SLOTS as usize + thread as usize) };
        scratch.old.set(thread, number as u32);
    }
    // The list is there.
    sync::sync_threads();
    let (perspective, slot) = (thread / SLOTS, thread % SLOTS);
    if thread < BOTH && slot < PIECES {
        let (mirrored, base) = stand::<S>(scratch.old, 0, perspective);
        let row = S::row(scratch.old.get(slot), perspective, mirrored);
        scratch.old_rows.set(thread, row);
        if !S::OF_PAIRS {
            let weight = if row == NONE { 0.0 } else { Weights(pass.weights).get(base + row) };
            scratch.worth.set(thread, weight as f64);
        }
    }
    if thread < BOTH + 2 {
        scratch.gone.set(thread, 0);
    }
    // The rows are there.
    sync::sync_threads();
    if S::OF_PAIRS {
        worth_of_pairs::<S>(Weights(pass.weights), scratch);
    }
    let thread = math::opaque(thread);
    if (S::OWN_KING || S::OTHER_KING) && thread < 2 {
        let mut whole = 0.0;
        for slot in 0..PIECES {
            whole += scratch.worth.get(thread * SLOTS + slot);
        }
        // A pair is worth something to both its slots.
        scratch.whole.set(thread, if S::OF_PAIRS { 0.5 * whole } else { whole });
    }
    // What slots are worth is there.
    sync::sync_threads();
}

/// Puts together a child's list and rows. Called by a whole warp.
#[device_inline]
#[track_caller]
unsafe fn prepare_child<S: Set>(pass: &Pass, scratch: Scratch, child: u32) -> Child {
    let (lane, warp) = (thread::lane(), thread::warp_index());
    let (list, first_row) = (warp * SLOTS, warp * BOTH);
    // The child before has been read by all lanes.
    sync::sync_warp(ALL);
    scratch.now.set(list + lane, scratch.old.get(lane));
    if lane < SLOTS - thread::WARP {
        scratch.now.set(list + thread::WARP + lane, scratch.old.get(thread::WARP + lane));
    }
    // Copied before it is changed.
    sync::sync_warp(ALL);
    // SAFETY: the child is one of the pass's, its changes lie in the column, and their slots below 40.
    unsafe {
        let mut at = memory::load(pass.first_change, child as usize) + lane;
        let end = memory::load(pass.first_change, child as usize + 1);
        while at < end {
            let change = memory::load(pass.changes, at as usize);
            scratch.now.set(list + (change >> 16), change & 0xFFFF);
            at += thread::WARP;
        }
    }
    // The list is there.
    sync::sync_warp(ALL);
    let high_slot = if lane < SLOTS - thread::WARP { thread::WARP + lane } else { lane };
    let (low, high) = (scratch.now.get(list + lane), scratch.now.get(list + high_slot));
    let low_changed = warp::ballot(ALL, low != scratch.old.get(lane));
    let high_changed = warp::ballot(ALL, high_slot != lane && high != scratch.old.get(high_slot));
    let changed = low_changed as u64 | ((high_changed as u64) << 32);
    let kings = (changed >> BLACK_KING) as u32;
    let swapped = (kings >> 1) | ((kings & 1) << 1);
    let anew = if S::OWN_KING { kings } else { 0 } | if S::OTHER_KING { swapped } else { 0 };
    let of_child = Child { changed, anew, bases: [0; 2] };
    let rows_of = |perspective: u32| {
        let (mirrored, base) = stand::<S>(scratch.now, list, perspective);
        let first = perspective * SLOTS;
        let row = |slot: u32, number: u32| {
            if of_child.is_anew(perspective) || of_child.changes(slot) {
                S::row(number, perspective, mirrored)
            } else {
                scratch.old_rows.get(first + slot)
            }
        };
        scratch.rows.set(first_row + first + lane, row(lane, low));
        if lane < PIECES - thread::WARP {
            scratch.rows.set(first_row + first + thread::WARP + lane, row(thread::WARP + lane, high));
        }
        base
    };
    let bases = [rows_of(0), rows_of(1)];
    // The rows are there.
    sync::sync_warp(ALL);
    Child { bases, ..of_child }
}

/// Visits a lane's share of what a child wins, and of the pairs of old numbers that both changed: each was taken away twice.
#[device_inline]
#[track_caller]
fn visit_new<S: Set>(scratch: Scratch, child: Child, visitor: &mut impl Visitor) {
    let (lane, warp) = (thread::lane(), thread::warp_index());
    let (list, first_row) = (warp * SLOTS, warp * BOTH);
    for slot in thread::strided(lane, PIECES, thread::WARP) {
        if child.changes(slot) {
            let (was, is) = (scratch.old.get(slot), scratch.now.get(list + slot));
            let (lost, won) = (if was == 0 { NONE } else { S::value(was) }, if is == 0 { NONE } else { S::value(is) });
            let of_white = |number: u32| number != 0 && kind_and_side(number).1 == 1;
            let (was_white, is_white) = (of_white(was), of_white(is));
            if lost != won || was_white != is_white {
                if lost != NONE {
                    visitor.value(lost, !was_white);
                }
                if won != NONE {
                    visitor.value(won, is_white);
                }
            }
            if !S::OF_PAIRS {
                for perspective in 0..2 {
                    let row = scratch.rows.get(first_row + perspective * SLOTS + slot);
                    if !child.is_anew(perspective) && row != NONE {
                        visitor.term(child.base(perspective) + row, perspective == 1);
                    }
                }
            }
        }
    }
    if S::OF_PAIRS {
        visit_pairs(scratch, child, visitor);
    }
    visit_anew::<S>(scratch, child, visitor);
}

/// Visits a lane's share of the pairs with a slot that changed, of perspectives that are not counted anew.
#[device_inline]
#[track_caller]
fn visit_pairs(scratch: Scratch, child: Child, visitor: &mut impl Visitor) {
    let (lane, first_row) = (thread::lane(), thread::warp_index() * BOTH);
    let mut left = child.changed & ((1 << PIECES) - 1);
    while left != 0 {
        let slot = left.trailing_zeros();
        left &= left - 1;
        for at in thread::strided(lane, 2 * PIECES, thread::WARP) {
            let of_white = at >= PIECES;
            let (other, first, base) =
                if of_white { (at - PIECES, SLOTS, child.bases[1]) } else { (at, 0, child.bases[0]) };
            let both = child.changes(other);
            if other != slot && !child.is_anew(of_white as u32) && !(both && other < slot) {
                let rows = first_row + first;
                let (a, b) = (scratch.rows.get(rows + slot), scratch.rows.get(rows + other));
                if a != NONE && b != NONE {
                    visitor.term(base + tri(a, b), of_white);
                }
                if both {
                    let (a, b) = (scratch.old_rows.get(first + slot), scratch.old_rows.get(first + other));
                    if a != NONE && b != NONE {
                        visitor.term(base + tri(a, b), of_white);
                    }
                }
            }
        }
    }
}

/// Visits a lane's share of all terms of perspectives that are counted anew.
#[device_inline]
#[track_caller]
fn visit_anew<S: Set>(scratch: Scratch, child: Child, visitor: &mut impl Visitor) {
    let (lane, first_row) = (thread::lane(), thread::warp_index() * BOTH);
    for perspective in 0..2 {
        if child.is_anew(perspective) {
            let (rows, base) = (first_row + perspective * SLOTS, child.base(perspective));
            let mut at = lane;
            while at < if S::OF_PAIRS { N_PAIRS } else { PIECES } {
                if S::OF_PAIRS {
                    let (i, j) = slots_of(at);
                    let (a, b) = (scratch.rows.get(rows + i), scratch.rows.get(rows + j));
                    if a != NONE && b != NONE {
                        visitor.term(base + tri(a, b), perspective == 1);
                    }
                } else {
                    let row = scratch.rows.get(rows + at);
                    if row != NONE {
                        visitor.term(base + row, perspective == 1);
                    }
                }
                at += thread::WARP;
            }
        }
    }
}

/// A lane's share of what a child loses.
#[device_inline]
#[track_caller]
fn worth_of_gone(scratch: Scratch, child: Child) -> f64 {
    let lane = thread::lane();
    let mut worth = 0.0;
    for perspective in 0..2 {
        let mut sum = 0.0;
        if child.is_anew(perspective) {
            if lane == 0 {
                sum = scratch.whole.get(perspective);
            }
        } else {
            for slot in thread::strided(lane, PIECES, thread::WARP) {
                if child.changes(slot) {
                    sum += scratch.worth.get(perspective * SLOTS + slot);
                }
            }
        }
        worth += if perspective == 1 { -sum } else { sum };
    }
    worth
}

/// Notes that a child with this slope takes slots away.
#[device_inline]
#[track_caller]
fn note_gone(scratch: Scratch, child: Child, slope: u64) {
    let lane = thread::lane();
    for perspective in 0..2 {
        if child.is_anew(perspective) {
            if lane == 0 {
                atomic::shared_add_u64(scratch.gone, BOTH + perspective, slope);
            }
        } else {
            for slot in thread::strided(lane, PIECES, thread::WARP) {
                if child.changes(slot) {
                    atomic::shared_add_u64(scratch.gone, perspective * SLOTS + slot, slope);
                }
            }
        }
    }
}

/// Takes from the gradient what children took away from a parent. Called by the whole block.
#[device_inline]
#[track_caller]
fn take_gone<S: Set>(gradient: Gradient, scratch: Scratch) {
    let n_terms = if S::OF_PAIRS { N_PAIRS } else { PIECES };
    let bases = [stand::<S>(scratch.old, 0, 0).1, stand::<S>(scratch.old, 0, 1).1];
    for at in thread::strided(thread::thread_idx_x(), 2 * n_terms, BLOCK) {
        let of_white = at >= n_terms;
        let term = if of_white { at - n_terms } else { at };
        let (first, base) = if of_white { (SLOTS, bases[1]) } else { (0, bases[0]) };
        let (i, j) = if S::OF_PAIRS { slots_of(term) } else { (term, term) };
        let (a, b) = (scratch.old_rows.get(first + i), scratch.old_rows.get(first + j));
        let mut gone = scratch.gone.get(BOTH + of_white as u32).wrapping_add(scratch.gone.get(first + i));
        if S::OF_PAIRS {
            gone = gone.wrapping_add(scratch.gone.get(first + j));
        }
        if gone != 0 && a != NONE && b != NONE {
            let parameter = base + if S::OF_PAIRS { tri(a, b) } else { a };
            gradient.add(parameter, signed(gone, !of_white));
        }
    }
}

/// Sums of a parent.
struct Judged {
    loss: u64,
    children: u64,
    /// Rivals above the played move, and beside it.
    above: u32,
    equal: u32,
}

/// The loss of a parent's children, their slopes and the played move's rank. Called by the whole block; the sums are the same on every thread.
#[device_inline]
#[track_caller]
unsafe fn judge(pass: &Pass, sums: Shared<u64>, parent: u32, first: u32, end: u32) -> Judged {
    let thread = thread::thread_idx_x();
    let (mut loss, mut counts, mut sum) = (0u64, 0u64, 0u64);
    // SAFETY: parent and children are the pass's; slopes are there where they are wanted. A child is one thread's.
    unsafe {
        let base = memory::load(pass.evaluations, first as usize);
        let (game, ply) = (memory::load(pass.games, parent as usize), memory::load(pass.plies, parent as usize) as u32);
        let played = memory::load(pass.played, parent as usize) as u32;
        let n_siblings = end - first - 1;
        let mut sibling = thread;
        while sibling <= n_siblings {
            let child = (first + sibling) as usize;
            let x = memory::load(pass.evaluations, child) - base;
            let size = if x < 0.0 { -x } else { x };
            let counted = sibling == 0
                || (size <= pass.window && is_drawn(pass.seed, game, ply, sibling, n_siblings, pass.siblings));
            let mut slope = 0;
            if counted {
                let t = 1.0 / (1.0 + libm::exp(-pass.a * x));
                loss += fixed(t) as u64;
                counts += 1;
                if sibling != 0 {
                    slope = fixed(pass.a * t * (1.0 - t)) as u64;
                }
            }
            if sibling != 0 && sibling != played {
                counts += ((x > 0.0) as u64) << 20 | ((x == 0.0) as u64) << 40;
            }
            sum = sum.wrapping_add(slope);
            if pass.with_gradient != 0 && sibling != 0 {
                memory::store(pass.slopes, child, slope);
            }
            sibling += BLOCK;
        }
        let counts = block::sum(counts, sums);
        let sum = block::reduce(sum, 0, sums, u64::wrapping_add);
        let loss = block::sum(loss, sums);
        if math::opaque(thread) == 0 && pass.with_gradient != 0 {
            memory::store(pass.slopes, first as usize, sum.wrapping_neg());
        }
        let part = |shift: u32| (counts >> shift) as u32 & 0xF_FFFF;
        Judged { loss, children: counts & 0xF_FFFF, above: part(20), equal: part(40) }
    }
}

/// Adds a parent's sums to the block's. Called by the thread they belong to.
#[device_inline]
#[track_caller]
fn count(totals: Shared<u64>, judged: &Judged) {
    let (above, equal) = (judged.above as i32, (1 + judged.equal) as f64);
    let first_three = ((3 - above) as f64 / equal).clamp(0.0, 1.0);
    let first = if above == 0 { 1.0 / equal } else { 0.0 };
    let add = |at: usize, value: u64| totals.set(at as u32, totals.get(at as u32) + value);
    let add_wide = |at: usize, value: u64| {
        add(at, value & 0xFFFF_FFFF);
        add(at + 1, value >> 32);
    };
    add_wide(total::LOSS, judged.loss);
    add_wide(total::FIRST, fixed(first) as u64);
    add_wide(total::FIRST_THREE, fixed(first_three) as u64);
    add(total::CHILDREN, judged.children);
    add(total::PARENTS, 1);
}

/// The pass of a block.
#[device_inline]
#[track_caller]
unsafe fn run<S: Set>(pass: Pass) {
    let scratch = Scratch {
        old: shared_array![u32; SLOTS as usize],
        old_rows: shared_array![u32; BOTH as usize],
        worth: shared_array![f64; BOTH as usize],
        whole: shared_array![f64; 2],
        now: shared_array![u32; (WARPS * SLOTS) as usize],
        rows: shared_array![u32; OF_WARPS],
        gone: shared_array![u64; BOTH as usize + 2],
        values: shared_array![u64; HAND_VALUES as usize],
    };
    let sums = shared_array![u64; WARPS as usize];
    // Thread 0's alone: registers are wanted elsewhere.
    let totals = shared_array![u64; total::LEN];
    let thread = thread::thread_idx_x();
    if thread < HAND_VALUES {
        scratch.values.set(thread, 0);
    }
    if thread == 0 {
        for at in 0..total::LEN as u32 {
            totals.set(at, 0);
        }
    }
    for turn in thread::strided(thread::block_idx_x(), pass.n_parents, thread::grid_dim_x()) {
        // SAFETY: the pass is a launch's, so turns are below `n_parents`: `order` names a parent at most once, columns are as `Pass` says.
        unsafe {
            let parent = memory::load(pass.order, turn as usize);
            let first = memory::load(pass.first_child, parent as usize);
            let end = memory::load(pass.first_child, parent as usize + 1);
            let of_white = memory::load(pass.sides, parent as usize) != 0;
            prepare_parent::<S>(&pass, scratch, parent);
            evaluate::<S>(&pass, scratch, first, end, of_white);
            // All evaluations are there.
            sync::sync_threads();
            if first < end {
                let judged = judge(&pass, sums, parent, first, end);
                if math::opaque(thread) == 0 {
                    count(totals, &judged);
                }
            }
            if math::opaque(pass.with_gradient) != 0 {
                // All slopes are there.
                sync::sync_threads();
                scatter::<S>(&pass, scratch, first, end, of_white);
                // All that is gone is noted.
                sync::sync_threads();
                take_gone::<S>(Gradient(pass.gradient), scratch);
            }
            // The parent is no longer read.
            sync::sync_threads();
        }
    }
    // The values' gradient is complete, also for a block without a parent.
    sync::sync_threads();
    // SAFETY: the sums of the pass are there, and the whole block is behind a barrier.
    unsafe { hand_on::<S>(&pass, scratch.values, totals) };
}

/// Evaluates children `first` to `end` of the parent at hand, a warp each.
///
/// # Safety
/// The parent is prepared, and the children are its.
#[device_inline]
#[track_caller]
unsafe fn evaluate<S: Set>(pass: &Pass, scratch: Scratch, first: u32, end: u32, of_white: bool) {
    for at in thread::strided(first + thread::warp_index(), end, WARPS) {
        // SAFETY: the child is the parent's; its evaluation is this warp's.
        unsafe {
            let child = prepare_child::<S>(pass, scratch, at);
            let mut new = Sum { weights: Weights(pass.weights), sum: 0.0 };
            visit_new::<S>(scratch, child, &mut new);
            let y = warp::reduce_sum(new.sum - worth_of_gone(scratch, child));
            if thread::lane() == 0 {
                memory::store(pass.evaluations, at as usize, if of_white { -y } else { y });
            }
        }
    }
}

/// Adds the children's slopes to the gradient of what they win, and notes what they take away.
///
/// # Safety
/// As [`evaluate`], after [`judge`] and a barrier.
#[device_inline]
#[track_caller]
unsafe fn scatter<S: Set>(pass: &Pass, scratch: Scratch, first: u32, end: u32, of_white: bool) {
    for at in thread::strided(first + thread::warp_index(), end, WARPS) {
        // SAFETY: the child is the parent's, and its slope is written.
        unsafe {
            let slope = memory::load(pass.slopes, at as usize);
            if slope != 0 {
                let slope = signed(slope, of_white);
                let child = prepare_child::<S>(pass, scratch, at);
                let mut scatter = Scatter { gradient: Gradient(pass.gradient), values: scratch.values, slope };
                visit_new::<S>(scratch, child, &mut scatter);
                note_gone(scratch, child, slope);
            }
        }
    }
}

/// Adds the block's sums, and its gradient of the values of pieces, to those of the grid.
///
/// # Safety
/// The contract of the kernels; called by the whole block, after a barrier.
#[device_inline]
#[track_caller]
unsafe fn hand_on<S: Set>(pass: &Pass, values: Shared<u64>, totals: Shared<u64>) {
    let thread = math::opaque(thread::thread_idx_x());
    if thread == 0 {
        for at in 0..total::LEN as u32 {
            // SAFETY: `totals` has as many sums, which are only added to, atomically.
            unsafe { atomic::add_u64(pass.totals.add(at as usize), totals.get(at)) };
        }
    }
    if pass.with_gradient != 0 && thread < HAND_VALUES && (thread as u64) < S::LEN {
        let value = values.get(thread);
        if value != 0 {
            Gradient(pass.gradient).add(thread, value);
        }
    }
}

macro_rules! passes {
    ($($(#[$doc:meta])* $name:ident: $set:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// One pass over positions: evaluations of all children, the loss, the ranks, and the gradient where it is wanted. The name says the set of features.
        ///
        /// * Launch: [`shape`], any number of blocks of 128 threads; a block a parent after the other, a warp a child.
        /// * Reads: `pieces`, `sides`, `plies`, `games`, `first_child`, `played`, `first_change`, `changes`, `order`, `weights`.
        /// * Writes: `evaluations`, `slopes`; `gradient` and `totals`, added to atomically.
        /// * Shared: 3,968 bytes: the parent, what its slots are worth, a child of each warp, slopes that are gone.
        /// * Cost: for a child: a term for each slot that changes, in pairs of pieces 38 for each; for its parent once all terms.
        /// * Twin: `warpplay_cpu_ref::shogi::sparse::pass`.
        /// * Source: the shogi paper of 2009 (`papers/src/shogi_bonanza`), equations (1) and (2), with any features and the analytic gradient; the partition is ours.
        ///
        /// # Safety
        /// The columns are as [`Pass`] says: parents' and children's first indices ascend and end with the columns' lengths, a parent has
        /// at most 2¹⁹ children, slots are below 40, numbers below 2,183, kings' squares below 81. `order` names parents, each at most once. The set's arrays have its length.
        #[kernel(shape = |n_blocks: u32| shape(n_blocks), max_threads = BLOCK, min_blocks = BLOCKS)]
        pub unsafe fn $name(pass: Pass) {
            // SAFETY: columns that are as `Pass` says: all that `run` asks.
            unsafe { run::<sets::$set>(pass) }
        }
    )*};
}

passes! {
    /// A pass of `Material`.
    shogi_sparse_pass_material: Material;
    /// A pass of `MaterialHand`.
    shogi_sparse_pass_material_hand: MaterialHand;
    /// A pass of `PieceSquare`.
    shogi_sparse_pass_piece_square: PieceSquare;
    /// A pass of `KingPiece`.
    shogi_sparse_pass_kp: KingPiece;
    /// A pass of `KingKingPiece`.
    shogi_sparse_pass_kkp: KingKingPiece;
    /// A pass of `KingPiecePiece`.
    shogi_sparse_pass_kpp: KingPiecePiece;
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_one_slot() {
        let mut pairs: Vec<_> = (0..N_PAIRS).map(slots_of).map(|(i, j)| (i.min(j), i.max(j))).collect();
        pairs.sort_unstable();
        let all: Vec<_> = (0..PIECES).flat_map(|i| (i + 1..PIECES).map(move |j| (i, j))).collect();
        assert_eq!(pairs, all);
    }
}
