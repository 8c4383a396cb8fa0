//! The likeliest class of each sample, and how many are right.
//!
//! One thread a row; the hits of a block are counted by a block reduction and added to the count by one atomic addition of an integer, so the count
//! is exact.

use warpplay_gpu::cuda::view::{Atomic, Disjoint, Slice};
use warpplay_gpu::cuda::{block, kernel, shared_array, thread};
use warpplay_gpu::launch::LaunchShape;

/// Most warps of a block: values of scratch memory.
const WARPS: usize = block::MAX_WARPS as usize;

/// Classes of the samples and the number of those that are the labels.
///
/// * Launch: a thread a row, blocks of `block` threads, whole warps.
/// * Reads: `z` `[n_rows, n_classes]`, `labels`.
/// * Writes: `found[first + row]`: the lowest of equals, the first where that is not a number; `correct`, added to atomically.
/// * Shared: 128 bytes: hits of each warp.
/// * Cost: classes + log block steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::classes`, `warpplay_cpu_ref::mlp::pieces::n_correct`.
/// * Source: Ha and Beqaj, section 2.1 (accuracy by the largest output).
#[kernel(shape = |block: u32| LaunchShape::linear(n_rows, block), require = block.is_multiple_of(thread::WARP))]
pub fn mlp_paper_accuracy(
    #[len(n_rows as usize * n_classes as usize)] z: Slice<f32>,
    #[len(n_rows as usize)] labels: Slice<u32>,
    #[len(first as usize + n_rows as usize)] mut found: Disjoint<u32>,
    first: u32,
    #[len(1)] correct: Atomic<u32>,
    n_rows: u32,
    n_classes: u32,
) {
    let scratch = shared_array![u32; WARPS];
    let mut hit = 0;
    if let Some(own) = thread::own_index_below(n_rows) {
        let start = own.get() as usize * n_classes as usize;
        let (mut best, mut most) = (0, z.get(start));
        for class in 1..n_classes {
            let value = z.get(start + class as usize);
            if value > most {
                (best, most) = (class, value);
            }
        }
        // SAFETY: `first` is one number for all threads, so each has its own entry.
        unsafe { found.set_at(first as usize + own.get() as usize, best) };
        hit = (best == labels.get(own.get() as usize)) as u32;
    }
    let hits = block::sum(hit, scratch);
    if thread::thread_idx_x() == 0 {
        correct.add(0, hits);
    }
}
