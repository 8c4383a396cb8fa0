//! How the settings of the paper are measured.

use serde::{Deserialize, Serialize};
use warpplay::Result;
use warpplay::mcts::Options as SearchOptions;

use super::published::{Published, TOURNAMENTS};

/// How the settings are measured; by default with the paper's time and its seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Seconds of each search; `None`: those of the paper, 5 and 30.
    pub seconds: Option<f64>,
    /// Seed of the searches.
    pub seed: u64,
    /// GiB for the trees; `None`: 16 as in the paper, or what the device has free, on a GPU, and 2 elsewhere.
    pub memory_gb: Option<f64>,
}

impl Options {
    /// Checks them.
    ///
    /// # Errors
    /// [`Error::Option`](warpplay::Error::Option) for the first that is not allowed.
    pub fn check(&self) -> Result<()> {
        TOURNAMENTS.iter().try_for_each(|published| self.of(published, self.memory_gb.unwrap_or(2.0)).check())
    }

    /// Options of one search.
    pub(super) fn of(&self, published: &Published, memory_gb: f64) -> SearchOptions {
        SearchOptions {
            variant: published.variant,
            n_trees: published.n_trees,
            n_playouts: published.n_playouts,
            steps: None,
            seconds: Some(self.seconds.unwrap_or(published.seconds)),
            ucb_c: 2.0,
            draw_value: 0.0,
            device_memory_gb: memory_gb,
            seed: self.seed,
            ..SearchOptions::default()
        }
    }
}
