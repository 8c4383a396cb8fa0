//! Random numbers of the sampling solvers.

use crate::split_mix::{INCREMENT, finalize};

/// A stream of random numbers whose whole state is one word: SplitMix64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        finalize(self.0)
    }

    /// In [0, 1), 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// An index, drawn in the ratio of the weights; the last one with a weight where rounding leaves none.
    pub fn draw(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        let mut drawn = 0;
        for (at, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            drawn = at;
            if left < weight {
                break;
            }
            left -= weight;
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_are_the_published_generators() {
        let mut random = Random(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([0; 3].map(|_| random.next()), expected);
    }

    #[test]
    fn indices_are_drawn_in_their_ratio() {
        let mut random = Random(1);
        let mut counts = [0_i32; 4];
        (0..60_000).for_each(|_| counts[random.draw(&[1.0, 0.0, 2.0, 3.0])] += 1);
        assert_eq!(counts[1], 0);
        for (count, expected) in [(counts[0], 10_000), (counts[2], 20_000), (counts[3], 30_000)] {
            assert!((count - expected).abs() < 500, "{counts:?}");
        }
    }
}
