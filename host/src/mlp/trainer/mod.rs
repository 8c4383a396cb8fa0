//! The training loop: epochs, evaluation, early stopping, checkpoints.

mod builder;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

pub use builder::TrainerBuilder;

use super::checkpoint::{Checkpoint, TrainerState};
use super::engines::{EpochPlan, SetId, Train};
use super::inputs::Description;
use super::options::{EarlyStopping, Engine, Options, Schedule, seed_in_32_bits};
use super::report::{EpochReport, Evaluation, Report, SCHEMA, StoppedBy};
use super::{Dataset, Network};
use crate::runtime::keep::Keep;
use crate::{Device, Error, Memory, Progress, Result};

/// The position of a training.
#[derive(Debug, Default)]
struct Position {
    epochs: Vec<EpochReport>,
    step: u32,
    loss_sum: f64,
    seconds: f64,
    updates: u64,
    best_loss: Option<f64>,
    epochs_since_best: u32,
    data_checksum: u64,
}

/// Checks that a training has not begun more than `epochs`: so many are `done`, and one more has begun if `step` is not its first.
fn check_limit(epochs: u32, done: usize, step: u32) -> Result<()> {
    let begun = done as u64 + u64::from(step > 0);
    if u64::from(epochs) < begun.max(1) {
        let which = if begun == 0 { "" } else { ", the epochs that have begun" };
        return Err(Error::option("epochs", epochs, format!("at least {}{which}", begun.max(1))));
    }
    Ok(())
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
/// let mut trainer = Trainer::builder(&digits).options(options).build(&Device::cpu())?;
/// let report = trainer.run(|_| std::ops::ControlFlow::Continue(()))?;
/// assert!(report.epochs[2].loss < report.epochs[0].loss);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Trainer {
    engine: Box<dyn Train>,
    device: Device,
    options: Options,
    sizes: Vec<u32>,
    train: Arc<Dataset>,
    train_id: SetId,
    test: Option<(SetId, Arc<Dataset>)>,
    validation: Option<(SetId, Arc<Dataset>)>,
    position: Position,
    keep: Keep,
    memory: Memory,
}

impl Trainer {
    /// A builder with the default options, to train on `train`.
    pub fn builder(train: &Arc<Dataset>) -> TrainerBuilder {
        TrainerBuilder::new(train)
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The engine that trains; never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        self.engine.engine()
    }

    /// Memory that was requested.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Sets the total number of epochs, as [`Options::epochs`]; with a larger number, another call of `run` continues a finished training.
    ///
    /// # Errors
    /// [`Error::Option`] for 0 and for fewer than have begun, and for another number with [`Schedule::Cosine`], which depends on the last epoch.
    pub fn set_limit(&mut self, epochs: u32) -> Result<()> {
        check_limit(epochs, self.position.epochs.len(), self.position.step)?;
        if matches!(self.options.schedule, Schedule::Cosine { .. }) && epochs != self.options.epochs {
            return Err(Error::option("epochs", epochs, format!("{} with the schedule cosine", self.options.epochs)));
        }
        self.options.epochs = epochs;
        Ok(())
    }

    /// Steps of an epoch.
    pub fn steps_per_epoch(&self) -> u32 {
        self.train.len().div_ceil(self.options.batch as usize) as u32
    }

    /// Reports of the finished epochs.
    pub fn epochs(&self) -> &[EpochReport] {
        &self.position.epochs
    }

    /// Trains until the last epoch is done, the validation loss no longer improves, or `watch` returns `Break`. After a stop, another call of `run` continues.
    ///
    /// A step is an update of the weights. `watch` is called after every epoch, with its report in [`Progress::latest`], and between: after every step by [`Engine::Cpu`],
    /// after about every 64th by [`Engine::Layers`], which must wait for the device, and never by [`Engine::Epoch`].
    ///
    /// If the builder was given a [`checkpoint`](TrainerBuilder::checkpoint), the state is written to it at the end and during the run.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a loss is not finite: the trainer returns to its state before the epoch, or to the state within the epoch from which `run` continued, and
    /// writes that state to the checkpoint. [`Error::File`] if the checkpoint cannot be written. Errors of the device.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<EpochReport>) -> ControlFlow<()>) -> Result<Report> {
        self.keep.begin();
        let ended = self.train(&mut watch);
        if matches!(ended, Ok(_) | Err(Error::Diverged { .. })) {
            self.keep_state()?;
        }
        self.report(ended?)
    }

    fn train(&mut self, watch: &mut dyn FnMut(&Progress<EpochReport>) -> ControlFlow<()>) -> Result<StoppedBy> {
        let begin = Instant::now();
        let steps = self.steps_per_epoch();
        let n_steps = Some(u64::from(steps) * u64::from(self.options.epochs));
        let mut stop = false;
        loop {
            if self.position.epochs.len() >= self.options.epochs as usize {
                return Ok(StoppedBy::Epochs);
            }
            if let Some(EarlyStopping { patience, .. }) = self.options.early_stopping
                && self.position.epochs_since_best >= patience
            {
                return Ok(StoppedBy::EarlyStopping);
            }
            let before = self.position.updates - u64::from(self.position.step);
            let mut told = |step: u32, latest: Option<EpochReport>| {
                let steps = before + u64::from(step);
                let progress = Progress { steps, n_steps, elapsed: begin.elapsed(), time_limit: None, latest };
                stop |= watch(&progress).is_break();
                !stop
            };
            if self.epoch(&mut |step| told(step, None))? {
                told(steps, self.position.epochs.last().cloned());
            }
            if stop {
                return Ok(StoppedBy::Request);
            }
            if self.keep.is_due() {
                self.keep_state()?;
            }
        }
    }

    /// Writes the state if a file was given.
    fn keep_state(&mut self) -> Result<()> {
        if !self.keep.is_wanted() {
            return Ok(());
        }
        let state = self.checkpoint()?;
        self.keep.write(&state)
    }

    /// Runs the rest of one epoch, until `watch` or a due checkpoint interrupts it; returns whether it was finished.
    fn epoch(&mut self, watch: &mut dyn FnMut(u32) -> bool) -> Result<bool> {
        let steps = self.steps_per_epoch();
        let number = self.position.epochs.len() as u32;
        let before = self.position.updates - u64::from(self.position.step);
        let learning_rates: Vec<f64> =
            (0..u64::from(steps)).map(|step| self.options.learning_rate_at(before + step, steps.into())).collect();
        self.engine.keep()?;
        let plan = EpochPlan {
            epoch: number,
            seed: seed_in_32_bits(self.options.seed),
            from_step: self.position.step,
            loss_before: self.position.loss_sum,
            learning_rates: &learning_rates,
            updates: before,
        };
        let start = Instant::now();
        let keep = &self.keep;
        let outcome = self.engine.train(&plan, &mut |step, _| watch(step + 1) && !keep.is_due())?;
        let seconds = start.elapsed().as_secs_f64();
        if let Some(step) = outcome.bad_step {
            self.engine.restore()?;
            return Err(Error::Diverged { epoch: number + 1, step: step + 1, steps });
        }
        let kept = (self.position.updates, self.position.step, self.position.loss_sum, self.position.seconds);
        self.position.updates = before + u64::from(outcome.next_step);
        self.position.step = outcome.next_step;
        self.position.loss_sum = outcome.loss_sum;
        self.position.seconds += seconds;
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
            (self.position.updates, self.position.step, self.position.loss_sum, self.position.seconds) = kept;
            return Err(Error::Diverged { epoch: number + 1, step: steps, steps });
        }
        let n = self.train.len() as f64;
        let report = EpochReport {
            epoch: number + 1,
            loss: self.position.loss_sum / n,
            test_accuracy: test.as_ref().and_then(Evaluation::share),
            test_loss: test.as_ref().map(|test| test.loss),
            validation_accuracy: validation.as_ref().and_then(Evaluation::share),
            validation_loss: validation.as_ref().map(|validation| validation.loss),
            learning_rate: learning_rates.last().copied().unwrap_or_default(),
            seconds: self.position.seconds,
            evaluation_seconds: start.elapsed().as_secs_f64(),
            samples_per_second: n / self.position.seconds,
            transfer_share: outcome.transfer_s.map(|transfer| transfer / seconds),
            repeated: outcome.repeated,
        };
        if let Some(loss) = report.validation_loss {
            let least = self.options.early_stopping.map_or(0.0, |stopping| stopping.min_delta);
            if self.position.best_loss.is_none_or(|best| loss < best - least) {
                self.position.best_loss = Some(loss);
                self.position.epochs_since_best = 0;
            } else {
                self.position.epochs_since_best += 1;
            }
        }
        self.position.epochs.push(report);
        (self.position.step, self.position.loss_sum, self.position.seconds) = (0, 0.0, 0.0);
        Ok(true)
    }

    fn evaluate_loaded(&mut self, id: SetId, set: &Dataset) -> Result<Evaluation> {
        let start = Instant::now();
        let found = self.engine.classify(id)?;
        let seconds = start.elapsed().as_secs_f64();
        let n_classes = self.sizes[self.sizes.len() - 1];
        Ok(Evaluation {
            engine: Some(self.engine.classified_by()),
            precision: Some(self.options.precision),
            ..found.evaluation(set, n_classes, &self.device, seconds)
        })
    }

    /// Classifies a labelled set with the present weights.
    ///
    /// # Errors
    /// [`Error::Shape`] if it does not fit the network or is not standardised as the training set; errors of the device.
    pub fn evaluate(&mut self, set: &Arc<Dataset>) -> Result<Evaluation> {
        set.expect_scaling_of(&self.train)?;
        set.expect_for(&self.sizes, self.options.loss, self.train.features().is_some())?;
        set.expect_precision(self.options.precision)?;
        let known = self.test.iter().find(|(_, test)| Arc::ptr_eq(test, set)).map(|(id, _)| *id);
        let id = known.map_or_else(|| self.engine.load(set), Ok)?;
        self.evaluate_loaded(id, set)
    }

    /// The report on the training so far. It counts the dead units, for which it classifies the training set once.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn report(&mut self, stopped_by: StoppedBy) -> Result<Report> {
        let dead_units_by_layer = self.engine.classify(self.train_id)?.dead_units();
        Ok(Report {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            epochs: self.position.epochs.clone(),
            repeated_epochs: self.position.epochs.iter().filter(|epoch| epoch.repeated).count() as u64,
            dead_units: dead_units_by_layer.iter().sum(),
            dead_units_by_layer,
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            engine: self.engine.engine(),
            seed: self.options.seed,
            seconds: self.position.epochs.iter().map(|epoch| epoch.seconds).sum(),
            data: self.train.source().to_string(),
            sizes: self.sizes.clone(),
            n_train: self.train.len() as u64,
            stopped_by,
            options: self.options.clone(),
        })
    }

    /// The present weights, with the loss, and what the training set says of the [inputs](Dataset::inputs).
    ///
    /// # Errors
    /// Errors of the device.
    pub fn network(&mut self) -> Result<Network> {
        let Options { activation, loss, .. } = self.options;
        let description = Description { activation, loss, inputs: self.train.inputs() };
        Network::from_state(&self.sizes, description, &self.engine.state()?)
    }

    /// The present state, from which a later run continues as if it had never stopped.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        let Position { epochs, step, loss_sum, seconds, updates, best_loss, epochs_since_best, data_checksum } =
            &self.position;
        Ok(crate::Checkpoint(TrainerState {
            options: self.options.clone(),
            sizes: self.sizes.clone(),
            n_train: self.train.len() as u64,
            data_checksum: *data_checksum,
            inputs: self.train.inputs(),
            epochs: epochs.clone(),
            step: *step,
            loss_sum: *loss_sum,
            seconds: *seconds,
            updates: *updates,
            best_loss: *best_loss,
            epochs_since_best: *epochs_since_best,
            state: self.engine.state()?,
        }))
    }
}

impl std::fmt::Debug for Trainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trainer")
            .field("device", &self.device)
            .field("sizes", &self.sizes)
            .field("options", &self.options)
            .field("epochs", &self.position.epochs.len())
            .finish()
    }
}
