//! How regrets and averages are stored: as `f32`, or as 16-bit integers with a scale for each warp's worth of hands.
//!
//! Rows of tables are whole warps, so lane `l` of a warp always has values `32 k + l`: a warp can scale its own values by a reduction among its lanes, with no
//! barrier of the block.

use super::tables::{Cell, Table};
use crate::cuda::{memory, thread, warp};

/// A storage precision: how tables are stored, whatever is computed in.
pub trait Numbers {
    /// Bytes of a cell.
    const BYTES: usize;

    /// The value of a cell; `SIGNED` tables hold regrets, others averages.
    fn load<const SIGNED: bool>(table: Table, at: Cell) -> f32;

    /// Stores the value of a cell, of lane `l` of the warp at an index that is `l` more than a multiple of 32 common to all. All lanes of the warp call it.
    fn store<const SIGNED: bool>(table: Table, at: Cell, value: f32);
}

/// Storage precision `f32`: values as they are computed.
#[derive(Clone, Copy, Debug)]
pub struct F32;

impl Numbers for F32 {
    const BYTES: usize = 4;

    #[device_inline]
    fn load<const SIGNED: bool>(table: Table, at: Cell) -> f32 {
        // SAFETY: the table has a value for the cell, as `Tables` says, in `f32`.
        unsafe { memory::load_global(table.cells().cast::<f32>(), at.number()) }
    }

    #[device_inline]
    fn store<const SIGNED: bool>(table: Table, at: Cell, value: f32) {
        // SAFETY: as in `load`; the value is this lane's.
        unsafe { memory::store_global(table.cells().cast::<f32>(), at.number(), value) }
    }
}

/// Storage precision `i16`, with arithmetic in `f32`: signed or unsigned integers of 16 bits, times a power of two for 32 neighbours, the smallest of which all of them are small enough. So what
/// does not change is stored exactly, and no store divides.
#[derive(Clone, Copy, Debug)]
pub struct I16;

/// Bits of an integer's size: of a `SIGNED` one, and of others.
const fn size_bits(signed: bool) -> u32 {
    if signed { 15 } else { 16 }
}

/// The power of two for neighbours of which `largest` is the largest size, not negative; 0, where all are stored as 0, for sizes below any use.
pub const fn scale_of(largest: f32, signed: bool) -> f32 {
    // `largest` is below 2^(exponent - 126), both exponents with the bias of 127.
    let exponent = largest.to_bits() >> 23;
    if exponent <= LEAST_EXPONENT { 0.0 } else { f32::from_bits((exponent + 1 - size_bits(signed)) << 23) }
}

/// Sizes with this exponent, below 2⁻¹⁰⁰, are none.
const LEAST_EXPONENT: u32 = 26;

/// 1.5 · 2²³: added to a number between -2²² and 2²², it leaves the nearest integer in the low bits of the sum.
const ROUNDS: f32 = 12_582_912.0;

impl Numbers for I16 {
    const BYTES: usize = 2;

    #[device_inline]
    fn load<const SIGNED: bool>(table: Table, at: Cell) -> f32 {
        let at = at.number();
        // SAFETY: the table has a value for the cell, as `Tables` says, of 16 bits, and a scale for each warp's worth of values.
        unsafe {
            let scale = memory::load_global(table.scales(), at / thread::WARP as usize);
            let bits = memory::load_global(table.cells().cast::<u16>(), at);
            let whole = if SIGNED { bits as i16 as f32 } else { bits as f32 };
            whole * scale
        }
    }

    #[device_inline]
    fn store<const SIGNED: bool>(table: Table, at: Cell, value: f32) {
        let at = at.number();
        // Floats without their sign's bit order as their bits do.
        let largest = warp::reduce_max_u32(value.to_bits() & !(1 << 31));
        let scale = scale_of(f32::from_bits(largest), SIGNED);
        // 1 / scale: exponents of powers of two add up to twice the bias.
        let inverse = if scale > 0.0 { f32::from_bits((254 << 23) - scale.to_bits()) } else { 0.0 };
        let most = if SIGNED { 32767.0 } else { 65535.0 };
        let sum = value * inverse + ROUNDS;
        let whole = if sum < ROUNDS + most { sum } else { ROUNDS + most };
        // SAFETY: as in `load`; the value is this lane's, and the first lane writes the scale of the warp's values.
        unsafe {
            memory::store_global(table.cells().cast::<u16>(), at, whole.to_bits() as u16);
            if thread::lane() == 0 {
                memory::store_global(table.scales(), at / thread::WARP as usize, scale);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_the_smallest_power_of_two_that_suffices() {
        for signed in [true, false] {
            let most = if signed { 32768.0 } else { 65536.0 };
            for largest in [1e-29_f32, 0.75, 1.0, 1.5, 3.999, 1e20, f32::MAX] {
                let scale = scale_of(largest, signed);
                assert_eq!(scale.to_bits() & 0x7f_ffff, 0, "{scale} is no power of two");
                assert!(largest / scale < most && largest / scale >= most / 2.0, "{largest} in steps of {scale}");
                assert_eq!(f32::from_bits((254 << 23) - scale.to_bits()) * scale, 1.0);
            }
            assert_eq!([0.0, 1e-31, 1e-40].map(|size| scale_of(size, signed)), [0.0; 3]);
        }
    }

    #[test]
    fn a_sum_has_the_nearest_integer_in_its_low_bits() {
        for (value, whole) in [(0.0, 0), (-0.4, 0), (0.6, 1), (-0.6, -1), (-32768.0, -32768), (32767.0, 32767)] {
            assert_eq!((value + ROUNDS).to_bits() as u16 as i16, whole, "{value}");
        }
        assert_eq!((65535.0 + ROUNDS).to_bits() as u16, 65535);
    }
}
