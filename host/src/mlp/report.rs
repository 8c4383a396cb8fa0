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
    /// Mean loss of the epoch's samples, each before its batch's update.
    pub loss: f64,
    /// Share of the test set that is classified rightly after the epoch; `None` without a test set.
    pub test_accuracy: Option<f64>,
    /// Mean loss of the test set after the epoch.
    pub test_loss: Option<f64>,
    /// Share of the validation samples that is classified rightly after the epoch.
    pub validation_accuracy: Option<f64>,
    /// Mean loss of the validation samples after the epoch.
    pub validation_loss: Option<f64>,
    /// Learning rate of the epoch's last update, schedule and warm-up applied.
    pub learning_rate: f64,
    /// Seconds of training by the wall clock, shuffling included, evaluation not.
    pub seconds: f64,
    /// Seconds of evaluation.
    pub evaluation_seconds: f64,
    /// Samples trained on a second.
    pub samples_per_second: f64,
    /// Share of the training's time in which batches were copied; `None` where the set lies on the device.
    pub transfer_share: Option<f64>,
    /// Whether [`Engine::Epoch`] found that a number had left the range of its scales, so that [`Engine::Layers`] did the epoch again from the weights before it.
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
    /// The caller asked for it.
    Request,
}

/// A whole training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of these fields, [`SCHEMA`].
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// The epochs, those before a resumed checkpoint included.
    pub epochs: Vec<EpochReport>,
    /// Epochs that were done again in plain single precision: see [`EpochReport::repeated`].
    #[serde(default)]
    pub repeated_epochs: u64,
    /// Hidden units that are 0 on every sample of the training set, in all hidden layers: they have no gradient and learn no more.
    pub dead_units: u64,
    /// The same for each hidden layer.
    pub dead_units_by_layer: Vec<u64>,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// Which engine trained.
    #[serde(alias = "execution")]
    pub engine: Engine,
    /// Seed of weights and orders.
    #[serde(default)]
    pub seed: u32,
    /// Seconds of training, evaluation not counted.
    #[serde(default)]
    pub seconds: f64,
    /// Where the data comes from.
    pub data: String,
    /// Widths of all layers, the inputs first.
    pub sizes: Vec<u32>,
    /// Training samples, those for validation not counted.
    pub n_train: u64,
    /// Why it ended.
    pub stopped_by: StoppedBy,
    /// The options.
    pub options: Options,
}

/// A network on a labelled set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Version of these fields, [`SCHEMA`].
    pub schema: u32,
    /// Samples classified rightly.
    pub correct: u64,
    /// Samples.
    pub total: u64,
    /// `correct / total`.
    pub accuracy: f64,
    /// Mean loss.
    pub loss: f64,
    /// Samples by true class and predicted class.
    pub confusion: Vec<Vec<u64>>,
    /// Hidden units that are 0 on every sample of this set, for each hidden layer.
    pub dead_units_by_layer: Vec<u64>,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device; empty in reports of version 0.1.
    #[serde(default)]
    pub device_name: String,
    /// Which engine classified: [`Engine::Layers`] also where [`Engine::Epoch`] was asked and a number left the range of its scales; `None` in reports of version 0.1, and where none of these did.
    #[serde(default)]
    pub engine: Option<Engine>,
    /// Arithmetic of the products; `None` in reports of version 0.1.
    #[serde(default)]
    pub precision: Option<Precision>,
    /// Seconds of classification, the set being on the device.
    pub seconds: f64,
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
        let share = 100.0 * self.accuracy;
        write!(f, "{} of {} right ({share:.2} %), loss {:.4} on {}", self.correct, self.total, self.loss, self.device)?;
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

/// What became of one model of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepModel {
    /// Its seed, of weights and orders.
    pub seed: u32,
    /// Its base learning rate.
    pub learning_rate: f64,
    /// Its epochs, up to the one before its loss ceased to be finite.
    pub epochs: Vec<SweepEpoch>,
    /// Epochs that were done again in plain single precision: see [`EpochReport::repeated`].
    #[serde(default)]
    pub repeated_epochs: u64,
    /// The epoch in which its loss ceased to be finite.
    pub diverged: Option<u32>,
    /// Share of the test set that it classifies rightly at the end, 0 to 1; `None` without a test set and for a model that diverged.
    pub test_accuracy: Option<f64>,
    /// Mean loss of the test set at the end.
    pub test_loss: Option<f64>,
}

impl SweepModel {
    /// A model of which nothing is known yet.
    pub(super) fn new(seed: u32, learning_rate: f64) -> Self {
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
    /// Which engine trained.
    #[serde(alias = "execution")]
    pub engine: Engine,
    /// Seed of the first model; each has its own in `models`.
    #[serde(default)]
    pub seed: u32,
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
