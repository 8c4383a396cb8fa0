//! The order of an epoch: samples sorted by their random keys, ties by index, without a general sort.
//!
//! Keys are uniform, so their top bits spread the samples over buckets of about eight. A sample's index is the number of samples in smaller buckets
//! (a scan of the buckets' sizes) plus the number of samples of its own bucket that precede it (a look at all of them). Both are counts, so the order
//! in which threads arrive does not matter.

use super::random::element;

/// Samples that a bucket holds on average, at most.
const PER_BUCKET: u32 = 8;

/// Bits of a key that name the bucket, for `n` samples.
pub const fn bucket_bits(n: u32) -> u32 {
    let buckets = n.div_ceil(PER_BUCKET);
    // The next power of two, but at most 2^29 buckets.
    if buckets <= 1 { 0 } else { 32 - (buckets - 1).leading_zeros() }
}

/// Number of buckets for `n` samples: a power of two.
pub const fn n_buckets(n: u32) -> u32 {
    1 << bucket_bits(n)
}

/// Bucket of a key: its `bits` top bits.
#[device_inline]
pub const fn bucket(key: u64, bits: u32) -> u32 {
    // Two shifts, since one by 64 is none.
    (key >> 32 >> (32 - bits)) as u32
}

/// Key of sample `sample` (from 0) in the stream with key `stream_key`.
#[device_inline]
pub const fn sample_key(stream_key: u64, sample: u32) -> u64 {
    element(stream_key, sample as u64 + 1)
}

/// Whether sample `a` with key `key_a` comes before sample `b` with key `key_b`.
#[device_inline]
pub const fn precedes(key_a: u64, a: u32, key_b: u64, b: u32) -> bool {
    key_a < key_b || (key_a == key_b && a < b)
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;
    use crate::mlp::random::{key, order_stream};

    #[test]
    fn buckets_hold_about_eight_and_are_in_the_keys_order() {
        assert_eq!([1, 8, 9, 60_000].map(n_buckets), [1, 1, 2, 8192]);
        assert_eq!(bucket(u64::MAX, 0), 0);
        assert_eq!(bucket(u64::MAX, 13), 8191);
        let stream = key(1, order_stream(0));
        let keys: [u64; 100] = core::array::from_fn(|sample| sample_key(stream, sample as u32));
        for pair in keys.windows(2) {
            assert!(pair[0] >= pair[1] || bucket(pair[0], 7) <= bucket(pair[1], 7));
        }
        assert!(precedes(5, 1, 5, 2) && !precedes(5, 2, 5, 1) && precedes(4, 9, 5, 0));
    }

    #[test]
    fn the_first_order_of_seed_1_is_the_published_one() {
        let stream = key(1, order_stream(0));
        let mut order = [0u32; 8];
        let mut before = (0, 0);
        for (index, sample) in order.iter_mut().enumerate() {
            let next = (0..60_000)
                .map(|sample| (sample_key(stream, sample), sample))
                .filter(|&(key, sample)| index == 0 || precedes(before.0, before.1, key, sample))
                .min();
            before = next.unwrap_or_default();
            *sample = before.1;
        }
        assert_eq!(order, [2133, 15851, 41853, 47156, 38877, 13727, 25191, 41425]);
    }
}
