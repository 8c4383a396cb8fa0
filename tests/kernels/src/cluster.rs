//! Clusters of blocks.

use warpplay_gpu::cuda::{kernel, memory, sync, thread};

/// Every block leaves its number, waits for its cluster, and reads the number of the next block of the cluster.
///
/// * Launch: clusters of `cluster` blocks.
///
/// # Safety
/// Launched with clusters of `cluster` blocks; `left` and `read` have a value a block.
#[kernel]
pub unsafe fn test_cluster(left: *mut u32, read: *mut u32, cluster: u32) {
    let block = thread::block_idx_x();
    let next = block / cluster * cluster + (block + 1) % cluster;
    if thread::thread_idx_x() == 0 {
        // SAFETY: a value a block.
        unsafe { memory::store(left, block as usize, 100 + block) };
    }
    // The whole cluster must have written.
    sync::sync_cluster();
    if thread::thread_idx_x() == thread::block_dim_x() - 1 {
        // SAFETY: a value a block; the neighbour wrote before the barrier.
        unsafe { memory::store(read, block as usize, memory::load(left, next as usize)) };
    }
    sync::sync_cluster();
}
