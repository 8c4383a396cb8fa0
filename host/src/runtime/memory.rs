//! Memory that a piece of work needs, asked before any is taken.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::runtime::device::Device;
use crate::runtime::error::{Error, Result, bytes};
use crate::runtime::host_machine;
use crate::runtime::info::Backend;

/// Memory that a task needs, listed by purpose; returned by `memory_needed` of builders and engines.
///
/// ```
/// use warpplay::Memory;
///
/// let memory = Memory::default().on_device("trees", 3 << 20).on_host("report", 512);
/// assert_eq!((memory.device(), memory.host()), (3 << 20, 512));
/// assert_eq!(memory.to_string(), "3.00 MiB on the device (trees 3.00 MiB), 512 bytes on the host (report 512 bytes)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    parts: Vec<MemoryPart>,
}

/// One use of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPart {
    /// Purpose.
    pub what: String,
    /// Bytes on the device.
    pub device: u64,
    /// Bytes on the host.
    pub host: u64,
}

impl Memory {
    /// Adds bytes on the device. On [`Backend::Cpu`](crate::Backend::Cpu) and [`Backend::Simt`](crate::Backend::Simt) the device is the machine.
    #[must_use]
    pub fn on_device(mut self, what: &str, bytes: u64) -> Self {
        self.parts.push(MemoryPart { what: what.to_string(), device: bytes, host: 0 });
        self
    }

    /// Adds bytes on the host.
    #[must_use]
    pub fn on_host(mut self, what: &str, bytes: u64) -> Self {
        self.parts.push(MemoryPart { what: what.to_string(), device: 0, host: bytes });
        self
    }

    /// The parts, in the order in which they were added.
    pub fn parts(&self) -> &[MemoryPart] {
        &self.parts
    }

    /// Total bytes on the device.
    pub fn device(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.device))
    }

    /// Total bytes on the host.
    pub fn host(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.host))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |f: &mut fmt::Formatter<'_>, name: &str, of: fn(&MemoryPart) -> u64, all: u64| {
            write!(f, "{} on the {name}", bytes(all))?;
            let parts: Vec<_> = self.parts.iter().filter(|part| of(part) > 0).collect();
            for (at, part) in parts.iter().enumerate() {
                let lead = if at == 0 { " (" } else { ", " };
                write!(f, "{lead}{} {}", part.what, bytes(of(part)))?;
            }
            if parts.is_empty() { Ok(()) } else { write!(f, ")") }
        };
        side(f, "device", |part| part.device, self.device())?;
        if self.host() > 0 {
            write!(f, ", ")?;
            side(f, "host", |part| part.host, self.host())?;
        }
        Ok(())
    }
}

impl Device {
    /// Checks that this much memory is free now, on the device and on the host.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] names the device or host that lacks memory, with both numbers.
    pub fn expect_memory(&self, needed: &Memory) -> Result<()> {
        expect_free(self, needed.device(), self.memory()?.free)?;
        // Without a GPU both are the machine's.
        let beside = if self.backend() == Backend::Cuda { 0 } else { needed.device() };
        match needed.host() {
            0 => Ok(()),
            host => expect_free("the host", host.saturating_add(beside), host_machine::memory().free),
        }
    }
}

/// Checks that `needed` bytes are at most `free`; all checks of memory use this function.
///
/// # Errors
/// [`Error::OutOfMemory`] with both numbers.
pub(crate) fn expect_free(device: impl ToString, needed: u64, free: u64) -> Result<()> {
    if needed <= free {
        return Ok(());
    }
    Err(out_of_memory(device, needed, free))
}

/// The error for too little memory on a device or on the host.
pub(crate) fn out_of_memory(device: impl ToString, needed: u64, free: u64) -> Error {
    Error::OutOfMemory { device: device.to_string(), needed, free }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_is_named() {
        let device = Device::cpu();
        assert!(device.expect_memory(&Memory::default()).is_ok());
        let much = Memory::default().on_device("tables", u64::MAX).on_device("more", 1);
        let text = device.expect_memory(&much).unwrap_err().to_string();
        assert!(text.starts_with("cpu has ") && text.contains("16777216.00 TiB needed"), "{text}");
        let text = device.expect_memory(&Memory::default().on_host("copy", u64::MAX)).unwrap_err().to_string();
        assert!(text.starts_with("the host has "), "{text}");
        // Each fits, both do not.
        let most = host_machine::memory().free / 4 * 3;
        let both = Memory::default().on_device("tables", most).on_host("copy", most);
        assert!(matches!(device.expect_memory(&both), Err(Error::OutOfMemory { .. })));
        assert_eq!(Memory::default().to_string(), "0 bytes on the device");
    }
}
