//! The average profile: sums of strategies divided by their total, in double precision; uniform where a set was never reached.
//!
//! One thread, one set.

use super::super::regret::{Real, probability};
use super::view::{BLOCK, Tree, TreeView};
use crate::cuda::{memory, thread};
use crate::launch::LaunchShape;

/// Launch shape for `n_sets` sets.
pub const fn shape(n_sets: u32) -> LaunchShape {
    LaunchShape::linear(n_sets, BLOCK)
}

/// See the module.
///
/// # Safety
/// Launched with `shape` for the tree's sets; the arrays are those of the tree.
#[device_inline]
pub unsafe fn profile<T: Real>(tree: TreeView, averages: *const T, profile: *mut f64) {
    // SAFETY: the set is one of the tree's, whose arrays these are, as the kernel asks; the rows of a set are one thread's.
    unsafe {
        let Some(set) = thread::index_1d_below(tree.n_sets) else { return };
        let (first, end) = Tree::of(&tree).rows_of_set(set);
        let mut total = 0.0;
        let mut row = first as usize;
        while row < end as usize {
            total += memory::load(averages, row).to_f64();
            row += 1;
        }
        row = first as usize;
        while row < end as usize {
            memory::store(profile, row, probability(memory::load(averages, row).to_f64(), total, end - first));
            row += 1;
        }
    }
}
