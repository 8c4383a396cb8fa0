//! Strategies of all players, and what they are worth.

use super::{InformationSet, Node, Tree};
use crate::cfr::pieces::normalise;

/// A strategy for every seat: probabilities by information set.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// By seat, in the order of the tree's tables.
    pub strategies: Vec<Vec<f64>>,
}

impl Profile {
    /// Strategies from weights ≥ 0 in the order of the tree's tables, such as sums of strategies; uniform in sets whose weights are all 0.
    pub fn from_weights<K>(tree: &Tree<K>, weights: &[Vec<f64>]) -> Self {
        let mut strategies = weights.to_vec();
        for set in tree.sets() {
            normalise(&mut strategies[set.seat][set.offset..set.offset + set.n_actions]);
        }
        Self { strategies }
    }

    /// Strategies by a function of the information set (including its key); uniform if it returns `None`.
    pub fn from_fn<K>(tree: &Tree<K>, strategy: impl Fn(&InformationSet<K>) -> Option<Vec<f64>>) -> Self {
        let mut strategies: Vec<Vec<f64>> = (0..tree.n_players()).map(|seat| vec![0.0; tree.table_len(seat)]).collect();
        for set in tree.sets() {
            let row = &mut strategies[set.seat][set.offset..set.offset + set.n_actions];
            match strategy(set) {
                Some(given) => row.copy_from_slice(&given),
                None => row.fill(1.0 / set.n_actions as f64),
            }
        }
        Self { strategies }
    }

    /// Probabilities of the actions of a set.
    pub fn at<K>(&self, tree: &Tree<K>, set: usize) -> &[f64] {
        let set = &tree.sets()[set];
        &self.strategies[set.seat][set.offset..set.offset + set.n_actions]
    }

    /// Expected winnings by seat.
    pub fn values<K>(&self, tree: &Tree<K>) -> Vec<f64> {
        let n_players = tree.n_players();
        let mut values = vec![0.0; tree.nodes().len() * n_players];
        // Children stand behind their parents.
        for node in (0..tree.nodes().len()).rev() {
            let (head, tail) = values.split_at_mut((node + 1) * n_players);
            let own = &mut head[node * n_players..];
            let mut add = |children: &[u32], probabilities: &[f64]| {
                for (&child, probability) in children.iter().zip(probabilities) {
                    let from = (child as usize - node - 1) * n_players;
                    for (value, of_child) in own.iter_mut().zip(&tail[from..from + n_players]) {
                        *value += probability * of_child;
                    }
                }
            };
            match tree.nodes()[node] {
                Node::Chance { first, n } => {
                    add(tree.children(first, n as usize), tree.probabilities(first, n as usize));
                }
                Node::Player { set, first } => {
                    let probabilities = self.at(tree, set as usize);
                    add(tree.children(first, probabilities.len()), probabilities);
                }
                Node::End(row) => own.copy_from_slice(tree.winnings(row)),
            }
        }
        values.truncate(n_players);
        values
    }
}
