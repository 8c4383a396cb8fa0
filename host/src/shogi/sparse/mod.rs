//! Learning of sparse features: the numbers that every engine agrees on.

mod columns;
mod cpu;
mod device;
mod evaluator;
mod handle;
#[allow(unsafe_code)]
mod kernels;

pub use evaluator::Evaluator;
pub use handle::Sparse;

use super::FeatureSet;
use super::engine::Engine;
use crate::runtime::named::named;
use crate::{Backend, Device, Error, Result};

/// Weights stay below this, so that no sum of a position's weights is rounded in `f64`.
pub(in crate::shogi) const MOST: f32 = 1024.0;

named! {
    /// How weights move along the gradient `g` (with penalties added).
    Optimizer, "optimizer":
        /// `w −= rate · sign(g)`; a gradient of 0 moves nothing.
        Sign = "sign",
        /// `w −= rate · g`.
        Sgd = "sgd",
        /// `m = β₁ m + g`, `w −= rate · m`.
        Momentum = "momentum",
        /// `s += g²`, `w −= rate · g / (√s + ε)`.
        AdaGrad = "adagrad",
        /// Kingma and Ba, 2015, with bias correction.
        Adam = "adam",
        /// Limited-memory BFGS with a line search, on the host (Nocedal and Wright, algorithm 7.5).
        Lbfgs = "lbfgs",
}

/// Which children count, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Slope of the sigmoid.
    pub a: f64,
    /// Siblings whose evaluation differs by more from the played child's do not count; infinite for all.
    pub window: f64,
    /// Most siblings of a parent that count, drawn by a hash of seed, game and half-move; 0 for all. Child 0 always counts.
    pub siblings: u32,
    /// Seed of the draw.
    pub seed: u64,
}

impl Loss {
    /// Refuses what has no meaning.
    ///
    /// # Errors
    /// [`Error::Option`] names the number.
    pub fn check(&self) -> Result<()> {
        // Terms of the gradient are below a / 4 and counted in multiples of 2⁻³⁶: up to this slope, 2²¹ children of one weight fit 64 bits.
        if !(self.a > 0.0 && self.a <= 64.0) {
            return Err(Error::option("a", self.a, "above 0, at most 64"));
        }
        if self.window.is_nan() || self.window < 0.0 {
            return Err(Error::option("window", self.window, "0 or more, inf for all"));
        }
        Ok(())
    }
}

impl Default for Loss {
    fn default() -> Self {
        Self { a: 3.0, window: f64::INFINITY, siblings: 0, seed: 0 }
    }
}

/// One step of an optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// Which.
    pub optimizer: Optimizer,
    /// Step from 1, for Adam's bias correction.
    pub step: u32,
    /// Learning rate.
    pub rate: f32,
    /// Weight of Σ|w|.
    pub l1: f32,
    /// Weight of Σw²/2.
    pub l2: f32,
    /// β₁ of momentum and Adam.
    pub beta1: f32,
    /// β₂ of Adam.
    pub beta2: f32,
    /// ε of AdaGrad and Adam.
    pub epsilon: f32,
}

impl Update {
    /// Refuses what has no meaning.
    ///
    /// # Errors
    /// [`Error::Option`] names the number.
    pub fn check(&self) -> Result<()> {
        let number = |name, value: f32, allowed: &str, good: bool| {
            if value.is_finite() && good { Ok(()) } else { Err(Error::option(name, value, allowed)) }
        };
        number("rate", self.rate, "0 or more", self.rate >= 0.0)?;
        number("l1", self.l1, "0 or more", self.l1 >= 0.0)?;
        number("l2", self.l2, "0 or more", self.l2 >= 0.0)?;
        number("beta1", self.beta1, "0 or more, below 1", (0.0..1.0).contains(&self.beta1))?;
        number("beta2", self.beta2, "0 or more, below 1", (0.0..1.0).contains(&self.beta2))?;
        number("epsilon", self.epsilon, "above 0", self.epsilon > 0.0)?;
        if self.step == 0 {
            return Err(Error::option("step", self.step, "from 1"));
        }
        Ok(())
    }
}

/// How an engine works; what it computes does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SparseOptions {
    /// Most bytes of positions that are kept on the device. Shards that do not fit are copied in every pass, the next piece while the last is computed. `None`: as
    /// many as are free. Weights, gradient and the optimiser's memory come on top.
    pub device_bytes: Option<u64>,
    /// Threads on [`Device::cpu`](crate::Device::cpu): 1 for the plain program, 0 for all cores.
    pub threads: usize,
}

/// The engine of a device for a set of features; all weights are 0.
///
/// # Errors
/// [`Error::OutOfMemory`] where weights and gradient do not fit; those of loading the kernels.
pub(in crate::shogi) fn build(
    device: &Device,
    features: FeatureSet,
    options: &SparseOptions,
) -> Result<Box<dyn Engine>> {
    Ok(match device.backend() {
        Backend::Cpu => Box::new(cpu::CpuEngine::new(features, options)?),
        Backend::Cuda | Backend::Simt => Box::new(device::DeviceEngine::new(device, features, options)?),
    })
}

/// Refuses weights of another number than the set's, and such as would make sums inexact.
pub(in crate::shogi) fn check_weights(features: FeatureSet, weights: &[f32]) -> Result<()> {
    if weights.len() != features.len() {
        return Err(Error::shape(format!("weights of {features}"), features.len(), weights.len()));
    }
    match weights.iter().find(|weight| weight.is_nan() || weight.abs() >= MOST) {
        Some(weight) => Err(Error::option("weight", weight, format!("a number below {MOST} in size"))),
        None => Ok(()),
    }
}
