//! Networks of convolutions for images of one channel: blocks of 3 × 3 convolutions with rectifiers, a maximum over 2 × 2 pixels behind each block, and a dense layer of the classes behind the last.
//!
//! ```text
//! image       [rows, cols]                byte / 255
//! convolution z[y, x, o] = b[o] + Σ h[y + i - 1, x + j - 1, c] W[i, j, c, o]     h is 0 outside of its image;  then max(z, 0)
//! maximum     [rows / 2, cols / 2, channels]     of the four pixels; its gradient goes to the first of them that has it
//! logits      dense layer of all values that the last block leaves, [rows, cols, channels]
//! ```
//!
//! Each function of [`pieces`] is a formula on slices. Images of a batch are worked on by rayon, a few at a time; their gradients are added up in order, so that any number of threads gives the same bits.
//!
//! [`Rounding`] rounds what products read, as they would if their operands had fewer bits; sums stay as they are.
//!
//! # Source
//! LeCun et al., "Gradient-based learning applied to document recognition" (1998); two convolutions of 3 × 3 a block: Simonyan and Zisserman (2015).

pub mod pieces;
mod training;

use super::{Layer, Numbers, Real};
pub use training::{ConvTraining, Rates};

/// Rows, columns, classes, and the channels of each convolution of each block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvShape {
    /// Rows of an image; halved by each block without a remainder.
    pub rows: usize,
    /// Columns of an image; likewise.
    pub cols: usize,
    /// Outputs of each convolution, by blocks.
    pub blocks: Vec<Vec<usize>>,
    /// Classes.
    pub n_classes: usize,
}

/// A convolution of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvPlan {
    /// Rows of its images.
    pub rows: usize,
    /// Columns of its images.
    pub cols: usize,
    /// Channels of its inputs.
    pub inputs: usize,
    /// Channels of its outputs.
    pub outputs: usize,
    /// Whether it is the last of its block.
    pub pooled: bool,
}

impl ConvShape {
    /// The convolutions in order.
    pub fn convolutions(&self) -> Vec<ConvPlan> {
        let (mut rows, mut cols, mut inputs) = (self.rows, self.cols, 1);
        let mut plans = Vec::new();
        for block in &self.blocks {
            for (number, &outputs) in block.iter().enumerate() {
                plans.push(ConvPlan { rows, cols, inputs, outputs, pooled: number + 1 == block.len() });
                inputs = outputs;
            }
            (rows, cols) = (rows / 2, cols / 2);
        }
        plans
    }

    /// Values that the dense layer reads.
    pub fn n_features(&self) -> usize {
        let n = 1 << self.blocks.len();
        let channels = self.blocks.last().and_then(|block| block.last()).copied().unwrap_or(1);
        (self.rows / n) * (self.cols / n) * channels
    }

    /// Inputs, of a convolution its nine taps times channels, and outputs of all layers; the dense one is the last.
    pub fn layers(&self) -> Vec<[usize; 2]> {
        let convolutions = self.convolutions();
        let mut layers: Vec<_> = convolutions.iter().map(|plan| [9 * plan.inputs, plan.outputs]).collect();
        layers.push([self.n_features(), self.n_classes]);
        layers
    }
}

/// What products read in place of a number.
pub type Rounding<T> = fn(T) -> T;

/// A network: weights of a convolution are `[3, 3, inputs, outputs]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvNetwork<T> {
    /// Its shape.
    pub shape: ConvShape,
    /// As [`ConvShape::layers`] says.
    pub layers: Vec<Layer<T>>,
}

impl<T: Real> ConvNetwork<T> {
    /// Weights drawn uniformly within ±√(6 / inputs) (He et al. 2015), in single precision whatever `T` is, as [`Network::drawn`](super::Network::drawn) draws them; biases are 0.
    pub fn drawn(shape: ConvShape, seed: u32) -> Self {
        let layers = shape.layers().into_iter().enumerate().map(|(number, [n_inputs, n_outputs])| {
            let numbers = Numbers::new(seed, 1 + number as u32);
            let most = libm::sqrt(6.0 / n_inputs as f64) as f32;
            let weight = |e| T::rounded(f64::from(numbers.uniform(e + 1) * most));
            let weights = (0..(n_inputs * n_outputs) as u64).map(weight).collect();
            Layer { weights, bias: vec![T::zero(); n_outputs], n_inputs, n_outputs, gain: vec![], shift: vec![] }
        });
        let layers = layers.collect();
        Self { shape, layers }
    }
}
