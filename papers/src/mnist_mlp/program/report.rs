//! What a training by the published program found, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpplay::mlp::{Dataset, EpochReport, Evaluation, SCHEMA};
use warpplay::{Device, Error, Precision, Result};

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

/// What the network says of a data set.
#[derive(Clone, Debug, Default)]
pub(super) struct Classified {
    /// The likeliest class of each sample; the lowest of equals.
    pub classes: Vec<u32>,
    /// Sum of the losses.
    pub loss_sum: f64,
    /// For each hidden layer, for each unit, whether any sample makes it positive.
    pub active: Vec<Vec<bool>>,
}

/// That a set's images and labels suit a network.
pub(super) fn check_set(sizes: &[u32], set: &Dataset) -> Result<()> {
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    if set.n_inputs() != first {
        let (rows, cols) = set.image_size();
        let what = format!("images of {}", set.source());
        return Err(Error::shape(what, format!("{first} pixels, the network's inputs"), format!("{rows} x {cols}")));
    }
    match set.labels().iter().position(|&label| u32::from(label) >= last) {
        Some(at) => {
            let what = format!("label {at} of {}", set.source());
            Err(Error::shape(what, format!("below {last}, the network's classes"), set.labels()[at]))
        }
        None => Ok(()),
    }
}

/// The report on a classified set.
pub(super) fn evaluation(
    set: &Dataset,
    found: &Classified,
    sizes: &[u32],
    device: &Device,
    seconds: f64,
) -> Evaluation {
    let n_classes = sizes[sizes.len() - 1] as usize;
    let mut confusion = vec![vec![0; n_classes]; n_classes];
    for (&label, &class) in set.labels().iter().zip(&found.classes) {
        // A network whose logits are not numbers may answer anything.
        if let Some(count) = confusion[usize::from(label)].get_mut(class as usize) {
            *count += 1;
        }
    }
    let correct = (0..n_classes).map(|class| confusion[class][class]).sum();
    let total = set.len() as u64;
    Evaluation {
        schema: SCHEMA,
        correct,
        total,
        accuracy: correct as f64 / total as f64,
        loss: found.loss_sum / total as f64,
        confusion,
        dead_units_by_layer: dead_units(found),
        device: device.backend().to_string(),
        device_name: device.name(),
        engine: None,
        precision: Some(Precision::F32),
        seconds,
    }
}

/// Units without any positive sample, by layer.
pub(super) fn dead_units(found: &Classified) -> Vec<u64> {
    found.active.iter().map(|layer| layer.iter().filter(|&&active| !active).count() as u64).collect()
}
