//! The weights of a network of convolutions.

use warpplay_gpu::mlp::random;

use super::options::{check_blocks, check_images};
use crate::mlp::options::seed_in_32_bits;
use crate::mlp::{Dataset, Layer};
use crate::{Error, Result};

/// A convolution of a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConvPlan {
    /// Rows and columns of its images.
    pub size: [u32; 2],
    pub inputs: u32,
    pub outputs: u32,
    /// Whether it is the last of its block.
    pub pooled: bool,
}

/// The convolutions of blocks in order.
pub(super) fn convolutions(blocks: &[Vec<u32>], mut size: [u32; 2]) -> Vec<ConvPlan> {
    let mut inputs = 1;
    let mut plans = Vec::new();
    for block in blocks {
        for (number, &outputs) in block.iter().enumerate() {
            plans.push(ConvPlan { size, inputs, outputs, pooled: number + 1 == block.len() });
            inputs = outputs;
        }
        size = size.map(|side| side / 2);
    }
    plans
}

/// Inputs, of a convolution its nine taps times channels, and outputs of all layers.
pub(super) fn layer_sizes(blocks: &[Vec<u32>], size: [u32; 2], n_classes: u32) -> Vec<[u32; 2]> {
    let plans = convolutions(blocks, size);
    let mut sizes: Vec<_> = plans.iter().map(|plan| [9 * plan.inputs, plan.outputs]).collect();
    if let Some(last) = plans.last() {
        sizes.push([last.size[0] / 2 * (last.size[1] / 2) * last.outputs, n_classes]);
    }
    sizes
}

/// A network of convolutions; [the module](super) says what it computes.
///
/// ```text
/// W of a convolution   [3, 3, channels, outputs] f32, row-major: n_inputs of its Layer is 9 · channels
/// W of the last layer  [rows, cols, channels of the last block, classes] f32
/// in a file            safetensors: W1, b1, W2, …; metadata `blocks`, such as 32,32;64,64, and `image`, such as 28x28
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConvNetwork {
    blocks: Vec<Vec<u32>>,
    image_size: [u32; 2],
    layers: Vec<Layer>,
}

impl ConvNetwork {
    /// A network of these layers: the convolutions of `blocks` for images of `[rows, cols]`, then the dense one.
    ///
    /// # Errors
    /// [`Error::Option`] for blocks that are not allowed; [`Error::Shape`] for images or layers that do not fit them, and for a value that is not finite.
    pub fn new(blocks: Vec<Vec<u32>>, image_size: [u32; 2], layers: Vec<Layer>) -> Result<Self> {
        check_blocks(&blocks)?;
        let n_classes = layers.last().map_or(0, |layer| layer.n_outputs);
        check_images(&blocks, image_size, n_classes, 1)?;
        let sizes = layer_sizes(&blocks, image_size, n_classes);
        if layers.len() != sizes.len() {
            return Err(Error::shape("layers", sizes.len(), layers.len()));
        }
        for (number, (layer, size)) in layers.iter().zip(&sizes).enumerate() {
            let name = |what: &str| format!("{what} of layer {}", number + 1);
            if [layer.n_inputs, layer.n_outputs] != *size {
                let found = [layer.n_inputs, layer.n_outputs];
                return Err(Error::shape(name("inputs and outputs"), format!("{size:?}"), format!("{found:?}")));
            }
            let n_weights = size[0] as usize * size[1] as usize;
            for (what, values, n) in [("weights", &layer.weights, n_weights), ("bias", &layer.bias, size[1] as usize)] {
                if values.len() != n {
                    return Err(Error::shape(name(what), n, values.len()));
                }
                if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                    return Err(Error::shape(format!("{}, element {at}", name(what)), "a finite number", values[at]));
                }
            }
        }
        Ok(Self { blocks, image_size, layers })
    }

    /// Draws weights uniformly within ±√(6 / inputs) (He et al. 2015); biases are 0.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn initial(blocks: &[Vec<u32>], image_size: [u32; 2], n_classes: u32, seed: u64) -> Result<Self> {
        check_blocks(blocks)?;
        check_images(blocks, image_size, n_classes, 1)?;
        let layers =
            layer_sizes(blocks, image_size, n_classes).into_iter().zip(1..).map(|([inputs, outputs], stream)| {
                let key = random::key(seed_in_32_bits(seed), stream);
                let most = libm::sqrt(6.0 / f64::from(inputs)) as f32;
                let weight = |at: u64| {
                    // In [-1, 1), from the top 24 bits.
                    let top = (random::element(key, at + 1) >> 40) as i64 - (1 << 23);
                    top as f32 / (1 << 23) as f32 * most
                };
                let n = u64::from(inputs) * u64::from(outputs);
                Layer {
                    n_inputs: inputs,
                    n_outputs: outputs,
                    weights: (0..n).map(weight).collect(),
                    bias: vec![0.0; outputs as usize],
                }
            });
        Self::new(blocks.to_vec(), image_size, layers.collect())
    }

    /// Channels of each convolution of each block.
    pub fn blocks(&self) -> &[Vec<u32>] {
        &self.blocks
    }

    /// Rows and columns of an image.
    pub fn image_size(&self) -> [u32; 2] {
        self.image_size
    }

    /// The convolutions, and the dense layer at the end.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Classes.
    pub fn n_classes(&self) -> u32 {
        self.layers.last().map_or(0, |layer| layer.n_outputs)
    }

    /// Checks that the network can classify a labelled set.
    ///
    /// # Errors
    /// [`Error::Shape`] for images of another size, labels beyond the classes, or a set that has none.
    pub(super) fn expect_fits(&self, set: &Dataset) -> Result<()> {
        let [rows, cols] = self.image_size;
        set.expect_fits(&[rows * cols, self.n_classes()])?;
        let found = <[u32; 2]>::from(set.image_size());
        if self.image_size != found {
            let what = format!("images of {}", set.source());
            return Err(Error::shape(what, format!("{rows} x {cols}"), format!("{} x {}", found[0], found[1])));
        }
        Ok(())
    }

    /// Weights and biases.
    pub fn n_parameters(&self) -> u64 {
        self.layers.iter().map(|layer| (layer.weights.len() + layer.bias.len()) as u64).sum()
    }
}
