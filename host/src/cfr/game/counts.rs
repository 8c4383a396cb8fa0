//! How large a game is, in the measures of the literature.

use super::betting::{BettingKind, BettingTree};
use super::cards::choose;
use super::game_file::GameDef;
use crate::Result;

/// Counts of a game. A number that does not fit is the largest `u64`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Nodes of the betting tree at which a player acts.
    pub sequences: u64,
    /// Nodes of the betting tree where the betting has ended.
    pub terminals: u64,
    /// Levels of the betting tree on which a player acts; a node's level is its distance from the root.
    pub levels: u64,
    /// `levels` plus the last one, where every line has ended: the length of the longest line in nodes. The paper of 2015 gives this number for its variant D (30), whereas
    /// its numbers for A and C (3 and 21) are decision levels.
    pub levels_with_last: u64,
    /// Buckets of the paper: unordered sets of a player's cards and the whole board. This ignores which cards are private, so it is an abstraction.
    pub buckets: u64,
    /// Information sets with distinct suits: for each sequence, the number of its player's hands times the number of boards, dealt round by round.
    pub information_sets: u64,
    /// The same by seat.
    pub information_sets_by_seat: Vec<u64>,
    /// Information sets as the paper counts them: `sequences` × `buckets`.
    pub thesis_information_sets: u64,
    /// `sequences` / `levels`.
    pub average_sequences_per_level: f64,
    /// `sequences` / `levels_with_last`: the paper's average for D (20 553).
    pub average_sequences_with_last: f64,
}

impl Counts {
    /// Counts of a game and of its betting tree.
    pub fn new(rules: &GameDef, tree: &BettingTree) -> Self {
        let mut sequences = 0;
        let mut levels = 0;
        let mut by_seat = vec![0u64; tree.n_players];
        for node in &tree.nodes {
            if let BettingKind::Decision { seat, .. } = node.kind {
                sequences += 1;
                levels = levels.max(u64::from(node.level) + 1);
                if let Some(sets) = by_seat.get_mut(seat) {
                    *sets = sets.saturating_add(rules.private_views(node.round as usize));
                }
            }
        }
        let buckets = rules.thesis_buckets();
        let average = |levels: u64| if levels == 0 { 0.0 } else { sequences as f64 / levels as f64 };
        Self {
            sequences,
            terminals: tree.nodes.len() as u64 - sequences,
            levels,
            levels_with_last: levels + 1,
            buckets,
            information_sets: by_seat.iter().fold(0, |sum, &sets| sum.saturating_add(sets)),
            information_sets_by_seat: by_seat,
            thesis_information_sets: sequences.saturating_mul(buckets),
            average_sequences_per_level: average(levels),
            average_sequences_with_last: average(levels + 1),
        }
    }

    /// Counts of a game, for which it builds the betting tree.
    ///
    /// # Errors
    /// As [`BettingTree::new`].
    pub fn of(rules: &GameDef) -> Result<Self> {
        Ok(Self::new(rules, &BettingTree::new(rules)?))
    }
}

impl GameDef {
    /// Number of combinations of cards that a player can have seen by a round: own hands times boards, ignoring the order of the cards of a round, with distinct suits.
    pub fn private_views(&self, round: usize) -> u64 {
        let hole = self.n_hole_cards as u32;
        let mut left = self.deck.n_cards().saturating_sub(hole);
        let mut views = choose(self.deck.n_cards(), hole);
        for &board in self.n_board_cards.iter().take(round + 1) {
            views = views.saturating_mul(choose(left, board as u32));
            left = left.saturating_sub(board as u32);
        }
        views
    }

    /// Number of buckets of the paper: sets of a player's cards and the whole board, ignoring which cards are private.
    pub fn thesis_buckets(&self) -> u64 {
        let board: usize = self.n_board_cards.iter().sum();
        choose(self.deck.n_cards(), (self.n_hole_cards + board) as u32)
    }
}
