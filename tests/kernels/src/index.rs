//! Who am I, and the one guard of linear kernels.

use warpplay_gpu::cuda::{kernel, memory, thread, time};

/// Writes all indices and sizes of each thread, blocks and threads numbered with x fastest.
///
/// # Safety
/// `out` has an entry for each thread of the grid.
#[kernel]
pub unsafe fn test_indices(out: *mut [u32; 12]) {
    let block = thread::block_idx_x()
        + thread::grid_dim_x() * (thread::block_idx_y() + thread::grid_dim_y() * thread::block_idx_z());
    let in_block = thread::thread_idx_x()
        + thread::block_dim_x() * (thread::thread_idx_y() + thread::block_dim_y() * thread::thread_idx_z());
    let threads = thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z();
    let all = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
        thread::block_dim_x(),
        thread::block_dim_y(),
        thread::block_dim_z(),
        thread::grid_dim_x(),
        thread::grid_dim_y(),
        thread::grid_dim_z(),
    ];
    // SAFETY: an entry for each thread.
    unsafe { memory::store(out, block as usize * threads as usize + in_block as usize, all) };
}

/// Adds `1 + 1000 * lane + 100000 * warp` to each of `n` entries, once.
///
/// # Safety
/// `marks` holds at least `n` values.
#[kernel]
pub unsafe fn test_mark_below(marks: *mut u32, n: u32) {
    let Some(index) = thread::index_1d_below(n) else { return };
    // SAFETY: index < n, and no other thread has it.
    unsafe {
        let was = memory::load(marks, index as usize);
        memory::store(marks, index as usize, was + 1 + 1000 * thread::lane() + 100_000 * thread::warp_index());
    }
}

/// Two readings of the clock, one after the other.
///
/// # Safety
/// `out` holds one pair; one thread.
#[kernel]
pub unsafe fn test_clock(out: *mut [u64; 2]) {
    let first = time::globaltimer();
    let second = time::globaltimer();
    // SAFETY: one pair, one thread.
    unsafe { memory::store(out, 0, [first, second]) };
}
