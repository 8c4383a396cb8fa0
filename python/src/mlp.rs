//! `warpplay.mlp`: perceptrons.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::mlp::{
    Classifier as LibraryClassifier, Dataset, Layer, Network as LibraryNetwork, Options, Prediction,
    Trainer as LibraryTrainer, WeightLayout,
};

use crate::convert::{copied, device, error, expect_shape, options, to_python};
use crate::work::{self, Shared};

/// The layers of a perceptron: weights `[in, out]` and a bias `[out]` each, float32 and finite; ReLU between them.
#[pyclass(module = "warpplay.mlp")]
pub struct Network {
    network: LibraryNetwork,
}

#[pymethods]
impl Network {
    /// Takes weights `[in, out]` and biases, a pair a layer.
    #[new]
    fn new(layers: Vec<(PyReadonlyArray2<'_, f32>, PyReadonlyArray1<'_, f32>)>) -> PyResult<Self> {
        let layers = layers.iter().map(|(weights, bias)| {
            let [n_inputs, n_outputs] = [weights.as_array().nrows() as u32, weights.as_array().ncols() as u32];
            // In the order of rows, however the array lies in memory.
            let (weights, bias) = (copied(weights.as_array())?, copied(bias.as_array())?);
            Ok(Layer { n_inputs, n_outputs, weights, bias })
        });
        Ok(Self { network: LibraryNetwork::new(layers.collect::<PyResult<_>>()?).map_err(error)? })
    }

    /// Reads a safetensors file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self { network: LibraryNetwork::load(path).map_err(error)? })
    }

    /// Writes a safetensors file: `W1`, `b1`, …; with `pytorch` PyTorch's names and layout.
    #[pyo3(signature = (path, *, pytorch=false))]
    fn save(&self, path: PathBuf, pytorch: bool) -> PyResult<()> {
        let layout = if pytorch { WeightLayout::PyTorch } else { WeightLayout::default() };
        self.network.save(path, layout).map_err(error)
    }

    /// Weights `[in, out]` and bias `[out]` of each layer.
    #[getter]
    #[allow(clippy::type_complexity, reason = "a list of pairs of arrays")]
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>)>> {
        let arrays = |layer: &Layer| {
            let shape = [layer.n_inputs as usize, layer.n_outputs as usize];
            let weights = PyArray1::from_slice(py, &layer.weights).reshape(shape)?;
            Ok((weights, PyArray1::from_slice(py, &layer.bias)))
        };
        self.network.layers().iter().map(arrays).collect()
    }
}

/// Images `[n, rows, cols]` of bytes with a label each.
fn dataset(images: &PyReadonlyArray3<'_, u8>, labels: &PyReadonlyArray1<'_, u8>) -> PyResult<Arc<Dataset>> {
    let (images, labels) = (images.as_array(), copied(labels.as_array())?);
    let [n, rows, cols] = [images.shape()[0], images.shape()[1], images.shape()[2]];
    if n != labels.len() {
        return Err(PyValueError::new_err(format!(
            "{n} images and {} labels: a label for each is expected",
            labels.len()
        )));
    }
    let n_classes = labels.iter().max().map_or(1, |&most| u32::from(most) + 1);
    let images = copied(images)?;
    Ok(Arc::new(Dataset::new(images, labels, rows as u32, cols as u32, n_classes, "Python").map_err(error)?))
}

/// A training on a device.
///
/// * `images`: `[n, rows, columns]` uint8; `labels`: `[n]` uint8, classes from 0 on.
/// * `test_images` `[m, rows, columns]` and `test_labels` `[m]`, together or not at all: classified after every epoch.
/// * options: those of the library's `mlp::Options`, such as `hidden`, `epochs`, `batch`, `learning_rate`, `optimizer`, `seed`.
#[pyclass(module = "warpplay.mlp")]
pub struct Trainer {
    trainer: Shared<LibraryTrainer>,
}

#[pymethods]
impl Trainer {
    #[new]
    #[pyo3(signature = (images, labels, *, test_images=None, test_labels=None, device="auto", **given))]
    fn new(
        py: Python<'_>,
        images: PyReadonlyArray3<'_, u8>,
        labels: PyReadonlyArray1<'_, u8>,
        test_images: Option<PyReadonlyArray3<'_, u8>>,
        test_labels: Option<PyReadonlyArray1<'_, u8>>,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (options, device) = (options(&Options::default(), given)?, self::device(device)?);
        let mut builder = LibraryTrainer::builder(&dataset(&images, &labels)?).options(options);
        match (test_images, test_labels) {
            (Some(test), Some(labels)) => {
                expect_shape("a test image", &test.as_array().shape()[1..], &images.as_array().shape()[1..])?;
                builder = builder.test(&dataset(&test, &labels)?);
            }
            (None, None) => {}
            _ => return Err(PyValueError::new_err("test_images and test_labels are given together, or not at all")),
        }
        Ok(Self { trainer: Shared::new(py.detach(|| builder.build(&device)).map_err(error)?) })
    }

    /// Trains to the last epoch, or until `progress` returns `False`; returns the report, whose `epochs` have `loss`, and `test_loss` and `test_accuracy` where there is a test
    /// set.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let report =
            work::run(py, &self.trainer, progress, |trainer, watch| trainer.run(|progress| watch.go_on(progress)))?;
        to_python(py, &report)
    }

    /// The network as it is now.
    fn network(&self, py: Python<'_>) -> PyResult<Network> {
        let mut guard = self.trainer.lend()?;
        let trainer = &mut *guard;
        Ok(Network { network: py.detach(|| trainer.network()).map_err(error)? })
    }
}

/// A network on a device, ready to classify images of bytes `[n, rows, columns]` of as many pixels as it has inputs.
#[pyclass(module = "warpplay.mlp")]
pub struct Classifier {
    classifier: Shared<LibraryClassifier>,
}

#[pymethods]
impl Classifier {
    #[new]
    #[pyo3(signature = (network, *, device="auto", **given))]
    fn new(py: Python<'_>, network: &Network, device: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (options, device) = (options(&Options::default(), given)?, self::device(device)?);
        let builder = LibraryClassifier::builder(&network.network).options(options);
        Ok(Self { classifier: Shared::new(py.detach(|| builder.build(&device)).map_err(error)?) })
    }

    /// Probabilities `[n, classes]` float32 of images `[n, rows, columns]` uint8; rows sum to 1.
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        images: PyReadonlyArray3<'py, u8>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let n = images.as_array().shape()[0];
        let found = self.predictions(py, &images)?;
        let n_classes = found.first().map_or(0, |one| one.probabilities.len());
        let all: Vec<f32> = found.into_iter().flat_map(|one| one.probabilities).collect();
        PyArray1::from_vec(py, all).reshape([n, n_classes])
    }

    /// The likeliest class of each image `[n, rows, columns]` uint8: `[n]` uint32; the lowest of equals.
    fn predict<'py>(&self, py: Python<'py>, images: PyReadonlyArray3<'py, u8>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let found = self.predictions(py, &images)?;
        Ok(PyArray1::from_iter(py, found.iter().map(|one| one.class)))
    }
}

impl Classifier {
    /// What the images are, of as many pixels as the network has inputs; signals are looked at between pieces.
    fn predictions(&self, py: Python<'_>, images: &PyReadonlyArray3<'_, u8>) -> PyResult<Vec<Prediction>> {
        const PIECE: usize = 1024;
        let mut guard = self.classifier.lend()?;
        let classifier = &mut *guard;
        let images = images.as_array();
        let [rows, cols] = [images.shape()[1], images.shape()[2]];
        let n_inputs = classifier.n_inputs() as usize;
        if rows * cols != n_inputs {
            let text = format!("images are of {rows} x {cols} pixels, the network has {n_inputs} inputs");
            return Err(PyValueError::new_err(text));
        }
        let images = copied(images)?;
        let mut found = Vec::new();
        for piece in images.chunks(PIECE * n_inputs) {
            found.extend(py.detach(|| classifier.predict(piece)).map_err(error)?);
            py.check_signals()?;
        }
        Ok(found)
    }
}
