//! Sets of shards: built from games, kept in memory or on disk.

mod builder;
mod checksum;
mod facts;
mod parents;
mod store;

pub(in crate::shogi) use parents::Parents;

pub use builder::Builder;
pub use facts::Facts;
pub use store::is_part;

use crate::Result;
use crate::shogi::records::Skipped;
use crate::shogi::{Shard, Shards, Window};

/// Parents with their children, in shards, and where they come from.
#[derive(Clone, Debug)]
pub struct Dataset {
    shards: Vec<Shard>,
    origin: Origin,
}

/// What a data set was made of.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// Games that parents come from.
    pub games: u64,
    /// Games that were left out because no half-move of theirs lies in the window.
    pub short: u64,
    /// The numbers, from 0, of the games that were looked at.
    pub game_window: Window,
    /// The half-moves.
    pub ply_window: Window,
    /// What could not be read, and why.
    pub skipped: Vec<Skipped>,
}

impl Dataset {
    /// How data sets are built from games.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A set of shards that were made elsewhere, as [`quiescence::rebuild`](crate::shogi::quiescence::rebuild) makes them of a set's.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for the first shard whose columns do not fit together, with its number.
    pub fn from_shards(shards: Vec<Shard>, origin: Origin) -> Result<Self> {
        for (number, shard) in shards.iter().enumerate() {
            shard.expect_sound(format!("shard {number}"))?;
        }
        Ok(Self { shards, origin })
    }

    /// The shards.
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The shards, as engines take them.
    pub fn views(&self) -> Vec<&Shard> {
        self.shards.iter().collect()
    }

    /// What it was made of.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Parents of all shards.
    pub fn n_parents(&self) -> u64 {
        self.shards.iter().map(|shard| shard.n_parents() as u64).sum()
    }

    /// Children of all shards, those of played moves counted twice.
    pub fn n_children(&self) -> u64 {
        self.shards.iter().map(|shard| shard.n_children() as u64).sum()
    }

    /// Two data sets: the games that are learnt from, and a share (`held_out`, above 0 and below 1) of all games, drawn by the games' hashes: the same games whatever
    /// the order, the window or the shards. Parents keep their order; all columns are copied.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for another share.
    pub fn split(&self, held_out: f64) -> Result<(Self, Self)> {
        let drawn = crate::shogi::records::draw(held_out)?;
        let part = |wanted: bool| {
            let shards: Vec<Shard> = self
                .shards
                .iter()
                .map(|shard| parents::filtered(shard, |parent| drawn(shard.games[parent]) == wanted))
                .filter(|shard| shard.n_parents() > 0)
                .collect();
            let mut games: Vec<u64> = shards.iter().flat_map(|shard| shard.games.iter().copied()).collect();
            games.sort_unstable();
            games.dedup();
            Self { shards, origin: Origin { games: games.len() as u64, ..self.origin.clone() } }
        };
        Ok((part(false), part(true)))
    }
}

impl<'a> From<&'a Dataset> for Shards<'a> {
    fn from(set: &'a Dataset) -> Self {
        Self(set.views())
    }
}
