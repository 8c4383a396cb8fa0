//! The player: a search that uses the network, for one position or for many games.

mod device;
mod estimator;
mod host;
#[allow(unsafe_code)]
mod kernels;
mod matches;
mod one;
mod options;
mod searcher;
mod self_play;
#[cfg(test)]
mod tests;

pub use estimator::Estimator;
pub use matches::{Contestant, Match, MatchOptions, MatchReport, Results};
pub use one::{Player, PlayerBuilder};
pub use options::{MAX_PLAYOUTS, MAX_SIMULATIONS, Noise, SearchOptions, Trees};
pub use searcher::{ActionVisits, Decision};
pub use self_play::{MAX_PARALLEL, SelfPlay, SelfPlayBuilder, SelfPlayReport};
