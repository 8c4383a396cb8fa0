//! The network on the device: its parameters, the values of a batch, and the products between them.

use warpplay_gpu::mlp::layers::parts::line_length as short_line;
use warpplay_gpu::mlp::layers::patches::LINE;
use warpplay_gpu::mlp::layers::view::line_length;
use warpplay_gpu::tile::images::COLUMNS;

use super::kernels::Kernels;
use super::multiply::{Multiply, division};
use super::tensor::{Lie, Logits, Tensor};
use crate::mlp::Layer;
use crate::mlp::conv::network::{ConvPlan, convolutions};
use crate::mlp::conv::{ConvNetwork, ConvOptions};
use crate::tile::{Convolution, Epilogue, FilterGradient, Product, bf16};
use crate::{Buffer, Result, Stream};

/// Taps of a filter.
const TAPS: u32 = 9;
/// Columns of what a gradient of biases is multiplied with, all of them 1: 16 bytes.
const ONES: u32 = 8;

/// A layer: weights and bias, outputs, and their products.
struct LayerArrays {
    weights: Tensor,
    bias: Tensor,
    forward: Multiply,
    /// Of the weights, of the bias, of the inputs.
    of_weights: Multiply,
    of_bias: Multiply,
    of_inputs: Option<Multiply>,
}

/// A convolution and the values of a batch behind it.
struct ConvArrays {
    plan: ConvPlan,
    layer: LayerArrays,
    /// Behind the rectifier.
    outputs: Buffer<bf16>,
    /// Gradient by what is before the rectifier.
    by_sums: Buffer<bf16>,
    /// The largest of 2 × 2 pixels and the gradient by it, at the end of a block.
    pooled: Option<[Buffer<bf16>; 2]>,
}

impl ConvArrays {
    /// What the next layer reads.
    fn result(&self) -> &Buffer<bf16> {
        self.pooled.as_ref().map_or(&self.outputs, |[largest, _]| largest)
    }
}

pub(super) struct NetworkArrays {
    pub batch: u32,
    pub image_size: [u32; 2],
    pub patches: Buffer<bf16>,
    convs: Vec<ConvArrays>,
    dense: LayerArrays,
    pub logits: Logits,
    pub momentum: f32,
}

/// How a bias and the parts of its gradient lie.
const fn bias_lie(n_outputs: u32, n_parts: u32) -> Lie {
    Lie { n_parts, n_outputs, n_taps: 1, n_channels: 1, tap: 1, line: ONES, filter_line: 0 }
}

impl NetworkArrays {
    pub fn new(stream: &Stream, network: &ConvNetwork, options: &ConvOptions) -> Result<Self> {
        let (batch, image_size, n_classes) = (options.batch, network.image_size(), network.n_classes());
        let pixels = batch * image_size[0] * image_size[1];
        let patches = stream.alloc((pixels * LINE) as usize)?;
        let ones = stream.upload(&vec![bf16::ONE; (pixels * ONES) as usize])?;
        let mut convs: Vec<ConvArrays> = Vec::new();
        for (plan, layer) in convolutions(network.blocks(), image_size).into_iter().zip(network.layers()) {
            let inputs = convs.last().map_or(&patches, ConvArrays::result);
            let conv = convolution(stream, options, plan, layer, [inputs, &ones])?;
            convs.push(conv);
        }
        let logits = Logits::new(stream, batch, n_classes)?;
        let (layers, inputs) = (network.layers(), convs.last().map_or(&patches, ConvArrays::result));
        let last = &layers[layers.len() - 1];
        let dense = dense(stream, options, last, [inputs, &logits.gradient, &ones])?;
        Ok(Self { logits, momentum: options.momentum, batch, image_size, patches, convs, dense })
    }

    /// Outputs of all layers for what is in `patches`.
    pub fn forward(&mut self, stream: &Stream, kernels: &Kernels) -> Result<()> {
        for conv in &mut self.convs {
            let ConvArrays { plan, layer, outputs, pooled, .. } = conv;
            layer.forward.run(stream, Epilogue::new().bias(&layer.bias.parameters), outputs)?;
            if let Some([largest, _]) = pooled {
                kernels.pool(stream, outputs, largest, plan)?;
            }
        }
        let Self { dense, logits, .. } = self;
        dense.forward.run(stream, Epilogue::new().bias(&dense.bias.parameters), &mut logits.values)
    }

    /// Gradients of all parameters, from that of the logits.
    pub fn backward(&mut self, stream: &Stream, kernels: &Kernels) -> Result<()> {
        let Self { convs, dense, .. } = self;
        dense.gradients(stream)?;
        if let (Some(by_inputs), Some(last)) = (&dense.of_inputs, convs.last_mut()) {
            last.receive(stream, kernels, by_inputs)?;
        }
        for number in (0..convs.len()).rev() {
            let (before, rest) = convs.split_at_mut(number);
            rest[0].layer.gradients(stream)?;
            if let (Some(by_inputs), Some(before)) = (&rest[0].layer.of_inputs, before.last_mut()) {
                before.receive(stream, kernels, by_inputs)?;
            }
        }
        Ok(())
    }

    fn tensors(&mut self) -> impl Iterator<Item = &mut Tensor> {
        let layers = self.convs.iter_mut().map(|conv| &mut conv.layer).chain([&mut self.dense]);
        layers.flat_map(|layer| [&mut layer.weights, &mut layer.bias])
    }

    /// Moves all parameters.
    pub fn update(
        &mut self,
        stream: &Stream,
        kernels: &Kernels,
        rates: &Buffer<f32>,
        control: &Buffer<u32>,
    ) -> Result<()> {
        let momentum = self.momentum;
        self.tensors().try_for_each(|tensor| kernels.update(stream, tensor, momentum, Some((rates, control))))
    }

    /// Writes the parameters where products read them; after the host has set them.
    pub fn write_operands(&mut self, stream: &Stream, kernels: &Kernels) -> Result<()> {
        self.tensors().try_for_each(|tensor| kernels.update(stream, tensor, 0.0, None))
    }

    /// Remembers parameters and velocities.
    pub fn keep(&mut self, stream: &Stream) -> Result<()> {
        self.tensors().try_for_each(|tensor| tensor.keep(stream))
    }

    /// Goes back to them.
    pub fn restore(&mut self, stream: &Stream, kernels: &Kernels) -> Result<()> {
        self.tensors().try_for_each(|tensor| tensor.restore(stream))?;
        self.write_operands(stream, kernels)
    }

    /// The present weights.
    pub fn layers(&self, stream: &Stream) -> Result<Vec<Layer>> {
        let layers = self.convs.iter().map(|conv| &conv.layer).chain([&self.dense]);
        let layer = |LayerArrays { weights, bias, .. }: &LayerArrays| {
            Ok(Layer {
                n_inputs: weights.lie.n_taps * weights.lie.n_channels,
                n_outputs: weights.lie.n_outputs,
                weights: weights.values(stream)?,
                bias: bias.values(stream)?,
            })
        };
        layers.map(layer).collect()
    }
}

impl LayerArrays {
    /// Gradients of weights and bias, in parts.
    fn gradients(&mut self, stream: &Stream) -> Result<()> {
        self.of_weights.run(stream, Epilogue::new(), &mut self.weights.parts)?;
        self.of_bias.run(stream, Epilogue::new(), &mut self.bias.parts)
    }
}

impl ConvArrays {
    /// The gradient by the rectifier's inputs, from the product that makes the gradient of the next layer's inputs.
    fn receive(&mut self, stream: &Stream, kernels: &Kernels, by_inputs: &Multiply) -> Result<()> {
        let Self { plan, outputs, by_sums, pooled, .. } = self;
        match pooled {
            Some([_, by_largest]) => {
                by_inputs.run(stream, Epilogue::new(), by_largest)?;
                kernels.pool_back(stream, outputs, by_largest, by_sums, plan)
            }
            None => by_inputs.run(stream, Epilogue::new().mask(outputs), by_sums),
        }
    }
}

/// The product of the gradient of a bias: the sum of the gradients of `depth` outputs, which lie `stride` apart.
fn of_bias(stream: &Stream, [n, stride, depth]: [u32; 3], operands: [&Buffer<bf16>; 2]) -> Result<(Multiply, u32)> {
    let (division, n_parts) = division([n, ONES], depth);
    let product = Product::builder(n, ONES, depth).a_by_depth(true).b_by_depth(true).division(division);
    Ok((Multiply::matrices(stream, product.a_stride(stride).b_stride(ONES), operands)?, n_parts))
}

/// A convolution of inputs, which are patches for the first.
fn convolution(
    stream: &Stream,
    options: &ConvOptions,
    plan: ConvPlan,
    layer: &Layer,
    [inputs, ones]: [&Buffer<bf16>; 2],
) -> Result<ConvArrays> {
    let ConvPlan { size: [rows, cols], inputs: channels, outputs: n, pooled } = plan;
    let pixels = options.batch * rows * cols;
    let is_first = channels == 1;
    let (tap, line) = match is_first {
        true => (1, LINE),
        false => (channels.next_multiple_of(COLUMNS), TAPS * channels.next_multiple_of(COLUMNS)),
    };
    let (division, n_parts) = division([n, line], pixels);
    let filter_line = if is_first { LINE } else { TAPS * channels };
    let lie = Lie { n_parts, n_outputs: n, n_taps: TAPS, n_channels: channels, tap, line, filter_line };
    let weights = Tensor::new(stream, lie, &layer.weights, options.weight_decay)?;
    let outputs = stream.alloc((pixels * n) as usize)?;
    let by_sums = stream.alloc((pixels * n) as usize)?;
    let images = [options.batch, rows, cols];
    let (forward, of_weights, of_inputs) = if is_first {
        let forward = Product::builder(pixels, n, TAPS).a_stride(LINE).b_stride(LINE).rectifier(true);
        let of_weights = Product::builder(n, LINE, pixels).a_by_depth(true).b_by_depth(true).division(division);
        (
            Multiply::matrices(stream, forward, [inputs, &weights.filters])?,
            Multiply::matrices(stream, of_weights.a_stride(n).b_stride(LINE), [&by_sums, inputs])?,
            None,
        )
    } else {
        let forward = Convolution::builder(images, channels, n).rectifier(true);
        let of_weights = FilterGradient::builder(images, channels, n).division(division);
        let of_inputs = Convolution::builder(images, n, channels);
        (
            Multiply::images(stream, |device| forward.build(device), [inputs, &weights.filters])?,
            Multiply::filters(stream, |device| of_weights.build(device), [&by_sums, inputs])?,
            Some(Multiply::images(stream, |device| of_inputs.build(device), [&by_sums, &weights.turned])?),
        )
    };
    let (of_bias, n_parts) = of_bias(stream, [n, n, pixels], [&by_sums, ones])?;
    let bias = Tensor::new(stream, bias_lie(n, n_parts), &layer.bias, 0.0)?;
    let quarter = (pixels / 4 * n) as usize;
    let pooled = if pooled { Some([stream.alloc(quarter)?, stream.alloc(quarter)?]) } else { None };
    let layer = LayerArrays { weights, bias, forward, of_weights, of_bias, of_inputs };
    Ok(ConvArrays { plan, layer, outputs, by_sums, pooled })
}

/// The dense layer of inputs.
fn dense(
    stream: &Stream,
    options: &ConvOptions,
    layer: &Layer,
    [inputs, by_logits, ones]: [&Buffer<bf16>; 3],
) -> Result<LayerArrays> {
    let (n, classes, batch) = (layer.n_inputs, layer.n_outputs, options.batch);
    let line = short_line(classes);
    let lie = Lie { n_parts: 1, n_outputs: classes, n_taps: 1, n_channels: n, tap: n, line: n, filter_line: n };
    let weights = Tensor::new(stream, lie, &layer.weights, options.weight_decay)?;
    let forward = Product::builder(batch, classes, n).c_stride(line_length(classes));
    let of_weights = Product::builder(classes, n, batch).a_by_depth(true).b_by_depth(true).a_stride(line);
    let of_inputs = Product::builder(batch, n, classes).a_stride(line).b_by_depth(true);
    let (of_bias, n_parts) = of_bias(stream, [classes, line, batch], [by_logits, ones])?;
    Ok(LayerArrays {
        forward: Multiply::matrices(stream, forward, [inputs, &weights.filters])?,
        of_weights: Multiply::matrices(stream, of_weights, [by_logits, inputs])?,
        of_inputs: Some(Multiply::matrices(stream, of_inputs, [by_logits, &weights.filters])?),
        bias: Tensor::new(stream, bias_lie(classes, n_parts), &layer.bias, 0.0)?,
        of_bias,
        weights,
    })
}
