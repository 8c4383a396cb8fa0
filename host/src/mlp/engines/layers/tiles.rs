//! The products of the layers by [`tile`](crate::tile): operands in one to three parts of 16 bits.

use warpplay_gpu::cuda::tensor_map::TensorMap;
use warpplay_gpu::mlp::layers::parts::{self, GatherArgs, PartsArgs};
use warpplay_gpu::mlp::layers::view::{RowsArgs, image_stride};
use warpplay_gpu::mlp::layers::{control, loss};

use super::plan::{LayerPlan, Plan};
use crate::mlp::options::Precision;
use crate::runtime::tensor_map::Values;
use crate::tile::core::{Core, Kernels, Lie, Shape, Views};
use crate::tile::group::{Group, OfGroup};
use crate::tile::logits::{Classes, Logits};
use crate::{Buffer, In, InOut, Result, Stream};

/// The pixels are whole numbers up to 255.
const PIXEL: f32 = 1.0 / 255.0;

/// How numbers are held for the products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub values: Values,
    /// Parts of a number; pixels have one.
    pub parts: u32,
}

impl Numbers {
    /// Those of a precision: two parts of bfloat16 have 16 bits where TF32 has 11, three have 24.
    pub const fn of(precision: Precision) -> Option<Self> {
        Some(match precision {
            Precision::Bf16 => Self { values: Values::Bf16, parts: 1 },
            Precision::F16 => Self { values: Values::F16, parts: 1 },
            Precision::Tf32 => Self { values: Values::Bf16, parts: 2 },
            Precision::F32 => Self { values: Values::Bf16, parts: 3 },
            Precision::F64 | Precision::I16 => return None,
        })
    }

    const fn format(self) -> u32 {
        match self.values {
            Values::F16 => parts::format::F16,
            Values::Bf16 | Values::F32 => parts::format::BF16,
        }
    }

    /// The bits of 1.
    const fn one(self) -> u16 {
        match self.values {
            Values::F16 => 0x3C00,
            Values::Bf16 | Values::F32 => 0x3F80,
        }
    }
}

/// A product whose operands are known.
struct Prepared {
    core: Core,
    maps: Option<Buffer<TensorMap>>,
}

impl Prepared {
    fn new(
        stream: &Stream,
        kernels: &Kernels,
        shape: Shape,
        a: (&Buffer<u16>, usize),
        b: (&Buffer<u16>, usize),
    ) -> Result<Self> {
        let core = Core::new(kernels, shape, None)?;
        let maps = core.upload_maps(stream, a, b)?;
        Ok(Self { core, maps })
    }
}

/// The gradients of all layers' parameters.
enum Gradients {
    /// In one launch.
    Together(Group),
    /// Each by itself.
    Single(Vec<Prepared>),
}

/// What only a training needs.
struct Training {
    batch: u32,
    forward: Vec<Prepared>,
    /// The last layer, with the loss, and its operands; where there are kernels for so many classes.
    logits: Option<(Logits, Option<Buffer<TensorMap>>)>,
    /// The step's classes, see [`GatherArgs`].
    classes: Buffer<u32>,
    /// Of each layer but the first, the gradient of its inputs.
    backward: Vec<Prepared>,
    parameters: Gradients,
    /// Gradient of each layer's outputs before the rectifier.
    gradients: Vec<Buffer<u16>>,
}

/// The samples of a step; without labels where nobody asks for their classes.
pub(super) struct Step<'a> {
    pub images: In<'a, u8>,
    pub labels: In<'a, u8>,
    pub rows: RowsArgs<'a>,
}

/// Where the losses of a step go, and what its gradients are multiplied with.
pub(super) struct Loss<'a> {
    pub partial: InOut<'a, f32>,
    /// Bits of the loss scale, if there is one.
    pub scale: In<'a, u32>,
    pub mean: bool,
    /// Smoothing of the labels.
    pub smoothing: f32,
}

/// The products of all layers, with their operands.
pub(super) struct Tiles {
    numbers: Numbers,
    capacity: u32,
    /// Inputs of each layer.
    inputs: Vec<Buffer<u16>>,
    /// Parameters of all layers.
    weights: Buffer<u16>,
    /// Numbers of a part of all parameters.
    n_weights: usize,
    /// Of each layer, for as many samples as there is room for.
    forward: Vec<Prepared>,
    training: Option<Training>,
    kernels: Kernels,
}

impl LayerPlan {
    /// The layer's biases: the last line of its parameters.
    fn bias<'a>(&self, parameters: &'a Buffer<f32>) -> In<'a, f32> {
        parameters.view().split_at(self.parameters + (self.n_inputs * self.line()) as usize).1
    }
}

/// Numbers of a line of a layer's inputs: behind them is a 1.
const fn input_line(layer: &LayerPlan) -> u32 {
    parts::line_length(layer.n_inputs + 1)
}

const fn output_line(layer: &LayerPlan) -> u32 {
    parts::line_length(layer.n_outputs)
}

impl Tiles {
    /// Takes the memory for `capacity` samples at once.
    pub fn new(stream: &Stream, plan: &Plan, numbers: Numbers, capacity: u32) -> Result<Self> {
        let kernels = Kernels::load(stream.device(), crate::Precision::Bf16, None)?;
        let mut inputs = Vec::new();
        for (number, layer) in plan.layers.iter().enumerate() {
            let (line, parts) = (input_line(layer) as usize, Self::input_parts(numbers, number) as usize);
            let mut values = stream.alloc(line * capacity as usize * parts)?;
            // The pixels' 1 is written with them.
            if number > 0 {
                let ones = stream.upload(&vec![numbers.one(); capacity as usize])?;
                let to = (&mut values, layer.n_inputs as usize, line);
                stream.copy_lines(to, (&ones, 0, 1), 1, capacity as usize)?;
                // The copy reads them.
                stream.synchronize()?;
            }
            inputs.push(values);
        }
        let n_weights = plan.n_short_values;
        let weights = stream.alloc(n_weights * numbers.parts as usize)?;
        let mut tiles =
            Self { numbers, capacity, inputs, weights, n_weights, forward: Vec::new(), training: None, kernels };
        tiles.forward = tiles.forward(stream, plan, capacity)?;
        Ok(tiles)
    }

    /// Memory of [`new`](Self::new) and [`train`](Self::train).
    pub fn bytes(plan: &Plan, numbers: Numbers, capacity: u32, batch: Option<u32>) -> u64 {
        let held: u64 = plan
            .layers
            .iter()
            .enumerate()
            .map(|(number, layer)| {
                let inputs = u64::from(input_line(layer)) * u64::from(capacity);
                let outputs = u64::from(output_line(layer)) * u64::from(batch.unwrap_or(0));
                inputs * u64::from(Self::input_parts(numbers, number)) + outputs * u64::from(numbers.parts)
            })
            .sum();
        2 * (held + plan.n_short_values as u64 * u64::from(numbers.parts))
            + batch.map_or(0, |batch| 4 * (u64::from(batch) + 1))
    }

    const fn input_parts(numbers: Numbers, layer: usize) -> u32 {
        if layer == 0 { 1 } else { numbers.parts }
    }

    /// A product without epilogue of all its depths.
    fn shape(&self, [m, n, k]: [u32; 3], a: Lie, b: Lie, c_stride: u32) -> Shape {
        let c_part_stride = u64::from(m) * u64::from(c_stride);
        Shape {
            values: self.numbers.values,
            images: None,
            m,
            n,
            k,
            a,
            b,
            c_stride,
            c_parts: 1,
            c_part_stride,
            mask_stride: 0,
            division: k,
            factor: 1.0,
            rectifier: false,
        }
    }

    /// How the inputs of a layer lie, row by row or depth by depth.
    fn inputs_lie(&self, number: usize, layer: &LayerPlan, by_depth: bool) -> Lie {
        Lie::of_lines(by_depth, self.capacity, input_line(layer), Self::input_parts(self.numbers, number))
    }

    fn weights_lie(&self, layer: &LayerPlan, by_depth: bool) -> Lie {
        Lie { by_depth, stride: output_line(layer), parts: self.numbers.parts, part_stride: self.n_weights as u64 }
    }

    /// Outputs of all layers, of at most `n_rows` samples.
    fn forward(&self, stream: &Stream, plan: &Plan, n_rows: u32) -> Result<Vec<Prepared>> {
        let last = plan.layers.len() - 1;
        let layer = |(number, layer): (usize, &LayerPlan)| {
            let a = self.inputs_lie(number, layer, false);
            let b = self.weights_lie(layer, true);
            let shape = self.shape([n_rows, layer.n_outputs, layer.n_inputs], a, b, layer.line());
            let shape = match plan.layers.get(number + 1) {
                Some(next) => Shape {
                    c_stride: input_line(next),
                    c_parts: self.numbers.parts,
                    c_part_stride: u64::from(input_line(next)) * u64::from(self.capacity),
                    ..shape
                },
                None => shape,
            };
            let factor = if number == 0 { PIXEL } else { 1.0 };
            let shape = Shape { factor, rectifier: number < last, ..shape };
            Prepared::new(stream, &self.kernels, shape, (&self.inputs[number], 0), (&self.weights, layer.short))
        };
        plan.layers.iter().enumerate().map(layer).collect()
    }

    /// The last layer with the loss, where there are kernels for it.
    fn logits(
        &self,
        stream: &Stream,
        plan: &Plan,
        forward: &[Prepared],
    ) -> Result<Option<(Logits, Option<Buffer<TensorMap>>)>> {
        let (Some(layer), Some(forward), Some(inputs)) = (plan.layers.last(), forward.last(), self.inputs.last())
        else {
            return Ok(None);
        };
        if !Logits::takes(&self.kernels, layer.n_outputs) {
            return Ok(None);
        }
        let (shape, c_stride) = (forward.core.shape, output_line(layer));
        let c_part_stride = u64::from(shape.m) * u64::from(c_stride);
        let logits =
            Logits::new(&self.kernels, Shape { c_stride, c_parts: self.numbers.parts, c_part_stride, ..shape })?;
        let maps = logits.core.upload_maps(stream, (inputs, 0), (&self.weights, layer.short))?;
        Ok(Some((logits, maps)))
    }

    /// Prepares the training with batches of `batch` samples.
    pub fn train(&mut self, stream: &Stream, plan: &Plan, batch: u32) -> Result<()> {
        let parts = self.numbers.parts;
        let gradients: Vec<Buffer<u16>> = plan
            .layers
            .iter()
            .map(|layer| stream.alloc(output_line(layer) as usize * batch as usize * parts as usize))
            .collect::<Result<_>>()?;
        let (mut backward, mut of_parameters) = (Vec::new(), Vec::new());
        for (number, layer) in plan.layers.iter().enumerate() {
            let own = Lie::of_lines(false, batch, output_line(layer), parts);
            if number > 0 {
                let sizes = [batch, layer.n_inputs, layer.n_outputs];
                // The layer before has as many outputs as this one has inputs.
                let c_stride = parts::line_length(layer.n_inputs);
                let shape = self.shape(sizes, own, self.weights_lie(layer, false), c_stride);
                let shape = Shape { c_parts: parts, mask_stride: input_line(layer), ..shape };
                let (a, b) = ((&gradients[number], 0), (&self.weights, layer.short));
                backward.push(Prepared::new(stream, &self.kernels, shape, a, b)?);
            }
            let sizes = [layer.n_inputs + 1, layer.n_outputs, batch];
            let (a, b) = (self.inputs_lie(number, layer, true), Lie { by_depth: true, ..own });
            let shape = self.shape(sizes, a, b, layer.line());
            let factor = if number == 0 { PIXEL } else { 1.0 };
            of_parameters.push(OfGroup {
                shape: Shape { division: layer.part, factor, c_part_stride: layer.n_values.into(), ..shape },
                a: (&self.inputs[number], 0),
                b: (&gradients[number], 0),
                c: layer.parts,
            });
        }
        let shapes: Vec<Shape> = of_parameters.iter().map(|product| product.shape).collect();
        let parameters = if Group::pays(&self.kernels, &shapes) {
            Gradients::Together(Group::new(stream, &self.kernels, &of_parameters)?)
        } else {
            let single = |of: &OfGroup<'_>| Prepared::new(stream, &self.kernels, of.shape, of.a, of.b);
            Gradients::Single(of_parameters.iter().map(single).collect::<Result<_>>()?)
        };
        let forward = self.forward(stream, plan, batch)?;
        let logits = self.logits(stream, plan, &forward)?;
        let classes = stream.alloc(batch as usize + 1)?;
        self.training = Some(Training { batch, forward, logits, classes, backward, parameters, gradients });
        Ok(())
    }

    /// Where the samples of a step go; with labels their classes, too.
    pub fn gather<'a>(&'a mut self, plan: &Plan, step: Step<'a>) -> GatherArgs<'a> {
        gathered(&mut self.inputs[0], self.training.as_mut(), self.numbers, plan, step)
    }

    /// Where the parameters go.
    pub fn weights(&mut self) -> PartsArgs<'_> {
        all_parts(&mut self.weights, self.n_weights, self.numbers)
    }

    /// What an update writes: the parameters, and the samples of the next step, if there is one.
    pub fn updated<'a>(&'a mut self, plan: &Plan, next: Option<Step<'a>>) -> (PartsArgs<'a>, GatherArgs<'a>) {
        let Self { inputs, weights, n_weights, training, numbers, .. } = self;
        let gather = match next {
            Some(step) => gathered(&mut inputs[0], training.as_mut(), *numbers, plan, step),
            None => nothing(),
        };
        (all_parts(weights, *n_weights, *numbers), gather)
    }

    /// Where the gradient of the logits goes.
    pub fn loss_gradient(&mut self) -> PartsArgs<'_> {
        let (parts, format) = (self.numbers.parts, self.numbers.format());
        match self.training.as_mut().and_then(|training| training.gradients.last_mut()) {
            Some(gradient) => {
                let part_len = gradient.len() / parts as usize;
                let part_stride = part_len as u64;
                PartsArgs { values: gradient.view_mut(), part_stride, parts, format, part_len }
            }
            None => none(),
        }
    }

    /// The outputs of a hidden layer that is not the last, their first part, and their line.
    pub fn outputs(&self, plan: &Plan, number: usize) -> (&Buffer<u16>, u32) {
        (&self.inputs[number + 1], input_line(&plan.layers[number + 1]))
    }

    /// Queues a layer's outputs for `n` samples; `logits` are those of the last.
    pub fn run_forward(
        &mut self,
        stream: &Stream,
        plan: &Plan,
        number: usize,
        n: u32,
        parameters: &Buffer<f32>,
        logits: &mut Buffer<f32>,
    ) -> Result<()> {
        let layer = &plan.layers[number];
        let Self { inputs, weights, forward, training, .. } = self;
        // A batch has products of its own, whose tiles fit it better. Their sums may be in another order: last bits depend on how many samples are taken at once.
        let prepared = match training {
            Some(training) if n <= training.batch => &training.forward[number],
            _ => &forward[number],
        };
        let (own, next) = inputs.split_at_mut(number + 1);
        let (c, c_short) = match next.first_mut() {
            Some(next) => (InOut::none(), next.view_mut()),
            None => (logits.view_mut(), InOut::none()),
        };
        let views = Views {
            a: own[number].view().cast(),
            b: weights.view().split_at(layer.short).1.cast(),
            bias: layer.bias(parameters),
            residual: In::none(),
            residual_short: In::none(),
            mask: In::none(),
            c,
            c_short,
            overflow: InOut::none(),
        };
        prepared.core.run(stream, n, prepared.maps.as_ref(), views)
    }

    /// Queues the gradient of the inputs of a layer, which is not the first.
    pub fn run_backward(&mut self, stream: &Stream, plan: &Plan, number: usize) -> Result<()> {
        let Self { inputs, weights, training, .. } = self;
        let Some(training) = training else { return Ok(()) };
        let prepared = &training.backward[number - 1];
        let (before, own) = training.gradients.split_at_mut(number);
        let views = Views {
            a: own[0].view().cast(),
            b: weights.view().split_at(plan.layers[number].short).1.cast(),
            bias: In::none(),
            residual: In::none(),
            residual_short: In::none(),
            mask: inputs[number].view(),
            c: InOut::none(),
            c_short: before[number - 1].view_mut(),
            overflow: InOut::none(),
        };
        prepared.core.run(stream, training.batch, prepared.maps.as_ref(), views)
    }

    /// Queues the last layer with loss and gradient for a batch; `false` where there are no kernels for it.
    pub fn run_logits(
        &mut self,
        stream: &Stream,
        plan: &Plan,
        parameters: &Buffer<f32>,
        loss: Loss<'_>,
    ) -> Result<bool> {
        let number = plan.layers.len() - 1;
        let layer = &plan.layers[number];
        let Self { inputs, weights, training, .. } = self;
        let Some(Training { logits: Some((logits, maps)), classes, gradients, .. }) = training else {
            return Ok(false);
        };
        let views = Views {
            a: inputs[number].view().cast(),
            b: weights.view().split_at(layer.short).1.cast(),
            bias: layer.bias(parameters),
            residual: In::none(),
            residual_short: In::none(),
            mask: In::none(),
            c: InOut::none(),
            c_short: gradients[number].view_mut(),
            overflow: InOut::none(),
        };
        let Loss { partial: losses, scale, mean, smoothing } = loss;
        logits.run(
            stream,
            maps.as_ref(),
            views,
            Classes { classes: classes.view(), scale, losses, mean, smoothing },
        )?;
        Ok(true)
    }

    /// Partial losses that a step of the batch writes.
    pub fn n_partial_losses(&self) -> u32 {
        match &self.training {
            Some(Training { logits: Some((logits, _)), .. }) => logits.n_losses(),
            training => loss::n_blocks(training.as_ref().map_or(0, |training| training.batch)),
        }
    }

    /// Queues the gradients of all layers' parameters, to `result` in parts.
    pub fn run_gradients(
        &self,
        stream: &Stream,
        plan: &Plan,
        result: &mut Buffer<f32>,
        mut overflow: Option<&mut Buffer<u32>>,
    ) -> Result<()> {
        let Some(training) = &self.training else { return Ok(()) };
        let single = match &training.parameters {
            Gradients::Together(group) => return group.run(stream, result.view_mut(), overflow_word(overflow)),
            Gradients::Single(single) => single,
        };
        for (number, prepared) in single.iter().enumerate().rev() {
            let views = Views {
                a: self.inputs[number].view().cast(),
                b: training.gradients[number].view().cast(),
                bias: In::none(),
                residual: In::none(),
                residual_short: In::none(),
                mask: In::none(),
                c: result.view_mut().split_at(plan.layers[number].parts).1,
                c_short: InOut::none(),
                overflow: overflow_word(overflow.as_deref_mut()),
            };
            prepared.core.run(stream, plan.layers[number].n_inputs + 1, prepared.maps.as_ref(), views)?;
        }
        Ok(())
    }
}

/// All parameters in parts.
fn all_parts(weights: &mut Buffer<u16>, n_weights: usize, numbers: Numbers) -> PartsArgs<'_> {
    let (parts, format) = (numbers.parts, numbers.format());
    PartsArgs { values: weights.view_mut(), part_stride: n_weights as u64, parts, format, part_len: n_weights }
}

/// The word of the control words, if they are given, that tells of an overflow.
fn overflow_word(control: Option<&mut Buffer<u32>>) -> InOut<'_, u32> {
    control.map_or_else(InOut::none, |control| control.view_mut().split_at(control::OVERFLOW).1)
}

/// Where the samples of a step go.
fn gathered<'a>(
    inputs: &'a mut Buffer<u16>,
    training: Option<&'a mut Training>,
    numbers: Numbers,
    plan: &Plan,
    Step { images, labels, rows }: Step<'a>,
) -> GatherArgs<'a> {
    let layer = &plan.layers[0];
    let classes =
        training.filter(|_| !labels.is_none()).map_or_else(InOut::none, |training| training.classes.view_mut());
    GatherArgs {
        images,
        labels,
        inputs: inputs.view_mut(),
        classes,
        rows,
        n_inputs: layer.n_inputs,
        image_stride: image_stride(layer.n_inputs),
        line: input_line(layer),
        format: numbers.format(),
    }
}

/// No parts.
pub(super) fn none<'a>() -> PartsArgs<'a> {
    PartsArgs { values: InOut::none(), part_stride: 0, parts: 1, format: parts::format::BF16, part_len: 0 }
}

/// Nothing to be gathered.
pub(super) fn nothing<'a>() -> GatherArgs<'a> {
    GatherArgs {
        images: In::none(),
        labels: In::none(),
        inputs: InOut::none(),
        classes: InOut::none(),
        rows: RowsArgs { order: In::none(), step: In::none(), n: 0, batch: 0, first: 0, base: 0 },
        n_inputs: 0,
        image_stride: 0,
        line: 8,
        format: parts::format::BF16,
    }
}
