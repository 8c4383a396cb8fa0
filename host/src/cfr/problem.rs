//! What is to be solved.

use std::path::Path;
use std::sync::Arc;

use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use crate::cfr::abstraction::{self, Abstraction};
use crate::cfr::game::extensive::{self, Tree};
use crate::cfr::game::game_file::GameDef;
use crate::cfr::spot::Spot;
use crate::cfr::subgame::Subgame;
use crate::runtime::tensors::Tensor;
use crate::{Error, Result};

/// The problem to be solved. A game, spot or tree converts into one: `Solver::builder(game)`.
#[derive(Clone, Debug)]
pub enum Problem {
    /// A whole game of poker.
    Poker(Arc<GameDef>),
    /// A whole game of poker whose players know buckets of cards only; [`Problem::abstracted`] checks that they are of the game.
    Abstracted(Arc<GameDef>, Arc<Abstraction>),
    /// Hold'em from the flop, turn or river on.
    Spot(Arc<Spot>),
    /// The rest of a game of poker, re-solved for one seat.
    Subgame(Arc<Subgame>),
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

impl From<Subgame> for Problem {
    fn from(subgame: Subgame) -> Self {
        Self::Subgame(Arc::new(subgame))
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
    /// The rules, and what tells the buckets, which are among the file's tensors.
    Abstracted(GameDef, abstraction::Head),
    /// The spot.
    Spot(Spot),
    /// The subgame.
    Subgame(Subgame),
    /// The name of a tree, from which [`extensive::named`] builds those of the library's games; a file does not hold its rules.
    Tree(String),
}

impl Problem {
    /// A game of poker whose players know the bucket of their cards in each round instead of the cards.
    ///
    /// # Errors
    /// [`Error::Option`] if the abstraction is of other cards.
    pub fn abstracted(game: impl Into<Arc<GameDef>>, abstraction: impl Into<Arc<Abstraction>>) -> Result<Self> {
        let (game, abstraction) = (game.into(), abstraction.into());
        abstraction.check_fits(&game)?;
        Ok(Self::Abstracted(game, abstraction))
    }

    /// The rules of a whole game of poker, with or without buckets; `None` for anything else.
    pub fn rules(&self) -> Option<&Arc<GameDef>> {
        match self {
            Self::Poker(game) | Self::Abstracted(game, _) => Some(game),
            Self::Spot(_) | Self::Subgame(_) | Self::Tree(_) => None,
        }
    }

    /// Whether strategies of both play the same game, whatever their players know of the cards.
    pub(in crate::cfr) fn is_same_game(&self, other: &Self) -> bool {
        match (self.rules(), other.rules()) {
            (Some(own), Some(others)) => own == others,
            _ => self.stored() == other.stored(),
        }
    }

    /// Seats.
    pub fn n_players(&self) -> usize {
        match self {
            Self::Poker(game) | Self::Abstracted(game, _) => game.n_players,
            Self::Spot(_) | Self::Subgame(_) => 2,
            Self::Tree(tree) => tree.n_players(),
        }
    }

    /// A short description for reports: `limit 2p`, `spot`, `subgame of seat 0 after cc/ on 4c`, or the name of a tree.
    pub fn describe(&self) -> String {
        match self {
            Self::Poker(game) => {
                format!("{} {}p", if game.no_limit { "no-limit" } else { "limit" }, game.n_players)
            }
            Self::Abstracted(game, abstraction) => {
                format!("{} with {abstraction}", Self::Poker(Arc::clone(game)).describe())
            }
            Self::Spot(_) => "spot".to_string(),
            Self::Subgame(subgame) => subgame.describe(),
            Self::Tree(tree) => tree.name().to_string(),
        }
    }

    /// What a file holds of the problem beside its stored form.
    pub(in crate::cfr) fn tensors(&self) -> Vec<Tensor> {
        match self {
            Self::Abstracted(_, abstraction) => abstraction.tensors(),
            Self::Poker(_) | Self::Spot(_) | Self::Subgame(_) | Self::Tree(_) => Vec::new(),
        }
    }

    /// The form stored in a file.
    pub(in crate::cfr) fn stored(&self) -> Stored {
        match self {
            Self::Poker(game) => Stored::Poker(GameDef::clone(game)),
            Self::Abstracted(game, abstraction) => Stored::Abstracted(GameDef::clone(game), abstraction.head()),
            Self::Spot(spot) => Stored::Spot(Spot::clone(spot)),
            Self::Subgame(subgame) => Stored::Subgame(Subgame::clone(subgame)),
            Self::Tree(tree) => Stored::Tree(tree.name().to_string()),
        }
    }
}

impl Stored {
    /// The problem with the buckets that it was stored with; `None` for a tree of another game than [`extensive::named`] knows.
    ///
    /// # Errors
    /// As [`extensive::named`].
    pub fn with(&self, abstraction: Option<&Arc<Abstraction>>) -> Result<Option<Problem>> {
        Ok(match self {
            Self::Poker(game) => Some(Problem::from(game)),
            Self::Abstracted(game, _) => {
                abstraction.map(|abstraction| Problem::Abstracted(Arc::new(game.clone()), Arc::clone(abstraction)))
            }
            Self::Spot(spot) => Some(Problem::from(spot)),
            Self::Subgame(subgame) => Some(Problem::from(subgame.clone())),
            Self::Tree(name) => extensive::named(name)?.map(Problem::from),
        })
    }

    /// Checks what a file says of the problem, and reads its buckets from the file's tensors, if it has any.
    ///
    /// # Errors
    /// [`Error::File`] for rules that are none, and buckets that are missing or not of the game.
    pub fn buckets(&self, path: &Path, file: &SafeTensors<'_>) -> Result<Option<Arc<Abstraction>>> {
        let wrong = |error: Error| Error::file(path, None, error.to_string());
        if let Self::Poker(game) | Self::Abstracted(game, _) = self {
            game.check().map_err(wrong)?;
        }
        if let Self::Subgame(subgame) = self {
            subgame.check().map_err(wrong)?;
        }
        let Self::Abstracted(game, head) = self else { return Ok(None) };
        let abstraction = Arc::new(Abstraction::from_tensors(head, path, file)?);
        abstraction.check_fits(game).map_err(wrong)?;
        Ok(Some(abstraction))
    }
}
