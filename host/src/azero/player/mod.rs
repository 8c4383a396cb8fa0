//! The player: a search that uses the network, for one position or for many games.
//!
//! The network alone gives a policy; a search by the PUCT rule improves it by looking ahead. [`Player`] chooses a move of one position. [`SelfPlay`] plays
//! many games at once and records what training needs; [`Match`] measures two players against each other. Leaves can also be evaluated without a network, which gives a baseline.
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::azero::player::{Estimator, SearchOptions, SelfPlay};
//!
//! // Two games by a search of 8 simulations a move whose leaves are evaluated by one random game each.
//! let search = SearchOptions { simulations: 8, ..SearchOptions::self_play() };
//! let mut games = SelfPlay::builder(Estimator::Playouts(1)).search(search).games(2).seed(3).build(&Device::cpu())?;
//! let mut records = Vec::new();
//! let report = games.run(|progress| {
//!     records.extend(progress.latest.clone());
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!((report.played.games, records.len()), (2, 2));
//!
//! // Every record holds the game's actions, and the visits that the search gave to each legal action.
//! let visits: u32 = records[0].visits[0].iter().map(|[_action, visits]| visits).sum();
//! assert_eq!(visits, 8);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | to do | type | options |
//! | --- | --- | --- |
//! | choose a move of a position | [`Player`], which answers with a [`Decision`] | [`SearchOptions`] |
//! | record games of a search against itself | [`SelfPlay`], [`GameRecord`](super::GameRecord) | [`SelfPlayOptions`] |
//! | let two players play | [`Match`] of [`Contestant`]s, [`MatchReport`] | [`MatchOptions`] |
//! | say what evaluates leaves | [`Estimator`] | [`EvaluatorOptions`](super::EvaluatorOptions) |
//! | say where the trees are | [`Trees`] | |
//!
//! A step of a search, for all games side by side:
//!
//! ```text
//! select    leaves of every tree, by  Q + c_puct · prior · √(visits of the node) / (1 + visits of the action)
//! evaluate  all leaves together: the network's values and policies, or playouts
//! expand    a child for each legal action, with its prior; add the value along the path to the root
//! ```
//!
//! Trees lie in device memory ([`Trees::Device`], layout in [`warpplay_gpu::azero::search::tree`]) or in host memory ([`Trees::Host`]). A search of a game at a ply has
//! random numbers of its own, so games do not depend on how many are played side by side.

mod device;
mod estimator;
mod host;
#[allow(unsafe_code)]
mod kernels;
mod matches;
mod one;
mod options;
mod report;
mod searcher;
mod self_play;
mod task;
#[cfg(test)]
mod tests;

pub use estimator::Estimator;
pub use matches::{Contestant, Match, MatchBuilder};
pub use one::{ActionVisits, Decision, Player, PlayerBuilder};
pub use options::{
    MAX_PARALLEL, MAX_PLAYOUTS, MAX_SIMULATIONS, MatchOptions, Noise, SearchOptions, SelfPlayOptions, Trees,
};
pub use report::{GamesPlayed, MatchReport, Results, SelfPlayReport};
pub use self_play::{SelfPlay, SelfPlayBuilder};
