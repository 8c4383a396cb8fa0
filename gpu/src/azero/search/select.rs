//! Selection: from the root to a leaf, to the child with the best score each time. One warp a tree, one lane a child.

use super::tree::{Head, Leaf, MAX_PATH, Node, Searched, Trees, kind, outcome_value, seen_by};
use crate::cuda::{math, memory, sync, thread, warp};

/// The score of a child for the player who is to move at its parent; `exploration` is `c_puct · √N` of the parent.
#[device_inline]
pub fn score(child: &Node, player: crate::mcts::Player, exploration: f32) -> f32 {
    let n = child.visits + child.pending;
    let outcome = child.outcome();
    let q = if outcome.is_over() {
        seen_by(player, outcome_value(outcome))
    } else if n == 0 {
        0.0
    } else {
        (seen_by(player, child.total) - child.pending as f32) / n as f32
    };
    q + exploration * child.prior / (1 + n) as f32
}

/// Descends once, counts the node as pending on the whole path, and writes leaf number `leaf` with its path and position.
///
/// # Safety
/// Called by all lanes of one warp that has the tree alone; the tree has a root; `leaf < max_leaves`.
#[device_inline]
unsafe fn descend<G: Searched>(trees: &Trees<G>, tree: u32, leaf: u32, c_puct: f32) {
    let lane = thread::lane();
    // SAFETY: children of a node lie below the tree's size; the depth stays below MAX_PATH, since deeper nodes are not expanded; lane 0 alone writes.
    unsafe {
        let mut at = 0;
        let mut node = trees.node(tree, 0);
        // Lane 0 writes what all have read.
        sync::sync_warp(warp::ALL);
        let mut parent_position = 0;
        let mut path_length = 0;
        loop {
            node.pending += 1;
            if lane == 0 {
                trees.set_visits(tree, at, &node);
                memory::store(trees.paths, trees.path_at(tree, leaf, path_length), at);
            }
            path_length += 1;
            let n_children = node.n_children();
            if n_children == 0 {
                break;
            }
            parent_position = node.position;
            let player = node.to_move();
            let exploration = c_puct * math::sqrt((node.visits + node.pending - 1) as f32);
            let (mut best, mut best_rank, mut best_node) = (f32::NEG_INFINITY, u32::MAX, Node::default());
            let mut rank = lane;
            while rank < n_children {
                let child = trees.node(tree, node.first_child + rank);
                let score = score(&child, player, exploration);
                if score > best {
                    (best, best_rank, best_node) = (score, rank, child);
                }
                rank += thread::WARP;
            }
            let (_, rank) = warp::reduce_argmax(best, best_rank);
            // Children are dealt to the lanes in turn, so the lane that has the best one is known.
            let owner = rank % thread::WARP;
            let [first, second]: [[u32; 4]; 2] = bytemuck::cast(best_node);
            let move_word = |word: u32| warp::shuffle(warp::ALL, word, owner);
            let moved = [first.map(move_word), second.map(move_word)];
            at = node.first_child + rank;
            node = bytemuck::cast(moved);
        }
        let over = node.outcome().is_over();
        if lane == 0 {
            note_leaf(trees, tree, leaf, (at, node, over), path_length, parent_position);
        }
        // The next descent reads what lane 0 has written.
        sync::sync_warp(warp::ALL);
    }
}

/// Writes leaf number `leaf`, node `at` at the end of a path and whether the game is over there, and its position: that of its parent with its action applied.
///
/// # Safety
/// As [`descend`], which came there; called by one lane.
#[device_inline]
#[track_caller]
unsafe fn note_leaf<G: Searched>(
    trees: &Trees<G>,
    tree: u32,
    leaf: u32,
    (at, node, over): (u32, Node, bool),
    path_length: u32,
    parent_position: u32,
) {
    // Pending counts this selection too.
    let kind = match () {
        () if over => kind::OVER,
        () if node.pending > 1 => kind::AGAIN,
        () => kind::NEW,
    };
    let entry = trees.leaf_at(tree, leaf);
    // SAFETY: the tree has this leaf, and its parent's position.
    unsafe {
        memory::store(trees.leaves, entry, Leaf::new(at, &node, path_length, kind));
        if !over {
            let mut position: G = memory::load(trees.positions, trees.position_at(tree, parent_position));
            if path_length > 1 {
                position.apply(node.action());
            }
            memory::store(trees.leaf_positions, entry, position);
        }
    }
}

/// Selects up to `n_leaves` leaves, one after the other, and returns how many.
///
/// # Safety
/// Called by all lanes of one warp that has the tree alone; the root is expanded; no leaf waits for its value; `n_leaves <= max_leaves`; `head` is the
/// tree's.
#[device_inline]
pub unsafe fn select<G: Searched>(trees: &Trees<G>, tree: u32, head: &mut Head, n_leaves: u32, c_puct: f32) {
    let n = if head.remaining < n_leaves { head.remaining } else { n_leaves };
    let mut leaf = 0;
    while leaf < n {
        // SAFETY: leaf < n_leaves.
        unsafe { descend(trees, tree, leaf, c_puct) };
        leaf += 1;
    }
    head.n_leaves = n;
    head.remaining -= n;
    head.begun += n;
}

const _: () = assert!(MAX_PATH >= 2);
