//! Training: loss, gradient, Adam.
//!
//! For a batch of `n` positions, with what the search and the game found out about them:
//!
//! ```text
//! loss     = policy + value + L2
//! policy   = mean of - Σ share of visits · ln(softmax of the legal logits)
//! value    = value_weight · mean of (value - result)²
//! L2       = weight_decay / 2 · Σ w²                   w: weights of convolutions and linear layers; no biases, no norms
//! ```
//!
//! The L2 term is OpenSpiel's but for the factors of the norms, which it decays and we do not. In training a norm takes mean and variance of the batch, over
//! positions and squares; the running statistics follow as libtorch's do, the variance over `n - 1`. A convolution's bias before a norm has gradient 0: the
//! norm takes the mean away, and the bias with it. Written so, and not computed, it stays where it is instead of following rounding errors.
//!
//! Each part stands alone ([`convolution`], [`batch_norm`], [`loss`], [`adam`]); [`Network::gradient`] puts them together, and [`Training`] learns.
//!
//! # Source
//! Silver et al., "Mastering the game of Go without human knowledge", 2017; OpenSpiel's `alpha_zero_torch`; Ioffe and Szegedy 2015; Kingma and Ba 2015.

pub mod adam;
pub mod batch_norm;
pub mod convolution;
mod gradient;
pub mod loss;

pub use adam::Adam;
pub use convolution::Operands;
pub use gradient::{Batch, Gradient};
pub use loss::Losses;

use super::{Network, Program, Shape};
use crate::mlp::Real;

/// Settings of a training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Factor of the L2 term.
    pub weight_decay: f64,
    /// Factor of the value's loss.
    pub value_weight: f64,
    /// Weight of the batch in the new running statistics.
    pub momentum: f64,
    /// The update.
    pub adam: Adam,
    /// What the products of 3×3 convolutions read, forward and backward.
    pub operands: Operands,
    /// What the heads' convolutions read of the torso's output, and leave of the gradient by it.
    pub heads: Operands,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            weight_decay: 1e-4,
            value_weight: 1.0,
            momentum: 0.1,
            adam: Adam::default(),
            operands: Operands::Exact,
            heads: Operands::Exact,
        }
    }
}

/// A network in training.
#[derive(Clone, Debug, PartialEq)]
pub struct Training<T> {
    /// The present network.
    pub network: Network<T>,
    /// Adam's means of gradients.
    pub first: Network<T>,
    /// Adam's means of squares.
    pub second: Network<T>,
    /// Updates done.
    pub updates: u64,
    settings: Settings,
}

/// Report of a step, for the network before the update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<T> {
    /// Losses of the batch.
    pub losses: Losses<T>,
    /// Norm of the gradient, including the L2 term.
    pub gradient_norm: T,
}

impl<T: Real> Training<T> {
    /// Starts a training of a network.
    pub fn new(network: Network<T>, settings: Settings) -> Self {
        let zeros = || Network::zeros(network.shape());
        Self { first: zeros(), second: zeros(), network, updates: 0, settings }
    }

    /// The sizes.
    pub fn shape(&self) -> Shape {
        self.network.shape()
    }

    /// One step at a learning rate.
    ///
    /// # Panics
    /// As [`Network::gradient`].
    pub fn step<P: Program>(&mut self, batch: Batch<'_, T>, learning_rate: f64) -> Step<T> {
        let Gradient { losses, network: gradient, statistics } = self.network.gradient::<P>(batch, &self.settings);
        let squares = |tensor: &[T]| tensor.iter().fold(T::zero(), |sum, &value| sum + value * value);
        let sum = gradient.tensors.iter().fold(T::zero(), |sum, tensor| sum + squares(&tensor.values));
        self.updates += 1;
        let update = self.settings.adam.update(learning_rate, self.updates);
        let moments = self.first.tensors.iter_mut().zip(&mut self.second.tensors);
        for ((tensor, gradient), (first, second)) in self.network.tensors.iter_mut().zip(&gradient.tensors).zip(moments)
        {
            if !gradient::is_statistic(&tensor.name) {
                update.apply(&mut tensor.values, &gradient.values, &mut first.values, &mut second.values);
            }
        }
        for (index, found) in statistics {
            let momentum = T::rounded(self.settings.momentum);
            found.into_running(momentum, &mut self.network, index);
        }
        Step { losses, gradient_norm: sum.sqrt() }
    }
}
