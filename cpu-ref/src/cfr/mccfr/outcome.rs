//! Outcome sampling.

use super::Pass;
use crate::cfr::tree::Node;

impl<K> Pass<'_, K> {
    /// An estimate of the seat's expected winnings from here on, from one line of play.
    ///
    /// `own` is the seat's reach, `others` that of chance and the others, `drawn` the probability of having been drawn so far.
    pub(super) fn outcome(&mut self, node: u32, exploration: f64, own: f64, others: f64, drawn: f64) -> f64 {
        let tree = self.tree;
        match tree.nodes()[node as usize] {
            Node::End(row) => tree.winnings(row)[self.seat],
            Node::Chance { first, n } => {
                let (child, probability) = self.chance(first, n);
                self.outcome(child, exploration, own, others * probability, drawn * probability)
            }
            Node::Player { set, first } => {
                let set = &tree.sets()[set as usize];
                let strategy = self.strategy(set);
                let learns = set.seat == self.seat;
                let mut sampled = strategy.clone();
                if learns {
                    let uniform = exploration / set.n_actions as f64;
                    sampled.iter_mut().for_each(|p| *p = uniform + (1.0 - exploration) * *p);
                }
                let action = self.random.draw(&sampled);
                let (own_below, others_below) =
                    if learns { (own * strategy[action], others) } else { (own, others * strategy[action]) };
                let child = tree.children(first, set.n_actions)[action];
                let below = self.outcome(child, exploration, own_below, others_below, drawn * sampled[action]);
                // The other actions' estimates are 0, so that each is right on average.
                let mut of_actions = vec![0.0; set.n_actions];
                of_actions[action] = below / sampled[action];
                let value = strategy[action] * of_actions[action];
                if learns {
                    self.add_regrets(set, others / drawn, &of_actions, value);
                    self.add_average(set, own / drawn, &strategy);
                }
                value
            }
        }
    }
}
