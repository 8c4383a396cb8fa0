//! What is asked for before a training begins.

use std::sync::Arc;

use super::{Position, Trainer, check_limit};
use crate::mlp::checkpoint::Checkpoint;
use crate::mlp::engines::Setup;
use crate::mlp::options::{
    Activation, EarlyStopping, Engine, Init, Loss, MAX_CLASSES, MAX_WIDTH, Optimizer, Options, Precision, Reduction,
    Residence, Schedule,
};
use crate::mlp::{Dataset, Inputs, Network, dispatch, network};
use crate::runtime::keep::Keep;
use crate::runtime::setters::{checkpoint_setters, setters};
use crate::{Device, Error, Memory, Result};

/// Options of a [`Trainer`]; made by [`Trainer::builder`].
#[derive(Clone, Debug)]
pub struct TrainerBuilder {
    train: Arc<Dataset>,
    options: Options,
    /// Names of the options that were set.
    given: Vec<&'static str>,
    test: Option<Arc<Dataset>>,
    validation: Option<Arc<Dataset>>,
    network: Option<Network>,
    resume: Option<Checkpoint>,
    keep: Keep,
}

impl TrainerBuilder {
    pub(super) fn new(train: &Arc<Dataset>) -> Self {
        Self {
            train: Arc::clone(train),
            options: Options::default(),
            given: Vec::new(),
            test: None,
            validation: None,
            network: None,
            resume: None,
            keep: Keep::default(),
        }
    }

    /// Sets all options at once.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self.given = NAMES.to_vec();
        self
    }

    setters! {
        noted in given;
        hidden: Vec<u32>, activation: Activation, layer_norm: bool, batch_norm: bool, dropout: f32, loss: Loss, batch: u32, epochs: u32, learning_rate: f64, optimizer: Optimizer, weight_decay: f32, label_smoothing: f32, clip_norm: impl Into<Option<f32>> = clip_norm.into(), schedule: Schedule, warmup: u64,
        reduction: Reduction, init: Init, seed: u64, precision: Precision, engine: Engine, stream: Residence, held_out: u32,
        early_stopping: Option<EarlyStopping>, evaluate_batch: u32, threads: impl Into<Option<usize>> = threads.into(),
    }

    /// A set that is classified after every epoch: its accuracy and loss are in the reports. It does not affect the training.
    pub fn test(mut self, test: &Arc<Dataset>) -> Self {
        self.test = Some(Arc::clone(test));
        self
    }

    /// A separate validation set, in place of [`Options::held_out`] samples of the training set; it is classified after every epoch, for early stopping.
    pub fn validation(mut self, validation: &Arc<Dataset>) -> Self {
        self.validation = Some(Arc::clone(validation));
        self
    }

    /// Initial weights, in place of drawn ones; of a network with the activation that is trained, and layer norms or batch norms exactly if they are. The training set has the network's [`inputs`](Network::inputs), if it says what they are; its loss may be another.
    pub fn network(mut self, network: Network) -> Self {
        self.network = Some(network);
        self
    }

    checkpoint_setters! {
        /// Continues from a checkpoint. Options that the caller did not set are the checkpoint's; of those that were set ([`options`](Self::options) sets all), only
        /// `epochs` (not with [`Schedule::Cosine`]), `early_stopping` and the options that affect only speed (`engine`, `stream`, `evaluate_batch`, `threads`) may differ
        /// from it, `epochs` to no fewer than have begun. The training set must be the checkpoint's. With the same engine on the same kind of device the result has the bits of a training that was never stopped.
        resume,

        /// A file to which the state is written at the end of every run, including one that diverges, and during it.
        checkpoint,

        /// Time between two checkpoints during a run, above 0; default 5 minutes. [`Engine::Epoch`] writes checkpoints only between two epochs.
        checkpoint_every
    }

    /// Checks the options against the data.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed, or not with this data; [`Error::Shape`] for too many inputs or outputs, or features beyond the precision.
    pub fn check(&self) -> Result<()> {
        self.check_with(&self.merged())
    }

    /// The options, merged with those of a checkpoint.
    fn merged(&self) -> Options {
        match &self.resume {
            Some(crate::Checkpoint(state)) => state.merged(&self.options, &self.given),
            None => self.options.clone(),
        }
    }

    fn check_with(&self, options: &Options) -> Result<()> {
        let Self { train, test, validation, network, resume, keep, .. } = self;
        if network.is_some() && resume.is_some() {
            return Err(Error::option("network", "given", "not together with a checkpoint, which has its own weights"));
        }
        options.check()?;
        if let Some(crate::Checkpoint(state)) = resume {
            state.check_options(options, &options.sizes(train.n_inputs(), train.n_classes()))?;
            check_limit(options.epochs, state.epochs.len(), state.step)?;
        }
        keep.check()?;
        train.expect_loss(options.loss)?;
        train.expect_precision(options.precision)?;
        for set in [test, validation].into_iter().flatten() {
            set.expect_columns_of(train)?;
            set.expect_scaling_of(train)?;
        }
        // What says nothing of its inputs is taken for a network of pixels.
        if let Some(network) = network.as_ref().filter(|network| *network.inputs() != Inputs::Pixels)
            && *network.inputs() != train.inputs()
        {
            let said = |inputs: &Inputs| match inputs {
                Inputs::Pixels => "pixels",
                Inputs::Features(None) => "features as they are",
                Inputs::Features(Some(_)) => "standardised features",
            };
            let what = format!("inputs of {}", train.source());
            let (expected, found) = (said(network.inputs()), said(&train.inputs()));
            let found = if expected == found { "those of other means and deviations" } else { found };
            return Err(Error::shape(what, format!("{expected}, the given network's"), found));
        }
        if train.n_inputs() > MAX_WIDTH || train.n_classes() > MAX_CLASSES {
            let inputs = if train.features().is_some() { "features" } else { "pixels" };
            let outputs = if train.targets().is_some() { "targets" } else { "classes" };
            let got = format!("{} {inputs}, {} {outputs}", train.n_inputs(), train.n_classes());
            let expected = format!("at most {MAX_WIDTH} {inputs}, {MAX_CLASSES} {outputs}");
            return Err(Error::shape(train.source(), expected, got));
        }
        match (options.held_out, validation, options.early_stopping) {
            (0, None, Some(EarlyStopping { patience, .. })) => {
                return Err(Error::option("early_stopping", patience, "only with held-out samples"));
            }
            (1.., Some(_), _) => {
                return Err(Error::option("held_out", options.held_out, "0 with a validation set of its own"));
            }
            _ => {}
        }
        // More held-out samples than there are is an error of the split.
        match train.len().checked_sub(options.held_out as usize) {
            Some(n @ 1..) if options.batch as usize > n => {
                Err(Error::option("batch", options.batch, format!("at most the {n} training samples")))
            }
            // A single sample has no variance.
            Some(n @ 1..) if options.batch_norm && (options.batch == 1 || n % options.batch as usize == 1) => {
                let allowed =
                    format!("batches of at least two of the {n} training samples, the last too, with batch_norm");
                Err(Error::option("batch", options.batch, allowed))
            }
            _ => Ok(()),
        }
    }

    /// Memory that the training will need.
    ///
    /// # Errors
    /// As [`TrainerBuilder::check`]; [`Error::Option`] for options that the device does not support.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        let options = self.merged();
        self.check_with(&options)?;
        let (train, validation) = self.sets(&options)?;
        dispatch::memory_needed(device, &setup(options, &train), &self.others(validation.as_ref()))
    }

    /// Checks the options against data and device, allocates the device's memory, and sets the initial weights.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed, or not with this data or device; [`Error::Shape`] if a set, the given network or the checkpoint does not fit the
    /// training set; [`Error::OutOfMemory`]; errors of the device.
    pub fn build(self, device: &Device) -> Result<Trainer> {
        let options = self.merged();
        self.check_with(&options)?;
        let (train, validation) = self.sets(&options)?;
        let setup = setup(options.clone(), &train);
        let sizes = setup.sizes.clone();
        for set in [&self.test, &validation].into_iter().flatten() {
            set.expect_for(&sizes, options.loss, setup.features)?;
            set.expect_precision(options.precision)?;
        }
        let memory = dispatch::memory_needed(device, &setup, &self.others(validation.as_ref()))?;
        let Self { test, network, resume, keep, .. } = self;
        if let Some(network) = &network
            && network.sizes() != sizes
        {
            return Err(Error::shape("network", format!("{sizes:?}"), format!("{:?}", network.sizes())));
        }
        if let Some(network) = &network
            && network.activation() != options.activation
        {
            let allowed = format!("{}, the given network's", network.activation());
            return Err(Error::option("activation", options.activation, allowed));
        }
        if let Some(network) = &network
            && !options.hidden.is_empty()
        {
            for (name, asked, is_without) in [
                ("layer_norm", options.layer_norm, network.layer_norms().is_empty()),
                ("batch_norm", options.batch_norm, network.batch_norms().is_empty()),
            ] {
                if asked == is_without {
                    return Err(Error::option(name, asked, format!("{}, as the given network has", !asked)));
                }
            }
        }
        let data_checksum = train.checksum();
        device.expect_memory(&memory)?;
        let mut engine = dispatch::open(device, setup)?;
        let position = match resume {
            Some(crate::Checkpoint(state)) => {
                state.check_data(&train, data_checksum)?;
                engine.set_state(&state.state)?;
                Position {
                    epochs: state.epochs,
                    step: state.step,
                    loss_sum: state.loss_sum,
                    seconds: state.seconds,
                    updates: state.updates,
                    best_loss: state.best_loss,
                    epochs_since_best: state.epochs_since_best,
                    data_checksum,
                }
            }
            None => {
                let drawn = || network::initial(&sizes, options.init, options.seed);
                let network = match network {
                    Some(network) => network,
                    None if options.layer_norm => drawn()?.with_layer_norm(),
                    None if options.batch_norm => drawn()?.with_batch_norm(),
                    None => drawn()?,
                };
                engine.set_state(&network.to_state())?;
                Position { data_checksum, ..Position::default() }
            }
        };
        let train_id = engine.load(&train)?;
        let test = test.map(|set| Ok::<_, Error>((engine.load(&set)?, set))).transpose()?;
        let validation = validation.map(|set| Ok::<_, Error>((engine.load(&set)?, set))).transpose()?;
        let device = device.clone();
        Ok(Trainer { engine, device, options, sizes, train, train_id, test, validation, position, keep, memory })
    }

    /// The training set and the validation set.
    fn sets(&self, options: &Options) -> Result<(Arc<Dataset>, Option<Arc<Dataset>>)> {
        match options.held_out {
            0 => Ok((Arc::clone(&self.train), self.validation.clone())),
            n => {
                let (train, validation) = self.train.split(n as usize)?;
                Ok((Arc::new(train), Some(Arc::new(validation))))
            }
        }
    }

    /// Numbers of samples of the sets loaded in addition to the training set.
    fn others(&self, validation: Option<&Arc<Dataset>>) -> Vec<usize> {
        [self.test.as_ref(), validation].into_iter().flatten().map(|set| set.len()).collect()
    }
}

fn setup(options: Options, train: &Arc<Dataset>) -> Setup {
    let sizes = options.sizes(train.n_inputs(), train.n_classes());
    Setup { options, sizes, features: train.features().is_some(), train: Some(Arc::clone(train)) }
}

/// Names of all options.
const NAMES: [&str; 25] = [
    "hidden",
    "activation",
    "layer_norm",
    "batch_norm",
    "dropout",
    "loss",
    "batch",
    "epochs",
    "learning_rate",
    "optimizer",
    "weight_decay",
    "label_smoothing",
    "clip_norm",
    "schedule",
    "warmup",
    "reduction",
    "init",
    "seed",
    "precision",
    "engine",
    "stream",
    "held_out",
    "early_stopping",
    "evaluate_batch",
    "threads",
];
