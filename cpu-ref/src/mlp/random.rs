//! First weights and the order of an epoch, from integers alone.
//!
//! Element `i` (from 1) of stream `stream` of a seed is `r = mix(key + i G)` with `key = mix((seed 2^32 + stream) G)`, in 64-bit
//! wrapping arithmetic; `mix` is the finaliser and `G` the increment of SplitMix64 (Steele, Lea and Flood 2014). Any element can be
//! had alone, so host and device need not agree on an order of drawing.

use super::{Layer, Network, Real};
use crate::split_mix::{INCREMENT as G, finalize as mix};

/// Stream of the first layer's weights; layer `l` (from 0) has stream `WEIGHTS + l`.
const WEIGHTS: u32 = 1;

/// Stream of the first epoch's order; epoch `e` (from 0) has stream `ORDER + e`.
const ORDER: u32 = 64;

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

/// The order in which epoch `epoch` (from 0) takes `n` samples: sorted by the epoch's random numbers, equals by index.
pub fn epoch_order(seed: u32, epoch: u32, n: usize) -> Vec<usize> {
    let numbers = Numbers::new(seed, ORDER.wrapping_add(epoch));
    let mut ranked: Vec<(u64, usize)> = (0..n).map(|sample| (numbers.at(sample as u64 + 1), sample)).collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, sample)| sample).collect()
}

/// How initial weights are drawn; biases start at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// Uniform within ±√(6 / fan_in) (He et al. 2015).
    HeUniform,
    /// Normal with variance 2 / fan_in.
    HeNormal,
    /// Uniform within ±√(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
    XavierUniform,
    /// Normal with variance 2 / (fan_in + fan_out).
    XavierNormal,
}

impl Init {
    /// Weight `e = row * fan_out + column` of a layer whose stream is `numbers`, in single precision.
    fn weight(self, numbers: &Numbers, e: u64, fan_in: usize, fan_out: usize) -> f32 {
        let (fan_in, both) = (fan_in as f64, (fan_in + fan_out) as f64);
        match self {
            Self::HeUniform => numbers.uniform(e + 1) * libm::sqrt(6.0 / fan_in) as f32,
            Self::XavierUniform => numbers.uniform(e + 1) * libm::sqrt(6.0 / both) as f32,
            Self::HeNormal => (numbers.normal(e) * libm::sqrt(2.0 / fan_in)) as f32,
            Self::XavierNormal => (numbers.normal(e) * libm::sqrt(2.0 / both)) as f32,
        }
    }
}

impl<T: Real> Network<T> {
    /// A network of layers of these widths, inputs first, with drawn weights and biases 0.
    ///
    /// Weights are drawn in single precision for every `T`, so that runs in `f32` and `f64` start from the same weights.
    ///
    /// # Panics
    /// If there are fewer than two widths.
    pub fn drawn(sizes: &[usize], init: Init, seed: u32) -> Self {
        let layers = sizes.windows(2).enumerate().map(|(number, size)| {
            let (n_inputs, n_outputs) = (size[0], size[1]);
            let numbers = Numbers::new(seed, WEIGHTS + number as u32);
            let weight = |e| T::rounded(f64::from(init.weight(&numbers, e, n_inputs, n_outputs)));
            Layer {
                weights: (0..(n_inputs * n_outputs) as u64).map(weight).collect(),
                bias: vec![T::zero(); n_outputs],
                n_inputs,
                n_outputs,
            }
        });
        Self::new(layers.collect())
    }
}
