//! The paper's programs: one sampled deal an iteration, on the betting tree alone, with buckets in place of cards.
//!
//! ```text
//! tables [sequence][bucket][fold, call, raise]     a sequence is a node of the betting tree where somebody acts, numbered level by level;
//!                                                  a bucket is the unordered set of a player's hole cards and the board
//! ```
//!
//! An iteration deals all cards once, and updates regrets and averages of all players in one pass with the strategies before it. The gain of an
//! action is the product of the others' reach times (its utility − the node's); the average grows by own reach × strategy. Chance has no weight,
//! for what is dealt is drawn.
//!
//! [`Sampled::recursive`] walks the tree depth first in one thread. [`Sampled::by_levels`] goes through the levels under rayon: strategies and reach from
//! the first to the last, then utilities and regrets back. Both give the same bits, with any number of threads.
//!
//! # Source
//! Reis, "A GPU implementation of Counterfactual Regret Minimization", 2015.

mod deal;
mod levels;
mod recursive;
mod sequences;

pub use deal::{Dealer, Dealt, bucket};
pub use levels::Workspace;
pub use sequences::{Child, Endings, MAX_PLAYERS, Sequence, Sequences};

use std::sync::Arc;

use super::pieces::normalise;

/// Actions that a sequence has room for: fold, call, raise.
pub const N_ACTIONS: usize = 3;

/// A solve by sampled deals.
#[derive(Clone, Debug)]
pub struct Sampled {
    sequences: Arc<Sequences>,
    /// Cumulative regrets, `[sequence][bucket][action]`.
    pub regrets: Vec<f64>,
    /// Sums of own reach × strategy, in the same layout.
    pub averages: Vec<f64>,
    /// Sums of the root's utilities over the iterations, by seat.
    pub utilities: Vec<f64>,
}

impl Sampled {
    /// Starts a solve.
    pub fn new(sequences: Arc<Sequences>) -> Self {
        let (len, n_players) = (sequences.table_len(), sequences.n_players());
        Self { sequences, regrets: vec![0.0; len], averages: vec![0.0; len], utilities: vec![0.0; n_players] }
    }

    /// The betting.
    pub fn sequences(&self) -> &Arc<Sequences> {
        &self.sequences
    }

    /// The average strategy of a sequence in a bucket: fold, call, raise; uniform over legal actions if it was never played.
    pub fn average(&self, sequence: usize, bucket: usize) -> [f64; N_ACTIONS] {
        let row = self.sequences.row(sequence, bucket);
        let children = &self.sequences.all[sequence].children;
        let legal: Vec<usize> = (0..N_ACTIONS).filter(|&action| children[action].is_some()).collect();
        let mut weights: Vec<f64> = legal.iter().map(|action| self.averages[row + action]).collect();
        normalise(&mut weights);
        let mut average = [0.0; N_ACTIONS];
        legal.iter().zip(weights).for_each(|(&action, weight)| average[action] = weight);
        average
    }
}

/// The strategy of this deal's row of regrets, 0 where an action is not legal.
#[inline]
fn strategy(children: &[Option<Child>; N_ACTIONS], regrets: &[f64]) -> [f64; N_ACTIONS] {
    let mut strategy = [0.0; N_ACTIONS];
    let (mut sum, mut n_legal) = (0.0, 0.0);
    for action in (0..N_ACTIONS).filter(|&action| children[action].is_some()) {
        strategy[action] = regrets[action].max(0.0);
        sum += strategy[action];
        n_legal += 1.0;
    }
    for action in (0..N_ACTIONS).filter(|&action| children[action].is_some()) {
        strategy[action] = if sum > 0.0 { strategy[action] / sum } else { 1.0 / n_legal };
    }
    strategy
}

/// Adds an iteration to a row: `of_actions` are the acting seat's utilities after each action, `value` its utility here.
#[inline]
fn learn(
    children: &[Option<Child>; N_ACTIONS],
    strategy: &[f64; N_ACTIONS],
    of_actions: &[f64; N_ACTIONS],
    (value, own, others): (f64, f64, f64),
    regrets: &mut [f64],
    averages: &mut [f64],
) {
    for action in (0..N_ACTIONS).filter(|&action| children[action].is_some()) {
        regrets[action] += others * (of_actions[action] - value);
        averages[action] += own * strategy[action];
    }
}

/// The product of the reach of all seats but one.
#[inline]
fn others(reach: &[f64], seat: usize) -> f64 {
    reach.iter().enumerate().filter(|&(other, _)| other != seat).map(|(_, reach)| reach).product()
}
