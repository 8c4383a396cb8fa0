//! A whole step in two kernels: the fast form of the prodigal variants.
//!
//! Backup, selection and both halves of expansion concern one tree alone, so one block does them in one kernel, [`step`]; the playouts follow as
//! in the stage by stage form. The backup of a step is done by the next call, and after the last one by the kernels of [`backup`](super::backup).
//! Against six or seven kernels a step this saves the launches between them and the reads of what the block just wrote; same statistics, bit for bit.

use super::expand::{self, Blocks, Children};
use super::game::Game;
use super::select;
use super::tree::{Trees, target};
use super::backup;
use crate::cuda::shared::Shared;
use crate::cuda::sync::sync_threads;
use crate::cuda::{memory, thread};

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

/// Backs up the last step's playouts, selects a leaf, expands it and writes its children.
///
/// # Safety
/// Launched with one block a tree, of a whole number of warps and at least `B` threads. The arrays of `trees` are as [`Trees`] says, and the playouts
/// of the last step, if there was one, are in them.
#[inline(always)]
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
        let (head, rank) = expand::grow(&trees, tree, head, leaf, &position, Blocks::Prodigal, children, scratch.counts);
        if let Some(rank) = rank {
            expand::write_child(&trees, tree, head.size - head.n_expanded + rank, &position, thread::thread_idx_x());
        }
    }
}
