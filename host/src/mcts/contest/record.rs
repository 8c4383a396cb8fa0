//! What is recorded of a game.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One of the two players of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first player in the order given, not necessarily the first to move.
    A,
    /// The second.
    B,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The opponent.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// 0 or 1.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::A { "A" } else { "B" })
    }
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GameResult {
    /// A won.
    A,
    /// B won.
    B,
    /// Nobody won.
    Draw,
}

impl GameResult {
    /// 1 for a win, 0.5 for a draw, 0 for a loss of this player.
    pub fn score(self, side: Side) -> f64 {
        match (self, side) {
            (Self::Draw, _) => 0.5,
            (Self::A, Side::A) | (Self::B, Side::B) => 1.0,
            _ => 0.0,
        }
    }
}

/// The results of a player's search before a move: everything that must be equal when the search is repeated with the same seed and steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MoveRecord {
    /// Who moved.
    pub side: Side,
    /// The action played, the best of the search.
    pub action: u32,
    /// Its name.
    pub name: String,
    /// Steps of the search.
    pub steps: u64,
    /// Playouts of all its trees.
    pub playouts: u64,
    /// Playouts through the action.
    pub n: u64,
    /// Playouts through the action won by the player.
    pub wins: u64,
    /// Playouts through the action that were drawn.
    pub draws: u64,
    /// Value of the action; `None` without a playout.
    pub q: Option<f32>,
    /// Its upper confidence bound; `None` without a playout.
    pub ucb: Option<f32>,
    /// Mean depth of the trees' nodes.
    pub mean_depth: f64,
    /// Depth of the deepest.
    pub max_depth: u32,
    /// Trees that are full, see [`TreesReport::full`](crate::mcts::TreesReport::full).
    pub full_trees: u32,
}

impl MoveRecord {
    /// Lists every field that differs: its name and both values.
    fn differences(&self, now: &Self) -> Vec<String> {
        differences!(
            self, now, side, action, name, steps, playouts, n, wins, draws, q, ucb, mean_depth, max_depth, full_trees
        )
    }
}

/// A game that was played to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameRecord {
    /// Who moved first.
    pub first: Side,
    /// Seeds of the searches of A and of B.
    pub seeds: [u64; 2],
    /// How it ended.
    pub result: GameResult,
    /// The players' moves.
    pub moves: Vec<MoveRecord>,
}

impl GameRecord {
    /// The moves of one player.
    pub fn moves_of(&self, side: Side) -> impl Iterator<Item = &MoveRecord> {
        self.moves.iter().filter(move |of| of.side == side)
    }

    /// Lists every value that differs in a repetition, the earliest first: the move's number from 1, the field and both values.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (number, (old, new)) in self.moves.iter().zip(&now.moves).enumerate() {
            let place = format!("move {} ({}, {})", number + 1, old.side, old.name);
            found.extend(old.differences(new).into_iter().map(|what| format!("{place}, {what}")));
        }
        if self.moves.len() != now.moves.len() {
            found.push(format!("number of moves: recorded {}, now {}", self.moves.len(), now.moves.len()));
        }
        found.extend(differences!(self, now, first, seeds, result));
        found
    }
}
