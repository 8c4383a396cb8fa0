//! Networks of convolutions.

use std::path::PathBuf;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::mlp::conv::{
    ConvClassifier as LibraryClassifier, ConvNetwork as LibraryNetwork, ConvOptions, ConvTrainer as LibraryTrainer,
};
use warpplay::mlp::{Layer, Loss, Prediction};

use super::{LogitValues, Logits, dataset};
use crate::convert::{device, error, expect_shape, to_python};
use crate::dlpack::{Copied, Kind, copy_of};
use crate::options::options;
use crate::work::{self, Shared};

/// Weights and bias of a layer.
type Arrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// A network of convolutions for images of one channel: blocks of 3 × 3 convolutions, each followed by ReLU, the largest of 2 × 2 pixels behind each block, and a dense layer of the classes at the end.
///
/// * `layers`: a pair of weights and bias `[out]` for each convolution, weights `[3, 3, in, out]`, then for the dense layer, weights `[in, classes]`; float32 and finite. The dense layer reads rows, columns, channels of the last block, channels last. They are arrays of numpy, or other objects
///   with `__dlpack__` in the host's memory, and are copied in any memory layout: `conv.weight.detach().permute(2, 3, 1, 0)` of PyTorch's `Conv2d(…, 3, padding=1)` can be passed as weights.
/// * `blocks`: channels of each convolution of each block, multiples of 8, such as `[[32, 32], [64, 64]]`.
/// * `image_size`: rows and columns of an image, multiples of 2 to the power of the number of blocks.
#[pyclass(module = "warpplay.mlp")]
pub struct ConvNetwork {
    network: LibraryNetwork,
}

#[pymethods]
impl ConvNetwork {
    #[new]
    #[pyo3(signature = (layers, *, blocks, image_size))]
    fn new(layers: Vec<Arrays<'_>>, blocks: Vec<Vec<u32>>, image_size: (u32, u32)) -> PyResult<Self> {
        let last = layers.len().saturating_sub(1);
        let layer = |(at, (weights, bias)): (usize, &Arrays<'_>)| {
            let what = format!("weights of layer {}", at + 1);
            let (values, inputs, outputs) = if at == last {
                let Copied { values, shape: [inputs, outputs] } = copy_of::<f32, 2>(&what, weights, None)?;
                (values, inputs, outputs)
            } else {
                let Copied { values, shape: [rows, cols, inputs, outputs] } = copy_of::<f32, 4>(&what, weights, None)?;
                expect_shape(&what, &[rows, cols, inputs, outputs], &[3, 3, inputs, outputs])?;
                (values, 9 * inputs, outputs)
            };
            let bias: Copied<f32, 1> = copy_of(&format!("bias of layer {}", at + 1), bias, None)?;
            Ok(Layer { n_inputs: inputs as u32, n_outputs: outputs as u32, weights: values, bias: bias.values })
        };
        let layers = layers.iter().enumerate().map(layer).collect::<PyResult<_>>()?;
        Ok(Self { network: LibraryNetwork::new(blocks, image_size.into(), layers).map_err(error)? })
    }

    /// Reads a safetensors file that `save` wrote, or the command line.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self { network: LibraryNetwork::load(path).map_err(error)? })
    }

    /// Writes a safetensors file: `W1`, `b1`, …, with blocks and size of images as metadata.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.network.save(path).map_err(error)
    }

    /// For `pickle` and `copy`: layers, blocks and the size of images make the network again.
    #[allow(clippy::type_complexity, reason = "a list of pairs of arrays")]
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((Vec<Arrays<'py>>,), Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("blocks", self.blocks())?;
        named.set_item("image_size", self.image_size())?;
        Ok(((self.layers(py)?,), named))
    }

    /// Channels of each convolution of each block.
    #[getter]
    fn blocks(&self) -> Vec<Vec<u32>> {
        self.network.blocks().to_vec()
    }

    /// Rows and columns of an image.
    #[getter]
    fn image_size(&self) -> (u32, u32) {
        self.network.image_size().into()
    }

    /// Weights and bias `[out]` of each layer: `[3, 3, in, out]` of a convolution, `[in, classes]` of the dense layer, which is the last.
    #[getter]
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Arrays<'py>>> {
        let layers = self.network.layers();
        let arrays = |(at, layer): (usize, &Layer)| {
            let (inputs, outputs) = (layer.n_inputs as usize, layer.n_outputs as usize);
            let weights = PyArray1::from_slice(py, &layer.weights);
            let weights = match at + 1 == layers.len() {
                true => weights.reshape([inputs, outputs])?.into_any(),
                false => weights.reshape([3, 3, inputs / 9, outputs])?.into_any(),
            };
            Ok((weights, PyArray1::from_slice(py, &layer.bias).into_any()))
        };
        layers.iter().enumerate().map(arrays).collect()
    }
}

/// A training of a network of convolutions on a device: a GPU of compute capability 9.0, or the CPU.
///
/// * `images`: `[n, rows, columns]` uint8; `labels`: `[n]` of any integer type, classes of 0 to 255.
/// * `test_images` `[m, rows, columns]` and `test_labels` `[m]`, together or not at all: classified after every epoch.
/// * Each is an array of numpy, or another object with `__dlpack__` in the host's memory or, contiguous, in that of the device. A training has a copy of its own.
/// * `network=None`: first weights, a `ConvNetwork` of the option `blocks`; drawn ones without.
///
/// Options, with their defaults:
///
/// * `blocks=[[32, 32], [64, 64]]`: channels of each convolution of each block, multiples of 8.
/// * `batch=128`: samples of an update, the whole set if it has fewer. `epochs=4`.
/// * `learning_rate=0.05`: the highest rate, at the end of the warm-up; it falls to 0 as a cosine. `warmup=0.15`: the share of all updates in which it rises.
/// * `momentum=0.9`. `weight_decay=0.0005`: L2 term of weights, not of biases.
/// * `seed=1`: of weights and order. `threads=None`: threads of the CPU, `None` for all cores.
#[pyclass(module = "warpplay.mlp")]
pub struct ConvTrainer {
    trainer: Shared<LibraryTrainer>,
    options: ConvOptions,
}

#[pymethods]
impl ConvTrainer {
    #[new]
    #[pyo3(signature = (images, labels, *, test_images=None, test_labels=None, network=None, device="auto", **given))]
    #[allow(clippy::too_many_arguments, reason = "named arguments of Python")]
    fn new(
        py: Python<'_>,
        images: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        test_images: Option<&Bound<'_, PyAny>>,
        test_labels: Option<&Bound<'_, PyAny>>,
        network: Option<PyRef<'_, ConvNetwork>>,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (options, device) = (options(&ConvOptions::default(), given)?, self::device(device)?);
        let (set, image) = dataset("", images, labels, &device, Loss::CrossEntropy)?;
        let mut builder = LibraryTrainer::builder(&set).options(options.clone());
        match (test_images, test_labels) {
            (Some(test), Some(labels)) => {
                let (set, found) = dataset("test_", test, labels, &device, Loss::CrossEntropy)?;
                expect_shape("a test image", &found, &image)?;
                builder = builder.test(&set);
            }
            (None, None) => {}
            _ => return Err(PyValueError::new_err("test_images and test_labels are given together, or not at all")),
        }
        if let Some(network) = network {
            builder = builder.network(network.network.clone());
        }
        Ok(Self { trainer: Shared::new(py.detach(|| builder.build(&device)).map_err(error)?), options })
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
    }

    /// Trains to the last epoch, or until `progress` returns `False`; returns the report, whose `epochs` have `loss`, and `test_loss` and `test_accuracy` if there is a test set. Another call goes on where a training was stopped.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let report =
            work::run(py, &self.trainer, progress, |trainer, watch| trainer.run(|progress| watch.go_on(progress)))?;
        to_python(py, &report)
    }

    /// The present network.
    fn network(&self, py: Python<'_>) -> PyResult<ConvNetwork> {
        let mut guard = self.trainer.lend()?;
        let trainer = &mut *guard;
        Ok(ConvNetwork { network: py.detach(|| trainer.network()).map_err(error)? })
    }
}

/// A network of convolutions on a device, ready to classify images of bytes `[n, rows, columns]` of its size.
///
/// Images are an array of numpy, and results are such too; or another object with `__dlpack__` in the host's memory or, contiguous, in that of the device, which is copied, and results are a `warpplay.Array` in the host's memory.
///
/// Options are those of `ConvTrainer`, so that those of a training can be given; `batch`, the images that a device classifies at once, and `threads` matter here.
#[pyclass(module = "warpplay.mlp")]
pub struct ConvClassifier {
    classifier: Shared<LibraryClassifier>,
    options: ConvOptions,
}

#[pymethods]
impl ConvClassifier {
    #[new]
    #[pyo3(signature = (network, *, device="auto", **given))]
    fn new(py: Python<'_>, network: &ConvNetwork, device: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (options, device) = (options(&ConvOptions::default(), given)?, self::device(device)?);
        let builder = LibraryClassifier::builder(&network.network).options(options.clone());
        Ok(Self { classifier: Shared::new(py.detach(|| builder.build(&device)).map_err(error)?), options })
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
    }

    /// The outputs of the last layer, `[n, classes]` float32, for images `[n, rows, columns]` uint8; softmax converts them to probabilities.
    fn logits<'py>(&self, py: Python<'py>, images: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Logits { values, n, n_classes } = self.logits_of(py, images)?;
        values.give(py, &[n, n_classes], |logits| logits)
    }

    /// Probabilities `[n, classes]` float32 of images `[n, rows, columns]` uint8; rows sum to 1.
    fn predict_proba<'py>(&self, py: Python<'py>, images: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Logits { values, n, n_classes } = self.logits_of(py, images)?;
        values.give(py, &[n, n_classes], |logits| {
            logits.chunks_exact(n_classes).flat_map(|one| Prediction::of_logits(one).probabilities).collect()
        })
    }

    /// The most probable class of each image `[n, rows, columns]` uint8, the lowest among equals: `[n]` uint32 for numpy, int32 for others.
    fn predict<'py>(&self, py: Python<'py>, images: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.logits_of(py, images)?.classes(py)
    }
}

impl ConvClassifier {
    /// Logits of images of the network's size; signals are checked between pieces.
    fn logits_of(&self, py: Python<'_>, images: &Bound<'_, PyAny>) -> PyResult<Logits> {
        const PIECE: usize = 1024;
        let mut guard = self.classifier.lend()?;
        let classifier = &mut *guard;
        let n_classes = classifier.n_classes() as usize;
        let is_numpy = Kind::of("images", images)? == Kind::Numpy;
        let device = classifier.device().clone();
        let Copied { values, shape: [n, rows, cols] } = copy_of::<u8, 3>("images", images, Some(&device))?;
        let [expected_rows, expected_cols] = classifier.image_size();
        if [rows, cols] != [expected_rows, expected_cols].map(|side| side as usize) {
            let text = format!(
                "images are of {rows} x {cols} pixels, those of the network are of {expected_rows} x {expected_cols}"
            );
            return Err(PyValueError::new_err(text));
        }
        let mut found = Vec::new();
        for piece in values.chunks(PIECE * rows * cols) {
            found.extend(py.detach(|| classifier.logits(piece)).map_err(error)?);
            py.check_signals()?;
        }
        Ok(Logits { values: if is_numpy { LogitValues::Numpy(found) } else { LogitValues::Host(found) }, n, n_classes })
    }
}
