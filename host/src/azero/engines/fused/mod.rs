//! The network with all convolutions in one launch.

#[allow(unsafe_code)]
mod kernels;
mod pack;
mod scales;
mod spare;
#[cfg(test)]
mod tests;

use warpplay_gpu::azero::fused::heads::{MAX_ACTIONS, MAX_HIDDEN};
use warpplay_gpu::azero::fused::{CELLS, FILTERS, PLANES, SIDE, WIDTH};

use super::Evaluate;
use crate::azero::evaluation::{BlockOutput, Inputs, Outputs};
use crate::azero::folded::FoldedNetwork;
use crate::azero::{Engine, NetworkShape};
use crate::{Device, Error, Memory, Precision, Result, Stream};
use kernels::{Buffers, DeviceNetwork, Kernels};
use scales::{Scaled, times};
use spare::Spare;

/// Checks that this engine can evaluate the shape in the precision on this device.
///
/// Requirements: compute capability 9.0 (or `simt`), 8×8 boards, up to 16 planes, 128 channels, any depth; heads with up to 4 channels together, up to 512 hidden units and
/// 1,024 actions; f32, tf32, bf16, f16.
///
/// # Errors
/// Names the first requirement that is not met, and what is allowed.
pub(in crate::azero) fn fits(device: &Device, shape: NetworkShape, precision: Precision) -> Result<()> {
    // Newer GPUs have clusters too, but not the warpgroup products.
    if device.info()?.compute_capability.is_some_and(|capability| capability != (9, 0)) {
        return Err(Error::option("engine", Engine::Fused, "layers: this device has not compute capability 9.0"));
    }
    if precision == Precision::F64 {
        return Err(Error::option("precision", precision, "f32, tf32, bf16 or f16 with engine fused"));
    }
    let within = |name, value: u32, least: u32, most: u32| match (least..=most).contains(&value) {
        true => Ok(()),
        false if least == most => Err(Error::option(name, value, format!("{least} with engine fused"))),
        false => Err(Error::option(name, value, format!("{least} to {most} with engine fused"))),
    };
    within("rows", shape.rows, SIDE, SIDE)?;
    within("columns", shape.columns, SIDE, SIDE)?;
    within("planes", shape.planes, 1, PLANES)?;
    within("width", shape.width, WIDTH, WIDTH)?;
    within("value filters", shape.value_filters, 1, FILTERS - 1)?;
    within("policy filters", shape.policy_filters, 1, FILTERS - shape.value_filters)?;
    within("value hidden", shape.value_hidden, 1, MAX_HIDDEN)?;
    within("actions", shape.actions, 1, MAX_ACTIONS)
}

/// Builds the engine for up to `capacity` positions; [`fits`] has accepted it.
pub(in crate::azero) fn build(
    device: &Device,
    stream: &Stream,
    network: FoldedNetwork,
    precision: Precision,
    capacity: usize,
) -> Result<Box<dyn Evaluate>> {
    Ok(Box::new(Fused::new(device, stream, network, precision, capacity)?))
}

/// Memory of the engine: the network's parameters, the arrays between its kernels, and in single precision the memory that [`Spare`] takes once it is needed.
///
/// # Errors
/// Errors of the driver.
pub(in crate::azero) fn memory(
    device: &Device,
    shape: NetworkShape,
    precision: Precision,
    capacity: usize,
) -> Result<Memory> {
    let layers = Buffers::bytes(&shape, capacity, device.info()?.n_multiprocessors);
    let network = DeviceNetwork::bytes(&shape, precision);
    let memory = Memory::default().on_device("network", network).on_device("layers", layers);
    if precision == Precision::F32 { Spare::memory(device, memory, shape, capacity) } else { Ok(memory) }
}

struct Fused {
    kernels: Kernels,
    network: DeviceNetwork,
    buffers: Buffers,
    capacity: usize,
    /// Exponents of the scales of the convolutions' outputs, `[n_convs, 128]`.
    exponents: Vec<i32>,
    /// Evaluates positions again in single precision if their values do not fit into two halves.
    spare: Option<Spare>,
    /// For tests: boards per block instead of the default, or 0 for the kernel for one position.
    boards: Option<u32>,
}

impl Fused {
    fn new(
        device: &Device,
        stream: &Stream,
        network: FoldedNetwork,
        precision: Precision,
        capacity: usize,
    ) -> Result<Self> {
        let kernels = Kernels::load(device, precision)?;
        let (scaled, spare) = match precision {
            Precision::F32 => (Scaled::new(network.clone()), Some(Spare::new(device, network, capacity))),
            _ => (Scaled::plain(network), None),
        };
        let network = DeviceNetwork::new(stream, &scaled, precision)?;
        let buffers = Buffers {
            planes: stream.alloc(capacity * (network.filters() * CELLS) as usize)?,
            scratch: stream.alloc(kernels.n_scratch())?,
        };
        Ok(Self { kernels, network, buffers, capacity, exponents: scaled.exponents, spare, boards: None })
    }
}

impl Evaluate for Fused {
    fn enqueue(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()> {
        let Self { kernels, network, buffers, boards, .. } = self;
        if *boards == Some(0) || (boards.is_none() && n as u32 <= kernels.clusters()) {
            return kernels.single(stream, network, inputs, n as u32, outputs);
        }
        let boards = boards.unwrap_or_else(|| kernels.boards(n as u32));
        kernels.tower(stream, network, &inputs.observations, buffers, None, n as u32, boards)?;
        kernels.heads(stream, network, &buffers.planes, inputs, n as u32, outputs)
    }

    fn may_overflow(&self) -> bool {
        self.spare.is_some()
    }

    fn enqueue_again(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()> {
        match &mut self.spare {
            Some(spare) => spare.enqueue(stream, inputs, n, outputs),
            None => self.enqueue(stream, inputs, n, outputs),
        }
    }

    fn weights(&self) -> Option<crate::L2Span> {
        Some(self.network.weights(self.capacity as u32 <= self.kernels.clusters()))
    }

    fn blocks(&mut self, stream: &Stream, inputs: &Inputs, n: usize) -> Result<Vec<BlockOutput>> {
        let Self { kernels, network, buffers, boards, exponents, spare, .. } = self;
        let (block, filters) = ((WIDTH * CELLS) as usize, network.filters() as usize);
        let mut trace = stream.alloc(network.n_convs as usize * n * block)?;
        let boards = boards.unwrap_or_else(|| kernels.boards(n as u32));
        kernels.tower(stream, network, &inputs.observations, buffers, Some(&mut trace), n as u32, boards)?;
        let mut values = stream.read(&trace)?;
        if let Some(spare) = spare
            && !values.iter().all(|value| value.is_finite())
        {
            return spare.blocks(stream, inputs, n);
        }
        for (values, exponents) in values.chunks_exact_mut(n * block).zip(exponents.chunks_exact(WIDTH as usize)) {
            let channels = values.chunks_exact_mut(CELLS as usize).zip(exponents.iter().cycle());
            channels
                .for_each(|(values, &exponent)| values.iter_mut().for_each(|value| *value = times(*value, -exponent)));
        }
        let name = |conv: usize| match conv {
            0 => "input".to_string(),
            odd if odd % 2 == 1 => format!("torso_{}_mid", odd / 2),
            even => format!("torso_{}", even / 2 - 1),
        };
        let mut blocks: Vec<BlockOutput> = (values.chunks_exact(n * block).enumerate())
            .map(|(conv, values)| BlockOutput { name: name(conv), values: values.to_vec() })
            .collect();
        let mut values = vec![0.0; n * filters * CELLS as usize];
        stream.read_into(&buffers.planes, 0, &mut values)?;
        let split = network.value_filters as usize * CELLS as usize;
        let rows = || values.chunks_exact(filters * CELLS as usize);
        blocks.push(BlockOutput {
            name: "value_head_plane".into(),
            values: rows().flat_map(|row| &row[..split]).copied().collect(),
        });
        blocks.push(BlockOutput {
            name: "policy_head_planes".into(),
            values: rows().flat_map(|row| &row[split..]).copied().collect(),
        });
        Ok(blocks)
    }
}
