//! The source's kernels: each alone, the network that is made by launching them one after the other, and their times.
//!
//! ```text
//! input conv ─ norm ─ ReLU ─┬─ torso conv ─ norm ─ ReLU ─ torso conv ─ norm ─ add ─ ReLU ─┬─ … ─┬─ output conv ─ norm ─ ReLU ─ linear ─ ReLU ─ linear ─ tanh
//!                           └──────────────────────────────────────────────┘                     └─ output conv ─ norm ─ ReLU ─ linear ─ softmax
//! ```
//!
//! | to find out | read |
//! | --- | --- |
//! | how one kernel is launched | [`Kernels`] |
//! | which forms there are | [`Options`] |
//! | how the network is run by them | [`Model`] |
//! | what a kernel, a layer, a block and the network cost | [`measure`] |
//!
//! # Source
//! Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference".

mod arrays;
#[allow(unsafe_code)]
mod kernels;
pub mod measure;
mod model;
mod options;

pub use arrays::{Affine, NormArrays};
pub use kernels::Kernels;
pub use model::Model;
pub use options::{InputForm, Options, TorsoSums};

use super::Network;
use super::engine::Engine;
use crate::{Device, Error, Precision, Result, Stream};

/// The engine with the source's forms and the bias that theirs leave out.
///
/// # Errors
/// [`Error::Option`] for another precision than fp32; as [`Model::new`].
pub(in crate::azero) fn build(
    device: &Device,
    stream: &Stream,
    network: &Network,
    precision: Precision,
    max_batch: usize,
) -> Result<Box<dyn Engine>> {
    device.expect_same("stream", stream.device())?;
    if precision != Precision::F32 {
        return Err(Error::option("precision", precision, "fp32 with execution paper"));
    }
    Ok(Box::new(Model::new(stream, network, Options::default(), max_batch)?))
}
