//! First weights and the order of an epoch, from integers alone: streams of [`Numbers`].

use super::{Layer, Network, Numbers, Real};

/// Stream of the first layer's weights; layer `l` (from 0) has stream `WEIGHTS + l`. Streams of masks are from 32 on, see [`Dropout`](super::Dropout).
const WEIGHTS: u32 = 1;

/// Stream of the first epoch's order; epoch `e` (from 0) has stream `ORDER + e`.
const ORDER: u32 = 64;

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
                ..Layer::default()
            }
        });
        Self::new(layers.collect())
    }
}
