//! The options of a training as flags.

use std::sync::Arc;

use anyhow::Result;
use warpplay::mlp::{
    Activation, Dataset, EarlyStopping, Engine, Init, Loss, MAX_WIDTH, Optimizer, Options, Reduction, Residence,
    Schedule, Split,
};

use crate::common::flags::{EngineFlag, HeldOut, PrecisionFlag, SeedFlag};
use crate::common::{self, Usage};

/// What is not given is as in [`Options::default`], or as in the checkpoint that is resumed.
#[derive(clap::Args, Clone, Debug)]
pub struct TrainFlags {
    /// Units of each hidden layer, separated by commas; "none" for a linear classifier [default: 256]
    #[arg(long, value_name = "UNITS", value_parser = hidden, allow_negative_numbers = true)]
    pub hidden: Option<Hidden>,

    /// Activation of the hidden layers: relu, tanh, sigmoid, gelu [default: relu]
    #[arg(long, value_name = "NAME")]
    pub activation: Option<Activation>,

    /// Layer norm of each hidden layer before its activation
    #[arg(long)]
    pub layer_norm: bool,

    /// Batch norm of each hidden layer before its activation, in place of layer norm
    #[arg(long, conflicts_with = "layer_norm")]
    pub batch_norm: bool,

    /// Dropout: the probability of each hidden unit to be dropped in a step [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub dropout: Option<f32>,

    /// Loss: cross_entropy for labels; mse, huber for targets, numbers that the outputs are to be [default: cross_entropy]
    #[arg(long, value_name = "NAME")]
    pub loss: Option<Loss>,

    /// Samples in each batch [default: 64]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub batch: Option<u32>,

    /// Learning rate [default: 0.01]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, aliases = ["lr", "rate"])]
    pub learning_rate: Option<f64>,

    /// Epochs in all, including those of a resumed checkpoint [default: 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub epochs: Option<u32>,

    /// sgd, momentum, nesterov, adam, adamw, rmsprop [default: sgd]
    #[arg(long, value_name = "NAME")]
    pub optimizer: Option<String>,

    /// Momentum of momentum and nesterov (together with sgd it selects momentum) [default: 0.9]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub momentum: Option<f32>,

    /// Decay rate of the mean in adam and adamw [default: 0.9]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub beta1: Option<f32>,

    /// Decay rate of the mean square in adam and adamw [default: 0.999]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub beta2: Option<f32>,

    /// Decay rate of the mean square in rmsprop [default: 0.99]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub alpha: Option<f32>,

    /// Added to the square root in adam, adamw and rmsprop [default: 1e-8]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon: Option<f32>,

    /// L2 decay of weights and biases: added to the gradient; decoupled in adamw [default: 0]
    #[arg(long, value_name = "W", allow_negative_numbers = true, alias = "weight-decay")]
    pub l2: Option<f32>,

    /// Label smoothing: this share of each label is spread evenly over all classes [default: 0]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub label_smoothing: Option<f32>,

    /// Clip the gradients of all weights together to this norm [default: never]
    #[arg(long, value_name = "NORM", allow_negative_numbers = true)]
    pub clip_norm: Option<f32>,

    /// Schedule of the learning rate after the warm-up: constant, step, cosine [default: constant]
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<String>,

    /// Epochs between two reductions with --schedule step [default: 3]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub step_every: Option<u32>,

    /// Factor of each reduction with --schedule step [default: 0.1]
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub step_factor: Option<f32>,

    /// Final learning rate with --schedule cosine, as a factor of --learning-rate [default: 0]
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub cosine_minimum: Option<f32>,

    /// Updates over which the learning rate rises to its value [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub warmup: Option<u64>,

    /// Reduction of the gradients over a batch: mean, sum [default: mean]
    #[arg(long, value_name = "R")]
    pub reduction: Option<Reduction>,

    /// Initial weights: he_uniform, he_normal, xavier_uniform, xavier_normal [default: he_uniform]
    #[arg(long, value_name = "INIT")]
    pub init: Option<Init>,

    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub precision: PrecisionFlag,
    #[command(flatten)]
    pub engine: EngineFlag<Engine>,

    /// Where the training set is stored: device, host (each batch is copied) [default: device]
    #[arg(long, value_name = "WHERE")]
    pub stream: Option<Residence>,

    /// Validation set: a share of the training set (0.1) or a number of its samples, from its end, or a folder whose test files are used [default: 0]
    #[arg(long, value_name = "SHARE, N or DIR", alias = "validation", allow_negative_numbers = true)]
    pub held_out: Option<HeldOut>,

    /// Stop after this many epochs without a better validation loss; needs --held-out [default: never]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub patience: Option<u32>,

    /// Minimum improvement of the validation loss that --patience counts [default: 0]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub min_delta: Option<f64>,

    #[command(flatten)]
    pub evaluate: EvaluateFlag,
}

/// How a network is evaluated.
#[derive(clap::Args, Clone, Debug)]
pub struct EvaluateFlag {
    /// Samples evaluated at once [default: 256]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub evaluate_batch: Option<u32>,
}

/// Units of the hidden layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden(Vec<u32>);

fn hidden(text: &str) -> Result<Hidden, String> {
    if text == "none" {
        return Ok(Hidden(Vec::new()));
    }
    let units = text.split(',').map(|part| part.trim().parse());
    units
        .collect::<Result<_, _>>()
        .map(Hidden)
        .map_err(|_| format!("allowed are numbers of 1 to {MAX_WIDTH} separated by commas, or none"))
}

/// Sets what was given.
fn set<T>(to: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *to = given;
    }
}

impl TrainFlags {
    /// `base` with what was given.
    ///
    /// # Errors
    /// A name that is not known, or a constant of another optimiser or schedule than the one chosen. The library checks the ranges.
    pub fn options(&self, base: Options) -> Result<Options> {
        let mut options = base;
        set(&mut options.hidden, self.hidden.clone().map(|Hidden(units)| units));
        set(&mut options.activation, self.activation);
        options.layer_norm |= self.layer_norm;
        options.batch_norm |= self.batch_norm;
        set(&mut options.dropout, self.dropout);
        set(&mut options.loss, self.loss);
        set(&mut options.batch, self.batch);
        set(&mut options.learning_rate, self.learning_rate);
        set(&mut options.epochs, self.epochs);
        set(&mut options.weight_decay, self.l2);
        set(&mut options.label_smoothing, self.label_smoothing);
        options.clip_norm = self.clip_norm.or(options.clip_norm);
        set(&mut options.warmup, self.warmup);
        set(&mut options.reduction, self.reduction);
        set(&mut options.init, self.init);
        set(&mut options.seed, self.seed.seed);
        set(&mut options.precision, self.precision.precision);
        set(&mut options.engine, self.engine.engine);
        set(&mut options.stream, self.stream);
        set(&mut options.evaluate_batch, self.evaluate.evaluate_batch);
        if let Some(part @ HeldOut::Number(n)) = &self.held_out {
            options.held_out = u32::try_from(*n).map_err(|_| part.refused("at most 4294967295 samples"))?;
        }
        self.set_optimizer(&mut options.optimizer)?;
        self.set_schedule(&mut options.schedule)?;
        self.set_early_stopping(&mut options.early_stopping)?;
        options.check()?;
        Ok(options)
    }

    /// Sets what a share of `train` holds out; the set of its own, where a folder is given.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn hold_out(&self, options: &mut Options, train: &Dataset) -> Result<Option<Arc<Dataset>>> {
        match &self.held_out {
            Some(HeldOut::Share(share)) => {
                options.held_out = (share * train.len() as f64).round().max(1.0) as u32;
                Ok(None)
            }
            Some(HeldOut::Path(_)) if options.loss.is_regression() => {
                let text = format!("--held-out is a share or a number of samples with --loss {}", options.loss);
                Err(Usage(text).into())
            }
            Some(HeldOut::Path(_)) if train.features().is_some() => {
                Err(Usage("--held-out is a share or a number of samples with --features".into()).into())
            }
            Some(HeldOut::Path(folder)) => {
                options.held_out = 0;
                let load = || Dataset::load_split(folder, Split::Test, Some(train.n_classes()));
                Ok(Some(Arc::new(common::without_results(load)?)))
            }
            Some(HeldOut::Number(_)) | None => Ok(None),
        }
    }

    fn set_optimizer(&self, optimizer: &mut Optimizer) -> Result<()> {
        if let Some(name) = &self.optimizer {
            *optimizer = Optimizer::from_name(name)?;
        }
        if let (Optimizer::Sgd, Some(momentum)) = (&*optimizer, self.momentum) {
            // Zero is plain SGD, as in PyTorch.
            *optimizer = if momentum == 0.0 { Optimizer::Sgd } else { Optimizer::Momentum { momentum } };
        }
        let mut given = [
            ("momentum", self.momentum),
            ("beta1", self.beta1),
            ("beta2", self.beta2),
            ("alpha", self.alpha),
            ("epsilon", self.epsilon),
        ];
        let name = optimizer.name();
        let mut take = |constant: &str, to: &mut f32| {
            for (_, value) in given.iter_mut().filter(|(known, _)| *known == constant) {
                set(to, value.take());
            }
        };
        match optimizer {
            Optimizer::Sgd => take("momentum", &mut 0.0),
            Optimizer::Momentum { momentum } | Optimizer::Nesterov { momentum } => take("momentum", momentum),
            Optimizer::Adam { beta1, beta2, epsilon } | Optimizer::AdamW { beta1, beta2, epsilon } => {
                take("beta1", beta1);
                take("beta2", beta2);
                take("epsilon", epsilon);
            }
            Optimizer::RmsProp { alpha, epsilon } => {
                take("alpha", alpha);
                take("epsilon", epsilon);
            }
        }
        match given.iter().find(|(_, value)| value.is_some()) {
            Some((constant, _)) => Err(Usage(format!("--{constant} is not a constant of --optimizer {name}")).into()),
            None => Ok(()),
        }
    }

    fn set_schedule(&self, schedule: &mut Schedule) -> Result<()> {
        if let Some(name) = &self.schedule {
            *schedule = Schedule::from_name(name)?;
        }
        let (mut step_flags, mut cosine_flags) = (false, false);
        match schedule {
            Schedule::Constant => {}
            Schedule::Step { every, factor } => {
                set(every, self.step_every);
                set(factor, self.step_factor);
                step_flags = true;
            }
            Schedule::Cosine { minimum } => {
                set(minimum, self.cosine_minimum);
                cosine_flags = true;
            }
        }
        if !step_flags && (self.step_every.is_some() || self.step_factor.is_some()) {
            return Err(Usage("--step-every and --step-factor belong to --schedule step".into()).into());
        }
        if !cosine_flags && self.cosine_minimum.is_some() {
            return Err(Usage("--cosine-minimum belongs to --schedule cosine".into()).into());
        }
        Ok(())
    }

    fn set_early_stopping(&self, stopping: &mut Option<EarlyStopping>) -> Result<()> {
        if let Some(patience) = self.patience {
            let min_delta = stopping.map_or(0.0, |stopping| stopping.min_delta);
            *stopping = Some(EarlyStopping { patience, min_delta });
        }
        match (stopping, self.min_delta) {
            (Some(stopping), given) => set(&mut stopping.min_delta, given),
            (None, Some(_)) => return Err(Usage("--min-delta belongs to --patience".into()).into()),
            (None, None) => {}
        }
        Ok(())
    }
}
