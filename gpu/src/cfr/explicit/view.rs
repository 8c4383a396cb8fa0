//! The tree as kernels see it.
//!
//! Nodes are numbered breadth-first, so levels and the children of a node are consecutive, and the children of node `h` are `first[h] .. first[h + 1]`.
//! Every edge has a *row*: the index of its probability in a table of probabilities, which holds the sets' actions, seat by seat, and then the outcomes of
//! chance. The edge into node `h` has row `rows[h]`.

use crate::cuda::warp::{self, Word};
use crate::cuda::{DeviceArgs, memory, thread};

use super::super::regret::Real;

/// Threads of a block, for all kernels here.
pub const BLOCK: u32 = 128;

/// What belongs to a seat: ranges of histories, information sets and rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeatRange {
    /// First of the seat's histories in `members`.
    pub members: u32,
    /// One behind the last.
    pub members_end: u32,
    /// First information set.
    pub sets: u32,
    /// One behind the last.
    pub sets_end: u32,
    /// First row.
    pub rows: u32,
    /// One behind the last.
    pub rows_end: u32,
}

// SAFETY: six words, no padding, all bit patterns allowed.
unsafe impl bytemuck::Zeroable for SeatRange {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for SeatRange {}

const _: () = assert!(size_of::<SeatRange>() == 24);

impl SeatRange {
    /// Whether the seat acts on the edge with this row.
    #[inline(always)]
    pub fn acts(&self, row: u32) -> bool {
        row >= self.rows && row < self.rows_end
    }
}

/// A tree on the device.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Histories where somebody acts.
    n_decisions: u32
)]
pub struct TreeView {
    /// `[n_nodes]` The node before; of the root 0.
    #[len(n_nodes)]
    pub parents: *const u32,
    /// `[n_nodes]` Row of the edge into the node; of the root not used.
    #[len(n_nodes)]
    pub rows: *const u32,
    /// `[n_nodes + 1]` First child; a node without children has none of its own.
    #[len(n_nodes + 1)]
    pub first: *const u32,
    /// `[n_decisions]` Nodes where somebody acts, set by set.
    #[len(n_decisions)]
    pub members: *const u32,
    /// `[n_sets + 1]` Index of a set's first history in `members`.
    #[len(n_sets + 1)]
    pub set_members: *const u32,
    /// `[n_sets + 1]` First row of a set.
    #[len(n_sets + 1)]
    pub set_rows: *const u32,
    /// `[n_seats]` What belongs to each seat.
    #[len(n_seats)]
    pub seats: *const SeatRange,
    /// Nodes.
    pub n_nodes: u32,
    /// Information sets.
    pub n_sets: u32,
    /// Seats.
    pub n_seats: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<TreeView>() == 72);

impl TreeView {
    /// Children of a node, as (first, one behind the last).
    ///
    /// # Safety
    /// `node` is one of the tree.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn children(&self, node: u32) -> (u32, u32) {
        // SAFETY: `first` has one value more than there are nodes.
        unsafe { (memory::load(self.first, node as usize), memory::load(self.first, node as usize + 1)) }
    }

    /// Row of the edge into a node.
    ///
    /// # Safety
    /// `node` is one of the tree, not the root.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn row(&self, node: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { memory::load(self.rows, node as usize) }
    }

    /// What belongs to a seat.
    ///
    /// # Safety
    /// `seat` is one of the game.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn seat(&self, seat: u32) -> SeatRange {
        // SAFETY: the caller's promise.
        unsafe { memory::load(self.seats, seat as usize) }
    }

    /// Rows of a set, as (first, one behind the last).
    ///
    /// # Safety
    /// `set` is one of the game.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn rows_of_set(&self, set: u32) -> (u32, u32) {
        // SAFETY: `set_rows` has one value more than there are sets.
        unsafe { (memory::load(self.set_rows, set as usize), memory::load(self.set_rows, set as usize + 1)) }
    }

    /// Indices of a set's histories in `members`, as (first, one behind the last).
    ///
    /// # Safety
    /// `set` is one of the game.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn members_of_set(&self, set: u32) -> (u32, u32) {
        // SAFETY: `set_members` has one value more than there are sets.
        unsafe { (memory::load(self.set_members, set as usize), memory::load(self.set_members, set as usize + 1)) }
    }
}

/// The threads that work on one information set together: 1, 2, 4, 8, 16 or 32 neighbours of a warp.
#[derive(Clone, Copy)]
pub struct Group {
    /// Threads of a group.
    pub size: u32,
    /// The thread's rank in its group.
    pub rank: u32,
    /// Number of the group in the grid, along x.
    pub index: u32,
    mask: u32,
}

impl Group {
    /// The group of the current thread. `size` is the same for the whole grid.
    #[inline(always)]
    pub fn of_thread(size: u32) -> Self {
        let rank = thread::lane() & (size - 1);
        let mask = if size == thread::WARP { u32::MAX } else { ((1 << size) - 1) << (thread::lane() - rank) };
        let index = (thread::block_idx_x() * BLOCK + thread::thread_idx_x()) / size;
        Self { size, rank, index, mask }
    }

    /// Sum over the group, on each of its threads, in a fixed order. All of them call it.
    #[inline(always)]
    #[track_caller]
    pub fn sum<T: Real + Word>(&self, value: T) -> T {
        let mut sum = value;
        let mut distance = self.size / 2;
        while distance > 0 {
            sum += warp::shuffle_xor(self.mask, sum, distance);
            distance /= 2;
        }
        sum
    }
}
