//! A network in use: classes of images, and how good it is on a labelled set.

use std::sync::Arc;
use std::time::Instant;

use super::dataset::{WITHIN_HALF, beyond};
use super::dispatch;
use super::engines::{Setup, Train};
use super::options::{Engine, Loss, Precision, Residence};
use super::report::Evaluation;
use super::{Dataset, Inputs, Network, Options};
use crate::runtime::setters::setters;
use crate::{Buffer, Device, Error, Memory, Result};

/// The prediction for an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The most probable class; the lowest among equals.
    pub class: u32,
    /// Softmax of the logits, `[n_classes]`.
    pub probabilities: Vec<f32>,
}

impl Prediction {
    /// The prediction from the logits of an image, `[n_classes]`, at least one.
    pub fn of_logits(logits: &[f32]) -> Self {
        let mut class = 0;
        for (at, logit) in logits.iter().enumerate() {
            if *logit > logits[class] {
                class = at;
            }
        }
        let most = logits.get(class).copied().unwrap_or(0.0);
        let powers: Vec<f32> = logits.iter().map(|logit| libm::expf(logit - most)).collect();
        let sum: f32 = powers.iter().sum();
        Self { class: class as u32, probabilities: powers.iter().map(|power| power / sum).collect() }
    }
}

/// A network on a device, ready to classify.
///
/// ```
/// use warpplay::Device;
/// use warpplay::mlp::{Classifier, Layer, Network};
///
/// let layer = Layer { n_inputs: 2, n_outputs: 2, weights: vec![1.0, 0.0, 0.0, 1.0], bias: vec![0.0, 0.0] };
/// let network = Network::new(vec![layer])?;
/// let mut classifier = Classifier::builder(&network).build(&Device::cpu())?;
/// assert_eq!(classifier.predict(&[0, 255])?[0].class, 1); // the second byte is larger
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Classifier {
    engine: Box<dyn Train>,
    device: Device,
    sizes: Vec<u32>,
    precision: Precision,
    loss: Loss,
    /// Whether inputs are features, not images.
    /// What the network says of its inputs.
    inputs: Inputs,
    features: bool,
    memory: Memory,
}

/// Options of a [`Classifier`]; made by [`Classifier::builder`].
#[derive(Clone, Debug)]
pub struct ClassifierBuilder {
    network: Network,
    options: Options,
    features: bool,
}

impl ClassifierBuilder {
    /// All options at once. Only `loss` (of evaluations), `precision`, `engine`, `stream`, `evaluate_batch` and `threads` are used; `hidden`, `activation`, `layer_norm` and `batch_norm` are taken from the network; options of training have no
    /// effect but must be valid. Without this call they are the default ones with the network's [`loss`](Network::loss).
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    setters! {
        loss: Loss, precision: Precision, engine: Engine, stream: Residence, evaluate_batch: u32, threads: impl Into<Option<usize>> = threads.into(),
    }

    /// Whether inputs are features in f32 ([`Dataset::of_features`]), for [`Classifier::outputs`] and sets of these, not images of bytes. Default: as the network's [`inputs`](Network::inputs) say.
    pub fn features(mut self, features: bool) -> Self {
        self.features = features;
        self
    }

    /// Memory that the classifier will need, without labelled sets.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed, or not on this device.
    pub fn memory_needed(&self, device: &Device) -> Result<Memory> {
        dispatch::memory_needed(device, &self.setup()?, &[])
    }

    /// Copies the network to a device.
    ///
    /// # Errors
    /// [`Error::Option`] for a precision or an engine that the device does not offer; [`Error::OutOfMemory`]; errors of the device.
    pub fn build(self, device: &Device) -> Result<Classifier> {
        let setup = self.setup()?;
        let memory = dispatch::memory_needed(device, &setup, &[])?;
        device.expect_memory(&memory)?;
        let (sizes, precision, loss) = (setup.sizes.clone(), setup.options.precision, setup.options.loss);
        let mut engine = dispatch::open(device, setup)?;
        engine.set_state(&self.network.to_state())?;
        let (inputs, device) = (self.network.inputs().clone(), device.clone());
        Ok(Classifier { engine, device, sizes, precision, loss, inputs, features: self.features, memory })
    }

    fn setup(&self) -> Result<Setup> {
        let sizes = self.network.sizes();
        let (hidden, activation) = (sizes[1..sizes.len() - 1].to_vec(), self.network.activation());
        let layer_norm = !self.network.layer_norms().is_empty();
        let batch_norm = !self.network.batch_norms().is_empty();
        let options = Options { hidden, activation, layer_norm, batch_norm, ..self.options.clone() };
        options.check()?;
        Ok(Setup { options, sizes, features: self.features, train: None })
    }
}

impl Classifier {
    /// A builder with the default options, the network's loss and its kind of inputs.
    pub fn builder(network: &Network) -> ClassifierBuilder {
        let options = Options { loss: network.loss(), ..Options::default() };
        let features = *network.inputs() != Inputs::Pixels;
        ClassifierBuilder { network: network.clone(), options, features }
    }

    /// The engine that classifies; never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        self.engine.engine()
    }

    /// Memory that was requested for classification, without labelled sets.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// Bytes of an image, or features of a sample.
    pub fn n_inputs(&self) -> u32 {
        self.sizes[0]
    }

    /// Number of classes.
    pub fn n_classes(&self) -> u32 {
        self.sizes[self.sizes.len() - 1]
    }

    /// The device that classifies.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Predicts the classes of `n` images, `[n, n_inputs]` bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `images` is a whole number of images, at least one; [`Error::Option`] for a classifier of features or of a regression; errors of the device.
    pub fn predict(&mut self, images: &[u8]) -> Result<Vec<Prediction>> {
        if self.loss != Loss::CrossEntropy {
            return Err(Error::option("loss", self.loss, "cross_entropy for classes; a regression has logits"));
        }
        Ok(self.logits(images)?.chunks_exact(self.n_classes() as usize).map(Prediction::of_logits).collect())
    }

    /// Logits `[n, n_classes]` of `n` images, `[n, n_inputs]` bytes; of a regression, the outputs that are compared with targets.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), but for a regression.
    pub fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        self.expect_images(images.len())?;
        self.engine.logits(images)
    }

    /// Outputs `[n, n_classes]` of `n` samples of features, `[n, n_inputs]`: logits, or, of a regression, what is compared with targets. The classifier was built for [`features`](ClassifierBuilder::features).
    ///
    /// ```
    /// use warpplay::Device;
    /// use warpplay::mlp::{Classifier, Layer, Network};
    ///
    /// let layer = Layer { n_inputs: 2, n_outputs: 1, weights: vec![2.0, -1.0], bias: vec![0.5] };
    /// let network = Network::new(vec![layer])?;
    /// let mut classifier = Classifier::builder(&network).features(true).build(&Device::cpu())?;
    /// assert_eq!(classifier.outputs(&[1.5, 4.0])?, [-0.5]);
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] unless `features` are those of whole samples, at least one, and all finite, with [`Precision::F16`] at most 65,504 in size; [`Error::Option`] for a classifier of images; errors of the device.
    pub fn outputs(&mut self, features: &[f32]) -> Result<Vec<f32>> {
        if !self.features {
            return Err(Error::option("features", false, "true for numbers in place of images"));
        }
        if features.is_empty() || !features.len().is_multiple_of(self.n_inputs() as usize) {
            return Err(Error::shape("features", format!("a multiple of {}", self.n_inputs()), features.len()));
        }
        if let Some(at) = features.iter().position(|value| !value.is_finite()) {
            return Err(Error::shape(format!("feature {at}"), "a finite number", features[at]));
        }
        if let Some(at) = beyond(features, self.precision) {
            return Err(Error::shape(format!("feature {at}"), WITHIN_HALF, features[at]));
        }
        self.engine.outputs(features)
    }

    /// Logits `[n, n_classes]` of `n` images, `[n, n_inputs]` bytes, both in the device's memory. What was queued to write the images has ended; all work is done on return.
    ///
    /// The engine `layers` reads images where they lie if `n_inputs` is a multiple of 16, and else copies them there.
    ///
    /// ```
    /// use warpplay::Device;
    /// use warpplay::mlp::{Classifier, Layer, Network};
    ///
    /// let layer = Layer { n_inputs: 2, n_outputs: 2, weights: vec![1.0, 0.0, 0.0, 1.0], bias: vec![0.0, 0.5] };
    /// let device = Device::simt();
    /// let stream = device.stream()?;
    /// let images = stream.upload(&[255u8, 0, 0, 255])?;
    /// stream.synchronize()?; // the classifier has a stream of its own
    /// let mut classifier = Classifier::builder(&Network::new(vec![layer])?).build(&device)?;
    /// let logits = classifier.logits_on_device(&images)?;
    /// assert_eq!(stream.read(&logits)?, [1.0, 0.5, 0.0, 1.5]);
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Device`] for a buffer of another device, hence for every buffer if the classifier is on the CPU; as [`predict`](Self::predict).
    pub fn logits_on_device(&mut self, images: &Buffer<u8>) -> Result<Buffer<f32>> {
        self.device.expect_same("images", images.device())?;
        self.expect_images(images.len())?;
        self.engine.logits_on_device(images)
    }

    /// Checks that `n_bytes` bytes are whole images, at least one.
    fn expect_images(&self, n_bytes: usize) -> Result<()> {
        if self.features {
            return Err(Error::option("features", true, "false for images of bytes"));
        }
        if n_bytes > 0 && n_bytes.is_multiple_of(self.n_inputs() as usize) {
            return Ok(());
        }
        Err(Error::shape("images", format!("a multiple of {} bytes", self.n_inputs()), n_bytes))
    }

    /// Classifies a labelled set, or measures the loss of a set with targets.
    ///
    /// # Errors
    /// [`Error::Option`] if the option `loss` does not go with the set; [`Error::Shape`] if its images have another size than the network's inputs, its features were standardised with other means and deviations than the network's, or a label is beyond its classes; errors of the device.
    pub fn evaluate(&mut self, set: &Arc<Dataset>) -> Result<Evaluation> {
        // A set that says nothing may have been standardised before.
        if let (Inputs::Features(Some(own)), Inputs::Features(Some(of_set))) = (&self.inputs, set.inputs())
            && *own != of_set
        {
            let what = format!("scaling of {}", set.source());
            return Err(Error::shape(what, "the network's means and deviations", "others"));
        }
        set.expect_for(&self.sizes, self.loss, self.features)?;
        set.expect_precision(self.precision)?;
        let id = self.engine.load(set)?;
        let start = Instant::now();
        let found = self.engine.classify(id)?;
        let seconds = start.elapsed().as_secs_f64();
        let n_classes = self.n_classes();
        Ok(Evaluation {
            engine: Some(self.engine.classified_by()),
            precision: Some(self.precision),
            ..found.evaluation(set, n_classes, &self.device, seconds)
        })
    }
}

impl std::fmt::Debug for Classifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Classifier").field("device", &self.device).field("sizes", &self.sizes).finish()
    }
}
