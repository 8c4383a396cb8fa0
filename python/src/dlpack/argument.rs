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

inputs! {
    f32: "float32", u8: "uint8",
    i8: "int8", i16: "int16", i32: "int32", i64: "int64", u16: "uint16", u32: "uint32", u64: "uint64"
}

/// Copies labels `[n]` of any integer type, as [`copy_of`], to bytes.
///
/// # Errors
/// As [`copy_of`]; `TypeError` for other values than integers, `ValueError` for one that is not of 0 to 255.
pub fn labels_of(what: &str, value: &Bound<'_, PyAny>, device: Option<&Device>) -> PyResult<Vec<u8>> {
    fn narrow<T: Input + TryInto<u8> + std::fmt::Display>(
        what: &str,
        value: &Bound<'_, PyAny>,
        device: Option<&Device>,
    ) -> PyResult<Vec<u8>> {
        let labels: Copied<T, 1> = copy_of(what, value, device)?;
        let byte = |(at, &label): (usize, &T)| {
            let text = || format!("{what}[{at}] is {label}, a class of 0 to 255 is expected");
            label.try_into().map_err(|_| PyValueError::new_err(text()))
        };
        labels.values.iter().enumerate().map(byte).collect()
    }
    // `int64` of numpy and JAX, `torch.int64` of PyTorch. What has no such property is read as bytes, or refused.
    let name = value.getattr("dtype").and_then(|dtype| dtype.str()).map(|name| name.to_string()).unwrap_or_default();
    match name.rsplit('.').next().unwrap_or_default() {
        "int8" => narrow::<i8>(what, value, device),
        "int16" => narrow::<i16>(what, value, device),
        "int32" => narrow::<i32>(what, value, device),
        "int64" => narrow::<i64>(what, value, device),
        "uint16" => narrow::<u16>(what, value, device),
        "uint32" => narrow::<u32>(what, value, device),
        "uint64" => narrow::<u64>(what, value, device),
        "" | "uint8" | "bool" => Ok(copy_of::<u8, 1>(what, value, device)?.values),
        name => {
            let text = format!("{what} has values of {name}, expected integers in the machine's order of bytes");
            Err(PyTypeError::new_err(text))
        }
    }
}

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
