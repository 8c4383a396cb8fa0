//! How a network's parameters lie on the device, and which kernels work on how many positions: pure arithmetic.

use warpplay_gpu::azero::layers::board::{Board, NARROW, PAIR, SIDE, SINGLE, WARP_OUTPUTS, row_shape};
use warpplay_gpu::azero::layers::conv::{INPUT_GROUP, LARGE, LINE, SMALL, TAPS, Tiles};
use warpplay_gpu::azero::layers::heads::AT_ONCE;
use warpplay_gpu::azero::layers::tensor::{self, CHUNK, GROUP};
use warpplay_gpu::cuda::mma;
use warpplay_gpu::launch::LaunchShape;

use crate::Precision;
use crate::azero::NetworkShape;
use crate::azero::folded::{FoldedConv, FoldedNetwork};
use crate::azero::network::Linear;

/// Multiprocessors of a large GPU. It is a constant, on which the choice of a kernel may depend, but not results.
const MULTIPROCESSORS: u32 = 132;

/// How activations and weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Single precision, stored by channel (`[channels, cells]`).
    Fp32,
    /// Single precision, stored by cell (`[cells, channels]`); weights are rounded to TF32 beforehand, activations on use.
    Tf32,
    /// bfloat16, stored by cell.
    Bf16,
    /// Half precision, stored by cell.
    Fp16,
}

impl Format {
    /// The format of a precision; `None` for double precision.
    pub fn of(precision: Precision) -> Option<Self> {
        match precision {
            Precision::F32 => Some(Self::Fp32),
            Precision::Tf32 => Some(Self::Tf32),
            Precision::Bf16 => Some(Self::Bf16),
            Precision::F16 => Some(Self::Fp16),
            Precision::F64 | Precision::E4m3 | Precision::I16 => None,
        }
    }

    fn per_word(self) -> u32 {
        match self {
            Self::Fp32 | Self::Tf32 => 1,
            Self::Bf16 | Self::Fp16 => 2,
        }
    }

    /// Number of words of a cell with `channels` channels.
    pub fn words(self, channels: u32) -> u32 {
        match self {
            Self::Fp32 => channels,
            _ => channels.div_ceil(self.per_word()).next_multiple_of(GROUP),
        }
    }

    /// Channels of the words of a cell with `channels` channels: the rest are 0.
    pub fn channels(self, channels: u32) -> u32 {
        self.words(channels) * self.per_word()
    }

    /// Packs one or two values into a word.
    fn pack(self, low: f32, high: f32) -> u32 {
        match self {
            Self::Fp32 => low.to_bits(),
            Self::Tf32 => mma::round_tf32(low),
            Self::Bf16 => mma::pack_bf16(low, high),
            Self::Fp16 => mma::pack_f16(low, high),
        }
    }

    /// Activations of `n` positions as `[n, channels, cells]`.
    pub fn unpack(self, words: &[u32], channels: u32, cells: usize) -> Vec<f32> {
        if self == Self::Fp32 {
            return words.iter().map(|&word| f32::from_bits(word)).collect();
        }
        let line = self.words(channels) as usize;
        let value = |row: &[u32], channel: u32| {
            let word = row[(channel / self.per_word()) as usize];
            match self {
                Self::Fp32 | Self::Tf32 => f32::from_bits(word),
                Self::Bf16 => f32::from_bits(if channel.is_multiple_of(2) { word << 16 } else { word & 0xFFFF_0000 }),
                Self::Fp16 => mma::unpack_f16(word)[channel as usize % 2],
            }
        };
        let mut values = Vec::with_capacity(words.len() / line * channels as usize);
        for position in words.chunks_exact(line * cells) {
            for channel in 0..channels {
                values.extend(position.chunks_exact(line).map(|row| value(row, channel)));
            }
        }
        values
    }
}

/// Who computes the convolutions, for whom weights are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convolutions {
    /// The kernels of these layers.
    Own,
    /// [`tile`](crate::tile), in formats of 16 bits.
    Tile,
}

/// Offsets of a convolution's parameters, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConvOffsets {
    pub weights: usize,
    pub bias: usize,
    pub n_inputs: u32,
    pub n_outputs: u32,
    pub line: u32,
}

/// Offsets of the heads' parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeadOffsets {
    pub plane_weights: usize,
    pub plane_bias: usize,
    pub value_weights_1: usize,
    pub value_bias_1: usize,
    pub value_weights_2: usize,
    pub policy_weights: usize,
    pub policy_bias: usize,
}

/// All parameters in one array of words, each part at a multiple of four.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub words: Vec<u32>,
    /// The convolution of the observations, then two per block.
    pub convs: Vec<ConvOffsets>,
    pub heads: HeadOffsets,
}

impl Packed {
    pub fn new(network: &FoldedNetwork, format: Format, convolutions: Convolutions) -> Self {
        let mut packed = Self { words: Vec::new(), convs: Vec::new(), heads: HeadOffsets::default() };
        for conv in std::iter::once(&network.input).chain(network.torso.iter().flatten()) {
            let offset = packed.conv(conv, format, convolutions);
            packed.convs.push(offset);
        }
        let (value, policy) = (&network.value_conv, &network.policy_conv);
        let (weights, bias) = planes(value, policy);
        let second = [&network.value_linear_2.weight[..], &network.value_linear_2.bias[..]].concat();
        packed.heads = HeadOffsets {
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

    /// Number of words of the parameters of a network of this shape: the length of [`Packed::words`].
    pub fn n_words(shape: &NetworkShape, format: Format, convolutions: Convolutions) -> usize {
        let size = |value: u32| value as usize;
        let conv = |n_inputs: u32| {
            let line = size(shape.width).next_multiple_of(LINE as usize);
            let (depth, outputs) = match (format, convolutions) {
                (Format::Fp32, _) => (size(n_inputs.next_multiple_of(INPUT_GROUP)), line),
                (_, Convolutions::Own) => (size(format.words(n_inputs).next_multiple_of(CHUNK)), line),
                (_, Convolutions::Tile) => (size(format.words(n_inputs)), size(format.channels(shape.width))),
            };
            (depth * size(TAPS) * outputs).next_multiple_of(4) + line.next_multiple_of(4)
        };
        let linear = |n_inputs: usize, n_outputs: u32| (n_inputs * size(n_outputs)).next_multiple_of(4);
        let (cells, hidden, actions) = (shape.cells(), shape.value_hidden, shape.actions);
        let filters = size(shape.value_filters + shape.policy_filters).next_multiple_of(4);
        let planes = (size(shape.width.next_multiple_of(AT_ONCE)) + 1) * filters;
        let value = linear(size(shape.value_filters) * cells, hidden)
            + size(hidden).next_multiple_of(4)
            + size(hidden + 1).next_multiple_of(4);
        let policy = linear(size(shape.policy_filters) * cells, actions) + size(actions).next_multiple_of(4);
        conv(shape.planes) + 2 * size(shape.depth) * conv(shape.width) + planes + value + policy
    }

    fn put(&mut self, values: &[f32]) -> usize {
        self.put_words(values.iter().map(|value| value.to_bits()))
    }

    fn put_words(&mut self, words: impl Iterator<Item = u32>) -> usize {
        let offset = self.words.len();
        self.words.extend(words);
        self.words.resize(self.words.len().next_multiple_of(4), 0);
        offset
    }

    fn conv(&mut self, conv: &FoldedConv, format: Format, convolutions: Convolutions) -> ConvOffsets {
        let line = conv.n_outputs.next_multiple_of(LINE as usize);
        let mut bias = conv.bias.clone();
        bias.resize(line, 0.0);
        let weights = match (format, convolutions) {
            (Format::Fp32, _) => self.put(&by_depth(conv, line)),
            (_, Convolutions::Tile) => self.put_words(by_output(conv, format).into_iter()),
            _ => self.put_words(by_chunk(conv, line, format).into_iter()),
        };
        let (n_outputs, n_inputs, line) = (conv.n_outputs as u32, conv.n_inputs as u32, line as u32);
        ConvOffsets { weights, bias: self.put(&bias), n_inputs, n_outputs, line }
    }
}

/// Weights `[inputs up to whole groups, 9, line]`.
fn by_depth(conv: &FoldedConv, line: usize) -> Vec<f32> {
    let taps = TAPS as usize;
    let mut weights = vec![0.0; conv.n_inputs.next_multiple_of(INPUT_GROUP as usize) * taps * line];
    for (output, row) in conv.weight.chunks_exact(conv.n_inputs * taps).enumerate() {
        for (depth, &weight) in row.iter().enumerate() {
            weights[depth * line + output] = weight;
        }
    }
    weights
}

/// Weights `[chunks, 9, line, CHUNK]`.
fn by_chunk(conv: &FoldedConv, line: usize, format: Format) -> Vec<u32> {
    let (taps, chunk, per_word) = (TAPS as usize, CHUNK as usize, format.per_word() as usize);
    let chunks = (format.words(conv.n_inputs as u32) as usize).div_ceil(chunk);
    let mut words = Vec::with_capacity(chunks * taps * line * chunk);
    for first in (0..chunks).map(|number| number * chunk) {
        for tap in 0..taps {
            for output in 0..line {
                let weight = |input: usize| match output < conv.n_outputs && input < conv.n_inputs {
                    true => conv.weight[(output * conv.n_inputs + input) * taps + tap],
                    false => 0.0,
                };
                let input = |word: usize| (first + word) * per_word;
                words.extend((0..chunk).map(|word| format.pack(weight(input(word)), weight(input(word) + 1))));
            }
        }
    }
    words
}

/// Weights `[outputs, 9, words of the inputs]`, with as many outputs as the words of a cell have.
fn by_output(conv: &FoldedConv, format: Format) -> Vec<u32> {
    let (taps, per_word) = (TAPS as usize, format.per_word() as usize);
    let (outputs, words) = (format.channels(conv.n_outputs as u32), format.words(conv.n_inputs as u32));
    let weight = |output: usize, tap: usize, input: usize| match output < conv.n_outputs && input < conv.n_inputs {
        true => conv.weight[(output * conv.n_inputs + input) * taps + tap],
        false => 0.0,
    };
    let mut packed = Vec::with_capacity(outputs as usize * taps * words as usize);
    for (output, tap) in (0..outputs as usize).flat_map(|output| (0..taps).map(move |tap| (output, tap))) {
        let input = |word: u32| word as usize * per_word;
        let of = |word| format.pack(weight(output, tap, input(word)), weight(output, tap, input(word) + 1));
        packed.extend((0..words).map(of));
    }
    packed
}

/// Weights `[width up to a multiple of AT_ONCE, filters up to a multiple of 4]` and bias of both heads' 1×1 convolutions, the value's first.
fn planes(value: &FoldedConv, policy: &FoldedConv) -> (Vec<f32>, Vec<f32>) {
    let line = (value.n_outputs + policy.n_outputs).next_multiple_of(4);
    let mut weights = vec![0.0; value.n_inputs.next_multiple_of(AT_ONCE as usize) * line];
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

/// The tiles of tensor cores for `n` positions and `n_outputs` outputs. Both give the same bits.
pub(super) fn tensor_tiles(shape: &NetworkShape, n: u32, n_outputs: u32) -> tensor::Tiles {
    let blocks = tensor::LARGE.shape(n, shape.rows, shape.columns, n_outputs).n_blocks();
    // A large block does sixteen times a small one's work, in less than sixteen times its time.
    let enough = blocks >= 48;
    if enough && n_outputs > tensor::SMALL.outputs { tensor::LARGE } else { tensor::SMALL }
}

/// The kernel that computes a convolution in single precision. All give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// 8×8 boards, one row per thread.
    Row,
    /// 8×8 boards, one board per thread.
    Board(Board),
    /// Any board.
    Tiles(Tiles),
}

impl Form {
    /// The form for `n` positions and `n_outputs` outputs.
    pub fn choose(shape: &NetworkShape, n: u32, n_outputs: u32) -> Self {
        let wide = n_outputs.is_multiple_of(LINE) || n_outputs % LINE > LINE - WARP_OUTPUTS;
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
