//! Solve for explicit trees: every history is a node, any number of seats, exact traversals level by level.
//!
//! An iteration is one graph. A pass of a seat: reach of its histories, walked to the root; values of all nodes, a launch a level; regrets by
//! information set, each summing its histories in a fixed order. Measures are in double precision always.
//!
//! On the CPU the plain program of `cpu-ref` walks the same tree, and there single precision is computed and stored in double.

mod arrays;
mod cpu;
mod engine;
#[allow(unsafe_code)]
mod kernels;
mod matching;
mod measure;

use std::sync::Arc;

pub(in crate::cfr) use arrays::{DeviceTree, Learnt, STEPS, payoffs};
pub(in crate::cfr) use cpu::{Order, Walked, bytes as plain_bytes};
pub(in crate::cfr) use kernels::Kernels;
pub(in crate::cfr) use measure::Measuring;

use super::Solve;
use crate::cfr::game::extensive::Tree;
use crate::cfr::options::{Algorithm, Options, Sampling};
use crate::{Backend, Device, Error, Memory, Precision, Result};

#[cfg(test)]
pub(in crate::cfr) mod tests;

/// Whether the engine takes this: nothing sampled, single or double precision, memory enough; cfr_br for two seats.
pub(in crate::cfr) fn fits(device: &Device, tree: &Tree, options: &Options) -> Result<u64> {
    if options.sampling != Sampling::None {
        return Err(Error::option("sampling", options.sampling, "none, in full traversals of a tree"));
    }
    if options.algorithm == Algorithm::CfrBr && tree.n_players() != 2 {
        return Err(Error::option("algorithm", options.algorithm, "another than cfr_br, which is for two seats"));
    }
    let needed = match options.precision {
        Precision::F32 | Precision::F64 if device.backend() == Backend::Cpu => cpu::bytes(tree),
        Precision::F32 => engine::bytes::<f32>(tree, options),
        Precision::F64 => engine::bytes::<f64>(tree, options),
        _ => return Err(Error::option("precision", options.precision, "f32 or f64, on a tree")),
    };
    enough(device, needed)
}

/// That a device has so much memory free.
pub(in crate::cfr) fn enough(device: &Device, needed: u64) -> Result<u64> {
    device.expect_memory(&Memory::default().on_device("tree and tables", needed)).map(|()| needed)
}

/// The engine for a tree.
pub(in crate::cfr) fn build(device: &Device, tree: Arc<Tree>, options: &Options) -> Result<Box<dyn Solve>> {
    fits(device, &tree, options)?;
    if device.backend() == Backend::Cpu {
        return Ok(Box::new(cpu::Cpu::new(&tree, options)));
    }
    Ok(match options.precision {
        Precision::F64 => Box::new(engine::Explicit::<f64>::new(device, &tree, options)?),
        _ => Box::new(engine::Explicit::<f32>::new(device, &tree, options)?),
    })
}
