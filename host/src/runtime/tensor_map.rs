//! Matrices in the form in which the copy engine reads them.

use std::ffi::{c_int, c_void};

use warpplay_gpu::cuda::tensor_map::{Plain, PlainImages, TensorMap};

use crate::Result;
use crate::runtime::buffer::Buffer;
use crate::runtime::driver;

/// The driver's numbers of number formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Bytes: numbers of 8 bits.
    U8 = 0,
    /// Half precision.
    F16 = 6,
    /// Single precision.
    F32 = 7,
    /// bfloat16.
    Bf16 = 9,
}

impl Values {
    /// Bytes of a value.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
        }
    }
}

/// Matrices `[parts][height][stride]` in a buffer, and the rows of the rectangles that are copied from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub values: Values,
    /// Number of the first value in the buffer; its bytes are a multiple of 16.
    pub first: usize,
    /// Values of a row that are there; those behind them count as 0.
    pub width: u32,
    pub height: u32,
    /// Values from a row to the next; their bytes are a multiple of 16.
    pub stride: u32,
    pub parts: u32,
    /// Values from a matrix to the next; their bytes are a multiple of 16.
    pub part_stride: u64,
    /// Rows of a rectangle, at most 256.
    pub rows: u32,
}

/// No interleaving; chunks exchanged in rows of 128 bytes; the second-level cache fetches 256 bytes; 0 outside.
const NO_INTERLEAVE: c_int = 0;
const SWIZZLE_128: c_int = 3;
const PROMOTE_256: c_int = 3;
const ZEROS_OUTSIDE: c_int = 0;

/// The map of a matrix that `buffer` holds.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if the buffer is too short; errors of the driver.
pub(crate) fn tensor_map<T>(what: &str, buffer: &Buffer<T>, matrix: Matrix) -> Result<TensorMap> {
    let Matrix { values, first, width, height, stride, parts, part_stride, rows } = matrix;
    let before_last = u64::from(parts - 1) * part_stride + u64::from(height - 1) * u64::from(stride);
    let value_bytes = values.bytes();
    expect_values(what, buffer, values, first as u64 + before_last + u64::from(width))?;
    let base = buffer.as_ptr() as u64 + first as u64 * u64::from(value_bytes);
    let [row_bytes, part_bytes] = [stride.into(), part_stride].map(|values: u64| values * u64::from(value_bytes));
    let Some(context) = buffer.device().context() else {
        let (width, height) = (width.into(), height.into());
        let (layers, stride, layer_stride) = (parts.into(), row_bytes, part_bytes);
        return Ok(TensorMap::plain(Plain { base, width, height, stride, layers, layer_stride, value_bytes, rows }));
    };
    context.enter()?;
    let (sizes, strides) = ([width, height, parts].map(u64::from), [row_bytes, part_bytes]);
    let (rectangle, steps) = ([TensorMap::ROW_BYTES / value_bytes, rows, 1], [1u32; 3]);
    let mut map = bytemuck::Zeroable::zeroed();
    let to: *mut TensorMap = &mut map;
    // SAFETY: the map is aligned to 64 bytes and written before the call returns; the arrays have as many numbers as the matrix has dimensions, the strides one fewer; the address is a multiple of 16, since that of the buffer
    // is one of 256.
    let code = unsafe {
        driver::cuTensorMapEncodeTiled(
            to.cast::<c_void>(),
            values as c_int,
            3,
            base,
            sizes.as_ptr(),
            strides.as_ptr(),
            rectangle.as_ptr(),
            steps.as_ptr(),
            NO_INTERLEAVE,
            SWIZZLE_128,
            PROMOTE_256,
            ZEROS_OUTSIDE,
        )
    };
    context.check("cuTensorMapEncodeTiled", code)?;
    Ok(map)
}

/// Images `[images][height][width][stride]` in a buffer, and the pixels that are copied at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pixels {
    pub values: Values,
    /// Number of the first value in the buffer; its bytes are a multiple of 16.
    pub first: usize,
    /// Values of a pixel that are there; those behind them count as 0.
    pub channels: u32,
    pub width: u32,
    pub height: u32,
    pub images: u32,
    /// Values from a pixel to the next; their bytes are a multiple of 16.
    pub stride: u32,
    /// Pixels of zeros on each side of an image: half a filter's side.
    pub padding: u32,
    /// Pixels of a copy, at most 1024.
    pub pixels: u32,
}

/// The map of images that `buffer` holds: pixels outside of an image are 0.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if the buffer is too short; errors of the driver.
pub(crate) fn image_map<T>(what: &str, buffer: &Buffer<T>, of: Pixels) -> Result<TensorMap> {
    let Pixels { values, first, channels, width, height, images, stride, padding, pixels } = of;
    let n_pixels = u64::from(images) * u64::from(height) * u64::from(width);
    let value_bytes = values.bytes();
    expect_values(what, buffer, values, first as u64 + (n_pixels - 1) * u64::from(stride) + u64::from(channels))?;
    let base = buffer.as_ptr() as u64 + first as u64 * u64::from(value_bytes);
    let pixel_bytes = u64::from(stride) * u64::from(value_bytes);
    let Some(context) = buffer.device().context() else {
        let stride = pixel_bytes;
        return Ok(TensorMap::plain_images(PlainImages {
            base,
            stride,
            channels,
            width,
            height,
            images,
            value_bytes,
            pixels,
            padding,
            reserved: 0,
        }));
    };
    context.enter()?;
    let sizes = [channels, width, height, images].map(u64::from);
    let strides = [pixel_bytes, pixel_bytes * sizes[1], pixel_bytes * sizes[1] * sizes[2]];
    // Filters begin this far from the image's first pixel, and as far from its last.
    let (corner, steps) = ([-(padding as c_int); 2], [1u32; 4]);
    let mut map = bytemuck::Zeroable::zeroed();
    let to: *mut TensorMap = &mut map;
    // SAFETY: the map is aligned to 64 bytes and written before the call returns; the arrays have as many numbers as the images have dimensions, the strides one fewer, the corners two fewer; the address is a multiple of 16,
    // since that of the buffer is one of 256.
    let code = unsafe {
        driver::cuTensorMapEncodeIm2col(
            to.cast::<c_void>(),
            values as c_int,
            4,
            base,
            sizes.as_ptr(),
            strides.as_ptr(),
            corner.as_ptr(),
            corner.as_ptr(),
            TensorMap::ROW_BYTES / value_bytes,
            pixels,
            steps.as_ptr(),
            NO_INTERLEAVE,
            SWIZZLE_128,
            PROMOTE_256,
            ZEROS_OUTSIDE,
        )
    };
    context.check("cuTensorMapEncodeIm2col", code)?;
    Ok(map)
}

/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if a buffer of any type holds fewer than `len` values.
fn expect_values<T>(what: &str, buffer: &Buffer<T>, values: Values, len: u64) -> Result<()> {
    let bytes = len * u64::from(values.bytes());
    buffer.expect_len_at_least(what, bytes.div_ceil(size_of::<T>().max(1) as u64) as usize)
}
