//! Games in normal form: every seat chooses once, without seeing the others.

use super::{Game, Turn};
use crate::{Error, Result};

/// A game in normal form, as a tree: the seats act one after the other without seeing earlier actions.
///
/// ```
/// use warpplay::cfr::{MatrixGame, Tree};
/// let tree = Tree::build(&MatrixGame::rock_paper_scissors())?;
/// assert_eq!((tree.n_ends(), tree.sets().len()), (9, 2));
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixGame {
    name: String,
    actions: Vec<Vec<String>>,
    payoffs: Vec<Vec<f64>>,
}

impl MatrixGame {
    /// A game with the names of each seat's actions, and the payoffs to all seats for each joint action, the last seat's action varying fastest.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no seats, a seat has no action, or the payoffs are not one line per joint action with one payoff per seat.
    pub fn new(name: impl Into<String>, actions: Vec<Vec<String>>, payoffs: Vec<Vec<f64>>) -> Result<Self> {
        let name = name.into();
        if actions.is_empty() || actions.iter().any(Vec::is_empty) {
            let counts: Vec<usize> = actions.iter().map(Vec::len).collect();
            return Err(Error::shape(format!("actions of {name}"), "at least 1 for each seat", format!("{counts:?}")));
        }
        let n_joint = actions.iter().fold(1usize, |n, of_seat| n.saturating_mul(of_seat.len()));
        if payoffs.len() != n_joint {
            return Err(Error::shape(format!("payoffs of {name}"), format!("{n_joint} lines"), payoffs.len()));
        }
        if let Some(line) = payoffs.iter().find(|line| line.len() != actions.len()) {
            let expected = format!("one for each of {} seats", actions.len());
            return Err(Error::shape(format!("payoffs of {name}"), expected, format!("{line:?}")));
        }
        Ok(Self { name, actions, payoffs })
    }

    /// A zero-sum game of two seats; `payoffs[row][column]` are those of the first.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn zero_sum(name: impl Into<String>, rows: &[&str], columns: &[&str], payoffs: &[&[f64]]) -> Result<Self> {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let lines = payoffs.iter().flat_map(|line| line.iter().map(|&payoff| vec![payoff, -payoff])).collect();
        Self::new(name, vec![names(rows), names(columns)], lines)
    }

    /// Rock, paper, scissors: 1 to the winner.
    pub fn rock_paper_scissors() -> Self {
        let actions = ["rock", "paper", "scissors"].map(str::to_string).to_vec();
        let payoff = |row: usize, column: usize| match (3 + row - column) % 3 {
            0 => 0.0,
            1 => 1.0,
            _ => -1.0,
        };
        let lines = (0..9).map(|joint| payoff(joint / 3, joint % 3)).map(|payoff| vec![payoff, -payoff]).collect();
        Self { name: "rock paper scissors".to_string(), actions: vec![actions.clone(), actions], payoffs: lines }
    }

    /// The prisoner's dilemma as in Osborne and Rubinstein, "A Course in Game Theory", 1994, section 2.3 (Reis 2015, figure 3): sentences of 1 year each if both are silent,
    /// 3 each if both confess, 0 and 4 if one does; payoffs are 4 minus the years.
    pub fn prisoners_dilemma() -> Self {
        let actions = ["silent", "confess"].map(str::to_string).to_vec();
        let payoffs = vec![vec![3.0, 3.0], vec![0.0, 4.0], vec![4.0, 0.0], vec![1.0, 1.0]];
        Self { name: "prisoner's dilemma".to_string(), actions: vec![actions.clone(), actions], payoffs }
    }
}

impl Game for MatrixGame {
    /// Seats that have acted, and the joint action so far.
    type State = (usize, usize);

    fn name(&self) -> String {
        self.name.clone()
    }

    fn n_players(&self) -> usize {
        self.actions.len()
    }

    fn root(&self) -> Self::State {
        (0, 0)
    }

    fn turn(&self, &(seat, joint): &Self::State) -> Turn {
        match self.actions.get(seat) {
            Some(actions) => Turn::Decision { seat, n_actions: actions.len() },
            None => Turn::End(self.payoffs[joint].clone()),
        }
    }

    fn next(&self, &(seat, joint): &Self::State, action: usize) -> Self::State {
        (seat + 1, joint * self.actions[seat].len() + action)
    }

    fn key(&self, &(seat, _): &Self::State) -> String {
        seat.to_string()
    }

    fn action_name(&self, &(seat, _): &Self::State, action: usize) -> String {
        self.actions[seat][action].clone()
    }
}
