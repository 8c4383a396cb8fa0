//! Which rustc compiles device code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{COMPILER_VARIABLE, Error, Result};

/// Path of the compiler of a distribution's package.
const SYSTEM_RUSTC: &str = "/usr/bin/rustc";
/// The source of `core` within the sysroot.
const CORE_SOURCE: &str = "lib/rustlib/src/rust/library/core";

/// A rustc that has the source of its own library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCompiler {
    /// The program.
    pub rustc: PathBuf,
    /// Its sysroot.
    pub sysroot: PathBuf,
    /// Its version text, such as `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub version: String,
}

impl DeviceCompiler {
    /// Whether it can compile for an architecture. rustc accepts unknown architectures and writes PTX that no device loads.
    /// True if the compiler does not list its architectures.
    pub(crate) fn knows(&self, arch: &str) -> bool {
        let output =
            Command::new(&self.rustc).args(["--print", "target-cpus", "--target", crate::arch::TARGET]).output();
        match output {
            Ok(output) if output.status.success() => lists(&String::from_utf8_lossy(&output.stdout), arch),
            _ => true,
        }
    }
}

/// Whether a list of processors, one per line followed by a note, contains this one. True for an empty list.
fn lists(processors: &str, arch: &str) -> bool {
    let names = || processors.lines().filter_map(|line| line.split_whitespace().next());
    names().any(|name| name == arch) || !names().any(|name| name.starts_with("sm_"))
}

impl std::fmt::Display for DeviceCompiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.version, self.rustc.display())
    }
}

/// The compiler for device code.
///
/// The first of these that has its library's source: the program that `WARPPLAY_DEVICE_RUSTC` names (if it names
/// one, no other is tried), the active toolchain's rustc, `/usr/bin/rustc`.
///
/// # Errors
/// [`Error::NoCompiler`] with every compiler that was tried and what it lacks.
pub fn find_compiler() -> Result<DeviceCompiler> {
    search(std::env::var_os(COMPILER_VARIABLE), std::env::var_os("RUSTC"))
}

fn search(named: Option<OsString>, active: Option<OsString>) -> Result<DeviceCompiler> {
    if let Some(named) = named {
        return probe(Path::new(&named))
            .map_err(|reason| Error::NoCompiler { searched: format!("{COMPILER_VARIABLE}: {reason}") });
    }
    // Cargo tells build scripts the active rustc in RUSTC; elsewhere the one on the path is it.
    let active = PathBuf::from(active.unwrap_or_else(|| "rustc".into()));
    let mut searched = Vec::new();
    for candidate in [active.as_path(), Path::new(SYSTEM_RUSTC)] {
        match probe(candidate) {
            Ok(compiler) => return Ok(compiler),
            Err(reason) => searched.push(reason),
        }
    }
    Err(Error::NoCompiler { searched: searched.join("; ") })
}

/// The compiler at `rustc`, or what is missing there.
fn probe(rustc: &Path) -> Result<DeviceCompiler, String> {
    let ask = |argument: &[&str]| {
        let output =
            Command::new(rustc).args(argument).output().map_err(|error| format!("{}: {error}", rustc.display()))?;
        if !output.status.success() {
            return Err(format!("{} fails: {}", rustc.display(), output.status));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?);
    let version = ask(&["--version"])?;
    let core = sysroot.join(CORE_SOURCE);
    if !core.is_dir() {
        return Err(format!("{version} has no {}", core.display()));
    }
    // `rustc` may be rustup's proxy, whose choice depends on the folder it runs in: the real program does not.
    let real = sysroot.join("bin").join("rustc");
    Ok(DeviceCompiler { rustc: if real.is_file() { real } else { rustc.to_owned() }, sysroot, version })
}

/// Files and folders whose change may mean that a compiler has been installed; all of them exist.
pub(crate) fn traces_of_installation() -> Vec<PathBuf> {
    let mut traces = Vec::new();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    if let Ok(output) = Command::new(rustc).args(["--print", "sysroot"]).output() {
        let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        // rustup rewrites this list with every component.
        traces.push(sysroot.join("lib/rustlib/components"));
    }
    traces.push(PathBuf::from(SYSTEM_RUSTC));
    traces.push(PathBuf::from("/usr/lib/rustlib/src"));
    traces.retain(|trace| trace.exists());
    traces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_compiler_that_is_not_there_is_an_error_with_the_remedy() {
        let text = search(Some("/nowhere/rustc".into()), None).unwrap_err().to_string();
        assert!(text.contains("WARPPLAY_DEVICE_RUSTC: /nowhere/rustc: "), "{text}");
        assert!(text.contains("rustup component add rust-src"), "{text}");
        assert!(text.contains("rustc-web"), "{text}");
        assert!(text.ends_with("let WARPPLAY_DEVICE_RUSTC name a rustc that has it"), "{text}");
    }

    #[test]
    fn architectures_are_looked_up_by_their_whole_name() {
        let list = "Available CPUs for this target:\n    sm_30 - the default\n    sm_90\n    sm_90a\n";
        assert!(lists(list, "sm_30") && lists(list, "sm_90") && lists(list, "sm_90a"));
        assert!(!lists(list, "sm_9") && !lists(list, "sm_12"));
        assert!(lists("", "sm_75"));
    }

    #[test]
    fn a_program_that_is_no_compiler_is_refused() {
        let text = search(Some("false".into()), None).unwrap_err().to_string();
        assert!(text.contains("false fails"), "{text}");
    }

    #[test]
    fn a_compiler_without_library_source_is_refused() {
        // `echo` answers every question, and its sysroot is no folder.
        let text = search(Some("echo".into()), None).unwrap_err().to_string();
        assert!(text.contains("has no --print sysroot/lib/rustlib/src/rust/library/core"), "{text}");
    }
}
