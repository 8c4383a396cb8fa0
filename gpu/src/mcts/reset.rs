//! Reset: every tree becomes a single root that holds the searched position.

use super::game::{Game, Outcome};
use super::tree::{NodeLink, NodeStats, TreeHead, Trees, target};
use crate::cuda::{memory, thread};
use crate::launch::LaunchShape;

/// Launch shape of [`reset`] with blocks of `threads` threads.
pub const fn shape(n_trees: u32, threads: u32) -> LaunchShape {
    LaunchShape::new(n_trees, threads)
}

/// Writes the root of each tree; one block a tree, whose threads copy the position side by side.
///
/// # Safety
/// Launched with [`shape`], one block a tree. `root` holds one position; the arrays of `trees` are as [`Trees`] says.
#[device_inline]
pub unsafe fn reset<G: Game>(trees: Trees<G>, root: *const G) {
    let tree = thread::block_idx_x();
    // SAFETY: tree < n_trees by the launch shape; only this block works on the tree, and each byte is written by one thread.
    unsafe {
        let at = trees.at(tree, 0);
        memory::copy_by_block(trees.states.add(at), root);
        if thread::thread_idx_x() == 0 {
            let position = memory::load(root, 0);
            memory::store(trees.links, at, NodeLink::default());
            trees.set_node(tree, 0, NodeStats::new(Outcome::Ongoing, position.to_move().other()));
            trees.set_head(tree, TreeHead { size: 1, target: target::NOTHING, ..TreeHead::default() });
        }
    }
}
