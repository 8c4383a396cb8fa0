//! A network in use: classes of images, and how good it is on a labelled set.

use std::sync::Arc;
use std::time::Instant;

use super::engine::{Classified, Engine, Setup};
use super::report::{Evaluation, SCHEMA};
use super::{Dataset, Network, Options, trainer};
use crate::{Device, Error, Result};

/// A class for an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The likeliest class; the lowest of equals.
    pub class: u32,
    /// Softmax of the logits, `[n_classes]`.
    pub probabilities: Vec<f32>,
}

/// A network on a device, ready to classify.
///
/// ```
/// use warpplay::Device;
/// use warpplay::mlp::{Classifier, Layer, Network};
///
/// let layer = Layer { n_inputs: 2, n_outputs: 2, weights: vec![1.0, 0.0, 0.0, 1.0], bias: vec![0.0, 0.0] };
/// let mut classifier = Classifier::new(&Device::cpu(), &Network::new(vec![layer])?)?;
/// assert_eq!(classifier.predict(&[0, 255])?[0].class, 1); // the second byte is larger
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Classifier {
    engine: Box<dyn Engine>,
    device: Device,
    sizes: Vec<u32>,
}

impl Classifier {
    /// Puts a network on a device, in single precision.
    ///
    /// # Errors
    /// As [`Classifier::with_options`].
    pub fn new(device: &Device, network: &Network) -> Result<Self> {
        Self::with_options(device, network, &Options::default())
    }

    /// The same with the precision, kernels and batch that `options` names (`precision`, `execution`, `evaluate_batch`, `paper`).
    ///
    /// # Errors
    /// [`Error::Option`] for a precision or kernels that the device does not offer; [`Error::Driver`] and the like if the device fails.
    pub fn with_options(device: &Device, network: &Network, options: &Options) -> Result<Self> {
        let sizes = network.sizes();
        let hidden = sizes[1..sizes.len() - 1].to_vec();
        let options = Options { hidden, ..options.clone() };
        options.check()?;
        let setup = Setup { options, sizes: sizes.clone(), train: None, threads: None };
        let mut engine = trainer::open(device, setup)?;
        engine.set_state(&network.to_state())?;
        Ok(Self { engine, device: device.clone(), sizes })
    }

    /// Bytes of an image.
    pub fn n_inputs(&self) -> u32 {
        self.sizes[0]
    }

    /// Classes of `n` images, `[n, n_inputs]` bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `images` is a whole number of images, at least one.
    pub fn predict(&mut self, images: &[u8]) -> Result<Vec<Prediction>> {
        let n_inputs = self.sizes[0] as usize;
        if images.is_empty() || !images.len().is_multiple_of(n_inputs) {
            return Err(Error::shape("images", format!("a multiple of {n_inputs} bytes"), images.len()));
        }
        let logits = self.engine.logits(images)?;
        Ok(logits.chunks_exact(self.sizes[self.sizes.len() - 1] as usize).map(softmax).collect())
    }

    /// Classifies a labelled set.
    ///
    /// # Errors
    /// [`Error::Shape`] if its images have another size than the network's inputs, or a label is beyond its classes.
    pub fn evaluate(&mut self, set: &Arc<Dataset>) -> Result<Evaluation> {
        check_set(&self.sizes, set)?;
        let id = self.engine.load(set)?;
        let start = Instant::now();
        let found = self.engine.classify(id)?;
        Ok(evaluation(set, &found, &self.sizes, &self.device, start.elapsed().as_secs_f64()))
    }
}

impl std::fmt::Debug for Classifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Classifier").field("device", &self.device).field("sizes", &self.sizes).finish()
    }
}

/// Probabilities of one sample's logits.
fn softmax(logits: &[f32]) -> Prediction {
    let mut class = 0;
    for (at, logit) in logits.iter().enumerate() {
        if *logit > logits[class] {
            class = at;
        }
    }
    let most = logits[class];
    let powers: Vec<f32> = logits.iter().map(|logit| libm::expf(logit - most)).collect();
    let sum: f32 = powers.iter().sum();
    Prediction { class: class as u32, probabilities: powers.iter().map(|power| power / sum).collect() }
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
        seconds,
    }
}

/// Units without any positive sample, by layer.
pub(super) fn dead_units(found: &Classified) -> Vec<u64> {
    found.active.iter().map(|layer| layer.iter().filter(|&&active| !active).count() as u64).collect()
}
