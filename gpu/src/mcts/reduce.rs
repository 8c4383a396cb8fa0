//! Reductions at the end: sums over the trees for each root action, then the best action.
//!
//! Over trees: a block an action, a thread a tree. Over actions: one block, a thread an action.
//! The best action is a proven win if there is one, then the one with most playouts, then most wins, then the lowest.

use bytemuck::{Pod, Zeroable};

use super::expand::Blocks;
use super::game::{Game, Outcome};
use super::tree::{NOT_EXPANDED, Trees};
use crate::cuda::shared::Shared;
use crate::cuda::sync::sync_threads;
use crate::cuda::thread::{self, WARP};
use crate::cuda::{block, memory, warp};
use crate::launch::LaunchShape;

/// Launch shape of [`reduce_over_trees`] for `n_totals` totals with blocks of `threads` threads, whole warps and at least one thread a tree.
pub const fn shape_over_trees(n_totals: u32, threads: u32) -> LaunchShape {
    LaunchShape::new(n_totals, threads)
}

/// Launch shape of [`reduce_over_actions`] with a block of `threads` threads, whole warps.
pub const fn shape_over_actions(threads: u32) -> LaunchShape {
    LaunchShape::new(1, threads)
}

/// What all trees together know of one root action.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct RootAction {
    /// Playouts through the roots.
    pub n_root: u64,
    /// Playouts through the action.
    pub n: u64,
    /// Of these, won by the player to move at the root.
    pub wins: u64,
    /// Of these, drawn.
    pub draws: u64,
    /// The action; meaningless where `present` is 0.
    pub action: u32,
    /// 1 where the action wins at once.
    pub win_flag: u32,
    /// 1 where the action is legal at the root.
    pub present: u32,
    /// Keeps the size a multiple of 8.
    pub reserved: u32,
}

const _: () = assert!(size_of::<RootAction>() == 48);

/// Sums one root action over the trees: block b is the action of rank b (thrifty) or action b itself (prodigal), and writes `totals[b]`.
///
/// # Safety
/// Launched with [`shape_over_trees`]: as many blocks as the root has children (thrifty) or as there are actions (prodigal), of a whole number of warps and at least
/// `n_trees` threads. `root_actions` is what [`memorize_root_actions`](super::expand::memorize_root_actions) wrote; `totals` holds a value a block.
#[device_inline]
pub unsafe fn reduce_over_trees<G: Game>(
    trees: Trees<G>,
    root_actions: *const u16,
    totals: *mut RootAction,
    blocks: Blocks,
    scratch: Shared<u64>,
) {
    let tree = thread::thread_idx_x();
    let entry = thread::block_idx_x();
    // SAFETY: entry < B by the launch shape; the root's children stand at the same ranks in every tree; tree is checked against n_trees; only
    // thread 0 writes the total.
    unsafe {
        let rank = match blocks {
            Blocks::Thrifty => entry,
            Blocks::Prodigal => memory::load(root_actions, entry as usize) as u32,
        };
        let present = rank != NOT_EXPANDED as u32;
        let mut mine = [0u64; 4];
        if present && tree < trees.n_trees {
            let root = trees.node(tree, 0);
            let child = trees.node(tree, root.first_child + rank);
            mine = [root.n, child.n, child.wins, child.draws];
        }
        let n_root = block::sum(mine[0], scratch);
        let n = block::sum(mine[1], scratch);
        let wins = block::sum(mine[2], scratch);
        let draws = block::sum(mine[3], scratch);
        if tree == 0 {
            let mut total = RootAction { n_root, n, wins, draws, present: present as u32, ..RootAction::default() };
            if present {
                let child_index = trees.node(0, 0).first_child + rank;
                let child = trees.node(0, child_index);
                total.action = memory::load(trees.links, trees.at(0, child_index)).action as u32;
                total.win_flag = (child.outcome() == Outcome::Win(child.mover())) as u32;
            }
            memory::store(totals, entry as usize, total);
        }
    }
}

/// Shared memory of [`reduce_over_actions`], a value a warp each.
#[derive(Clone, Copy)]
pub struct Scratch {
    /// Winning flag and presence.
    pub keys: Shared<u32>,
    /// Playouts.
    pub n: Shared<u64>,
    /// Wins.
    pub wins: Shared<u64>,
    /// Position in the totals.
    pub entries: Shared<u32>,
}

/// One action in the contest for the best.
#[derive(Clone, Copy)]
struct Candidate {
    key: u32,
    n: u64,
    wins: u64,
    entry: u32,
}

impl Candidate {
    /// Loses against every action that exists.
    const NONE: Self = Self { key: 0, n: 0, wins: 0, entry: u32::MAX };

    #[device_inline]
    fn better(self, other: Self) -> Self {
        // Entries ascend with actions in both layouts, so the lower entry is the lower action.
        let other_wins = other.key > self.key
            || (other.key == self.key
                && (other.n > self.n
                    || (other.n == self.n
                        && (other.wins > self.wins || (other.wins == self.wins && other.entry < self.entry)))));
        if other_wins { other } else { self }
    }

    #[device_inline]
    fn best_of_warp(self) -> Self {
        let mut best = self;
        let mut distance = WARP / 2;
        while distance > 0 {
            let other = Self {
                key: warp::shuffle_xor(warp::ALL, best.key, distance),
                n: warp::shuffle_xor(warp::ALL, best.n, distance),
                wins: warp::shuffle_xor(warp::ALL, best.wins, distance),
                entry: warp::shuffle_xor(warp::ALL, best.entry, distance),
            };
            best = best.better(other);
            distance /= 2;
        }
        best
    }
}

/// Finds the best of `n_totals` root actions and writes it to `best`.
///
/// # Safety
/// Launched with [`shape_over_actions`]: one block, of a whole number of warps. `totals` holds `n_totals` values, `best` one.
#[device_inline]
pub unsafe fn reduce_over_actions(totals: *const RootAction, best: *mut RootAction, n_totals: u32, scratch: Scratch) {
    let mut mine = Candidate::NONE;
    let mut entry = thread::thread_idx_x();
    while entry < n_totals {
        // SAFETY: entry < n_totals.
        let total = unsafe { memory::load(totals, entry as usize) };
        let key = total.present + (total.present & total.win_flag);
        mine = mine.better(Candidate { key, n: total.n, wins: total.wins, entry });
        entry += thread::block_dim_x();
    }
    let of_warp = mine.best_of_warp();
    if thread::lane() == 0 {
        let warp = thread::warp_index();
        scratch.keys.set(warp, of_warp.key);
        scratch.n.set(warp, of_warp.n);
        scratch.wins.set(warp, of_warp.wins);
        scratch.entries.set(warp, of_warp.entry);
    }
    // Every warp's best must be there before the first warp reads them.
    sync_threads();
    if thread::warp_index() == 0 {
        let lane = thread::lane();
        let candidate = if lane < thread::block_dim_x() / WARP {
            Candidate {
                key: scratch.keys.get(lane),
                n: scratch.n.get(lane),
                wins: scratch.wins.get(lane),
                entry: scratch.entries.get(lane),
            }
        } else {
            Candidate::NONE
        };
        let winner = candidate.best_of_warp();
        if lane == 0 {
            // SAFETY: the winner is one of the totals, or none exists and the empty total stands for that.
            unsafe {
                let total = if winner.entry < n_totals {
                    memory::load(totals, winner.entry as usize)
                } else {
                    RootAction::default()
                };
                memory::store(best, 0, total);
            }
        }
    }
}
