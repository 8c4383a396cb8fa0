//! The player: a search that uses the network, for one position or for many games.

mod device;
mod estimator;
mod host;
#[allow(unsafe_code)]
mod kernels;
mod options;
mod searcher;

pub use estimator::Estimator;
pub use options::{MAX_PLAYOUTS, MAX_SIMULATIONS, Noise, SearchOptions, Trees};
pub use searcher::{ActionVisits, Decision};
