//! Arguments of which the library keeps a copy: arrays of numpy, or of another library on the host or on the device that works with them.

use numpy::{Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use warpplay::{Backend, Buffer, Device, Stream};

use super::Kind;
use super::standard::{DlDevice, Value};
use super::tensor::{Tensor, device_of};
use crate::convert::{copied, error};

/// A copy of an argument, in the order of its indices.
pub struct Copied<T, const N: usize> {
    /// The values.
    pub values: Vec<T>,
    /// Their shape.
    pub shape: [usize; N],
}

/// The types of values that can be copied.
pub trait Input: Value + Element + 'static {
    /// The type's name, as numpy has it.
    const DTYPE: &'static str;

    /// Reads a buffer to the host.
    ///
    /// # Errors
    /// Errors of the device.
    fn read(stream: &Stream, buffer: &Buffer<Self>) -> warpplay::Result<Vec<Self>>;
}

macro_rules! inputs {
    ($($type:ty: $name:literal),*) => { $(
        impl Input for $type {
            const DTYPE: &'static str = $name;

            fn read(stream: &Stream, buffer: &Buffer<Self>) -> warpplay::Result<Vec<Self>> {
                stream.read(buffer)
            }
        }
    )* };
}

inputs! { f32: "float32", u8: "uint8" }

/// Copies an argument of `N` dimensions, whose name is `what`. An array of another library is in the host's memory, or in that of `device`, if given; there it must be contiguous.
///
/// # Errors
/// `TypeError` for anything but an array, or for other values; `ValueError` for other dimensions, or another device; `MemoryError` if there is no memory for it.
pub fn copy_of<T: Input, const N: usize>(
    what: &str,
    value: &Bound<'_, PyAny>,
    device: Option<&Device>,
) -> PyResult<Copied<T, N>> {
    match Kind::of(what, value)? {
        Kind::Numpy => {
            let array: PyReadonlyArrayDyn<'_, T> = numpy_array(what, value)?;
            let shape = expect_dimensions(what, array.as_array().shape())?;
            Ok(Copied { values: copied(array.as_array())?, shape })
        }
        Kind::Shared => shared(what, value, device),
    }
}

/// An array of numpy with values of `T`, of any shape.
///
/// # Errors
/// `TypeError` for an array of other values, or in another order of bytes.
pub fn numpy_array<'py, T: Input>(what: &str, value: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let Ok(array) = value.cast::<PyArrayDyn<T>>() else {
        let dtype = value.getattr("dtype")?;
        return Err(PyTypeError::new_err(format!("{what} has values of {dtype}, expected {}", T::DTYPE)));
    };
    Ok(array.try_readonly()?)
}

/// The sizes of an array of `N` dimensions.
///
/// # Errors
/// `ValueError` for another number of dimensions, with the shape.
pub fn expect_dimensions<const N: usize>(what: &str, shape: &[usize]) -> PyResult<[usize; N]> {
    <[usize; N]>::try_from(shape)
        .map_err(|_| PyValueError::new_err(format!("{what} has the shape {shape:?}, expected {N} dimensions")))
}

fn shared<T: Input, const N: usize>(
    what: &str,
    value: &Bound<'_, PyAny>,
    device: Option<&Device>,
) -> PyResult<Copied<T, N>> {
    let gpu = device.filter(|device| device.backend() == Backend::Cuda);
    match (device_of(value)?, gpu) {
        (DlDevice::HOST, _) => {
            let tensor = Tensor::of(what, value, &Device::cpu(), None)?;
            let shape = expect_dimensions(what, tensor.shape())?;
            // SAFETY: this is the host's memory; the interpreter's lock is held, and the caller does not write from elsewhere during the call.
            Ok(Copied { values: unsafe { tensor.copied(what) }?, shape })
        }
        (_, Some(device)) => {
            let mut stream = device.stream().map_err(error)?;
            let tensor = Tensor::of(what, value, device, Some(&stream))?;
            let shape = expect_dimensions(what, tensor.shape())?;
            // SAFETY: the caller does not write during the call, and only the read below uses it.
            let buffer: Buffer<T> = unsafe { tensor.buffer(what, device) }?;
            let (lent, from) = (&mut stream, &buffer);
            let values = value.py().detach(move || T::read(lent, from)).map_err(error);
            // The producer's deleter is called with the interpreter's lock.
            drop(buffer);
            Ok(Copied { values: values?, shape })
        }
        (found, None) => {
            let text = format!("{what} lies on {}, expected in the host's memory: copy it there", found.name());
            Err(PyValueError::new_err(text))
        }
    }
}
