//! The network, a kernel a layer: any shape, on every device with kernels.

mod graphs;
#[allow(unsafe_code)]
mod kernels;
mod plan;
mod tiles;

use super::Evaluate;
use crate::azero::NetworkShape;
use crate::azero::evaluation::{BlockOutput, Inputs, Outputs};
use crate::azero::folded::FoldedNetwork;
use crate::tile::Engine;
use crate::tile::core::MAX_SIZE;
use crate::{Backend, Device, Error, Memory, Precision, Result, Stream};
use graphs::Graphs;
use kernels::{Arrays, Conv, Kernels};
use plan::{Convolutions, Format};

/// Opens the engine with memory for `capacity` positions.
///
/// # Errors
/// [`Error::Option`] for a precision that the device does not support; [`Error::OutOfMemory`] if the device has too little memory; errors of the driver.
pub(in crate::azero) fn build(
    device: &Device,
    stream: &Stream,
    network: &FoldedNetwork,
    precision: Precision,
    capacity: usize,
) -> Result<Box<dyn Evaluate>> {
    let format = format(device, precision)?;
    let kernels = Kernels::load(device)?;
    let convolutions = convolutions(device, &network.shape, format, capacity)?;
    let arrays = Arrays::new(stream, network, format, convolutions, capacity)?;
    // `simt` has nothing to gain from a recording.
    let graphs = (device.backend() == Backend::Cuda).then(Graphs::default);
    Ok(Box::new(LayersEngine { graphs, kernels, arrays }))
}

/// Device memory of the engine: the network's parameters, and the activations between its layers.
///
/// # Errors
/// Errors of the driver.
pub(in crate::azero) fn memory(
    device: &Device,
    shape: NetworkShape,
    precision: Precision,
    capacity: usize,
) -> Result<Memory> {
    // A precision that kernels do not have is refused before.
    let Some(format) = Format::of(precision) else { return Ok(Memory::default()) };
    Ok(Arrays::memory(&shape, format, convolutions(device, &shape, format, capacity)?, capacity))
}

/// Who computes the convolutions of so many positions: [`tile`](crate::tile) in 16 bits, where it has kernels and the cells of all positions are not more than a product has rows.
fn convolutions(device: &Device, shape: &NetworkShape, format: Format, capacity: usize) -> Result<Convolutions> {
    let precision = match format {
        Format::Bf16 => Precision::Bf16,
        Format::Fp16 => Precision::F16,
        Format::Fp32 | Format::Tf32 => return Ok(Convolutions::Own),
    };
    let fits = capacity.saturating_mul(shape.cells()) <= MAX_SIZE as usize;
    Ok(if fits && Engine::convolves(device, precision)? { Convolutions::Tile } else { Convolutions::Own })
}

/// # Errors
/// [`Error::Option`] if `precision` needs tensor cores of compute capability 8.0 that the device lacks, or is for the CPU alone. `simt` emulates these tensor cores.
fn format(device: &Device, precision: Precision) -> Result<Format> {
    let (major, minor) = device.info()?.compute_capability.unwrap_or((8, 0));
    let allowed = || format!("f32 on {}, whose compute capability is {major}.{minor}, below 8.0", device.name());
    match Format::of(precision) {
        None => Err(Error::option("precision", precision, "f32, tf32, bf16 or f16 with kernels")),
        Some(format) if major < 8 && format != Format::Fp32 => Err(Error::option("precision", precision, allowed())),
        Some(format) => Ok(format),
    }
}

struct LayersEngine {
    /// Recorded launches; `None` if launches run synchronously.
    graphs: Option<Graphs>,
    kernels: Kernels,
    arrays: Arrays,
}

impl LayersEngine {
    fn check(&self, inputs: &Inputs, n: usize) -> Result<()> {
        self.arrays.check(n)?;
        inputs.check(self.arrays.shape, n)
    }
}

/// All launches of an evaluation.
fn launch_all(
    kernels: &Kernels,
    arrays: &mut Arrays,
    stream: &Stream,
    inputs: &Inputs,
    n: usize,
    outputs: &mut Outputs,
) -> Result<()> {
    for conv in convs(arrays.shape.depth) {
        kernels.conv(stream, arrays, inputs, n, conv)?;
    }
    kernels.heads(stream, arrays, inputs, n, Some(outputs))
}

/// The convolutions of the tower in order.
fn convs(depth: u32) -> impl Iterator<Item = Conv> {
    let blocks = (0..depth as usize).flat_map(|block| [Conv::First(block), Conv::Second(block)]);
    std::iter::once(Conv::Input).chain(blocks)
}

impl Evaluate for LayersEngine {
    fn enqueue(&mut self, stream: &Stream, inputs: &Inputs, n: usize, outputs: &mut Outputs) -> Result<()> {
        self.check(inputs, n)?;
        outputs.check(self.arrays.shape, n)?;
        let Self { graphs, kernels, arrays, .. } = self;
        match graphs {
            // Inside another recording the launches become part of it.
            Some(graphs) if !stream.is_capturing() => {
                let graph = graphs.get(stream, inputs, n, outputs, |stream, outputs| {
                    launch_all(kernels, arrays, stream, inputs, n, outputs)
                })?;
                stream.launch_graph(graph)
            }
            _ => launch_all(kernels, arrays, stream, inputs, n, outputs),
        }
    }

    fn weights(&self) -> Option<crate::L2Span> {
        Some(self.arrays.weights())
    }

    fn blocks(&mut self, stream: &Stream, inputs: &Inputs, n: usize) -> Result<Vec<BlockOutput>> {
        self.check(inputs, n)?;
        let Self { kernels, arrays, .. } = self;
        let shape = arrays.shape;
        let mut found = Vec::new();
        for conv in convs(shape.depth) {
            kernels.conv(stream, arrays, inputs, n, conv)?;
            let (name, buffer) = match conv {
                Conv::Input => ("input".into(), &arrays.features),
                Conv::First(block) => (format!("torso_{block}_mid"), &arrays.middle),
                Conv::Second(block) => (format!("torso_{block}"), &arrays.features),
            };
            let mut words = vec![0; n * arrays.n_features()];
            stream.read_into(buffer, 0, &mut words)?;
            let values = arrays.format.unpack(&words, shape.width, shape.cells());
            found.push(BlockOutput { name, values });
        }
        kernels.heads(stream, arrays, inputs, n, None)?;
        let (cells, value_filters) = (shape.cells(), shape.value_filters as usize);
        let line = (value_filters + shape.policy_filters as usize) * cells;
        let mut planes = vec![0.0; n * line];
        stream.read_into(&arrays.planes, 0, &mut planes)?;
        let of = |range: std::ops::Range<usize>| {
            planes.chunks_exact(line).flat_map(|own| &own[range.clone()]).copied().collect()
        };
        found.push(BlockOutput { name: "value_head_plane".into(), values: of(0..value_filters * cells) });
        found.push(BlockOutput { name: "policy_head_planes".into(), values: of(value_filters * cells..line) });
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_cells_than_a_product_has_rows_are_convolved_by_own_kernels() -> Result<()> {
        let (device, shape) = (Device::simt(), NetworkShape::default());
        let most = MAX_SIZE as usize / shape.cells();
        for format in [Format::Bf16, Format::Fp16] {
            assert_eq!(convolutions(&device, &shape, format, most)?, Convolutions::Tile);
            assert_eq!(convolutions(&device, &shape, format, most + 1)?, Convolutions::Own);
            assert_eq!(convolutions(&device.with_capability(8, 0)?, &shape, format, 1)?, Convolutions::Own);
        }
        assert_eq!(convolutions(&device, &shape, Format::Tf32, 1)?, Convolutions::Own);
        Ok(())
    }
}
