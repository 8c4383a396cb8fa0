//! Chance sampling: one deal, all actions of all seats (Zinkevich et al., 2007).
//!
//! Event number k of chance has the same random number on all lines, so that lines which differ by actions only meet the same cards.
//!
//! One thread, one traversal.

use super::super::regret::Real;
use super::sample::{MAX_DECISIONS, Sample};
use crate::cuda::memory;

/// See the module.
///
/// # Safety
/// Launched with `sample::shape`; the arrays are those of the tree, whose lines have at most [`MAX_DECISIONS`] decisions.
#[inline(always)]
pub unsafe fn chance<T: Real>(task: Sample<T>) {
    // SAFETY: the contract; sums are only accessed atomically, all else is only read.
    unsafe {
        let Some((seat_index, draws)) = task.begin() else { return };
        let tree = &task.tree;
        let seat = tree.seat(seat_index);
        let n_rows = tree.seat(tree.n_seats - 1).rows_end;
        // Of each decision on the line: value so far, reach of the others, own reach.
        let mut values = [0.0f64; MAX_DECISIONS];
        let mut others_before = [1.0f64; MAX_DECISIONS];
        let mut own_before = [1.0f64; MAX_DECISIONS];
        let (mut others, mut own) = (1.0f64, 1.0f64);
        let mut depth = 0usize;
        let mut n_events = 0;
        let mut node = 0;
        loop {
            // Down to an end.
            let (mut first, mut end) = tree.children(node);
            while first < end {
                let row = tree.row(first);
                if row >= n_rows {
                    node = task.choose(first, end, draws.uniform(n_events));
                    n_events += 1;
                } else {
                    let at = depth % MAX_DECISIONS;
                    values[at] = 0.0;
                    others_before[at] = others;
                    own_before[at] = own;
                    depth += 1;
                    if seat.acts(row) {
                        task.add_average(row, row + (end - first), own);
                        own *= task.probability(row);
                    } else {
                        others *= task.probability(row);
                    }
                    node = first;
                }
                (first, end) = tree.children(node);
            }
            // Up to a decision with an action left.
            let mut value = task.payoff(seat_index, node);
            loop {
                if node == 0 {
                    task.add_utility(seat_index, value);
                    return;
                }
                let parent = memory::load(tree.parents, node as usize);
                let row = tree.row(node);
                if row >= n_rows {
                    n_events -= 1;
                    node = parent;
                    continue;
                }
                let at = (depth - 1) % MAX_DECISIONS;
                (others, own) = (others_before[at], own_before[at]);
                values[at] += task.probability(row) * value;
                let acts = seat.acts(row);
                if acts {
                    task.add_regret(row, others * value);
                }
                let (first, end) = tree.children(parent);
                if node + 1 < end {
                    node += 1;
                    let probability = task.probability(tree.row(node));
                    if acts {
                        own *= probability;
                    } else {
                        others *= probability;
                    }
                    break;
                }
                value = values[at];
                depth -= 1;
                if acts {
                    let first_row = tree.row(first);
                    for of_set in first_row..first_row + (end - first) {
                        task.add_regret(of_set, -others * value);
                    }
                }
                node = parent;
            }
        }
    }
}
