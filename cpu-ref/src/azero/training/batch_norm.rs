//! Batch norm with the statistics of the batch, forward and backward. Arrays are `[n, channels, cells]`.

use super::super::{Network, Program, pieces::EPSILON};
use crate::mlp::Real;

/// Statistics of a batch, `[channels]` each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics<T> {
    /// Mean over positions and squares.
    pub mean: Vec<T>,
    /// Variance, over the number of values.
    pub variance: Vec<T>,
    /// Values of each channel.
    pub count: usize,
}

impl<T: Real> Statistics<T> {
    /// Computes the statistics of `x`, `[n, channels, cells]`: first the mean, then the squared distances from it.
    pub fn of<P: Program>(x: &[T], channels: usize, cells: usize) -> Self {
        let count = x.len() / channels;
        let mut pairs = vec![(T::zero(), T::zero()); channels];
        P::parts(&mut pairs, 1, |channel, pair| {
            let values = || x.chunks_exact(cells).skip(channel).step_by(channels).flatten();
            let n = T::rounded(count as f64);
            let mean = values().fold(T::zero(), |sum, &value| sum + value) / n;
            let squares = values().fold(T::zero(), |sum, &value| sum + (value - mean) * (value - mean));
            pair[0] = (mean, squares / n);
        });
        let (mean, variance) = pairs.into_iter().unzip();
        Self { mean, variance, count }
    }

    /// Moves the running statistics of a network's norm at tensor index `index` towards these. The variance is over one less than the number of values; with a single value
    /// it is unchanged.
    pub fn into_running(self, momentum: T, network: &mut Network<T>, index: usize) {
        let count = self.count as f64;
        let unbiased = if self.count > 1 { T::rounded(count / (count - 1.0)) } else { T::one() };
        let rest = T::one() - momentum;
        for (running, mean) in network.tensors[index + 2].values.iter_mut().zip(self.mean) {
            *running = rest * *running + momentum * mean;
        }
        for (running, variance) in network.tensors[index + 3].values.iter_mut().zip(self.variance) {
            *running = rest * *running + momentum * variance * unbiased;
        }
    }

    fn inverse(&self, channel: usize) -> T {
        T::one() / (self.variance[channel] + T::rounded(EPSILON)).sqrt()
    }
}

/// `(x - mean) / √(variance + EPSILON) · weight + bias`.
pub fn forward<T: Real, P: Program>(
    x: &[T],
    statistics: &Statistics<T>,
    [weight, bias]: [&[T]; 2],
    cells: usize,
) -> Vec<T> {
    let mut out = x.to_vec();
    P::parts(&mut out, cells, |number, out| {
        let channel = number % bias.len();
        let inverse = statistics.inverse(channel);
        for value in out {
            *value = (*value - statistics.mean[channel]) * inverse * weight[channel] + bias[channel];
        }
    });
    out
}

/// Gradients with respect to `x`, weight and bias, from the gradient with respect to the output. Mean and variance depend on `x`, too.
pub fn backward<T: Real, P: Program>(
    x: &[T],
    output_gradient: &[T],
    statistics: &Statistics<T>,
    weight: &[T],
    cells: usize,
) -> (Vec<T>, Vec<T>, Vec<T>) {
    let channels = weight.len();
    let mut sums = vec![(T::zero(), T::zero()); channels];
    P::parts(&mut sums, 1, |channel, sums| {
        let inverse = statistics.inverse(channel);
        let parts = x.chunks_exact(cells).zip(output_gradient.chunks_exact(cells)).skip(channel).step_by(channels);
        for (x, gradient) in parts {
            for (&x, &gradient) in x.iter().zip(gradient) {
                sums[0].0 += gradient * (x - statistics.mean[channel]) * inverse;
                sums[0].1 += gradient;
            }
        }
    });
    let n = T::rounded(statistics.count as f64);
    let mut input_gradient = output_gradient.to_vec();
    P::parts(&mut input_gradient, cells, |number, gradient| {
        let channel = number % channels;
        let (inverse, (by_weight, by_bias)) = (statistics.inverse(channel), sums[channel]);
        for (gradient, &x) in gradient.iter_mut().zip(&x[number * cells..]) {
            let normal = (x - statistics.mean[channel]) * inverse;
            *gradient = weight[channel] * inverse * (*gradient - by_bias / n - normal * by_weight / n);
        }
    });
    let (by_weight, by_bias) = sums.into_iter().unzip();
    (input_gradient, by_weight, by_bias)
}
