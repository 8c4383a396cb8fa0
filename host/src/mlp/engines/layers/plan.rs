//! Where a network's arrays lie on the device: pure arithmetic.

use warpplay_gpu::mlp::layers::parts;
use warpplay_gpu::mlp::layers::view::line_length;

use crate::mlp::state::LayerValues;
use crate::{Error, Result};

/// Rows and columns that a block of a product of [`tile`](crate::tile) makes at a time, as far as divisions of the depth go.
const TILE: u32 = 128;
/// Depths of a division are a multiple of this: of slabs in every format.
const DEPTH: u32 = 64;
/// Number of blocks that a gradient's product should have, if its batch can be divided: the multiprocessors of a large GPU. It is a constant, so that results do not depend on the device.
const BLOCKS: u32 = 132;
/// Minimum number of samples of a part of the batch, in multiples of [`DEPTH`].
const LEAST_PART: u32 = 4;

/// What is between a hidden layer's sums and its activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Norm {
    Layer,
    Batch,
}

/// One layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerPlan {
    pub n_inputs: u32,
    pub n_outputs: u32,
    /// Index of its first parameter among all.
    pub parameters: usize,
    /// Its parameters: `n_inputs + 1` lines, and two more with a norm behind it.
    pub n_values: u32,
    /// The norm behind it.
    pub norm: Option<Norm>,
    /// Index of its first parameter among those in parts of 16 bits.
    pub short: usize,
    /// Index of the first value of its gradient's parts among all.
    pub parts: usize,
    /// Number of parts of the batch, whose gradients the update adds up.
    pub n_parts: u32,
    /// Samples of a part.
    pub part: u32,
}

impl LayerPlan {
    /// Values of a line of its outputs and parameters.
    pub const fn line(&self) -> u32 {
        line_length(self.n_outputs)
    }

    /// Where its gains are among its parameters; a line behind are its shifts.
    pub const fn gains(&self) -> usize {
        (self.n_inputs as usize + 1) * self.line() as usize
    }
}

/// All layers.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub layers: Vec<LayerPlan>,
    /// Number of parameters of all layers, including the unused ends of lines.
    pub n_values: usize,
    /// Number of parameters of all layers in a part of 16 bits, including the unused ends of lines.
    pub n_short_values: usize,
    /// Values of all parts.
    pub n_part_values: usize,
    /// Quads of parameters of all layers, including the unused ends of lines.
    pub n_quads: u32,
    /// Whether the products of gradients update the parameters: then gradients have no parts.
    pub updates: bool,
}

/// Nanoseconds of a slab of the depth of a tile of [`TILE`] × [`TILE`], of one pair of parts.
const SLAB: u64 = 300;
/// Bytes that an update reads and writes in a nanosecond.
const BYTES: u64 = 4000;
/// Least bytes of gradients, in all of their parts, written and read, for which products update: with fewer, launches are as long either way.
const LEAST_BYTES: u64 = 4 << 20;

impl Plan {
    /// The plan for batches of `batch` samples, with such a norm behind each layer but the last. `pairs`: products of parts that a product of numbers takes, where nothing stands between gradients and their update.
    pub fn new(sizes: &[u32], batch: u32, norm: Option<Norm>, pairs: Option<u32>) -> Result<Self> {
        let mut plan =
            Self { layers: Vec::new(), n_values: 0, n_short_values: 0, n_part_values: 0, n_quads: 0, updates: false };
        for (number, size) in sizes.windows(2).enumerate() {
            let [n_inputs, n_outputs] = [size[0], size[1]];
            let norm = norm.filter(|_| number + 2 < sizes.len());
            let n_lines = n_inputs + 1 + if norm.is_some() { 2 } else { 0 };
            let n_values = u64::from(n_lines) * u64::from(line_length(n_outputs));
            let n_values = u32::try_from(n_values).map_err(|_| {
                Error::shape(format!("parameters of layer {}", number + 1), format!("at most {}", u32::MAX), n_values)
            })?;
            let blocks = (n_inputs + 1).div_ceil(TILE) * n_outputs.div_ceil(TILE);
            let wanted = (BLOCKS / blocks).clamp(1, batch.div_ceil(DEPTH * LEAST_PART));
            let part = batch.div_ceil(wanted).next_multiple_of(DEPTH);
            let n_parts = batch.div_ceil(part);
            plan.layers.push(LayerPlan {
                n_inputs,
                n_outputs,
                parameters: plan.n_values,
                n_values,
                norm,
                short: plan.n_short_values,
                parts: plan.n_part_values,
                n_parts,
                part,
            });
            plan.n_values += n_values as usize;
            plan.n_short_values += n_lines as usize * parts::line_length(n_outputs) as usize;
            plan.n_part_values += n_values as usize * n_parts as usize;
        }
        if pairs.is_some_and(|pairs| norm.is_none() && plan.update_pays(batch, pairs)) {
            plan.updates = true;
            plan.n_part_values = 0;
            for layer in &mut plan.layers {
                (layer.parts, layer.n_parts, layer.part) = (0, 0, batch);
            }
        }
        plan.n_quads =
            u32::try_from(plan.n_values / 4).ok().filter(|&quads| quads <= u32::MAX / 2).ok_or_else(|| {
                Error::shape(
                    "parameters of all layers",
                    format!("at most {}", 4 * u64::from(u32::MAX / 2)),
                    plan.n_values,
                )
            })?;
        Ok(plan)
    }

    /// Whether the products of gradients should update the parameters: whether the parts of gradients, which are then neither written nor read, take longer than what tiles lose whose depth is not divided. The bits depend on it, so it depends on sizes and formats alone, not on the speed of a device. Inputs that are pixels have one part, so the first layer's cost is estimated too high.
    fn update_pays(&self, batch: u32, pairs: u32) -> bool {
        let slabs = |depth: u32| u64::from(depth.div_ceil(DEPTH));
        let tiles = |layer: &LayerPlan| u64::from((layer.n_inputs + 1).div_ceil(TILE) * layer.n_outputs.div_ceil(TILE));
        let all = self.layers.iter().map(tiles).sum::<u64>();
        let whole = all.div_ceil(BLOCKS.into()) * slabs(batch);
        // Blocks take tiles in turn; none is done before its longest.
        let longest = self.layers.iter().map(|layer| slabs(layer.part)).max().unwrap_or(0);
        let divided = (all * slabs(batch)).div_ceil(BLOCKS.into()).max(longest);
        let bytes = 2 * size_of::<f32>() as u64 * self.n_part_values as u64;
        bytes >= LEAST_BYTES && whole.saturating_sub(divided) * SLAB * u64::from(pairs) < bytes / BYTES
    }

    /// Converts the layers' values, rows without unused ends, to the layout of the kernels.
    pub fn pack(&self, layers: &[LayerValues]) -> Result<Vec<f32>> {
        if layers.len() != self.layers.len() {
            return Err(Error::shape("layers", self.layers.len(), layers.len()));
        }
        let mut values = vec![0.0; self.n_values];
        for (number, (plan, layer)) in self.layers.iter().zip(layers).enumerate() {
            let n_outputs = plan.n_outputs as usize;
            let of_norm = usize::from(plan.norm.is_some());
            for (what, got, lines) in [
                ("weights", layer.weights.len(), plan.n_inputs as usize),
                ("bias", layer.bias.len(), 1),
                ("gain", layer.gain.len(), of_norm),
                ("shift", layer.shift.len(), of_norm),
            ] {
                if got != lines * n_outputs {
                    return Err(Error::shape(format!("{what} of layer {}", number + 1), lines * n_outputs, got));
                }
            }
            let norm = [&layer.gain[..], &layer.shift].into_iter().filter(|row| !row.is_empty());
            let rows = layer.weights.chunks_exact(n_outputs).chain([&layer.bias[..]]).chain(norm);
            let lines = values[plan.parameters..].chunks_exact_mut(line_length(plan.n_outputs) as usize);
            for (line, row) in lines.zip(rows) {
                for (to, &from) in line.iter_mut().zip(row) {
                    *to = from as f32;
                }
            }
        }
        Ok(values)
    }

    /// The layers with a batch norm, and where their running means begin among those of all; a line behind are the variances.
    fn running(&self) -> impl Iterator<Item = (usize, &LayerPlan, usize)> {
        let with_norm = self.layers.iter().enumerate().filter(|(_, layer)| layer.norm == Some(Norm::Batch));
        with_norm.scan(0, |next, (number, layer)| {
            let from = *next;
            *next += 2 * layer.line() as usize;
            Some((number, layer, from))
        })
    }

    /// Running means and variances of all layers, including the unused ends of lines.
    pub fn n_running(&self) -> usize {
        self.running().map(|(_, layer, _)| 2 * layer.line() as usize).sum()
    }

    /// Where the running means of layer `number` begin.
    pub fn running_of(&self, number: usize) -> Option<usize> {
        self.running().find(|&(own, ..)| own == number).map(|(.., from)| from)
    }

    /// Converts the layers' running means and variances to the layout of the kernels.
    pub fn pack_running(&self, layers: &[LayerValues]) -> Result<Vec<f32>> {
        let mut values = vec![0.0; self.n_running()];
        for (number, plan, from) in self.running() {
            let line = plan.line() as usize;
            for (what, row, from) in
                [("mean", &layers[number].mean, from), ("variance", &layers[number].variance, from + line)]
            {
                if row.len() != plan.n_outputs as usize {
                    return Err(Error::shape(format!("{what} of layer {}", number + 1), plan.n_outputs, row.len()));
                }
                values[from..].iter_mut().zip(row).for_each(|(to, &from)| *to = from as f32);
            }
        }
        Ok(values)
    }

    /// Converts the kernels' running means and variances to those of the layers.
    pub fn unpack_running(&self, values: &[f32], layers: &mut [LayerValues]) {
        for (number, plan, from) in self.running() {
            let row = |from: usize| values[from..][..plan.n_outputs as usize].iter().map(|&v| f64::from(v)).collect();
            (layers[number].mean, layers[number].variance) = (row(from), row(from + plan.line() as usize));
        }
    }

    /// Converts the kernels' values to layers.
    pub fn unpack(&self, values: &[f32]) -> Vec<LayerValues> {
        let of_layer = |plan: &LayerPlan| {
            let ld = line_length(plan.n_outputs) as usize;
            let own = &values[plan.parameters..][..plan.n_values as usize];
            let row = |line: &[f32]| line[..plan.n_outputs as usize].iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let (weights, rest) = own.split_at(plan.n_inputs as usize * ld);
            let weights = weights.chunks_exact(ld).flat_map(row).collect();
            let mut rest = rest.chunks_exact(ld).map(row);
            let mut next = || rest.next().unwrap_or_default();
            LayerValues { weights, bias: next(), gain: next(), shift: next(), ..LayerValues::default() }
        };
        self.layers.iter().map(of_layer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_networks_are_updated_by_their_gradients() {
        let updates =
            |sizes: &[u32], batch: u32, pairs: u32| Plan::new(sizes, batch, None, Some(pairs)).unwrap().updates;
        assert!(updates(&[784, 1024, 1024, 10], 512, 1));
        assert!(updates(&[784, 4096, 4096, 4096, 4096, 10], 2048, 3));
        // What the tests of large networks train.
        assert!(updates(&[64, 739, 722, 10], 17, 6) && updates(&[144, 700, 660, 10], 20, 1));
        assert!(!updates(&[784, 256, 10], 64, 1), "few parameters");
        // Few tiles of a great depth.
        assert!(!updates(&[784, 256, 10], 8192, 1));
        assert!(!updates(&[784, 1024, 1024, 10], 512, 6));
        let plan = Plan::new(&[784, 1024, 1024, 10], 512, None, Some(1)).unwrap();
        assert_eq!((plan.n_part_values, plan.layers[0].part), (0, 512));
        assert!(!Plan::new(&[784, 1024, 1024, 10], 512, Some(Norm::Batch), Some(1)).unwrap().updates);
        assert!(!Plan::new(&[784, 1024, 1024, 10], 512, None, None).unwrap().updates);
    }

    #[test]
    fn parts_cover_the_batch_and_values_survive_packing() {
        for (sizes, batch, norm) in [
            (vec![784, 256, 10], 8192, Some(Norm::Layer)),
            (vec![13, 9, 5], 7, None),
            (vec![20, 3], 1, Some(Norm::Layer)),
            (vec![5, 130, 7, 2], 1000, Some(Norm::Batch)),
        ] {
            let plan = Plan::new(&sizes, batch, norm, None).unwrap();
            for layer in &plan.layers {
                assert!(layer.part * layer.n_parts >= batch && layer.part * (layer.n_parts - 1) < batch);
                assert_eq!(layer.part % DEPTH, 0);
                assert_eq!((layer.parameters % 4, layer.parts % 4, layer.n_values % 4, layer.short % 8), (0, 0, 0, 0));
            }
            let layers: Vec<_> = plan
                .layers
                .iter()
                .map(|layer| LayerValues {
                    weights: (0..layer.n_inputs * layer.n_outputs).map(f64::from).collect(),
                    bias: (0..layer.n_outputs).map(|at| -f64::from(at)).collect(),
                    gain: (0..layer.n_outputs).filter(|_| layer.norm.is_some()).map(|at| 0.5 * f64::from(at)).collect(),
                    shift: (0..layer.n_outputs)
                        .filter(|_| layer.norm.is_some())
                        .map(|at| 0.25 - f64::from(at))
                        .collect(),
                    ..LayerValues::default()
                })
                .collect();
            assert_eq!(plan.unpack(&plan.pack(&layers).unwrap()), layers);
        }
    }
}
