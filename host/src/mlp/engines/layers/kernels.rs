//! The kernels that train layer by layer, resolved, with a safe function for each stage; and the device arrays they work on.

use warpplay_gpu::mlp::layers::update::{LayerOffsets, UpdateArgs};
use warpplay_gpu::mlp::layers::view::{RowsArgs, image_stride, line_length};
use warpplay_gpu::mlp::layers::{self, activate, clip, control, dropout, loss};
use warpplay_gpu::mlp::shuffle;
use warpplay_gpu::ptx::embedded::MLP_LAYERS;
use warpplay_gpu::tile::softmax::CLUSTER;
use warpplay_gpu::tile::softmax::n_losses;
use warpplay_gpu::tile::update::{Rate, Rule};

use super::numbers::{Numbers, Outputs};
use super::plan::{LayerPlan, Norm, Plan};
use super::tiles::{Activate, Drop, Loss, Normalise, NormaliseBack, Slope, Step, Tiles, Updates, Written};
use crate::mlp::Dataset;
use crate::runtime::launch::views;
use crate::{Buffer, Device, Error, In, InOut, Module, Result, Stream};

/// The order of an epoch on the device, and what it is made with.
pub(super) struct Order {
    pub order: Buffer<u32>,
    scattered: Buffer<u32>,
    arrivals: Buffer<u32>,
    counts: Buffer<u32>,
    n: u32,
}

impl Order {
    /// Takes the memory for `n` samples.
    pub fn new(stream: &Stream, n: u32) -> Result<Self> {
        Ok(Self {
            order: stream.alloc(n as usize)?,
            scattered: stream.alloc(n as usize)?,
            arrivals: stream.alloc(n as usize)?,
            counts: stream.alloc(shuffle::n_buckets(n) as usize + 1)?,
            n,
        })
    }
}

/// A regression's loss as the kernels take it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regression {
    pub delta: f32,
    pub factor: f32,
}

/// Samples that are padded at once, so that the host need not hold a set twice.
const PIECE: usize = 4096;

/// What samples have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub n_inputs: u32,
    /// Whether inputs are features, not pixels.
    pub features: bool,
    /// Targets of a sample, in place of a label.
    pub n_targets: Option<u32>,
}

impl Sample {
    /// Those of a set.
    pub fn of(set: &Dataset) -> Self {
        let n_targets = set.targets().map(|_| set.n_classes());
        Self { n_inputs: set.n_inputs(), features: set.features().is_some(), n_targets }
    }

    /// Bytes of a sample on the device.
    pub const fn bytes(self) -> u64 {
        let answer = match self.n_targets {
            Some(n_targets) => 4 * n_targets as u64,
            None => 1,
        };
        let inputs = if self.features { 4 * line_length(self.n_inputs) } else { image_stride(self.n_inputs) };
        inputs as u64 + answer
    }
}

/// Images, or features, and labels, or targets, on the device.
pub(super) struct Samples {
    /// Empty where there are features.
    images: Buffer<u8>,
    /// `[n, line_length(n_inputs)]`; empty where there are images.
    features: Buffer<f32>,
    /// Empty in a regression.
    labels: Buffer<u8>,
    /// `[n, n_targets]`; empty where there are labels.
    targets: Buffer<f32>,
    n_inputs: u32,
    /// Samples there is room for.
    pub capacity: u32,
}

impl Samples {
    /// Takes the memory for `capacity` samples.
    pub fn new(stream: &Stream, sample: Sample, capacity: u32) -> Result<Self> {
        let (Sample { n_inputs, features, n_targets }, n) = (sample, capacity as usize);
        let (bytes, n_features) = match features {
            true => (0, line_length(n_inputs) as usize * n),
            false => (image_stride(n_inputs) as usize * n, 0),
        };
        let features = stream.alloc(n_features)?;
        let (n_labels, n_targets) = n_targets.map_or((n, 0), |n_targets| (0, n_targets as usize * n));
        let (labels, targets) = (stream.alloc(n_labels)?, stream.alloc(n_targets)?);
        Ok(Self { images: stream.alloc(bytes)?, features, labels, targets, n_inputs, capacity })
    }

    /// Images `[n, n_inputs]` that lie on the device, to be read: where they lie if their lines have the kernels' stride, else a copy. There are no labels.
    ///
    /// # Errors
    /// [`Error::Shape`] for more images than 32 bits count; errors of the device.
    pub fn of_buffer(stream: &Stream, n_inputs: u32, images: &Buffer<u8>) -> Result<Self> {
        let (width, stride) = (n_inputs as usize, image_stride(n_inputs) as usize);
        let n = images.len() / width;
        let capacity = u32::try_from(n).map_err(|_| Error::shape("images", format!("at most {}", u32::MAX), n))?;
        let images = match width == stride {
            true => images.share(),
            false => {
                let mut copy = stream.alloc(n * stride)?;
                stream.copy_lines((&mut copy, 0, stride), (images, 0, width), width, n)?;
                copy
            }
        };
        let (features, targets) = (stream.alloc(0)?, stream.alloc(0)?);
        Ok(Self { images, features, labels: stream.alloc(0)?, targets, n_inputs, capacity })
    }

    /// Those of a step.
    fn step<'a>(&'a self, rows: RowsArgs<'a>) -> Step<'a> {
        let labels = if self.labels.is_empty() { In::none() } else { self.labels.view() };
        Step { images: self.images.view(), features: self.features.view(), labels, rows }
    }

    /// Uploads a set to the first slots.
    pub fn write_set(&mut self, stream: &Stream, set: &Dataset) -> Result<()> {
        if let Some(features) = set.features() {
            self.write_features(stream, features)?;
        }
        self.write(stream, set.images(), set.labels(), set.targets().unwrap_or_default())
    }

    /// Uploads features `[n, n_inputs]` to the first slots.
    pub fn write_features(&mut self, stream: &Stream, features: &[f32]) -> Result<()> {
        let (n_inputs, line) = (self.n_inputs as usize, line_length(self.n_inputs) as usize);
        if n_inputs == line {
            return stream.write(&mut self.features, 0, features);
        }
        for (number, piece) in features.chunks(PIECE * n_inputs).enumerate() {
            let mut padded = vec![0.0; piece.len() / n_inputs * line];
            for (to, from) in padded.chunks_exact_mut(line).zip(piece.chunks_exact(n_inputs)) {
                to[..n_inputs].copy_from_slice(from);
            }
            stream.write(&mut self.features, number * PIECE * line, &padded)?;
        }
        Ok(())
    }

    /// Uploads images `[n, n_inputs]` and labels, or targets, to the first slots.
    pub fn write(&mut self, stream: &Stream, images: &[u8], labels: &[u8], targets: &[f32]) -> Result<()> {
        let (n_inputs, stride) = (self.n_inputs as usize, image_stride(self.n_inputs) as usize);
        if n_inputs == stride {
            stream.write(&mut self.images, 0, images)?;
        } else {
            for (number, piece) in images.chunks(PIECE * n_inputs).enumerate() {
                let mut padded = vec![0; piece.len() / n_inputs * stride];
                for (to, from) in padded.chunks_exact_mut(stride).zip(piece.chunks_exact(n_inputs)) {
                    to[..n_inputs].copy_from_slice(from);
                }
                stream.write(&mut self.images, number * PIECE * stride, &padded)?;
            }
        }
        stream.write(&mut self.labels, 0, labels)?;
        stream.write(&mut self.targets, 0, targets)
    }

    /// Queues a copy of the first `n` images and labels, or targets, of pinned memory, images as [`image_stride`] says.
    pub fn write_pinned(
        &mut self,
        stream: &Stream,
        images: &crate::Pinned<u8>,
        labels: &crate::Pinned<u8>,
        targets: &crate::Pinned<f32>,
        n: usize,
    ) -> Result<()> {
        stream.write_pinned(&mut self.images, 0, images, n * image_stride(self.n_inputs) as usize)?;
        if targets.is_empty() {
            return stream.write_pinned(&mut self.labels, 0, labels, n);
        }
        stream.write_pinned(&mut self.targets, 0, targets, targets.len() / self.capacity as usize * n)
    }
}

/// What a classification finds out about each sample.
pub(super) struct Findings {
    pub classes: Buffer<u32>,
    pub losses: Buffer<f32>,
}

impl Findings {
    /// Takes the memory for `n` samples.
    pub fn new(stream: &Stream, n: u32) -> Result<Self> {
        Ok(Self { classes: stream.alloc(n as usize)?, losses: stream.alloc(n as usize)? })
    }
}

/// A network and the outputs of its layers.
pub(super) struct NetworkArrays {
    pub plan: Plan,
    pub parameters: Buffer<f32>,
    /// Running means and variances of all batch norms.
    pub running: Buffer<f32>,
    offsets: Buffer<LayerOffsets>,
    /// `[capacity, line_length(n_classes)]`
    pub logits: Buffer<f32>,
    tiles: Tiles,
    /// For each hidden layer, 1 for each unit that was positive; empty with another activation than the rectifier, which lets no unit die.
    pub active: Vec<Buffer<u32>>,
    /// Samples there is room for.
    pub capacity: u32,
    /// The loss, where it is not cross-entropy.
    pub regression: Option<Regression>,
}

impl NetworkArrays {
    /// Takes the memory for `capacity` samples at once; the activation as in [`Tiles::new`].
    pub fn new(
        stream: &Stream,
        plan: Plan,
        numbers: Numbers,
        capacity: u32,
        of: Option<u32>,
        regression: Option<Regression>,
    ) -> Result<Self> {
        let Some((last, hidden)) = plan.layers.split_last() else {
            return Err(Error::shape("layers", "at least 1", 0));
        };
        Ok(Self {
            logits: stream.alloc(last.line() as usize * capacity as usize)?,
            tiles: Tiles::new(stream, &plan, numbers, capacity, of)?,
            parameters: stream.alloc(plan.n_values)?,
            running: stream.alloc(plan.n_running())?,
            offsets: stream.upload(&plan.layers.iter().map(offsets_of).collect::<Vec<_>>())?,
            active: match of {
                None | Some(activate::kind::RELU) => {
                    hidden.iter().map(|layer| stream.alloc(layer.n_outputs as usize)).collect::<Result<_>>()?
                }
                Some(_) => Vec::new(),
            },
            plan,
            capacity,
            regression,
        })
    }

    /// Whether inputs are features.
    pub const fn takes_features(&self) -> bool {
        self.tiles.takes_features()
    }

    /// Prepares the training with batches of `batch` samples, whose hidden units are dropped at a rate of `dropout`.
    pub fn train(&mut self, stream: &Stream, batch: u32, dropout: f32) -> Result<()> {
        self.tiles.train(stream, &self.plan, batch, dropout, self.regression.is_none())
    }
}

fn offsets_of(layer: &LayerPlan) -> LayerOffsets {
    LayerOffsets {
        parameters: layer.parameters as u64,
        parts: layer.parts as u64,
        short: layer.short as u64,
        n: layer.n_values,
        n_parts: layer.n_parts,
        line: layer.line(),
        reserved: 0,
    }
}

/// What only a training needs.
pub(super) struct TrainArrays {
    parts: Buffer<f32>,
    pub moments: Vec<Buffer<f32>>,
    pub rates: Buffer<Rate>,
    pub losses: Buffer<f32>,
    partial_losses: Buffer<f32>,
    pub control: Buffer<u32>,
    rule: Rule,
    mean: bool,
    /// Smoothing of the labels.
    smoothing: f32,
    /// Whether there is a loss scale.
    scaled: bool,
    batch: u32,
    n: u32,
    clip: Option<Clip>,
    /// Rate of dropout.
    dropout: f32,
    /// What an epoch's masks are drawn from, for each hidden layer: see [`dropout::epoch_key`]. Empty without dropout.
    mask_keys: Buffer<u64>,
}

/// What clips gradients.
struct Clip {
    /// The largest norm.
    most: f32,
    /// Sums of squares.
    sums: Buffer<f64>,
    factor: Buffer<f32>,
}

/// How a training goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    pub rule: Rule,
    pub n_moments: usize,
    /// The largest norm of all gradients.
    pub clip_norm: Option<f32>,
    /// Rate of dropout.
    pub dropout: f32,
    pub mean: bool,
    /// Smoothing of the labels.
    pub smoothing: f32,
    pub scaled: bool,
    pub batch: u32,
    /// Samples of an epoch.
    pub n: u32,
}

impl TrainArrays {
    /// Takes the memory.
    pub fn new(stream: &Stream, plan: &Plan, course: Course) -> Result<Self> {
        let Course { rule, n_moments, clip_norm, dropout, mean, smoothing, scaled, batch, n } = course;
        let n_steps = n.div_ceil(batch) as usize;
        let mut words = [0; control::WORDS];
        words[control::SCALE] = control::FIRST_SCALE.to_bits();
        let n_sums = clip::n_sums(plan.n_quads) as usize;
        let clip =
            clip_norm.map(|most| Ok::<_, Error>(Clip { most, sums: stream.alloc(n_sums)?, factor: stream.alloc(1)? }));
        Ok(Self {
            clip: clip.transpose()?,
            dropout,
            mask_keys: stream.alloc(if dropout > 0.0 { plan.layers.len() - 1 } else { 0 })?,
            parts: stream.alloc(plan.n_part_values)?,
            moments: (0..n_moments).map(|_| stream.alloc(plan.n_values)).collect::<Result<_>>()?,
            rates: stream.alloc(n_steps)?,
            losses: stream.alloc(n_steps)?,
            partial_losses: stream.alloc(loss::n_blocks(batch).max(n_losses(batch, CLUSTER)) as usize)?,
            control: stream.upload(&words)?,
            rule,
            mean,
            smoothing,
            scaled,
            batch,
            n,
        })
    }

    /// Draws the masks of an epoch before which `updates` were done from this seed.
    pub fn set_mask_keys(&mut self, stream: &Stream, seed: u32, updates: u64) -> Result<()> {
        let n_hidden = self.mask_keys.len() as u32;
        let keys: Vec<u64> = (0..n_hidden).map(|layer| dropout::epoch_key(seed, layer, updates)).collect();
        if keys.is_empty() { Ok(()) } else { stream.write(&mut self.mask_keys, 0, &keys) }
    }
}

/// Where a step's samples are.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// In a set on the device, in this order.
    Ordered(&'a Samples, &'a Order),
    /// Copied for this step alone.
    Copied(&'a Samples),
}

impl<'a> Source<'a> {
    /// The set, and the order, if there is one.
    fn samples(self) -> (&'a Samples, In<'a, u32>) {
        match self {
            Self::Ordered(samples, order) => (samples, order.order.view()),
            Self::Copied(samples) => (samples, In::none()),
        }
    }
}

/// The kernels, looked up when the engine is opened.
pub(super) struct Kernels {
    set: layers::Kernels<Module>,
}

impl Kernels {
    /// Loads the module: a kernel that is missing is found here, at the door.
    pub fn load(device: &Device) -> Result<Self> {
        let module = Module::load(device, &MLP_LAYERS)?;
        Ok(Self { set: layers::Kernels::load(&module)? })
    }

    /// Sorts the samples into the order of an epoch.
    pub fn shuffle(&self, stream: &Stream, order: &mut Order, seed: u32, epoch: u32) -> Result<()> {
        let Order { order, scattered, arrivals, counts, n } = order;
        let n = *n;
        let bits = shuffle::bucket_bits(n);
        stream.zero(counts)?;
        stream.run(&self.set.mlp_layers_order_count, (&mut *counts, &mut *arrivals, seed, epoch, bits, n))?;
        stream.run(&self.set.mlp_layers_order_scan, (&mut *counts, shuffle::n_buckets(n)))?;
        // SAFETY: one stream keeps the order of the launches, which have the same seed, epoch and bits.
        unsafe {
            let scatter = (&*counts, &*arrivals, &mut *scattered, seed, epoch, bits, n);
            stream.run_unchecked(&self.set.mlp_layers_order_scatter, scatter)?;
            stream.run_unchecked(&self.set.mlp_layers_order_rank, (&*counts, &*scattered, order, seed, epoch, bits, n))
        }
    }

    /// Outputs of all layers for the samples of `rows`, at most `rows.batch`.
    fn forward(
        &self,
        stream: &Stream,
        network: &mut NetworkArrays,
        samples: &Samples,
        rows: RowsArgs<'_>,
    ) -> Result<()> {
        let NetworkArrays { plan, parameters, running, logits, tiles, .. } = network;
        let n = rows.batch;
        let step = Step { labels: In::none(), ..samples.step(rows) };
        // SAFETY: the order holds samples of the set.
        unsafe { self.gather_step(stream, plan, tiles, step)? };
        for number in 0..plan.layers.len() {
            tiles.run_forward(stream, plan, number, n, parameters, logits)?;
            let normalise = tiles.normalise(plan, number, false);
            match plan.running_of(number) {
                Some(from) => {
                    let running = running.view().split_at(from).1;
                    self.apply_batch_norm(stream, normalise, &plan.layers[number], parameters, running, n)?;
                }
                None => self.normalise(stream, normalise, &plan.layers[number], parameters, n)?,
            }
            self.activate(stream, tiles.activate(plan, number, false), n)?;
        }
        Ok(())
    }

    /// Outputs of a layer for `n` samples, where its product does not make them.
    fn activate(&self, stream: &Stream, activate: Option<Activate<'_>>, n: u32) -> Result<()> {
        let Some(Activate { sums, slopes, outputs: Written { single, short }, n_units, line, of }) = activate else {
            return Ok(());
        };
        let n_kept = if slopes.is_none() { 0 } else { n };
        // SAFETY: there are lines for as many samples as are taken at once.
        unsafe {
            let arguments = (sums, slopes, single, short, n, n_units, line, of, n_kept);
            stream.run_unchecked(&self.set.mlp_layers_activate, arguments)
        }
    }

    /// The layer norm of a layer's sums for `n` samples, if it has one.
    fn normalise(
        &self,
        stream: &Stream,
        normalise: Option<Normalise<'_>>,
        layer: &LayerPlan,
        parameters: &Buffer<f32>,
        n: u32,
    ) -> Result<()> {
        let Some(Normalise { sums, normalised, inverses, n_units }) = normalise else { return Ok(()) };
        let of_norm = parameters.view().split_at(layer.parameters + layer.gains()).1;
        let n_kept = if normalised.is_none() { 0 } else { n };
        // SAFETY: one stream keeps the order of the launches.
        unsafe {
            let arguments = (sums, of_norm, normalised, inverses, n, n_units, n_kept);
            stream.run_unchecked(&self.set.mlp_layers_layer_norm, arguments)
        }
    }

    /// The batch norm of a layer's sums for `n` samples, with running moments.
    fn apply_batch_norm(
        &self,
        stream: &Stream,
        normalise: Option<Normalise<'_>>,
        layer: &LayerPlan,
        parameters: &Buffer<f32>,
        running: In<'_, f32>,
        n: u32,
    ) -> Result<()> {
        let Some(Normalise { sums, n_units, .. }) = normalise else { return Ok(()) };
        let of_norm = parameters.view().split_at(layer.parameters + layer.gains()).1;
        // SAFETY: one stream keeps the order of the launches.
        unsafe {
            let arguments = (sums, of_norm, running, n, n_units);
            stream.run_unchecked(&self.set.mlp_layers_batch_norm_apply, arguments)
        }
    }

    /// The batch norm of a layer's sums for a step's batch, whose moments the running ones follow.
    fn batch_norm(
        &self,
        stream: &Stream,
        normalise: Option<Normalise<'_>>,
        layer: &LayerPlan,
        parameters: &Buffer<f32>,
        running: InOut<'_, f32>,
        train: &TrainArrays,
    ) -> Result<()> {
        let Some(Normalise { sums, normalised, inverses, n_units }) = normalise else { return Ok(()) };
        let of_norm = parameters.view().split_at(layer.parameters + layer.gains()).1;
        let TrainArrays { control, n, batch, .. } = train;
        // SAFETY: one stream keeps the order of the launches, of one step; batches of one sample were refused.
        unsafe {
            let arguments = (sums, of_norm, normalised, inverses, running, control, *n, *batch, n_units);
            stream.run_unchecked(&self.set.mlp_layers_batch_norm, arguments)
        }
    }

    /// Gradients of a layer's sums, gains and shifts for a batch, through its batch norm.
    fn batch_norm_back(
        &self,
        stream: &Stream,
        back: NormaliseBack<'_>,
        layer: &LayerPlan,
        parameters: &Buffer<f32>,
        train: &mut TrainArrays,
    ) -> Result<()> {
        let NormaliseBack { gradient, slopes, normalised, inverses, result: Written { single, short }, line } = back;
        let TrainArrays { parts, control, scaled, n, batch, .. } = train;
        let gain = parameters.view().split_at(layer.parameters + layer.gains()).1;
        let result = parts.view_mut().split_at(layer.parts + layer.gains()).1;
        // SAFETY: one stream keeps the order of the launches, of one step; there are lines for a batch.
        unsafe {
            let arguments = (
                gradient,
                &*slopes,
                normalised,
                inverses,
                gain,
                single,
                short,
                result,
                control,
                u32::from(*scaled),
                *n,
                *batch,
                layer.n_outputs,
                line,
                layer.n_parts,
                layer.n_values,
            );
            stream.run_unchecked(&self.set.mlp_layers_batch_norm_back, arguments)
        }
    }

    /// Gradients of a layer's sums, gains and shifts for a batch, through its layer norm.
    fn normalise_back(
        &self,
        stream: &Stream,
        back: NormaliseBack<'_>,
        layer: &LayerPlan,
        parameters: &Buffer<f32>,
        train: &mut TrainArrays,
    ) -> Result<()> {
        let NormaliseBack { gradient, slopes, normalised, inverses, result: Written { single, short }, line } = back;
        let (batch, n_units) = (train.batch, layer.n_outputs);
        let gain = parameters.view().split_at(layer.parameters + layer.gains()).1;
        let result = train.parts.view_mut().split_at(layer.parts + layer.gains()).1;
        let overflow = match train.scaled {
            true => train.control.view_mut().split_at(control::OVERFLOW).1,
            false => InOut::none(),
        };
        // SAFETY: one stream keeps the order of the launches, of one step; there are lines for a batch, and the control words have the one for an overflow.
        unsafe {
            let arguments =
                (gradient, slopes.view_mut(), normalised, inverses, gain, single, short, batch, n_units, line);
            stream.run_unchecked(&self.set.mlp_layers_layer_norm_back, arguments)?;
            let (part, n_parts, stride) = (layer.part, layer.n_parts, layer.n_values);
            let arguments = (&*slopes, normalised, result, overflow, batch, n_units, part, n_parts, stride);
            stream.run_unchecked(&self.set.mlp_layers_layer_norm_parameters, arguments)
        }
    }

    /// Drops units of hidden layer `number`, if they are dropped.
    fn dropout(&self, stream: &Stream, drop: Option<Drop<'_>>, train: &TrainArrays, number: usize) -> Result<()> {
        let Some(Drop { outputs: Written { single, short }, slopes, n_units, line }) =
            drop.filter(|_| !train.mask_keys.is_empty())
        else {
            return Ok(());
        };
        let (key, step) = (train.mask_keys.view().split_at(number).1, train.control.view());
        let (threshold, scale) = (dropout::threshold(train.dropout), dropout::scale(train.dropout));
        let n_kept = if slopes.is_none() { 0 } else { train.batch };
        // SAFETY: one stream keeps the order of the launches; there are lines for a batch.
        unsafe {
            let arguments = (single, short, slopes, key, step, train.batch, n_units, line, threshold, scale, n_kept);
            stream.run_unchecked(&self.set.mlp_layers_dropout, arguments)
        }
    }

    /// Gradient of a layer's sums for `n` samples, where the product behind it does not make it.
    fn slope(&self, stream: &Stream, slope: Option<Slope<'_>>, n: u32) -> Result<()> {
        let Some(Slope { gradient, slopes, result: Written { single, short }, n_units, line }) = slope else {
            return Ok(());
        };
        // SAFETY: there are lines for a batch.
        unsafe {
            let arguments = (gradient, slopes, single, short, n, n_units, line);
            stream.run_unchecked(&self.set.mlp_layers_slope, arguments)
        }
    }

    /// Gathers the samples of a step.
    ///
    /// # Safety
    /// The step's order holds samples of its set.
    unsafe fn gather_step(&self, stream: &Stream, plan: &Plan, tiles: &mut Tiles, step: Step<'_>) -> Result<()> {
        if tiles.takes_features() {
            let Step { features, labels, rows, .. } = step;
            let n_features = plan.layers[0].n_inputs;
            let (Written { single, short }, classes, line) = tiles.features(plan, !labels.is_none());
            // SAFETY: the caller's promise; labels are there for all samples where their classes are asked for.
            return unsafe {
                let arguments = (features, labels, classes, single, short, rows, n_features, line);
                stream.run_unchecked(&self.set.mlp_layers_gather_features, arguments)
            };
        }
        let (gather, single) = tiles.gather(plan, step);
        // SAFETY: the caller's promise; the images are there, and inputs of one of both kinds.
        unsafe {
            if single.is_none() {
                stream.run_unchecked(&self.set.mlp_layers_gather, (gather,))
            } else {
                stream.run_unchecked(&self.set.mlp_layers_gather_single, (gather, single))
            }
        }
    }

    /// Writes the parameters where the products read them, if that is elsewhere; after the host has set them.
    pub fn parameters_set(&self, stream: &Stream, network: &mut NetworkArrays) -> Result<()> {
        let NetworkArrays { plan, parameters, offsets, tiles, .. } = network;
        let weights = tiles.weights();
        if weights.values.is_none() {
            return Ok(());
        }
        // SAFETY: the layers are the plan's, which lie one behind the other in its values.
        unsafe {
            let arguments = (&*parameters, &*offsets, weights, plan.n_quads);
            stream.run_unchecked(&self.set.mlp_layers_weights, arguments)
        }
    }

    /// Gathers the samples of the step that the control words name: before the first of several steps in order, each of which gathers those of the next.
    pub fn gather(
        &self,
        stream: &Stream,
        network: &mut NetworkArrays,
        train: &TrainArrays,
        source: Source<'_>,
    ) -> Result<()> {
        let NetworkArrays { plan, tiles, .. } = network;
        let (samples, order) = source.samples();
        let (step, n, batch) = (train.control.view(), train.n, train.batch);
        let rows = RowsArgs { order, step, n, batch, first: 0, base: 0 };
        // SAFETY: the order holds samples of the set.
        unsafe { self.gather_step(stream, plan, tiles, samples.step(rows)) }
    }

    /// One step of training; the step's number is that of the control words, and is moved on.
    pub fn step(
        &self,
        stream: &Stream,
        network: &mut NetworkArrays,
        train: &mut TrainArrays,
        source: Source<'_>,
    ) -> Result<()> {
        if matches!(source, Source::Copied(_)) || !network.tiles.are_gathered_by_updates() {
            self.gather(stream, network, train, source)?;
        }
        let NetworkArrays { plan, parameters, running, logits, tiles, regression, .. } = network;
        let (last, batch) = (plan.layers.len() - 1, train.batch);
        for number in 0..last {
            tiles.run_forward(stream, plan, number, batch, parameters, logits)?;
            let normalise = tiles.normalise(plan, number, true);
            match plan.running_of(number) {
                Some(from) => {
                    let running = running.view_mut().split_at(from).1;
                    self.batch_norm(stream, normalise, &plan.layers[number], parameters, running, train)?;
                }
                None => self.normalise(stream, normalise, &plan.layers[number], parameters, batch)?,
            }
            self.activate(stream, tiles.activate(plan, number, true), batch)?;
            self.dropout(stream, tiles.dropped(plan, number), train, number)?;
        }
        let scale = if train.scaled { train.control.view().split_at(control::SCALE).1 } else { In::none() };
        let loss =
            Loss { partial: train.partial_losses.view_mut(), scale, mean: train.mean, smoothing: train.smoothing };
        if !tiles.run_logits(stream, plan, parameters, loss)? {
            tiles.run_forward(stream, plan, last, batch, parameters, logits)?;
            let n_outputs = plan.layers[last].n_outputs;
            match *regression {
                None => self.loss(stream, logits, train, source, tiles.loss_gradient(), n_outputs)?,
                Some(loss) => {
                    self.regression(stream, logits, train, source, tiles.loss_gradient(), (loss, n_outputs))?
                }
            }
        }
        for number in (1..=last).rev() {
            tiles.run_backward(stream, plan, number, parameters)?;
            match tiles.normalise_back(plan, number - 1) {
                Some(back) if plan.layers[number - 1].norm == Some(Norm::Batch) => {
                    self.batch_norm_back(stream, back, &plan.layers[number - 1], parameters, train)?;
                }
                Some(back) => self.normalise_back(stream, back, &plan.layers[number - 1], parameters, train)?,
                None => self.slope(stream, tiles.slope(plan, number - 1), batch)?,
            }
        }
        if plan.updates {
            let TrainArrays { moments, rates, control, rule, .. } = train;
            let (n_rates, step) = (rates.len() as u32, control.view().split_at(control::STEP).1);
            let updates = Updates { parameters, moments, rates: rates.view(), n_rates, step, rule: *rule };
            tiles.run_updates(stream, plan, updates)?;
        } else {
            let overflow = train.scaled.then_some(&mut train.control);
            tiles.run_gradients(stream, plan, &mut train.parts, overflow)?;
        }
        self.update(stream, network, train, source)
    }

    /// Loss and gradient of the logits.
    fn loss(
        &self,
        stream: &Stream,
        logits: &Buffer<f32>,
        train: &mut TrainArrays,
        source: Source<'_>,
        Written { single, short }: Written<'_>,
        n_classes: u32,
    ) -> Result<()> {
        let (samples, order) = source.samples();
        let TrainArrays { partial_losses, control, mean, smoothing, scaled, n, batch, .. } = train;
        let step = control.view();
        let scale = if *scaled { step } else { In::none() };
        let rows = RowsArgs { order, step, n: *n, batch: *batch, first: 0, base: 0 };
        // SAFETY: the labels were checked for these classes, and are there for every sample that the order names.
        unsafe {
            let arguments = (
                logits,
                single,
                &samples.labels,
                partial_losses,
                scale,
                short,
                rows,
                n_classes,
                u32::from(*mean),
                *smoothing,
            );
            stream.run_unchecked(&self.set.mlp_layers_loss_gradient, arguments)
        }
    }

    /// Loss and gradient of the outputs of a regression.
    fn regression(
        &self,
        stream: &Stream,
        outputs: &Buffer<f32>,
        train: &mut TrainArrays,
        source: Source<'_>,
        Written { single, short }: Written<'_>,
        (Regression { delta, factor }, n_outputs): (Regression, u32),
    ) -> Result<()> {
        let (samples, order) = source.samples();
        let TrainArrays { partial_losses, control, mean, scaled, n, batch, .. } = train;
        let step = control.view();
        let scale = if *scaled { step } else { In::none() };
        let rows = RowsArgs { order, step, n: *n, batch: *batch, first: 0, base: 0 };
        let targets = &samples.targets;
        let mean = u32::from(*mean);
        // SAFETY: the targets are there for every sample that the order names.
        unsafe {
            let arguments =
                (outputs, single, targets, partial_losses, scale, short, rows, n_outputs, mean, delta, factor);
            stream.run_unchecked(&self.set.mlp_layers_regression_gradient, arguments)
        }
    }

    /// The factor that clips the gradients of a step, if they are clipped.
    fn clip(&self, stream: &Stream, network: &NetworkArrays, train: &mut TrainArrays) -> Result<()> {
        let TrainArrays { parts, control, scaled, clip: Some(Clip { most, sums, factor }), .. } = train else {
            return Ok(());
        };
        let (n_quads, n_sums) = (network.plan.n_quads, sums.len() as u32);
        let scale = if *scaled { control.view() } else { In::none() };
        // SAFETY: the layers are the plan's, which lie one behind the other in its values and have their parts.
        unsafe {
            let arguments = (&*parts, &network.offsets, scale, &mut *sums, n_quads);
            stream.run_unchecked(&self.set.mlp_layers_norm, arguments)?;
            stream.run_unchecked(&self.set.mlp_layers_clip, (&*sums, factor, n_sums, *most))
        }
    }

    /// The end of a step: the update of all parameters, but where gradients' products have done it; the loss, and the samples of the next step.
    fn update(
        &self,
        stream: &Stream,
        network: &mut NetworkArrays,
        train: &mut TrainArrays,
        source: Source<'_>,
    ) -> Result<()> {
        self.clip(stream, network, train)?;
        let (n, batch) = (train.n, train.batch);
        let (n_moments, n_layers) = (train.moments.len() as u32, network.plan.layers.len() as u32);
        let n_partial_losses = network.tiles.n_partial_losses();
        // The step is among the control words, which are given to be written.
        let rows = |order| RowsArgs { order, step: In::none(), n, batch, first: 0, base: 0 };
        let next = match source {
            Source::Ordered(samples, order) => Some(samples.step(rows(order.order.view()))),
            Source::Copied(_) => None,
        };
        let (weights, next) = network.tiles.updated(&network.plan, next);
        let mut moments = train.moments.iter_mut().map(Buffer::view_mut);
        let update = views! { UpdateArgs {
            train reads parts, rates, partial_losses;
            network reads offsets;
            train writes losses, control;
            clip: train.clip.as_ref().map_or_else(In::none, |clip| clip.factor.view()),
            weights,
            next,
            rule: train.rule,
            parameters: network.parameters.view_mut(),
            first: moments.next().unwrap_or_else(InOut::none),
            second: moments.next().unwrap_or_else(InOut::none),
            rows: rows(In::none()),
            n_moments,
            scaled: u32::from(train.scaled),
            n_partial_losses,
            n_layers,
            n_quads: if network.plan.updates { 0 } else { network.plan.n_quads },
            n_values: network.plan.n_values,
            n_part_values: network.plan.n_part_values,
        } };
        // SAFETY: the layers are the plan's, which lie one behind the other in its values and have their parts; the engine steps no further than the epoch.
        unsafe { stream.run_unchecked(&self.set.mlp_layers_update, (update,)) }
    }

    /// Logits of `n` samples from `from` on; at most the network's capacity.
    pub fn logits(
        &self,
        stream: &Stream,
        network: &mut NetworkArrays,
        samples: &Samples,
        from: u32,
        n: u32,
    ) -> Result<()> {
        let rows = Self::rows_of(network, samples, from, n)?;
        self.forward(stream, network, samples, rows())
    }

    /// Class and loss of `n` samples from `from` on, and units that they make positive; at most the network's capacity.
    pub fn classify(
        &self,
        stream: &Stream,
        network: &mut NetworkArrays,
        samples: &Samples,
        findings: &mut Findings,
        from: u32,
        n: u32,
    ) -> Result<()> {
        let rows = Self::rows_of(network, samples, from, n)?;
        let n_classes = network.plan.layers.last().map_or(0, |layer| layer.n_outputs);
        self.forward(stream, network, samples, rows())?;
        let Findings { classes, losses } = findings;
        // SAFETY: labels were checked when the set was loaded; the rows have no order and no step.
        unsafe {
            if let Some(Regression { delta, factor }) = network.regression {
                let arguments = (&network.logits, &samples.targets, losses, rows(), n_classes, delta, factor);
                stream.run_unchecked(&self.set.mlp_layers_regression_losses, arguments)?;
            } else {
                let arguments = (&network.logits, &samples.labels, classes, losses, rows(), n_classes);
                stream.run_unchecked(&self.set.mlp_layers_classify, arguments)?;
            }
        }
        for (number, active) in network.active.iter_mut().enumerate() {
            let n_units = network.plan.layers[number].n_outputs;
            let (outputs, line) = network.tiles.outputs(&network.plan, number);
            match outputs {
                Outputs::Short(outputs) => {
                    stream.run(&self.set.mlp_layers_active_parts, (outputs, active, n, n_units, line))?;
                }
                Outputs::Single(outputs) => {
                    stream.run(&self.set.mlp_layers_active, (outputs, active, n, n_units, line))?;
                }
            }
        }
        Ok(())
    }

    /// `n` samples from `from` on, as they lie.
    fn rows_of(
        network: &NetworkArrays,
        samples: &Samples,
        from: u32,
        n: u32,
    ) -> Result<impl Fn() -> RowsArgs<'static> + use<>> {
        if n > network.capacity || from.checked_add(n).is_none_or(|end| end > samples.capacity) {
            let most = network.capacity.min(samples.capacity.saturating_sub(from));
            return Err(Error::shape("samples at once", format!("at most {most}"), n));
        }
        Ok(move || {
            let (order, step) = (In::none(), In::none());
            RowsArgs { order, step, n: from + n, batch: n, first: from, base: from }
        })
    }
}
