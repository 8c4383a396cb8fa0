//! What the tests of training perceptrons share: small data, and a training as numbers.

use std::sync::Arc;

use warpplay::mlp::{Dataset, Layer, Network, Options, Trainer};
use warpplay::{Device, Progress, Result};
use warpplay_cpu_ref::mlp as reference;
use warpplay_gpu::mlp::random;

use crate::golden::{self, Tensors};
use crate::random::Random;

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

/// Losses and weights of a training.
///
/// # Errors
/// Those of [`Trainer`].
pub fn train(device: &Device, options: &Options, set: &Arc<Dataset>) -> Result<(Vec<f64>, Network)> {
    let mut trainer = Trainer::builder(set).options(options.clone()).test(set).build(device)?;
    let report = trainer.run(Progress::go_on)?;
    Ok((report.epochs.iter().map(|epoch| epoch.loss).collect(), trainer.network()?))
}

/// The network in double precision, for the reference.
pub fn in_double(network: &Network) -> reference::Network<f64> {
    let layer = |layer: &Layer| {
        let of = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect();
        reference::Layer {
            n_inputs: layer.n_inputs as usize,
            n_outputs: layer.n_outputs as usize,
            weights: of(&layer.weights),
            bias: of(&layer.bias),
        }
    };
    reference::Network::new(network.layers().iter().map(layer).collect())
}

/// Weights and biases, layer by layer.
pub fn values(network: &Network) -> Vec<f64> {
    let layers = network.layers().iter();
    layers.flat_map(|layer| layer.weights.iter().chain(&layer.bias)).map(|&value| f64::from(value)).collect()
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
