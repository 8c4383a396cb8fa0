//! Memory of a GPU that other processes on the same GPU read, by the driver's handles.

use std::ffi::c_int;
use std::sync::Arc;

use bytemuck::Pod;

use crate::runtime::buffer::{Allocation, Buffer, Imported};
use crate::runtime::device::Device;
use crate::runtime::driver::{self, IPC_LAZY_PEER_ACCESS, IpcHandle};
use crate::runtime::error::{Error, Result};

/// The size of an exported buffer is a multiple of this number of bytes: the driver packs smaller buffers into blocks of this size, and a handle refers to the whole block.
pub(crate) const BLOCK_BYTES: usize = 2 << 20;

/// Identifies the GPU, with the same bytes in all processes of a machine: the machine's boot and the driver's number of the GPU. Empty if memory has no handles.
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

/// Returns the bytes that [`import`] takes in other processes: the driver's handle of the allocation (64 bytes), then the buffer's offset and length within it (8 bytes each).
///
/// # Errors
/// [`Error::Shape`] for a size that is not a multiple of [`BLOCK_BYTES`], or memory that is not on a GPU; errors of the driver.
pub(crate) fn export<T>(buffer: &Buffer<T>) -> Result<Vec<u8>> {
    let bytes = buffer.allocation().bytes();
    let whole = bytes > 0 && bytes.is_multiple_of(BLOCK_BYTES);
    let Some(context) = buffer.device().context().filter(|_| whole) else {
        let expected = format!("a multiple of {BLOCK_BYTES} bytes of a GPU");
        return Err(Error::shape("memory for other processes", expected, bytes));
    };
    context.enter()?;
    let address = buffer.as_ptr() as u64;
    let (mut base, mut size, mut handle) = (0, 0, IpcHandle([0; 64]));
    // SAFETY: the address belongs to an allocation of this context, which the buffer keeps alive; the driver writes an address and a size.
    let code = unsafe { driver::cuMemGetAddressRange_v2(&mut base, &mut size, address) };
    context.check("cuMemGetAddressRange", code)?;
    // SAFETY: as above; the driver writes one handle.
    let code = unsafe { driver::cuIpcGetMemHandle(&mut handle, address) };
    context.check("cuIpcGetMemHandle", code)?;
    Ok([&handle.0[..], &(address - base).to_le_bytes(), &(bytes as u64).to_le_bytes()].concat())
}

/// The first `len` values of a buffer that another process [`export`]ed.
///
/// # Safety
/// `exported` comes from [`export`] of a `Buffer<T>` on the GPU that `device` is. Its owner neither writes nor drops that buffer before this one is dropped, and
/// this one is only read.
///
/// # Errors
/// [`Error::Shape`] for bytes that are not a handle, or a handle of too little memory; errors of the driver, which recognises its own handles for this GPU.
pub(crate) unsafe fn import<T: Pod>(device: &Device, exported: &[u8], len: usize) -> Result<Buffer<T>> {
    let parts = exported.split_first_chunk::<64>().and_then(|(handle, rest)| {
        let (offset, bytes) = rest.split_first_chunk::<8>()?;
        Some((*handle, u64::from_le_bytes(*offset), u64::from_le_bytes(bytes.try_into().ok()?)))
    });
    let (Some((handle, offset, bytes)), Some(context)) = (parts, device.context()) else {
        return Err(Error::shape("handle of memory", "80 bytes, on a GPU", exported.len()));
    };
    let needed = (len * size_of::<T>()) as u64;
    if bytes < needed {
        return Err(Error::shape("memory of another process", format!("{needed} bytes"), bytes));
    }
    context.enter()?;
    let mut base = 0;
    // SAFETY: the driver writes one address, and refuses a handle that is not its own.
    let code = unsafe { driver::cuIpcOpenMemHandle_v2(&mut base, IpcHandle(handle), IPC_LAZY_PEER_ACCESS) };
    context.check("cuIpcOpenMemHandle", code)?;
    let block = Imported::new(Arc::clone(context), base, base + offset, needed as usize);
    Ok(Buffer::from_allocation(Allocation::imported(device, block), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_host_has_no_handles() {
        for device in [Device::simt(), Device::cpu()] {
            assert_eq!(hardware(&device).expect("known"), [0; 0]);
            let allocation = Allocation::new(&device, BLOCK_BYTES, 8).expect("memory");
            let buffer = Buffer::<i64>::from_allocation(allocation, BLOCK_BYTES);
            let error = export(&buffer).expect_err("no GPU").to_string();
            assert!(error.contains("memory for other processes"), "{error}");
            // SAFETY: nothing is opened without a GPU.
            let error = unsafe { import::<i64>(&device, &[0; 80], 1) }.expect_err("no GPU").to_string();
            assert!(error.contains("handle of memory"), "{error}");
        }
    }
}
