//! The machine that the program runs on: name, cores, memory.

use std::fs;
use std::path::Path;

use crate::runtime::info::{Backend, DeviceInfo, FreeMemory, Limits};

/// The processor's name, or `CPU` if the system does not provide it.
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

/// Free and total memory within the limit of the process's address space (`ulimit -v`) and the memory limits of its control groups (cgroups); if the system does not provide
/// them, the whole address space.
pub(crate) fn memory() -> FreeMemory {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |key| {
        let value = field(&text, key)?.strip_suffix("kB")?.trim();
        Some(value.parse::<u64>().ok()?.saturating_mul(1024))
    };
    let total = bytes("MemTotal").unwrap_or(isize::MAX as u64);
    let machine = FreeMemory { free: bytes("MemAvailable").unwrap_or(total).min(total), total };
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let [limits, status] =
        ["limits", "status"].map(|file| fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default());
    let machine = within_address_space(machine, &limits, &status);
    within_cgroups(machine, Path::new("/sys/fs/cgroup"), &cgroups)
}

/// A machine's memory, limited to what the process may still address, from the texts of `/proc/self/limits` and `/proc/self/status`.
fn within_address_space(machine: FreeMemory, limits: &str, status: &str) -> FreeMemory {
    let limit = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next()?.parse::<u64>().ok());
    // `unlimited` is no number.
    let Some(limit) = limit else { return machine };
    let used = field(status, "VmSize").and_then(|size| size.strip_suffix("kB")?.trim().parse::<u64>().ok());
    let free = limit.saturating_sub(used.unwrap_or(0).saturating_mul(1024));
    FreeMemory { free: machine.free.min(free), total: machine.total.min(limit) }
}

/// Files of a control group (cgroup): its limit, what it uses, and the line of `memory.stat` with the inactive part of the page cache, which the kernel reclaims where memory is short.
struct GroupFiles {
    limit: &'static str,
    used: &'static str,
    page_cache: &'static str,
}

const CGROUP_V1: GroupFiles =
    GroupFiles { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", page_cache: "total_inactive_file" };
const CGROUP_V2: GroupFiles = GroupFiles { limit: "memory.max", used: "memory.current", page_cache: "inactive_file" };

/// A machine's memory, limited by the process's control groups (cgroups); the limit of a container is one of these. `cgroups` is the text of `/proc/self/cgroup`, lines of
/// `number:controllers:path`.
fn within_cgroups(machine: FreeMemory, mounted: &Path, cgroups: &str) -> FreeMemory {
    let mut least = machine;
    for line in cgroups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, files) = match controllers {
            "" => (mounted.to_path_buf(), CGROUP_V2),
            names if names.split(',').any(|name| name == "memory") => (mounted.join("memory"), CGROUP_V1),
            _ => continue,
        };
        // Limits of the groups above hold too. Within a container the path may be that outside of it, and only the root is there.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let number = |name: &str| fs::read_to_string(root.join(group).join(name)).ok()?.trim().parse::<u64>().ok();
            // `max` is no number.
            let Some(limit) = number(files.limit) else { continue };
            let stat = fs::read_to_string(root.join(group).join("memory.stat")).unwrap_or_default();
            let page_cache =
                stat.lines().find_map(|line| line.strip_prefix(files.page_cache)?.trim().parse::<u64>().ok());
            let used = number(files.used).unwrap_or(0).saturating_sub(page_cache.unwrap_or(0));
            least.total = least.total.min(limit);
            least.free = least.free.min(limit.saturating_sub(used));
        }
    }
    least
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

    #[test]
    fn a_limit_of_the_address_space_holds() {
        let machine = FreeMemory { free: 9000, total: 10_000 };
        let within = |limit: &str, status: &str| {
            let limits = format!(
                "Limit  Soft Limit  Hard Limit  Units\nMax file size  1  1  bytes\nMax address space  {limit}  unlimited  bytes\n"
            );
            let FreeMemory { free, total } = within_address_space(machine, &limits, status);
            (free, total)
        };
        assert_eq!(within("unlimited", "VmSize:\t 4 kB\n"), (9000, 10_000));
        assert_eq!(within("8192", "VmPeak:\t 7 kB\nVmSize:\t 4 kB\n"), (4096, 8192));
        assert_eq!(within("8192", "VmSize:\t 9 kB\n"), (0, 8192));
        assert_eq!(within_address_space(machine, "", "").free, 9000);
    }

    #[test]
    fn limits_of_groups_hold_where_they_are_less_than_the_machine_has() {
        let folder = tempfile::tempdir().unwrap();
        let machine = FreeMemory { free: 900, total: 1000 };
        let within = |cgroups: &str| {
            let FreeMemory { free, total } = within_cgroups(machine, folder.path(), cgroups);
            (free, total)
        };
        let write = |group: &str, files: &[(&str, &str)]| {
            fs::create_dir_all(folder.path().join(group)).unwrap();
            for (name, text) in files {
                fs::write(folder.path().join(group).join(name), text).unwrap();
            }
        };
        assert_eq!(within("0::/a/b\n"), (900, 1000), "no files");
        // Version 2: the group itself has no limit, the one above has.
        write("a/b", &[("memory.max", "max\n"), ("memory.current", "300\n")]);
        write(
            "a",
            &[("memory.max", "600\n"), ("memory.current", "400\n"), ("memory.stat", "anon 250\ninactive_file 150\n")],
        );
        assert_eq!(within("0::/a/b\n"), (350, 600));
        assert_eq!(within("0::/\n"), (900, 1000), "the root has none");
        // Version 1, in a container that sees the root alone; 2^63 less a page is no limit.
        write("memory", &[("memory.limit_in_bytes", "500\n"), ("memory.usage_in_bytes", "100\n")]);
        write("memory/free", &[("memory.limit_in_bytes", "9223372036854771712\n"), ("memory.usage_in_bytes", "7\n")]);
        assert_eq!(within("4:cpu,memory:/outside/7\n3:cpuset:/a\n"), (400, 500));
        assert_eq!(within("4:memory:/free\n0::/a\n"), (350, 500));
        // More is used than is allowed since the limit was lowered.
        write("memory", &[("memory.usage_in_bytes", "700\n")]);
        assert_eq!(within("4:memory:/\n"), (0, 500));
    }
}
