//! What becomes of the sums of a tile: factor, bias, residual, activation, mask, and C.
//!
//! A warp has 16 rows of a tile, as tensor cores leave them: a thread the sums `d[4 j + 2 i + c]` of row `lane / 4 + 8 i` and column `8 j + 2 (lane % 4) + c`. It puts 32 columns at a time into shared memory and takes them out four columns of a
//! row a lane: so whole lines of memory are read and written at once, and the code for one of them is there once.
//!
//! There are three forms of it, which round alike: `lines` for rows inside C that get nothing but a bias and a residual of C's format, `whole` for others inside C without a residual, and the general one for all else: edges of C, quads that are not aligned, residuals with a mask. Moments of columns and updates of C have forms of their own.

mod ending;
mod exchange;
mod lines;
mod moments;
mod update;
mod whole;
mod with_moments;

pub use ending::{Alone, Ending, Updating, WithMoments};
use exchange::{COLUMNS, Lane, put_for_cluster, put_sums, sums_of, turns};
pub use exchange::{Part, ROWS, WARP_BYTES, meet, warp_bytes_in_cluster};
#[cfg(feature = "tile-plain")]
pub(super) use update::update_quad;
pub use with_moments::write_with_moments;

use super::softmax::{self, Softmax};
use super::task::{Format, ProductTask, activation};
use crate::cuda::math::{fma, opaque, relu};
use crate::cuda::memory::{Vec4, load, load_vec4, store, store_vec4};
use crate::cuda::shared::Shared;
use crate::cuda::sync::sync_warp;
use crate::cuda::{thread, warp};
use crate::unroll::unroll;

/// Reads the mask of a lane's quads in the columns from `column` on, four numbers of 16 bits each; 0 outside of C.
///
/// # Safety
/// As [`write`].
#[device_inline]
#[track_caller]
unsafe fn mask_of<const N: usize>(task: &ProductTask, part: &Part, lane: Lane, column: u32) -> [u64; N] {
    let mut quads = [0; N];
    if !task.mask.is_null() {
        let column = column + lane.column;
        unroll!(I in [0, 1, 2, 3] {
            let row = part.row + lane.row + 4 * I as u32;
            if I < N && row < task.m && column < task.n {
                let at = row as usize * task.mask_stride as usize + column as usize;
                // SAFETY: the row is in the mask, whose stride is a multiple of four, and so is the column: all four are there.
                quads[I % N] = unsafe { load(task.mask.cast::<u64>(), at / 4) };
            }
        });
    }
    quads
}

/// Reads the residual of 16 bits of a lane's quads in the columns from `column` on; 0 outside of C and where there is none.
///
/// # Safety
/// As [`write`].
#[device_inline]
#[track_caller]
unsafe fn residual_of<const N: usize>(task: &ProductTask, part: &Part, lane: Lane, column: u32) -> [u64; N] {
    let mut quads = [0; N];
    if !task.residual_short.is_null() {
        let column = column + lane.column;
        let is_whole = column + 4 <= task.n && task.c_stride.is_multiple_of(4);
        unroll!(I in [0, 1, 2, 3] {
            let row = part.row + lane.row + 4 * I as u32;
            if I < N && row < task.m && column < task.n {
                let at = row as usize * task.c_stride as usize + column as usize;
                // SAFETY: within the residual; four that begin at a multiple of their bytes are aligned together.
                unsafe {
                    let from = task.residual_short.add(at);
                    if is_whole && (from as usize).is_multiple_of(8) {
                        quads[I % N] = load(from.cast::<u64>(), 0);
                    } else {
                        unroll!(C in [0, 1, 2, 3] {
                            if column + (C as u32) < task.n {
                                quads[I % N] |= u64::from(load(from, C)) << (16 * C);
                            }
                        });
                    }
                }
            }
        });
    }
    quads
}

/// The values of a quad of the residual, of 16 bits or of single precision, at a row and column of C; 0 outside of C and where there is none.
///
/// # Safety
/// As [`write`]; `short` is what [`residual_of`] read there.
#[device_inline]
#[track_caller]
unsafe fn added<F: Format>(task: &ProductTask, short: u64, row: u32, column: u32) -> [f32; 4] {
    let [low, high] = [F::unpack(short as u32), F::unpack((short >> 32) as u32)];
    if task.residual.is_null() {
        [low[0], low[1], high[0], high[1]]
    } else {
        // SAFETY: as the caller vouches.
        unsafe { added_single(task, row, column) }
    }
}

/// The values of a quad of the residual of single precision, at a row and column of C; 0 outside of C and where there is none.
///
/// # Safety
/// As [`write`].
#[device_inline]
#[track_caller]
pub(super) unsafe fn added_single(task: &ProductTask, row: u32, column: u32) -> [f32; 4] {
    let mut quad = [0.0; 4];
    if !task.residual.is_null() && row < task.m && column < task.n {
        let is_whole = column + 4 <= task.n && task.c_stride.is_multiple_of(4);
        // SAFETY: within the residual; four that begin at a multiple of their bytes are aligned together.
        unsafe {
            let from = task.residual.add(row as usize * task.c_stride as usize + column as usize);
            if is_whole && (from as usize).is_multiple_of(16) {
                quad = load_vec4(from.cast::<Vec4>()).0.map(f32::from_bits);
            } else {
                unroll!(C in [0, 1, 2, 3] {
                    if column + (C as u32) < task.n {
                        quad[C] = load(from, C);
                    }
                });
            }
        }
    }
    quad
}

/// The sums of a warp into C, or into the C of a division of the depth; with `S` what [`softmax`] makes of their rows. `N` quads of a lane at a time: four, or one where blocks of a cluster share the work, whose sums are added up in the order of their ranks.
///
/// # Safety
/// In a cluster, all its threads are here or [`meet`] twice. All lanes of the warp are here, `d` are their sums as the module says, and no other thread writes these values of C. The residual is C or nobody writes it. The task's arrays have the lengths it says, the mask begins at a multiple of 8 bytes, the exchange is the warp's own, and the bias is there, zeros if the task has none.
#[device_inline]
#[track_caller]
pub unsafe fn write<F: Format, const R: usize, const N: usize, const S: bool>(
    task: &ProductTask,
    softmax: &Softmax,
    d: &[f32; R],
    part: Part,
) {
    // Each case is code of its own, since a short launch waits for the instructions that it fetches.
    // SAFETY: the caller's promise.
    unsafe {
        let is_added = !task.residual.is_null() || !task.residual_short.is_null();
        if !S && N != 1 && lines::takes(task, &part) {
            match is_added {
                true => lines::write::<F, R, true, false>(task, d, part),
                false => lines::write::<F, R, false, false>(task, d, part),
            };
            return;
        }
        if !S && N != 1 && lines::takes_single(task, &part) {
            match is_added {
                true => lines::write_single::<R, true, false>(task, d, part),
                false => lines::write_single::<R, false, false>(task, d, part),
            };
            return;
        }
        match (S, whole::is_whole(task, &part), is_added) {
            (false, true, _) => whole::write::<F, R, N>(task, d, part),
            (false, false, true) => write_or_add::<F, R, N, S, true>(task, softmax, d, part),
            _ => write_or_add::<F, R, N, S, false>(task, softmax, d, part),
        }
    }
}

/// See [`write`]; `A`: whether a residual is added.
///
/// # Safety
/// As [`write`].
#[device_inline]
#[track_caller]
unsafe fn write_or_add<F: Format, const R: usize, const N: usize, const S: bool, const A: bool>(
    task: &ProductTask,
    softmax: &Softmax,
    d: &[f32; R],
    part: Part,
) {
    let in_cluster = N == 1;
    // SAFETY: as the caller vouches.
    let factor = unsafe { task.whole_factor() };
    let mut lane = Lane { row: thread::lane() / 8, column: thread::lane() % 8 * 4 };
    let (mut turn, turns, blocks) = turns::<R, N>(task, &part);
    if in_cluster {
        // SAFETY: as the caller vouches.
        unsafe { put_for_cluster(d, part.exchange) };
    }
    // Always that of the next columns: memory is slower than an exchange.
    let mut next_residual = [0; N];
    if A && !in_cluster {
        // SAFETY: as the caller vouches.
        next_residual = unsafe { residual_of::<N>(task, &part, lane, part.column) };
    }
    while turn < turns {
        let mut chunk = turn;
        if in_cluster {
            chunk = turn / 4;
            lane.row = thread::lane() / 8 + 4 * (turn % 4);
        }
        let column = part.column + chunk * COLUMNS;
        // Hidden, so that no pointers to each row of each array occupy registers.
        let lane = if A { Lane { row: opaque(lane.row), ..lane } } else { lane };
        let mut residual = next_residual;
        if A && in_cluster {
            // SAFETY: as the caller vouches.
            residual = unsafe { residual_of::<N>(task, &part, lane, column) };
        } else if A && turn + 1 < turns {
            // SAFETY: as the caller vouches; other columns than those that are written meanwhile.
            next_residual = unsafe { residual_of::<N>(task, &part, lane, column + COLUMNS) };
        }
        // The mask is on its way while the sums are exchanged.
        // SAFETY: as the caller vouches.
        let mask = unsafe { mask_of::<N>(task, &part, lane, column) };
        // SAFETY: as the caller vouches.
        let known = if S { Some(unsafe { softmax.known(task, part.row) }) } else { None };
        if !in_cluster {
            sync_warp(warp::ALL);
            // SAFETY: the exchange is the warp's own; all have read what was there.
            unsafe { put_sums(d, chunk, part.exchange) };
            sync_warp(warp::ALL);
        }
        let bias = if task.bias.is_null() {
            [0.0; 4]
        } else {
            // SAFETY: the bias has the tile's columns; it begins at a multiple of 16 bytes.
            unsafe {
                Shared::<f32>::from_address(part.bias, R as u32 * 2).get_quad_unchecked(chunk * COLUMNS + lane.column)
            }
        };
        if let Some(known) = known {
            // One after the other: the code is long, and what a launch reads of it takes longer than the rows.
            let (mut row, mut loss) = (lane.row, 0.0);
            while row < lane.row + 4 * N as u32 {
                // SAFETY: as the caller vouches.
                let sums = unsafe { sums_of::<N>(&part, chunk, blocks, Lane { row, ..lane }) };
                let mut quad = [0.0; 4];
                unroll!(C in [0, 1, 2, 3] {
                    quad[C] = fma(sums[C], factor, bias[C]);
                });
                let column = column + lane.column;
                loss += softmax::gradient(softmax, known, task, [row, column], &mut quad);
                // SAFETY: as the caller vouches.
                unsafe { put_parts::<F, 1>(task, task.c_stride, [part.row + row, column], [quad]) };
                row += 4;
            }
            // SAFETY: as the caller vouches; a row of C is in one chunk.
            unsafe { softmax.store_loss(part.row, [blocks, turn % 4], loss) };
            turn += blocks;
            continue;
        }
        let mut quads = [[0.0; 4]; N];
        unroll!(I in [0, 1, 2, 3] {
            if I < N {
                // SAFETY: as the caller vouches.
                quads[I % N] = unsafe { sums_of::<N>(&part, chunk, blocks, Lane { row: lane.row + 4 * I as u32, ..lane }) };
            }
        });
        unroll!(I in [0, 1, 2, 3] {
            if I < N {
                let residual = if A {
                    // SAFETY: as the caller vouches.
                    unsafe { added::<F>(task, residual[I % N], part.row + lane.row + 4 * I as u32, column + lane.column) }
                } else {
                    [0.0; 4]
                };
                unroll!(C in [0, 1, 2, 3] {
                    let sum = fma(quads[I % N][C], factor, bias[C]);
                    let sum = if A { sum + residual[C] } else { sum };
                    let sum = if task.activation == activation::RELU { relu(sum) } else { sum };
                    // Numbers of 16 bits above 0 are integers above 0.
                    let is_kept = task.mask.is_null() || (mask[I % N] >> (16 * C)) as i16 > 0;
                    quads[I % N][C] = if is_kept { sum } else { 0.0 };
                });
            }
        });
        let (row, column) = (part.row + lane.row, column + lane.column);
        // SAFETY: as the caller vouches.
        unsafe {
            if task.c.is_null() {
                put_parts::<F, N>(task, task.c_stride, [row, column], quads);
            } else {
                put_single(task, part.division, row, column, &quads);
            }
        }
        turn += blocks;
    }
    if in_cluster {
        // Others may still read what this block exchanges.
        meet();
    }
}

/// Writes a lane's quads of C in single precision, or those of their values that are there.
///
/// # Safety
/// As [`write`]; `column` is a multiple of four.
#[device_inline]
#[track_caller]
pub(super) unsafe fn put_single<const N: usize>(
    task: &ProductTask,
    division: u32,
    row: u32,
    column: u32,
    quads: &[[f32; 4]; N],
) {
    let to = (u64::from(division) * task.c_part_stride) as usize + row as usize * task.c_stride as usize;
    let is_whole = column + 4 <= task.n && task.c_stride.is_multiple_of(4);
    unroll!(I in [0, 1, 2, 3] {
        if I < N && row + 4 * (I as u32) < task.m && column < task.n {
            // SAFETY: within C; four that begin at a multiple of their bytes are aligned together. All threads that find an overflow write the same.
            unsafe {
                let to = task.c.add(to + 4 * I * task.c_stride as usize + column as usize);
                if is_whole && (to as usize).is_multiple_of(16) {
                    store_vec4(to.cast::<Vec4>(), Vec4(quads[I % N].map(f32::to_bits)));
                } else {
                    unroll!(C in [0, 1, 2, 3] {
                        if column + (C as u32) < task.n {
                            store(to, C, quads[I % N][C]);
                        }
                    });
                }
                if !task.overflow.is_null() {
                    unroll!(C in [0, 1, 2, 3] {
                        if column + (C as u32) < task.n && !quads[I % N][C].is_finite() {
                            store(task.overflow, 0, 1);
                        }
                    });
                }
            }
        }
    });
}

/// Writes a lane's quads of C in parts of 16 bits, or those of their values that are there; `stride` values from a row to the next.
///
/// # Safety
/// As [`write`]; `column` is a multiple of four.
#[device_inline]
#[track_caller]
unsafe fn put_parts<F: Format, const N: usize>(
    task: &ProductTask,
    stride: u32,
    [row, column]: [u32; 2],
    mut left: [[f32; 4]; N],
) {
    let is_whole = column + 4 <= task.n && stride.is_multiple_of(4);
    let mut number = 0;
    while number < task.c_parts {
        let to = (u64::from(number) * task.c_part_stride) as usize + row as usize * stride as usize;
        unroll!(I in [0, 1, 2, 3] {
            let words = [F::pack(left[I % N][0], left[I % N][1]), F::pack(left[I % N][2], left[I % N][3])];
            if I < N && row + 4 * (I as u32) < task.m && column < task.n {
                let both = u64::from(words[0]) | u64::from(words[1]) << 32;
                // SAFETY: within C; four that begin at a multiple of their bytes are aligned together.
                unsafe {
                    let to = task.c_short.add(to + 4 * I * stride as usize + column as usize);
                    if is_whole && (to as usize).is_multiple_of(8) {
                        store(to.cast::<u64>(), 0, both);
                    } else {
                        unroll!(C in [0, 1, 2, 3] {
                            if column + (C as u32) < task.n {
                                store(to, C, (both >> (16 * C)) as u16);
                            }
                        });
                    }
                }
            }
            let [low, high] = [F::unpack(words[0]), F::unpack(words[1])];
            if I < N {
                left[I % N] = [left[I % N][0] - low[0], left[I % N][1] - low[1], left[I % N][2] - high[0], left[I % N][3] - high[1]];
            }
        });
        number += 1;
    }
}
