//! The player: a search that uses the network, for one position or for many games.
//!
//! | to do | type | options |
//! | --- | --- | --- |
//! | choose a move of a position | [`Player`] | [`SearchOptions`] |
//! | record games of a search against itself | [`SelfPlay`] | [`SelfPlayOptions`] |
//! | let two players play | [`Match`] of [`Contestant`]s | [`MatchOptions`] |
//! | say what evaluates leaves | [`Estimator`] | [`EvaluatorOptions`](super::EvaluatorOptions) |

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
