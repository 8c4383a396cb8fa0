//! Gradients from their parts, Adam with L2, and what a step reports.
//!
//! ```text
//! parameters   all weights of products first, then biases and norms: the first `n_decayed` values have the L2 term
//! gradients, first and second moments   of the same shape
//! ```
//!
//! | kernel | one thread |
//! |---|---|
//! | `azero_train_sum_parts` | a quad of a product's gradient, and an eighth of its parts |
//! | `azero_train_adam` | a quad of the parameters |
//! | `azero_train_finish` | one block: the step's losses, the gradient's length; moves on to the next step |

use super::loss::OUTCOME;
use super::quad::{add, load_quad, store_quad};
use crate::cuda::memory::Vec4;
use crate::cuda::sync::{follow, sync_threads};
use crate::cuda::{DeviceArgs, block, kernel, math, memory, shared_array, thread};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: usize = (BLOCK / thread::WARP) as usize;

/// Launch shape of [`azero_train_sum_parts`] for `n` values, a multiple of 4: a block for 32 quads.
pub const fn sum_shape(n: u32) -> LaunchShape {
    LaunchShape::new((n / 4).div_ceil(thread::WARP), BLOCK)
}

/// Launch shape of [`azero_train_adam`] for `n` values, a multiple of 4.
pub const fn shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n / 4, BLOCK)
}

/// Partial sums that [`azero_train_adam`] leaves for `n` parameters: two for each block.
pub const fn n_partial(n: u32) -> u32 {
    2 * shape(n).grid[0]
}

/// Sum over the parts of a gradient `[n_parts, n_weights + n_rest]`: the first `n_weights` values, and `n_bias` values of the rest. Each warp of a block adds up an eighth of the parts, in order; then these sums are added up in the warps' order.
///
/// * Launch: [`sum_shape`], a lane four values, blocks of 256.
/// * Reads: `parts`.
/// * Writes: `weights`, `bias`.
/// * Shared: 4,096 bytes: a quad of each thread.
/// * Cost: ⌈parts / 8⌉ quads a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::weight_gradient`,
///   `warpplay_cpu_ref::azero::training::convolution::Layer::bias_gradient`.
/// * Source: our own: the order of the sum.
///
/// # Safety
/// The arrays begin at a multiple of 16 bytes.
#[kernel(
    shape = sum_shape(n_weights + n_bias).overlapping(),
    max_threads = BLOCK,
    require = n_weights.is_multiple_of(4) && n_bias.is_multiple_of(4) && part.is_multiple_of(4) && n_weights + n_bias >= 4 && n_weights + n_bias <= part
)]
pub unsafe fn azero_train_sum_parts(
    #[len(n_parts * part)] parts: *const f32,
    #[len(n_weights)] weights: *mut f32,
    #[len(n_bias)] bias: *mut f32,
    n_parts: u32,
    part: u32,
    n_weights: u32,
    n_bias: u32,
) {
    follow();
    let sums = shared_array![Vec4; BLOCK as usize];
    let (warp_index, lane) = (thread::warp_index(), thread::lane());
    let quads = (n_weights + n_bias) / 4;
    let quad = thread::block_idx_x() * thread::WARP + lane;
    // A lane without a quad goes the way of the others, with the last.
    let at = (if quad < quads { quad } else { quads - 1 }) as usize * 4;
    let each = n_parts.div_ceil(WARPS as u32);
    let mut number = warp_index * each;
    let end = if n_parts < number + each { n_parts } else { number + each };
    let mut sum = [0.0; 4];
    // SAFETY: the quad is in every part, and this lane's in the result; the array has an element for each thread.
    unsafe {
        while number < end {
            // Eight are on their way together; one that is not there is the last.
            let mut quads = [[0.0; 4]; 8];
            unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
                let own = number + J as u32;
                let own = if own < end { own } else { end - 1 };
                quads[J] = load_quad(parts, own as usize * part as usize + at);
            });
            unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
                if number + (J as u32) < end {
                    sum = add(sum, quads[J]);
                }
            });
            number += 8;
        }
        sums.set_unchecked(thread::thread_idx_x(), Vec4(sum.map(f32::to_bits)));
        // All warps' sums must be there.
        sync_threads();
        if warp_index > 0 || quad >= quads {
            return;
        }
        let mut sum = [0.0; 4];
        for warp in 0..WARPS as u32 {
            sum = add(sum, sums.get_unchecked(warp * thread::WARP + lane).0.map(f32::from_bits));
        }
        if at < n_weights as usize {
            store_quad(weights, at, sum);
        } else {
            store_quad(bias, at - n_weights as usize, sum);
        }
    }
}

/// What differs from step to step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Rate {
    /// Learning rate / (1 - beta1^t).
    pub step_size: f32,
    /// √(1 - beta2^t).
    pub root: f32,
}

/// What the update works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Steps that there are rates for.
    n_steps: u32
)]
#[require(n.is_multiple_of(4) && n_decayed.is_multiple_of(4))]
pub struct Adam {
    /// All parameters.
    #[len(n)]
    pub parameters: *mut f32,
    /// Their gradients without the L2 term.
    #[len(n)]
    pub gradients: *const f32,
    /// Means of gradients.
    #[len(n)]
    pub first: *mut f32,
    /// Means of squares.
    #[len(n)]
    pub second: *mut f32,
    /// Of each step.
    #[len(n_steps)]
    pub rates: *const Rate,
    /// The step.
    #[len(1)]
    pub step: *const u32,
    /// `[n_partial]`: for each block the sum of squares of the gradient with the L2 term, and of the parameters that have one.
    #[len(n_partial(n))]
    pub partials: *mut f32,
    /// Parameters.
    pub n: u32,
    /// Those of them that have the L2 term.
    pub n_decayed: u32,
    /// Factor of the L2 term's gradient.
    pub decay: f32,
    /// Share of the mean that stays.
    pub beta1: f32,
    /// Share of the mean square that stays.
    pub beta2: f32,
    /// Added to the root.
    pub epsilon: f32,
}

const _: () = assert!(size_of::<Adam>() == 80 && size_of::<Rate>() == 8);

/// One parameter's step: returns the new value.
#[device_inline]
pub fn stepped(adam: &Adam, rate: &Rate, value: f32, gradient: f32, first: &mut f32, second: &mut f32) -> f32 {
    *first = adam.beta1 * *first + (1.0 - adam.beta1) * gradient;
    *second = adam.beta2 * *second + (1.0 - adam.beta2) * gradient * gradient;
    value - rate.step_size * *first / (math::sqrt(*second) / rate.root + adam.epsilon)
}

/// Adam with L2: updates all parameters.
///
/// * Launch: [`shape`], a thread four parameters, blocks of 256.
/// * Reads: `gradients`, `rates`, `step`.
/// * Writes: `parameters`, `first`, `second`, `partials`.
/// * Shared: 32 bytes: a sum of each warp.
/// * Cost: four parameters a thread, two sums of a block.
/// * Twin: `warpplay_cpu_ref::azero::training::adam::Update::apply`.
/// * Source: Kingma and Ba 2015, Algorithm 1; the L2 term is a part of the gradient, as in OpenSpiel.
///
/// # Safety
/// After the gradients. `adam` describes valid memory; numbers are multiples of 4.
#[kernel(shape = shape(adam.n).overlapping(), max_threads = BLOCK)]
pub unsafe fn azero_train_adam(adam: Adam) {
    follow();
    let scratch = shared_array![f32; WARPS];
    let at = (thread::block_idx_x() * BLOCK + thread::thread_idx_x()) * 4;
    let (mut squares, mut decayed) = (0.0, 0.0);
    // SAFETY: the quad is this thread's; a pair of partial sums is this block's.
    unsafe {
        if at < adam.n {
            let rate = memory::load(adam.rates, memory::load(adam.step, 0) as usize);
            let at = at as usize;
            let mut values = load_quad(adam.parameters, at);
            let gradients = load_quad(adam.gradients, at);
            let (mut first, mut second) = (load_quad(adam.first, at), load_quad(adam.second, at));
            let decays = at < adam.n_decayed as usize;
            let mut j = 0;
            while j < 4 {
                let mut gradient = gradients[j];
                if decays {
                    gradient += adam.decay * values[j];
                    decayed += values[j] * values[j];
                }
                squares += gradient * gradient;
                values[j] = stepped(&adam, &rate, values[j], gradient, &mut first[j], &mut second[j]);
                j += 1;
            }
            store_quad(adam.parameters, at, values);
            store_quad(adam.first, at, first);
            store_quad(adam.second, at, second);
        }
        let squares = block::sum(squares, scratch);
        let decayed = block::sum(decayed, scratch);
        if thread::thread_idx_x() == 0 {
            let own = thread::block_idx_x() as usize * 2;
            memory::store(adam.partials, own, squares);
            memory::store(adam.partials, own + 1, decayed);
        }
    }
}

/// What a step reports.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct StepReport {
    /// Mean loss of the policy before the update.
    pub policy_loss: f32,
    /// Mean loss of the value, with its weight.
    pub value_loss: f32,
    /// L2 term.
    pub l2_loss: f32,
    /// Length of the gradient, L2 term included.
    pub gradient_norm: f32,
    /// Share of positions whose likeliest action is the most visited.
    pub accuracy: f32,
}

/// What the end of a step works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Steps that there is room for.
    n_steps: u32
)]
pub struct Finish {
    /// `[n, OUTCOME]`.
    #[len(n * OUTCOME)]
    pub outcomes: *const f32,
    /// `[n_partial]`.
    #[len(n_partial)]
    pub partials: *const f32,
    /// Of each step.
    #[len(n_steps)]
    pub reports: *mut StepReport,
    /// The step, moved on.
    #[len(1)]
    pub step: *mut u32,
    /// Positions of the step.
    pub n: u32,
    /// Partial sums.
    pub n_partial: u32,
    /// As in [`Adam`].
    pub decay: f32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Finish>() == 48 && size_of::<StepReport>() == 20);

/// Launch shape of [`azero_train_finish`].
pub const fn finish_shape() -> LaunchShape {
    LaunchShape::new(1, BLOCK)
}

/// Writes the step's report and moves on to the next step.
///
/// * Launch: [`finish_shape`], one block of 256 threads.
/// * Reads: `outcomes`, `partials`.
/// * Writes: `reports`, `step`.
/// * Shared: 32 bytes: a sum of each warp.
/// * Cost: ⌈positions / 256⌉ + ⌈partial sums / 512⌉ loads a thread, five sums of the block.
/// * Twin: `warpplay_cpu_ref::azero::training::Training::step`.
/// * Source: our own.
///
/// # Safety
/// Last of the step. `finish` describes valid memory.
#[kernel(shape = finish_shape().overlapping(), max_threads = BLOCK)]
pub unsafe fn azero_train_finish(finish: Finish) {
    follow();
    let scratch = shared_array![f32; WARPS];
    let me = thread::thread_idx_x();
    let mut sums = [0.0; 5];
    // SAFETY: outcomes and partial sums exist; one thread writes.
    unsafe {
        let mut row = me;
        while row < finish.n {
            let outcome = load_quad(finish.outcomes, row as usize * OUTCOME);
            let mut j = 0;
            while j < 3 {
                sums[j] += outcome[j];
                j += 1;
            }
            row += BLOCK;
        }
        let mut at = me;
        while at < finish.n_partial / 2 {
            sums[3] += memory::load(finish.partials, at as usize * 2);
            sums[4] += memory::load(finish.partials, at as usize * 2 + 1);
            at += BLOCK;
        }
        let mut j = 0;
        while j < 5 {
            sums[j] = block::sum(sums[j], scratch);
            j += 1;
        }
        if me == 0 {
            let count = finish.n as f32;
            let step = memory::load(finish.step.cast_const(), 0);
            let report = StepReport {
                policy_loss: sums[0] / count,
                value_loss: sums[1] / count,
                l2_loss: 0.5 * finish.decay * sums[4],
                gradient_norm: math::sqrt(sums[3]),
                accuracy: sums[2] / count,
            };
            memory::store(finish.reports, step as usize, report);
            memory::store(finish.step, 0, step + 1);
        }
    }
}
