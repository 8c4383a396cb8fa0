//! Chooses the engine that trains; nothing else does.

use super::Samples;
use super::engines::{Setup, Train, cpu, device};
use crate::azero::NetworkShape;
use crate::{Backend, Device, Memory, Result};

/// Opens the way to train that a device has.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has not enough; [`Error::Shape`](crate::Error::Shape) for a network or a batch that its kernels do not take.
pub(super) fn open(device: &Device, setup: Setup) -> Result<Box<dyn Train>> {
    match device.backend() {
        Backend::Cpu => cpu::open(setup),
        _ => device::open(device, setup),
    }
}

/// What a training needs on a device, beside the networks on the host.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for a network or a batch that its kernels do not take.
pub(super) fn memory(device: &Device, shape: NetworkShape, samples: &Samples, batch: u32) -> Result<Memory> {
    match device.backend() {
        Backend::Cpu => Ok(cpu::memory(shape, batch)),
        _ => device::memory(shape, samples, batch),
    }
}

/// Its name.
pub(super) fn name(device: &Device) -> &'static str {
    match device.backend() {
        Backend::Cpu => "cpu",
        _ => "device",
    }
}

/// Steps between two answers of a device. On the CPU every step may be the last that the caller wants.
pub(super) fn steps_at_once(device: &Device) -> u32 {
    match device.backend() {
        Backend::Cpu => 1,
        _ => device::STEPS_AT_ONCE as u32,
    }
}
