//! The way in and out for programs that work with `cust` of Rust-CUDA: contexts, streams and device buffers of the one are those of the other.
//!
//! `cust` links the driver's library, so a program with this feature is built where the CUDA toolkit, or a library in its place, is found, and starts where there is a driver.
//! Nothing else of this crate needs that.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;
use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer};

use crate::runtime::buffer::{Allocation, Buffer};
use crate::runtime::context;
use crate::runtime::device::Device;
use crate::runtime::driver::Handle;
use crate::runtime::error::{Error, Result};
use crate::runtime::stream::Stream;

impl Device {
    /// Returns the device of a `cust` context. Both crates work in a device's primary context, so they share memory, streams and modules.
    ///
    /// # Errors
    /// As [`Device::cuda`]; [`Error::Driver`] if the driver refuses.
    pub fn from_cust(context: &cust::context::Context) -> Result<Self> {
        // A context of cust is its device's primary one, but does not tell the device unless it is current.
        let failed = |_| context::failure("cuCtxGetDevice", None);
        cust::context::CurrentContext::set_current(context).map_err(failed)?;
        let number = cust::context::CurrentContext::get_device().map_err(failed)?.as_raw();
        let ordinals = 0..context::count()?;
        let ordinal = ordinals.into_iter().find(|&ordinal| context::find(ordinal).is_ok_and(|found| found == number));
        let unknown =
            || Error::NoDevice { reason: format!("device {number} of cust is not among those that the driver shows") };
        Self::cuda(ordinal.ok_or_else(unknown)?)
    }

    /// Returns the device's primary context as one of `cust`. It is retained once more and made current on this thread.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another back end than CUDA; [`Error::ContextDead`] after a kernel's failure; [`Error::Driver`] if the driver refuses.
    pub fn to_cust(&self) -> Result<cust::context::Context> {
        let Some(context) = self.context() else { return Err(no_cuda(self)) };
        context.enter()?;
        let failed = |_| context::failure("cuDevicePrimaryCtxRetain", None);
        let device = cust::device::Device::get_device(context.ordinal() as u32).map_err(failed)?;
        cust::context::Context::new(device).map_err(failed)
    }
}

fn no_cuda(device: &Device) -> Error {
    Error::Unsupported {
        what: "a conversion to cust".to_string(),
        backend: device.backend().to_string(),
        remedy: "open a CUDA device".to_string(),
    }
}

/// A stream of this crate, borrowed as one of `cust`.
pub struct CustStream<'a> {
    stream: ManuallyDrop<cust::stream::Stream>,
    owner: PhantomData<&'a Stream>,
}

impl Deref for CustStream<'_> {
    type Target = cust::stream::Stream;

    fn deref(&self) -> &Self::Target {
        &self.stream
    }
}

impl Stream {
    /// Takes over a stream of `cust`, which must belong to the device's primary context. Dropping the returned stream destroys it.
    ///
    /// # Safety
    /// The stream was made in the primary context of `device`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another back end than CUDA.
    pub unsafe fn from_cust(device: &Device, stream: cust::stream::Stream) -> Result<Self> {
        let Some(context) = device.context() else { return Err(no_cuda(device)) };
        // Destroyed by ours from now on.
        let stream = ManuallyDrop::new(stream);
        Ok(Self::of_handle(device, context, Handle(stream.as_inner().cast())))
    }

    /// Returns the stream for functions of `cust`. Work queued through `cust` and through this stream shares one queue.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another back end than CUDA.
    pub fn as_cust(&self) -> Result<CustStream<'_>> {
        let Some(handle) = self.handle() else { return Err(no_cuda(self.device())) };
        const { assert!(size_of::<cust::stream::Stream>() == size_of::<Handle>()) };
        // SAFETY: `Stream` of cust 0.3.2, the pinned version, has the driver's handle as its only field, and the sizes agree; the value is never dropped as a stream of cust.
        let stream = ManuallyDrop::new(unsafe { std::mem::transmute::<Handle, cust::stream::Stream>(handle) });
        debug_assert_eq!(Handle(stream.as_inner().cast()), handle);
        Ok(CustStream { stream, owner: PhantomData })
    }
}

impl<T: Pod + DeviceCopy> Buffer<T> {
    /// Takes over a buffer of `cust`. Dropping the returned buffer frees the memory.
    ///
    /// # Safety
    /// The buffer was allocated in the primary context of `device`, and all of it has been initialised, since any of its bytes may be read.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another back end than CUDA.
    pub unsafe fn from_cust(device: &Device, buffer: DeviceBuffer<T>) -> Result<Self> {
        let Some(context) = device.context() else { return Err(no_cuda(device)) };
        // Freed by ours from now on.
        let buffer = ManuallyDrop::new(buffer);
        let (address, len) = (buffer.as_device_ptr().as_raw(), buffer.len());
        let allocation = Allocation::taken(device, context, address, len * size_of::<T>());
        Ok(Self::from_allocation(allocation, len))
    }

    /// Gives the buffer to `cust`, which frees it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another back end than CUDA; [`Error::Order`] where a graph keeps the buffer.
    pub fn into_cust(self) -> Result<DeviceBuffer<T>> {
        let (device, len) = (self.device().clone(), self.len());
        let Some(context) = device.context() else { return Err(no_cuda(&device)) };
        let allocation = Arc::into_inner(self.into_allocation()).ok_or_else(|| Error::Order {
            what: "Buffer::into_cust",
            reason: "a graph keeps the buffer: drop the graph first".to_string(),
        })?;
        context.enter()?;
        let pointer = DevicePointer::from_raw(allocation.give());
        // SAFETY: the memory holds `len` values, was allocated by the driver's `cuMemAlloc`, and has no other owner.
        Ok(unsafe { DeviceBuffer::from_raw_parts(pointer, len) })
    }
}
