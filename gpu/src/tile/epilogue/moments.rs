//! Moments of columns of a warp's rows, where the warp has exchanged them in shared memory: means are known before squares are summed, so nothing cancels.

use super::exchange::{Part, ROWS};
use crate::cuda::math::fma;
use crate::tile::task::ProductTask;
use crate::unroll::unroll;

/// Mean of a column of some rows, and the sum of squared distances from it.
pub(super) type Moment = [f32; 2];

/// Rows of a warp's part that are in C.
#[device_inline]
pub(super) const fn rows_in_c(task: &ProductTask, part: &Part) -> u32 {
    n_rows(task, part.row)
}

/// Rows of C among a warp's from `row` on.
#[device_inline]
pub(super) const fn n_rows(task: &ProductTask, row: u32) -> u32 {
    let left = task.m.saturating_sub(row);
    if left < ROWS { left } else { ROWS }
}

/// Rows whose values are on their way at a time.
const AT_A_TIME: u32 = 4;

/// Moments of `C` columns of the first `n_rows` of a warp's rows, whose values `read` finds. Once for the means, and once more for the squares.
#[device_inline]
#[track_caller]
pub(super) fn of_columns<const C: usize>(n_rows: u32, read: impl Fn(u32) -> [f32; C]) -> [Moment; C] {
    let (mut sums, mut squares) = ([0.0; C], [0.0; C]);
    each(n_rows, &read, |values| {
        unroll!(COLUMN in [0, 1] {
            if COLUMN < C {
                sums[COLUMN % C] += values[COLUMN % C];
            }
        });
    });
    let share = share_of(n_rows, ROWS);
    let means = sums.map(|sum| sum * share);
    each(n_rows, &read, |values| {
        unroll!(COLUMN in [0, 1] {
            if COLUMN < C {
                let distance = values[COLUMN % C] - means[COLUMN % C];
                squares[COLUMN % C] = fma(distance, distance, squares[COLUMN % C]);
            }
        });
    });
    let mut moments = [[0.0; 2]; C];
    unroll!(COLUMN in [0, 1] {
        if COLUMN < C {
            moments[COLUMN % C] = [means[COLUMN % C], squares[COLUMN % C]];
        }
    });
    moments
}

/// The inverse of a number of rows, of mostly `all`: a division is longer than what it is needed for.
#[device_inline]
pub(super) fn share_of(n_rows: u32, all: u32) -> f32 {
    match n_rows {
        0 => 0.0,
        _ if n_rows == all => 1.0 / all as f32,
        _ => 1.0 / n_rows as f32,
    }
}

/// Calls `of` with the values of each of the first `n_rows` rows.
#[device_inline]
#[track_caller]
fn each<const C: usize>(n_rows: u32, read: &impl Fn(u32) -> [f32; C], mut of: impl FnMut([f32; C])) {
    let mut row = 0;
    while row + AT_A_TIME <= n_rows {
        let values = [read(row), read(row + 1), read(row + 2), read(row + 3)];
        unroll!(I in [0, 1, 2, 3] {
            of(values[I]);
        });
        row += AT_A_TIME;
    }
    while row < n_rows {
        of(read(row));
        row += 1;
    }
}
