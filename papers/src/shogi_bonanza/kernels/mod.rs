//! The paper's program on the GPU: positions of 96 bytes ([`layout`](warpplay_gpu::shogi::layout)), a block of 96 threads for each.
//!
//! | kernel | what |
//! | --- | --- |
//! | [`shogi_paper_evaluate`](evaluate::shogi_paper_evaluate) | the paper's first: the value of each position, a thread a byte, then a reduction in shared memory |
//! | [`shogi_paper_sum`](sum::shogi_paper_sum) | its second: T of each child against the played one, added up by blocks |
//!
//! Where the paper's reductions leave out barriers (the last steps among the threads of a warp, and one inside a branch), ours have them: since Volta the threads of a
//! warp do not run in step. [`shogi_paper_evaluate`](evaluate::shogi_paper_evaluate) adds in the order of its tree, so that a
//! value may differ from the twin's in its last bit.

pub mod evaluate;
pub mod sum;

use core::ops::Add;

use warpplay_gpu::cuda::shared::Shared;
use warpplay_gpu::cuda::sync;

/// Adds the upper half of `2 * half` numbers to the lower one. All of the block wait, inside no branch: the next step reads what this one wrote.
#[inline(always)]
#[track_caller]
fn halve<T: Copy + Add<Output = T>>(numbers: Shared<T>, own: u32, half: u32) {
    if own < half {
        numbers.set(own, numbers.get(own) + numbers.get(own + half));
    }
    sync::sync_threads();
}

warpplay_gpu::kernel_set! {
    /// All kernels of the module.
    evaluate::shogi_paper_evaluate,
    sum::shogi_paper_sum,
}
