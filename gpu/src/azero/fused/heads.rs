//! From the planes of the heads to value, logits and policy: a block has some positions, a thread some actions.

use super::CELLS;
use crate::cuda::math::{exp, fma, relu};
use crate::cuda::memory::{load, store};
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::sync::sync_threads;
use crate::cuda::{DeviceArgs, kernel, thread, warp};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{KernelInfo, info};
use crate::launch::LaunchShape;

/// Threads of a block.
pub const THREADS: u32 = 512;
/// Most actions.
pub const MAX_ACTIONS: u32 = 1024;
/// Most units of the value's hidden layer.
pub const MAX_HIDDEN: u32 = 512;

/// What a launch works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(hidden <= MAX_HIDDEN && actions <= MAX_ACTIONS)]
pub struct HeadsTask {
    /// The heads' planes after their rectifier, the value's first: `[n, value_filters + policy_filters, 8, 8]`.
    #[len(n * (value_filters + policy_filters) * CELLS)]
    pub planes: *const f32,
    /// First linear layer of the value, turned: `[64 value_filters, hidden]`, and its bias `[hidden]`.
    #[len(CELLS * value_filters * hidden)]
    pub value_weights_1: *const f32,
    /// Its bias, `[hidden]`.
    #[len(hidden)]
    pub value_bias_1: *const f32,
    /// Second linear layer of the value, `[hidden]`.
    #[len(hidden)]
    pub value_weights_2: *const f32,
    /// Its bias, `[1]`.
    #[len(1)]
    pub value_bias_2: *const f32,
    /// Linear layer of the policy, turned: `[64 policy_filters, actions]`.
    #[len(CELLS * policy_filters * actions)]
    pub policy_weights: *const f32,
    /// Its bias, `[actions]`.
    #[len(actions)]
    pub policy_bias: *const f32,
    /// Legal actions, `[n, actions]`.
    #[len(n * actions)]
    pub masks: *const u8,
    /// Values, `[n]`.
    #[len(n)]
    pub values: *mut f32,
    /// Logits, `[n, actions]`.
    #[len(n * actions)]
    pub logits: *mut f32,
    /// Softmax of the legal actions' logits, `[n, actions]`.
    #[len(n * actions)]
    pub policies: *mut f32,
    /// Positions.
    pub n: u32,
    /// Channels of the value's convolution.
    pub value_filters: u32,
    /// Channels of the policy's convolution.
    pub policy_filters: u32,
    /// Units of the value's hidden layer, at most [`MAX_HIDDEN`].
    pub hidden: u32,
    /// Actions, at most [`MAX_ACTIONS`].
    pub actions: u32,
}

/// Shape of the kernel with `positions` (1 or 16) positions a block.
pub fn shape(positions: u32, n: u32, filters: u32, hidden: u32, actions: u32) -> LaunchShape {
    let floats = positions * (filters * CELLS + hidden + actions);
    LaunchShape::new(n.div_ceil(positions), THREADS).with_shared(floats * 4)
}

#[device_inline]
unsafe fn heads<const POSITIONS: usize>(task: HeadsTask) {
    let filters = task.value_filters + task.policy_filters;
    let (inputs, value_inputs) = (filters * CELLS, task.value_filters * CELLS);
    let positions = POSITIONS as u32;
    // [input][position], so that a thread reads an input of all positions at once.
    let planes = dynamic::<f32>(0, positions * inputs);
    let hidden = dynamic::<f32>(positions * inputs * 4, positions * task.hidden);
    let logits = dynamic::<f32>(positions * (inputs + task.hidden) * 4, positions * task.actions);
    let first = thread::block_idx_x() * positions;
    let me = thread::thread_idx_x();
    // SAFETY: the task is a launch's, so its arrays have the lengths it says; positions, actions and hidden units are below their numbers.
    unsafe {
        load_planes(&task, planes, first, positions, inputs);
        sync_threads();
        let mut action = me;
        while action < task.actions {
            let mut sums = [load(task.policy_bias, action as usize); POSITIONS];
            product(
                &mut sums,
                task.policy_weights,
                action,
                task.actions,
                planes,
                value_inputs,
                task.policy_filters * CELLS,
            );
            let mut position = 0;
            while position < POSITIONS {
                logits.set(position as u32 * task.actions + action, sums[position]);
                position += 1;
            }
            action += THREADS;
        }
        let mut unit = me;
        while unit < task.hidden {
            let mut sums = [load(task.value_bias_1, unit as usize); POSITIONS];
            product(&mut sums, task.value_weights_1, unit, task.hidden, planes, 0, value_inputs);
            let mut position = 0;
            while position < POSITIONS {
                hidden.set(position as u32 * task.hidden + unit, relu(sums[position]));
                position += 1;
            }
            unit += THREADS;
        }
        sync_threads();
        // A warp a position.
        let mut position = warp::shuffle(warp::ALL, thread::warp_index(), 0);
        while position < positions {
            if first + position < task.n {
                finish(task, first + position, position, hidden, logits);
            }
            position += THREADS / 32;
        }
    }
}

/// Loads the planes of `positions` positions from `first` on, `inputs` values each; those behind the last are 0.
///
/// # Safety
/// `task` is a launch's, and `inputs` the values of its planes.
#[device_inline]
unsafe fn load_planes(task: &HeadsTask, planes: Shared<f32>, first: u32, positions: u32, inputs: u32) {
    let mut at = thread::thread_idx_x();
    while at < positions * inputs {
        let (position, input) = (at / inputs, at % inputs);
        let value = match first + position < task.n {
            // SAFETY: a launch's task has `inputs` values for each of `n` positions.
            true => unsafe { load(task.planes, (first + position) as usize * inputs as usize + input as usize) },
            false => 0.0,
        };
        planes.set(input * positions + position, value);
        at += THREADS;
    }
}

/// Adds column `column` of a matrix of `columns` columns times the inputs from `from` on.
#[device_inline]
unsafe fn product<const POSITIONS: usize>(
    sums: &mut [f32; POSITIONS],
    weights: *const f32,
    column: u32,
    columns: u32,
    planes: Shared<f32>,
    from: u32,
    inputs: u32,
) {
    let mut input = 0;
    while input < inputs {
        // SAFETY: the matrix has `inputs` rows of `columns`, as the caller says, and the planes have that input of all positions.
        unsafe {
            let weight = load(weights, (input * columns + column) as usize);
            let mut position = 0;
            while position < POSITIONS {
                let value = planes.get_unchecked((from + input) * POSITIONS as u32 + position as u32);
                sums[position] = fma(value, weight, sums[position]);
                position += 1;
            }
        }
        input += 1;
    }
}

/// Value and policy of one position by a warp.
#[device_inline]
unsafe fn finish(task: HeadsTask, position: u32, row: u32, hidden: Shared<f32>, logits: Shared<f32>) {
    let lane = thread::lane();
    // SAFETY: one weight a unit, one mask, logit and probability an action of the position.
    unsafe {
        let mut value = 0.0;
        let mut unit = lane;
        while unit < task.hidden {
            value = fma(hidden.get(row * task.hidden + unit), load(task.value_weights_2, unit as usize), value);
            unit += 32;
        }
        let value = warp::reduce_sum(value) + load(task.value_bias_2, 0);
        if lane == 0 {
            store(task.values, position as usize, libm::tanhf(value));
        }
        let base = position as usize * task.actions as usize;
        let mut most = f32::NEG_INFINITY;
        let mut action = lane;
        while action < task.actions {
            let logit = logits.get(row * task.actions + action);
            store(task.logits, base + action as usize, logit);
            if load(task.masks, base + action as usize) != 0 && (logit > most || logit.is_nan()) {
                most = logit;
            }
            action += 32;
        }
        let most = warp_max(most);
        let mut sum = 0.0;
        let mut action = lane;
        while action < task.actions {
            let mut weight = 0.0;
            if load(task.masks, base + action as usize) != 0 {
                weight = exp(logits.get(row * task.actions + action) - most);
            }
            logits.set(row * task.actions + action, weight);
            sum += weight;
            action += 32;
        }
        let factor = 1.0 / warp::reduce_sum(sum);
        let mut action = lane;
        while action < task.actions {
            store(task.policies, base + action as usize, logits.get(row * task.actions + action) * factor);
            action += 32;
        }
    }
}

/// The largest of a warp's values; not a number if one is not.
#[device_inline]
fn warp_max(value: f32) -> f32 {
    let mut most = value;
    let mut distance = 16;
    while distance > 0 {
        let other = warp::shuffle_xor(warp::ALL, most, distance);
        if other > most || other.is_nan() {
            most = other;
        }
        distance /= 2;
    }
    most
}

/// Value, logits and policy from the planes of the heads, one position a block: for small batches.
///
/// * Launch: [`shape`] of 1: a thread an action or hidden unit, 512 threads.
/// * Reads: `planes`, `value_weights_1`, `value_bias_1`, `value_weights_2`, `value_bias_2`, `policy_weights`, `policy_bias`, `masks`.
/// * Writes: `values`, `logits`, `policies`.
/// * Shared: dynamic: planes, hidden units and logits of the block's positions.
/// * Cost: 2 × 64 × (value filters × hidden + policy filters × actions) operations a position.
/// * Twin: `warpplay_cpu_ref::azero::pieces::linear`, `warpplay_cpu_ref::azero::pieces::masked_softmax`.
/// * Source: OpenSpiel's `ResOutputBlock` (Paul and Xu, section II.C).
///
/// # Safety
/// The task's arrays have the lengths it says, inputs and outputs are different.
#[kernel(
    shape = shape(1, task.n, task.value_filters + task.policy_filters, task.hidden, task.actions),
    max_threads = 512
)]
pub unsafe fn azero_fused_heads_1(task: HeadsTask) {
    // SAFETY: launched with the shape of one position a block, and the task's arrays have the lengths it says, as the kernel asks.
    unsafe { heads::<1>(task) }
}

/// Value, logits and policy from the planes of the heads, sixteen positions a block: the weights are read once for all.
///
/// * Launch: [`shape`] of 16: a thread an action or hidden unit, 512 threads.
/// * Reads: `planes`, `value_weights_1`, `value_bias_1`, `value_weights_2`, `value_bias_2`, `policy_weights`, `policy_bias`, `masks`.
/// * Writes: `values`, `logits`, `policies`.
/// * Shared: dynamic: planes, hidden units and logits of the block's positions.
/// * Cost: 2 × 64 × (value filters × hidden + policy filters × actions) operations a position.
/// * Twin: `warpplay_cpu_ref::azero::pieces::linear`, `warpplay_cpu_ref::azero::pieces::masked_softmax`.
/// * Source: OpenSpiel's `ResOutputBlock` (Paul and Xu, section II.C).
///
/// # Safety
/// As [`azero_fused_heads_1`].
#[kernel(
    shape = shape(16, task.n, task.value_filters + task.policy_filters, task.hidden, task.actions),
    max_threads = 512
)]
pub unsafe fn azero_fused_heads_16(task: HeadsTask) {
    // SAFETY: launched with the shape of sixteen positions a block, and the task's arrays have the lengths it says, as the kernel asks.
    unsafe { heads::<16>(task) }
}

/// Descriptions of the kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<KernelInfo> {
    vec![info::<azero_fused_heads_1>(), info::<azero_fused_heads_16>()]
}
