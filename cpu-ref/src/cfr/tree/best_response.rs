//! The best a seat can do against given strategies.

use super::{Node, Profile, Tree};

/// A best response under construction: a set's action is chosen when one of its nodes is first evaluated.
pub(super) struct BestResponse<'a, K> {
    tree: &'a Tree<K>,
    profile: &'a Profile,
    seat: usize,
    /// Chance times the others' reach, by node.
    reach: Vec<f64>,
    /// Value by node; NaN until it is known.
    values: Vec<f64>,
    /// Best action by set.
    best: Vec<Option<u32>>,
}

impl<'a, K> BestResponse<'a, K> {
    pub fn new(tree: &'a Tree<K>, profile: &'a Profile, seat: usize) -> Self {
        let n_nodes = tree.nodes().len();
        let mut reach = vec![0.0; n_nodes];
        reach[0] = 1.0;
        for node in 0..n_nodes {
            match tree.nodes()[node] {
                Node::Chance { first, n } => {
                    let edges = tree.children(first, n as usize).iter().zip(tree.probabilities(first, n as usize));
                    for (&child, probability) in edges {
                        reach[child as usize] = reach[node] * probability;
                    }
                }
                Node::Player { set, first } => {
                    let own = tree.sets()[set as usize].seat == seat;
                    let probabilities = profile.at(tree, set as usize);
                    for (&child, &probability) in tree.children(first, probabilities.len()).iter().zip(probabilities) {
                        reach[child as usize] = reach[node] * if own { 1.0 } else { probability };
                    }
                }
                Node::End(_) => {}
            }
        }
        Self { tree, profile, seat, reach, values: vec![f64::NAN; n_nodes], best: vec![None; tree.sets().len()] }
    }

    pub fn value(&mut self) -> f64 {
        self.value_of(0)
    }

    pub fn strategy(mut self) -> Vec<f64> {
        let mut strategy = vec![0.0; self.tree.table_len(self.seat)];
        for number in 0..self.tree.sets().len() {
            if self.tree.sets()[number].seat == self.seat {
                let best = self.best_action(number);
                strategy[self.tree.sets()[number].offset + best as usize] = 1.0;
            }
        }
        strategy
    }

    fn value_of(&mut self, node: u32) -> f64 {
        let at = node as usize;
        if !self.values[at].is_nan() {
            return self.values[at];
        }
        let tree = self.tree;
        let value = match tree.nodes()[at] {
            Node::End(row) => tree.winnings(row)[self.seat],
            Node::Chance { first, n } => {
                let edges = tree.children(first, n as usize).iter().zip(tree.probabilities(first, n as usize));
                edges.map(|(&child, probability)| probability * self.value_of(child)).sum()
            }
            Node::Player { set, first } => {
                let information_set = &tree.sets()[set as usize];
                let children = tree.children(first, information_set.n_actions);
                if information_set.seat == self.seat {
                    let best = self.best_action(set as usize);
                    self.value_of(children[best as usize])
                } else {
                    let probabilities = self.profile.at(tree, set as usize);
                    children
                        .iter()
                        .zip(probabilities)
                        .map(|(&child, probability)| probability * self.value_of(child))
                        .sum()
                }
            }
        };
        self.values[at] = value;
        value
    }

    /// The first action with the largest counterfactual value, summed over the set's nodes.
    fn best_action(&mut self, number: usize) -> u32 {
        if let Some(best) = self.best[number] {
            return best;
        }
        let tree = self.tree;
        let set = &tree.sets()[number];
        let mut sums = vec![0.0; set.n_actions];
        for &node in &set.nodes {
            let Node::Player { first, .. } = tree.nodes()[node as usize] else { continue };
            for (sum, &child) in sums.iter_mut().zip(tree.children(first, set.n_actions)) {
                *sum += self.reach[node as usize] * self.value_of(child);
            }
        }
        let best = (1..sums.len()).fold(0, |best, action| if sums[action] > sums[best] { action } else { best }) as u32;
        self.best[number] = Some(best);
        best
    }
}

impl Profile {
    /// The winnings of each seat with its best response to the others' strategies in this profile.
    pub fn best_responses<K>(&self, tree: &Tree<K>) -> Vec<f64> {
        (0..tree.n_players()).map(|seat| BestResponse::new(tree, self, seat).value()).collect()
    }

    /// A best response of `seat`: probabilities 0 and 1 in the order of its table, the first best action of each set.
    pub fn best_response<K>(&self, tree: &Tree<K>, seat: usize) -> Vec<f64> {
        BestResponse::new(tree, self, seat).strategy()
    }

    /// Σ over seats of (best response − value): 0 in an equilibrium. Half of it is the exploitability of two players.
    pub fn nash_conv<K>(&self, tree: &Tree<K>) -> f64 {
        let (best, values) = (self.best_responses(tree), self.values(tree));
        best.iter().zip(&values).map(|(best, value)| best - value).sum()
    }
}
