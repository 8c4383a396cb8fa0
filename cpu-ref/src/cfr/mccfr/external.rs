//! External sampling.

use super::Pass;
use crate::cfr::tree::Node;

impl<K> Pass<'_, K> {
    /// An estimate of the seat's expected winnings.
    pub(super) fn external(&mut self, node: u32) -> f64 {
        let tree = self.tree;
        match tree.nodes()[node as usize] {
            Node::End(row) => tree.winnings(row)[self.seat],
            Node::Chance { first, n } => {
                let (child, _) = self.chance(first, n);
                self.external(child)
            }
            Node::Player { set, first } => {
                let set = &tree.sets()[set as usize];
                let strategy = self.strategy(set);
                let children = tree.children(first, set.n_actions);
                if set.seat == self.seat {
                    let of_actions: Vec<f64> = children.iter().map(|&child| self.external(child)).collect();
                    let value = of_actions.iter().zip(&strategy).map(|(of_action, p)| of_action * p).sum();
                    self.add_regrets(set, 1.0, &of_actions, value);
                    return value;
                }
                // The sets of one other seat are met with the probability of its own reach: what the average wants.
                if set.seat == (self.seat + 1) % tree.n_players() {
                    self.add_average(set, 1.0, &strategy);
                }
                let drawn = self.random.draw(&strategy);
                self.external(children[drawn])
            }
        }
    }
}
