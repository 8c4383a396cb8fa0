//! Memory of a GPU that other processes on the same GPU read, by the driver's handles.

use std::ffi::c_int;
use std::sync::Arc;

use crate::runtime::buffer::{Allocation, Buffer};
use crate::runtime::context::Context;
use crate::runtime::device::Device;
use crate::runtime::driver::{self, IPC_LAZY_PEER_ACCESS, IpcHandle};
use crate::runtime::error::{Error, Result};

/// Fewest bytes of a buffer that is exported. The driver puts smaller ones together into blocks of this size, and a handle is one of the whole block.
pub(crate) const LEAST_BYTES: usize = 2 << 20;

/// What names the GPU alike in all processes of a machine: the machine since its start, and the driver's number of the GPU. Empty where memory has no handles.
pub(crate) fn hardware(device: &Device) -> Result<Vec<u8>> {
    let (Some(context), Ok(mut name)) = (device.context(), std::fs::read("/proc/sys/kernel/random/boot_id")) else {
        return Ok(vec![]);
    };
    context.enter()?;
    let (mut number, mut uuid) = (0, [0; 16]);
    // SAFETY: the driver writes one number and 16 bytes.
    let (found, asked) = unsafe {
        (driver::cuDeviceGet(&mut number, context.ordinal() as c_int), driver::cuDeviceGetUuid_v2(&mut uuid, number))
    };
    context.check("cuDeviceGet", found)?;
    context.check("cuDeviceGetUuid", asked)?;
    name.extend(uuid);
    Ok(name)
}

/// What [`import`] in other processes takes: the driver's handle of a buffer's memory, 64 bytes, and how many bytes it has. The buffer must be kept until they have dropped what they import.
///
/// # Errors
/// [`Error::Shape`] for less than [`LEAST_BYTES`] or memory that is no GPU's; errors of the driver.
pub(crate) fn export<T>(buffer: &Buffer<T>) -> Result<Vec<u8>> {
    let bytes = buffer.allocation().bytes();
    let Some(context) = buffer.device().context().filter(|_| bytes >= LEAST_BYTES) else {
        return Err(Error::shape("memory for other processes", format!("{LEAST_BYTES} bytes of a GPU"), bytes));
    };
    context.enter()?;
    let mut handle = IpcHandle([0; 64]);
    // SAFETY: the address is that of an allocation of this context, which the buffer keeps.
    let code = unsafe { driver::cuIpcGetMemHandle(&mut handle, buffer.as_ptr() as u64) };
    context.check("cuIpcGetMemHandle", code)?;
    Ok([&handle.0[..], &(bytes as u64).to_le_bytes()].concat())
}

/// The first `len` values of a buffer that another process [`export`]ed. Only to be read, and to be dropped before its owner drops it.
///
/// # Errors
/// [`Error::Shape`] for what is no handle, or one of less memory; errors of the driver, which knows the handles that it gave for this GPU.
pub(crate) fn import<T>(device: &Device, exported: &[u8], len: usize) -> Result<Buffer<T>> {
    let parts = exported.split_first_chunk().and_then(|(handle, rest)| Some((*handle, *rest.as_array()?)));
    let (Some((handle, bytes)), Some(context)) = (parts, device.context()) else {
        return Err(Error::shape("handle of memory", "72 bytes, on a GPU", exported.len()));
    };
    let (bytes, needed) = (u64::from_le_bytes(bytes), (len * size_of::<T>()) as u64);
    if bytes < needed {
        return Err(Error::shape("memory of another process", format!("{needed} bytes"), bytes));
    }
    context.enter()?;
    let mut address = 0;
    // SAFETY: the driver writes one address, and refuses what is no handle of its own.
    let code = unsafe { driver::cuIpcOpenMemHandle_v2(&mut address, IpcHandle(handle), IPC_LAZY_PEER_ACCESS) };
    context.check("cuIpcOpenMemHandle", code)?;
    let block = Imported { address, bytes: len * size_of::<T>(), context: Arc::clone(context) };
    Ok(Buffer::from_allocation(Allocation::imported(device, block), len))
}

/// Memory that another process owns, closed on drop.
pub(crate) struct Imported {
    address: u64,
    bytes: usize,
    context: Arc<Context>,
}

impl Imported {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        // The mappings of a dead context go with the context.
        if self.context.enter().is_ok() {
            // SAFETY: opened in `import`, closed once, here. The driver waits for work that uses it.
            let code = unsafe { driver::cuIpcCloseMemHandle(self.address) };
            if let Err(error) = self.context.check("cuIpcCloseMemHandle", code) {
                tracing::debug!("{error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_host_has_no_handles() {
        for device in [Device::simt(), Device::cpu()] {
            assert_eq!(hardware(&device).expect("known"), [0; 0]);
            let buffer =
                Buffer::<i64>::from_allocation(Allocation::new(&device, LEAST_BYTES, 8).expect("memory"), LEAST_BYTES);
            let error = export(&buffer).expect_err("no GPU").to_string();
            assert!(error.contains("memory for other processes"), "{error}");
            let error = import::<i64>(&device, &[0; 72], 1).expect_err("no GPU").to_string();
            assert!(error.contains("handle of memory"), "{error}");
        }
    }
}
