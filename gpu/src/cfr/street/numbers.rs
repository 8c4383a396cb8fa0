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

    #[inline(always)]
    fn load<const SIGNED: bool>(table: Table, at: Cell) -> f32 {
        // SAFETY: the table has a value for the cell, as `Tables` says, in `f32`.
        unsafe { memory::load_global(table.cells().cast::<f32>(), at.number()) }
    }

    #[inline(always)]
    fn store<const SIGNED: bool>(table: Table, at: Cell, value: f32) {
        // SAFETY: as in `load`; the value is this lane's.
        unsafe { memory::store_global(table.cells().cast::<f32>(), at.number(), value) }
    }
}

/// Storage precision `i16`, with arithmetic in `f32`: `i16` in steps of a 32767th of the largest of 32 neighbours, `u16` in steps of a 65535th.
#[derive(Clone, Copy, Debug)]
pub struct I16;

impl Numbers for I16 {
    const BYTES: usize = 2;

    #[inline(always)]
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

    #[inline(always)]
    fn store<const SIGNED: bool>(table: Table, at: Cell, value: f32) {
        let at = at.number();
        // Without the sign's bit, which a zero has too when a negative regret was discounted to nothing; floats without it order as their bits do.
        let size = f32::from_bits(value.to_bits() & !(1 << 31));
        let largest = f32::from_bits(warp::reduce_max_u32(size.to_bits()));
        let steps = if SIGNED { 32767.0 } else { 65535.0 };
        // What is smaller than any use of it becomes 0, lest the inverse overflow.
        let inverse = if largest > 1e-30 { steps / largest } else { 0.0 };
        let shifted = size * inverse + 0.5;
        let whole = if shifted < steps { shifted as u32 } else { steps as u32 };
        let bits = if value < 0.0 { (whole as u16).wrapping_neg() } else { whole as u16 };
        // SAFETY: as in `load`; the value is this lane's, and the first lane writes the scale of the warp's values.
        unsafe {
            memory::store_global(table.cells().cast::<u16>(), at, bits);
            if thread::lane() == 0 {
                memory::store_global(
                    table.scales(),
                    at / thread::WARP as usize,
                    if largest > 1e-30 { largest / steps } else { 0.0 },
                );
            }
        }
    }
}
