//! Plain implementations, on the CPU, of what warpplay computes on the GPU.
//!
//! This crate is for three readers: the test suite, which holds every kernel to it; the `Cpu` back end, which answers with it where
//! there is no GPU; and whoever wants to see an algorithm without threads and blocks. It shares no code with the device crate: it
//! was written separately, from the papers, and each side is worth something as a check of the other for that reason.
//!
//! | module | algorithm | source |
//! | --- | --- | --- |
//! | [`mcts`] | Monte Carlo tree search with many trees and many playouts a step | Klęsk, "MCTS-NC", SoftwareX |
//!
//! Every algorithm exists twice: sequential, reading like its source, and under rayon, calling the same inner functions. Both give
//! the same bits.
//!
//! ```
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
//! ```
#![forbid(unsafe_code)]

pub mod mcts;
pub mod mlp;
