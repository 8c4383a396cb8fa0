//! AlphaZero for board games: a residual network that gives a position's value and policy.
//!
//! For `n` positions, channels first and row-major everywhere (`rows · columns` squares are "cells"):
//!
//! ```text
//! input   x = relu(norm(conv 3×3(observation)))                          [n, planes, cells] → [n, width, cells]
//! torso   mid = relu(norm_1(conv_1 3×3(x)))
//!         x = relu(x + norm_2(conv_2 3×3(mid)))                          `depth` times
//! value   tanh(linear_2(relu(linear_1(relu(norm(conv 1×1(x)))))))        [n]
//! policy  softmax of the legal ones of linear(relu(norm(conv 1×1(x))))   [n, actions]
//! ```
//!
//! A convolution adds its bias; a norm is `(x - mean) / √(variance + 0.001) · weight + bias` with the running statistics, written so, and not folded into
//! the convolution before it: the kernels fold, and this is what they are held to.
//!
//! The formulas stand alone in [`pieces`]. [`Network::forward`] runs them and keeps what every block gives; [`Sequential`] and [`Parallel`] call the same
//! functions on the same parts and give the same bits, with any number of threads; and a position's results do not depend on those beside it.
//!
//! A position costs as many multiplications as its convolutions have: 94 million at the default shape, some 5 ms of one core.
//!
//! # Source
//! OpenSpiel's `ResInputBlock`, `ResTorsoBlock` and `ResOutputBlock` (`alpha_zero_torch`), for which Paul and Xu, "Parallelizing Convolutional Networks for
//! Faster AlphaZero Inference", wrote kernels.

pub mod observation;
pub mod pieces;
pub mod search;
pub mod training;

mod forward;
mod network;
mod program;

pub use crate::mlp::Real;
pub use forward::{BlockPass, Pass};
pub use network::{Network, Shape, Tensor, tensor_index};
pub use pieces::{Affine, EPSILON, Norm};
pub use program::{Parallel, Program, Sequential};
