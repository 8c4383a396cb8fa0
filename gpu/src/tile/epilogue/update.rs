//! The epilogue of tiles whose C an optimiser [updates](crate::tile::update).
//!
//! A lane may read the parameters of the next 32 columns while it works on these (`AHEAD`), for memory is slower than all else here, where there are registers for them. Each number of arrays that an optimiser remembers is code of its own.

use super::exchange::{COLUMNS, Lane, Part, n_chunks, put_sums, sums_of};
use super::put_parts;
use crate::cuda::math::opaque;
use crate::cuda::memory::{load_quad, store_quad};
use crate::cuda::sync::sync_warp;
use crate::cuda::{thread, warp};
use crate::tile::task::{Format, ProductTask};
use crate::tile::update::{Quads, Rate, Update, number_of};
use crate::unroll::unroll;

/// Four sums of a lane in the columns that are exchanged at a time.
const QUADS: usize = 4;

/// Updates C by the gradient that the sums of a warp are, multiplied with the factor; with `c_short` there, they are written to it in parts as well.
///
/// # Safety
/// As [`write`](super::write), without a cluster; C and what the optimiser remembers begin at multiples of 16 bytes, whose rows are multiples of four values, and `c_first` is one.
#[device_inline]
#[track_caller]
pub unsafe fn write_updated<F: Format, const R: usize, const AHEAD: bool>(
    task: &ProductTask,
    update: &Update,
    d: &[f32; R],
    part: Part,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let rate = update.rate();
        match update.n_state {
            0 => of_state::<F, R, 0, AHEAD>(task, update, &rate, d, part),
            1 => of_state::<F, R, 1, AHEAD>(task, update, &rate, d, part),
            _ => of_state::<F, R, 2, AHEAD>(task, update, &rate, d, part),
        }
    }
}

/// See [`write_updated`].
///
/// # Safety
/// As there.
#[device_inline]
#[track_caller]
unsafe fn of_state<F: Format, const R: usize, const STATE: usize, const AHEAD: bool>(
    task: &ProductTask,
    update: &Update,
    rate: &Rate,
    d: &[f32; R],
    part: Part,
) {
    // SAFETY: as the caller vouches.
    let factor = unsafe { task.whole_factor() };
    let lane = Lane { row: thread::lane() / 8, column: thread::lane() % 8 * 4 };
    let (first_row, mut column) = (part.row + lane.row, part.column + lane.column);
    let (mut chunk, chunks) = (0, n_chunks::<R>(task, part.column));
    // SAFETY: as the caller vouches.
    let mut next = unsafe { parameters(task, first_row, column) };
    while chunk < chunks {
        // Hidden, so that no pointers to each row of each array occupy registers.
        let row = opaque(first_row);
        if !AHEAD && chunk > 0 {
            // SAFETY: as the caller vouches.
            next = unsafe { parameters(task, row, column) };
        }
        let mut quads = next.map(|parameters| [parameters, [0.0; 4], [0.0; 4]]);
        // SAFETY: quads of C and of what is remembered of it, which are this lane's; the exchange is the warp's own, and all have read what was there.
        unsafe {
            remembered::<STATE>(task, update, [row, column], &mut quads);
            if AHEAD && chunk + 1 < chunks {
                next = parameters(task, row, column + COLUMNS);
            }
            sync_warp(warp::ALL);
            put_sums(d, chunk, part.exchange);
            sync_warp(warp::ALL);
        }
        unroll!(I in [0, 1, 2, 3] {
            let lane = Lane { row: lane.row + 4 * I as u32, ..lane };
            // SAFETY: all have written theirs.
            let sums = unsafe { sums_of::<QUADS>(&part, chunk, 1, lane) };
            if let Some(n) = n_there(task, row + 4 * I as u32, column) {
                update.stepped::<STATE>(rate, &mut quads[I], sums.map(|sum| sum * factor), n);
                // SAFETY: as the caller vouches.
                unsafe { store::<STATE>(task, update, [row + 4 * I as u32, column], &quads[I]) };
            }
        });
        if !task.c_short.is_null() {
            // SAFETY: as the caller vouches.
            unsafe {
                put_parts::<F, QUADS>(
                    task,
                    task.c_short_stride,
                    [row, column],
                    quads.map(|[parameters, ..]| parameters),
                )
            };
        }
        column += COLUMNS;
        chunk += 1;
    }
}

/// Columns of C from `column` on, of a row that C has; `None` outside of C.
#[device_inline]
pub(crate) fn n_there(task: &ProductTask, row: u32, column: u32) -> Option<u32> {
    if row < task.m && column < task.n { Some(task.n - column) } else { None }
}

/// Index of the value at a row and column of C.
#[device_inline]
const fn at(task: &ProductTask, row: u32, column: u32) -> usize {
    row as usize * task.c_stride as usize + column as usize
}

/// The parameters of a lane's quads, 0 outside of C.
///
/// # Safety
/// As [`write_updated`].
#[device_inline]
#[track_caller]
unsafe fn parameters(task: &ProductTask, row: u32, column: u32) -> [[f32; 4]; QUADS] {
    let mut quads = [[0.0; 4]; QUADS];
    unroll!(I in [0, 1, 2, 3] {
        let row = row + 4 * I as u32;
        if n_there(task, row, column).is_some() {
            // SAFETY: a row of C, which is a multiple of four values, and so is the column.
            quads[I] = unsafe { load_quad(task.c, at(task, row, column)) };
        }
    });
    quads
}

/// Reads what the optimiser remembers of a lane's quads.
///
/// # Safety
/// As [`write_updated`].
#[device_inline]
#[track_caller]
unsafe fn remembered<const STATE: usize>(
    task: &ProductTask,
    update: &Update,
    [row, column]: [u32; 2],
    quads: &mut [Quads; QUADS],
) {
    unroll!(I in [0, 1, 2, 3] {
        let row = row + 4 * I as u32;
        if STATE > 0 && n_there(task, row, column).is_some() {
            // SAFETY: as the caller vouches.
            unsafe { load_state::<STATE>(task, update, [row, column], &mut quads[I]) };
        }
    });
}

/// Reads what the optimiser remembers of the quad at a row and column of C.
///
/// # Safety
/// It is there, as [`write_updated`] asks.
#[device_inline]
#[track_caller]
unsafe fn load_state<const STATE: usize>(
    task: &ProductTask,
    update: &Update,
    [row, column]: [u32; 2],
    quads: &mut Quads,
) {
    let number = number_of(task, at(task, row, column));
    // SAFETY: as the caller vouches.
    unsafe {
        if STATE > 0 {
            quads[1] = load_quad(update.first, number);
        }
        if STATE > 1 {
            quads[2] = load_quad(update.second, number);
        }
    }
}

/// Writes a quad of C and what the optimiser remembers of it.
///
/// # Safety
/// It is there, as [`write_updated`] asks, and this lane's.
#[device_inline]
#[track_caller]
unsafe fn store<const STATE: usize>(task: &ProductTask, update: &Update, [row, column]: [u32; 2], quads: &Quads) {
    let at = at(task, row, column);
    let number = number_of(task, at);
    // SAFETY: as the caller vouches.
    unsafe {
        store_quad(task.c, at, quads[0]);
        if STATE > 0 {
            store_quad(update.first, number, quads[1]);
        }
        if STATE > 1 {
            store_quad(update.second, number, quads[2]);
        }
    }
}

/// Updates the quad of C at a row and column by its gradients; nothing outside of C.
///
/// # Safety
/// As [`write_updated`]; the quad is this lane's.
#[cfg(feature = "tile-plain")]
#[device_inline]
#[track_caller]
pub(crate) unsafe fn update_quad(
    task: &ProductTask,
    update: &Update,
    rate: &Rate,
    [row, column]: [u32; 2],
    gradients: [f32; 4],
) {
    let Some(n) = n_there(task, row, column) else { return };
    // SAFETY: as the caller vouches.
    unsafe {
        let mut quads = [load_quad(task.c, at(task, row, column)), [0.0; 4], [0.0; 4]];
        match update.n_state {
            0 => {
                update.stepped::<0>(rate, &mut quads, gradients, n);
                store::<0>(task, update, [row, column], &quads);
            }
            1 => {
                load_state::<1>(task, update, [row, column], &mut quads);
                update.stepped::<1>(rate, &mut quads, gradients, n);
                store::<1>(task, update, [row, column], &quads);
            }
            _ => {
                load_state::<2>(task, update, [row, column], &mut quads);
                update.stepped::<2>(rate, &mut quads, gradients, n);
                store::<2>(task, update, [row, column], &quads);
            }
        }
    }
}
