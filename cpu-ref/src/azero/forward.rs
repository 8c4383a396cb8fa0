//! From observations to values and policies.

use super::pieces::{self, Affine, Norm};
use super::{Network, Program, tensor_index};
use crate::mlp::Real;

/// Activations of `n` positions in one block of the torso, each array `[n, width, cells]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockPass<T> {
    /// After the first convolution, before its norm.
    pub conv_1: Vec<T>,
    /// After the first rectifier.
    pub mid: Vec<T>,
    /// After the second convolution, before its norm.
    pub conv_2: Vec<T>,
    /// The block's output.
    pub out: Vec<T>,
}

/// All activations of `n` positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pass<T> {
    /// After the input's convolution, before its norm, `[n, width, cells]`.
    pub input_conv: Vec<T>,
    /// The input block's output, `[n, width, cells]`.
    pub input: Vec<T>,
    /// Each block of the torso.
    pub torso: Vec<BlockPass<T>>,
    /// After the value head's convolution, before its norm, `[n, value_filters, cells]`.
    pub value_conv: Vec<T>,
    /// After the value head's first rectifier, `[n, value_filters, cells]`.
    pub value_head_plane: Vec<T>,
    /// After the value head's second rectifier, `[n, value_hidden]`.
    pub value_hidden: Vec<T>,
    /// The value before its hyperbolic tangent, `[n]`.
    pub value_pre_tanh: Vec<T>,
    /// The expected result, `[n]`.
    pub value: Vec<T>,
    /// After the policy head's convolution, before its norm, `[n, policy_filters, cells]`.
    pub policy_conv: Vec<T>,
    /// After the policy head's rectifier, `[n, policy_filters, cells]`.
    pub policy_head_planes: Vec<T>,
    /// Logits of all actions, `[n, actions]`.
    pub policy_logits: Vec<T>,
    /// Softmax of the legal actions' logits, others 0, `[n, actions]`.
    pub policy: Vec<T>,
    /// Scratch memory for the patches of a convolution.
    patches: Vec<T>,
}

impl<T: Real> Pass<T> {
    /// Every array of the reference vectors, under its name there: `input_conv`, `input`, `torso_0_conv_1`, `torso_0_mid`, `torso_0`, …, `value_head_plane`, `value_hidden`,
    /// `value_pre_tanh`, `value`, `policy_head_planes`, `policy_logits`, `policy`.
    pub fn named(&self) -> Vec<(String, &[T])> {
        let mut list: Vec<(String, &[T])> =
            vec![("input_conv".into(), &self.input_conv), ("input".into(), &self.input)];
        for (number, block) in self.torso.iter().enumerate() {
            list.push((format!("torso_{number}_conv_1"), &block.conv_1));
            list.push((format!("torso_{number}_mid"), &block.mid));
            list.push((format!("torso_{number}"), &block.out));
        }
        list.extend([
            ("value_head_plane".into(), &self.value_head_plane[..]),
            ("value_hidden".into(), &self.value_hidden),
            ("value_pre_tanh".into(), &self.value_pre_tanh),
            ("value".into(), &self.value),
            ("policy_head_planes".into(), &self.policy_head_planes),
            ("policy_logits".into(), &self.policy_logits),
            ("policy".into(), &self.policy),
        ]);
        list
    }
}

impl<T: Real> Network<T> {
    /// Values and policies of `n` positions: `observations` are `[n, planes, cells]`, `masks` `[n, actions]`, not 0 for a legal action. Fills `pass`, whose memory is reused.
    ///
    /// # Panics
    /// If the lengths are not those of the same number of positions, or a position has no legal action.
    pub fn forward<P: Program>(&self, observations: &[T], masks: &[u8], pass: &mut Pass<T>) {
        let shape = self.shape();
        let (cells, depth) = (shape.cells(), shape.depth);
        let n = masks.len() / shape.actions;
        assert_eq!(masks.len(), n * shape.actions, "masks of whole positions");
        assert_eq!(observations.len(), n * shape.planes * cells, "observations of {n} positions");
        let Pass { patches, torso, .. } = pass;

        self.conv_3x3::<P>(observations, tensor_index::INPUT_CONV, patches, &mut pass.input_conv);
        self.norm_relu::<P>(&pass.input_conv, tensor_index::INPUT_NORM, None, &mut pass.input);
        torso.resize(depth, BlockPass::default());
        for block in 0..depth {
            let [conv_1, conv_2, norm_1, norm_2] = tensor_index::torso(block);
            let (before, after) = torso.split_at_mut(block);
            let (x, block) = (before.last().map_or(&pass.input, |block| &block.out), &mut after[0]);
            self.conv_3x3::<P>(x, conv_1, patches, &mut block.conv_1);
            self.norm_relu::<P>(&block.conv_1, norm_1, None, &mut block.mid);
            self.conv_3x3::<P>(&block.mid, conv_2, patches, &mut block.conv_2);
            self.norm_relu::<P>(&block.conv_2, norm_2, Some(x), &mut block.out);
        }
        let x = torso.last().map_or(&pass.input, |block| &block.out);

        let [conv, norm, linear_1, linear_2] = tensor_index::value(depth);
        self.conv_1x1::<P>(x, conv, &mut pass.value_conv);
        self.norm_relu::<P>(&pass.value_conv, norm, None, &mut pass.value_head_plane);
        self.linear::<P>(&pass.value_head_plane, linear_1, &mut pass.value_hidden);
        P::parts(&mut pass.value_hidden, shape.value_hidden, |_, part| pieces::relu(part));
        self.linear::<P>(&pass.value_hidden, linear_2, &mut pass.value_pre_tanh);
        pass.value.clear();
        pass.value.extend(pass.value_pre_tanh.iter().map(|value| value.tanh()));

        let [conv, norm, linear] = tensor_index::policy(depth);
        self.conv_1x1::<P>(x, conv, &mut pass.policy_conv);
        self.norm_relu::<P>(&pass.policy_conv, norm, None, &mut pass.policy_head_planes);
        self.linear::<P>(&pass.policy_head_planes, linear, &mut pass.policy_logits);
        pass.policy.resize(masks.len(), T::zero());
        let logits = &pass.policy_logits;
        P::parts(&mut pass.policy, shape.actions, |position, policy| {
            let at = position * policy.len()..(position + 1) * policy.len();
            pieces::masked_softmax(&logits[at.clone()], &masks[at], policy);
        });
    }

    /// Convolution 3×3 of all positions.
    fn conv_3x3<P: Program>(&self, x: &[T], index: usize, patches: &mut Vec<T>, out: &mut Vec<T>) {
        let shape = self.shape();
        let (board, cells, conv) = ((shape.rows, shape.columns), shape.cells(), self.affine(index));
        let k = conv.weight.len() / conv.bias.len();
        let n_inputs = k / 9;
        patches.resize(9 * x.len(), T::zero());
        P::parts(patches, k * cells, |position, patches| {
            pieces::patches(&x[position * n_inputs * cells..][..n_inputs * cells], board, patches);
        });
        products::<T, P>(conv, patches, cells, out);
    }

    /// Convolution 1×1 of all positions.
    fn conv_1x1<P: Program>(&self, x: &[T], index: usize, out: &mut Vec<T>) {
        products::<T, P>(self.affine(index), x, self.shape().cells(), out);
    }

    /// Norm, then `rest` added if given, then the rectifier.
    fn norm_relu<P: Program>(&self, x: &[T], index: usize, rest: Option<&[T]>, out: &mut Vec<T>) {
        let (cells, norm): (usize, Norm<'_, T>) = (self.shape().cells(), self.norm(index));
        out.resize(x.len(), T::zero());
        P::parts(out, norm.bias.len() * cells, |position, out| {
            let at = position * out.len()..(position + 1) * out.len();
            pieces::normalize(&x[at.clone()], norm, cells, out);
            if let Some(rest) = rest {
                pieces::add(&rest[at], out);
            }
            pieces::relu(out);
        });
    }

    /// Linear layer of all positions.
    fn linear<P: Program>(&self, x: &[T], index: usize, out: &mut Vec<T>) {
        let layer = self.affine(index);
        let (n_outputs, n_inputs) = (layer.bias.len(), layer.weight.len() / layer.bias.len());
        out.resize(x.len() / n_inputs * n_outputs, T::zero());
        P::parts(out, n_outputs, |position, out| {
            pieces::linear(&x[position * n_inputs..][..n_inputs], layer, out);
        });
    }
}

/// Number of outputs per part of a product, so that even a single position has as many parts as there are cores.
const OUTPUTS_AT_ONCE: usize = 32;

/// For each position, the weights times its patches `[k, cells]`, and the bias added.
fn products<T: Real, P: Program>(conv: Affine<'_, T>, patches: &[T], cells: usize, out: &mut Vec<T>) {
    let n_outputs = conv.bias.len();
    let k = conv.weight.len() / n_outputs;
    let n = patches.len() / (k * cells);
    let at_once = if n_outputs.is_multiple_of(OUTPUTS_AT_ONCE) { OUTPUTS_AT_ONCE } else { n_outputs };
    out.resize(n * n_outputs * cells, T::zero());
    P::parts(out, at_once * cells, |part, out| {
        let (position, first) = (part * at_once / n_outputs, part * at_once % n_outputs);
        let weight = &conv.weight[first * k..][..at_once * k];
        pieces::matmul(weight, &patches[position * k * cells..][..k * cells], out, (at_once, cells, k));
        pieces::add_bias(out, &conv.bias[first..][..at_once], cells);
    });
}

#[cfg(test)]
mod tests {
    use super::super::{Parallel, Sequential, Shape};
    use super::*;

    fn noise(n: usize) -> Vec<f32> {
        let numbers = crate::mlp::Numbers::new(5, 4);
        (1..=n as u64).map(|at| numbers.uniform(at)).collect()
    }

    #[test]
    fn bits_depend_neither_on_threads_nor_on_the_batch() {
        let shapes = [
            Shape { width: 32, depth: 1, actions: 20, ..Shape::default() },
            Shape {
                rows: 3,
                columns: 5,
                planes: 2,
                width: 12,
                depth: 2,
                value_filters: 3,
                actions: 7,
                ..Shape::default()
            },
            Shape {
                rows: 1,
                columns: 1,
                planes: 1,
                width: 1,
                depth: 0,
                value_hidden: 1,
                actions: 1,
                ..Shape::default()
            },
        ];
        for shape in shapes {
            let network = Network::<f32>::seeded(shape, 3);
            let n = 5;
            let observations = noise(n * shape.planes * shape.cells());
            let masks: Vec<u8> = (0..n * shape.actions).map(|at| u8::from(at % 3 != 1 || shape.actions == 1)).collect();
            let (mut all, mut other, mut one) = (Pass::default(), Pass::default(), Pass::default());
            network.forward::<Sequential>(&observations, &masks, &mut all);
            network.forward::<Parallel>(&observations, &masks, &mut other);
            assert_eq!(all, other);
            let length = shape.planes * shape.cells();
            for position in 0..n {
                let observation = &observations[position * length..][..length];
                let mask = &masks[position * shape.actions..][..shape.actions];
                network.forward::<Parallel>(observation, mask, &mut one);
                for ((name, one), (_, all)) in one.named().into_iter().zip(all.named()) {
                    assert_eq!(one, &all[position * one.len()..][..one.len()], "{name} of position {position}");
                }
                let sum: f32 = one.policy.iter().sum();
                assert!((sum - 1.0).abs() < 1e-5 && one.value[0].abs() <= 1.0);
            }
        }
    }
}
