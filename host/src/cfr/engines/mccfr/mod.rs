//! Solve for sampled traversals of an explicit tree: external, outcome and chance sampling, `batch` of them from the same strategies in an iteration.
//!
//! A thread does a traversal. What traversals find is added up as 64-bit whole numbers, whose order does not matter: the same seed gives the same bits, on
//! every device that runs kernels. The tables get the mean over the batch. On the CPU the reference of `cpu-ref` does one traversal an iteration, with random
//! numbers of its own.

mod cpu;
mod engine;
mod found;
#[allow(unsafe_code)]
mod kernels;

use std::sync::Arc;

use warpplay_gpu::cfr::explicit::sample::MAX_DECISIONS;

use super::Solve;
use super::explicit::{cpu_memory, with_measuring};
use crate::cfr::game::extensive::Tree;
use crate::cfr::options::{Algorithm, Options, Sampling};
use crate::{Backend, Device, Error, Memory, Precision, Result};

#[cfg(test)]
mod tests;

/// Most traversals of an iteration.
const MAX_BATCH: u32 = 1 << 24;

/// Checks that the engine supports the problem, and returns the memory that it needs.
///
/// # Errors
/// As [`check`]; [`Error::Option`] for lines of more than 64 decisions, and sums that could exceed 64 bits.
pub(in crate::cfr) fn fits(device: &Device, tree: &Tree, options: &Options) -> Result<Memory> {
    Ok(with_measuring(learning(device, tree, options)?, device, tree))
}

/// Checks what does not depend on the tree: external, outcome or chance sampling, single or double precision; on the CPU what the reference has.
///
/// # Errors
/// [`Error::Option`] with what is not allowed.
pub(in crate::cfr) fn check(device: &Device, options: &Options) -> Result<()> {
    if !matches!(options.sampling, Sampling::External | Sampling::Outcome | Sampling::Chance) {
        return Err(Error::option("sampling", options.sampling, "external, outcome or chance, on a tree"));
    }
    if options.algorithm == Algorithm::CfrBr {
        return Err(Error::option(
            "algorithm",
            options.algorithm,
            "an algorithm other than cfr_br, which samples nothing",
        ));
    }
    if options.batch == 0 || options.batch > MAX_BATCH {
        return Err(Error::option("batch", options.batch, format!("1 to {MAX_BATCH}")));
    }
    if !(options.exploration > 0.0 && options.exploration <= 1.0) {
        return Err(Error::option("exploration", options.exploration, "above 0, at most 1"));
    }
    if device.backend() == Backend::Cpu {
        return cpu::fits(options);
    }
    match options.precision {
        Precision::F32 | Precision::F64 => Ok(()),
        _ => Err(Error::option("precision", options.precision, "f32 or f64, on a tree")),
    }
}

/// Memory of a [`learner`].
///
/// # Errors
/// As [`fits`].
pub(in crate::cfr) fn learning(device: &Device, tree: &Tree, options: &Options) -> Result<Memory> {
    check(device, options)?;
    if device.backend() == Backend::Cpu {
        return Ok(cpu_memory(tree));
    }
    let decisions = tree.most_decisions();
    if decisions > MAX_DECISIONS {
        let allowed =
            format!("none: sampled lines have at most {MAX_DECISIONS} decisions, this game's have {decisions}");
        return Err(Error::option("sampling", options.sampling, allowed));
    }
    if found::Scales::new(tree, options).is_none() {
        return Err(engine::too_coarse(options));
    }
    Ok(match options.precision {
        Precision::F64 => engine::memory::<f64>(tree, options),
        _ => engine::memory::<f32>(tree, options),
    })
}

/// The engine for a tree.
pub(in crate::cfr) fn build(device: &Device, tree: Arc<Tree>, options: &Options) -> Result<Box<dyn Solve>> {
    build_for(device, &tree, options, true)
}

/// An engine that measures nothing: its sets may have imperfect recall, and then best responses need another tree.
pub(in crate::cfr) fn learner(device: &Device, tree: &Arc<Tree>, options: &Options) -> Result<Box<dyn Solve>> {
    build_for(device, tree, options, false)
}

fn build_for(device: &Device, tree: &Arc<Tree>, options: &Options, measures: bool) -> Result<Box<dyn Solve>> {
    learning(device, tree, options)?;
    if device.backend() == Backend::Cpu {
        return Ok(Box::new(cpu::sampled(tree, options)));
    }
    Ok(match options.precision {
        Precision::F64 => Box::new(engine::Mccfr::<f64>::new(device, tree, options, measures)?),
        _ => Box::new(engine::Mccfr::<f32>::new(device, tree, options, measures)?),
    })
}
