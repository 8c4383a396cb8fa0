//! Random numbers by counter: number `k` of a traversal alone (SplitMix64: Steele, Lea and Flood, 2014).

/// The increment of SplitMix64: 2⁶⁴ / golden ratio.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline(always)]
const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The numbers of one traversal.
#[derive(Clone, Copy, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Those of traversal `traversal` for `seat` in iteration `iteration` of a solve with `seed`.
    #[inline(always)]
    pub const fn new(seed: u64, iteration: u64, seat: u32, traversal: u32) -> Self {
        let key = mix(seed.wrapping_add(GAMMA));
        let key = mix(key ^ iteration.wrapping_mul(GAMMA));
        Self(mix(key.wrapping_add(((seat as u64) << 32 | traversal as u64).wrapping_mul(GAMMA))))
    }

    /// Number `k`, in [0, 1).
    #[inline(always)]
    pub const fn uniform(self, k: u32) -> f64 {
        let bits = mix(self.0.wrapping_add((k as u64 + 1).wrapping_mul(GAMMA)));
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
