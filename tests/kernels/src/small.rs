//! The single-precision twin of the kernel that measures small games.

#[cfg(not(target_arch = "nvptx64"))]
use warpplay_gpu::cfr::small::shape;
use warpplay_gpu::cfr::small::{MAX_THREADS, Task, measure};
use warpplay_gpu::cuda::shared::{Shared, dynamic};
use warpplay_gpu::cuda::{kernel, math, memory, sync, thread};

/// `cfr_small_measure_f64` in single precision.
///
/// * Launch: [`shape`], a block a game.
///
/// # Safety
/// As that kernel.
#[kernel(
    shape = |n_games: u32, largest_phase: u32, shared_bytes: u32| shape(n_games, largest_phase, shared_bytes),
    max_threads = MAX_THREADS,
    min_blocks = 1
)]
pub unsafe fn test_small_measure_f32(task: Task<f32>) {
    // SAFETY: the contract.
    unsafe { measure(task) }
}

/// Reads word `4 + index + lane` of shared memory behind a loop that walks over the words from the first one on, `step` words at a time; word `i` holds `i`.
/// `out` gets the word and the sum of those that the loop met, a pair a thread.
///
/// The address of word 4 is a sum with a constant, and the loop moves the register that it was made from: `ptxas` 12.0 to 13.2 reads another word unless the builder
/// keeps the two apart.
///
/// * Launch: one block, with `n` words of dynamic shared memory.
///
/// # Safety
/// `out` has an entry a thread; `step` is at least 1, and the block's dynamic shared memory has `n` words, at least `index` and 36.
#[kernel]
pub unsafe fn test_moved_base(out: *mut [u32; 2], n: u32, step: u32, index: u32) {
    let words = dynamic::<u32>(0, n);
    // Opaque, or LLVM would add the 16 last.
    // SAFETY: the words from 4 on.
    let behind = unsafe { Shared::<u32>::from_address(math::opaque(words.base() + 16), n - 4) };
    let mut at = thread::thread_idx_x();
    while at < n {
        words.set(at, at);
        at += thread::block_dim_x();
    }
    // All words are there.
    sync::sync_threads();
    let mut sum = 0;
    let mut at = 0;
    while at < n {
        // SAFETY: at < n.
        sum += unsafe { words.get_unchecked(at) };
        at += step;
    }
    // SAFETY: the contract.
    unsafe {
        let word = behind.get_unchecked(index + thread::lane());
        memory::store(out, thread::thread_idx_x() as usize, [word, sum]);
    }
}
