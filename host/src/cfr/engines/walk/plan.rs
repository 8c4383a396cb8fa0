//! A game laid out for the walk.

use std::sync::Arc;

use super::information::Information;
use super::kernels;
use super::pieces::Pieces;
use crate::cfr::game::GameDef;
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::dealer::Buckets;
use crate::cfr::game::sequences::{ACTIONS, Sequences};
use crate::{Error, Memory, Precision, Result};

/// A game laid out for the walk.
pub(super) struct Plan {
    pub game: GameDef,
    pub sequences: Sequences,
    pub buckets: Arc<dyn Buckets>,
    pub pieces: Pieces,
}

impl Plan {
    /// Lays a game out.
    pub fn of(game: &GameDef, information: &Information) -> Result<Self> {
        let sequences = Sequences::of(&BettingTree::new(game)?)?;
        let exact = |chips: f64| f64::from(chips as f32) == chips;
        let mut pots = sequences.ends.iter().flat_map(|end| &end.pots);
        if let Some(pot) = pots.find(|pot| !exact(pot.chips)) {
            return Err(Error::option("blind", pot.chips, "pots that single precision holds exactly"));
        }
        let buckets = information.of(game)?;
        let counts: Vec<u32> = (0..sequences.n_rounds).map(|round| buckets.n_buckets(round)).collect();
        let pieces = Pieces::of(&sequences, &counts)?;
        Ok(Self { game: game.clone(), sequences, buckets, pieces })
    }

    /// Seats and rounds.
    pub fn n_slots(&self) -> usize {
        self.sequences.n_players * self.sequences.n_rounds
    }

    /// Memory of a solve.
    pub fn memory(&self, precision: Precision) -> Memory {
        let value = if precision == Precision::F64 { 8 } else { 4 };
        kernels::memory(&self.pieces, self.sequences.n_players, self.n_slots(), value)
    }

    /// Rows of the tables that belong to a seat's sequences, sequence by sequence.
    pub fn rows(&self, seat: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        let rows = &self.pieces.rows;
        let own = self.sequences.sequences.iter().enumerate().filter(move |(_, s)| s.seat as usize == seat);
        own.map(|(at, _)| rows[at] as usize * ACTIONS..rows[at + 1] as usize * ACTIONS)
    }
}
