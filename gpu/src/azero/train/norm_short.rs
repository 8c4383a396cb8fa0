//! The [norms](super::norm) of bfloat16 with a multiple of eight channels: a thread has eight channels of four pixels, not four of eight, so what it reads and writes is in whole vectors of 16 bytes, and nothing is asked of what single
//! precision and scales need. Parts and moments are those of the other kernels, whose finishes come between.
//!
//! ```text
//! passed    [blocks, BLOCK]      bit 8 i + j says whether channel j of the thread's pixel i passed the ReLU
//! ```

#![allow(clippy::needless_range_loop, reason = "the counter is part of an address or a condition too")]

use super::norm::{BLOCK, BLOCK_CHANNELS, Norm, WARPS, across, passed_at, shape};
use super::quad::{load_quad, store_quad};
use super::short::short_line;
use crate::cuda::memory::{Vec4, load, load_vec4, store, store_vec4};
use crate::cuda::mma::{pack_bf16, unpack_bf16};
use crate::cuda::shared::Shared;
use crate::cuda::sync::follow;
use crate::cuda::{kernel, shared_array, sync, thread, warp};
use crate::unroll::unroll;

/// Pixels of a thread.
const OWN: usize = 4;
/// Those whose values are on their way at a time, where there are two arrays.
const SOME: usize = 2;

/// Eight neighbouring channels.
type Octet = [f32; 8];

/// What a thread works on: its pixels `first + i · lanes` before `end`, and its octet's first channel. As in [`norm`](super::norm), a thread without an octet has no pixels and the first channel.
struct Range {
    first: u32,
    /// A pixel that is there: the thread's first, if it has one.
    stand_in: u32,
    end: u32,
    lanes: u32,
    /// Octets beside each other.
    across: u32,
    channel: u32,
    is_active: bool,
}

impl Range {
    #[inline(always)]
    fn of(norm: &Norm) -> Self {
        // As many pixels as a part of quads has.
        let across = across(norm.channels) / 2;
        let bits = across.trailing_zeros();
        let (lane, octet) = (thread::thread_idx_x() >> bits, thread::thread_idx_x() & (across - 1));
        let lanes = BLOCK >> bits;
        let from = thread::block_idx_x() * OWN as u32 * lanes;
        let channel = thread::block_idx_y() * BLOCK_CHANNELS + octet * 8;
        let is_active = channel < norm.channels;
        let end = if is_active { from + norm.pixels_of(thread::block_idx_x()) } else { 0 };
        let first = from + lane;
        let stand_in = if first < end { first } else { from };
        Self { first, stand_in, end, lanes, across, channel: if is_active { channel } else { 0 }, is_active }
    }

    /// The pixel number `i` of the thread's, and whether it is there; one that is not has the number of another that is.
    #[inline(always)]
    fn pixel(&self, i: usize) -> (u32, bool) {
        let pixel = self.first + i as u32 * self.lanes;
        let is_there = pixel < self.end;
        (if is_there { pixel } else { self.stand_in }, is_there)
    }

    /// Index of the thread's first channel of a pixel.
    #[inline(always)]
    fn at(&self, norm: &Norm, pixel: u32) -> usize {
        pixel as usize * short_line(norm.channels) as usize + self.channel as usize
    }
}

/// The octet of four words of bfloat16.
#[inline(always)]
fn unpacked(words: Vec4) -> Octet {
    let [[a, b], [c, d], [e, f], [g, h]] = words.0.map(unpack_bf16);
    [a, b, c, d, e, f, g, h]
}

/// Rounded to bfloat16.
#[inline(always)]
fn packed([a, b, c, d, e, f, g, h]: Octet) -> Vec4 {
    Vec4([pack_bf16(a, b), pack_bf16(c, d), pack_bf16(e, f), pack_bf16(g, h)])
}

/// An octet of an array of single precision.
///
/// # Safety
/// It is there; the array begins at a multiple of 16 bytes, and `index` is a multiple of 4.
#[inline(always)]
#[track_caller]
unsafe fn load_single(base: *const f32, index: usize) -> Octet {
    // SAFETY: the caller's.
    let ([a, b, c, d], [e, f, g, h]) = unsafe { (load_quad(base, index), load_quad(base, index + 4)) };
    [a, b, c, d, e, f, g, h]
}

/// Writes an octet of an array of single precision.
///
/// # Safety
/// As [`load_single`]; nobody else accesses it.
#[inline(always)]
#[track_caller]
unsafe fn store_single(base: *mut f32, index: usize, [a, b, c, d, e, f, g, h]: Octet) {
    // SAFETY: the caller's.
    unsafe {
        store_quad(base, index, [a, b, c, d]);
        store_quad(base, index + 4, [e, f, g, h]);
    }
}

/// Sum of the lanes' octets of one column of the block, in the order of a warp's tree and then of the warps, on every lane. All threads call it; `scratch` has two elements a thread.
#[inline(always)]
#[track_caller]
fn sum_of_lanes(range: &Range, mut own: Octet, scratch: Shared<Vec4>) -> Octet {
    let mut distance = thread::WARP / 2;
    while distance >= range.across {
        for value in &mut own {
            *value += warp::shuffle_xor(warp::ALL, *value, distance);
        }
        distance /= 2;
    }
    let [a, b, c, d, e, f, g, h] = own.map(f32::to_bits);
    // SAFETY: both indices are below twice the number of the block's threads.
    unsafe {
        scratch.set_unchecked(thread::thread_idx_x(), Vec4([a, b, c, d]));
        scratch.set_unchecked(BLOCK + thread::thread_idx_x(), Vec4([e, f, g, h]));
        // All lanes' octets must be there.
        sync::sync_threads();
        let mut sum = [0.0; 8];
        for warp in 0..WARPS {
            let at = warp * thread::WARP + thread::lane();
            let halves = [scratch.get_unchecked(at).0, scratch.get_unchecked(BLOCK + at).0];
            unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
                sum[J] += f32::from_bits(halves[J / 4][J % 4]);
            });
        }
        sum
    }
}

/// Writes what a block makes of its part, in the first or second third of the parts.
///
/// # Safety
/// All threads of the block are here; the parts are the norm's.
#[inline(always)]
#[track_caller]
unsafe fn store_part(norm: &Norm, range: &Range, third: u32, values: Octet) {
    if range.is_active && thread::thread_idx_x() < range.across {
        // SAFETY: the part is this block's, the octet this thread's.
        unsafe { store_single(norm.parts, norm.part_at(third, range.channel), values) };
    }
}

/// Mean of each part, and the sum of squared distances from it.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input_short`.
/// * Writes: `parts`.
/// * Shared: 16,384 bytes: eight channels of each thread, twice.
/// * Cost: 4 pixels × 8 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::Statistics::of`.
/// * Source: Ioffe and Szegedy 2015, Algorithm 1.
///
/// # Safety
/// `norm` describes valid memory, with a multiple of 8 channels, and values in bfloat16.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK, min_blocks = 4)]
pub unsafe fn azero_train_norm_parts_short(norm: Norm) {
    follow();
    let (sums, squares) = (shared_array![Vec4; 2 * BLOCK as usize], shared_array![Vec4; 2 * BLOCK as usize]);
    let range = Range::of(&norm);
    let count = norm.pixels_of(thread::block_idx_x()) as f32;
    // SAFETY: the kernel's promise. Pixels before `end` and the thread's channels exist.
    unsafe {
        let mut values = [Vec4([0; 4]); OWN];
        unroll!(I in [0, 1, 2, 3] {
            values[I] = load_vec4(norm.input_short.add(range.at(&norm, range.pixel(I).0)).cast());
        });
        let mut sum = [0.0; 8];
        unroll!(I in [0, 1, 2, 3] {
            let (value, is_there) = (unpacked(values[I]), range.pixel(I).1);
            for j in 0..8 {
                sum[j] += if is_there { value[j] } else { 0.0 };
            }
        });
        let mean = sum_of_lanes(&range, sum, sums).map(|sum| sum / count);
        let mut square = [0.0; 8];
        unroll!(I in [0, 1, 2, 3] {
            let (value, is_there) = (unpacked(values[I]), range.pixel(I).1);
            for j in 0..8 {
                let distance = if is_there { value[j] - mean[j] } else { 0.0 };
                square[j] += distance * distance;
            }
        });
        let square = sum_of_lanes(&range, square, squares);
        store_part(&norm, &range, 0, mean);
        store_part(&norm, &range, 1, square);
    }
}

/// Norm, residual sum and ReLU: `relu((x - mean) · inverse · weight + bias [+ residual])`.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input_short`, `moments`, `weight`, `bias`, `residual_short`.
/// * Writes: `output_short`, `output`, those that are there; `passed`.
/// * Shared: none.
/// * Cost: 4 pixels × 8 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::forward`.
/// * Source: Ioffe and Szegedy 2015, Algorithm 1.
///
/// # Safety
/// After the finish. `norm` describes valid memory, with a multiple of 8 channels, values, residual and outputs in bfloat16, and no scales.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK, min_blocks = 4)]
pub unsafe fn azero_train_norm_apply_short(norm: Norm) {
    follow();
    let range = Range::of(&norm);
    let channel = range.channel as usize;
    let has_residual = !norm.residual_short.is_null();
    // SAFETY: the kernel's promise. Pixels and channels exist; each octet is one thread's, and so is a word of what passed.
    unsafe {
        let mean = load_single(norm.moments, channel);
        let inverse = load_single(norm.moments, norm.channels as usize + channel);
        let (weight, bias) = (load_single(norm.weight, channel), load_single(norm.bias, channel));
        let scale: Octet = core::array::from_fn(|j| inverse[j] * weight[j]);
        let mut bits = 0;
        unroll!(FIRST in [0, 1] {
            let (mut inputs, mut residuals) = ([Vec4([0; 4]); SOME], [Vec4([0; 4]); SOME]);
            unroll!(I in [0, 1] {
                inputs[I] = load_vec4(norm.input_short.add(range.at(&norm, range.pixel(SOME * FIRST + I).0)).cast());
            });
            if has_residual {
                unroll!(I in [0, 1] {
                    let at = range.at(&norm, range.pixel(SOME * FIRST + I).0);
                    residuals[I] = load_vec4(norm.residual_short.add(at).cast());
                });
            }
            unroll!(I in [0, 1] {
                let (pixel, is_there) = range.pixel(SOME * FIRST + I);
                let (input, residual) = (unpacked(inputs[I]), unpacked(residuals[I]));
                let mut output = [0.0; 8];
                for j in 0..8 {
                    let value = (input[j] - mean[j]) * scale[j] + bias[j] + residual[j];
                    // A NaN stays one, so that it is found in the loss.
                    let is_stopped = value <= 0.0;
                    output[j] = if is_stopped { 0.0 } else { value };
                    bits |= u32::from(!is_stopped) << (8 * (SOME * FIRST + I) + j);
                }
                if is_there {
                    let at = range.at(&norm, pixel);
                    if !norm.output_short.is_null() {
                        store_vec4(norm.output_short.add(at).cast(), packed(output));
                    }
                    if !norm.output.is_null() {
                        store_single(norm.output, pixel as usize * norm.channels as usize + channel, output);
                    }
                }
            });
        });
        store(norm.passed, passed_at(), bits);
    }
}

/// The gradients behind the ReLU of some of a thread's pixels from number `first` on, of which the thread's word is `bits`, and the distances of their values from the mean. For a pixel that is not there the gradient is 0.
///
/// # Safety
/// `norm` describes valid memory, with values in bfloat16.
#[inline(always)]
#[track_caller]
unsafe fn gradients_and_distances(
    norm: &Norm,
    range: &Range,
    (first, bits): (usize, u32),
    mean: &Octet,
) -> [[Octet; 2]; SOME] {
    let (mut inputs, mut gradients) = ([Vec4([0; 4]); SOME], [[0.0; 8]; SOME]);
    // SAFETY: the caller's; pixels and channels exist.
    unsafe {
        unroll!(I in [0, 1] {
            inputs[I] = load_vec4(norm.input_short.add(range.at(norm, range.pixel(first + I).0)).cast());
        });
        // The last of the torso gets the heads' gradient.
        if norm.output_gradient_short.is_null() {
            unroll!(I in [0, 1] {
                let at = range.pixel(first + I).0 as usize * norm.channels as usize + range.channel as usize;
                gradients[I] = load_single(norm.output_gradient, at);
            });
        } else {
            let mut words = [Vec4([0; 4]); SOME];
            unroll!(I in [0, 1] {
                words[I] = load_vec4(norm.output_gradient_short.add(range.at(norm, range.pixel(first + I).0)).cast());
            });
            unroll!(I in [0, 1] {
                gradients[I] = unpacked(words[I]);
            });
        }
    }
    let mut of_pixels = [[[0.0; 8]; 2]; SOME];
    unroll!(I in [0, 1] {
        let (input, is_there) = (unpacked(inputs[I]), range.pixel(first + I).1);
        let passed = if is_there { bits >> (8 * (first + I)) } else { 0 };
        for j in 0..8 {
            of_pixels[I][0][j] = if passed >> j & 1 != 0 { gradients[I][j] } else { 0.0 };
            of_pixels[I][1][j] = input[j] - mean[j];
        }
    });
    of_pixels
}

/// Sums of each part: of the gradient behind the ReLU, and of it times the normalised value.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input_short`, `output_gradient_short`, or else `output_gradient`; `passed`, `moments`.
/// * Writes: `parts`.
/// * Shared: 16,384 bytes: eight channels of each thread, twice.
/// * Cost: 4 pixels × 8 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::backward`.
/// * Source: Ioffe and Szegedy 2015, section 3 (gradients).
///
/// # Safety
/// After [`azero_train_norm_apply_short`]. `norm` describes valid memory, with a multiple of 8 channels, and values in bfloat16.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK, min_blocks = 4)]
pub unsafe fn azero_train_norm_back_parts_short(norm: Norm) {
    follow();
    let (sums, products) = (shared_array![Vec4; 2 * BLOCK as usize], shared_array![Vec4; 2 * BLOCK as usize]);
    let range = Range::of(&norm);
    let channel = range.channel as usize;
    // SAFETY: the kernel's promise. Pixels and channels exist.
    unsafe {
        let (mut sum, mut product) = ([0.0; 8], [0.0; 8]);
        let mean = load_single(norm.moments, channel);
        let bits = load(norm.passed, passed_at());
        unroll!(FIRST in [0, 1] {
            let of_pixels = gradients_and_distances(&norm, &range, (SOME * FIRST, bits), &mean);
            unroll!(I in [0, 1] {
                let [gradient, distance] = of_pixels[I];
                for j in 0..8 {
                    sum[j] += gradient[j];
                    product[j] += gradient[j] * distance[j];
                }
            });
        });
        let inverse = load_single(norm.moments, norm.channels as usize + channel);
        let sum = sum_of_lanes(&range, sum, sums);
        let product = sum_of_lanes(&range, product, products);
        store_part(&norm, &range, 0, sum);
        store_part(&norm, &range, 1, core::array::from_fn(|j| product[j] * inverse[j]));
    }
}

/// Gradient of the input: `weight · inverse · (g - mean of g - normalised · mean of g · normalised)`, with `g` what passes the ReLU.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input_short`, `output_gradient_short`, or else `output_gradient`; `passed`, `moments`, `weight`, `weight_gradient`, `bias_gradient`.
/// * Writes: `input_gradient_short`; the gradient that it read, where `keep` is 1.
/// * Shared: none.
/// * Cost: 4 pixels × 8 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::backward`.
/// * Source: Ioffe and Szegedy 2015, section 3 (gradients).
///
/// # Safety
/// After the finish. `norm` describes valid memory, with a multiple of 8 channels, values and gradients in bfloat16, and no scales.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK, min_blocks = 4)]
pub unsafe fn azero_train_norm_back_apply_short(norm: Norm) {
    follow();
    let range = Range::of(&norm);
    let channel = range.channel as usize;
    if range.first >= range.end {
        return;
    }
    let count = norm.n_pixels as f32;
    // SAFETY: the kernel's promise. Pixels and channels exist; each octet is one thread's.
    unsafe {
        let mean = load_single(norm.moments, channel);
        let inverse = load_single(norm.moments, norm.channels as usize + channel);
        let weight = load_single(norm.weight, channel);
        let sum = load_single(norm.bias_gradient, channel);
        let product = load_single(norm.weight_gradient, channel);
        // `factor · (g - mean of g) - slope · (x - mean)`.
        let factor: Octet = core::array::from_fn(|j| weight[j] * inverse[j]);
        let of_g: Octet = core::array::from_fn(|j| sum[j] / count);
        let slope: Octet = core::array::from_fn(|j| factor[j] * inverse[j] * (product[j] / count));
        let bits = load(norm.passed, passed_at());
        unroll!(FIRST in [0, 1] {
            let of_pixels = gradients_and_distances(&norm, &range, (SOME * FIRST, bits), &mean);
            unroll!(I in [0, 1] {
                let (pixel, is_there) = range.pixel(SOME * FIRST + I);
                let [gradient, distance] = of_pixels[I];
                if is_there {
                    let at = range.at(&norm, pixel);
                    let input = core::array::from_fn(|j| factor[j] * (gradient[j] - of_g[j]) - slope[j] * distance[j]);
                    store_vec4(norm.input_gradient_short.add(at).cast(), packed(input));
                    if norm.keep != 0 {
                        if norm.output_gradient_short.is_null() {
                            let at = pixel as usize * norm.channels as usize + channel;
                            store_single(norm.output_gradient, at, gradient);
                        } else {
                            store_vec4(norm.output_gradient_short.add(at).cast(), packed(gradient));
                        }
                    }
                }
            });
        });
    }
}
