//! The trainer: epochs, validation, divergence, checkpoints.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use super::checkpoint::{Checkpoint, Done, State, Sums};
use super::dispatch;
use super::engines::{Setup, Train};
use super::step::{Numbers, StepReport};
use super::{Engine, EpochReport, Losses, Options, Report, Samples, StoppedBy, order};
use crate::azero::Network;
use crate::azero::network::n_values;
use crate::runtime::keep::Keep;
use crate::runtime::setters::{checkpoint_setters, setters};
use crate::{Device, Error, Memory, Precision, Progress, Result};

/// Names of all options.
const NAMES: [&str; 14] = [
    "batch",
    "epochs",
    "steps",
    "learning_rate",
    "weight_decay",
    "value_weight",
    "momentum",
    "beta1",
    "beta2",
    "epsilon",
    "validation",
    "seed",
    "precision",
    "engine",
];

/// Options of a [`Trainer`]; made by [`Trainer::builder`].
#[derive(Clone, Debug)]
pub struct TrainerBuilder {
    network: Network,
    samples: Arc<Samples>,
    options: Options,
    /// Names of the options that the caller set.
    asked: Vec<&'static str>,
    resume: Option<Checkpoint>,
    keep: Keep,
}

impl TrainerBuilder {
    /// Sets all options at once.
    pub fn options(mut self, options: Options) -> Self {
        (self.options, self.asked) = (options, NAMES.to_vec());
        self
    }

    setters! {
        noted in asked;
        /// Positions of a step. Default 1024.
        batch: u32,
        /// Number of passes over all positions. Default 10.
        epochs: u32,
        /// Maximum total number of steps. Default no limit, only epochs count.
        steps: u64 = Some(steps),
        /// Adam's learning rate. Default 0.001.
        learning_rate: f64,
        /// Factor of the L2 term. Default 0.0001.
        weight_decay: f64,
        /// Factor of the value's loss. Default 1.
        value_weight: f64,
        /// Weight of a batch in the norms' running statistics. Default 0.1.
        momentum: f64,
        /// Adam's decay rate of the mean. Default 0.9.
        beta1: f64,
        /// Adam's decay rate of the mean square. Default 0.999.
        beta2: f64,
        /// The term that Adam adds to the root. Default 1e-8.
        epsilon: f64,
        /// Arithmetic of the convolutions of 3 × 3: f32, tf32 or bf16, as [`Options::precision`] says. Default f32.
        precision: Precision,
        /// The implementation that trains. Default [`Engine::Auto`].
        engine: Engine,
        /// Share of the games that are reserved for validation. Default 0.
        validation: f64,
        /// Seed of the order of positions and of the choice of games for validation. Default 1.
        seed: u64,
    }

    checkpoint_setters! {
        /// Continues from a checkpoint, whose network replaces the given one. Options that the caller did not set are the checkpoint's; only `epochs`, `steps` and `engine`
        /// may differ.
        resume,

        /// Writes the complete state to this file at the end of a run, however it ends, and every [`checkpoint_every`](Self::checkpoint_every). Default none.
        checkpoint,

        /// Time between two checkpoints while it runs, above 0; only with [`checkpoint`](Self::checkpoint). Default 5 minutes.
        checkpoint_every
    }

    /// Memory that it needs: on the device positions, parameters with Adam's moments and gradients, and the activations and gradients of a batch; on the host copies of the
    /// parameters and moments. On [`Device::cpu`] the part of the layers is an estimate, and positions are not copied.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed; [`Error::Shape`] for a network or a batch that the kernels do not support.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        let options = self.settled()?;
        memory((device, dispatch::choose(device, &options)?), &self.network, &self.samples, &options)
    }

    /// The options of the training: those that the caller set, and otherwise the checkpoint's, if there is one.
    fn settled(&self) -> Result<Options> {
        // Before the comparison with the checkpoint, so that a wrong value is reported as such.
        self.options.check()?;
        let options = match &self.resume {
            Some(checkpoint) => checkpoint.settled(&self.options, &self.asked)?,
            None => self.options.clone(),
        };
        options.check()?;
        Ok(options)
    }

    /// Opens a training on a device: kernels on [`Device::cuda`] and [`Device::simt`], the plain program on [`Device::cpu`].
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed, a batch above the number of training positions, or an option that differs from the checkpoint's;
    /// [`Error::Shape`] for positions that do not fit the network, or are not the checkpoint's; [`Error::OutOfMemory`] if the device has too little memory.
    pub fn build(self, device: &Device) -> Result<Trainer> {
        self.keep.check()?;
        let options = self.settled()?;
        let chosen = dispatch::choose(device, &options)?;
        let Self { network, samples, resume, keep, .. } = self;
        let data_checksum = samples.checksum();
        let (numbers, done) = match resume {
            Some(checkpoint) => {
                checkpoint.check_data(data_checksum)?;
                let State { numbers, done, .. } = checkpoint.0;
                (numbers, done)
            }
            None => {
                check_finite(&network)?;
                let zeros = Network::zeros(network.shape())?;
                let zeros = zeros.with_meaning(network.observation(), network.value_of());
                (Numbers { network, first: zeros.clone(), second: zeros }, Done::default())
            }
        };
        let network = &numbers.network;
        samples.check(network.shape(), network.observation(), network.value_of())?;
        let (train, validation) = samples.split(options.validation, options.seed);
        if options.batch as usize > train.len() {
            return Err(Error::option(
                "batch",
                options.batch,
                format!("at most the {} training positions", train.len()),
            ));
        }
        let memory = memory((device, chosen), network, &samples, &options)?;
        device.expect_memory(&memory)?;
        let setup = Setup { options: options.clone(), samples, state: numbers };
        let engine = dispatch::open(device, chosen, setup)?;
        let device = device.clone();
        Ok(Trainer { engine, chosen, device, options, train, validation, data_checksum, done, keep, memory })
    }
}

/// Memory of a training.
fn memory(on: (&Device, Engine), network: &Network, samples: &Samples, options: &Options) -> Result<Memory> {
    let shape = network.shape();
    // The engine's pattern of the network, and a state on its way from or to a checkpoint: parameters and two moments.
    let networks = 4 * 4 * n_values(shape);
    Ok(dispatch::memory(on, shape, samples, options)?.on_host("networks", networks))
}

/// Checks that all parameters are finite.
fn check_finite(network: &Network) -> Result<()> {
    let mut bad = None;
    network.visit(|name, _, values| {
        if let (None, Some(at)) = (&bad, values.iter().position(|value| !value.is_finite())) {
            bad = Some((name.to_string(), at, values[at]));
        }
    });
    match bad {
        Some((name, at, value)) => Err(Error::shape(format!("tensor {name}, element {at}"), "a finite number", value)),
        None => Ok(()),
    }
}

/// A network in training.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use warpplay::Device;
/// use warpplay::azero::train::{Samples, Trainer};
/// use warpplay::azero::{Network, NetworkShape, ObservationLayout, ValueOf};
///
/// // Four positions of one square and two planes; the action to take is the plane that is set.
/// let shape = NetworkShape {
///     rows: 1, columns: 1, planes: 2, width: 8, depth: 1, value_hidden: 8, actions: 2, ..NetworkShape::default()
/// };
/// let mut samples = Samples::new(shape, ObservationLayout::Default, ValueOf::First)?;
/// for game in 0..4 {
///     let action = (game % 2) as usize;
///     let mut planes = [0.0; 2];
///     planes[action] = 1.0;
///     samples.push(game, &planes, &[1, 1], &[(action as u32, 10)], 1.0 - 2.0 * action as f64)?;
/// }
/// let network = Network::seeded(shape, 1)?;
/// let builder = Trainer::builder(&network, &Arc::new(samples)).batch(4).epochs(100).learning_rate(0.01);
/// let mut trainer = builder.build(&Device::cpu())?;
/// let report = trainer.run(|_| ControlFlow::Continue(()))?;
/// let last = report.epochs.last().expect("a hundred");
/// assert!(last.train.accuracy == 1.0 && last.train.policy_loss < 0.1);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Trainer {
    engine: Box<dyn Train>,
    chosen: Engine,
    device: Device,
    options: Options,
    /// Positions for training and for validation.
    train: Vec<u32>,
    validation: Vec<u32>,
    data_checksum: u64,
    done: Done,
    keep: Keep,
    memory: Memory,
}

/// Events that a training reports while it runs: [`Progress::latest`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TrainEvent {
    /// A step was done. With kernels, several steps are reported together, since the trainer waits for the device only once for all of them.
    Step {
        /// The epoch, from 1.
        epoch: u32,
        /// Steps done in the epoch.
        step: u32,
        /// Steps of an epoch.
        steps: u32,
        /// Report of the step, from before its update.
        report: StepReport,
    },
    /// An epoch was done.
    Epoch(EpochReport),
}

/// Observer of a run, which may stop it.
type Watch<'a> = dyn FnMut(&Progress<TrainEvent>) -> ControlFlow<()> + 'a;

impl Trainer {
    /// Makes a builder of a training of a network on positions, with the default options.
    pub fn builder(network: &Network, samples: &Arc<Samples>) -> TrainerBuilder {
        TrainerBuilder {
            network: network.clone(),
            samples: Arc::clone(samples),
            options: Options::default(),
            asked: Vec::new(),
            resume: None,
            keep: Keep::default(),
        }
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The engine that trains, never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        self.chosen
    }

    /// Steps of an epoch.
    pub fn steps_per_epoch(&self) -> u32 {
        self.train.len() as u32 / self.options.batch
    }

    /// Reports of the finished epochs.
    pub fn epochs(&self) -> &[EpochReport] {
        &self.done.epochs
    }

    /// Number of updates done.
    pub fn updates(&self) -> u64 {
        self.done.updates
    }

    /// Numbers of positions for training and for validation.
    pub fn n_positions(&self) -> (usize, usize) {
        (self.train.len(), self.validation.len())
    }

    /// Memory that it took, as [`TrainerBuilder::memory_needed`].
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Raises the total number of epochs.
    ///
    /// # Errors
    /// [`Error::Option`] for a number that is not allowed.
    pub fn set_limit(&mut self, epochs: u32) -> Result<()> {
        let options = Options { epochs, ..self.options.clone() };
        options.check()?;
        self.options = options;
        Ok(())
    }

    /// Trains until the last epoch or step is done, or `watch` returns `Break`, which takes effect between two steps. After a stop, another call of `run` continues. The
    /// progress counts updates as steps.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a loss or gradient is not finite: the trainer returns to its state before the epoch, or to the state within the epoch from which `run`
    /// continued, which can still be saved. Errors of the device, and of the checkpoint's file.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress<TrainEvent>) -> ControlFlow<()>) -> Result<Report> {
        let start = Instant::now();
        self.keep.begin();
        let ended = self.run_epochs(start, &mut watch);
        // What was learned is kept, also after a loss that is not finite.
        self.keep_state()?;
        let stopped_by = ended?;
        Ok(Report {
            device: self.device.to_string(),
            engine: self.chosen,
            seed: self.options.seed,
            options: self.options.clone(),
            epochs: self.done.epochs.clone(),
            updates: self.done.updates,
            stopped_by,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn run_epochs(&mut self, start: Instant, watch: &mut Watch<'_>) -> Result<StoppedBy> {
        loop {
            if self.done.epochs.len() >= self.options.epochs as usize {
                return Ok(StoppedBy::Epochs);
            }
            if self.options.steps.is_some_and(|most| self.done.updates >= most) {
                return Ok(StoppedBy::Steps);
            }
            if !self.epoch(start, watch)? {
                return Ok(StoppedBy::Request);
            }
            if let Some(report) = self.done.epochs.last() {
                let event = TrainEvent::Epoch(report.clone());
                if watch(&self.progress(start, event)).is_break() {
                    return Ok(StoppedBy::Request);
                }
            }
        }
    }

    fn progress(&self, start: Instant, latest: TrainEvent) -> Progress<TrainEvent> {
        let all = u64::from(self.options.epochs) * u64::from(self.steps_per_epoch());
        Progress {
            steps: self.done.updates,
            n_steps: Some(self.options.steps.map_or(all, |most| all.min(most))),
            elapsed: start.elapsed(),
            time_limit: None,
            latest: Some(latest),
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

    /// Runs the rest of one epoch; returns whether it was finished.
    fn epoch(&mut self, start: Instant, watch: &mut Watch<'_>) -> Result<bool> {
        let steps = self.steps_per_epoch();
        let (batch, number) = (self.options.batch as usize, self.done.epochs.len() as u32);
        let shuffled = order::shuffled(self.train.len() as u32, self.options.seed, number.into());
        let order: Vec<u32> = shuffled.into_iter().map(|at| self.train[at as usize]).collect();
        let left = self.options.steps.map_or(u64::MAX, |most| most - self.done.updates);
        let end = u64::from(steps).min(u64::from(self.done.step).saturating_add(left)) as u32;
        self.engine.keep()?;
        let kept = self.done.clone();
        let mut goes_on = true;
        while goes_on && self.done.step < end {
            let at_once = dispatch::steps_at_once(self.chosen);
            let from = self.done.step;
            let to = end.min(from + at_once);
            let begun = Instant::now();
            let reports = self.engine.train(&order[from as usize * batch..to as usize * batch], self.done.updates)?;
            let seconds = begun.elapsed().as_secs_f64();
            for report in reports {
                let step = self.done.step + 1;
                if !report.is_finite() {
                    self.engine.restore()?;
                    self.done = kept;
                    return Err(Error::Diverged { epoch: number + 1, step, steps });
                }
                self.done.step = step;
                self.done.updates += 1;
                self.done.sums.add(&report);
                let event = TrainEvent::Step { epoch: number + 1, step, steps, report };
                goes_on &= watch(&self.progress(start, event)).is_continue();
            }
            self.done.sums.seconds += seconds;
            if self.keep.is_due() {
                self.keep_state()?;
            }
        }
        if self.done.step < end {
            return Ok(false);
        }
        let validation = self.validate()?;
        // The last update may have gone wrong, which no loss of the epoch shows.
        let sound = match &validation {
            Some(losses) => (losses.policy_loss + losses.value_loss).is_finite(),
            None => self.engine.is_finite()?,
        };
        if !sound {
            self.engine.restore()?;
            self.done = kept;
            return Err(Error::Diverged { epoch: number + 1, step: end, steps });
        }
        let sums = std::mem::take(&mut self.done.sums);
        self.done.epochs.push(sums.report(number + 1, self.done.step, self.options.batch, validation));
        self.done.step = 0;
        Ok(goes_on)
    }

    fn validate(&mut self) -> Result<Option<Losses>> {
        if self.validation.is_empty() {
            return Ok(None);
        }
        let validation = std::mem::take(&mut self.validation);
        let found = self.engine.evaluate(&validation);
        self.validation = validation;
        Ok(Some(mean(found?, self.validation.len())))
    }

    /// Mean losses and accuracy of the present network over positions given by their indices in the samples; norms use the running statistics.
    ///
    /// # Errors
    /// [`Error::Shape`] for no position or a position that does not exist; errors of the device.
    pub fn evaluate(&mut self, positions: &[u32]) -> Result<Losses> {
        if positions.is_empty() {
            return Err(Error::shape("positions to evaluate", "at least one", 0));
        }
        Ok(mean(self.engine.evaluate(positions)?, positions.len()))
    }

    /// The gradient of the loss of one batch of positions, given by their indices in the samples, for the present network and without the L2 term. Its running statistics
    /// are 0. For tests and diagnosis; nothing is changed.
    ///
    /// # Errors
    /// [`Error::Shape`] for no position, more than a batch, or a position that does not exist; errors of the device.
    pub fn gradient(&mut self, positions: &[u32]) -> Result<Network> {
        if positions.is_empty() || positions.len() > self.options.batch as usize {
            return Err(Error::shape("positions of a batch", format!("1 to {}", self.options.batch), positions.len()));
        }
        self.engine.gradient(positions)
    }

    /// The present network.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn network(&mut self) -> Result<Network> {
        Ok(self.engine.state()?.network)
    }

    /// The present state, from which a later training continues as if it had never stopped.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        Ok(crate::Checkpoint(State {
            options: self.options.clone(),
            data_checksum: self.data_checksum,
            done: self.done.clone(),
            numbers: self.engine.state()?,
        }))
    }
}

fn mean(sums: [f64; 3], n: usize) -> Losses {
    let [policy_loss, value_loss, accuracy] = sums.map(|sum| sum / n as f64);
    Losses { policy_loss, value_loss, accuracy }
}

impl Sums {
    fn add(&mut self, report: &StepReport) {
        self.policy_loss += report.policy_loss;
        self.value_loss += report.value_loss;
        self.l2_loss += report.l2_loss;
        self.gradient_norm += report.gradient_norm;
        self.accuracy += report.accuracy;
    }

    fn report(&self, epoch: u32, steps: u32, batch: u32, validation: Option<Losses>) -> EpochReport {
        let mean = |sum: f64| sum / f64::from(steps);
        let train = Losses {
            policy_loss: mean(self.policy_loss),
            value_loss: mean(self.value_loss),
            accuracy: mean(self.accuracy),
        };
        EpochReport {
            epoch,
            steps,
            train,
            l2_loss: mean(self.l2_loss),
            gradient_norm: mean(self.gradient_norm),
            validation,
            seconds: self.seconds,
            positions_per_second: f64::from(steps) * f64::from(batch) / self.seconds,
        }
    }
}

impl std::fmt::Debug for Trainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trainer")
            .field("device", &self.device)
            .field("options", &self.options)
            .field("updates", &self.done.updates)
            .finish()
    }
}
