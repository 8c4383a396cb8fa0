//! External sampling: all actions of one seat, one of chance and of each other seat (Lanctot et al., 2009).
//!
//! The strategy of the seat behind the traversing one goes into the average where it is met, as in the simple form of the method.
//!
//! One thread, one traversal.

use super::super::regret::Real;
use super::sample::{MAX_DECISIONS, Sample};
use super::view::Node;

/// See the module.
///
/// # Safety
/// Launched with `sample::shape`; the arrays are those of the tree, on whose lines a seat decides at most [`MAX_DECISIONS`] times.
#[inline(always)]
pub unsafe fn external<T: Real>(task: Sample<T>) {
    let Some(number) = task.number() else { return };
    // SAFETY: the contract.
    let traversal = unsafe { task.begin(number) };
    let (tree, seat) = (traversal.tree(), traversal.seat);
    // Value so far of each own decision on the line.
    let mut values = [0.0f64; MAX_DECISIONS];
    let mut depth = 0usize;
    let mut n_drawn = 0;
    let mut node = Node::ROOT;
    loop {
        // Down to an end.
        let mut below = tree.children(node);
        while let Some(children) = below {
            let row = tree.row(children.first());
            if seat.acts(row) {
                values[depth % MAX_DECISIONS] = 0.0;
                depth += 1;
                node = children.first();
            } else {
                if traversal.next_seat.acts(row) {
                    traversal.add_average(tree.rows_of(children), 1.0);
                }
                node = traversal.choose(children, traversal.draws.uniform(n_drawn));
                n_drawn += 1;
            }
            below = tree.children(node);
        }
        // Up to an own decision with an action left.
        let mut value = traversal.payoff(node);
        loop {
            let Some(parent) = tree.parent(node) else {
                traversal.add_utility(value);
                return;
            };
            let row = tree.row(node);
            if seat.acts(row) {
                let at = (depth - 1) % MAX_DECISIONS;
                values[at] += traversal.probability(row) * value;
                traversal.add_regret(row, value);
                let siblings = tree.children_of(parent);
                if let Some(next) = siblings.after(node) {
                    node = next;
                    break;
                }
                value = values[at];
                depth -= 1;
                for row in tree.rows_of(siblings).each() {
                    traversal.add_regret(row, -value);
                }
            }
            node = parent.node();
        }
    }
}
