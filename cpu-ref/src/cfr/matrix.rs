//! Games of one simultaneous move, and regret matching on them.
//!
//! # Source
//! Hart and Mas-Colell, "A Simple Adaptive Procedure Leading to Correlated Equilibrium", 2000; worked examples as in Neller and Lanctot,
//! "An Introduction to Counterfactual Regret Minimization", 2013.

use super::pieces::{match_regrets, normalise};
use super::random::Random;
use super::tree::{Game, Turn};

/// A game of two players who choose at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixGame {
    /// Winnings of both, `[action of the first][action of the second]`.
    pub winnings: Vec<Vec<[f64; 2]>>,
}

impl MatrixGame {
    /// Rock, paper, scissors, in this order: the winner gets 1 from the loser.
    pub fn rock_paper_scissors() -> Self {
        let result = |own: usize, other: usize| [0.0, 1.0, -1.0][(own + 3 - other) % 3];
        let cell = |row, column| [result(row, column), result(column, row)];
        Self { winnings: (0..3).map(|row| (0..3).map(|column| cell(row, column)).collect()).collect() }
    }

    /// Cooperate or defect, in this order. Winnings are 4 minus the years in prison: 1 each if both stay silent, 3 each if both confess; if one confesses, none for that
    /// player and 4 for the other.
    pub fn prisoners_dilemma() -> Self {
        Self { winnings: vec![vec![[3.0, 3.0], [0.0, 4.0]], vec![[4.0, 0.0], [1.0, 1.0]]] }
    }

    /// Actions of a seat.
    pub fn n_actions(&self, seat: usize) -> usize {
        if seat == 0 { self.winnings.len() } else { self.winnings[0].len() }
    }

    /// The winnings of `seat` with action `own` against action `other`.
    pub fn wins(&self, seat: usize, own: usize, other: usize) -> f64 {
        if seat == 0 { self.winnings[own][other][0] } else { self.winnings[other][own][1] }
    }

    /// The expected winnings of each action of `seat` against a strategy of the other.
    pub fn against(&self, seat: usize, other: &[f64]) -> Vec<f64> {
        let value = |own| other.iter().enumerate().map(|(action, p)| p * self.wins(seat, own, action)).sum();
        (0..self.n_actions(seat)).map(value).collect()
    }
}

/// Regret matching of one seat.
#[derive(Clone, Debug, PartialEq)]
pub struct Learner {
    /// Cumulative regrets.
    pub regrets: Vec<f64>,
    /// Sum of the strategies used.
    pub sums: Vec<f64>,
}

impl Learner {
    /// A learner that has learnt nothing yet.
    pub fn new(n_actions: usize) -> Self {
        Self { regrets: vec![0.0; n_actions], sums: vec![0.0; n_actions] }
    }

    /// The strategy of the next round.
    pub fn strategy(&self) -> Vec<f64> {
        let mut strategy = vec![0.0; self.regrets.len()];
        match_regrets(&self.regrets, &mut strategy);
        strategy
    }

    /// The average strategy so far.
    pub fn average(&self) -> Vec<f64> {
        let mut average = self.sums.clone();
        normalise(&mut average);
        average
    }

    /// Learns from a round in which `strategy` was used and action `a` would have won `of_actions[a]`; the round itself won `value`.
    pub fn learn(&mut self, strategy: &[f64], of_actions: &[f64], value: f64) {
        self.regrets.iter_mut().zip(of_actions).for_each(|(regret, of_action)| *regret += of_action - value);
        self.sums.iter_mut().zip(strategy).for_each(|(sum, p)| *sum += p);
    }

    /// A round against a strategy, by expectation.
    pub fn round(&mut self, game: &MatrixGame, seat: usize, other: &[f64]) {
        let (strategy, of_actions) = (self.strategy(), game.against(seat, other));
        let value = of_actions.iter().zip(&strategy).map(|(of_action, p)| of_action * p).sum();
        self.learn(&strategy, &of_actions, value);
    }
}

/// Both seats learn from each other for `rounds` rounds, by expectation.
pub fn self_play(game: &MatrixGame, learners: &mut [Learner; 2], rounds: u64) {
    for _ in 0..rounds {
        let strategies = [learners[0].strategy(), learners[1].strategy()];
        learners[0].round(game, 0, &strategies[1]);
        learners[1].round(game, 1, &strategies[0]);
    }
}

/// As [`self_play`], with actions drawn at random, as in the textbook.
pub fn sampled_self_play(game: &MatrixGame, learners: &mut [Learner; 2], rounds: u64, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..rounds {
        let strategies = [learners[0].strategy(), learners[1].strategy()];
        let actions = [random.draw(&strategies[0]), random.draw(&strategies[1])];
        for seat in 0..2 {
            let (own, other) = (actions[seat], actions[1 - seat]);
            let of_actions: Vec<f64> = (0..game.n_actions(seat)).map(|action| game.wins(seat, action, other)).collect();
            learners[seat].learn(&strategies[seat], &of_actions, of_actions[own]);
        }
    }
}

/// The game as a tree: the second player moves without knowing the first player's action. Keys are seats.
impl Game for MatrixGame {
    type State = Vec<usize>;
    type Key = usize;

    fn n_players(&self) -> usize {
        2
    }

    fn root(&self) -> Vec<usize> {
        Vec::new()
    }

    fn turn(&self, state: &Vec<usize>) -> Turn {
        match state[..] {
            [first, second, ..] => Turn::End(self.winnings[first][second].to_vec()),
            _ => Turn::Player { seat: state.len(), n_actions: self.n_actions(state.len()) },
        }
    }

    fn after(&self, state: &Vec<usize>, action: usize) -> Vec<usize> {
        let mut next = state.clone();
        next.push(action);
        next
    }

    fn key(&self, state: &Vec<usize>) -> usize {
        state.len()
    }
}
