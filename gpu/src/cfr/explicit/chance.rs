//! Chance sampling: one deal, all actions of all seats (Zinkevich et al., 2007).
//!
//! Event number k of chance has the same random number on all lines, so that lines which differ by actions only meet the same cards.
//!
//! One thread, one traversal.

use super::super::regret::Real;
use super::sample::{MAX_DECISIONS, Sample, Traversal};
use super::view::{Edge, Node};

/// Of each decision on the line: value so far, reach of the others, own reach.
struct Stack {
    values: [f64; MAX_DECISIONS],
    others: [f64; MAX_DECISIONS],
    own: [f64; MAX_DECISIONS],
}

/// The end of the line that a traversal is at.
struct Line {
    /// Reach of the others, and of the seat.
    others: f64,
    own: f64,
    /// Decisions, and events of chance, on the line.
    depth: usize,
    n_events: u32,
}

/// Goes on from a node by first actions, to an end.
#[device_inline]
#[track_caller]
fn down<T: Real>(traversal: &Traversal<T>, stack: &mut Stack, line: &mut Line, mut node: Node) -> Node {
    let tree = traversal.tree();
    while let Some(children) = tree.children(node) {
        let row = tree.row(children.first());
        if traversal.is_chance(row) {
            node = traversal.choose(children, traversal.draws.uniform(line.n_events));
            line.n_events += 1;
        } else {
            let at = line.depth % MAX_DECISIONS;
            stack.values[at] = 0.0;
            stack.others[at] = line.others;
            stack.own[at] = line.own;
            line.depth += 1;
            if let Some(own) = tree.own(&traversal.seat, children) {
                traversal.add_average(tree.set_rows(own), line.own);
                line.own *= traversal.probability(row);
            } else {
                line.others *= traversal.probability(row);
            }
            node = children.first();
        }
    }
    node
}

/// Goes one node up, with its value; whether an action is left there, which is the node then.
#[device_inline]
#[track_caller]
fn up<T: Real>(
    traversal: &Traversal<T>,
    stack: &mut Stack,
    line: &mut Line,
    edge: Edge,
    node: &mut Node,
    value: &mut f64,
) -> bool {
    let tree = traversal.tree();
    let row = edge.row();
    if traversal.is_chance(row) {
        line.n_events -= 1;
        *node = edge.parent.node();
        return false;
    }
    let at = (line.depth - 1) % MAX_DECISIONS;
    (line.others, line.own) = (stack.others[at], stack.own[at]);
    stack.values[at] += traversal.probability(row) * *value;
    let own = traversal.seat.own(edge);
    if let Some(own) = own {
        traversal.add_regret(own.row(), line.others * *value);
    }
    let siblings = tree.children_of(edge.parent);
    if let Some(next) = siblings.after(*node) {
        *node = next;
        let probability = traversal.probability(tree.row(next));
        if own.is_some() {
            line.own *= probability;
        } else {
            line.others *= probability;
        }
        return true;
    }
    *value = stack.values[at];
    line.depth -= 1;
    if let Some(own) = tree.own(&traversal.seat, siblings) {
        for row in tree.set_rows(own).each() {
            traversal.add_regret(row, -line.others * *value);
        }
    }
    *node = edge.parent.node();
    false
}

/// See the module.
///
/// # Safety
/// Launched with `sample::shape`; the arrays are those of the tree, whose lines have at most [`MAX_DECISIONS`] decisions.
#[device_inline]
pub unsafe fn chance<T: Real>(task: Sample<T>) {
    let Some(number) = task.number() else { return };
    // SAFETY: launched with the shape of sampled traversals, on the arrays of a tree: all that `begin` asks.
    let traversal = unsafe { task.begin(number) };
    let ones = [1.0; MAX_DECISIONS];
    let mut stack = Stack { values: [0.0; MAX_DECISIONS], others: ones, own: ones };
    let mut line = Line { others: 1.0, own: 1.0, depth: 0, n_events: 0 };
    let mut node = Node::ROOT;
    loop {
        node = down(&traversal, &mut stack, &mut line, node);
        let mut value = traversal.payoff(node);
        loop {
            let Some(edge) = traversal.tree().edge(node) else {
                traversal.add_utility(value);
                return;
            };
            if up(&traversal, &mut stack, &mut line, edge, &mut node, &mut value) {
                break;
            }
        }
    }
}
