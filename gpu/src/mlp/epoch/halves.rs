//! An operand of `HALVES` half-precision numbers a value: two, which keep what single precision keeps, or one, of 11 bits. The module `scale` has the bounds.

use crate::cuda::mma::{f16, pack_f16, split_f16, split_f16_apart};
use crate::cuda::sync::WholeWarp;
use crate::cuda::{math, wgmma};
use crate::unroll::unroll;

use super::scale::SECOND;

/// The parts of two values: a word of their large parts, and a word of their small parts, divided by [`SECOND`]; with one half, 0.
#[device_inline]
pub(super) fn halves<const HALVES: usize>(low: f32, high: f32) -> [u32; 2] {
    if HALVES == 2 { split_f16_apart(low, high) } else { [pack_f16(low, high), 0] }
}

/// The same for `W1`, whose small parts are not divided.
#[device_inline]
pub(super) fn near_halves<const HALVES: usize>(low: f32, high: f32) -> [u32; 2] {
    if HALVES == 2 { split_f16(low, high) } else { [pack_f16(low, high), 0] }
}

/// What `of` gives for each part, large and small; with one half, a default for the small one.
#[device_inline]
pub(super) fn each_half<const HALVES: usize, T: Default>(of: impl Fn(usize) -> T) -> [T; 2] {
    [of(0), if HALVES == 2 { of(1) } else { T::default() }]
}

/// A product of operands in parts, in the scale of the large ones. That of two small ones is left out.
#[device_inline]
pub(super) fn product<const HALVES: usize>(whole: &WholeWarp, a: [[u32; 4]; 2], b: [[u32; 2]; 2]) -> [f32; 4] {
    let mut product = f16(whole, [0.0; 4], a[0], b[0]);
    if HALVES == 2 {
        let rest = f16(whole, [0.0; 4], a[1], b[0]);
        let rest = f16(whole, rest, a[0], b[1]);
        unroll!(C in [0, 1, 2, 3] {
            product[C] = math::fma(SECOND, rest[C], product[C]);
        });
    }
    product
}

/// Starts `sums + a b` by a warpgroup, where b has 16 columns of large parts and behind them, of two halves, 16 of small ones; of one half the last eight sums are not touched.
#[device_inline]
#[track_caller]
pub(super) fn multiplied<const HALVES: usize>(
    whole: &wgmma::WholeGroup,
    sums: [f32; 16],
    a: [u32; 4],
    b: wgmma::Tiles,
) -> [f32; 16] {
    if HALVES == 2 {
        return wgmma::f16_n32(whole, sums, a, b);
    }
    let [a0, a1, a2, a3, a4, a5, a6, a7, rest @ ..] = sums;
    let [a0, a1, a2, a3, a4, a5, a6, a7] = wgmma::f16_n16(whole, [a0, a1, a2, a3, a4, a5, a6, a7], a, b);
    let [b0, b1, b2, b3, b4, b5, b6, b7] = rest;
    [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7]
}
