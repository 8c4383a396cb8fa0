//! AlphaZero for checkers: a residual network that predicts the result and the move, the search that uses it, and learning by self-play.
//!
//! An [`Evaluator`] answers for positions in batches, at the speed that self-play and analysis need; a [`player::Player`] chooses moves by a search with the network.
//! Weights come from a file of OpenSpiel's network, or are learnt from nothing by [`learn::Learner`].
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::azero::checkers::Checkers;
//! use warpplay::azero::player::Player;
//! use warpplay::azero::{Evaluator, Network, NetworkShape, Positions};
//!
//! let shape = NetworkShape { width: 8, depth: 1, ..NetworkShape::default() }; // small, and untrained
//! let network = Network::seeded(shape, 27)?;
//! let start = Checkers::new();
//!
//! // Value and policy of a position.
//! let mut evaluator = Evaluator::builder(&network).build(&Device::cpu())?;
//! let positions = Positions::of_checkers(&[start], network.observation());
//! let found = evaluator.evaluate(positions.observations(), positions.masks())?;
//! println!("value {:+.3} for the first player", found.values[0]);
//!
//! // What a search by the network plays there.
//! let mut player = Player::builder(&network).simulations(16).build(&Device::cpu())?;
//! let decision = player.run(&start, |_| ControlFlow::Continue(()))?;
//! assert_eq!(decision.name.len(), 4); // as a3b4
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! # The algorithm
//!
//! ```text
//! network   x = relu(norm(conv(observation)))           then blocks: x = relu(x + norm(conv(relu(norm(conv(x))))))
//!           value = tanh(linear(relu(linear(relu(norm(conv(x)))))))        policy = softmax over legal actions of linear(relu(norm(conv(x))))
//! search    at each node the action with the largest  Q + c_puct · prior · √(visits of the node) / (1 + visits of the action)
//!           a leaf is expanded with the network's policy as priors, and its value goes back along the path
//! move      the most visited action, or one drawn by visits^(1 / temperature) in the first actions of a game; noise at the root in self-play
//! learning  games of the best network against itself -> training on positions, visits and results -> a match decides which network is the best
//! ```
//!
//! At inference each norm is folded into the convolution before it. The random numbers of a search follow from seed, number of the game and ply alone, so that
//! games do not depend on the games beside them.
//!
//! # Data layout
//!
//! | what | layout |
//! | --- | --- |
//! | observations | `[n, planes, rows, columns]` f32; for checkers `[n, 5, 8, 8]`, as [`ObservationLayout`] says |
//! | masks | `[n, actions]` bytes, 1 for a legal action |
//! | values | `[n]`, -1 to 1, of the first player or of the player to move, as [`ValueOf`] says |
//! | policy logits, policies | `[n, actions]`; an illegal action has policy 0 |
//! | actions of checkers | `(square · 4 + direction) · 2 + type`, type 1 for a jump; [`checkers`] |
//! | weights | safetensors under libtorch's names, as OpenSpiel's model has them: [`Network::load`], [`Network::save`] |
//! | games | one [`GameRecord`] a line of JSON |
//!
//! # Engines
//!
//! | [`Engine`] | what evaluates | what it can do |
//! | --- | --- | --- |
//! | `Fused` | all convolutions in one launch, activations in shared memory | 8×8 boards, 128 channels, up to 16 planes, 4 channels and 512 hidden units of heads, 1,024 actions; f32, tf32, bf16, f16; compute capability 9.0 |
//! | `Layers` | a kernel a layer, replayed as a CUDA graph | any shape; f32, and tf32, bf16, f16 from compute capability 8.0 on |
//! | `Cpu` | the plain implementation, `warpplay_cpu_ref::azero`; what [`Device::cpu`](crate::Device::cpu) does | any shape; f32, f64 |
//!
//! `Auto`, the default, is `Fused` where all of its row holds, else `Layers`; on the CPU it is `Cpu`. A choice that cannot do what is asked is an error, never
//! replaced by another. Training runs by kernels of its own in f32, or by the plain program on the CPU.
//!
//! `Fused` in f32 holds a number in two of half precision, scaled by powers of two. Values and logits are within 1e-5 + 1e-5 |x| of double precision for the reference network
//! however its channels are scaled, and for other networks not more than twice as far from it as those of `Layers`. An activation a thousand times as large as any that it saw when
//! the network was loaded does not fit: that position, or that search, is evaluated again by `Layers`, and counted in `repeated_batches` ([`Evaluator::repeated_batches`]).
//! [`Evaluator::enqueue`] alone leaves that to its caller.
//!
//! # Types
//!
//! | to do | type | options |
//! | --- | --- | --- |
//! | a network's parameters, from a file or a seed | [`Network`] | [`NetworkShape`] |
//! | value and policy of positions | [`Evaluator`] | [`EvaluatorOptions`] |
//! | choose a move | [`player::Player`] | [`player::SearchOptions`] |
//! | record games of a network against itself | [`player::SelfPlay`] | [`player::SelfPlayOptions`] |
//! | let two players play | [`player::Match`] | [`player::MatchOptions`] |
//! | train on recorded games | [`train::Trainer`] on [`train::Samples`] | [`train::Options`] |
//! | all of it in turn | [`learn::Learner`] | [`learn::LearnOptions`] |
//!
//! # Papers
//! Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play", 2018; Paul and Xu, "Parallelizing Convolutional
//! Networks for Faster AlphaZero Inference", whose kernels are in the crate `warpplay-papers`; the game, the network and the files are OpenSpiel's.

pub mod checkers;
mod dispatch;
mod engines;
mod evaluation;
mod evaluator;
mod folded;
mod heard;
pub mod learn;
mod network;
mod options;
mod pickle;
pub mod player;
mod positions;
mod record;
mod resident;
mod shape;
mod stored;
mod torch_archive;
pub mod train;
mod weight_file;

pub use evaluation::{BlockOutput, Evaluation, Inputs, MAX_BATCH, Outputs};
pub use evaluator::{Evaluator, EvaluatorBuilder};
pub use network::{Conv, Linear, NORM_EPSILON, Network, Norm, ObservationLayout, TorsoBlock, ValueOf};
pub use options::{Engine, EvaluatorOptions};
pub use positions::Positions;
pub use record::{GameRecord, append_records, read_records, write_records};
pub use shape::NetworkShape;
