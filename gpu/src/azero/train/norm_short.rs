//! The [norms](super::norm) of bfloat16 with a multiple of eight channels: a thread has eight channels of four pixels, not four of eight, so what it reads and writes is in whole vectors of 16 bytes; and there are no branches for single
//! precision and scales. These kernels wait for instructions as much as for memory, so they have few of them. Parts and moments are those of the other kernels, whose finishes come between.
//!
//! ```text
//! passed    [blocks, BLOCK]      bit 8 i + j says whether channel j of the thread's pixel i passed the ReLU
//! ```

use super::norm::{BLOCK, BLOCK_CHANNELS, Norm, WARPS, across, part_rows, passed_at, shape};
use super::quad::{load_quad, store_quad};
use super::short::short_line;
use crate::cuda::math::fma;
use crate::cuda::memory::{Vec4, load, load_vec4, store, store_vec4};
use crate::cuda::mma::{pack_bf16, unpack_bf16};
use crate::cuda::shared::Shared;
use crate::cuda::sync::follow;
use crate::cuda::{kernel, shared_array, sync, thread, warp};
use crate::unroll::unroll;

/// Pixels of a thread.
const OWN: usize = 4;
/// Pixels of a thread whose values are on their way at a time, where results are stored between.
const SOME: usize = 2;
/// Words of a block's exchange: two sums of each warp for each of its channels.
const SUMS: usize = 2 * (WARPS * BLOCK_CHANNELS) as usize;

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
}

impl Range {
    #[device_inline]
    fn of(norm: &Norm) -> Self {
        let part = thread::block_idx_x();
        // As many pixels as a part of quads has.
        let across = across(norm.channels) / 2;
        let bits = across.trailing_zeros();
        let (lane, octet) = (thread::thread_idx_x() >> bits, thread::thread_idx_x() & (across - 1));
        let lanes = BLOCK >> bits;
        let from = part * part_rows(norm.channels);
        let channel = thread::block_idx_y() * BLOCK_CHANNELS + octet * 8;
        let is_active = channel < norm.channels;
        let end = if is_active { from + norm.pixels_of(part) } else { 0 };
        let first = from + lane;
        let stand_in = if first < end { first } else { from };
        Self { first, stand_in, end, lanes, across, channel: if is_active { channel } else { 0 } }
    }

    /// The pixel number `i` of the thread's, and whether it is there; one that is not has the number of another that is.
    #[device_inline]
    fn pixel(&self, i: usize) -> (u32, bool) {
        let pixel = self.first + i as u32 * self.lanes;
        let is_there = pixel < self.end;
        (if is_there { pixel } else { self.stand_in }, is_there)
    }

    /// Index of the thread's first channel of a pixel.
    #[device_inline]
    fn at(&self, norm: &Norm, pixel: u32) -> usize {
        pixel as usize * short_line(norm.channels) as usize + self.channel as usize
    }
}

/// The octet of four words of bfloat16.
#[device_inline]
fn unpacked(words: Vec4) -> Octet {
    let [[a, b], [c, d], [e, f], [g, h]] = words.0.map(unpack_bf16);
    [a, b, c, d, e, f, g, h]
}

/// Rounded to bfloat16.
#[device_inline]
fn packed([a, b, c, d, e, f, g, h]: Octet) -> Vec4 {
    Vec4([pack_bf16(a, b), pack_bf16(c, d), pack_bf16(e, f), pack_bf16(g, h)])
}

/// An octet of an array of single precision.
///
/// # Safety
/// It is there; the array begins at a multiple of 16 bytes, and `index` is a multiple of 4.
#[device_inline]
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
#[device_inline]
#[track_caller]
unsafe fn store_single(base: *mut f32, index: usize, [a, b, c, d, e, f, g, h]: Octet) {
    // SAFETY: the caller's.
    unsafe {
        store_quad(base, index, [a, b, c, d]);
        store_quad(base, index + 4, [e, f, g, h]);
    }
}

/// Adds up two octets of all lanes of a column of the block, in the order of a warp's tree and then of the warps: a thread gets both sums of a channel, and which of the block's channels that is, if there is one for it. All threads
/// call it.
#[device_inline]
#[track_caller]
fn sums_of_lanes(norm: &Norm, range: &Range, mut own: [Octet; 2], scratch: Shared<f32>) -> Option<(u32, [f32; 2])> {
    let mut distance = thread::WARP / 2;
    while distance >= range.across {
        unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
            own[0][J] += warp::shuffle_xor(warp::ALL, own[0][J], distance);
            own[1][J] += warp::shuffle_xor(warp::ALL, own[1][J], distance);
        });
        distance /= 2;
    }
    let at = |which: u32, warp: u32, channel: u32| (which * WARPS + warp) * BLOCK_CHANNELS + channel;
    // SAFETY: a warp's channels are below those of a block; an octet begins at a quad.
    unsafe {
        if thread::lane() < range.across {
            unroll!(WHICH in [0, 1] {
                let [a, b, c, d, e, f, g, h] = own[WHICH];
                let to = at(WHICH as u32, thread::warp_index(), thread::lane() * 8);
                scratch.set_quad_unchecked(to, [a, b, c, d]);
                scratch.set_quad_unchecked(to + 4, [e, f, g, h]);
            });
        }
        // All warps' sums must be there.
        sync::sync_threads();
        let own = thread::thread_idx_x();
        let channel = thread::block_idx_y() * BLOCK_CHANNELS + own;
        if own >= range.across * 8 || channel >= norm.channels {
            return None;
        }
        let mut sums = [0.0; 2];
        for warp in 0..WARPS {
            sums[0] += scratch.get_unchecked(at(0, warp, own));
            sums[1] += scratch.get_unchecked(at(1, warp, own));
        }
        Some((channel, sums))
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
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK, min_blocks = 4, require = norm.channels.is_multiple_of(8) && !norm.input_short.is_null() && norm.scales.is_null())]
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
        // `x · scale + shift`: beside the 8 bits of x and of the result what this rounds is nothing.
        let scale: Octet = core::array::from_fn(|j| inverse[j] * weight[j]);
        let shift: Octet = core::array::from_fn(|j| fma(-mean[j], scale[j], bias[j]));
        let mut bits = 0;
        unroll!(FIRST in [0, 1] {
            let of = |values: *const u16, i: usize| {
                let pixel = range.pixel(SOME * FIRST + i).0;
                load_vec4(values.add(range.at(&norm, pixel)).cast())
            };
            let inputs = [of(norm.input_short, 0), of(norm.input_short, 1)];
            let mut residuals = [Vec4([0; 4]); SOME];
            if has_residual {
                residuals = [of(norm.residual_short, 0), of(norm.residual_short, 1)];
            }
            unroll!(I in [0, 1] {
                let (pixel, is_there) = range.pixel(SOME * FIRST + I);
                let (input, residual) = (unpacked(inputs[I]), unpacked(residuals[I]));
                let mut output = [0.0; 8];
                unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
                    let value = fma(input[J], scale[J], shift[J]) + residual[J];
                    // A NaN stays one, so that it is found in the loss.
                    let is_stopped = value <= 0.0;
                    output[J] = if is_stopped { 0.0 } else { value };
                    bits |= if is_stopped { 0 } else { 1 << (8 * (SOME * FIRST + I) + J) };
                });
                if is_there {
                    if !norm.output_short.is_null() {
                        store_vec4(norm.output_short.add(range.at(&norm, pixel)).cast(), packed(output));
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

/// The gradients of `N` of a thread's pixels from number `first` on, on their way, and what passed the ReLU.
struct Gradients<const N: usize> {
    first: usize,
    /// Of bfloat16; zeros where they are of single precision.
    words: [Vec4; N],
    bits: u32,
}

impl<const N: usize> Gradients<N> {
    /// # Safety
    /// `norm` describes valid memory.
    #[device_inline]
    #[track_caller]
    unsafe fn of(norm: &Norm, range: &Range, first: usize) -> Self {
        let mut words = [Vec4([0; 4]); N];
        // SAFETY: the caller's; pixels and channels exist, and so does the thread's word.
        unsafe {
            if norm.output_gradient.is_null() {
                unroll!(I in [0, 1, 2, 3] {
                    if I < N {
                        let at = range.at(norm, range.pixel(first + I).0);
                        words[I % N] = load_vec4(norm.output_gradient_short.add(at).cast());
                    }
                });
            }
            Self { first, words, bits: load(norm.passed, passed_at()) }
        }
    }

    /// The gradient behind the ReLU of number `i` of these pixels: 0 where it stopped a value, and of a pixel that is not there.
    ///
    /// # Safety
    /// As [`of`](Self::of).
    #[device_inline]
    #[track_caller]
    unsafe fn passed(&self, norm: &Norm, range: &Range, i: usize) -> Octet {
        let (pixel, is_there) = range.pixel(self.first + i);
        let mut gradient = unpacked(self.words[i]);
        // The last of the torso gets the heads' gradient.
        if !norm.output_gradient.is_null() {
            let at = pixel as usize * norm.channels as usize + range.channel as usize;
            // SAFETY: the caller's; the pixel and its channels exist.
            gradient = unsafe { load_single(norm.output_gradient, at) };
        }
        let bits = if is_there { self.bits } else { 0 };
        unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
            gradient[J] = if bits & 1 << (8 * (self.first + i) + J) != 0 { gradient[J] } else { 0.0 };
        });
        gradient
    }
}

/// Sums of each part: of the gradient behind the ReLU, and of it times the normalised value.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input_short`, `output_gradient`, or else `output_gradient_short`; `passed`, `moments`.
/// * Writes: `parts`.
/// * Shared: 8,192 bytes: two sums of each warp for each channel.
/// * Cost: 4 pixels × 8 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::backward`.
/// * Source: Ioffe and Szegedy 2015, section 3 (gradients).
///
/// # Safety
/// After [`azero_train_norm_apply_short`]. `norm` describes valid memory, with a multiple of 8 channels, and values in bfloat16.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK, min_blocks = 3, require = norm.channels.is_multiple_of(8) && !norm.input_short.is_null() && norm.scales.is_null() && !(norm.output_gradient.is_null() && norm.output_gradient_short.is_null()))]
pub unsafe fn azero_train_norm_back_parts_short(norm: Norm) {
    follow();
    let scratch = shared_array![f32; SUMS];
    let range = Range::of(&norm);
    // SAFETY: the kernel's promise. Pixels and channels exist.
    unsafe {
        let of = |i: usize| load_vec4(norm.input_short.add(range.at(&norm, range.pixel(i).0)).cast());
        let inputs = [of(0), of(1), of(2), of(3)];
        let gradients = Gradients::<OWN>::of(&norm, &range, 0);
        let mean = load_single(norm.moments, range.channel as usize);
        let (mut sum, mut product) = ([0.0; 8], [0.0; 8]);
        unroll!(I in [0, 1, 2, 3] {
            let (input, gradient) = (unpacked(inputs[I]), gradients.passed(&norm, &range, I));
            unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
                sum[J] += gradient[J];
                product[J] = fma(gradient[J], input[J] - mean[J], product[J]);
            });
        });
        if let Some((channel, [sum, product])) = sums_of_lanes(&norm, &range, [sum, product], scratch) {
            let inverse = load(norm.moments.cast_const(), (norm.channels + channel) as usize);
            store(norm.parts, norm.part_at(0, channel), sum);
            store(norm.parts, norm.part_at(1, channel), product * inverse);
        }
    }
}

/// Gradient of the input: `weight · inverse · (g - mean of g - normalised · mean of g · normalised)`, with `g` what passes the ReLU.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input_short`, `output_gradient`, or else `output_gradient_short`; `passed`, `moments`, `weight`, `weight_gradient`, `bias_gradient`.
/// * Writes: `input_gradient_short`; `output_gradient_short`, where `keep` is 1.
/// * Shared: none.
/// * Cost: 4 pixels × 8 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::backward`.
/// * Source: Ioffe and Szegedy 2015, section 3 (gradients).
///
/// # Safety
/// After the finish. `norm` describes valid memory, with a multiple of 8 channels, values and gradients in bfloat16, and no scales.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK, min_blocks = 3, require = norm.channels.is_multiple_of(8) && !norm.input_short.is_null() && norm.scales.is_null() && !(norm.output_gradient.is_null() && norm.output_gradient_short.is_null()) && !norm.input_gradient_short.is_null() && (norm.keep == 0 || !norm.output_gradient_short.is_null()))]
pub unsafe fn azero_train_norm_back_apply_short(norm: Norm) {
    follow();
    let range = Range::of(&norm);
    let channel = range.channel as usize;
    if range.first >= range.end {
        return;
    }
    let share = 1.0 / norm.n_pixels as f32;
    // SAFETY: the kernel's promise. Pixels and channels exist; each octet is one thread's.
    unsafe {
        let mean = load_single(norm.moments, channel);
        let inverse = load_single(norm.moments, norm.channels as usize + channel);
        let weight = load_single(norm.weight, channel);
        let sum = load_single(norm.bias_gradient, channel);
        let product = load_single(norm.weight_gradient, channel);
        // `factor · (g - mean of g) - slope · (x - mean)`, as `factor · g - slope · x + shift`.
        let factor: Octet = core::array::from_fn(|j| weight[j] * inverse[j]);
        let slope: Octet = core::array::from_fn(|j| factor[j] * inverse[j] * (product[j] * share));
        let shift: Octet = core::array::from_fn(|j| fma(slope[j], mean[j], -(factor[j] * (sum[j] * share))));
        unroll!(FIRST in [0, 1] {
            let of = |i: usize| {
                let pixel = range.pixel(SOME * FIRST + i).0;
                load_vec4(norm.input_short.add(range.at(&norm, pixel)).cast())
            };
            let inputs = [of(0), of(1)];
            let gradients = Gradients::<SOME>::of(&norm, &range, SOME * FIRST);
            unroll!(I in [0, 1] {
                let (pixel, is_there) = range.pixel(SOME * FIRST + I);
                let (input, gradient) = (unpacked(inputs[I]), gradients.passed(&norm, &range, I));
                let mut by_input = [0.0; 8];
                unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
                    by_input[J] = fma(factor[J], gradient[J], fma(-slope[J], input[J], shift[J]));
                });
                if is_there {
                    let at = range.at(&norm, pixel);
                    store_vec4(norm.input_gradient_short.add(at).cast(), packed(by_input));
                    if norm.keep != 0 {
                        store_vec4(norm.output_gradient_short.add(at).cast(), packed(gradient));
                    }
                }
            });
        });
    }
}
