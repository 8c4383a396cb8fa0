//! What the products read and write: matrices in device memory, seen as lines of quads (four neighbouring elements, one load).
//!
//! ```text
//! images       [n, image_stride] u8; the stride is a multiple of 16, what lies beyond a line's pixels is 0
//! activations  [batch, ld] f32, gradients alike; ld is the width rounded up to 4, the rest of a line is 0
//! parameters   [n_inputs + 1, ld] f32: the weights, and the bias as the last line
//! ```
//!
//! The bias as one more line of weights makes its gradient one more line of the weights' gradient, whose operand is 1 for every sample.

use crate::cuda::DeviceArgs;
use crate::cuda::math::fma;
use crate::cuda::memory::{self, Vec4};

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
    #[inline(always)]
    #[track_caller]
    pub unsafe fn offset(&self) -> u32 {
        // SAFETY: where it is not null, the step is one valid word that no kernel writes while this one runs.
        let step = if self.step.is_null() { 0 } else { unsafe { memory::load(self.step, 0) } };
        self.first + step * self.batch
    }

    /// Samples of the step: a full batch but at the end.
    #[inline(always)]
    pub fn count(&self, offset: u32) -> u32 {
        let left = self.n.saturating_sub(offset);
        if left < self.batch { left } else { self.batch }
    }

    /// Sample of a row of the step.
    ///
    /// # Safety
    /// `order` is null or holds `n` values; `offset + row < n`.
    #[inline(always)]
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

/// A line of a matrix by its number in memory; [`NO_LINE`] for one outside, which is all 0.
///
/// Of images it is the word that the order holds, with nothing computed from it: so it can be read long before it is used, and nobody waits for it.
pub type Line = u32;

/// The line outside the matrix.
pub const NO_LINE: Line = u32::MAX;

/// A matrix that a product reads.
pub trait Matrix: Copy {
    /// Whether a line runs along the depth of the product (its summed dimension), so that a quad is four depths of one row or column.
    const ALONG_DEPTH: bool;

    /// Line `outer`.
    ///
    /// # Safety
    /// The matrix describes valid memory.
    unsafe fn line(&self, outer: u32) -> Line;

    /// Four elements of a line from `inner` on, a multiple of 4.
    ///
    /// # Safety
    /// `line` came from this matrix's `line`.
    unsafe fn quad(&self, line: Line, inner: u32) -> [f32; 4];
}

/// A matrix of `f32`. `UNIT`: the element `unit` of each line is taken to be 1.
#[derive(Clone, Copy)]
pub struct Values<const ALONG_DEPTH: bool, const UNIT: bool> {
    /// The first element.
    pub base: *const f32,
    /// Lines that there are.
    pub n_lines: u32,
    /// Elements of a line, a multiple of 4.
    pub ld: u32,
    /// The element that is 1.
    pub unit: u32,
}

/// Puts `value` at element `unit`, if it is among the four from `inner` on.
#[inline(always)]
fn with_unit(mut quad: [f32; 4], inner: u32, unit: u32, value: f32) -> [f32; 4] {
    if unit.wrapping_sub(inner) < 4 {
        let mut j = 0;
        while j < 4 {
            if inner + j as u32 == unit {
                quad[j] = value;
            }
            j += 1;
        }
    }
    quad
}

impl<const ALONG_DEPTH: bool, const UNIT: bool> Matrix for Values<ALONG_DEPTH, UNIT> {
    const ALONG_DEPTH: bool = ALONG_DEPTH;

    #[inline(always)]
    #[track_caller]
    unsafe fn line(&self, outer: u32) -> Line {
        if outer < self.n_lines { outer } else { NO_LINE }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn quad(&self, line: Line, inner: u32) -> [f32; 4] {
        let mut quad = [0.0; 4];
        if line != NO_LINE {
            if inner < self.ld {
                let at = line as usize * self.ld as usize + inner as usize;
                // SAFETY: the line came from this matrix, so it is one of its lines, which are whole quads, and `inner` is a multiple of 4 below their length.
                let words = unsafe { memory::load_vec4(self.base.add(at).cast::<Vec4>()) };
                quad = words.0.map(f32::from_bits);
            }
            if UNIT {
                quad = with_unit(quad, inner, self.unit, 1.0);
            }
        }
        quad
    }
}

/// `value / 255` rounded to nearest, for `value` of 0 to 255: the quotient by the reciprocal, and one correction by its exact remainder.
#[inline(always)]
pub fn scaled(value: f32) -> f32 {
    const RECIPROCAL: f32 = 1.0 / 255.0;
    let quotient = value * RECIPROCAL;
    let rest = fma(-quotient, 255.0, value);
    fma(rest, RECIPROCAL, quotient)
}

/// Byte `index` of a word as a float: put into the fraction of 2^23, which is then taken away. Conversions of integers run at a quarter of the rate.
#[inline(always)]
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

/// The images of a step. `UNIT`: the pixel `unit` is taken to be 1. `SCALED`: bytes are divided by 255; else they are taken as they are, and so is the 1,
/// as 255.
#[derive(Clone, Copy)]
pub struct Images<const ALONG_DEPTH: bool, const UNIT: bool, const SCALED: bool> {
    /// The first byte of the first image.
    pub base: *const u8,
    /// Bytes of an image in memory, [`image_stride`].
    pub stride: u32,
    /// The step's samples.
    pub rows: Rows,
    /// [`Rows::offset`] and [`Rows::count`].
    pub offset: u32,
    /// Rows that there are.
    pub n_lines: u32,
    /// The pixel that is 1.
    pub unit: u32,
}

impl<const ALONG_DEPTH: bool, const UNIT: bool, const SCALED: bool> Matrix for Images<ALONG_DEPTH, UNIT, SCALED> {
    const ALONG_DEPTH: bool = ALONG_DEPTH;

    #[inline(always)]
    #[track_caller]
    unsafe fn line(&self, outer: u32) -> Line {
        if outer >= self.n_lines {
            return NO_LINE;
        }
        // SAFETY: the row is one of the step's.
        unsafe { self.rows.sample(self.offset, outer) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn quad(&self, line: Line, inner: u32) -> [f32; 4] {
        let mut quad = [0.0; 4];
        if line != NO_LINE {
            if inner < self.stride {
                // The four bytes lie inside the image, aligned since the stride and `inner` are.
                let at = line as usize * self.stride as usize + inner as usize;
                // SAFETY: as above.
                let word = unsafe { memory::load(self.base.add(at).cast::<u32>(), 0) };
                let mut j = 0;
                while j < 4 {
                    let value = byte(word, j as u32);
                    quad[j] = if SCALED { scaled(value) } else { value };
                    j += 1;
                }
            }
            if UNIT {
                quad = with_unit(quad, inner, self.unit, if SCALED { 1.0 } else { 255.0 });
            }
        }
        quad
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_is_scaled_as_a_division_does() {
        for number in 0..=255u8 {
            let value = f32::from(number);
            assert_eq!(byte(u32::from_le_bytes([7, 0, number, 9]), 2), value);
            assert_eq!(scaled(value).to_bits(), (value / 255.0).to_bits(), "{value}");
        }
    }
}
