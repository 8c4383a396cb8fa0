//! The CPU: the plain implementation.

use std::sync::Arc;

use warpplay_cpu_ref::mlp::Layer as PlainLayer;
use warpplay_cpu_ref::mlp::conv::{self as plain, Rates};

use super::engine::{Classify, Epoch, Train};
use super::{ConvNetwork, ConvOptions};
use crate::Result;
use crate::mlp::evaluation::Classified;
use crate::mlp::{Dataset, Layer};
use crate::runtime::threads::Threads;

struct CpuNetwork {
    training: plain::ConvTraining<f32>,
    threads: Threads,
}

struct Cpu {
    network: CpuNetwork,
    kept: Option<plain::ConvTraining<f32>>,
    train: Arc<Dataset>,
    options: ConvOptions,
}

/// Opens an engine that classifies.
///
/// # Errors
/// Threads that cannot be started.
pub(super) fn open_classifier(options: &ConvOptions, network: &ConvNetwork) -> Result<Box<dyn Classify>> {
    Ok(Box::new(CpuNetwork::new(options, network)?))
}

/// Opens an engine that trains.
///
/// # Errors
/// As [`open_classifier`].
pub(super) fn open(options: &ConvOptions, train: &Arc<Dataset>, network: &ConvNetwork) -> Result<Box<dyn Train>> {
    let network = CpuNetwork::new(options, network)?;
    Ok(Box::new(Cpu { network, kept: None, train: Arc::clone(train), options: options.clone() }))
}

impl CpuNetwork {
    fn new(options: &ConvOptions, network: &ConvNetwork) -> Result<Self> {
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
        let training = plain::ConvTraining::new(plain::ConvNetwork { shape, layers }, |value| value);
        Ok(Self { training, threads: Threads::pooled(options.threads)? })
    }
}

impl Classify for CpuNetwork {
    fn classify(&mut self, set: &Arc<Dataset>) -> Result<Classified> {
        let Self { training, threads } = self;
        let (losses, classes) = threads.run(|| training.classify(set.images(), set.labels()));
        let loss_sum = losses.iter().map(|&loss| f64::from(loss)).sum();
        Ok(Classified { classes, loss_sum, active: Vec::new() })
    }

    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        Ok(self.threads.run(|| self.training.logits(images)))
    }
}

impl Classify for Cpu {
    fn classify(&mut self, set: &Arc<Dataset>) -> Result<Classified> {
        self.network.classify(set)
    }

    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        self.network.logits(images)
    }
}

impl Train for Cpu {
    fn train(&mut self, epoch: &Epoch, goes_on: &mut dyn FnMut(u32) -> bool) -> Result<Vec<f32>> {
        let Self { network: CpuNetwork { training, threads }, train, options, .. } = self;
        let pixels = train.n_inputs() as usize;
        let mut losses = Vec::new();
        let steps = epoch.order.chunks(options.batch as usize).zip(&epoch.rates).zip(0..);
        for ((order, &rate), step) in steps.skip(epoch.from_step as usize) {
            if step > epoch.from_step && !goes_on(step) {
                break;
            }
            let samples = || order.iter().map(|&sample| sample as usize);
            let images: Vec<u8> = samples().flat_map(|at| &train.images()[at * pixels..][..pixels]).copied().collect();
            let labels: Vec<u8> = samples().map(|at| train.labels()[at]).collect();
            let [momentum, decay] = [options.momentum, options.weight_decay].map(f64::from);
            let rates = Rates { rate: f64::from(rate), momentum, decay };
            losses.push(threads.run(|| training.step(&images, &labels, rates).iter().sum()));
        }
        Ok(losses)
    }

    fn keep(&mut self) -> Result<()> {
        self.kept = Some(self.network.training.clone());
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        if let Some(kept) = &self.kept {
            self.network.training = kept.clone();
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
        Ok(self.network.training.network.layers.iter().map(layer).collect())
    }
}
