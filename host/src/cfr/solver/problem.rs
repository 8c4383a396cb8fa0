//! What is to be solved.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cfr::game_file::GameDef;

/// What is to be solved. Made from the thing itself: `Solver::builder(game)`.
#[derive(Clone, Debug)]
pub enum Problem {
    /// A whole game of poker.
    Poker(Arc<GameDef>),
}

impl From<GameDef> for Problem {
    fn from(game: GameDef) -> Self {
        Self::Poker(Arc::new(game))
    }
}

impl From<&GameDef> for Problem {
    fn from(game: &GameDef) -> Self {
        Self::Poker(Arc::new(game.clone()))
    }
}

impl From<Arc<GameDef>> for Problem {
    fn from(game: Arc<GameDef>) -> Self {
        Self::Poker(game)
    }
}

/// A problem as it stands in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::cfr) enum Stored {
    /// The rules.
    Poker(GameDef),
}

impl Problem {
    /// Seats.
    pub fn n_players(&self) -> usize {
        match self {
            Self::Poker(game) => game.n_players,
        }
    }

    /// In one or two words, for reports: `limit 2p`, `spot`, `tree`.
    pub fn describe(&self) -> String {
        match self {
            Self::Poker(game) => {
                format!("{} {}p", if game.no_limit { "no-limit" } else { "limit" }, game.n_players)
            }
        }
    }

    /// As it stands in a file.
    pub(in crate::cfr) fn stored(&self) -> Stored {
        match self {
            Self::Poker(game) => Stored::Poker(GameDef::clone(game)),
        }
    }
}

impl Stored {
    /// The problem again; `None` for one that a file cannot hold.
    pub fn problem(&self) -> Option<Problem> {
        match self {
            Self::Poker(game) => Some(Problem::from(game.clone())),
        }
    }
}
