//! The epilogue of tiles whose columns' moments are wanted: of each 64 rows of a warpgroup, as they are written to C, the mean of each column and the sum of squared distances from it.
//!
//! Each lane goes through a warp's rows of its columns. Then the four warps meet, and a thread puts together what they have of a column: `Σ nᵢ mᵢ / n` and `Σ (sᵢ + nᵢ (mᵢ - m)²)`.

use super::exchange::{Part, ROWS, WARP_BYTES};
use super::lines;
use super::moments::{Moment, n_rows, share_of};
use crate::cuda::math::fma;
use crate::cuda::memory::store;
use crate::cuda::shared::Shared;
use crate::cuda::sync::{sync_some, sync_warp};
use crate::cuda::{thread, warp};
use crate::tile::task::{Format, MOMENT_ROWS, ProductTask};
use crate::unroll::unroll;

/// Warps whose rows have moments together.
const WARPS: u32 = MOMENT_ROWS / ROWS;

/// The sums of a warp into C, and the moments of the columns of its warpgroup's 64 rows. `barrier` is one for the warpgroup's 128 threads, which are all here.
///
/// # Safety
/// As [`write`](super::write), without a cluster; C is in whole vectors of 16 bytes, has no residual, mask, parts or divisions, and nobody asks whether its values are finite. The warps' exchanges lie one behind the other, and so do their rows.
#[device_inline]
#[track_caller]
pub unsafe fn write_with_moments<F: Format, const R: usize>(
    task: &ProductTask,
    d: &[f32; R],
    part: Part,
    barrier: u32,
) {
    let lane = thread::lane();
    // SAFETY: the caller's; the exchange is the warp's own, and has room for two values of each column.
    unsafe {
        if task.c.is_null() {
            let moments = lines::write::<F, R, false, true>(task, d, part);
            put::<R>(&part, moments, |number| 64 * (number / 2) + 2 * lane + number % 2);
        } else {
            let moments = lines::write_single::<R, false, true>(task, d, part);
            put::<R>(&part, moments, |number| 32 * number + lane);
        }
        // When those of all warps are there.
        sync_some(barrier, WARPS * thread::WARP);
        combine::<R>(task, &part);
        // When they are read.
        sync_some(barrier, WARPS * thread::WARP);
    }
}

/// Bytes from a warp's means to its sums of squares.
const fn line_bytes<const R: usize>() -> u32 {
    2 * R as u32 * 4
}

/// A lane's moments into the warp's exchange; `column_of` says of which columns of the tile they are.
///
/// # Safety
/// The exchange is the warp's own.
#[device_inline]
#[track_caller]
unsafe fn put<const R: usize>(part: &Part, moments: [Moment; 8], column_of: impl Fn(u32) -> u32) {
    const { assert!(2 * line_bytes::<R>() <= WARP_BYTES) };
    // When all have read what was there.
    sync_warp(warp::ALL);
    unroll!(NUMBER in [0, 1, 2, 3, 4, 5, 6, 7] {
        if NUMBER * 16 < R {
            let to = part.exchange + 4 * column_of(NUMBER as u32);
            // SAFETY: a column of the tile.
            unsafe {
                Shared::<f32>::from_address(to, 1).set_unchecked(0, moments[NUMBER][0]);
                Shared::<f32>::from_address(to + line_bytes::<R>(), 1).set_unchecked(0, moments[NUMBER][1]);
            }
        }
    });
}

/// Puts the moments of four warps together, a column or two a thread.
///
/// # Safety
/// All four have put theirs; the task's arrays have the lengths it says.
#[device_inline]
#[track_caller]
unsafe fn combine<const R: usize>(task: &ProductTask, part: &Part) {
    let warp = thread::warp_index() % WARPS;
    let (first_row, exchange) = (part.row - warp * ROWS, part.exchange - warp * WARP_BYTES);
    if first_row >= task.m {
        return;
    }
    let left = task.m - first_row;
    let share = share_of(if left < MOMENT_ROWS { left } else { MOMENT_ROWS }, MOMENT_ROWS);
    let (block, blocks) = (first_row / MOMENT_ROWS, task.m.div_ceil(MOMENT_ROWS));
    let mut own = warp * thread::WARP + thread::lane();
    while own < 2 * R as u32 && part.column + own < task.n {
        let (mut sum, mut square) = (0.0, 0.0);
        let (mut means, mut counts) = ([0.0; WARPS as usize], [0.0; WARPS as usize]);
        // SAFETY: inside the exchanges of the four warps; a column of C.
        unsafe {
            unroll!(WARP in [0, 1, 2, 3] {
                let from = exchange + WARP as u32 * WARP_BYTES + 4 * own;
                counts[WARP] = n_rows(task, first_row + WARP as u32 * ROWS) as f32;
                means[WARP] = Shared::<f32>::from_address(from, 1).get_unchecked(0);
                square += Shared::<f32>::from_address(from + line_bytes::<R>(), 1).get_unchecked(0);
                sum = fma(counts[WARP], means[WARP], sum);
            });
            let mean = sum * share;
            unroll!(WARP in [0, 1, 2, 3] {
                let distance = means[WARP] - mean;
                square = fma(counts[WARP] * distance, distance, square);
            });
            let at = block as usize * task.n as usize + (part.column + own) as usize;
            store(task.moments, at, mean);
            store(task.moments, at + blocks as usize * task.n as usize, square);
        }
        own += WARPS * thread::WARP;
    }
}
