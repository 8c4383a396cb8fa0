//! The largest of 2 × 2 pixels, forward and backward. Images are `[n, height, width, channels]` in bfloat16, channels a multiple of 4, height and width even.

use crate::cuda::mma::{pack_bf16, unpack_bf16};
use crate::cuda::{kernel, memory, sync, thread};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Launch shape of both kernels for so many pixels of the smaller images, a thread four channels of one.
pub const fn shape(n_pixels: u32, channels: u32) -> LaunchShape {
    LaunchShape::linear(n_pixels * (channels / 4), BLOCK).overlapping()
}

/// Whether the kernels take these sizes: quads are counted in 32 bits.
const fn fits(n_pixels: u32, width: u32, channels: u32) -> bool {
    width >= 1
        && channels >= 4
        && channels.is_multiple_of(4)
        && n_pixels as u64 * (channels / 4) as u64 <= 1 << 31
        && n_pixels.is_multiple_of(width)
}

/// Four numbers from a multiple of four on.
///
/// # Safety
/// They are there, at a multiple of 8 bytes, and nobody writes them.
#[device_inline]
#[track_caller]
unsafe fn load(base: *const u16, at: usize) -> [f32; 4] {
    // SAFETY: as the caller vouches.
    let both = unsafe { memory::load(base.cast::<u64>(), at / 4) };
    let [[a, b], [c, d]] = [unpack_bf16(both as u32), unpack_bf16((both >> 32) as u32)];
    [a, b, c, d]
}

/// Writes four numbers from a multiple of four on.
///
/// # Safety
/// They are there, at a multiple of 8 bytes, and this thread's.
#[device_inline]
#[track_caller]
unsafe fn store(base: *mut u16, at: usize, quad: [f32; 4]) {
    let both = u64::from(pack_bf16(quad[0], quad[1])) | u64::from(pack_bf16(quad[2], quad[3])) << 32;
    // SAFETY: as the caller vouches.
    unsafe { memory::store(base.cast::<u64>(), at / 4, both) };
}

/// Whether a pixel is larger than the largest before it: a NaN is larger than all others, and the last of several.
#[device_inline]
fn is_larger(value: f32, most: f32) -> bool {
    value > most || value.is_nan()
}

/// Where the four pixels of a smaller one lie, whose images are `width` wide; and the smaller one's quad. Rows of all images follow each other, since heights are even.
#[device_inline]
fn window(number: u32, width: u32, channels: u32) -> ([usize; 4], usize) {
    let of_pixel = channels / 4;
    let (pixel, channel) = (number / of_pixel, number % of_pixel * 4);
    let (line, x) = (pixel / width, pixel % width);
    let at = |row: u32, column: u32| {
        let row = (2 * line + row) as usize * (2 * width) as usize;
        (row + (2 * x + column) as usize) * channels as usize + channel as usize
    };
    ([at(0, 0), at(0, 1), at(1, 0), at(1, 1)], pixel as usize * channels as usize + channel as usize)
}

/// The window of this thread, if it has one, after what it follows.
#[device_inline]
fn own_window(n_pixels: u32, width: u32, channels: u32) -> Option<([usize; 4], usize)> {
    sync::follow();
    // The kernels ask for sizes above 0; said again, divisions need no check.
    if width == 0 || channels / 4 == 0 {
        return None;
    }
    let number = thread::index_1d_below(n_pixels * (channels / 4))?;
    Some(window(number, width, channels))
}

/// The largest of 2 × 2 pixels, channel by channel; NaN where one of them is NaN.
///
/// * Launch: [`shape`], a thread four channels of a pixel, blocks of 256.
/// * Reads: `values`, whose images are `2 width` wide.
/// * Writes: `largest`, `n_pixels` pixels of images of `width` columns.
/// * Shared: none.
/// * Cost: 32 bytes read, 8 written a thread.
/// * Twin: `warpplay_cpu_ref::mlp::conv::pieces::pool`.
/// * Source: PyTorch's `MaxPool2d(2)`.
///
/// # Safety
/// Both begin at a multiple of 8 bytes.
#[kernel(shape = shape(n_pixels, channels), max_threads = BLOCK, require = fits(n_pixels, width, channels))]
pub unsafe fn mlp_layers_pool(
    #[len(4 * n_pixels as usize * channels as usize)] values: *const u16,
    #[len(n_pixels as usize * channels as usize)] largest: *mut u16,
    n_pixels: u32,
    width: u32,
    channels: u32,
) {
    let Some(([a, b, c, d], to)) = own_window(n_pixels, width, channels) else { return };
    // SAFETY: the four pixels exist, and the result is this thread's.
    unsafe {
        let mut most = load(values, a);
        let others = [load(values, b), load(values, c), load(values, d)];
        unroll!(J in [0, 1, 2, 3] {
            unroll!(P in [0, 1, 2] {
                if is_larger(others[P][J], most[J]) {
                    most[J] = others[P][J];
                }
            });
        });
        store(largest, to, most);
    }
}

/// Gradient through [`mlp_layers_pool`] and the rectifier before it: goes to the first of the four pixels that is the largest, if it is above 0; to the last NaN, where there is one.
///
/// * Launch: [`shape`], a thread four channels of a pixel, blocks of 256.
/// * Reads: `values`, the rectifier's outputs; `gradient` by what was the largest.
/// * Writes: `sums`, the gradient by the rectifier's inputs.
/// * Shared: none.
/// * Cost: 40 bytes read, 32 written a thread.
/// * Twin: `warpplay_cpu_ref::mlp::conv::pieces::pool_backward`.
/// * Source: PyTorch's `MaxPool2d(2)`, of equals the first.
///
/// # Safety
/// All begin at a multiple of 8 bytes.
#[kernel(shape = shape(n_pixels, channels), max_threads = BLOCK, require = fits(n_pixels, width, channels))]
pub unsafe fn mlp_layers_pool_back(
    #[len(4 * n_pixels as usize * channels as usize)] values: *const u16,
    #[len(n_pixels as usize * channels as usize)] gradient: *const u16,
    #[len(4 * n_pixels as usize * channels as usize)] sums: *mut u16,
    n_pixels: u32,
    width: u32,
    channels: u32,
) {
    let Some(([a, b, c, d], from)) = own_window(n_pixels, width, channels) else { return };
    // SAFETY: the four pixels and the gradient's exist, and those of the result are this thread's.
    unsafe {
        let pixels = [load(values, a), load(values, b), load(values, c), load(values, d)];
        let gradient = load(gradient, from);
        let mut results = [[0.0f32; 4]; 4];
        unroll!(J in [0, 1, 2, 3] {
            let (mut most, mut first) = (pixels[0][J], 0);
            unroll!(P in [1, 2, 3] {
                if is_larger(pixels[P][J], most) {
                    (most, first) = (pixels[P][J], P);
                }
            });
            let value = if most <= 0.0 { 0.0 } else { gradient[J] };
            unroll!(P in [0, 1, 2, 3] {
                results[P][J] = if first == P { value } else { 0.0 };
            });
        });
        store(sums, a, results[0]);
        store(sums, b, results[1]);
        store(sums, c, results[2]);
        store(sums, d, results[3]);
    }
}
