//! A game laid out for the walk.

use std::sync::Arc;

use super::information::Information;
use super::kernels;
use super::pieces::Pieces;
use crate::cfr::game::GameDef;
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::dealer::Buckets;
use crate::cfr::game::sequences::{ACTIONS, Sequences};
use crate::cfr::layout::{Number, Values};
use crate::{Error, Memory, Precision, Result};

/// The layout of a game for the walk.
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

    /// Number of pairs of seat and round.
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

    /// A table of all rows, `[row][ACTIONS]`, by seat.
    pub fn by_seat<T: Number>(&self, all: &[T]) -> Vec<Values> {
        let of_seat = |seat| T::wrap(self.rows(seat).flat_map(|rows| &all[rows]).copied().collect());
        (0..self.sequences.n_players).map(of_seat).collect()
    }

    /// Joins the tables of all seats into one of all rows.
    ///
    /// # Errors
    /// [`Error::Shape`] names the table if its number of values is wrong.
    pub fn in_rows<T: Number>(&self, name: &str, table: &[Values]) -> Result<Vec<T>> {
        let n_players = self.sequences.n_players;
        if table.len() != n_players {
            return Err(Error::shape(name, format!("{n_players} seats"), table.len()));
        }
        let mut all = vec![T::default(); self.n_values()];
        for (seat, values) in table.iter().enumerate() {
            let n: usize = self.rows(seat).map(|rows| rows.len()).sum();
            if values.len() != n {
                return Err(Error::shape(format!("{name} of seat {seat}"), n, values.len()));
            }
            for (at, place) in self.rows(seat).flatten().enumerate() {
                all[place] = T::rounded(values.get(at));
            }
        }
        Ok(all)
    }

    /// Values of a table.
    pub fn n_values(&self) -> usize {
        self.pieces.rows.last().map_or(0, |&rows| rows as usize * ACTIONS)
    }

    /// Winnings by seat from the sums of the root's values over `deals` deals: the walk counts chips won and put in from the first action on.
    pub fn winnings(&self, sums: &[f64], deals: u64) -> Vec<f64> {
        sums.iter().zip(&self.sequences.blinds).map(|(sum, blind)| sum - blind * deals as f64).collect()
    }
}
