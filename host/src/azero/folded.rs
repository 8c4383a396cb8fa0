//! Batch norms put into the convolutions before them.

use super::network::{Conv, Linear, NORM_EPSILON, Norm, n_values};
use super::{Network, NetworkShape};

/// A convolution with its norm: `weight · w`, `(bias - mean) · w + b`, with `w` the norm's weight over the root of its variance.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::azero) struct FoldedConv {
    /// Outputs.
    pub n_outputs: usize,
    /// Inputs.
    pub n_inputs: usize,
    /// Side of the kernel: 3 or 1.
    pub side: usize,
    /// `[n_outputs, n_inputs, side, side]`.
    pub weight: Vec<f32>,
    /// `[n_outputs]`.
    pub bias: Vec<f32>,
}

/// A network with folded norms, as inference uses it; computed in double precision and rounded once.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::azero) struct FoldedNetwork {
    pub shape: NetworkShape,
    pub input: FoldedConv,
    /// Both convolutions of every block.
    pub torso: Vec<[FoldedConv; 2]>,
    pub value_conv: FoldedConv,
    pub value_linear_1: Linear,
    pub value_linear_2: Linear,
    pub policy_conv: FoldedConv,
    pub policy_linear: Linear,
}

impl FoldedNetwork {
    /// Bytes of the parameters of a network of this shape.
    pub fn bytes(shape: NetworkShape) -> u64 {
        // A norm of a channel has four values that a folded network has not.
        let channels = (1 + 2 * shape.depth) * shape.width + shape.value_filters + shape.policy_filters;
        4 * (n_values(shape) - 4 * u64::from(channels))
    }

    /// Folds all norms.
    pub fn new(network: &Network) -> Self {
        let torso = network.torso.iter();
        Self {
            shape: network.shape,
            input: fold(&network.input_conv, &network.input_norm, 3),
            torso: torso
                .map(|block| [fold(&block.conv_1, &block.norm_1, 3), fold(&block.conv_2, &block.norm_2, 3)])
                .collect(),
            value_conv: fold(&network.value_conv, &network.value_norm, 1),
            value_linear_1: network.value_linear_1.clone(),
            value_linear_2: network.value_linear_2.clone(),
            policy_conv: fold(&network.policy_conv, &network.policy_norm, 1),
            policy_linear: network.policy_linear.clone(),
        }
    }
}

fn fold(conv: &Conv, norm: &Norm, side: usize) -> FoldedConv {
    let n_outputs = conv.bias.len();
    let n_inputs = conv.weight.len() / (n_outputs * side * side);
    let factors: Vec<f64> = (norm.weight.iter().zip(&norm.variance))
        .map(|(&weight, &variance)| f64::from(weight) / (f64::from(variance) + NORM_EPSILON).sqrt())
        .collect();
    let rows = conv.weight.chunks_exact(n_inputs * side * side).zip(&factors);
    let weight =
        rows.flat_map(|(row, factor)| row.iter().map(move |&value| (f64::from(value) * factor) as f32)).collect();
    let bias = (0..n_outputs)
        .map(|at| {
            let centred = f64::from(conv.bias[at]) - f64::from(norm.mean[at]);
            (centred * factors[at] + f64::from(norm.bias[at])) as f32
        })
        .collect();
    FoldedConv { n_outputs, n_inputs, side, weight, bias }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azero::{Evaluation, Evaluator};
    use crate::{Device, Precision};

    /// A network with the folded convolutions and identity norms.
    fn unfolded(network: &Network) -> Network {
        let folded = FoldedNetwork::new(network);
        let conv = |conv: &FoldedConv| Conv { weight: conv.weight.clone(), bias: conv.bias.clone() };
        let mut plain = Network::zeros(network.shape()).unwrap();
        plain.visit_mut(|name, _, values| match name.rsplit_once('.') {
            Some((layer, "weight")) if layer.contains("batch_norm") => values.fill(1.0),
            Some((_, "running_var")) => values.fill((1.0 - NORM_EPSILON) as f32),
            _ => {}
        });
        plain.input_conv = conv(&folded.input);
        for (block, [conv_1, conv_2]) in plain.torso.iter_mut().zip(&folded.torso) {
            (block.conv_1, block.conv_2) = (conv(conv_1), conv(conv_2));
        }
        (plain.value_conv, plain.policy_conv) = (conv(&folded.value_conv), conv(&folded.policy_conv));
        (plain.value_linear_1, plain.value_linear_2) = (folded.value_linear_1, folded.value_linear_2);
        plain.policy_linear = folded.policy_linear;
        plain
    }

    #[test]
    fn a_folded_network_says_the_same() {
        let shape = NetworkShape { width: 24, depth: 3, value_filters: 2, actions: 40, ..NetworkShape::default() };
        let network = Network::seeded(shape, 8).unwrap();
        let observations: Vec<f32> = (0..3 * shape.n_observation()).map(|at| (at * at % 7 == 1).into()).collect();
        let masks = [1; 3 * 40];
        let evaluate = |network: &Network| -> Evaluation {
            let builder = Evaluator::builder(network).precision(Precision::F64);
            builder.build(&Device::cpu()).unwrap().evaluate(&observations, &masks).unwrap()
        };
        let (folded, expected) = (evaluate(&unfolded(&network)), evaluate(&network));
        let pairs = folded.values.iter().zip(&expected.values);
        for (folded, expected) in pairs.chain(folded.policy_logits.iter().zip(&expected.policy_logits)) {
            // Each weight was rounded once more; signs in a sum of 216 products differ.
            assert!((folded - expected).abs() < 2e-6 * (1.0 + expected.abs()), "{folded}, expected {expected}");
        }
    }
}
