//! Host memory that the device copies from and to while the program goes on.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;

use crate::runtime::buffer::HostBlock;
use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, Handle};
use crate::runtime::error::{Error, Result};
use crate::runtime::event::CudaEvent;
use crate::runtime::memory::out_of_memory;

/// `len` values in page-locked host memory, zero at first, made by [`Stream::pinned`](crate::Stream::pinned).
///
/// Copies between it and a buffer are asynchronous. Access by the host waits: [`as_slice`](Self::as_slice) and
/// [`as_mut_slice`](Self::as_mut_slice) return when every queued copy has ended.
///
/// ```
/// use warpplay::Device;
/// let stream = Device::simt().stream()?;
/// let mut staging = stream.pinned::<u16>(3)?;
/// staging.as_mut_slice()?.copy_from_slice(&[1, 2, 3]);
/// let mut buffer = stream.alloc::<u16>(5)?;
/// stream.write_pinned(&mut buffer, 2, &staging, 3)?;
/// assert_eq!(stream.read(&buffer)?, [0, 0, 1, 2, 3]);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Pinned<T> {
    device: Device,
    len: usize,
    storage: Storage,
    values: PhantomData<fn() -> T>,
}

enum Storage {
    Empty,
    Cuda(CudaPinned),
    Host(HostBlock),
}

struct CudaPinned {
    address: *mut u8,
    context: Arc<Context>,
    /// Event after the last copy.
    event: CudaEvent,
    /// The stream of copies that may still run.
    pending: Mutex<Option<u64>>,
}

// SAFETY: the memory is owned, is not tied to a thread, and is reached only through borrows of `Pinned`.
unsafe impl Send for CudaPinned {}
// SAFETY: as above.
unsafe impl Sync for CudaPinned {}

impl CudaPinned {
    fn new(context: &Arc<Context>, device: &Device, bytes: usize) -> Result<Self> {
        let event = CudaEvent::new(context)?;
        let mut address = std::ptr::null_mut();
        // SAFETY: `address` is written before the call returns; the context is current since the event was made.
        let code = unsafe { driver::cuMemHostAlloc(&mut address, bytes, driver::MEM_HOST_ALLOC_PORTABLE) };
        if code == driver::OUT_OF_MEMORY {
            return Err(too_much(device, bytes as u64, crate::runtime::host_machine::memory().free));
        }
        context.check("cuMemHostAlloc", code)?;
        let address = address.cast::<u8>();
        // SAFETY: the driver allocated `bytes` bytes.
        unsafe { address.write_bytes(0, bytes) };
        Ok(Self { address, context: Arc::clone(context), event, pending: Mutex::new(None) })
    }

    fn wait(&self) -> Result<()> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.is_some() {
            self.event.wait()?;
            *pending = None;
        }
        Ok(())
    }
}

impl Drop for CudaPinned {
    fn drop(&mut self) {
        // A dead context copies no more, and takes the memory with it.
        let ended = self.wait();
        if ended.is_ok() && self.context.enter().is_ok() {
            // SAFETY: allocated by `cuMemHostAlloc`, freed once, no copy uses it.
            unsafe { driver::cuMemFreeHost(self.address.cast()) };
        }
    }
}

fn too_much(device: &Device, needed: u64, free: u64) -> Error {
    out_of_memory(format!("the host of {device}"), needed, free)
}

impl<T: Pod> Pinned<T> {
    pub(crate) fn new(device: &Device, len: usize) -> Result<Self> {
        let free = crate::runtime::host_machine::memory().free;
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes as u64 <= free).ok_or_else(|| {
            too_much(device, u64::try_from(len as u128 * size_of::<T>() as u128).unwrap_or(u64::MAX), free)
        })?;
        let storage = match device.context() {
            _ if bytes == 0 => Storage::Empty,
            Some(context) => Storage::Cuda(CudaPinned::new(context, device, bytes)?),
            None => Storage::Host(HostBlock::new(device, bytes)?),
        };
        Ok(Self { device: device.clone(), len, storage, values: PhantomData })
    }

    /// Returns the values, after waiting for every queued copy.
    ///
    /// # Errors
    /// [`Error::Driver`] or [`Error::ContextDead`] if a kernel before such a copy failed.
    pub fn as_slice(&self) -> Result<&[T]> {
        self.wait()?;
        // SAFETY: the memory holds `len` initialised values of a type for which any bytes are valid; no copy is under way,
        // and a copy that writes them needs `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.address().cast(), self.len) })
    }

    /// Returns the values for writing, after waiting for every queued copy.
    ///
    /// # Errors
    /// As [`as_slice`](Self::as_slice).
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.wait()?;
        // SAFETY: as in `as_slice`; any copy needs a borrow of `self`.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.address().cast(), self.len) })
    }
}

impl<T> Pinned<T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device whose streams copy from and to it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Address of the first value.
    pub(crate) fn address(&self) -> *mut u8 {
        match &self.storage {
            Storage::Empty => std::ptr::without_provenance_mut(256),
            Storage::Cuda(pinned) => pinned.address,
            Storage::Host(block) => block.address.as_ptr(),
        }
    }

    fn wait(&self) -> Result<()> {
        match &self.storage {
            Storage::Cuda(pinned) => pinned.wait(),
            Storage::Empty | Storage::Host(_) => Ok(()),
        }
    }

    /// Queues a copy on the stream numbered `number` and remembers it. First waits for copies on another stream, since one
    /// event cannot mark two streams.
    pub(crate) fn queue_copy(&self, number: u64, stream: Handle, copy: impl FnOnce() -> Result<()>) -> Result<()> {
        let Storage::Cuda(pinned) = &self.storage else {
            return copy();
        };
        // Held to the end, so that two threads' copies and marks do not mix.
        let mut pending = pinned.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.is_some_and(|pending| pending != number) {
            pinned.event.wait()?;
            *pending = None;
        }
        copy()?;
        *pending = Some(number);
        if let Err(error) = pinned.event.record(stream) {
            // Without the mark nobody could wait for the copy later.
            // SAFETY: the caller's stream, of the context that is current.
            let _ = unsafe { driver::cuStreamSynchronize(stream) };
            return Err(error);
        }
        Ok(())
    }
}

impl<T> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = std::any::type_name::<T>();
        write!(f, "Pinned<{of}>({} values for {})", self.len, self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_memory_begins_as_zeros_and_may_be_empty() {
        let device = Device::simt();
        let mut pinned = Pinned::<f32>::new(&device, 3).expect("small");
        assert_eq!(pinned.as_slice().expect("simt"), [0.0; 3]);
        pinned.as_mut_slice().expect("simt")[1] = 2.0;
        assert_eq!(pinned.as_slice().expect("simt"), [0.0, 2.0, 0.0]);
        assert!(Pinned::<f32>::new(&device, 0).expect("empty").is_empty());
        assert!(matches!(Pinned::<u64>::new(&device, usize::MAX), Err(Error::OutOfMemory { .. })));
    }
}
