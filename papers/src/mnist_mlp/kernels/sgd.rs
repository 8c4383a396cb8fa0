//! Stochastic gradient descent, with the gradient reset.

use warpplay_gpu::cuda::view::Disjoint;
use warpplay_gpu::cuda::{kernel, thread};
use warpplay_gpu::launch::LaunchShape;

/// `w -= learning_rate * g; g = 0`.
///
/// * Launch: a thread a weight, blocks of `block` threads.
/// * Reads: `weights`, `gradient`.
/// * Writes: `weights`; `gradient` becomes 0.
/// * Shared: none.
/// * Cost: one value a thread.
/// * Twin: `warpplay_cpu_ref::mlp::pieces::sgd_update`.
/// * Source: Ha and Beqaj, section 1.1 (SGD) and section 1.3, kernel 7.
#[kernel(shape = |block: u32| LaunchShape::linear(n, block))]
pub fn mlp_paper_sgd(
    #[len(n as usize)] mut weights: Disjoint<f32>,
    #[len(n as usize)] mut gradient: Disjoint<f32>,
    n: u32,
    learning_rate: f32,
) {
    let Some(own) = thread::own_index_below(n) else { return };
    weights.set(&own, weights.get(&own) - learning_rate * gradient.get(&own));
    gradient.set(&own, 0.0);
}
