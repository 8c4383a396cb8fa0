//! Cross-entropy of each sample, and its sum.
//!
//! Loss: one block a row. Sum: one block in all, each thread adds up every `block`-th loss, then a block reduction; its order is fixed.
//!
//! Launch  loss: grid n_rows, block `block` of whole warps; sum: grid 1, block `block` of whole warps.
//! Reads   `z` `[n_rows, n_classes]` f32, `classes` `[n_rows]` u32.
//! Writes  `losses` `[n_rows]` f32, log of the sum of exp(z) minus `z[class]`, NaN where the class is none; `sums[slot]` f32.
//! Twin    `warpplay_cpu_ref::mlp::pieces::losses`.   Source  Ha and Beqaj, kernel of the loss.

use super::softmax::largest_and_sum;
use warpplay_gpu::cuda::{block, kernel, math, memory, shared_array, thread};
use warpplay_gpu::launch::LaunchShape;

/// Most warps of a block: values of scratch memory.
const WARPS: usize = block::MAX_WARPS as usize;

/// Launch shape of [`mlp_paper_loss`], `block` a multiple of 32.
pub const fn shape(n_rows: u32, block: u32) -> LaunchShape {
    LaunchShape::new(n_rows, block)
}

/// Launch shape of [`mlp_paper_loss_sum`], `block` a multiple of 32.
pub const fn shape_sum(block: u32) -> LaunchShape {
    LaunchShape::new(1, block)
}

/// The loss of every sample.
///
/// # Safety
/// Launched with [`shape`]`(n_rows, …)`. `z` holds `n_rows * n_classes` values, `classes` and `losses` `n_rows`; `losses` overlaps neither.
#[kernel]
pub unsafe fn mlp_paper_loss(z: *const f32, classes: *const u32, losses: *mut f32, n_classes: u32) {
    let scratch = shared_array![f32; WARPS];
    let n = thread::block_idx_x() as usize;
    // SAFETY: one block a row, so row and entry are inside the buffers; the class is checked; one thread writes the loss.
    unsafe {
        let row = z.add(n * n_classes as usize);
        let (largest, sum) = largest_and_sum(row, n_classes, scratch);
        if thread::thread_idx_x() == 0 {
            let class = memory::load(classes, n);
            let of_class = if class < n_classes { memory::load(row, class as usize) } else { f32::NAN };
            memory::store(losses, n, math::ln(sum) + (largest - of_class));
        }
    }
}

/// `sums[slot]` becomes the sum of `n` losses.
///
/// # Safety
/// Launched with [`shape_sum`]. `losses` holds `n` values, `sums` more than `slot`; they do not overlap.
#[kernel]
pub unsafe fn mlp_paper_loss_sum(losses: *const f32, n: u32, sums: *mut f32, slot: u32) {
    let scratch = shared_array![f32; WARPS];
    let mut mine = 0.0;
    let mut at = thread::thread_idx_x();
    while at < n {
        // SAFETY: at < n.
        mine += unsafe { memory::load(losses, at as usize) };
        at += thread::block_dim_x();
    }
    let sum = block::sum(mine, scratch);
    if thread::thread_idx_x() == 0 {
        // SAFETY: one thread writes the slot, which is inside the sums.
        unsafe { memory::store(sums, slot as usize, sum) };
    }
}
