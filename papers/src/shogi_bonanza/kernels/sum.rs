//! T of each child against the played one, added up by blocks of 512.

use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread};
use warpplay_gpu::launch::LaunchShape;
use warpplay_gpu::shogi::sigmoid;

use super::halve;

/// Threads of a block: a child each.
pub const BLOCK: u32 = 512;

/// Launch shape for `n` children; a sum for each block.
pub const fn shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n, BLOCK)
}

/// Sums of T(σ (f(child) − f(played))) in multiples of 2⁻³⁶.
///
/// * Launch: [`shape`], a thread a child, blocks of 512.
/// * Reads: `f` `[n]`, values of positions; `played` `[n]`: for each child its parent's child 0, times 2, plus 1 where White moves.
/// * Writes: `sums`, one a block.
/// * Shared: 4,096 bytes: a term of each thread.
/// * Cost: one exponential a thread, 8 + 1 steps of a reduction.
/// * Twin: `warpplay_cpu_ref::shogi::material::program::Program::positions`.
/// * Source: the shogi paper of 2009, equation (5) and section 4, Table 5; the host adds the blocks' sums, as there.
///
/// # Safety
/// Launched with [`shape`] for `n`; the arrays have these lengths, and `played` names children.
#[kernel(max_threads = BLOCK)]
pub unsafe fn shogi_paper_sum(f: *const f64, played: *const u32, sums: *mut i64, a: f64, n: u32) {
    let terms = shared_array![i64; BLOCK as usize];
    let own = thread::thread_idx_x();
    let mut term = 0;
    if let Some(child) = thread::index_1d_below(n) {
        // SAFETY: below `n`; the contract for the played one.
        let (value, of_played, white) = unsafe {
            let played = memory::load(played, child as usize);
            (memory::load(f, child as usize), memory::load(f, (played >> 1) as usize), played & 1 == 1)
        };
        let x = if white { of_played - value } else { value - of_played };
        term = sigmoid::term(a, x);
    }
    terms.set(own, term);
    // As in the first kernel: every step has its barrier.
    sync::sync_threads();
    halve(terms, own, 256);
    halve(terms, own, 128);
    halve(terms, own, 64);
    halve(terms, own, 32);
    halve(terms, own, 16);
    halve(terms, own, 8);
    halve(terms, own, 4);
    halve(terms, own, 2);
    if own == 0 {
        // SAFETY: a sum for each block.
        unsafe { memory::store(sums, thread::block_idx_x() as usize, terms.get(0) + terms.get(1)) };
    }
}
