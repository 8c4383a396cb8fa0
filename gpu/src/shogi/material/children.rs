//! All iterations over the children whose difference is not 0, in one launch.
//!
//! Children are spread over the grid's threads; a thread has its thirteen sums in shared memory ([`Columns`]), since it adds to one after the other.

use crate::cuda::{kernel, memory, shared_array, sync, thread};
use crate::launch::LaunchShape;
use crate::shogi::descent::{self, Columns, Descent};
use crate::shogi::difference::{KINDS, float};
use crate::shogi::sigmoid;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Launch shape with `blocks` blocks, all resident at once.
pub const fn shape(blocks: u32) -> LaunchShape {
    LaunchShape::new(blocks, BLOCK).cooperative()
}

/// `x` of a child for the values of line `kind` of `raised`, in the order of the kinds.
#[device_inline]
fn weigh(numbers: &[f64; KINDS as usize], raised: crate::cuda::shared::Shared<f64>, kind: u32) -> f64 {
    let mut x = numbers[0];
    let mut other = 1;
    while other < KINDS {
        // SAFETY: lines and columns of 13.
        x += unsafe { raised.get_unchecked(kind * KINDS + other) } * numbers[other as usize];
        other += 1;
    }
    x
}

/// All iterations of the paper's descent over differences of material, in one launch, with all thirteen exponentials of each child.
///
/// * Launch: [`shape`], cooperative: as many blocks as fit, 256 threads; a thread a child after the other.
/// * Reads: `differences` `[n]`: of children with a difference other than 0 (others would be right too, and take their time); values and steps of `run`.
/// * Writes: `sums` and `rows` of `run`.
/// * Shared: 28,080 bytes: thirteen sums of each thread, thirteen sets of values.
/// * Cost: for an evaluation and child: 8 bytes, thirteen exponentials, 13 × 12 products.
/// * Twin: `warpplay_cpu_ref::shogi::material::program::Program::differences`, `warpplay_cpu_ref::shogi::material::learn::learn`.
/// * Source: the shogi paper of 2009 (`papers/src/shogi_bonanza`), equations (1) to (6); differences instead of positions are ours.
///
/// # Safety
/// The run is that of [`descent::descend`].
#[kernel(shape = |blocks: u32| shape(blocks), max_threads = BLOCK)]
pub unsafe fn shogi_material_plain(#[len(n)] differences: *const u64, n: u32, run: Descent) {
    let lines = shared_array![i64; (KINDS * BLOCK) as usize];
    let values = shared_array![f64; KINDS as usize];
    let raised = shared_array![f64; (KINDS * KINDS) as usize];
    let threads = thread::grid_dim_x() as u64 * BLOCK as u64;
    // SAFETY: a block has BLOCK threads by the launch shape; arrays and run are as the contract says; `pass` is the same for all threads and ends with the barrier of `flush`.
    unsafe {
        let columns = Columns::<BLOCK>::new(lines);
        descent::descend(&run, values, |evaluation| {
            let own = thread::thread_idx_x();
            if own < KINDS * KINDS {
                let (kind, other) = (own / KINDS, own % KINDS);
                let value = values.get(other);
                raised.set(own, if kind > 0 && kind == other { value + run.delta } else { value });
            }
            columns.clear();
            // All lines of raised values must be there.
            sync::sync_threads();
            let mut child = thread::index_1d();
            while child < n as u64 {
                let packed = memory::load(differences, child as usize);
                let mut numbers = [0.0; KINDS as usize];
                let mut kind = 0;
                while kind < KINDS {
                    numbers[kind as usize] = float(packed, kind);
                    kind += 1;
                }
                let mut kind = 0;
                while kind < KINDS {
                    columns.add_unchecked(kind, sigmoid::term(run.a, weigh(&numbers, raised, kind)));
                    kind = run.after(kind);
                }
                child += threads;
            }
            columns.flush(&run, evaluation);
        });
    }
}

/// All iterations of the paper's descent over differences of material, in one launch, with one exponential a child ([`descent::add_fused`]).
///
/// * Launch: [`shape`], cooperative: as many blocks as fit, 256 threads; a thread a child after the other.
/// * Reads: `differences` `[n]`: of children with a difference other than 0; values and steps of `run`.
/// * Writes: `sums` and `rows` of `run`.
/// * Shared: 26,856 bytes: thirteen sums of each thread, values, powers.
/// * Cost: for an evaluation and child: 8 bytes, one exponential, a division for each number that is not 0.
/// * Twin: `warpplay_cpu_ref::shogi::material::program::Program::differences`, `warpplay_cpu_ref::shogi::material::learn::learn`.
/// * Source: the shogi paper of 2009 (`papers/src/shogi_bonanza`), equations (1) to (6); one exponential for thirteen is ours.
///
/// # Safety
/// As [`shogi_material_plain`].
#[kernel(shape = |blocks: u32| shape(blocks), max_threads = BLOCK)]
pub unsafe fn shogi_material_fused(#[len(n)] differences: *const u64, n: u32, run: Descent) {
    let lines = shared_array![i64; (KINDS * BLOCK) as usize];
    let values = shared_array![f64; KINDS as usize];
    let powers = shared_array![f64; 16];
    let threads = thread::grid_dim_x() as u64 * BLOCK as u64;
    let wanted = run.kinds();
    // The barrier before the first pass is one after this too.
    descent::fill_powers(&run, powers);
    // SAFETY: a block has BLOCK threads by the launch shape; arrays and run are as the contract says; `pass` is the same for all threads and ends with the barrier of `flush`.
    unsafe {
        let columns = Columns::<BLOCK>::new(lines);
        descent::descend(&run, values, |evaluation| {
            columns.clear();
            let mut sum = 0;
            let mut child = thread::index_1d();
            while child < n as u64 {
                let packed = memory::load(differences, child as usize);
                sum += descent::add_fused(&run, wanted, packed, values, powers, columns);
                child += threads;
            }
            descent::complete(columns, sum);
            columns.flush(&run, evaluation);
        });
    }
}
