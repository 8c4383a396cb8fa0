//! Solve for explicit trees: every history is a node, any number of seats, exact traversals level by level.
//!
//! An iteration is one graph. A pass of a seat: reach of its histories, walked to the root; values of all nodes, a launch a level; regrets by
//! information set, each summing its histories in a fixed order. Measures are in double precision always.
//!
//! On the CPU the reference of `cpu-ref` walks the same tree, and there single precision is computed and stored in double.

mod arrays;
mod cpu;
mod engine;
#[allow(unsafe_code)]
mod kernels;
mod matching;
mod measure;

use std::ops::Range;
use std::sync::Arc;

pub(in crate::cfr) use arrays::{DeviceTree, Learnt, STEPS, payoffs};
#[cfg(test)]
pub(in crate::cfr) use cpu::reference_options;
pub(in crate::cfr) use cpu::{Cpu, Order, Traversals, Walked, memory as cpu_memory};
pub(in crate::cfr) use kernels::Kernels;
pub(in crate::cfr) use measure::Measuring;

use super::Solve;
use crate::cfr::game::extensive::Tree;
use crate::cfr::options::{Algorithm, Options, Sampling};
use crate::{Backend, Device, Error, Memory, Precision, Result};

#[cfg(test)]
pub(in crate::cfr) mod tests;

/// Checks that the engine supports the options (no sampling, single or double precision, cfr_br for two seats only), and returns the memory that it needs.
pub(in crate::cfr) fn fits(device: &Device, tree: &Tree, options: &Options) -> Result<Memory> {
    let memory = learning(device, tree, options)?;
    Ok(match device.backend() {
        Backend::Cpu => memory,
        _ => memory.on_device("measuring", Measuring::bytes(tree)),
    })
}

/// The same for a [`learner`].
pub(in crate::cfr) fn learning(device: &Device, tree: &Tree, options: &Options) -> Result<Memory> {
    if options.sampling != Sampling::None {
        return Err(Error::option("sampling", options.sampling, "none, in full traversals of a tree"));
    }
    if options.algorithm == Algorithm::CfrBr && tree.n_players() != 2 {
        return Err(Error::option(
            "algorithm",
            options.algorithm,
            "an algorithm other than cfr_br, which is for two seats",
        ));
    }
    match options.precision {
        Precision::F32 | Precision::F64 if device.backend() == Backend::Cpu => Ok(cpu::memory(tree)),
        Precision::F32 => Ok(engine::memory::<f32>(tree, options)),
        Precision::F64 => Ok(engine::memory::<f64>(tree, options)),
        _ => Err(Error::option("precision", options.precision, "f32 or f64, on a tree")),
    }
}

/// The engine for a tree.
pub(in crate::cfr) fn build(device: &Device, tree: Arc<Tree>, options: &Options) -> Result<Box<dyn Solve>> {
    let seats = 0..tree.n_players();
    made(device, tree, options, seats, true)
}

/// An engine in which some seats learn, and which does not measure: its sets may forget, and best responses are sought elsewhere.
pub(in crate::cfr) fn learner(
    device: &Device,
    tree: Arc<Tree>,
    options: &Options,
    seats: Range<usize>,
) -> Result<Box<dyn Solve>> {
    made(device, tree, options, seats, false)
}

fn made(
    device: &Device,
    tree: Arc<Tree>,
    options: &Options,
    seats: Range<usize>,
    measures: bool,
) -> Result<Box<dyn Solve>> {
    learning(device, &tree, options)?;
    if device.backend() == Backend::Cpu {
        return Ok(Box::new(cpu::full(&tree, options, seats)));
    }
    Ok(match options.precision {
        Precision::F64 => Box::new(engine::Explicit::<f64>::new(device, &tree, options, seats, measures)?),
        _ => Box::new(engine::Explicit::<f32>::new(device, &tree, options, seats, measures)?),
    })
}

/// Measuring with an engine that was made without it.
pub(in crate::cfr) fn no_measuring() -> Error {
    Error::Unsupported {
        what: "exploitability in sets that forget".into(),
        backend: "explicit".into(),
        remedy: "the tree of single hands".into(),
    }
}
