//! Outcome sampling: one line of play (Lanctot et al., 2009).
//!
//! The traversing seat explores: with probability ε it takes any action, else one of its strategy. With u the payoff, s the probability of all its own
//! sampled choices and σ the strategy, an action taken at h has the counterfactual value u / s · Π σ over its own choices below h, the others 0.
//!
//! One thread, one traversal: down for the averages, up for the regrets.

use super::super::regret::Real;
use super::sample::Sample;
use super::view::Node;

/// See the module.
///
/// # Safety
/// Launched with `sample::shape`; the arrays are those of the tree.
#[device_inline]
pub unsafe fn outcome<T: Real>(task: Sample<T>) {
    let Some(number) = task.number() else { return };
    // SAFETY: launched with the shape of sampled traversals, on the arrays of a tree: all that `begin` asks.
    let traversal = unsafe { task.begin(number) };
    let (tree, seat, exploration) = (traversal.tree(), traversal.seat, traversal.exploration());
    let mut n_drawn = 0;
    let mut node = Node::ROOT;
    // Own reach; probability of the line as sampled; its part by own choices.
    let (mut own, mut sampled, mut own_sampled) = (1.0f64, 1.0f64, 1.0f64);
    while let Some(children) = tree.children(node) {
        let u = traversal.draws.uniform(n_drawn);
        n_drawn += 1;
        if let Some(own_children) = tree.own(&seat, children) {
            traversal.add_average(tree.set_rows(own_children), own / sampled);
            let even = exploration / children.len() as f64;
            // Exploration takes the first part of [0, 1); what is left is stretched again.
            node = if u < exploration {
                children.at((u / even) as u32)
            } else {
                traversal.choose(children, (u - exploration) / (1.0 - exploration))
            };
            let probability = traversal.probability(tree.row(node));
            let part = even + (1.0 - exploration) * probability;
            own *= probability;
            sampled *= part;
            own_sampled *= part;
        } else {
            node = traversal.choose(children, u);
            sampled *= traversal.probability(tree.row(node));
        }
    }
    let mut value = traversal.payoff(node) / own_sampled;
    while let Some(edge) = tree.edge(node) {
        if let Some(own) = seat.own(edge) {
            let of_set = value * traversal.probability(edge.row());
            for row in tree.set_rows(tree.own_children(own)).each() {
                traversal.add_regret(row, if row == own.row() { value - of_set } else { -of_set });
            }
            value = of_set;
        }
        node = edge.parent.node();
    }
    traversal.add_utility(value);
}
