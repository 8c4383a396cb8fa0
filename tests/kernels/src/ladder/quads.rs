//! Step 6: four values an instruction.

use warpplay_gpu::cuda::math::fma;
use warpplay_gpu::cuda::{kernel, memory, shared_array, sync, thread};
use warpplay_gpu::launch::LaunchShape;

/// Rows and columns of a block.
pub const TILE: u32 = 128;
/// Depths of a slab.
pub const DEPTH: u32 = 8;
/// Values from a depth to the next in A's slab: with four more than a tile, the stores of a warp spread over more banks.
const STRIDE: u32 = TILE + 4;

/// `C = A B`, a thread for 8 × 8 elements; global and shared memory are read by four values, for which A is transposed on its way into shared memory.
///
/// * Launch: a block for each 128 × 128 elements of C.
///
/// # Safety
/// Nobody writes `a` and `b` meanwhile, and nobody else accesses `c`; all three begin at multiples of 16 bytes.
#[kernel(
    shape = LaunchShape::grid_2d(n / TILE, m / TILE, TILE * TILE / 64),
    require = m % TILE == 0 && n % TILE == 0 && k > 0 && k % DEPTH == 0,
    max_threads = 256
)]
pub unsafe fn ladder_quads(
    #[len(m as usize * k as usize)] a: *const f32,
    #[len(k as usize * n as usize)] b: *const f32,
    #[len(m as usize * n as usize)] c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    let (slab_a, slab_b) = (shared_array![f32; 1056], shared_array![f32; 1024]);
    let own = thread::thread_idx_x();
    let (first_row, first_column) = (thread::block_idx_y() * TILE, thread::block_idx_x() * TILE);
    // The thread's elements: rows `4 * down` on and 64 further, columns `4 * across` on and 64 further.
    let (down, across) = (own / 16, own % 16);
    // What it brings: four depths of a row of A, four columns of a depth of B.
    let (row, deeper) = (own / 2, own % 2 * 4);
    let (line, column) = (own / 32, own % 32 * 4);
    let from_a = (first_row + row) as usize * k as usize + deeper as usize;
    let from_b = line as usize * n as usize + (first_column + column) as usize;
    let mut sums = [[0.0; 8]; 8];
    let mut first = 0;
    while first < k {
        // SAFETY: quads of the operands, which begin at multiples of four values; indices below the slabs' lengths.
        unsafe {
            let quad = memory::load_quad(a, from_a + first as usize);
            unroll!(I in [0, 1, 2, 3] {
                slab_a.set_unchecked((deeper + I as u32) * STRIDE + row, quad[I]);
            });
            slab_b.set_quad_unchecked(line * TILE + column, memory::load_quad(b, from_b + first as usize * n as usize));
        }
        sync::sync_threads();
        let mut depth = 0;
        while depth < DEPTH {
            let (at_a, at_b) = (depth * STRIDE + 4 * down, depth * TILE + 4 * across);
            // SAFETY: rows and columns below 128.
            let ([a0, a1, a2, a3], [a4, a5, a6, a7], [b0, b1, b2, b3], [b4, b5, b6, b7]) = unsafe {
                (
                    slab_a.get_quad_unchecked(at_a),
                    slab_a.get_quad_unchecked(at_a + 64),
                    slab_b.get_quad_unchecked(at_b),
                    slab_b.get_quad_unchecked(at_b + 64),
                )
            };
            let (a, b) = ([a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3, b4, b5, b6, b7]);
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
        let row = first_row + 4 * down + I as u32 % 4 + I as u32 / 4 * 64;
        let to = row as usize * n as usize + (first_column + 4 * across) as usize;
        let [s0, s1, s2, s3, s4, s5, s6, s7] = sums[I];
        // SAFETY: elements of C, which no other thread has.
        unsafe {
            memory::store_quad(c, to, [s0, s1, s2, s3]);
            memory::store_quad(c, to + 64, [s4, s5, s6, s7]);
        }
    });
}
