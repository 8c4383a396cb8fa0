//! The order in which positions are learned from.

use warpplay_gpu::split_mix::{GAMMA, mix};

/// The random stream that draws the games for validation; epochs use the streams from 0 on.
pub(super) const SPLIT: u64 = u64::MAX;

/// The numbers 0 to `n - 1` in an order determined by a seed and a stream: sorted by a random word of each.
pub(super) fn shuffled(n: u32, seed: u64, stream: u64) -> Vec<u32> {
    let key = mix(mix(seed.wrapping_mul(GAMMA).wrapping_add(1)) ^ stream.wrapping_mul(GAMMA));
    let word = |number: u32| mix(key.wrapping_add((u64::from(number) + 1).wrapping_mul(GAMMA)));
    let mut order: Vec<(u64, u32)> = (0..n).map(|number| (word(number), number)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_there_once_and_orders_differ() {
        let orders = [(1, 0), (1, 1), (2, 0), (1, SPLIT)].map(|(seed, stream)| shuffled(50, seed, stream));
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..50));
        }
        assert!((1..4).all(|at| orders[at] != orders[0]));
        assert_eq!(shuffled(50, 1, 0), orders[0]);
        assert!(shuffled(0, 1, 0).is_empty());
    }
}
