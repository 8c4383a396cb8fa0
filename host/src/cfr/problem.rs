//! What is to be solved.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cfr::game::extensive::Tree;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::spot::Spot;

/// The problem to be solved. A game, spot or tree converts into one: `Solver::builder(game)`.
#[derive(Clone, Debug)]
pub enum Problem {
    /// A whole game of poker.
    Poker(Arc<GameDef>),
    /// Hold'em from the flop, turn or river on.
    Spot(Arc<Spot>),
    /// Any game, as an explicit tree.
    Tree(Arc<Tree>),
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

impl From<Spot> for Problem {
    fn from(spot: Spot) -> Self {
        Self::Spot(Arc::new(spot))
    }
}

impl From<&Spot> for Problem {
    fn from(spot: &Spot) -> Self {
        Self::Spot(Arc::new(spot.clone()))
    }
}

impl From<Tree> for Problem {
    fn from(tree: Tree) -> Self {
        Self::Tree(Arc::new(tree))
    }
}

impl From<Arc<Tree>> for Problem {
    fn from(tree: Arc<Tree>) -> Self {
        Self::Tree(tree)
    }
}

/// A problem as stored in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(clippy::large_enum_variant, reason = "there is one of it")]
pub(in crate::cfr) enum Stored {
    /// The rules.
    Poker(GameDef),
    /// The spot.
    Spot(Spot),
    /// The name of a tree; a file cannot hold its rules.
    Tree(String),
}

impl Problem {
    /// Seats.
    pub fn n_players(&self) -> usize {
        match self {
            Self::Poker(game) => game.n_players,
            Self::Spot(_) => 2,
            Self::Tree(tree) => tree.n_players(),
        }
    }

    /// A description in one or two words, for reports: `limit 2p`, `spot`, `tree`.
    pub fn describe(&self) -> String {
        match self {
            Self::Poker(game) => {
                format!("{} {}p", if game.no_limit { "no-limit" } else { "limit" }, game.n_players)
            }
            Self::Spot(_) => "spot".to_string(),
            Self::Tree(tree) => tree.name().to_string(),
        }
    }

    /// The form stored in a file.
    pub(in crate::cfr) fn stored(&self) -> Stored {
        match self {
            Self::Poker(game) => Stored::Poker(GameDef::clone(game)),
            Self::Spot(spot) => Stored::Spot(Spot::clone(spot)),
            Self::Tree(tree) => Stored::Tree(tree.name().to_string()),
        }
    }
}

impl Stored {
    /// Restores the problem; `None` if a file cannot hold it.
    pub fn problem(&self) -> Option<Problem> {
        match self {
            Self::Poker(game) => Some(Problem::from(game)),
            Self::Spot(spot) => Some(Problem::from(spot)),
            Self::Tree(_) => None,
        }
    }
}
