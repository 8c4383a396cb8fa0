//! The order of an epoch on the device: count, scan, scatter, rank; see [`shuffle`](crate::mlp::shuffle).
//!
//! ```text
//! counts zeroed -> mlp_layers_order_count   how many samples each bucket has, and each sample's arrival in its bucket
//!               -> mlp_layers_order_scan    counts become the buckets' first offsets
//!               -> mlp_layers_order_scatter samples side by side with their bucket's others, in order of arrival
//!               -> mlp_layers_order_rank    each sample to its index: the result no longer depends on arrivals
//! ```

use crate::cuda::view::{Atomic, Disjoint};
use crate::cuda::{block, kernel, memory, shared_array, thread};
use crate::launch::LaunchShape;
use crate::mlp::random::{key, order_stream};
use crate::mlp::shuffle::{bucket, precedes, sample_key};

/// Threads per block of the kernels that have one thread a sample.
pub const BLOCK: u32 = 256;
/// Threads of the one block that scans; whole warps.
pub const SCAN_BLOCK: u32 = 1024;
/// Words of shared memory for the scan's warps.
const SCAN_WARPS: usize = (SCAN_BLOCK / thread::WARP) as usize;

/// Launch shape for `n` samples.
pub const fn shape(n: u32) -> LaunchShape {
    LaunchShape::linear(n, BLOCK)
}

/// Counts the samples of each bucket, of which there are 2^`bits`, and notes how many were there before this one. `counts` are 0 before.
///
/// * Launch: [`shape`], a thread a sample, blocks of 256.
/// * Reads: nothing; a sample's key is computed.
/// * Writes: `counts`, added to atomically; `arrivals`.
/// * Shared: none.
/// * Cost: one key and one atomic addition a thread.
/// * Twin: `warpplay_cpu_ref::mlp::random::epoch_order`.
/// * Source: our own: a counting sort of random keys.
#[kernel(shape = shape(n), max_threads = BLOCK)]
pub fn mlp_layers_order_count(
    #[len(1usize.checked_shl(bits).unwrap_or(usize::MAX))] counts: Atomic<u32>,
    #[len(n as usize)] mut arrivals: Disjoint<u32>,
    seed: u32,
    epoch: u32,
    bits: u32,
    n: u32,
) {
    let Some(own) = thread::own_index_below(n) else { return };
    let bucket = bucket(sample_key(key(seed, order_stream(epoch)), own.get()), bits);
    arrivals.set(&own, counts.add(bucket as usize, 1));
}

/// Replaces each count by the sum of those before it; `counts[n_buckets]` becomes their total. One block.
///
/// * Launch: one block of 1024 threads.
/// * Reads: `counts`.
/// * Writes: `counts`.
/// * Shared: 128 bytes: a sum of each warp.
/// * Cost: ⌈(2^`bits` + 1) / 1024⌉ prefix sums of a block.
/// * Twin: `warpplay_cpu_ref::mlp::random::epoch_order`.
/// * Source: our own: a counting sort of random keys.
#[kernel(shape = LaunchShape::new(1, SCAN_BLOCK), max_threads = SCAN_BLOCK)]
pub fn mlp_layers_order_scan(#[len(n_buckets as usize + 1)] mut counts: Disjoint<u32>, n_buckets: u32) {
    let scratch = shared_array![u32; SCAN_WARPS];
    let mut before = 0u32;
    let mut from = 0u32;
    // One count more than there are buckets: the last slot receives the total.
    // SAFETY: there is one block, of which this thread alone has the slot; the index is looked at.
    unsafe {
        while from <= n_buckets {
            let at = from + thread::thread_idx_x();
            let count = if at < n_buckets { counts.get_at(at as usize) } else { 0 };
            let (up_to, all) = block::inclusive_sum(count, scratch);
            if at <= n_buckets {
                counts.set_at(at as usize, before + up_to - count);
            }
            before += all;
            from += SCAN_BLOCK;
        }
    }
}

/// Puts each sample among its bucket's others.
///
/// * Launch: [`shape`], a thread a sample, blocks of 256.
/// * Reads: `firsts`, `arrivals`.
/// * Writes: `scattered`.
/// * Shared: none.
/// * Cost: one key, two loads and a store a thread.
/// * Twin: `warpplay_cpu_ref::mlp::random::epoch_order`.
/// * Source: our own: a counting sort of random keys.
///
/// # Safety
/// After count and scan of the same seed, epoch and bits.
#[kernel(shape = shape(n), max_threads = BLOCK, require = bits < u32::BITS)]
pub unsafe fn mlp_layers_order_scatter(
    #[len((1usize << bits) + 1)] firsts: *const u32,
    #[len(n)] arrivals: *const u32,
    #[len(n)] scattered: *mut u32,
    seed: u32,
    epoch: u32,
    bits: u32,
    n: u32,
) {
    let Some(sample) = thread::index_1d_below(n) else { return };
    let bucket = bucket(sample_key(key(seed, order_stream(epoch)), sample), bits);
    // SAFETY: first offset and arrival of a bucket add up to an index below n that no other sample has.
    unsafe {
        let index = memory::load(firsts, bucket as usize) + memory::load(arrivals, sample as usize);
        memory::store(scattered, index as usize, sample);
    }
}

/// Puts each sample at its index in the epoch: after all of its bucket that precede it.
///
/// * Launch: [`shape`], a thread an index, blocks of 256.
/// * Reads: `firsts`, `scattered`.
/// * Writes: `order`.
/// * Shared: none.
/// * Cost: a key for each sample of the bucket, about eight.
/// * Twin: `warpplay_cpu_ref::mlp::random::epoch_order`.
/// * Source: our own: a counting sort of random keys.
///
/// # Safety
/// After the scatter.
#[kernel(shape = shape(n), max_threads = BLOCK, require = bits < u32::BITS)]
pub unsafe fn mlp_layers_order_rank(
    #[len((1usize << bits) + 1)] firsts: *const u32,
    #[len(n)] scattered: *const u32,
    #[len(n)] order: *mut u32,
    seed: u32,
    epoch: u32,
    bits: u32,
    n: u32,
) {
    let Some(at) = thread::index_1d_below(n) else { return };
    let stream = key(seed, order_stream(epoch));
    // SAFETY: the bucket's samples lie between its first offset and the next bucket's; the index found is one of these, and each sample has its own.
    unsafe {
        let sample = memory::load(scattered, at as usize);
        let own = sample_key(stream, sample);
        let bucket = bucket(own, bits) as usize;
        let (first, end) = (memory::load(firsts, bucket), memory::load(firsts, bucket + 1));
        let mut index = first;
        let mut other = first;
        while other < end {
            let neighbour = memory::load(scattered, other as usize);
            index += u32::from(precedes(sample_key(stream, neighbour), neighbour, own, sample));
            other += 1;
        }
        memory::store(order, index as usize, sample);
    }
}
