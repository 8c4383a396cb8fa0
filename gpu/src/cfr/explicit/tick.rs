//! The count of iterations.

use crate::cuda::view::Disjoint;
use crate::cuda::{kernel, thread};
use crate::launch::LaunchShape;

/// Counts the iteration: adds 1 to `clock[0]`.
///
/// * Launch: one thread.
/// * Reads: `clock`.
/// * Writes: `clock`.
/// * Shared: none.
/// * Cost: one addition.
/// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Solver::iterate`.
/// * Source: our own.
#[kernel(shape = LaunchShape::new(1, 1))]
pub fn cfr_explicit_tick(#[len(1)] mut clock: Disjoint<u64>) {
    let Some(first) = thread::own_index_below(1) else { return };
    clock.set(&first, clock.get(&first) + 1);
}
