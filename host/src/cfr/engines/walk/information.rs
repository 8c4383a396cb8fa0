//! What a player knows of the cards, as buckets.

use std::fmt;
use std::sync::Arc;

use crate::cfr::game::cards::{CardSet, choose, colex_rank};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::game::{Buckets, Unordered};
use crate::{Error, Result};

/// What a player knows about the cards.
#[derive(Clone, Default)]
pub enum Information {
    /// Hole cards and board; only the order of the board's cards is ignored.
    #[default]
    Exact,
    /// As in the paper: hole cards and board as one unordered set.
    Unordered,
    /// Buckets provided by the caller. Their numbers are asked for once, when the game is laid out; a bucket that is not below counts as the last one.
    Buckets(Arc<dyn Buckets>),
}

impl fmt::Debug for Information {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "Exact",
            Self::Unordered => "Unordered",
            Self::Buckets(_) => "Buckets",
        })
    }
}

/// The caller's buckets, with their numbers at the start, for which the tables have room.
struct Custom {
    buckets: Arc<dyn Buckets>,
    counts: Vec<u32>,
}

impl Buckets for Custom {
    fn n_buckets(&self, round: usize) -> u32 {
        self.counts[round]
    }

    fn bucket(&self, round: usize, hole: CardSet, board: CardSet) -> u32 {
        // Another would be an index outside the tables.
        self.buckets.bucket(round, hole, board).min(self.counts[round].saturating_sub(1))
    }
}

/// Position of the hole cards among all, times the number of boards, plus the position of the board.
struct Exact {
    /// Boards of each round.
    boards: Vec<u64>,
    counts: Vec<u32>,
}

impl Exact {
    fn new(game: &GameDef) -> Option<Self> {
        let (n_cards, mut n_board) = (game.deck.n_cards(), 0);
        let (mut boards, mut counts) = (Vec::new(), Vec::new());
        for &more in &game.n_board_cards {
            n_board += more;
            boards.push(choose(n_cards, n_board as u32));
            let holes = choose(n_cards, game.n_hole_cards as u32);
            counts.push(u32::try_from(holes.checked_mul(boards[boards.len() - 1])?).ok()?);
        }
        Some(Self { boards, counts })
    }
}

impl Buckets for Exact {
    fn n_buckets(&self, round: usize) -> u32 {
        self.counts[round]
    }

    fn bucket(&self, round: usize, hole: CardSet, board: CardSet) -> u32 {
        (colex_rank(hole) * self.boards[round] + colex_rank(board)) as u32
    }
}

impl Information {
    pub(super) fn of(&self, game: &GameDef) -> Result<Arc<dyn Buckets>> {
        let too_many =
            || Error::option("information", format!("{self:?}"), "buckets, 2³² at most, for a game with so many hands");
        Ok(match self {
            Self::Exact => Arc::new(Exact::new(game).ok_or_else(too_many)?),
            Self::Unordered => Arc::new(Unordered::new(game).ok_or_else(too_many)?),
            Self::Buckets(buckets) => {
                let counts: Vec<u32> = (0..game.n_rounds).map(|round| buckets.n_buckets(round)).collect();
                if let Some(round) = counts.iter().position(|&n| n == 0) {
                    return Err(Error::option("buckets", 0, format!("at least 1 in round {}", round + 1)));
                }
                Arc::new(Custom { buckets: Arc::clone(buckets), counts })
            }
        })
    }
}
