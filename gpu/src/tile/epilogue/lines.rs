//! The epilogue of a warp's rows that are in C and get nothing but factor, bias, a residual of C's format and rectifier, in whole lines of memory: a warp exchanges 128 bytes of each row at a time, values of 16 bits packed, so that half as much goes through shared memory.
//!
//! Where [moments](super::moments) of columns are wanted, rows beyond C are allowed.
//!
//! It is written for few instructions: a short product waits for those that it fetches. A residual of 16 bits is exchanged as well, to the threads that have the sums it is added to.

use super::exchange::{self, Part, ROWS, STRIDE, WARP_BYTES};
use super::moments::{Moment, of_columns, rows_in_c};
use crate::cuda::math::{at_least, fma, opaque};
use crate::cuda::memory::{Vec4, load_vec4, store_vec4};
use crate::cuda::shared::Shared;
use crate::cuda::sync::sync_warp;
use crate::cuda::{thread, warp};
use crate::tile::task::{Format, ProductTask, activation};
use crate::unroll::unroll;

/// Columns of 16 bits that are exchanged at a time.
const COLUMNS: u32 = 64;
/// Bytes from a row to the next in shared memory: so the words of eight rows that are written at a time lie in different banks.
const ROW_BYTES: u32 = 2 * COLUMNS + 16;
const _: () = assert!(ROWS * ROW_BYTES <= WARP_BYTES);
/// Values of a vector.
const VALUES: u32 = 8;

/// Whether all rows of a warp's part are in C, and there is no mask.
#[device_inline]
fn is_plain(task: &ProductTask, part: &Part) -> bool {
    task.mask.is_null() && part.row + ROWS <= task.m
}

/// Whether [`write`] takes a warp's part: C is of 16 bits in one part and in whole vectors, and so is the residual, if there is one.
#[device_inline]
pub fn takes(task: &ProductTask, part: &Part) -> bool {
    let is_short = !task.c_short.is_null() && task.c_parts == 1;
    let addresses = task.c_short as usize | task.residual_short as usize;
    let begins = addresses.is_multiple_of(16) && (task.n | task.c_stride).is_multiple_of(VALUES);
    is_short && begins && task.residual.is_null() && is_plain(task, part)
}

/// Whether [`write_single`] takes a warp's part: C is of single precision in whole vectors, and so is the residual, if there is one; and nobody asks whether its values are finite.
#[device_inline]
pub fn takes_single(task: &ProductTask, part: &Part) -> bool {
    let is_single = !task.c.is_null() && task.overflow.is_null();
    let addresses = task.c as usize | task.residual as usize;
    let begins = addresses.is_multiple_of(16) && task.c_part_stride.is_multiple_of(4);
    is_single
        && begins
        && task.residual_short.is_null()
        && (task.n | task.c_stride).is_multiple_of(4)
        && is_plain(task, part)
}

/// The bias of two of a warp's columns, `column` and the next.
///
/// # Safety
/// The bias has the warp's columns; the column is even.
#[device_inline]
#[track_caller]
unsafe fn bias_of(part: &Part, column: u32) -> [f32; 2] {
    // SAFETY: as the caller vouches: two at an even index are aligned together.
    let both = unsafe { Shared::<u64>::from_address(part.bias + 4 * column, 1).get_unchecked(0) };
    [f32::from_bits(both as u32), f32::from_bits((both >> 32) as u32)]
}

/// What values are at least after the activation.
#[device_inline]
const fn least(task: &ProductTask) -> f32 {
    if task.activation == activation::RELU { 0.0 } else { f32::NEG_INFINITY }
}

/// Four vectors of a residual, `step` values from one to the next, where they `are_there`; else zeros.
///
/// # Safety
/// They are there, if so it says, and begin at multiples of 16 bytes.
#[device_inline]
#[track_caller]
unsafe fn residual_of<T>(from: *const T, step: usize, are_there: bool) -> [Vec4; 4] {
    let mut vectors = [Vec4([0; 4]); 4];
    if are_there {
        unroll!(I in [0, 1, 2, 3] {
            // SAFETY: as the caller vouches.
            vectors[I] = unsafe { load_vec4(from.add(I * step).cast::<Vec4>()) };
        });
    }
    vectors
}

/// As [`write`](super::write), without softmax; `A`: whether a residual is added. It goes through shared memory to the threads that have the sums. With `M` it returns moments: two of each chunk, of the columns `2 lane` and the next.
///
/// # Safety
/// As there; and the part is one that [`takes`] allows, but for its rows with `M`, which has no residual; where there is no bias, zeros are in its place.
#[device_inline]
#[track_caller]
pub unsafe fn write<F: Format, const R: usize, const A: bool, const M: bool>(
    task: &ProductTask,
    d: &[f32; R],
    part: Part,
) -> [Moment; 8] {
    let lane = thread::lane();
    let (g, t) = (lane / 4, lane % 4);
    let to_exchange = part.exchange + g * ROW_BYTES + 4 * t;
    let from_exchange = part.exchange + lane / 8 * ROW_BYTES + lane % 8 * 16;
    let (row, column) = (part.row + lane / 8, part.column + lane % 8 * VALUES);
    let (step, least) = (4 * task.c_stride as usize, least(task));
    // SAFETY: as the caller vouches.
    let factor = unsafe { task.whole_factor() };
    let mut moments = [[0.0; 2]; 8];
    unroll!(CHUNK in [0, 1, 2, 3] {
        let before = CHUNK as u32 * COLUMNS;
        if CHUNK * 32 < R && part.column + before < task.n {
            let is_there = column + before < task.n && lane % 8 * VALUES + before < 2 * R as u32;
            let at = row_of::<R>(row) as usize * task.c_stride as usize + (column + before) as usize;
            if A {
                // SAFETY: four rows of the residual, which lies as C, and eight columns, which are aligned together.
                let residual = unsafe { residual_of(task.residual_short.wrapping_add(at), step, is_there) };
                sync_warp(warp::ALL);
                unroll!(I in [0, 1, 2, 3] {
                    let to = from_exchange + 4 * I as u32 * ROW_BYTES;
                    // SAFETY: the exchange is the warp's own, whose rows are multiples of 16 bytes, and all have read what was there.
                    unsafe { Shared::<Vec4>::from_address(to, 1).set_unchecked(0, residual[I]) };
                });
            }
            sync_warp(warp::ALL);
            unroll!(BLOCK in [0, 1, 2, 3, 4, 5, 6, 7] {
                // A warp of `mma` may have 32 columns.
                if CHUNK * 32 + BLOCK * 4 < R {
                    // SAFETY: a column of the warp's.
                    let bias = unsafe { bias_of(&part, 2 * t + before + 8 * BLOCK as u32) };
                    unroll!(HALF in [0, 1] {
                        let from = CHUNK * 32 + BLOCK * 4 + HALF * 2;
                        let mut sums = [fma(d[from % R], factor, bias[0]), fma(d[(from + 1) % R], factor, bias[1])];
                        let to = to_exchange + 8 * HALF as u32 * ROW_BYTES + 16 * BLOCK as u32;
                        // SAFETY: the exchange is the warp's own, and all have read what was there, or have put the residual there, of which this thread alone reads these two.
                        unsafe {
                            let word = Shared::<u32>::from_address(to, 1);
                            if A {
                                let [low, high] = F::unpack(word.get_unchecked(0));
                                sums = [sums[0] + low, sums[1] + high];
                            }
                            let [low, high] = sums.map(|sum| at_least(sum, least));
                            word.set_unchecked(0, F::pack(low, high));
                        }
                    });
                }
            });
            sync_warp(warp::ALL);
            if is_there {
                unroll!(I in [0, 1, 2, 3] {
                    let from = from_exchange + 4 * I as u32 * ROW_BYTES;
                    if !M || row + 4 * (I as u32) < task.m {
                        // SAFETY: inside the exchange, whose rows are multiples of 16 bytes; a row of C, and eight columns, which are aligned together.
                        unsafe {
                            let values = Shared::<Vec4>::from_address(from, 1).get_unchecked(0);
                            store_vec4(task.c_short.add(at + I * step).cast::<Vec4>(), values);
                        }
                    }
                });
            }
            if M {
                let own = part.exchange + 4 * lane;
                // SAFETY: a word of each row of the exchange.
                let read = |row: u32| unsafe { Shared::<u32>::from_address(own + row * ROW_BYTES, 1).get_unchecked(0) };
                let [even, odd] = of_columns(rows_in_c(task, &part), |row| F::unpack(read(row)));
                (moments[2 * CHUNK], moments[2 * CHUNK + 1]) = (even, odd);
            }
        }
    });
    moments
}

/// A row, hidden in the widest tiles: so no pointers to each row occupy registers.
#[device_inline]
fn row_of<const R: usize>(row: u32) -> u32 {
    if R == 128 { opaque(row) } else { row }
}

/// The same for a C of single precision, 32 columns at a time; a residual is added to what was exchanged. With `M` a moment of each chunk, of the column `lane`.
///
/// # Safety
/// As [`write`], for what [`takes_single`] allows.
#[device_inline]
#[track_caller]
pub unsafe fn write_single<const R: usize, const A: bool, const M: bool>(
    task: &ProductTask,
    d: &[f32; R],
    part: Part,
) -> [Moment; 8] {
    let lane = thread::lane();
    let (g, t) = (lane / 4, lane % 4);
    let to_exchange = part.exchange + 4 * (g * STRIDE + 2 * t);
    let from_exchange = part.exchange + 4 * (lane / 8 * STRIDE + lane % 8 * 4);
    let (row, column) = (part.row + lane / 8, part.column + lane % 8 * 4);
    let (step, least) = (4 * task.c_stride as usize, least(task));
    // SAFETY: as the caller vouches.
    let factor = unsafe { task.whole_factor() };
    let first = part.division as usize * task.c_part_stride as usize;
    let mut moments = [[0.0; 2]; 8];
    unroll!(CHUNK in [0, 1, 2, 3, 4, 5, 6, 7] {
        let before = CHUNK as u32 * exchange::COLUMNS;
        if CHUNK * 16 < R && part.column + before < task.n {
            let is_there = column + before < task.n;
            let at = first + row_of::<R>(row) as usize * task.c_stride as usize + (column + before) as usize;
            let mut residual = [Vec4([0; 4]); 4];
            if A {
                // SAFETY: four rows of the residual, which lies as C, and four columns, which are aligned together.
                residual = unsafe { residual_of(task.residual.wrapping_add(at), step, is_there) };
            }
            sync_warp(warp::ALL);
            unroll!(BLOCK in [0, 1, 2, 3] {
                // SAFETY: a column of the warp's.
                let bias = unsafe { bias_of(&part, 2 * t + before + 8 * BLOCK as u32) };
                unroll!(HALF in [0, 1] {
                    let from = CHUNK * 16 + BLOCK * 4 + HALF * 2;
                    let mut sums = [fma(d[from % R], factor, bias[0]), fma(d[(from + 1) % R], factor, bias[1])];
                    if !A {
                        sums = sums.map(|sum| at_least(sum, least));
                    }
                    let [low, high] = sums;
                    let both = u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
                    let to = to_exchange + 32 * (HALF as u32 * STRIDE + BLOCK as u32);
                    // SAFETY: the exchange is the warp's own, and all have read what was there; two at an even index are aligned together.
                    unsafe { Shared::<u64>::from_address(to, 1).set_unchecked(0, both) };
                });
            });
            sync_warp(warp::ALL);
            if is_there {
                unroll!(I in [0, 1, 2, 3] {
                    let from = from_exchange + 16 * I as u32 * STRIDE;
                    if !M || row + 4 * (I as u32) < task.m {
                        // SAFETY: inside the exchange, whose rows are multiples of 16 bytes; a row of C, and four columns, which are aligned together.
                        unsafe {
                            let mut values = Shared::<Vec4>::from_address(from, 1).get_unchecked(0);
                            if A {
                                unroll!(C in [0, 1, 2, 3] {
                                    let sum = f32::from_bits(values.0[C]) + f32::from_bits(residual[I].0[C]);
                                    values.0[C] = at_least(sum, least).to_bits();
                                });
                            }
                            store_vec4(task.c.add(at + I * step).cast::<Vec4>(), values);
                        }
                    }
                });
            }
            if M {
                let own = part.exchange + 4 * lane;
                // SAFETY: a value of each row of the exchange.
                let read = |row: u32| unsafe { Shared::<f32>::from_address(own + 4 * row * STRIDE, 1).get_unchecked(0) };
                [moments[CHUNK]] = of_columns(rows_in_c(task, &part), |row| [read(row)]);
            }
        }
    });
    moments
}
