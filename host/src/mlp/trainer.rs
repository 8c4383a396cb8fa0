//! The training loop: epochs, evaluation, early stopping, checkpoints.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use super::classifier::{check_set, dead_units, evaluation};
use super::engine::{Engine, EpochPlan, SetId, Setup};
use super::options::{EarlyStopping, Execution, MAX_CLASSES, MAX_WIDTH, Options, Precision, Residence};
use super::report::{EpochReport, Evaluation, SCHEMA, StoppedBy, TrainReport};
use super::{Checkpoint, Dataset, Network, cpu, epoch, layers, network, paper};
use crate::{Backend, Device, Error, Result};

/// Most threads that a caller may ask for: many more are no use, and millions take minutes to start.
const MAX_THREADS: usize = 1024;

/// Options of a [`Trainer`]; made by [`Trainer::builder`].
#[derive(Clone, Debug, Default)]
pub struct TrainerBuilder {
    options: Options,
    threads: Option<usize>,
    test: Option<Arc<Dataset>>,
    network: Option<Network>,
    resume: Option<Checkpoint>,
}

impl TrainerBuilder {
    /// All options at once.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Threads of the CPU back end, at most 1024, default all cores; 1 is the sequential program. The result does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// A set that is classified after every epoch: its accuracy and loss are in the reports. It has no influence on the training.
    pub fn test(mut self, test: &Arc<Dataset>) -> Self {
        self.test = Some(Arc::clone(test));
        self
    }

    /// First weights, instead of drawn ones.
    pub fn network(mut self, network: Network) -> Self {
        self.network = Some(network);
        self
    }

    /// Goes on from a checkpoint. The options are not taken from it: start from [`Checkpoint::options`]. Training set and options must be those of the
    /// checkpoint, but for `epochs` (fixed too with [`Schedule::Cosine`](super::Schedule::Cosine)), `early_stopping` and what only concerns
    /// speed (`execution`, `stream`, `evaluate_batch`, `paper`; the last is fixed too where [`Execution::Paper`] goes on with its own training).
    /// With the same kernels on the same kind of device the result has the bits of a training that was never stopped.
    pub fn resume(mut self, checkpoint: Checkpoint) -> Self {
        self.resume = Some(checkpoint);
        self
    }

    /// Checks the options against data and device, takes the device's memory, and sets the first weights.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed, or not with this data or device; [`Error::Shape`] if the test set, the given network or
    /// the checkpoint does not suit the training set; errors of the device.
    pub fn build(self, device: &Device, train: &Arc<Dataset>) -> Result<Trainer> {
        let Self { options, threads, test, network, resume } = self;
        if network.is_some() && resume.is_some() {
            return Err(Error::option("network", "given", "not together with a checkpoint, which has its own weights"));
        }
        options.check()?;
        if let Some(threads) = threads.filter(|threads| !(1..=MAX_THREADS).contains(threads)) {
            return Err(Error::option("threads", threads, format!("1 to {MAX_THREADS}")));
        }
        if train.n_inputs() > MAX_WIDTH || train.n_classes() > MAX_CLASSES {
            let got = format!("{} pixels, {} classes", train.n_inputs(), train.n_classes());
            return Err(Error::shape(
                train.source(),
                format!("at most {MAX_WIDTH} pixels, {MAX_CLASSES} classes"),
                got,
            ));
        }
        let (train, validation) = match options.validation {
            0 => (Arc::clone(train), None),
            n => {
                let (train, validation) = train.split(n as usize)?;
                (Arc::new(train), Some(Arc::new(validation)))
            }
        };
        if options.batch as usize > train.len() {
            let allowed = format!("at most the {} training samples", train.len());
            return Err(Error::option("batch", options.batch, allowed));
        }
        let sizes = options.sizes(train.n_inputs(), train.n_classes());
        if let Some(test) = &test {
            check_set(&sizes, test)?;
        }
        if let Some(network) = &network
            && network.sizes() != sizes
        {
            return Err(Error::shape("network", format!("{sizes:?}"), format!("{:?}", network.sizes())));
        }
        let data_checksum = train.checksum();
        let place = Place { data_checksum, ..Place::default() };
        let setup = Setup { options: options.clone(), sizes: sizes.clone(), train: Some(Arc::clone(&train)), threads };
        let mut engine = open(device, setup)?;
        let place = match resume {
            Some(checkpoint) => {
                checkpoint.check_fits(&options, &sizes, &train, data_checksum)?;
                engine.set_state(&checkpoint.state)?;
                Place {
                    epochs: checkpoint.epochs,
                    step: checkpoint.step,
                    loss_sum: checkpoint.loss_sum,
                    seconds: checkpoint.seconds,
                    updates: checkpoint.updates,
                    best_loss: checkpoint.best_loss,
                    epochs_since_best: checkpoint.epochs_since_best,
                    data_checksum,
                }
            }
            None => {
                let network = network.map_or_else(|| network::initial(&sizes, options.init, options.seed), Ok)?;
                engine.set_state(&network.to_state())?;
                place
            }
        };
        let train_id = engine.load(&train)?;
        let test = test.map(|set| Ok::<_, Error>((engine.load(&set)?, set))).transpose()?;
        let validation = validation.map(|set| Ok::<_, Error>((engine.load(&set)?, set))).transpose()?;
        Ok(Trainer { engine, device: device.clone(), options, sizes, train, train_id, test, validation, place })
    }
}

/// Opens the engine that the options name, or the fastest.
///
/// The cpu back end has [`Execution::Plain`] only. The rule of [`Execution::Auto`] on a device that runs kernels: [`Execution::Epoch`] where [`epoch::fits`] says that it can, else
/// [`Execution::Layers`].
pub(super) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Engine>> {
    let Options { execution, precision, stream, .. } = setup.options;
    if device.backend() == Backend::Cpu {
        if !matches!(precision, Precision::F32 | Precision::F64) {
            return Err(Error::option("precision", precision, "fp32 or fp64 on the cpu back end"));
        }
        if !matches!(execution, Execution::Auto | Execution::Plain) {
            return Err(Error::option(
                "execution",
                execution,
                "auto or plain on the cpu back end, which runs no kernels",
            ));
        }
        if stream == Residence::Host {
            return Err(Error::option(
                "stream",
                stream,
                "device on the cpu back end, whose data is in host memory anyway",
            ));
        }
        return cpu::open(device, setup);
    }
    if precision == Precision::F64 {
        return Err(Error::option(
            "precision",
            precision,
            "fp32, tf32, bf16 or fp16 where kernels run; fp64 on the cpu",
        ));
    }
    match execution {
        Execution::Paper => paper::open(device, setup),
        Execution::Layers => layers::open(device, setup),
        Execution::Epoch => {
            epoch::fits(device, &setup)?;
            epoch::open(device, setup)
        }
        Execution::Auto if epoch::fits(device, &setup).is_ok() => epoch::open(device, setup),
        Execution::Auto => layers::open(device, setup),
        Execution::Plain => Err(Error::option(
            "execution",
            execution,
            "auto, epoch, layers or paper where kernels run; plain on the cpu",
        )),
    }
}

/// Where a training stands.
#[derive(Debug, Default)]
struct Place {
    epochs: Vec<EpochReport>,
    step: u32,
    loss_sum: f64,
    seconds: f64,
    updates: u64,
    best_loss: Option<f64>,
    epochs_since_best: u32,
    data_checksum: u64,
}

/// A network in training.
///
/// ```
/// use std::sync::Arc;
/// use warpplay::Device;
/// use warpplay::mlp::{Dataset, Options, Trainer};
///
/// let digits = Arc::new(Dataset::drawn_digits(1, 640)?);
/// let options = Options { hidden: vec![32], epochs: 3, learning_rate: 0.1, ..Options::default() };
/// let mut trainer = Trainer::builder().options(options).build(&Device::cpu(), &digits)?;
/// let report = trainer.run(|_| std::ops::ControlFlow::Continue(()))?;
/// assert!(report.epochs[2].loss < report.epochs[0].loss);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Trainer {
    engine: Box<dyn Engine>,
    device: Device,
    options: Options,
    sizes: Vec<u32>,
    train: Arc<Dataset>,
    train_id: SetId,
    test: Option<(SetId, Arc<Dataset>)>,
    validation: Option<(SetId, Arc<Dataset>)>,
    place: Place,
}

/// What a training's caller is told while it runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TrainEvent<'a> {
    /// A step was done. [`Execution::Plain`] tells each, [`Execution::Layers`] and [`Execution::Paper`] about every 64th on a GPU, since they must
    /// wait for the device to know the loss, and [`Execution::Epoch`] none.
    Step {
        /// The epoch, from 1.
        epoch: u32,
        /// Steps done of it.
        step: u32,
        /// Steps of an epoch.
        steps: u32,
        /// Mean loss of the step's batch, before its update.
        loss: f64,
    },
    /// An epoch was done.
    Epoch(&'a EpochReport),
}

impl Trainer {
    /// A builder with the default options.
    pub fn builder() -> TrainerBuilder {
        TrainerBuilder::default()
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Which kernels train; never [`Execution::Auto`].
    pub fn execution(&self) -> Execution {
        self.engine.execution()
    }

    /// Steps of an epoch.
    pub fn steps_per_epoch(&self) -> u32 {
        self.train.len().div_ceil(self.options.batch as usize) as u32
    }

    /// Epochs that are done.
    pub fn epochs(&self) -> &[EpochReport] {
        &self.place.epochs
    }

    /// Trains until the last epoch is done, the validation loss no longer improves, or `watch` answers `Break`. It is asked after every epoch and
    /// with every [`TrainEvent::Step`]. A training that it stopped goes on when `run` is called again.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a loss is not finite: the state is again that before the epoch, or that from which `run` went on within it, and can
    /// still be saved. Errors of the device.
    pub fn run(&mut self, mut watch: impl FnMut(TrainEvent<'_>) -> ControlFlow<()>) -> Result<TrainReport> {
        let stopped_by = loop {
            if self.place.epochs.len() >= self.options.epochs as usize {
                break StoppedBy::Epochs;
            }
            if let Some(EarlyStopping { patience, .. }) = self.options.early_stopping
                && self.place.epochs_since_best >= patience
            {
                break StoppedBy::EarlyStopping;
            }
            let mut stop = false;
            if !self.epoch(&mut |event| {
                stop |= watch(event).is_break();
                !stop
            })? {
                break StoppedBy::Request;
            }
            if let Some(report) = self.place.epochs.last()
                && (watch(TrainEvent::Epoch(report)).is_break() || stop)
            {
                break StoppedBy::Request;
            }
        };
        self.report(stopped_by)
    }

    /// The rest of one epoch; whether it was finished.
    fn epoch(&mut self, watch: &mut dyn FnMut(TrainEvent<'_>) -> bool) -> Result<bool> {
        let steps = self.steps_per_epoch();
        let number = self.place.epochs.len() as u32;
        let before = self.place.updates - u64::from(self.place.step);
        let learning_rates: Vec<f64> =
            (0..u64::from(steps)).map(|step| self.options.learning_rate_at(before + step, steps.into())).collect();
        self.engine.keep()?;
        let plan =
            EpochPlan { epoch: number, from_step: self.place.step, learning_rates: &learning_rates, updates: before };
        let start = Instant::now();
        let outcome = self.engine.train(&plan, &mut |step, loss| {
            watch(TrainEvent::Step { epoch: number + 1, step: step + 1, steps, loss })
        })?;
        let seconds = start.elapsed().as_secs_f64();
        if let Some(step) = outcome.bad_step {
            self.engine.restore()?;
            return Err(Error::Diverged { epoch: number + 1, step: step + 1, steps });
        }
        let kept = (self.place.updates, self.place.step, self.place.loss_sum, self.place.seconds);
        self.place.updates = before + u64::from(outcome.next_step);
        self.place.step = outcome.next_step;
        self.place.loss_sum += outcome.loss_sum;
        self.place.seconds += seconds;
        if outcome.next_step < steps {
            return Ok(false);
        }
        let start = Instant::now();
        let test = self.test.clone().map(|(id, set)| self.evaluate_loaded(id, &set)).transpose()?;
        let validation = self.validation.clone().map(|(id, set)| self.evaluate_loaded(id, &set)).transpose()?;
        // The last update may have gone wrong, which no loss of the epoch shows.
        let mut losses = test.iter().chain(&validation).map(|found| found.loss).peekable();
        let sound = if losses.peek().is_some() { losses.all(f64::is_finite) } else { self.engine.state()?.is_finite() };
        if !sound {
            self.engine.restore()?;
            (self.place.updates, self.place.step, self.place.loss_sum, self.place.seconds) = kept;
            return Err(Error::Diverged { epoch: number + 1, step: steps, steps });
        }
        let n = self.train.len() as f64;
        let report = EpochReport {
            epoch: number + 1,
            loss: self.place.loss_sum / n,
            test_accuracy: test.as_ref().map(|test| test.accuracy),
            test_loss: test.as_ref().map(|test| test.loss),
            validation_accuracy: validation.as_ref().map(|validation| validation.accuracy),
            validation_loss: validation.as_ref().map(|validation| validation.loss),
            learning_rate: learning_rates.last().copied().unwrap_or_default(),
            seconds: self.place.seconds,
            evaluation_seconds: start.elapsed().as_secs_f64(),
            samples_per_second: n / self.place.seconds,
            transfer_share: outcome.transfer_s.map(|transfer| transfer / seconds),
        };
        if let Some(loss) = report.validation_loss {
            let least = self.options.early_stopping.map_or(0.0, |stopping| stopping.min_delta);
            if self.place.best_loss.is_none_or(|best| loss < best - least) {
                self.place.best_loss = Some(loss);
                self.place.epochs_since_best = 0;
            } else {
                self.place.epochs_since_best += 1;
            }
        }
        self.place.epochs.push(report);
        (self.place.step, self.place.loss_sum, self.place.seconds) = (0, 0.0, 0.0);
        Ok(true)
    }

    fn evaluate_loaded(&mut self, id: SetId, set: &Dataset) -> Result<Evaluation> {
        let start = Instant::now();
        let found = self.engine.classify(id)?;
        Ok(evaluation(set, &found, &self.sizes, &self.device, start.elapsed().as_secs_f64()))
    }

    /// Classifies a labelled set with the present weights.
    ///
    /// # Errors
    /// [`Error::Shape`] if it does not suit the network; errors of the device.
    pub fn evaluate(&mut self, set: &Arc<Dataset>) -> Result<Evaluation> {
        check_set(&self.sizes, set)?;
        let known = self.test.iter().find(|(_, test)| Arc::ptr_eq(test, set)).map(|(id, _)| *id);
        let id = known.map_or_else(|| self.engine.load(set), Ok)?;
        self.evaluate_loaded(id, set)
    }

    /// The report on what was trained so far. Counts the dead units, which classifies the training set once.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn report(&mut self, stopped_by: StoppedBy) -> Result<TrainReport> {
        let dead_units_by_layer = dead_units(&self.engine.classify(self.train_id)?);
        Ok(TrainReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            epochs: self.place.epochs.clone(),
            dead_units: dead_units_by_layer.iter().sum(),
            dead_units_by_layer,
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            execution: self.engine.execution(),
            data: self.train.source().to_string(),
            sizes: self.sizes.clone(),
            n_train: self.train.len() as u64,
            stopped_by,
            options: self.options.clone(),
        })
    }

    /// The present weights.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn network(&mut self) -> Result<Network> {
        Network::from_state(&self.sizes, &self.engine.state()?)
    }

    /// The present state, to go on from later as if nothing had happened.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        let Place { epochs, step, loss_sum, seconds, updates, best_loss, epochs_since_best, data_checksum } =
            &self.place;
        Ok(Checkpoint {
            options: self.options.clone(),
            sizes: self.sizes.clone(),
            n_train: self.train.len() as u64,
            data_checksum: *data_checksum,
            epochs: epochs.clone(),
            step: *step,
            loss_sum: *loss_sum,
            seconds: *seconds,
            updates: *updates,
            best_loss: *best_loss,
            epochs_since_best: *epochs_since_best,
            state: self.engine.state()?,
        })
    }
}

impl std::fmt::Debug for Trainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trainer")
            .field("device", &self.device)
            .field("sizes", &self.sizes)
            .field("options", &self.options)
            .field("epochs", &self.place.epochs.len())
            .finish()
    }
}
