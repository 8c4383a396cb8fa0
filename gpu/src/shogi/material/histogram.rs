//! The descent and the gradient over distinct differences with their counts; `count.rs` counts them.
//!
//! A warp makes one of the thirteen sums of its block's rows, so that an iteration of some thousand rows is a few dozen terms a lane.

use crate::cuda::view::{Disjoint, Slice, View};
use crate::cuda::{block, kernel, memory, shared_array, sync, thread, warp};
use crate::launch::LaunchShape;
use crate::shogi::descent::{self, Descent};
use crate::shogi::difference::{KINDS, LEARNT, float};
use crate::shogi::fixed::fixed;
use crate::shogi::sigmoid;

/// Threads of a block: a warp a sum.
pub const BLOCK: u32 = KINDS * thread::WARP;
/// Threads of a block of the gradient.
pub const GRADIENT_BLOCK: u32 = 256;
const GRADIENT_WARPS: usize = (GRADIENT_BLOCK / thread::WARP) as usize;
/// Rows a block takes before another one pays for the longer way round the barrier.
pub const ROWS_OF_BLOCK: u32 = 2 * thread::WARP;
/// Most blocks that are of use.
pub const MAX_BLOCKS: u32 = 64;

/// Launch shape for `n` rows, with at most `most` blocks, all resident at once.
pub const fn shape(n: u32, most: u32) -> LaunchShape {
    let most = if most < MAX_BLOCKS { most } else { MAX_BLOCKS };
    let wanted = n.div_ceil(ROWS_OF_BLOCK);
    let blocks = if wanted < most { wanted } else { most };
    LaunchShape::new(if blocks == 0 { 1 } else { blocks }, BLOCK).cooperative()
}

/// Launch shape of the gradient.
const fn gradient_shape() -> LaunchShape {
    LaunchShape::new(LEARNT, GRADIENT_BLOCK)
}

/// All iterations of the paper's descent over the distinct differences with their counts, in one launch.
///
/// * Launch: [`shape`], cooperative: up to 64 blocks of 416 threads, a warp a sum.
/// * Reads: `differences`, `counts` `[n]`: a row each; values and steps of `run`.
/// * Writes: `sums` and `rows` of `run`.
/// * Shared: 104 bytes: the values.
/// * Cost: for an evaluation: ⌈rows / lanes of the grid⌉ exponentials and 12 products a lane.
/// * Twin: `warpplay_cpu_ref::shogi::material::program::Program::histogram`, `warpplay_cpu_ref::shogi::material::learn::learn`.
/// * Source: the shogi paper of 2009 (`papers/src/shogi_bonanza`), equations (1) to (6); the histogram is ours.
///
/// # Safety
/// The run is that of [`descent::descend`].
#[kernel(shape = |most: u32| shape(n, most), max_threads = BLOCK)]
pub unsafe fn shogi_material_histogram(
    #[len(n)] differences: *const u64,
    #[len(n)] counts: *const u64,
    n: u32,
    run: Descent,
) {
    let values = shared_array![f64; KINDS as usize];
    let kind = thread::warp_index();
    let lanes = thread::grid_dim_x() as u64 * thread::WARP as u64;
    // SAFETY: both arrays have `n` words and the grid is cooperative, as the kernel asks; `pass` is the same for all threads and ends with a barrier.
    unsafe {
        descent::descend(&run, values, |evaluation| {
            let mut weights = [0.0; KINDS as usize];
            for other in 0..KINDS {
                let value = values.get(other);
                weights[other as usize] = if kind > 0 && kind == other { value + run.delta } else { value };
            }
            let (mut low, mut high) = (0u64, 0u64);
            let mut row = thread::block_idx_x() as u64 * thread::WARP as u64 + thread::lane() as u64;
            while row < n as u64 && run.wants(kind) {
                let packed = memory::load(differences, row as usize);
                let count = memory::load(counts, row as usize);
                let mut x = float(packed, 0);
                for other in 1..KINDS {
                    x += weights[other as usize] * float(packed, other);
                }
                // A term is 2^36 at most, so the product is below 2^100 and its halves' sums stay in their words.
                let product = count as u128 * sigmoid::term(run.a, x) as u128;
                low += product as u64 & 0xffff_ffff;
                high += (product >> 32) as u64;
                row += lanes;
            }
            let (low, high) = (warp::reduce_sum(low), warp::reduce_sum(high));
            if thread::lane() == 0 {
                run.add(evaluation, kind, low, high as i64);
            }
            // The values have been read by all: they may change.
            sync::sync_threads();
        });
    }
}

/// The gradient of the objective, not divided by the number of children: Σ count · number · a T (1 − T) for each value, a T (1 − T) rounded to a multiple of 2⁻³⁶.
///
/// * Launch: [`gradient_shape`], a block a learnt value: 12 of 256 threads.
/// * Reads: `differences`, `counts` `[n]`, fewer than 2²⁴ rows; `values` `[LEARNT]`.
/// * Writes: `sums` `[LEARNT * 2]`, low and high of each: the sum is `high · 2³² + low`, both with a sign.
/// * Shared: 64 bytes: a sum of each warp.
/// * Cost: ⌈rows / 256⌉ rows a thread: an exponential and 12 products where the value is in the row.
/// * Twin: `warpplay_cpu_ref::shogi::material::program::gradient`.
/// * Source: the shogi paper of 2009 (`papers/src/shogi_bonanza`), equations (1) and (2), differentiated; the histogram is ours.
#[kernel(shape = gradient_shape(), max_threads = GRADIENT_BLOCK, require = n < 1 << 24)]
pub fn shogi_material_gradient(
    #[len(n as usize)] differences: Slice<u64>,
    #[len(n as usize)] counts: Slice<u64>,
    #[len(LEARNT as usize)] values: Slice<f64>,
    #[len(2 * LEARNT as usize)] sums: Disjoint<i64>,
    n: u32,
    a: f64,
) {
    let (differences, counts) = (differences.pointer(), counts.pointer());
    let (values, sums) = (values.pointer(), sums.pointer());
    let scratch = shared_array![i64; GRADIENT_WARPS];
    let kind = thread::block_idx_x() + 1;
    let (mut low, mut high) = (0i64, 0i64);
    let mut row = thread::thread_idx_x();
    // SAFETY: rows are below `n` and the arrays as long as the kernel asks; each pair of sums is written by one thread.
    unsafe {
        while row < n {
            let packed = memory::load(differences, row as usize);
            let number = (packed >> (4 + 4 * kind)) as u32 & 15;
            let number = (number ^ 8) as i64 - 8;
            if number != 0 {
                let count = memory::load(counts, row as usize);
                let mut x = float(packed, 0);
                for other in 1..KINDS {
                    x += memory::load(values, other as usize - 1) * float(packed, other);
                }
                let t = sigmoid::sigmoid(a, x);
                let product = count as u128 * fixed(a * t * (1.0 - t)) as u128;
                low += number * (product as u64 & 0xffff_ffff) as i64;
                high += number * (product >> 32) as i64;
            }
            row += GRADIENT_BLOCK;
        }
        let low = block::sum(low, scratch);
        let high = block::sum(high, scratch);
        if thread::thread_idx_x() == 0 {
            let at = (kind as usize - 1) * 2;
            memory::store(sums, at, low);
            memory::store(sums, at + 1, high);
        }
    }
}
