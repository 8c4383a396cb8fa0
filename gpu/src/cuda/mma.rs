//! Tensor cores: products of small matrices by a whole warp, and the number formats they take.
//!
//! One instruction multiplies a 16×16 by a 16×8 matrix, several times as many operations a second as ordinary arithmetic. The operands are short numbers (half precision, bfloat16,
//! TF32), spread over the lanes of the warp; sums are in single precision.
//!
//! ```
//! use warpplay_gpu::cuda::{kernel, memory, mma, sync, thread};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, memory::register};
//!
//! /// Writes C = A B for A and B full of 1 and 2: a lane's four elements of C.
//! ///
//! /// # Safety
//! /// Launched as one warp; `c` holds four values a lane.
//! #[kernel]
//! pub unsafe fn multiply(c: *mut f32) {
//!     let (ones, twos) = (mma::pack_f16(1.0, 1.0), mma::pack_f16(2.0, 2.0));
//!     let warp = sync::whole_warp();
//!     let product = mma::f16(&warp, [0.0; 4], [ones; 4], [twos; 2]);
//!     for (at, value) in product.into_iter().enumerate() {
//!         // SAFETY: four values for each of 32 lanes.
//!         unsafe { memory::store(c, 4 * thread::lane() as usize + at, value) };
//!     }
//! }
//!
//! let mut c = [0.0f32; 128];
//! let _registered = register(c.as_mut_ptr() as usize, size_of_val(&c));
//! // SAFETY: one warp, four values a lane.
//! unsafe { simt::launch(multiply, LaunchShape::new(1, 32), (c.as_mut_ptr(),), &simt::Options::default()) }.expect("no rule is broken");
//! assert_eq!(c, [32.0; 128]); // 16 products of 1 and 2
//! ```
//!
//! # Data layout
//!
//! A 16×8 block of `C += A B` is spread over the 32 lanes of a warp. With `g = lane / 4` and `t = lane % 4`:
//!
//! | operand | 16-bit formats (A 16×16, B 16×8) | TF32 (A 16×8, B 8×8) |
//! | --- | --- | --- |
//! | `a[0]`, `a[1]` | row g, g + 8: columns 2t, 2t + 1 | row g, g + 8: column t |
//! | `a[2]`, `a[3]` | row g, g + 8: columns 2t + 8, 2t + 9 | row g, g + 8: column t + 4 |
//! | `b[0]`, `b[1]` | rows 2t, 2t + 1 and 2t + 8, 2t + 9: column g | rows t and t + 4: column g |
//! | `c[0..2]`, `c[2..4]` | row g, g + 8: columns 2t, 2t + 1 | the same |
//!
//! Two 16-bit values share a word, the lower column or row in the low half. Products are exact, sums in single precision with the hardware's own order and
//! rounding (towards zero); `simt` sums in double precision and rounds once, towards zero too. Needs `sm_80`: before it the products trap.

#[cfg(not(target_arch = "nvptx64"))]
use half::{bf16, f16 as half_f16};

use super::sync::WholeWarp;
#[cfg(not(target_arch = "nvptx64"))]
use super::warp;
#[cfg(not(target_arch = "nvptx64"))]
use crate::simt::hooks;

macro_rules! product {
    ($($(#[$doc:meta])* $name:ident, $instruction:literal, $wide:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// All 32 lanes of the warp call it together, in the same straight line of code as the [`whole_warp`](super::sync::whole_warp) before it: the compiler does not know
        /// that the instruction is convergent. It works on registers only, so a violation gives meaningless numbers, or stalls.
        #[device_inline]
        #[track_caller]
        pub fn $name(_: &WholeWarp, c: [f32; 4], a: [u32; 4], b: [u32; 2]) -> [f32; 4] {
            #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
            {
                let [mut c0, mut c1, mut c2, mut c3] = c;
                // SAFETY: works on registers only; the documentation requires all lanes to be here, and a violation gives wrong numbers or stalls.
                unsafe {
                    core::arch::asm!(
                        concat!($instruction, " {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};"),
                        inout(reg32) c0, inout(reg32) c1, inout(reg32) c2, inout(reg32) c3,
                        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
                        options(nomem, nostack, preserves_flags)
                    )
                };
                [c0, c1, c2, c3]
            }
            #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
            {
                let _ = (c, a, b);
                super::trap()
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                product_on_host(c, a, b, $wide)
            }
        }
    )*};
}

product! {
    /// `c + a b` in half precision, 16×16 by 16×8.
    f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        |word| [half_f16::from_bits(word as u16).to_f64(), half_f16::from_bits((word >> 16) as u16).to_f64()];
    /// `c + a b` in bfloat16, 16×16 by 16×8.
    bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        |word| [bf16::from_bits(word as u16).to_f64(), bf16::from_bits((word >> 16) as u16).to_f64()];
    /// `c + a b` in TF32, 16×8 by 8×8. The lowest 13 bits of each operand are ignored; [`round_tf32`] rounds first.
    tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        |word| [f32::from_bits(word & !0x1FFF) as f64, f64::NAN];
}

/// The product as `simt` computes it. `widen` returns the values of a word; if the second is NaN, the word holds only one.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn product_on_host(c: [f32; 4], a: [u32; 4], b: [u32; 2], widen: impl Fn(u32) -> [f64; 2]) -> [f32; 4] {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    // In TF32 a word has one value: the second is NaN in every word of the format.
    let single = widen(0)[1].is_nan();
    // The words of a row or column lie with four lanes, two with each. Rows and columns have them in the same order.
    let widened = |of: &[u64; 32], at: usize, word: usize| -> [f64; 2] {
        let [low, high] = widen((of[4 * at + word / 2] >> (32 * (word % 2))) as u32);
        [low, if single { 0.0 } else { high }]
    };
    let mut own = [0; 4];
    let values = [pair(a[0], a[2]), pair(a[1], a[3]), pair(b[0], b[1])];
    hooks::compute_together(warp::ALL, &values, &mut own, |lanes, results| {
        let (mut rows, mut columns) = ([0.0; 16 * 16], [0.0; 16 * 8]);
        for word in 0..8 {
            for row in 0..16 {
                let values = widened(&lanes[row / 8], row % 8, word);
                rows[16 * row + 2 * word..][..2].copy_from_slice(&values);
            }
            for column in 0..8 {
                for (depth, value) in (2 * word..).zip(widened(&lanes[2], column, word)) {
                    columns[8 * depth + column] = value;
                }
            }
        }
        let dots = dots(&rows, &columns, 16);
        for (lane, results) in results.chunks_exact_mut(4).enumerate() {
            let (g, t) = (lane / 4, lane % 4);
            for (at, result) in results.iter_mut().enumerate() {
                *result = dots[8 * (g + 8 * (at / 2)) + 2 * t + at % 2].to_bits();
            }
        }
    });
    std::array::from_fn(|at| cut_off(f64::from(c[at]) + f64::from_bits(own[at])))
}

/// `a b` for rows of `depth` numbers, A `[rows, depth]` and B `[depth, columns]`, in the order of the depth.
#[cfg(not(target_arch = "nvptx64"))]
pub(super) fn dots(a: &[f64], b: &[f64], depth: usize) -> Vec<f64> {
    let columns = b.len() / depth;
    let mut dots = vec![0.0; a.len() / depth * columns];
    for (row, dots) in a.chunks_exact(depth).zip(dots.chunks_exact_mut(columns)) {
        for (&factor, b) in row.iter().zip(b.chunks_exact(columns)) {
            dots.iter_mut().zip(b).for_each(|(dot, value)| *dot += factor * value);
        }
    }
    dots
}

/// Rounds towards zero, as tensor cores round their sums; values that are too large become infinite.
#[cfg(not(target_arch = "nvptx64"))]
pub(super) fn cut_off(sum: f64) -> f32 {
    let nearest = sum as f32;
    if nearest.is_finite() && f64::from(nearest).abs() > sum.abs() {
        // The next number towards zero: the sign is a bit of its own.
        return f32::from_bits(nearest.to_bits() - 1);
    }
    nearest
}

macro_rules! load_matrix {
    ($($(#[$doc:meta])* $name:ident, $instruction:literal, $transposed:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// `address` is the shared address ([`Shared::address_of`](super::shared::Shared::address_of)) of row `lane % 8` of matrix `lane / 8`, aligned to 16 bytes.
        ///
        /// # Safety
        /// All 32 lanes of the warp call it together, as they call the products; and the 16 bytes at every lane's address are shared memory of the block that was written before a barrier.
        #[device_inline]
        #[track_caller]
        pub unsafe fn $name(address: u32) -> [u32; 4] {
            #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
            {
                let _ = address;
                super::trap()
            }
            #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
            {
                let mut d = [0u32; 4];
                // SAFETY: the caller vouches for the rows and the warp.
                unsafe {
                    core::arch::asm!(concat!($instruction, " {{{0}, {1}, {2}, {3}}}, [{4}];"),
                        out(reg32) d[0], out(reg32) d[1], out(reg32) d[2], out(reg32) d[3], in(reg32) address,
                        options(nostack, preserves_flags))
                };
                d
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let (g, t) = (hooks::lane() / 4, hooks::lane() % 4);
                let rows = if $transposed { [2 * t, 2 * t + 1] } else { [g; 2] };
                let rows = hooks::gather(warp::ALL, &[u64::from(address)], |lanes| {
                    [0, 1, 2, 3].map(|matrix| rows.map(|row| lanes[0][(8 * matrix + row) as usize] as u32))
                });
                // Rows are read in words, as the hardware reads all of them.
                let word = |row: u32, number: u32| {
                    let mut bytes = [0; 4];
                    hooks::shared_read(row + 4 * number, &mut bytes);
                    u32::from_ne_bytes(bytes)
                };
                rows.unwrap_or_default().map(|[first, second]| match $transposed {
                    true => {
                        let half = |row: u32| word(row, g / 2) >> (16 * (g % 2)) & 0xFFFF;
                        half(first) | half(second) << 16
                    }
                    false => word(first, t),
                })
            }
        }
    )*};
}

load_matrix! {
    /// Loads four 8×8 matrices of 16-bit values from shared memory: word `m` is row `g`, columns 2t and 2t + 1 of matrix `m`.
    load_matrix_x4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", false;
    /// Loads four 8×8 matrices of 16-bit values from shared memory, transposed: word `m` is column `g`, rows 2t and 2t + 1 of matrix `m`.
    load_matrix_x4_transposed, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", true;
}

/// Stores four 8×8 matrices of 16-bit values to shared memory, transposed: word `m` is row `g`, columns 2t and 2t + 1 of matrix `m`, and memory row `c` of a
/// matrix gets its column `c` (`sm_90` on).
///
/// `address` is the shared address of memory row `lane % 8` of matrix `lane / 8`, aligned to 16 bytes.
///
/// # Safety
/// All 32 lanes of the warp call it together, as they call the products; and the 16 bytes at every lane's address are shared memory of the block that no other thread touches before a barrier.
#[device_inline]
#[track_caller]
pub unsafe fn store_matrix_x4_transposed(address: u32, words: [u32; 4]) {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    // SAFETY: the caller vouches for the rows and the warp.
    unsafe {
        core::arch::asm!("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [{0}], {{{1}, {2}, {3}, {4}}};",
            in(reg32) address, in(reg32) words[0], in(reg32) words[1], in(reg32) words[2], in(reg32) words[3], options(nostack, preserves_flags))
    };
    #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
    {
        let _ = (address, words);
        super::trap()
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // Each lane writes a word of a row of each matrix, whose halves two lanes have.
        let (row, number) = (hooks::lane() / 4, hooks::lane() % 4);
        let values = [address, words[0], words[1], words[2], words[3]].map(u64::from);
        let found = hooks::gather(warp::ALL, &values, |lanes| {
            [0, 1, 2, 3].map(|matrix: u32| {
                let half = |column: u32| {
                    lanes[1 + matrix as usize][(4 * column + row / 2) as usize] as u32 >> (16 * (row % 2)) & 0xFFFF
                };
                let at = lanes[0][(8 * matrix + row) as usize] as u32 + 4 * number;
                (at, half(2 * number) | half(2 * number + 1) << 16)
            })
        });
        for (at, word) in found.into_iter().flatten() {
            hooks::shared_write(at, &word.to_ne_bytes());
        }
    }
}

/// Transposes an 8×8 matrix of 16-bit values in the registers of a warp: of `word` as row `g`, columns 2t and 2t + 1 it makes column `g`, rows 2t and 2t + 1. Needs `sm_75`.
///
/// All 32 lanes of the warp call it together, as they call the products.
#[device_inline]
#[track_caller]
pub fn transpose_matrix(_: &WholeWarp, word: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let transposed;
        // SAFETY: works on registers only; the documentation requires all lanes to be here.
        unsafe {
            core::arch::asm!("movmatrix.sync.aligned.m8n8.trans.b16 {0}, {1};", out(reg32) transposed, in(reg32) word, options(nomem, nostack, preserves_flags))
        };
        transposed
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let (g, t) = (hooks::lane() / 4, hooks::lane() % 4);
        let transposed = hooks::gather(warp::ALL, &[u64::from(word)], |lanes| {
            let value = |row: u32, column: u32| {
                (lanes[0][(4 * row + column / 2) as usize] as u32) >> (16 * (column % 2)) & 0xFFFF
            };
            value(2 * t, g) | value(2 * t + 1, g) << 16
        });
        transposed.unwrap_or_default()
    }
}

/// The two numbers of a word of bfloat16, the low one first.
#[device_inline]
pub fn unpack_bf16(word: u32) -> [f32; 2] {
    [f32::from_bits(word << 16), f32::from_bits(word & 0xFFFF_0000)]
}

/// Two floats rounded to half precision (ties to even), `low` in the low half. Beyond 65,504 they become infinite.
#[device_inline]
pub fn pack_f16(low: f32, high: f32) -> u32 {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    {
        let word: u32;
        // SAFETY: pure arithmetic.
        unsafe {
            core::arch::asm!("cvt.rn.f16x2.f32 {0}, {1}, {2};", out(reg32) word, in(reg32) high, in(reg32) low, options(pure, nomem, nostack, preserves_flags))
        };
        word
    }
    #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
    {
        let word: u32;
        // SAFETY: pure arithmetic.
        unsafe {
            core::arch::asm!("{{ .reg .b16 l, h; cvt.rn.f16.f32 l, {2}; cvt.rn.f16.f32 h, {1}; mov.b32 {0}, {{l, h}}; }}",
                out(reg32) word, in(reg32) high, in(reg32) low, options(pure, nomem, nostack, preserves_flags))
        };
        word
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        u32::from(half_f16::from_f32(low).to_bits()) | u32::from(half_f16::from_f32(high).to_bits()) << 16
    }
}

/// The two halves of a word of half precision, the low one first.
#[device_inline]
pub fn unpack_f16(word: u32) -> [f32; 2] {
    #[cfg(target_arch = "nvptx64")]
    {
        let (low, high): (f32, f32);
        // SAFETY: pure arithmetic.
        unsafe {
            core::arch::asm!("{{ .reg .b16 l, h; mov.b32 {{l, h}}, {2}; cvt.f32.f16 {0}, l; cvt.f32.f16 {1}, h; }}",
                out(reg32) low, out(reg32) high, in(reg32) word, options(pure, nomem, nostack, preserves_flags))
        };
        [low, high]
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        [half_f16::from_bits(word as u16).to_f32(), half_f16::from_bits((word >> 16) as u16).to_f32()]
    }
}

/// Two floats, each as a sum of two half-precision numbers: the words of the large and of the small parts. The error is below 2⁻²² of the value, or below 2⁻²⁵ if that is more.
#[device_inline]
pub fn split_f16(low: f32, high: f32) -> [u32; 2] {
    let large = pack_f16(low, high);
    let [large_low, large_high] = unpack_f16(large);
    [large, pack_f16(low - large_low, high - large_high)]
}

/// As [`split_f16`], with the small parts multiplied by 2¹¹, so that they have the size of the large ones and do not underflow earlier: the error is at most 2⁻²³ of the
/// value, or 2⁻³⁶ if that is more.
#[device_inline]
pub fn split_f16_apart(low: f32, high: f32) -> [u32; 2] {
    let large = pack_f16(low, high);
    let [large_low, large_high] = unpack_f16(large);
    [large, pack_f16((low - large_low) * 2048.0, (high - large_high) * 2048.0)]
}

/// Two floats rounded to bfloat16 (ties to even), `low` in the low half.
#[device_inline]
pub fn pack_bf16(low: f32, high: f32) -> u32 {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    {
        let word: u32;
        // SAFETY: pure arithmetic.
        unsafe {
            core::arch::asm!("cvt.rn.bf16x2.f32 {0}, {1}, {2};", out(reg32) word, in(reg32) high, in(reg32) low, options(pure, nomem, nostack, preserves_flags))
        };
        word
    }
    #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
    {
        let round = |value: f32| {
            let bits = value.to_bits();
            let rounded = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) >> 16;
            if value.is_nan() { 0x7FC0 } else { rounded }
        };
        round(low) | round(high) << 16
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        u32::from(bf16::from_f32(low).to_bits()) | u32::from(bf16::from_f32(high).to_bits()) << 16
    }
}

/// The bits of a float rounded to TF32: 10 bits of fraction, ties away from zero.
#[device_inline]
pub fn round_tf32(value: f32) -> u32 {
    let bits = value.to_bits();
    // Infinities and NaN stay what they are.
    if bits & 0x7F80_0000 == 0x7F80_0000 { bits } else { bits.wrapping_add(0x1000) & !0x1FFF }
}

/// Four bytes as half-precision numbers 0 to 255, exactly: bytes 0 and 1, bytes 2 and 3.
#[device_inline]
pub fn bytes_to_f16(word: u32) -> [u32; 2] {
    // 0x6400 is 1024, whose last bit is worth 1: the byte is put there and 1024 taken away.
    let low = permute(word, 0x6464_6464, 0x4140);
    let high = permute(word, 0x6464_6464, 0x4342);
    [minus_1024(low), minus_1024(high)]
}

/// Four bytes as half-precision numbers 0 to 255 times 2⁻²⁴ (subnormal, exact): bytes 0 and 1, bytes 2 and 3. Half the instructions of [`bytes_to_f16`], for products whose
/// factor is corrected afterwards.
#[device_inline]
pub fn bytes_to_tiny_f16(word: u32) -> [u32; 2] {
    [permute(word, 0, 0x4140), permute(word, 0, 0x4342)]
}

#[device_inline]
fn minus_1024(word: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let difference: u32;
        // SAFETY: pure arithmetic.
        unsafe {
            core::arch::asm!("sub.rn.f16x2 {0}, {1}, {2};", out(reg32) difference, in(reg32) word, in(reg32) 0x6400_6400u32, options(pure, nomem, nostack, preserves_flags))
        };
        difference
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let [low, high] = unpack_f16(word);
        pack_f16(low - 1024.0, high - 1024.0)
    }
}

/// Four bytes chosen from the eight of `a` (0 to 3) and `b` (4 to 7): the hexadecimal digits of `selector`, 0 to 7 each, lowest first (`prmt`).
#[device_inline]
pub fn permute(a: u32, b: u32, selector: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let word: u32;
        // SAFETY: pure arithmetic.
        unsafe {
            core::arch::asm!("prmt.b32 {0}, {1}, {2}, {3};", out(reg32) word, in(reg32) a, in(reg32) b, in(reg32) selector, options(pure, nomem, nostack, preserves_flags))
        };
        word
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        u32::from_le_bytes([0, 4, 8, 12].map(|shift| bytes[(selector >> shift & 7) as usize]))
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn sums_are_cut_off() {
        let unit = f64::from(f32::EPSILON);
        for sign in [1.0, -1.0] {
            for (sum, cut) in [(1.0, 1.0), (1.0 + 0.99 * unit, 1.0), (1.0 + unit, 1.0 + unit), (1e-46, 0.0)] {
                assert_eq!(f64::from(cut_off(sign * sum)), sign * cut);
            }
            assert_eq!(f64::from(cut_off(sign * 1e39)), sign * f64::INFINITY);
        }
        assert!(cut_off(f64::NAN).is_nan());
    }

    #[test]
    fn formats_round_and_come_back() {
        assert_eq!(unpack_f16(pack_f16(1.5, -65504.0)), [1.5, -65504.0]);
        let [large, small] = split_f16(0.1, 1234.567);
        let sum = |half: usize| f64::from(unpack_f16(large)[half]) + f64::from(unpack_f16(small)[half]);
        assert!((sum(0) - f64::from(0.1f32)).abs() < 2f64.powi(-25));
        assert!((sum(1) - f64::from(1234.567f32)).abs() < 1234.6 * 2f64.powi(-22));
        for byte in 0..=255u32 {
            let [low, high] = bytes_to_f16(byte | 7 << 8 | byte << 16 | 255 << 24);
            assert_eq!((unpack_f16(low), unpack_f16(high)), ([byte as f32, 7.0], [byte as f32, 255.0]));
        }
        assert_eq!(permute(0x3322_1100, 0x7766_5544, 0x7140), 0x7711_4400);
        assert_eq!(f32::from_bits(round_tf32(1.0 + 2f32.powi(-11))), 1.0 + 2f32.powi(-10));
        assert!(f32::from_bits(round_tf32(f32::NAN)).is_nan());
    }
}
