//! Training layer by layer: any network, any batch, every optimiser; the set on the device, or copied batch by batch.

#[allow(unsafe_code)]
mod kernels;
mod numbers;
mod plan;
mod staging;
mod tiles;

use std::sync::Arc;

use warpplay_gpu::mlp::layers::view::line_length;
use warpplay_gpu::mlp::layers::{activate, clip, control};
use warpplay_gpu::mlp::shuffle;
use warpplay_gpu::tile::task::n_pairs;
use warpplay_gpu::tile::update::Rate;

use super::{EpochOutcome, EpochPlan, SetId, Setup, Train};
use crate::mlp::Dataset;
use crate::mlp::evaluation::Classified;
use crate::mlp::options::{Activation, Engine, Loss, MAX_CLASSES, Optimizer, Options, Precision, Reduction, Residence};
use crate::mlp::state::TrainState;
use crate::{Buffer, Device, Error, Graph, Memory, Result, Stream};
use kernels::{Course, Findings, Kernels, NetworkArrays, Order, Regression, Sample, Samples, Source, TrainArrays};
use numbers::Numbers;
use plan::{Norm, Plan};
use staging::Staging;
use tiles::Tiles;

/// Maximum number of steps of one recorded graph. The training can be stopped between two graphs.
const STEPS_AT_ONCE: u32 = 64;
/// Minimum number of samples that are classified at once, if the set has as many: fewer would leave a GPU idle.
const CLASSIFIED_AT_ONCE: u32 = 2048;

const _: () = assert!(MAX_CLASSES <= warpplay_gpu::mlp::layers::loss::MAX_CLASSES);

/// Opens the engine.
///
/// # Errors
/// [`Error::Option`] for a precision that the device does not support; [`Error::OutOfMemory`] if the device has not enough memory.
pub(in crate::mlp) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Train>> {
    let sample = sample_of(&setup);
    let Setup { options, sizes, train, features } = setup;
    let numbers = Numbers::of(device, options.precision, features)?;
    let stream = device.stream()?;
    let kernels = Kernels::load(device)?;
    let (plan, capacity) = plan_of(&options, &sizes, train.as_deref(), numbers)?;
    let n_train = train.as_ref().map(|set| sample_count(set)).transpose()?;
    let batch = n_train.map_or(options.evaluate_batch, |n| options.batch.min(n));
    let n_outputs = sizes[sizes.len() - 1];
    let (of, loss) = (curve(&options), regression(options.loss, n_outputs));
    let mut network = NetworkArrays::new(&stream, plan, numbers, capacity, of, loss)?;
    if n_train.is_some() {
        network.train(&stream, batch, options.dropout)?;
    }
    let (kept, kept_running) = (stream.alloc(network.plan.n_values)?, stream.alloc(network.plan.n_running())?);
    let staging = match options.stream {
        Residence::Device => None,
        Residence::Host => Some(Staging::new(&stream, sample, network.capacity)?),
    };
    let training = match n_train {
        Some(n) => Some(Training::new(&stream, &network.plan, &options, batch, n)?),
        None => None,
    };
    let mut engine = LayersEngine {
        graphs: None,
        training,
        network,
        kept,
        kept_running,
        staging,
        sets: Vec::new(),
        kernels,
        stream,
        options,
    };
    if let Some(train) = &train {
        engine.load(train)?;
    }
    Ok(Box::new(engine))
}

/// The layout of the network, and the number of samples processed at once.
fn plan_of(options: &Options, sizes: &[u32], train: Option<&Dataset>, numbers: Numbers) -> Result<(Plan, u32)> {
    let n_train = train.map(sample_count).transpose()?;
    let batch = n_train.map_or(options.evaluate_batch, |n| options.batch.min(n));
    // A host that copies batches has the room of the larger of the two on the device, and no more.
    let at_once = match options.stream {
        Residence::Device => CLASSIFIED_AT_ONCE.max(options.evaluate_batch),
        Residence::Host => options.evaluate_batch,
    };
    let norm = match (options.layer_norm, options.batch_norm) {
        (true, _) => Some(Norm::Layer),
        (false, true) => Some(Norm::Batch),
        (false, false) => None,
    };
    // Gradients that are clipped, or carry a loss scale, must all be known before a parameter is updated. What other optimisers remember is read and written faster by a launch of many warps.
    let may_update =
        options.optimizer == Optimizer::Sgd && options.clip_norm.is_none() && options.precision != Precision::F16;
    let pairs = may_update.then(|| n_pairs(numbers.parts, numbers.parts));
    Ok((Plan::new(sizes, batch, norm, pairs)?, batch.max(at_once)))
}

/// Memory of the network and its training, with sets of these numbers of samples in addition to the training set.
pub(in crate::mlp) fn memory_needed(device: &Device, setup: &Setup, sets: &[usize]) -> Result<Memory> {
    let Setup { options, sizes, train, features } = setup;
    let numbers = Numbers::of(device, options.precision, *features)?;
    let (plan, capacity) = plan_of(options, sizes, train.as_deref(), numbers)?;
    let n_train = train.as_ref().map_or(0, |train| train.len());
    let batch = u64::from(options.batch).min(n_train as u64);
    // Weights and what the optimiser remembers, each with the copy that a diverging epoch goes back to.
    let copies = 2 * (1 + if n_train > 0 { options.optimizer.n_moments() as u64 } else { 0 });
    let trained = (n_train > 0).then_some(batch as u32);
    let logits = plan.layers.last().map_or(0, |layer| u64::from(layer.line()) * u64::from(capacity));
    let layers = 4 * logits + Tiles::bytes(&plan, numbers, capacity, trained, curve(options));
    let sample = sample_of(setup).bytes();
    let held = 2 * sample * u64::from(capacity);
    // Running moments, and their copy.
    let running = 8 * plan.n_running() as u64;
    let memory =
        Memory::default().on_device("weights", 4 * copies * plan.n_values as u64 + running).on_device("layers", layers);
    let memory = match n_train as u64 {
        0 => memory,
        n => {
            let buckets = u64::from(shuffle::n_buckets(n_train as u32)) + 1;
            let order = 4 * (3 * n + buckets) + 24 * n.div_ceil(batch);
            let norm = options.clip_norm.map_or(0, |_| 8 * u64::from(clip::n_sums(plan.n_quads)) + 4);
            let masks = if options.dropout > 0.0 { 8 * options.hidden.len() as u64 } else { 0 };
            let gradients = 4 * plan.n_part_values as u64 + norm + masks;
            memory.on_device("gradients", gradients).on_device("order and losses", order)
        }
    };
    Ok(match options.stream {
        Residence::Device => {
            let n: u64 = [n_train].iter().chain(sets).map(|&n| n as u64).sum();
            memory.on_device("sets", n * (sample + 8))
        }
        Residence::Host => memory.on_device("batches", held + 8 * u64::from(capacity)).on_host("batches", held),
    })
}

/// What the samples of a setup have.
fn sample_of(setup: &Setup) -> Sample {
    let Setup { options, sizes, features, .. } = setup;
    let n_targets = options.loss.is_regression().then(|| sizes[sizes.len() - 1]);
    Sample { n_inputs: sizes[0], features: *features, n_targets }
}

fn sample_count(set: &Dataset) -> Result<u32> {
    // Positions of samples, a batch further, must fit 32 bits.
    u32::try_from(set.len())
        .ok()
        .filter(|&n| n <= u32::MAX / 2)
        .ok_or_else(|| Error::shape("samples", format!("at most {}", u32::MAX / 2), set.len()))
}

/// The kernels' form of an activation; `None` for the rectifier without a norm, which is part of the products.
const fn curve(options: &Options) -> Option<u32> {
    match options.activation {
        Activation::Relu if options.has_norm() => Some(activate::kind::RELU),
        Activation::Relu => None,
        Activation::Tanh => Some(activate::kind::TANH),
        Activation::Sigmoid => Some(activate::kind::SIGMOID),
        Activation::Gelu => Some(activate::kind::GELU),
    }
}

/// The kernels' form of a loss; `None` for cross-entropy.
fn regression(loss: Loss, n_outputs: u32) -> Option<Regression> {
    let n = n_outputs as f32;
    match loss {
        Loss::CrossEntropy => None,
        Loss::MeanSquaredError => Some(Regression { delta: f32::INFINITY, factor: 2.0 / n }),
        Loss::Huber => Some(Regression { delta: 1.0, factor: 1.0 / n }),
    }
}

/// The rates of an epoch's steps.
fn rates(optimizer: Optimizer, plan: &EpochPlan<'_>) -> Vec<Rate> {
    (plan.updates + 1..).zip(plan.learning_rates).map(|(number, &rate)| optimizer.rate(rate, number)).collect()
}

/// The data that only a training needs.
struct Training {
    arrays: TrainArrays,
    /// The rates on the device.
    known_rates: Vec<Rate>,
    order: Order,
    kept_moments: Vec<Buffer<f32>>,
    kept_control: Buffer<u32>,
    n: u32,
    batch: u32,
}

impl Training {
    fn new(stream: &Stream, plan: &Plan, options: &Options, batch: u32, n: u32) -> Result<Self> {
        let course = Course {
            rule: options.optimizer.rule(options.weight_decay),
            n_moments: options.optimizer.n_moments(),
            clip_norm: options.clip_norm,
            dropout: options.dropout,
            mean: options.reduction == Reduction::Mean,
            smoothing: options.label_smoothing,
            scaled: options.precision == Precision::F16,
            batch,
            n,
        };
        Ok(Self {
            arrays: TrainArrays::new(stream, plan, course)?,
            known_rates: Vec::new(),
            order: Order::new(stream, n)?,
            kept_moments: (0..course.n_moments).map(|_| stream.alloc(plan.n_values)).collect::<Result<_>>()?,
            kept_control: stream.alloc(control::WORDS)?,
            n,
            batch,
        })
    }

    fn n_steps(&self) -> u32 {
        self.n.div_ceil(self.batch)
    }
}

/// Recorded steps.
enum Graphs {
    /// A graph of `n` steps, and one of a single step.
    Resident { several: Graph, n: u32, one: Graph },
    /// One step for each of the two slots of batches.
    Staged([Graph; 2]),
}

/// A data set.
struct Loaded {
    set: Arc<Dataset>,
    /// On the device, unless batches are copied.
    resident: Option<(Samples, Findings)>,
}

/// One network in training, or in use.
struct LayersEngine {
    /// Declared first, so that they are dropped before the arrays that they use.
    graphs: Option<Graphs>,
    training: Option<Training>,
    network: NetworkArrays,
    kept: Buffer<f32>,
    kept_running: Buffer<f32>,
    staging: Option<Staging>,
    /// The training set first.
    sets: Vec<Loaded>,
    kernels: Kernels,
    stream: Stream,
    options: Options,
}

fn no_training() -> Error {
    Error::Order { what: "engine", reason: "it was opened without a training set".into() }
}

impl LayersEngine {
    /// Records the steps, once.
    fn record(&mut self) -> Result<()> {
        if self.graphs.is_some() {
            return Ok(());
        }
        let Self { training, network, staging, sets, kernels, stream, .. } = self;
        let Some(Training { arrays, order, .. }) = training else { return Err(no_training()) };
        let graphs = match (staging, sets.first()) {
            (Some(staging), _) => {
                let mut graph = |slot: usize| {
                    let samples = &staging.slots[slot].samples;
                    stream.capture(|stream| kernels.step(stream, network, arrays, Source::Copied(samples)))
                };
                Graphs::Staged([graph(0)?, graph(1)?])
            }
            (None, Some(Loaded { resident: Some((samples, _)), .. })) => {
                let n_steps = order_steps(arrays);
                let n = n_steps / n_steps.div_ceil(STEPS_AT_ONCE);
                let mut graph = |n: u32| {
                    stream.capture(|stream| {
                        (0..n).try_for_each(|_| kernels.step(stream, network, arrays, Source::Ordered(samples, order)))
                    })
                };
                Graphs::Resident { several: graph(n)?, n, one: graph(1)? }
            }
            _ => return Err(no_training()),
        };
        self.graphs = Some(graphs);
        Ok(())
    }

    /// Copies `n` samples of a set on the host, from `from` on, to the first slot for a batch.
    fn stage(staging: &mut Staging, stream: &Stream, set: &Dataset, from: u32, n: u32) -> Result<()> {
        staging.fill(stream, 0, set, (from..from + n).map(|sample| sample as usize))
    }

    /// Outputs of the last layer for inputs `[n, n_inputs]`, as many at a time as there is room for; `write` uploads those of so many samples.
    fn in_pieces<T>(
        &mut self,
        inputs: &[T],
        write: impl Fn(&Stream, &mut Samples, &[T], usize) -> Result<()>,
    ) -> Result<Vec<f32>> {
        let Self { network, kernels, stream, .. } = self;
        let (Some(first), Some(last)) = (network.plan.layers.first(), network.plan.layers.last()) else {
            return Err(Error::shape("layers", "at least 1", 0));
        };
        let (n_inputs, n_classes) = (first.n_inputs as usize, last.n_outputs as usize);
        let sample = Sample { n_inputs: first.n_inputs, features: network.takes_features(), n_targets: None };
        let mut logits = Vec::with_capacity(inputs.len() / n_inputs * n_classes);
        for inputs in inputs.chunks(network.capacity as usize * n_inputs) {
            let n = (inputs.len() / n_inputs) as u32;
            let mut samples = Samples::new(stream, sample, n)?;
            write(stream, &mut samples, inputs, n as usize)?;
            kernels.logits(stream, network, &samples, 0, n)?;
            let mut lines = vec![0.0; n as usize * line_length(n_classes as u32) as usize];
            stream.read_into(&network.logits, 0, &mut lines)?;
            for line in lines.chunks_exact(line_length(n_classes as u32) as usize) {
                logits.extend_from_slice(&line[..n_classes]);
            }
        }
        Ok(logits)
    }
}

/// Number of steps of an epoch.
fn order_steps(arrays: &TrainArrays) -> u32 {
    arrays.losses.len() as u32
}

/// Computes the outcome from the losses of the steps `from` to `to`, and the sum of those before.
fn outcome(losses: &[f32], loss_before: f64, from: u32, to: u32) -> EpochOutcome {
    let own = &losses[from as usize..to as usize];
    EpochOutcome {
        loss_sum: own.iter().fold(loss_before, |sum, &loss| sum + f64::from(loss)),
        next_step: to,
        bad_step: own.iter().position(|loss| !loss.is_finite()).map(|at| from + at as u32),
        ..EpochOutcome::default()
    }
}

impl Train for LayersEngine {
    fn train(&mut self, plan: &EpochPlan<'_>, goes_on: &mut dyn FnMut(u32, f64) -> bool) -> Result<EpochOutcome> {
        self.record()?;
        let Self { graphs, training, network, staging, sets, kernels, stream, options, .. } = self;
        let (Some(graphs), Some(training), Some(train)) = (graphs, training, sets.first()) else {
            return Err(no_training());
        };
        let n_steps = training.n_steps();
        let rates = rates(options.optimizer, plan);
        if rates.len() != n_steps as usize {
            return Err(Error::shape("learning rates", n_steps, rates.len()));
        }
        let Training { arrays, known_rates, order, n, batch, .. } = training;
        if *known_rates != rates {
            stream.write(&mut arrays.rates, 0, &rates)?;
            *known_rates = rates;
        }
        let mut words = [0; 3];
        words[control::STEP] = plan.from_step;
        stream.write(&mut arrays.control, 0, &words)?;
        kernels.shuffle(stream, order, plan.seed, plan.epoch)?;
        arrays.set_mask_keys(stream, plan.seed, plan.updates)?;

        let mut step = plan.from_step;
        let mut transfer_ms = None;
        // Asks whether to go on, between two graphs and not after the last step.
        let mut stopped = |step: u32, losses: &Buffer<f32>| -> Result<bool> {
            let mut loss = [0.0f32];
            stream.read_into(losses, step as usize - 1, &mut loss)?;
            let samples = (*batch).min(*n - (step - 1) * *batch);
            Ok(!loss[0].is_finite() || !goes_on(step - 1, f64::from(loss[0]) / f64::from(samples)))
        };
        match (graphs, staging) {
            (Graphs::Staged(graphs), Some(staging)) => {
                let ordered = stream.read(&order.order)?;
                let mut total = 0.0;
                while step < n_steps {
                    let slot = (step % 2) as usize;
                    let samples = ordered.chunks(*batch as usize).nth(step as usize).unwrap_or_default();
                    staging.fill(stream, slot, &train.set, samples.iter().map(|&sample| sample as usize))?;
                    stream.launch_graph(&graphs[slot])?;
                    step += 1;
                    if step < n_steps && step.is_multiple_of(STEPS_AT_ONCE) && stopped(step, &arrays.losses)? {
                        break;
                    }
                }
                total += staging.take_copy_ms()?;
                transfer_ms = Some(total);
            }
            (Graphs::Resident { several, n, one }, _) => {
                if let Some((samples, _)) = &train.resident {
                    kernels.gather(stream, network, arrays, Source::Ordered(samples, order))?;
                }
                while step < n_steps {
                    if step + *n <= n_steps {
                        stream.launch_graph(several)?;
                        step += *n;
                        if step < n_steps && stopped(step, &arrays.losses)? {
                            break;
                        }
                    } else {
                        stream.launch_graph(one)?;
                        step += 1;
                    }
                }
            }
            (Graphs::Staged(_), None) => return Err(no_training()),
        }
        let outcome = outcome(&stream.read(&arrays.losses)?, plan.loss_before, plan.from_step, step);
        Ok(EpochOutcome { transfer_s: transfer_ms.map(|ms: f64| ms / 1e3), ..outcome })
    }

    fn load(&mut self, set: &Arc<Dataset>) -> Result<SetId> {
        if let Some(at) = self.sets.iter().position(|loaded| Arc::ptr_eq(&loaded.set, set)) {
            return Ok(SetId(at));
        }
        let n = sample_count(set)?;
        let resident = match self.staging {
            Some(_) => None,
            None => {
                let mut samples = Samples::new(&self.stream, Sample::of(set), n)?;
                samples.write_set(&self.stream, set)?;
                Some((samples, Findings::new(&self.stream, n)?))
            }
        };
        self.sets.push(Loaded { set: Arc::clone(set), resident });
        Ok(SetId(self.sets.len() - 1))
    }

    fn classify(&mut self, SetId(at): SetId) -> Result<Classified> {
        let Self { network, staging, sets, kernels, stream, .. } = self;
        let n_sets = sets.len();
        let Some(Loaded { set, resident }) = sets.get_mut(at) else {
            return Err(Error::shape("data set", format!("below {n_sets}"), at));
        };
        for active in &mut network.active {
            stream.zero(active)?;
        }
        let n = sample_count(set)?;
        let mut found = Classified::default();
        let mut losses = Vec::new();
        let mut from = 0;
        while from < n {
            let here = network.capacity.min(n - from);
            match (&mut *resident, &mut *staging) {
                (Some((samples, findings)), _) => kernels.classify(stream, network, samples, findings, from, here)?,
                (None, Some(staging)) => {
                    Self::stage(staging, stream, set, from, here)?;
                    let Staging { slots, findings, .. } = staging;
                    kernels.classify(stream, network, &slots[0].samples, findings, 0, here)?;
                    if network.regression.is_none() {
                        found.classes.extend_from_slice(&stream.read(&findings.classes)?[..here as usize]);
                    }
                    losses.extend_from_slice(&stream.read(&findings.losses)?[..here as usize]);
                }
                (None, None) => return Err(no_training()),
            }
            from += here;
        }
        if let Some((_, findings)) = resident {
            if network.regression.is_none() {
                found.classes = stream.read(&findings.classes)?;
            }
            losses = stream.read(&findings.losses)?;
        }
        found.loss_sum = losses.iter().map(|&loss| f64::from(loss)).sum();
        if network.active.is_empty() {
            let hidden = &network.plan.layers[..network.plan.layers.len() - 1];
            found.active = hidden.iter().map(|layer| vec![true; layer.n_outputs as usize]).collect();
        }
        for active in &network.active {
            found.active.push(stream.read(active)?.iter().map(|&word| word != 0).collect());
        }
        if let Some(staging) = staging {
            staging.take_copy_ms()?;
        }
        Ok(found)
    }

    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        self.in_pieces(images, |stream, samples, images, n| samples.write(stream, images, &vec![0; n], &[]))
    }

    fn outputs(&mut self, features: &[f32]) -> Result<Vec<f32>> {
        self.in_pieces(features, |stream, samples, features, _| samples.write_features(stream, features))
    }

    fn logits_on_device(&mut self, images: &Buffer<u8>) -> Result<Buffer<f32>> {
        let Self { network, kernels, stream, .. } = self;
        let (Some(first), Some(last)) = (network.plan.layers.first(), network.plan.layers.last()) else {
            return Err(Error::shape("layers", "at least 1", 0));
        };
        let (n_classes, line) = (last.n_outputs as usize, line_length(last.n_outputs) as usize);
        let samples = Samples::of_buffer(stream, first.n_inputs, images)?;
        let mut logits = stream.alloc(samples.capacity as usize * n_classes)?;
        let mut from = 0;
        while from < samples.capacity {
            let n = network.capacity.min(samples.capacity - from);
            kernels.logits(stream, network, &samples, from, n)?;
            let first = from as usize * n_classes;
            stream.copy_lines((&mut logits, first, n_classes), (&network.logits, 0, line), n_classes, n as usize)?;
            from += n;
        }
        stream.synchronize()?;
        Ok(logits)
    }

    fn keep(&mut self) -> Result<()> {
        let Self { training, network, kept, kept_running, stream, .. } = self;
        stream.copy(kept, 0, &network.parameters, 0, network.plan.n_values)?;
        stream.copy(kept_running, 0, &network.running, 0, network.plan.n_running())?;
        if let Some(Training { arrays, kept_moments, kept_control, .. }) = training {
            for (kept, moment) in kept_moments.iter_mut().zip(&arrays.moments) {
                stream.copy(kept, 0, moment, 0, moment.len())?;
            }
            stream.copy(kept_control, 0, &arrays.control, 0, control::WORDS)?;
        }
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        let Self { training, network, kept, kept_running, stream, kernels, .. } = self;
        stream.copy(&mut network.parameters, 0, kept, 0, network.plan.n_values)?;
        stream.copy(&mut network.running, 0, kept_running, 0, network.plan.n_running())?;
        kernels.parameters_set(stream, network)?;
        if let Some(Training { arrays, kept_moments, kept_control, .. }) = training {
            for (moment, kept) in arrays.moments.iter_mut().zip(&*kept_moments) {
                stream.copy(moment, 0, kept, 0, kept.len())?;
            }
            stream.copy(&mut arrays.control, 0, kept_control, 0, control::WORDS)?;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<TrainState> {
        let Self { training, network, stream, options, .. } = self;
        let mut layers = network.plan.unpack(&stream.read(&network.parameters)?);
        network.plan.unpack_running(&stream.read(&network.running)?, &mut layers);
        let (mut moments, mut loss_scale) = (Vec::new(), None);
        if let Some(Training { arrays, .. }) = training {
            for moment in &arrays.moments {
                moments.push(network.plan.unpack(&stream.read(moment)?));
            }
            if options.precision == Precision::F16 {
                let words = stream.read(&arrays.control)?;
                loss_scale = Some((f32::from_bits(words[control::SCALE]), words[control::GOOD]));
            }
        }
        Ok(TrainState { layers, moments, loss_scale })
    }

    fn set_state(&mut self, state: &TrainState) -> Result<()> {
        let Self { training, network, stream, kernels, .. } = self;
        let (values, running) = (network.plan.pack(&state.layers)?, network.plan.pack_running(&state.layers)?);
        stream.write(&mut network.parameters, 0, &values)?;
        stream.write(&mut network.running, 0, &running)?;
        kernels.parameters_set(stream, network)?;
        let Some(Training { arrays, .. }) = training else { return Ok(()) };
        let n_moments = arrays.moments.len();
        if state.moments.len() > n_moments || (1..n_moments).contains(&state.moments.len()) {
            return Err(Error::shape("moments", n_moments, state.moments.len()));
        }
        for (number, moment) in arrays.moments.iter_mut().enumerate() {
            match state.moments.get(number) {
                Some(layers) => stream.write(moment, 0, &network.plan.pack(layers)?)?,
                // A training begins with none.
                None => stream.zero(moment)?,
            }
        }
        let (scale, good) = state.loss_scale.unwrap_or((control::FIRST_SCALE, 0));
        let mut words = [0; control::WORDS];
        words[control::SCALE] = scale.to_bits();
        words[control::GOOD] = good;
        stream.write(&mut arrays.control, 0, &words)
    }

    fn engine(&self) -> Engine {
        Engine::Layers
    }
}
