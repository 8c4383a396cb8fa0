//! How activations and weights are held, and what multiplies them.
//!
//! # What single precision loses
//! [`Split`] holds `v` as `v₁ + v₂`, both of half precision. Rounding to 11 bits leaves `|v - v₁| ≤ 2⁻¹¹ |v|`, and rounding that once more `|v - v₁ - v₂| ≤ 2⁻²² |v|`, while
//! `v₂` is not below the unit of half precision, `2⁻²⁴`: then the rest is at most `2⁻²⁵ = 2⁻²² · ⅛`. So with `|v|⁺ = max(|v|, ⅛)` ([`FULL`])
//!
//! ```text
//! |v - v₁ - v₂| ≤ 2⁻²² |v|⁺    |v₂| ≤ 2⁻¹¹ |v|⁺    for |v| < 65,520; beyond, v₁ is infinite
//! ```
//!
//! Of a product `w a` the kernels add up `w₂ a₁ + w₁ a₂ + w₁ a₁`. The rest is `w₂ a₂` and what both lost: at most `3 · 2⁻²² |w|⁺ |a|⁺` and less than a thousandth more. Each half product is exact
//! in f32. A tensor core's instruction adds 16 of them to a sum, and loses at most `L` times the sum of all sizes ([`TENSOR_CORE`]). For a batch, large products go through at most 2 such, and their sums through 36 additions in f32; the small
//! ones, whose sizes are together at most `2⁻¹⁰ S`, go through 144 and one addition. For one position all go through at most 3, and 17 additions follow. With `S = Σ |w|⁺ |a|⁺`
//!
//! ```text
//! |sum - Σ w a| ≤ (3.01 · 2⁻²² + 3.01 L + 37.01 · 2⁻²⁴) S               sum_error(L)
//! ```
//!
//! A value is that sum, bias and block's input added (two roundings to f32), and then split. The bound holds for numbers as they lie in memory: the host scales them by powers of two so
//! that `⅛` is 2⁻¹⁷ or less of a row's largest weight, and 2⁻⁸ or less of a channel's usual activations. Its larger part is the tensor core's worst case: that every
//! instruction cuts off as much as it can, and always to the same side.
//!
//! # What is too large
//! An infinite `v₁` has a `v₂` of the other sign, or NaN. Every output that it is multiplied for becomes NaN, the rectifier keeps that, and so do the linear layers: the
//! position has NaN for its value and all logits. Nobody has to look for it on the way.

use super::sums::{Operands, Parts, Short, by_registers, short, split};
use super::{WIDTH, padded_squares};
use crate::cuda::memory::{Vec4, load};
use crate::cuda::mma;
use crate::cuda::shared::Shared;
use crate::cuda::sync::WholeWarp;
use crate::cuda::wgmma::{self, Tiles, WholeGroup};

/// A number format. A *chunk* is the 16 bytes of a square; a *step* multiplies two chunks' channels; a *stage* of weights is three products.
pub trait Format {
    /// Name, as in kernels' names.
    const NAME: &'static str;
    /// Channels of a chunk.
    const CHANNELS: u32;
    /// Parts of which a number is the sum, each with an array of its own.
    const PARTS: u32;
    /// Steps of a stage.
    const STEPS: u32;

    /// The sums of a convolution without bias, [`short`] or [`split`]. `member` is the thread within its warpgroup; `R` is 128, 64 or 32, for four boards, two or one.
    fn sums<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], operands: Operands, member: u32);

    /// One step by a warp: 16 squares, 16 outputs, two chunks' channels. `x` are operands A as [`mma::load_matrix_x4`] reads them (rows 0 to 7 and 8 to 15 of the first chunk, then
    /// of the second), their first and second parts; `w` are operands B of outputs 0 to 7 and 8 to 15, their first and second parts. The sum is that of `sums[0]` and `sums[2]` for
    /// outputs 0 to 7, of `sums[1]` and `sums[3]` for 8 to 15; `odd` says which are added to where a format has a choice.
    fn step(whole: &WholeWarp, sums: &mut [[f32; 4]; 4], odd: bool, x: [[u32; 4]; 2], w: [Vec4; 2]);

    /// Writes the values of two neighbouring rows of the fragment, which are 0 or more, and a warp's 16 channels: `values[4 j + c]` as
    /// in [`wgmma`], `j` 0 and 1.
    fn store(whole: &WholeWarp, at: RowAddress, values: [f32; 8]);

    /// Reads what [`Format::store`] wrote.
    fn load(whole: &WholeWarp, at: RowAddress) -> [f32; 8];

    /// The values of a square's chunk; of the first four only where a chunk has four. `part` bytes further is the second part.
    fn unpack(chunk: [u32; 4], second: [u32; 4]) -> [f32; 8];

    /// The chunks of eight values, for both parts; four in each where a chunk has four.
    fn pack(values: [f32; 8]) -> [[u32; 4]; 2];
}

/// Where a lane reads or writes in [`Format::store`]: 16 channels of two storage rows, and of those further on.
#[derive(Clone, Copy)]
pub struct RowAddress {
    /// Shared address of the square with x = 0 of the warp's first chunk.
    base: u32,
    /// Bytes from a storage row to the next.
    row: u32,
    /// Bytes from a chunk's array to the next.
    chunk: u32,
    /// Bytes from a part to the next.
    part: u32,
    lane: u32,
}

impl RowAddress {
    /// The rows from shared address `base` on, the square with x = 0 of the warp's first chunk: `row`, `chunk` and `part` are bytes to the next storage row, to the next chunk of
    /// channels, to the next part.
    ///
    /// # Safety
    /// The two rows, and those of each [`pair`](RowAddress::pair) that is taken, are activations in the block's shared memory; no other warp uses these channels of them before a
    /// barrier.
    #[device_inline]
    pub unsafe fn new(base: u32, row: u32, chunk: u32, part: u32, lane: u32) -> Self {
        Self { base, row, chunk, part, lane }
    }

    /// Pair `number` of rows behind these.
    #[device_inline]
    pub fn pair(self, number: usize) -> Self {
        Self { base: self.base + number as u32 * 2 * self.row, ..self }
    }

    /// The lane's address for matrices row by row: (row 0, channels 0 to 7), (row 0, channels 8 to 15), then row 1.
    #[device_inline]
    fn matrices(self) -> u32 {
        let matrix = self.lane / 8;
        self.base + (matrix / 2) * self.row + (matrix & 1) * self.chunk + self.lane % 8 * 16
    }

    /// Writes the matrices of the part that is `part` bytes behind the first: 0, or the distance of the parts.
    #[device_inline]
    fn store(self, _: &WholeWarp, part: u32, words: [u32; 4]) {
        // SAFETY: the rows are the warp's, as whoever made the address vouches; the token says that its lanes are here together.
        unsafe { mma::store_matrix_x4_transposed(self.matrices() + part, words) }
    }

    /// Reads the matrices of such a part.
    #[device_inline]
    fn load(self, _: &WholeWarp, part: u32) -> [u32; 4] {
        // SAFETY: the rows are the warp's, as whoever made the address vouches; the token says that its lanes are here together.
        unsafe { mma::load_matrix_x4_transposed(self.matrices() + part) }
    }

    /// The words from the lane's first value on, channel g, column 2t, where a value is a word.
    #[device_inline]
    fn words(self) -> Shared<u32> {
        let (g, t) = (self.lane / 4, self.lane % 4);
        let first = self.base + g / 4 * self.chunk + g % 4 * 4 + 2 * t * 16;
        // SAFETY: up to the last of the lane's eight values these are words of the warp's rows, as whoever made the address vouches.
        unsafe { Shared::from_address(first, self.word(7) + 1) }
    }

    /// Words from the first value to value `number` of eight: next column, channel + 8, next row.
    #[device_inline]
    fn word(self, number: u32) -> u32 {
        (number & 1) * 4 + (number >> 1 & 1) * (self.chunk / 2) + (number >> 2) * (self.row / 4)
    }
}

/// Bytes of a chunk's array for `boards` boards.
pub const fn chunk_bytes(boards: u32) -> u32 {
    padded_squares(boards) * 16
}

/// Bytes of all activations of a block.
pub const fn activation_bytes<F: Format>(boards: u32) -> u32 {
    WIDTH / F::CHANNELS * F::PARTS * chunk_bytes(boards)
}

/// What takes the sums of an output to the scale that it is kept in: only what is held in two parts has scales.
///
/// # Safety
/// `factors` has that row.
#[device_inline]
pub(super) unsafe fn load_factor<F: Format>(factors: *const f32, row: usize) -> f32 {
    // SAFETY: where the format has two parts, `factors` has that row.
    if F::PARTS == 2 { unsafe { load(factors, row) } } else { 1.0 }
}

/// Bytes of a step's weights, of one part: 128 outputs, two chunks.
pub const STEP_BYTES: u32 = WIDTH * 32;

/// Bytes of a stage.
pub const fn stage_bytes<F: Format>() -> u32 {
    STEP_BYTES * F::STEPS * F::PARTS
}

/// Steps of a tap over `channels` channels.
pub const fn tap_steps<F: Format>(channels: u32) -> u32 {
    channels / (2 * F::CHANNELS)
}

/// Size down to which a number of [`Split`] has 22 bits.
pub const FULL: f64 = 0.125;

/// Share of the sizes of all that it adds that an instruction of a tensor core may lose: it cuts off each of 16 products and the sum so far below the last of the largest one's 24
/// bits, and then the result.
pub const TENSOR_CORE: f64 = 18.0 / (1u64 << 23) as f64;

/// The same for `simt`, which adds in double precision and cuts off the result.
pub const SIMULATED: f64 = 1.0 / (1u64 << 23) as f64;

/// What a sum of products of [`Split`] may be wrong by, as a share of `Σ |w|⁺ |a|⁺`, where an instruction loses a share `lost`.
pub const fn sum_error(lost: f64) -> f64 {
    3.01 / (1u64 << 22) as f64 + 3.01 * lost + 37.01 / (1u64 << 24) as f64
}

/// Half precision.
pub struct Fp16;
/// bfloat16.
pub struct Bf16;
/// TF32, rounded to nearest: what is kept is the f32 plus half a unit of the last place that the tensor core looks at, which it cuts off.
pub struct Tf32;
/// Single precision as two half-precision parts.
pub struct Split;

macro_rules! short_format {
    ($format:ident, $name:literal, $product:path, $pack:path, $unpack:path, $n256:path, $n128:path, $n64:path) => {
        impl Short for $format {
            #[device_inline]
            fn multiply<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], a: Tiles, b: [Tiles; 3], add: u32) {
                let a = [a, a.offset(STEP_BYTES), a.offset(2 * STEP_BYTES)];
                by_registers!(d, |d| $n256(whole, d, a, b, add), |d| $n128(whole, d, a, b, add), |d| $n64(
                    whole, d, a, b, add
                ));
            }
        }

        impl Format for $format {
            const NAME: &'static str = $name;
            const CHANNELS: u32 = 8;
            const PARTS: u32 = 1;
            const STEPS: u32 = 3;

            #[device_inline]
            fn sums<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], operands: Operands, member: u32) {
                short::<Self, R>(whole, d, operands, member);
            }

            #[device_inline]
            fn step(
                whole: &WholeWarp,
                sums: &mut [[f32; 4]; 4],
                odd: bool,
                [x, _]: [[u32; 4]; 2],
                [Vec4(w), _]: [Vec4; 2],
            ) {
                if odd {
                    sums[2] = $product(whole, sums[2], x, [w[0], w[1]]);
                    sums[3] = $product(whole, sums[3], x, [w[2], w[3]]);
                } else {
                    sums[0] = $product(whole, sums[0], x, [w[0], w[1]]);
                    sums[1] = $product(whole, sums[1], x, [w[2], w[3]]);
                }
            }

            #[device_inline]
            fn store(whole: &WholeWarp, at: RowAddress, v: [f32; 8]) {
                at.store(whole, 0, [$pack(v[0], v[1]), $pack(v[2], v[3]), $pack(v[4], v[5]), $pack(v[6], v[7])]);
            }

            #[device_inline]
            fn load(whole: &WholeWarp, at: RowAddress) -> [f32; 8] {
                let words = at.load(whole, 0);
                let [[a, b], [c, d]] = [$unpack(words[0]), $unpack(words[1])];
                let [[e, f], [g, h]] = [$unpack(words[2]), $unpack(words[3])];
                [a, b, c, d, e, f, g, h]
            }

            #[device_inline]
            fn unpack(chunk: [u32; 4], _: [u32; 4]) -> [f32; 8] {
                let [[a, b], [c, d]] = [$unpack(chunk[0]), $unpack(chunk[1])];
                let [[e, f], [g, h]] = [$unpack(chunk[2]), $unpack(chunk[3])];
                [a, b, c, d, e, f, g, h]
            }

            #[device_inline]
            fn pack(v: [f32; 8]) -> [[u32; 4]; 2] {
                [[$pack(v[0], v[1]), $pack(v[2], v[3]), $pack(v[4], v[5]), $pack(v[6], v[7])], [0; 4]]
            }
        }
    };
}

short_format!(Fp16, "fp16", mma::f16, mma::pack_f16, mma::unpack_f16, wgmma::f16_n256, wgmma::f16_n128, wgmma::f16_n64);
short_format!(
    Bf16,
    "bf16",
    mma::bf16,
    mma::pack_bf16,
    mma::unpack_bf16,
    wgmma::bf16_n256,
    wgmma::bf16_n128,
    wgmma::bf16_n64
);

/// Half a unit of TF32's last place, in the bits of an f32.
const HALF_UNIT: u32 = 0x1000;

#[device_inline]
fn to_tf32(value: f32) -> u32 {
    // A NaN whose bits can take the half unit: it stays a NaN.
    (if value.is_nan() { 0x7FFF_0000 } else { value.to_bits() }) + HALF_UNIT
}

#[device_inline]
fn from_tf32(bits: u32) -> f32 {
    f32::from_bits(bits.wrapping_sub(HALF_UNIT))
}

impl Short for Tf32 {
    #[device_inline]
    fn multiply<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], a: Tiles, b: [Tiles; 3], add: u32) {
        let a = [a, a.offset(STEP_BYTES), a.offset(2 * STEP_BYTES)];
        by_registers!(d, |d| wgmma::tf32_n256(whole, d, a, b, add), |d| wgmma::tf32_n128(whole, d, a, b, add), |d| {
            wgmma::tf32_n64(whole, d, a, b, add)
        });
    }
}

impl Format for Tf32 {
    const NAME: &'static str = "tf32";
    const CHANNELS: u32 = 4;
    const PARTS: u32 = 1;
    const STEPS: u32 = 3;

    #[device_inline]
    fn sums<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], operands: Operands, member: u32) {
        short::<Self, R>(whole, d, operands, member);
    }

    #[device_inline]
    fn step(whole: &WholeWarp, sums: &mut [[f32; 4]; 4], odd: bool, [x, _]: [[u32; 4]; 2], [Vec4(w), _]: [Vec4; 2]) {
        if odd {
            sums[2] = mma::tf32(whole, sums[2], x, [w[0], w[1]]);
            sums[3] = mma::tf32(whole, sums[3], x, [w[2], w[3]]);
        } else {
            sums[0] = mma::tf32(whole, sums[0], x, [w[0], w[1]]);
            sums[1] = mma::tf32(whole, sums[1], x, [w[2], w[3]]);
        }
    }

    #[device_inline]
    fn store(_: &WholeWarp, at: RowAddress, v: [f32; 8]) {
        let words = at.words();
        for_each_value!(v, |number, value| {
            words.set(at.word(number), to_tf32(value));
        });
    }

    #[device_inline]
    fn load(_: &WholeWarp, at: RowAddress) -> [f32; 8] {
        let words = at.words();
        let get = |number| from_tf32(words.get(at.word(number)));
        [get(0), get(1), get(2), get(3), get(4), get(5), get(6), get(7)]
    }

    #[device_inline]
    fn unpack(chunk: [u32; 4], _: [u32; 4]) -> [f32; 8] {
        [from_tf32(chunk[0]), from_tf32(chunk[1]), from_tf32(chunk[2]), from_tf32(chunk[3]), 0.0, 0.0, 0.0, 0.0]
    }

    #[device_inline]
    fn pack(v: [f32; 8]) -> [[u32; 4]; 2] {
        [
            [to_tf32(v[0]), to_tf32(v[1]), to_tf32(v[2]), to_tf32(v[3])],
            [to_tf32(v[4]), to_tf32(v[5]), to_tf32(v[6]), to_tf32(v[7])],
        ]
    }
}

/// Calls a body for the eight values by constant numbers.
macro_rules! for_each_value {
    ($values:ident, |$number:ident, $value:ident| $body:block) => {
        for_each_value!(@ $values, $number, $value, $body, [0 1 2 3 4 5 6 7])
    };
    (@ $values:ident, $number:ident, $value:ident, $body:block, [$($at:literal)*]) => {
        $({
            let ($number, $value) = ($at, $values[$at]);
            $body
        })*
    };
}
use for_each_value;

/// Starts products in half precision, with as many registers as the array has.
#[device_inline]
fn multiply_halves<const R: usize, const N: usize>(
    whole: &WholeGroup,
    d: &mut [f32; R],
    a: [Tiles; N],
    b: [Tiles; N],
    add: u32,
) {
    by_registers!(d, |d| wgmma::f16_n256(whole, d, a, b, add), |d| wgmma::f16_n128(whole, d, a, b, add), |d| {
        wgmma::f16_n64(whole, d, a, b, add)
    });
}

impl Parts for Split {
    #[device_inline]
    fn large<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], a: Tiles, b: Tiles, add: u32) {
        multiply_halves(whole, d, [a], [b], add);
    }

    #[device_inline]
    fn small<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], a: Tiles, b: Tiles, b_part: u32, add: u32) {
        multiply_halves(whole, d, [a.offset(STEP_BYTES), a], [b, b.offset(b_part)], add);
    }
}

impl Format for Split {
    const NAME: &'static str = "fp32";
    const CHANNELS: u32 = 8;
    const PARTS: u32 = 2;
    const STEPS: u32 = 1;

    #[device_inline]
    fn sums<const R: usize>(whole: &WholeGroup, d: &mut [f32; R], operands: Operands, member: u32) {
        split::<Self, R>(whole, d, operands, member);
    }

    #[device_inline]
    fn step(
        whole: &WholeWarp,
        sums: &mut [[f32; 4]; 4],
        _: bool,
        [x, y]: [[u32; 4]; 2],
        [Vec4(w), Vec4(second)]: [Vec4; 2],
    ) {
        // The small products first: where the sums begin at 0, only the last instruction cuts off much.
        sums[0] = mma::f16(whole, sums[0], y, [w[0], w[1]]);
        sums[1] = mma::f16(whole, sums[1], y, [w[2], w[3]]);
        sums[0] = mma::f16(whole, sums[0], x, [second[0], second[1]]);
        sums[1] = mma::f16(whole, sums[1], x, [second[2], second[3]]);
        sums[0] = mma::f16(whole, sums[0], x, [w[0], w[1]]);
        sums[1] = mma::f16(whole, sums[1], x, [w[2], w[3]]);
    }

    #[device_inline]
    fn store(whole: &WholeWarp, at: RowAddress, v: [f32; 8]) {
        let split = |low, high| mma::split_f16(v[low], v[high]);
        let words = [split(0, 1), split(2, 3), split(4, 5), split(6, 7)];
        at.store(whole, 0, [words[0][0], words[1][0], words[2][0], words[3][0]]);
        at.store(whole, at.part, [words[0][1], words[1][1], words[2][1], words[3][1]]);
    }

    #[device_inline]
    fn load(whole: &WholeWarp, at: RowAddress) -> [f32; 8] {
        Self::unpack(at.load(whole, 0), at.load(whole, at.part))
    }

    #[device_inline]
    fn unpack(chunk: [u32; 4], second: [u32; 4]) -> [f32; 8] {
        let (large, small) = (Fp16::unpack(chunk, chunk), Fp16::unpack(second, second));
        [
            large[0] + small[0],
            large[1] + small[1],
            large[2] + small[2],
            large[3] + small[3],
            large[4] + small[4],
            large[5] + small[5],
            large[6] + small[6],
            large[7] + small[7],
        ]
    }

    #[device_inline]
    fn pack(v: [f32; 8]) -> [[u32; 4]; 2] {
        let split = |low, high| mma::split_f16(v[low], v[high]);
        let words = [split(0, 1), split(2, 3), split(4, 5), split(6, 7)];
        [[words[0][0], words[1][0], words[2][0], words[3][0]], [words[0][1], words[1][1], words[2][1], words[3][1]]]
    }
}
