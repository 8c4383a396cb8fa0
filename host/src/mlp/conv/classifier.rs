//! A network of convolutions in use: classes of images, and how good it is on a labelled set.

use std::sync::Arc;
use std::time::Instant;

use super::engine::Classify;
use super::options::check_images;
use super::{ConvNetwork, ConvOptions, cpu, device};
use crate::mlp::{Dataset, Evaluation, Prediction};
use crate::runtime::setters::setters;
use crate::{Backend, Device, Error, Result};

/// A network of convolutions on a device, ready to classify.
///
/// ```
/// use warpplay::Device;
/// use warpplay::mlp::Layer;
/// use warpplay::mlp::conv::{ConvClassifier, ConvNetwork};
///
/// // Images of 2 x 2 pixels; the first of 8 filters gives the pixel itself, and the dense layer compares the largest with 1 / 2.
/// let mut convolution = Layer { n_inputs: 9, n_outputs: 8, weights: vec![0.0; 72], bias: vec![0.0; 8] };
/// convolution.weights[4 * 8] = 1.0;
/// let mut dense = Layer { n_inputs: 8, n_outputs: 2, weights: vec![0.0; 16], bias: vec![0.5, 0.0] };
/// dense.weights[1] = 1.0;
/// let network = ConvNetwork::new(vec![vec![8]], [2, 2], vec![convolution, dense])?;
/// let mut classifier = ConvClassifier::builder(&network).build(&Device::cpu())?;
/// let found = classifier.predict(&[0, 9, 100, 3, 0, 0, 255, 0])?;
/// assert_eq!([found[0].class, found[1].class], [0, 1]);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct ConvClassifier {
    engine: Box<dyn Classify>,
    device: Device,
    network: ConvNetwork,
}

/// Options of a [`ConvClassifier`]; made by [`ConvClassifier::builder`].
#[derive(Clone, Debug)]
pub struct ConvClassifierBuilder {
    network: ConvNetwork,
    options: ConvOptions,
}

impl ConvClassifierBuilder {
    /// Sets all options at once. Only `batch`, the images that a device classifies at once, and `threads` are used; on a device another batch may change the last bits of logits; `blocks` is taken from the network; options of training have no effect but must be valid.
    #[must_use]
    pub fn options(self, options: ConvOptions) -> Self {
        Self { options, ..self }
    }

    setters! {
        /// Images that a device classifies at once. Default 128.
        batch: u32,
        /// Threads of the CPU. Default all cores.
        threads: impl Into<Option<usize>> = threads.into(),
    }

    /// Copies the network to a device. There it takes as much memory as a training with such a batch.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is not allowed; [`Error::Shape`] for a batch with too many pixels; [`Error::Unsupported`] for a GPU of another compute capability than 9.0; errors of the device.
    pub fn build(self, device: &Device) -> Result<ConvClassifier> {
        let Self { network, options } = self;
        let options = ConvOptions { blocks: network.blocks().to_vec(), ..options };
        options.check()?;
        check_images(network.blocks(), network.image_size(), network.n_classes(), options.batch)?;
        let engine = match device.backend() {
            Backend::Cpu => cpu::open_classifier(&options, &network)?,
            _ => device::open_classifier(device, &options, &network)?,
        };
        Ok(ConvClassifier { engine, device: device.clone(), network })
    }
}

impl ConvClassifier {
    /// A builder with the default options.
    pub fn builder(network: &ConvNetwork) -> ConvClassifierBuilder {
        ConvClassifierBuilder { network: network.clone(), options: ConvOptions::default() }
    }

    /// Rows and columns of an image.
    pub fn image_size(&self) -> [u32; 2] {
        self.network.image_size()
    }

    /// Bytes of an image.
    pub fn n_inputs(&self) -> u32 {
        let [rows, cols] = self.image_size();
        rows * cols
    }

    /// Number of classes.
    pub fn n_classes(&self) -> u32 {
        self.network.n_classes()
    }

    /// The device that classifies.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Predicts the classes of `n` images, `[n, rows, cols]` bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `images` is a whole number of images, at least one; errors of the device.
    pub fn predict(&mut self, images: &[u8]) -> Result<Vec<Prediction>> {
        Ok(self.logits(images)?.chunks_exact(self.n_classes() as usize).map(Prediction::of_logits).collect())
    }

    /// Logits `[n, n_classes]` of `n` images, `[n, rows, cols]` bytes.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        if images.is_empty() || !images.len().is_multiple_of(self.n_inputs() as usize) {
            return Err(Error::shape("images", format!("a multiple of {} bytes", self.n_inputs()), images.len()));
        }
        self.engine.logits(images)
    }

    /// Classifies a labelled set.
    ///
    /// # Errors
    /// [`Error::Shape`] for images or classes that the network does not have; errors of the device.
    pub fn evaluate(&mut self, set: &Arc<Dataset>) -> Result<Evaluation> {
        self.network.expect_fits(set)?;
        let begun = Instant::now();
        let found = self.engine.classify(set)?;
        Ok(found.evaluation(set, self.n_classes(), &self.device, begun.elapsed().as_secs_f64()))
    }
}

impl std::fmt::Debug for ConvClassifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConvClassifier")
            .field("device", &self.device)
            .field("blocks", &self.network.blocks())
            .field("image_size", &self.network.image_size())
            .finish()
    }
}
