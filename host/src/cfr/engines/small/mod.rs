//! The whole solve of a small two-player game in one block's shared memory, and many such games at once.
//!
//! The rule: a seat has at most 128 hands, and strategies, regrets, averages, values, reaches and the lists that hold the tree together fit in the shared
//! memory of one block (227 KiB on an H200), in double precision too, in which games are measured. Leduc hold'em needs about 40 KiB in single precision.

mod batch;
#[allow(unsafe_code)]
mod kernels;
mod plan;
mod walk;

use std::sync::Arc;

pub use batch::{GameMeasure, SmallBatch};

use super::Solve;
use crate::cfr::layout::VectorGame;
use crate::cfr::options::Options;
use crate::{Device, Precision, Result};

/// The engine for one game.
///
/// # Errors
/// As [`fits`]; [`Error::Unsupported`](crate::Error::Unsupported) where no kernels run; [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the device has too
/// little.
pub(in crate::cfr) fn build(device: &Device, game: Arc<VectorGame>, options: &Options) -> Result<Box<dyn Solve>> {
    Ok(Box::new(SmallBatch::new(device, &[game], options)?))
}

/// Whether the game fits in a block of the device, and the bytes of its tables.
///
/// # Errors
/// [`Error::Option`](crate::Error::Option) with what is against it: memory needed, hands, precision or sampling.
pub(in crate::cfr) fn fits(device: &Device, game: &VectorGame, options: &Options) -> Result<u64> {
    plan::Plan::new(device, game, options)?;
    // Measured in double precision, whatever it is solved in.
    plan::Plan::new(device, game, &Options { precision: Precision::F64, ..*options })?;
    // A block's shared memory holds what it works with; on the device there are the tables alone.
    let n_tables = if options.step(1).predicts { 3 } else { 2 };
    Ok(game.size().table_bytes(n_tables, if options.precision == Precision::F64 { 8 } else { 4 }))
}
