//! Many models of one shape, trained side by side: seeds and learning rates compared.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::classifier::check_set;
use super::engine::Setup;
use super::epoch::kernels::{Course, DeviceSet, Kernels, Shape};
use super::epoch::{self, outcome, pack};
use super::options::{Execution, Options, Reduction};
use super::report::SCHEMA;
use super::{Dataset, Network, TrainEvent, Trainer};
use crate::{Buffer, Device, Error, Result, Stream};

/// Most models of a sweep.
pub const MAX_MODELS: usize = 4096;

/// One epoch of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepEpoch {
    /// The epoch, from 1.
    pub epoch: u32,
    /// Mean loss of the epoch's samples, each before its batch's update.
    pub loss: f64,
}

/// What became of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepModel {
    /// Its seed, of weights and orders.
    pub seed: u32,
    /// Its base learning rate.
    pub learning_rate: f64,
    /// Its epochs, up to the one before its loss ceased to be finite.
    pub epochs: Vec<SweepEpoch>,
    /// The epoch in which its loss ceased to be finite.
    pub diverged: Option<u32>,
    /// Share of the test set that it classifies rightly at the end, 0 to 1; `None` without a test set and for a model that diverged.
    pub test_accuracy: Option<f64>,
    /// Mean loss of the test set at the end.
    pub test_loss: Option<f64>,
}

/// A whole sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepReport {
    /// Version of these fields.
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// The models, as they were given.
    pub models: Vec<SweepModel>,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// Which kernels trained.
    pub execution: Execution,
    /// Whether all models were trained in one launch an epoch; otherwise one after the other.
    pub side_by_side: bool,
    /// Seconds of training, evaluation not counted.
    pub seconds: f64,
    /// Models that were trained for all epochs, by the second.
    pub models_per_second: f64,
    /// Where the data comes from.
    pub data: String,
    /// The options, whose `seed` and `learning_rate` the models replace.
    pub options: Options,
}

/// Options of a [`Sweep`]; made by [`Sweep::builder`].
#[derive(Clone, Debug, Default)]
pub struct SweepBuilder {
    options: Options,
    models: Vec<(u32, f64)>,
    test: Option<Arc<Dataset>>,
    threads: Option<usize>,
}

impl SweepBuilder {
    /// What all models have in common. Validation and early stopping are not for sweeps.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Adds a model: its seed and its base learning rate.
    pub fn model(mut self, seed: u32, learning_rate: f64) -> Self {
        self.models.push((seed, learning_rate));
        self
    }

    /// A set that every model classifies at the end.
    pub fn test(mut self, test: &Arc<Dataset>) -> Self {
        self.test = Some(Arc::clone(test));
        self
    }

    /// Threads of the CPU back end, as for a [`TrainerBuilder`](super::TrainerBuilder).
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Checks the options and takes the device's memory.
    ///
    /// On a device that runs kernels, models for which [`Execution::Epoch`] would be chosen are trained side by side, a cluster of blocks each, as many at the
    /// same time as the device has room for; others, and all on the CPU, one after the other.
    ///
    /// # Errors
    /// As [`TrainerBuilder::build`](super::TrainerBuilder::build); [`Error::Option`] without a model, with too many, and with validation samples.
    pub fn build(self, device: &Device, train: &Arc<Dataset>) -> Result<Sweep> {
        let Self { options, models, test, threads } = self;
        if !(1..=MAX_MODELS).contains(&models.len()) {
            return Err(Error::option("models", models.len(), format!("1 to {MAX_MODELS}")));
        }
        options.check()?;
        if options.validation > 0 {
            return Err(Error::option("validation", options.validation, "0 in a sweep"));
        }
        let each = |&(seed, learning_rate): &(u32, f64)| Options { seed, learning_rate, ..options.clone() };
        for model in &models {
            each(model).check()?;
        }
        // Everything that a trainer checks is checked here too, once: all models are alike.
        let mut builder = Trainer::builder().options(each(&models[0]));
        if let Some(test) = &test {
            builder = builder.test(test);
        }
        if let Some(threads) = threads {
            builder = builder.threads(threads);
        }
        let first = builder.clone().build(device, train)?;
        let sizes = options.sizes(train.n_inputs(), train.n_classes());
        if let Some(test) = &test {
            check_set(&sizes, test)?;
        }
        let side_by_side = match first.execution() {
            Execution::Epoch => Some(SideBySide::new(device, &options, &sizes, &models, train, test.as_ref())?),
            _ => None,
        };
        let execution = first.execution();
        Ok(Sweep {
            options,
            models,
            test,
            threads,
            device: device.clone(),
            train: Arc::clone(train),
            side_by_side,
            execution,
        })
    }
}

/// Models of one shape, to be trained on one set.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use warpplay::Device;
/// use warpplay::mlp::{Dataset, Options, Sweep};
///
/// let digits = Arc::new(Dataset::drawn_digits(1, 320)?);
/// let options = Options { hidden: vec![16], epochs: 2, ..Options::default() };
/// let sweep = Sweep::builder().options(options).model(1, 0.01).model(1, 0.1).test(&digits);
/// let report = sweep.build(&Device::cpu(), &digits)?.run(|_| ControlFlow::Continue(()))?;
/// assert!(report.models[1].epochs[1].loss < report.models[0].epochs[1].loss); // the larger rate is ahead
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Sweep {
    options: Options,
    models: Vec<(u32, f64)>,
    test: Option<Arc<Dataset>>,
    threads: Option<usize>,
    device: Device,
    train: Arc<Dataset>,
    side_by_side: Option<SideBySide>,
    execution: Execution,
}

impl Sweep {
    /// A builder with the default options and no model.
    pub fn builder() -> SweepBuilder {
        SweepBuilder::default()
    }

    /// Trains all models from the beginning. `watch` is told how many epochs of how many are done, over all models; if it answers `Break` the report holds
    /// what was done by then.
    ///
    /// # Errors
    /// Errors of the device. A model whose loss is not finite is no error: its report says so.
    pub fn run(&mut self, mut watch: impl FnMut(SweepProgress) -> ControlFlow<()>) -> Result<SweepReport> {
        let (models, seconds, done) = match &mut self.side_by_side {
            Some(side_by_side) => side_by_side.run(&self.options, &self.models, self.test.as_deref(), &mut watch)?,
            None => self.one_by_one(&mut watch)?,
        };
        Ok(SweepReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            models_per_second: done as f64 / seconds,
            models,
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            execution: self.execution,
            side_by_side: self.side_by_side.is_some(),
            seconds,
            data: self.train.source().to_string(),
            options: self.options.clone(),
        })
    }

    fn one_by_one(
        &self,
        watch: &mut dyn FnMut(SweepProgress) -> ControlFlow<()>,
    ) -> Result<(Vec<SweepModel>, f64, usize)> {
        let total = self.models.len() as u64 * u64::from(self.options.epochs);
        let mut reports = Vec::new();
        let (mut seconds, mut done, mut stop) = (0.0, 0, false);
        for (number, &(seed, learning_rate)) in self.models.iter().enumerate() {
            let mut model = SweepModel::new(seed, learning_rate);
            if stop {
                reports.push(model);
                continue;
            }
            let options = Options { seed, learning_rate, ..self.options.clone() };
            let mut builder = Trainer::builder().options(options);
            if let Some(threads) = self.threads {
                builder = builder.threads(threads);
            }
            let mut trainer = builder.build(&self.device, &self.train)?;
            let before = number as u64 * u64::from(self.options.epochs);
            let start = Instant::now();
            let end = trainer.run(|event| match event {
                TrainEvent::Epoch(epoch) => {
                    let answer = watch(SweepProgress { done: before + u64::from(epoch.epoch), total });
                    stop |= answer.is_break();
                    answer
                }
                TrainEvent::Step { .. } => ControlFlow::Continue(()),
            });
            seconds += start.elapsed().as_secs_f64();
            match end {
                Ok(_) => {}
                Err(Error::Diverged { epoch, .. }) => model.diverged = Some(epoch),
                Err(error) => return Err(error),
            }
            let epochs = trainer.epochs().iter();
            model.epochs = epochs.map(|epoch| SweepEpoch { epoch: epoch.epoch, loss: epoch.loss }).collect();
            done += usize::from(model.epochs.len() == self.options.epochs as usize);
            if let (Some(test), None) = (&self.test, model.diverged) {
                let found = trainer.evaluate(test)?;
                (model.test_accuracy, model.test_loss) = (Some(found.accuracy), Some(found.loss));
            }
            reports.push(model);
        }
        Ok((reports, seconds, done))
    }
}

impl std::fmt::Debug for Sweep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep")
            .field("device", &self.device)
            .field("models", &self.models.len())
            .field("side_by_side", &self.side_by_side.is_some())
            .finish()
    }
}

/// How far a sweep is, in epochs of all its models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepProgress {
    /// Epochs done.
    pub done: u64,
    /// Epochs in all.
    pub total: u64,
}

impl SweepModel {
    fn new(seed: u32, learning_rate: f64) -> Self {
        Self { seed, learning_rate, epochs: Vec::new(), diverged: None, test_accuracy: None, test_loss: None }
    }
}

/// All models on the device at once.
struct SideBySide {
    first_values: Vec<f32>,
    values: Buffer<f32>,
    set: DeviceSet,
    test: Option<DeviceSet>,
    course: Course,
    kernels: Kernels,
    stream: Stream,
    n_samples: usize,
}

impl SideBySide {
    fn new(
        device: &Device,
        options: &Options,
        sizes: &[u32],
        models: &[(u32, f64)],
        train: &Arc<Dataset>,
        test: Option<&Arc<Dataset>>,
    ) -> Result<Self> {
        let setup =
            Setup { options: options.clone(), sizes: sizes.to_vec(), train: Some(Arc::clone(train)), threads: None };
        epoch::fits(device, &setup)?;
        let shape =
            Shape { n_inputs: sizes[0], n_hidden: sizes[1], n_classes: sizes[2], n_models: models.len() as u32 };
        let alone = Shape { n_models: 1, ..shape };
        let mut first_values = Vec::with_capacity(shape.n_values() * models.len());
        for &(seed, _) in models {
            first_values.extend(pack(&Network::initial(sizes, options.init, seed)?.to_state(), alone)?);
        }
        let stream = device.stream()?;
        let seeds: Vec<u32> = models.iter().map(|&(seed, _)| seed).collect();
        Ok(Self {
            values: stream.alloc(first_values.len())?,
            // Only classified sets need places for each model's answers.
            set: DeviceSet::new(&stream, train, alone)?,
            test: test.map(|test| DeviceSet::new(&stream, test, shape)).transpose()?,
            course: Course::new(
                &stream,
                train.len() as u32,
                options.batch,
                options.reduction == Reduction::Mean,
                &seeds,
            )?,
            kernels: Kernels::load(device, shape)?,
            n_samples: train.len(),
            first_values,
            stream,
        })
    }

    fn run(
        &mut self,
        options: &Options,
        models: &[(u32, f64)],
        test: Option<&Dataset>,
        watch: &mut dyn FnMut(SweepProgress) -> ControlFlow<()>,
    ) -> Result<(Vec<SweepModel>, f64, usize)> {
        let Self { first_values, values, set, course, kernels, stream, n_samples, .. } = self;
        stream.write(values, 0, first_values)?;
        let mut reports: Vec<SweepModel> = models.iter().map(|&(seed, rate)| SweepModel::new(seed, rate)).collect();
        let n_steps = n_samples.div_ceil(options.batch as usize);
        let n_models = models.len() as u64;
        let mut seconds = 0.0;
        let mut epochs = 0;
        while epochs < options.epochs {
            let start = Instant::now();
            let before = u64::from(epochs) * n_steps as u64;
            let mut rates = Vec::with_capacity(n_steps * models.len());
            for &(seed, learning_rate) in models {
                let options = Options { seed, learning_rate, ..options.clone() };
                rates.extend(
                    (0..n_steps as u64).map(|step| options.learning_rate_at(before + step, n_steps as u64) as f32),
                );
            }
            course.set_rates(stream, &rates)?;
            kernels.train(stream, values, set, course, epochs, 0)?;
            let losses = course.step_losses(stream)?;
            seconds += start.elapsed().as_secs_f64();
            epochs += 1;
            for (report, losses) in reports.iter_mut().zip(losses.chunks_exact(n_steps)) {
                let outcome = outcome(losses, 0);
                if outcome.bad_step.is_some() && report.diverged.is_none() {
                    report.diverged = Some(epochs);
                }
                if report.diverged.is_none() {
                    report.epochs.push(SweepEpoch { epoch: epochs, loss: outcome.loss_sum / *n_samples as f64 });
                }
            }
            let total = u64::from(options.epochs) * n_models;
            if watch(SweepProgress { done: u64::from(epochs) * n_models, total }).is_break() {
                break;
            }
        }
        if let (Some(test), Some(set)) = (test, &mut self.test) {
            self.kernels.classify(&self.stream, &self.values, set)?;
            let (classes, losses, _) = set.found(&self.stream)?;
            let n = test.len();
            for (report, (classes, losses)) in
                reports.iter_mut().zip(classes.chunks_exact(n).zip(losses.chunks_exact(n)))
            {
                if report.diverged.is_none() {
                    let right =
                        classes.iter().zip(test.labels()).filter(|&(&class, &label)| class == u32::from(label)).count();
                    report.test_accuracy = Some(right as f64 / n as f64);
                    report.test_loss = Some(losses.iter().map(|&loss| f64::from(loss)).sum::<f64>() / n as f64);
                }
            }
        }
        let done = reports.iter().filter(|report| report.epochs.len() == options.epochs as usize).count();
        Ok((reports, seconds, done))
    }
}
