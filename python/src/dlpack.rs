//! Arrays shared with other libraries by DLPack: what PyTorch, CuPy, JAX or numpy hold is read where it lies, and results are handed to them where they lie.
//!
//! The structures are those of `dlpack.h` 1.0; <https://dmlc.github.io/dlpack/latest/python_spec.html> says who owns what. A producer's memory is kept until its deleter is
//! called, here with the last use of [`Tensor`]; a consumer calls ours. On a GPU a producer makes its work precede that of the stream that it is told ([`Tensor::of`]); what is
//! handed out is finished, so that a consumer may use it on any stream.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{ffi, intern};
use warpplay::{Backend, Buffer, Device, Stream};

use crate::convert::error;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DlDevice {
    kind: i32,
    id: i32,
}

/// `kDLCPU` and `kDLCUDA`.
const CPU: i32 = 1;
const CUDA: i32 = 2;

impl DlDevice {
    /// Where a device's memory is; that of `simt` and `cpu` is the host's.
    fn of(device: &Device) -> Self {
        match device.backend() {
            Backend::Cuda => Self { kind: CUDA, id: device.ordinal() as i32 },
            _ => Self { kind: CPU, id: 0 },
        }
    }

    fn name(self) -> String {
        match self {
            Self { kind: CPU, .. } => "cpu".to_string(),
            Self { kind: CUDA, id } => format!("cuda:{id}"),
            Self { kind, id } => format!("DLPack's kind {kind}, number {id}"),
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DlDataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    n_dimensions: i32,
    data_type: DlDataType,
    shape: *mut i64,
    /// In elements; null where they are those of rows.
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`, in a capsule named `dltensor`.
#[repr(C)]
struct Plain {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
}

/// `DLManagedTensorVersioned`, in a capsule named `dltensor_versioned`.
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// One of the two forms, as capsules have it.
///
/// # Safety
/// `Self` is the structure that the standard puts into capsules of the name [`NAME`](Self::NAME).
unsafe trait Managed: Sized {
    const NAME: &'static CStr;
    /// The name that the consumer gives the capsule.
    const USED: &'static CStr;

    fn new(tensor: DlTensor, context: *mut c_void) -> Self;
    /// The standard's major version; of another one only the deleter may be called.
    fn major(&self) -> u32;
    fn tensor(&self) -> &DlTensor;
    /// Calls the deleter, if there is one.
    ///
    /// # Safety
    /// `managed` is what a producer made; it is used no more.
    unsafe fn delete(managed: *mut Self);
}

// SAFETY: `DLManagedTensor`.
unsafe impl Managed for Plain {
    const NAME: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";

    fn new(tensor: DlTensor, context: *mut c_void) -> Self {
        Self { tensor, context, deleter: Some(end_of_plain) }
    }

    fn major(&self) -> u32 {
        1
    }

    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }

    unsafe fn delete(managed: *mut Self) {
        // SAFETY: a producer's structure, so its deleter takes it.
        unsafe {
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

// SAFETY: `DLManagedTensorVersioned`.
unsafe impl Managed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";

    fn new(tensor: DlTensor, context: *mut c_void) -> Self {
        Self { version: [1, 0], context, deleter: Some(end_of_versioned), flags: 0, tensor }
    }

    fn major(&self) -> u32 {
        self.version[0]
    }

    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }

    unsafe fn delete(managed: *mut Self) {
        // SAFETY: as for `Plain`.
        unsafe {
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

/// The types of values that are taken.
///
/// # Safety
/// Any bytes of the accepted types are values of `Self`.
pub unsafe trait Value: Copy {
    const NAME: &'static str;
    /// Codes of the types, each with as many bits as `Self`.
    const CODES: &'static [u8];
}

// SAFETY: `kDLFloat`.
unsafe impl Value for f32 {
    const NAME: &'static str = "float32";
    const CODES: &'static [u8] = &[2];
}

// SAFETY: `kDLUInt` and `kDLBool`.
unsafe impl Value for u8 {
    const NAME: &'static str = "uint8 or bool";
    const CODES: &'static [u8] = &[1, 6];
}

/// A producer's structure, whose deleter is called on drop.
struct Held<M: Managed>(NonNull<M>);

// SAFETY: the structure is only read until its deleter is called, which the standard allows on any thread.
unsafe impl<M: Managed> Send for Held<M> {}
// SAFETY: as above.
unsafe impl<M: Managed> Sync for Held<M> {}

impl<M: Managed> Drop for Held<M> {
    fn drop(&mut self) {
        // SAFETY: taken from the capsule, which was given the name of one that is used, so nobody else deletes it.
        unsafe { M::delete(self.0.as_ptr()) };
    }
}

/// Values of another library in the memory of a device, in the order of their indices.
pub struct Tensor {
    address: usize,
    shape: Vec<usize>,
    data_type: DlDataType,
    /// What is dropped when nobody needs the memory any more.
    owner: Arc<dyn std::any::Any + Send + Sync>,
}

impl Tensor {
    /// What an object with `__dlpack__` holds, on `device`; `what` is its name in errors. On a GPU the producer's work precedes that of `stream`.
    ///
    /// # Errors
    /// `ValueError` for memory of another device, and for values that are not in the order of their indices; what the producer raises.
    pub fn of(what: &str, value: &Bound<'_, PyAny>, device: &Device, stream: Option<&Stream>) -> PyResult<Self> {
        let py = value.py();
        let (kind, id): (i32, i32) = value.call_method0(intern!(py, "__dlpack_device__"))?.extract()?;
        let (found, expected) = (DlDevice { kind, id }, DlDevice::of(device));
        if found != expected {
            let text = format!("{what} lies on {}, this object works on {}", found.name(), expected.name());
            return Err(PyValueError::new_err(text));
        }
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
            return Err(PyTypeError::new_err(format!("{what}.__dlpack__() is no capsule")));
        }
        let taken = match take::<Versioned>(&capsule)? {
            Some(tensor) => Some(tensor),
            None => take::<Plain>(&capsule)?,
        };
        let Some((tensor, owner)) = taken else {
            return Err(PyBufferError::new_err(format!("the capsule of {what} holds no tensor that was not used yet")));
        };
        Self::checked(what, tensor, owner)
    }

    fn checked(what: &str, tensor: DlTensor, owner: Arc<dyn std::any::Any + Send + Sync>) -> PyResult<Self> {
        let wrong = |text: &str| PyValueError::new_err(format!("{what} {text}"));
        let n = usize::try_from(tensor.n_dimensions).map_err(|_| wrong("has a negative number of dimensions"))?;
        if n > 0 && tensor.shape.is_null() {
            return Err(wrong("has dimensions without sizes"));
        }
        let numbers = |from: *mut i64| match n {
            0 => Vec::new(),
            // SAFETY: the standard's: as many numbers as there are dimensions.
            _ => unsafe { std::slice::from_raw_parts(from, n) }.to_vec(),
        };
        let sizes = numbers(tensor.shape).into_iter().map(usize::try_from);
        let shape = sizes.collect::<Result<Vec<usize>, _>>().map_err(|_| wrong("has a negative size"))?;
        if shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).is_none() {
            return Err(wrong("has more values than there are addresses"));
        }
        // Of no values the strides say nothing.
        if !tensor.strides.is_null() && !shape.contains(&0) {
            let mut expected = 1i64;
            for (&size, stride) in shape.iter().zip(numbers(tensor.strides)).rev() {
                if size > 1 && stride != expected {
                    return Err(wrong("does not lie in the order of its indices: make it contiguous first"));
                }
                expected = expected.saturating_mul(size as i64);
            }
        }
        let address = (tensor.data.expose_provenance() as u64).checked_add(tensor.byte_offset);
        let address = address.and_then(|address| usize::try_from(address).ok());
        let address = address.ok_or_else(|| wrong("begins beyond all addresses"))?;
        Ok(Self { address, shape, data_type: tensor.data_type, owner })
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
        let text = format!("{what} has values of DLPack's type {code} with {bits} bits, expected {}", T::NAME);
        Err(PyTypeError::new_err(text))
    }

    /// The values, of a tensor in the host's memory.
    ///
    /// # Errors
    /// `TypeError` for values of another type, `ValueError` where they are not aligned.
    ///
    /// # Safety
    /// It was taken of a device whose memory is the host's, and nobody writes the values meanwhile.
    pub unsafe fn values<T: Value>(&self, what: &str) -> PyResult<&[T]> {
        self.expect::<T>(what)?;
        if self.len() == 0 {
            return Ok(&[]);
        }
        if self.address == 0 || !self.address.is_multiple_of(align_of::<T>()) {
            return Err(PyValueError::new_err(format!("{what} lies at {:#x}, where no values can lie", self.address)));
        }
        let values = std::ptr::with_exposed_provenance::<T>(self.address);
        // SAFETY: the producer says that so many values of this type lie there; its owner is kept by `self`; aligned, as checked; not written, as the caller says.
        Ok(unsafe { std::slice::from_raw_parts(values, self.len()) })
    }

    /// The values as a buffer of the device that it was taken of. Nothing is copied.
    ///
    /// # Errors
    /// `TypeError` for values of another type, `ValueError` where they are not aligned as kernels need it.
    ///
    /// # Safety
    /// Nobody writes the values while work that uses the buffer is queued.
    pub unsafe fn buffer<T: Value + Send + 'static>(&self, what: &str, device: &Device) -> PyResult<Buffer<T>> {
        self.expect::<T>(what)?;
        let owner = Box::new(Arc::clone(&self.owner));
        // SAFETY: the producer says that so many values of this type lie there, and keeps them until its owner is dropped; not written, as the caller says.
        let buffer = unsafe { Buffer::borrowed(device, self.address, self.len(), owner) };
        buffer.map_err(|found| PyValueError::new_err(format!("{what}: {found}")))
    }
}

/// The tensor of a capsule of this form, which is marked as used; none for one of another form.
fn take<M: Managed + 'static>(
    capsule: &Bound<'_, PyAny>,
) -> PyResult<Option<(DlTensor, Arc<dyn std::any::Any + Send + Sync>)>> {
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
    // SAFETY: the structure that the name stands for; where the version stands is the same in all of them.
    let major = unsafe { held.0.as_ref() }.major();
    if major != 1 {
        return Err(PyBufferError::new_err(format!("a tensor of DLPack {major}, expected version 1")));
    }
    // SAFETY: the structure that the name stands for, of which `held` is the owner; the copy is used no longer than that.
    let tensor = unsafe { std::ptr::read(held.0.as_ref().tensor()) };
    Ok(Some((tensor, Arc::new(held))))
}

/// Where results lie.
enum Contents {
    Device(Buffer<f32>),
    Host(Box<[UnsafeCell<f32>]>),
}

// SAFETY: values of the host are reached by raw pointers alone; who is lent them may write, and that two do not use one at a time is for them to see to, as of every array that Python shares.
unsafe impl Sync for Contents {}

/// An array of float32 that the library made, where it lies: on a GPU, or in the host's memory. Who takes it may write it, and every other taker sees that.
///
/// `torch.from_dlpack(array)`, `cupy.from_dlpack(array)`, `jax.dlpack.from_dlpack(array)` and, on the host, `numpy.from_dlpack(array)` take it without a copy.
#[pyclass(module = "warpplay", frozen)]
pub struct Array {
    contents: Arc<Contents>,
    device: Device,
    shape: Vec<usize>,
}

impl Array {
    /// Of a buffer whose work is finished.
    pub fn of_buffer(buffer: Buffer<f32>, shape: &[usize]) -> Self {
        let device = buffer.device().clone();
        Self { contents: Arc::new(Contents::Device(buffer)), device, shape: shape.to_vec() }
    }

    pub fn of_values(values: Vec<f32>, shape: &[usize]) -> Self {
        let values = values.into_iter().map(UnsafeCell::new).collect();
        Self { contents: Arc::new(Contents::Host(values)), device: Device::cpu(), shape: shape.to_vec() }
    }

    fn capsule<'py, M: Managed>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape: Vec<i64> = self.shape.iter().map(|&size| size as i64).collect();
        let mut strides = vec![1; shape.len()];
        for at in (1..shape.len()).rev() {
            strides[at - 1] = strides[at] * shape[at];
        }
        let mut lent = Box::new(Lent::<M> { managed: None, shape, strides, _contents: Arc::clone(&self.contents) });
        let data = match &*self.contents {
            Contents::Device(buffer) => buffer.as_ptr(),
            Contents::Host(values) => UnsafeCell::raw_get(values.as_ptr()).cast_const(),
        };
        let tensor = DlTensor {
            data: data.cast_mut().cast(),
            device: DlDevice::of(&self.device),
            n_dimensions: lent.shape.len() as i32,
            data_type: DlDataType { code: 2, bits: 32, lanes: 1 },
            shape: lent.shape.as_mut_ptr(),
            strides: lent.strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let lent = Box::into_raw(lent);
        // SAFETY: just made, and not shared yet. `managed` is a part of it, so its address is good as long as the deleter, which takes `context`, was not called.
        let managed: *mut M = unsafe { (*lent).managed.insert(M::new(tensor, lent.cast())) };
        // SAFETY: the name is static; the destructor takes capsules of that name.
        let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), M::NAME.as_ptr(), Some(discard::<M>)) };
        if capsule.is_null() {
            // SAFETY: made above, and nobody has it.
            drop(unsafe { Box::from_raw(lent) });
            return Err(PyErr::fetch(py));
        }
        // SAFETY: a new object, whose count is ours.
        Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
    }
}

/// What a consumer keeps of an array.
struct Lent<M> {
    managed: Option<M>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _contents: Arc<Contents>,
}

/// Our deleters.
///
/// # Safety
/// `managed` was made by [`Array::capsule`], and is used no more.
unsafe extern "C" fn end_of_plain(managed: *mut Plain) {
    // SAFETY: `context` is the box that `capsule` made.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Lent<Plain>>()) });
}

/// # Safety
/// As [`end_of_plain`].
unsafe extern "C" fn end_of_versioned(managed: *mut Versioned) {
    // SAFETY: as there.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Lent<Versioned>>()) });
}

/// The destructor of a capsule: what nobody has taken is deleted.
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
    /// Its shape.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    /// The device whose memory it lies in: `cpu` or `cuda:N`.
    #[getter]
    fn device(&self) -> String {
        DlDevice::of(&self.device).name()
    }

    /// Kind and number of the device, as DLPack counts them.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let DlDevice { kind, id } = DlDevice::of(&self.device);
        (kind, id)
    }

    /// The array for another library. It is finished, so `stream` does not matter; it is never copied, nor to another device.
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

    /// A copy for numpy, from wherever it lies.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = match &*self.contents {
            // SAFETY: as the contents say; each is read as it is at the moment.
            Contents::Host(values) => values.iter().map(|value| unsafe { value.get().read() }).collect(),
            Contents::Device(buffer) => py.detach(|| self.device.stream()?.read(buffer)).map_err(error)?,
        };
        Ok(PyArray1::from_vec(py, values).reshape(self.shape.clone())?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("warpplay.Array(shape={:?}, dtype=float32, device={:?})", self.shape, self.device())
    }
}
