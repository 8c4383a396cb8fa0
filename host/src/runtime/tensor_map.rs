//! Matrices in the form in which the copy engine reads them.

use std::ffi::{c_int, c_void};

use warpplay_gpu::cuda::tensor_map::{Plain, TensorMap};

use crate::Result;
use crate::runtime::buffer::Buffer;
use crate::runtime::driver;

/// The driver's numbers of number formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Half precision.
    F16 = 6,
    /// Single precision.
    F32 = 7,
    /// bfloat16.
    Bf16 = 9,
}

/// A matrix `[height][stride]` in a buffer, and the rows of the rectangles that are copied from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub values: Values,
    /// Values of a row that are there; those behind them count as 0.
    pub width: u32,
    pub height: u32,
    /// Values from a row to the next; their bytes are a multiple of 16.
    pub stride: u32,
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
    let Matrix { values, width, height, stride, rows } = matrix;
    buffer.expect_len_at_least(what, height as usize * stride as usize)?;
    let value_bytes = size_of::<T>() as u32;
    let base = buffer.as_ptr() as u64;
    let row_bytes = u64::from(stride) * u64::from(value_bytes);
    let Some(context) = buffer.device().context() else {
        let (width, height) = (width.into(), height.into());
        return Ok(TensorMap::plain(Plain { base, width, height, stride: row_bytes, value_bytes, rows }));
    };
    context.enter()?;
    let (sizes, strides) = ([u64::from(width), u64::from(height)], [row_bytes]);
    let (rectangle, steps) = ([TensorMap::ROW_BYTES / value_bytes, rows], [1u32, 1]);
    let mut map = bytemuck::Zeroable::zeroed();
    let to: *mut TensorMap = &mut map;
    // SAFETY: the map is aligned to 64 bytes and written before the call returns; the arrays have as many numbers as the matrix has dimensions, the strides one fewer; the address is that of the buffer, which
    // is aligned to 256 bytes.
    let code = unsafe {
        driver::cuTensorMapEncodeTiled(
            to.cast::<c_void>(),
            values as c_int,
            2,
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
