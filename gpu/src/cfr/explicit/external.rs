//! External sampling: all actions of one seat, one of chance and of each other seat (Lanctot et al., 2009).
//!
//! The strategy of the seat behind the traversing one goes into the average where it is met, as in the simple form of the method.
//!
//! One thread, one traversal.

use super::super::regret::Real;
use super::sample::{MAX_DECISIONS, Sample};
use crate::cuda::memory;

/// See the module.
///
/// # Safety
/// Launched with `sample::shape`; the arrays are those of the tree, on whose lines a seat decides at most [`MAX_DECISIONS`] times.
#[inline(always)]
pub unsafe fn external<T: Real>(task: Sample<T>) {
    // SAFETY: the contract; sums are only accessed atomically, all else is only read.
    unsafe {
        let Some((seat_index, draws)) = task.begin() else { return };
        let tree = &task.tree;
        let seat = tree.seat(seat_index);
        let next_seat = tree.seat((seat_index + 1) % tree.n_seats);
        // Value so far of each own decision on the line.
        let mut values = [0.0f64; MAX_DECISIONS];
        let mut depth = 0usize;
        let mut n_drawn = 0;
        let mut node = 0;
        loop {
            // Down to an end.
            let (mut first, mut end) = tree.children(node);
            while first < end {
                let row = tree.row(first);
                if seat.acts(row) {
                    values[depth % MAX_DECISIONS] = 0.0;
                    depth += 1;
                    node = first;
                } else {
                    if next_seat.acts(row) {
                        task.add_average(row, row + (end - first), 1.0);
                    }
                    node = task.choose(first, end, draws.uniform(n_drawn));
                    n_drawn += 1;
                }
                (first, end) = tree.children(node);
            }
            // Up to an own decision with an action left.
            let mut value = task.payoff(seat_index, node);
            loop {
                if node == 0 {
                    task.add_utility(seat_index, value);
                    return;
                }
                let parent = memory::load(tree.parents, node as usize);
                let row = tree.row(node);
                if seat.acts(row) {
                    let at = (depth - 1) % MAX_DECISIONS;
                    values[at] += task.probability(row) * value;
                    task.add_regret(row, value);
                    let (first, end) = tree.children(parent);
                    if node + 1 < end {
                        node += 1;
                        break;
                    }
                    value = values[at];
                    depth -= 1;
                    let first_row = tree.row(first);
                    for of_set in first_row..first_row + (end - first) {
                        task.add_regret(of_set, -value);
                    }
                }
                node = parent;
            }
        }
    }
}
