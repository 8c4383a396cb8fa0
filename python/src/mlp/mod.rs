//! `warpplay.mlp`: perceptrons, and networks of convolutions.

pub mod conv;

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpplay::mlp::{
    Activation, BatchNorm, Classifier as LibraryClassifier, Dataset, Inputs, Layer, LayerNorm, Loss,
    Network as LibraryNetwork, OnnxFormat, Options, Prediction, Scaling, Trainer as LibraryTrainer, WeightLayout,
};
use warpplay::{Backend, Buffer, Device, Stream};

use crate::convert::{device, error, expect_shape, to_python};
use crate::dlpack::{Array, Copied, Kind, Shareable, Tensor, copy_of, expect_dimensions, labels_of};
use crate::options::options;
use crate::work::{self, Shared};

/// The layers of a perceptron: weights `[in, out]` and a bias `[out]` each, float32 and finite; ReLU between them, or another activation.
///
/// * `layers`: a pair of weights and bias for each layer: arrays of numpy, or other objects with `__dlpack__` in the host's memory, such as tensors of PyTorch. They are
///   copied in any memory layout, so `linear.weight.detach().T` can be passed as weights.
/// * `activation="relu"`: `relu`, `tanh`, `sigmoid` or `gelu`, as PyTorch's modules of these names.
/// * `layer_norms=[]`: a pair of gain and shift, `[out]` each, for each layer but the last, if there is a layer norm before each activation: `weight` and `bias` of PyTorch's `LayerNorm`.
/// * `batch_norms=[]`: gain, shift, running mean and running variance, `[out]` each, for each layer but the last, if there is a batch norm there instead: `weight`, `bias`, `running_mean` and `running_var` of PyTorch's `BatchNorm1d`.
/// * `loss="cross_entropy"`: the loss that it was trained with: `cross_entropy`, `mse` or `huber`; kept in files.
/// * `features=False`: whether its inputs are numbers, not pixels; kept in files.
/// * `scaling=None`: mean and deviation, `[in]` each, with which its inputs were standardised, if they were, which are features then; kept in files. Classifiers take features that are standardised already.
#[pyclass(module = "warpplay.mlp")]
pub struct Network {
    network: LibraryNetwork,
}

#[pymethods]
impl Network {
    /// Takes a pair of weights `[in, out]` and bias for each layer.
    #[new]
    #[pyo3(
        signature = (layers, *, activation="relu", layer_norms=Vec::new(), batch_norms=Vec::new(), loss="cross_entropy", features=false, scaling=None),
        text_signature = "(layers, *, activation='relu', layer_norms=[], batch_norms=[], loss='cross_entropy', features=False, scaling=None)"
    )]
    #[allow(clippy::type_complexity, reason = "lists of tuples of arrays")]
    fn new(
        layers: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        activation: &str,
        layer_norms: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        batch_norms: Vec<[Bound<'_, PyAny>; 4]>,
        loss: &str,
        features: bool,
        scaling: Option<(Vec<f64>, Vec<f64>)>,
    ) -> PyResult<Self> {
        let activation: Activation = activation.parse().map_err(error)?;
        let loss: Loss = loss.parse().map_err(error)?;
        let layers = layers.iter().enumerate().map(|(at, (weights, bias))| {
            // In the order of rows, however the array lies in memory.
            let weights: Copied<f32, 2> = copy_of(&format!("weights of layer {}", at + 1), weights, None)?;
            let bias: Copied<f32, 1> = copy_of(&format!("bias of layer {}", at + 1), bias, None)?;
            let [n_inputs, n_outputs] = weights.shape.map(|size| size as u32);
            Ok(Layer { n_inputs, n_outputs, weights: weights.values, bias: bias.values })
        });
        let network = LibraryNetwork::new(layers.collect::<PyResult<_>>()?).map_err(error)?;
        let network = network.with_activation(activation).with_loss(loss);
        let scaling = scaling.map(|(mean, deviation)| Scaling { mean, deviation });
        let inputs = if features || scaling.is_some() { Inputs::Features(scaling) } else { Inputs::Pixels };
        let network = network.with_inputs(inputs).map_err(error)?;
        let norms = layer_norms.iter().enumerate().map(|(at, (gain, shift))| {
            let gain: Copied<f32, 1> = copy_of(&format!("gain of layer {}", at + 1), gain, None)?;
            let shift: Copied<f32, 1> = copy_of(&format!("shift of layer {}", at + 1), shift, None)?;
            Ok(LayerNorm { gain: gain.values, shift: shift.values })
        });
        let network = network.with_layer_norms(norms.collect::<PyResult<_>>()?).map_err(error)?;
        if batch_norms.is_empty() {
            return Ok(Self { network });
        }
        if !layer_norms.is_empty() {
            return Err(error(warpplay::Error::Option {
                name: "batch_norms",
                value: batch_norms.len().to_string(),
                allowed: "none with layer_norms".into(),
            }));
        }
        let norms = batch_norms.iter().enumerate().map(|(at, of)| {
            let take = |what: &str, values: &Bound<'_, PyAny>| -> PyResult<Vec<f32>> {
                let values: Copied<f32, 1> = copy_of(&format!("{what} of layer {}", at + 1), values, None)?;
                Ok(values.values)
            };
            let [gain, shift, mean, variance] = of;
            Ok(BatchNorm {
                gain: take("gain", gain)?,
                shift: take("shift", shift)?,
                mean: take("mean", mean)?,
                variance: take("variance", variance)?,
            })
        });
        Ok(Self { network: network.with_batch_norms(norms.collect::<PyResult<_>>()?).map_err(error)? })
    }

    /// Reads a safetensors file; `activation` takes the place of the one that its metadata names, `relu` if they name none.
    #[staticmethod]
    #[pyo3(signature = (path, *, activation=None))]
    fn load(path: PathBuf, activation: Option<&str>) -> PyResult<Self> {
        let activation: Option<Activation> = activation.map(|name| name.parse().map_err(error)).transpose()?;
        let network = LibraryNetwork::load(path).map_err(error)?;
        Ok(Self {
            network: match activation {
                Some(activation) => network.with_activation(activation),
                None => network,
            },
        })
    }

    /// Writes a safetensors file: `W1`, `b1`, …, or PyTorch's names and layout with `pytorch`.
    #[pyo3(signature = (path, *, pytorch=false))]
    fn save(&self, path: PathBuf, pytorch: bool) -> PyResult<()> {
        let layout = if pytorch { WeightLayout::PyTorch } else { WeightLayout::default() };
        self.network.save(path, layout).map_err(error)
    }

    /// Writes an ONNX file, whose graph takes `images` uint8 `[n, pixels]`, or `[n, rows, columns]` if `image_size` gives these, divides them by 255, and returns `logits`
    /// `[n, classes]` float32, and `probabilities` with `softmax`. With `features`, or for a network that says so, the graph takes `features` float32 `[n, features]`; of a network with a `scaling` float64, which it standardises.
    #[pyo3(signature = (path, *, image_size=None, softmax=false, features=false))]
    fn save_onnx(&self, path: PathBuf, image_size: Option<(u32, u32)>, softmax: bool, features: bool) -> PyResult<()> {
        self.network.save_onnx(path, &OnnxFormat { image_size, softmax, features }).map_err(error)
    }

    /// For `pickle` and `copy`: layers and what is named make the network again.
    #[allow(clippy::type_complexity, reason = "a list of pairs of arrays")]
    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((Vec<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>)>,), Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("activation", self.activation())?;
        named.set_item("layer_norms", self.layer_norms(py))?;
        named.set_item("batch_norms", self.batch_norms(py))?;
        named.set_item("loss", self.loss())?;
        named.set_item("features", self.features())?;
        named.set_item("scaling", self.scaling(py))?;
        Ok(((self.layers(py)?,), named))
    }

    /// The activation between the layers.
    #[getter]
    fn activation(&self) -> &'static str {
        self.network.activation().name()
    }

    /// The loss that it was trained with.
    #[getter]
    fn loss(&self) -> &'static str {
        self.network.loss().name()
    }

    /// Whether its inputs are numbers, not pixels.
    #[getter]
    fn features(&self) -> bool {
        *self.network.inputs() != Inputs::Pixels
    }

    /// The same network, whose inputs are features that were standardised with `mean` and `deviation`, `[in]` each: of arrays that were standardised before a training, the training knows neither.
    fn with_scaling(&self, mean: Vec<f64>, deviation: Vec<f64>) -> PyResult<Self> {
        let inputs = Inputs::Features(Some(Scaling { mean, deviation }));
        Ok(Self { network: self.network.clone().with_inputs(inputs).map_err(error)? })
    }

    /// Mean and deviation, `[in]` each, with which its inputs were standardised; `None` if they were not: features are `(x - mean) / deviation`.
    #[getter]
    #[allow(clippy::type_complexity, reason = "a pair of arrays")]
    fn scaling<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let arrays = |of: &Scaling| (PyArray1::from_slice(py, &of.mean), PyArray1::from_slice(py, &of.deviation));
        self.network.scaling().map(arrays)
    }

    /// Gain and shift, `[out]` each, of the layer norm behind each layer but the last; empty without.
    #[getter]
    #[allow(clippy::type_complexity, reason = "a list of pairs of arrays")]
    fn layer_norms<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>)> {
        let arrays = |norm: &LayerNorm| (PyArray1::from_slice(py, &norm.gain), PyArray1::from_slice(py, &norm.shift));
        self.network.layer_norms().iter().map(arrays).collect()
    }

    /// Gain, shift, running mean and running variance, `[out]` each, of the batch norm behind each layer but the last; empty without.
    #[getter]
    #[allow(clippy::type_complexity, reason = "a list of tuples of arrays")]
    fn batch_norms<'py>(
        &self,
        py: Python<'py>,
    ) -> Vec<(Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>)>
    {
        let array = |values: &[f32]| PyArray1::from_slice(py, values);
        let arrays =
            |norm: &BatchNorm| (array(&norm.gain), array(&norm.shift), array(&norm.mean), array(&norm.variance));
        self.network.batch_norms().iter().map(arrays).collect()
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

/// Targets `[n]` or `[n, targets]` of samples, and their sizes.
fn targets_of(what: &str, value: &Bound<'_, PyAny>, device: &Device) -> PyResult<(Vec<f32>, [usize; 2])> {
    // What has no such property is refused by the copy.
    if value.getattr("shape").and_then(|shape| shape.len()).is_ok_and(|n_dimensions| n_dimensions == 1) {
        let Copied { values, shape: [n] } = copy_of::<f32, 1>(what, value, Some(device))?;
        return Ok((values, [n, 1]));
    }
    let Copied { values, shape } = copy_of::<f32, 2>(what, value, Some(device))?;
    Ok((values, shape))
}

/// Whether an array has numbers of single precision, which are features; images are bytes.
fn is_single(value: &Bound<'_, PyAny>) -> bool {
    // `float32` of numpy and JAX, `torch.float32` of PyTorch.
    let name = value.getattr("dtype").and_then(|dtype| dtype.str()).map(|name| name.to_string()).unwrap_or_default();
    name.rsplit('.').next() == Some("float32")
}

/// Features `[n, features]` with a label each, or what a loss takes in their place, and the size of a sample.
fn features(
    what: &str,
    features: &Bound<'_, PyAny>,
    labels: &Bound<'_, PyAny>,
    device: &Device,
    loss: Loss,
) -> PyResult<(Arc<Dataset>, [usize; 2])> {
    let features: Copied<f32, 2> = copy_of(&format!("{what}images"), features, Some(device))?;
    let [n, width] = features.shape;
    let expect = |found: usize, have: &str| match found == n {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!("{n} samples and {have} {found}: those of each are expected"))),
    };
    let set = if loss.is_regression() {
        let (targets, [found, n_targets]) = targets_of(&format!("{what}labels"), labels, device)?;
        expect(found, "targets of")?;
        Dataset::of_features_with_targets(features.values, targets, width as u32, n_targets as u32, "Python")
    } else {
        let labels = labels_of(&format!("{what}labels"), labels, Some(device))?;
        expect(labels.len(), "labels of")?;
        let n_classes = labels.iter().max().map_or(1, |&most| u32::from(most) + 1);
        Dataset::of_features(features.values, labels, width as u32, n_classes, "Python")
    };
    Ok((Arc::new(set.map_err(error)?), [1, width]))
}

/// Images `[n, rows, cols]` of bytes with a label each, or what a loss takes in their place, and the size of an image; or features in place of images.
fn dataset(
    what: &str,
    images: &Bound<'_, PyAny>,
    labels: &Bound<'_, PyAny>,
    device: &Device,
    loss: Loss,
) -> PyResult<(Arc<Dataset>, [usize; 2])> {
    if is_single(images) {
        return features(what, images, labels, device, loss);
    }
    let images: Copied<u8, 3> = copy_of(&format!("{what}images"), images, Some(device))?;
    if loss.is_regression() {
        let (targets, [n_targets_of, n_targets]) = targets_of(&format!("{what}labels"), labels, device)?;
        let [n, rows, cols] = images.shape;
        if n != n_targets_of {
            let text = format!("{n} images and targets of {n_targets_of}: those of each are expected");
            return Err(PyValueError::new_err(text));
        }
        let set = Dataset::with_targets(images.values, targets, rows as u32, cols as u32, n_targets as u32, "Python");
        return Ok((Arc::new(set.map_err(error)?), [rows, cols]));
    }
    let labels = labels_of(&format!("{what}labels"), labels, Some(device))?;
    let [n, rows, cols] = images.shape;
    if n != labels.len() {
        return Err(PyValueError::new_err(format!(
            "{n} images and {} labels: a label for each is expected",
            labels.len()
        )));
    }
    let n_classes = labels.iter().max().map_or(1, |&most| u32::from(most) + 1);
    let set = Dataset::new(images.values, labels, rows as u32, cols as u32, n_classes, "Python").map_err(error)?;
    Ok((Arc::new(set), [rows, cols]))
}

/// A training on a device.
///
/// * `images`: `[n, rows, columns]` uint8, or numbers that are taken as they are, `[n, features]` float32 (standardised ones learn best); `labels`: `[n]` of any integer type, classes of 0 to 255.
/// * `test_images` `[m, rows, columns]`, or features `[m, features]`, and `test_labels` `[m]`, together or not at all: classified after every epoch.
/// * Each is an array of numpy, or another object with `__dlpack__` in the host's memory or, contiguous, in that of the device: tensors of PyTorch, CuPy, JAX. A training has a copy
///   of its own.
///
/// Options, with their defaults:
///
/// * `hidden=[256]`: units of each hidden layer. `activation="relu"`: `relu`, `tanh`, `sigmoid` or `gelu` (by the error function) for all of them.
/// * `layer_norm=False`: whether each hidden layer has a layer norm before its activation, with gain and shift, as PyTorch's `LayerNorm`.
/// * `batch_norm=False`: whether it has a batch norm there instead, as PyTorch's `BatchNorm1d`; each batch has at least two samples.
/// * `dropout=0.0`: the probability of each output of a hidden layer to be dropped in a step, as PyTorch's `Dropout`; evaluations drop nothing.
/// * `loss="cross_entropy"`: `cross_entropy`, or, for a regression, `mse` or `huber` (with delta 1), PyTorch's `MSELoss` and `HuberLoss`: then labels and test labels are targets, float32 `[n]` or `[n, targets]`, to which the
///   network's outputs (logits) are compared; reports have losses and no accuracies.
/// * `batch=64`: samples of an update. `epochs=10`. `learning_rate=0.01`.
/// * `optimizer="sgd"`: `sgd`, `momentum`, `nesterov`, `adam`, `adamw` or `rmsprop`, or a dictionary with this `name` and fields that are not as usual, such as
///   `{"name": "adam", "beta1": 0.5}`: `momentum` 0.9, `beta1` 0.9, `beta2` 0.999, `alpha` 0.99, `epsilon` 1e-8.
/// * `weight_decay=0.0`: of all weights and biases. `label_smoothing=0.0`: the share of each label that is spread evenly over all classes, as PyTorch's.
/// * `clip_norm=None`: the largest norm of all gradients together, to which longer ones are shortened, as by PyTorch's `clip_grad_norm_`.
/// * `schedule="constant"`: `constant`, `step` or `cosine`, or a dictionary with this `name` and `every` (3 epochs) and `factor` (0.1) of a step, `minimum` (0) of a cosine.
/// * `warmup=0`: updates over which the rate rises. `reduction="mean"`: `mean` or `sum` over a batch.
/// * `init="he_uniform"`: `he_uniform`, `he_normal`, `xavier_uniform` or `xavier_normal`, whatever the activation is. `seed=1`: of weights and order.
/// * `precision="f32"`: `f32`, `f64`, `tf32`, `bf16` or `f16`. `engine="auto"`: `auto`, `epoch`, `layers` or `cpu`. `stream="device"`: where the training set lies, `device` or `host`.
/// * `held_out=0`: number of samples at the end that are kept for validation. `early_stopping=None`: `{"patience": 3}` stops after 3 epochs without a better loss on these;
///   `min_delta` (0) is what counts as better.
/// * `evaluate_batch=256`: samples that are evaluated at once. `threads=None`: threads of the CPU, `None` for all cores.
#[pyclass(module = "warpplay.mlp")]
pub struct Trainer {
    trainer: Shared<LibraryTrainer>,
    options: Options,
}

#[pymethods]
impl Trainer {
    #[new]
    #[pyo3(signature = (images, labels, *, test_images=None, test_labels=None, device="auto", **given))]
    fn new(
        py: Python<'_>,
        images: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        test_images: Option<&Bound<'_, PyAny>>,
        test_labels: Option<&Bound<'_, PyAny>>,
        device: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (options, device) = (options(&Options::default(), given)?, self::device(device)?);
        let (set, image) = dataset("", images, labels, &device, options.loss)?;
        let mut builder = LibraryTrainer::builder(&set).options(options.clone());
        match (test_images, test_labels) {
            (Some(test), Some(labels)) => {
                let (set, found) = dataset("test_", test, labels, &device, options.loss)?;
                expect_shape("a test image", &found, &image)?;
                builder = builder.test(&set);
            }
            (None, None) => {}
            _ => return Err(PyValueError::new_err("test_images and test_labels are given together, or not at all")),
        }
        Ok(Self { trainer: Shared::new(py.detach(|| builder.build(&device)).map_err(error)?), options })
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
    }

    /// Trains to the last epoch, or until `progress` returns `False`; returns the report, whose `epochs` have `loss`, and `test_loss` and `test_accuracy` if there is a test set.
    #[pyo3(signature = (*, progress=None))]
    fn run<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let report =
            work::run(py, &self.trainer, progress, |trainer, watch| trainer.run(|progress| watch.go_on(progress)))?;
        to_python(py, &report)
    }

    /// The present network.
    fn network(&self, py: Python<'_>) -> PyResult<Network> {
        let mut guard = self.trainer.lend()?;
        let trainer = &mut *guard;
        Ok(Network { network: py.detach(|| trainer.network()).map_err(error)? })
    }
}

/// A network on a device, ready to classify images of bytes `[n, rows, columns]` of as many pixels as it has inputs.
///
/// Images are an array of numpy, and results are such too. Or they are another object with `__dlpack__` on the classifier's device, a tensor of PyTorch, CuPy or JAX, and results
/// are a `warpplay.Array` there. Such images are read where they lie, must be contiguous and, but on the device `cpu`, at a multiple of 256 bytes, and must not be written
/// meanwhile.
///
/// With `features=True`, the default of a network that says so, inputs are not images but numbers, `[n, features]` float32, as in a training on these; arrays of other libraries are then copied, and results are in the host's memory.
///
/// Options are those of `Trainer`, so that those of a training can be given; `precision`, `engine`, `threads` and `evaluate_batch` matter here.
#[pyclass(module = "warpplay.mlp")]
pub struct Classifier {
    classifier: Shared<Ready>,
    options: Options,
}

/// The library's classifier, with a stream for images that are already on the device.
struct Ready {
    classifier: LibraryClassifier,
    stream: Option<Stream>,
    /// Whether inputs are features, not images.
    features: bool,
}

#[pymethods]
impl Classifier {
    #[new]
    #[pyo3(signature = (network, *, device="auto", features=None, **given))]
    fn new(
        py: Python<'_>,
        network: &Network,
        device: &str,
        features: Option<bool>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let features = features.unwrap_or(network.features());
        let base = Options { loss: network.network.loss(), ..Options::default() };
        let (options, device) = (options(&base, given)?, self::device(device)?);
        let builder = LibraryClassifier::builder(&network.network).options(options.clone()).features(features);
        let classifier = py.detach(|| builder.build(&device)).map_err(error)?;
        Ok(Self { classifier: Shared::new(Ready { classifier, stream: None, features }), options })
    }

    /// The options, a dictionary.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.options)
    }

    /// The outputs of the last layer, `[n, classes]` float32, for images `[n, rows, columns]` uint8; softmax converts them to probabilities. For images on a GPU they stay there.
    fn logits<'py>(&self, py: Python<'py>, images: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Logits { values, n, n_classes } = self.logits_of(py, images)?;
        match values {
            LogitValues::Device(logits) => Ok(Bound::new(py, Array::of_buffer(logits, &[n, n_classes]))?.into_any()),
            values => values.give(py, &[n, n_classes], |logits| logits),
        }
    }

    /// Probabilities `[n, classes]` float32 of images `[n, rows, columns]` uint8; rows sum to 1. They are computed from the logits on the host: for images on a GPU, logits
    /// and probabilities are copied.
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

/// Logits `[n, n_classes]`.
struct Logits {
    values: LogitValues,
    n: usize,
    n_classes: usize,
}

impl Logits {
    /// The most probable class of each image, in the form of the images and on their device.
    fn classes(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let Self { values, n, n_classes } = self;
        let classes = |logits: &[f32]| -> Vec<u32> {
            logits.chunks_exact(n_classes).map(|one| Prediction::of_logits(one).class).collect()
        };
        match values {
            LogitValues::Numpy(logits) => Ok(PyArray1::from_vec(py, classes(&logits)).into_any()),
            values => values.give(py, &[n], |logits| classes(&logits).into_iter().map(|class| class as i32).collect()),
        }
    }
}

/// Logits, where the images were.
enum LogitValues {
    Numpy(Vec<f32>),
    Host(Vec<f32>),
    Device(Buffer<f32>),
}

impl LogitValues {
    /// The result of `of` for the logits, in the form of the images and on their device.
    fn give<'py, T: Shareable>(
        self,
        py: Python<'py>,
        shape: &[usize],
        of: impl FnOnce(Vec<f32>) -> Vec<T> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = match self {
            Self::Numpy(logits) => {
                return Ok(PyArray1::from_vec(py, of(logits)).reshape(shape.to_vec())?.into_any());
            }
            Self::Host(logits) => Array::of_values(&of(logits), shape),
            Self::Device(logits) => {
                let buffer = py.detach(|| T::upload(logits.device(), &of(f32::read(&logits)?))).map_err(error)?;
                Array::of_buffer(buffer, shape)
            }
        };
        Ok(Bound::new(py, array)?.into_any())
    }
}

impl Classifier {
    /// Logits of images, of as many pixels as the network has inputs.
    fn logits_of(&self, py: Python<'_>, images: &Bound<'_, PyAny>) -> PyResult<Logits> {
        let mut guard = self.classifier.lend()?;
        let Ready { classifier, stream, features } = &mut *guard;
        let n_classes = classifier.n_classes() as usize;
        if *features {
            let is_numpy = Kind::of("features", images)? == Kind::Numpy;
            let device = classifier.device().clone();
            let Copied { values, shape: [n, width] } = copy_of::<f32, 2>("features", images, Some(&device))?;
            if width != classifier.n_inputs() as usize {
                let text = format!("samples have {width} features, the network has {} inputs", classifier.n_inputs());
                return Err(PyValueError::new_err(text));
            }
            let outputs = if n == 0 { Vec::new() } else { py.detach(|| classifier.outputs(&values)).map_err(error)? };
            let values = if is_numpy { LogitValues::Numpy(outputs) } else { LogitValues::Host(outputs) };
            return Ok(Logits { values, n, n_classes });
        }
        if Kind::of("images", images)? == Kind::Numpy {
            let images: Copied<u8, 3> = copy_of("images", images, None)?;
            let n = expect_images(classifier, images.shape)?;
            return Ok(Logits { values: LogitValues::Numpy(in_pieces(py, classifier, &images.values)?), n, n_classes });
        }
        let device = classifier.device().clone();
        if stream.is_none() && device.backend() != Backend::Cpu {
            *stream = Some(device.stream().map_err(error)?);
        }
        let images = Tensor::of("images", images, &device, stream.as_ref())?;
        let n = expect_images(classifier, expect_dimensions("images", images.shape())?)?;
        let Some(stream) = stream else {
            // SAFETY: the CPU's memory is the host's; the caller does not write during the call.
            let images = unsafe { images.values("images") }?;
            return Ok(Logits { values: LogitValues::Host(in_pieces(py, classifier, images)?), n, n_classes });
        };
        // SAFETY: the caller does not write during the call, and all work that uses them ends in `logits_on_device`.
        let images: Buffer<u8> = unsafe { images.buffer("images", &device) }?;
        let from = &images;
        let found = py.detach(move || match n {
            0 => stream.alloc(0),
            // The producer's work precedes that of this stream, and the classifier has one of its own.
            _ => stream.synchronize().and_then(|()| classifier.logits_on_device(from)),
        });
        // The producer's deleter is called with the interpreter's lock.
        drop(images);
        Ok(Logits { values: LogitValues::Device(found.map_err(error)?), n, n_classes })
    }
}

/// The number of images of this shape.
fn expect_images(classifier: &LibraryClassifier, [n, rows, cols]: [usize; 3]) -> PyResult<usize> {
    let n_inputs = classifier.n_inputs() as usize;
    if rows.checked_mul(cols) == Some(n_inputs) {
        return Ok(n);
    }
    let text = format!("images are of {rows} x {cols} pixels, the network has {n_inputs} inputs");
    Err(PyValueError::new_err(text))
}

/// Logits of images of the host; signals are checked between pieces.
fn in_pieces(py: Python<'_>, classifier: &mut LibraryClassifier, images: &[u8]) -> PyResult<Vec<f32>> {
    const PIECE: usize = 1024;
    let mut found = Vec::new();
    for piece in images.chunks(PIECE * classifier.n_inputs() as usize) {
        found.extend(py.detach(|| classifier.logits(piece)).map_err(error)?);
        py.check_signals()?;
    }
    Ok(found)
}
