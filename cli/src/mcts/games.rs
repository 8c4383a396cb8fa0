//! The games by name.

use std::fmt;

use clap::ValueEnum;
use warpplay::mcts::contest::GameRecord;
use warpplay::mcts::{
    Checkers, Connect4, Connect4Large, Gomoku, GomokuFree, GomokuLarge, KernelSet, Notation, Outcome,
};
use warpplay_example_hex::Hex;
use warpplay_example_lights_out::LightsOut;

/// A game that can be searched.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameName {
    /// Connect 4, 6 rows and 7 columns
    #[value(name = "connect4")]
    Connect4,
    /// Connect 4, 8 rows and 8 columns
    #[value(name = "connect4_8x8")]
    Connect4Large,
    /// Gomoku 15 x 15, exactly five in a row win
    #[value(name = "gomoku")]
    Gomoku,
    /// Gomoku 15 x 15, five or more win
    #[value(name = "gomoku_free")]
    GomokuFree,
    /// Gomoku 19 x 19, exactly five win
    #[value(name = "gomoku_19")]
    GomokuLarge,
    /// Checkers (English draughts) 8 x 8, each jump a move of its own
    #[value(name = "checkers")]
    Checkers,
    /// Hex 11 x 11
    #[value(name = "hex")]
    Hex,
    /// Lights Out 5 x 5, a puzzle for one player
    #[value(name = "lights_out")]
    LightsOut,
}

/// Work that is written once for all games.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// The work, with the game as `G`.
    fn visit<G: KernelSet + Notation>(self) -> Self::Output;
}

impl GameName {
    /// The game with that name; the names are those of [`Game::NAME`].
    pub fn find(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// Does the visitor's work with this game.
    pub fn visit<V: Visitor>(self, visitor: V) -> V::Output {
        match self {
            Self::Connect4 => visitor.visit::<Connect4>(),
            Self::Connect4Large => visitor.visit::<Connect4Large>(),
            Self::Gomoku => visitor.visit::<Gomoku>(),
            Self::GomokuFree => visitor.visit::<GomokuFree>(),
            Self::GomokuLarge => visitor.visit::<GomokuLarge>(),
            Self::Checkers => visitor.visit::<Checkers>(),
            Self::Hex => visitor.visit::<Hex>(),
            Self::LightsOut => visitor.visit::<LightsOut>(),
        }
    }
}

impl fmt::Display for GameName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(value) => f.write_str(value.get_name()),
            None => f.write_str("?"),
        }
    }
}

/// The outcome in words.
pub fn outcome_text<G: Notation>(outcome: Outcome) -> String {
    match outcome {
        Outcome::Ongoing => "the game is not over".to_string(),
        Outcome::Draw => "a draw".to_string(),
        Outcome::Win(player) => format!("{} wins", G::symbol(player)),
    }
}

/// Whether only one player ever moves: a puzzle. Looked up by playing one move.
pub fn is_puzzle<G: Notation>() -> bool {
    let start = G::start();
    let moved = (0..G::MAX_ACTIONS).find(|&action| start.is_legal(action)).map(|action| {
        let mut next = start;
        next.apply(action);
        next
    });
    moved.is_some_and(|next| next.to_move() == start.to_move())
}

/// A game as one string: what led to its first position, then its moves.
pub fn game_text<G: Notation>(opening: &[u32], game: &GameRecord) -> String {
    let actions: Vec<u32> = opening.iter().copied().chain(game.moves.iter().map(|found| found.action)).collect();
    moves_text::<G>(&actions)
}

/// Moves as one string, which can be read again.
pub fn moves_text<G: Notation>(actions: &[u32]) -> String {
    actions.iter().map(|&action| G::action_name(action)).collect()
}
