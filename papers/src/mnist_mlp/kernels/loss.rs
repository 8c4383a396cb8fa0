//! Cross-entropy of each sample, and its sum.
//!
//! Loss: one block a row. Sum: one block in all, each thread adds up every `block`-th loss, then a block reduction; its order is fixed.
//!
//! *Atomic* is the published form (section 1.3, item 4; section 2.2, decision 1; 64 threads for 64 samples in the table of section 2.3): a thread a sample, from the
//! probabilities, added to one float in the order of arrival, so that the last bits change from run to run.

use super::softmax::largest_and_sum;
use warpplay_gpu::cuda::view::{Atomic, Disjoint, Slice};
use warpplay_gpu::cuda::{block, kernel, math, memory, shared_array, thread};
use warpplay_gpu::launch::LaunchShape;

/// Most warps of a block: values of scratch memory.
const WARPS: usize = block::MAX_WARPS as usize;

/// Launch shape of [`mlp_paper_loss`], `block` a multiple of 32.
pub const fn shape(n_rows: u32, block: u32) -> LaunchShape {
    LaunchShape::new(n_rows, block)
}

/// The loss of a sample whose class has probability `p`. A probability that has underflowed counts as the least normal number, so that the loss is finite, at most 87.4; what
/// is not a number stays so.
#[inline(always)]
pub fn negative_log(p: f32) -> f32 {
    -math::ln(if p < f32::MIN_POSITIVE { f32::MIN_POSITIVE } else { p })
}

/// The loss of every sample.
///
/// * Launch: [`shape`], a block a row, whole warps.
/// * Reads: `z` `[n_rows, n_classes]`, `classes`.
/// * Writes: `losses`: log of the sum of exp(z) minus `z[class]`, NaN where the class is none.
/// * Shared: 128 bytes: a value of each warp.
/// * Cost: 2 × (⌈classes / block⌉ + log block) steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::losses`.
/// * Source: Ha and Beqaj, section 1.1 (loss); its order is ours.
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
/// * Launch: one block of `block` threads, whole warps.
/// * Reads: `losses` `[n]`.
/// * Writes: `sums[slot]`.
/// * Shared: 128 bytes: a sum of each warp.
/// * Cost: ⌈rows / block⌉ + log block steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::losses`, whose sum it is.
/// * Source: Ha and Beqaj, section 1.1 (loss); its order is ours.
#[kernel(shape = |block: u32| LaunchShape::new(1, block), require = block.is_multiple_of(thread::WARP))]
pub fn mlp_paper_loss_sum(
    #[len(n as usize)] losses: Slice<f32>,
    n: u32,
    #[len(slot as usize + 1)] mut sums: Disjoint<f32>,
    slot: u32,
) {
    let scratch = shared_array![f32; WARPS];
    let mut mine = 0.0;
    let mut at = thread::thread_idx_x();
    while at < n {
        mine += losses.get(at as usize);
        at += thread::block_dim_x();
    }
    let sum = block::sum(mine, scratch);
    if thread::thread_idx_x() == 0 {
        // SAFETY: one block, of which one thread writes.
        unsafe { sums.set_at(slot as usize, sum) };
    }
}

/// Adds the losses of `n_rows` samples to `sums[slot]`, each by an atomic addition. Whoever wants the sum itself sets it to 0 before.
///
/// * Launch: a thread a row, blocks of `block` threads.
/// * Reads: `p` `[n_rows, n_classes]`, `classes`.
/// * Writes: `sums[slot]`, added to atomically: the last bits change from run to run.
/// * Shared: none.
/// * Cost: one logarithm and one atomic addition a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::losses`, whose sum it is.
/// * Source: Ha and Beqaj, section 1.3, item 4 of the GPU, section 2.2, decision 1, and section 2.3 (64 threads).
#[kernel(shape = |block: u32| LaunchShape::linear(n_rows, block))]
pub fn mlp_paper_loss_atomic(
    #[len(n_rows as usize * n_classes as usize)] p: Slice<f32>,
    #[len(n_rows as usize)] classes: Slice<u32>,
    #[len(slot as usize + 1)] sums: Atomic<f32>,
    slot: u32,
    n_rows: u32,
    n_classes: u32,
) {
    let Some(own) = thread::own_index_below(n_rows) else { return };
    let row = own.get() as usize;
    let class = classes.get(row);
    let at = row * n_classes as usize + class as usize;
    sums.add(slot as usize, if class < n_classes { negative_log(p.get(at)) } else { f32::NAN });
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn a_loss_of_no_probability_is_finite_and_of_no_number_is_none() {
        assert_eq!(negative_log(1.0), 0.0);
        assert!((87.0..87.4).contains(&negative_log(0.0)) && negative_log(f32::NAN).is_nan());
    }
}
