//! The products of the layers by [`tile`](crate::tile): operands in one to three parts of 16 bits, or in single precision before compute capability 8.0.

use warpplay_gpu::cuda::tensor_map::TensorMap;
use warpplay_gpu::mlp::layers::parts::{self, GatherArgs, PartsArgs};
use warpplay_gpu::mlp::layers::view::{RowsArgs, image_stride};
use warpplay_gpu::mlp::layers::{control, dropout, loss};
use warpplay_gpu::tile::update::{Rate, Rule, UpdateArgs};

use super::numbers::{Held, Numbers, Outputs};
use super::plan::{LayerPlan, Norm, Plan};
use crate::tile::core::{Core, Kernels, Lie, Shape, Views};
use crate::tile::group::{Group, OfGroup};
use crate::tile::logits::{Classes, Logits};
use crate::{Buffer, In, InOut, Result, Stream};

/// Where numbers go that a product reads: one of the two.
pub(super) struct Written<'a> {
    pub single: InOut<'a, f32>,
    pub short: PartsArgs<'a>,
}

/// A buffer of 16-bit numbers, where they have 16 bits, and the first one of an operand.
type Operand<'a> = (Option<&'a Buffer<u16>>, usize);

/// The operands' maps, which some engines read by.
fn maps_of(stream: &Stream, core: &Core, a: Operand<'_>, b: Operand<'_>) -> Result<Option<Buffer<TensorMap>>> {
    match (a, b) {
        ((Some(a), first_a), (Some(b), first_b)) => core.upload_maps(stream, (a, first_a), (b, first_b)),
        _ => Ok(None),
    }
}

/// A product whose operands are known.
struct Prepared {
    core: Core,
    maps: Option<Buffer<TensorMap>>,
}

impl Prepared {
    fn new(stream: &Stream, kernels: &Kernels, shape: Shape, a: Operand<'_>, b: Operand<'_>) -> Result<Self> {
        let core = Core::new(kernels, shape, None, None)?;
        let maps = maps_of(stream, &core, a, b)?;
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
    gradients: Vec<Held>,
}

/// The samples of a step; without labels where nobody asks for their classes.
pub(super) struct Step<'a> {
    pub images: In<'a, u8>,
    /// In place of images.
    pub features: In<'a, f32>,
    pub labels: In<'a, u8>,
    pub rows: RowsArgs<'a>,
}

/// What activates the outputs of a hidden layer, from the sums of its product.
pub(super) struct Activate<'a> {
    pub sums: In<'a, f32>,
    /// Where the derivatives go; nothing outside of a training.
    pub slopes: InOut<'a, f32>,
    pub outputs: Written<'a>,
    pub n_units: u32,
    /// Numbers of a line of the outputs.
    pub line: u32,
    /// One of [`activate::kind`](mod@warpplay_gpu::mlp::layers::activate::kind).
    pub of: u32,
}

/// What makes the gradient of a hidden layer's sums, from that of its outputs.
pub(super) struct Slope<'a> {
    pub gradient: In<'a, f32>,
    pub slopes: In<'a, f32>,
    pub result: Written<'a>,
    pub n_units: u32,
    /// Numbers of a line of the result.
    pub line: u32,
}

/// What drops units of a hidden layer, once it is activated.
pub(super) struct Drop<'a> {
    pub outputs: Written<'a>,
    /// The derivatives of the activation; nothing for the rectifier.
    pub slopes: InOut<'a, f32>,
    pub n_units: u32,
    /// Numbers of a line of the outputs.
    pub line: u32,
}

/// What makes the norm of a hidden layer's sums, in place.
pub(super) struct Normalise<'a> {
    pub sums: InOut<'a, f32>,
    /// For the backward pass; nothing outside of a training.
    pub normalised: InOut<'a, f32>,
    pub inverses: InOut<'a, f32>,
    pub n_units: u32,
}

/// What makes the gradient of a hidden layer's sums through its norm.
pub(super) struct NormaliseBack<'a> {
    pub gradient: In<'a, f32>,
    /// The derivatives before; with layer norm the gradient of its results after.
    pub slopes: &'a mut Buffer<f32>,
    pub normalised: In<'a, f32>,
    pub inverses: In<'a, f32>,
    pub result: Written<'a>,
    /// Numbers of a line of the result.
    pub line: u32,
}

/// What an activation needs that is not part of the products.
struct Curve {
    /// One of [`activate::kind`](mod@warpplay_gpu::mlp::layers::activate::kind).
    of: u32,
    /// `[capacity, line]` Sums of one hidden layer's product, forward or backward; of the widest.
    sums: Buffer<f32>,
    /// Of each hidden layer in training, the derivatives for a batch.
    slopes: Vec<Buffer<f32>>,
    /// Of each hidden layer in training, if it has a norm, what the backward pass needs of it.
    normalised: Vec<Buffer<f32>>,
    inverses: Vec<Buffer<f32>>,
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
    inputs: Vec<Held>,
    /// Parameters of all layers; `None` where the products read those of the update.
    weights: Option<Buffer<u16>>,
    /// Numbers of a part of all parameters.
    n_weights: usize,
    /// Of each layer, for as many samples as there is room for.
    forward: Vec<Prepared>,
    training: Option<Training>,
    /// `None` for the rectifier without a norm.
    curve: Option<Curve>,
    kernels: Kernels,
}

impl LayerPlan {
    /// The layer's biases: the last line of its parameters.
    fn bias<'a>(&self, parameters: &'a Buffer<f32>) -> In<'a, f32> {
        parameters.view().split_at(self.parameters + (self.n_inputs * self.line()) as usize).1
    }
}

/// What a norm divides by in a training: for each row of a batch, or for each unit of a line.
const fn n_inverses(layer: &LayerPlan, batch: u32) -> u64 {
    match layer.norm {
        Some(Norm::Layer) => batch as u64,
        Some(Norm::Batch) => layer.line() as u64,
        None => 0,
    }
}

/// Numbers of a line of a layer's inputs: behind them is a 1.
const fn input_line(layer: &LayerPlan) -> u32 {
    parts::line_length(layer.n_inputs + 1)
}

/// The parameters from a layer's first on, as the products read them.
fn weights_of<'a>(weights: &'a Option<Buffer<u16>>, layer: &LayerPlan, parameters: &'a Buffer<f32>) -> In<'a, u8> {
    match weights {
        Some(weights) => weights.view().split_at(layer.short).1.cast(),
        None => parameters.view().split_at(layer.parameters).1.cast(),
    }
}

impl Tiles {
    /// Takes the memory for `capacity` samples at once; `of` is one of [`activate::kind`](mod@warpplay_gpu::mlp::layers::activate::kind), or `None` for the rectifier without a norm.
    pub fn new(stream: &Stream, plan: &Plan, numbers: Numbers, capacity: u32, of: Option<u32>) -> Result<Self> {
        let kernels = Kernels::load(stream.device(), numbers.of_operands(), None)?;
        let mut inputs = Vec::new();
        for (number, layer) in plan.layers.iter().enumerate() {
            let (line, parts) = (input_line(layer) as usize, numbers.input_parts(number) as usize);
            let mut values = Held::new(stream, numbers, line * capacity as usize * parts)?;
            // The first inputs' 1 is written with them.
            if number > 0 {
                values.put_ones(stream, numbers, [capacity as usize, line, layer.n_inputs as usize])?;
            }
            inputs.push(values);
        }
        let n_weights = numbers.n_weights(plan);
        let weights = match numbers.is_single() {
            true => None,
            false => Some(stream.alloc(n_weights * numbers.parts as usize)?),
        };
        let curve = match of {
            Some(of) => {
                let sums = stream.alloc(widest_hidden(plan) as usize * capacity as usize)?;
                Some(Curve { of, sums, slopes: Vec::new(), normalised: Vec::new(), inverses: Vec::new() })
            }
            None => None,
        };
        let (forward, training) = (Vec::new(), None);
        let mut tiles = Self { numbers, capacity, inputs, weights, n_weights, forward, training, curve, kernels };
        tiles.forward = tiles.forward(stream, plan, capacity)?;
        Ok(tiles)
    }

    /// Memory of [`new`](Self::new) and [`train`](Self::train).
    pub fn bytes(plan: &Plan, numbers: Numbers, capacity: u32, batch: Option<u32>, of: Option<u32>) -> u64 {
        let held: u64 = plan
            .layers
            .iter()
            .enumerate()
            .map(|(number, layer)| {
                let inputs = u64::from(input_line(layer)) * u64::from(capacity);
                let outputs = u64::from(numbers.output_line(layer)) * u64::from(batch.unwrap_or(0));
                inputs * u64::from(numbers.input_parts(number)) + outputs * u64::from(numbers.parts)
            })
            .sum();
        let weights = if numbers.is_single() { 0 } else { plan.n_short_values as u64 * u64::from(numbers.parts) };
        let hidden = &plan.layers[..plan.layers.len().saturating_sub(1)];
        let of_row = |layer: &LayerPlan| {
            let line = u64::from(layer.line());
            if layer.norm.is_some() { 2 * line } else { line }
        };
        let slopes: u64 = batch.map_or(0, |batch| {
            hidden.iter().map(|layer| of_row(layer) * u64::from(batch) + n_inverses(layer, batch)).sum()
        });
        let curve = of.map_or(0, |_| 4 * (u64::from(widest_hidden(plan)) * u64::from(capacity) + slopes));
        curve
            + u64::from(numbers.values.bytes()) * (held + weights)
            + batch.map_or(0, |batch| 4 * (u64::from(batch) + 1))
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
            moments: false,
            updates: None,
            gathered: None,
        }
    }

    /// How the inputs of a layer lie, row by row or depth by depth.
    fn inputs_lie(&self, number: usize, layer: &LayerPlan, by_depth: bool) -> Lie {
        Lie::of_lines(by_depth, self.capacity, input_line(layer), self.numbers.input_parts(number))
    }

    fn weights_lie(&self, layer: &LayerPlan, by_depth: bool) -> Lie {
        let (stride, parts) = (self.numbers.output_line(layer), self.numbers.parts);
        Lie { by_depth, stride, parts, part_stride: self.n_weights as u64 }
    }

    /// The numbers of 16 bits that a layer's inputs are, and its weights.
    fn input_operand(&self, number: usize) -> Operand<'_> {
        (self.inputs[number].short(), 0)
    }

    fn weights_operand(&self, layer: &LayerPlan) -> Operand<'_> {
        (self.weights.as_ref(), layer.short)
    }

    /// Outputs of all layers, of at most `n_rows` samples.
    fn forward(&self, stream: &Stream, plan: &Plan, n_rows: u32) -> Result<Vec<Prepared>> {
        let last = plan.layers.len() - 1;
        let layer = |(number, layer): (usize, &LayerPlan)| {
            let a = self.inputs_lie(number, layer, false);
            let b = self.weights_lie(layer, true);
            let shape = self.shape([n_rows, layer.n_outputs, layer.n_inputs], a, b, layer.line());
            let shape = match plan.layers.get(number + 1) {
                // An activation takes single precision.
                Some(next) if self.curve.is_none() => Shape {
                    c_stride: input_line(next),
                    c_parts: self.numbers.parts,
                    c_part_stride: u64::from(input_line(next)) * u64::from(self.capacity),
                    ..shape
                },
                _ => shape,
            };
            let factor = self.numbers.input_factor(number);
            let shape = Shape { factor, rectifier: number < last && self.curve.is_none(), ..shape };
            Prepared::new(stream, &self.kernels, shape, self.input_operand(number), self.weights_operand(layer))
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
        let (Some(layer), Some(forward)) = (plan.layers.last(), forward.last()) else { return Ok(None) };
        if !Logits::takes(&self.kernels, layer.n_outputs) {
            return Ok(None);
        }
        let (shape, c_stride) = (forward.core.shape, self.numbers.output_line(layer));
        let c_part_stride = u64::from(shape.m) * u64::from(c_stride);
        let logits =
            Logits::new(&self.kernels, Shape { c_stride, c_parts: self.numbers.parts, c_part_stride, ..shape })?;
        let (a, b) = (self.input_operand(plan.layers.len() - 1), self.weights_operand(layer));
        let maps = maps_of(stream, &logits.core, a, b)?;
        Ok(Some((logits, maps)))
    }

    /// Prepares the training with batches of `batch` samples, whose hidden units are dropped at a rate of `dropout`; `classifies` where the loss is cross-entropy, which the last product may compute.
    pub fn train(&mut self, stream: &Stream, plan: &Plan, batch: u32, dropout: f32, classifies: bool) -> Result<()> {
        let (numbers, parts) = (self.numbers, self.numbers.parts);
        let of_outputs = |layer| numbers.output_line(layer) as usize * batch as usize * parts as usize;
        let gradients: Vec<Held> =
            plan.layers.iter().map(|layer| Held::new(stream, numbers, of_outputs(layer))).collect::<Result<_>>()?;
        let (mut backward, mut shapes) = (Vec::new(), Vec::new());
        for (number, layer) in plan.layers.iter().enumerate() {
            let own = Lie::of_lines(false, batch, numbers.output_line(layer), parts);
            if number > 0 {
                let sizes = [batch, layer.n_inputs, layer.n_outputs];
                let before = &plan.layers[number - 1];
                let weights = self.weights_lie(layer, false);
                let shape = match &self.curve {
                    // The derivative is multiplied in single precision.
                    Some(_) => self.shape(sizes, own, weights, before.line()),
                    None => {
                        let shape = self.shape(sizes, own, weights, numbers.output_line(before));
                        // Outputs that are not 0 were kept.
                        let factor = dropout::scale(dropout);
                        Shape { c_parts: parts, mask_stride: input_line(layer), factor, ..shape }
                    }
                };
                let (a, b) = ((gradients[number].short(), 0), self.weights_operand(layer));
                backward.push(Prepared::new(stream, &self.kernels, shape, a, b)?);
            }
            let sizes = [layer.n_inputs + 1, layer.n_outputs, batch];
            let (a, b) = (self.inputs_lie(number, layer, true), Lie { by_depth: true, ..own });
            let shape = self.shape(sizes, a, b, layer.line());
            let shape = Shape { factor: numbers.input_factor(number), ..shape };
            shapes.push(match plan.updates {
                true => Shape {
                    updates: Some(numbers.output_line(layer)),
                    c_parts: parts,
                    c_part_stride: self.n_weights as u64,
                    ..shape
                },
                false => Shape { division: layer.part, c_part_stride: layer.n_values.into(), ..shape },
            });
        }
        let of_group = |(number, &shape): (usize, &Shape)| {
            let (a, b) = (self.inputs[number].short()?, gradients[number].short()?);
            let layer = &plan.layers[number];
            let c = if plan.updates { layer.parameters } else { layer.parts };
            Some(OfGroup { shape, a: (a, 0), b: (b, 0), c, copy: layer.short })
        };
        let parameters = match shapes.iter().enumerate().map(of_group).collect::<Option<Vec<_>>>() {
            Some(group) if Group::pays(&self.kernels, &shapes) => {
                Gradients::Together(Group::new(stream, &self.kernels, &group)?)
            }
            _ => {
                let single = |(number, &shape): (usize, &Shape)| {
                    let (a, b) = (self.input_operand(number), (gradients[number].short(), 0));
                    Prepared::new(stream, &self.kernels, shape, a, b)
                };
                Gradients::Single(shapes.iter().enumerate().map(single).collect::<Result<_>>()?)
            }
        };
        let forward = self.forward(stream, plan, batch)?;
        let logits = if classifies { self.logits(stream, plan, &forward)? } else { None };
        let classes = stream.alloc(batch as usize + 1)?;
        if let Some(Curve { slopes, normalised, inverses, .. }) = &mut self.curve {
            let hidden = &plan.layers[..plan.layers.len() - 1];
            let of_layer = |layer: &LayerPlan| stream.alloc(layer.line() as usize * batch as usize);
            *slopes = hidden.iter().map(of_layer).collect::<Result<_>>()?;
            let with_norm = || hidden.iter().filter(|layer| layer.norm.is_some());
            *normalised = with_norm().map(of_layer).collect::<Result<_>>()?;
            let inverses_of = |layer: &LayerPlan| stream.alloc(n_inverses(layer, batch) as usize);
            *inverses = with_norm().map(inverses_of).collect::<Result<_>>()?;
        }
        self.training = Some(Training { batch, forward, logits, classes, backward, parameters, gradients });
        Ok(())
    }

    /// Whether updates gather the samples of the next step.
    pub const fn are_gathered_by_updates(&self) -> bool {
        !self.numbers.is_single() && !self.numbers.features
    }

    /// Where the samples of a step go, with labels their classes, too; the inputs are the second where they are in single precision.
    pub fn gather<'a>(&'a mut self, plan: &Plan, step: Step<'a>) -> (GatherArgs<'a>, InOut<'a, f32>) {
        let (single, inputs) = self.inputs[0].views_mut();
        (gathered(inputs, self.training.as_mut(), self.numbers, plan, step), single)
    }

    /// Where the features of a step go, with labels their classes, too, and the numbers of a line.
    pub fn features<'a>(&'a mut self, plan: &Plan, has_classes: bool) -> (Written<'a>, InOut<'a, u32>, u32) {
        let training = self.training.as_mut().filter(|_| has_classes && !self.numbers.is_single());
        let classes = training.map_or_else(InOut::none, |training| training.classes.view_mut());
        (written(&mut self.inputs[0], self.numbers), classes, input_line(&plan.layers[0]))
    }

    /// Whether inputs are features.
    pub const fn takes_features(&self) -> bool {
        self.numbers.features
    }

    /// Where the parameters go, if they do.
    pub fn weights(&mut self) -> PartsArgs<'_> {
        all_parts(&mut self.weights, self.n_weights, self.numbers)
    }

    /// What an update writes: the parameters, and the samples of the next step, if there is one.
    pub fn updated<'a>(&'a mut self, plan: &Plan, next: Option<Step<'a>>) -> (PartsArgs<'a>, GatherArgs<'a>) {
        let Self { inputs, weights, n_weights, training, numbers, .. } = self;
        let gather = match (next, &mut inputs[0]) {
            (Some(step), Held::Short(inputs)) if !numbers.features => {
                gathered(inputs.view_mut(), training.as_mut(), *numbers, plan, step)
            }
            _ => nothing(),
        };
        (all_parts(weights, *n_weights, *numbers), gather)
    }

    /// Where the gradient of the logits goes.
    pub fn loss_gradient(&mut self) -> Written<'_> {
        match self.training.as_mut().and_then(|training| training.gradients.last_mut()) {
            Some(gradient) => written(gradient, self.numbers),
            None => Written { single: InOut::none(), short: none() },
        }
    }

    /// What activates the outputs of layer `number` after its product: `None` for the last, and where the product rectifies them. In a training the derivatives are kept.
    pub fn activate(&mut self, plan: &Plan, number: usize, is_training: bool) -> Option<Activate<'_>> {
        let (layer, next) = (&plan.layers[number], plan.layers.get(number + 1)?);
        let Curve { of, sums, slopes, .. } = self.curve.as_mut()?;
        let slopes = slopes.get_mut(number).filter(|_| is_training);
        Some(Activate {
            sums: sums.view(),
            slopes: slopes.map_or_else(InOut::none, Buffer::view_mut),
            outputs: written(&mut self.inputs[number + 1], self.numbers),
            n_units: layer.n_outputs,
            line: input_line(next),
            of: *of,
        })
    }

    /// What makes the norm of layer `number` after its product: `None` where there is none. In a training, what the backward pass needs is kept.
    pub fn normalise(&mut self, plan: &Plan, number: usize, is_training: bool) -> Option<Normalise<'_>> {
        let layer = plan.layers.get(number).filter(|layer| layer.norm.is_some())?;
        let Curve { sums, normalised, inverses, .. } = self.curve.as_mut()?;
        let [normalised, inverses] = [normalised, inverses].map(|of| of.get_mut(number).filter(|_| is_training));
        Some(Normalise {
            sums: sums.view_mut(),
            normalised: normalised.map_or_else(InOut::none, Buffer::view_mut),
            inverses: inverses.map_or_else(InOut::none, Buffer::view_mut),
            n_units: layer.n_outputs,
        })
    }

    /// What makes the gradient of the sums of layer `number` through its norm, instead of [`slope`](Self::slope): `None` where there is none.
    pub fn normalise_back(&mut self, plan: &Plan, number: usize) -> Option<NormaliseBack<'_>> {
        let layer = plan.layers.get(number).filter(|layer| layer.norm.is_some())?;
        let Curve { sums, slopes, normalised, inverses, .. } = self.curve.as_mut()?;
        let gradient = self.training.as_mut()?.gradients.get_mut(number)?;
        Some(NormaliseBack {
            gradient: sums.view(),
            slopes: slopes.get_mut(number)?,
            normalised: normalised.get(number)?.view(),
            inverses: inverses.get(number)?.view(),
            result: written(gradient, self.numbers),
            line: self.numbers.output_line(layer),
        })
    }

    /// What drops units of layer `number` in a training: `None` for the last.
    pub fn dropped(&mut self, plan: &Plan, number: usize) -> Option<Drop<'_>> {
        let (layer, next) = (&plan.layers[number], plan.layers.get(number + 1)?);
        let slopes = self.curve.as_mut().and_then(|curve| curve.slopes.get_mut(number));
        Some(Drop {
            outputs: written(&mut self.inputs[number + 1], self.numbers),
            slopes: slopes.map_or_else(InOut::none, Buffer::view_mut),
            n_units: layer.n_outputs,
            line: input_line(next),
        })
    }

    /// What makes the gradient of the sums of layer `number` after the product that makes that of its outputs: `None` where the product masks it.
    pub fn slope(&mut self, plan: &Plan, number: usize) -> Option<Slope<'_>> {
        let (layer, curve) = (&plan.layers[number], self.curve.as_ref()?);
        let gradient = self.training.as_mut()?.gradients.get_mut(number)?;
        Some(Slope {
            gradient: curve.sums.view(),
            slopes: curve.slopes.get(number)?.view(),
            result: written(gradient, self.numbers),
            n_units: layer.n_outputs,
            line: self.numbers.output_line(layer),
        })
    }

    /// The outputs of a hidden layer that is not the last, and their line.
    pub fn outputs(&self, plan: &Plan, number: usize) -> (Outputs<'_>, u32) {
        let outputs = match &self.inputs[number + 1] {
            Held::Short(outputs) => Outputs::Short(outputs),
            Held::Single(outputs) => Outputs::Single(outputs),
        };
        (outputs, input_line(&plan.layers[number + 1]))
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
        let Self { inputs, weights, forward, training, curve, .. } = self;
        // A batch has products of its own, whose tiles fit it better. Their sums may be in another order: last bits depend on how many samples are taken at once.
        let prepared = match training {
            Some(training) if n <= training.batch => &training.forward[number],
            _ => &forward[number],
        };
        let (own, next) = inputs.split_at_mut(number + 1);
        let (c, c_short) = match (next.first_mut(), curve) {
            (Some(_), Some(curve)) => (curve.sums.view_mut(), InOut::none()),
            (Some(next), None) => next.views_mut(),
            (None, _) => (logits.view_mut(), InOut::none()),
        };
        let views = Views {
            a: own[number].view(),
            b: weights_of(weights, layer, parameters),
            bias: layer.bias(parameters),
            residual: In::none(),
            residual_short: In::none(),
            mask: In::none(),
            c,
            c_short,
            overflow: InOut::none(),
            found_factor: In::none(),
            moments: InOut::none(),
            rows: In::none(),
        };
        prepared.core.run(stream, n, prepared.maps.as_ref(), views)
    }

    /// Queues the gradient of the inputs of a layer, which is not the first.
    pub fn run_backward(
        &mut self,
        stream: &Stream,
        plan: &Plan,
        number: usize,
        parameters: &Buffer<f32>,
    ) -> Result<()> {
        let Self { inputs, weights, training, curve, .. } = self;
        let Some(training) = training else { return Ok(()) };
        let prepared = &training.backward[number - 1];
        let (before, own) = training.gradients.split_at_mut(number);
        let ((c, c_short), mask) = match curve {
            Some(curve) => ((curve.sums.view_mut(), InOut::none()), In::none()),
            None => (before[number - 1].views_mut(), inputs[number].view()),
        };
        let views = Views {
            a: own[0].view(),
            b: weights_of(weights, &plan.layers[number], parameters),
            bias: In::none(),
            residual: In::none(),
            residual_short: In::none(),
            mask,
            c,
            c_short,
            overflow: InOut::none(),
            found_factor: In::none(),
            moments: InOut::none(),
            rows: In::none(),
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
        let (c, c_short) = gradients[number].views_mut();
        let views = Views {
            a: inputs[number].view(),
            b: weights_of(weights, layer, parameters),
            bias: layer.bias(parameters),
            residual: In::none(),
            residual_short: In::none(),
            mask: In::none(),
            c,
            c_short,
            overflow: InOut::none(),
            found_factor: In::none(),
            moments: InOut::none(),
            rows: In::none(),
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
                a: self.inputs[number].view(),
                b: training.gradients[number].view(),
                bias: In::none(),
                residual: In::none(),
                residual_short: In::none(),
                mask: In::none(),
                c: result.view_mut().split_at(plan.layers[number].parts).1,
                c_short: InOut::none(),
                overflow: overflow_word(overflow.as_deref_mut()),
                found_factor: In::none(),
                moments: InOut::none(),
                rows: In::none(),
            };
            prepared.core.run(stream, plan.layers[number].n_inputs + 1, prepared.maps.as_ref(), views)?;
        }
        Ok(())
    }

    /// Queues the gradients of all layers' parameters, by which these are updated, where the plan says so.
    pub fn run_updates(&mut self, stream: &Stream, plan: &Plan, mut updates: Updates<'_>) -> Result<()> {
        let Self { inputs, weights, training, .. } = self;
        let Some(training) = training else { return Ok(()) };
        let single = match &training.parameters {
            Gradients::Together(group) => {
                let (parameters, update) = updates.arguments();
                return group.run_update(stream, parameters, copies_of(weights, 0), update);
            }
            Gradients::Single(single) => single,
        };
        for (number, prepared) in single.iter().enumerate().rev() {
            let layer = &plan.layers[number];
            let (parameters, update) = updates.arguments();
            let views = Views {
                a: inputs[number].view(),
                b: training.gradients[number].view(),
                bias: In::none(),
                residual: In::none(),
                residual_short: In::none(),
                mask: In::none(),
                c: parameters.split_at(layer.parameters).1,
                c_short: copies_of(weights, layer.short),
                overflow: InOut::none(),
                found_factor: In::none(),
                moments: InOut::none(),
                rows: In::none(),
            };
            prepared.core.run_update(stream, prepared.maps.as_ref(), views, layer.parameters, update)?;
        }
        Ok(())
    }
}

/// Where the parameters in parts go from number `from` on, if they do.
fn copies_of(weights: &mut Option<Buffer<u16>>, from: usize) -> InOut<'_, u16> {
    weights.as_mut().map_or_else(InOut::none, |weights| weights.view_mut().split_at(from).1)
}

/// What updates parameters by their gradients' products: see [`Update`](warpplay_gpu::tile::update::Update).
pub(super) struct Updates<'a> {
    /// `[n_values]`
    pub parameters: &'a mut Buffer<f32>,
    /// What the optimiser remembers, `[n_values]` each.
    pub moments: &'a mut [Buffer<f32>],
    pub rates: In<'a, Rate>,
    pub n_rates: u32,
    /// The step's number.
    pub step: In<'a, u32>,
    pub rule: Rule,
}

impl Updates<'_> {
    /// What the kernel takes.
    fn arguments(&mut self) -> (InOut<'_, f32>, UpdateArgs<'_>) {
        let Self { parameters, moments, rates, n_rates, step, rule } = self;
        let (n_values, n_state) = (parameters.len(), moments.len() as u32);
        let mut moments = moments.iter_mut().map(Buffer::view_mut);
        let update = UpdateArgs {
            first: moments.next().unwrap_or_else(InOut::none),
            second: moments.next().unwrap_or_else(InOut::none),
            rates: *rates,
            step: *step,
            rule: *rule,
            n_state,
            n_rates: *n_rates,
            reserved: 0,
            n_values,
        };
        (parameters.view_mut(), update)
    }
}

/// Where numbers are written that a product reads; parts lie evenly.
fn written(held: &mut Held, numbers: Numbers) -> Written<'_> {
    let (parts, format) = (numbers.parts, numbers.format());
    match held {
        Held::Short(values) => {
            let part_len = values.len() / parts as usize;
            let part_stride = part_len as u64;
            let short = PartsArgs { values: values.view_mut(), part_stride, parts, format, part_len };
            Written { single: InOut::none(), short }
        }
        Held::Single(values) => Written { single: values.view_mut(), short: none() },
    }
}

/// The longest line of a hidden layer's sums.
fn widest_hidden(plan: &Plan) -> u32 {
    let hidden = &plan.layers[..plan.layers.len().saturating_sub(1)];
    hidden.iter().map(LayerPlan::line).max().unwrap_or(0)
}

/// All parameters in parts.
fn all_parts(weights: &mut Option<Buffer<u16>>, n_weights: usize, numbers: Numbers) -> PartsArgs<'_> {
    let Some(weights) = weights else { return none() };
    let (parts, format) = (numbers.parts, numbers.format());
    PartsArgs { values: weights.view_mut(), part_stride: n_weights as u64, parts, format, part_len: n_weights }
}

/// The word of the control words, if they are given, that tells of an overflow.
fn overflow_word(control: Option<&mut Buffer<u32>>) -> InOut<'_, u32> {
    control.map_or_else(InOut::none, |control| control.view_mut().split_at(control::OVERFLOW).1)
}

/// Where the samples of a step go.
fn gathered<'a>(
    inputs: InOut<'a, u16>,
    training: Option<&'a mut Training>,
    numbers: Numbers,
    plan: &Plan,
    Step { images, labels, rows, .. }: Step<'a>,
) -> GatherArgs<'a> {
    let layer = &plan.layers[0];
    let has_classes = !labels.is_none() && !numbers.is_single();
    let classes = training.filter(|_| has_classes).map_or_else(InOut::none, |training| training.classes.view_mut());
    GatherArgs {
        images,
        labels,
        inputs,
        classes,
        rows,
        n_inputs: layer.n_inputs,
        image_stride: image_stride(layer.n_inputs),
        line: input_line(layer),
        format: numbers.format(),
    }
}

/// No parts.
fn none<'a>() -> PartsArgs<'a> {
    PartsArgs { values: InOut::none(), part_stride: 0, parts: 1, format: parts::format::BF16, part_len: 0 }
}

/// Nothing to be gathered.
fn nothing<'a>() -> GatherArgs<'a> {
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
