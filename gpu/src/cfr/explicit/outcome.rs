//! Outcome sampling: one line of play (Lanctot et al., 2009).
//!
//! The traversing seat explores: with probability ε it takes any action, else one of its strategy. With u the payoff, s the probability of all its own
//! sampled choices and σ the strategy, an action taken at h has the counterfactual value u / s · Π σ over its own choices below h, the others 0.
//!
//! One thread, one traversal: down for the averages, up for the regrets.

use super::super::regret::Real;
use super::sample::Sample;
use crate::cuda::memory;

/// See the module.
///
/// # Safety
/// Launched with `sample::shape`; the arrays are those of the tree.
#[inline(always)]
pub unsafe fn outcome<T: Real>(task: Sample<T>) {
    // SAFETY: the contract; sums are only accessed atomically, all else is only read.
    unsafe {
        let Some((seat_index, draws)) = task.begin() else { return };
        let tree = &task.tree;
        let seat = tree.seat(seat_index);
        let mut n_drawn = 0;
        let mut node = 0;
        // Own reach; probability of the line as sampled; its part by own choices.
        let (mut own, mut sampled, mut own_sampled) = (1.0f64, 1.0f64, 1.0f64);
        let (mut first, mut end) = tree.children(node);
        while first < end {
            let u = draws.uniform(n_drawn);
            n_drawn += 1;
            let row = tree.row(first);
            if seat.acts(row) {
                let n = end - first;
                task.add_average(row, row + n, own / sampled);
                let even = task.exploration / n as f64;
                // Exploration takes the first part of [0, 1); what is left is stretched again.
                node = if u < task.exploration {
                    let at = (u / even) as u32;
                    first + if at < n { at } else { n - 1 }
                } else {
                    task.choose(first, end, (u - task.exploration) / (1.0 - task.exploration))
                };
                let probability = task.probability(tree.row(node));
                let part = even + (1.0 - task.exploration) * probability;
                own *= probability;
                sampled *= part;
                own_sampled *= part;
            } else {
                node = task.choose(first, end, u);
                sampled *= task.probability(tree.row(node));
            }
            (first, end) = tree.children(node);
        }
        let mut value = task.payoff(seat_index, node) / own_sampled;
        while node != 0 {
            let parent = memory::load(tree.parents, node as usize);
            let taken = tree.row(node);
            if seat.acts(taken) {
                let of_set = value * task.probability(taken);
                let (first, end) = tree.children(parent);
                let first_row = tree.row(first);
                for row in first_row..first_row + (end - first) {
                    task.add_regret(row, if row == taken { value - of_set } else { -of_set });
                }
                value = of_set;
            }
            node = parent;
        }
        task.add_utility(seat_index, value);
    }
}
