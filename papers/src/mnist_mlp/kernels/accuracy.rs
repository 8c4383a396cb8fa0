//! The likeliest class of each sample, and how many are right.
//!
//! One thread a row; the hits of a block are counted by a block reduction and added to the count by one atomic addition of an integer, so the count
//! is exact.
//! Launch  grid ceil(n_rows / block), block `block` of whole warps.
//! Reads   `z` `[n_rows, n_classes]` f32, `labels` `[n_rows]` u32.
//! Writes  `found[first + row]` u32, the lowest of equals, the first where that is not a number; adds to `correct[0]` u32.
//! Twin    `warpplay_cpu_ref::mlp::pieces`: `classes`, `n_correct`.   Source  Ha and Beqaj, kernel of the accuracy.

use warpplay_gpu::cuda::{atomic, block, kernel, memory, shared_array, thread};
use warpplay_gpu::launch::LaunchShape;

/// Most warps of a block: values of scratch memory.
const WARPS: usize = block::MAX_WARPS as usize;

/// Launch shape for `n_rows` samples, `block` a multiple of 32.
pub const fn shape(n_rows: u32, block: u32) -> LaunchShape {
    LaunchShape::linear(n_rows, block)
}

/// Classes of the samples and the number of those that are the labels.
///
/// # Safety
/// Launched with [`shape`]. `z` holds `n_rows * n_classes` values, `labels` `n_rows`, `found` at least `first + n_rows`, `correct` one;
/// `n_classes >= 1`; they do not overlap; nobody else accesses `correct` but by atomic additions.
#[kernel]
pub unsafe fn mlp_paper_accuracy(
    z: *const f32,
    labels: *const u32,
    found: *mut u32,
    first: u32,
    correct: *mut u32,
    n_rows: u32,
    n_classes: u32,
) {
    let scratch = shared_array![u32; WARPS];
    let mut hit = 0;
    if let Some(row) = thread::index_1d_below(n_rows) {
        let start = row as usize * n_classes as usize;
        // SAFETY: row < n_rows, and there is a first class.
        let (mut best, mut most) = (0, unsafe { memory::load(z, start) });
        let mut class = 1;
        while class < n_classes {
            // SAFETY: row < n_rows, class < n_classes.
            let value = unsafe { memory::load(z, start + class as usize) };
            if value > most {
                (best, most) = (class, value);
            }
            class += 1;
        }
        // SAFETY: row < n_rows; no other thread has this row.
        unsafe {
            memory::store(found, first as usize + row as usize, best);
            hit = (best == memory::load(labels, row as usize)) as u32;
        }
    }
    let hits = block::sum(hit, scratch);
    if thread::thread_idx_x() == 0 {
        // SAFETY: one value, only added to.
        unsafe { atomic::add_u32(correct, hits) };
    }
}
