//! A game laid out for the walk.

use std::sync::Arc;

use super::information::Information;
use super::kernels;
use super::pieces::Pieces;
use crate::cfr::game::GameDef;
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::dealer::Buckets;
use crate::cfr::game::sequences::{ACTIONS, Sequences, slots};
use crate::cfr::layout::{Number, Values};
use crate::{Error, Memory, Precision, Result};

/// The layout of a game for the walk.
pub(super) struct Plan {
    pub game: GameDef,
    pub betting: BettingTree,
    pub sequences: Sequences,
    /// Sequences by node of the betting tree, each node's choices behind it.
    by_node: Vec<u32>,
    pub buckets: Arc<dyn Buckets>,
    pub pieces: Pieces,
}

impl Plan {
    /// Lays a game out.
    pub fn of(game: &GameDef, information: &Information) -> Result<Self> {
        let betting = BettingTree::new(game)?;
        let sequences = Sequences::with_sizes(&betting)?;
        let exact = |chips: f64| f64::from(chips as f32) == chips;
        let mut pots = sequences.ends.iter().flat_map(|end| &end.pots);
        if let Some(pot) = pots.find(|pot| !exact(pot.chips)) {
            return Err(Error::option("blind", pot.chips, "pots that single precision holds exactly"));
        }
        let buckets = information.of(game)?;
        let counts: Vec<u32> = (0..sequences.n_rounds).map(|round| buckets.n_buckets(round)).collect();
        let pieces = Pieces::of(&sequences, &counts)?;
        let mut by_node: Vec<u32> = (0..sequences.sequences.len() as u32).collect();
        by_node.sort_by_key(|&at| (sequences.sequences[at as usize].node, sequences.sequences[at as usize].choice));
        Ok(Self { game: game.clone(), betting, sequences, by_node, buckets, pieces })
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

    /// The sequence after a betting history, as [`BettingTree::find`] reads it.
    ///
    /// # Errors
    /// [`Error::Moves`] for a history that cannot be played; [`Error::Option`] if the hand is over.
    pub fn sequence(&self, history: &str) -> Result<u32> {
        let node = self.betting.find(history)?;
        let of = |at: u32| &self.sequences.sequences[at as usize];
        let first = self.by_node.get(self.by_node.partition_point(|&at| of(at).node < node)).copied();
        first
            .filter(|&at| of(at).node == node)
            .ok_or_else(|| Error::option("history", format!("'{history}'"), "a history after which a player acts"))
    }

    /// The sequences of the decision that `by_node` names at `from`, its own before those of its choices, and its number of sizes of raise (1 if it has none).
    fn decision(&self, from: usize) -> (&[u32], usize) {
        let sequence = |at: u32| &self.sequences.sequences[at as usize];
        let node = sequence(self.by_node[from]).node;
        let n = self.by_node[from..].iter().take_while(|&&at| sequence(at).node == node).count();
        let of_node = &self.by_node[from..from + n];
        let has_third = sequence(of_node[n - 1]).children[2].is_some();
        (of_node, if n == 1 { 1 } else { 2 * (n - 1) + usize::from(has_third) })
    }

    /// Calls `visit` with the offset in the tables of every value that belongs to a seat, in the order of [`Layout`](crate::cfr::layout::Layout): decision by decision, bucket by bucket.
    fn each_offset(&self, seat: usize, mut visit: impl FnMut(usize)) {
        let (rows, mut from) = (&self.pieces.rows, 0);
        while from < self.by_node.len() {
            let (of_node, n_raises) = self.decision(from);
            from += of_node.len();
            let own = of_node[0] as usize;
            if self.sequences.sequences[own].seat as usize != seat {
                continue;
            }
            let slots = slots(n_raises);
            for bucket in 0..rows[own + 1] - rows[own] {
                for &(choice, action) in &slots {
                    visit((rows[of_node[choice as usize] as usize] + bucket) as usize * ACTIONS + action);
                }
            }
        }
    }

    /// Offsets in the tables of the legal actions of a decision, for a bucket: fold, call, raises from the smallest.
    ///
    /// * `node`: the decision's node in the betting tree.
    pub fn legal(&self, node: u32, bucket: u32) -> Vec<usize> {
        let sequences = &self.sequences.sequences;
        let from = self.by_node.partition_point(|&at| sequences[at as usize].node < node);
        let (of_node, n_raises) = self.decision(from);
        let legal = |&&(choice, action): &&(u32, usize)| {
            sequences[of_node[choice as usize] as usize].children[action].is_some()
        };
        let at = |&(choice, action): &(u32, usize)| {
            (self.pieces.rows[of_node[choice as usize] as usize] + bucket) as usize * ACTIONS + action
        };
        slots(n_raises).iter().take(2 + n_raises).filter(legal).map(at).collect()
    }

    /// A table of all rows, `[row][ACTIONS]`, by seat.
    pub fn by_seat<T: Number>(&self, all: &[T]) -> Vec<Values> {
        let of_seat = |seat| {
            let mut values = Vec::new();
            self.each_offset(seat, |at| values.push(all[at]));
            T::wrap(values)
        };
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
            let mut n = 0;
            self.each_offset(seat, |at| {
                if n < values.len() {
                    all[at] = T::rounded(values.get(n));
                }
                n += 1;
            });
            if values.len() != n {
                return Err(Error::shape(format!("{name} of seat {seat}"), n, values.len()));
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
