//! Options of a search.

use serde::{Deserialize, Serialize};
use warpplay_gpu::azero::search::Searched;
use warpplay_gpu::azero::search::tree::MAX_LEAVES;

use crate::runtime::named::named;
use crate::{Backend, Device, Error, Result};

/// Most simulations of a move.
pub const MAX_SIMULATIONS: u32 = 1 << 20;
/// Maximum number of games played at the same time.
pub const MAX_PARALLEL: u32 = 1 << 16;
/// Most playouts of a leaf.
pub const MAX_PLAYOUTS: u32 = 1 << 15;

named! {
    /// Where the trees are.
    Trees, "trees":
    /// In device memory on CUDA and `simt`, in host memory on the CPU back end.
    Auto = "auto",
    /// In device memory, grown by kernels; nothing is copied to the host within a move.
    Device = "device",
    /// In host memory, grown by the plain program on all cores; leaves are evaluated on the device in batches.
    Host = "host",
}

impl Trees {
    /// Resolves [`Trees::Auto`] for a device.
    pub(super) fn chosen(self, device: &Device) -> Result<Self> {
        match (self, device.backend()) {
            (Self::Auto, Backend::Cpu) => Ok(Self::Host),
            (Self::Auto, _) => Ok(Self::Device),
            (Self::Device, Backend::Cpu) => Err(Error::option("trees", self, "auto or host on the CPU back end")),
            _ => Ok(self),
        }
    }
}

/// `(1 - epsilon) · prior + epsilon · Dirichlet(alpha)` at the root.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Noise {
    /// Concentration, 0.01 to 100; small numbers give most of the noise to few actions.
    pub alpha: f64,
    /// Share of the noise, 0 to 1.
    pub epsilon: f32,
}

impl Default for Noise {
    /// OpenSpiel's: alpha 1, a quarter.
    fn default() -> Self {
        Self { alpha: 1.0, epsilon: 0.25 }
    }
}

/// Options of a search by the PUCT rule; [`warpplay_gpu::azero::search`] explains each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchOptions {
    /// Simulations of a move, 1 to [`MAX_SIMULATIONS`]. Default 100.
    pub simulations: u32,
    /// Simulations that are evaluated together, 1 to 16. Default 4.
    pub leaves: u32,
    /// Weight of the priors, above 0. Default 2.
    pub c_puct: f32,
    /// Noise at the root. Default none; self-play has it.
    pub noise: Option<Noise>,
    /// Temperature of the choice of a move in the first [`temperature_plies`](Self::temperature_plies) actions of a game, 0 to 100. Default 1.
    pub temperature: f32,
    /// Number of actions at the beginning of a game with temperature; after these the most visited action is played. Default 0; self-play has 20.
    pub temperature_plies: u32,
    /// Nodes of a tree. Default 24 for each simulation; a leaf whose children do not fit stays a leaf.
    pub max_nodes: Option<u32>,
    /// Seed of all random numbers. Default 0.
    pub seed: u64,
    /// Where the trees are.
    pub trees: Trees,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            simulations: 100,
            leaves: 4,
            c_puct: 2.0,
            noise: None,
            temperature: 1.0,
            temperature_plies: 0,
            max_nodes: None,
            seed: 0,
            trees: Trees::Auto,
        }
    }
}

impl SearchOptions {
    /// The defaults of self-play: with noise, and with temperature in the first 20 actions.
    pub fn self_play() -> Self {
        Self { noise: Some(Noise::default()), temperature_plies: 20, ..Self::default() }
    }

    /// Checks every option.
    ///
    /// # Errors
    /// [`Error::Option`] for the first that is not allowed.
    pub fn check(&self) -> Result<()> {
        let within = |name, value: u32, most: u32| match (1..=most).contains(&value) {
            true => Ok(()),
            false => Err(Error::option(name, value, format!("1 to {most}"))),
        };
        within("simulations", self.simulations, MAX_SIMULATIONS)?;
        within("leaves", self.leaves, MAX_LEAVES)?;
        if !(self.c_puct > 0.0 && self.c_puct <= 1e6) {
            return Err(Error::option("c_puct", self.c_puct, "above 0, at most 1e6"));
        }
        if let Some(Noise { alpha, epsilon }) = self.noise {
            if !(0.01..=100.0).contains(&alpha) {
                return Err(Error::option("noise alpha", alpha, "0.01 to 100"));
            }
            if !(0.0..=1.0).contains(&epsilon) {
                return Err(Error::option("noise epsilon", epsilon, "0 to 1"));
            }
        }
        if !(0.0..=100.0).contains(&self.temperature) {
            return Err(Error::option("temperature", self.temperature, "0 to 100"));
        }
        if self.temperature > 0.0 && self.temperature < 0.01 {
            return Err(Error::option("temperature", self.temperature, "0, or 0.01 to 100"));
        }
        match self.max_nodes {
            Some(n) if !(2..=1 << 28).contains(&n) => Err(Error::option("max_nodes", n, format!("2 to {}", 1 << 28))),
            _ => Ok(()),
        }
    }

    /// Nodes of a tree of `G`; the root's children always fit.
    pub(super) fn capacity<G: Searched>(&self) -> u32 {
        let least = 1 + G::MAX_LEGAL;
        self.max_nodes.unwrap_or(1 + G::MAX_LEGAL.min(24) * (self.simulations + 1)).max(least)
    }

    /// Steps of a move.
    pub(super) fn steps(&self) -> u32 {
        self.simulations.div_ceil(self.leaves)
    }

    /// The temperature at a ply.
    pub(super) fn temperature_at(&self, ply: u32) -> f32 {
        if ply < self.temperature_plies { self.temperature } else { 0.0 }
    }
}

/// Options of a [`SelfPlay`](super::SelfPlay).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SelfPlayOptions {
    /// Total number of games. Default 100.
    pub games: u64,
    /// Number of the first game: a game's random numbers follow from its number and the seed. Default 0.
    pub first: u64,
    /// Games played at the same time, 1 to [`MAX_PARALLEL`]. Default 256. The games do not depend on it.
    pub parallel: u32,
    /// Options of the searches. Default [`SearchOptions::self_play`].
    pub search: SearchOptions,
}

impl Default for SelfPlayOptions {
    fn default() -> Self {
        Self { games: 100, first: 0, parallel: 256, search: SearchOptions::self_play() }
    }
}

impl SelfPlayOptions {
    /// # Errors
    /// [`Error::Option`] for the first value that is not allowed.
    pub fn check(&self) -> Result<()> {
        if self.games == 0 {
            return Err(Error::option("games", 0, "at least 1"));
        }
        if self.first.checked_add(self.games).is_none() {
            let allowed = format!("at most {} for {} games", u64::MAX - self.games, self.games);
            return Err(Error::option("first game", self.first, allowed));
        }
        if !(1..=MAX_PARALLEL).contains(&self.parallel) {
            return Err(Error::option("parallel", self.parallel, format!("1 to {MAX_PARALLEL}")));
        }
        self.search.check()
    }
}

/// Options of a [`Match`](super::Match).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MatchOptions {
    /// Number of games; even, since each opening is played with both colours. Default 100.
    pub games: u32,
    /// Random actions at the beginning of each pair of games, 0 to 40. Default 4.
    pub opening_plies: u32,
    /// Games played at the same time. Default 256.
    pub parallel: u32,
    /// Seed of openings and of random play. Default 0.
    pub seed: u64,
}

impl Default for MatchOptions {
    fn default() -> Self {
        Self { games: 100, opening_plies: 4, parallel: 256, seed: 0 }
    }
}

impl MatchOptions {
    /// # Errors
    /// [`Error::Option`] for the first value that is not allowed.
    pub fn check(&self) -> Result<()> {
        if self.games == 0 || self.games % 2 == 1 || self.games > 1 << 24 {
            return Err(Error::option("games", self.games, format!("an even number, 2 to {}", 1 << 24)));
        }
        if self.opening_plies > 40 {
            return Err(Error::option("opening_plies", self.opening_plies, "0 to 40"));
        }
        match self.parallel {
            1..=MAX_PARALLEL => Ok(()),
            n => Err(Error::option("parallel", n, format!("1 to {MAX_PARALLEL}"))),
        }
    }
}
