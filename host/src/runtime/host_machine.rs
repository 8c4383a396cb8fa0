//! The machine that the program runs on: name, cores, memory.

use std::fs;

use crate::runtime::info::{Backend, DeviceInfo, FreeMemory, Limits};

/// The processor's name, or `CPU` where the system does not tell.
pub(crate) fn name() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    field(&text, "model name").unwrap_or("CPU").to_string()
}

/// The value of the first line `key : value`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// Free and total memory; where the system does not tell, as much as can be addressed.
pub(crate) fn memory() -> FreeMemory {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |key| {
        let value = field(&text, key)?.strip_suffix("kB")?.trim();
        Some(value.parse::<u64>().ok()?.saturating_mul(1024))
    };
    let total = bytes("MemTotal").unwrap_or(isize::MAX as u64);
    FreeMemory { free: bytes("MemAvailable").unwrap_or(total).min(total), total }
}

/// The machine as a device of the given back end.
pub(crate) fn info(backend: Backend) -> DeviceInfo {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    // Blocks exist only where kernels run.
    let limits = Limits::SIMT;
    let of_blocks = |n: u32| if backend == Backend::Simt { n } else { 0 };
    DeviceInfo {
        backend,
        ordinal: 0,
        name: name(),
        compute_capability: None,
        driver_version: None,
        n_multiprocessors: threads,
        memory_bytes: memory().total,
        l2_bytes: 0,
        max_threads_per_block: of_blocks(limits.max_threads),
        max_threads_per_multiprocessor: 0,
        max_shared_per_block: of_blocks(limits.max_shared_bytes),
        max_shared_per_multiprocessor: 0,
        max_registers_per_multiprocessor: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_key() {
        let text = "MemTotal:       16 kB\nMemTotalOther: 1 kB\nempty:\n";
        assert_eq!(field(text, "MemTotal"), Some("16 kB"));
        assert_eq!(field(text, "Mem"), None);
        assert_eq!(field(text, "empty"), None);
    }
}
