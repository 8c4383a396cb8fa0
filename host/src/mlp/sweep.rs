//! Many models of one shape, trained side by side: seeds and learning rates compared.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engines::Setup;
use super::engines::epoch::SideBySide;
use super::options::{Engine, Init, Optimizer, Options, Precision, Reduction, Residence, Schedule};
use super::report::{SCHEMA, SweepEpoch, SweepModel, SweepReport};
use super::{Dataset, Trainer, dispatch};
use crate::runtime::setters::setters;
use crate::{Device, Error, Memory, Progress, Result};

/// Most models of a sweep.
pub const MAX_MODELS: usize = 4096;

/// Options of a [`Sweep`]; made by [`Sweep::builder`].
#[derive(Clone, Debug)]
pub struct SweepBuilder {
    train: Arc<Dataset>,
    options: Options,
    models: Vec<(u32, f64)>,
    test: Option<Arc<Dataset>>,
}

impl SweepBuilder {
    /// What all models have in common. Held-out samples and early stopping are not for sweeps.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    setters! {
        hidden: Vec<u32>, batch: u32, epochs: u32, optimizer: Optimizer, weight_decay: f32, schedule: Schedule, warmup: u64, reduction: Reduction,
        init: Init, precision: Precision, engine: Engine, stream: Residence, evaluate_batch: u32,
        threads: impl Into<Option<usize>> = threads.into(),
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

    /// Memory that the sweep will need: of all models, if they are trained side by side.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed, or not with this data or device.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        self.check()?;
        let sets: Vec<usize> = self.test.iter().map(|test| test.len()).collect();
        dispatch::memory_of_many(device, &self.setup(), &sets, self.models.len() as u32)
    }

    /// Checks the options and takes the device's memory.
    ///
    /// On a device that runs kernels, models for which [`Engine::Epoch`] would be chosen are trained side by side, a cluster of blocks each, as many at the
    /// same time as the device has room for; others, and all on the CPU, one after the other.
    ///
    /// # Errors
    /// As [`TrainerBuilder::build`](super::TrainerBuilder::build); [`Error::Option`] without a model, with too many, and with held-out samples.
    pub fn build(self, device: &Device) -> Result<Sweep> {
        self.check()?;
        let setup = self.setup();
        if let Some(test) = &self.test {
            test.expect_fits(&setup.sizes)?;
        }
        let engine = dispatch::choose(device, &setup)?;
        let memory = self.memory_needed(device)?;
        device.expect_memory(&memory)?;
        let seeds: Vec<u32> = self.models.iter().map(|&(seed, _)| seed).collect();
        let mut side_by_side = dispatch::open_many(device, &setup, &seeds)?;
        if let (Some(side_by_side), Some(test)) = (&mut side_by_side, &self.test) {
            side_by_side.load_test(test)?;
        }
        let Self { train, options, models, test } = self;
        Ok(Sweep { options, models, test, device: device.clone(), train, side_by_side, engine, memory })
    }

    /// Everything that a trainer checks, for every model, and what a sweep does not do.
    fn check(&self) -> Result<()> {
        if !(1..=MAX_MODELS).contains(&self.models.len()) {
            return Err(Error::option("models", self.models.len(), format!("1 to {MAX_MODELS}")));
        }
        if self.options.held_out > 0 {
            return Err(Error::option("held_out", self.options.held_out, "0 in a sweep"));
        }
        for &(seed, learning_rate) in &self.models {
            let options = Options { seed, learning_rate, ..self.options.clone() };
            Trainer::builder(&self.train).options(options).check()?;
        }
        Ok(())
    }

    fn setup(&self) -> Setup {
        let sizes = self.options.sizes(self.train.n_inputs(), self.train.n_classes());
        Setup { options: self.options.clone(), sizes, train: Some(Arc::clone(&self.train)) }
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
/// let sweep = Sweep::builder(&digits).options(options).model(1, 0.01).model(1, 0.1).test(&digits);
/// let report = sweep.build(&Device::cpu())?.run(|_| ControlFlow::Continue(()))?;
/// assert!(report.models[1].epochs[1].loss < report.models[0].epochs[1].loss); // the larger rate is ahead
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Sweep {
    options: Options,
    models: Vec<(u32, f64)>,
    test: Option<Arc<Dataset>>,
    device: Device,
    train: Arc<Dataset>,
    side_by_side: Option<SideBySide>,
    engine: Engine,
    memory: Memory,
}

impl Sweep {
    /// A builder with the default options and no model.
    pub fn builder(train: &Arc<Dataset>) -> SweepBuilder {
        let (options, train) = (Options::default(), Arc::clone(train));
        SweepBuilder { train, options, models: Vec::new(), test: None }
    }

    /// Which engine trains; never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Memory that was asked for.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Trains all models from the beginning. `watch` is told how many epochs of how many are done, over all models; if it answers `Break` the report holds
    /// what was done by then.
    ///
    /// # Errors
    /// Errors of the device. A model whose loss is not finite is no error: its report says so.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress) -> ControlFlow<()>) -> Result<SweepReport> {
        let begin = Instant::now();
        let n_steps = Some(self.models.len() as u64 * u64::from(self.options.epochs));
        let mut told =
            |steps| watch(&Progress { steps, n_steps, elapsed: begin.elapsed(), time_limit: None, latest: None });
        let (models, trained) = match &mut self.side_by_side {
            Some(side_by_side) => side_by_side.run(&self.models, &mut told)?,
            None => self.one_by_one(&mut told)?,
        };
        let seconds = trained.as_secs_f64();
        let done = models.iter().filter(|model| model.epochs.len() == self.options.epochs as usize).count();
        Ok(SweepReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            models_per_second: done as f64 / seconds,
            models,
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            engine: self.engine,
            seed: self.models.first().map_or(self.options.seed, |&(seed, _)| seed),
            side_by_side: self.side_by_side.is_some(),
            seconds,
            data: self.train.source().to_string(),
            options: self.options.clone(),
        })
    }

    fn one_by_one(&self, told: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<(Vec<SweepModel>, Duration)> {
        let mut reports = Vec::new();
        let (mut trained, mut stop) = (Duration::ZERO, false);
        for (number, &(seed, learning_rate)) in self.models.iter().enumerate() {
            let mut model = SweepModel::new(seed, learning_rate);
            if stop {
                reports.push(model);
                continue;
            }
            let options = Options { seed, learning_rate, ..self.options.clone() };
            let builder = Trainer::builder(&self.train).options(options);
            let mut trainer = builder.build(&self.device)?;
            let before = number as u64 * u64::from(self.options.epochs);
            let start = Instant::now();
            let end = trainer.run(|progress| match &progress.latest {
                Some(epoch) => {
                    let answer = told(before + u64::from(epoch.epoch));
                    stop |= answer.is_break();
                    answer
                }
                None => ControlFlow::Continue(()),
            });
            trained += start.elapsed();
            match end {
                Ok(_) => {}
                Err(Error::Diverged { epoch, .. }) => model.diverged = Some(epoch),
                Err(error) => return Err(error),
            }
            let epochs = trainer.epochs().iter();
            model.repeated_epochs = epochs.clone().filter(|epoch| epoch.repeated).count() as u64;
            model.epochs = epochs.map(|epoch| SweepEpoch { epoch: epoch.epoch, loss: epoch.loss }).collect();
            if let (Some(test), None) = (&self.test, model.diverged) {
                let found = trainer.evaluate(test)?;
                (model.test_accuracy, model.test_loss) = (Some(found.accuracy), Some(found.loss));
            }
            reports.push(model);
        }
        Ok((reports, trained))
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
