//! The source's kernels: each alone, the engine that trains by launching them one after the other, and their times.
//!
//! ```text
//! gather ─ matmul ─ bias ─ ReLU ─ matmul ─ bias ─ loss
//!                                             └─ softmax gradient ─ matmul, column sums ─ matmul ─ ReLU' ─ matmul, column sums ─ updates
//! ```
//!
//! | to find out | read |
//! | --- | --- |
//! | how one kernel is launched | [`Kernels`] |
//! | what a training step launches, and what each costs | [`profile`] |
//! | which forms there are | [`PaperOptions`](super::PaperOptions) |
//!
//! # Source
//! Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification".

mod arrays;
mod engine;
mod feed;
#[allow(unsafe_code)]
mod kernels;
mod profile;
mod step;

pub use kernels::{Extent, Kernels, Launch, Product};
pub use profile::{OperationTime, profile};

use super::engine::{Engine, Setup};
use crate::{Device, Result};

/// Opens the engine.
///
/// # Errors
/// [`Error::Option`](crate::Error::Option) for what the source's kernels do not do: another optimiser than SGD, weight decay, another precision than
/// fp32; errors of the device.
pub(super) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Engine>> {
    Ok(Box::new(engine::open(device, setup)?))
}
