//! Games in extensive form: a trait for the rules of any game with turns, chance and hidden information, and its tree written out. The page of
//! [`game`](super) has an example.

mod build;
mod goofspiel;
mod liars_dice;
mod matrix;
mod poker;
mod tree;

pub use goofspiel::{Goofspiel, PrizeOrder};
pub use liars_dice::LiarsDice;
pub use matrix::MatrixGame;
pub use poker::Poker;
pub use tree::{InformationSet, Tree};

use crate::Result;

#[cfg(test)]
pub(in crate::cfr) mod tests;

/// The tree of the [`LiarsDice`] or [`Goofspiel`] that has this name; `None` if neither has.
///
/// # Errors
/// As [`Tree::build`].
pub(in crate::cfr) fn named(name: &str) -> Result<Option<Tree>> {
    if let Some(game) = LiarsDice::all().find(|game| game.name() == name) {
        return Tree::build(&game).map(Some);
    }
    Goofspiel::all().find(|game| game.name() == name).map(|game| Tree::build(&game)).transpose()
}

/// What happens next in a state of a game.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// A chance event: the probability of each outcome, above 0, with sum 1.
    Chance(Vec<f64>),
    /// A seat acts.
    Decision {
        /// The seat, from 0.
        seat: usize,
        /// Number of actions, at least 1.
        n_actions: usize,
    },
    /// The game is over: the payoff to each seat.
    End(Vec<f64>),
}

/// The rules of a game in extensive form, with perfect recall: a player's present knowledge includes everything that the player knew and did before.
pub trait Game {
    /// The part of a history that the rules need.
    type State: Clone;

    /// Name of the game.
    fn name(&self) -> String;

    /// Seats.
    fn n_players(&self) -> usize;

    /// The state before anything has happened.
    fn root(&self) -> Self::State;

    /// What happens next.
    fn turn(&self, state: &Self::State) -> Turn;

    /// The state after outcome or action number `action`, below the number that [`turn`](Self::turn) gives.
    fn next(&self, state: &Self::State, action: usize) -> Self::State;

    /// Identifies the knowledge of the acting seat: two states are in one information set if the same seat acts and the keys are equal. Called for decisions only.
    fn key(&self, state: &Self::State) -> String;

    /// Name of an action of the acting seat; by default its number.
    fn action_name(&self, state: &Self::State, action: usize) -> String {
        let _ = state;
        action.to_string()
    }

    /// Total number of histories, if the game can compute it without a walk, so that a tree that cannot fit is refused at once.
    fn n_histories(&self) -> Option<u128> {
        None
    }
}
