//! How large a game is, in the measures of the literature.

use super::betting::{BettingKind, BettingTree};
use super::cards::choose;
use super::game_file::GameDef;
use crate::Result;

/// Counts of a game. Numbers that do not fit are the largest `u64`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Nodes of the betting tree at which a player acts.
    pub sequences: u64,
    /// Nodes of the betting tree where the betting has ended.
    pub terminals: u64,
    /// Levels of the betting tree on which a player acts; a node's level is its distance from the root.
    pub levels: u64,
    /// `levels` and the last one, where every line has ended: the longest line in nodes. What the paper of 2015 counts for its variant D (30), while the 3
    /// and 21 it gives for A and C are decision levels.
    pub levels_with_last: u64,
    /// Buckets of the paper: unordered sets of a player's cards and the whole board. It forgets which card is whose, so it is an abstraction.
    pub buckets: u64,
    /// Information sets with distinct suits: for each sequence, what its player may hold times the boards as they came up, round by round.
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

    /// Counts of a game, its betting tree built for that.
    ///
    /// # Errors
    /// As [`BettingTree::new`].
    pub fn of(rules: &GameDef) -> Result<Self> {
        Ok(Self::new(rules, &BettingTree::new(rules)?))
    }
}

impl GameDef {
    /// What a player can have seen of the cards by a round: own hands times boards, the cards of each round in any order, suits distinct.
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

    /// Buckets of the paper: sets of a player's cards and the whole board, which is which forgotten.
    pub fn thesis_buckets(&self) -> u64 {
        let board: usize = self.n_board_cards.iter().sum();
        choose(self.deck.n_cards(), (self.n_hole_cards + board) as u32)
    }
}
