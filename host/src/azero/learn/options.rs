//! What can be chosen about learning.

use serde::{Deserialize, Serialize};
use warpplay_gpu::azero::search::Searched;

use crate::azero::checkers::Checkers;
use crate::azero::player::{MAX_PARALLEL, MatchOptions, SearchOptions};
use crate::azero::train::Options;
use crate::azero::{NetworkShape, ObservationLayout, ValueOf};
use crate::{Error, Precision, Result};

/// Options of a [`Learner`](super::Learner), with their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LearnOptions {
    /// Iterations, 1 to 100,000; default 10.
    pub iterations: u32,
    /// Games of self-play in an iteration, 1 to 1,000,000; default 512.
    pub games: u64,
    /// Games played at the same time, 1 to [`MAX_PARALLEL`]; default 512.
    pub parallel: u32,
    /// Number of latest iterations whose games are used for training; at least 1, default 5.
    pub window: u32,
    /// Searches of self-play. Default [`SearchOptions::self_play`] with 8 leaves at once. Its seed is added to those of the learner and the iteration.
    pub search: SearchOptions,
    /// Training in an iteration. Default 2 epochs, otherwise as in [`Options`]. Its seed is added to those of the learner and the iteration.
    pub train: Options,
    /// The gate match, and the one against the initial network. Default 200 games.
    pub gate: MatchOptions,
    /// Searches of matches. Default without noise and temperature, 8 leaves at once.
    pub gate_search: SearchOptions,
    /// Share of points in the gate match above which the new network replaces the old one, 0 to 1; default 0.55.
    pub threshold: f64,
    /// Arithmetic of self-play and matches; default bf16 on a GPU with tensor cores, else f32.
    pub precision: Option<Precision>,
    /// The network's size; default OpenSpiel's for checkers. Board, planes and actions must be those of checkers.
    pub shape: NetworkShape,
    /// Layout of observations; default egocentric, since [`ObservationLayout::Default`] does not show who is to move.
    pub observation: ObservationLayout,
    /// The player whose result is the value; default the player to move.
    pub value_of: ValueOf,
    /// Seed of the initial network, also added to all other seeds; default 1.
    pub seed: u64,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self {
            iterations: 10,
            games: 512,
            parallel: 512,
            window: 5,
            search: SearchOptions { leaves: 8, ..SearchOptions::self_play() },
            train: Options { epochs: 2, ..Options::default() },
            gate: MatchOptions { games: 200, ..MatchOptions::default() },
            gate_search: SearchOptions { leaves: 8, ..SearchOptions::default() },
            threshold: 0.55,
            precision: None,
            shape: NetworkShape::default(),
            observation: ObservationLayout::Egocentric,
            value_of: ValueOf::Mover,
            seed: 1,
        }
    }
}

impl LearnOptions {
    /// # Errors
    /// [`Error::Option`] for the first value that is not allowed.
    pub fn check(&self) -> Result<()> {
        if !(1..=100_000).contains(&self.iterations) {
            return Err(Error::option("iterations", self.iterations, "1 to 100000"));
        }
        if !(1..=1_000_000).contains(&self.games) {
            return Err(Error::option("games", self.games, "1 to 1000000"));
        }
        if !(1..=MAX_PARALLEL).contains(&self.parallel) {
            return Err(Error::option("parallel", self.parallel, format!("1 to {MAX_PARALLEL}")));
        }
        if self.window == 0 {
            return Err(Error::option("window", self.window, "at least 1"));
        }
        if !(0.0..=1.0).contains(&self.threshold) {
            return Err(Error::option("threshold", self.threshold, "0 to 1"));
        }
        self.search.check()?;
        self.gate_search.check()?;
        self.gate.check()?;
        self.train.check()?;
        let positions = self.games * u64::from(Checkers::MAX_PLIES);
        if u64::from(self.train.batch) > positions {
            let allowed = format!("at most {positions}, the positions that {} games can have", self.games);
            return Err(Error::option("batch", self.train.batch, allowed));
        }
        self.shape.check()
    }
}
