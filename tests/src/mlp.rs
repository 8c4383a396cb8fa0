//! What the tests of training perceptrons share: small data, and a training as numbers.

use std::sync::Arc;

use warpplay::mlp::{Dataset, Layer, Network, Options, Trainer};
use warpplay::{Device, Progress, Result};
use warpplay_cpu_ref::mlp as reference;

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
