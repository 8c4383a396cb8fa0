//! Numbers in parts of 16 bits, as the products of `tile` read them.
//!
//! ```text
//! inputs       [parts][capacity][line]      a layer's inputs; the number behind the last of a row is 1, for the gradient of the bias
//! gradients    [parts][batch][line]         of a layer's outputs before the rectifier
//! weights      [parts][n_inputs + 1][line]  bias as the last row
//! ```
//!
//! A line has [`line_length`] numbers. Pixels are whole numbers below 256, which both formats hold: images have one part, which is not divided by 255; the product's factor does that.

#[cfg(not(target_arch = "nvptx64"))]
use super::view::RowsArgs;
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
    #[device_inline]
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
    #[device_inline]
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
    #[device_inline]
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

    /// Four numbers from `at` on, a multiple of four: the sums of their parts, which are exact where single precision was divided.
    ///
    /// # Safety
    /// The values are there, and have four at `at` in each part, which no other thread writes.
    #[device_inline]
    #[track_caller]
    pub unsafe fn quad(&self, at: usize) -> [f32; 4] {
        let mut sums = [0.0; 4];
        let mut part = 0;
        while part < self.parts {
            // SAFETY: as the caller vouches; parts begin at multiples of eight numbers.
            let both = unsafe {
                load(self.values.add((u64::from(part) * self.part_stride) as usize).cast::<u64>().cast_const(), at / 4)
            };
            let words = [both as u32, (both >> 32) as u32];
            let [low, high] = if self.format == format::BF16 { words.map(unpack_bf16) } else { words.map(unpack_f16) };
            sums = [sums[0] + low[0], sums[1] + low[1], sums[2] + high[0], sums[3] + high[1]];
            part += 1;
        }
        sums
    }
}

/// Launch shape for `n_rows` lines of `line` numbers, eight a thread.
pub const fn gather_shape(n_rows: u32, line: u32) -> LaunchShape {
    LaunchShape::new((n_rows * (line / 8)).div_ceil(BLOCK), BLOCK)
}

/// The class of a row for which there is no sample.
pub const NO_CLASS: u32 = u32::MAX;

/// The samples of a step as the products read them.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[require(line.is_multiple_of(8) && n_inputs < line && image_stride.is_multiple_of(16) && n_inputs <= image_stride)]
#[require(u64::from(rows.batch) * u64::from(line / 8) <= 1 << 31)]
pub struct Gather {
    /// `[n_samples][image_stride]` bytes.
    #[len(rows.n_samples() * image_stride as usize)]
    #[nullable]
    pub images: *const u8,
    /// The class of each sample; null where `classes` is.
    #[len(rows.n_samples())]
    #[nullable]
    pub labels: *const u8,
    /// `[batch][line]` Pixels, and behind those of a sample 255, which stands for 1; zeros behind it, and in rows for which there is no sample. Null where nothing is to be gathered.
    #[len(rows.batch as usize * line as usize)]
    #[nullable]
    pub inputs: *mut u16,
    /// `[batch + 1]` The class of each row, [`NO_CLASS`] where there is no sample; then the number of samples. May be null.
    #[len(rows.batch as usize + 1)]
    #[nullable]
    pub classes: *mut u32,
    /// Which samples.
    #[args]
    pub rows: Rows,
    /// Pixels of a sample.
    pub n_inputs: u32,
    /// Bytes from a sample to the next.
    pub image_stride: u32,
    /// Numbers of a row of `inputs`.
    pub line: u32,
    /// One of [`mod@format`].
    pub format: u32,
}

const _: () = assert!(size_of::<Gather>() == 80);

impl Gather {
    /// The pixels of a sample from `column` on, eight bytes; 0 behind its pixels, and where it is not there.
    ///
    /// # Safety
    /// The images are there, and have the sample if it is; `column` is a multiple of 8.
    #[device_inline]
    #[track_caller]
    pub(super) unsafe fn bytes(&self, is_there: bool, sample: usize, column: u32) -> u64 {
        if is_there && column < self.n_inputs {
            // SAFETY: eight bytes of an image that begin below its pixels lie inside its stride, a multiple of 16.
            unsafe { load(self.images.add(sample * self.image_stride as usize + column as usize).cast::<u64>(), 0) }
        } else {
            0
        }
    }

    /// Input `column + at` of a row whose pixels from `column` on are `bytes`: behind the pixels of a sample is 255, which stands for 1.
    #[device_inline]
    pub(super) fn value(&self, is_there: bool, bytes: u64, column: u32, at: u32) -> f32 {
        let pixel = view::byte((bytes >> (32 * (at / 4))) as u32, at % 4);
        match column + at {
            at if at < self.n_inputs => pixel,
            at if at == self.n_inputs && is_there => 255.0,
            _ => 0.0,
        }
    }

    /// Eights of numbers in all rows.
    #[device_inline]
    pub const fn n_eights(&self) -> u32 {
        self.rows.batch * (self.line / 8)
    }

    /// Gathers eight numbers, number `number` of all, of the step whose first sample is at `offset` of the order; whoever has a row's first also writes its class.
    ///
    /// # Safety
    /// Images and inputs are there, and what they point to is valid; `number` is below [`n_eights`](Self::n_eights), and no other thread has it.
    #[device_inline]
    #[track_caller]
    pub unsafe fn eight(&self, offset: u32, number: u32) {
        let (row, column) = (number / (self.line / 8), number % (self.line / 8) * 8);
        let n_rows = self.rows.count(offset);
        let is_there = row < n_rows;
        // SAFETY: the row is one of the batch and, where it is read, a sample of the step.
        unsafe {
            let sample = if is_there { self.rows.sample(offset, row) as usize } else { 0 };
            let bytes = self.bytes(is_there, sample, column);
            let mut words = [0; 4];
            let mut pair = 0;
            while pair < 4 {
                let [low, high] = [2 * pair, 2 * pair + 1].map(|at| self.value(is_there, bytes, column, at));
                words[pair as usize] =
                    if self.format == format::BF16 { pack_bf16(low, high) } else { pack_f16(low, high) };
                pair += 1;
            }
            let to = self.inputs.add(row as usize * self.line as usize + column as usize);
            store_vec4(to.cast::<Vec4>(), Vec4(words));
            if column == 0 && !self.classes.is_null() {
                let class = if is_there { u32::from(load(self.labels, sample)) } else { NO_CLASS };
                store(self.classes, row as usize, class);
                if row == 0 {
                    store(self.classes, self.rows.batch as usize, n_rows);
                }
            }
        }
    }
}

/// The samples of a step, before the first; the update gathers those of the next.
///
/// * Launch: [`gather_shape`], a thread eight pixels, blocks of 256.
/// * Reads: `images`, `labels` of the step's samples.
/// * Writes: `inputs`, `classes`.
/// * Shared: none.
/// * Cost: a byte read and two written a pixel.
/// * Twin: `warpplay_cpu_ref::mlp::network::Network::forward`, the inputs of its first layer.
/// * Source: our own.
///
/// # Safety
/// Everything `gather` points to is valid, and images and inputs are there.
#[kernel(shape = gather_shape(gather.rows.batch, gather.line).overlapping(), max_threads = BLOCK)]
pub unsafe fn mlp_layers_gather(gather: Gather) {
    sync::follow();
    let number = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
    if number < gather.n_eights() {
        // SAFETY: as the kernel asks; each number is one thread's.
        unsafe { gather.eight(gather.rows.offset(), number) };
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_rows_is_gathered_at_once() {
        // A grid has up to 2³¹ - 1 blocks along x, and 65,535 along y.
        let shape = gather_shape(1 << 24, line_length(785));
        assert_eq!(shape.grid, [99 << 16, 1, 1]);
    }
}
