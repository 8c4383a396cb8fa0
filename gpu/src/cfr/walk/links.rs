//! Which deals of a batch share a bucket: found once a batch, so that the sums of many sequences need no search.
//!
//! One warp, one slot (seat and round) of one batch; a lane, a deal.

use crate::cuda::view::{Disjoint, Slice, View};
use crate::cuda::warp::ALL;
use crate::cuda::{kernel, memory, thread, warp};
use crate::launch::LaunchShape;

/// Warps of a block.
const WARPS: u32 = 4;
/// Doublings after which a whole warp is summed.
pub const STEPS: u32 = 5;

/// Launch shape for `n` slots over all batches.
pub const fn shape(n: u32) -> LaunchShape {
    LaunchShape::new(if n == 0 { 1 } else { n.div_ceil(WARPS) }, WARPS * thread::WARP)
}

/// A lane's link: bits 5k to 5k + 4 the 2ᵏ-th lane behind it with the same bucket (itself where there is none), bits 25 to 27 the doublings that the batch needs,
/// bit 30 whether the lane has a deal, bit 31 whether it is the first of its bucket.
pub mod link {
    /// The lane that is 2ᵏ lanes behind in the same bucket.
    #[device_inline]
    pub fn behind(link: u32, k: u32) -> u32 {
        link >> (5 * k) & 31
    }

    /// Doublings needed, the same for all lanes.
    #[device_inline]
    pub fn steps(link: u32) -> u32 {
        link >> 25 & 7
    }

    /// Whether the lane has a deal.
    #[device_inline]
    pub fn is_dealt(link: u32) -> bool {
        link >> 30 & 1 != 0
    }

    /// Whether the lane writes the sum of its bucket.
    #[device_inline]
    pub fn is_first(link: u32) -> bool {
        link >> 31 != 0
    }
}

/// Finds which lanes of each batch share a bucket: the links; the first `n_deals` lanes of each have deals.
///
/// * Launch: [`shape`], a warp a slot of a batch, 4 warps a block.
/// * Reads: `buckets` `[n_batches][n_slots][32]`.
/// * Writes: `links`, likewise.
/// * Shared: none.
/// * Cost: one match, one maximum and 5 shuffles of a warp.
/// * Twin: `warpplay_cpu_ref::cfr::sampled::learn`, which adds one deal after the other.
/// * Source: our own.
#[kernel(shape = shape(n), max_threads = 128)]
pub fn cfr_walk_links(
    #[len(n as usize * thread::WARP as usize)] buckets: Slice<u32>,
    #[len(n as usize * thread::WARP as usize)] links: Disjoint<u32>,
    n: u32,
    n_deals: u32,
) {
    let (buckets, links) = (buckets.pointer(), links.pointer());
    let slot = thread::block_idx_x() * WARPS + thread::warp_index();
    let lane = thread::lane();
    let (is_slot, is_dealt) = (slot < n, lane < n_deals);
    let at = slot as usize * thread::WARP as usize + lane as usize;
    // Lanes without a deal are alone in buckets that nobody has.
    let alone = u32::MAX - lane;
    // SAFETY: the slot is below `n`, and has 32 buckets.
    let bucket = if is_slot && is_dealt { unsafe { memory::load(buckets, at) } } else { alone };
    let same = warp::match_any(ALL, bucket);
    let (below, behind) = ((1u32 << lane) - 1, (!0u32 << lane) << 1);
    let mut next = if same & behind == 0 { thread::WARP } else { (same & behind).trailing_zeros() };
    let largest = warp::reduce_max_u32(same.count_ones());
    let steps = u32::BITS - (largest - 1).leading_zeros();
    let mut link = steps << 25 | u32::from(is_dealt) << 30 | u32::from(is_dealt && same & below == 0) << 31;
    for k in 0..STEPS {
        let there = if next == thread::WARP { lane } else { next };
        link |= there << (5 * k);
        let further = warp::shuffle(ALL, next, there);
        next = if next == thread::WARP { next } else { further };
    }
    if is_slot {
        // SAFETY: the slot is below `n`, and has 32 links, of which this one is the thread's.
        unsafe { memory::store(links, at, link) };
    }
}
