//! What the tests of training perceptrons share: small data, and a training as numbers.

use std::sync::Arc;

use warpplay::mlp::{
    Activation, Checkpoint, Classifier, Dataset, Engine, Evaluation, Layer, Network, Options, Precision, Residence,
    Sweep, Trainer,
};
use warpplay::{Backend, Device, Progress, Result};
use warpplay_cpu_ref::mlp as reference;
use warpplay_gpu::mlp::random;

use crate::folder::Folder;
use crate::golden::{self, Tensors};
use crate::random::Random;
use crate::tolerance::{Tolerance, close};

/// Images of `rows` x `cols` pixels whose classes can be told apart: bright at pixels of the class, noise elsewhere.
///
/// # Panics
/// If there is no such set.
pub fn images(n: usize, rows: u32, cols: u32, n_classes: u32) -> Arc<Dataset> {
    let pixels = (rows * cols) as usize;
    let mut random = Random(7);
    let mut next = || random.u31();
    let labels: Vec<u8> = (0..n).map(|_| (next() % n_classes) as u8).collect();
    let images = labels.iter().flat_map(|&label| {
        let bright = usize::from(label);
        (0..pixels)
            .map(|pixel| if pixel % n_classes as usize == bright { 120 + next() % 136 } else { next() % 90 } as u8)
            .collect::<Vec<_>>()
    });
    Arc::new(Dataset::new(images.collect(), labels, rows, cols, n_classes, "made for a test").expect("a set"))
}

/// Largest difference as a share of the largest expected value.
///
/// # Panics
/// If there are not as many values, or a difference is no number.
pub fn error_of(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    let difference = found.iter().zip(expected).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
    assert!(difference.is_finite(), "a value is no number");
    difference / largest
}

/// Losses and weights of a training.
///
/// # Errors
/// Those of [`Trainer`].
pub fn train(device: &Device, options: &Options, set: &Arc<Dataset>) -> Result<(Vec<f64>, Network)> {
    let mut trainer = Trainer::builder(set).options(options.clone()).test(set).build(device)?;
    let report = trainer.run(Progress::go_on)?;
    Ok((report.epochs.iter().map(|epoch| epoch.loss).collect(), trainer.network()?))
}

/// What the plain program answers about a set in double precision, for the engine `epoch`.
pub struct Answers {
    network: Network,
    set: Arc<Dataset>,
    /// About the whole set.
    pub evaluation: Evaluation,
    logits: Vec<f64>,
}

impl Answers {
    /// Those of a network.
    ///
    /// # Panics
    /// If the set does not fit the network.
    pub fn of(network: &Network, set: &Arc<Dataset>) -> Self {
        let options = Options { precision: Precision::F64, ..Options::default() };
        let mut plain = Classifier::builder(network).options(options).build(&Device::cpu()).expect("cpu");
        let (network, set) = (network.clone(), Arc::clone(set));
        let logits = widened(plain.logits(set.images()).expect("cpu"));
        Self { evaluation: plain.evaluate(&set).expect("cpu"), network, set, logits }
    }

    /// Holds the engine `epoch` to them on a device.
    ///
    /// # Errors
    /// Those of [`Classifier`].
    ///
    /// # Panics
    /// If it answers something else.
    pub fn check(&self, device: &Device) -> Result<()> {
        let Self { network, set, evaluation, logits } = self;
        let options = Options { engine: Engine::Epoch, ..Options::default() };
        let mut classifier = Classifier::builder(network).options(options).build(device)?;
        let found = classifier.evaluate(set)?;
        let what = format!("{:?} on {device}", network.sizes());
        assert_eq!(found.confusion, evaluation.confusion, "{what}");
        assert_eq!(found.dead_units_by_layer, evaluation.dead_units_by_layer, "{what}");
        close(&what, &[found.loss], &[evaluation.loss], Tolerance { abs: 0.0, rel: 2e-6 });
        let largest = logits.iter().fold(0f64, |most, logit| most.max(logit.abs()));
        let bound = Tolerance { abs: largest * 2e-6, rel: 0.0 };
        close(&what, &widened(classifier.logits(set.images())?), logits, bound);
        Ok(())
    }
}

fn widened(values: Vec<f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

/// Checks that a training of two epochs has the bits of one that is written to a file after the first and resumed, and returns the options of the latter.
///
/// # Errors
/// Those of [`Trainer`] and [`Checkpoint`].
///
/// # Panics
/// If the bits are others.
pub fn resumed(device: &Device, options: &Options, set: &Arc<Dataset>) -> Result<Options> {
    let (_, whole) = train(device, &Options { epochs: 2, ..options.clone() }, set)?;
    let mut first = Trainer::builder(set).options(Options { epochs: 1, ..options.clone() }).build(device)?;
    first.run(Progress::go_on)?;
    let folder = Folder::new();
    let path = folder.path("first.checkpoint");
    first.checkpoint()?.save(&path)?;
    let mut second = Trainer::builder(set).resume(Checkpoint::load(&path)?).epochs(2).build(device)?;
    second.run(Progress::go_on)?;
    assert_eq!(second.network()?, whole, "{} on {device}", options.precision);
    Ok(second.options().clone())
}

/// Checks that a sweep of one model, of the options' seed and learning rate, has the losses of a training, by the engine that leaves nothing of the options out: `cpu`, or `layers` on a device.
///
/// # Errors
/// Those of [`Sweep`] and [`Trainer`].
///
/// # Panics
/// If the losses or the engine are others.
pub fn swept(device: &Device, options: &Options, set: &Arc<Dataset>) -> Result<()> {
    let builder = Sweep::builder(set).options(options.clone()).model(options.seed, options.learning_rate);
    let found = builder.build(device)?.run(Progress::go_on)?;
    let (losses, _) = train(device, options, set)?;
    assert_eq!(found.models[0].epochs.iter().map(|epoch| epoch.loss).collect::<Vec<_>>(), losses);
    assert_eq!(found.engine, if device.backend() == Backend::Cpu { Engine::Cpu } else { Engine::Layers });
    Ok(())
}

/// Runs of the plain program in single precision that a [`Twin`] takes its scale from.
const RENUMBERINGS: usize = 5;
/// How many times the plain program's error an engine's may be. A sum of products loses up to 8 times as much for each term: the plain program rounds by 2⁻²⁴ of it, tensor cores cut the terms that they
/// add at once off to 24 bits of the largest, by 2⁻²³ each, twice for operands in two halves, and the sum again. And the largest error of some runs may be a quarter of another run's.
const FACTOR: f64 = 32.0;
/// A rounding to single precision, with room for a second one.
const SINGLE: f64 = 1.0 / (1 << 23) as f64;

/// A training in double precision, and how far from it one in single precision may be.
///
/// A bound of the worst case says nothing: an error in the weights comes back in the next gradient at several times its size, and after twenty steps of the tests' rates as more than the weights themselves.
/// So roundings are taken for independent numbers of mean 0 (Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section 2.8): then programs with as many roundings have errors of one distribution,
/// whatever the order of their sums. Its scale is found from the plain program in single precision, run with the pixels and the hidden units in several orders, which is the same network with other roundings;
/// with the pixels alone where units have masks, by dropout, or gains and shifts, by layer norm or batch norm.
#[derive(Clone, Debug)]
pub struct Twin {
    losses: Vec<f64>,
    weights: Vec<f64>,
    of_losses: Tolerance,
    of_weights: Tolerance,
}

impl Twin {
    /// Trains on the CPU.
    ///
    /// # Panics
    /// If the options are not allowed.
    pub fn of(options: &Options, set: &Arc<Dataset>) -> Self {
        let plain = Options { engine: Engine::Auto, stream: Residence::Device, ..options.clone() };
        let first = Network::initial(&widths(&plain, set), plain.init, plain.seed)
            .expect("widths of a network")
            .with_activation(plain.activation);
        let first = match (plain.layer_norm, plain.batch_norm) {
            (true, _) => first.with_layer_norm(),
            (false, true) => first.with_batch_norm(),
            (false, false) => first,
        };
        let has_norm = plain.layer_norm || plain.batch_norm;
        let trained = |precision, number| {
            let renumbered = Renumbered::new(&first, number, plain.dropout == 0.0 && !has_norm);
            let options = Options { precision, ..plain.clone() };
            let builder = Trainer::builder(&renumbered.set(set)).options(options).network(renumbered.network(&first));
            let mut trainer = builder.build(&Device::cpu()).expect("the plain program");
            let report = trainer.run(Progress::go_on).expect("the plain program");
            let losses: Vec<f64> = report.epochs.iter().map(|epoch| epoch.loss).collect();
            (losses, renumbered.values(&trainer.network().expect("the plain program")))
        };
        let (losses, weights) = trained(Precision::F64, 0);
        let (mut of_losses, mut of_weights) = (0.0f64, 0.0f64);
        for number in 0..RENUMBERINGS {
            let (found_losses, found_weights) = trained(Precision::F32, number);
            let errors = found_losses.iter().zip(&losses).map(|(found, expected)| (found - expected).abs() / expected);
            of_losses = errors.fold(of_losses, f64::max);
            let errors = found_weights.iter().zip(&weights).map(|(found, expected)| (found - expected).abs());
            of_weights = errors.fold(of_weights, f64::max);
        }
        // The losses of all samples may be added in single precision too, a rounding each; each is a logarithm of a sum of powers.
        let rel = FACTOR * of_losses + (set.len() + 8) as f64 * SINGLE;
        Self {
            losses,
            weights,
            of_losses: Tolerance { abs: 8.0 * SINGLE, rel },
            of_weights: Tolerance { abs: FACTOR * of_weights, rel: SINGLE },
        }
    }

    /// Holds the losses of an engine's epochs to it.
    ///
    /// # Panics
    /// If one is too far.
    #[track_caller]
    pub fn check_losses(&self, what: &str, losses: &[f64]) {
        close(&format!("losses of {what}"), losses, &self.losses, self.of_losses);
    }

    /// Holds an engine's training to it.
    ///
    /// # Panics
    /// If a loss or a weight is too far.
    #[track_caller]
    pub fn check(&self, what: &str, losses: &[f64], network: &Network) {
        self.check_losses(what, losses);
        close(&format!("weights of {what}"), &values(network), &self.weights, self.of_weights);
    }
}

/// Widths of the layers, the pixels first.
fn widths(options: &Options, set: &Dataset) -> Vec<u32> {
    [&[set.n_inputs()], &options.hidden[..], &[set.n_classes()]].concat()
}

/// A network with its pixels and hidden units in another order.
struct Renumbered {
    /// For each layer's inputs, and the last one's outputs: what stands at each place.
    orders: Vec<Vec<usize>>,
}

impl Renumbered {
    /// Number 0 leaves all as it is; classes always stay, and hidden units where `with_units` does not say otherwise.
    fn new(network: &Network, number: usize, with_units: bool) -> Self {
        let layers = network.layers();
        let widths = layers.iter().map(|layer| layer.n_inputs).chain(layers.last().map(|layer| layer.n_outputs));
        let mut random = Random(number as u64 + 1);
        let mut orders: Vec<Vec<usize>> = widths.map(|n| (0..n as usize).collect()).collect();
        let n_orders = match (number, with_units) {
            (0, _) => 0,
            (_, false) => 1,
            (_, true) => layers.len(),
        };
        for order in orders.iter_mut().take(n_orders) {
            for at in 1..order.len() {
                order.swap(at, random.below(at + 1));
            }
        }
        Self { orders }
    }

    fn set(&self, set: &Dataset) -> Arc<Dataset> {
        let n = set.n_inputs() as usize;
        let images = set.images().chunks_exact(n).flat_map(|image| self.orders[0].iter().map(|&at| image[at]));
        let (labels, source) = (set.labels().to_vec(), "renumbered");
        let (images, cols, n_answers) = (images.collect(), n as u32, set.n_classes());
        let features: Option<Vec<f32>> = set.features().map(|features| {
            let samples = features.chunks_exact(n);
            samples.flat_map(|sample| self.orders[0].iter().map(|&at| sample[at])).collect()
        });
        let renumbered = match (features, set.targets().map(<[f32]>::to_vec)) {
            (None, Some(targets)) => Dataset::with_targets(images, targets, 1, cols, n_answers, source),
            (None, None) => Dataset::new(images, labels, 1, cols, n_answers, source),
            (Some(features), Some(targets)) => {
                Dataset::of_features_with_targets(features, targets, cols, n_answers, source)
            }
            (Some(features), None) => Dataset::of_features(features, labels, cols, n_answers, source),
        };
        Arc::new(renumbered.expect("the same sizes"))
    }

    /// Where the weights and biases of layer `number` come from: places in the other one's weights, then in its biases.
    fn places(&self, number: usize) -> (Vec<usize>, &[usize]) {
        let (inputs, outputs) = (&self.orders[number], &self.orders[number + 1]);
        let of_input = |&input: &usize| outputs.iter().map(move |&output| input * outputs.len() + output);
        (inputs.iter().flat_map(of_input).collect(), outputs)
    }

    fn network(&self, network: &Network) -> Network {
        let layer = |(number, layer): (usize, &Layer)| {
            let (weights, biases) = self.places(number);
            let of = |values: &[f32], places: &[usize]| places.iter().map(|&at| values[at]).collect();
            Layer { weights: of(&layer.weights, &weights), bias: of(&layer.bias, biases), ..layer.clone() }
        };
        let renumbered = Network::new(network.layers().iter().enumerate().map(layer).collect());
        let renumbered = renumbered.expect("the same sizes").with_activation(network.activation());
        // The units of a network with norms stay.
        if network.batch_norms().is_empty() {
            return renumbered.with_layer_norms(network.layer_norms().to_vec()).expect("the same sizes");
        }
        renumbered.with_batch_norms(network.batch_norms().to_vec()).expect("the same sizes")
    }

    /// The values of a renumbered network where they were before.
    fn values(&self, network: &Network) -> Vec<f64> {
        let of_layer = |(number, layer): (usize, &Layer)| {
            let (weights, biases) = self.places(number);
            let back = |values: &[f32], places: &[usize]| {
                let mut all = vec![0.0; values.len()];
                places.iter().zip(values).for_each(|(&at, &value)| all[at] = f64::from(value));
                all
            };
            [back(&layer.weights, &weights), back(&layer.bias, biases)].concat()
        };
        network.layers().iter().enumerate().flat_map(of_layer).chain(values_of_norms(network)).collect()
    }
}

/// The network in double precision, for the reference.
pub fn in_double(network: &Network) -> reference::Network<f64> {
    let of = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>();
    let layer = |(number, layer): (usize, &Layer)| {
        let norm = network.layer_norms().get(number);
        reference::Layer {
            n_inputs: layer.n_inputs as usize,
            n_outputs: layer.n_outputs as usize,
            weights: of(&layer.weights),
            bias: of(&layer.bias),
            gain: norm.map_or_else(Vec::new, |norm| of(&norm.gain)),
            shift: norm.map_or_else(Vec::new, |norm| of(&norm.shift)),
        }
    };
    let layers = network.layers().iter().enumerate().map(layer).collect();
    reference::Network::new(layers).with_activation(in_reference(network.activation()))
}

/// The reference's name of an activation.
pub fn in_reference(activation: Activation) -> reference::Activation {
    match activation {
        Activation::Relu => reference::Activation::Relu,
        Activation::Tanh => reference::Activation::Tanh,
        Activation::Sigmoid => reference::Activation::Sigmoid,
        Activation::Gelu => reference::Activation::Gelu,
    }
}

/// Weights and biases, layer by layer, then what norms have.
pub fn values(network: &Network) -> Vec<f64> {
    let layers = network.layers().iter().flat_map(|layer| layer.weights.iter().chain(&layer.bias));
    layers.map(|&value| f64::from(value)).chain(values_of_norms(network)).collect()
}

/// Gains and shifts, layer by layer; of batch norms running means and variances too.
fn values_of_norms(network: &Network) -> impl Iterator<Item = f64> {
    let layer_norms = network.layer_norms().iter().flat_map(|norm| norm.gain.iter().chain(&norm.shift));
    let batch_norms = network
        .batch_norms()
        .iter()
        .flat_map(|norm| norm.gain.iter().chain(&norm.shift).chain(&norm.mean).chain(&norm.variance));
    layer_norms.chain(batch_norms).map(|&value| f64::from(value))
}

/// Batches of real digits with the steps that an independent program made on them: `README_mlp.md` beside the file.
#[derive(Debug)]
pub struct RealBatches {
    file: Tensors,
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl RealBatches {
    /// The file, where it is.
    pub fn read() -> Option<Self> {
        let file = Tensors::read(&golden::shared("vectors/mlp_step_reference.safetensors")?);
        let (pixels, labels) = (file.bytes("batches_x_u8"), file.bytes("batches_y_u8"));
        Some(Self { file, pixels, labels })
    }

    /// A tensor.
    pub fn floats(&self, name: &str) -> Vec<f64> {
        self.file.floats(name)
    }

    /// The first network.
    ///
    /// # Panics
    /// If the file has none.
    pub fn network(&self) -> Network {
        let narrow = |name: &str| self.floats(name).iter().map(|&value| value as f32).collect::<Vec<f32>>();
        let layer =
            |n_inputs, n_outputs, w: &str, b: &str| Layer { n_inputs, n_outputs, weights: narrow(w), bias: narrow(b) };
        let layers = vec![layer(784, 256, "init.W1", "init.b1"), layer(256, 10, "init.W2", "init.b2")];
        Network::new(layers).expect("a network")
    }

    /// Pixels of a batch of 64.
    pub fn pixels(&self, batch: usize) -> &[u8] {
        &self.pixels[batch * 64 * 784..][..64 * 784]
    }

    /// Inputs and labels of a batch.
    pub fn batch(&self, batch: usize) -> (Vec<f64>, &[u8]) {
        let inputs = self.pixels(batch).iter().map(|&pixel| f64::from(f32::from(pixel) / 255.0));
        (inputs.collect(), &self.labels[batch * 64..][..64])
    }

    /// The samples of the first batches, laid so that an engine's order of epoch 0 for seed 1 gives these batches.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn set(&self, n_batches: usize) -> Arc<Dataset> {
        let n = 64 * n_batches;
        let stream_key = random::key(1, random::order_stream(0));
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&sample| (random::element(stream_key, sample as u64 + 1), sample));
        let (mut pixels, mut labels) = (vec![0; n * 784], vec![0; n]);
        for (position, &sample) in order.iter().enumerate() {
            pixels[sample * 784..][..784].copy_from_slice(&self.pixels[position * 784..][..784]);
            labels[sample] = self.labels[position];
        }
        Arc::new(Dataset::new(pixels, labels, 28, 28, 10, "the reference's batches").expect("a set"))
    }
}
