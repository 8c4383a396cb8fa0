//! Where a network's arrays lie on the device, and which tiles work on them: pure arithmetic.

use warpplay_gpu::azero::train::line_length;
use warpplay_gpu::azero::train::narrow::OUTPUTS;
use warpplay_gpu::azero::train::product::{LARGE, SMALL, Tiles};
use warpplay_gpu::azero::train::short::short_line;
use warpplay_gpu::tile::images::COLUMNS;

use crate::azero::NetworkShape;
use crate::azero::network::{Network, Norm};
use crate::tile::Tile;
use crate::tile::core::MAX_SIZE;
use crate::{Error, Precision, Result};

/// Maximum number of steps between two synchronisations with the device.
pub(in crate::azero::train) const STEPS_AT_ONCE: usize = 64;
/// Number of blocks that a gradient's product should have, if its pixels can be divided: as many as the multiprocessors of a large GPU (132) hold at once. It is a constant,
/// so that results do not depend on the device.
const LARGE_BLOCKS: u32 = 264;
const SMALL_BLOCKS: u32 = 528;
/// Minimum number of pixels of a part, and those of a layer with four outputs.
const LEAST_PART: u32 = 256;
const NARROW_PART: u32 = 128;
/// Minimum numbers of rows and columns of a product with large tiles.
const LEAST_LARGE: (u32, u32) = (512, 72);
/// Least number of blocks of large tiles, half of the multiprocessors of a large GPU: 16 blocks of a linear layer of 1,024 rows took 34 µs on an H200.
const LEAST_LARGE_BLOCKS: u32 = 64;

/// Largest number of values of a patch: four slabs of 64.
const MOST_PATCH: u32 = 256;

/// Blocks that a gradient of filters by `tile` should have, rows and columns of the tiles that most have and the depth that their parts are multiples of: one block for each multiprocessor of a large GPU.
const TILE_BLOCKS: u32 = 132;
const TILE: [u32; 2] = Tile::Rows128Columns192.size();
// Nine taps of whole rectangles of columns are whole tiles.
const _: () = assert!((9 * COLUMNS).is_multiple_of(TILE[1]));
const TILE_DEPTH: u32 = 64;

/// What convolutions by `tile` read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// bfloat16.
    Bfloat16,
    /// Numbers in so many parts of half precision, each array with its scale.
    Half { parts: u32 },
}

impl Operands {
    /// Parts of a number.
    pub const fn parts(self) -> u32 {
        match self {
            Self::Bfloat16 => 1,
            Self::Half { parts } => parts,
        }
    }

    /// Whether they are of half precision.
    pub const fn is_half(self) -> bool {
        matches!(self, Self::Half { .. })
    }

    /// The precision of the products.
    pub const fn precision(self) -> Precision {
        match self {
            Self::Bfloat16 => Precision::Bf16,
            Self::Half { .. } => Precision::F16,
        }
    }
}

/// A convolution or linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProductPlan {
    /// Channels and taps of the network's own tensor.
    n_channels: u32,
    n_taps: u32,
    n_units: u32,
    /// Offset of weights and bias among the parameters.
    pub weights: u32,
    pub bias: u32,
    /// Lines of values of a position, rows of its board, side of the kernel, and number of channels that the kernels use.
    pub lines: u32,
    pub rows: u32,
    pub side: u32,
    pub n_inputs: u32,
    pub n_outputs: u32,
    /// Tiles of each of the three products.
    pub forward: Tiles,
    pub backward: Tiles,
    pub gradient: Tiles,
    /// Number of parts of the gradient, and pixels of each.
    pub n_parts: u32,
    pub part: u32,
    /// Whether the bias has a gradient.
    pub with_bias: bool,
    /// Whether it is a convolution of `tile` that reads observations with all squares around each: a product of matrices.
    pub has_patches: bool,
    /// Where it is a convolution of `tile`, the columns of its gradient's parts; what [`n_parts`](Self::n_parts) and [`part`](Self::part) say is of those.
    pub tile_columns: Option<u32>,
}

impl ProductPlan {
    /// Whether its outputs are one quad and its taps one: then its kernels are those of such layers.
    pub const fn is_narrow(&self) -> bool {
        self.side == 1 && self.n_outputs == OUTPUTS
    }

    /// Number of weights.
    pub fn n_weights(&self) -> u32 {
        self.side * self.side * self.n_inputs * self.n_outputs
    }

    /// Rows of the gradient.
    pub fn gradient_rows(&self) -> u32 {
        self.side * self.side * self.n_inputs + if self.with_bias { 4 } else { 0 }
    }

    /// Values of one part of the gradient.
    pub fn part_values(&self) -> u32 {
        self.gradient_rows() * self.n_outputs
    }

    /// Values of all parts of the gradient.
    pub fn parts_values(&self) -> usize {
        let part = match self.tile_columns {
            Some(columns) => self.n_outputs as usize * (self.side * self.side * columns) as usize,
            None => self.part_values() as usize,
        };
        part * self.n_parts as usize
    }

    /// Offset of the weight `[unit][channel · taps + tap]` among the device's weights.
    fn at(&self, unit: usize, input: usize) -> usize {
        let (taps, n_outputs) = (self.n_taps as usize, self.n_outputs as usize);
        let channels = line_length(self.n_channels) as usize;
        self.weights as usize + (input % taps * channels + input / taps) * n_outputs + unit
    }
}

/// A norm. All its arrays begin at the same offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NormPlan {
    /// Channels of the network's own tensors, and the number that the kernels use.
    n_channels: u32,
    pub channels: u32,
    /// Offset of the norm's weight and bias among the parameters.
    pub weight: u32,
    pub bias: u32,
    /// Offset of mean and variance, two lines, among the running statistics.
    pub running: u32,
}

/// The whole network.
///
/// Products in order: the input's convolution, two for each block of the torso, the value's, the policy's; then the value's first and second linear layer,
/// the policy's. Norm `k` follows convolution `k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub shape: NetworkShape,
    /// Positions of a step.
    pub batch: u32,
    /// Where convolutions of 3 × 3 are those of `tile`, what they read.
    pub operands: Option<Operands>,
    pub products: Vec<ProductPlan>,
    pub norms: Vec<NormPlan>,
    /// Number of parameters, and number of those with the L2 term, which come first.
    pub n_values: u32,
    pub n_decayed: u32,
    /// Number of running statistics.
    pub n_running: u32,
    /// Number of values of the largest gradient that is computed in parts, or of those of both heads' convolutions together.
    pub n_part_values: usize,
}

/// A layer in the network's own form.
struct Layer {
    n_channels: u32,
    n_taps: u32,
    n_units: u32,
    /// Whether it is a linear layer, of boards of one square.
    linear: bool,
}

fn layers(shape: NetworkShape) -> Vec<Layer> {
    let cells = shape.rows * shape.columns;
    let conv = |n_channels, n_units, n_taps| Layer { n_channels, n_taps, n_units, linear: false };
    let linear = |n_channels, n_taps, n_units| Layer { n_channels, n_taps, n_units, linear: true };
    let mut layers = vec![conv(shape.planes, shape.width, 9)];
    layers.extend((0..2 * shape.depth).map(|_| conv(shape.width, shape.width, 9)));
    layers.push(conv(shape.width, shape.value_filters, 1));
    layers.push(conv(shape.width, shape.policy_filters, 1));
    layers.push(linear(shape.value_filters, cells, shape.value_hidden));
    layers.push(linear(shape.value_hidden, 1, 1));
    layers.push(linear(shape.policy_filters, cells, shape.actions));
    layers
}

impl Plan {
    /// # Errors
    /// [`Error::Shape`] for a network and a batch that the kernels' 32-bit offsets cannot hold.
    pub fn new(shape: NetworkShape, batch: u32, operands: Option<Operands>) -> Result<Self> {
        let pixels = u64::from(batch) * shape.cells() as u64;
        let in_tiles = operands.is_some();
        let most = if in_tiles { MAX_SIZE } else { 1 << 30 };
        if pixels > most.into() {
            return Err(Error::shape("squares of a batch", format!("at most {most}"), pixels));
        }
        let layers = layers(shape);
        for layer in &layers {
            let line = |n: u32| u64::from(line_length(n));
            let weights = u64::from(layer.n_taps) * line(layer.n_channels) * line(layer.n_units);
            // Parts of a gradient, and the values of a batch, are counted in 32 bits too.
            let most = weights.saturating_mul(2).max(pixels * line(layer.n_channels).max(line(layer.n_units)) / 4);
            if most > 1 << 31 {
                return Err(Error::shape("values of a layer", format!("at most {}", 1u32 << 31), most));
            }
        }
        let n_convs = layers.len() - 3;
        let mut offset = 0u64;
        let mut take = |n: u32| {
            let at = offset;
            offset += u64::from(n);
            // What does not fit is found below.
            at as u32
        };
        let of = layers.iter().enumerate().map(|(number, layer)| {
            let has_patches = in_tiles && number == 0 && fits_in_patches(layer);
            product(shape, batch, layer, (in_tiles, has_patches), &mut take)
        });
        let mut products: Vec<_> = of.collect();
        let n_decayed = products.iter().map(|product| u64::from(product.n_weights())).sum::<u64>();
        for product in &mut products {
            product.bias = take(product.n_outputs);
        }
        let mut running = 0;
        let norms = layers[..n_convs].iter().map(|layer| {
            let channels = line_length(layer.n_units);
            let (weight, bias) = (take(channels), take(channels));
            let norm = NormPlan { n_channels: layer.n_units, channels, weight, bias, running };
            running += 2 * channels;
            norm
        });
        let norms: Vec<_> = norms.collect();
        // Values of all parts of the filters, with lines up to twice as long, are counted in 32 bits too.
        let most = operands.map_or(1 << 31, |operands| (1 << 30) / u64::from(operands.parts()));
        if offset > most {
            return Err(Error::shape("parameters of the network", format!("at most {most}"), offset));
        }
        // Those of both heads' convolutions may be there at a time.
        let of_heads = products[n_convs - 2..n_convs].iter().map(ProductPlan::parts_values).sum();
        let n_part_values = products.iter().map(ProductPlan::parts_values).fold(of_heads, usize::max);
        let (n_values, n_decayed) = (offset as u32, n_decayed as u32);
        Ok(Self { shape, batch, operands, products, norms, n_values, n_decayed, n_running: running, n_part_values })
    }

    /// Squares of a batch.
    pub fn pixels(&self) -> u32 {
        self.batch * self.shape.cells() as u32
    }

    /// Number of blocks of convolution, norm and ReLU; the last two belong to the heads.
    pub fn n_blocks(&self) -> usize {
        self.norms.len()
    }

    /// The last block before those of the heads.
    pub fn last(&self) -> usize {
        self.n_blocks() - 3
    }

    /// Whether both heads' convolutions have one quad of outputs: then they are one launch.
    pub fn has_narrow_heads(&self) -> bool {
        self.products[self.last() + 1..self.n_blocks()].iter().all(ProductPlan::is_narrow)
    }

    /// Whether the heads read the torso's output in bfloat16, and make the gradient by it so.
    pub fn has_short_heads(&self) -> bool {
        self.is_short() && self.has_narrow_heads()
    }

    /// The block whose output is added to a block's: that of every second convolution of the torso has the input of the first.
    pub fn residual(&self, block: usize) -> Option<usize> {
        (block > 0 && block <= self.last() && block.is_multiple_of(2)).then(|| block - 2)
    }

    /// Whether all values of the blocks up to the [last](Self::last) are bfloat16, and the gradients by them, as convolutions read them.
    pub fn is_short(&self) -> bool {
        self.operands == Some(Operands::Bfloat16)
    }

    /// Whether the threads of a block's norm have eight channels each: where its values are bfloat16, and as many follow each other.
    pub fn norm_in_octets(&self, block: usize) -> bool {
        let is_short = self.is_short() && self.products[block].tile_columns.is_some();
        is_short && self.norms[block].channels.is_multiple_of(8)
    }

    /// Whether a block's convolution makes the moments of its outputs: where it is one of `tile`, and they are in whole vectors of 16 bytes.
    pub fn has_moments(&self, block: usize) -> bool {
        self.products[block].tile_columns.is_some() && (!self.is_short() || self.norm_in_octets(block))
    }

    /// Whether a block's values before its norm are held in single precision.
    pub fn keeps_before(&self, block: usize) -> bool {
        !self.is_short() || block > self.last()
    }

    /// Whether the outputs of a block are held in single precision: where they are not in parts alone, but a residual or read by the heads.
    pub fn keeps_output(&self, block: usize) -> bool {
        let last = self.last();
        let is_read = block > last || block == last && !self.has_short_heads();
        self.operands.is_none() || is_read || !self.is_short() && block.is_multiple_of(2)
    }

    /// Parameters and running statistics of a network in the device's layout.
    pub fn to_device(&self, network: &Network) -> (Vec<f32>, Vec<f32>) {
        let mut values = vec![0.0; self.n_values as usize];
        let mut running = vec![0.0; self.n_running as usize];
        for (plan, (weight, bias)) in self.products.iter().zip(affine(network)) {
            let fan_in = (plan.n_channels * plan.n_taps) as usize;
            for (unit, row) in weight.chunks_exact(fan_in).enumerate() {
                for (input, &value) in row.iter().enumerate() {
                    values[plan.at(unit, input)] = value;
                }
            }
            values[plan.bias as usize..][..bias.len()].copy_from_slice(bias);
        }
        for (plan, norm) in self.norms.iter().zip(norms(network)) {
            let n = plan.n_channels as usize;
            values[plan.weight as usize..][..n].copy_from_slice(&norm.weight);
            values[plan.bias as usize..][..n].copy_from_slice(&norm.bias);
            running[plan.running as usize..][..n].copy_from_slice(&norm.mean);
            running[(plan.running + plan.channels) as usize..][..n].copy_from_slice(&norm.variance);
        }
        (values, running)
    }

    /// Makes a network from the device's arrays; without `running` its statistics are 0. The meaning of observation and value is that of `like`.
    pub fn to_network(&self, like: &Network, values: &[f32], running: Option<&[f32]>) -> Network {
        let mut network = like.clone();
        for (plan, (weight, bias)) in self.products.iter().zip(affine_mut(&mut network)) {
            let fan_in = (plan.n_channels * plan.n_taps) as usize;
            for (unit, row) in weight.chunks_exact_mut(fan_in).enumerate() {
                for (input, value) in row.iter_mut().enumerate() {
                    *value = values[plan.at(unit, input)];
                }
            }
            let n = bias.len();
            bias.copy_from_slice(&values[plan.bias as usize..][..n]);
        }
        for (plan, norm) in self.norms.iter().zip(norms_mut(&mut network)) {
            let n = plan.n_channels as usize;
            norm.weight.copy_from_slice(&values[plan.weight as usize..][..n]);
            norm.bias.copy_from_slice(&values[plan.bias as usize..][..n]);
            match running {
                Some(running) => {
                    norm.mean.copy_from_slice(&running[plan.running as usize..][..n]);
                    norm.variance.copy_from_slice(&running[(plan.running + plan.channels) as usize..][..n]);
                }
                None => {
                    norm.mean.fill(0.0);
                    norm.variance.fill(0.0);
                }
            }
        }
        network
    }
}

/// Whether a first convolution of 3 × 3 should read patches: with few planes the depth of a patch is less than half of that of a convolution, which is a slab for each tap, filled up with zeros.
fn fits_in_patches(layer: &Layer) -> bool {
    layer.n_taps * short_line(layer.n_channels) <= MOST_PATCH
}

fn product(
    shape: NetworkShape,
    batch: u32,
    layer: &Layer,
    (in_tiles, has_patches): (bool, bool),
    take: &mut impl FnMut(u32) -> u32,
) -> ProductPlan {
    let cells = shape.rows * shape.columns;
    let channels = line_length(layer.n_channels);
    let n_outputs = line_length(layer.n_units);
    let pixels = if layer.linear { batch } else { batch * cells };
    let side = if layer.n_taps == 9 && !layer.linear { 3 } else { 1 };
    let n_inputs = if layer.linear { channels * layer.n_taps } else { channels };
    let gradient_rows = side * side * n_inputs + if layer.linear { 4 } else { 0 };
    let tiles = |rows: u32, cols: u32| if rows >= LEAST_LARGE.0 && cols >= LEAST_LARGE.1 { LARGE } else { SMALL };
    let tiles_of_result = |rows: u32, cols: u32| {
        let blocks = rows.div_ceil(LARGE.rows) * cols.div_ceil(LARGE.cols);
        if blocks >= LEAST_LARGE_BLOCKS { tiles(rows, cols) } else { SMALL }
    };
    // The gradient's depth is the pixels: with few of them small tiles give more blocks.
    let gradient = if pixels >= LEAST_LARGE.0 { tiles(gradient_rows, n_outputs) } else { SMALL };
    let blocks = if gradient == LARGE { LARGE_BLOCKS } else { SMALL_BLOCKS };
    let n_tiles = gradient_rows.div_ceil(gradient.rows) * n_outputs.div_ceil(gradient.cols);
    let tile_columns = (in_tiles && side == 3).then(|| match has_patches {
        true => short_line(channels),
        false => channels.next_multiple_of(COLUMNS),
    });
    let (parts, least, depth) = match tile_columns {
        Some(columns) => {
            let tiles = n_outputs.div_ceil(TILE[0]) * (side * side * columns).div_ceil(TILE[1]);
            (TILE_BLOCKS / tiles, LEAST_PART, TILE_DEPTH)
        }
        // A block of such a layer goes through its pixels one after the other.
        None if side == 1 && n_outputs == OUTPUTS => (u32::MAX, NARROW_PART, gradient.depth),
        None => (blocks / n_tiles, LEAST_PART, gradient.depth),
    };
    let part = pixels.div_ceil(parts.clamp(1, pixels.div_ceil(least))).next_multiple_of(depth);
    ProductPlan {
        n_channels: layer.n_channels,
        n_taps: layer.n_taps,
        n_units: layer.n_units,
        weights: take(side * side * n_inputs * n_outputs),
        bias: 0,
        lines: if layer.linear { 1 } else { cells },
        rows: if layer.linear { 1 } else { shape.rows },
        side,
        n_inputs,
        n_outputs,
        forward: tiles_of_result(pixels, n_outputs),
        backward: tiles_of_result(pixels, n_inputs),
        gradient,
        n_parts: pixels.div_ceil(part),
        part,
        with_bias: layer.linear,
        has_patches,
        tile_columns,
    }
}

/// Weights and biases of all products, in the plan's order.
fn affine(network: &Network) -> Vec<(&[f32], &[f32])> {
    let mut list: Vec<(&[f32], &[f32])> = vec![(&network.input_conv.weight, &network.input_conv.bias)];
    for block in &network.torso {
        list.push((&block.conv_1.weight, &block.conv_1.bias));
        list.push((&block.conv_2.weight, &block.conv_2.bias));
    }
    list.push((&network.value_conv.weight, &network.value_conv.bias));
    list.push((&network.policy_conv.weight, &network.policy_conv.bias));
    list.push((&network.value_linear_1.weight, &network.value_linear_1.bias));
    list.push((&network.value_linear_2.weight, &network.value_linear_2.bias));
    list.push((&network.policy_linear.weight, &network.policy_linear.bias));
    list
}

fn affine_mut(network: &mut Network) -> Vec<(&mut [f32], &mut [f32])> {
    let mut list: Vec<(&mut [f32], &mut [f32])> = vec![(&mut network.input_conv.weight, &mut network.input_conv.bias)];
    for block in &mut network.torso {
        list.push((&mut block.conv_1.weight, &mut block.conv_1.bias));
        list.push((&mut block.conv_2.weight, &mut block.conv_2.bias));
    }
    list.push((&mut network.value_conv.weight, &mut network.value_conv.bias));
    list.push((&mut network.policy_conv.weight, &mut network.policy_conv.bias));
    list.push((&mut network.value_linear_1.weight, &mut network.value_linear_1.bias));
    list.push((&mut network.value_linear_2.weight, &mut network.value_linear_2.bias));
    list.push((&mut network.policy_linear.weight, &mut network.policy_linear.bias));
    list
}

/// Norms in the plan's order.
fn norms(network: &Network) -> Vec<&Norm> {
    let torso = network.torso.iter().flat_map(|block| [&block.norm_1, &block.norm_2]);
    std::iter::once(&network.input_norm).chain(torso).chain([&network.value_norm, &network.policy_norm]).collect()
}

pub(super) fn norms_mut(network: &mut Network) -> Vec<&mut Norm> {
    let torso = network.torso.iter_mut().flat_map(|block| [&mut block.norm_1, &mut block.norm_2]);
    let heads = [&mut network.value_norm, &mut network.policy_norm];
    std::iter::once(&mut network.input_norm).chain(torso).chain(heads).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azero::{ObservationLayout, ValueOf};

    #[test]
    fn a_network_comes_back_from_the_device_as_it_was() {
        let shape = NetworkShape {
            rows: 3,
            columns: 5,
            planes: 5,
            width: 6,
            depth: 2,
            value_filters: 3,
            actions: 7,
            ..NetworkShape::default()
        };
        let network = Network::seeded(shape, 5).unwrap().with_meaning(ObservationLayout::Legacy, ValueOf::Mover);
        let plan = Plan::new(shape, 9, None).unwrap();
        let (values, running) = plan.to_device(&network);
        assert_eq!(plan.to_network(&network, &values, Some(&running)), network);
        let filled = values.iter().chain(&running).filter(|value| **value != 0.0).count();
        let mut expected = 0;
        network.visit(|_, _, values| expected += values.iter().filter(|value| **value != 0.0).count());
        assert_eq!(filled, expected);
        assert!(plan.n_decayed < plan.n_values && plan.products.iter().all(|p| p.weights % 4 == 0 && p.bias % 4 == 0));
    }

    #[test]
    fn the_default_networks_torso_has_large_tiles_in_large_batches_and_all_parts_are_covered() {
        for batch in [2, 16, 100, 1024, 8192] {
            for operands in [None, Some(Operands::Half { parts: 2 }), Some(Operands::Bfloat16)] {
                let plan = Plan::new(NetworkShape::default(), batch, operands).unwrap();
                assert!(batch < 16 || plan.products[1].gradient == LARGE);
                assert_eq!(plan.products[1].forward == LARGE, batch >= 128);
                for product in &plan.products {
                    let pixels = batch * if product.with_bias { 1 } else { 64 };
                    assert!(product.n_parts * product.part >= pixels && (product.n_parts - 1) * product.part < pixels);
                }
            }
        }
    }
}
