//! Learning from games: the other half of AlphaZero.
//!
//! ```text
//! loss   = cross-entropy of the policy and the search's shares of visits + value_weight · (value - result)² + weight_decay / 2 · Σ w²
//! step   a batch of positions, drawn in a seeded order -> loss, gradient -> Adam
//! ```
//!
//! Norms take mean and variance of the batch, and their running statistics follow as libtorch's do. `w` are the weights of convolutions and linear layers
//! (OpenSpiel decays the norms' factors too). A convolution's bias before a norm has gradient 0 and stays: the norm takes the mean away, and the bias with
//! it. On a GPU and thread by thread a step is one recorded graph of kernels in single precision ([`warpplay_gpu::azero::train`]); on the CPU the plain
//! program trains. The same back end gives the same bits every time, also when a training is stopped and resumed; two back ends differ by rounding.
//!
//! # Paper
//! Silver et al., "Mastering the game of Go without human knowledge", 2017; OpenSpiel's `alpha_zero_torch`.

mod checkpoint;
mod dispatch;
mod engines;
mod initial;
mod options;
mod order;
mod report;
mod samples;
mod step;
mod trainer;

pub(super) use dispatch::choose as engine_on;

pub use checkpoint::{Checkpoint, State};
pub use initial::initial;
pub use options::{Engine, MAX_BATCH, MAX_EPOCHS, Options};
pub use report::{EpochReport, Losses, Report, StoppedBy};
pub use samples::Samples;
pub use step::StepReport;
pub use trainer::{TrainEvent, Trainer, TrainerBuilder};
