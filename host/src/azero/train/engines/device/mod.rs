//! The engine that trains by kernels, on a GPU or thread by thread.

#[allow(unsafe_code)]
mod kernels;
mod plan;
mod tiles;

use std::sync::Arc;

use warpplay_gpu::azero::train::loss::OUTCOME;
use warpplay_gpu::azero::train::update::Rate;

use self::kernels::{Arrays, Kernels, Positions};
pub(in crate::azero::train) use self::plan::STEPS_AT_ONCE;
use self::plan::{Operands, Plan};
use super::{Setup, Train};
use crate::azero::train::step::{Numbers, StepReport};
use crate::azero::train::{Options, Samples};
use crate::azero::{Network, NetworkShape};
use crate::{Device, Error, Graph, Memory, Precision, Result, Stream, tile};

/// Memory that it takes, including all positions.
///
/// # Errors
/// [`Error::Shape`] for a network or a batch that the kernels do not support; errors of the device.
pub(in crate::azero::train) fn memory(
    device: &Device,
    shape: NetworkShape,
    samples: &Samples,
    options: &Options,
) -> Result<Memory> {
    let plan = Plan::new(shape, options.batch, operands(device, options.precision)?)?;
    Ok(Arrays::memory(&plan, samples))
}

/// Opens the engine.
///
/// # Errors
/// [`Error::OutOfMemory`] if the device has too little memory; [`Error::Shape`] for a network or a batch that the kernels do not support.
pub(in crate::azero::train) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Train>> {
    let Setup { options, samples, state } = setup;
    let stream = device.stream()?;
    let plan = Plan::new(state.network.shape(), options.batch, operands(device, options.precision)?)?;
    let arrays = Arrays::new(&stream, plan, &samples, &options)?;
    let kernels = Kernels::load(&stream, &arrays)?;
    let mut engine =
        DeviceEngine { graph: None, arrays, kernels, stream, options, samples, like: state.network.clone() };
    engine.set_state(&state)?;
    engine.keep()?;
    Ok(Box::new(engine))
}

/// What convolutions read that multiply numbers of a precision on a device; `None` for kernels of their own, which multiply f32 as it is.
fn operands(device: &Device, precision: Precision) -> Result<Option<Operands>> {
    let has_tiles = tile::Engine::convolves(device, Precision::F16)?;
    Ok(match precision {
        Precision::Bf16 => Some(Operands::Bfloat16),
        Precision::Tf32 => Some(Operands::Half { parts: 1 }),
        _ => has_tiles.then_some(Operands::Half { parts: 2 }),
    })
}

struct DeviceEngine {
    /// The recorded step.
    graph: Option<Graph>,
    arrays: Arrays,
    kernels: Kernels,
    stream: Stream,
    options: Options,
    samples: Arc<Samples>,
    /// Shape and meaning of the network.
    like: Network,
}

impl DeviceEngine {
    /// Uploads an order of existing positions.
    fn write_order(&mut self, order: &[u32]) -> Result<()> {
        if let Some(&beyond) = order.iter().find(|&&sample| sample as usize >= self.samples.len()) {
            return Err(Error::shape("position of an order", format!("below {}", self.samples.len()), beyond));
        }
        self.stream.write(&mut self.arrays.order, 0, order)
    }
}

impl Train for DeviceEngine {
    fn train(&mut self, order: &[u32], updates: u64) -> Result<Vec<StepReport>> {
        let batch = self.options.batch as usize;
        let mut found = Vec::new();
        let whole = &order[..order.len() / batch * batch];
        if self.graph.is_none() {
            let Self { arrays, kernels, stream, .. } = self;
            self.graph = Some(stream.capture(|stream| kernels.step(stream, arrays))?);
        }
        for order in whole.chunks(STEPS_AT_ONCE * batch) {
            let n_steps = order.len() / batch;
            self.write_order(order)?;
            let before = updates + found.len() as u64;
            let rates: Vec<Rate> = (1..=n_steps as u64).map(|step| rate(&self.options, before + step)).collect();
            self.stream.write(&mut self.arrays.rates, 0, &rates)?;
            self.stream.write(&mut self.arrays.step, 0, &[0])?;
            if let Some(graph) = &self.graph {
                for _ in 0..n_steps {
                    self.stream.launch_graph(graph)?;
                }
            }
            let reports = &self.stream.read(&self.arrays.reports)?[..n_steps];
            found.extend(reports.iter().map(|report| StepReport {
                policy_loss: report.policy_loss.into(),
                value_loss: report.value_loss.into(),
                l2_loss: report.l2_loss.into(),
                gradient_norm: report.gradient_norm.into(),
                accuracy: report.accuracy.into(),
            }));
            if found.iter().any(|report| !report.is_finite()) {
                break;
            }
        }
        Ok(found)
    }

    fn evaluate(&mut self, order: &[u32]) -> Result<[f64; 3]> {
        let mut sums = [0.0; 3];
        let batch = self.options.batch as usize;
        for order in order.chunks(batch) {
            self.write_order(order)?;
            self.kernels.evaluate(&self.stream, &mut self.arrays, 0, order.len() as u32)?;
            let outcomes = self.stream.read(&self.arrays.outcomes)?;
            for outcome in outcomes.chunks_exact(OUTCOME).take(order.len()) {
                for (sum, &value) in sums.iter_mut().zip(outcome) {
                    *sum += f64::from(value);
                }
            }
        }
        Ok(sums)
    }

    fn gradient(&mut self, order: &[u32]) -> Result<Network> {
        self.write_order(order)?;
        let positions = Positions::Part { from: 0, n: order.len() as u32 };
        let running = self.stream.read(&self.arrays.running)?;
        self.kernels.gradient(&self.stream, &mut self.arrays, positions)?;
        self.stream.write(&mut self.arrays.running, 0, &running)?;
        let gradients = self.stream.read(&self.arrays.gradients)?;
        Ok(self.arrays.plan.to_network(&self.like, &gradients, None))
    }

    fn state(&mut self) -> Result<Numbers> {
        let Self { arrays, stream, like, .. } = self;
        let running = stream.read(&arrays.running)?;
        let network = arrays.plan.to_network(like, &stream.read(&arrays.parameters)?, Some(&running));
        let first = arrays.plan.to_network(like, &stream.read(&arrays.first)?, None);
        let second = arrays.plan.to_network(like, &stream.read(&arrays.second)?, None);
        Ok(Numbers { network, first, second })
    }

    fn set_state(&mut self, state: &Numbers) -> Result<()> {
        let Self { arrays, stream, .. } = self;
        let (values, running) = arrays.plan.to_device(&state.network);
        stream.write(&mut arrays.parameters, 0, &values)?;
        stream.write(&mut arrays.running, 0, &running)?;
        stream.write(&mut arrays.first, 0, &arrays.plan.to_device(&state.first).0)?;
        stream.write(&mut arrays.second, 0, &arrays.plan.to_device(&state.second).0)
    }

    fn keep(&mut self) -> Result<()> {
        let Arrays { parameters, first, second, running, kept, .. } = &mut self.arrays;
        for (kept, from) in kept.iter_mut().zip([&*parameters, &*first, &*second, &*running]) {
            self.stream.copy(kept, 0, from, 0, from.len())?;
        }
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        let Arrays { parameters, first, second, running, kept, .. } = &mut self.arrays;
        for (kept, to) in kept.iter().zip([parameters, first, second, running]) {
            self.stream.copy(to, 0, kept, 0, kept.len())?;
        }
        Ok(())
    }

    fn is_finite(&mut self) -> Result<bool> {
        for buffer in [&self.arrays.parameters, &self.arrays.running] {
            if self.stream.read(buffer)?.iter().any(|value| !value.is_finite()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The rate of the update number `number`, from 1.
fn rate(options: &Options, number: u64) -> Rate {
    let correction = |beta: f64| 1.0 - beta.powf(number as f64);
    Rate {
        step_size: (options.learning_rate / correction(options.beta1)) as f32,
        root: correction(options.beta2).sqrt() as f32,
    }
}
