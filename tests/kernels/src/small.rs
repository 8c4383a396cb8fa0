//! The single-precision twin of the kernel that measures small games.

use warpplay_gpu::cfr::small::{MAX_THREADS, Task, measure};
use warpplay_gpu::cuda::kernel;

/// `cfr_small_measure_f64` in single precision.
///
/// # Safety
/// As that kernel.
#[kernel(max_threads = MAX_THREADS, min_blocks = 1)]
pub unsafe fn test_small_measure_f32(task: Task<f32>) {
    // SAFETY: the contract.
    unsafe { measure(task) }
}
