//! Both heads: 1×1 convolutions with rectifier, then the linear layers, the value's hyperbolic tangent and the softmax of legal actions.
//!
//! ```text
//! planes    [n, value filters + policy filters, cells]   the value's first; rectified
//! weights   1×1 convolutions [width up to a multiple of 8, filters up to a multiple of 4], linear layers [inputs, outputs]
//! ```
//!
//! A sum over channels has four parts, added up in a fixed order; a sum over planes is in ascending order. Neither depends on the number of positions or on
//! which kernel makes it: the bits are the same.
//!
//! The kernel of the planes runs first, then that of the outputs.

#![allow(clippy::needless_range_loop, reason = "the counter is part of an address or a condition too")]

use core::marker::PhantomData;

use super::tensor::{Bf16, Format, Fp16, Tf32};
use crate::cuda::math::{exp2_approx, fma};
use crate::cuda::memory::{self, Vec4};
use crate::cuda::shared::Shared;
use crate::cuda::{DeviceArgs, kernel, shared_array, sync, thread, warp};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Parts of a sum over channels, each another thread's.
pub const PARTS: u32 = 4;
/// Channels that are read at once; the weights of planes are filled up to a multiple.
pub const AT_ONCE: u32 = 8;
/// Cells of a block that makes planes.
pub const CELLS: u32 = THREADS / PARTS;
/// Positions of a block of [`azero_layers_heads_many`]: one a warp.
pub const MANY: u32 = 8;
/// Planes' values of a position that are in shared memory at once.
const CHUNK: u32 = 256;

/// What both kernels take.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(cells >= 1)]
pub struct Heads {
    /// The torso's output; its layout is the kernel's.
    #[len(n * cells * stride)]
    pub features: *const u32,
    /// `[width up to a multiple of AT_ONCE, filters up to a multiple of 4]`, the value's first.
    #[len(width.next_multiple_of(AT_ONCE) * (value_filters + policy_filters).next_multiple_of(4))]
    pub plane_weights: *const f32,
    /// `[filters]`.
    #[len(value_filters + policy_filters)]
    pub plane_bias: *const f32,
    /// `[n, filters, cells]`.
    #[len(n * (value_filters + policy_filters) * cells)]
    pub planes: *mut f32,
    /// `[value_filters * cells, value_hidden]`.
    #[len(value_filters * cells * value_hidden)]
    pub value_weights_1: *const f32,
    /// `[value_hidden]`.
    #[len(value_hidden)]
    pub value_bias_1: *const f32,
    /// `[value_hidden + 1]`, the bias last.
    #[len(value_hidden + 1)]
    pub value_weights_2: *const f32,
    /// `[policy_filters * cells, actions]`.
    #[len(policy_filters * cells * actions)]
    pub policy_weights: *const f32,
    /// `[actions]`.
    #[len(actions)]
    pub policy_bias: *const f32,
    /// `[n, actions]`.
    #[len(n * actions)]
    pub masks: *const u8,
    /// `[n]`; this and what follows may be null for the kernels that make planes.
    #[len(n)]
    #[nullable]
    pub values: *mut f32,
    /// `[n, actions]`.
    #[len(n * actions)]
    #[nullable]
    pub policy_logits: *mut f32,
    /// `[n, actions]`.
    #[len(n * actions)]
    #[nullable]
    pub policies: *mut f32,
    /// Positions.
    pub n: u32,
    /// Cells of the board.
    pub cells: u32,
    /// Channels of the torso.
    pub width: u32,
    /// Words from one cell's channels to the next, where channels lie together; else the width.
    pub stride: u32,
    /// Planes of the value head.
    pub value_filters: u32,
    /// Planes of the policy head.
    pub policy_filters: u32,
    /// Hidden units of the value head.
    pub value_hidden: u32,
    /// Actions.
    pub actions: u32,
}

const _: () = assert!(size_of::<Heads>() == 136);

/// Launch shape of the kernels that make planes.
pub const fn planes_shape(n: u32, cells: u32) -> LaunchShape {
    LaunchShape::new((n * cells).div_ceil(CELLS), THREADS)
}

/// Launch shape of the kernels that make outputs, `positions` a block: 1 or [`MANY`].
pub const fn outputs_shape(n: u32, positions: u32) -> LaunchShape {
    LaunchShape::new(n.div_ceil(positions), THREADS)
}

/// A layout of features.
pub trait Layout {
    /// Reads channels `channel` to `channel + AT_ONCE` of a cell; those beyond the width are 0.
    ///
    /// # Safety
    /// The features are valid, position, cell and channel among them, the channel a multiple of [`AT_ONCE`].
    unsafe fn channels(heads: &Heads, position: u32, cell: u32, channel: u32) -> [f32; 8];
}

/// `[n, width, cells]` in single precision.
pub enum Planar {}

impl Layout for Planar {
    #[device_inline]
    #[track_caller]
    unsafe fn channels(heads: &Heads, position: u32, cell: u32, channel: u32) -> [f32; 8] {
        let mut values = [0.0; 8];
        unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
            let channel = channel + I as u32;
            if channel < heads.width {
                let plane = position as usize * heads.width as usize + channel as usize;
                // SAFETY: the position is below `n`, the cell below `cells` and, here, the channel below `width`: an element of `[n, width, cells]`.
                let word = unsafe { memory::load(heads.features, plane * heads.cells as usize + cell as usize) };
                values[I] = f32::from_bits(word);
            }
        });
        values
    }
}

/// `[n * cells, stride]` words of a format.
pub struct Packed<F>(PhantomData<F>);

impl<F: Format> Layout for Packed<F> {
    #[device_inline]
    #[track_caller]
    unsafe fn channels(heads: &Heads, position: u32, cell: u32, channel: u32) -> [f32; 8] {
        let row = position as usize * heads.cells as usize + cell as usize;
        let at = row * heads.stride as usize + (channel / F::PER_WORD) as usize;
        // SAFETY: position, cell and channel are among the features, as the caller says, whose words are filled up to whole groups, and those of eight channels are in one.
        let (low, high) = unsafe {
            let [a, b, c, d] = memory::load_vec4(heads.features.add(at).cast::<Vec4>()).0;
            if F::PER_WORD == 1 {
                (F::unpack([a, b, c, d]), F::unpack(memory::load_vec4(heads.features.add(at + 4).cast::<Vec4>()).0))
            } else {
                (F::unpack([a, b, 0, 0]), F::unpack([c, d, 0, 0]))
            }
        };
        [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]]
    }
}

const _: () = assert!(super::tensor::GROUP.is_multiple_of(AT_ONCE));

/// The planes of a block's cells.
///
/// # Safety
/// Every thread of a block of [`THREADS`] calls it; `heads` describes valid memory; `parts` holds a quad for each thread.
#[device_inline]
#[track_caller]
pub(super) unsafe fn make_planes<L: Layout>(heads: &Heads, parts: Shared<f32>) {
    let me = thread::thread_idx_x();
    let (own, part) = (me % CELLS, me / CELLS);
    let cell = thread::block_idx_x() * CELLS + own;
    let (position, cell_of) = (cell / heads.cells, cell % heads.cells);
    let active = position < heads.n;
    let filters = heads.value_filters + heads.policy_filters;
    let line = filters.next_multiple_of(4);
    // Channels of a part, so that parts begin where reads do.
    let share = heads.width.div_ceil(PARTS).next_multiple_of(AT_ONCE);
    let from = part * share;
    let to = if from + share < heads.width { from + share } else { heads.width };
    // SAFETY: `heads` describes valid memory, as the caller says. Cells are those of positions there are, channels below the width; weights are filled up to whole reads; the plane's value is this thread's.
    unsafe {
        for filter in thread::strided(0, filters, 4) {
            let mut sums = [0.0f32; 4];
            if active {
                for channel in thread::strided(from, to, AT_ONCE) {
                    let values = L::channels(heads, position, cell_of, channel);
                    unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                        let at = (channel as usize + I) * line as usize + filter as usize;
                        let weights = memory::load_vec4(heads.plane_weights.add(at).cast::<Vec4>()).0;
                        unroll!(J in [0, 1, 2, 3] {
                            sums[J] = fma(f32::from_bits(weights[J]), values[I], sums[J]);
                        });
                    });
                }
            }
            for j in 0..4 {
                parts.set((part * 4 + j) * CELLS + own, sums[j as usize]);
            }
            // All parts must be there. Part 0's thread adds up filter 0 of the four, and so on.
            sync::sync_threads();
            let of = |number: u32| parts.get((number * 4 + part) * CELLS + own);
            let sum = (of(0) + of(1)) + (of(2) + of(3));
            if active && filter + part < filters {
                let plane = position as usize * filters as usize + (filter + part) as usize;
                let sum = sum + memory::load(heads.plane_bias, (filter + part) as usize);
                memory::store(heads.planes, plane * heads.cells as usize + cell_of as usize, super::conv::rectify(sum));
            }
            // All must be read before the next four.
            sync::sync_threads();
        }
    }
}

/// Gives the sums of a linear layer to `take`, `P` positions at once: outputs `thread`, `thread + THREADS`, …
///
/// # Safety
/// Every thread of the block calls it. The planes of positions `first` to `first + P` from plane `from` on have `n_inputs` values; `weights` are `[n_inputs,
/// n_outputs]`; `staged` holds `CHUNK * P` values.
#[device_inline]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "what a layer is made of")]
unsafe fn linear<const P: usize>(
    heads: &Heads,
    first: u32,
    from: u32,
    n_inputs: u32,
    weights: *const f32,
    n_outputs: u32,
    staged: Shared<f32>,
    mut take: impl FnMut(u32, [f32; P]),
) {
    let me = thread::thread_idx_x();
    let filters = heads.value_filters + heads.policy_filters;
    let line = filters as usize * heads.cells as usize;
    // SAFETY: the caller's promise: planes of positions there are, made by the kernel before; the layer's weights; what is staged before the barrier.
    unsafe {
        for base in thread::strided(0, n_outputs, THREADS) {
            let output = base + me;
            let mut sums = [0.0f32; P];
            let mut input = 0;
            while input < n_inputs {
                let here = if n_inputs - input < CHUNK { n_inputs - input } else { CHUNK };
                // Those before must have been read by all.
                sync::sync_threads();
                for p in 0..P as u32 {
                    let position = first + p;
                    for number in thread::strided(me, here, THREADS) {
                        let mut value = 0.0;
                        if position < heads.n {
                            let index = position as usize * line + (from * heads.cells + input + number) as usize;
                            value = memory::load(heads.planes.cast_const(), index);
                        }
                        staged.set(number * P as u32 + p, value);
                    }
                }
                // All must be there.
                sync::sync_threads();
                if output < n_outputs {
                    // Weights are read ahead of the products: their way is long.
                    let weight = |number: u32| {
                        let at = (input + number) as usize * n_outputs as usize + output as usize;
                        memory::load(weights, at)
                    };
                    let mut add = |number: u32, weight: f32| {
                        for p in 0..P {
                            let value = staged.get_unchecked(number * P as u32 + p as u32);
                            sums[p] = fma(weight, value, sums[p]);
                        }
                    };
                    let mut number = 0;
                    while number + 8 <= here {
                        let mut ahead = [0.0f32; 8];
                        unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                            ahead[I] = weight(number + I as u32);
                        });
                        unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                            add(number + I as u32, ahead[I]);
                        });
                        number += 8;
                    }
                    while number < here {
                        add(number, weight(number));
                        number += 1;
                    }
                }
                input += here;
            }
            if output < n_outputs {
                take(output, sums);
            }
        }
    }
}

/// The outputs of `P` positions.
///
/// # Safety
/// Every thread of a block of [`THREADS`] calls it; `heads` describes valid memory; `staged` holds `CHUNK * P` values, `parts` `THREADS * P`.
#[device_inline]
#[track_caller]
unsafe fn make_outputs<const P: usize>(heads: &Heads, staged: Shared<f32>, parts: Shared<f32>) {
    let me = thread::thread_idx_x();
    let first = thread::block_idx_x() * P as u32;
    let mut shares = [0.0f32; P];
    // SAFETY: `heads` describes valid memory and both arrays have the values, as the caller says; units and actions are below their numbers, and each output is one thread's; a warp ends a position, whose logits this block wrote before the barrier.
    unsafe {
        let n_inputs = heads.value_filters * heads.cells;
        linear::<P>(heads, first, 0, n_inputs, heads.value_weights_1, heads.value_hidden, staged, |unit, sums| {
            let bias = memory::load(heads.value_bias_1, unit as usize);
            let weight = memory::load(heads.value_weights_2, unit as usize);
            for p in 0..P {
                shares[p] = fma(weight, super::conv::rectify(sums[p] + bias), shares[p]);
            }
        });
        let n_inputs = heads.policy_filters * heads.cells;
        linear::<P>(
            heads,
            first,
            heads.value_filters,
            n_inputs,
            heads.policy_weights,
            heads.actions,
            staged,
            |action, sums| {
                let bias = memory::load(heads.policy_bias, action as usize);
                for p in 0..P {
                    if first + (p as u32) < heads.n {
                        let at = (first as usize + p) * heads.actions as usize + action as usize;
                        memory::store(heads.policy_logits, at, sums[p] + bias);
                    }
                }
            },
        );
        for p in 0..P {
            parts.set(p as u32 * THREADS + me, shares[p]);
        }
        // The shares and the logits must be there for the warp that ends a position.
        sync::sync_threads();
        let own = thread::warp_index();
        let position = first + own;
        if own < P as u32 && position < heads.n {
            finish(heads, position, own, parts);
        }
    }
}

/// Hyperbolic tangent with an absolute error below 3e-7. (That of `libm` is a call, for which registers are put aside.)
#[device_inline]
fn tanh(x: f32) -> f32 {
    let e = exp2_approx(-2.0 * core::f32::consts::LOG2_E * x.abs());
    ((1.0 - e) / (1.0 + e)).copysign(x)
}

/// A position's value and policy, by a warp.
///
/// # Safety
/// The whole warp calls it; the position's shares and logits are there.
#[device_inline]
#[track_caller]
unsafe fn finish(heads: &Heads, position: u32, own: u32, parts: Shared<f32>) {
    let lane = thread::lane();
    let mut sum = 0.0f32;
    for at in thread::strided(lane, THREADS, thread::WARP) {
        sum += parts.get(own * THREADS + at);
    }
    let sum = warp::reduce_sum(sum);
    let line = position as usize * heads.actions as usize;
    // SAFETY: for the whole body, the position's own elements.
    unsafe {
        if lane == 0 {
            let bias = memory::load(heads.value_weights_2, heads.value_hidden as usize);
            memory::store(heads.values, position as usize, tanh(sum + bias));
        }
        let logit = |action: u32| memory::load(heads.policy_logits.cast_const(), line + action as usize);
        let legal = |action: u32| memory::load(heads.masks, line + action as usize) != 0;
        let mut largest = f32::NEG_INFINITY;
        let mut action = lane;
        while action < heads.actions {
            let value = logit(action);
            if legal(action) && value > largest {
                largest = value;
            }
            action += thread::WARP;
        }
        let largest = warp::reduce_max(largest);
        let exponential = |action: u32| exp2_approx((logit(action) - largest) * core::f32::consts::LOG2_E);
        let mut sum = 0.0f32;
        for action in thread::strided(lane, heads.actions, thread::WARP) {
            if legal(action) {
                sum += exponential(action);
            }
        }
        let sum = warp::reduce_sum(sum);
        for action in thread::strided(lane, heads.actions, thread::WARP) {
            let share = if legal(action) { exponential(action) / sum } else { 0.0 };
            memory::store(heads.policies, line + action as usize, share);
        }
    }
}

const PLANE_PARTS: usize = 4 * THREADS as usize;
const ONE_STAGED: usize = CHUNK as usize;
const ONE_PARTS: usize = THREADS as usize;
const MANY_STAGED: usize = (CHUNK * MANY) as usize;
const MANY_PARTS: usize = (THREADS * MANY) as usize;

/// The planes of both heads, from features `[n, width, cells]` in single precision.
///
/// * Launch: [`planes_shape`], 64 cells a block, four of 256 threads a cell.
/// * Reads: `features`, `plane_weights`, `plane_bias`.
/// * Writes: `planes`.
/// * Shared: 4,096 bytes: four sums of each thread.
/// * Cost: 2 × channels × filters operations a cell.
/// * Twin: `warpplay_cpu_ref::azero::forward::Network::conv_1x1`, `warpplay_cpu_ref::azero::pieces::relu`.
/// * Source: OpenSpiel's `ResOutputBlock` (Paul and Xu, section II.C); the four parts of a sum are ours.
///
/// # Safety
/// `heads` describes valid memory.
#[kernel(shape = planes_shape(heads.n, heads.cells), max_threads = THREADS)]
pub unsafe fn azero_layers_planes(heads: Heads) {
    // SAFETY: blocks have THREADS threads, the array a quad for each of them, and `heads` describes valid memory, as the kernel asks.
    unsafe { make_planes::<Planar>(&heads, shared_array![f32; PLANE_PARTS]) };
}

macro_rules! planes_of {
    ($format:ident, $planes:ident) => {
        /// The planes of both heads, from features as the convolutions of the format leave them.
        ///
        /// * Launch: [`planes_shape`], 64 cells a block, four of 256 threads a cell.
        /// * Reads: `features`, `plane_weights`, `plane_bias`.
        /// * Writes: `planes`.
        /// * Shared: 4,096 bytes: four sums of each thread.
        /// * Cost: 2 × channels × filters operations a cell.
        /// * Twin: `warpplay_cpu_ref::azero::forward::Network::conv_1x1`, `warpplay_cpu_ref::azero::pieces::relu`.
        /// * Source: OpenSpiel's `ResOutputBlock` (Paul and Xu, section II.C); the four parts of a sum are ours.
        ///
        /// # Safety
        /// As [`azero_layers_planes`].
        #[kernel(shape = planes_shape(heads.n, heads.cells), max_threads = THREADS)]
        pub unsafe fn $planes(heads: Heads) {
            // SAFETY: blocks have THREADS threads, the array a quad for each of them, and `heads` describes valid memory, as the kernel asks.
            unsafe { make_planes::<Packed<$format>>(&heads, shared_array![f32; PLANE_PARTS]) };
        }
    };
}

planes_of!(Tf32, azero_layers_planes_tf32);
planes_of!(Bf16, azero_layers_planes_bf16);
planes_of!(Fp16, azero_layers_planes_fp16);

/// Values, logits and policies of one position a block.
///
/// * Launch: [`outputs_shape`] of 1: a block a position, 256 threads.
/// * Reads: `planes`, `value_weights_1`, `value_bias_1`, `value_weights_2`, `policy_weights`, `policy_bias`, `masks`.
/// * Writes: `values`, `policy_logits`, `policies`.
/// * Shared: 2,048 bytes: planes at hand, shares of the value.
/// * Cost: 2 × cells × (value filters × hidden + policy filters × actions) operations a position.
/// * Twin: `warpplay_cpu_ref::azero::pieces::linear`, `warpplay_cpu_ref::azero::pieces::masked_softmax`.
/// * Source: OpenSpiel's `ResOutputBlock` (Paul and Xu, section II.C).
///
/// # Safety
/// `heads` describes valid memory, with planes.
#[kernel(shape = outputs_shape(heads.n, 1), max_threads = THREADS)]
pub unsafe fn azero_layers_heads_one(heads: Heads) {
    // SAFETY: blocks have THREADS threads, and `heads` describes valid memory, as the kernel asks; the arrays hold CHUNK and THREADS values.
    unsafe { make_outputs::<1>(&heads, shared_array![f32; ONE_STAGED], shared_array![f32; ONE_PARTS]) };
}

/// Values, logits and policies of [`MANY`] positions a block.
///
/// * Launch: [`outputs_shape`] of [`MANY`]: a block eight positions, 256 threads.
/// * Reads: `planes`, `value_weights_1`, `value_bias_1`, `value_weights_2`, `policy_weights`, `policy_bias`, `masks`.
/// * Writes: `values`, `policy_logits`, `policies`.
/// * Shared: 16,384 bytes: planes at hand, shares of the value.
/// * Cost: 2 × cells × (value filters × hidden + policy filters × actions) operations a position.
/// * Twin: `warpplay_cpu_ref::azero::pieces::linear`, `warpplay_cpu_ref::azero::pieces::masked_softmax`.
/// * Source: OpenSpiel's `ResOutputBlock` (Paul and Xu, section II.C).
///
/// # Safety
/// `heads` describes valid memory, with planes.
#[kernel(shape = outputs_shape(heads.n, MANY), max_threads = THREADS, min_blocks = 4)]
pub unsafe fn azero_layers_heads_many(heads: Heads) {
    // SAFETY: blocks have THREADS threads, and `heads` describes valid memory, as the kernel asks; the arrays hold CHUNK and THREADS values for each of eight positions.
    unsafe { make_outputs::<8>(&heads, shared_array![f32; MANY_STAGED], shared_array![f32; MANY_PARTS]) };
}

const _: () = assert!(MANY == 8 && MANY <= THREADS / thread::WARP);

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::tanh;

    #[test]
    fn tanh_is_near() {
        for step in -4000..=4000 {
            let x = step as f32 / 333.0;
            assert!((f64::from(tanh(x)) - f64::from(x).tanh()).abs() < 3e-7, "{x}");
        }
        assert!(tanh(f32::NAN).is_nan() && tanh(f32::INFINITY) == 1.0 && tanh(-1e30) == -1.0);
    }
}
