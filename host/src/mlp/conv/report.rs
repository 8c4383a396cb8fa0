//! What a training found.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ConvOptions;
use crate::mlp::report::{EpochReport, StoppedBy};

/// Report of a training of a network of convolutions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvReport {
    /// Version of these fields, [`SCHEMA`](crate::mlp::SCHEMA).
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// The epochs.
    pub epochs: Vec<EpochReport>,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// Seed of weights and orders.
    pub seed: u64,
    /// Seconds of training, without evaluation.
    pub seconds: f64,
    /// Where the data comes from.
    pub data: String,
    /// Rows and columns of an image.
    pub image_size: [u32; 2],
    /// Parameters of the network.
    pub n_parameters: u64,
    /// Number of training samples.
    pub n_train: u64,
    /// Why the run ended.
    pub stopped_by: StoppedBy,
    /// The options.
    pub options: ConvOptions,
}

impl fmt::Display for ConvReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "network     convolutions {:?}, {} parameters, on {}",
            self.options.blocks, self.n_parameters, self.data
        )?;
        writeln!(f, "device      {} ({})", self.device, self.device_name)?;
        for epoch in &self.epochs {
            write!(f, "epoch {:<6}loss {:.5}", epoch.epoch, epoch.loss)?;
            if let Some(accuracy) = epoch.test_accuracy {
                write!(f, "  test {:.2} %", 100.0 * accuracy)?;
            }
            writeln!(f, "  {:.3} s", epoch.seconds)?;
        }
        write!(f, "trained     in {:.3} s", self.seconds)
    }
}
