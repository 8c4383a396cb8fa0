//! Threads per block of each stage.

use warpplay_gpu::cuda::thread::WARP;
use warpplay_gpu::mcts::Game;

use crate::{Error, Result};

/// The paper's `tpb_default`: half of a block's 1024 threads.
const DEFAULT: u32 = 512;
/// Most threads of a block.
const MAX: u32 = 1024;

/// Threads for `n` items, rounded up to whole warps. If that overflows, the result is too large and is refused with the block size.
fn whole_warps(n: u32) -> u32 {
    n.checked_next_multiple_of(WARP).unwrap_or(u32::MAX)
}

/// Threads per block of each stage, whole warps each. Playout blocks have a thread a playout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Reset.
    pub reset: u32,
    /// Selection.
    pub select: u32,
    /// Expansion, step 1; at least one thread for each action.
    pub expand_1: u32,
    /// Expansion, step 2.
    pub expand_2: u32,
    /// Backup, step 1.
    pub backup_1: u32,
    /// Backup, step 2.
    pub backup_2: u32,
    /// Reduction over trees; at least one thread for each tree.
    pub reduce_over_trees: u32,
    /// Reduction over actions.
    pub reduce_over_actions: u32,
    /// The kernel that does all stages but the playouts; at least one thread for each action.
    pub step: u32,
}

impl BlockSizes {
    /// The sizes of the paper's Listing 1, rounded up to whole warps; the last one is ours.
    pub fn listing_1<G: Game>(n_trees: u32) -> Self {
        let warps = |n: u32| n.min(DEFAULT).next_power_of_two().max(WARP);
        let board = warps(G::BOARD.0.saturating_mul(G::BOARD.1).max(G::EXTRA_INFO_BYTES));
        let actions = warps(G::MAX_ACTIONS);
        Self {
            reset: board,
            select: DEFAULT,
            expand_1: board.max(actions),
            expand_2: board,
            backup_1: actions,
            backup_2: DEFAULT,
            reduce_over_trees: warps(n_trees),
            reduce_over_actions: actions,
            step: whole_warps(G::MAX_ACTIONS),
        }
    }

    /// The fewest threads that the stages can use: a thread for each action.
    pub fn smallest<G: Game>(n_trees: u32) -> Self {
        let actions = whole_warps(G::MAX_ACTIONS);
        Self {
            reset: WARP,
            select: actions,
            expand_1: actions,
            expand_2: WARP,
            backup_1: actions,
            backup_2: WARP,
            reduce_over_trees: whole_warps(n_trees),
            reduce_over_actions: actions,
            step: actions,
        }
    }

    pub(super) fn check<G: Game>(&self, n_trees: u32) -> Result<()> {
        let fields = [
            ("block size of reset", self.reset, 1),
            ("block size of select", self.select, 1),
            ("block size of expand_1", self.expand_1, G::MAX_ACTIONS),
            ("block size of expand_2", self.expand_2, 1),
            ("block size of backup_1", self.backup_1, 1),
            ("block size of backup_2", self.backup_2, 1),
            ("block size of reduce_over_trees", self.reduce_over_trees, n_trees),
            ("block size of reduce_over_actions", self.reduce_over_actions, 1),
            ("block size of step", self.step, G::MAX_ACTIONS),
        ];
        for (name, value, least) in fields {
            let least = least.next_multiple_of(WARP);
            if !value.is_multiple_of(WARP) || !(least..=MAX).contains(&value) {
                return Err(Error::option(name, value, format!("a multiple of {WARP}, {least} to {MAX}")));
            }
        }
        Ok(())
    }
}
