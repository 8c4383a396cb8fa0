//! Step 5: a square of 8 × 8 elements a thread.

use warpplay_gpu::cuda::math::fma;
use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread};
use warpplay_gpu::launch::LaunchShape;

/// Rows and columns of a block.
pub const TILE: u32 = 128;
/// Depths of a slab.
pub const DEPTH: u32 = 8;

/// `C = A B`, a thread for 8 × 8 elements: 16 values from shared memory make 64 products.
///
/// * Launch: a block for each 128 × 128 elements of C.
///
/// # Safety
/// Nobody writes `a` and `b` meanwhile, and nobody else accesses `c`.
#[kernel(
    shape = LaunchShape::grid_2d(n / TILE, m / TILE, TILE * TILE / 64),
    require = m % TILE == 0 && n % TILE == 0 && k > 0 && k % DEPTH == 0,
    max_threads = 256
)]
pub unsafe fn ladder_square(
    #[len(m as usize * k as usize)] a: *const f32,
    #[len(k as usize * n as usize)] b: *const f32,
    #[len(m as usize * n as usize)] c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    let (slab_a, slab_b) = (shared_array![f32; 1024], shared_array![f32; 1024]);
    let own = thread::thread_idx_x();
    let (first_row, first_column) = (thread::block_idx_y() * TILE, thread::block_idx_x() * TILE);
    // The thread's elements: rows `8 * down` on, columns `across`, `across + 16`, …
    let (down, across) = (own / 16, own % 16);
    let mut sums = [[0.0; 8]; 8];
    let mut first = 0;
    while first < k {
        for part in 0..4 {
            let at = own + part * 256;
            let (row, depth) = (first_row + at / DEPTH, first + at % DEPTH);
            let (line, column) = (first + at / TILE, first_column + at % TILE);
            // SAFETY: rows and columns of the operands, depths below `k`; indices below 128 × 8.
            unsafe {
                slab_a.set_unchecked(at, memory::load(a, row as usize * k as usize + depth as usize));
                slab_b.set_unchecked(at, memory::load(b, line as usize * n as usize + column as usize));
            }
        }
        sync::sync_threads();
        let mut depth = 0;
        while depth < DEPTH {
            let (mut a, mut b) = ([0.0; 8], [0.0; 8]);
            unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                // SAFETY: rows and columns below 128.
                unsafe {
                    a[I] = slab_a.get_unchecked((8 * down + I as u32) * DEPTH + depth);
                    b[I] = slab_b.get_unchecked(depth * TILE + across + 16 * I as u32);
                }
            });
            unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
                unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
                    sums[I][J] = fma(a[I], b[J], sums[I][J]);
                });
            });
            depth += 1;
        }
        sync::sync_threads();
        first += DEPTH;
    }
    unroll!(I in [0, 1, 2, 3, 4, 5, 6, 7] {
        let row = first_row + 8 * down + I as u32;
        unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
            let column = first_column + across + 16 * J as u32;
            // SAFETY: an element of C, which no other thread has.
            unsafe { memory::store(c, row as usize * n as usize + column as usize, sums[I][J]) };
        });
    });
}
