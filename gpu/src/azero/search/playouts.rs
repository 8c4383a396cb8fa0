//! Values by playouts: each leaf's value is the mean result of random games from it. One block a leaf, one thread a playout.

use super::random::{self, Purpose};
use super::tree::{Searched, Trees, kind};
use crate::cuda::shared::Shared;
use crate::cuda::{block, memory, thread};
use crate::launch::LaunchShape;
use crate::mcts::playout::{Words, shared_bytes};
use crate::mcts::{Outcome, Player};

/// Most threads of a block; a thread plays several games where more are asked for.
pub const BLOCK: u32 = 128;

/// Launch shape of [`playouts`] for up to `n_leaves` leaves a tree.
pub const fn shape<G: Searched>(n_trees: u32, n_leaves: u32, n_playouts: u32) -> LaunchShape {
    let warps = n_playouts.div_ceil(thread::WARP) * thread::WARP;
    let threads = if warps > BLOCK { BLOCK } else { warps };
    LaunchShape::grid_2d(n_trees, n_leaves, threads).with_shared(shared_bytes::<G>(threads))
}

/// Plays `n_playouts` games from every leaf that waits and writes the mean result for the first player, row `tree · row_stride + leaf`.
///
/// # Safety
/// Launched with [`shape`] for at least as many leaves as wait; the leaves were selected; `values` has their rows; `n_playouts` is below 2¹⁶.
#[device_inline]
pub unsafe fn playouts<G: Searched>(
    trees: Trees<G>,
    values: *mut f32,
    row_stride: u32,
    n_playouts: u32,
    scratch: Shared<u32>,
) {
    let (tree, number) = (thread::block_idx_x(), thread::block_idx_y());
    // SAFETY: the tree exists by the launch shape; the leaf is asked whether it waits; the row is this block's.
    unsafe {
        let head = trees.head(tree);
        if number >= head.n_leaves || trees.leaf(tree, number).kind() == kind::OVER {
            return;
        }
        let position: G = memory::load(trees.leaf_positions, trees.leaf_at(tree, number));
        let key = memory::load(trees.tasks, tree as usize).key;
        let simulation = (head.begun - head.n_leaves + number) as u64;
        let mut wins = 0;
        for playout in thread::strided(thread::thread_idx_x(), n_playouts, thread::block_dim_x()) {
            let index = simulation * n_playouts as u64 + playout as u64;
            let mut stream = random::stream(key, Purpose::Playout, index);
            wins += match position.playout(&mut stream, &mut Words::new(G::PLAYOUT_WORDS)).outcome {
                Outcome::Win(Player::First) => 1,
                Outcome::Win(Player::Second) => 1 << 16,
                _ => 0,
            };
        }
        let wins = block::sum(wins, scratch);
        if thread::thread_idx_x() == 0 {
            let difference = (wins & 0xffff) as i32 - (wins >> 16) as i32;
            let row = tree as usize * row_stride as usize + number as usize;
            memory::store(values, row, difference as f32 / n_playouts as f32);
        }
    }
}
