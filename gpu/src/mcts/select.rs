//! Selection: from the root down to a leaf, always to the child with the largest upper confidence bound.
//!
//! One block a tree. On each level the threads read the children side by side, compute their bounds and find the largest by
//! an arg-max reduction; ties go to the lowest action, since children ascend by action. The twin of a selection is `select` in `cpu-ref/src/mcts/seq.rs`, that of the bound `ucb` in
//! `cpu-ref/src/mcts/tree.rs`.

use super::game::Game;
use super::tree::{NodeStats, PATH_STRIDE, TreeHead, Trees};
use crate::cuda::shared::Shared;
use crate::cuda::{block, math, memory, thread};
use crate::launch::LaunchShape;

/// Launch shape of [`select`] with blocks of `threads` threads, whole warps.
pub const fn shape(n_trees: u32, threads: u32) -> LaunchShape {
    LaunchShape::new(n_trees, threads)
}

/// Value of a node for the player who moved into it, `(wins + draw_value · draws) / n`; NaN where `n` is 0.
#[device_inline]
pub fn mean_value(n: u64, wins: u64, draws: u64, draw_value: f32) -> f32 {
    (wins as f32 + draw_value * (draws as f32)) / (n as f32)
}

/// Upper confidence bound of a child, `q + c · √(ln N / n)` with `ln_parent_n` = ln N; infinite where `n` is 0. Equation (6).
#[device_inline]
pub fn upper_bound(n: u64, wins: u64, draws: u64, ln_parent_n: f32, ucb_c: f32, draw_value: f32) -> f32 {
    if n == 0 {
        return f32::INFINITY;
    }
    mean_value(n, wins, draws, draw_value) + ucb_c * math::sqrt(ln_parent_n / (n as f32))
}

/// Shared memory of the arg-max.
#[derive(Clone, Copy)]
pub struct Scratch {
    /// Best bound of each warp.
    pub bounds: Shared<f32>,
    /// Its child.
    pub children: Shared<u32>,
}

/// Walks down tree `tree`, writes its path, and returns the leaf, its statistics and its depth (the same on every thread).
///
/// # Safety
/// Called by every thread of a block that works on this tree alone. The tree is consistent.
#[device_inline]
pub unsafe fn walk<G: Game>(
    trees: &Trees<G>,
    tree: u32,
    ucb_c: f32,
    draw_value: f32,
    scratch: Scratch,
) -> (u32, NodeStats, u32) {
    let thread = thread::thread_idx_x();
    let threads = thread::block_dim_x();
    let path = tree as usize * PATH_STRIDE as usize;
    let mut node = 0;
    let mut depth = 0;
    // SAFETY: nodes come from the tree itself, so they are below its size; depth stays at or below MAX_DEPTH, since deeper nodes are never made;
    // only thread 0 writes the path.
    unsafe {
        let mut stats = trees.node(tree, 0);
        loop {
            if thread == 0 {
                memory::store(trees.paths, path + depth as usize, node);
            }
            let n_children = stats.n_children();
            if n_children == 0 {
                return (node, stats, depth);
            }
            // The first child is on its way while the logarithm is computed.
            let mut child =
                if thread < n_children { trees.node(tree, stats.first_child + thread) } else { NodeStats::default() };
            let ln_parent_n = math::ln(stats.n as f32);
            let (mut best, mut best_rank) = (f32::NEG_INFINITY, u32::MAX);
            let mut rank = thread;
            while rank < n_children {
                let bound = upper_bound(child.n, child.wins, child.draws, ln_parent_n, ucb_c, draw_value);
                if bound > best {
                    (best, best_rank) = (bound, rank);
                }
                rank += threads;
                if rank < n_children {
                    child = trees.node(tree, stats.first_child + rank);
                }
            }
            let (_, best_rank) = block::argmax(best, best_rank, scratch.bounds, scratch.children);
            node = stats.first_child + best_rank;
            depth += 1;
            // Just read by one of the threads, so it comes from the nearest cache.
            stats = trees.node(tree, node);
        }
    }
}

/// Selects a leaf in each tree and notes it with its path.
///
/// # Safety
/// Launched with [`shape`]: one block a tree, of a whole number of warps. The arrays of `trees` are as [`Trees`] says.
#[device_inline]
pub unsafe fn select<G: Game>(trees: Trees<G>, ucb_c: f32, draw_value: f32, scratch: Scratch) {
    let tree = thread::block_idx_x();
    // SAFETY: tree < n_trees by the launch shape; the block has it alone; thread 0 writes the head.
    unsafe {
        let (node, _, depth) = walk(&trees, tree, ucb_c, draw_value, scratch);
        if thread::thread_idx_x() == 0 {
            let head = trees.head(tree);
            trees.set_head(tree, TreeHead { selected: node, path_length: depth + 1, ..head });
        }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn bound_of_a_known_node() {
        // 60 wins and 20 draws at half a point in 100 of 1000 playouts: 0.7 + 2 √(ln 1000 / 100).
        let bound = upper_bound(100, 60, 20, math::ln(1000.0), 2.0, 0.5);
        assert!((bound - (0.7 + 2.0 * (1000f32.ln() / 100.0).sqrt())).abs() < 1e-6);
        assert_eq!(upper_bound(0, 0, 0, 3.0, 2.0, 0.5), f32::INFINITY);
    }
}
