//! Chance sampling: one deal, all actions of all seats (Zinkevich et al., 2007).
//!
//! Event number k of chance has the same random number on all lines, so that lines which differ by actions only meet the same cards.
//!
//! One thread, one traversal.

use super::super::regret::Real;
use super::random::Draws;
use super::sample::{MAX_DECISIONS, Sample};
use super::view::SeatRange;
use crate::cuda::memory;

/// Of each decision on the line: value so far, reach of the others, own reach.
struct Stack {
    values: [f64; MAX_DECISIONS],
    others: [f64; MAX_DECISIONS],
    own: [f64; MAX_DECISIONS],
}

/// The end of the line that a traversal is at.
#[derive(Clone, Copy)]
struct Line {
    /// Reach of the others, and of the seat.
    others: f64,
    own: f64,
    /// Decisions, and events of chance, on the line.
    depth: usize,
    n_events: u32,
}

/// A seat's traversal; rows beyond `n_rows` are outcomes of chance.
struct Traversal<'a, T> {
    task: &'a Sample<T>,
    seat: SeatRange,
    n_rows: u32,
    draws: Draws,
}

impl<T: Real> Traversal<'_, T> {
    /// Goes on from a node by first actions, to an end.
    ///
    /// # Safety
    /// The contract of [`chance`]; `node` is one of the tree.
    #[inline(always)]
    #[track_caller]
    unsafe fn down(&self, stack: &mut Stack, line: &mut Line, mut node: u32) -> u32 {
        let task = self.task;
        // SAFETY: children and rows of a node of the tree are the tree's; sums are only accessed atomically.
        unsafe {
            let (mut first, mut end) = task.tree.children(node);
            while first < end {
                let row = task.tree.row(first);
                if row >= self.n_rows {
                    node = task.choose(first, end, self.draws.uniform(line.n_events));
                    line.n_events += 1;
                } else {
                    let at = line.depth % MAX_DECISIONS;
                    stack.values[at] = 0.0;
                    stack.others[at] = line.others;
                    stack.own[at] = line.own;
                    line.depth += 1;
                    if self.seat.acts(row) {
                        task.add_average(row, row + (end - first), line.own);
                        line.own *= task.probability(row);
                    } else {
                        line.others *= task.probability(row);
                    }
                    node = first;
                }
                (first, end) = task.tree.children(node);
            }
            node
        }
    }

    /// Goes one node up, with its value; whether an action is left there, which is the node then.
    ///
    /// # Safety
    /// As [`down`](Self::down), which led there; `node` is not the root.
    #[inline(always)]
    #[track_caller]
    unsafe fn up(&self, stack: &mut Stack, line: &mut Line, node: &mut u32, value: &mut f64) -> bool {
        let task = self.task;
        // SAFETY: as in `down`; the node before one is the tree's.
        unsafe {
            let parent = memory::load(task.tree.parents, *node as usize);
            let row = task.tree.row(*node);
            if row >= self.n_rows {
                line.n_events -= 1;
                *node = parent;
                return false;
            }
            let at = (line.depth - 1) % MAX_DECISIONS;
            (line.others, line.own) = (stack.others[at], stack.own[at]);
            stack.values[at] += task.probability(row) * *value;
            let acts = self.seat.acts(row);
            if acts {
                task.add_regret(row, line.others * *value);
            }
            let (first, end) = task.tree.children(parent);
            if *node + 1 < end {
                *node += 1;
                let probability = task.probability(task.tree.row(*node));
                if acts {
                    line.own *= probability;
                } else {
                    line.others *= probability;
                }
                return true;
            }
            *value = stack.values[at];
            line.depth -= 1;
            if acts {
                let first_row = task.tree.row(first);
                for of_set in first_row..first_row + (end - first) {
                    task.add_regret(of_set, -line.others * *value);
                }
            }
            *node = parent;
            false
        }
    }
}

/// See the module.
///
/// # Safety
/// Launched with `sample::shape`; the arrays are those of the tree, whose lines have at most [`MAX_DECISIONS`] decisions.
#[inline(always)]
pub unsafe fn chance<T: Real>(task: Sample<T>) {
    // SAFETY: the contract; the line begins at the root.
    unsafe {
        let Some((seat, draws)) = task.begin() else { return };
        let n_rows = task.tree.seat(task.tree.n_seats - 1).rows_end;
        let traversal = Traversal { task: &task, seat: task.tree.seat(seat), n_rows, draws };
        let ones = [1.0; MAX_DECISIONS];
        let mut stack = Stack { values: [0.0; MAX_DECISIONS], others: ones, own: ones };
        let mut line = Line { others: 1.0, own: 1.0, depth: 0, n_events: 0 };
        let mut node = 0;
        loop {
            node = traversal.down(&mut stack, &mut line, node);
            let mut value = task.payoff(seat, node);
            loop {
                if node == 0 {
                    task.add_utility(seat, value);
                    return;
                }
                if traversal.up(&mut stack, &mut line, &mut node, &mut value) {
                    break;
                }
            }
        }
    }
}
