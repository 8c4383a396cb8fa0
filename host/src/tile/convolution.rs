//! A convolution of given sizes.

use std::marker::PhantomData;

use super::core::{Images, Kernels, Lie, MAX_SIZE, Shape};
use super::operand::{Operand, Output};
use super::product::{Epilogue, Operands, Product};
use super::size::Tile;
use crate::{Buffer, Device, Error, Result, Stream};

/// Most channels of a pixel; so the numbers of a filter are few enough to be counted.
const MAX_CHANNELS: u32 = 1 << 20;

/// Builds a [`Convolution`].
#[derive(Clone, Copy, Debug)]
pub struct ConvolutionBuilder<T> {
    /// Images, rows, pixels of a row.
    size: [u32; 3],
    channels: u32,
    outputs: u32,
    side: u32,
    pixel_stride: Option<u32>,
    tap_stride: Option<u32>,
    parts: [u32; 2],
    c_stride: u32,
    c_parts: u32,
    mask_stride: Option<u32>,
    factor: f32,
    rectifier: bool,
    moments: bool,
    tile: Option<Tile>,
    operands: PhantomData<T>,
}

/// A convolution of images with filters, padded by zeros to the images' own size, on a device; [the module](super#convolutions) says how they lie.
///
/// ```
/// use warpplay::Device;
/// use warpplay::tile::{Convolution, Epilogue, bf16};
///
/// // The sum of each pixel and its neighbours, in an image of 2 x 3 with one channel; a pixel and a tap are padded to 16 bytes.
/// let device = Device::simt();
/// let stream = device.stream()?;
/// let padded = |value: f32| [value, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].map(bf16::from_f32);
/// let image = stream.upload(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(padded).concat())?;
/// let filter = stream.upload(&[1.0; 9].map(padded).concat())?;
/// let mut sums = stream.alloc::<f32>(6)?;
///
/// let convolution = Convolution::<bf16>::builder([1, 2, 3], 1, 1).pixel_stride(8).tap_stride(8).build(&device)?;
/// let operands = convolution.operands(&stream, &image, &filter)?;
/// convolution.run(&stream, &operands, Epilogue::new(), &mut sums)?;
/// assert_eq!(stream.read(&sums)?, [12.0, 21.0, 16.0, 12.0, 21.0, 16.0]);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Convolution<T> {
    product: Product<T>,
}

impl<T: Operand> std::fmt::Debug for Convolution<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Convolution").field(&self.product).finish()
    }
}

impl<T: Operand> Convolution<T> {
    /// A convolution of `[images, height, width]` with `channels` channels a pixel to `outputs` channels, by filters of 3 × 3.
    pub fn builder(size: [u32; 3], channels: u32, outputs: u32) -> ConvolutionBuilder<T> {
        ConvolutionBuilder {
            size,
            channels,
            outputs,
            side: 3,
            pixel_stride: None,
            tap_stride: None,
            parts: [1; 2],
            c_stride: outputs,
            c_parts: 1,
            mask_stride: None,
            factor: 1.0,
            rectifier: false,
            moments: false,
            tile: None,
            operands: PhantomData,
        }
    }

    /// Describes images and filters to the copy engine, once for many runs; not while a graph is recorded.
    ///
    /// * `images` `[images][height][width][pixel_stride]`, `filters` `[outputs][side][side][tap_stride]`, for each of their parts; both may be longer.
    ///
    /// # Errors
    /// [`Error::Shape`] for a buffer that is too short; [`Error::Device`] for one of another device; errors of the device.
    pub fn operands(&self, stream: &Stream, images: &Buffer<T>, filters: &Buffer<T>) -> Result<Operands<T>> {
        self.product.operands(stream, images, filters)
    }

    /// Queues the convolution. Values of C between its outputs and its stride stay as they are.
    ///
    /// * `epilogue`: a residual is `[images][height][width][c_stride]`, a mask `[images][height][width][mask_stride]`.
    /// * `c` `[images][height][width][c_stride]`, for each part; it may be longer.
    ///
    /// # Errors
    /// As [`Product::run`].
    pub fn run<C: Output<T>>(
        &self,
        stream: &Stream,
        operands: &Operands<T>,
        epilogue: Epilogue<'_, T>,
        c: &mut Buffer<C>,
    ) -> Result<()> {
        self.product.run(stream, operands, epilogue, c)
    }

    /// Values of the [moments of its outputs](super#moments-of-columns), `2 · ⌈pixels / 64⌉ · outputs`; 0 for a convolution that makes none.
    pub fn n_moments(&self) -> usize {
        self.product.n_moments()
    }

    /// Queues the convolution, and the [moments of its outputs](super#moments-of-columns), of each 64 pixels that follow each other, for which it was [built](ConvolutionBuilder::moments).
    ///
    /// * `moments` `[2][⌈pixels / 64⌉][outputs]`, of the pixels of all images; it may be longer.
    ///
    /// # Errors
    /// As [`Product::run_with_moments`].
    pub fn run_with_moments<C: Output<T>>(
        &self,
        stream: &Stream,
        operands: &Operands<T>,
        epilogue: Epilogue<'_, T>,
        c: &mut Buffer<C>,
        moments: &mut Buffer<f32>,
    ) -> Result<()> {
        self.product.run_with_moments(stream, operands, epilogue, c, moments)
    }

    /// The tile: its rows are pixels.
    pub fn tile(&self) -> Tile {
        self.product.tile()
    }
}

impl<T: Operand> ConvolutionBuilder<T> {
    /// Taps of a filter's row and column: 1, 3, 5 or 7; default 3.
    #[must_use]
    pub fn side(self, side: u32) -> Self {
        Self { side, ..self }
    }

    /// Values from a pixel to the next, at least its channels, whose bytes are a multiple of 16; default as many as it has channels.
    #[must_use]
    pub fn pixel_stride(self, pixel_stride: u32) -> Self {
        Self { pixel_stride: Some(pixel_stride), ..self }
    }

    /// Values from a tap of a filter to the next, at least the channels, whose bytes are a multiple of 16; default as many as there are channels.
    #[must_use]
    pub fn tap_stride(self, tap_stride: u32) -> Self {
        Self { tap_stride: Some(tap_stride), ..self }
    }

    /// Parts of the images and of the filters, 1 to 3 in formats of 16 bits, which lie one behind the other, `[parts][images]…` and `[parts][outputs]…`; default 1. [The module](super#numbers-in-parts) says what they are for.
    #[must_use]
    pub fn parts(self, images: u32, filters: u32) -> Self {
        Self { parts: [images, filters], ..self }
    }

    /// Parts in which C is written where it has a format of 16 bits, 1 to 3, one `[images][height][width][c_stride]` behind the other; default 1.
    #[must_use]
    pub fn c_parts(self, c_parts: u32) -> Self {
        Self { c_parts, ..self }
    }

    /// Values from a pixel of C to the next, at least `outputs`, default `outputs`.
    #[must_use]
    pub fn c_stride(self, c_stride: u32) -> Self {
        Self { c_stride, ..self }
    }

    /// Values from a pixel of the mask to the next, a multiple of 4 from `outputs` on; default `c_stride`, rounded up to one.
    #[must_use]
    pub fn mask_stride(self, mask_stride: u32) -> Self {
        Self { mask_stride: Some(mask_stride), ..self }
    }

    /// What the sums are multiplied with, before the bias is added; default 1.
    #[must_use]
    pub fn factor(self, factor: f32) -> Self {
        Self { factor, ..self }
    }

    /// Whether values below 0 become 0, after bias and residual; default not.
    #[must_use]
    pub fn rectifier(self, rectifier: bool) -> Self {
        Self { rectifier, ..self }
    }

    /// Whether [moments of the outputs](super#moments-of-columns) are made too, by [`Convolution::run_with_moments`]; default not. In bf16 and f16; the result has one part, and `outputs` and `c_stride` are multiples of 4 where it is of single precision, else of 8.
    #[must_use]
    pub fn moments(self, moments: bool) -> Self {
        Self { moments, ..self }
    }

    /// The tile; default the one that should be fastest.
    #[must_use]
    pub fn tile(self, tile: impl Into<Option<Tile>>) -> Self {
        Self { tile: tile.into(), ..self }
    }

    /// Checks the sizes and loads the kernel.
    ///
    /// # Errors
    /// [`Error::Option`] for a size, stride or tile that is not allowed; [`Error::Unsupported`] if the device has no kernels for it; errors of the device.
    pub fn build(self, device: &Device) -> Result<Convolution<T>> {
        Ok(Convolution {
            product: Product::of(
                device,
                &Kernels::of_images(device, T::PRECISION)?,
                self.shape()?,
                self.tile,
                Some(1),
            )?,
        })
    }

    /// # Errors
    /// [`Error::Option`] for what has another name in a product.
    fn shape(&self) -> Result<Shape> {
        let Self { size, channels, outputs, side, c_stride, c_parts, factor, rectifier, moments, .. } = *self;
        let ([_, height, width], [parts_of_images, parts_of_filters]) = (size, self.parts);
        let m = checked(size, side, channels, outputs)?;
        let stride = |name: &'static str, stride: Option<u32>| checked_stride::<T>(name, stride, channels);
        let (pixel_stride, tap_stride) =
            (stride("pixel_stride", self.pixel_stride)?, stride("tap_stride", self.tap_stride)?);
        Ok(Shape {
            values: T::FORMAT.0,
            m,
            n: outputs,
            k: channels,
            images: Some(Images { height, width, side, channels }),
            a: Lie::of_lines(false, m, pixel_stride, parts_of_images),
            b: Lie::of_lines(false, outputs, side * side * tap_stride, parts_of_filters),
            c_stride,
            c_parts,
            c_part_stride: u64::from(m) * u64::from(c_stride),
            mask_stride: self.mask_stride.unwrap_or(c_stride.checked_next_multiple_of(4).unwrap_or(u32::MAX)),
            division: channels,
            factor,
            rectifier,
            moments,
            updates: None,
            gathered: None,
        })
    }
}

/// The pixels of all images.
///
/// # Errors
/// [`Error::Option`] for a size that is not allowed.
pub(super) fn checked(size: [u32; 3], side: u32, channels: u32, outputs: u32) -> Result<u32> {
    let pixels = size.into_iter().try_fold(1u32, u32::checked_mul).filter(|m| (1..=MAX_SIZE).contains(m));
    let Some(pixels) = pixels else {
        let [images, height, width] = size;
        let allowed = format!("1 to {MAX_SIZE} pixels");
        return Err(Error::option("size", format!("{images} x {height} x {width}"), allowed));
    };
    if !matches!(side, 1 | 3 | 5 | 7) {
        return Err(Error::option("side", side, "1, 3, 5 or 7"));
    }
    for (name, number) in [("channels", channels), ("outputs", outputs)] {
        if !(1..=MAX_CHANNELS).contains(&number) {
            return Err(Error::option(name, number, format!("1 to {MAX_CHANNELS}")));
        }
    }
    Ok(pixels)
}

/// Values from a pixel or a tap to the next, of which `least` are used; default as many.
///
/// # Errors
/// [`Error::Option`] if the copy engine does not take them.
pub(super) fn checked_stride<T: Operand>(name: &'static str, stride: Option<u32>, least: u32) -> Result<u32> {
    let (stride, step) = (stride.unwrap_or(least), 16 / T::FORMAT.0.bytes());
    if !(least..=MAX_CHANNELS).contains(&stride) || !stride.is_multiple_of(step) {
        let least = least.next_multiple_of(step);
        let allowed = format!("a multiple of {step} values, which are 16 bytes, from {least} to {MAX_CHANNELS}");
        return Err(Error::option(name, stride, allowed));
    }
    Ok(stride)
}
