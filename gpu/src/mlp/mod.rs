//! Kernels that train and use multilayer perceptrons.
//!
//! # Source
//! Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification".

#[cfg(feature = "mlp-epoch")]
pub mod epoch;
#[cfg(feature = "mlp-layers")]
pub mod layers;
#[cfg(feature = "mlp-paper")]
pub mod paper;
pub mod random;
pub mod shuffle;
