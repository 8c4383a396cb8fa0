//! Rows of a gradient that ranks tell each other: those that are not all 0.
//!
//! A row is [`ROW`] weights beside each other, a line of memory; the last one may reach beyond the weights.
//!
//! | kernel | a thread | launch |
//! | --- | --- | --- |
//! | [`shogi_sparse_touched`] | [`ROW`] numbers of 32 rows, with its warp | [`touched_shape`] |
//! | [`shogi_sparse_take_rows`], [`shogi_sparse_put_rows`] | a number of a row | [`rows_shape`] |
//!
//! No twin in `cpu-ref`: the tests compare with the host engine's own loops.

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
pub const fn touched_shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n_words(n) * thread::WARP, BLOCK)
}

/// Launch shape for so many numbers of rows.
pub const fn rows_shape(n_values: u32) -> LaunchShape {
    LaunchShape::linear(n_values, BLOCK)
}

/// A bit for each row of the gradient, 1 where one of its numbers is not 0. A warp reads 32 rows, two at a time.
///
/// * `gradient`: `[n]`
/// * `words`: `[n_words(n)]`, row `r` at bit `r % 32` of word `r / 32`
///
/// # Safety
/// Launched with [`touched_shape`] for `n`, below 2³¹; the arrays have these lengths.
#[kernel(max_threads = BLOCK)]
pub unsafe fn shogi_sparse_touched(gradient: *const i64, words: *mut u32, n: u32) {
    let (lane, word) = (thread::lane(), thread::block_idx_x() * (BLOCK / thread::WARP) + thread::warp_index());
    let first = word as usize * (u32::BITS * ROW) as usize;
    let mut bits = 0;
    let mut pair = 0;
    while pair < u32::BITS / 2 {
        let at = first + (pair * thread::WARP + lane) as usize;
        // SAFETY: below `n`.
        let is_touched = at < n as usize && unsafe { memory::load(gradient, at) } != 0;
        let touched = warp::ballot(ALL, is_touched);
        bits |= (((touched & 0xFFFF) != 0) as u32 | (((touched >> 16) != 0) as u32) << 1) << (2 * pair);
        pair += 1;
    }
    if lane == 0 && word < n_words(n) {
        // SAFETY: a word of the array, this warp's alone.
        unsafe { memory::store(words, word as usize, bits) };
    }
}

/// Copies rows of the gradient beside each other; beyond the last weight 0.
///
/// * `gradient`: `[n]`
/// * `rows`: `[n_values / ROW]`, numbers of rows
/// * `values`: `[n_values]`
///
/// # Safety
/// Launched with [`rows_shape`] for `n_values`; the arrays have these lengths, and the rows are below [`n_rows`] of `n`.
#[kernel(max_threads = BLOCK)]
pub unsafe fn shogi_sparse_take_rows(gradient: *const i64, rows: *const u32, values: *mut i64, n_values: u32, n: u32) {
    let Some(index) = thread::index_1d_below(n_values) else { return };
    // SAFETY: the contract; a number of the gradient is read below `n`.
    unsafe {
        let at = memory::load(rows, (index / ROW) as usize) as usize * ROW as usize + (index % ROW) as usize;
        let value = if at < n as usize { memory::load(gradient, at) } else { 0 };
        memory::store(values, index as usize, value);
    }
}

/// Replaces rows of the gradient, or adds to them with wrapping; what lies beyond the last weight is left out.
///
/// * `gradient`, `rows`, `values`: as for [`shogi_sparse_take_rows`]
/// * `adds`: 1 to add
///
/// # Safety
/// As for [`shogi_sparse_take_rows`]; a row is named once.
#[kernel(max_threads = BLOCK)]
pub unsafe fn shogi_sparse_put_rows(
    gradient: *mut i64,
    rows: *const u32,
    values: *const i64,
    n_values: u32,
    n: u32,
    adds: u32,
) {
    let Some(index) = thread::index_1d_below(n_values) else { return };
    // SAFETY: the contract; a number of the gradient is this thread's alone, since a row is named once.
    unsafe {
        let at = memory::load(rows, (index / ROW) as usize) as usize * ROW as usize + (index % ROW) as usize;
        if at < n as usize {
            let before = if adds != 0 { memory::load(gradient, at) } else { 0 };
            memory::store(gradient, at, before.wrapping_add(memory::load(values, index as usize)));
        }
    }
}
