//! The engine: a step is one launch after the other.

use std::sync::Arc;

use super::arrays::{self, Batch, LayerArrays, Scratch};
use super::feed::{Feed, Loaded, epoch_order};
use super::kernels::{Extent, Kernels};
use super::step::{self, Operation};
use crate::mlp::engine::{Classified, Engine, EpochOutcome, EpochPlan, LayerValues, SetId, Setup, TrainState};
use crate::mlp::{Dataset, Execution, Optimizer, Options, Precision, Reduction, Residence};
use crate::{Backend, Buffer, Device, Error, Result, Stream};

/// Steps between two looks at the losses on a GPU: each look waits for the device, and only then can the caller stop. Under `simt` there is nothing
/// to
/// wait for.
const STEPS_BETWEEN_LOOKS: u32 = 64;

/// The source's kernels, launched one by one.
pub(super) struct PaperEngine {
    stream: Stream,
    kernels: Kernels,
    options: Options,
    sizes: Vec<u32>,
    trains: bool,
    looks: u32,
    layers: Vec<LayerArrays>,
    /// Weights and bias of each layer as they were kept.
    kept: Option<Vec<(Buffer<f32>, Buffer<f32>)>>,
    scratch: Scratch,
    sets: Vec<Loaded>,
    feed: Option<Feed>,
    /// The order of an epoch.
    order: Buffer<u32>,
    /// 0, 1, 2, …: the order of a set that is classified, and of a batch that the host has put together.
    ascending: Buffer<u32>,
    /// Loss sum of each step or batch.
    sums: Buffer<f32>,
    findings: Findings,
}

/// What classification writes; kept from one set to the next.
struct Findings {
    /// Class of each sample; as long as the largest set so far.
    classes: Buffer<u32>,
    /// Samples whose class is their label.
    n_correct: Buffer<u32>,
    /// For each hidden layer, whether each unit was ever positive.
    active: Vec<Buffer<u32>>,
}

impl Findings {
    fn new(stream: &Stream, sizes: &[u32]) -> Result<Self> {
        let hidden = sizes[1..sizes.len() - 1].iter().map(|&size| stream.alloc(size as usize));
        Ok(Self { classes: stream.alloc(0)?, n_correct: stream.alloc(1)?, active: hidden.collect::<Result<_>>()? })
    }

    /// Room for `n` samples, nothing found yet.
    fn reset(&mut self, stream: &Stream, n: usize) -> Result<()> {
        if self.classes.len() < n {
            self.classes = stream.alloc(n)?;
        }
        stream.zero(&mut self.n_correct)?;
        self.active.iter_mut().try_for_each(|active| stream.zero(active))
    }
}

/// Opens the engine.
pub(super) fn open(device: &Device, setup: Setup) -> Result<PaperEngine> {
    let Setup { options, sizes, train, .. } = setup;
    let trains = train.is_some();
    if options.precision != Precision::F32 {
        return Err(Error::option("precision", options.precision, "fp32 with execution paper"));
    }
    if trains {
        if options.optimizer != Optimizer::Sgd {
            return Err(Error::option("optimizer", options.optimizer.name(), "sgd with execution paper"));
        }
        if options.weight_decay != 0.0 {
            return Err(Error::option("weight_decay", options.weight_decay, "0 with execution paper"));
        }
    }
    let kernels = Kernels::load(device, options.paper)?;
    let stream = device.stream()?;
    let looks = if device.backend() == Backend::Cuda { STEPS_BETWEEN_LOOKS } else { 1 };
    let mut engine = PaperEngine {
        layers: arrays::layers(&stream, &sizes, trains)?,
        scratch: Scratch::empty(&stream)?,
        order: stream.alloc(0)?,
        ascending: stream.alloc(0)?,
        sums: stream.alloc(0)?,
        findings: Findings::new(&stream, &sizes)?,
        kept: None,
        sets: Vec::new(),
        feed: None,
        kernels,
        stream,
        options,
        sizes,
        trains,
        looks,
    };
    if let Some(train) = train {
        engine.scratch.grow(&engine.stream, &engine.sizes, true, engine.options.batch)?;
        engine.load(&train)?;
    }
    Ok(engine)
}

impl PaperEngine {
    /// Makes `ascending` and `sums` long enough.
    fn make_room(&mut self, n_ascending: usize, n_sums: usize) -> Result<()> {
        if self.ascending.len() < n_ascending {
            let numbers: Vec<u32> = (0..n_ascending as u32).collect();
            self.ascending = self.stream.upload(&numbers)?;
        }
        if self.sums.len() < n_sums {
            self.sums = self.stream.alloc(n_sums)?;
        }
        Ok(())
    }

    /// Makes the feed large enough for batches of `n_rows`.
    fn make_feed(&mut self, n_rows: u32) -> Result<()> {
        if self.feed.as_ref().is_none_or(|feed| feed.n_rows() < n_rows) {
            self.feed = Some(Feed::new(&self.stream, n_rows, self.sizes[0])?);
        }
        Ok(())
    }

    /// Launches operations on `n_rows` samples of a set, those that `order` (on the device and on the host) names from `first` on.
    fn launch(&mut self, operations: &[Operation], of: &Part<'_>) -> Result<()> {
        let Part { set, order, first, n_rows, factor, learning_rate, slot } = *of;
        let Self { stream, kernels, layers, scratch, sets, feed, ascending, sums, .. } = self;
        let loaded = &sets[set];
        let (pixels, labels, order, first) = match (&loaded.resident, feed) {
            (Some((pixels, labels)), _) => {
                let order = if matches!(order, Order::Epoch(_)) { &self.order } else { &*ascending };
                (pixels, labels, order, first)
            }
            (None, Some(feed)) => {
                let range = first as usize..(first + n_rows) as usize;
                let numbers: Vec<u32>;
                let samples = match order {
                    Order::Epoch(order) => &order[range],
                    Order::Ascending => {
                        numbers = (first..first + n_rows).collect();
                        &numbers
                    }
                };
                let (pixels, labels) = feed.send(stream, &loaded.set, samples)?;
                (pixels, labels, &*ascending, 0)
            }
            (None, None) => return Err(order_error("a set in host memory", "its feed has not been made")),
        };
        let mut batch = Batch { pixels, labels, order, first, n_rows, factor, learning_rate, sums, slot };
        for &operation in operations {
            arrays::launch(kernels, stream, layers, scratch, &mut batch, operation)?;
        }
        Ok(())
    }

    /// Samples classified at once of a set of `n`.
    fn evaluate_batch(&self, n: usize) -> u32 {
        u32::try_from(n).map_or(self.options.evaluate_batch, |n| n.min(self.options.evaluate_batch))
    }
}

/// Which samples.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// As the epoch has them; the same order is on the device.
    Epoch(&'a [u32]),
    /// As the set has them.
    Ascending,
}

/// Samples of a set, and what is done with them.
struct Part<'a> {
    set: usize,
    order: Order<'a>,
    first: u32,
    n_rows: u32,
    factor: f32,
    learning_rate: f32,
    slot: u32,
}

fn order_error(what: &'static str, reason: &str) -> Error {
    Error::Order { what, reason: reason.to_string() }
}

impl Engine for PaperEngine {
    fn train(&mut self, plan: &EpochPlan<'_>, goes_on: &mut dyn FnMut(u32, f64) -> bool) -> Result<EpochOutcome> {
        // The training set was loaded first.
        let Some(set) = self.sets.first().filter(|_| self.trains).map(|loaded| Arc::clone(&loaded.set)) else {
            return Err(order_error("training", "the engine was opened without a training set"));
        };
        let batch = self.options.batch;
        let n = set.len();
        let steps = n.div_ceil(batch as usize) as u32;
        if plan.learning_rates.len() != steps as usize {
            return Err(Error::shape("learning rates", steps, plan.learning_rates.len()));
        }
        let order = epoch_order(self.options.seed, plan.epoch, n);
        if self.options.stream == Residence::Device {
            if self.order.len() < n {
                self.order = self.stream.alloc(n)?;
            }
            self.stream.write(&mut self.order, 0, &order)?;
        } else {
            self.make_feed(batch)?;
        }
        self.make_room(batch as usize, steps as usize)?;
        self.scratch.grow(&self.stream, &self.sizes, true, batch)?;
        if let Some(feed) = &mut self.feed {
            // Batches that were classified before are not part of this epoch's time.
            feed.take_seconds()?;
        }
        let operations = step::training(self.layers.len(), &self.options.paper);
        let n_rows_of = |step: u32| (n - step as usize * batch as usize).min(batch as usize) as u32;
        let mut outcome = EpochOutcome { next_step: plan.from_step, ..EpochOutcome::default() };
        for step in plan.from_step..steps {
            let n_rows = n_rows_of(step);
            let factor = match self.options.reduction {
                Reduction::Mean => 1.0 / n_rows as f32,
                Reduction::Sum => 1.0,
            };
            self.launch(
                &operations,
                &Part {
                    set: 0,
                    order: Order::Epoch(&order),
                    first: step * batch,
                    n_rows,
                    factor,
                    learning_rate: plan.learning_rates[step as usize] as f32,
                    slot: step,
                },
            )?;
            if !(step + 1).is_multiple_of(self.looks) && step + 1 < steps {
                continue;
            }
            let mut losses = vec![0.0; (step + 1 - outcome.next_step) as usize];
            self.stream.read_into(&self.sums, outcome.next_step as usize, &mut losses)?;
            for (step, loss) in (outcome.next_step..).zip(&losses) {
                if !loss.is_finite() {
                    outcome.bad_step = Some(step);
                    return Ok(outcome);
                }
                outcome.loss_sum += f64::from(*loss);
                outcome.next_step = step + 1;
            }
            let last = losses.last().copied().unwrap_or_default();
            if !goes_on(step, f64::from(last) / f64::from(n_rows)) {
                break;
            }
        }
        if let Some(feed) = &mut self.feed {
            outcome.transfer_s = Some(feed.take_seconds()?);
        }
        Ok(outcome)
    }

    fn load(&mut self, set: &Arc<Dataset>) -> Result<SetId> {
        if let Some(known) = self.sets.iter().position(|loaded| Arc::ptr_eq(&loaded.set, set)) {
            return Ok(SetId(known));
        }
        if u32::try_from(set.len()).is_err() {
            return Err(Error::shape(set.source(), "at most 4294967295 samples", set.len()));
        }
        let resident = match self.options.stream {
            Residence::Device => Some((self.stream.upload(set.images())?, self.stream.upload(set.labels())?)),
            Residence::Host => None,
        };
        self.sets.push(Loaded { set: Arc::clone(set), resident });
        Ok(SetId(self.sets.len() - 1))
    }

    fn classify(&mut self, set: SetId) -> Result<Classified> {
        let Some(loaded) = self.sets.get(set.0) else {
            return Err(order_error("a data set", "it was never loaded"));
        };
        let (n, resident) = (loaded.set.len(), loaded.resident.is_some());
        let batch = self.evaluate_batch(n);
        let n_batches = n.div_ceil(batch as usize);
        if !resident {
            self.make_feed(batch)?;
        }
        self.make_room(if resident { n } else { batch as usize }, n_batches)?;
        self.scratch.grow(&self.stream, &self.sizes, self.trains, batch)?;
        let n_hidden = self.layers.len() - 1;
        self.findings.reset(&self.stream, n)?;
        let mut operations = step::forward(self.layers.len());
        operations.extend([Operation::GatherLabels, Operation::Loss, Operation::LossSum]);
        for slot in 0..n_batches as u32 {
            let first = slot * batch;
            let n_rows = batch.min(n as u32 - first);
            let order = Order::Ascending;
            let part = Part { set: set.0, order, first, n_rows, factor: 1.0, learning_rate: 0.0, slot };
            self.launch(&operations, &part)?;
            let Self { stream, kernels, scratch, layers, findings, .. } = self;
            let Findings { classes, n_correct, active } = findings;
            let extent = Extent::new(n_rows, layers[n_hidden].n_outputs);
            kernels.accuracy(stream, scratch.logits()?, scratch.labels(), classes, first, n_correct, extent)?;
            for (at, active) in active.iter_mut().enumerate() {
                let extent = Extent::new(n_rows, layers[at].n_outputs);
                kernels.units_active(stream, scratch.hidden(at)?, active, extent)?;
            }
        }
        let mut losses = vec![0.0; n_batches];
        self.stream.read_into(&self.sums, 0, &mut losses)?;
        let flags = |active: &Buffer<u32>| {
            let flags = self.stream.read(active)?;
            Ok(flags.into_iter().map(|flag| flag != 0).collect())
        };
        let mut classes = vec![0; n];
        self.stream.read_into(&self.findings.classes, 0, &mut classes)?;
        Ok(Classified {
            classes,
            loss_sum: losses.iter().copied().map(f64::from).sum(),
            active: self.findings.active.iter().map(flags).collect::<Result<_>>()?,
        })
    }

    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        let (n_inputs, n_classes) = (self.sizes[0] as usize, self.sizes[self.sizes.len() - 1] as usize);
        if images.is_empty() || !images.len().is_multiple_of(n_inputs) {
            return Err(Error::shape("images", format!("a multiple of {n_inputs} bytes"), images.len()));
        }
        let n = images.len() / n_inputs;
        let batch = self.evaluate_batch(n);
        self.make_room(batch as usize, 1)?;
        self.scratch.grow(&self.stream, &self.sizes, self.trains, batch)?;
        let operations = step::forward(self.layers.len());
        let labels = self.stream.alloc(0)?;
        let mut logits = vec![0.0; n * n_classes];
        let parts = images.chunks(batch as usize * n_inputs).zip(logits.chunks_mut(batch as usize * n_classes));
        for (images, logits) in parts {
            let pixels = self.stream.upload(images)?;
            let Self { stream, kernels, layers, scratch, ascending, sums, .. } = self;
            let n_rows = (images.len() / n_inputs) as u32;
            let mut batch = Batch {
                pixels: &pixels,
                labels: &labels,
                order: ascending,
                first: 0,
                n_rows,
                factor: 1.0,
                learning_rate: 0.0,
                sums,
                slot: 0,
            };
            for &operation in &operations {
                arrays::launch(kernels, stream, layers, scratch, &mut batch, operation)?;
            }
            stream.read_into(scratch.logits()?, 0, logits)?;
        }
        Ok(logits)
    }

    fn keep(&mut self) -> Result<()> {
        let Self { stream, layers, kept, .. } = self;
        let mut copies = match kept.take() {
            Some(copies) => copies,
            None => layers
                .iter()
                .map(|layer| Ok((stream.alloc(layer.weights.len())?, stream.alloc(layer.bias.len())?)))
                .collect::<Result<Vec<_>>>()?,
        };
        for (layer, (weights, bias)) in layers.iter().zip(&mut copies) {
            stream.copy(weights, 0, &layer.weights, 0, layer.weights.len())?;
            stream.copy(bias, 0, &layer.bias, 0, layer.bias.len())?;
        }
        *kept = Some(copies);
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        let Self { stream, layers, kept, .. } = self;
        let Some(kept) = kept else {
            return Err(order_error("restoring", "nothing was kept, keep the state first"));
        };
        for (layer, (weights, bias)) in layers.iter_mut().zip(kept) {
            stream.copy(&mut layer.weights, 0, weights, 0, weights.len())?;
            stream.copy(&mut layer.bias, 0, bias, 0, bias.len())?;
        }
        self.reset_gradients()
    }

    fn state(&mut self) -> Result<TrainState> {
        let widened = |buffer: &Buffer<f32>| -> Result<Vec<f64>> {
            Ok(self.stream.read(buffer)?.into_iter().map(f64::from).collect())
        };
        let layers = self
            .layers
            .iter()
            .map(|layer| Ok(LayerValues { weights: widened(&layer.weights)?, bias: widened(&layer.bias)? }));
        Ok(TrainState { layers: layers.collect::<Result<_>>()?, ..TrainState::default() })
    }

    fn set_state(&mut self, state: &TrainState) -> Result<()> {
        if state.layers.len() != self.layers.len() {
            return Err(Error::shape("layers of the state", self.layers.len(), state.layers.len()));
        }
        if !state.moments.is_empty() {
            return Err(Error::shape("moments of the state", "none for sgd", state.moments.len()));
        }
        for (number, (layer, values)) in self.layers.iter().zip(&state.layers).enumerate() {
            for (what, expected, got) in [
                ("weights", layer.n_weights(), values.weights.len()),
                ("bias", layer.n_outputs as usize, values.bias.len()),
            ] {
                if expected != got {
                    return Err(Error::shape(format!("{what} of layer {}", number + 1), expected, got));
                }
            }
        }
        let narrowed = |values: &[f64]| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() };
        for (layer, values) in self.layers.iter_mut().zip(&state.layers) {
            self.stream.write(&mut layer.weights, 0, &narrowed(&values.weights))?;
            self.stream.write(&mut layer.bias, 0, &narrowed(&values.bias))?;
        }
        self.reset_gradients()
    }

    fn execution(&self) -> Execution {
        Execution::Paper
    }
}

impl PaperEngine {
    /// Sets all gradients to 0. A step leaves them so; one that failed on its way may not.
    fn reset_gradients(&mut self) -> Result<()> {
        for layer in &mut self.layers {
            self.stream.zero(&mut layer.weight_gradient)?;
            self.stream.zero(&mut layer.bias_gradient)?;
        }
        Ok(())
    }
}
