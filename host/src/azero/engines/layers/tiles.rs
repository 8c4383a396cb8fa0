//! The convolutions of the tower by [`tile`](crate::tile), in formats of 16 bits.

use warpplay_gpu::cuda::tensor_map::TensorMap;

use super::plan::{ConvOffsets, Convolutions, Format};
use crate::azero::NetworkShape;
use crate::runtime::tensor_map::Values;
use crate::tile::Tile;
use crate::tile::core::{Core, Images, Kernels, Lie, Shape, Views};
use crate::{Buffer, In, InOut, Result, Stream};

/// Taps of a filter's row and column.
const SIDE: u32 = 3;

/// All tiles that give the same bits: the number of positions chooses among them.
const TILES: [Tile; 6] = [
    Tile::Rows128Columns256,
    Tile::Rows128Columns192,
    Tile::Rows256Columns128,
    Tile::Rows128Columns128,
    Tile::Rows128Columns64,
    Tile::Rows64Columns64,
];

/// A convolution with each of [`TILES`].
struct Prepared {
    cores: Vec<Core>,
    /// Of input and weights, one of each core.
    maps: Vec<Buffer<TensorMap>>,
}

/// What a convolution works on, all in words of two channels.
pub(super) struct Layer<'a> {
    pub input: In<'a, u32>,
    pub weights: In<'a, f32>,
    pub bias: In<'a, f32>,
    pub residual: In<'a, u32>,
    pub output: InOut<'a, u32>,
}

/// All convolutions of a network, in order.
pub(super) struct Tiles {
    kernels: Kernels,
    convs: Vec<Prepared>,
}

impl Tiles {
    /// Device memory of [`new`](Self::new).
    pub fn bytes(shape: &NetworkShape, convolutions: Convolutions) -> u64 {
        match convolutions {
            Convolutions::Own => 0,
            Convolutions::Tile => (1 + 2 * u64::from(shape.depth)) * (TILES.len() * 2 * size_of::<TensorMap>()) as u64,
        }
    }

    /// For `cells` cells of all positions; `inputs` are the observations, what follows a block, and what is between its convolutions.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for more cells or channels than `tile` takes; errors of the device.
    pub fn new(
        stream: &Stream,
        (network, format, cells): (&NetworkShape, Format, u32),
        (parameters, convs): (&Buffer<u32>, &[ConvOffsets]),
        [observations, features, middle]: [&Buffer<u32>; 3],
    ) -> Result<Self> {
        // The same module has those of half precision.
        let kernels = Kernels::of_images(stream.device(), crate::Precision::Bf16)?;
        let prepare = |(number, conv): (usize, &ConvOffsets)| {
            let input = match number {
                0 => observations,
                _ if number.is_multiple_of(2) => middle,
                _ => features,
            };
            let shape = shape_of(network, format, conv, cells);
            let cores = TILES.map(|tile| Core::new(&kernels, shape, Some(tile), Some(1)));
            let cores = cores.into_iter().collect::<Result<Vec<_>>>()?;
            // Two numbers a word.
            let maps = |core: &Core| stream.upload(&core.maps((input, 0), (parameters, 2 * conv.weights))?);
            Ok(Prepared { maps: cores.iter().map(maps).collect::<Result<_>>()?, cores })
        };
        let convs = convs.iter().enumerate().map(prepare).collect::<Result<_>>()?;
        Ok(Self { kernels, convs })
    }

    /// Queues convolution number `number` of the first `cells` cells, which are whole positions, with bias, residual and rectifier.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn run(&self, stream: &Stream, number: usize, cells: usize, layer: Layer<'_>) -> Result<()> {
        let Prepared { cores, maps } = &self.convs[number];
        let m = cells as u32;
        let tile = self.kernels.fastest(&Shape { m, ..cores[0].shape }, 1);
        let at = TILES.iter().position(|&known| known == tile).unwrap_or(0);
        let Layer { input, weights, bias, residual, output } = layer;
        let views = Views {
            a: input.cast(),
            b: weights.cast(),
            rows: In::none(),
            bias,
            residual: In::none(),
            residual_short: residual.cast(),
            mask: In::none(),
            c: InOut::none(),
            c_short: output.cast(),
            overflow: InOut::none(),
            found_factor: In::none(),
            moments: InOut::none(),
        };
        cores[at].run(stream, m, &maps[at], views)
    }
}

/// A convolution as a product: of all channels that the words have, so that those without a meaning stay 0.
fn shape_of(network: &NetworkShape, format: Format, conv: &ConvOffsets, cells: u32) -> Shape {
    let (channels, outputs) = (format.channels(conv.n_inputs), format.channels(conv.n_outputs));
    Shape {
        values: if format == Format::Fp16 { Values::F16 } else { Values::Bf16 },
        m: cells,
        n: outputs,
        k: channels,
        images: Some(Images { height: network.rows, width: network.columns, side: SIDE, channels }),
        a: Lie::of_lines(false, cells, channels, 1),
        b: Lie::of_lines(false, outputs, SIDE * SIDE * channels, 1),
        c_stride: outputs,
        c_parts: 1,
        c_part_stride: u64::from(cells) * u64::from(outputs),
        mask_stride: outputs,
        division: channels,
        factor: 1.0,
        rectifier: true,
        moments: false,
        updates: None,
        gathered: None,
    }
}
