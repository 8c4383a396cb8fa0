//! Softmax, and the gradient of softmax and cross-entropy by the logits.
//!
//! One block a row, for any number of classes; the gradient from given probabilities one thread a value. The row's largest logit is subtracted
//! before the powers are taken, so
//! nothing overflows. Largest value and sum are block reductions, whose order is fixed: the same bits every time.
//!
//! A gradient's factor is 1 / n_rows for the mean and 1 for the sum.

use warpplay_gpu::cuda::shared::Shared;
use warpplay_gpu::cuda::view::{Disjoint, Slice};
use warpplay_gpu::cuda::{block, kernel, math, memory, shared_array, thread};
use warpplay_gpu::launch::LaunchShape;

/// Most warps of a block: values of scratch memory.
const WARPS: usize = block::MAX_WARPS as usize;

/// Launch shape of the kernels that work on whole rows, `block` a multiple of 32.
pub const fn shape_rows(n_rows: u32, block: u32) -> LaunchShape {
    LaunchShape::new(n_rows, block)
}

/// The largest logit of a row and the sum of exp(z - largest), on every thread of the block.
///
/// # Safety
/// Called by every thread of a block of whole warps; the row holds `n_classes` values that nobody writes; `scratch` has [`block::MAX_WARPS`] values.
#[inline(always)]
pub(super) unsafe fn largest_and_sum(row: *const f32, n_classes: u32, scratch: Shared<f32>) -> (f32, f32) {
    let threads = thread::block_dim_x();
    let mut largest = f32::NEG_INFINITY;
    let mut class = thread::thread_idx_x();
    while class < n_classes {
        // SAFETY: class < n_classes.
        let z = unsafe { memory::load(row, class as usize) };
        largest = if z > largest { z } else { largest };
        class += threads;
    }
    let largest = block::max(largest, f32::NEG_INFINITY, scratch);
    let mut sum = 0.0;
    let mut class = thread::thread_idx_x();
    while class < n_classes {
        // SAFETY: class < n_classes.
        sum += math::exp(unsafe { memory::load(row, class as usize) } - largest);
        class += threads;
    }
    (largest, block::sum(sum, scratch))
}

/// `p = softmax(z)`.
///
/// * Launch: [`shape_rows`], a block a row, whole warps.
/// * Reads: `z` `[n_rows, n_classes]`.
/// * Writes: `p` `[n_rows, n_classes]`, rows sum to 1.
/// * Shared: 128 bytes: a value of each warp.
/// * Cost: 3 × ⌈classes / block⌉ + 2 × log block steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::softmax`.
/// * Source: Ha and Beqaj, section 1.3, kernel 3.
///
/// # Safety
/// Launched with [`shape_rows`]`(n_rows, …)`. Both buffers hold `n_rows * n_classes` values and do not overlap.
#[kernel]
pub unsafe fn mlp_paper_softmax(z: *const f32, p: *mut f32, n_classes: u32) {
    let scratch = shared_array![f32; WARPS];
    let first = thread::block_idx_x() as usize * n_classes as usize;
    // SAFETY: one block a row, so the row is inside both buffers and no other block has it; class < n_classes.
    unsafe {
        let row = z.add(first);
        let (largest, sum) = largest_and_sum(row, n_classes, scratch);
        let mut class = thread::thread_idx_x();
        while class < n_classes {
            let power = math::exp(memory::load(row, class as usize) - largest);
            memory::store(p, first + class as usize, power / sum);
            class += thread::block_dim_x();
        }
    }
}

/// `gradient = (softmax(z) - onehot(class)) * factor`, in one kernel.
///
/// * Launch: [`shape_rows`], a block a row, whole warps.
/// * Reads: `z` `[n_rows, n_classes]`, `classes`.
/// * Writes: `gradient` `[n_rows, n_classes]`.
/// * Shared: 128 bytes: a value of each warp.
/// * Cost: 3 × ⌈classes / block⌉ + 2 × log block steps a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::softmax_cross_entropy_gradient`.
/// * Source: Ha and Beqaj, section 1.3, kernels 3 and 4 in one.
///
/// # Safety
/// Launched with [`shape_rows`]`(n_rows, …)`. `z` and `gradient` hold `n_rows * n_classes` values, `classes` `n_rows`; `gradient` overlaps neither.
#[kernel]
pub unsafe fn mlp_paper_softmax_gradient_fused(
    z: *const f32,
    classes: *const u32,
    gradient: *mut f32,
    n_classes: u32,
    factor: f32,
) {
    let scratch = shared_array![f32; WARPS];
    let n = thread::block_idx_x() as usize;
    let first = n * n_classes as usize;
    // SAFETY: one block a row, so the row is inside the buffers and no other block has it; class < n_classes.
    unsafe {
        let row = z.add(first);
        let (largest, sum) = largest_and_sum(row, n_classes, scratch);
        let label = memory::load(classes, n);
        let mut class = thread::thread_idx_x();
        while class < n_classes {
            let p = math::exp(memory::load(row, class as usize) - largest) / sum;
            memory::store(gradient, first + class as usize, difference(p, class == label, factor));
            class += thread::block_dim_x();
        }
    }
}

/// `gradient = (p - onehot(class)) * factor`, from probabilities.
///
/// * Launch: a thread a value, blocks of `block` threads.
/// * Reads: `p` `[n_rows, n_classes]`, `classes`.
/// * Writes: `gradient` `[n_rows, n_classes]`.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::cross_entropy_gradient`.
/// * Source: Ha and Beqaj, section 1.3, kernel 4.
#[kernel(shape = |block: u32| LaunchShape::linear(n_rows * n_classes, block))]
pub fn mlp_paper_softmax_gradient(
    #[len((n_rows * n_classes) as usize)] p: Slice<f32>,
    #[len(n_rows as usize)] classes: Slice<u32>,
    #[len((n_rows * n_classes) as usize)] mut gradient: Disjoint<f32>,
    n_rows: u32,
    n_classes: u32,
    factor: f32,
) {
    let Some(own) = thread::own_index_below(n_rows * n_classes) else { return };
    let value = own.get();
    let label = classes.get((value / n_classes) as usize);
    gradient.set(&own, difference(p.get(value as usize), value % n_classes == label, factor));
}

/// One value of the gradient.
#[inline(always)]
fn difference(p: f32, is_label: bool, factor: f32) -> f32 {
    (if is_label { p - 1.0 } else { p }) * factor
}
