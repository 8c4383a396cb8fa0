//! Plain implementations, on the CPU, of what warpplay computes on the GPU.
//!
//! This crate is for three readers: the test suite, which holds every kernel to it; the `Cpu` back end, which answers with it where
//! there is no GPU; and whoever wants to see an algorithm without threads and blocks. It shares no code with the device crate: it
//! was written separately, from the papers, and each side is worth something as a check of the other for that reason.
//!
//! | module | algorithm | source |
//! | --- | --- | --- |
//! | [`mcts`] | Monte Carlo tree search with many trees and many playouts a step | Klęsk, "MCTS-NC", SoftwareX |
//! | [`azero`] | a residual network with value and policy heads, in `f32` and `f64` | OpenSpiel's AlphaZero; Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference" |
//! | [`mlp`] | multilayer perceptrons trained by mini-batches, in `f32` and `f64` | Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification" |
//! | [`shogi`] | learning of shogi evaluations from game records | 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」; Hoki, 「局面評価の学習を目指した探索結果の最適制御」 |
//! | [`tile`] | products of matrices in `f64` | their definition |
//!
//! Every algorithm exists twice: sequential, reading like its source, and under rayon, calling the same inner functions. Results do
//! not depend on the number of threads. Both give the same bits, but for the matrix products of `mlp`, which add in another order
//! under rayon and agree within rounding.
//!
//! ```
//! # #[cfg(feature = "mcts")] {
//! use warpplay_cpu_ref::mcts::{Game, Params, Search, games::connect4::Connect4};
//!
//! let mut position = Connect4::new(6, 7);
//! for column in [3, 0, 3, 0, 3, 0] {
//!     position.apply(column);
//! }
//! let mut search = Search::new(Params { n_trees: 2, n_playouts: 16, ..Params::default() }, position);
//! for _ in 0..20 {
//!     search.step();
//! }
//! assert_eq!(search.statistics().best, 3); // the fourth stone in the column
//! # }
//! ```
//!
//! ```
//! # #[cfg(feature = "mlp")] {
//! use warpplay_cpu_ref::mlp::{Init, Network, Parallel, Settings, Training, epoch_order};
//!
//! // Four images of two pixels; the label says whether exactly one of them is set.
//! let (images, labels) = ([0, 0, 0, 255, 255, 0, 255, 255], [0, 1, 1, 0]);
//! let network = Network::<f64>::drawn(&[2, 16, 2], Init::HeUniform, 1);
//! let mut training = Training::new(network, Settings::default());
//! let mut loss = f64::INFINITY;
//! for epoch in 0..500 {
//!     loss = training.epoch::<Parallel>(&images, &labels, &epoch_order(1, epoch, 4), 4, 0.5) / 4.0;
//! }
//! assert!(loss < 0.01);
//! # }
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "azero")]
pub mod azero;
#[cfg(feature = "cfr")]
pub mod cfr;
#[cfg(feature = "mcts")]
pub mod mcts;
#[cfg(feature = "mlp")]
pub mod mlp;
#[cfg(feature = "shogi")]
pub mod shogi;
#[cfg(any(feature = "mlp", feature = "shogi", feature = "cfr"))]
mod split_mix;
#[cfg(feature = "tile")]
pub mod tile;
