//! What a game tells a solver.

use std::hash::Hash;

/// Whose turn it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// Chance, with the probability of each of its outcomes.
    Chance(Vec<f64>),
    /// A player.
    Player {
        /// The seat.
        seat: usize,
        /// Number of actions, at least 1.
        n_actions: usize,
    },
    /// The game is over: winnings by seat.
    End(Vec<f64>),
}

/// A game of hidden information.
pub trait Game {
    /// Everything that has happened.
    type State: Clone;
    /// A player's knowledge; equal keys of one seat denote one information set.
    type Key: Clone + Eq + Hash;

    /// Seats.
    fn n_players(&self) -> usize;
    /// The beginning.
    fn root(&self) -> Self::State;
    /// Whose turn it is.
    fn turn(&self, state: &Self::State) -> Turn;
    /// The state after outcome or action `action`, counted from 0.
    fn after(&self, state: &Self::State, action: usize) -> Self::State;
    /// The knowledge of the acting player. Not called for chance or at the end of the game.
    fn key(&self, state: &Self::State) -> Self::Key;
}
