//! Training with a whole epoch in one launch.

#[allow(unsafe_code)]
mod kernels;
mod optimizer;
mod side_by_side;
mod spare;

use std::sync::Arc;

use warpplay_gpu::mlp::epoch::{
    CLASSES, HIDDEN, INPUT_MULTIPLE, LEAST_EPSILON, MOST_BATCH, MOST_BLOCKS, MOST_HIDDEN, max_inputs, n_blocks,
};

use super::{EpochOutcome, EpochPlan, SetId, Setup, Train};
use crate::mlp::Dataset;
use crate::mlp::evaluation::Classified;
use crate::mlp::options::{
    Activation, Engine, Loss, Optimizer, Options, Precision, Reduction, Residence, seed_in_32_bits,
};
use crate::mlp::state::{LayerValues, TrainState};
use crate::{Backend, Buffer, Device, Error, Memory, Result, Stream};
use kernels::{Blocks, Course, DeviceSet, Kernels, Networks, Shape};
use optimizer::Form;
pub(in crate::mlp) use side_by_side::SideBySide;
use spare::Spare;

/// Checks that this engine supports `setup` on this device.
///
/// Requirements: compute capability 9.0, or 8.0 or newer with 32 multiprocessors; f32, tf32, bf16 or f16 (the last three by numbers of 11 bits), rectifiers, cross-entropy, images of bytes, one or two hidden layers of at most 512 units each, a number of pixels that is a multiple of 16 and at
/// most 944 (as many as the kernel's warps have; with two hidden layers 848, as many as shared memory holds; without warpgroups 227 KiB hold 944, the 163 KiB of compute capability 8.0 hold 944 and 848, the 99 KiB of 8.6 and 8.9 none), and at most 16 classes; a multiprocessor for each block of two hidden layers (16, above 256 units in either 32) or of more than 256 units in one (32); for training also batches of at most 256 samples from a set on the device, and an epsilon of
/// at least 1e-12 where the optimiser has one.
///
/// # Errors
/// Names the first option that is not supported, and what is allowed.
pub(in crate::mlp) fn fits(device: &Device, setup: &Setup) -> Result<()> {
    let Options {
        activation,
        layer_norm,
        batch_norm,
        dropout,
        loss,
        batch,
        optimizer,
        label_smoothing,
        clip_norm,
        precision,
        stream,
        ..
    } = &setup.options;
    let (n_inputs, hidden, n_classes) = sizes_of(setup)?;
    let limits = device.limits();
    let info = device.info()?;
    let refused = |allowed| Err(Error::option("engine", Engine::Epoch, allowed));
    if info.compute_capability.is_some_and(|capability| capability < (8, 0)) {
        return refused("layers: this device has not compute capability 8.0 or newer");
    }
    let by_warpgroups = device.has_warpgroups();
    // Blocks that are no cluster, as those of two hidden layers, need as many multiprocessors, which a part of a GPU may not have.
    let has_blocks = |blocks| device.backend() != Backend::Cuda || info.n_multiprocessors >= blocks;
    let n_layers = if hidden[1] == 0 { 1 } else { 2 };
    let most_inputs = max_inputs(limits.max_shared_bytes, n_layers, Blocks::pixel_buffers(by_warpgroups));
    if !by_warpgroups && !has_blocks(MOST_BLOCKS) {
        return refused("layers: this device has fewer than 32 multiprocessors");
    }
    if most_inputs == 0 {
        return refused("layers: blocks of this device have too little shared memory");
    }
    if !matches!(precision, Precision::F32 | Precision::Tf32 | Precision::Bf16 | Precision::F16) {
        return Err(Error::option("precision", precision, "f32, tf32, bf16 or f16 with engine epoch"));
    }
    if *activation != Activation::Relu {
        return Err(Error::option("activation", activation, "relu with engine epoch"));
    }
    if *layer_norm {
        return Err(Error::option("layer_norm", layer_norm, "false with engine epoch"));
    }
    if *batch_norm {
        return Err(Error::option("batch_norm", batch_norm, "false with engine epoch"));
    }
    if setup.features {
        return Err(Error::option("engine", Engine::Epoch, "auto or layers with features in f32"));
    }
    if *loss != Loss::CrossEntropy {
        return Err(Error::option("loss", loss, "cross_entropy with engine epoch"));
    }
    if n_layers == 2 && !has_blocks(n_blocks([1, 1])) {
        return Err(Error::option("hidden", n_layers, "one hidden layer with engine epoch on this device"));
    }
    let most_hidden = if has_blocks(MOST_BLOCKS) { MOST_HIDDEN } else { limits.max_cluster * HIDDEN };
    if let Some(n_hidden) = hidden.into_iter().find(|&n_hidden| n_hidden > most_hidden) {
        let allowed = format!("at most {most_hidden} units with engine epoch on this device");
        return Err(Error::option("hidden", n_hidden, allowed));
    }
    if !n_inputs.is_multiple_of(INPUT_MULTIPLE) || n_inputs > most_inputs {
        let layers = if n_layers == 2 { " and two hidden layers" } else { "" };
        let expected = format!("a multiple of {INPUT_MULTIPLE} up to {most_inputs} pixels with engine epoch{layers}");
        return Err(Error::shape("images", expected, n_inputs));
    }
    if n_classes > CLASSES {
        return Err(Error::shape("classes", format!("at most {CLASSES} with engine epoch"), n_classes));
    }
    if setup.train.is_none() {
        return Ok(());
    }
    if *batch > MOST_BATCH {
        return Err(Error::option("batch", batch, format!("at most {MOST_BATCH} with engine epoch")));
    }
    if let Optimizer::Adam { epsilon, .. } | Optimizer::AdamW { epsilon, .. } | Optimizer::RmsProp { epsilon, .. } =
        optimizer
        && *epsilon < LEAST_EPSILON
    {
        return Err(Error::option("epsilon", epsilon, format!("at least {LEAST_EPSILON:e} with engine epoch")));
    }
    if *dropout != 0.0 {
        return Err(Error::option("dropout", dropout, "0 with engine epoch"));
    }
    if *label_smoothing != 0.0 {
        return Err(Error::option("label_smoothing", label_smoothing, "0 with engine epoch"));
    }
    if let Some(norm) = clip_norm {
        return Err(Error::option("clip_norm", norm, "none with engine epoch"));
    }
    if *stream != Residence::Device {
        return Err(Error::option("stream", stream, "device with engine epoch"));
    }
    Ok(())
}

/// Whether this engine, which [`fits`], is known to be faster than `layers` on this device. It is not where steps of `layers` are large: its parts of 64 samples follow each other, and those of blocks that are no cluster wait for global memory.
///
/// Measured on an H200 by SGD and Adam. One hidden layer of 512 units in one half: `layers` is as fast or up to 9 % faster with 256 samples a step, and takes 17 to 31 % more time with 192; in f32 it takes 12 to 21 % more with 256. Two hidden layers of 256 or 512 units: `layers` takes up to 14 % more time with 128 samples a step,
/// but 13 to 18 % less of 512 units in one half, and 19 to 43 % less with 192. Other numbers of units were not measured.
///
/// Without warpgroups, measured on an H200 in the place of a device of compute capability 8.0: one hidden layer of 256 or 512 units takes 1.4 to 8 times as long by `layers`; two take 1.1 to 6 times as long, but 3 to 6 % less of 512 units in one half with 192 samples a step. Classification alone was not measured there.
pub(in crate::mlp) fn is_faster(device: &Device, setup: &Setup) -> bool {
    let Options { batch, precision, .. } = setup.options;
    let Ok((_, hidden, _)) = sizes_of(setup) else { return false };
    let short = precision != Precision::F32;
    if setup.train.is_none() {
        return device.has_warpgroups();
    }
    let most = match Blocks::of(hidden, device.has_warpgroups()) {
        Blocks::Grid if short => 192,
        Blocks::Cluster | Blocks::Grid | Blocks::Warps => MOST_BATCH,
        Blocks::DeepWarps if short && n_blocks(hidden) > 16 => 128,
        Blocks::DeepWarps => 192,
        Blocks::Deep if short && n_blocks(hidden) > 16 => 64,
        Blocks::Deep => 128,
    };
    batch <= most
}

/// Whether each network of a setup has a cluster, so that many are trained in one launch; else each has launches of its own.
pub(in crate::mlp) fn has_clusters(device: &Device, setup: &Setup) -> Result<bool> {
    Ok(shape_of(device, setup, 1)?.blocks == Blocks::Cluster)
}

/// Pixels, units of the first hidden layer and of the second (0 where there is none), and classes of a setup.
fn sizes_of(setup: &Setup) -> Result<(u32, [u32; 2], u32)> {
    match setup.sizes[..] {
        [n_inputs, first, n_classes] => Ok((n_inputs, [first, 0], n_classes)),
        [n_inputs, first, second, n_classes] => Ok((n_inputs, [first, second], n_classes)),
        _ => {
            let allowed = "one or two hidden layers with engine epoch";
            Err(Error::option("hidden", setup.sizes.len().saturating_sub(2), allowed))
        }
    }
}

/// What the kernels are told of `n_models` networks of a setup.
fn shape_of(device: &Device, setup: &Setup, n_models: u32) -> Result<Shape> {
    let (n_inputs, hidden, n_classes) = sizes_of(setup)?;
    // What is not trained remembers nothing.
    let form = if setup.train.is_some() { Form::of(&setup.options) } else { Form::NONE };
    let short = setup.options.precision != Precision::F32;
    let blocks = Blocks::of(hidden, device.has_warpgroups());
    Ok(Shape { n_inputs, hidden, n_classes, n_models, blocks, form, short })
}

/// Memory of `n_models` networks, with sets of these numbers of samples in addition to the training set, including that of the spare engine, which is allocated when needed.
pub(in crate::mlp) fn memory_needed(device: &Device, setup: &Setup, sets: &[usize], n_models: u32) -> Result<Memory> {
    let shape = shape_of(device, setup, n_models)?;
    let train = setup.train.as_ref().map(|train| train.len());
    let spare = Spare::memory_needed(device, setup, sets)?;
    // Only a lone network classifies the training set.
    let answers = Shape { n_models: 1, ..shape };
    let of_sets = train.map_or(0, |n| DeviceSet::bytes(n, answers))
        + sets.iter().map(|&n| DeviceSet::bytes(n, shape)).sum::<u64>();
    let course = train.map_or(0, |n| Course::bytes(shape, n as u32, setup.options.batch));
    Ok(Memory::default()
        // Those of before an epoch are kept.
        .on_device("weights", Networks::bytes(shape) + 4 * shape.n_values() as u64 * u64::from(n_models))
        .on_device("sets", of_sets)
        .on_device("orders and losses", course)
        .on_device("spare engine", spare.device()))
}

/// Opens the engine; `fits` has accepted the setup.
pub(in crate::mlp) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Train>> {
    let shape = shape_of(device, &setup, 1)?;
    let stream = device.stream()?;
    let kernels = Kernels::load(device, shape)?;
    let training = match &setup.train {
        Some(train) => {
            let Options { batch, reduction, seed, .. } = setup.options;
            let course = Course::new(
                &stream,
                shape,
                train.len() as u32,
                batch,
                reduction == Reduction::Mean,
                &[seed_in_32_bits(seed)],
            )?;
            Some(Training { course, rates: Vec::new(), options: setup.options.clone() })
        }
        None => None,
    };
    let mut engine = EpochEngine {
        networks: Networks::new(&stream, shape)?,
        kept: stream.alloc(shape.n_values())?,
        spare: Spare::new(device, &setup),
        classified_by: Engine::Epoch,
        sets: Vec::new(),
        training,
        shape,
        kernels,
        stream,
    };
    if let Some(train) = &setup.train {
        engine.load(train)?;
    }
    Ok(Box::new(engine))
}

/// The data that only a training needs.
struct Training {
    course: Course,
    /// The rates on the device.
    rates: Vec<f32>,
    options: Options,
}

/// One network in training, or in use.
struct EpochEngine {
    /// The single network.
    networks: Networks,
    kept: Buffer<f32>,
    spare: Spare,
    classified_by: Engine,
    /// The training set first.
    sets: Vec<(Arc<Dataset>, DeviceSet)>,
    training: Option<Training>,
    shape: Shape,
    kernels: Kernels,
    stream: Stream,
}

impl Train for EpochEngine {
    fn train(&mut self, plan: &EpochPlan<'_>, _: &mut dyn FnMut(u32, f64) -> bool) -> Result<EpochOutcome> {
        let Self { networks, kept, spare, sets, training, kernels, stream, shape, .. } = self;
        let (Some(Training { course, rates, options }), Some((_, set))) = (training, sets.first()) else {
            return Err(Error::Order { what: "engine", reason: "it was opened without a training set".into() });
        };
        let new = optimizer::rates(options, plan.learning_rates, plan.updates);
        if *rates != new {
            course.set_rates(stream, &new)?;
            *rates = new;
        }
        kernels.train(stream, networks, set, course, plan.epoch, plan.from_step)?;
        if networks.left(stream)?.is_empty() {
            return Ok(outcome(&course.step_losses(stream)?, plan.loss_before, plan.from_step));
        }
        // What the launch wrote is worth nothing, also where the spare engine fails.
        stream.copy(&mut networks.values, 0, kept, 0, shape.n_values())?;
        let (outcome, state) = spare.train(&unpack(&stream.read(kept)?, *shape), plan)?;
        stream.write(&mut networks.values, 0, &pack(&state, *shape)?)?;
        Ok(outcome)
    }

    fn load(&mut self, set: &Arc<Dataset>) -> Result<SetId> {
        if let Some(at) = self.sets.iter().position(|(known, _)| Arc::ptr_eq(known, set)) {
            return Ok(SetId(at));
        }
        self.sets.push((Arc::clone(set), DeviceSet::new(&self.stream, set, self.shape)?));
        Ok(SetId(self.sets.len() - 1))
    }

    fn classify(&mut self, SetId(at): SetId) -> Result<Classified> {
        let Self { networks, spare, classified_by, sets, kernels, stream, shape, .. } = self;
        let n_sets = sets.len();
        let Some((images, set)) = sets.get_mut(at) else {
            return Err(Error::shape("data set", format!("below {n_sets}"), at));
        };
        kernels.classify(stream, networks, set)?;
        let answers = set.found(stream)?;
        *classified_by = Engine::Epoch;
        if !answers.left.is_empty() {
            *classified_by = Engine::Layers;
            return spare.classify(&unpack(&stream.read(&networks.values)?, *shape), images);
        }
        let mut active = answers.active.iter().map(|&active| active == 1);
        let active_of = |&n_hidden: &u32| active.by_ref().take(n_hidden as usize).collect();
        Ok(Classified {
            classes: answers.classes,
            loss_sum: answers.losses.iter().map(|&loss| f64::from(loss)).sum(),
            active: shape.hidden_layers().iter().map(active_of).collect(),
        })
    }

    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        let on_device = self.stream.upload(images)?;
        let logits = self.logits_on_device(&on_device)?;
        self.stream.read(&logits)
    }

    fn logits_on_device(&mut self, images: &Buffer<u8>) -> Result<Buffer<f32>> {
        let Self { networks, spare, kernels, stream, shape, .. } = self;
        let n = images.len() / shape.n_inputs as usize;
        let mut logits = stream.alloc(n * shape.n_classes as usize)?;
        kernels.logits(stream, networks, images, &mut logits)?;
        // Waits for the kernel.
        if !networks.left(stream)?.is_empty() {
            return spare.logits_on_device(&unpack(&stream.read(&networks.values)?, *shape), images);
        }
        Ok(logits)
    }

    fn keep(&mut self) -> Result<()> {
        self.stream.copy(&mut self.kept, 0, &self.networks.values, 0, self.shape.n_values())
    }

    fn restore(&mut self) -> Result<()> {
        self.stream.copy(&mut self.networks.values, 0, &self.kept, 0, self.shape.n_values())
    }

    fn state(&mut self) -> Result<TrainState> {
        Ok(unpack(&self.stream.read(&self.networks.values)?, self.shape))
    }

    fn set_state(&mut self, state: &TrainState) -> Result<()> {
        let values = pack(state, self.shape)?;
        self.stream.write(&mut self.networks.values, 0, &values)
    }

    fn engine(&self) -> Engine {
        Engine::Epoch
    }

    fn classified_by(&self) -> Engine {
        self.classified_by
    }
}

/// Computes the outcome from an epoch's step losses from `from_step` on, and the sum of those before.
pub(super) fn outcome(step_losses: &[f32], loss_before: f64, from_step: u32) -> EpochOutcome {
    let bad_step = (from_step as usize..step_losses.len()).find(|&step| !step_losses[step].is_finite());
    EpochOutcome {
        loss_sum: step_losses[from_step as usize..].iter().fold(loss_before, |sum, &loss| sum + f64::from(loss)),
        next_step: step_losses.len() as u32,
        bad_step: bad_step.map(|step| step as u32),
        ..EpochOutcome::default()
    }
}

/// Converts a network's values, and what its optimiser remembers, to the layout of the kernels.
pub(super) fn pack(state: &TrainState, shape: Shape) -> Result<Vec<f32>> {
    let flat = |layers: &[LayerValues]| -> Vec<f32> {
        layers.iter().flat_map(|layer| layer.weights.iter().chain(&layer.bias)).map(|&value| value as f32).collect()
    };
    let mut values = flat(&state.layers);
    let n_arrays = 1 + shape.form.n_moments() as usize;
    let n_network = shape.n_values() / n_arrays;
    if values.len() != n_network {
        return Err(Error::shape("weights", n_network, values.len()));
    }
    // Nothing is remembered before the first update; and of the mean, RMSprop remembers nothing.
    values.resize((n_arrays - state.moments.len().min(n_arrays - 1)) * n_network, 0.0);
    for moment in &state.moments {
        values.extend(flat(moment));
    }
    if values.len() != shape.n_values() {
        return Err(Error::shape("values of the optimiser", shape.n_values() - n_network, values.len() - n_network));
    }
    Ok(values)
}

/// Converts the kernels' values to layers, and to the arrays that the optimiser has.
pub(super) fn unpack(values: &[f32], shape: Shape) -> TrainState {
    let n_arrays = 1 + shape.form.n_moments() as usize;
    let array = |number: usize| {
        let n_network = shape.n_values() / n_arrays;
        let mut rest = values.iter().skip(number * n_network).map(|&value| f64::from(value));
        let layer = |widths: &[u32]| LayerValues {
            weights: rest.by_ref().take((widths[0] * widths[1]) as usize).collect(),
            bias: rest.by_ref().take(widths[1] as usize).collect(),
            ..LayerValues::default()
        };
        let widths = [&[shape.n_inputs], shape.hidden_layers(), &[shape.n_classes]].concat();
        widths.windows(2).map(layer).collect()
    };
    TrainState {
        layers: array(0),
        moments: (n_arrays - shape.form.n_kept as usize..n_arrays).map(array).collect(),
        ..TrainState::default()
    }
}
