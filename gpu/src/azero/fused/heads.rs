//! From the planes of the heads to value, logits and policy: a block has some positions, a thread some actions.

use super::CELLS;
use crate::cuda::math::{exp, fma, relu};
use crate::cuda::shared::{Shared, dynamic};
use crate::cuda::sync::sync_threads;
use crate::cuda::view::{Grid, Slice};
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
#[views]
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

/// What a block has in shared memory.
#[derive(Clone, Copy)]
struct SharedLayout {
    /// `[input][position]`, so that a thread reads an input of all positions at once.
    planes: Shared<f32>,
    /// `[position][unit]`.
    hidden: Shared<f32>,
    /// `[position][action]`.
    logits: Shared<f32>,
}

#[inline(always)]
fn heads<const POSITIONS: usize>(task: HeadsTaskViews) {
    let inputs = (task.value_filters + task.policy_filters) * CELLS;
    let positions = POSITIONS as u32;
    let rest = dynamic::<f32>(0, positions * (inputs + task.hidden + task.actions));
    let shared = SharedLayout {
        planes: rest.part(0, positions * inputs),
        hidden: rest.part(positions * inputs, positions * task.hidden),
        logits: rest.part(positions * (inputs + task.hidden), positions * task.actions),
    };
    let first = thread::block_idx_x() * positions;
    load_planes(&task, shared.planes, first, positions, inputs);
    sync_threads();
    multiply::<POSITIONS>(&task, shared);
    sync_threads();
    // A warp a position.
    let mut position = warp::shuffle(warp::ALL, thread::warp_index(), 0);
    while position < positions {
        if first + position < task.n {
            finish(&task, shared, first + position, position);
        }
        position += THREADS / 32;
    }
}

/// The block's planes; 0 for positions that there are not.
#[inline(always)]
fn load_planes(task: &HeadsTaskViews, to: Shared<f32>, first: u32, positions: u32, inputs: u32) {
    let planes = task.planes.grid([task.n, inputs]);
    let mut at = thread::thread_idx_x();
    while at < positions * inputs {
        let (position, input) = (at / inputs, at % inputs);
        let value = if first + position < task.n { planes.get([first + position, input]) } else { 0.0 };
        to.set(input * positions + position, value);
        at += THREADS;
    }
}

/// Logits and hidden units of the block's positions, an action or a unit a thread.
#[inline(always)]
fn multiply<const POSITIONS: usize>(task: &HeadsTaskViews, shared: SharedLayout) {
    let (value_inputs, policy_inputs) = (task.value_filters * CELLS, task.policy_filters * CELLS);
    let policy_weights = task.policy_weights.grid([policy_inputs, task.actions]);
    let mut action = thread::thread_idx_x();
    while action < task.actions {
        let mut sums = [task.policy_bias.get(action as usize); POSITIONS];
        product(&mut sums, policy_weights, action, shared.planes, value_inputs, policy_inputs);
        let mut position = 0;
        while position < POSITIONS {
            shared.logits.set(position as u32 * task.actions + action, sums[position]);
            position += 1;
        }
        action += THREADS;
    }
    let value_weights = task.value_weights_1.grid([value_inputs, task.hidden]);
    let mut unit = thread::thread_idx_x();
    while unit < task.hidden {
        let mut sums = [task.value_bias_1.get(unit as usize); POSITIONS];
        product(&mut sums, value_weights, unit, shared.planes, 0, value_inputs);
        let mut position = 0;
        while position < POSITIONS {
            shared.hidden.set(position as u32 * task.hidden + unit, relu(sums[position]));
            position += 1;
        }
        unit += THREADS;
    }
}

/// Adds column `column` of a matrix times the inputs from `from` on.
#[inline(always)]
fn product<const POSITIONS: usize>(
    sums: &mut [f32; POSITIONS],
    weights: Grid<Slice<f32>, 2>,
    column: u32,
    planes: Shared<f32>,
    from: u32,
    inputs: u32,
) {
    // The planes of the inputs: a line an input, a column a position.
    let planes = planes.tile(from * POSITIONS as u32, inputs, POSITIONS as u32);
    let mut input = 0;
    while input < inputs {
        let weight = weights.get([input, column]);
        let mut position = 0;
        while position < POSITIONS {
            sums[position] = fma(planes.get(input, position as u32), weight, sums[position]);
            position += 1;
        }
        input += 1;
    }
}

/// Value and policy of one position by a warp; `row` is its number in the block.
#[inline(always)]
fn finish(task: &HeadsTaskViews, shared: SharedLayout, position: u32, row: u32) {
    let SharedLayout { hidden, logits, .. } = shared;
    let lane = thread::lane();
    let mut value = 0.0;
    let mut unit = lane;
    while unit < task.hidden {
        value = fma(hidden.get(row * task.hidden + unit), task.value_weights_2.get(unit as usize), value);
        unit += 32;
    }
    let value = warp::reduce_sum(value) + task.value_bias_2.get(0);
    if lane == 0 {
        task.values.set(position as usize, libm::tanhf(value));
    }
    let size = [task.n, task.actions];
    let (masks, all_logits, policies) = (task.masks.grid(size), task.logits.grid(size), task.policies.grid(size));
    let mut most = f32::NEG_INFINITY;
    let mut action = lane;
    while action < task.actions {
        let logit = logits.get(row * task.actions + action);
        all_logits.set([position, action], logit);
        if masks.get([position, action]) != 0 && (logit > most || logit.is_nan()) {
            most = logit;
        }
        action += 32;
    }
    let most = warp_max(most);
    let mut sum = 0.0;
    let mut action = lane;
    while action < task.actions {
        let mut weight = 0.0;
        if masks.get([position, action]) != 0 {
            weight = exp(logits.get(row * task.actions + action) - most);
        }
        logits.set(row * task.actions + action, weight);
        sum += weight;
        action += 32;
    }
    let factor = 1.0 / warp::reduce_sum(sum);
    let mut action = lane;
    while action < task.actions {
        policies.set([position, action], logits.get(row * task.actions + action) * factor);
        action += 32;
    }
}

/// The largest of a warp's values; not a number if one is not.
#[inline(always)]
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
/// Launched with [`shape`] of 1; the task's arrays have the lengths it says, inputs and outputs are different.
#[kernel(max_threads = 512)]
pub unsafe fn azero_fused_heads_1(task: HeadsTask) {
    // SAFETY: the arrays have their lengths, by the contract. A position is one warp's, which shares out its actions.
    heads::<1>(unsafe { task.views() });
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
/// As [`azero_fused_heads_1`], with [`shape`] of 16.
#[kernel(max_threads = 512)]
pub unsafe fn azero_fused_heads_16(task: HeadsTask) {
    // SAFETY: as in `azero_fused_heads_1`.
    heads::<16>(unsafe { task.views() });
}

/// Descriptions of the kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<KernelInfo> {
    vec![info::<azero_fused_heads_1>(), info::<azero_fused_heads_16>()]
}
