//! How the rows of A come: as they lie, gathered from anywhere in a larger matrix, or gathered from one of bytes.
//!
//! So a batch of samples needs no pass that copies it together: the product reads the rows that an index names, and makes numbers of pixels.

use super::task::ProductTask;
use crate::cuda::memory::load;

/// Row after row.
pub const AS_THEY_LIE: u32 = 0;
/// Those that the task's `rows` name, if it has such.
pub const GATHERED: u32 = 1;
/// The same of a matrix of bytes, each a number from 0 to 255.
pub const BYTES: u32 = 2;

/// Which row of A row `row` of the product is; none beyond C, and beyond A.
///
/// # Safety
/// The task's rows, if they are there, have the length it says.
#[device_inline]
#[track_caller]
pub(super) unsafe fn row_of(task: &ProductTask, row: u32) -> Option<u32> {
    if row >= task.m {
        return None;
    }
    // SAFETY: a row below `m`.
    let of_a = if task.rows.is_null() { row } else { unsafe { load(task.rows, row as usize) } };
    (of_a < task.a_rows).then_some(of_a)
}
