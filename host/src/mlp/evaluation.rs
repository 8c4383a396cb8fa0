//! From the answers of an engine to the report on a labelled set.

use super::Dataset;
use super::options::{Engine, Precision};
use super::report::{Evaluation, SCHEMA};
use crate::{Device, Error, Result};

/// What an engine says of a data set.
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

/// What classified.
#[derive(Clone, Copy, Debug)]
pub(super) struct By<'a> {
    pub device: &'a Device,
    pub engine: Engine,
    pub precision: Precision,
}

/// The report on a classified set.
pub(super) fn evaluation(
    set: &Dataset,
    found: &Classified,
    sizes: &[u32],
    by: By<'_>,
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
        device: by.device.backend().to_string(),
        device_name: by.device.name(),
        engine: Some(by.engine),
        precision: Some(by.precision),
        seconds,
    }
}

/// Units without any positive sample, by layer.
pub(super) fn dead_units(found: &Classified) -> Vec<u64> {
    found.active.iter().map(|layer| layer.iter().filter(|&&active| !active).count() as u64).collect()
}
