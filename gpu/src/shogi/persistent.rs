//! All iterations over positions of bytes ([`layout`]) in one launch.
//!
//! What the paper computes thirteen times, block by block, is here one pass: a thread reads a whole position and adds up *how many* pieces of each kind there
//! are, all kinds in one word ([`difference::unit`]), so that the values do not matter yet. Two words' difference is the child's difference of material, and one
//! exponential gives all thirteen terms ([`descent::add_fused`]). Every iteration reads every position again, as the paper's program does: what is spared is
//! the launches, the blocks and the twelve further passes.

use super::descent::{self, Columns, Descent};
use super::difference::{self, KINDS};
use super::layout;
use crate::cuda::memory::{self, Vec4};
use crate::cuda::shared::Shared;
use crate::cuda::{kernel, shared_array, sync, thread};
use crate::launch::LaunchShape;

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Units of codes: a code of a byte, masked.
const CODES: u32 = 32;
/// Quads of 16 bytes with squares alone.
const SQUARE_QUADS: usize = 5;

/// Launch shape with `blocks` blocks, all resident at once.
pub const fn shape(blocks: u32) -> LaunchShape {
    LaunchShape::new(blocks, BLOCK).cooperative()
}

/// Sum of the units of the four codes of a word.
#[device_inline]
fn four(codes: u32, units: Shared<u64>) -> u64 {
    units
        .get(codes & 31)
        .wrapping_add(units.get(codes >> 8 & 31))
        .wrapping_add(units.get(codes >> 16 & 31))
        .wrapping_add(units.get(codes >> 24 & 31))
}

/// Sum of the units of a position's pieces.
///
/// # Safety
/// A position is six quads.
#[device_inline]
unsafe fn sum_of(position: *const Vec4, units: Shared<u64>) -> u64 {
    let mut sum = 0u64;
    let mut quad = 0;
    // SAFETY: six quads.
    unsafe {
        while quad < SQUARE_QUADS {
            let Vec4([a, b, c, d]) = memory::load_vec4(position.add(quad));
            let (left, right) =
                (four(a, units).wrapping_add(four(b, units)), four(c, units).wrapping_add(four(d, units)));
            sum = sum.wrapping_add(left).wrapping_add(right);
            quad += 1;
        }
        // The last square, then the hands.
        let Vec4(last) = memory::load_vec4(position.add(SQUARE_QUADS));
        sum = sum.wrapping_add(units.get(last[0] & 31));
        let mut kind = 0;
        while kind < 7 {
            let of = |at: u32| (last[(at / 4) as usize] >> (8 * (at % 4)) & 255) as u64;
            let black = of(1 + kind);
            let white = of(8 + kind);
            sum = sum.wrapping_add(black.wrapping_sub(white).wrapping_mul(difference::unit(kind)));
            kind += 1;
        }
    }
    sum
}

/// All iterations of the paper's descent over positions of 96 bytes, in one launch. Its name is that of version 0.1.
///
/// * Launch: [`shape`], cooperative: as many blocks as fit, 256 threads; a thread a child after the other.
/// * Reads: `positions` `[n * 96]` bytes; `played` `[n]`: for each child its parent's child 0, times 2, plus 1 where White moves; values and steps of
///   `run`.
/// * Writes: `sums` and `rows` of `run`; `sums` `[n]` is working memory.
/// * Shared: 27,112 bytes: thirteen sums of each thread, values, powers, units of the codes.
/// * Cost: for an evaluation and child: 96 + 28 bytes, one exponential, a division for each number that is not 0.
/// * Twin: `warpplay_cpu_ref::shogi::material::program::Program::positions`, `warpplay_cpu_ref::shogi::material::learn::learn`.
/// * Source: the shogi paper of 2009 (`papers/src/shogi_bonanza`), equations (1) to (6); one pass for all thirteen sums is ours.
///
/// # Safety
/// `played` names children; the run is that of [`descent::descend`].
#[kernel(shape = |blocks: u32| shape(blocks), max_threads = BLOCK)]
pub unsafe fn shogi_paper_persistent(
    #[len(n * 6)] positions: *const Vec4,
    #[len(n)] played: *const u32,
    #[len(n)] sums: *mut u64,
    n: u32,
    run: Descent,
) {
    let lines = shared_array![i64; (KINDS * BLOCK) as usize];
    let values = shared_array![f64; KINDS as usize];
    let powers = shared_array![f64; 16];
    let units = shared_array![u64; CODES as usize];
    let own = thread::thread_idx_x();
    let wanted = run.kinds();
    let threads = thread::grid_dim_x() as u64 * BLOCK as u64;
    // The barrier before the first pass is one after these too.
    descent::fill_powers(&run, powers);
    if own < CODES {
        units.set(own, layout::unit(own));
    }
    // SAFETY: a block has BLOCK threads by the launch shape; arrays and run are as the contract says; `pass` is the same for all threads and ends with the barrier of `flush`.
    unsafe {
        let columns = Columns::<BLOCK>::new(lines);
        descent::descend(&run, values, |evaluation| {
            let mut child = thread::index_1d();
            while child < n as u64 {
                let position = positions.add(child as usize * (layout::BYTES / 16) as usize);
                memory::store(sums, child as usize, sum_of(position, units));
                child += threads;
            }
            // A child's played one may be another block's.
            sync::sync_grid(run.arrivals);
            columns.clear();
            let mut sum = 0;
            let mut child = thread::index_1d();
            while child < n as u64 {
                let played = memory::load(played, child as usize);
                let of_child = memory::load(sums, child as usize);
                let of_played = memory::load(sums, (played >> 1) as usize);
                let more = of_child.wrapping_sub(of_played);
                let packed = difference::from_sum(if played & 1 == 1 { more.wrapping_neg() } else { more });
                sum += descent::add_fused(&run, wanted, packed, values, powers, columns);
                child += threads;
            }
            descent::complete(columns, sum);
            columns.flush(&run, evaluation);
        });
    }
}

crate::kernel_set! {
    /// The only kernel of the module.
    self::shogi_paper_persistent
}
