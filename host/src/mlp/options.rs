//! What can be chosen about a training, as plain data, and the checks of it.

use serde::{Deserialize, Serialize};

use crate::runtime::named::named;
use crate::runtime::threads;
use crate::{Error, Result};

pub use crate::Precision;
pub use crate::optimizer::Optimizer;

named! {
    /// How initial weights are drawn; biases start at 0. `fan_in` and `fan_out` are a layer's inputs and outputs.
    Init, "init":
    /// Uniform with variance 2 / fan_in (He et al. 2015).
    HeUniform = "he_uniform",
    /// Normal with variance 2 / fan_in.
    HeNormal = "he_normal",
    /// Uniform with variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010).
    XavierUniform = "xavier_uniform",
    /// Normal with variance 2 / (fan_in + fan_out).
    XavierNormal = "xavier_normal",
}

named! {
    /// What follows each hidden layer's product, as PyTorch defines it.
    Activation, "activation":
    /// `max(z, 0)`.
    Relu = "relu",
    /// `tanh z`.
    Tanh = "tanh",
    /// `1 / (1 + exp(-z))`.
    Sigmoid = "sigmoid",
    /// `z (1 + erf(z / √2)) / 2` (Hendrycks and Gimpel 2016); not the approximation by a hyperbolic tangent.
    Gelu = "gelu",
}

/// The rectifier, which files that name no activation have.
#[allow(clippy::derivable_impls, reason = "the macro derives nothing for one variant")]
impl Default for Activation {
    fn default() -> Self {
        Self::Relu
    }
}

named! {
    /// What a training minimises, and what the network's outputs are compared with. The losses of a regression are the mean over a sample's outputs of a function of `d`, output less target; as PyTorch defines them.
    Loss, "loss":
    /// Softmax and cross-entropy, for samples with the label of a class.
    CrossEntropy = "cross_entropy",
    /// `d²`, for samples whose targets are numbers.
    MeanSquaredError = "mse" | "mean_squared_error",
    /// `d² / 2` where `|d| <= 1`, else `|d| - 1/2` (Huber 1964), for samples whose targets are numbers: targets far away pull no harder than those at 1.
    Huber = "huber",
}

/// The loss that files have which name none.
#[allow(clippy::derivable_impls, reason = "the macro derives nothing for one variant")]
impl Default for Loss {
    fn default() -> Self {
        Self::CrossEntropy
    }
}

impl Loss {
    /// Whether outputs are compared with numbers, not with classes.
    pub const fn is_regression(self) -> bool {
        !matches!(self, Self::CrossEntropy)
    }
}

named! {
    /// How the gradients of a batch's samples are combined.
    Reduction, "reduction":
    /// Their mean; a short last batch divides by its own size.
    Mean = "mean",
    /// Their sum, as in the CPU program of the paper: the effective rate grows with the batch size (`docs/papers/mnist_mlp.md`).
    Sum = "sum",
}

named! {
    /// The implementation that trains and classifies.
    Engine, "engine":
    /// The fastest engine that the shape and the options allow: [`Engine::Epoch`] if possible and not known to be slower, else [`Engine::Layers`]; on the CPU back end [`Engine::Cpu`].
    Auto = "auto",
    /// One launch per epoch: 2 to 32 blocks keep the weights on the chip.
    Epoch = "epoch",
    /// A few kernels per layer, replayed as a CUDA graph; any shape.
    Layers = "layers",
    /// No kernels: the plain implementation, on the CPU back end only.
    Cpu = "cpu" | "plain",
}

named! {
    /// Memory that holds the training set.
    Residence, "stream":
    /// Uploaded once.
    Device = "device",
    /// In host memory; each batch is copied from pinned memory.
    Host = "host",
}

/// Fields of schedules and early stopping that a file leaves out.
mod defaults {
    pub const fn every() -> u32 {
        3
    }

    pub const fn factor() -> f32 {
        0.1
    }
}

/// Schedule of the learning rate after the warm-up, as a factor of the base rate. In a file, fields may be left out; they are then those of [`Schedule::from_name`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Schedule {
    /// 1 throughout.
    #[default]
    Constant,
    /// Multiplied by `factor` after every `every` epochs.
    Step {
        /// Epochs between two reductions, at least 1.
        #[serde(default = "defaults::every")]
        every: u32,
        /// Factor of each reduction, (0, 1].
        #[serde(default = "defaults::factor")]
        factor: f32,
    },
    /// From 1 down to `minimum` along half a cosine over all updates of the training after the warm-up.
    Cosine {
        /// Factor at the end, [0, 1].
        #[serde(default)]
        minimum: f32,
    },
}

impl Schedule {
    /// The names that [`Schedule::from_name`] reads.
    pub const NAMES: [&'static str; 3] = ["constant", "step", "cosine"];

    /// The schedule with its default fields: a step to a tenth after every 3 epochs, a cosine down to 0.
    ///
    /// # Errors
    /// [`Error::Option`] for another name.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "constant" => Self::Constant,
            "step" => Self::Step { every: defaults::every(), factor: defaults::factor() },
            "cosine" => Self::Cosine { minimum: 0.0 },
            _ => return Err(Error::option("schedule", name, Self::NAMES.join(", "))),
        })
    }
}

/// When to stop before the last epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    /// Number of epochs without improvement of the validation loss that are tolerated, at least 1.
    pub patience: u32,
    /// Minimum decrease of the loss that counts as an improvement, at least 0. Default 0.
    #[serde(default)]
    pub min_delta: f64,
}

/// All options of a training, except its data and its device.
///
/// ```
/// use warpplay::mlp::{Optimizer, Options, Schedule};
///
/// let options = Options {
///     hidden: vec![512, 128],
///     optimizer: Optimizer::from_name("adamw")?,
///     learning_rate: 0.001,
///     schedule: Schedule::Cosine { minimum: 0.0 },
///     warmup: 500,
///     ..Options::default()
/// };
/// options.check()?;
/// assert_eq!(options.sizes(784, 10), [784, 512, 128, 10]);
/// assert_eq!(options.learning_rate_at(249, 938), 0.0005); // halfway up
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Units of each hidden layer, 1 to [`MAX_WIDTH`], in at most [`MAX_HIDDEN_LAYERS`] layers; empty for a linear classifier. Default `[256]`.
    pub hidden: Vec<u32>,
    /// Activation of all hidden layers. Initial weights do not depend on it: He's ([`Init`]) are meant for the rectifier, Xavier's for `tanh` and `sigmoid`. Only the rectifier with [`Engine::Epoch`]. Default [`Activation::Relu`].
    #[serde(default)]
    pub activation: Activation,
    /// Layer norm of the units of each hidden layer before its activation, with a learned gain and shift for each unit: [`LayerNorm`](super::LayerNorm). Not with [`Engine::Epoch`]. Default `false`.
    #[serde(default)]
    pub layer_norm: bool,
    /// Batch norm of each hidden layer before its activation, instead of [`layer_norm`](Self::layer_norm), with a learned gain and shift for each unit: [`BatchNorm`](super::BatchNorm). A step takes mean and variance of its batch, which has at
    /// least two samples; evaluations take running ones. In f16 a step that is left out because its gradient overflowed still moves them. Not with [`Engine::Epoch`]. Default `false`.
    #[serde(default)]
    pub batch_norm: bool,
    /// Dropout: the probability, [0, 1), with which a step drops each output of a hidden layer, of each sample; what is kept is divided by `1 - dropout`, as PyTorch's `Dropout` does. Losses of epochs are those of the
    /// thinned networks; evaluations (test, validation) drop nothing. Which units are dropped is a function of seed, update, layer, row of the batch and unit, the same by every engine. Not with [`Engine::Epoch`]. Default 0.
    #[serde(default)]
    pub dropout: f32,
    /// What is minimised: [`Loss::CrossEntropy`] for a [`Dataset`](super::Dataset) with labels, another one for a set with targets, whose network has linear outputs. Only cross-entropy with [`Engine::Epoch`]. Default [`Loss::CrossEntropy`].
    #[serde(default)]
    pub loss: Loss,
    /// Samples of a batch, 1 to the training samples; the last of an epoch may be shorter. Default 64.
    pub batch: u32,
    /// Total number of epochs, including those of a resumed checkpoint, at least 1. Default 10.
    pub epochs: u32,
    /// Base learning rate, at least 0. Default 0.01.
    pub learning_rate: f64,
    /// How weights are updated from gradients. Default [`Optimizer::Sgd`].
    pub optimizer: Optimizer,
    /// Added to the gradient as `weight_decay * w`; decoupled with AdamW. It applies to weights and biases, as in PyTorch. Default 0.
    pub weight_decay: f32,
    /// Smoothing `s` of the labels, [0, 1), as PyTorch's `CrossEntropyLoss(label_smoothing=s)`: the target is `(1 - s)` for the label's class, plus `s / classes` for every class. Losses of
    /// epochs are then those of the smoothed labels; evaluations (test, validation) report the plain cross-entropy, whatever `s` is. Not with [`Engine::Epoch`]. Default 0.
    #[serde(default)]
    pub label_smoothing: f32,
    /// The largest Euclidean norm of the gradients of all weights and biases together, a finite number above 0: all are multiplied with `min(1, clip_norm / (norm + 1e-6))` before weight decay and optimiser, as PyTorch's
    /// `clip_grad_norm_` does. A norm that is not finite ends the training as a loss that is not. Not with [`Engine::Epoch`]. Default `None`.
    #[serde(default)]
    pub clip_norm: Option<f32>,
    /// Schedule of the rate after the warm-up. Default [`Schedule::Constant`].
    pub schedule: Schedule,
    /// Updates over which the rate rises linearly to the base rate. Default 0.
    pub warmup: u64,
    /// Mean or sum over a batch. Default [`Reduction::Mean`].
    pub reduction: Reduction,
    /// Distribution of the initial weights. Default [`Init::HeUniform`].
    pub init: Init,
    /// Seed of weights and of every epoch's order. A seed above 32 bits is reduced to 32 bits, so two such seeds can give the same training. Default 1.
    pub seed: u64,
    /// Arithmetic of the products. Weights, optimiser and everything else stay f32 (f64 with `F64`); with `F16` the engine `layers` scales gradients by an adaptive loss scale. The engine `epoch` takes
    /// `Tf32`, `Bf16` and `F16` alike, by scaled numbers of 11 bits.
    /// [`Precision::E4m3`] and [`Precision::I16`] are not supported. Default [`Precision::F32`].
    pub precision: Precision,
    /// The implementation that trains. Default [`Engine::Auto`]; the table of engines in [`mlp`](super) lists what each supports.
    #[serde(alias = "execution", deserialize_with = "engine")]
    pub engine: Engine,
    /// Memory that holds the training set. Default [`Residence::Device`].
    pub stream: Residence,
    /// Samples held out from the end of the training set for validation: never trained on, classified after every epoch. Default 0.
    #[serde(alias = "validation")]
    pub held_out: u32,
    /// When to stop early; needs held-out samples. Default `None`.
    pub early_stopping: Option<EarlyStopping>,
    /// Samples evaluated at once, at least 1; affects memory and speed only. Default 256.
    pub evaluate_batch: u32,
    /// Threads of the CPU back end, 1 to 1024: 1 selects the sequential program, `None` all cores. The result does not depend on the number. Default `None`.
    #[serde(default)]
    pub threads: Option<usize>,
}

impl Default for Options {
    /// The paper's: 784-256-10, batch 64, 10 epochs of SGD at 0.01, averaged; He-uniform, seed 1.
    fn default() -> Self {
        Self {
            hidden: vec![256],
            activation: Activation::Relu,
            layer_norm: false,
            batch_norm: false,
            dropout: 0.0,
            loss: Loss::CrossEntropy,
            batch: 64,
            epochs: 10,
            learning_rate: 0.01,
            optimizer: Optimizer::Sgd,
            weight_decay: 0.0,
            label_smoothing: 0.0,
            clip_norm: None,
            schedule: Schedule::Constant,
            warmup: 0,
            reduction: Reduction::Mean,
            init: Init::HeUniform,
            seed: 1,
            precision: Precision::F32,
            engine: Engine::Auto,
            stream: Residence::Device,
            held_out: 0,
            early_stopping: None,
            evaluate_batch: 256,
            threads: None,
        }
    }
}

/// The 32-bit seed of the kernels' random streams: a 32-bit seed unchanged, a larger one reduced.
pub(super) const fn seed_in_32_bits(seed: u64) -> u32 {
    // The factor is odd, so seeds that differ only in the upper half stay different.
    (seed as u32) ^ ((seed >> 32) as u32).wrapping_mul(0x9E37_79B1)
}

/// Reads an engine's name in a file. The error for an engine of an older version names that version.
fn engine<'de, D: serde::Deserializer<'de>>(text: D) -> std::result::Result<Engine, D::Error> {
    let name = std::borrow::Cow::<'de, str>::deserialize(text)?;
    if name == "paper" {
        let reason =
            "the engine paper left this library: version 0.1 reads it, `warpplay papers mnist_mlp` has its kernels";
        return Err(serde::de::Error::custom(reason));
    }
    name.parse().map_err(serde::de::Error::custom)
}

/// Largest number of hidden layers.
pub const MAX_HIDDEN_LAYERS: usize = 16;
/// Largest width of a layer.
pub const MAX_WIDTH: u32 = 16_384;
/// Largest number of classes.
pub const MAX_CLASSES: u32 = 256;

impl Options {
    /// Checks everything that does not depend on data or device.
    ///
    /// # Errors
    /// [`Error::Option`] for the first option that is not allowed.
    pub fn check(&self) -> Result<()> {
        let at_least_1 = |name, value: u64| if value == 0 { Err(Error::option(name, 0, "at least 1")) } else { Ok(()) };
        if self.hidden.len() > MAX_HIDDEN_LAYERS {
            return Err(Error::option("hidden", self.hidden.len(), format!("at most {MAX_HIDDEN_LAYERS} layers")));
        }
        if let Some(width) = self.hidden.iter().find(|width| !(1..=MAX_WIDTH).contains(width)) {
            return Err(Error::option("hidden", width, format!("1 to {MAX_WIDTH} units")));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::option("dropout", self.dropout, "at least 0 and below 1"));
        }
        if self.layer_norm && self.batch_norm {
            return Err(Error::option("batch_norm", true, "false with layer_norm"));
        }
        at_least_1("batch", self.batch.into())?;
        at_least_1("evaluate_batch", self.evaluate_batch.into())?;
        at_least_1("epochs", self.epochs.into())?;
        if !(self.learning_rate >= 0.0 && (self.learning_rate as f32).is_finite()) {
            return Err(Error::option("learning_rate", self.learning_rate, "0 to 3.4e38, finite in single precision"));
        }
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            return Err(Error::option("weight_decay", self.weight_decay, "a finite number, at least 0"));
        }
        if !(0.0..1.0).contains(&self.label_smoothing) {
            return Err(Error::option("label_smoothing", self.label_smoothing, "at least 0 and below 1"));
        }
        if self.label_smoothing > 0.0 && self.loss.is_regression() {
            let allowed = format!("0 with loss {}, which has no labels", self.loss);
            return Err(Error::option("label_smoothing", self.label_smoothing, allowed));
        }
        if let Some(norm) = self.clip_norm.filter(|norm| !(*norm > 0.0 && norm.is_finite())) {
            return Err(Error::option("clip_norm", norm, "a finite number above 0"));
        }
        self.optimizer.check()?;
        if matches!(self.precision, Precision::E4m3 | Precision::I16) {
            return Err(Error::option("precision", self.precision, "f32, f64, tf32, bf16 or f16"));
        }
        match self.schedule {
            Schedule::Constant => {}
            Schedule::Step { every, factor } => {
                at_least_1("schedule every", every.into())?;
                if !(factor > 0.0 && factor <= 1.0) {
                    return Err(Error::option("schedule factor", factor, "above 0, at most 1"));
                }
            }
            Schedule::Cosine { minimum } => {
                if !(0.0..=1.0).contains(&minimum) {
                    return Err(Error::option("schedule minimum", minimum, "0 to 1"));
                }
            }
        }
        threads::check(self.threads)?;
        if let Some(EarlyStopping { patience, min_delta }) = self.early_stopping {
            at_least_1("patience", patience.into())?;
            if !(min_delta >= 0.0 && min_delta.is_finite()) {
                return Err(Error::option("min_delta", min_delta, "a finite number, at least 0"));
            }
        }
        Ok(())
    }

    /// Whether hidden layers have a norm.
    pub(super) const fn has_norm(&self) -> bool {
        self.layer_norm || self.batch_norm
    }

    /// Widths of all layers, the inputs first, the classes last.
    pub fn sizes(&self, n_inputs: u32, n_classes: u32) -> Vec<u32> {
        [&[n_inputs], &self.hidden[..], &[n_classes]].concat()
    }

    /// The learning rate of the update number `update` (from 0) of a training with `per_epoch` updates an epoch.
    pub fn learning_rate_at(&self, update: u64, per_epoch: u64) -> f64 {
        if update < self.warmup {
            return self.learning_rate * (update + 1) as f64 / self.warmup as f64;
        }
        let factor = match self.schedule {
            Schedule::Constant => 1.0,
            Schedule::Step { every, factor } => {
                let falls = update / per_epoch.max(1) / u64::from(every.max(1));
                f64::from(factor).powi(falls.min(i32::MAX as u64) as i32)
            }
            Schedule::Cosine { minimum } => {
                let all = (per_epoch * u64::from(self.epochs)).saturating_sub(self.warmup).max(1);
                let share = ((update - self.warmup) as f64 / all as f64).min(1.0);
                let minimum = f64::from(minimum);
                minimum + (1.0 - minimum) * 0.5 * (1.0 + (std::f64::consts::PI * share).cos())
            }
        };
        self.learning_rate * factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precisions_that_no_engine_has_are_refused() {
        for precision in [Precision::E4m3, Precision::I16] {
            let said = Options { precision, ..Options::default() }.check().expect_err("refused").to_string();
            assert_eq!(said, format!("option precision: {precision} is not allowed (f32, f64, tf32, bf16 or f16)"));
        }
    }

    #[test]
    fn schedules_start_and_end_where_they_should() {
        let base = Options { learning_rate: 0.5, epochs: 4, ..Options::default() };
        let step = Options { schedule: Schedule::Step { every: 2, factor: 0.1 }, ..base.clone() };
        assert_eq!(step.learning_rate_at(19, 10), 0.5);
        assert!((step.learning_rate_at(20, 10) - 0.05).abs() < 1e-8);
        let cosine = Options { schedule: Schedule::Cosine { minimum: 0.0 }, warmup: 10, ..base };
        assert_eq!(cosine.learning_rate_at(0, 10), 0.05);
        assert_eq!(cosine.learning_rate_at(10, 10), 0.5);
        assert!((cosine.learning_rate_at(25, 10) - 0.25).abs() < 1e-12);
        assert!(cosine.learning_rate_at(40, 10) < 1e-12);
    }

    #[test]
    fn seeds_of_32_bits_are_themselves_and_larger_ones_are_others() {
        let mixed = |seed: u64| u64::from(seed_in_32_bits(seed));
        for seed in [0, 1, 77, u64::from(u32::MAX)] {
            assert_eq!(mixed(seed), seed);
            let upper: std::collections::BTreeSet<u64> = (0..1000).map(|upper| mixed(upper << 32 | seed)).collect();
            assert_eq!(upper.len(), 1000, "seed {seed}");
        }
    }

    #[test]
    fn names_are_read_back() {
        for &engine in Engine::ALL {
            assert_eq!(engine.name().parse::<Engine>().unwrap(), engine);
        }
        assert_eq!("plain".parse::<Engine>().unwrap(), Engine::Cpu);
        for name in Optimizer::NAMES {
            assert_eq!(Optimizer::from_name(name).unwrap().name(), name);
        }
        let error = "paper".parse::<Engine>().unwrap_err().to_string();
        assert_eq!(error, "option engine: paper is not allowed (auto, epoch, layers, cpu)");
    }

    #[test]
    fn fields_that_a_file_leaves_out_are_those_of_the_name() {
        for name in Optimizer::NAMES {
            let read: Optimizer = serde_json::from_value(serde_json::json!({ "name": name })).unwrap();
            assert_eq!(read, Optimizer::from_name(name).unwrap());
        }
        for name in Schedule::NAMES {
            let read: Schedule = serde_json::from_value(serde_json::json!({ "name": name })).unwrap();
            assert_eq!(read, Schedule::from_name(name).unwrap());
        }
        let adam: Optimizer = serde_json::from_str(r#"{"name": "adam", "beta1": 0.5}"#).unwrap();
        assert_eq!(adam, Optimizer::Adam { beta1: 0.5, beta2: 0.999, epsilon: 1e-8 });
        let stopping: EarlyStopping = serde_json::from_str(r#"{"patience": 3}"#).unwrap();
        assert_eq!(stopping, EarlyStopping { patience: 3, min_delta: 0.0 });
        let error = Schedule::from_name("linear").unwrap_err().to_string();
        assert_eq!(error, "option schedule: linear is not allowed (constant, step, cosine)");
    }

    #[test]
    fn options_of_version_0_1_are_read() {
        let mut json = serde_json::to_value(Options::default()).unwrap();
        let fields = json.as_object_mut().unwrap();
        for (new, old) in [("engine", "execution"), ("held_out", "validation")] {
            let value = fields.remove(new).unwrap();
            fields.insert(old.into(), value);
        }
        fields["execution"] = "plain".into();
        fields.remove("threads");
        fields.remove("activation");
        fields.remove("dropout");
        fields.remove("layer_norm");
        fields.remove("batch_norm");
        fields.remove("loss");
        fields.remove("label_smoothing");
        fields.remove("clip_norm");
        let old: Options = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(old, Options { engine: Engine::Cpu, ..Options::default() });
        json["execution"] = "paper".into();
        let error = serde_json::from_value::<Options>(json).unwrap_err().to_string();
        assert!(error.contains("version 0.1 reads it"), "{error}");
    }
}
