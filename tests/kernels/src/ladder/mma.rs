//! Step 7: tensor cores, fed by asynchronous copies.

use warpplay_gpu::cuda::memory::{self, Vec4};
use warpplay_gpu::cuda::shared::{Shared, dynamic};
use warpplay_gpu::cuda::{kernel, mma, sync, thread};
use warpplay_gpu::launch::LaunchShape;

/// Rows and columns of a block.
pub const TILE: u32 = 128;
/// Depths of a stage.
pub const DEPTH: u32 = 32;
/// Stages: one is multiplied, the others are on their way.
const STAGES: u32 = 3;
/// Vectors of 16 bytes (8 values) of a row in a stage, of an operand, and of a stage.
const ROW: u32 = DEPTH / 8;
const OPERAND: u32 = TILE * ROW;
const STAGE: u32 = 2 * OPERAND;
/// Threads: four warps of 64 × 64 elements.
const THREADS: u32 = 128;

/// Where a vector of a row lies in its operand: swizzled, so that eight rows of one depth lie in different banks.
#[inline(always)]
const fn place(row: u32, vector: u32) -> u32 {
    row * ROW + (vector ^ (row / 2 % ROW))
}

/// Starts the copies of 128 rows of an operand, `words` of two values each, from a depth on; `from` points at it in the first row.
///
/// # Safety
/// The rows are there and aligned to 16 bytes; nobody reads the 512 vectors of `stage` from `at` on.
#[inline(always)]
#[track_caller]
unsafe fn copy(stage: Shared<Vec4>, at: u32, from: *const u32, words: u32) {
    for part in 0..OPERAND / THREADS {
        let own = thread::thread_idx_x() + part * THREADS;
        let (row, vector) = (own / ROW, own % ROW);
        // SAFETY: a vector of a row, as the caller vouches; an index below 512.
        unsafe {
            let from = from.add(row as usize * words as usize + 4 * vector as usize);
            memory::copy_async_unchecked(stage, at + place(row, vector), from.cast());
        }
    }
}

/// `C = A Bᵀ` in bfloat16, sums in single precision; a word is two values of a row.
///
/// * Launch: a block for each 128 × 128 elements of C; a warp has 64 × 64.
///
/// # Safety
/// Nobody writes `a` and `b` meanwhile, and nobody else accesses `c`; `a` and `b` begin at multiples of 16 bytes.
#[kernel(
    shape = LaunchShape::grid_2d(n / TILE, m / TILE, THREADS).with_shared(STAGES * STAGE * 16),
    require = m % TILE == 0 && n % TILE == 0 && k > 0 && k % DEPTH == 0,
    max_threads = 128,
    min_blocks = 2
)]
pub unsafe fn ladder_mma(
    #[len(m as usize * k as usize / 2)] a: *const u32,
    #[len(n as usize * k as usize / 2)] b: *const u32,
    #[len(m as usize * n as usize)] c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    let stages = dynamic::<Vec4>(0, STAGES * STAGE);
    let (first_row, first_column) = (thread::block_idx_y() * TILE, thread::block_idx_x() * TILE);
    let (words, n_slabs) = (k / 2, k / DEPTH);
    // SAFETY: rows of the operands.
    let (a, b) = unsafe { (a.add(first_row as usize * words as usize), b.add(first_column as usize * words as usize)) };
    // Starts the copies of a slab of both operands; one behind the end is an empty group.
    let fetch = |slab: u32| {
        if slab < n_slabs {
            let (at, deeper) = (slab % STAGES * STAGE, (slab * DEPTH / 2) as usize);
            // SAFETY: depths below `k`; the stage is free, as the places below say.
            unsafe {
                copy(stages, at, a.add(deeper), words);
                copy(stages, at + OPERAND, b.add(deeper), words);
            }
        }
        memory::async_commit();
    };
    let (lane, warp) = (thread::lane(), thread::warp_index());
    let (own_row, own_column) = (warp / 2 * 64, warp % 2 * 64);
    let mut sums = [[[0.0; 4]; 8]; 4];
    fetch(0);
    fetch(1);
    let mut slab = 0;
    while slab < n_slabs {
        // This slab is there for all, and all have read the one before, whose stage is filled again.
        memory::async_wait::<{ STAGES - 2 }>();
        sync::sync_threads();
        fetch(slab + 2);
        let at = slab % STAGES * STAGE;
        unroll!(HALF in [0, 1] {
            let (mut fragments_a, mut fragments_b) = ([[0; 4]; 4], [[0; 4]; 4]);
            unroll!(I in [0, 1, 2, 3] {
                // Of A the second matrix is eight rows further, the third eight depths deeper; of B the other way round.
                let row = own_row + 16 * I as u32 + lane % 16;
                let column = own_column + 16 * I as u32 + lane % 8 + lane / 16 * 8;
                let vector = 2 * HALF as u32;
                let (of_a, of_b) = (place(row, vector + lane / 16), place(column, vector + lane / 8 % 2));
                // SAFETY: the whole warp is here; vectors of a stage that is complete since the barrier.
                unsafe {
                    fragments_a[I] = mma::load_matrix_x4(stages.address_of_unchecked(at + of_a));
                    fragments_b[I] = mma::load_matrix_x4(stages.address_of_unchecked(at + OPERAND + of_b));
                }
            });
            let warp = sync::whole_warp();
            unroll!(I in [0, 1, 2, 3] {
                unroll!(J in [0, 1, 2, 3] {
                    let (a, [b0, b1, b2, b3]) = (fragments_a[I], fragments_b[J]);
                    sums[I][2 * J] = mma::bf16(&warp, sums[I][2 * J], a, [b0, b1]);
                    sums[I][2 * J + 1] = mma::bf16(&warp, sums[I][2 * J + 1], a, [b2, b3]);
                });
            });
        });
        slab += 1;
    }
    unroll!(I in [0, 1, 2, 3] {
        unroll!(J in [0, 1, 2, 3, 4, 5, 6, 7] {
            let row = first_row + own_row + 16 * I as u32 + lane / 4;
            let column = first_column + own_column + 8 * J as u32 + lane % 4 * 2;
            let to = row as usize * n as usize + column as usize;
            let [upper, upper_right, lower, lower_right] = sums[I][J];
            let below = to + 8 * n as usize;
            // SAFETY: elements of C, which no other lane has.
            unsafe {
                memory::store(c, to, upper);
                memory::store(c, to + 1, upper_right);
                memory::store(c, below, lower);
                memory::store(c, below + 1, lower_right);
            }
        });
    });
}
