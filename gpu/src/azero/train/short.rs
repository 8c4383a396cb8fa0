//! What the products of `tile` read and write: bfloat16; or numbers of single precision, multiplied by a [scale](super::scale), in one or two parts of half precision, each what the parts before it leave, rounded.
//!
//! ```text
//! values     [n_parts, n_pixels, short_line(channels)]     inputs of convolutions, and gradients of their outputs; observations are 0 or 1, in one part
//! weights    [9, n_inputs, n_outputs]                      single precision, as everywhere in this module
//! filters    [n_parts, n_outputs, 9, short_line(n_inputs)] of the way forward, for each convolution
//! turned     [n_parts, n_inputs, 9, short_line(n_outputs)] turned by half a circle, of the way back, for each convolution
//! parts      [divisions, n_outputs, 9, columns]            single precision: the gradient of the filters, of each division of the pixels
//! ```
//!
//! The copy engine needs lines that are multiples of 16 bytes. No kernel writes the rest of a line behind its channels. Products of patches read it, in observations and filters, so memory must be 0 when it is allocated.

use super::quad::{add, load_quad, store_quad};
use super::scale::{Conv, FILTERS, SCALES};
use crate::cuda::memory::{self, Vec4};
use crate::cuda::mma::{pack_bf16, pack_f16, unpack_bf16, unpack_f16};
use crate::cuda::sync::{follow, sync_threads};
use crate::cuda::{kernel, shared_array, thread};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Taps of a filter.
const TAPS: u32 = 9;
/// Most parts of a number: two of half precision hold 22 bits.
pub const MAX_PARTS: u32 = 2;

/// Numbers of 16 bits of a line of `channels` channels: 16 bytes are read at once.
pub const fn short_line(channels: u32) -> u32 {
    channels.next_multiple_of(8)
}

/// Parts in which numbers are written.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    /// How many.
    pub n: u32,
    /// Elements from a part to the next, a multiple of 4.
    pub stride: usize,
    /// Whether they are of half precision, and not bfloat16.
    pub is_half: bool,
    /// What numbers are multiplied by before.
    pub scale: f32,
}

impl Parts {
    /// A bfloat16, of numbers that it holds or that are to be rounded.
    pub const BFLOAT16: Self = Self { n: 1, stride: 0, is_half: false, scale: 1.0 };

    /// Of half precision if there is a scale at `scales`, which may be null, else of bfloat16.
    ///
    /// # Safety
    /// The scale is there, and nobody writes it meanwhile.
    #[device_inline]
    #[track_caller]
    pub unsafe fn of(n: u32, stride: usize, scales: *const f32, scale: usize) -> Self {
        let is_half = !scales.is_null();
        // SAFETY: the caller's.
        let scale = if is_half { unsafe { memory::load(scales, scale) } } else { 1.0 };
        Self { n, stride, is_half, scale }
    }
}

/// Writes four neighbouring values from element `index` of each part on.
///
/// # Safety
/// The array at `base` has them, begins at a multiple of 8 bytes, and nobody else accesses them; `index` is a multiple of 4.
#[device_inline]
#[track_caller]
pub(super) unsafe fn store_parts(base: *mut u16, index: usize, parts: Parts, quad: [f32; 4]) {
    let (mut left, mut index, mut part) = (quad.map(|value| value * parts.scale), index, 0);
    while part < parts.n {
        let [low, high] = match parts.is_half {
            true => [pack_f16(left[0], left[1]), pack_f16(left[2], left[3])],
            false => [pack_bf16(left[0], left[1]), pack_bf16(left[2], left[3])],
        };
        // SAFETY: the 8 bytes are the array's, aligned and this thread's, as is asked for.
        unsafe { memory::store(base.cast::<u64>(), index / 4, u64::from(low) | u64::from(high) << 32) };
        let [[a, b], [c, d]] = match parts.is_half {
            true => [unpack_f16(low), unpack_f16(high)],
            false => [unpack_bf16(low), unpack_bf16(high)],
        };
        left = [left[0] - a, left[1] - b, left[2] - c, left[3] - d];
        index += parts.stride;
        part += 1;
    }
}

/// Four neighbouring bfloat16, from element `index` on.
///
/// # Safety
/// The array at `base` has them, begins at a multiple of 8 bytes, and nobody writes it meanwhile; `index` is a multiple of 4.
#[device_inline]
#[track_caller]
pub(super) unsafe fn load_short(base: *const u16, index: usize) -> [f32; 4] {
    // SAFETY: the 8 bytes are the array's and aligned, as is asked for.
    let both = unsafe { memory::load(base.cast::<u64>(), index / 4) };
    let [[a, b], [c, d]] = [unpack_bf16(both as u32), unpack_bf16((both >> 32) as u32)];
    [a, b, c, d]
}

/// Launch shape of [`azero_train_filters`]: blocks for the convolution with most weights, for each.
pub const fn filters_shape(n_convs: u32, most_weights: u32) -> LaunchShape {
    LaunchShape::grid_2d((most_weights / 16).div_ceil(BLOCK), n_convs, BLOCK)
}

/// The weights of all convolutions of 3 × 3 as filters in bfloat16, or in parts of half precision where `is_half` is 1, for the way forward and for the way back.
///
/// * Launch: [`filters_shape`], a thread 4 × 4 weights of a tap, blocks of 256.
/// * Reads: `parameters`, `convs`, `scales`.
/// * Writes: `filters`, `turned`.
/// * Shared: none.
/// * Cost: a weight read once, and each of its parts written twice.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Operands`, which rounds one part likewise.
/// * Source: our own: the layout; rounding to nearest, ties to even.
///
/// # Safety
/// `convs` are of `parameters` and of both arrays of filters, which have room for all parts of each; the arrays begin at a multiple of 16 bytes, and no convolution has more than `most_weights`.
#[kernel(
    shape = filters_shape(n_convs, most_weights).overlapping(),
    max_threads = BLOCK,
    require = n_convs >= 1 && most_weights >= 16 && (1..=MAX_PARTS).contains(&n_parts)
)]
pub unsafe fn azero_train_filters(
    #[len(n_parameters)] parameters: *const f32,
    #[len(n_convs)] convs: *const Conv,
    #[len(n_convs * SCALES)] scales: *const f32,
    #[len(n_filters)] filters: *mut u16,
    #[len(n_turned)] turned: *mut u16,
    n_convs: u32,
    n_parameters: u32,
    n_filters: u32,
    n_turned: u32,
    most_weights: u32,
    n_parts: u32,
    is_half: u32,
) {
    follow();
    let number = thread::block_idx_y() as usize;
    // SAFETY: the convolution exists.
    let conv = unsafe { memory::load(convs, number) };
    let Conv { n_inputs, n_outputs, .. } = conv;
    // SAFETY: its weights, filters and scales are in their arrays, as the caller vouches.
    let (weights, filters, turned, scales) = unsafe {
        (
            parameters.add(conv.weights as usize),
            filters.add(conv.filters as usize),
            turned.add(conv.turned as usize),
            scales.add(number * SCALES as usize),
        )
    };
    let (inputs, outputs) = (n_inputs / 4, n_outputs / 4);
    let Some(at) = thread::index_1d_below(TAPS * inputs * outputs) else { return };
    let (output, rest) = (at % outputs * 4, at / outputs);
    let (input, tap) = (rest % inputs * 4, rest / inputs);
    let line = |outer: u32, tap: u32, channels: u32| (outer * TAPS + tap) as usize * short_line(channels) as usize;
    let scales = if is_half == 0 { core::ptr::null() } else { scales };
    // SAFETY: the scales are there, or null.
    let parts = |outer: u32, channels: u32| unsafe { Parts::of(n_parts, line(outer, 0, channels), scales, FILTERS) };
    let (of_filters, of_turned) = (parts(n_outputs, n_inputs), parts(n_inputs, n_outputs));
    // SAFETY: tap, inputs and outputs exist; what is written is this thread's.
    unsafe {
        let row = |i: u32| {
            let line = (tap * n_inputs + input + i) as usize;
            load_quad(weights, line * n_outputs as usize + output as usize)
        };
        let rows = [row(0), row(1), row(2), row(3)];
        unroll!(J in [0, 1, 2, 3] {
            let of_output = [rows[0][J], rows[1][J], rows[2][J], rows[3][J]];
            store_parts(filters, line(output + J as u32, tap, n_inputs) + input as usize, of_filters, of_output);
        });
        unroll!(I in [0, 1, 2, 3] {
            let at = line(input + I as u32, TAPS - 1 - tap, n_outputs) + output as usize;
            store_parts(turned, at, of_turned, rows[I]);
        });
    }
}

/// Shares of the parts that threads of [`azero_train_sum_filters`] add up beside each other: more of the many parts that the gradient of few filters has.
const fn shares_of(n_parts: u32) -> u32 {
    if n_parts > 32 { 32 } else { 8 }
}

/// Launch shape of [`azero_train_sum_filters`].
pub const fn sum_shape(n_parts: u32, n_inputs: u32, n_outputs: u32) -> LaunchShape {
    let n_squares = TAPS * (n_inputs / 4) * (n_outputs / 4);
    LaunchShape::new((n_squares * shares_of(n_parts)).div_ceil(BLOCK), BLOCK)
}

/// Sum over the divisions of a gradient of filters, in the layout of the weights: of each share of them, ⌈parts / shares⌉, in order, and then of the shares.
///
/// * Launch: [`sum_shape`], a thread four outputs and four inputs of a tap and a share of the parts, blocks of 256.
/// * Reads: `parts`.
/// * Writes: `weights`.
/// * Shared: 16,384 bytes: 16 sums of each thread.
/// * Cost: ⌈parts / shares⌉ × four loads of four inputs a thread.
/// * Twin: `warpplay_cpu_ref::azero::training::convolution::Layer::weight_gradient`.
/// * Source: our own: the order of the sum.
///
/// # Safety
/// The arrays begin at a multiple of 16 bytes.
#[kernel(
    shape = sum_shape(n_parts, n_inputs, n_outputs).overlapping(),
    max_threads = BLOCK,
    require = n_inputs >= 4 && n_inputs <= columns && (n_inputs | n_outputs | columns).is_multiple_of(4) && n_outputs >= 4
)]
pub unsafe fn azero_train_sum_filters(
    #[len(n_parts as usize * (n_outputs * TAPS) as usize * columns as usize)] parts: *const f32,
    #[len(TAPS * n_inputs * n_outputs)] weights: *mut f32,
    n_parts: u32,
    n_inputs: u32,
    n_outputs: u32,
    columns: u32,
) {
    follow();
    let sums = shared_array![Vec4; 4 * BLOCK as usize];
    // Shares are a power of two.
    let (shares, across) = (shares_of(n_parts), n_inputs / 4);
    let n_squares = TAPS * across * (n_outputs / 4);
    let of_block = BLOCK / shares;
    let (me, share, own) =
        (thread::thread_idx_x(), thread::thread_idx_x() / of_block, thread::thread_idx_x() % of_block);
    let number = thread::block_idx_x() * of_block + own;
    // A thread without a square goes the way of the others, with the last.
    let at = if number < n_squares { number } else { n_squares - 1 };
    let (input, rest) = (at % across * 4, at / across);
    let (tap, output) = (rest % TAPS, rest / TAPS * 4);
    let each = n_parts.div_ceil(shares);
    let mut part = share * each;
    let end = if n_parts < part + each { n_parts } else { part + each };
    // `[output][input]`.
    let mut square = [[0.0; 4]; 4];
    // SAFETY: part, outputs, tap and inputs exist; the quads of the result are this thread's; the array has four elements for each thread.
    unsafe {
        while part < end {
            // Four are on their way together; one that is not there is the last.
            let mut rows = [[[0.0; 4]; 4]; 4];
            unroll!(I in [0, 1, 2, 3] {
                let own = if part + (I as u32) < end { part + I as u32 } else { end - 1 };
                unroll!(J in [0, 1, 2, 3] {
                    let line = (own * n_outputs + output + J as u32) as usize * TAPS as usize + tap as usize;
                    rows[I][J] = load_quad(parts, line * columns as usize + input as usize);
                });
            });
            unroll!(I in [0, 1, 2, 3] {
                if part + (I as u32) < end {
                    unroll!(J in [0, 1, 2, 3] {
                        square[J] = add(square[J], rows[I][J]);
                    });
                }
            });
            part += 4;
        }
        unroll!(J in [0, 1, 2, 3] {
            sums.set_unchecked(J as u32 * BLOCK + me, Vec4(square[J].map(f32::to_bits)));
        });
        // All shares' sums must be there.
        sync_threads();
        // The first four shares have an input of each square.
        if share >= 4 || number >= n_squares {
            return;
        }
        let mut sum = [0.0; 4];
        for of_share in 0..shares {
            unroll!(J in [0, 1, 2, 3] {
                let row = sums.get_unchecked(J as u32 * BLOCK + of_share * of_block + own);
                let value = match share {
                    0 => row.0[0],
                    1 => row.0[1],
                    2 => row.0[2],
                    _ => row.0[3],
                };
                sum[J] += f32::from_bits(value);
            });
        }
        store_quad(weights, (tap * n_inputs + input + share) as usize * n_outputs as usize + output as usize, sum);
    }
}
