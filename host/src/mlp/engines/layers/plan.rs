//! Where a network's arrays lie on the device, and which kernels work on them: pure arithmetic.

use warpplay_gpu::mlp::layers::parts;
use warpplay_gpu::mlp::layers::product::{LARGE, SMALL, Tiles};
use warpplay_gpu::mlp::layers::view::line_length;

use crate::mlp::state::LayerValues;
use crate::{Error, Result};

/// Minimum number of samples of a part of the batch, in multiples of a tile's depth.
const LEAST_PART: u32 = 4;

/// Minimum number of rows and columns of a product with large tiles.
const LEAST_LARGE: u32 = 96;
/// Minimum number of multiplications of a product with large tiles.
const LEAST_WORK: u64 = 1 << 26;

/// What a block of a product of [`tile`](crate::tile) makes at a time, as far as divisions of the depth go.
const TILE: Tiles = Tiles { rows: 128, cols: 128, depth: 64, threads: 384 };
/// Number of blocks that such a product should have: the multiprocessors of a large GPU.
const TILE_BLOCKS: u32 = 132;

/// Which products a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Products {
    /// Those of [`tile`](crate::tile): compute capability 8.0 and above.
    Tile,
    /// Those of the family's own, in single precision.
    Single,
}

/// The form of a product's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Single precision, large tiles.
    Large,
    /// Single precision, small tiles.
    Small,
}

impl Form {
    fn tiles(self) -> Tiles {
        match self {
            Self::Large => LARGE,
            Self::Small => SMALL,
        }
    }

    /// Number of blocks that a gradient's product should have, if its batch can be divided: as many as the multiprocessors of a large GPU (132) hold at once. It is a
    /// constant, so that results do not depend on the device.
    fn blocks(self) -> u32 {
        match self {
            Self::Large => 264,
            Self::Small => 1056,
        }
    }

    /// The form for a result of `n_rows` x `n_cols` with a sum over `depth`: large tiles if they are filled and numerous enough.
    fn choose(n_rows: u32, n_cols: u32, depth: u32) -> Self {
        let work = u64::from(n_rows) * u64::from(n_cols) * u64::from(depth);
        if n_rows.min(n_cols) >= LEAST_LARGE && work >= LEAST_WORK { Self::Large } else { Self::Small }
    }
}

/// One layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerPlan {
    pub n_inputs: u32,
    pub n_outputs: u32,
    /// Index of its first parameter among all.
    pub parameters: usize,
    /// Its parameters: `n_inputs + 1` lines.
    pub n_values: u32,
    /// Index of its first parameter among those in parts of 16 bits.
    pub short: usize,
    /// Index of the first value of its gradient's parts among all.
    pub parts: usize,
    /// Number of parts of the batch, whose gradients the update adds up.
    pub n_parts: u32,
    /// Samples of a part.
    pub part: u32,
    pub forward: Form,
    pub backward: Form,
    pub gradient: Form,
}

impl LayerPlan {
    /// Values of a line of its outputs and parameters.
    pub const fn line(&self) -> u32 {
        line_length(self.n_outputs)
    }
}

/// All layers.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub products: Products,
    pub layers: Vec<LayerPlan>,
    /// Number of parameters of all layers, including the unused ends of lines.
    pub n_values: usize,
    /// Number of parameters of all layers in a part of 16 bits, including the unused ends of lines.
    pub n_short_values: usize,
    /// Values of all parts.
    pub n_part_values: usize,
    /// Quads of parameters of all layers, including the unused ends of lines.
    pub n_quads: u32,
}

impl Plan {
    /// The plan for batches of `batch` samples.
    pub fn new(sizes: &[u32], batch: u32, products: Products) -> Result<Self> {
        let mut plan =
            Self { products, layers: Vec::new(), n_values: 0, n_short_values: 0, n_part_values: 0, n_quads: 0 };
        for (number, size) in sizes.windows(2).enumerate() {
            let [n_inputs, n_outputs] = [size[0], size[1]];
            let n_values = u64::from(n_inputs + 1) * u64::from(line_length(n_outputs));
            let n_values = u32::try_from(n_values).map_err(|_| {
                Error::shape(format!("parameters of layer {}", number + 1), format!("at most {}", u32::MAX), n_values)
            })?;
            let gradient = Form::choose(n_inputs + 1, n_outputs, batch);
            let (tiles, most_blocks) = match products {
                Products::Tile => (TILE, TILE_BLOCKS),
                Products::Single => (gradient.tiles(), gradient.blocks()),
            };
            let Tiles { rows, cols, depth, .. } = tiles;
            let blocks = (n_inputs + 1).div_ceil(rows) * n_outputs.div_ceil(cols);
            let wanted = (most_blocks / blocks).clamp(1, batch.div_ceil(depth * LEAST_PART));
            let part = batch.div_ceil(wanted).next_multiple_of(depth);
            let n_parts = batch.div_ceil(part);
            plan.layers.push(LayerPlan {
                n_inputs,
                n_outputs,
                parameters: plan.n_values,
                n_values,
                short: plan.n_short_values,
                parts: plan.n_part_values,
                n_parts,
                part,
                forward: Form::choose(batch, n_outputs, n_inputs),
                backward: Form::choose(batch, n_inputs, n_outputs),
                gradient,
            });
            plan.n_values += n_values as usize;
            plan.n_short_values += (n_inputs + 1) as usize * parts::line_length(n_outputs) as usize;
            plan.n_part_values += n_values as usize * n_parts as usize;
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

    /// Converts the layers' values, rows without unused ends, to the layout of the kernels.
    pub fn pack(&self, layers: &[LayerValues]) -> Result<Vec<f32>> {
        if layers.len() != self.layers.len() {
            return Err(Error::shape("layers", self.layers.len(), layers.len()));
        }
        let mut values = vec![0.0; self.n_values];
        for (number, (plan, layer)) in self.layers.iter().zip(layers).enumerate() {
            let n_outputs = plan.n_outputs as usize;
            for (what, got, lines) in
                [("weights", layer.weights.len(), plan.n_inputs as usize), ("bias", layer.bias.len(), 1)]
            {
                if got != lines * n_outputs {
                    return Err(Error::shape(format!("{what} of layer {}", number + 1), lines * n_outputs, got));
                }
            }
            let rows = layer.weights.chunks_exact(n_outputs).chain([&layer.bias[..]]);
            let lines = values[plan.parameters..].chunks_exact_mut(line_length(plan.n_outputs) as usize);
            for (line, row) in lines.zip(rows) {
                for (to, &from) in line.iter_mut().zip(row) {
                    *to = from as f32;
                }
            }
        }
        Ok(values)
    }

    /// Converts the kernels' values to layers.
    pub fn unpack(&self, values: &[f32]) -> Vec<LayerValues> {
        let of_layer = |plan: &LayerPlan| {
            let ld = line_length(plan.n_outputs) as usize;
            let own = &values[plan.parameters..][..plan.n_values as usize];
            let row = |line: &[f32]| line[..plan.n_outputs as usize].iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let (weights, bias) = own.split_at(plan.n_inputs as usize * ld);
            LayerValues { weights: weights.chunks_exact(ld).flat_map(row).collect(), bias: row(bias) }
        };
        self.layers.iter().map(of_layer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_batch_and_values_survive_packing() {
        for (sizes, batch) in
            [(vec![784, 256, 10], 8192), (vec![13, 9, 5], 7), (vec![20, 3], 1), (vec![5, 130, 2], 1000)]
        {
            let plan_of = |products| Plan::new(&sizes, batch, products).unwrap();
            for plan in [Products::Tile, Products::Single].map(plan_of) {
                for layer in &plan.layers {
                    assert!(layer.part * layer.n_parts >= batch && layer.part * (layer.n_parts - 1) < batch);
                    let tiles = if plan.products == Products::Tile { TILE } else { layer.gradient.tiles() };
                    assert_eq!(layer.part % tiles.depth, 0);
                    assert_eq!(
                        (layer.parameters % 4, layer.parts % 4, layer.n_values % 4, layer.short % 8),
                        (0, 0, 0, 0)
                    );
                }
            }
            let plan = plan_of(Products::Tile);
            let layers: Vec<_> = plan
                .layers
                .iter()
                .map(|layer| LayerValues {
                    weights: (0..layer.n_inputs * layer.n_outputs).map(f64::from).collect(),
                    bias: (0..layer.n_outputs).map(|at| -f64::from(at)).collect(),
                })
                .collect();
            assert_eq!(plan.unpack(&plan.pack(&layers).unwrap()), layers);
        }
    }
}
