//! What a training by the published program found, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpplay::mlp::EpochReport;

use super::options::Options;

/// A whole training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of these fields.
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// The epochs.
    pub epochs: Vec<EpochReport>,
    /// Hidden units that are 0 on every sample of the training set, in all hidden layers.
    pub dead_units: u64,
    /// The same for each hidden layer.
    pub dead_units_by_layer: Vec<u64>,
    /// Back end: `cuda` or `simt`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// Where the data comes from.
    pub data: String,
    /// Widths of all layers, the inputs first.
    pub sizes: Vec<u32>,
    /// Training samples.
    pub n_train: u64,
    /// Seed of weights and orders.
    pub seed: u32,
    /// Seconds of training, evaluation not counted.
    pub seconds: f64,
    /// Whether the caller ended it early.
    pub stopped: bool,
    /// The options.
    pub options: Options,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(u32::to_string).collect();
        writeln!(
            f,
            "{} of {} by the published kernels on {} ({})",
            sizes.join("-"),
            self.data,
            self.device,
            self.device_name
        )?;
        for epoch in &self.epochs {
            write!(f, "epoch {:>3}  loss {:.5}", epoch.epoch, epoch.loss)?;
            if let Some(accuracy) = epoch.test_accuracy {
                write!(f, "  test {:.2} %", 100.0 * accuracy)?;
            }
            writeln!(f, "  {:.4} s", epoch.seconds)?;
        }
        write!(f, "seed {}, {:.4} s of training, {} dead units", self.seed, self.seconds, self.dead_units)
    }
}
