//! The gradient of a convolution's filters.

use std::marker::PhantomData;

use warpplay_gpu::tile::images::COLUMNS;

use super::convolution::{checked, checked_stride};
use super::core::{Images, Kernels, Lie, MAX_SIZE, Shape};
use super::operand::{Operand, Output};
use super::product::{Epilogue, Operands, Product};
use super::size::Tile;
use crate::runtime::tensor_map::Values;
use crate::{Buffer, Device, Error, Result, Stream};

/// Builds a [`FilterGradient`].
#[derive(Clone, Copy, Debug)]
pub struct FilterGradientBuilder<T> {
    /// Images, rows, pixels of a row.
    size: [u32; 3],
    channels: u32,
    outputs: u32,
    side: u32,
    pixel_stride: Option<u32>,
    gradient_stride: Option<u32>,
    parts: [u32; 2],
    division: Option<u32>,
    factor: f32,
    tile: Option<Tile>,
    cluster: Option<u32>,
    operands: PhantomData<T>,
}

/// The gradient of a [`Convolution`](super::Convolution)'s filters, from that of its results: for each output, tap and channel the sum over all pixels of the gradient of the output times the channel of the pixel that the tap meets.
///
/// ```text
/// gradient   [images][height][width][gradient_stride]     of the convolution's results; the first `outputs` of a pixel are used
/// images     [images][height][width][pixel_stride]        the first `channels` of a pixel are used
/// C          [divisions][outputs][side][side][channels up to a multiple of 64]; padding channels are 0
/// ```
pub struct FilterGradient<T> {
    product: Product<T>,
}

impl<T: Operand> std::fmt::Debug for FilterGradient<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FilterGradient").field(&self.product).finish()
    }
}

impl<T: Operand> FilterGradient<T> {
    /// Of a convolution of `[images, height, width]` with `channels` channels a pixel to `outputs` channels, by filters of 3 × 3. Formats of 16 bits alone.
    pub fn builder(size: [u32; 3], channels: u32, outputs: u32) -> FilterGradientBuilder<T> {
        FilterGradientBuilder {
            size,
            channels,
            outputs,
            side: 3,
            pixel_stride: None,
            gradient_stride: None,
            parts: [1; 2],
            division: None,
            factor: 1.0,
            tile: None,
            cluster: None,
            operands: PhantomData,
        }
    }

    /// Describes gradient and images to the copy engine, once for many runs; not while a graph is recorded.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short; [`Error::Device`] for one of another device; errors of the device.
    pub fn operands(&self, stream: &Stream, gradient: &Buffer<T>, images: &Buffer<T>) -> Result<Operands<T>> {
        self.product.operands(stream, gradient, images)
    }

    /// Queues the gradient of the filters.
    ///
    /// # Errors
    /// As [`Product::run`].
    pub fn run<C: Output<T>>(&self, stream: &Stream, operands: &Operands<T>, c: &mut Buffer<C>) -> Result<()> {
        self.product.run(stream, operands, Epilogue::new(), c)
    }

    /// The tile: its rows are outputs, its columns taps and channels.
    pub fn tile(&self) -> Tile {
        self.product.tile()
    }

    /// Blocks that share the depth of a tile.
    pub fn cluster(&self) -> u32 {
        self.product.cluster()
    }
}

impl<T: Operand> FilterGradientBuilder<T> {
    /// Taps of a filter's row and column: 3, 5 or 7; default 3. (Of a filter of one tap it is a [`Product`] of operands that lie depth by depth.)
    #[must_use]
    pub fn side(self, side: u32) -> Self {
        Self { side, ..self }
    }

    /// Values from a pixel of the images to the next, at least its channels, a multiple of 8; default as many as it has channels.
    #[must_use]
    pub fn pixel_stride(self, pixel_stride: u32) -> Self {
        Self { pixel_stride: Some(pixel_stride), ..self }
    }

    /// Values from a pixel of the gradient to the next, at least the outputs, a multiple of 8; default as many as there are outputs.
    #[must_use]
    pub fn gradient_stride(self, gradient_stride: u32) -> Self {
        Self { gradient_stride: Some(gradient_stride), ..self }
    }

    /// Parts of the gradient and of the images, 1 to 3, which lie one behind the other; default 1. [The module](super#numbers-in-parts) says what they are for.
    #[must_use]
    pub fn parts(self, gradient: u32, images: u32) -> Self {
        Self { parts: [gradient, images], ..self }
    }

    /// Pixels that are added up, a multiple of 64; default all. With fewer, C is one gradient for each division of the pixels, and more blocks share the work; C is of single precision then.
    #[must_use]
    pub fn division(self, division: u32) -> Self {
        Self { division: Some(division), ..self }
    }

    /// What the sums are multiplied with; default 1.
    #[must_use]
    pub fn factor(self, factor: f32) -> Self {
        Self { factor, ..self }
    }

    /// The tile; default the one that should be fastest.
    #[must_use]
    pub fn tile(self, tile: impl Into<Option<Tile>>) -> Self {
        Self { tile: tile.into(), ..self }
    }

    /// Blocks that share the pixels of a tile, as [`ProductBuilder::cluster`](super::ProductBuilder::cluster).
    #[must_use]
    pub fn cluster(self, cluster: impl Into<Option<u32>>) -> Self {
        Self { cluster: cluster.into(), ..self }
    }

    /// Checks the sizes and loads the kernel.
    ///
    /// # Errors
    /// [`Error::Option`] for a size, stride, format, tile or cluster that is not allowed; [`Error::Unsupported`] if the device has no kernels for it; errors of the device.
    pub fn build(self, device: &Device) -> Result<FilterGradient<T>> {
        let Self { size, channels, outputs, side, factor, .. } = self;
        let [_, height, width] = size;
        let k = checked(size, side, channels, outputs)?;
        if side == 1 {
            return Err(Error::option("side", side, "3, 5 or 7: of one tap it is a product"));
        }
        if !matches!(T::FORMAT.0, Values::Bf16 | Values::F16) {
            return Err(Error::option(
                "precision",
                T::PRECISION,
                "bf16 or f16: the tensor cores read those depth by depth",
            ));
        }
        let most = MAX_SIZE / (side * side) / COLUMNS * COLUMNS;
        if channels > most {
            return Err(Error::option("channels", channels, format!("1 to {most} with side {side}")));
        }
        let n = side * side * channels.next_multiple_of(COLUMNS);
        let gradient_stride = checked_stride::<T>("gradient_stride", self.gradient_stride, outputs)?;
        let pixel_stride = checked_stride::<T>("pixel_stride", self.pixel_stride, channels)?;
        let [parts_of_gradient, parts_of_images] = self.parts;
        let shape = Shape {
            values: T::FORMAT.0,
            m: outputs,
            n,
            k,
            images: Some(Images { height, width, side, channels }),
            a: Lie::of_lines(true, k, gradient_stride, parts_of_gradient),
            b: Lie::of_lines(true, k, pixel_stride, parts_of_images),
            c_stride: n,
            c_parts: 1,
            c_part_stride: u64::from(outputs) * u64::from(n),
            mask_stride: n,
            division: self.division.unwrap_or(k),
            factor,
            rectifier: false,
            moments: false,
            updates: None,
            gathered: None,
        };
        Ok(FilterGradient {
            product: Product::of(device, &Kernels::of_images(device, T::PRECISION)?, shape, self.tile, self.cluster)?,
        })
    }
}
