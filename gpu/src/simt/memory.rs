//! The registry of buffers that kernels may touch.
//!
//! Whoever allocates memory for kernels registers it; a kernel's access must lie wholly inside one live buffer, else the launch ends with a fault that names the nearest
//! one. Buffers of the crate `warpplay` register themselves.
//!
//! ```
//! use warpplay_gpu::cuda::{kernel, memory};
//! use warpplay_gpu::launch::LaunchShape;
//! use warpplay_gpu::simt::{self, FaultKind, memory::register};
//!
//! /// Writes one value behind three.
//! ///
//! /// # Safety
//! /// `values` holds four values.
//! #[kernel]
//! pub unsafe fn write_the_fourth(values: *mut u32) {
//!     // SAFETY: the contract.
//!     unsafe { memory::store(values, 3, 1) };
//! }
//!
//! let mut values = [0u32; 4];
//! let _registered = register(values.as_mut_ptr() as usize, 12); // three of them only
//! // SAFETY: there are four values.
//! let result = unsafe {
//!     simt::launch(write_the_fourth, LaunchShape::new(1, 1), (values.as_mut_ptr(),), &simt::Options::default())
//! };
//! assert!(matches!(result.unwrap_err().kind, FaultKind::OutOfBounds { .. }));
//! assert_eq!(values[3], 0); // found before it was written
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::report::Nearest;

/// The live buffers, sorted by address.
static BUFFERS: Mutex<Snapshot> = Mutex::new(Snapshot { buffers: None });

/// The live buffers at the beginning of a launch. Buffers registered later do not exist for that launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    buffers: Option<Arc<Vec<Buffer>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Buffer {
    address: usize,
    end: usize,
    /// The highest end of this buffer and those before it: if it is too low, no earlier buffer holds an access.
    reach: usize,
}

/// A registered buffer; dropping it takes the buffer out of the registry.
#[derive(Debug)]
#[must_use = "the buffer is unregistered when this is dropped"]
pub struct Registration {
    address: usize,
    end: usize,
}

/// Registers `bytes` bytes at `address` as memory that kernels may read and write.
///
/// Buffers may overlap. Running launches do not see the new buffer.
pub fn register(address: usize, bytes: usize) -> Registration {
    let end = address.saturating_add(bytes);
    edit(|buffers| {
        let at = buffers.partition_point(|b| (b.address, b.end) <= (address, end));
        buffers.insert(at, Buffer { address, end, reach: end });
        at
    });
    Registration { address, end }
}

impl Registration {
    /// First address of the buffer.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Size of the buffer in bytes.
    pub fn bytes(&self) -> usize {
        self.end - self.address
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        edit(|buffers| {
            let at = buffers.partition_point(|b| (b.address, b.end) < (self.address, self.end));
            // The entry is there: `register` put it in, and each registration removes one.
            if at < buffers.len() {
                buffers.remove(at);
            }
            at
        });
    }
}

fn lock() -> MutexGuard<'static, Snapshot> {
    // The list is whole between two statements that can panic, so a poisoned lock loses nothing.
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes the list and updates `reach` from the index that `change` returns.
fn edit(change: impl FnOnce(&mut Vec<Buffer>) -> usize) {
    let mut guard = lock();
    let buffers = Arc::make_mut(guard.buffers.get_or_insert_default());
    let from = change(buffers);
    let mut reach = match from.checked_sub(1) {
        Some(before) => buffers[before].reach,
        None => 0,
    };
    for buffer in &mut buffers[from..] {
        reach = reach.max(buffer.end);
        buffer.reach = reach;
    }
}

/// The present live buffers.
pub(super) fn snapshot() -> Snapshot {
    lock().clone()
}

impl Snapshot {
    fn buffers(&self) -> &[Buffer] {
        self.buffers.as_ref().map_or(&[], |b| b.as_slice())
    }

    /// Whether `bytes` at `address` lie in one buffer. `last` remembers which buffer was hit, since the next
    /// access usually falls into the same one.
    pub(super) fn holds(&self, address: usize, bytes: usize, last: &mut usize) -> bool {
        let Some(end) = address.checked_add(bytes) else {
            return false;
        };
        let buffers = self.buffers();
        if let Some(buffer) = buffers.get(*last)
            && buffer.address <= address
            && end <= buffer.end
        {
            return true;
        }
        let mut at = buffers.partition_point(|b| b.address <= address);
        while at > 0 && buffers[at - 1].reach >= end {
            at -= 1;
            if end <= buffers[at].end {
                *last = at;
                return true;
            }
        }
        false
    }

    /// The buffer with the fewest bytes between it and the access.
    pub(super) fn nearest(&self, address: usize, bytes: usize) -> Option<Nearest> {
        let last = address.saturating_add(bytes);
        let gap = |b: &&Buffer| {
            // Signed, so that among buffers that the access touches the one that holds most of it is nearest.
            let after = address as i128 - b.end as i128;
            let before = b.address as i128 - last as i128;
            after.max(before)
        };
        let nearest = self.buffers().iter().min_by_key(gap)?;
        Some(Nearest { name: None, address: nearest.address, bytes: nearest.end - nearest.address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(buffers: &[(usize, usize)]) -> Snapshot {
        let mut reach = 0;
        let buffers = buffers
            .iter()
            .map(|&(address, bytes)| {
                reach = reach.max(address + bytes);
                Buffer { address, end: address + bytes, reach }
            })
            .collect();
        Snapshot { buffers: Some(Arc::new(buffers)) }
    }

    #[test]
    fn an_access_lies_wholly_in_one_buffer() {
        let buffers = list(&[(0x100, 0x100), (0x120, 8), (0x200, 0x10)]);
        let mut last = 0;
        for (address, bytes, expected) in [
            (0x100, 0x100, true),
            (0x12c, 4, true),
            (0x120, 8, true),
            (0x1fc, 8, false),
            (0xff, 2, false),
            (0x200, 0x10, true),
            (0x20f, 2, false),
            (0x210, 1, false),
            (usize::MAX, 4, false),
        ] {
            assert_eq!(buffers.holds(address, bytes, &mut last), expected, "{address:#x}");
            assert_eq!(buffers.holds(address, bytes, &mut 99), expected, "{address:#x}");
        }
        assert_eq!(buffers.nearest(0x20f, 2).map(|n| n.address), Some(0x200));
        assert_eq!(buffers.nearest(0x10, 2).map(|n| n.address), Some(0x100));
        assert_eq!(list(&[]).nearest(0, 4), None);
    }

    #[test]
    fn a_registration_ends_when_it_is_dropped() {
        let memory = [0_u8; 64];
        let address = memory.as_ptr() as usize;
        let twice = register(address, 64);
        let registration = register(address, 64);
        assert_eq!((registration.address(), registration.bytes()), (address, 64));
        drop(twice);
        assert!(snapshot().holds(address, 64, &mut 0));
        drop(registration);
        assert!(!snapshot().holds(address, 64, &mut 0));
    }
}
