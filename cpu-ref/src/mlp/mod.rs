//! Multilayer perceptrons: dense layers, rectifiers (or another [`Activation`]) between them, softmax and cross-entropy at the end, trained by mini-batches.
//!
//! For a batch of `B` images, layer by layer (`W` is `[in, out]`, everything row-major):
//!
//! ```text
//! forward   z = x W + b      h = max(z, 0)      ...      loss = log Σ exp(z) - z[label]
//! backward  dz = (p - onehot) / B at the end, else (dz' W'^T where z > 0, 0 elsewhere)
//!           dW = x^T dz      db = column sums of dz
//!           smoothed labels: t = (1 - s) onehot + s / classes in place of onehot; loss = log Σ exp(z) - Σ t z
//! regression  loss = mean over outputs of ρ(z - t), dz = ρ'(z - t) / outputs / B at the end: [`RegressionLoss`]
//! activation f in place of the rectifier: h = f(z), dz = f'(z) (dz' W'^T)
//! layer norm  y = gain x + shift of x = (z - mean) / √(variance + 1e-5) in place of z before the activation: [`norm`]
//! dropout   h = m f(z), dz = m f'(z) (dz' W'^T), where m is 0 for a dropped unit, else 1 / (1 - rate): [`Dropout`]
//! clipping  all gradients times min(1, c / (norm + 1e-6)), where the norm is that of them all
//! update    of all weights from gradients of the weights before it: [`Optimizer`]
//! ```
//!
//! A step costs about `6 B Σ in · out` floating-point operations, less `2 B in · out` of the first layer, whose inputs need no
//! gradient.
//!
//! The formulas stand alone in [`pieces`], each a function on slices. [`Sequential`] runs them as they are; [`Parallel`] cuts them in
//! blocks for rayon, with nalgebra's product. Each gives the same bits at every run, `Parallel` with any number of threads; the two
//! agree within the rounding of their sums. Both run in `f32` and in `f64` from the same first weights and in the same order of samples
//! ([`Network::drawn`], [`epoch_order`]).
//!
//! The paper divides by the batch size in its GPU program and forgets to in its CPU program; here that is [`Reduction::Sum`].
//!
//! # Source
//! Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification"; optimisers as PyTorch defines them.

pub mod conv;
pub mod norm;
pub mod pieces;

mod activation;
mod dropout;
mod layer;
mod loss;
mod network;
mod numbers;
mod optimizer;
mod par;
mod program;
mod random;
mod real;
mod seq;
mod training;

pub use activation::Activation;
pub use dropout::Dropout;
pub use layer::Layer;
pub use loss::RegressionLoss;
pub use network::{Network, Pass};
pub use numbers::Numbers;
pub use optimizer::{Optimizer, Update};
pub use par::Parallel;
pub use pieces::{Product, Reduction};
pub use program::Program;
pub use random::{Init, epoch_order};
pub use real::Real;
pub use seq::Sequential;
pub use training::{Settings, Training};
