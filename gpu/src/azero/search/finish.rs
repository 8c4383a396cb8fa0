//! The end of a search: the visits of the roots' children, and the move that is played.

use bytemuck::{Pod, Zeroable};

use super::random::{self, Purpose};
use super::tree::{Node, Searched, Trees, outcome_value, seen_by};
use crate::cuda::{math, memory, thread};
use crate::launch::LaunchShape;
use crate::mcts::Player;

/// Threads per block.
pub const BLOCK: u32 = 64;

/// Launch shape of [`finish`]: a thread a tree.
pub const fn shape(n_trees: u32) -> LaunchShape {
    LaunchShape::linear(n_trees, BLOCK)
}

/// What a search found.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Found {
    /// The action to be played.
    pub action: u32,
    /// The root's children.
    pub n_children: u32,
    /// Mean value of the root for the player to move.
    pub value: f32,
    /// Bits of [`fault`](super::tree::fault).
    pub faults: u32,
    /// Nodes of the tree.
    pub n_nodes: u32,
    /// Visits of the root.
    pub visits: u32,
}

/// What a search found of one action of the root.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct FoundAction {
    /// The action.
    pub action: u32,
    /// Its visits.
    pub visits: u32,
    /// Its prior, with the noise.
    pub prior: f32,
    /// Mean value, or the known one, for the player to move at the root; 0 without visits.
    pub value: f32,
}

const _: () = assert!(size_of::<Found>() == 24 && size_of::<FoundAction>() == 16);

/// A child's weight in the choice: `(visits / most)^(1 / temperature)`.
#[device_inline]
fn weight(visits: u32, most: u32, temperature: f32) -> f32 {
    if visits == 0 {
        0.0
    } else if temperature == 1.0 {
        visits as f32
    } else {
        math::exp(math::ln(visits as f32 / most as f32) / temperature)
    }
}

/// A child as the player to move at the root sees it.
#[device_inline]
fn found_action(child: &Node, player: Player) -> FoundAction {
    let outcome = child.outcome();
    let value = if outcome.is_over() {
        seen_by(player, outcome_value(outcome))
    } else if child.visits == 0 {
        0.0
    } else {
        seen_by(player, child.total) / child.visits as f32
    };
    FoundAction { action: child.action(), visits: child.visits, prior: child.prior, value }
}

/// Writes what each search found, and chooses a move: without temperature the action with most visits, the lowest of equals; else one drawn with the
/// probability that its visits and the temperature give it.
///
/// # Safety
/// Launched with [`shape`]. Every tree's root is expanded and no leaf waits. `found` holds `n_trees` values, `actions` `[n_trees, MAX_LEGAL]`.
#[device_inline]
pub unsafe fn finish<G: Searched>(trees: Trees<G>, found: *mut Found, actions: *mut FoundAction, n_trees: u32) {
    let Some(tree) = thread::index_1d_below(n_trees) else { return };
    // SAFETY: tree < n_trees; the root's children exist, at most MAX_LEGAL of them.
    unsafe {
        let task = memory::load(trees.tasks, tree as usize);
        let head = trees.head(tree);
        let root = trees.node(tree, 0);
        let n = root.n_children();
        let player = root.to_move();
        let (mut most, mut best) = (0, 0);
        let mut rank = 0;
        while rank < n {
            let child = trees.node(tree, root.first_child + rank);
            if rank == 0 || child.visits > most {
                (most, best) = (child.visits, rank);
            }
            let at = tree as usize * G::MAX_LEGAL as usize + rank as usize;
            memory::store(actions, at, found_action(&child, player));
            rank += 1;
        }
        if task.temperature > 0.0 && most > 0 {
            let weight_of =
                |rank: u32| weight(trees.node(tree, root.first_child + rank).visits, most, task.temperature);
            let mut sum = 0.0;
            for rank in 0..n {
                sum += weight_of(rank);
            }
            let mut stream = random::stream(task.key, Purpose::Choice, 0);
            let threshold = random::unit_f32(&mut stream) * sum;
            let mut up_to = 0.0;
            // Rounding may leave the last sum at the threshold: then the last action that has a weight is taken.
            for rank in 0..n {
                let weight = weight_of(rank);
                if weight > 0.0 {
                    best = rank;
                    up_to += weight;
                    if up_to > threshold {
                        break;
                    }
                }
            }
        }
        let action = trees.node(tree, root.first_child + best).action();
        let value = seen_by(player, root.total) / root.visits as f32;
        let result =
            Found { action, n_children: n, value, faults: head.faults, n_nodes: head.size, visits: root.visits };
        memory::store(found, tree as usize, result);
    }
}
