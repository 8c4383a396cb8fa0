//! Step 3: tiles in shared memory.

use warpplay_gpu::cuda::math::fma;
use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread};
use warpplay_gpu::launch::LaunchShape;

/// Rows and columns of a block, and depths of a slab.
pub const TILE: u32 = 32;

/// `C = A B`, a thread an element; a block shares 32 × 32 values of A and of B at a time.
///
/// * Launch: a block for each 32 × 32 elements of C.
///
/// # Safety
/// Nobody writes `a` and `b` meanwhile, and nobody else accesses `c`.
#[kernel(
    shape = LaunchShape::grid_2d(n / TILE, m / TILE, TILE * TILE),
    require = m % TILE == 0 && n % TILE == 0 && k > 0 && k % TILE == 0,
    max_threads = 1024
)]
pub unsafe fn ladder_shared(
    #[len(m as usize * k as usize)] a: *const f32,
    #[len(k as usize * n as usize)] b: *const f32,
    #[len(m as usize * n as usize)] c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    let (slab_a, slab_b) = (shared_array![f32; 1024], shared_array![f32; 1024]);
    let own = thread::thread_idx_x();
    let (line, lane) = (own / TILE, own % TILE);
    let row = (thread::block_idx_y() * TILE + line) as usize;
    let column = (thread::block_idx_x() * TILE + lane) as usize;
    let (n, width) = (n as usize, k as usize);
    let (mut sum, mut first) = (0.0, 0);
    while first < k {
        // SAFETY: rows and columns of the operands, from depth `first` on; indices below 32 × 32.
        unsafe {
            slab_a.set_unchecked(own, memory::load(a, row * width + (first + lane) as usize));
            slab_b.set_unchecked(own, memory::load(b, (first + line) as usize * n + column));
        }
        // The slabs are complete.
        sync::sync_threads();
        let mut depth = 0;
        while depth < TILE {
            // SAFETY: indices below 32 × 32.
            let (a, b) =
                unsafe { (slab_a.get_unchecked(line * TILE + depth), slab_b.get_unchecked(depth * TILE + lane)) };
            sum = fma(a, b, sum);
            depth += 1;
        }
        // All have read them.
        sync::sync_threads();
        first += TILE;
    }
    // SAFETY: an element of C, which no other thread has.
    unsafe { memory::store(c, row * n + column, sum) };
}
