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
#[device_inline]
pub unsafe fn external<T: Real>(task: Sample<T>) {
    let Some(number) = task.number() else { return };
    // SAFETY: launched with the shape of sampled traversals, on the arrays of a tree: all that `begin` asks.
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
                if let Some(next) = tree.own(&traversal.next_seat, children) {
                    traversal.add_average(tree.set_rows(next), 1.0);
                }
                node = traversal.choose(children, traversal.draws.uniform(n_drawn));
                n_drawn += 1;
            }
            below = tree.children(node);
        }
        // Up to an own decision with an action left.
        let mut value = traversal.payoff(node);
        loop {
            let Some(edge) = tree.edge(node) else {
                traversal.add_utility(value);
                return;
            };
            if let Some(own) = seat.own(edge) {
                let at = (depth - 1) % MAX_DECISIONS;
                values[at] += traversal.probability(edge.row()) * value;
                traversal.add_regret(own.row(), value);
                let siblings = tree.own_children(own);
                if let Some(next) = siblings.children().after(node) {
                    node = next;
                    break;
                }
                value = values[at];
                depth -= 1;
                for row in tree.set_rows(siblings).each() {
                    traversal.add_regret(row, -value);
                }
            }
            node = edge.parent.node();
        }
    }
}
