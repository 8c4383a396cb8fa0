//! The count of iterations.

use crate::cuda::{kernel, memory, thread};

/// Counts the iteration: adds 1 to `clock[0]`.
///
/// * Launch: any: the first thread does it.
/// * Reads: `clock`.
/// * Writes: `clock`.
/// * Shared: none.
/// * Cost: one addition.
/// * Twin: `warpplay_cpu_ref::cfr::tree::solver::Solver::iterate`.
/// * Source: our own.
///
/// # Safety
/// One thread does it; `clock` holds a value.
#[kernel]
pub unsafe fn cfr_explicit_tick(clock: *mut u64) {
    if thread::index_1d() == 0 {
        // SAFETY: the contract.
        unsafe { memory::store(clock, 0, memory::load(clock, 0) + 1) };
    }
}
