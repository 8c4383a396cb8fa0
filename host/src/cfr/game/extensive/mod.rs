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

#[cfg(test)]
pub(in crate::cfr) mod tests;

/// The tree of a game of this library that has this name; `None` if there is none, or if its tree is too large.
pub(in crate::cfr) fn named(name: &str) -> Option<Tree> {
    let dice = (2..=8).flat_map(|n| (1..=5).flat_map(move |dice| (2..=20).map(move |faces| (n, dice, faces))));
    let dice = dice.filter_map(|(n, dice, faces)| LiarsDice::new(n, dice, faces).ok());
    let cards = (2..=8).flat_map(|n| (1..=13).map(move |cards| (n, cards)));
    let orders = [PrizeOrder::Ascending, PrizeOrder::Descending, PrizeOrder::Random];
    let cards = cards.flat_map(|(n, cards)| orders.map(|order| Goofspiel::new(n, cards, order)));
    let mut cards = cards.filter_map(Result::ok);
    match dice.into_iter().find(|game| game.name() == name) {
        Some(game) => Tree::build(&game).ok(),
        None => Tree::build(&cards.find(|game| game.name() == name)?).ok(),
    }
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
