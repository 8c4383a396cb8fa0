//! From the answers of an engine to the report on a labelled set.

use super::Dataset;
use super::options::Loss;
use super::report::{Evaluation, SCHEMA};
use crate::{Device, Error, Result};

/// The results of a network on a labelled set. Engines make it; user-defined kernels can make it, too, to obtain the same [`Evaluation`].
///
/// ```
/// use warpplay::Device;
/// use warpplay::mlp::{Classified, Dataset};
///
/// let pairs = Dataset::new(vec![0; 4], vec![0, 1], 1, 2, 2, "pairs")?;
/// pairs.expect_fits(&[2, 2])?;
/// let found = Classified { classes: vec![0, 0], loss_sum: 1.5, active: Vec::new() };
/// let evaluation = found.evaluation(&pairs, 2, &Device::cpu(), 0.1);
/// assert_eq!((evaluation.correct, evaluation.total, evaluation.loss), (1, 2, 0.75));
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Classified {
    /// The most probable class of each sample; the lowest among equals. Empty in a regression.
    pub classes: Vec<u32>,
    /// Sum of the losses.
    pub loss_sum: f64,
    /// For each hidden layer, for each unit, whether any sample makes it positive; with another activation than the rectifier, true.
    pub active: Vec<Vec<bool>>,
}

impl Classified {
    /// The report on the set for a network with `n_classes` classes; all labels are below `n_classes` ([`Dataset::expect_fits`]). It names no engine and no precision.
    pub fn evaluation(&self, set: &Dataset, n_classes: u32, device: &Device, seconds: f64) -> Evaluation {
        // A regression has no classes.
        let n_classes = if set.targets().is_some() { 0 } else { n_classes as usize };
        let mut confusion = vec![vec![0; n_classes]; n_classes];
        for (&label, &class) in set.labels().iter().zip(&self.classes) {
            // A network whose logits are not numbers may answer anything.
            if let Some(count) = confusion.get_mut(usize::from(label)).and_then(|row| row.get_mut(class as usize)) {
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
            loss: self.loss_sum / total as f64,
            confusion,
            dead_units_by_layer: self.dead_units(),
            device: device.backend().to_string(),
            device_name: device.name(),
            engine: None,
            precision: None,
            seconds,
        }
    }

    /// Units that are positive on no sample, by layer.
    pub fn dead_units(&self) -> Vec<u64> {
        self.active.iter().map(|layer| layer.iter().filter(|&&active| !active).count() as u64).collect()
    }
}

impl Dataset {
    /// Checks that images and labels fit a network of these widths, the inputs first, the classes last.
    ///
    /// # Errors
    /// [`Error::Shape`] if the images have another size than the inputs, a label is beyond the classes, or there are targets in place of labels, or features in place of images.
    pub fn expect_fits(&self, sizes: &[u32]) -> Result<()> {
        if self.targets().is_some() {
            return Err(Error::shape(self.source(), "samples with labels", "targets"));
        }
        self.expect_for(sizes, Loss::CrossEntropy, false)
    }

    /// Checks that the set fits a network of these widths, has features or images, as is said, and has what a loss compares outputs with.
    ///
    /// # Errors
    /// As [`expect_fits`](Self::expect_fits); [`Error::Shape`] for images in place of features, or the reverse; [`Error::Option`] if it has labels and the loss takes targets, or the reverse.
    pub(super) fn expect_for(&self, sizes: &[u32], loss: Loss, features: bool) -> Result<()> {
        self.expect_loss(loss)?;
        if self.features().is_some() != features {
            let [images, numbers] = ["images of bytes", "features in f32"];
            let [expected, got] = if features { [numbers, images] } else { [images, numbers] };
            return Err(Error::shape(self.source(), expected, got));
        }
        let (&[first, ..], &[.., last]) = (sizes, sizes) else {
            return Err(Error::shape("widths of the layers", "1 or more", 0));
        };
        if self.n_inputs() != first {
            let (rows, cols) = self.image_size();
            let (of, inputs, got) = match features {
                true => ("features of a sample", String::new(), cols.to_string()),
                false => ("images", " pixels".into(), format!("{rows} x {cols}")),
            };
            let what = format!("{of} of {}", self.source());
            return Err(Error::shape(what, format!("{first}{inputs}, the network's inputs"), got));
        }
        if self.targets().is_some() && self.n_classes() != last {
            let what = format!("targets of a sample of {}", self.source());
            return Err(Error::shape(what, format!("{last}, the network's outputs"), self.n_classes()));
        }
        match self.labels().iter().position(|&label| u32::from(label) >= last) {
            Some(at) => {
                let what = format!("label {at} of {}", self.source());
                Err(Error::shape(what, format!("below {last}, the network's classes"), self.labels()[at]))
            }
            None => Ok(()),
        }
    }

    /// Checks that the set has what a loss compares outputs with.
    ///
    /// # Errors
    /// [`Error::Option`] if it has labels and the loss takes targets, or the reverse.
    pub(super) fn expect_loss(&self, loss: Loss) -> Result<()> {
        let (allowed, have) = match (self.targets().is_some(), loss.is_regression()) {
            (true, false) => ("mse or huber", "targets"),
            (false, true) => ("cross_entropy", "labels"),
            _ => return Ok(()),
        };
        Err(Error::option("loss", loss, format!("{allowed} for {}, whose samples have {have}", self.source())))
    }
}
