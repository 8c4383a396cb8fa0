//! What a search is asked, and what it answers.

use warpplay_gpu::azero::search::random;

use crate::{Error, Precision};

/// The results of a search of a position, with actions as numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// The action to be played.
    pub action: u32,
    /// Mean value for the player to move, -1 to 1.
    pub value: f32,
    /// All legal actions, ascending.
    pub actions: Vec<ChoiceAction>,
    /// Nodes of the tree.
    pub n_nodes: u32,
}

/// The results of a search for one action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ChoiceAction {
    /// The action.
    pub action: u32,
    /// Simulations that began with the action.
    pub visits: u32,
    /// Its probability before the search, with the noise.
    pub prior: f32,
    /// Its mean value, or known result, for the player to move; 0 without visits.
    pub value: f32,
}

/// A position to be searched, and its ply in a game, which determines its random numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<G> {
    pub position: G,
    pub game: u64,
    pub ply: u32,
}

impl<G> Task<G> {
    /// The key of its random numbers.
    pub fn key(&self, seed: u64) -> u64 {
        random::key(seed, self.game, u64::from(self.ply))
    }
}

/// The error of an evaluation that is NaN or infinite, in tree number `index` of those searched together.
pub(super) fn not_finite<G>(what: &str, value: f64, index: usize, task: &Task<G>, precision: Precision) -> Error {
    let what = format!("game {}, ply {}: {what}", task.game, task.ply);
    Error::NotFinite { what, position: index, value, precision }
}
