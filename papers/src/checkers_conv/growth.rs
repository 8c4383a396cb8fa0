//! What an error of a convolution comes to behind its batch norm, its rectifier and the blocks after it: section IV.B says that a mean error of 1e-4 can grow "by
//! a factor of two or more" behind batch norm. In double precision, so that nothing but that error is seen.

use serde::{Deserialize, Serialize};
use warpplay_cpu_ref::azero::{EPSILON, Network, Parallel, Pass, pieces, tensor_index};

use super::Study;
use super::published::MEAN_ERROR;
use super::reference::{blocks_of, converted};
use super::study::Draw;
use crate::experiment::statistics;

/// Squares of the board.
const CELLS: usize = 64;

/// A convolution's batch norm and what follows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NormRow {
    /// The convolution, by the block that its rectifier gives: of a block of the torso the first is `torso_0_mid`, the second `torso_0`.
    pub conv: String,
    /// Mean over the channels of |weight| / √(variance + ε): what a norm multiplies a mean error by.
    pub factor: f64,
    /// Mean absolute error behind the norm, of [`MEAN_ERROR`] before it.
    pub behind_norm: f64,
    /// Behind the rectifier; of a block's second convolution the block's input is added before it.
    pub behind_relu: f64,
}

/// The error of the first convolution, later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockRow {
    /// The block.
    pub after: String,
    /// Mean absolute error.
    pub mean: f64,
    /// Mean size of the values.
    pub mean_size: f64,
}

/// What an error comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Behind each convolution that an error is put on.
    pub norms: Vec<NormRow>,
    /// After each block, of an error of the first convolution.
    pub blocks: Vec<BlockRow>,
}

/// Scales errors to the mean absolute error of the paper.
fn scaled(errors: &mut [f64]) {
    let mean = errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64;
    errors.iter_mut().for_each(|error| *error *= MEAN_ERROR / mean);
}

fn mean_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len().max(1) as f64
}

impl Study {
    /// On the first `n` positions.
    pub fn growth(&self, n: usize) -> Growth {
        let (observations, masks) = self.first(n);
        let network = converted::<f64>(self.network());
        let mut pass = Pass::default();
        let exact: Vec<f64> = observations.iter().map(|&value| value.into()).collect();
        network.forward::<Parallel>(&exact, &masks, &mut pass);
        // Each convolution's values, and what is added to them behind the norm.
        let mut convs: Vec<(&[f64], Option<&[f64]>)> = vec![(&pass.input_conv, None)];
        let mut before: &[f64] = &pass.input;
        for block in &pass.torso {
            convs.push((&block.conv_1, None));
            convs.push((&block.conv_2, Some(before)));
            before = &block.out;
        }
        convs.push((&pass.value_conv, None));
        convs.push((&pass.policy_conv, None));
        let mut draw = Draw::new(27);
        let norms = norms(network.shape().depth).into_iter().zip(convs);
        let norms = norms.map(|((conv, norm), (values, beside))| {
            let (factor, [behind_norm, behind_relu]) =
                (factor(network.norm(norm)), behind(values, beside, network.norm(norm), &mut draw));
            NormRow { conv, factor, behind_norm, behind_relu }
        });
        Growth { norms: norms.collect(), blocks: self.spread(&network, &pass.input_conv, &observations, &masks) }
    }

    /// What each norm of the network multiplies a mean error by, in the order of [`Growth::norms`].
    pub fn norm_factors(&self) -> Vec<f64> {
        let network = converted::<f64>(self.network());
        norms(network.shape().depth).into_iter().map(|(_, norm)| factor(network.norm(norm))).collect()
    }

    /// An error of the first convolution, made by its weights, so that it differs from square to square, followed through the network.
    fn spread(&self, network: &Network<f64>, conv: &[f64], observations: &[f32], masks: &[u8]) -> Vec<BlockRow> {
        let exact: Vec<f64> = observations.iter().map(|&value| value.into()).collect();
        let mut draw = Draw::new(28);
        let mut errors: Vec<f64> =
            network.affine(tensor_index::INPUT_CONV).weight.iter().map(|_| 2.0 * draw.share() - 1.0).collect();
        // The convolution is linear: one pass with any error says what the scale is.
        let mut changed = network.clone();
        add(&mut changed.tensors[tensor_index::INPUT_CONV].values, &errors);
        let mut pass = Pass::default();
        changed.forward::<Parallel>(&exact, masks, &mut pass);
        let scale = MEAN_ERROR / mean_difference(&pass.input_conv, conv);
        errors.iter_mut().for_each(|error| *error *= scale);
        let mut changed = network.clone();
        add(&mut changed.tensors[tensor_index::INPUT_CONV].values, &errors);
        let right = blocks_of(network, observations, masks);
        let wrong = blocks_of(&changed, observations, masks);
        let rows = right.into_iter().zip(wrong).map(|((after, right), (_, wrong))| BlockRow {
            after,
            mean: mean_difference(&wrong, &right),
            mean_size: right.iter().map(|value| value.abs()).sum::<f64>() / right.len().max(1) as f64,
        });
        rows.collect()
    }
}

fn add(values: &mut [f64], errors: &[f64]) {
    values.iter_mut().zip(errors).for_each(|(value, error)| *value += error);
}

/// All norms of a network of `depth` blocks: the name of what their rectifier gives, and their index.
fn norms(depth: usize) -> Vec<(String, usize)> {
    let mut all = vec![("input".to_string(), tensor_index::INPUT_NORM)];
    for block in 0..depth {
        let [_, _, norm_1, norm_2] = tensor_index::torso(block);
        all.extend([(format!("torso_{block}_mid"), norm_1), (format!("torso_{block}"), norm_2)]);
    }
    let ([_, value_norm, ..], [_, policy_norm, _]) = (tensor_index::value(depth), tensor_index::policy(depth));
    all.extend([("value_head_plane".to_string(), value_norm), ("policy_head_planes".to_string(), policy_norm)]);
    all
}

/// Mean over the channels of |weight| / √(variance + ε).
fn factor(norm: pieces::Norm<'_, f64>) -> f64 {
    let channels = norm.weight.iter().zip(norm.variance);
    let factors: Vec<f64> = channels.map(|(weight, variance)| weight.abs() / (variance + EPSILON).sqrt()).collect();
    statistics::mean(&factors)
}

/// Mean absolute errors that one on `conv`, `[n, channels, 8, 8]`, comes to behind its norm, and behind the rectifier of it and of what is `beside` it.
fn behind(conv: &[f64], beside: Option<&[f64]>, norm: pieces::Norm<'_, f64>, draw: &mut Draw) -> [f64; 2] {
    let mut errors: Vec<f64> = conv.iter().map(|_| 2.0 * draw.share() - 1.0).collect();
    scaled(&mut errors);
    let each = norm.weight.len() * CELLS;
    let beside = beside.map_or_else(|| vec![0.0; conv.len()], <[f64]>::to_vec);
    let (mut behind_norm, mut behind_relu) = (0.0, 0.0);
    let positions = conv.chunks_exact(each).zip(errors.chunks_exact(each)).zip(beside.chunks_exact(each));
    for ((x, errors), beside) in positions {
        let mut wrong = x.to_vec();
        add(&mut wrong, errors);
        let normed = |x: &[f64]| {
            let mut out = vec![0.0; each];
            pieces::normalize(x, norm, CELLS, &mut out);
            out
        };
        let (mut right, mut wrong) = (normed(x), normed(&wrong));
        behind_norm += mean_difference(&wrong, &right);
        for values in [&mut right, &mut wrong] {
            add(values, beside);
            pieces::relu(values);
        }
        behind_relu += mean_difference(&wrong, &right);
    }
    let n = (conv.len() / each).max(1) as f64;
    [behind_norm / n, behind_relu / n]
}
