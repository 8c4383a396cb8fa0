//! Rows of a gradient that ranks tell each other: those that are not all 0.
//!
//! A row is [`ROW`] weights beside each other, a line of memory; the last one may reach beyond the weights.
//!
//! [`shogi_sparse_touched`] finds the rows, [`shogi_sparse_take_rows`] and [`shogi_sparse_put_rows`] copy them out and in. They have no twin in `cpu-ref`, which knows no ranks:
//! the tests say in their own way which rows are touched, and that several ranks learn what one learns.

use crate::cuda::view::{Disjoint, Slice};
use crate::cuda::warp::{self, ALL};
use crate::cuda::{kernel, memory, thread};
use crate::launch::LaunchShape;

/// Weights of a row: 128 bytes of gradient.
pub const ROW: u32 = 16;
/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Rows of `n` weights.
pub const fn n_rows(n: u32) -> u32 {
    n.div_ceil(ROW)
}

/// Words with a bit for each row of `n` weights.
pub const fn n_words(n: u32) -> u32 {
    n_rows(n).div_ceil(u32::BITS)
}

/// Launch shape of [`shogi_sparse_touched`] for `n` weights: a warp a word.
const fn touched_shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n_words(n) * thread::WARP, BLOCK)
}

/// Launch shape for so many numbers of rows.
const fn rows_shape(n_values: u32) -> LaunchShape {
    LaunchShape::linear(n_values, BLOCK)
}

/// A bit for each row of the gradient, 1 where one of its numbers is not 0. A warp reads 32 rows, two at a time.
///
/// * Launch: a warp a word of bits, blocks of 256.
/// * Reads: `gradient` `[n]`, below 2³¹ numbers.
/// * Writes: `words` `[n_words(n)]`: a bit for each row, the lowest of each word first.
/// * Shared: none.
/// * Cost: 16 loads a lane.
/// * Twin: `tests::shogi::exchange::touched`.
/// * Source: our own.
#[kernel(shape = touched_shape(n), max_threads = BLOCK)]
pub fn shogi_sparse_touched(
    #[len(n as usize)] gradient: Slice<i64>,
    #[len(n_words(n) as usize)] mut words: Disjoint<u32>,
    n: u32,
) {
    let (lane, word) = (thread::lane(), thread::block_idx_x() * (BLOCK / thread::WARP) + thread::warp_index());
    let first = word as usize * (u32::BITS * ROW) as usize;
    let mut bits = 0;
    for pair in 0..u32::BITS / 2 {
        let at = first + (pair * thread::WARP + lane) as usize;
        let is_touched = at < n as usize && gradient.get(at) != 0;
        let touched = warp::ballot(ALL, is_touched);
        bits |= (((touched & 0xFFFF) != 0) as u32 | (((touched >> 16) != 0) as u32) << 1) << (2 * pair);
    }
    if lane == 0 && word < n_words(n) {
        // SAFETY: the word is this warp's alone, and its first thread writes it.
        unsafe { words.set_at(word as usize, bits) };
    }
}

/// Copies rows of the gradient beside each other; beyond the last weight 0.
///
/// * Launch: [`rows_shape`], a thread a number, blocks of 256.
/// * Reads: `gradient` `[n]`; `rows` `[n_values / ROW]`, numbers of rows.
/// * Writes: `values` `[n_values]`.
/// * Shared: none.
/// * Cost: a number a thread.
/// * Twin: `tests::shogi::exchange::run` of one rank alone, which learns the same bits.
/// * Source: our own.
#[kernel(shape = rows_shape(n_values), max_threads = BLOCK)]
pub fn shogi_sparse_take_rows(
    #[len(n as usize)] gradient: Slice<i64>,
    #[len(n_values.div_ceil(ROW) as usize)] rows: Slice<u32>,
    #[len(n_values as usize)] mut values: Disjoint<i64>,
    n_values: u32,
    n: u32,
) {
    let Some(own) = thread::own_index_below(n_values) else { return };
    let at = index_in_gradient(rows, own.get());
    values.set(&own, if at < n as usize { gradient.get(at) } else { 0 });
}

/// Where a number of the rows lies in the gradient.
#[device_inline]
fn index_in_gradient(rows: Slice<u32>, index: u32) -> usize {
    rows.get((index / ROW) as usize) as usize * ROW as usize + (index % ROW) as usize
}

/// Replaces rows of the gradient, or adds to them with wrapping; what lies beyond the last weight is left out.
///
/// * Launch: [`rows_shape`], a thread a number, blocks of 256.
/// * Reads: `rows`, `values`, as of [`shogi_sparse_take_rows`]; where `adds` is 1, `gradient`.
/// * Writes: `gradient`.
/// * Shared: none.
/// * Cost: a number a thread.
/// * Twin: `tests::shogi::exchange::run` of one rank alone, which learns the same bits.
/// * Source: our own.
///
/// # Safety
/// A row is named once.
#[kernel(shape = rows_shape(n_values), max_threads = BLOCK)]
pub unsafe fn shogi_sparse_put_rows(
    #[len(n)] gradient: *mut i64,
    #[len(n_values.div_ceil(ROW))] rows: *const u32,
    #[len(n_values)] values: *const i64,
    n_values: u32,
    n: u32,
    adds: u32,
) {
    let Some(index) = thread::index_1d_below(n_values) else { return };
    // SAFETY: the arrays have the lengths that the kernel asks for, and rows are those of the gradient; a number of the gradient is this thread's alone, since a row is named once.
    unsafe {
        let at = memory::load(rows, (index / ROW) as usize) as usize * ROW as usize + (index % ROW) as usize;
        if at < n as usize {
            let before = if adds != 0 { memory::load(gradient, at) } else { 0 };
            memory::store(gradient, at, before.wrapping_add(memory::load(values, index as usize)));
        }
    }
}
