//! The gradient of the whole network.

use super::super::pieces::{self, Affine};
use super::super::{Network, Program, tensor_index};
use super::Settings;
use super::batch_norm::{self, Statistics};
use super::convolution::Layer;
use super::loss::{self, Losses};
use crate::mlp::Real;

/// Positions, with the visit shares of the search and the results of the games.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a, T> {
    /// `[n, planes, cells]`.
    pub observations: &'a [T],
    /// `[n, actions]`, not 0 for a legal action.
    pub masks: &'a [u8],
    /// `[n, actions]`: share of each action in the search's visits.
    pub shares: &'a [T],
    /// `[n]`: how the game ended, -1 to 1.
    pub results: &'a [T],
}

/// Losses and gradients of a batch.
#[derive(Clone, Debug)]
pub struct Gradient<T> {
    /// The losses.
    pub losses: Losses<T>,
    /// Gradient of their sum with respect to each parameter; 0 in place of running statistics.
    pub network: Network<T>,
    /// The batch's statistics in each norm, by the norm's [`tensor_index`].
    pub statistics: Vec<(usize, Statistics<T>)>,
}

/// Whether a tensor is a running statistic, which is no parameter.
pub(super) fn is_statistic(name: &str) -> bool {
    name.ends_with(".running_mean") || name.ends_with(".running_var")
}

/// Whether a tensor has the L2 term.
fn is_decayed(name: &str) -> bool {
    name.ends_with(".weight") && !name.contains("batch_norm")
}

/// The activations of a convolution, its norm and the rectifier in the forward pass.
struct Block<T> {
    layer: Layer,
    conv: usize,
    norm: usize,
    before: Vec<T>,
    statistics: Statistics<T>,
    out: Vec<T>,
}

/// One pass through the network, with the gradient computed so far.
struct Course<'a, T> {
    network: &'a Network<T>,
    gradient: Network<T>,
}

impl<T: Real> Course<'_, T> {
    fn forward<P: Program>(&self, layer: Layer, [conv, norm]: [usize; 2], x: &[T], rest: Option<&[T]>) -> Block<T> {
        let cells = self.network.shape().cells();
        let mut before = layer.forward::<T, P>(x, self.network.affine(conv));
        layer.operands.round_results(&mut before);
        let of = self.network.norm(norm);
        let statistics = Statistics::of::<P>(&before, of.bias.len(), cells);
        let mut out = batch_norm::forward::<T, P>(&before, &statistics, [of.weight, of.bias], cells);
        if let Some(rest) = rest {
            pieces::add(&layer.operands.results(rest), &mut out);
        }
        pieces::relu(&mut out);
        Block { layer, conv, norm, before, statistics, out }
    }

    /// Backward pass through a block whose input was `x`: from the gradient with respect to its output to that with respect to its input. `output_gradient` becomes the
    /// gradient before the rectifier, which is also that of the residual.
    fn backward<P: Program>(&mut self, block: &Block<T>, x: &[T], output_gradient: &mut [T]) -> Vec<T> {
        let cells = self.network.shape().cells();
        gate(&block.out, output_gradient);
        let norm = self.network.norm(block.norm);
        let (by_input, by_weight, by_bias) =
            batch_norm::backward::<T, P>(&block.before, output_gradient, &block.statistics, norm.weight, cells);
        let conv = self.network.affine(block.conv);
        let outputs = conv.bias.len();
        self.gradient.tensors[block.norm].values = by_weight;
        self.gradient.tensors[block.norm + 1].values = by_bias;
        // The convolution's bias before a norm has gradient 0, which its tensor holds.
        self.gradient.tensors[block.conv].values = block.layer.weight_gradient::<T, P>(x, &by_input, outputs);
        block.layer.input_gradient::<T, P>(&by_input, conv)
    }

    /// Backward pass through a linear layer whose input was `x`.
    fn linear<P: Program>(&mut self, index: usize, x: &[T], output_gradient: &[T]) -> Vec<T> {
        let affine: Affine<'_, T> = self.network.affine(index);
        let (layer, outputs) = (Layer::linear(), affine.bias.len());
        self.gradient.tensors[index].values = layer.weight_gradient::<T, P>(x, output_gradient, outputs);
        self.gradient.tensors[index + 1].values = layer.bias_gradient(output_gradient, outputs);
        layer.input_gradient::<T, P>(output_gradient, affine)
    }
}

/// Sets the gradient to 0 where the output is not positive.
fn gate<T: Real>(outputs: &[T], gradient: &mut [T]) {
    for (gradient, &output) in gradient.iter_mut().zip(outputs) {
        if output <= T::zero() {
            *gradient = T::zero();
        }
    }
}

impl<T: Real> Network<T> {
    /// Losses of a batch and their gradient.
    ///
    /// # Panics
    /// If the lengths are not those of the same number of positions, there is none, or a position has no legal action.
    pub fn gradient<P: Program>(&self, batch: Batch<'_, T>, settings: &Settings) -> Gradient<T> {
        let shape = self.shape();
        let n = batch.results.len();
        let lengths = (batch.observations.len(), batch.masks.len(), batch.shares.len());
        let expected = (n * shape.planes * shape.cells(), n * shape.actions, n * shape.actions);
        assert!(n > 0 && lengths == expected, "lengths of a batch of {n}: {lengths:?}, expected {expected:?}");
        let conv = Layer::conv_3x3(shape, settings.operands);
        let mut course = Course { network: self, gradient: Network::zeros(shape) };

        let indices = [tensor_index::INPUT_CONV, tensor_index::INPUT_NORM];
        let input = course.forward::<P>(conv, indices, batch.observations, None);
        let mut torso: Vec<[Block<T>; 2]> = Vec::new();
        for block in 0..shape.depth {
            let [conv_1, conv_2, norm_1, norm_2] = tensor_index::torso(block);
            let x = torso.last().map_or(&input.out, |[_, last]| &last.out);
            let first = course.forward::<P>(conv, [conv_1, norm_1], x, None);
            let second = course.forward::<P>(conv, [conv_2, norm_2], &first.out, Some(x));
            torso.push([first, second]);
        }
        let x = &settings.heads.of(torso.last().map_or(&input.out, |[_, last]| &last.out))[..];
        let [conv, norm, value_1, value_2] = tensor_index::value(shape.depth);
        let value = course.forward::<P>(Layer::conv_1x1(shape), [conv, norm], x, None);
        let mut hidden = Layer::linear().forward::<T, P>(&value.out, self.affine(value_1));
        pieces::relu(&mut hidden);
        let z = Layer::linear().forward::<T, P>(&hidden, self.affine(value_2));
        let [conv, norm, policy_1] = tensor_index::policy(shape.depth);
        let policy = course.forward::<P>(Layer::conv_1x1(shape), [conv, norm], x, None);
        let logits = Layer::linear().forward::<T, P>(&policy.out, self.affine(policy_1));

        // The losses, and their gradients by logits and by the value before its hyperbolic tangent.
        let count = T::rounded(n as f64);
        let weight = T::rounded(settings.value_weight);
        let mut by_logits = vec![T::zero(); logits.len()];
        let mut by_z = vec![T::zero(); n];
        let zero = T::zero();
        let mut losses = Losses { policy: zero, value: zero, l2: zero, accuracy: zero };
        for position in 0..n {
            let at = position * shape.actions..(position + 1) * shape.actions;
            let (logits, mask, shares) = (&logits[at.clone()], &batch.masks[at.clone()], &batch.shares[at.clone()]);
            losses.policy += loss::policy(logits, mask, shares, T::one() / count, &mut by_logits[at]) / count;
            let (squared, slope) = loss::value(z[position], batch.results[position]);
            losses.value += weight * squared / count;
            by_z[position] = weight * slope / count;
            if loss::is_hit(logits, mask, shares) {
                losses.accuracy += T::one() / count;
            }
        }

        let mut by_hidden = course.linear::<P>(value_2, &hidden, &by_z);
        gate(&hidden, &mut by_hidden);
        let mut by_plane = course.linear::<P>(value_1, &value.out, &by_hidden);
        let mut by_x = course.backward::<P>(&value, x, &mut by_plane);
        let mut by_planes = course.linear::<P>(policy_1, &policy.out, &by_logits);
        pieces::add(&course.backward::<P>(&policy, x, &mut by_planes), &mut by_x);
        settings.heads.round_results(&mut by_x);
        for (number, [first, second]) in torso.iter().enumerate().rev() {
            let x = number.checked_sub(1).map_or(&input.out, |before| &torso[before][1].out);
            let mut by_mid = course.backward::<P>(second, &first.out, &mut by_x);
            settings.operands.round_results(&mut by_mid);
            // What passed the rectifier, the residual's gradient.
            settings.operands.round_results(&mut by_x);
            pieces::add(&course.backward::<P>(first, x, &mut by_mid), &mut by_x);
            settings.operands.round_results(&mut by_x);
        }
        course.backward::<P>(&input, batch.observations, &mut by_x);

        let mut gradient = course.gradient;
        let decay = T::rounded(settings.weight_decay);
        for (own, gradient) in self.tensors.iter().zip(&mut gradient.tensors).filter(|(own, _)| is_decayed(&own.name)) {
            for (&weight, gradient) in own.values.iter().zip(&mut gradient.values) {
                *gradient += decay * weight;
                losses.l2 += decay * weight * weight / (T::one() + T::one());
            }
        }
        let blocks = std::iter::once(input).chain(torso.into_iter().flatten()).chain([value, policy]);
        let statistics = blocks.map(|block| (block.norm, block.statistics)).collect();
        Gradient { losses, network: gradient, statistics }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Sequential, Shape};
    use super::*;

    /// Numbers of a small generator, for networks and positions without meaning.
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as f64 / 16_777_216.0
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let shape = Shape {
            rows: 3,
            columns: 4,
            planes: 2,
            width: 3,
            depth: 2,
            value_filters: 2,
            value_hidden: 5,
            policy_filters: 2,
            actions: 6,
        };
        let n = 4;
        let mut state = 7;
        let network = Network::<f64>::seeded(shape, 5);
        let observations: Vec<f64> = (0..n * shape.planes * shape.cells()).map(|_| uniform(&mut state)).collect();
        let masks: Vec<u8> = (0..n * shape.actions).map(|at| u8::from(at % shape.actions != 1)).collect();
        let mut shares: Vec<f64> = masks.iter().map(|&mask| f64::from(mask) * uniform(&mut state)).collect();
        for shares in shares.chunks_exact_mut(shape.actions) {
            let sum: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|share| *share /= sum);
        }
        let batch =
            Batch { observations: &observations, masks: &masks, shares: &shares, results: &[1.0, -1.0, 0.0, 0.5] };
        let settings = Settings { weight_decay: 0.01, value_weight: 0.7, ..Settings::default() };
        let found = network.gradient::<Sequential>(batch, &settings).network;
        let loss = |network: &Network<f64>| network.gradient::<Sequential>(batch, &settings).losses.total();
        let mut checked = 0;
        for (number, tensor) in network.tensors.iter().enumerate().filter(|(_, tensor)| !is_statistic(&tensor.name)) {
            for at in 0..tensor.values.len() {
                if at > 20 && at % 7 != 0 {
                    continue;
                }
                let h = 1e-5;
                let at_distance = |distance: f64| {
                    let mut moved = network.clone();
                    moved.tensors[number].values[at] += distance;
                    loss(&moved)
                };
                let slope = (at_distance(h) - at_distance(-h)) / (2.0 * h);
                let own = found.tensors[number].values[at];
                assert!((own - slope).abs() < 1e-7 * (1.0 + own.abs()), "{} [{at}]: {own}, slope {slope}", tensor.name);
                checked += 1;
            }
        }
        assert!(checked > 300, "{checked}");
    }
}
