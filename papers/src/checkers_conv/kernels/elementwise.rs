//! What stands between the convolutions, a thread a value: batch norm, rectifier, residual sum, and clearing what is added to atomically.
//!
//! `x` is `[n, channels, 8, 8]`, the norm's four parameters `[channels]`. This is what the paper's "layer" has besides the convolution.

use super::CELLS;
use warpplay_gpu::cuda::{kernel, math, memory, thread};
use warpplay_gpu::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Launch shape for `n` positions of `n_values` values each.
pub const fn shape(n: u32, n_values: u32) -> LaunchShape {
    LaunchShape::grid_2d(n, n_values.div_ceil(BLOCK), BLOCK)
}

/// The thread's value within its position, and within the whole array; none beyond the position's last.
#[inline(always)]
fn value(n_values: u32) -> Option<(u32, usize)> {
    let at = thread::block_idx_y() * BLOCK + thread::thread_idx_x();
    if at < n_values { Some((at, thread::block_idx_x() as usize * n_values as usize + at as usize)) } else { None }
}

/// `x = 0`, before the kernels that add atomically.
///
/// * Launch: [`shape`], a thread a value of a position, blocks of 256.
/// * Reads: nothing.
/// * Writes: `x`.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::azero::pieces::convolution`, whose sums begin at 0.
/// * Source: our own: the published kernels add to what is there.
///
/// # Safety
/// Launched with [`shape`]; `x` holds `n * n_values` values.
#[kernel(max_threads = BLOCK)]
pub unsafe fn azero_paper_clear(x: *mut f32, n_values: u32) {
    let Some((_, at)) = value(n_values) else { return };
    // SAFETY: inside the array; no other thread has this value.
    unsafe { memory::store(x, at, 0.0) };
}

/// `x = (x - mean) / sqrt(variance + epsilon) * weight + bias`, channel by channel.
///
/// * Launch: [`shape`], a thread a value of a position, blocks of 256.
/// * Reads: `x`, `weight`, `bias`, `mean`, `variance`.
/// * Writes: `x`.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::azero::pieces::normalize`.
/// * Source: OpenSpiel's blocks (Paul and Xu, section II.C).
///
/// # Safety
/// Launched with [`shape`]; `x` holds `n * n_values` values, `n_values` is 64 for each channel; the parameters hold one for each channel and do not overlap
/// `x`.
#[kernel(max_threads = BLOCK)]
pub unsafe fn azero_paper_batch_norm(
    x: *mut f32,
    weight: *const f32,
    bias: *const f32,
    mean: *const f32,
    variance: *const f32,
    n_values: u32,
    epsilon: f32,
) {
    let Some((in_position, at)) = value(n_values) else { return };
    let channel = (in_position / CELLS) as usize;
    // SAFETY: inside the arrays; no other thread has this value.
    unsafe {
        let centred = memory::load(x, at) - memory::load(mean, channel);
        let deviation = math::sqrt(memory::load(variance, channel) + epsilon);
        memory::store(x, at, centred / deviation * memory::load(weight, channel) + memory::load(bias, channel));
    }
}

/// `x = max(x, 0)`; a NaN stays one.
///
/// * Launch: [`shape`], a thread a value of a position, blocks of 256.
/// * Reads: `x`.
/// * Writes: `x`.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::azero::pieces::relu`.
/// * Source: OpenSpiel's blocks (Paul and Xu, section II.C).
///
/// # Safety
/// As [`azero_paper_clear`].
#[kernel(max_threads = BLOCK)]
pub unsafe fn azero_paper_relu(x: *mut f32, n_values: u32) {
    let Some((_, at)) = value(n_values) else { return };
    // SAFETY: inside the array; no other thread has this value.
    unsafe {
        if memory::load(x, at) < 0.0 {
            memory::store(x, at, 0.0);
        }
    }
}

/// `x = x + y`.
///
/// * Launch: [`shape`], a thread a value of a position, blocks of 256.
/// * Reads: `x`, `y`.
/// * Writes: `x`.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::azero::pieces::add`.
/// * Source: OpenSpiel's `ResTorsoBlock` (Paul and Xu, section II.C).
///
/// # Safety
/// As [`azero_paper_clear`]; `y` has the same length and does not overlap `x`.
#[kernel(max_threads = BLOCK)]
pub unsafe fn azero_paper_add(x: *mut f32, y: *const f32, n_values: u32) {
    let Some((_, at)) = value(n_values) else { return };
    // SAFETY: inside the arrays; no other thread has this value.
    unsafe { memory::store(x, at, memory::load(x, at) + memory::load(y, at)) };
}
