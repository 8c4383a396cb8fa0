//! What of chance is drawn in an iteration of the vector form.

use super::game::Game;
use crate::cfr::random::Random;

/// What is drawn at random, once for each seat's pass. The rest is traversed completely.
///
/// Boards are drawn uniformly, hands in proportion to their weights; if they share cards, the pass learns nothing. Values are divided by the probability of the board and of
/// the opponent's hand, so that regrets are unbiased; the probability of the own hand is not divided out, since it scales all regrets of a hand alike, which does not affect
/// regret matching.
///
/// # Source
/// Johanson, Bard, Lanctot, Gibson and Bowling, "Efficient Nash Equilibrium Approximation through Monte Carlo Counterfactual Regret
/// Minimization", 2012.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// Nothing.
    #[default]
    None,
    /// The boards.
    PublicChance,
    /// The boards and the opponent's hand.
    OpponentPublic,
    /// The boards and the own hand.
    SelfPublic,
    /// The boards and both hands.
    Chance,
}

/// What was drawn for a pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Draw {
    /// The board of each round; `None` for all of them.
    pub boards: Option<Vec<usize>>,
    /// The only hand that learns; `None` for all.
    pub own: Option<usize>,
    /// The opponent's only hand; `None` for all.
    pub other: Option<usize>,
}

impl Draw {
    /// Draws for a pass of `seat`.
    pub fn new(game: &Game, sampling: Sampling, seat: usize, random: &mut Random) -> Self {
        if sampling == Sampling::None {
            return Self::default();
        }
        let mut boards = Vec::new();
        let mut parent = 0;
        for round in &game.rounds {
            let first = round.partition_point(|board| board.parent < parent);
            let n = round[first..].partition_point(|board| board.parent == parent);
            parent = first + random.below(n);
            boards.push(parent);
        }
        let mut hand = |seat: usize, wanted: bool| wanted.then(|| random.draw(&game.weights[seat]));
        let own = hand(seat, matches!(sampling, Sampling::SelfPublic | Sampling::Chance));
        let other = hand(1 - seat, matches!(sampling, Sampling::OpponentPublic | Sampling::Chance));
        Self { boards: Some(boards), own, other }
    }

    /// The opponent's reach at the root: its weights, or all of them on the hand that was drawn.
    pub fn reach(&self, weights: &[f64]) -> Vec<f64> {
        let Some(hand) = self.other else { return weights.to_vec() };
        let mut reach = vec![0.0; weights.len()];
        reach[hand] = weights.iter().sum();
        reach
    }

    /// The hands that learn.
    pub fn hands(&self, n_hands: usize) -> std::ops::Range<usize> {
        self.own.map_or(0..n_hands, |hand| hand..hand + 1)
    }

    /// An estimate of the expected winnings of all hands from the values of those that learn.
    pub fn winnings(&self, weights: &[f64], values: &[f64]) -> f64 {
        match self.own {
            None => weights.iter().zip(values).map(|(weight, value)| weight * value).sum(),
            Some(hand) => weights.iter().sum::<f64>() * values[hand],
        }
    }
}
