//! Random numbers that are addressed by index, from integers alone.
//!
//! Element `i` (from 1) of stream `stream` of a seed is `r = mix(key + i G)` with `key = mix((seed 2^32 + stream) G)`, in 64-bit
//! wrapping arithmetic; `mix` is the finaliser and `G` the increment of SplitMix64 (Steele, Lea and Flood 2014). Any element can be
//! had alone, so host and device need not agree on an order of drawing.

use crate::split_mix::{INCREMENT as G, finalize as mix};

/// A stream of 64-bit numbers that are addressed by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    key: u64,
}

impl Numbers {
    /// Stream `stream` of `seed`.
    pub fn new(seed: u32, stream: u32) -> Self {
        Self { key: mix((u64::from(seed) << 32 | u64::from(stream)).wrapping_mul(G)) }
    }

    /// The numbers with this key.
    pub(super) const fn with_key(key: u64) -> Self {
        Self { key }
    }

    /// Element `i`; the first is 1.
    pub fn at(&self, i: u64) -> u64 {
        mix(self.key.wrapping_add(i.wrapping_mul(G)))
    }

    /// Element `i` as a number in [-1, 1), a multiple of 2^-23 and so exact in single precision.
    pub fn uniform(&self, i: u64) -> f32 {
        let top_24_bits = (self.at(i) >> 40) as i64;
        (top_24_bits - (1 << 23)) as f32 / (1 << 23) as f32
    }

    /// A standard normal number from elements `2 e + 1` and `2 e + 2` (Box and Muller 1958).
    pub fn normal(&self, e: u64) -> f64 {
        const SCALE: f64 = (1u64 << 53) as f64;
        let u1 = ((self.at(2 * e + 1) >> 11) + 1) as f64 / SCALE;
        let u2 = (self.at(2 * e + 2) >> 11) as f64 / SCALE;
        libm::sqrt(-2.0 * libm::log(u1)) * libm::cos(2.0 * std::f64::consts::PI * u2)
    }
}
