//! Random numbers by counter: number `k` of a traversal alone ([`split_mix`](crate::split_mix)).

use crate::split_mix::{GAMMA, element, mix};

/// The numbers of one traversal.
#[derive(Clone, Copy, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Those of traversal `traversal` for `seat` in iteration `iteration` of a solve with `seed`.
    #[device_inline]
    pub const fn new(seed: u64, iteration: u64, seat: u32, traversal: u32) -> Self {
        let key = mix(seed.wrapping_add(GAMMA));
        let key = mix(key ^ iteration.wrapping_mul(GAMMA));
        Self(mix(key.wrapping_add(((seat as u64) << 32 | traversal as u64).wrapping_mul(GAMMA))))
    }

    /// Number `k`, in [0, 1).
    #[device_inline]
    pub const fn uniform(self, k: u32) -> f64 {
        let bits = element(self.0, k as u64);
        (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_uniform_and_differ_by_every_index() {
        let n = 40_000;
        let sum: f64 = (0..n).map(|k| Draws::new(3, 1, 0, 0).uniform(k)).sum();
        // Standard error of the mean: 0.29 / 200.
        assert!((sum / f64::from(n) - 0.5).abs() < 0.006);
        let sum: f64 = (0..n).map(|traversal| Draws::new(3, 1, 0, traversal).uniform(0)).sum();
        assert!((sum / f64::from(n) - 0.5).abs() < 0.006);
        let first = Draws::new(1, 1, 0, 0).uniform(0);
        for other in [Draws::new(2, 1, 0, 0), Draws::new(1, 2, 0, 0), Draws::new(1, 1, 1, 0), Draws::new(1, 1, 0, 1)] {
            assert!(first != other.uniform(0));
        }
    }
}
