//! Numbers in parts of 16 bits, as the products of `tile` read them.
//!
//! ```text
//! inputs       [parts][capacity][line]      a layer's inputs; the number behind the last of a row is 1, for the gradient of the bias
//! gradients    [parts][batch][line]         of a layer's outputs before the rectifier
//! weights      [parts][n_inputs + 1][line]  bias as the last row
//! ```
//!
//! A line has [`line_length`] numbers. Pixels are whole numbers below 256, which both formats hold: images have one part, which is not divided by 255; the product's factor does that.

use super::view::{self, Rows};
use crate::cuda::memory::{Vec4, load, store, store_vec4};
use crate::cuda::mma::{pack_bf16, pack_f16, unpack_bf16, unpack_f16};
use crate::cuda::{DeviceArgs, kernel, sync, thread};
use crate::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Numbers of a line of `width` in memory: 16 bytes are read at once.
pub const fn line_length(width: u32) -> u32 {
    width.next_multiple_of(8)
}

/// The format of parts.
pub mod format {
    /// bfloat16.
    pub const BF16: u32 = 0;
    /// Half precision.
    pub const F16: u32 = 1;
}

/// Where numbers go in parts.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Numbers of a part.
    part_len: usize
)]
#[require(parts >= 1 && part_len <= part_stride as usize)]
pub struct Parts {
    /// `[parts][part_stride]`; null where nothing is written.
    #[len((parts - 1) as usize * part_stride as usize + part_len)]
    #[nullable]
    pub values: *mut u16,
    /// Numbers from a part to the next, a multiple of 8.
    pub part_stride: u64,
    /// Parts of a number, at least 1.
    pub parts: u32,
    /// One of [`mod@format`].
    pub format: u32,
}

impl Parts {
    /// Two numbers as they are stored, and what they leave.
    #[inline(always)]
    fn take(&self, pair: &mut [f32; 2]) -> u32 {
        let (word, taken) = if self.format == format::BF16 {
            let word = pack_bf16(pair[0], pair[1]);
            (word, unpack_bf16(word))
        } else {
            let word = pack_f16(pair[0], pair[1]);
            (word, unpack_f16(word))
        };
        *pair = [pair[0] - taken[0], pair[1] - taken[1]];
        word
    }

    /// Writes a number to `at`.
    ///
    /// # Safety
    /// The values are there, and have one at `at` in each part, which no other thread writes.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn put(&self, at: usize, value: f32) {
        let mut left = [value, 0.0];
        let mut part = 0;
        while part < self.parts {
            let word = self.take(&mut left);
            // SAFETY: as the caller vouches.
            unsafe { store(self.values.add((u64::from(part) * self.part_stride) as usize), at, word as u16) };
            part += 1;
        }
    }

    /// Writes four numbers from `at` on, a multiple of four.
    ///
    /// # Safety
    /// As [`put`](Self::put), for all four.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn put_quad(&self, at: usize, quad: [f32; 4]) {
        let (mut low, mut high) = ([quad[0], quad[1]], [quad[2], quad[3]]);
        let mut part = 0;
        while part < self.parts {
            let both = u64::from(self.take(&mut low)) | u64::from(self.take(&mut high)) << 32;
            // SAFETY: as the caller vouches; parts begin at multiples of eight numbers.
            unsafe {
                store(self.values.add((u64::from(part) * self.part_stride) as usize).cast::<u64>(), at / 4, both)
            };
            part += 1;
        }
    }
}

/// Launch shape for `n_rows` lines of `line` numbers, eight a thread.
pub const fn gather_shape(n_rows: u32, line: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_rows.div_ceil(GATHER_Y), (line / 8).div_ceil(GATHER_X), BLOCK)
}

/// Threads of a block along a line, and lines of a block.
const GATHER_X: u32 = 32;
const GATHER_Y: u32 = BLOCK / GATHER_X;

/// Pixels of the step's samples, and behind those of a sample 255, which stands for 1; zeros behind it, and in rows for which there is no sample.
///
/// * Launch: [`gather_shape`], a thread eight pixels, blocks of 32 × 8: rows along x, of which there may be many.
/// * Reads: `images` of the step's samples.
/// * Writes: `inputs` `[batch, line]`.
/// * Shared: none.
/// * Cost: a byte read and two written a pixel.
/// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`, the inputs of its first layer.
/// * Source: our own.
///
/// # Safety
/// `rows` describes valid memory.
#[kernel(
    shape = gather_shape(rows.batch, line).overlapping(),
    max_threads = BLOCK,
    require = line.is_multiple_of(8) && n_inputs < line && image_stride.is_multiple_of(16) && n_inputs <= image_stride
)]
pub unsafe fn mlp_layers_gather(
    #[len(rows.n_samples() * image_stride)] images: *const u8,
    #[len(rows.batch * line)] inputs: *mut u16,
    rows: Rows,
    n_inputs: u32,
    image_stride: u32,
    line: u32,
    format: u32,
) {
    sync::follow();
    let column = (thread::block_idx_y() * GATHER_X + thread::lane()) * 8;
    let row = thread::block_idx_x() * GATHER_Y + thread::warp_index();
    if column >= line || row >= rows.batch {
        return;
    }
    // SAFETY: the row is one of the batch and, where it is read, a sample of the step; eight bytes of an image that begin below its pixels lie inside its stride, a multiple of 16.
    unsafe {
        let offset = rows.offset();
        let is_there = row < rows.count(offset);
        let mut bytes = 0u64;
        if is_there && column < n_inputs {
            let at = rows.sample(offset, row) as usize * image_stride as usize + column as usize;
            bytes = load(images.add(at).cast::<u64>(), 0);
        }
        let mut words = [0; 4];
        let mut pair = 0;
        while pair < 4 {
            let value = |at: u32| {
                let pixel = view::byte((bytes >> (32 * (at / 4))) as u32, at % 4);
                match column + at {
                    at if at < n_inputs => pixel,
                    at if at == n_inputs && is_there => 255.0,
                    _ => 0.0,
                }
            };
            let [low, high] = [value(2 * pair), value(2 * pair + 1)];
            words[pair as usize] = if format == format::BF16 { pack_bf16(low, high) } else { pack_f16(low, high) };
            pair += 1;
        }
        store_vec4(inputs.add(row as usize * line as usize + column as usize).cast::<Vec4>(), Vec4(words));
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_rows_is_gathered_at_once() {
        // A grid has up to 2³¹ - 1 blocks along x, and 65,535 along y.
        let shape = gather_shape(1 << 24, line_length(785));
        assert_eq!(shape.grid, [1 << 21, 4, 1]);
    }
}
