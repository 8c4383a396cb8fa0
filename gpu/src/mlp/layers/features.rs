//! Inputs that are numbers in single precision, not pixels.
//!
//! ```text
//! features     [n, line_length(n_features)] f32; what lies beyond a line's features is 0
//! ```

use super::parts::{BLOCK, NO_CLASS, Parts};
use super::view::{Rows, line_length};
use crate::cuda::{kernel, memory, sync, thread};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Quads of `n_rows` lines of `line` numbers.
const fn n_quads(n_rows: u32, line: u32) -> u64 {
    n_rows as u64 * (line / 4) as u64
}

/// Launch shape for `n_rows` lines of `line` numbers, four a thread.
pub const fn shape(n_rows: u32, line: u32) -> LaunchShape {
    LaunchShape::new(n_quads(n_rows, line).div_ceil(BLOCK as u64) as u32, BLOCK).overlapping()
}

/// The samples of a step as the products read them, before each step.
///
/// * Launch: [`shape`], a thread four features, blocks of 256.
/// * Reads: `features`, `labels` of the step's samples.
/// * Writes: the features, behind those of a sample a 1, zeros behind it and in rows for which there is no sample: `short`, in parts `[parts, batch, line]`, or `single` `[batch, line]` where that is not there; `classes`
///   `[batch + 1]`, as [`Gather`](super::parts::Gather) does, unless they are null.
/// * Shared: none.
/// * Cost: four bytes read a feature, and those of its parts written.
/// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward_from_x`, the inputs of its first layer.
/// * Source: our own.
///
/// # Safety
/// `rows` names samples of the set; where `classes` are there, they have room for the batch and the number of samples, and `labels` has a byte for each sample; `short` or `single` has lines for the batch.
#[kernel(shape = shape(rows.batch, line), max_threads = BLOCK, require = line.is_multiple_of(8) && n_features < line && n_quads(rows.batch, line) <= 1 << 31)]
pub unsafe fn mlp_layers_gather_features(
    #[len(rows.n_samples() * line_length(n_features) as usize)] features: *const f32,
    labels: *const u8,
    classes: *mut u32,
    #[len(if short.values.is_null() { rows.batch as usize * line as usize } else { 0 })] single: *mut f32,
    short: Parts,
    rows: Rows,
    n_features: u32,
    line: u32,
) {
    sync::follow();
    let number = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
    let of_row = line / 4;
    if of_row == 0 || number / of_row >= rows.batch {
        return;
    }
    let (row, column) = (number / of_row, number % of_row * 4);
    // SAFETY: the row is one of the batch and, where it is read, a sample of the step; a quad that begins below the features lies inside their line; each quad is one thread's.
    unsafe {
        let offset = rows.offset();
        let n_rows = rows.count(offset);
        let is_there = row < n_rows;
        let sample = if is_there { rows.sample(offset, row) as usize } else { 0 };
        let mut quad = [0.0; 4];
        if is_there && column < n_features {
            quad = memory::load_quad(features, sample * line_length(n_features) as usize + column as usize);
        }
        unroll!(J in [0, 1, 2, 3] {
            if is_there && column + J as u32 == n_features {
                quad[J] = 1.0;
            }
        });
        let at = row as usize * line as usize + column as usize;
        if short.values.is_null() {
            memory::store_quad(single, at, quad);
        } else {
            short.put_quad(at, quad);
        }
        if column == 0 && !classes.is_null() {
            let class = if is_there { u32::from(memory::load(labels, sample)) } else { NO_CLASS };
            memory::store(classes, row as usize, class);
            if row == 0 {
                memory::store(classes, rows.batch as usize, n_rows);
            }
        }
    }
}
