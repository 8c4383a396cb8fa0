//! Best responses of one level: in each of a seat's sets the action with the largest counterfactual value, ties to the first.
//!
//! The values below are those of the best response already, so levels are done from the deepest on, and all histories of a set must lie on one level.
//! A [`Group`] of threads has a set.

use super::super::regret::Real;
use super::view::{self, Group};
use crate::cuda::warp::Word;
use crate::cuda::{DeviceArgs, math, memory, thread};

/// What the kernel works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Histories where somebody acts.
    n_decisions: u32,
    /// Rows of the sets' actions.
    n_rows: u32
)]
#[require(first_seat < tree.n_seats && level < n_levels && lanes.is_power_of_two() && lanes <= thread::WARP)]
#[require(writes == 0 || !strategies.is_none())]
pub struct Respond<T> {
    /// The tree.
    #[args]
    pub tree: view::TreeView,
    /// `[n_seats][n_levels + 1]` First set of each level.
    #[len(tree.n_seats * (n_levels + 1))]
    pub set_levels: *const u32,
    /// `[n_seats][n_nodes]` Value of each node.
    #[len(tree.n_seats * tree.n_nodes)]
    pub values: *mut T,
    /// `[n_decisions]` Reach of chance and the others.
    #[len(n_decisions)]
    pub others: *const T,
    /// `[n_rows]` Where the response is written, or null.
    #[len(n_rows)]
    #[nullable]
    pub strategies: *mut T,
    /// The level.
    pub level: u32,
    /// Levels.
    pub n_levels: u32,
    /// Seat of the blocks with y = 0.
    pub first_seat: u32,
    /// Threads a set, a power of two.
    pub lanes: u32,
    /// 1 where the response is written.
    pub writes: u32,
    /// 0.
    pub reserved: u32,
}

/// See the module.
///
/// # Safety
/// Launched after all values of the level below; the arrays are those of the tree.
#[device_inline]
pub unsafe fn respond<T: Real + Word>(task: Respond<T>) {
    let group = Group::of_thread(task.lanes);
    let leads = math::opaque(group.rank) == 0;
    let seat_index = task.first_seat + thread::block_idx_y();
    // SAFETY: the set is one of the tree's, whose arrays these are, and the level below is complete, as the kernel asks; the nodes and rows of a set are its group's.
    unsafe {
        let levels = task.set_levels.add((seat_index * (task.n_levels + 1) + task.level) as usize);
        let set = memory::load(levels, 0) + group.index;
        if set >= memory::load(levels, 1) {
            // The whole group: its threads share the index.
            return;
        }
        let values = task.values.add(seat_index as usize * task.tree.n_nodes as usize);
        let tree = view::Tree::of(&task.tree);
        let (first_row, end_row) = tree.rows_of_set(set);
        let (first, end) = tree.members_of_set(set);
        let (mut best, mut most) = (0, T::ZERO);
        for action in 0..end_row - first_row {
            let mut sum = T::ZERO;
            for member in thread::strided(first + group.rank, end, group.size) {
                let node = memory::load(task.tree.members, member as usize);
                let child = memory::load(task.tree.first, node as usize) + action;
                sum += memory::load(task.others, member as usize) * memory::load(values, child as usize);
            }
            let sum = group.sum(sum);
            if action == 0 || sum > most {
                (best, most) = (action, sum);
            }
        }
        for member in thread::strided(first + group.rank, end, group.size) {
            let node = memory::load(task.tree.members, member as usize);
            let child = memory::load(task.tree.first, node as usize) + best;
            memory::store(values, node as usize, memory::load(values, child as usize));
        }
        if leads && task.writes != 0 {
            for action in 0..end_row - first_row {
                let part = if action == best { T::ONE } else { T::ZERO };
                memory::store(task.strategies, (first_row + action) as usize, part);
            }
        }
    }
}
