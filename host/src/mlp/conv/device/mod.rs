//! A GPU, or the kernels thread by thread: a step is products of `tile` and a few kernels between them, recorded as a graph.

#[allow(unsafe_code)]
mod kernels;
mod multiply;
mod network;
mod tensor;

use std::sync::Arc;

use warpplay_gpu::mlp::layers::control;
use warpplay_gpu::mlp::layers::view::{RowsArgs, line_length};

use self::kernels::{Kernels, Samples};
use self::network::NetworkArrays;
use super::engine::{Classify, Epoch, Train};
use super::{ConvNetwork, ConvOptions};
use crate::mlp::evaluation::Classified;
use crate::mlp::{Dataset, Layer};
use crate::{Buffer, Device, Error, Graph, In, Result, Stream};

/// Steps between two questions whether to go on: each waits for the device.
const STEPS_AT_ONCE: u32 = 64;

/// Opens an engine that classifies.
///
/// # Errors
/// [`Error::Unsupported`] for a device without convolutions in bfloat16; [`Error::OutOfMemory`] if it has not enough memory; errors of the device.
pub(super) fn open_classifier(
    device: &Device,
    options: &ConvOptions,
    network: &ConvNetwork,
) -> Result<Box<dyn Classify>> {
    Ok(Box::new(DeviceNetwork::new(device, options, network)?))
}

/// Opens an engine that trains.
///
/// # Errors
/// As [`open_classifier`].
pub(super) fn open(
    device: &Device,
    options: &ConvOptions,
    train: &Arc<Dataset>,
    network: &ConvNetwork,
) -> Result<Box<dyn Train>> {
    let own = DeviceNetwork::new(device, options, network)?;
    let stream = &own.stream;
    let n_steps = train.len().div_ceil(options.batch as usize);
    Ok(Box::new(DeviceEngine {
        graph: None,
        order: stream.alloc(train.len())?,
        losses: stream.alloc(n_steps)?,
        rates: stream.alloc(n_steps)?,
        control: stream.alloc(control::WORDS)?,
        samples: Samples::new(stream, train)?,
        own,
    }))
}

/// The network, and what classifies with it.
struct DeviceNetwork {
    /// The set that was classified last.
    test: Option<(Arc<Dataset>, Samples)>,
    network: NetworkArrays,
    kernels: Kernels,
    stream: Stream,
}

/// What a step reads and writes beside the network.
struct DeviceEngine {
    /// Declared first, so that it is dropped before the arrays that it uses.
    graph: Option<Graph>,
    order: Buffer<u32>,
    losses: Buffer<f32>,
    rates: Buffer<f32>,
    control: Buffer<u32>,
    samples: Samples,
    own: DeviceNetwork,
}

impl DeviceNetwork {
    fn new(device: &Device, options: &ConvOptions, network: &ConvNetwork) -> Result<Self> {
        let stream = device.stream()?;
        let kernels = Kernels::load(device)?;
        let mut network = NetworkArrays::new(&stream, network, options)?;
        network.write_operands(&stream, &kernels)?;
        Ok(Self { test: None, network, kernels, stream })
    }
}

impl Classify for DeviceNetwork {
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
            kernels.patches(stream, &samples.images, &mut network.patches, rows(), image_size)?;
            network.forward(stream, kernels)?;
            kernels.classify(stream, samples, &network.logits, (&mut classes, &mut losses), rows())?;
            from = end;
        }
        let losses: Vec<f32> = stream.read(&losses)?;
        let loss_sum = losses.iter().map(|&loss| f64::from(loss)).sum();
        Ok(Classified { classes: stream.read(&classes)?, loss_sum, active: Vec::new() })
    }

    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        let Self { network, kernels, stream, .. } = self;
        let (batch, image_size, n_classes) = (network.batch, network.image_size, network.logits.n_classes as usize);
        let pixels = (image_size[0] * image_size[1]) as usize;
        let mut found = Vec::with_capacity(images.len() / pixels * n_classes);
        for part in images.chunks(pixels * batch as usize) {
            let n = part.len() / pixels;
            let part = stream.upload(part)?;
            let rows = RowsArgs { order: In::none(), step: In::none(), n: n as u32, batch, first: 0, base: 0 };
            kernels.patches(stream, &part, &mut network.patches, rows, image_size)?;
            network.forward(stream, kernels)?;
            let lines = stream.read(&network.logits.values)?;
            let lines = lines.chunks_exact(line_length(n_classes as u32) as usize).take(n);
            found.extend(lines.flat_map(|line| &line[..n_classes]));
        }
        Ok(found)
    }
}

impl DeviceEngine {
    /// Records a step, once.
    fn record(&mut self) -> Result<()> {
        if self.graph.is_some() {
            return Ok(());
        }
        let Self { order, losses, rates, control, samples, own, .. } = self;
        let DeviceNetwork { network, kernels, stream, .. } = own;
        let (batch, image_size) = (network.batch, network.image_size);
        let graph = stream.capture(|stream| {
            let rows =
                || RowsArgs { order: order.view(), step: control.view(), n: samples.n, batch, first: 0, base: 0 };
            kernels.patches(stream, &samples.images, &mut network.patches, rows(), image_size)?;
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

impl Classify for DeviceEngine {
    fn classify(&mut self, set: &Arc<Dataset>) -> Result<Classified> {
        self.own.classify(set)
    }

    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>> {
        self.own.logits(images)
    }
}

impl Train for DeviceEngine {
    fn train(&mut self, epoch: &Epoch, goes_on: &mut dyn FnMut(u32) -> bool) -> Result<Vec<f32>> {
        self.record()?;
        let n_steps = self.losses.len();
        if epoch.rates.len() != n_steps {
            return Err(Error::shape("learning rates", n_steps, epoch.rates.len()));
        }
        if epoch.order.len() != self.order.len() {
            return Err(Error::shape("samples of an order", self.order.len(), epoch.order.len()));
        }
        if let Some(&beyond) = epoch.order.iter().find(|&&sample| sample >= self.samples.n) {
            return Err(Error::shape("sample of an order", format!("below {}", self.samples.n), beyond));
        }
        let Self { graph, order, losses, rates, control, own, .. } = self;
        let stream = &own.stream;
        stream.write(order, 0, &epoch.order)?;
        stream.write(rates, 0, &epoch.rates)?;
        stream.write(control, control::STEP, &[epoch.from_step])?;
        let mut step = epoch.from_step;
        if let Some(graph) = graph {
            while (step as usize) < n_steps {
                if step > epoch.from_step && step.is_multiple_of(STEPS_AT_ONCE) {
                    stream.synchronize()?;
                    if !goes_on(step) {
                        break;
                    }
                }
                stream.launch_graph(graph)?;
                step += 1;
            }
        }
        let mut found = vec![0.0; (step - epoch.from_step) as usize];
        stream.read_into(losses, epoch.from_step as usize, &mut found)?;
        Ok(found)
    }

    fn keep(&mut self) -> Result<()> {
        self.own.network.keep(&self.own.stream)
    }

    fn restore(&mut self) -> Result<()> {
        self.own.network.restore(&self.own.stream, &self.own.kernels)
    }

    fn layers(&mut self) -> Result<Vec<Layer>> {
        self.own.network.layers(&self.own.stream)
    }
}
