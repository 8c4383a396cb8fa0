//! What a training or an evaluation found, as plain data.

use serde::{Deserialize, Serialize};

use super::options::{Execution, Options};

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
pub struct TrainReport {
    /// Version of these fields, [`SCHEMA`].
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// The epochs, those before a resumed checkpoint included.
    pub epochs: Vec<EpochReport>,
    /// Hidden units that are 0 on every sample of the training set, in all hidden layers: they have no gradient and learn no more.
    pub dead_units: u64,
    /// The same for each hidden layer.
    pub dead_units_by_layer: Vec<u64>,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// Which kernels trained.
    pub execution: Execution,
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
    /// Seconds of classification, the set being on the device.
    pub seconds: f64,
}
