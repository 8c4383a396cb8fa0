//! Arrays of other libraries, read where they lie.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{ffi, intern};
use warpplay::{Buffer, Device, Stream};

use super::standard::{DlDataType, DlDevice, DlTensor, Managed, Plain, Value, Versioned};
use crate::convert::reserved;

/// A producer's structure, whose deleter is called on drop.
struct Held<M: Managed>(NonNull<M>);

// SAFETY: the structure is only read until its deleter is called, which the standard allows on any thread.
unsafe impl<M: Managed> Send for Held<M> {}
// SAFETY: as above.
unsafe impl<M: Managed> Sync for Held<M> {}

impl<M: Managed> Drop for Held<M> {
    fn drop(&mut self) {
        // SAFETY: taken from the capsule, which was renamed as used, so nobody else deletes it.
        unsafe { M::delete(self.0.as_ptr()) };
    }
}

/// The owner that keeps a producer's memory alive.
type Owner = Arc<dyn Any + Send + Sync>;

/// Values of another library in the memory of a device.
pub struct Tensor {
    address: usize,
    shape: Vec<usize>,
    /// In elements, unless the order is row-major.
    strides: Option<Vec<i64>>,
    data_type: DlDataType,
    /// The owner, dropped when the memory is no longer needed.
    owner: Owner,
}

impl Tensor {
    /// Imports an object with `__dlpack__` on `device`; `what` is its name in errors. On a GPU the producer's work precedes that of `stream`.
    ///
    /// # Errors
    /// `ValueError` for memory of another device; exceptions of the producer.
    pub fn of(what: &str, value: &Bound<'_, PyAny>, device: &Device, stream: Option<&Stream>) -> PyResult<Self> {
        let (found, expected) = (device_of(value)?, DlDevice::of(device));
        if found != expected {
            let text = format!("{what} lies on {}, this object works on {}", found.name(), expected.name());
            return Err(PyValueError::new_err(text));
        }
        let py = value.py();
        let asked = PyDict::new(py);
        if let Some(stream) = stream.and_then(Stream::as_raw) {
            asked.set_item(intern!(py, "stream"), stream.get())?;
        }
        asked.set_item(intern!(py, "max_version"), (1, 0))?;
        let name = intern!(py, "__dlpack__");
        let capsule = value.call_method(name, (), Some(&asked)).or_else(|error| {
            // Producers of before version 1.0 do not know that argument.
            if !error.is_instance_of::<PyTypeError>(py) {
                return Err(error);
            }
            asked.del_item(intern!(py, "max_version"))?;
            value.call_method(name, (), Some(&asked))
        })?;
        if !capsule.is_instance_of::<PyCapsule>() {
            return Err(PyTypeError::new_err(format!(
                "{what}.__dlpack__() returned {}, expected a capsule",
                capsule.get_type()
            )));
        }
        let taken = match take::<Versioned>(&capsule)? {
            Some(tensor) => Some(tensor),
            None => take::<Plain>(&capsule)?,
        };
        let Some((tensor, owner)) = taken else {
            return Err(PyBufferError::new_err(format!(
                "the capsule of {what} was already used, or is not of DLPack; call __dlpack__() again"
            )));
        };
        Self::checked(what, tensor, owner)
    }

    fn checked(what: &str, tensor: DlTensor, owner: Owner) -> PyResult<Self> {
        let wrong = |text: &str| PyValueError::new_err(format!("{what} {text}"));
        let n = usize::try_from(tensor.n_dimensions).map_err(|_| wrong("has a negative number of dimensions"))?;
        if n > 0 && tensor.shape.is_null() {
            return Err(wrong("has dimensions without sizes"));
        }
        let numbers = |from: *mut i64| match n {
            0 => Vec::new(),
            // SAFETY: by the standard, there are as many numbers as dimensions.
            _ => unsafe { std::slice::from_raw_parts(from, n) }.to_vec(),
        };
        let sizes = numbers(tensor.shape).into_iter().map(usize::try_from);
        let shape = sizes.collect::<Result<Vec<usize>, _>>().map_err(|_| wrong("has a negative size"))?;
        if shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).is_none() {
            return Err(wrong("has more values than there are addresses"));
        }
        let mut expected = 1i64;
        let mut rows = vec![0; n];
        for (stride, &size) in rows.iter_mut().zip(&shape).rev() {
            *stride = expected;
            expected = expected.saturating_mul(size as i64);
        }
        let strides = if tensor.strides.is_null() { None } else { Some(numbers(tensor.strides)) };
        // Of no values and of one in a direction the strides say nothing.
        let strides = strides.filter(|strides| {
            let differs = |at: usize| shape[at] > 1 && strides[at] != rows[at];
            !shape.contains(&0) && (0..n).any(differs)
        });
        let address = (tensor.data.expose_provenance() as u64).checked_add(tensor.byte_offset);
        let address = address.and_then(|address| usize::try_from(address).ok());
        let address = address.ok_or_else(|| wrong("begins beyond all addresses"))?;
        Ok(Self { address, shape, strides, data_type: tensor.data_type, owner })
    }

    /// Its shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of values.
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn expect<T: Value>(&self, what: &str) -> PyResult<()> {
        let DlDataType { code, bits, lanes } = self.data_type;
        if lanes == 1 && usize::from(bits) == 8 * size_of::<T>() && T::CODES.contains(&code) {
            return Ok(());
        }
        let text = format!("{what} has values of {}, expected {}", self.data_type.name(), T::NAME);
        Err(PyTypeError::new_err(text))
    }

    /// Checks that the values are stored in the order of their indices.
    fn expect_order(&self, what: &str) -> PyResult<()> {
        if self.strides.is_none() {
            return Ok(());
        }
        let text = format!("{what} does not lie in the order of its indices: make it contiguous first");
        Err(PyValueError::new_err(text))
    }

    /// The address of the first value; there is at least one.
    fn first<T: Value>(&self, what: &str) -> PyResult<*const T> {
        if self.address == 0 || !self.address.is_multiple_of(align_of::<T>()) {
            return Err(PyValueError::new_err(format!("{what} lies at {:#x}, where no values can lie", self.address)));
        }
        Ok(std::ptr::with_exposed_provenance::<T>(self.address))
    }

    /// The values, of a tensor in the host's memory.
    ///
    /// # Errors
    /// `TypeError` for values of another type, `ValueError` if they are not in the order of their indices, or not aligned.
    ///
    /// # Safety
    /// It was taken of a device whose memory is the host's, and nobody writes the values meanwhile.
    pub unsafe fn values<T: Value>(&self, what: &str) -> PyResult<&[T]> {
        self.expect::<T>(what)?;
        self.expect_order(what)?;
        if self.len() == 0 {
            return Ok(&[]);
        }
        // SAFETY: the producer guarantees this many values of this type; `self` keeps the owner; alignment was checked; the caller promises that they are not written.
        Ok(unsafe { std::slice::from_raw_parts(self.first(what)?, self.len()) })
    }

    /// A copy of the values in the order of their indices, for any layout in the host's memory.
    ///
    /// # Errors
    /// `TypeError` for values of another type, `ValueError` if they are not aligned, `MemoryError` if there is no memory for them.
    ///
    /// # Safety
    /// As [`values`](Self::values).
    pub unsafe fn copied<T: Value>(&self, what: &str) -> PyResult<Vec<T>> {
        self.expect::<T>(what)?;
        let n = self.len();
        let mut values = reserved(n)?;
        let Some(strides) = &self.strides else {
            // SAFETY: the caller keeps this function's contract.
            values.extend_from_slice(unsafe { self.values::<T>(what) }?);
            return Ok(values);
        };
        let first = self.first::<T>(what)?;
        let mut index = vec![0usize; self.shape.len()];
        for _ in 0..n {
            let steps: i64 = index
                .iter()
                .zip(strides)
                .map(|(&at, stride)| (at as i64).wrapping_mul(*stride))
                .fold(0, i64::wrapping_add);
            // SAFETY: the index is within the shape, and the producer guarantees values at these strides.
            values.push(unsafe { first.wrapping_offset(steps as isize).read() });
            for (at, &size) in index.iter_mut().zip(&self.shape).rev() {
                *at += 1;
                if *at < size {
                    break;
                }
                *at = 0;
            }
        }
        Ok(values)
    }

    /// The values as a buffer of the device from which they were imported. Nothing is copied.
    ///
    /// # Errors
    /// `TypeError` for values of another type, `ValueError` if they are not in the order of their indices, or not aligned as kernels need it.
    ///
    /// # Safety
    /// Nobody writes the values while work that uses the buffer is queued.
    pub unsafe fn buffer<T: Value + Send + 'static>(&self, what: &str, device: &Device) -> PyResult<Buffer<T>> {
        self.expect::<T>(what)?;
        self.expect_order(what)?;
        let owner = Box::new(Arc::clone(&self.owner));
        // SAFETY: the producer guarantees this many values of this type, and keeps them until its owner is dropped; the caller promises that they are not written.
        let buffer = unsafe { Buffer::borrowed(device, self.address, self.len(), owner) };
        buffer.map_err(|found| PyValueError::new_err(format!("{what}: {found}")))
    }
}

/// The device of an object with `__dlpack__`.
///
/// # Errors
/// Exceptions of the producer.
pub fn device_of(value: &Bound<'_, PyAny>) -> PyResult<DlDevice> {
    let (kind, id): (i32, i32) = value.call_method0(intern!(value.py(), "__dlpack_device__"))?.extract()?;
    Ok(DlDevice { kind, id })
}

/// The tensor of a capsule of this form, which is then marked as used; `None` for a capsule of another form.
fn take<M: Managed + 'static>(capsule: &Bound<'_, PyAny>) -> PyResult<Option<(DlTensor, Owner)>> {
    // SAFETY: a capsule, as the caller checked; the name is a string without end of its own.
    let managed = unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), M::NAME.as_ptr()) != 1 {
            return Ok(None);
        }
        let managed = ffi::PyCapsule_GetPointer(capsule.as_ptr(), M::NAME.as_ptr());
        if ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        managed.cast::<M>()
    };
    let Some(managed) = NonNull::new(managed) else { return Ok(None) };
    let held = Held(managed);
    // SAFETY: the structure that the name denotes; the version is at the same offset in all of them.
    let major = unsafe { held.0.as_ref() }.major();
    if major != 1 {
        return Err(PyBufferError::new_err(format!("a tensor of DLPack {major}, expected version 1")));
    }
    // SAFETY: the structure that the name denotes, whose owner is `held`; the copy is not used longer than that.
    let tensor = unsafe { std::ptr::read(held.0.as_ref().tensor()) };
    Ok(Some((tensor, Arc::new(held))))
}
