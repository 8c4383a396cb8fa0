//! Reductions of blocks, collectives of warps, barriers of the grid.

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::cuda::{block, kernel, memory, shared_array, sync, thread, warp};

/// What each thread of [`test_block`] got.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct BlockResults {
    /// Sum of the values, as u64.
    pub sum: u64,
    /// Largest value, as i64.
    pub max_i64: i64,
    /// Sum of the values up to this thread.
    pub up_to: u32,
    /// Sum of all, from the same call.
    pub all: u32,
    /// Largest value, as f32.
    pub max_f32: f32,
    /// Value of the arg-max.
    pub best: f32,
    /// Index of the arg-max.
    pub best_index: u32,
    /// Index of the arg-max of the negative values, by the same scratch.
    pub worst_index: u32,
}

/// All block reductions over one value a thread, the scratch used again and again without a barrier of the kernel's own.
///
/// * Launch: a block of whole warps for each part of `values`.
///
/// # Safety
/// One block a part of `values`, of whole warps; both arrays have an entry a thread.
#[kernel]
pub unsafe fn test_block(values: *const u32, out: *mut BlockResults) {
    let words = shared_array![u32; 32];
    let longs = shared_array![u64; 32];
    let signed = shared_array![i64; 32];
    let floats = shared_array![f32; 32];
    let index = thread::index_1d() as usize;
    // SAFETY: an entry for each thread.
    let value = unsafe { memory::load(values, index) };
    let me = thread::thread_idx_x();
    let sum = block::sum(value as u64 * 0x1_0000_0001, longs);
    let max_i64 = block::max(-(value as i64) - 1, i64::MIN, signed);
    let (up_to, all) = block::inclusive_sum(value, words);
    let max_f32 = block::max(value as f32, f32::NEG_INFINITY, floats);
    let (best, best_index) = block::argmax(value as f32, me, floats, words);
    let (_, worst_index) = block::argmax(-(value as f32), me, floats, words);
    let results = BlockResults { sum, max_i64, up_to, all, max_f32, best, best_index, worst_index };
    // SAFETY: an entry for each thread.
    unsafe { memory::store(out, index, results) };
}

/// Number of results a lane of [`test_warp`].
pub const WARP_RESULTS: usize = 20;

/// Every warp collective over one value a lane.
///
/// * Launch: one block of whole warps.
///
/// # Safety
/// One block of whole warps; both arrays have an entry a thread.
#[kernel]
pub unsafe fn test_warp(values: *const u64, out: *mut [u64; WARP_RESULTS]) {
    let index = thread::index_1d() as usize;
    // SAFETY: an entry for each thread.
    let wide = unsafe { memory::load(values, index) };
    let value = wide as u32;
    let small = value % 8;
    let float = small as f32 * 0.1;
    let half = if thread::lane() < 16 { 0x0000_ffff } else { 0xffff_0000 };
    let results = [
        warp::shuffle(warp::ALL, value, 5) as u64,
        warp::shuffle(warp::ALL, wide, thread::lane() / 2),
        warp::shuffle_xor(warp::ALL, wide, 9),
        warp::shuffle_down(warp::ALL, wide, 3),
        warp::shuffle_up(warp::ALL, wide, 3),
        warp::shuffle_up(warp::ALL, value, 31) as u64,
        warp::ballot(warp::ALL, small == 3) as u64,
        warp::any(warp::ALL, small == 7) as u64 | (warp::all(warp::ALL, small < 7) as u64) << 1,
        warp::match_any(warp::ALL, small) as u64,
        warp::reduce_sum(value) as u64,
        warp::reduce_sum(wide),
        warp::reduce_sum(float).to_bits() as u64,
        warp::reduce_max(value as i32) as u32 as u64,
        warp::reduce_min(wide as f64).to_bits(),
        warp::reduce_argmax(float, thread::lane()).1 as u64,
        warp::inclusive_sum(value) as u64,
        warp::inclusive_sum(wide as i64) as u64,
        warp::ballot(half, value & 1 == 1) as u64,
        warp::shuffle_xor(half, value, 1) as u64,
        warp::match_any(half, small) as u64,
    ];
    sync::sync_warp(warp::ALL);
    // SAFETY: an entry for each thread.
    unsafe { memory::store(out, index, results) };
}

/// A token goes round the grid: in each round every block adds one to what its left neighbour had the round before.
///
/// * Launch: cooperative, any number of blocks.
///
/// # Safety
/// Cooperative launch; `tokens` holds `rounds + 1` rows of a value a block, the first row set; `arrivals` is 0.
#[kernel]
pub unsafe fn test_grid(tokens: *mut u32, arrivals: *mut u32, rounds: u32) {
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let mut round = 0;
    while round < rounds {
        if thread::thread_idx_x() == thread::block_dim_x() - 1 {
            // SAFETY: inside the rows; this thread alone writes its entry, and reads one that was written before the barrier.
            unsafe {
                let left = memory::load(tokens, (round * blocks + (block + blocks - 1) % blocks) as usize);
                memory::store(tokens, ((round + 1) * blocks + block) as usize, left + 1);
            }
        }
        // SAFETY: cooperative; every thread makes all rounds.
        unsafe { sync::sync_grid(arrivals) };
        round += 1;
    }
}
