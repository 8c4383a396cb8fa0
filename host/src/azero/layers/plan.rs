//! How a network's parameters lie on the device, and which kernels work on how many positions: pure arithmetic.

use warpplay_gpu::azero::layers::board::{Board, NARROW, PAIR, SIDE, SINGLE, WARP_OUTPUTS, row_shape};
use warpplay_gpu::azero::layers::conv::{INPUT_GROUP, LARGE, LINE, SMALL, TAPS, Tiles};
use warpplay_gpu::launch::LaunchShape;

use crate::azero::NetworkShape;
use crate::azero::folded::{FoldedConv, FoldedNetwork};
use crate::azero::network::Linear;

/// Multiprocessors of a large GPU. A constant: which kernel works may depend on it, results do not.
const MULTIPROCESSORS: u32 = 132;

/// Where a convolution's parameters begin, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConvPlace {
    pub weights: usize,
    pub bias: usize,
    pub n_inputs: u32,
    pub n_outputs: u32,
    pub line: u32,
}

/// Where the heads' parameters begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeadPlaces {
    pub plane_weights: usize,
    pub plane_bias: usize,
    pub value_weights_1: usize,
    pub value_bias_1: usize,
    pub value_weights_2: usize,
    pub policy_weights: usize,
    pub policy_bias: usize,
}

/// All parameters in one array, each part at a multiple of four.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub values: Vec<f32>,
    /// The convolution of the observations, then two a block.
    pub convs: Vec<ConvPlace>,
    pub heads: HeadPlaces,
}

impl Packed {
    pub fn new(network: &FoldedNetwork) -> Self {
        let mut packed = Self { values: Vec::new(), convs: Vec::new(), heads: HeadPlaces::default() };
        for conv in std::iter::once(&network.input).chain(network.torso.iter().flatten()) {
            let place = packed.conv(conv);
            packed.convs.push(place);
        }
        let (value, policy) = (&network.value_conv, &network.policy_conv);
        let (weights, bias) = planes(value, policy);
        let second = [&network.value_linear_2.weight[..], &network.value_linear_2.bias[..]].concat();
        packed.heads = HeadPlaces {
            plane_weights: packed.put(&weights),
            plane_bias: packed.put(&bias),
            value_weights_1: packed.put(&transposed(&network.value_linear_1)),
            value_bias_1: packed.put(&network.value_linear_1.bias),
            value_weights_2: packed.put(&second),
            policy_weights: packed.put(&transposed(&network.policy_linear)),
            policy_bias: packed.put(&network.policy_linear.bias),
        };
        packed
    }

    fn put(&mut self, values: &[f32]) -> usize {
        let place = self.values.len();
        self.values.extend_from_slice(values);
        self.values.resize(self.values.len().next_multiple_of(4), 0.0);
        place
    }

    fn conv(&mut self, conv: &FoldedConv) -> ConvPlace {
        let (n_outputs, n_inputs) = (conv.n_outputs, conv.n_inputs);
        let (taps, line) = (TAPS as usize, n_outputs.next_multiple_of(LINE as usize));
        let mut weights = vec![0.0; n_inputs.next_multiple_of(INPUT_GROUP as usize) * taps * line];
        for (output, row) in conv.weight.chunks_exact(n_inputs * taps).enumerate() {
            for (depth, &weight) in row.iter().enumerate() {
                weights[depth * line + output] = weight;
            }
        }
        let mut bias = conv.bias.clone();
        bias.resize(line, 0.0);
        let (n_outputs, n_inputs, line) = (n_outputs as u32, n_inputs as u32, line as u32);
        ConvPlace { weights: self.put(&weights), bias: self.put(&bias), n_inputs, n_outputs, line }
    }
}

/// Weights `[width, filters up to a multiple of 4]` and bias of both heads' 1×1 convolutions, the value's first.
fn planes(value: &FoldedConv, policy: &FoldedConv) -> (Vec<f32>, Vec<f32>) {
    let line = (value.n_outputs + policy.n_outputs).next_multiple_of(4);
    let mut weights = vec![0.0; value.n_inputs * line];
    let rows = value.weight.chunks_exact(value.n_inputs).chain(policy.weight.chunks_exact(policy.n_inputs));
    for (filter, row) in rows.enumerate() {
        for (channel, &weight) in row.iter().enumerate() {
            weights[channel * line + filter] = weight;
        }
    }
    let mut bias = [&value.bias[..], &policy.bias[..]].concat();
    bias.resize(line, 0.0);
    (weights, bias)
}

/// Weights `[inputs, outputs]` of a linear layer.
fn transposed(linear: &Linear) -> Vec<f32> {
    let n_outputs = linear.bias.len();
    let n_inputs = linear.weight.len() / n_outputs;
    let mut weights = vec![0.0; linear.weight.len()];
    for (output, row) in linear.weight.chunks_exact(n_inputs).enumerate() {
        for (input, &weight) in row.iter().enumerate() {
            weights[input * n_outputs + output] = weight;
        }
    }
    weights
}

/// Which kernel makes a convolution in single precision. All give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// 8×8, a row a thread.
    Row,
    /// 8×8, a board a thread.
    Board(Board),
    /// Any board.
    Tiles(Tiles),
}

impl Form {
    /// The form for `n` positions and `n_outputs` outputs.
    pub fn choose(shape: &NetworkShape, n: u32, n_outputs: u32) -> Self {
        let wide = n_outputs % LINE == 0 || n_outputs % LINE > LINE - WARP_OUTPUTS;
        let blocks = |shape: LaunchShape| shape.n_blocks();
        if (shape.rows, shape.columns) == (SIDE, SIDE) {
            // A board a thread takes eight times as long as a row, whatever their number, until there are enough to fill the multiprocessors.
            let most_rows = MULTIPROCESSORS * 6;
            return match () {
                () if blocks(row_shape(n, n_outputs)) <= u64::from(most_rows) => Self::Row,
                () if !wide => Self::Board(NARROW),
                () if blocks(PAIR.shape(n, n_outputs)) < u64::from(2 * MULTIPROCESSORS) => Self::Board(SINGLE),
                () => Self::Board(PAIR),
            };
        }
        let enough = blocks(LARGE.shape(n, shape.cells() as u32, n_outputs)) >= u64::from(MULTIPROCESSORS);
        Self::Tiles(if enough && n_outputs > SMALL.outputs { LARGE } else { SMALL })
    }
}
