//! The CPU: the plain implementation.

use std::sync::Arc;

use warpplay_cpu_ref::mlp::Layer as PlainLayer;
use warpplay_cpu_ref::mlp::conv::{self as plain, Rates};

use super::engine::{Epoch, Train};
use super::{ConvNetwork, ConvOptions};
use crate::Result;
use crate::mlp::evaluation::Classified;
use crate::mlp::{Dataset, Layer};
use crate::runtime::threads::Threads;

pub(super) struct Cpu {
    training: plain::ConvTraining<f32>,
    kept: Option<plain::ConvTraining<f32>>,
    train: Arc<Dataset>,
    options: ConvOptions,
    threads: Threads,
}

/// Opens the engine.
///
/// # Errors
/// Threads that cannot be started.
pub(super) fn open(options: &ConvOptions, train: &Arc<Dataset>, network: &ConvNetwork) -> Result<Box<dyn Train>> {
    let [rows, cols] = network.image_size().map(|side| side as usize);
    let blocks = network.blocks().iter().map(|block| block.iter().map(|&n| n as usize).collect()).collect();
    let shape = plain::ConvShape { rows, cols, blocks, n_classes: network.n_classes() as usize };
    let layer = |layer: &Layer| PlainLayer {
        weights: layer.weights.clone(),
        bias: layer.bias.clone(),
        n_inputs: layer.n_inputs as usize,
        n_outputs: layer.n_outputs as usize,
        gain: vec![],
        shift: vec![],
    };
    let layers = network.layers().iter().map(layer).collect();
    Ok(Box::new(Cpu {
        training: plain::ConvTraining::new(plain::ConvNetwork { shape, layers }, |value| value),
        kept: None,
        train: Arc::clone(train),
        options: options.clone(),
        threads: Threads::pooled(options.threads)?,
    }))
}

impl Train for Cpu {
    fn train(&mut self, epoch: &Epoch) -> Result<Vec<f32>> {
        let Self { training, train, options, threads, .. } = self;
        let pixels = train.n_inputs() as usize;
        let step = |(order, &rate): (&[u32], &f32)| {
            let samples = || order.iter().map(|&sample| sample as usize);
            let images: Vec<u8> = samples().flat_map(|at| &train.images()[at * pixels..][..pixels]).copied().collect();
            let labels: Vec<u8> = samples().map(|at| train.labels()[at]).collect();
            let [momentum, decay] = [options.momentum, options.weight_decay].map(f64::from);
            training.step(&images, &labels, Rates { rate: f64::from(rate), momentum, decay }).iter().sum()
        };
        Ok(threads.run(|| epoch.order.chunks(options.batch as usize).zip(&epoch.rates).map(step).collect()))
    }

    fn classify(&mut self, set: &Arc<Dataset>) -> Result<Classified> {
        let Self { training, threads, .. } = self;
        let (losses, classes) = threads.run(|| training.classify(set.images(), set.labels()));
        let loss_sum = losses.iter().map(|&loss| f64::from(loss)).sum();
        Ok(Classified { classes, loss_sum, active: Vec::new() })
    }

    fn keep(&mut self) -> Result<()> {
        self.kept = Some(self.training.clone());
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        if let Some(kept) = &self.kept {
            self.training = kept.clone();
        }
        Ok(())
    }

    fn layers(&mut self) -> Result<Vec<Layer>> {
        let layer = |layer: &PlainLayer<f32>| Layer {
            n_inputs: layer.n_inputs as u32,
            n_outputs: layer.n_outputs as u32,
            weights: layer.weights.clone(),
            bias: layer.bias.clone(),
        };
        Ok(self.training.network.layers.iter().map(layer).collect())
    }
}
