//! The published program: a step is one launch after the other.

mod classify;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use warpplay::mlp::{Dataset, EpochReport, Layer, MAX_CLASSES, MAX_WIDTH, Network, Reduction, Residence, SCHEMA};
use warpplay::{Backend, Buffer, Device, Error, Progress, Result, Stream};

use crate::mnist_mlp::program::arrays::{self, Batch, LayerArrays, Scratch, bytes};
use crate::mnist_mlp::program::feed::{Feed, Loaded, epoch_order};
use crate::mnist_mlp::program::launches::Kernels;
use crate::mnist_mlp::program::options::{Divide, Options};
use crate::mnist_mlp::program::report::Report;
use crate::mnist_mlp::program::step::{self, Operation};
use crate::mnist_mlp::program::usage::{DeviceBytes, Traffic};

/// Where a training stands; with the weights it is all that plain SGD remembers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Position {
    /// Epochs that are done.
    pub epochs: Vec<EpochReport>,
    /// Steps done of the next one, the sum of their losses, and the seconds they took.
    pub step: u32,
    /// Sum of the losses of those steps' samples.
    pub loss_sum: f64,
    /// Seconds that those steps took.
    pub seconds: f64,
}

/// The published kernels, launched one by one: a network in training, or in use.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use warpplay::Device;
/// use warpplay::mlp::Dataset;
/// use warpplay_papers::mnist_mlp::{Forms, Options, Program};
///
/// let digits = Arc::new(Dataset::drawn_digits(1, 20)?);
/// let forms = Forms { block: 128, tile: 8, ..Forms::default() };
/// let options = Options { hidden: vec![4], batch: 10, epochs: 2, learning_rate: 0.1, forms, ..Options::default() };
/// let mut program = Program::new(&Device::simt(), &digits, &options)?;
/// let report = program.run(None, |_| ControlFlow::Continue(()))?;
/// assert!(report.epochs[1].loss < report.epochs[0].loss);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Program {
    device: Device,
    stream: Stream,
    kernels: Kernels,
    options: Options,
    sizes: Vec<u32>,
    trains: bool,
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
    position: Position,
    traffic: Traffic,
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

impl Program {
    /// A training of drawn first weights on `train`.
    ///
    /// # Errors
    /// [`Error::Option`] for a choice that is not allowed; [`Error::Shape`] for images or classes beyond what a perceptron takes; errors of the device.
    pub fn new(device: &Device, train: &Arc<Dataset>, options: &Options) -> Result<Self> {
        options.check()?;
        if train.n_inputs() > MAX_WIDTH || train.n_classes() > MAX_CLASSES {
            let got = format!("{} pixels, {} classes", train.n_inputs(), train.n_classes());
            let expected = format!("at most {MAX_WIDTH} pixels, {MAX_CLASSES} classes");
            return Err(Error::shape(train.source(), expected, got));
        }
        if options.batch as usize > train.len() {
            let allowed = format!("at most the {} training samples", train.len());
            return Err(Error::option("batch", options.batch, allowed));
        }
        let sizes = options.sizes(train.n_inputs(), train.n_classes());
        train.expect_fits(&sizes)?;
        let network = Network::initial(&sizes, options.init, options.seed.into())?;
        let mut program = Self::open(device, options, sizes, Some(train))?;
        program.set_network(&network)?;
        Ok(program)
    }

    /// A network in use; `hidden` is the network's, what concerns training is not looked at.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn classifier(device: &Device, network: &Network, options: &Options) -> Result<Self> {
        let sizes = network.sizes();
        let options = Options { hidden: sizes[1..sizes.len() - 1].to_vec(), ..options.clone() };
        options.check()?;
        let mut program = Self::open(device, &options, sizes, None)?;
        program.set_network(network)?;
        Ok(program)
    }

    fn open(device: &Device, options: &Options, sizes: Vec<u32>, train: Option<&Arc<Dataset>>) -> Result<Self> {
        let trains = train.is_some();
        let kernels = Kernels::load(device, options.forms)?;
        let stream = device.stream()?;
        let mut program = Self {
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
            options: options.clone(),
            sizes,
            device: device.clone(),
            position: Position::default(),
            traffic: Traffic::default(),
            trains,
        };
        if let Some(train) = train {
            program.scratch.grow(&program.stream, &program.sizes, true, program.options.batch)?;
            program.load(train)?;
        }
        Ok(program)
    }

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

impl Program {
    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Steps of an epoch; 0 where nothing is trained.
    pub fn steps_per_epoch(&self) -> u32 {
        match self.sets.first().filter(|_| self.trains) {
            Some(train) => train.set.len().div_ceil(self.options.batch as usize) as u32,
            None => 0,
        }
    }

    /// Trains until the last epoch is done or `watch` answers `Break`; it is asked after every epoch and every look at the losses, under `simt` after every step. Called again,
    /// it goes on.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a loss is not finite: the weights are again those before the epoch, or those from which `run` went on within it. Errors of the device.
    pub fn run(
        &mut self,
        test: Option<&Arc<Dataset>>,
        mut watch: impl FnMut(&Progress<EpochReport>) -> ControlFlow<()>,
    ) -> Result<Report> {
        let begin = Instant::now();
        let steps = self.steps_per_epoch();
        let n_steps = Some(u64::from(steps) * u64::from(self.options.epochs));
        let mut stopped = false;
        while !stopped && self.position.epochs.len() < self.options.epochs as usize {
            let before = self.position.epochs.len() as u64 * u64::from(steps);
            let mut tell = |step: u32, latest: Option<EpochReport>| {
                let steps = before + u64::from(step);
                stopped |=
                    watch(&Progress { steps, n_steps, elapsed: begin.elapsed(), time_limit: None, latest }).is_break();
                !stopped
            };
            if let Some(report) = self.epoch(test, &mut |step| tell(step, None))? {
                tell(steps, Some(report));
            }
        }
        self.report(stopped)
    }

    /// The rest of one epoch; what came of it, if it was finished.
    fn epoch(
        &mut self,
        test: Option<&Arc<Dataset>>,
        goes_on: &mut dyn FnMut(u32) -> bool,
    ) -> Result<Option<EpochReport>> {
        let (steps, epoch) = (self.steps_per_epoch(), self.position.epochs.len() as u32 + 1);
        self.keep()?;
        let start = Instant::now();
        let outcome = self.train(goes_on)?;
        let seconds = start.elapsed().as_secs_f64();
        if let Some(step) = outcome.bad_step {
            self.restore()?;
            return Err(Error::Diverged { epoch, step: step + 1, steps });
        }
        let before = self.position.clone();
        self.position.step = outcome.next_step;
        self.position.loss_sum += outcome.loss_sum;
        self.position.seconds += seconds;
        if outcome.next_step < steps {
            return Ok(None);
        }
        let start = Instant::now();
        let test = test.map(|test| self.evaluate(test)).transpose()?;
        // The last update may have gone wrong, which no loss of the epoch shows.
        let sound = match &test {
            Some(test) => test.loss.is_finite(),
            None => self
                .network()?
                .layers()
                .iter()
                .flat_map(|layer| layer.weights.iter().chain(&layer.bias))
                .all(|value| value.is_finite()),
        };
        if !sound {
            self.restore()?;
            self.position = before;
            return Err(Error::Diverged { epoch, step: steps, steps });
        }
        let Position { loss_sum, seconds: trained, .. } = self.position;
        let n = self.sets.first().map_or(0, |train| train.set.len()) as f64;
        let report = EpochReport {
            epoch,
            loss: loss_sum / n,
            test_accuracy: test.as_ref().map(|test| test.accuracy),
            test_loss: test.as_ref().map(|test| test.loss),
            validation_accuracy: None,
            validation_loss: None,
            learning_rate: self.options.learning_rate,
            seconds: trained,
            evaluation_seconds: start.elapsed().as_secs_f64(),
            samples_per_second: n / trained,
            transfer_share: outcome.transfer_s.map(|transfer| transfer / seconds),
            repeated: false,
        };
        self.position.epochs.push(report.clone());
        self.position = Position { epochs: std::mem::take(&mut self.position.epochs), ..Position::default() };
        Ok(Some(report))
    }

    /// The steps that are left of the present epoch; `goes_on` is asked after every look at the losses, under `simt` after every step.
    fn train(&mut self, goes_on: &mut dyn FnMut(u32) -> bool) -> Result<EpochOutcome> {
        // The training set was loaded first.
        let Some(set) = self.sets.first().filter(|_| self.trains).map(|loaded| Arc::clone(&loaded.set)) else {
            return Err(order_error("training", "the program was opened without a training set"));
        };
        let (batch, n) = (self.options.batch, set.len());
        let steps = self.steps_per_epoch();
        let order = epoch_order(self.options.seed, self.position.epochs.len() as u32, n);
        if self.options.stream == Residence::Device {
            if self.order.len() < n {
                self.order = self.stream.alloc(n)?;
            }
            self.stream.write(&mut self.order, 0, &order)?;
            self.traffic.copied_in::<u32>(order.len());
        } else {
            self.make_feed(batch)?;
        }
        self.make_room(batch as usize, steps as usize)?;
        self.scratch.grow(&self.stream, &self.sizes, true, batch)?;
        if let Some(feed) = &mut self.feed {
            // Batches that were classified before are not part of this epoch's time.
            feed.take_seconds()?;
        }
        // Some forms add to the sums.
        self.stream.zero(&mut self.sums)?;
        let operations = step::training(self.layers.len(), &self.options.forms);
        // Its steps are slow, and done when they have been launched: the caller can stop after each.
        let is_simt = self.device.backend() == Backend::Simt;
        let n_rows_of = |step: u32| (n - step as usize * batch as usize).min(batch as usize) as u32;
        let learning_rate = self.options.learning_rate as f32;
        let mut outcome = EpochOutcome { next_step: self.position.step, ..EpochOutcome::default() };
        for step in self.position.step..steps {
            let n_rows = n_rows_of(step);
            let (factor, learning_rate) = match (self.options.reduction, self.options.forms.divide) {
                (Reduction::Mean, Divide::Gradient) => (1.0 / n_rows as f32, learning_rate),
                (Reduction::Mean, Divide::Update) => (1.0, learning_rate / n_rows as f32),
                (Reduction::Sum, _) => (1.0, learning_rate),
            };
            let order = Order::Epoch(&order);
            let part = Part { set: 0, order, first: step * batch, n_rows, factor, learning_rate, slot: step };
            self.launch(&operations, &part)?;
            self.traffic.steps += 1;
            if self.options.stream == Residence::Host {
                self.traffic.copied_in::<u8>(n_rows as usize * self.sizes[0] as usize);
                self.traffic.copied_in::<u8>(n_rows as usize);
            }
            let looks = (step + 1).is_multiple_of(self.options.read_every) || step + 1 == steps;
            let stops = !looks && is_simt && !goes_on(step + 1);
            if !looks && !stops {
                continue;
            }
            let mut losses = vec![0.0; (step + 1 - outcome.next_step) as usize];
            self.stream.read_into(&self.sums, outcome.next_step as usize, &mut losses)?;
            self.traffic.copied_out::<f32>(losses.len());
            for (step, loss) in (outcome.next_step..).zip(&losses) {
                if !loss.is_finite() {
                    outcome.bad_step = Some(step);
                    return Ok(outcome);
                }
                outcome.loss_sum += f64::from(*loss);
                outcome.next_step = step + 1;
            }
            if stops || !goes_on(step + 1) {
                break;
            }
        }
        if let Some(feed) = &mut self.feed {
            outcome.transfer_s = Some(feed.take_seconds()?);
        }
        Ok(outcome)
    }

    /// Takes a data set to be classified, once.
    fn load(&mut self, set: &Arc<Dataset>) -> Result<usize> {
        if let Some(known) = self.sets.iter().position(|loaded| Arc::ptr_eq(&loaded.set, set)) {
            return Ok(known);
        }
        if u32::try_from(set.len()).is_err() {
            return Err(Error::shape(set.source(), "at most 4294967295 samples", set.len()));
        }
        let resident = match self.options.stream {
            Residence::Device => Some((self.stream.upload(set.images())?, self.stream.upload(set.labels())?)),
            Residence::Host => None,
        };
        self.sets.push(Loaded { set: Arc::clone(set), resident });
        Ok(self.sets.len() - 1)
    }

    /// Remembers the weights, on the device.
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

    /// Goes back to the weights that were kept.
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

    /// The report on what was trained so far. Counts the dead units, which classifies the training set once.
    ///
    /// # Errors
    /// [`Error::Order`] where nothing is trained; errors of the device.
    pub fn report(&mut self, stopped: bool) -> Result<Report> {
        let Some(train) = self.sets.first().filter(|_| self.trains).map(|loaded| Arc::clone(&loaded.set)) else {
            return Err(order_error("a report", "the program was opened without a training set"));
        };
        let dead_units_by_layer = self.classify(0)?.dead_units();
        Ok(Report {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            dead_units: dead_units_by_layer.iter().sum(),
            dead_units_by_layer,
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            data: train.source().to_string(),
            sizes: self.sizes.clone(),
            n_train: train.len() as u64,
            seed: self.options.seed,
            seconds: self.position.epochs.iter().map(|epoch| epoch.seconds).sum(),
            epochs: self.position.epochs.clone(),
            stopped,
            options: self.options.clone(),
        })
    }

    /// The present weights.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn network(&mut self) -> Result<Network> {
        let layers = self.layers.iter().map(|layer| {
            let (n_inputs, n_outputs) = (layer.n_inputs, layer.n_outputs);
            let (weights, bias) = (self.stream.read(&layer.weights)?, self.stream.read(&layer.bias)?);
            Ok(Layer { n_inputs, n_outputs, weights, bias })
        });
        Network::new(layers.collect::<Result<_>>()?)
    }

    /// Sets the weights.
    ///
    /// # Errors
    /// [`Error::Shape`] for a network of other widths; errors of the device.
    pub fn set_network(&mut self, network: &Network) -> Result<()> {
        if network.sizes() != self.sizes {
            return Err(Error::shape("network", format!("{:?}", self.sizes), format!("{:?}", network.sizes())));
        }
        for (layer, values) in self.layers.iter_mut().zip(network.layers()) {
            self.stream.write(&mut layer.weights, 0, &values.weights)?;
            self.stream.write(&mut layer.bias, 0, &values.bias)?;
        }
        self.reset_gradients()
    }

    /// What was copied so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// What lies on the device now. Buffers of batches grow with the largest batch that was asked for, so an evaluation may add to it.
    pub fn device_bytes(&self) -> DeviceBytes {
        let mut held = DeviceBytes::default();
        for layer in &self.layers {
            held.parameters += bytes(&layer.weights) + bytes(&layer.bias);
            held.gradients += bytes(&layer.weight_gradient) + bytes(&layer.bias_gradient);
        }
        self.scratch.count(&mut held);
        let Findings { classes, n_correct, active } = &self.findings;
        held.other += bytes(&self.order) + bytes(&self.ascending) + bytes(&self.sums);
        held.other += bytes(classes) + bytes(n_correct) + active.iter().map(bytes).sum::<u64>();
        held.kept = self.kept.iter().flatten().map(|(weights, bias)| bytes(weights) + bytes(bias)).sum();
        let resident = self.sets.iter().filter_map(|set| set.resident.as_ref());
        held.sets = resident.map(|(pixels, labels)| bytes(pixels) + bytes(labels)).sum();
        held
    }

    /// Where the training stands.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Goes on where a training of the same options and data stood: with its weights to the same bits.
    ///
    /// # Errors
    /// [`Error::Shape`] for a step that no epoch has, or a network of other widths; errors of the device.
    pub fn resume(&mut self, network: &Network, position: Position) -> Result<()> {
        if position.step >= self.steps_per_epoch() {
            return Err(Error::shape("step", format!("below {}", self.steps_per_epoch()), position.step));
        }
        self.set_network(network)?;
        self.position = position;
        Ok(())
    }

    /// Sets all gradients to 0. A step leaves them so; one that failed on its way may not.
    fn reset_gradients(&mut self) -> Result<()> {
        for layer in &mut self.layers {
            self.stream.zero(&mut layer.weight_gradient)?;
            self.stream.zero(&mut layer.bias_gradient)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("device", &self.device)
            .field("sizes", &self.sizes)
            .field("options", &self.options)
            .finish()
    }
}

/// What came of some steps.
#[derive(Clone, Copy, Debug, Default)]
struct EpochOutcome {
    /// Sum over the samples seen of the loss before their batch's update.
    loss_sum: f64,
    /// Steps done by now, from the epoch's beginning.
    next_step: u32,
    /// The first step whose loss is not finite.
    bad_step: Option<u32>,
    /// Seconds that the device spent on copies of batches, where they are copied.
    transfer_s: Option<f64>,
}
