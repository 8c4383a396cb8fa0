//! Batch norm over the pixels of a batch, with the ReLU and the residual sum that follow it.
//!
//! ```text
//! values    [n_pixels, channels]           channels last, a multiple of 4
//! parts     [3, n_parts, channels]         forward: mean, and sum of squared distances from it; backward: two sums, and the largest gradient; a part has part_rows(channels) pixels, or 64 where the convolution makes the moments
//! passed    [blocks, BLOCK]                a word of each thread: bit 4 i + j says whether channel j of its pixel i passed the ReLU
//! a block   across(channels) quads of channels (32, fewer where there are fewer than 128 channels) x lanes = BLOCK / across; thread (lane, quad) has eight pixels of its part: lane, lane + lanes, …
//! ```
//!
//! | kernel | what |
//! |---|---|
//! | `azero_train_norm_parts` | mean, and sum of squared distances from it, of each part |
//! | `azero_train_norm_finish` | the batch's mean and variance, the running ones; or the running ones to be used |
//! | `azero_train_norm_apply` | `relu((x - mean) · inverse · weight + bias [+ residual])` |
//! | `azero_train_norm_back_parts` | sums of the gradient, and of gradient times normalised value, of each part; the largest gradient |
//! | `azero_train_norm_back_finish` | gradients of bias and weight; the [bound](super::scale) of the gradient of x |
//! | `azero_train_norm_back_apply` | gradient of x; and the gradient that the residual gets |
//!
//! [`norm_short`](super::norm_short) has three of those that go through all pixels once more, for values in bfloat16; their moments come from the convolutions.
//!
//! Here the mean is known before squares are summed, so nothing cancels; all sums are in a fixed order.

#![allow(clippy::needless_range_loop, reason = "the counter is part of an address or a condition too")]

use super::quad::{add, load_quad, store_quad};
use super::scale::{BACKWARD, FILTER_GRADIENT, FILTERS, GRADIENT, INPUTS, OUTPUTS, SCALES, inverse_of, scale_of};
use super::short::{MAX_PARTS, Parts, load_short, short_line, store_parts};
use crate::cuda::memory::{Vec4, load, store};
use crate::cuda::shared::Shared;
use crate::cuda::sync::follow;
use crate::cuda::{DeviceArgs, atomic, kernel, math, shared_array, sync, thread, warp};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
pub(super) const WARPS: u32 = BLOCK / thread::WARP;
/// Pixels of a thread.
const OWN: usize = 8;
/// Pixels of a thread whose values are on their way at a time.
const SOME: usize = 4;
/// Channels of a block.
pub(super) const BLOCK_CHANNELS: u32 = thread::WARP * 4;

/// Lines of values that a part of a batch has.
pub const PARTS: u32 = 3;

/// Pixels of a part whose moments a convolution's kernel makes.
pub const MOMENT_ROWS: u32 = 64;

/// Quads of channels beside each other in a block, a power of two.
pub(super) const fn across(channels: u32) -> u32 {
    if channels >= BLOCK_CHANNELS { thread::WARP } else { (channels / 4).next_power_of_two() }
}

/// Pixels of a part: 64, and more of fewer than 128 channels.
pub const fn part_rows(channels: u32) -> u32 {
    OWN as u32 * (BLOCK / across(channels))
}

/// Parts of a batch.
pub const fn n_parts(n_pixels: u32, channels: u32) -> u32 {
    n_pixels.div_ceil(part_rows(channels))
}

/// Values of all parts, whoever makes the moments.
pub const fn parts_values(n_pixels: u32, channels: u32) -> usize {
    let (own, moments) = (PARTS * n_parts(n_pixels, channels), 2 * n_pixels.div_ceil(MOMENT_ROWS));
    (if own > moments { own } else { moments }) as usize * channels as usize
}

/// Words that say what passed the ReLU.
pub const fn passed_words(n_pixels: u32, channels: u32) -> usize {
    n_parts(n_pixels, channels) as usize * (channels.div_ceil(BLOCK_CHANNELS) * BLOCK) as usize
}

/// Launch shape of the kernels that go through all pixels: a block for each part and 128 channels.
pub const fn shape(n_pixels: u32, channels: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_parts(n_pixels, channels), channels.div_ceil(BLOCK_CHANNELS), BLOCK)
}

/// Launch shape of the kernels that finish: a block for each quad of channels.
pub const fn finish_shape(channels: u32) -> LaunchShape {
    LaunchShape::new(channels / 4, BLOCK)
}

/// The same of the forward one. It does not overlap with a convolution, whose blocks have a multiprocessor each: its own would all begin on the few that have no second tile, and wait for each other's loads.
pub const fn forward_finish_shape(channels: u32, behind_convolution: bool) -> LaunchShape {
    let shape = finish_shape(channels);
    if behind_convolution { shape } else { shape.overlapping() }
}

/// One norm in a step: what all kernels here take.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(n_pixels >= 1 && channels >= 4 && channels.is_multiple_of(4))]
#[require(moment_pixels == part_rows(channels) || moment_pixels == MOMENT_ROWS)]
#[require(!output.is_none() || !output_short.is_none())]
#[require(input.is_none() != input_short.is_none() && (residual.is_none() || residual_short.is_none()))]
#[require((1..=MAX_PARTS).contains(&short_parts) && (short_parts == 1 || short_pixels >= n_pixels))]
pub struct Norm {
    /// Values before the norm, `[n_pixels, channels]`; null where they are `input_short`.
    #[len(n_pixels * channels)]
    #[nullable]
    pub input: *const f32,
    /// The same in bfloat16, `[n_pixels, short_line(channels)]`.
    #[len(n_pixels * short_line(channels))]
    #[nullable]
    pub input_short: *const u16,
    /// Values after norm, residual and ReLU, of the same shape, written where it is there.
    #[len(n_pixels * channels)]
    #[nullable]
    pub output: *mut f32,
    /// What is added before the ReLU, of the same shape; null without.
    #[len(n_pixels * channels)]
    #[nullable]
    pub residual: *const f32,
    /// The same in bfloat16, `[n_pixels, short_line(channels)]`; null without.
    #[len(n_pixels * short_line(channels))]
    #[nullable]
    pub residual_short: *const u16,
    /// Factor and term, `[channels]` each.
    #[len(channels)]
    pub weight: *const f32,
    /// See `weight`.
    #[len(channels)]
    pub bias: *const f32,
    /// Mean and inverse deviation that the batch is normalised with, `[2, channels]`.
    #[len(2 * channels)]
    pub moments: *mut f32,
    /// Running mean and variance, `[2, channels]`.
    #[len(2 * channels)]
    pub running: *mut f32,
    /// `[3, n_parts, channels]`; the last only where there are `scales`. `[2, ⌈n_pixels / moment_pixels⌉, channels]` for the forward finish.
    #[len(parts_values(n_pixels, channels))]
    pub parts: *mut f32,
    /// A bit for each value, see the module: written by apply, read by the backward kernels.
    #[len(passed_words(n_pixels, channels))]
    pub passed: *mut u32,
    /// Gradient of `output`; null for the forward kernels, and where it is `output_gradient_short`.
    #[len(n_pixels * channels)]
    #[nullable]
    pub output_gradient: *mut f32,
    /// The same in bfloat16, `[n_pixels, short_line(channels)]`, read where `output_gradient` is not there.
    #[len(n_pixels * short_line(channels))]
    #[nullable]
    pub output_gradient_short: *mut u16,
    /// Gradient of `input`, written where it is there.
    #[len(n_pixels * channels)]
    #[nullable]
    pub input_gradient: *mut f32,
    /// Gradients of `weight` and `bias`, written.
    #[len(channels)]
    pub weight_gradient: *mut f32,
    /// See `weight_gradient`.
    #[len(channels)]
    pub bias_gradient: *mut f32,
    /// `output` in bfloat16, or in parts of half precision where there are `scales`, `[short_parts, short_pixels, short_line(channels)]`, written where it is there.
    #[len(((short_parts - 1) as usize * short_pixels as usize + n_pixels as usize) * short_line(channels) as usize)]
    #[nullable]
    pub output_short: *mut u16,
    /// `input_gradient` in the same form.
    #[len(((short_parts - 1) as usize * short_pixels as usize + n_pixels as usize) * short_line(channels) as usize)]
    #[nullable]
    pub input_gradient_short: *mut u16,
    /// What numbers are multiplied by before they are written in half precision, `[SCALES]` of the convolution before the norm; null for bfloat16.
    #[len(SCALES)]
    #[nullable]
    pub scales: *mut f32,
    /// Pixels of the batch.
    pub n_pixels: u32,
    /// Channels, a multiple of 4.
    pub channels: u32,
    /// Share of the batch in the new running statistics; below 0: the running ones are used and stay.
    pub momentum: f32,
    /// Added to the variance.
    pub epsilon: f32,
    /// 1 where `output_gradient_short`, or `output_gradient` without it, is to hold what passes the ReLU.
    pub keep: u32,
    /// Parts of what is written in 16 bits.
    pub short_parts: u32,
    /// Pixels from a part to the next.
    pub short_pixels: u32,
    /// Pixels of each part whose moments the forward finish puts together: [`part_rows`] of its channels, or [`MOMENT_ROWS`].
    pub moment_pixels: u32,
}

const _: () = assert!(size_of::<Norm>() == 184);

/// What a thread works on: its pixels `first + i · lanes` before `end`, its quad's first channel, and whether there is one. A thread without a quad has no
/// pixels and the first channel, so that it goes the way of the others and tests `active` once, at the end: tested on both sides of a barrier, it would
/// bring the barrier into both arms.
struct ThreadRange {
    first: u32,
    /// A pixel that is there: the thread's first, if it has one.
    stand_in: u32,
    end: u32,
    lanes: u32,
    /// Quads beside each other.
    across: u32,
    channel: u32,
    active: bool,
}

impl ThreadRange {
    /// The pixel number `i` of the thread's, and whether it is there; one that is not has the number of another that is.
    #[device_inline]
    fn pixel(&self, i: usize) -> (u32, bool) {
        let pixel = self.first + i as u32 * self.lanes;
        let is_there = pixel < self.end;
        (if is_there { pixel } else { self.stand_in }, is_there)
    }

    /// Whether the thread writes what a block makes of its part.
    #[device_inline]
    fn writes_part(&self) -> bool {
        self.active && thread::thread_idx_x() < self.across
    }
}

impl Norm {
    #[device_inline]
    fn thread_range(&self) -> ThreadRange {
        let across = across(self.channels);
        // A power of two: no division.
        let (lane, quad) = (thread::thread_idx_x() >> across.trailing_zeros(), thread::thread_idx_x() & (across - 1));
        let from = thread::block_idx_x() * part_rows(self.channels);
        let channel = thread::block_idx_y() * BLOCK_CHANNELS + quad * 4;
        let active = channel < self.channels;
        let end = if active { from + self.pixels_of(thread::block_idx_x()) } else { 0 };
        let channel = if active { channel } else { 0 };
        let first = from + lane;
        let stand_in = if first < end { first } else { from };
        ThreadRange { first, stand_in, end, lanes: BLOCK >> across.trailing_zeros(), across, channel, active }
    }

    /// Pixels of a part.
    #[device_inline]
    pub(super) fn pixels_of(&self, part: u32) -> u32 {
        let rows = part_rows(self.channels);
        let left = self.n_pixels - part * rows;
        if left < rows { left } else { rows }
    }

    #[device_inline]
    fn at(&self, pixel: u32, channel: u32) -> usize {
        pixel as usize * self.channels as usize + channel as usize
    }

    #[device_inline]
    fn short_at(&self, pixel: u32, channel: u32) -> usize {
        pixel as usize * short_line(self.channels) as usize + channel as usize
    }

    /// Elements from a part of a number of 16 bits to the next.
    #[device_inline]
    fn short_stride(&self) -> usize {
        self.short_at(self.short_pixels, 0)
    }

    /// Index of a part's quad in the first, second or last third of the parts.
    #[device_inline]
    pub(super) fn part_at(&self, third: u32, channel: u32) -> usize {
        self.at(third * n_parts(self.n_pixels, self.channels) + thread::block_idx_x(), channel)
    }
}

/// Index of the thread's word that says what passed.
#[device_inline]
pub(super) fn passed_at() -> usize {
    let block = thread::block_idx_y() as usize * thread::grid_dim_x() as usize + thread::block_idx_x() as usize;
    block * BLOCK as usize + thread::thread_idx_x() as usize
}

/// Four neighbouring values of `N` of a thread's pixels from number `first` on: of single precision; of bfloat16 where there are none of the first; 0 without both. Which they are is asked once, so that all loads are on their way together.
///
/// # Safety
/// The arrays, if they are there, have the norm's pixels.
#[device_inline]
#[track_caller]
unsafe fn load_some<const N: usize>(
    norm: &Norm,
    range: &ThreadRange,
    first: usize,
    values: *const f32,
    shorts: *const u16,
) -> [[f32; 4]; N] {
    let mut quads = [[0.0; 4]; N];
    // SAFETY: the caller's; pixels and channels exist.
    unsafe {
        if !values.is_null() {
            unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                if I < N {
                    quads[I % N] = load_quad(values, norm.at(range.pixel(first + I).0, range.channel));
                }
            });
        } else if !shorts.is_null() {
            unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                if I < N {
                    quads[I % N] = load_short(shorts, norm.short_at(range.pixel(first + I).0, range.channel));
                }
            });
        }
    }
    quads
}

/// The gradients behind the ReLU of some of a thread's pixels from number `first` on, of which the thread's word is `bits`, and their normalised values. For a pixel that is not there the gradient is 0, and the value that of another pixel.
///
/// # Safety
/// `norm` describes valid memory.
#[device_inline]
#[track_caller]
unsafe fn gradients_and_normals(
    norm: &Norm,
    range: &ThreadRange,
    (first, bits): (usize, u32),
    [mean, inverse]: [[f32; 4]; 2],
) -> [[[f32; 4]; 2]; SOME] {
    // SAFETY: the caller's.
    let (inputs, gradients) = unsafe {
        (
            load_some::<SOME>(norm, range, first, norm.input, norm.input_short),
            load_some::<SOME>(norm, range, first, norm.output_gradient, norm.output_gradient_short),
        )
    };
    let bits = bits >> (4 * first);
    let mut of_pixels = [[[0.0; 4]; 2]; SOME];
    unroll!(I in [0, 1, 2, 3] {
        for j in 0..4 {
            let has_passed = bits >> (4 * I + j) & 1 != 0;
            of_pixels[I][0][j] = if has_passed { gradients[I][j] } else { 0.0 };
            of_pixels[I][1][j] = (inputs[I][j] - mean[j]) * inverse[j];
        }
    });
    of_pixels
}

/// The larger ones of two quads.
#[device_inline]
fn larger(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    [larger(a[0], b[0]), larger(a[1], b[1]), larger(a[2], b[2]), larger(a[3], b[3])]
}

/// Sum of the lanes' quads of one column of the block, in the order of a warp's tree and then of the warps, on every lane. All threads call it.
#[device_inline]
#[track_caller]
fn sum_of_lanes(range: &ThreadRange, own: [f32; 4], scratch: Shared<Vec4>) -> [f32; 4] {
    fold_lanes(range, own, scratch, add)
}

/// As [`sum_of_lanes`], folded by `combine`, from zeros.
#[device_inline]
#[track_caller]
fn fold_lanes(
    range: &ThreadRange,
    mut own: [f32; 4],
    scratch: Shared<Vec4>,
    combine: fn([f32; 4], [f32; 4]) -> [f32; 4],
) -> [f32; 4] {
    // Of few channels, a warp has several lanes.
    let mut distance = thread::WARP / 2;
    while distance >= range.across {
        own = combine(own, own.map(|value| warp::shuffle_xor(warp::ALL, value, distance)));
        distance /= 2;
    }
    // SAFETY: the block has an element for each of its threads, and both indices are below their number.
    unsafe {
        scratch.set_unchecked(thread::thread_idx_x(), Vec4(own.map(f32::to_bits)));
        // All lanes' quads must be there.
        sync::sync_threads();
        let mut sum = [0.0; 4];
        for warp in 0..WARPS {
            let quad = scratch.get_unchecked(warp * thread::WARP + thread::lane());
            sum = combine(sum, quad.0.map(f32::from_bits));
        }
        sum
    }
}

/// Sum of all threads' quads, in the order of a warp's tree and then of the warps, on every thread. All threads call it.
#[device_inline]
#[track_caller]
fn sum_of_block(own: [f32; 4], scratch: Shared<Vec4>) -> [f32; 4] {
    fold_block(own.map(warp::reduce_sum), scratch, add)
}

/// The warps' quads folded by `combine` in their order, from zeros, on every thread. All threads call it.
#[device_inline]
#[track_caller]
fn fold_block(of_warp: [f32; 4], scratch: Shared<Vec4>, combine: fn([f32; 4], [f32; 4]) -> [f32; 4]) -> [f32; 4] {
    if thread::lane() == 0 {
        scratch.set(thread::warp_index(), Vec4(of_warp.map(f32::to_bits)));
    }
    // All warps' quads must be there.
    sync::sync_threads();
    let mut folded = [0.0; 4];
    for warp in 0..WARPS {
        folded = combine(folded, scratch.get(warp).0.map(f32::from_bits));
    }
    folded
}

/// Calls `of` with this thread's parts out of `parts` and whether each is there; a part that is not has the number of the last one. Four at a time, so that their
/// loads are on their way together.
#[device_inline]
fn own_parts(parts: u32, mut of: impl FnMut(u32, bool)) {
    let mut first = thread::thread_idx_x();
    while first < parts {
        unroll!(J in [0, 1, 2, 3] {
            let part = first + J as u32 * BLOCK;
            of(if part < parts { part } else { parts - 1 }, part < parts);
        });
        first += 4 * BLOCK;
    }
}

/// Mean of each part, and the sum of squared distances from it.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input` or `input_short`.
/// * Writes: `parts`.
/// * Shared: 8,192 bytes: four channels of each thread, twice.
/// * Cost: 8 pixels × 4 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::Statistics::of`.
/// * Source: Ioffe and Szegedy 2015, Algorithm 1.
///
/// # Safety
/// `norm` describes valid memory.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK, require = norm.moment_pixels == part_rows(norm.channels))]
pub unsafe fn azero_train_norm_parts(norm: Norm) {
    follow();
    let (sums, squares) = (shared_array![Vec4; BLOCK as usize], shared_array![Vec4; BLOCK as usize]);
    let range = norm.thread_range();
    let channel = range.channel;
    let count = norm.pixels_of(thread::block_idx_x()) as f32;
    let mut sum = [0.0; 4];
    // SAFETY: `norm` describes valid memory, as the kernel asks. Pixels before `end` and the thread's channels exist; the part is this block's, the quad this thread's.
    unsafe {
        let values = load_some::<OWN>(&norm, &range, 0, norm.input, norm.input_short);
        unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
            if range.pixel(I).1 {
                sum = add(sum, values[I]);
            }
        });
        let mean = sum_of_lanes(&range, sum, sums).map(|sum| sum / count);
        let mut square = [0.0; 4];
        unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
            if range.pixel(I).1 {
                for j in 0..4 {
                    let distance = values[I][j] - mean[j];
                    square[j] += distance * distance;
                }
            }
        });
        let square = sum_of_lanes(&range, square, squares);
        if range.writes_part() {
            store_quad(norm.parts, norm.part_at(0, channel), mean);
            store_quad(norm.parts, norm.part_at(1, channel), square);
        }
    }
}

/// The batch's mean and inverse deviation, and the running statistics; or, with a momentum below 0, those of the running statistics.
///
/// The running variance follows the batch's variance over n - 1.
///
/// * Launch: [`forward_finish_shape`], a block four channels, 256 threads.
/// * Reads: `parts`, `running`.
/// * Writes: `moments`, `running`.
/// * Shared: 256 bytes: sums of the warps, twice.
/// * Cost: 3 × ⌈parts / 256⌉ loads of four channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::Statistics::of`, `warpplay_cpu_ref::azero::training::batch_norm::Statistics::into_running`.
/// * Source: Ioffe and Szegedy 2015, Algorithm 1; libtorch's running statistics.
///
/// # Safety
/// After the parts. `norm` describes valid memory.
#[kernel(shape = |behind_convolution: bool| forward_finish_shape(norm.channels, behind_convolution), max_threads = BLOCK)]
pub unsafe fn azero_train_norm_finish(norm: Norm) {
    follow();
    let (sums, distances) = (shared_array![Vec4; WARPS as usize], shared_array![Vec4; WARPS as usize]);
    let (channel, channels) = (thread::block_idx_x() as usize * 4, norm.channels as usize);
    let training = norm.momentum >= 0.0;
    let parts = if training { norm.n_pixels.div_ceil(norm.moment_pixels) } else { 0 };
    let count = norm.n_pixels as f32;
    let size = |part: u32| {
        let left = norm.n_pixels - part * norm.moment_pixels;
        (if left < norm.moment_pixels { left } else { norm.moment_pixels }) as f32
    };
    // SAFETY: parts and channels exist; the quad is this block's, and one thread writes it.
    unsafe {
        let load = |row: u32| load_quad(norm.parts, row as usize * channels + channel);
        // On their way while parts are added up.
        let old = [load_quad(norm.running, channel), load_quad(norm.running, channels + channel)];
        let (mut sum, mut squares) = ([0.0; 4], [0.0; 4]);
        own_parts(parts, |part, there| {
            let (mean, own) = (load(part), load(parts + part));
            if there {
                sum = add(sum, mean.map(|mean| mean * size(part)));
                squares = add(squares, own);
            }
        });
        let mean = sum_of_block(sum, sums).map(|sum| sum / count);
        own_parts(parts, |part, there| {
            let of_part = load(part);
            for j in 0..4 {
                let distance = of_part[j] - mean[j];
                squares[j] += if there { size(part) * distance * distance } else { 0.0 };
            }
        });
        let squares = sum_of_block(squares, distances);
        if thread::thread_idx_x() == 0 {
            let (mut used, mut new) = (old, old);
            for j in 0..4 {
                if training {
                    let variance = squares[j] / count;
                    let unbiased = if count > 1.0 { squares[j] / (count - 1.0) } else { variance };
                    let rest = 1.0 - norm.momentum;
                    (used[0][j], used[1][j]) = (mean[j], variance);
                    new[0][j] = rest * old[0][j] + norm.momentum * mean[j];
                    new[1][j] = rest * old[1][j] + norm.momentum * unbiased;
                }
                used[1][j] = 1.0 / math::sqrt(used[1][j] + norm.epsilon);
            }
            store_quad(norm.moments, channel, used[0]);
            store_quad(norm.moments, channels + channel, used[1]);
            if training {
                store_quad(norm.running, channel, new[0]);
                store_quad(norm.running, channels + channel, new[1]);
            }
        }
    }
}

/// Norm, residual sum and ReLU: `relu((x - mean) · inverse · weight + bias [+ residual])`.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input`, `moments`, `weight`, `bias`, `residual`, or those in bfloat16; `scales`.
/// * Writes: `output`, `output_short`, those that are there; `passed`.
/// * Shared: none.
/// * Cost: 8 pixels × 4 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::forward`.
/// * Source: Ioffe and Szegedy 2015, Algorithm 1.
///
/// # Safety
/// After the finish and, with scales, `azero_train_scales`. `norm` describes valid memory.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK)]
pub unsafe fn azero_train_norm_apply(norm: Norm) {
    follow();
    let range = norm.thread_range();
    let channel = range.channel;
    // SAFETY: pixels and channels exist; each quad is one thread's, and so is a word of what passed.
    unsafe {
        let mean = load_quad(norm.moments, channel as usize);
        let inverse = load_quad(norm.moments, (norm.channels + channel) as usize);
        let (weight, bias) = (load_quad(norm.weight, channel as usize), load_quad(norm.bias, channel as usize));
        let parts = Parts::of(norm.short_parts, norm.short_stride(), norm.scales, OUTPUTS);
        let (mut first, mut bits) = (0, 0);
        while first < OWN {
            let inputs = load_some::<SOME>(&norm, &range, first, norm.input, norm.input_short);
            let residuals = load_some::<SOME>(&norm, &range, first, norm.residual, norm.residual_short);
            unroll!(I in [0, 1, 2, 3] {
                let (pixel, is_there) = range.pixel(first + I);
                let mut output = [0.0; 4];
                for j in 0..4 {
                    let value = (inputs[I][j] - mean[j]) * inverse[j] * weight[j] + bias[j] + residuals[I][j];
                    // Not `max`: a NaN must stay one, so that it is found in the loss.
                    output[j] = if value <= 0.0 { 0.0 } else { value };
                }
                for j in 0..4 {
                    bits |= u32::from(is_there && output[j] > 0.0) << (4 * (first + I) + j);
                }
                if is_there && !norm.output.is_null() {
                    store_quad(norm.output, norm.at(pixel, channel), output);
                }
                if is_there && !norm.output_short.is_null() {
                    store_parts(norm.output_short, norm.short_at(pixel, channel), parts, output);
                }
            });
            first += SOME;
        }
        store(norm.passed, passed_at(), bits);
    }
}

/// Sums of each part: of the gradient behind the ReLU, and of it times the normalised value; and the largest gradient, where there are scales.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input`, `output_gradient`, or those in 16 bits; `passed`, `moments`.
/// * Writes: `parts`.
/// * Shared: 12,288 bytes: four channels of each thread, three times.
/// * Cost: 8 pixels × 4 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::backward`.
/// * Source: Ioffe and Szegedy 2015, section 3 (gradients).
///
/// # Safety
/// After apply. `norm` describes valid memory.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK)]
pub unsafe fn azero_train_norm_back_parts(norm: Norm) {
    follow();
    let (sums, products) = (shared_array![Vec4; BLOCK as usize], shared_array![Vec4; BLOCK as usize]);
    let maxima = shared_array![Vec4; BLOCK as usize];
    let range = norm.thread_range();
    let channel = range.channel;
    // SAFETY: `norm` describes valid memory, as the kernel asks. The thread's pixels and channels exist; the part is this block's, the quad this thread's.
    unsafe {
        let (mut sum, mut product, mut most) = ([0.0; 4], [0.0; 4], [0.0; 4]);
        let mean = load_quad(norm.moments, channel as usize);
        let inverse = load_quad(norm.moments, (norm.channels + channel) as usize);
        let (mut first, bits) = (0, load(norm.passed, passed_at()));
        while first < OWN {
            let of_pixels = gradients_and_normals(&norm, &range, (first, bits), [mean, inverse]);
            unroll!(I in [0, 1, 2, 3] {
                let [gradient, normal] = of_pixels[I];
                for j in 0..4 {
                    sum[j] += gradient[j];
                    product[j] += gradient[j] * normal[j];
                }
                most = larger(most, gradient.map(f32::abs));
            });
            first += SOME;
        }
        let sum = sum_of_lanes(&range, sum, sums);
        let product = sum_of_lanes(&range, product, products);
        if !norm.scales.is_null() {
            let most = fold_lanes(&range, most, maxima, larger);
            if range.writes_part() {
                store_quad(norm.parts, norm.part_at(2, channel), most);
            }
        }
        if range.writes_part() {
            store_quad(norm.parts, norm.part_at(0, channel), sum);
            store_quad(norm.parts, norm.part_at(1, channel), product);
        }
    }
}

/// Gradients of the norm's weight and bias from the parts' sums; and the bound of the gradient of the input, where there are scales.
///
/// * Launch: [`finish_shape`], a block four channels, 256 threads.
/// * Reads: `parts`, `weight`, `moments`.
/// * Writes: `weight_gradient`, `bias_gradient`, `scales`.
/// * Shared: 384 bytes: sums and maxima of the warps.
/// * Cost: 2 × ⌈parts / 256⌉ loads of four channels a thread, 3 × with scales.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::backward`.
/// * Source: Ioffe and Szegedy 2015, section 3 (gradients).
///
/// # Safety
/// After the parts and, with scales, `azero_train_scales` of the same pass. `norm` describes valid memory.
#[kernel(shape = finish_shape(norm.channels).overlapping(), max_threads = BLOCK)]
pub unsafe fn azero_train_norm_back_finish(norm: Norm) {
    follow();
    let (sums, products) = (shared_array![Vec4; WARPS as usize], shared_array![Vec4; WARPS as usize]);
    let (channel, channels) = (thread::block_idx_x() as usize * 4, norm.channels as usize);
    let parts = n_parts(norm.n_pixels, norm.channels);
    let maxima = shared_array![Vec4; WARPS as usize];
    let (mut sum, mut product, mut most) = ([0.0; 4], [0.0; 4], [0.0; 4]);
    let has_scales = !norm.scales.is_null();
    // SAFETY: parts and channels exist; the quad is this block's, and one thread writes it.
    unsafe {
        // On their way while parts are added up.
        let (weight, inverse) = (load_quad(norm.weight, channel), load_quad(norm.moments, channels + channel));
        own_parts(parts, |part, there| {
            let [of_sum, of_product] =
                [part, parts + part].map(|row| load_quad(norm.parts, row as usize * channels + channel));
            if there {
                (sum, product) = (add(sum, of_sum), add(product, of_product));
            }
            if has_scales {
                most = larger(most, load_quad(norm.parts, (2 * parts + part) as usize * channels + channel));
            }
        });
        let (sum, product) = (sum_of_block(sum, sums), sum_of_block(product, products));
        if thread::thread_idx_x() == 0 {
            store_quad(norm.bias_gradient, channel, sum);
            store_quad(norm.weight_gradient, channel, product);
        }
        if has_scales {
            let most = fold_block(most.map(warp::reduce_max), maxima, larger);
            if thread::thread_idx_x() == 0 {
                let count = norm.n_pixels as f32;
                let mut bound = 0.0;
                for j in 0..4 {
                    let gradient = most[j] + (sum[j].abs() + math::sqrt(count) * product[j].abs()) / count;
                    let of_channel = (weight[j] * inverse[j]).abs() * gradient;
                    bound = if of_channel > bound { of_channel } else { bound };
                }
                // Of numbers from 0 on the larger has the larger bits.
                atomic::max_u32(norm.scales.add(GRADIENT).cast(), bound.to_bits());
            }
        }
    }
}

/// Gradient of the input: `weight · inverse · (g - mean of g - normalised · mean of g · normalised)`, with `g` what passes the ReLU.
///
/// * Launch: [`shape`], a block 64 pixels × 128 channels, or more pixels of fewer channels, 256 threads.
/// * Reads: `input`, `output_gradient`, or those in 16 bits; `passed`, `moments`, `weight`, `weight_gradient`, `bias_gradient`, `scales`.
/// * Writes: `input_gradient`, `input_gradient_short`, those that are there; `output_gradient` or `output_gradient_short`, where `keep` is 1; in `scales` what the convolution's products are to be multiplied by.
/// * Shared: none.
/// * Cost: 8 pixels × 4 channels a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::batch_norm::backward`.
/// * Source: Ioffe and Szegedy 2015, section 3 (gradients).
///
/// # Safety
/// After the finish. `norm` describes valid memory.
#[kernel(shape = shape(norm.n_pixels, norm.channels).overlapping(), max_threads = BLOCK)]
pub unsafe fn azero_train_norm_back_apply(norm: Norm) {
    follow();
    let range = norm.thread_range();
    let channel = range.channel;
    if range.first >= range.end {
        return;
    }
    let count = norm.n_pixels as f32;
    // SAFETY: pixels and channels exist; each quad is one thread's.
    unsafe {
        let mean = load_quad(norm.moments, channel as usize);
        let inverse = load_quad(norm.moments, (norm.channels + channel) as usize);
        let weight = load_quad(norm.weight, channel as usize);
        let sum = load_quad(norm.bias_gradient, channel as usize).map(|sum| sum / count);
        let product = load_quad(norm.weight_gradient, channel as usize).map(|sum| sum / count);
        let mut parts = Parts::of(norm.short_parts, norm.short_stride(), norm.scales, GRADIENT);
        if parts.is_half {
            parts.scale = scale_of(parts.scale);
            if thread::block_idx_x() + thread::block_idx_y() + thread::thread_idx_x() == 0 {
                let factor = inverse_of(parts.scale);
                store(norm.scales, BACKWARD, factor * inverse_of(load(norm.scales, FILTERS)));
                store(norm.scales, FILTER_GRADIENT, factor * load(norm.scales, INPUTS));
            }
        }
        let (mut first, bits) = (0, load(norm.passed, passed_at()));
        while first < OWN {
            let of_pixels = gradients_and_normals(&norm, &range, (first, bits), [mean, inverse]);
            unroll!(I in [0, 1, 2, 3] {
                let (pixel, is_there) = range.pixel(first + I);
                let [at, short_at] = [norm.at(pixel, channel), norm.short_at(pixel, channel)];
                let [gradient, normal] = of_pixels[I];
                let mut input = [0.0; 4];
                for j in 0..4 {
                    input[j] = weight[j] * inverse[j] * (gradient[j] - sum[j] - normal[j] * product[j]);
                }
                if is_there && !norm.input_gradient.is_null() {
                    store_quad(norm.input_gradient, at, input);
                }
                if is_there && !norm.input_gradient_short.is_null() {
                    store_parts(norm.input_gradient_short, short_at, parts, input);
                }
                if is_there && norm.keep != 0 {
                    if norm.output_gradient_short.is_null() {
                        store_quad(norm.output_gradient, at, gradient);
                    } else {
                        store_parts(norm.output_gradient_short, short_at, Parts::BFLOAT16, gradient);
                    }
                }
            });
            first += SOME;
        }
    }
}
