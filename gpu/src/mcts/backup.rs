//! Backup: the results of the playouts, added to the nodes they belong to.
//!
//! Step 1 (all children): a thread a child adds its playouts to it, and a reduction sums them up. Step 2: a thread a node adds that sum along the path.
//! No atomics: a tree has one block, a node one thread.

use super::expand::Blocks;
use super::game::{Game, Player};
use super::tree::{NOT_EXPANDED, NodeStats, PATH_STRIDE, PlayoutCounts, TreeHead, Trees, target};
use crate::cuda::shared::Shared;
use crate::cuda::{block, memory, thread};
use crate::launch::LaunchShape;

/// Launch shape of the kernels of this module with blocks of `threads` threads, whole warps.
pub const fn shape(n_trees: u32, threads: u32) -> LaunchShape {
    LaunchShape::new(n_trees, threads)
}

/// A node after `n` more playouts with these results.
#[device_inline]
fn with_playouts(stats: NodeStats, n: u64, counts: PlayoutCounts) -> NodeStats {
    let [first, second] = counts.wins;
    NodeStats {
        n: stats.n + n,
        // Not an index: that would put the counts into local memory.
        wins: stats.wins + if stats.mover() == Player::First { first as u64 } else { second as u64 },
        draws: stats.draws + (n - first as u64 - second as u64),
        ..stats
    }
}

/// Adds playouts to a node.
///
/// # Safety
/// The node exists and no other thread accesses it meanwhile.
#[device_inline]
unsafe fn add<G: Game>(trees: &Trees<G>, tree: u32, node: u32, n: u64, counts: PlayoutCounts) {
    // SAFETY: the node is there, and this thread's.
    unsafe { trees.set_node(tree, node, with_playouts(trees.node(tree, node), n, counts)) };
}

/// Step 1: adds to each child its own playouts, and returns their sum (the same on every thread); where one node was played, its counts.
///
/// # Safety
/// Called by every thread of a block that works on this tree alone, after playouts of all children.
#[device_inline]
pub unsafe fn children<G: Game>(
    trees: &Trees<G>,
    tree: u32,
    head: TreeHead,
    blocks: Blocks,
    scratch: Shared<u64>,
) -> PlayoutCounts {
    if head.target != target::CHILDREN {
        // SAFETY: entry 0 was written by the playouts of this step.
        return unsafe { memory::load(trees.outcomes, trees.action_at(tree, 0)) };
    }
    let first_child = head.size - head.n_expanded;
    let end = match blocks {
        Blocks::Prodigal => G::MAX_ACTIONS,
        Blocks::Thrifty => head.n_expanded,
    };
    let mut sum = 0u64;
    let mut index = thread::thread_idx_x();
    while index < end {
        // SAFETY: index < B; ranks name children that exist, each touched by one thread.
        unsafe {
            let entry = memory::load(trees.expanded, trees.action_at(tree, index));
            let child = match blocks {
                Blocks::Prodigal => (index, entry as u32),
                Blocks::Thrifty => (entry as u32, index),
            };
            if blocks == Blocks::Thrifty || entry != NOT_EXPANDED {
                let (action, rank) = child;
                let counts = memory::load(trees.outcomes, trees.action_at(tree, action));
                add(trees, tree, first_child + rank, trees.n_playouts as u64, counts);
                sum += counts.wins[0] as u64 | (counts.wins[1] as u64) << 32;
            }
        }
        index += thread::block_dim_x();
    }
    let sum = block::sum(sum, scratch);
    PlayoutCounts { wins: [sum as u32, (sum >> 32) as u32] }
}

/// Step 2: adds the sum of the step's playouts to every node of the path.
///
/// # Safety
/// Called by every thread of a block that works on this tree alone.
#[device_inline]
pub unsafe fn path<G: Game>(trees: &Trees<G>, tree: u32, head: TreeHead, counts: PlayoutCounts) {
    let nodes = if head.target == target::CHILDREN { head.n_expanded as u64 } else { 1 };
    let n = trees.n_playouts as u64 * nodes;
    let mut at = thread::thread_idx_x();
    while at < head.path_length {
        // SAFETY: at < path_length; the nodes of a path differ, so each is touched by one thread.
        unsafe {
            let node = memory::load(trees.paths, tree as usize * PATH_STRIDE as usize + at as usize);
            add(trees, tree, node, n, counts);
        }
        at += thread::block_dim_x();
    }
}

/// The whole backup of one tree where one node was played: the drawn child and the path.
///
/// # Safety
/// Called by every thread of a block that works on this tree alone, after playouts of one child.
#[device_inline]
pub unsafe fn one_child<G: Game>(trees: &Trees<G>, tree: u32, head: TreeHead) {
    // SAFETY: entry 0 was written by the playouts of this step; the child is not on the path, so its one thread has it alone.
    unsafe {
        let counts = memory::load(trees.outcomes, trees.action_at(tree, 0));
        if head.target == target::ONE_CHILD && thread::thread_idx_x() == 0 {
            let child = head.size - head.n_expanded + head.chosen;
            add(trees, tree, child, trees.n_playouts as u64, counts);
        }
        path(trees, tree, head, counts);
    }
}

/// Backup of the one-child variants.
///
/// # Safety
/// Launched with [`shape`], one block a tree, after the playouts.
#[device_inline]
pub unsafe fn backup_ocp<G: Game>(trees: Trees<G>) {
    let tree = thread::block_idx_x();
    // SAFETY: tree < n_trees by the launch shape; the block has the tree alone.
    unsafe { one_child(&trees, tree, trees.head(tree)) };
}

/// Step 1 of the all-children variants; leaves the sum in entry 0 of `sums[tree]`.
///
/// # Safety
/// Launched with [`shape`], one block a tree, of a whole number of warps, after the playouts; `sums` holds `n_trees` values.
#[device_inline]
pub unsafe fn backup_1_acp<G: Game>(trees: Trees<G>, sums: *mut PlayoutCounts, blocks: Blocks, scratch: Shared<u64>) {
    let tree = thread::block_idx_x();
    // SAFETY: tree < n_trees by the launch shape; the block has the tree alone.
    unsafe {
        let sum = children(&trees, tree, trees.head(tree), blocks, scratch);
        if thread::thread_idx_x() == 0 {
            memory::store(sums, tree as usize, sum);
        }
    }
}

/// Step 2 of the all-children variants.
///
/// # Safety
/// Launched with [`shape`], one block a tree, after [`backup_1_acp`]; `sums` is what that wrote.
#[device_inline]
pub unsafe fn backup_2_acp<G: Game>(trees: Trees<G>, sums: *const PlayoutCounts) {
    let tree = thread::block_idx_x();
    // SAFETY: tree < n_trees by the launch shape; the block has the tree alone.
    unsafe { path(&trees, tree, trees.head(tree), memory::load(sums, tree as usize)) };
}
