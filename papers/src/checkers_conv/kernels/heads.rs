//! The ends of both heads: linear layers, hyperbolic tangent, softmax over the legal actions.
//!
//! The published kernels stop at the 1×1 convolutions; these are plain kernels, so that the whole model can be run the same way.

use warpplay_gpu::cuda::{block, kernel, math, memory, shared_array, thread};
use warpplay_gpu::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 128;
/// Most warps of a block: values of scratch memory.
const WARPS: usize = block::MAX_WARPS as usize;

/// Launch shape of [`azero_paper_linear`] and, with one output, of [`azero_paper_tanh`].
pub const fn shape_linear(n: u32, n_outputs: u32) -> LaunchShape {
    LaunchShape::grid_2d(n, n_outputs.div_ceil(BLOCK), BLOCK)
}

/// Launch shape of [`azero_paper_policy`].
pub const fn shape_policy(n: u32) -> LaunchShape {
    LaunchShape::new(n, BLOCK)
}

/// `out = weight · x + bias`.
///
/// * Launch: [`shape_linear`], a thread an output of a position, blocks of 128.
/// * Reads: `x` `[n, inputs]`, `weight` `[outputs, inputs]`, `bias`.
/// * Writes: `out` `[n, outputs]`.
/// * Shared: none.
/// * Cost: inputs products a thread.
/// * Twin: `warpplay_cpu_ref::azero::pieces::linear`.
/// * Source: OpenSpiel's `ResOutputBlock` (Paul and Xu, section II.C).
///
/// # Safety
/// Launched with [`shape_linear`]. `x` holds `n * n_inputs` values, `weight` `n_outputs * n_inputs`, `bias` `n_outputs`, `out` `n * n_outputs`; `out`
/// overlaps none of them.
#[kernel(max_threads = BLOCK)]
pub unsafe fn azero_paper_linear(
    x: *const f32,
    weight: *const f32,
    bias: *const f32,
    out: *mut f32,
    n_inputs: u32,
    n_outputs: u32,
) {
    let (position, output) = (thread::block_idx_x() as usize, thread::block_idx_y() * BLOCK + thread::thread_idx_x());
    if output >= n_outputs {
        return;
    }
    let (output, n_inputs, n_outputs) = (output as usize, n_inputs as usize, n_outputs as usize);
    // SAFETY: output < n_outputs, input < n_inputs; no other thread has this output.
    unsafe {
        let mut sum = memory::load(bias, output);
        let mut input = 0;
        while input < n_inputs {
            let value = memory::load(x, position * n_inputs + input);
            sum = math::fma(value, memory::load(weight, output * n_inputs + input), sum);
            input += 1;
        }
        memory::store(out, position * n_outputs + output, sum);
    }
}

/// `out = tanh(x)`, one value a position.
///
/// * Launch: [`shape_linear`] of one output: a block a position, one of its threads.
/// * Reads: `x` `[n]`.
/// * Writes: `out` `[n]`.
/// * Shared: none.
/// * Cost: one value by one thread.
/// * Twin: `warpplay_cpu_ref::azero::forward::Network::forward`.
/// * Source: OpenSpiel's `ResOutputBlock` (Paul and Xu, section II.C).
///
/// # Safety
/// Launched with [`shape_linear`]`(n, 1)`. Both hold `n` values and do not overlap.
#[kernel(max_threads = BLOCK)]
pub unsafe fn azero_paper_tanh(x: *const f32, out: *mut f32) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    let position = thread::block_idx_x() as usize;
    // SAFETY: one block a position.
    unsafe { memory::store(out, position, libm::tanhf(memory::load(x, position))) };
}

/// Softmax of the legal actions' logits; an illegal action has 0, and all have where none is legal.
///
/// * Launch: [`shape_policy`], a block a position, 128 threads.
/// * Reads: `logits` and `masks` `[n, actions]`.
/// * Writes: `policies` `[n, actions]`.
/// * Shared: 128 bytes: a value of each warp.
/// * Cost: 3 × ⌈actions / 128⌉ + 2 × log block steps a thread.
/// * Twin: `warpplay_cpu_ref::azero::pieces::masked_softmax`.
/// * Source: OpenSpiel's `ResOutputBlock` (Paul and Xu, section II.C).
///
/// # Safety
/// Launched with [`shape_policy`]. `logits`, `masks` and `policies` hold `n * n_actions` values; `policies` overlaps neither.
#[kernel(max_threads = BLOCK)]
pub unsafe fn azero_paper_policy(logits: *const f32, masks: *const u8, policies: *mut f32, n_actions: u32) {
    let scratch = shared_array![f32; WARPS];
    let first = thread::block_idx_x() as usize * n_actions as usize;
    // SAFETY: one block a position, so its row is inside the buffers; action < n_actions.
    unsafe {
        let (logits, masks, policies) = (logits.add(first), masks.add(first), policies.add(first));
        let mut largest = f32::NEG_INFINITY;
        let mut action = thread::thread_idx_x();
        while action < n_actions {
            let logit = memory::load(logits, action as usize);
            if memory::load(masks, action as usize) != 0 && logit > largest {
                largest = logit;
            }
            action += BLOCK;
        }
        let largest = block::max(largest, f32::NEG_INFINITY, scratch);
        let mut sum = 0.0;
        let mut action = thread::thread_idx_x();
        while action < n_actions {
            if memory::load(masks, action as usize) != 0 {
                sum += math::exp(memory::load(logits, action as usize) - largest);
            }
            action += BLOCK;
        }
        let sum = block::sum(sum, scratch);
        let mut action = thread::thread_idx_x();
        while action < n_actions {
            let mut probability = 0.0;
            if memory::load(masks, action as usize) != 0 {
                probability = math::exp(memory::load(logits, action as usize) - largest) / sum;
            }
            memory::store(policies, action as usize, probability);
            action += BLOCK;
        }
    }
}
