//! Sets of shards: positions of games with all their legal moves, built once, kept in memory or on disk.
//!
//! Learning goes over the same positions many times. A [`Dataset`] has them ready: a [`Builder`] replays the games of [`records`](super::records), and lists what each legal move
//! changes. A set larger than memory is written shard by shard ([`Builder::write`]) and mapped from disk ([`Dataset::open`]).
//!
//! ```
//! use warpplay::shogi::Window;
//! use warpplay::shogi::dataset::Dataset;
//! use warpplay::shogi::records::Records;
//!
//! let records = Records::from_bytes("game.usi".as_ref(), b"7g7f 3c3d 8h2b+ 3a2b");
//! let set = Dataset::builder().plies(Window { start: 0, end: 4, step: 1 }).build(&records)?;
//! assert_eq!((set.origin().games, set.n_parents()), (1, 4));
//!
//! // The first parent is the start: 30 legal moves, and the played one once more as child 0.
//! let shard = &set.shards()[0];
//! assert_eq!(shard.children(0).len(), 31);
//! assert_eq!(shard.changes_of(0), shard.changes_of(usize::from(shard.played[0])));
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("data");
//! set.save(&folder)?;
//! assert_eq!(Dataset::open(&folder)?.fingerprint(), set.fingerprint());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Dataset`] | the shards and their origin; in memory or mapped; split by games |
//! | [`Builder`] | which games and half-moves, how large the shards |
//! | [`Origin`] | what a set was made of, and what was left out |
//! | [`Facts`] | what it holds, in numbers |
//! | [`is_part`] | whether a file is one of a set's folder |
//!
//! # Files
//!
//! A data set is a folder with a file for each shard and `dataset.json`, which names them. Shards are named by their checksums and written whole;
//! `dataset.json` comes last, so that a folder holds the old set or the new one and never a part of either. Numbers are those of this machine (little-endian).
//!
//! ```text
//! bytes     of a shard's file
//! 0         "wpshogi\0"
//! 8         version                              u64
//! 16        numbers of parents, children, changes   3 × u64
//! 40        checksum of all other bytes          u64
//! 48        zeros
//! 64        pieces        [parents][40]   u16    each column begins at a multiple of 64, zeros between;
//!           sides         [parents]       u8     their order is that of the fields of Shard
//!           plies         [parents]       u16
//!           games         [parents]       u64
//!           first_child   [parents + 1]   u32
//!           played        [parents]       u16
//!           differences   [children]      u64
//!           first_change  [children + 1]  u32
//!           changes       [changes]       u32
//! ```
//!
//! [`Shard`] says what the columns mean.

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

/// Parents with their children, in shards, and their origin.
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
    /// Games omitted because none of their half-moves is in the window.
    pub short: u64,
    /// The games that were used, by their numbers from 0.
    pub game_window: Window,
    /// The half-moves that were used.
    pub ply_window: Window,
    /// What could not be read, and why.
    pub skipped: Vec<Skipped>,
}

impl Dataset {
    /// Makes a builder of data sets from games.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Makes a set from existing shards, such as those of [`quiescence::rebuild`](crate::shogi::quiescence::rebuild).
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for the first shard with inconsistent columns, with its number.
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

    /// References to the shards, as engines take them.
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

    /// Splits the set in two: the games to learn from, and a share (`held_out`, above 0 and below 1) of all games, drawn by the games' hashes, regardless of order, window
    /// and shards. Parents keep their order; all columns are copied.
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
