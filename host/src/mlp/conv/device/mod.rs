//! A GPU, or the kernels thread by thread: a step is products of `tile` and a few kernels between them, recorded as a graph.

#[allow(unsafe_code)]
mod kernels;
mod multiply;
mod network;
mod tensor;

use std::sync::Arc;

use warpplay_gpu::mlp::layers::control;
use warpplay_gpu::mlp::layers::view::RowsArgs;

use self::kernels::{Kernels, Samples};
use self::network::NetworkArrays;
use super::engine::{Epoch, Train};
use super::{ConvNetwork, ConvOptions};
use crate::mlp::evaluation::Classified;
use crate::mlp::{Dataset, Layer};
use crate::{Buffer, Device, Error, Graph, In, Result, Stream};

/// Opens the engine.
///
/// # Errors
/// [`Error::Unsupported`] for a device without convolutions in bfloat16; [`Error::OutOfMemory`] if it has not enough memory; errors of the device.
pub(super) fn open(
    device: &Device,
    options: &ConvOptions,
    train: &Arc<Dataset>,
    network: &ConvNetwork,
) -> Result<Box<dyn Train>> {
    let stream = device.stream()?;
    let kernels = Kernels::load(device)?;
    let n_steps = train.len().div_ceil(options.batch as usize);
    let mut network = NetworkArrays::new(&stream, network, options)?;
    network.write_operands(&stream, &kernels)?;
    let samples = Samples::new(&stream, train)?;
    Ok(Box::new(DeviceEngine {
        graph: None,
        order: stream.alloc(train.len())?,
        losses: stream.alloc(n_steps)?,
        rates: stream.alloc(n_steps)?,
        control: stream.alloc(control::WORDS)?,
        test: None,
        network,
        samples,
        kernels,
        stream,
    }))
}

/// What a step reads and writes beside the network.
struct DeviceEngine {
    /// Declared first, so that it is dropped before the arrays that it uses.
    graph: Option<Graph>,
    order: Buffer<u32>,
    losses: Buffer<f32>,
    rates: Buffer<f32>,
    control: Buffer<u32>,
    /// The set that was classified last.
    test: Option<(Arc<Dataset>, Samples)>,
    network: NetworkArrays,
    samples: Samples,
    kernels: Kernels,
    stream: Stream,
}

impl DeviceEngine {
    /// Records a step, once.
    fn record(&mut self) -> Result<()> {
        if self.graph.is_some() {
            return Ok(());
        }
        let Self { order, losses, rates, control, network, samples, kernels, stream, .. } = self;
        let (batch, image_size) = (network.batch, network.image_size);
        let graph = stream.capture(|stream| {
            let rows =
                || RowsArgs { order: order.view(), step: control.view(), n: samples.n, batch, first: 0, base: 0 };
            kernels.patches(stream, samples, &mut network.patches, rows(), image_size)?;
            network.forward(stream, kernels)?;
            kernels.loss(stream, samples, &mut network.logits, rows())?;
            network.backward(stream, kernels)?;
            network.update(stream, kernels, rates, control)?;
            kernels.advance(stream, &network.logits.partial_losses, losses, control)
        })?;
        self.graph = Some(graph);
        Ok(())
    }
}

impl Train for DeviceEngine {
    fn train(&mut self, epoch: &Epoch) -> Result<Vec<f32>> {
        self.record()?;
        if epoch.rates.len() != self.losses.len() {
            return Err(Error::shape("learning rates", self.losses.len(), epoch.rates.len()));
        }
        if let Some(&beyond) = epoch.order.iter().find(|&&sample| sample >= self.samples.n) {
            return Err(Error::shape("sample of an order", format!("below {}", self.samples.n), beyond));
        }
        self.stream.write(&mut self.order, 0, &epoch.order)?;
        self.stream.write(&mut self.rates, 0, &epoch.rates)?;
        self.stream.write(&mut self.control, control::STEP, &[0])?;
        if let Some(graph) = &self.graph {
            for _ in 0..epoch.rates.len() {
                self.stream.launch_graph(graph)?;
            }
        }
        self.stream.read(&self.losses)
    }

    fn classify(&mut self, set: &Arc<Dataset>) -> Result<Classified> {
        if self.test.as_ref().is_none_or(|(own, _)| !Arc::ptr_eq(own, set)) {
            self.test = None;
            self.test = Some((Arc::clone(set), Samples::new(&self.stream, set)?));
        }
        let Self { test, network, kernels, stream, .. } = self;
        let Some((_, samples)) = test else { return Err(Error::shape("sets", 1, 0)) };
        let (mut classes, mut losses) = (stream.alloc(set.len())?, stream.alloc(set.len())?);
        let (batch, image_size) = (network.batch, network.image_size);
        let mut from = 0;
        while from < samples.n {
            let end = samples.n.min(from + batch);
            let rows = || RowsArgs { order: In::none(), step: In::none(), n: end, batch, first: from, base: from };
            kernels.patches(stream, samples, &mut network.patches, rows(), image_size)?;
            network.forward(stream, kernels)?;
            kernels.classify(stream, samples, &network.logits, (&mut classes, &mut losses), rows())?;
            from = end;
        }
        let losses: Vec<f32> = stream.read(&losses)?;
        let loss_sum = losses.iter().map(|&loss| f64::from(loss)).sum();
        Ok(Classified { classes: stream.read(&classes)?, loss_sum, active: Vec::new() })
    }

    fn keep(&mut self) -> Result<()> {
        self.network.keep(&self.stream)
    }

    fn restore(&mut self) -> Result<()> {
        self.network.restore(&self.stream, &self.kernels)
    }

    fn layers(&mut self) -> Result<Vec<Layer>> {
        self.network.layers(&self.stream)
    }
}
