//! What the engine keeps on the device: the network, and scratch memory that grows with the batch.

use super::launches::{Extent, Kernels, Launch, Product};
use super::options::SoftmaxForm;
use super::step::Operation;
use super::usage::DeviceBytes;
use warpplay::{Buffer, Error, Result, Stream};

/// One layer.
pub(super) struct LayerArrays {
    pub n_inputs: u32,
    pub n_outputs: u32,
    /// `[n_inputs, n_outputs]`.
    pub weights: Buffer<f32>,
    /// `[n_outputs]`.
    pub bias: Buffer<f32>,
    /// Gradients; empty where nothing is trained. 0 between two steps, which the atomic column sums need.
    pub weight_gradient: Buffer<f32>,
    pub bias_gradient: Buffer<f32>,
}

impl LayerArrays {
    pub fn n_weights(&self) -> usize {
        self.n_inputs as usize * self.n_outputs as usize
    }
}

/// The network.
pub(super) fn layers(stream: &Stream, sizes: &[u32], trains: bool) -> Result<Vec<LayerArrays>> {
    let pairs = sizes.windows(2);
    pairs
        .map(|pair| {
            let (n_inputs, n_outputs) = (pair[0], pair[1]);
            let n_weights = n_inputs as usize * n_outputs as usize;
            let trained = |n: usize| if trains { n } else { 0 };
            Ok(LayerArrays {
                n_inputs,
                n_outputs,
                weights: stream.alloc(n_weights)?,
                bias: stream.alloc(n_outputs as usize)?,
                weight_gradient: stream.alloc(trained(n_weights))?,
                bias_gradient: stream.alloc(trained(n_outputs as usize))?,
            })
        })
        .collect()
}

/// Values of one layer for every sample of a batch.
struct LayerScratch {
    z: Buffer<f32>,
    /// Empty for the last layer, which has no ReLU.
    h: Buffer<f32>,
    /// Empty where nothing is trained.
    dz: Buffer<f32>,
}

/// Values for every sample of a batch of up to `n_rows`.
pub(super) struct Scratch {
    n_rows: u32,
    x: Buffer<f32>,
    layers: Vec<LayerScratch>,
    p: Buffer<f32>,
    labels: Buffer<u32>,
    losses: Buffer<f32>,
}

impl Scratch {
    /// Scratch memory for no sample.
    pub fn empty(stream: &Stream) -> Result<Self> {
        Ok(Self {
            n_rows: 0,
            x: stream.alloc(0)?,
            layers: Vec::new(),
            p: stream.alloc(0)?,
            labels: stream.alloc(0)?,
            losses: stream.alloc(0)?,
        })
    }

    /// Takes memory for `n_rows` samples unless there is as much already.
    pub fn grow(&mut self, stream: &Stream, sizes: &[u32], trains: bool, n_rows: u32) -> Result<()> {
        if n_rows <= self.n_rows {
            return Ok(());
        }
        let n = |columns: u32| n_rows as usize * columns as usize;
        let n_layers = sizes.len() - 1;
        let layers = (0..n_layers).map(|layer| {
            let values = n(sizes[layer + 1]);
            Ok(LayerScratch {
                z: stream.alloc(values)?,
                h: stream.alloc(if layer + 1 < n_layers { values } else { 0 })?,
                dz: stream.alloc(if trains { values } else { 0 })?,
            })
        });
        *self = Self {
            n_rows,
            x: stream.alloc(n(sizes[0]))?,
            layers: layers.collect::<Result<_>>()?,
            p: stream.alloc(n(sizes[n_layers]))?,
            labels: stream.alloc(n_rows as usize)?,
            losses: stream.alloc(n_rows as usize)?,
        };
        Ok(())
    }

    /// The last layer's values before the softmax.
    pub fn logits(&self) -> Result<&Buffer<f32>> {
        self.layers.last().map(|layer| &layer.z).ok_or_else(nothing)
    }

    /// Hidden layers' values behind ReLU.
    pub fn hidden(&self, layer: usize) -> Result<&Buffer<f32>> {
        self.layers.get(layer).map(|layer| &layer.h).ok_or_else(nothing)
    }

    pub fn labels(&self) -> &Buffer<u32> {
        &self.labels
    }

    /// Adds what it holds.
    pub fn count(&self, to: &mut DeviceBytes) {
        to.input += bytes(&self.x);
        for layer in &self.layers {
            // The last layer's are the logits.
            let is_hidden = !layer.h.is_empty();
            *(if is_hidden { &mut to.hidden } else { &mut to.output }) += bytes(&layer.z) + bytes(&layer.h);
            to.backward += bytes(&layer.dz);
        }
        to.output += bytes(&self.p);
        to.other += bytes(&self.labels) + bytes(&self.losses);
    }
}

/// Bytes of a buffer's values.
pub(super) fn bytes<T>(buffer: &Buffer<T>) -> u64 {
    (buffer.len() * size_of::<T>()) as u64
}

fn nothing() -> Error {
    Error::shape("layer", "one of the network", "none")
}

/// A batch on its way through the network.
pub(super) struct Batch<'a> {
    /// Where its samples are: `order[first..first + n_rows]` of these.
    pub pixels: &'a Buffer<u8>,
    pub labels: &'a Buffer<u8>,
    pub order: &'a Buffer<u32>,
    pub first: u32,
    pub n_rows: u32,
    /// Of the gradient: 1 / n_rows or 1.
    pub factor: f32,
    pub learning_rate: f32,
    /// Where the sum of its losses goes.
    pub sums: &'a mut Buffer<f32>,
    pub slot: u32,
}

/// Launches one operation.
pub(super) fn launch(
    kernels: &Kernels,
    stream: &Stream,
    layers: &mut [LayerArrays],
    scratch: &mut Scratch,
    batch: &mut Batch<'_>,
    operation: Operation,
) -> Result<Launch> {
    let Batch { pixels, labels, order, first, n_rows, factor, learning_rate, slot, .. } = *batch;
    let last = layers.len() - 1;
    let extent = |columns: u32| Extent::new(n_rows, columns);
    let logits = extent(layers[last].n_outputs);
    let Scratch { x, layers: values, p, labels: classes, losses, .. } = scratch;
    match operation {
        Operation::Gather => kernels.gather(stream, pixels, order, first, x, extent(layers[0].n_inputs)),
        Operation::GatherLabels => kernels.gather_labels(stream, labels, order, first, classes, n_rows),
        Operation::Forward(at) => {
            let layer = &layers[at];
            let (before, values) = values.split_at_mut(at);
            let input = before.last().map_or(&*x, |before| &before.h);
            let product =
                Product { m: n_rows, n: layer.n_outputs, k: layer.n_inputs, transpose_a: false, transpose_b: false };
            kernels.matmul(stream, product, input, &layer.weights, &mut values[0].z)
        }
        Operation::Bias(at) => {
            kernels.bias_add(stream, &mut values[at].z, &layers[at].bias, extent(layers[at].n_outputs))
        }
        Operation::Relu(at) => {
            let LayerScratch { z, h, .. } = &mut values[at];
            kernels.relu(stream, z, h, extent(layers[at].n_outputs))
        }
        Operation::Loss => kernels.loss(stream, &values[last].z, classes, losses, logits),
        Operation::LossSum => kernels.loss_sum(stream, losses, n_rows, batch.sums, slot),
        Operation::LossAtomic => kernels.loss_atomic(stream, p, classes, batch.sums, slot, logits),
        Operation::Softmax => kernels.softmax(stream, &values[last].z, p, logits),
        Operation::Gradient => {
            let LayerScratch { z, dz, .. } = &mut values[last];
            match kernels.options().softmax {
                SoftmaxForm::Fused => kernels.softmax_gradient_fused(stream, z, classes, dz, logits, factor),
                SoftmaxForm::Separate => kernels.softmax_gradient(stream, p, classes, dz, logits, factor),
            }
        }
        Operation::WeightGradient(at) => {
            let layer = &mut layers[at];
            let input = if at == 0 { &*x } else { &values[at - 1].h };
            let product =
                Product { m: layer.n_inputs, n: layer.n_outputs, k: n_rows, transpose_a: true, transpose_b: false };
            kernels.matmul(stream, product, input, &values[at].dz, &mut layer.weight_gradient)
        }
        Operation::BiasGradient(at) => {
            let layer = &mut layers[at];
            kernels.column_sums(stream, &values[at].dz, &mut layer.bias_gradient, extent(layer.n_outputs))
        }
        Operation::InputGradient(at) => {
            let layer = &layers[at];
            let (before, values) = values.split_at_mut(at);
            let product =
                Product { m: n_rows, n: layer.n_inputs, k: layer.n_outputs, transpose_a: false, transpose_b: true };
            kernels.matmul(stream, product, &values[0].dz, &layer.weights, &mut before[at - 1].dz)
        }
        Operation::ReluBackward(at) => {
            let LayerScratch { z, dz, .. } = &mut values[at];
            kernels.relu_backward(stream, z, dz, extent(layers[at].n_outputs))
        }
        Operation::UpdateWeights(at) => {
            let layer = &mut layers[at];
            let n = layer.n_inputs * layer.n_outputs;
            kernels.sgd(stream, &mut layer.weights, &mut layer.weight_gradient, n, learning_rate)
        }
        Operation::UpdateBias(at) => {
            let layer = &mut layers[at];
            kernels.sgd(stream, &mut layer.bias, &mut layer.bias_gradient, layer.n_outputs, learning_rate)
        }
    }
}
