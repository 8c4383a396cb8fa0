//! Expansion: a leaf that was evaluated gets a child for each legal action, with the evaluator's probability as its prior. One warp a leaf.
//!
//! Priors are a softmax over the legal actions alone: exponentials of the differences to the largest logit, added up in ascending order of the actions,
//! one by one, so that the sum has the same bits wherever it is computed.

use super::tree::{Leaf, MAX_PATH, Node, Searched, Trees, fault, kind, outcome_value, seen_by};
use crate::cuda::{DeviceArgs, math, memory, thread, warp};

/// Where a step reads what the evaluator says. Row `tree · row_stride + leaf` is that of a leaf.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Trees.
    n_trees: u32,
    /// Most actions.
    max_actions: u32,
)]
#[require(!values.is_none() || uses & uses::VALUES == 0)]
#[require(!logits.is_none() || uses & uses::LOGITS == 0)]
pub struct Evaluations {
    /// `[rows]`; not read without [`uses::VALUES`].
    #[len(n_trees * row_stride)]
    #[nullable]
    pub values: *const f32,
    /// `[rows, MAX_ACTIONS]`; not read without [`uses::LOGITS`].
    #[len(n_trees * row_stride * max_actions)]
    #[nullable]
    pub logits: *const f32,
    /// Bits of [`uses`].
    pub uses: u32,
    /// Rows from one tree to the next.
    pub row_stride: u32,
}

/// What is taken from an evaluation; the bits of [`Evaluations::uses`].
pub mod uses {
    /// Values; without, all are 0.
    pub const VALUES: u32 = 1;
    /// Logits; without, all actions are equally likely.
    pub const LOGITS: u32 = 2;
    /// The values are those of the player to move, not the first player's.
    pub const OF_MOVER: u32 = 4;
}

/// A leaf's value for the first player, and a fault where it is no number.
///
/// # Safety
/// The row of leaf number `number` of the tree exists, where values are used; `leaf` is that leaf.
#[device_inline]
pub unsafe fn value_of(evaluations: &Evaluations, tree: u32, number: u32, leaf: &Leaf) -> (f32, u32) {
    if leaf.kind() == kind::OVER {
        return (outcome_value(leaf.outcome()), 0);
    }
    if evaluations.uses & uses::VALUES == 0 {
        return (0.0, 0);
    }
    let row = tree as usize * evaluations.row_stride as usize + number as usize;
    // SAFETY: the row of this leaf exists where values are used, as the caller says.
    let value = unsafe { memory::load(evaluations.values, row) };
    if !value.is_finite() {
        return (0.0, if value.is_nan() { fault::NAN_VALUE } else { fault::INFINITE_VALUE });
    }
    (if evaluations.uses & uses::OF_MOVER == 0 { value } else { seen_by(leaf.to_move(), value) }, 0)
}

/// Gives a leaf its children: nodes from `first_child` on, its position at index `position_index`. Returns a fault where a logit is no number.
///
/// # Safety
/// Called by all lanes of one warp; `leaf` is leaf number `number` of the tree, of [`kind::NEW`]; its children and position fit, and nobody else accesses them
/// or the leaf's node meanwhile.
#[device_inline]
#[allow(clippy::too_many_arguments, reason = "one leaf's whole input")]
pub unsafe fn expand<G: Searched>(
    trees: &Trees<G>,
    evaluations: &Evaluations,
    tree: u32,
    number: u32,
    leaf: &Leaf,
    first_child: u32,
    position_index: u32,
) -> u32 {
    let lane = thread::lane();
    // SAFETY: the leaf is one of the tree's, whose children and position fit, as the caller says, so nodes are below the capacity; this warp has them alone.
    unsafe {
        let position: G = memory::load(trees.leaf_positions, trees.leaf_at(tree, number));
        let legal = position.legal();
        let n = leaf.n_legal;
        let uniform = evaluations.uses & uses::LOGITS == 0;
        let row = tree as usize * evaluations.row_stride as usize + number as usize;
        let logits = evaluations.logits.wrapping_add(row * G::MAX_ACTIONS as usize);
        let logit = |rank: u32| {
            if uniform { 0.0 } else { memory::load(logits, G::nth_legal(&legal, rank) as usize) }
        };

        let (mut largest, mut faults) = (f32::NEG_INFINITY, 0);
        let mut rank = lane;
        while rank < n {
            let logit = logit(rank);
            if !logit.is_finite() {
                faults |= if logit.is_nan() { fault::NAN_LOGIT } else { fault::INFINITE_LOGIT };
            }
            if logit > largest {
                largest = logit;
            }
            rank += thread::WARP;
        }
        let faults = warp::reduce(faults, |a, b| a | b);
        let faulty = faults != 0;
        let largest = warp::reduce_max(largest);
        let weight = |rank: u32| if faulty { 1.0 } else { math::exp(logit(rank) - largest) };

        let sum = sum_in_order(n, weight);
        let mut rank = lane;
        while rank < n {
            let action = G::nth_legal(&legal, rank);
            let mut next = position;
            next.apply(action);
            let child = Node::new(action, weight(rank) / sum, next.outcome_after(action), next.to_move());
            trees.set_node(tree, first_child + rank, child);
            rank += thread::WARP;
        }
        if lane == 0 {
            let node = trees.node(tree, leaf.node);
            let action_children = node.action() | n << 16;
            trees.set_node(tree, leaf.node, Node { first_child, position: position_index, action_children, ..node });
            memory::store(trees.positions, trees.position_at(tree, position_index), position);
        }
        faults
    }
}

/// The sum of `n` weights in the order of their ranks. The whole warp calls it.
#[device_inline]
fn sum_in_order(n: u32, weight: impl Fn(u32) -> f32) -> f32 {
    let mut sum = 0.0;
    let mut first = 0;
    while first < n {
        let rank = first + thread::lane();
        let mine = if rank < n { weight(rank) } else { 0.0 };
        let mut other = 0;
        while other < thread::WARP && first + other < n {
            sum += warp::shuffle(warp::ALL, mine, other);
            other += 1;
        }
        first += thread::WARP;
    }
    sum
}

/// Whether a leaf grows in a tree that holds `size` nodes and `n_positions` positions.
#[device_inline]
pub fn grows<G: Searched>(trees: &Trees<G>, leaf: &Leaf, size: u32, n_positions: u32) -> bool {
    leaf.kind() == kind::NEW
        && leaf.path_length < MAX_PATH
        && n_positions < trees.n_positions
        && size as u64 + leaf.n_legal as u64 <= trees.capacity as u64
}
