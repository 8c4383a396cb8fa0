//! The default limits of a search.

use warpplay::mcts::Options;

/// The paper's time limit where neither limit is given.
pub fn default_seconds(steps: Option<u64>, seconds: Option<f64>) -> Option<f64> {
    match (steps, seconds) {
        (None, None) => Options::default().seconds,
        _ => seconds,
    }
}
