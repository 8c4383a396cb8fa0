//! Step 2: a thread an element, lanes along a row.

use warpplay_gpu::cuda::math::fma;
use warpplay_gpu::cuda::{kernel, memory, thread};
use warpplay_gpu::launch::LaunchShape;

/// Rows and columns of a block.
pub const TILE: u32 = 32;

/// `C = A B`, a thread an element; the lanes of a warp have 32 columns of one row.
///
/// * Launch: a block for each 32 × 32 elements of C.
///
/// # Safety
/// Nobody writes `a` and `b` meanwhile, and nobody else accesses `c`.
#[kernel(
    shape = LaunchShape::grid_2d(n / TILE, m / TILE, TILE * TILE),
    require = m % TILE == 0 && n % TILE == 0 && k > 0,
    max_threads = 1024
)]
pub unsafe fn ladder_coalesced(
    #[len(m as usize * k as usize)] a: *const f32,
    #[len(k as usize * n as usize)] b: *const f32,
    #[len(m as usize * n as usize)] c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    let own = thread::thread_idx_x();
    let row = (thread::block_idx_y() * TILE + own / TILE) as usize;
    let column = (thread::block_idx_x() * TILE + own % TILE) as usize;
    let (n, k) = (n as usize, k as usize);
    let (mut sum, mut depth) = (0.0, 0);
    while depth < k {
        // SAFETY: a row below `m`, a column below `n`, a depth below `k`.
        sum = unsafe { fma(memory::load(a, row * k + depth), memory::load(b, depth * n + column), sum) };
        depth += 1;
    }
    // SAFETY: an element of C, which no other thread has.
    unsafe { memory::store(c, row * n + column, sum) };
}
