//! Kernels that break a rule on purpose, and the three barriers that the original of the search lacks.

use warpplay_gpu::cuda::shared::Shared;
use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread, warp};

/// Threads below `n` wait at a barrier, the others do not.
///
/// * Launch: blocks of more than `n` threads.
///
/// # Safety
/// None of its own; without a checking back end it may hang.
#[kernel]
pub unsafe fn test_divergent_barrier(n: u32) {
    if thread::thread_idx_x() < n {
        sync::sync_threads();
    }
}

/// Writes entry `index` of `values`, whatever their number.
///
/// * Launch: 41 threads or more.
///
/// # Safety
/// None: that is what it is for.
#[kernel]
pub unsafe fn test_out_of_bounds(values: *mut u32, index: u32) {
    if thread::index_1d() == 40 {
        // SAFETY: the checking back end stops the access before it is made.
        unsafe { memory::store(values, index as usize, 1) };
    }
}

/// Thread 3 reads shared memory that nobody wrote.
///
/// * Launch: one block of 4 threads or more.
///
/// # Safety
/// `out` holds one value.
#[kernel]
pub unsafe fn test_unwritten_shared(out: *mut u32) {
    let array = shared_array![u32; 8];
    if thread::thread_idx_x() == 3 {
        let value = array.get(5);
        // SAFETY: one value, one thread.
        unsafe { memory::store(out, 0, value) };
    }
}

/// Two threads write one shared word with no barrier between.
///
/// * Launch: one block of 34 threads or more.
///
/// # Safety
/// None of its own.
#[kernel]
pub unsafe fn test_shared_race() {
    let array = shared_array![u32; 8];
    if thread::thread_idx_x() == 2 || thread::thread_idx_x() == 33 {
        array.set(1, thread::thread_idx_x());
    }
}

/// Traps in thread 7 of block 1.
///
/// * Launch: two blocks or more of 8 threads or more.
///
/// # Safety
/// On a GPU it ends the context.
#[kernel]
pub unsafe fn test_trap() {
    if thread::block_idx_x() == 1 && thread::thread_idx_x() == 7 {
        warpplay_gpu::cuda::trap();
    }
}

/// A shared array read at an index beyond its end.
///
/// * Launch: any shape.
///
/// # Safety
/// On a GPU it ends the context.
#[kernel]
pub unsafe fn test_shared_out_of_bounds(index: u32) {
    let array = shared_array![u32; 8];
    array.set(index, 1);
}

/// A barrier, or none; the same for all threads.
#[inline(always)]
fn barrier(there: u32) {
    if there != 0 {
        sync::sync_threads();
    }
}

/// The original's first gap: ranks of children are set to "none" by one thread each and then given by other threads.
///
/// * Launch: one block of up to 256 threads.
///
/// # Safety
/// One block; `out` has an entry a thread.
#[kernel]
pub unsafe fn test_child_ranks(out: *mut u32, with_barrier: u32) {
    let ranks = shared_array![u32; 256];
    let (me, n) = (thread::thread_idx_x(), thread::block_dim_x());
    ranks.set(me, u32::MAX);
    barrier(with_barrier);
    if me % 2 == 0 {
        ranks.set((me + n / 2) % n, me);
    }
    sync::sync_threads();
    // SAFETY: an entry for each thread.
    unsafe { memory::store(out, me as usize, ranks.get(me)) };
}

/// The arg-max of one level, with or without the barrier that frees the scratch for the next level.
#[inline(always)]
fn argmax_of_level(value: f32, values: Shared<f32>, indices: Shared<u32>, with_barrier: u32) -> u32 {
    let (of_warp, index) = warp::reduce_argmax(value, thread::thread_idx_x());
    if thread::lane() == 0 {
        values.set(thread::warp_index(), of_warp);
        indices.set(thread::warp_index(), index);
    }
    sync::sync_threads();
    let (mut best, mut best_index) = (values.get(0), indices.get(0));
    let mut other = 1;
    while other < thread::block_dim_x() / thread::WARP {
        if values.get(other) > best {
            (best, best_index) = (values.get(other), indices.get(other));
        }
        other += 1;
    }
    barrier(with_barrier);
    best_index
}

/// The original's second gap: selection uses the arg-max's array for the next level while slower warps still read it.
///
/// * Launch: one block of whole warps.
///
/// # Safety
/// One block; `out` has an entry a level.
#[kernel]
pub unsafe fn test_argmax_reuse(out: *mut u32, levels: u32, with_barrier: u32) {
    let (values, indices) = (shared_array![f32; 32], shared_array![u32; 32]);
    let mut level = 0;
    while level < levels {
        let value = ((thread::thread_idx_x() * 37 + level * 11) % 101) as f32;
        let best = argmax_of_level(value, values, indices, with_barrier);
        if thread::thread_idx_x() == 0 {
            // SAFETY: an entry a level, one thread.
            unsafe { memory::store(out, level as usize, best) };
        }
        level += 1;
    }
}

/// The original's third gap: one thread collects the path in shared memory, all threads copy it out.
///
/// * Launch: one block of up to 256 threads.
///
/// # Safety
/// One block; `out` has an entry a thread.
#[kernel]
pub unsafe fn test_path_copy(out: *mut u32, with_barrier: u32) {
    let path = shared_array![u32; 256];
    let (me, n) = (thread::thread_idx_x(), thread::block_dim_x());
    if me == n - 1 {
        let mut at = 0;
        while at < n {
            path.set(at, at * at);
            at += 1;
        }
    }
    barrier(with_barrier);
    // SAFETY: an entry for each thread.
    unsafe { memory::store(out, me as usize, path.get(me)) };
}
