//! Many models of one shape, trained side by side: seeds and learning rates compared.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engines::Setup;
use super::engines::epoch::{self, SideBySide};
use super::options::{Activation, Engine, Init, Loss, Optimizer, Options, Precision, Reduction, Residence, Schedule};
use super::report::{SCHEMA, SweepEpoch, SweepModel, SweepReport};
use super::{Dataset, Trainer, dispatch};
use crate::runtime::journal::{self, Header, Journal, Piece, Target};
use crate::runtime::setters::{journal_setters, setters};
use crate::{Device, Error, Memory, Progress, Result};

/// Most models of a sweep.
pub const MAX_MODELS: usize = 4096;
/// Number of models trained at the same time in a sweep with a journal; all models of a group finish together. It is several times the number that a device runs at once, so
/// that little of the device is idle at the end of each group.
const GROUP: usize = 64;

/// Options of a [`Sweep`]; made by [`Sweep::builder`].
#[derive(Clone, Debug)]
pub struct SweepBuilder {
    train: Arc<Dataset>,
    options: Options,
    models: Vec<(u64, f64)>,
    test: Option<Arc<Dataset>>,
    journal: Option<Target>,
}

impl SweepBuilder {
    /// Sets the options that all models share. Sweeps support neither held-out samples nor early stopping.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    setters! {
        hidden: Vec<u32>, activation: Activation, layer_norm: bool, batch_norm: bool, dropout: f32, loss: Loss, batch: u32, epochs: u32, optimizer: Optimizer, weight_decay: f32, label_smoothing: f32, clip_norm: impl Into<Option<f32>> = clip_norm.into(), schedule: Schedule, warmup: u64, reduction: Reduction,
        init: Init, precision: Precision, engine: Engine, stream: Residence, evaluate_batch: u32,
        threads: impl Into<Option<usize>> = threads.into(),
    }

    /// Adds a model with its seed and its base learning rate. A seed above 32 bits is reduced to 32 bits, so two such seeds can give the same training.
    pub fn model(mut self, seed: u64, learning_rate: f64) -> Self {
        self.models.push((seed, learning_rate));
        self
    }

    /// A set that every model classifies at the end.
    pub fn test(mut self, test: &Arc<Dataset>) -> Self {
        self.test = Some(Arc::clone(test));
        self
    }

    journal_setters! {
        /// Saves every model's report in this new file as soon as the model is finished: a [journal](crate::journal). Models that are trained at the same time are then
        /// trained in groups of 64, and those of a group finish together; the results are the same.
        checkpoint,

        /// Continues the journal that [`checkpoint`](Self::checkpoint) of another sweep has written: its models are not trained again, and new ones are added to it. This
        /// sweep may have more models.
        resume
    }

    /// Number of models per group, if they are trained together.
    fn group(&self) -> usize {
        if self.journal.is_some() { self.models.len().min(GROUP) } else { self.models.len() }
    }

    /// Memory that the sweep will need; that of all models, if they are trained at the same time.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed, or not with this data or device.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        self.check()?;
        let sets: Vec<usize> = self.test.iter().map(|test| test.len()).collect();
        dispatch::memory_of_many(device, &self.setup(), &sets, self.group() as u32)
    }

    /// Checks the options and allocates the device's memory.
    ///
    /// On a device that runs kernels, models for which [`Engine::Epoch`] would be chosen are trained together, epoch by epoch: one cluster of blocks each, as many at the same time as fit on the
    /// device, or, with two hidden layers, more units than a cluster has, or without clusters, one launch behind the other; other models, and all models on the CPU, are trained one after the other.
    ///
    /// # Errors
    /// As [`TrainerBuilder::build`](super::TrainerBuilder::build); [`Error::Option`] without a model, with too many, and with held-out samples; [`Error::File`] for a new
    /// journal that already exists, or a journal of a different sweep.
    pub fn build(self, device: &Device) -> Result<Sweep> {
        self.check()?;
        let setup = self.setup();
        if let Some(test) = &self.test {
            test.expect_for(&setup.sizes, self.options.loss, setup.features)?;
            test.expect_precision(self.options.precision)?;
            test.expect_columns_of(&self.train)?;
            test.expect_scaling_of(&self.train)?;
        }
        let engine = dispatch::choose(device, &setup)?;
        let memory = self.memory_needed(device)?;
        device.expect_memory(&memory)?;
        let facts = || {
            // Each model has its own rate and seed, and its key.
            let mut without = vec!["seed", "learning_rate", "threads"];
            // Journals of programs that had no such options have the defaults.
            if self.options.activation == Activation::Relu {
                without.push("activation");
            }
            if !self.options.layer_norm {
                without.push("layer_norm");
            }
            if !self.options.batch_norm {
                without.push("batch_norm");
            }
            if self.options.dropout == 0.0 {
                without.push("dropout");
            }
            if self.options.loss == Loss::CrossEntropy {
                without.push("loss");
            }
            if self.options.label_smoothing == 0.0 {
                without.push("label_smoothing");
            }
            if self.options.clip_norm.is_none() {
                without.push("clip_norm");
            }
            let mut facts = journal::options(&self.options, &without);
            facts["data"] = format!("{:016x}", self.train.checksum()).into();
            facts["test"] = self.test.as_ref().map(|test| format!("{:016x}", test.checksum())).into();
            facts
        };
        let header = || Header::new("mlp sweep", facts(), std::slice::from_ref(device));
        let (journal, records) = Journal::open(self.journal.as_ref(), header)?;
        let finished = self.taken(&journal, records)?;
        let group = self.group();
        let Self { options, models, test, .. } = self;
        let (device, opened) = (device.clone(), None);
        let mut sweep =
            Sweep { options, models, test, device, setup, opened, group, engine, memory, journal, finished };
        let first = sweep.left().into_iter().take(group).collect::<Vec<_>>();
        if engine == Engine::Epoch && !first.is_empty() {
            sweep.opened = Some(sweep.open(sweep.seeds(&first))?);
        }
        Ok(sweep)
    }

    /// The models of a journal by their keys, each checked against the options.
    fn taken(&self, journal: &Journal, records: BTreeMap<String, Piece<SweepModel>>) -> Result<Finished> {
        let is_rated = self.test.is_some() && !self.options.loss.is_regression();
        let keys: BTreeMap<String, (u64, f64)> = self.models.iter().map(|&model| (key(model), model)).collect();
        for (name, Piece { result, .. }) in &records {
            let Some(&(seed, learning_rate)) = keys.get(name) else { return Err(journal.not_asked(name)) };
            let n = result.epochs.len();
            let are_numbered = result.epochs.iter().zip(1..).all(|(epoch, number)| epoch.epoch == number);
            let is_whole = match result.diverged {
                None => {
                    let is_tested = result.test_loss.is_some() == self.test.is_some();
                    n == self.options.epochs as usize && is_tested && result.test_accuracy.is_some() == is_rated
                }
                Some(epoch) => epoch <= self.options.epochs && epoch as usize == n + 1,
            };
            let is_share = result.test_accuracy.is_none_or(|share| (0.0..=1.0).contains(&share));
            if (result.seed, result.learning_rate) != (seed, learning_rate) || !are_numbered || !is_whole || !is_share {
                return Err(journal.wrong(name, "no model of that seed and rate that was trained to its end"));
            }
        }
        Ok(records)
    }

    /// Checks every model as a trainer does, and refuses options that a sweep does not support.
    fn check(&self) -> Result<()> {
        if !(1..=MAX_MODELS).contains(&self.models.len()) {
            return Err(Error::option("models", self.models.len(), format!("1 to {MAX_MODELS}")));
        }
        if self.options.held_out > 0 {
            return Err(Error::option("held_out", self.options.held_out, "0 in a sweep"));
        }
        let mut keys = BTreeSet::new();
        for &(seed, learning_rate) in &self.models {
            if !keys.insert(key((seed, learning_rate))) {
                return Err(Error::option("models", key((seed, learning_rate)), "each seed and learning rate once"));
            }
            let options = Options { seed, learning_rate, ..self.options.clone() };
            Trainer::builder(&self.train).options(options).check()?;
        }
        Ok(())
    }

    fn setup(&self) -> Setup {
        let sizes = self.options.sizes(self.train.n_inputs(), self.train.n_classes());
        let features = self.train.features().is_some();
        Setup { options: self.options.clone(), sizes, features, train: Some(Arc::clone(&self.train)) }
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
    models: Vec<(u64, f64)>,
    test: Option<Arc<Dataset>>,
    device: Device,
    setup: Setup,
    /// Models of these seeds, which are trained at the same time.
    opened: Option<(Vec<u64>, SideBySide)>,
    /// Maximum number of models of a group.
    group: usize,
    engine: Engine,
    memory: Memory,
    journal: Journal,
    /// Models of the journal that the sweep continues.
    finished: Finished,
}

/// Finished models by their keys.
type Finished = BTreeMap<String, Piece<SweepModel>>;

/// The key of a model; models with equal keys give equal results.
fn key((seed, learning_rate): (u64, f64)) -> String {
    format!("seed {seed}, learning rate {learning_rate}")
}

impl Sweep {
    /// A builder with the default options and no model.
    pub fn builder(train: &Arc<Dataset>) -> SweepBuilder {
        let (options, train) = (Options::default(), Arc::clone(train));
        SweepBuilder { train, options, models: Vec::new(), test: None, journal: None }
    }

    /// The engine that trains; never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Memory that was requested.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Trains all models from the beginning, except those of a journal. `watch` receives the number of epochs done over all models; if it returns `Break`, the report holds
    /// the results so far.
    ///
    /// # Errors
    /// Errors of the device. A model whose loss is not finite is no error: its report says so.
    pub fn run(&mut self, mut watch: impl FnMut(&Progress) -> ControlFlow<()>) -> Result<SweepReport> {
        let begin = Instant::now();
        let n_steps = Some(self.models.len() as u64 * u64::from(self.options.epochs));
        let (mut done, mut stop) = (0, false);
        let mut seconds = 0.0;
        let mut models: Vec<SweepModel> = Vec::with_capacity(self.models.len());
        for &model in &self.models {
            let finished = self.finished.get(&key(model));
            seconds += finished.map_or(0.0, |piece| piece.seconds);
            models.push(finished.map_or_else(|| SweepModel::new(model.0, model.1), |piece| piece.result.clone()));
        }
        let left = self.left();
        let size = if self.engine == Engine::Epoch { self.group } else { 1 };
        let before = (models.len() - left.len()) as u64 * u64::from(self.options.epochs);
        for group in left.chunks(size) {
            let mut told = |steps| {
                let (steps, elapsed) = (before + done + steps, begin.elapsed());
                let answer = watch(&Progress { steps, n_steps, elapsed, time_limit: None, latest: None });
                stop |= answer.is_break();
                answer
            };
            let (found, trained) = self.train(group, &mut told)?;
            done += group.len() as u64 * u64::from(self.options.epochs);
            seconds += trained.as_secs_f64();
            self.keep(&found, trained.as_secs_f64() / group.len() as f64)?;
            for (&at, found) in group.iter().zip(found) {
                models[at] = found;
            }
            if stop {
                break;
            }
        }
        let n_whole = models.iter().filter(|model| model.epochs.len() == self.options.epochs as usize).count();
        Ok(SweepReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            models_per_second: n_whole as f64 / seconds,
            models,
            device: self.device.backend().to_string(),
            device_name: self.device.name(),
            engine: self.engine,
            seed: self.models.first().map_or(self.options.seed, |&(seed, _)| seed),
            side_by_side: self.engine == Engine::Epoch && epoch::has_clusters(&self.device, &self.setup)?,
            seconds,
            data: self.setup.train.as_ref().map_or_else(String::new, |train| train.source().to_string()),
            options: self.options.clone(),
        })
    }

    /// The indices of the models that the journal does not hold.
    fn left(&self) -> Vec<usize> {
        (0..self.models.len()).filter(|&at| !self.finished.contains_key(&key(self.models[at]))).collect()
    }

    fn seeds(&self, places: &[usize]) -> Vec<u64> {
        places.iter().map(|&at| self.models[at].0).collect()
    }

    /// Allocates the memory for models that are trained at the same time.
    fn open(&self, seeds: Vec<u64>) -> Result<(Vec<u64>, SideBySide)> {
        let mut side_by_side = SideBySide::new(&self.device, &self.setup, &seeds)?;
        if let Some(test) = &self.test {
            side_by_side.load_test(test)?;
        }
        Ok((seeds, side_by_side))
    }

    /// Adds completely trained models to the journal.
    fn keep(&mut self, models: &[SweepModel], seconds: f64) -> Result<()> {
        if !self.journal.is_kept() {
            return Ok(());
        }
        let mut pieces = BTreeMap::new();
        for model in models {
            if model.diverged.is_some() || model.epochs.len() == self.options.epochs as usize {
                pieces.insert(key((model.seed, model.learning_rate)), Piece { result: model.clone(), seconds });
            }
        }
        self.journal.append(&Vec::from_iter(pieces.clone()))?;
        self.finished.extend(pieces);
        Ok(())
    }

    /// Trains the models with these indices (several only at the same time) and returns the time of training. `told` receives the number of epochs done over all of them.
    fn train(
        &mut self,
        places: &[usize],
        told: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(Vec<SweepModel>, Duration)> {
        if self.engine != Engine::Epoch {
            let (model, trained) = self.alone(self.models[places[0]], told)?;
            return Ok((vec![model], trained));
        }
        let (seeds, models) = (self.seeds(places), places.iter().map(|&at| self.models[at]).collect::<Vec<_>>());
        // Those of the group before give their memory back first.
        let opened = self.opened.take().filter(|(of, _)| *of == seeds);
        let (seeds, mut side_by_side) = opened.map_or_else(|| self.open(seeds), Ok)?;
        let found = side_by_side.run(&models, told);
        self.opened = Some((seeds, side_by_side));
        found
    }

    fn alone(
        &self,
        (seed, learning_rate): (u64, f64),
        told: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(SweepModel, Duration)> {
        let mut model = SweepModel::new(seed, learning_rate);
        let options = Options { seed, learning_rate, ..self.options.clone() };
        let train = self.setup.train.as_ref().ok_or_else(|| Error::shape("training set", "one", "none"))?;
        let mut trainer = Trainer::builder(train).options(options).build(&self.device)?;
        let start = Instant::now();
        let mut done = 0;
        let end = trainer.run(|progress| {
            // In the middle of an epoch too, which may take minutes.
            done = progress.latest.as_ref().map_or(done, |epoch| epoch.epoch);
            told(done.into())
        });
        let trained = start.elapsed();
        match end {
            Ok(_) => {}
            Err(Error::Diverged { epoch, .. }) => model.diverged = Some(epoch),
            Err(error) => return Err(error),
        }
        let epochs = trainer.epochs().iter();
        model.repeated_epochs = epochs.clone().filter(|epoch| epoch.repeated).count() as u64;
        model.epochs = epochs.map(|epoch| SweepEpoch { epoch: epoch.epoch, loss: epoch.loss }).collect();
        // One that a stop left in the middle is not tested; one that it met behind its last epoch is finished, and goes into the journal.
        let is_whole = model.diverged.is_none() && model.epochs.len() == self.options.epochs as usize;
        if let Some(test) = self.test.as_ref().filter(|_| is_whole) {
            let found = trainer.evaluate(test)?;
            model.rate(found.share(), found.loss);
        }
        Ok((model, trained))
    }
}

impl std::fmt::Debug for Sweep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep")
            .field("device", &self.device)
            .field("models", &self.models.len())
            .field("engine", &self.engine)
            .finish()
    }
}
