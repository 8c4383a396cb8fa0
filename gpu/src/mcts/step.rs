//! A whole step in two kernels: the fast form of the prodigal variants.
//!
//! Backup, selection and the first half of expansion concern one tree alone, so one block does them in one kernel, [`step`]. The second half and the
//! playouts concern one child alone, so its block computes the child's position and plays on from it in one kernel, [`play_ocp`] or [`play_acp`].
//! The backup of a step is done by the next [`step`], and after the last one by the kernels of [`backup`].
//! Against five or six kernels a step this saves the launches between them and the reads of what the block just wrote; same statistics, bit for bit.

use super::expand::{self, Blocks, Children};
use super::game::Game;
use super::tree::{NOT_EXPANDED, TreeHead, Trees, target};
use super::{backup, playout, select};
use crate::cuda::shared::Shared;
use crate::cuda::sync::sync_threads;
use crate::cuda::{memory, thread};
use crate::launch::LaunchShape;

/// Launch shape of [`step`] with blocks of `threads` threads, whole warps and at least one thread an action.
pub const fn shape(n_trees: u32, threads: u32) -> LaunchShape {
    LaunchShape::new(n_trees, threads)
}

/// Launch shape of [`play_ocp`]: block (tree, 0) plays, the others make the further children, a thread an action.
pub const fn shape_play_ocp<G: Game>(n_trees: u32, m: u32, max_shared_bytes: u32) -> LaunchShape {
    let mut shape = playout::shape_ocp::<G>(n_trees, m, max_shared_bytes);
    shape.grid[1] = 1 + G::MAX_ACTIONS.div_ceil(shape.block[0]);
    shape
}

/// Launch shape of [`play_acp`]: one block for each tree and action.
pub const fn shape_play_acp<G: Game>(n_trees: u32, m: u32, max_shared_bytes: u32) -> LaunchShape {
    playout::shape_acp_prodigal::<G>(n_trees, m, max_shared_bytes)
}

/// Shared memory of [`step`].
#[derive(Clone, Copy)]
pub struct Scratch {
    /// A sum of each warp.
    pub sums: Shared<u64>,
    /// A count of each warp.
    pub counts: Shared<u32>,
    /// The arg-max of selection.
    pub select: select::Scratch,
}

/// Backs up the last step's playouts, selects a leaf and expands it, but for the children's positions.
///
/// # Safety
/// Launched with [`shape`]: one block a tree, of a whole number of warps and at least `B` threads. The arrays of `trees` are as [`Trees`] says, and the playouts
/// of the last step, if there was one, are in them.
#[device_inline]
pub unsafe fn step<G: Game>(trees: Trees<G>, ucb_c: f32, draw_value: f32, children: Children, scratch: Scratch) {
    let tree = thread::block_idx_x();
    // SAFETY: tree < n_trees by the launch shape; the block has the tree alone, and barriers stand between one thread's writes and another's reads.
    unsafe {
        let head = trees.head(tree);
        if head.target != target::NOTHING {
            match children {
                Children::One => backup::one_child(&trees, tree, head),
                Children::All => {
                    let sum = backup::children(&trees, tree, head, Blocks::Prodigal, scratch.sums);
                    backup::path(&trees, tree, head, sum);
                }
            }
        }
        // Selection reads nodes that other threads have just added to.
        sync_threads();
        let leaf = select::walk(&trees, tree, ucb_c, draw_value, scratch.select);
        let position = memory::load(trees.states, trees.at(tree, leaf.0));
        // Thread 0 writes head and parent, which all have read.
        sync_threads();
        expand::grow(&trees, tree, head, leaf, &position, Blocks::Prodigal, children, scratch.counts);
    }
}

/// Makes the child of rank `rank` that `action` leads to in `parent`, and plays it.
///
/// # Safety
/// As [`playout::play`]; the child is one of this step's and this block's alone.
#[device_inline]
#[allow(clippy::too_many_arguments, reason = "one block's whole work")]
unsafe fn play_child<G: Game>(
    trees: &Trees<G>,
    tree: u32,
    head: TreeHead,
    parent: &G,
    action: u32,
    rank: u32,
    first_stream: usize,
    slot: usize,
    scratch: Shared<u32>,
) {
    let (position, outcome) = expand::position_after(parent, action);
    // SAFETY: the callers give a child of this step that is this block's alone, and its streams and slot.
    unsafe {
        if thread::thread_idx_x() == 0 {
            let child = head.size - head.n_expanded + rank;
            expand::write_child(trees, tree, child, &position, outcome, parent.to_move());
        }
        playout::play(trees, &position, outcome, first_stream, slot, scratch);
    }
}

/// One child a tree: block (tree, 0) makes and plays the drawn child, or plays the selected node; the further blocks make the other children, a thread
/// each.
///
/// # Safety
/// Launched with [`shape_play_ocp`], `(n_trees, 1 + ⌈B / threads⌉)` blocks of whole warps, after [`step`] with one child.
#[device_inline]
pub unsafe fn play_ocp<G: Game>(trees: Trees<G>, scratch: Shared<u32>) {
    let (tree, part) = (thread::block_idx_x(), thread::block_idx_y());
    // SAFETY: tree < n_trees by the launch shape; the drawn child, the streams and slot (tree, 0) are block 0's, every other child one thread's.
    unsafe {
        let head = trees.head(tree);
        let grew = head.target == target::ONE_CHILD;
        if part > 0 {
            let action = (part - 1) * thread::block_dim_x() + thread::thread_idx_x();
            if grew && action < G::MAX_ACTIONS {
                let rank = memory::load(trees.expanded, trees.action_at(tree, action)) as u32;
                if rank != NOT_EXPANDED as u32 && rank != head.chosen {
                    let parent = memory::load(trees.states, trees.at(tree, head.selected));
                    expand::make_child(&trees, tree, head, rank, &parent, action);
                }
            }
            return;
        }
        let parent = memory::load(trees.states, trees.at(tree, head.selected));
        let first_stream = tree as usize * trees.n_playouts as usize;
        let slot = trees.action_at(tree, 0);
        if grew {
            let child = trees.at(tree, head.size - head.n_expanded + head.chosen);
            let action = memory::load(trees.links, child).action as u32;
            play_child(&trees, tree, head, &parent, action, head.chosen, first_stream, slot, scratch);
        } else {
            let outcome = trees.node(tree, head.selected).outcome();
            playout::play(&trees, &parent, outcome, first_stream, slot, scratch);
        }
    }
}

/// All children: block (tree, action) makes and plays the action's child; where the tree did not grow, block (tree, 0) plays the selected node.
///
/// # Safety
/// Launched with [`shape_play_acp`], `(n_trees, B)` blocks of whole warps, after [`step`] with all children.
#[device_inline]
pub unsafe fn play_acp<G: Game>(trees: Trees<G>, scratch: Shared<u32>) {
    let (tree, action) = (thread::block_idx_x(), thread::block_idx_y());
    // SAFETY: tree < n_trees and action < B by the launch shape; child, streams and slot of (tree, action) are this block's.
    unsafe {
        let head = trees.head(tree);
        let grew = head.target == target::CHILDREN;
        let rank = if grew { memory::load(trees.expanded, trees.action_at(tree, action)) } else { 0 };
        if rank == NOT_EXPANDED || (!grew && action > 0) {
            return;
        }
        let parent = memory::load(trees.states, trees.at(tree, head.selected));
        let slot = trees.action_at(tree, action);
        let first_stream = slot * trees.n_playouts as usize;
        if grew {
            play_child(&trees, tree, head, &parent, action, rank as u32, first_stream, slot, scratch);
        } else {
            let outcome = trees.node(tree, head.selected).outcome();
            playout::play(&trees, &parent, outcome, first_stream, slot, scratch);
        }
    }
}
