//! The epoch's order, made by the blocks that will use it.
//!
//! Samples sorted by their random keys (ties by number): a bucket for every value of the keys' top bits, counted, laid out, filled in any order, and ranked inside;
//! about eight samples a bucket. Cost O(n), five barriers of all blocks.

use crate::cuda::block;
use crate::cuda::shared::Shared;
use crate::cuda::thread;
use crate::cuda::{atomic, memory};
use crate::mlp::random;

use super::THREADS;
use super::exchange::Exchange;

/// log2 of the number of buckets for `n` samples: about eight samples each, at least one and at most 2^16 buckets.
pub(super) const fn bucket_bits(n: u32) -> u32 {
    let bits = (n / 8).next_power_of_two().trailing_zeros();
    if bits > 16 { 16 } else { bits }
}

/// Words of the counters with which the order of `n` samples is made: counts, then where buckets begin (one more), then how far they are filled.
pub const fn n_counters(n: u32) -> usize {
    3 * (1usize << bucket_bits(n)) + 1
}

/// Arrays that [`make`] works on, of one network alone.
#[derive(Clone, Copy)]
pub(super) struct Arrays {
    /// `[n]`: what is made, `order[rank] = sample`.
    pub order: *mut u32,
    /// `[n]`: samples by bucket.
    pub slots: *mut u32,
    /// [`n_counters`].
    pub counters: *mut u32,
}

/// Writes the order of epoch `epoch` of `n` samples.
///
/// # Safety
/// Called by all threads of the network's `blocks` blocks of [`THREADS`], which `exchange` connects. The arrays are as [`Arrays`] says; `scratch` is shared memory for a value a warp.
#[device_inline]
pub(super) unsafe fn make<X: Exchange>(
    seed: u32,
    epoch: u32,
    n: u32,
    arrays: Arrays,
    (exchange, blocks): (X, u32),
    scratch: Shared<u32>,
) {
    let Arrays { order, slots, counters } = arrays;
    let key = random::key(seed, random::order_stream(epoch));
    let key_of = |sample: u32| random::element(key, sample as u64 + 1);
    let bits = bucket_bits(n);
    let n_buckets = 1u32 << bits;
    // A shift by 64 is not defined, and the single bucket needs none.
    let bucket_of = |key: u64| if bits == 0 { 0 } else { (key >> (64 - bits)) as u32 };
    let rank = X::rank();
    let first = rank * THREADS + thread::thread_idx_x();
    let stride = blocks * THREADS;
    // SAFETY: buckets are below n_buckets, samples and slots below n; each phase's writers touch different words or use atomics, and the
    // barriers of all blocks separate the phases.
    unsafe {
        let starts = counters.add(n_buckets as usize);
        let filled = starts.add(n_buckets as usize + 1);
        for bucket in thread::strided(first, n_buckets, stride) {
            memory::store(counters, bucket as usize, 0);
            memory::store(filled, bucket as usize, 0);
        }
        exchange.sync();
        for sample in thread::strided(first, n, stride) {
            atomic::add_u32(counters.add(bucket_of(key_of(sample)) as usize), 1);
        }
        exchange.sync();
        if rank == 0 {
            let (from, to) = own_buckets(n_buckets);
            let mut sum = 0;
            for bucket in from..to {
                sum += memory::load(counters, bucket as usize);
            }
            let (up_to, _) = block::inclusive_sum(sum, scratch);
            let mut start = up_to - sum;
            for bucket in from..to {
                memory::store(starts, bucket as usize, start);
                start += memory::load(counters, bucket as usize);
            }
            if thread::thread_idx_x() == 0 {
                memory::store(starts, n_buckets as usize, n);
            }
        }
        exchange.sync();
        for sample in thread::strided(first, n, stride) {
            let bucket = bucket_of(key_of(sample)) as usize;
            let slot = memory::load(starts, bucket) + atomic::add_u32(filled.add(bucket), 1);
            memory::store(slots, slot as usize, sample);
        }
        exchange.sync();
        for slot in thread::strided(first, n, stride) {
            let sample = memory::load(slots, slot as usize);
            let mine = key_of(sample);
            let bucket = bucket_of(mine) as usize;
            let (from, to) = (memory::load(starts, bucket), memory::load(starts, bucket + 1));
            let is_before = |other: u32| (key_of(other), other) < (mine, sample);
            let before = count(from, to, |slot| is_before(memory::load(slots, slot as usize)));
            memory::store(order, (from + before) as usize, sample);
        }
        exchange.sync();
    }
}

/// The thread's buckets, neighbours of each other.
#[device_inline]
fn own_buckets(n_buckets: u32) -> (u32, u32) {
    let each = n_buckets.div_ceil(THREADS);
    let from = (thread::thread_idx_x() * each).min(n_buckets);
    (from, (from + each).min(n_buckets))
}

/// How many of the slots from `from` to `to` are counted.
#[device_inline]
fn count(from: u32, to: u32, is_counted: impl Fn(u32) -> bool) -> u32 {
    let mut count = 0;
    for slot in from..to {
        count += u32::from(is_counted(slot));
    }
    count
}
