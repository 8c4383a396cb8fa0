//! Monte Carlo counterfactual regret minimisation on explicit trees: each pass looks at a part of the tree that is drawn at random.
//!
//! | sampling | drawn | looked at |
//! | --- | --- | --- |
//! | [`Sampling::Chance`] | chance | all actions of all players |
//! | [`Sampling::External`] | chance and the others' actions | all own actions |
//! | [`Sampling::Outcome`] | everything; own actions with exploration | one line |
//!
//! An iteration has a pass for each seat, from the strategies as they are. What is drawn has probability 1 in the passes' values, or is
//! divided by its probability, so that every regret grows as it would in full on average. For public chance sampling and its kin
//! see [`vector`](super::vector).
//!
//! # Source
//! Lanctot, Waugh, Zinkevich and Bowling, "Monte Carlo Sampling for Regret Minimization in Extensive Games", 2009; averages and
//! outcome sampling as OpenSpiel does them.

mod external;
mod outcome;

use std::sync::Arc;

use super::pieces::match_regrets;
use super::random::Random;
use super::tree::{InformationSet, Node, Profile, Tree};

/// What is drawn at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// Chance alone.
    Chance,
    /// Chance and the others' actions. The seat after the learning one adds its strategies to its average at each set that the pass visits.
    External,
    /// One line of play; own actions are drawn uniformly with this probability, else from the strategy.
    Outcome {
        /// The probability, above 0 and up to 1.
        exploration: f64,
    },
}

/// The complete state of a solve between two iterations. Tables are by seat, with entries in the order of the tree's sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Iterations done.
    pub iteration: u64,
    /// Cumulative regrets.
    pub regrets: Vec<Vec<f64>>,
    /// Weighted sums of strategies.
    pub averages: Vec<Vec<f64>>,
    /// Sums over the iterations of the estimated winnings of the strategies used.
    pub utilities: Vec<f64>,
    /// The generator.
    pub random: u64,
}

/// A solve in progress.
#[derive(Clone, Debug)]
pub struct Solver<K> {
    tree: Arc<Tree<K>>,
    sampling: Sampling,
    state: State,
}

/// The data of a pass.
struct Pass<'a, K> {
    tree: &'a Tree<K>,
    seat: usize,
    regrets: &'a mut [Vec<f64>],
    averages: &'a mut [Vec<f64>],
    random: Random,
}

impl<K> Pass<'_, K> {
    /// The strategy at a set, matched from its regrets as they are.
    fn strategy(&self, set: &InformationSet<K>) -> Vec<f64> {
        let mut strategy = vec![0.0; set.n_actions];
        match_regrets(&self.regrets[set.seat][set.offset..set.offset + set.n_actions], &mut strategy);
        strategy
    }

    /// Adds to a set's regrets `weight` times the difference between each action's value and the set's.
    fn add_regrets(&mut self, set: &InformationSet<K>, weight: f64, of_actions: &[f64], value: f64) {
        let regrets = &mut self.regrets[set.seat][set.offset..set.offset + set.n_actions];
        regrets.iter_mut().zip(of_actions).for_each(|(regret, of_action)| *regret += weight * (of_action - value));
    }

    /// Adds `weight` times a strategy to a set's average.
    fn add_average(&mut self, set: &InformationSet<K>, weight: f64, strategy: &[f64]) {
        let averages = &mut self.averages[set.seat][set.offset..set.offset + set.n_actions];
        averages.iter_mut().zip(strategy).for_each(|(average, probability)| *average += weight * probability);
    }

    /// Draws an outcome of chance: the child, and the outcome's probability.
    fn chance(&mut self, first: u32, n: u32) -> (u32, f64) {
        let probabilities = self.tree.probabilities(first, n as usize);
        let drawn = self.random.draw(probabilities);
        (self.tree.children(first, n as usize)[drawn], probabilities[drawn])
    }

    /// The seat's expected winnings on one deal; `own` is its reach, `others` the other players' without chance.
    fn full(&mut self, node: u32, own: f64, others: f64) -> f64 {
        let tree = self.tree;
        match tree.nodes()[node as usize] {
            Node::End(row) => tree.winnings(row)[self.seat],
            Node::Chance { first, n } => {
                let (child, _) = self.chance(first, n);
                self.full(child, own, others)
            }
            Node::Player { set, first } => {
                let set = &tree.sets()[set as usize];
                let strategy = self.strategy(set);
                let children = tree.children(first, set.n_actions);
                let learns = set.seat == self.seat;
                let mut of_actions = Vec::with_capacity(set.n_actions);
                for (&child, p) in children.iter().zip(&strategy) {
                    let (own, others) = if learns { (own * p, others) } else { (own, others * p) };
                    of_actions.push(self.full(child, own, others));
                }
                let value = of_actions.iter().zip(&strategy).map(|(of_action, p)| of_action * p).sum();
                if learns {
                    self.add_regrets(set, others, &of_actions, value);
                    self.add_average(set, own, &strategy);
                }
                value
            }
        }
    }
}

impl<K> Solver<K> {
    /// Starts a solve; all strategies are uniform.
    pub fn new(tree: Arc<Tree<K>>, sampling: Sampling, seed: u64) -> Self {
        let zeros: Vec<Vec<f64>> = (0..tree.n_players()).map(|seat| vec![0.0; tree.table_len(seat)]).collect();
        let state = State {
            iteration: 0,
            regrets: zeros.clone(),
            averages: zeros,
            utilities: vec![0.0; tree.n_players()],
            random: seed,
        };
        Self { tree, sampling, state }
    }

    /// The tree.
    pub fn tree(&self) -> &Arc<Tree<K>> {
        &self.tree
    }

    /// The state of the solve.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Restores `state`, which a solve of the same tree returned; the solve then continues with the same bits as if it had never stopped.
    pub fn set_state(&mut self, state: State) {
        self.state = state;
    }

    /// Runs `n` more iterations.
    pub fn iterate(&mut self, n: u64) {
        let tree = self.tree.clone();
        for _ in 0..n {
            self.state.iteration += 1;
            for seat in 0..tree.n_players() {
                let State { regrets, averages, utilities, random, .. } = &mut self.state;
                let mut pass = Pass { tree: &tree, seat, regrets, averages, random: Random(*random) };
                utilities[seat] += match self.sampling {
                    Sampling::Chance => pass.full(0, 1.0, 1.0),
                    Sampling::External => pass.external(0),
                    Sampling::Outcome { exploration } => pass.outcome(0, exploration, 1.0, 1.0, 1.0),
                };
                *random = pass.random.0;
            }
        }
    }

    /// The average strategies; uniform in sets that were never reached.
    pub fn average(&self) -> Profile {
        Profile::from_weights(&self.tree, &self.state.averages)
    }

    /// Expected winnings by seat if all play the average strategies.
    pub fn values(&self) -> Vec<f64> {
        self.average().values(&self.tree)
    }

    /// Σ over seats of (best response − value) against the average strategies.
    pub fn nash_conv(&self) -> f64 {
        self.average().nash_conv(&self.tree)
    }
}
