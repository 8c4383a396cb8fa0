//! What the first convolution of a network reads: of each pixel the nine that its filter meets.
//!
//! An image has one channel, and the copy engine wants 16 bytes a pixel. As a line of nine taps a pixel is the row of an ordinary product.

use super::view::Rows;
use crate::cuda::mma::pack_bf16;
use crate::cuda::{kernel, memory, sync, thread};
use crate::launch::LaunchShape;
use crate::unroll::unroll;

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Numbers of a line: nine taps, then zeros up to 32 bytes.
pub const LINE: u32 = 16;

/// Launch shape, a thread a pixel.
pub const fn shape(batch: u32, height: u32, width: u32) -> LaunchShape {
    LaunchShape::linear(batch * height * width, BLOCK).overlapping()
}

/// The nine pixels around each pixel of a step's images, byte / 255 in bfloat16.
///
/// * Launch: [`shape`], a thread a pixel, blocks of 256.
/// * Reads: `images` `[n, height, width]` of the step's samples.
/// * Writes: `patches` `[batch, height, width, 16]`: row by row the nine pixels around one, 0 outside of the image and where there is no sample.
/// * Shared: none.
/// * Cost: nine bytes read, 32 written a thread.
/// * Twin: `warpplay_cpu_ref::mlp::conv::pieces::convolve`, which reads them where they lie.
/// * Source: our own.
///
/// # Safety
/// `images` has every sample that `rows` names; `patches` begins at a multiple of 8 bytes.
#[kernel(shape = shape(rows.batch, height, width), max_threads = BLOCK, require = height >= 1 && width >= 1 && u64::from(rows.batch) * u64::from(height) * u64::from(width) <= 1 << 24)]
pub unsafe fn mlp_layers_patches(
    #[len(rows.n_samples() * height as usize * width as usize)] images: *const u8,
    #[len(rows.batch as usize * height as usize * width as usize * LINE as usize)] patches: *mut u16,
    rows: Rows,
    height: u32,
    width: u32,
) {
    sync::follow();
    let of_image = height * width;
    // The kernel asks for sizes above 0; said again, divisions need no check.
    if of_image == 0 || width == 0 {
        return;
    }
    let Some(at) = thread::index_1d_below(rows.batch * of_image) else { return };
    let (row, pixel) = (at / of_image, at % of_image);
    let (y, x) = (pixel / width, pixel % width);
    // SAFETY: the row is one of the batch and, where it is read, a sample of the step; the line is this thread's.
    unsafe {
        let offset = rows.offset();
        let is_there = row < rows.count(offset);
        let sample = if is_there { rows.sample(offset, row) as usize } else { 0 };
        let image = images.add(sample * of_image as usize);
        let mut taps = [0.0f32; 10];
        unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7, 8] {
            // One more than the tap's offset; below 1 and above the size is outside.
            let (y, x) = (y + J as u32 / 3, x + J as u32 % 3);
            if is_there && y >= 1 && y <= height && x >= 1 && x <= width {
                taps[J] = f32::from(memory::load(image, ((y - 1) * width + x - 1) as usize)) / 255.0;
            }
        });
        let word = |low: f32, high: f32| u64::from(pack_bf16(low, high));
        let (to, first) = (patches.cast::<u64>(), at as usize * (LINE / 4) as usize);
        memory::store(to, first, word(taps[0], taps[1]) | word(taps[2], taps[3]) << 32);
        memory::store(to, first + 1, word(taps[4], taps[5]) | word(taps[6], taps[7]) << 32);
        memory::store(to, first + 2, word(taps[8], 0.0));
        memory::store(to, first + 3, 0);
    }
}
