//! Learning from games: the other half of AlphaZero.
//!
//! A search finds better moves than the policy of its network, and a game's end says what its positions were worth. [`Trainer`] moves a network towards both. It takes
//! [`Samples`], made of recorded games or filled by hand, and gives back a [`Network`](super::Network).
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//! use warpplay::Device;
//! use warpplay::azero::player::{Estimator, SearchOptions, SelfPlay};
//! use warpplay::azero::train::{Samples, Trainer, initial};
//! use warpplay::azero::{NetworkShape, ObservationLayout, ValueOf};
//!
//! // A game to learn from.
//! let search = SearchOptions { simulations: 4, ..SearchOptions::self_play() };
//! let mut records = Vec::new();
//! SelfPlay::builder(Estimator::Uniform).search(search).games(1).build(&Device::cpu())?.run(|progress| {
//!     records.extend(progress.latest.clone());
//!     ControlFlow::Continue(())
//! })?;
//! let samples = Samples::from_records(&records, ObservationLayout::Egocentric, ValueOf::Mover)?;
//!
//! // Three epochs of steps of 8 positions each.
//! let shape = NetworkShape { width: 4, depth: 1, value_hidden: 4, ..NetworkShape::default() };
//! let network = initial(shape, 1)?.with_meaning(ObservationLayout::Egocentric, ValueOf::Mover);
//! let mut trainer = Trainer::builder(&network, &Arc::new(samples)).batch(8).epochs(3).build(&Device::cpu())?;
//! let report = trainer.run(|_| ControlFlow::Continue(()))?;
//! assert!(report.epochs[2].train.policy_loss < report.epochs[0].train.policy_loss);
//! let trained = trainer.network()?;
//! assert_eq!(trained.shape(), shape);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Samples`] | positions with the visits of their actions and the result of their game |
//! | [`Trainer`], [`TrainerBuilder`] | a network in training |
//! | [`Options`], [`Engine`] | batch, epochs, Adam's numbers, validation; what trains |
//! | [`Report`], [`EpochReport`], [`Losses`] | what came of it |
//! | [`TrainEvent`], [`StepReport`] | what `watch` gets while it runs |
//! | [`Checkpoint`], [`State`] | the whole state in a file, to go on later with the same bits |
//! | [`initial`] | the network to begin with |
//!
//! # The loss
//!
//! ```text
//! loss   = cross-entropy of the policy and the search's shares of visits + value_weight · (value - result)² + weight_decay / 2 · Σ w²
//! step   a batch of positions, drawn in a seeded order -> loss, gradient -> Adam
//! ```
//!
//! Norms take mean and variance of the batch, and their running statistics follow as libtorch's do. `w` are the weights of convolutions and linear layers
//! (OpenSpiel decays the norms' factors too). A convolution's bias before a norm has gradient 0 and stays: the norm takes the mean away, and the bias with
//! it. On a GPU and thread by thread a step is one recorded graph of kernels ([`warpplay_gpu::azero::train`]); on the CPU the plain
//! program trains. On compute capability 9.0 and thread by thread tensor cores multiply what the convolutions of 3 × 3 read, forward and backward ([`tile`](crate::tile)): [`Options::precision`] says in what numbers: in f32 two parts of half precision, in tf32 one, each array with a [scale](warpplay_gpu::azero::train::scale) that is found on the
//! device, in bf16 bfloat16. Other GPUs multiply f32 as it is. Sums, weights, norms, heads, losses and Adam stay in single precision. The same back end gives the same bits every time, also when a training is stopped and resumed; two back ends differ by rounding.
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
