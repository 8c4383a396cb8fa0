//! Step 4: eight elements of a column a thread.

use warpplay_gpu::cuda::math::fma;
use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread};
use warpplay_gpu::launch::LaunchShape;

/// Rows and columns of a block.
pub const TILE: u32 = 64;
/// Depths of a slab, and rows of a thread.
pub const DEPTH: u32 = 8;

/// `C = A B`, a thread for eight rows of one column: a value of B from shared memory is used eight times.
///
/// * Launch: a block for each 64 × 64 elements of C.
///
/// # Safety
/// Nobody writes `a` and `b` meanwhile, and nobody else accesses `c`.
#[kernel(
    shape = LaunchShape::grid_2d(n / TILE, m / TILE, TILE * TILE / 8),
    require = m % TILE == 0 && n % TILE == 0 && k > 0 && k % DEPTH == 0,
    max_threads = 512
)]
pub unsafe fn ladder_column(
    #[len(m as usize * k as usize)] a: *const f32,
    #[len(k as usize * n as usize)] b: *const f32,
    #[len(m as usize * n as usize)] c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    let (slab_a, slab_b) = (shared_array![f32; 512], shared_array![f32; 512]);
    let own = thread::thread_idx_x();
    let (first_row, first_column) = (thread::block_idx_y() * TILE, thread::block_idx_x() * TILE);
    // The thread's elements of C: rows `8 * group` on, one column.
    let (group, column) = (own / TILE, own % TILE);
    // What it brings: one value of A, one of B.
    let (from_a, from_b) = (
        (first_row + own / DEPTH) as usize * k as usize + (own % DEPTH) as usize,
        group as usize * n as usize + (first_column + column) as usize,
    );
    let mut sums = [0.0; 8];
    let mut first = 0;
    while first < k {
        // SAFETY: rows and columns of the operands, from depth `first` on; indices below 64 × 8.
        unsafe {
            slab_a.set_unchecked(own, memory::load(a, from_a + first as usize));
            slab_b.set_unchecked(own, memory::load(b, from_b + first as usize * n as usize));
        }
        sync::sync_threads();
        let mut depth = 0;
        while depth < DEPTH {
            // SAFETY: indices below 64 × 8.
            let b = unsafe { slab_b.get_unchecked(depth * TILE + column) };
            for (row, sum) in (8 * group..).zip(&mut sums) {
                // SAFETY: a row below 64.
                *sum = fma(unsafe { slab_a.get_unchecked(row * DEPTH + depth) }, b, *sum);
            }
            depth += 1;
        }
        sync::sync_threads();
        first += DEPTH;
    }
    for (row, sum) in (first_row + 8 * group..).zip(sums) {
        // SAFETY: an element of C, which no other thread has.
        unsafe { memory::store(c, row as usize * n as usize + (first_column + column) as usize, sum) };
    }
}
