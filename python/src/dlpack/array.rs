//! `warpplay.Array`: results, handed to other libraries where they lie.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use warpplay::{Buffer, Device};

use super::standard::{DlDataType, DlDevice, DlTensor, Managed, Plain, Value, Versioned};
use crate::convert::{error, expect_same_process};

/// Sixteen values of four bytes, with the alignment that XLA and others require for memory taken without a copy.
#[repr(C, align(64))]
struct Line<T>([T; 16]);

/// Values of the host, aligned to 64 bytes. Values of the last line beyond `len` do not belong to the array.
pub struct HostValues<T> {
    lines: Box<[UnsafeCell<Line<T>>]>,
    len: usize,
}

impl<T: Value + Default> HostValues<T> {
    fn new(values: &[T]) -> Self {
        const { assert!(size_of::<Line<T>>() == 16 * size_of::<T>(), "lines follow each other without a gap") };
        let lines = values.chunks(16).map(|chunk| {
            let mut line = [T::default(); 16];
            line[..chunk.len()].copy_from_slice(chunk);
            UnsafeCell::new(Line(line))
        });
        Self { lines: lines.collect(), len: values.len() }
    }

    /// Address of the first value.
    fn address(&self) -> *mut T {
        UnsafeCell::raw_get(self.lines.as_ptr()).cast()
    }

    fn read(&self) -> Vec<T> {
        // SAFETY: the index is below `len`, so within the lines; each value is read as it is at the moment.
        (0..self.len).map(|at| unsafe { self.address().add(at).read() }).collect()
    }
}

// SAFETY: the values are reached by raw pointers only; consumers may write them, and must not use one value at the same time, as for every array that Python shares.
unsafe impl<T: Send> Sync for HostValues<T> {}

/// Memory that holds results.
pub enum Values<T> {
    Device(Buffer<T>),
    Host(HostValues<T>),
}

impl<T: Value + Default> Values<T> {
    fn address(&self) -> *mut c_void {
        match self {
            Self::Device(buffer) => buffer.as_ptr().cast_mut().cast(),
            Self::Host(values) => values.address().cast(),
        }
    }
}

/// The values of an array, in one of the types of results.
pub enum Contents {
    Single(Values<f32>),
    Int(Values<i32>),
}

impl Contents {
    fn data_type(&self) -> DlDataType {
        match self {
            Self::Single(_) => f32::DATA_TYPE,
            Self::Int(_) => i32::DATA_TYPE,
        }
    }

    /// The type's name, as numpy has it.
    fn dtype(&self) -> &'static str {
        match self {
            Self::Single(_) => f32::NAME,
            Self::Int(_) => i32::NAME,
        }
    }

    fn address(&self) -> *mut c_void {
        match self {
            Self::Single(values) => values.address(),
            Self::Int(values) => values.address(),
        }
    }
}

/// A type of values that another library can share.
pub trait Shareable: Value + Default + Element {
    /// The values as contents.
    fn contents(values: Values<Self>) -> Contents;
    /// A copy of a device's values.
    ///
    /// # Errors
    /// Errors of the device.
    fn read(buffer: &Buffer<Self>) -> warpplay::Result<Vec<Self>>;
    /// A copy on a device.
    ///
    /// # Errors
    /// Errors of the device.
    fn upload(device: &Device, values: &[Self]) -> warpplay::Result<Buffer<Self>>;
}

macro_rules! results {
    ($($type:ty: $contents:ident),*) => { $(
        impl Shareable for $type {
            fn contents(values: Values<Self>) -> Contents {
                Contents::$contents(values)
            }

            fn read(buffer: &Buffer<Self>) -> warpplay::Result<Vec<Self>> {
                buffer.device().stream()?.read(buffer)
            }

            fn upload(device: &Device, values: &[Self]) -> warpplay::Result<Buffer<Self>> {
                let stream = device.stream()?;
                let buffer = stream.upload(values)?;
                stream.synchronize()?;
                Ok(buffer)
            }
        }
    )* };
}

results! { f32: Single, i32: Int }

/// An array of float32 or int32 that the library made, on a GPU or in the host's memory. Consumers share the memory: every consumer may write it and sees the others' changes.
///
/// `torch.from_dlpack(array)`, `cupy.from_dlpack(array)`, `jax.dlpack.from_dlpack(array)` and, on the host, `numpy.from_dlpack(array)` take it without a copy. Its
/// computation is finished, so it may be used on any stream.
#[pyclass(module = "warpplay", frozen)]
pub struct Array {
    contents: Arc<Contents>,
    device: Device,
    shape: Vec<usize>,
}

impl Array {
    /// Makes an array from a buffer whose work is finished.
    pub fn of_buffer<T: Shareable>(buffer: Buffer<T>, shape: &[usize]) -> Self {
        let device = buffer.device().clone();
        Self { contents: Arc::new(T::contents(Values::Device(buffer))), device, shape: shape.to_vec() }
    }

    /// Makes an array in the host's memory.
    pub fn of_values<T: Shareable>(values: &[T], shape: &[usize]) -> Self {
        let contents = Arc::new(T::contents(Values::Host(HostValues::new(values))));
        Self { contents, device: Device::cpu(), shape: shape.to_vec() }
    }

    /// Refuses memory of a device in a forked child, which has no access to its parent's devices.
    ///
    /// # Errors
    /// `WarpplayError` in such a child, for memory of a device.
    fn expect_reachable(&self) -> PyResult<()> {
        match &*self.contents {
            Contents::Single(Values::Host(_)) | Contents::Int(Values::Host(_)) => Ok(()),
            Contents::Single(Values::Device(_)) | Contents::Int(Values::Device(_)) => expect_same_process(),
        }
    }

    fn numpy_of<'py, T: Shareable>(&self, py: Python<'py>, values: &Values<T>) -> PyResult<Bound<'py, PyAny>>
    where
        Values<T>: Sync,
    {
        let values = match values {
            Values::Host(values) => values.read(),
            Values::Device(buffer) => py.detach(|| T::read(buffer)).map_err(error)?,
        };
        Ok(PyArray1::from_vec(py, values).reshape(self.shape.clone())?.into_any())
    }

    fn capsule<'py, M: Managed>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape: Vec<i64> = self.shape.iter().map(|&size| size as i64).collect();
        let mut strides = vec![1; shape.len()];
        for at in (1..shape.len()).rev() {
            strides[at - 1] = strides[at] * shape[at];
        }
        let mut lent = Box::new(Lent::<M> { managed: None, shape, strides, _contents: Arc::clone(&self.contents) });
        let tensor = DlTensor {
            data: self.contents.address(),
            device: DlDevice::of(&self.device),
            n_dimensions: lent.shape.len() as i32,
            data_type: self.contents.data_type(),
            shape: lent.shape.as_mut_ptr(),
            strides: lent.strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let lent = Box::into_raw(lent);
        // SAFETY: just made, and not shared yet. `managed` is a part of it, so its address is valid until the deleter, which takes `context`, is called.
        let managed: *mut M = unsafe { (*lent).managed.insert(M::new(tensor, lent.cast(), end::<M>)) };
        // SAFETY: the name is static; the destructor takes capsules of that name.
        let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), M::NAME.as_ptr(), Some(discard::<M>)) };
        if capsule.is_null() {
            // SAFETY: made above and not shared.
            drop(unsafe { Box::from_raw(lent) });
            return Err(PyErr::fetch(py));
        }
        // SAFETY: a new object, whose count is ours.
        Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
    }
}

/// The data that a consumer keeps of an array.
struct Lent<M> {
    managed: Option<M>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _contents: Arc<Contents>,
}

/// Our deleter.
///
/// # Safety
/// `managed` was made by [`Array::capsule`], and is used no more.
unsafe extern "C" fn end<M: Managed>(managed: *mut M) {
    // SAFETY: `context` is the box that `capsule` made.
    drop(unsafe { Box::from_raw((*managed).context().cast::<Lent<M>>()) });
}

/// The destructor of a capsule, which deletes an array that no consumer has taken.
///
/// # Safety
/// Called by the interpreter with a capsule of [`Array::capsule`].
unsafe extern "C" fn discard<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: a consumer changes the name, and only then owns the structure.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            M::delete(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
        }
    }
}

#[pymethods]
impl Array {
    /// Its shape, a list of sizes.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    /// The type of its values: `float32` or `int32`.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.contents.dtype()
    }

    /// The device whose memory holds it: `cpu` or `cuda:N`.
    #[getter]
    fn device(&self) -> String {
        DlDevice::of(&self.device).name()
    }

    /// Kind and number of the device, as DLPack counts them.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let DlDevice { kind, id } = DlDevice::of(&self.device);
        (kind, id)
    }

    /// The array for another library. Its computation is finished, so `stream` is ignored; it is never copied, not even to another device.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = stream;
        self.expect_reachable()?;
        if dl_device.is_some_and(|wanted| wanted != self.__dlpack_device__()) {
            let text = format!("the array lies on {} and is not copied elsewhere", self.device());
            return Err(PyBufferError::new_err(text));
        }
        if copy == Some(true) {
            return Err(PyBufferError::new_err("the array is lent without a copy: copy it there"));
        }
        match max_version {
            Some((1.., _)) => self.capsule::<Versioned>(py),
            _ => self.capsule::<Plain>(py),
        }
    }

    /// A copy for numpy, with the array's shape and type, from any device.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.expect_reachable()?;
        match &*self.contents {
            Contents::Single(values) => self.numpy_of(py, values),
            Contents::Int(values) => self.numpy_of(py, values),
        }
    }

    /// The same for `numpy.asarray`, always a copy.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "the array is copied for numpy: numpy.from_dlpack takes one of the host without a copy",
            ));
        }
        let array = self.numpy(py)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// Its first size.
    fn __len__(&self) -> PyResult<usize> {
        self.shape.first().copied().ok_or_else(|| PyTypeError::new_err("an array of no dimensions has no length"))
    }

    fn __repr__(&self) -> String {
        format!("warpplay.Array(shape={:?}, dtype={}, device={:?})", self.shape, self.dtype(), self.device())
    }
}
