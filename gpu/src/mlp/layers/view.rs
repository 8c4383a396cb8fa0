//! How arrays lie in device memory, and which samples a step works on.
//!
//! ```text
//! images       [n, image_stride] u8; the stride is a multiple of 16, what lies beyond a line's pixels is 0
//! parameters   [n_inputs + 1, line_length(n_outputs)] f32: the weights, and the bias as the last line; the rest of a line is 0.
//!              With layer norm or batch norm two lines more: gains and shifts
//! logits       [batch, line_length(n_classes)] f32
//! ```
//!
//! The bias as one more line of weights makes its gradient one more line of the weights' gradient, whose operand is 1 for every sample.

use crate::cuda::DeviceArgs;
use crate::cuda::memory;

/// Elements of a line of `width` values in memory: rounded up to whole quads.
pub const fn line_length(width: u32) -> u32 {
    width.next_multiple_of(4)
}

/// Bytes of an image of `n_inputs` pixels in memory.
pub const fn image_stride(n_inputs: u32) -> u32 {
    n_inputs.next_multiple_of(16)
}

/// Which samples the present step works on. The launches of a step are the same for all steps: the step is read from device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
pub struct Rows {
    /// Order of the samples, each below `n`; or null: row `r` is then sample `base + r`.
    #[len(n)]
    #[nullable]
    pub order: *const u32,
    /// The step, or null for step 0.
    #[len(1)]
    #[nullable]
    pub step: *const u32,
    /// Samples of the set.
    pub n: u32,
    /// Samples of a full batch.
    pub batch: u32,
    /// Position in the order of step 0's first sample.
    pub first: u32,
    /// First image where there is no order.
    pub base: u32,
}

const _: () = assert!(size_of::<Rows>() == 32);

impl Rows {
    /// Samples of a set that has all those which are named here.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn n_samples(&self) -> usize {
        if self.order.is_null() {
            self.base as usize + self.batch.min(self.n.saturating_sub(self.first)) as usize
        } else {
            self.n as usize
        }
    }

    /// Position in the order of the step's first sample.
    ///
    /// # Safety
    /// `step` is null or valid.
    #[device_inline]
    #[track_caller]
    pub unsafe fn offset(&self) -> u32 {
        // SAFETY: where it is not null, the step is one valid word that no kernel writes while this one runs.
        let step = if self.step.is_null() { 0 } else { unsafe { memory::load(self.step, 0) } };
        self.first + step * self.batch
    }

    /// Samples of the step: a full batch but at the end.
    #[device_inline]
    pub fn count(&self, offset: u32) -> u32 {
        let left = self.n.saturating_sub(offset);
        if left < self.batch { left } else { self.batch }
    }

    /// Sample of a row of the step.
    ///
    /// # Safety
    /// `order` is null or holds `n` values; `offset + row < n`.
    #[device_inline]
    #[track_caller]
    pub unsafe fn sample(&self, offset: u32, row: u32) -> u32 {
        if self.order.is_null() {
            self.base + row
        } else {
            // SAFETY: the order is not null, so it holds `n` values, and `offset + row` is below `n`.
            unsafe { memory::load(self.order, (offset + row) as usize) }
        }
    }
}

/// Byte `index` of a word as a float: put into the fraction of 2^23, which is then taken away. Conversions of integers run at a quarter of the rate.
#[device_inline]
pub fn byte(word: u32, index: u32) -> f32 {
    const TOP: f32 = 8_388_608.0;
    #[cfg(target_arch = "nvptx64")]
    let bits = {
        let bits: u32;
        // Bytes from the low end: the chosen one, and three of 2^23's.
        let selector = 0x7650 | index;
        // SAFETY: pure arithmetic.
        unsafe {
            core::arch::asm!("prmt.b32 {0}, {1}, {2}, {3};", out(reg32) bits, in(reg32) word, in(reg32) TOP.to_bits(), in(reg32) selector,
                options(pure, nomem, nostack, preserves_flags))
        };
        bits
    };
    #[cfg(not(target_arch = "nvptx64"))]
    let bits = TOP.to_bits() | (word >> (8 * index) & 255);
    f32::from_bits(bits) - TOP
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_numbers() {
        for number in 0..=255u8 {
            assert_eq!(byte(u32::from_le_bytes([7, 0, number, 9]), 2), f32::from(number));
        }
    }
}
