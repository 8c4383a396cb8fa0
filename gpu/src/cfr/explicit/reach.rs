//! Reach of a seat's histories, walked from each history to the root: (chance and the others, the seat itself).
//!
//! A level-by-level pass would touch every node for what only this seat's are asked for, with a launch a level; neighbours walk along the same nodes, so
//! most loads of a walk come from the caches.
//!
//! One thread, one history of the seat.

use super::super::regret::Real;
use super::view::{self, BLOCK, Node};
use crate::cuda::{DeviceArgs, memory, thread};
use crate::launch::LaunchShape;

/// Launch shape for seats of at most `n_members` histories.
pub const fn shape(n_members: u32, n_seats: u32) -> LaunchShape {
    let blocks = if n_members == 0 { 1 } else { n_members.div_ceil(BLOCK) };
    LaunchShape::grid_2d(blocks, n_seats, BLOCK)
}

/// What the kernel works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Histories where somebody acts.
    n_decisions: u32,
    /// Rows of the sets' actions, and of chance.
    n_probabilities: u32
)]
#[require(first_seat < tree.n_seats)]
pub struct Reach<T> {
    /// The tree.
    #[args]
    pub tree: view::TreeView,
    /// `[n_probabilities]` Probability of each row.
    #[len(n_probabilities)]
    pub probabilities: *const T,
    /// `[n_decisions]` Reach of chance and the other seats.
    #[len(n_decisions)]
    pub others: *mut T,
    /// `[n_decisions]` Reach of the seat itself.
    #[len(n_decisions)]
    pub own: *mut T,
    /// Seat of the blocks with y = 0.
    pub first_seat: u32,
    /// 0.
    pub reserved: u32,
}

/// See the module.
///
/// # Safety
/// Launched with `shape` for the seats from `first_seat` on; the arrays are those of the tree.
#[device_inline]
pub unsafe fn reach<T: Real>(task: Reach<T>) {
    // SAFETY: node, seat and rows are the tree's, whose arrays these are, as the kernel asks; each value of the arrays is one thread's.
    unsafe {
        let tree = view::Tree::of(&task.tree);
        let seat = tree.seat(task.first_seat + thread::block_idx_y());
        let Some(index) = thread::index_1d_below(seat.range().members_end - seat.range().members) else { return };
        let member = seat.range().members + index;
        let mut node = tree.member(member);
        let (mut others, mut own) = (T::ONE, T::ONE);
        while node != Node::ROOT {
            let row = tree.row(node);
            let probability = memory::load(task.probabilities, row.number());
            if seat.acts(row) {
                own *= probability;
            } else {
                others *= probability;
            }
            node = tree.before(node);
        }
        memory::store(task.others, member as usize, others);
        memory::store(task.own, member as usize, own);
    }
}
