//! Values of the nodes of one level: the mean over the children by the probabilities of the edges.
//!
//! One thread, one node; the deepest level is done first. Ends hold their payoffs.

use super::super::regret::Real;
use super::view::{self, BLOCK};
use crate::cuda::{DeviceArgs, memory, thread};
use crate::launch::LaunchShape;

/// Launch shape for a level of `n_nodes` nodes.
pub const fn shape(n_nodes: u32, n_seats: u32) -> LaunchShape {
    LaunchShape::grid_2d(n_nodes.div_ceil(BLOCK), n_seats, BLOCK)
}

/// What the kernel works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceArgs)]
#[args(
    /// Rows of the sets' actions, and of chance.
    n_probabilities: u32
)]
#[require(first_seat < tree.n_seats && start.saturating_add(n) <= tree.n_nodes)]
pub struct Values<T> {
    /// The tree.
    #[args]
    pub tree: view::TreeView,
    /// `[n_probabilities]` Probability of each row.
    #[len(n_probabilities)]
    pub probabilities: *const T,
    /// `[n_seats][n_nodes]` Value of each node.
    #[len(tree.n_seats * tree.n_nodes)]
    pub values: *mut T,
    /// First node of the level.
    pub start: u32,
    /// Nodes of the level.
    pub n: u32,
    /// Seat of the blocks with y = 0.
    pub first_seat: u32,
    /// 1 where the seat's own nodes are left to [`respond`](super::respond).
    pub skips_own: u32,
}

/// See the module.
///
/// # Safety
/// Launched with `shape` after the level below; the arrays are those of the tree.
#[device_inline]
pub unsafe fn values<T: Real>(task: Values<T>) {
    // SAFETY: the node is one of the tree's, whose arrays these are, as the kernel asks; each node is one thread's, and its children lie on the level below.
    unsafe {
        let tree = view::Tree::of(&task.tree);
        let Some(index) = thread::index_1d_below(task.n) else { return };
        let node = tree.node(task.start + index);
        let Some(children) = tree.children(node) else { return };
        let seat = task.first_seat + thread::block_idx_y();
        if task.skips_own != 0 && tree.seat(seat).acts(tree.row(children.first())) {
            return;
        }
        let values = task.values.add(seat as usize * tree.n_nodes() as usize);
        let mut sum = T::ZERO;
        for child in children.each() {
            let probability = memory::load(task.probabilities, tree.row(child).number());
            sum += probability * memory::load(values, child.number());
        }
        memory::store(values, node.number(), sum);
    }
}
