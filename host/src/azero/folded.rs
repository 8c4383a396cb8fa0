//! Batch norms put into the convolutions before them.

use super::network::{Conv, Linear, NORM_EPSILON, Norm};
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

/// A network as inference uses it; folded in double precision, rounded once.
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
