//! What a training or an evaluation found, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::options::{Engine, Options, Precision};

/// Version of the reports' fields.
pub const SCHEMA: u32 = 1;

/// One epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// The epoch, from 1.
    pub epoch: u32,
    /// Mean loss of the epoch's samples, each before its batch's update; of smoothed labels with [`Options::label_smoothing`], of thinned networks with [`Options::dropout`].
    pub loss: f64,
    /// Share of the test set classified correctly after the epoch; `None` without a test set and in a regression.
    pub test_accuracy: Option<f64>,
    /// Mean loss of the test set after the epoch.
    pub test_loss: Option<f64>,
    /// Share of the validation samples classified correctly after the epoch.
    pub validation_accuracy: Option<f64>,
    /// Mean loss of the validation samples after the epoch.
    pub validation_loss: Option<f64>,
    /// Learning rate of the epoch's last update, schedule and warm-up applied.
    pub learning_rate: f64,
    /// Wall-clock seconds of training, including shuffling but not evaluation.
    pub seconds: f64,
    /// Seconds of evaluation.
    pub evaluation_seconds: f64,
    /// Training samples per second.
    pub samples_per_second: f64,
    /// Share of the training time in which batches were copied; `None` if the set is on the device.
    pub transfer_share: Option<f64>,
    /// Whether a number exceeded the range of [`Engine::Epoch`]'s scales, so that [`Engine::Layers`] repeated the epoch from the weights before it.
    #[serde(default)]
    pub repeated: bool,
}

/// Why a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// All epochs are done.
    Epochs,
    /// The validation loss no longer improved.
    EarlyStopping,
    /// The caller stopped it.
    Request,
}

/// Report of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of these fields, [`SCHEMA`].
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// The epochs, including those before a resumed checkpoint.
    pub epochs: Vec<EpochReport>,
    /// Number of epochs repeated by the engine `layers`: see [`EpochReport::repeated`].
    #[serde(default)]
    pub repeated_epochs: u64,
    /// Number of hidden units, over all layers, that are 0 on every sample of the training set: they have no gradient and no longer learn. None is counted where the activation is not the rectifier.
    pub dead_units: u64,
    /// The same for each hidden layer.
    pub dead_units_by_layer: Vec<u64>,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// The engine that trained.
    #[serde(alias = "execution")]
    pub engine: Engine,
    /// Seed of weights and orders.
    #[serde(default)]
    pub seed: u64,
    /// Seconds of training, without evaluation.
    #[serde(default)]
    pub seconds: f64,
    /// Where the data comes from.
    pub data: String,
    /// Widths of all layers, the inputs first.
    pub sizes: Vec<u32>,
    /// Number of training samples, without those for validation.
    pub n_train: u64,
    /// Why the run ended.
    pub stopped_by: StoppedBy,
    /// The options.
    pub options: Options,
}

/// Evaluation of a network on a labelled set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Version of these fields, [`SCHEMA`].
    pub schema: u32,
    /// Number of samples classified correctly; 0 in a regression.
    pub correct: u64,
    /// Samples.
    pub total: u64,
    /// `correct / total`; 0 in a regression, see [`share`](Self::share).
    pub accuracy: f64,
    /// Mean loss.
    pub loss: f64,
    /// Samples by true class and predicted class; empty in a regression.
    pub confusion: Vec<Vec<u64>>,
    /// Hidden units that are 0 on every sample of this set, for each hidden layer; none where the activation is not the rectifier.
    pub dead_units_by_layer: Vec<u64>,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device; empty in reports of version 0.1.
    #[serde(default)]
    pub device_name: String,
    /// The engine that classified; it is also [`Engine::Layers`] if [`Engine::Epoch`] was chosen and a number exceeded the range of its scales. `None` in reports of version
    /// 0.1, and if no engine of the library classified.
    #[serde(default)]
    pub engine: Option<Engine>,
    /// Arithmetic of the products; `None` in reports of version 0.1.
    #[serde(default)]
    pub precision: Option<Precision>,
    /// Seconds of classification, with the set on the device.
    pub seconds: f64,
}

impl Evaluation {
    /// The share of samples classified correctly; `None` in a regression.
    pub fn share(&self) -> Option<f64> {
        (!self.confusion.is_empty()).then_some(self.accuracy)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(u32::to_string).collect();
        writeln!(f, "network     {} on {}", sizes.join("-"), self.data)?;
        writeln!(f, "device      {} ({}), engine {}", self.device, self.device_name, self.engine)?;
        let ended = match self.stopped_by {
            StoppedBy::Epochs => "all epochs done",
            StoppedBy::EarlyStopping => "early: the validation loss no longer fell",
            StoppedBy::Request => "early, on request: the network trained so far",
        };
        writeln!(f, "ended       {ended}")?;
        if let Some(last) = self.epochs.last() {
            write!(f, "epoch {:<6}loss {:.5}", last.epoch, last.loss)?;
            for (name, accuracy) in [("test", last.test_accuracy), ("held out", last.validation_accuracy)] {
                if let Some(accuracy) = accuracy {
                    write!(f, ", {name} {:.2} %", 100.0 * accuracy)?;
                }
            }
            writeln!(f)?;
        }
        if self.repeated_epochs > 0 {
            writeln!(f, "repeated    {} epochs by engine {}", self.repeated_epochs, Engine::Layers)?;
        }
        writeln!(f, "dead units  {} of {}", self.dead_units, self.options.hidden.iter().sum::<u32>())?;
        write!(f, "time        {:.3} s of training, seed {}", self.seconds, self.seed)
    }
}

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.share() {
            Some(share) => write!(f, "{} of {} right ({:.2} %)", self.correct, self.total, 100.0 * share)?,
            None => write!(f, "{} samples", self.total)?,
        }
        write!(f, ", loss {:.4} on {}", self.loss, self.device)?;
        match self.engine {
            Some(engine) => write!(f, " by engine {engine} in {:.3} s", self.seconds),
            None => write!(f, " in {:.3} s", self.seconds),
        }
    }
}

/// One epoch of one model of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepEpoch {
    /// The epoch, from 1.
    pub epoch: u32,
    /// Mean loss of the epoch's samples, each before its batch's update.
    pub loss: f64,
}

/// Results of one model of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepModel {
    /// Seed of its weights and orders.
    pub seed: u64,
    /// Its base learning rate.
    pub learning_rate: f64,
    /// Its epochs, up to the one before its loss ceased to be finite.
    pub epochs: Vec<SweepEpoch>,
    /// Number of epochs repeated by the engine `layers`: see [`EpochReport::repeated`].
    #[serde(default)]
    pub repeated_epochs: u64,
    /// The epoch in which its loss, or in whose last update its weights or test loss, ceased to be finite.
    pub diverged: Option<u32>,
    /// Share of the test set that it classifies correctly at the end, 0 to 1; `None` without a test set, in a regression and for a model that diverged.
    pub test_accuracy: Option<f64>,
    /// Mean loss of the test set at the end.
    pub test_loss: Option<f64>,
}

impl SweepModel {
    /// Makes the results of a model that has not been trained yet.
    pub(super) fn new(seed: u64, learning_rate: f64) -> Self {
        Self {
            seed,
            learning_rate,
            epochs: Vec::new(),
            repeated_epochs: 0,
            diverged: None,
            test_accuracy: None,
            test_loss: None,
        }
    }

    /// Notes what the test set says about a model that was trained to its end. With a loss that is not finite the model is [lost](Self::lose).
    pub(super) fn rate(&mut self, accuracy: Option<f64>, loss: f64) {
        if loss.is_finite() {
            (self.test_accuracy, self.test_loss) = (accuracy, Some(loss));
        } else {
            self.lose();
        }
    }

    /// Notes that the last update went wrong, which no loss of the epoch shows.
    pub(super) fn lose(&mut self) {
        self.diverged = self.epochs.pop().map(|last| last.epoch);
    }
}

/// Report of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepReport {
    /// Version of these fields.
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// The models, in the order given.
    pub models: Vec<SweepModel>,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// The engine that trained.
    #[serde(alias = "execution")]
    pub engine: Engine,
    /// Seed of the first model; each has its own in `models`.
    #[serde(default)]
    pub seed: u64,
    /// Whether all models were trained at the same time, in one launch per epoch; otherwise one after the other.
    pub side_by_side: bool,
    /// Seconds of training, without evaluation.
    pub seconds: f64,
    /// Models trained for all epochs, per second.
    pub models_per_second: f64,
    /// Where the data comes from.
    pub data: String,
    /// The options, whose `seed` and `learning_rate` the models replace.
    pub options: Options,
}

impl fmt::Display for SweepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "data        {}", self.data)?;
        writeln!(f, "device      {} ({}), engine {}", self.device, self.device_name, self.engine)?;
        let accuracy = |model: &&SweepModel| model.test_accuracy.unwrap_or(-1.0);
        let best = self.models.iter().reduce(|best, next| if accuracy(&next) > accuracy(&best) { next } else { best });
        if let Some((best, share)) = best.and_then(|best| Some((best, best.test_accuracy?))) {
            let share = 100.0 * share;
            writeln!(f, "best        seed {}, learning rate {}: {share:.2} %", best.seed, best.learning_rate)?;
        }
        let (n, seconds) = (self.models.len(), self.seconds);
        write!(f, "models      {n} in {seconds:.3} s, {:.2} a second, first seed {}", self.models_per_second, self.seed)
    }
}
