//! Stochastic gradient descent, with the gradient reset.
//!
//! One thread a value.
//! Launch  grid ceil(n / block), block `block`, no shared memory.
//! Reads   `gradient` `[n]` f32.
//! Writes  `weights` `[n]` f32, w - learning_rate * g; `gradient` becomes 0.
//! Twin    `warpplay_cpu_ref::mlp::pieces::sgd_update`.   Source  Ha and Beqaj, kernel of the update.

use warpplay_gpu::cuda::{kernel, memory, thread};
use warpplay_gpu::launch::LaunchShape;

/// Launch shape for `n` values.
pub const fn shape(n: u32, block: u32) -> LaunchShape {
    LaunchShape::linear(n, block)
}

/// `w -= learning_rate * g; g = 0`.
///
/// # Safety
/// Launched with [`shape`]`(n, …)`. Both buffers hold `n` values and do not overlap.
#[kernel]
pub unsafe fn mlp_paper_sgd(weights: *mut f32, gradient: *mut f32, n: u32, learning_rate: f32) {
    let Some(value) = thread::index_1d_below(n) else { return };
    let at = value as usize;
    // SAFETY: value < n; no other thread has this value.
    unsafe {
        memory::store(weights, at, memory::load(weights, at) - learning_rate * memory::load(gradient, at));
        memory::store(gradient, at, 0.0);
    }
}
