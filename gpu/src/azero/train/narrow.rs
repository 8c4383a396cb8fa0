//! Layers with four outputs and one tap: the heads' convolutions and the value's last layer. They do so little with each value that memory alone sets their time, so a warp reads whole lines of the inputs.
//!
//! ```text
//! inputs    [pixels, n_inputs]     a lane has a quad of channels, a warp 128 of them at a time
//! weights   [n_inputs, 4]
//! outputs   [pixels, 4]
//! ```
//!
//! | kernel | a warp |
//! |---|---|
//! | `azero_train_forward_narrow` | [`PIXELS`] pixels, four at a time: 4 × 4 sums over its lanes, each of which ends in one pair of lanes |
//! | `azero_train_backward_narrow` | [`PIXELS`] pixels × 128 channels |
//! | `azero_train_gradient_narrow` | 128 channels, of each 32 pixels of a part four; a block then adds up its eight warps in order |
//!
//! `azero_train_{forward,backward,gradient}_heads` are the same for both heads' convolutions at once, whose inputs are the same; these, and the gradient by them, may be bfloat16.
//!
//! The layers are those of [`product`](super::product), whose kernels multiply all others.

#![allow(clippy::needless_range_loop, reason = "a layer's number is that of its sums too")]

use super::product::Product;
use super::quad::{add, load_quad, store_quad};
use super::short::{Parts, load_short, short_line, store_parts};
use crate::cuda::math::fma;
use crate::cuda::memory::{Vec4, store};
use crate::cuda::shared::Shared;
use crate::cuda::sync::{follow, sync_threads};
use crate::cuda::{kernel, shared_array, thread, warp};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Outputs of a layer.
pub const OUTPUTS: u32 = 4;
/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: u32 = BLOCK / thread::WARP;
/// Pixels of a warp.
pub const PIXELS: u32 = 8;
/// Pixels whose values are on their way at a time.
const AT_A_TIME: u32 = 4;
/// Channels that a warp has a quad of in each lane.
const CHANNELS: u32 = thread::WARP * 4;

/// Launch shape forward: a warp for each [`PIXELS`] pixels.
pub const fn forward_shape(pixels: u32) -> LaunchShape {
    LaunchShape::new(pixels.div_ceil(WARPS * PIXELS), BLOCK)
}

/// Launch shape backward: the same for each 128 channels.
pub const fn backward_shape(pixels: u32, n_inputs: u32) -> LaunchShape {
    LaunchShape::grid_2d(pixels.div_ceil(WARPS * PIXELS), n_inputs.div_ceil(CHANNELS), BLOCK)
}

/// Launch shape of the gradient: a block for each part and 128 channels.
pub const fn gradient_shape(n_parts: u32, n_inputs: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_parts, n_inputs.div_ceil(CHANNELS), BLOCK)
}

/// Four pixels from `first` on; one that is not before `end` has the number of the first.
#[device_inline]
fn four_pixels(first: u32, end: u32) -> [u32; 4] {
    let own = |i: u32| if first + i < end { first + i } else { first };
    [own(0), own(1), own(2), own(3)]
}

impl Product {
    /// Element `channel` of a pixel's inputs or, backward, of the result.
    #[device_inline]
    const fn input_at(&self, pixel: u32, channel: u32) -> usize {
        pixel as usize * self.n_inputs as usize + channel as usize
    }

    /// The same of bfloat16.
    #[device_inline]
    const fn short_at(&self, pixel: u32, channel: u32) -> usize {
        pixel as usize * short_line(self.n_inputs) as usize + channel as usize
    }

    /// Four neighbouring channels of the inputs of four pixels, from `channel` on. Which numbers they are is asked once, so that all four are on their way together.
    ///
    /// # Safety
    /// The inputs are there, and have the pixels and channels, whose first is a multiple of 4.
    #[device_inline]
    #[track_caller]
    unsafe fn input_quads(&self, pixels: [u32; 4], channel: u32) -> [[f32; 4]; 4] {
        // SAFETY: the caller's.
        unsafe {
            match self.inputs_short.is_null() {
                true => pixels.map(|pixel| load_quad(self.inputs, self.input_at(pixel, channel))),
                false => pixels.map(|pixel| load_short(self.inputs_short, self.short_at(pixel, channel))),
            }
        }
    }

    /// Rows of the weights from channel `channel` on, `[channel][output]`.
    ///
    /// # Safety
    /// The channel is below their number, and the weights are there.
    #[device_inline]
    unsafe fn narrow_weights(&self, channel: u32) -> [[f32; 4]; 4] {
        let at = (channel * OUTPUTS) as usize;
        // SAFETY: the caller's; channels are whole quads.
        unsafe {
            [
                load_quad(self.weights, at),
                load_quad(self.weights, at + 4),
                load_quad(self.weights, at + 8),
                load_quad(self.weights, at + 12),
            ]
        }
    }
}

/// Sums of 16 values over a warp's lanes: lane `l` gets that of value `l / 2`. In each step lanes keep half of what they have and give the other half to the lane that keeps it.
#[device_inline]
fn sums_of_lanes(values: [f32; 16]) -> f32 {
    #[device_inline]
    fn step<const N: usize, const HALF: usize>(values: [f32; N], distance: u32) -> [f32; HALF] {
        let is_upper = thread::lane() & distance != 0;
        let mut kept = [0.0; HALF];
        for i in 0..HALF {
            let (low, high) = (values[i], values[i + HALF]);
            let given = warp::shuffle_xor(warp::ALL, if is_upper { low } else { high }, distance);
            kept[i] = if is_upper { high } else { low } + given;
        }
        kept
    }
    let [sum] = step::<2, 1>(step::<4, 2>(step::<8, 4>(step::<16, 8>(values, 16), 8), 4), 2);
    sum + warp::shuffle_xor(warp::ALL, sum, 1)
}

/// Outputs of a layer with four.
///
/// * Launch: [`forward_shape`], a warp eight pixels, blocks of 256.
/// * Reads: `inputs`, `weights`, `bias`.
/// * Writes: `result` `[pixels, 4]`, after a ReLU where `option` is 1.
/// * Shared: none.
/// * Cost: 2 × pixels × 4 × inputs operations, 16 shuffles for four pixels.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::forward`.
/// * Source: OpenSpiel's residual network (Paul and Xu, section II.C); the form is ours.
///
/// # Safety
/// `layer` describes valid memory.
#[kernel(
    shape = forward_shape(layer.pixels()).overlapping(),
    max_threads = BLOCK,
    require = layer.side == 1 && layer.n_outputs == OUTPUTS && layer.output_gradient.is_null() && !layer.weights.is_null() && !layer.inputs.is_null()
)]
pub unsafe fn azero_train_forward_narrow(layer: Product) {
    follow();
    // SAFETY: the kernel's promise.
    unsafe { forward([&layer]) };
}

/// Outputs of two layers with four each, of the same inputs: both heads' convolutions.
///
/// * Launch: [`forward_shape`], a warp eight pixels, blocks of 256.
/// * Reads: `inputs` or `inputs_short`; `weights`, `bias` of each.
/// * Writes: `result` `[pixels, 4]` of each, after a ReLU where `option` is 1.
/// * Shared: none.
/// * Cost: 2 × pixels × 8 × inputs operations, 32 shuffles for four pixels.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::forward`.
/// * Source: OpenSpiel's residual network (Paul and Xu, section II.C); the form is ours.
///
/// # Safety
/// The layers describe valid memory, and have the same inputs.
#[kernel(
    shape = forward_shape(value.pixels()).overlapping(),
    max_threads = BLOCK,
    require = value.side == 1 && policy.side == 1 && value.n_outputs == OUTPUTS && policy.n_outputs == OUTPUTS && value.n_inputs == policy.n_inputs
        && value.pixels() == policy.pixels() && !value.weights.is_null() && !policy.weights.is_null() && value.output_gradient.is_null() && policy.output_gradient.is_null()
)]
pub unsafe fn azero_train_forward_heads(value: Product, policy: Product) {
    follow();
    // SAFETY: the kernel's promise.
    unsafe { forward([&value, &policy]) };
}

/// Outputs of layers of the same inputs.
///
/// # Safety
/// The layers describe valid memory. All threads of the grid are here.
#[device_inline]
#[track_caller]
unsafe fn forward<const N: usize>(layers: [&Product; N]) {
    let (layer, lane) = (layers[0], thread::lane());
    let pixels = layer.pixels();
    let mut first = (thread::block_idx_x() * WARPS + thread::warp_index()) * PIXELS;
    let last = first + PIXELS;
    let output = lane / 2 % OUTPUTS;
    // All lanes of a warp go through it together: they add up their sums.
    while first < last && first < pixels {
        let own = four_pixels(first, pixels);
        let mut sums = [[0.0; 16]; N];
        let mut channel = lane * 4;
        while channel < layer.n_inputs {
            // SAFETY: pixels and channels exist.
            unsafe {
                let inputs = layer.input_quads(own, channel);
                for n in 0..N {
                    let weights = layers[n].narrow_weights(channel);
                    unroll!(I in [0, 1, 2, 3] {
                        for c in 0..4 {
                            for o in 0..4 {
                                sums[n][4 * I + o] = fma(inputs[I][c], weights[c][o], sums[n][4 * I + o]);
                            }
                        }
                    });
                }
            }
            channel += CHANNELS;
        }
        let pixel = first + lane / 8;
        for n in 0..N {
            let sum = sums_of_lanes(sums[n]);
            if lane % 2 == 0 && pixel < pixels {
                let floor = if layers[n].option != 0 { 0.0 } else { f32::NEG_INFINITY };
                // SAFETY: the output is this lane's.
                unsafe {
                    let sum = sum + *layers[n].bias.add(output as usize);
                    // Not `max`: a NaN must stay one, so that it is found in the loss.
                    let value = if sum <= floor { 0.0 } else { sum };
                    store(layers[n].result, (pixel * OUTPUTS + output) as usize, value);
                }
            }
        }
        first += AT_A_TIME;
    }
}

/// Gradient of the inputs of a layer with four outputs.
///
/// * Launch: [`backward_shape`], a warp eight pixels × 128 channels, blocks of 256.
/// * Reads: `output_gradient`, `weights`; `result` where `option` is 1.
/// * Writes: `result` `[pixels, n_inputs]`: replaced, or added to where `option` is 1.
/// * Shared: none.
/// * Cost: 2 × pixels × inputs × 4 operations.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::input_gradient`.
/// * Source: the chain rule for that layer; the form is ours.
///
/// # Safety
/// `layer` describes valid memory.
#[kernel(
    shape = backward_shape(layer.pixels(), layer.n_inputs).overlapping(),
    max_threads = BLOCK,
    require = layer.side == 1 && layer.n_outputs == OUTPUTS && layer.inputs.is_null() && layer.inputs_short.is_null() && !layer.weights.is_null() && !layer.result.is_null()
)]
pub unsafe fn azero_train_backward_narrow(layer: Product) {
    follow();
    // SAFETY: the kernel's promise.
    unsafe { backward([&layer]) };
}

/// Gradient of the inputs that two layers with four outputs each have in common.
///
/// * Launch: [`backward_shape`], a warp eight pixels × 128 channels, blocks of 256.
/// * Reads: `output_gradient`, `weights` of each; `result` of the first where its `option` is 1.
/// * Writes: `result` of the first, `[pixels, n_inputs]`: replaced, or added to where `option` is 1; or `result_short`, replaced.
/// * Shared: none.
/// * Cost: 2 × pixels × inputs × 8 operations.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::input_gradient`.
/// * Source: the chain rule for these layers; the form is ours.
///
/// # Safety
/// The layers describe valid memory.
#[kernel(
    shape = backward_shape(value.pixels(), value.n_inputs).overlapping(),
    max_threads = BLOCK,
    require = value.side == 1 && policy.side == 1 && value.n_outputs == OUTPUTS && policy.n_outputs == OUTPUTS && value.n_inputs == policy.n_inputs
        && value.pixels() == policy.pixels() && !value.output_gradient.is_null() && !policy.output_gradient.is_null() && !value.weights.is_null() && !policy.weights.is_null()
        && value.inputs.is_null() && policy.inputs.is_null() && value.inputs_short.is_null() && policy.inputs_short.is_null()
        && value.result.is_null() != value.result_short.is_null() && (value.result_short.is_null() || value.option == 0)
)]
pub unsafe fn azero_train_backward_heads(value: Product, policy: Product) {
    follow();
    // SAFETY: the kernel's promise.
    unsafe { backward([&value, &policy]) };
}

/// Gradient of the inputs of layers: the sum, in the result of the first.
///
/// # Safety
/// The layers describe valid memory.
#[device_inline]
#[track_caller]
unsafe fn backward<const N: usize>(layers: [&Product; N]) {
    let layer = layers[0];
    let pixels = layer.pixels();
    let channel = thread::block_idx_y() * CHANNELS + thread::lane() * 4;
    if channel >= layer.n_inputs {
        return;
    }
    let mut first = (thread::block_idx_x() * WARPS + thread::warp_index()) * PIXELS;
    let last = first + PIXELS;
    // SAFETY: pixels and channels exist; the quads of the result are this thread's.
    unsafe {
        let weights = layers.map(|layer| layer.narrow_weights(channel));
        while first < last && first < pixels {
            let own = four_pixels(first, pixels);
            let gradients =
                layers.map(|layer| own.map(|pixel| load_quad(layer.output_gradient, (pixel * OUTPUTS) as usize)));
            let mut before = [[0.0; 4]; AT_A_TIME as usize];
            if layer.option != 0 {
                before = own.map(|pixel| load_quad(layer.result, layer.input_at(pixel, channel)));
            }
            unroll!(I in [0, 1, 2, 3] {
                let mut sums = [0.0; 4];
                for n in 0..N {
                    for o in 0..4 {
                        for c in 0..4 {
                            sums[c] = fma(gradients[n][I][o], weights[n][c][o], sums[c]);
                        }
                    }
                }
                let is_there = first + (I as u32) < pixels;
                if is_there && layer.result_short.is_null() {
                    store_quad(layer.result, layer.input_at(own[I], channel), add(sums, before[I]));
                } else if is_there {
                    store_parts(layer.result_short, layer.short_at(own[I], channel), Parts::BFLOAT16, sums);
                }
            });
            first += AT_A_TIME;
        }
    }
}

/// Gradient of the weights of a layer with four outputs, and of its bias, in parts.
///
/// * Launch: [`gradient_shape`], a block for each `part` pixels and 128 channels, 256 threads.
/// * Reads: `inputs`, `output_gradient`.
/// * Writes: `result`, a part each: `[n_inputs, 4]`, and where `option` is 1 four more rows, of which the first is set, to the bias's gradient.
/// * Shared: 16,512 bytes: 16 sums of each thread, and four of each warp.
/// * Cost: 2 × inputs × 4 × pixels operations.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::weight_gradient`,
///   `warpplay_cpu_ref::azero::training::convolution::Layer::bias_gradient`.
/// * Source: the chain rule for that layer; the form is ours.
///
/// # Safety
/// `layer` describes valid memory.
#[kernel(
    shape = gradient_shape(layer.n_parts(), layer.n_inputs).overlapping(),
    max_threads = BLOCK,
    require = layer.side == 1 && layer.n_outputs == OUTPUTS && layer.weights.is_null() && !layer.inputs.is_null()
)]
pub unsafe fn azero_train_gradient_narrow(layer: Product) {
    follow();
    let (of_threads, of_warps) = (shared_array![Vec4; 4 * BLOCK as usize], shared_array![Vec4; WARPS as usize]);
    // SAFETY: the kernel's promise.
    unsafe { gradient([&layer], [of_threads], of_warps) };
}

/// Gradient of the weights of two layers with four outputs each, of the same inputs, in parts; without biases.
///
/// * Launch: [`gradient_shape`], a block for each `part` pixels and 128 channels, 256 threads.
/// * Reads: `inputs` or `inputs_short`; `output_gradient` of each.
/// * Writes: `result` of each, a part each: `[n_inputs, 4]`.
/// * Shared: 32,896 bytes: 16 sums of each thread for each layer, and four of each warp.
/// * Cost: 2 × inputs × 8 × pixels operations.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::weight_gradient`.
/// * Source: the chain rule for these layers; the form is ours.
///
/// # Safety
/// The layers describe valid memory, and have the same inputs.
#[kernel(
    shape = gradient_shape(value.n_parts(), value.n_inputs).overlapping(),
    max_threads = BLOCK,
    require = value.side == 1 && policy.side == 1 && value.n_outputs == OUTPUTS && policy.n_outputs == OUTPUTS && value.n_inputs == policy.n_inputs
        && value.pixels() == policy.pixels() && value.part == policy.part && value.option == 0 && policy.option == 0
        && value.weights.is_null() && policy.weights.is_null() && !value.result.is_null() && !policy.result.is_null()
        && value.inputs.is_null() != value.inputs_short.is_null()
)]
pub unsafe fn azero_train_gradient_heads(value: Product, policy: Product) {
    follow();
    let of_threads = [shared_array![Vec4; 4 * BLOCK as usize], shared_array![Vec4; 4 * BLOCK as usize]];
    let of_warps = shared_array![Vec4; WARPS as usize];
    // SAFETY: the kernel's promise.
    unsafe { gradient([&value, &policy], of_threads, of_warps) };
}

/// Gradient of the weights of layers of the same inputs, and of the first one's bias where it is asked for. `of_threads` have four elements a thread, `of_warps` one a warp.
///
/// # Safety
/// The layers describe valid memory. All threads of the grid are here.
#[device_inline]
#[track_caller]
unsafe fn gradient<const N: usize>(layers: [&Product; N], of_threads: [Shared<Vec4>; N], of_warps: Shared<Vec4>) {
    let layer = layers[0];
    let (me, warp_index, lane) = (thread::thread_idx_x(), thread::warp_index(), thread::lane());
    let block_channel = thread::block_idx_y() * CHANNELS;
    let own_channel = block_channel + lane * 4;
    // A lane without channels goes the way of the others, with those of another.
    let channel = if own_channel < layer.n_inputs { own_channel } else { block_channel };
    let (part, pixels) = (thread::block_idx_x(), layer.pixels());
    let from = part * layer.part;
    let to = if pixels - from < layer.part { pixels } else { from + layer.part };
    let (mut sums, mut bias) = ([[[0.0; 4]; 4]; N], [0.0; 4]);
    let mut first = from + warp_index * AT_A_TIME;
    // SAFETY: pixels and channels exist; the arrays have an element for each of the threads four times, and for each warp; the quads of the part are this thread's.
    unsafe {
        while first < to {
            let own = four_pixels(first, to);
            let inputs = layer.input_quads(own, channel);
            unroll!(LAYER in [0, 1] {
                if LAYER < N {
                    let by = layers[LAYER % N].output_gradient;
                    let gradients = own.map(|pixel| load_quad(by, (pixel * OUTPUTS) as usize));
                    unroll!(I in [0, 1, 2, 3] {
                        let is_there = first + (I as u32) < to;
                        let gradient = if is_there { gradients[I] } else { [0.0; 4] };
                        let input = if is_there { inputs[I] } else { [0.0; 4] };
                        for c in 0..4 {
                            for o in 0..4 {
                                sums[LAYER % N][c][o] = fma(input[c], gradient[o], sums[LAYER % N][c][o]);
                            }
                        }
                        if LAYER == 0 {
                            bias = add(bias, gradient);
                        }
                    });
                }
            });
            first += WARPS * AT_A_TIME;
        }
        unroll!(LAYER in [0, 1] {
            if LAYER < N {
                unroll!(C in [0, 1, 2, 3] {
                    of_threads[LAYER % N].set_unchecked(C as u32 * BLOCK + me, Vec4(sums[LAYER % N][C].map(f32::to_bits)));
                });
            }
        });
        if lane == 0 {
            of_warps.set_unchecked(warp_index, Vec4(bias.map(f32::to_bits)));
        }
        // All warps' sums must be there.
        sync_threads();
        let n_rows = layer.n_inputs + if layer.option != 0 { 4 } else { 0 };
        let base = part as usize * (n_rows * OUTPUTS) as usize;
        let (row, of_lane) = (me / thread::WARP, me % thread::WARP);
        let channel = block_channel + of_lane * 4 + row;
        if row < 4 && channel < layer.n_inputs {
            unroll!(LAYER in [0, 1] {
                if LAYER < N {
                    let mut sum = [0.0; 4];
                    for warp in 0..WARPS {
                        let at = row * BLOCK + warp * thread::WARP + of_lane;
                        sum = add(sum, of_threads[LAYER % N].get_unchecked(at).0.map(f32::from_bits));
                    }
                    store_quad(layers[LAYER % N].result, base + (channel * OUTPUTS) as usize, sum);
                }
            });
        }
        if layer.option != 0 && block_channel == 0 && me == BLOCK - 1 {
            let mut sum = [0.0; 4];
            for warp in 0..WARPS {
                sum = add(sum, of_warps.get_unchecked(warp).0.map(f32::from_bits));
            }
            store_quad(layer.result, base + (layer.n_inputs * OUTPUTS) as usize, sum);
        }
    }
}
