//! The epilogue of a warp's part that lies in C as a whole, and whose quads are aligned: few instructions, which is what a short product waits for.

use super::exchange::{COLUMNS, Lane, Part, ROWS, meet, put_for_cluster, put_sums, sums_of, turns};
use crate::cuda::math::{fma, relu};
use crate::cuda::memory::{Vec4, load, store, store_vec4};
use crate::cuda::shared::Shared;
use crate::cuda::sync::sync_warp;
use crate::cuda::{thread, warp};
use crate::tile::task::{Format, ProductTask, activation};
use crate::unroll::unroll;

/// Whether a warp's part is one that [`write`] takes: all of its rows inside C, whose quads are aligned, and without a residual.
#[device_inline]
pub fn is_whole(task: &ProductTask, part: &Part) -> bool {
    let is_added = task.residual as usize | task.residual_short as usize != 0;
    let is_inside = part.row + ROWS <= task.m && task.n.is_multiple_of(4);
    let begins = (task.c as usize).is_multiple_of(16) && (task.c_short as usize).is_multiple_of(8);
    let lies = task.c_stride.is_multiple_of(4) && task.c_part_stride.is_multiple_of(4);
    !is_added && is_inside && begins && lies
}

/// As [`write`](super::write), without softmax.
///
/// # Safety
/// As there; and the part is one of [`is_whole`]. With several divisions C is of single precision.
#[device_inline]
#[track_caller]
pub unsafe fn write<F: Format, const R: usize, const N: usize>(task: &ProductTask, d: &[f32; R], part: Part) {
    let in_cluster = N == 1;
    // SAFETY: as the caller vouches.
    let factor = unsafe { task.whole_factor() };
    let mut lane = Lane { row: thread::lane() / 8, column: thread::lane() % 8 * 4 };
    let (row, column) = (part.row + lane.row, part.column + lane.column);
    let mut at =
        part.division as usize * task.c_part_stride as usize + row as usize * task.c_stride as usize + column as usize;
    let step = 4 * task.c_stride as usize;
    let mut of_mask = row as usize * task.mask_stride as usize + column as usize;
    let mask_step = 4 * task.mask_stride as usize;
    let mut of_bias = part.bias + 4 * lane.column;
    let (first, first_of_mask) = (at, of_mask);
    let (mut turn, turns, blocks) = turns::<R, N>(task, &part);
    if in_cluster {
        // SAFETY: as the caller vouches.
        unsafe { put_for_cluster(d, part.exchange) };
    }
    while turn < turns {
        let mut chunk = turn;
        if in_cluster {
            let row;
            (chunk, row) = (turn / 4, turn % 4);
            lane.row = thread::lane() / 8 + 4 * row;
            at = first + (chunk * COLUMNS) as usize + row as usize * step;
            of_mask = first_of_mask + (chunk * COLUMNS) as usize + row as usize * mask_step;
            of_bias = part.bias + 4 * (lane.column + chunk * COLUMNS);
        }
        // Columns come in quads, and so do those of the last chunk.
        let is_there = column + chunk * COLUMNS < task.n;
        // On their way while the sums are exchanged.
        let mut mask = [0u64; N];
        // SAFETY: a row and four columns of C, and so of the mask, whose stride is a multiple of four.
        unsafe {
            if !task.mask.is_null() && is_there {
                unroll!(I in [0, 1, 2, 3] {
                    if I < N {
                        mask[I % N] = load(task.mask.cast::<u64>(), (of_mask + I * mask_step) / 4);
                    }
                });
            }
        }
        if !in_cluster {
            sync_warp(warp::ALL);
            // SAFETY: the exchange is the warp's own; all have read what was there.
            unsafe { put_sums(d, chunk, part.exchange) };
            sync_warp(warp::ALL);
        }
        let mut bias = [0.0; 4];
        if !task.bias.is_null() {
            // SAFETY: the bias has the tile's columns; it begins at a multiple of 16 bytes.
            bias = unsafe { Shared::<f32>::from_address(of_bias, 4).get_quad_unchecked(0) };
        }
        let mut quads = [[0.0; 4]; N];
        unroll!(I in [0, 1, 2, 3] {
            if I < N {
                // SAFETY: as the caller vouches.
                let sums = unsafe { sums_of::<N>(&part, chunk, blocks, Lane { row: lane.row + 4 * I as u32, ..lane }) };
                unroll!(C in [0, 1, 2, 3] {
                    quads[I % N][C] = fma(sums[C], factor, bias[C]);
                });
            }
        });
        if task.activation == activation::RELU {
            unroll!(I in [0, 1, 2, 3] {
                if I < N {
                    quads[I % N] = quads[I % N].map(relu);
                }
            });
        }
        if !task.mask.is_null() {
            unroll!(I in [0, 1, 2, 3] {
                unroll!(C in [0, 1, 2, 3] {
                    // Numbers of 16 bits above 0 are integers above 0.
                    if I < N && (mask[I % N] >> (16 * C)) as i16 <= 0 {
                        quads[I % N][C] = 0.0;
                    }
                });
            });
        }
        // SAFETY: rows and columns of C, as `is_whole` found, whose quads are aligned. All threads that find an overflow write the same.
        unsafe {
            if is_there && task.c.is_null() {
                put_parts::<F, N>(task, at, step, quads);
            } else if is_there {
                let mut is_finite = true;
                unroll!(I in [0, 1, 2, 3] {
                    if I < N {
                        store_vec4(task.c.add(at + I * step).cast::<Vec4>(), Vec4(quads[I % N].map(f32::to_bits)));
                        is_finite &= quads[I % N].map(f32::is_finite) == [true; 4];
                    }
                });
                if !task.overflow.is_null() && !is_finite {
                    store(task.overflow, 0, 1);
                }
            }
        }
        at += COLUMNS as usize;
        of_mask += COLUMNS as usize;
        of_bias += 4 * COLUMNS;
        turn += blocks;
    }
    if in_cluster {
        // Others may still read what this block exchanges.
        meet();
    }
}

/// Writes a lane's quads of C in parts of 16 bits, from value `at` on, `step` values from one to the next.
///
/// # Safety
/// As [`write`].
#[device_inline]
#[track_caller]
unsafe fn put_parts<F: Format, const N: usize>(
    task: &ProductTask,
    mut at: usize,
    step: usize,
    mut left: [[f32; 4]; N],
) {
    let mut number = 0;
    loop {
        let mut words = [[0; 2]; N];
        unroll!(I in [0, 1, 2, 3] {
            if I < N {
                words[I % N] = [F::pack(left[I % N][0], left[I % N][1]), F::pack(left[I % N][2], left[I % N][3])];
                let both = u64::from(words[I % N][0]) | u64::from(words[I % N][1]) << 32;
                // SAFETY: as the caller vouches.
                unsafe { store(task.c_short.add(at + I * step).cast::<u64>(), 0, both) };
            }
        });
        number += 1;
        if number == task.c_parts {
            return;
        }
        unroll!(I in [0, 1, 2, 3] {
            if I < N {
                let [low, high] = [F::unpack(words[I % N][0]), F::unpack(words[I % N][1])];
                left[I % N] = [left[I % N][0] - low[0], left[I % N][1] - low[1], left[I % N][2] - high[0], left[I % N][3] - high[1]];
            }
        });
        at += task.c_part_stride as usize;
    }
}
