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

/// Checks that the engine supports the options, and returns the memory that it needs.
///
/// # Errors
/// As [`check`].
pub(in crate::cfr) fn fits(device: &Device, tree: &Tree, options: &Options) -> Result<Memory> {
    Ok(with_measuring(learning(device, tree, options)?, device, tree))
}

/// Checks what does not depend on the tree: no sampling, single or double precision, cfr_br for two seats only.
///
/// # Errors
/// [`Error::Option`] with what is not allowed.
pub(in crate::cfr) fn check(n_players: usize, options: &Options) -> Result<()> {
    if options.sampling != Sampling::None {
        return Err(Error::option("sampling", options.sampling, "none, in full traversals of a tree"));
    }
    if options.algorithm == Algorithm::CfrBr && n_players != 2 {
        return Err(Error::option(
            "algorithm",
            options.algorithm,
            "an algorithm other than cfr_br, which is for two seats",
        ));
    }
    match options.precision {
        Precision::F32 | Precision::F64 => Ok(()),
        _ => Err(Error::option("precision", options.precision, "f32 or f64, on a tree")),
    }
}

/// Memory of a [`learner`].
///
/// # Errors
/// As [`check`].
pub(in crate::cfr) fn learning(device: &Device, tree: &Tree, options: &Options) -> Result<Memory> {
    check(tree.n_players(), options)?;
    Ok(match (device.backend(), options.precision) {
        (Backend::Cpu, _) => cpu::memory(tree),
        (_, Precision::F64) => engine::memory::<f64>(tree, options),
        _ => engine::memory::<f32>(tree, options),
    })
}

/// Memory of a [`learner`], and of measuring what it has learnt.
pub(in crate::cfr) fn with_measuring(memory: Memory, device: &Device, tree: &Tree) -> Memory {
    match device.backend() {
        Backend::Cpu => memory,
        _ => memory.on_device("measuring", Measuring::bytes(tree)),
    }
}

/// The engine for a tree.
pub(in crate::cfr) fn build(device: &Device, tree: Arc<Tree>, options: &Options) -> Result<Box<dyn Solve>> {
    let seats = 0..tree.n_players();
    build_for(device, &tree, options, seats, true)
}

/// An engine in which only `seats` learn, and which measures nothing: its sets may have imperfect recall, and then best responses need another tree.
pub(in crate::cfr) fn learner(
    device: &Device,
    tree: &Arc<Tree>,
    options: &Options,
    seats: Range<usize>,
) -> Result<Box<dyn Solve>> {
    build_for(device, tree, options, seats, false)
}

fn build_for(
    device: &Device,
    tree: &Arc<Tree>,
    options: &Options,
    seats: Range<usize>,
    measures: bool,
) -> Result<Box<dyn Solve>> {
    check(tree.n_players(), options)?;
    if device.backend() == Backend::Cpu {
        return Ok(Box::new(cpu::full(tree, options, seats)));
    }
    Ok(match options.precision {
        Precision::F64 => Box::new(engine::Explicit::<f64>::new(device, tree, options, seats, measures)?),
        _ => Box::new(engine::Explicit::<f32>::new(device, tree, options, seats, measures)?),
    })
}

/// The answer of a learner that is asked to measure.
pub(in crate::cfr) fn no_measuring() -> Error {
    Error::Unsupported {
        what: "exploitability in information sets with imperfect recall".into(),
        backend: "explicit tree".into(),
        remedy: "the tree of single hands".into(),
    }
}
