//! K-means of histograms under the earth mover's distance, in whole numbers: of histograms of one mass on a line it is the sum of the differences of their
//! cumulative forms.
//!
//! One thread, one point. Points are cumulative histograms `[n_bins, n]`, the largest value [`UNIT`]; a distance is below 2³².

#![allow(clippy::needless_range_loop, reason = "the counter is part of an address or a condition too")]

use crate::cuda::view::{Atomic, Disjoint, Slice, View};
use crate::cuda::{block, kernel, memory, shared_array, thread};
use crate::launch::LaunchShape;

/// Threads per block.
pub const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: usize = (BLOCK / thread::WARP) as usize;
/// What all of a histogram's mass counts.
pub const UNIT: u32 = 1 << 16;
/// Most bins: with more, the squares of a block's distances could overflow their sum.
pub const MAX_BINS: u32 = 256;
/// Centres that a thread looks at together; their number is padded to a multiple with [`FAR`].
pub const TILE: u32 = 8;
/// Value of a centre that is farther away than any other.
pub const FAR: u32 = 1 << 20;

/// Launch shape for `n` points.
pub const fn shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n, BLOCK)
}

/// Blocks of [`shape`], so sums of [`cfr_abstraction_nearest`].
pub const fn n_blocks(n: u32) -> u32 {
    shape(n).grid[0]
}

/// Lowers each point's distance to the distance to one more centre (`first`: sets it), and sums weight · distance² over each block.
///
/// * Launch: [`shape`], a thread a point, blocks of 256.
/// * Reads: `points`, `weights`, `centre`, `distances`.
/// * Writes: `distances`; `sums`, one a block, which are right for weights of at most 24.
/// * Shared: 64 bytes: a sum of each warp.
/// * Cost: bins + log block steps a thread.
/// * Twin: `warpplay_cpu_ref::cfr::abstraction::Points::lower`.
/// * Source: Johanson et al. 2013.
#[kernel(shape = shape(n), max_threads = BLOCK)]
pub fn cfr_abstraction_nearest(
    #[len(n as usize * n_bins as usize)] points: Slice<u32>,
    #[len(n as usize)] weights: Slice<u32>,
    #[len(n_bins as usize)] centre: Slice<u32>,
    #[len(n as usize)] distances: Disjoint<u32>,
    #[len(n_blocks(n) as usize)] sums: Disjoint<u64>,
    n: u32,
    n_bins: u32,
    first: u32,
) {
    let (points, weights, centre) = (points.pointer(), weights.pointer(), centre.pointer());
    let (distances, sums) = (distances.pointer(), sums.pointer());
    let scratch = shared_array![u64; WARPS];
    let mut part = 0u64;
    // SAFETY: the point is below `n` and the bins below `n_bins`, the lengths that the kernel asks for; a point is one thread's, a sum one block's.
    unsafe {
        if let Some(point) = thread::index_1d_below(n) {
            let mut distance = 0;
            for bin in 0..n_bins {
                let value = memory::load(points, bin as usize * n as usize + point as usize);
                distance += value.abs_diff(memory::load(centre, bin as usize));
            }
            if first == 0 {
                distance = distance.min(memory::load(distances, point as usize));
            }
            memory::store(distances, point as usize, distance);
            part = memory::load(weights, point as usize) as u64 * (distance as u64 * distance as u64);
        }
        let sum = block::sum(part, scratch);
        if thread::thread_idx_x() == 0 {
            memory::store(sums, thread::block_idx_x() as usize, sum);
        }
    }
}

/// Finds each point's nearest centre (the first of equal ones), counts the points that changed, and adds weight and weighted values to the centre's sums.
///
/// * Launch: [`shape`], a thread a point, blocks of 256.
/// * Reads: `points`, `weights`, `centres`, `nearest`.
/// * Writes: `nearest`; `sums`, whose last one of a centre is its weight, and `changed`, both added to atomically.
/// * Shared: none.
/// * Cost: bins × centres differences, bins + 1 atomic additions a thread.
/// * Twin: `warpplay_cpu_ref::cfr::abstraction::Points::nearest`, `warpplay_cpu_ref::cfr::abstraction::Points::sums`.
/// * Source: Johanson et al. 2013.
#[kernel(shape = shape(n), max_threads = BLOCK, require = n_centres > 0 && n_centres.is_multiple_of(TILE))]
pub fn cfr_abstraction_assign(
    #[len(n as usize * n_bins as usize)] points: Slice<u32>,
    #[len(n as usize)] weights: Slice<u32>,
    #[len(n_centres as usize * n_bins as usize)] centres: Slice<u32>,
    #[len(n as usize)] nearest: Disjoint<u32>,
    #[len(n_centres as usize * (n_bins as usize + 1))] sums: Atomic<u64>,
    #[len(1)] changed: Atomic<u32>,
    n: u32,
    n_bins: u32,
    n_centres: u32,
) {
    let (points, weights, centres, nearest) =
        (points.pointer(), weights.pointer(), centres.pointer(), nearest.pointer());
    let Some(point) = thread::index_1d_below(n) else { return };
    let n_bins = n_bins as usize;
    // SAFETY: the point is below `n`, bins below `n_bins` and centres below `n_centres`, the lengths that the kernel asks for; a point is one thread's.
    unsafe {
        let value_at = |bin: usize| memory::load(points, bin * n as usize + point as usize);
        let (mut least, mut best) = (u32::MAX, 0);
        for tile in thread::strided(0, n_centres, TILE) {
            let mut distances = [0u32; TILE as usize];
            for bin in 0..n_bins {
                let value = value_at(bin);
                for j in 0..TILE as usize {
                    distances[j] += value.abs_diff(memory::load(centres, (tile as usize + j) * n_bins + bin));
                }
            }
            for j in 0..TILE as usize {
                if distances[j] < least {
                    (least, best) = (distances[j], tile + j as u32);
                }
            }
        }
        if memory::load(nearest, point as usize) != best {
            memory::store(nearest, point as usize, best);
            changed.add(0, 1);
        }
        let weight = memory::load(weights, point as usize) as u64;
        let row = best as usize * (n_bins + 1);
        for bin in 0..n_bins {
            sums.add(row + bin, weight * value_at(bin) as u64);
        }
        sums.add(row + n_bins, weight);
    }
}
