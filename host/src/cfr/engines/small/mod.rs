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
use crate::cfr::layout::{Lock, VectorGame};
use crate::cfr::options::Options;
use crate::{Device, Error, Memory, Precision, Result};

/// The engine for one game.
///
/// # Errors
/// As [`fits`]; [`Error::Unsupported`](crate::Error::Unsupported) on the CPU back end; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has too little memory.
pub(in crate::cfr) fn build(device: &Device, game: Arc<VectorGame>, options: &Options) -> Result<Box<dyn Solve>> {
    Ok(Box::new(SmallBatch::new(device, &[game], options)?))
}

/// Checks that the game fits in a block of the device, and returns the memory that the engine needs.
///
/// # Errors
/// [`Error::Option`](crate::Error::Option) with the reason: shared memory, hands, precision or sampling.
pub(in crate::cfr) fn fits(device: &Device, game: &VectorGame, options: &Options) -> Result<Memory> {
    if !game.locks.iter().all(Lock::is_whole) {
        let allowed = "street or cpu for strategies that are given to some hands or on some boards";
        return Err(Error::option("engine", "small", allowed));
    }
    if game.gadget.is_some() {
        return Err(Error::option("engine", "small", "street or cpu for a subgame"));
    }
    let memory_in = |precision| {
        let options = Options { precision, ..*options };
        let plan = plan::Plan::new(device, game, &options)?;
        Ok(kernels::memory(&[plan], &[0], &options, plan::real_bytes(precision)?.into()))
    };
    match options.precision {
        Precision::F64 => memory_in(Precision::F64),
        // Measured in double precision, in arrays of their own.
        precision => Ok(batch::with_measuring(memory_in(precision)?, &memory_in(Precision::F64)?)),
    }
}
