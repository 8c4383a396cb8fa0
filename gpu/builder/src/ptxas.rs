//! NVIDIA's assembler: what a kernel takes of the hardware, without a GPU.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, PTXAS_VARIABLE, Result, files};

/// The resources of one kernel, as `ptxas -v` reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelResources {
    /// Entry name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Register contents written to local memory, in bytes of a thread.
    pub spill_stores: u32,
    /// Register contents read back from local memory, in bytes of a thread.
    pub spill_loads: u32,
    /// Stack frame of a thread in local memory, in bytes; spills are part of it.
    pub local_bytes: u32,
    /// Why the products of its warp groups (`wgmma`) wait for each other, in the assembler's words; empty if they run concurrently.
    pub serialised: String,
}

/// The program `ptxas`.
///
/// The first of these: the program that `WARPPLAY_PTXAS` names (if it names one, no other is tried), the one that
/// `cargo xtask ptx` puts below `ptxas/` in the workspace's target folder, the one on the path.
///
/// # Errors
/// [`Error::NoPtxas`] with the paths that were searched.
pub fn find_ptxas() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(PTXAS_VARIABLE) {
        let named = PathBuf::from(named);
        return match named.is_file() {
            true => Ok(named),
            false => Err(Error::NoPtxas { searched: format!("{PTXAS_VARIABLE}: {} is no file", named.display()) }),
        };
    }
    let mut searched = Vec::new();
    for folder in target_dirs() {
        let folder = folder.join("ptxas");
        if let Some(program) = below(&folder, MAX_DEPTH) {
            return Ok(program);
        }
        searched.push(folder.display().to_string());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(program) =
        std::env::split_paths(&path).map(|folder| folder.join("ptxas")).find(|program| program.is_file())
    {
        return Ok(program);
    }
    searched.push("PATH".to_owned());
    Err(Error::NoPtxas { searched: format!("searched {}", searched.join(", ")) })
}

/// Folders between `target/ptxas` and the program, at most: an environment of Python's has
/// `venv/lib/python3.11/site-packages/nvidia/cu13/bin`.
const MAX_DEPTH: u32 = 8;

/// `nvidia/*/bin/ptxas` below `folder`.
fn below(folder: &Path, depth: u32) -> Option<PathBuf> {
    let mut folders: Vec<_> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    if folder.file_name().is_some_and(|name| name == "nvidia") {
        // The newest toolkit comes last.
        let programs = folders.iter().rev().map(|toolkit| toolkit.join("bin").join("ptxas"));
        if let Some(program) = programs.into_iter().find(|program| program.is_file()) {
            return Some(program);
        }
    }
    let depth = depth.checked_sub(1)?;
    folders.iter().find_map(|folder| below(folder, depth))
}

/// Possible target folders of this workspace, the most likely first, each once.
fn target_dirs() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    folders.extend(files::outer_target_dir());
    folders.extend(std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from));
    if let Ok(program) = std::env::current_exe() {
        // target/release/xtask, target/debug/deps/some_test
        let tagged = program.ancestors().filter(|folder| folder.join("CACHEDIR.TAG").is_file());
        folders.extend(tagged.last().map(Path::to_owned));
    }
    if let Ok(folder) = std::env::current_dir() {
        // From a member's folder, the workspace's target folder is further up.
        folders.extend(folder.ancestors().map(|folder| folder.join("target")));
    }
    let mut unique = Vec::new();
    for folder in folders {
        if folder.is_dir() && !unique.contains(&folder) {
            unique.push(folder);
        }
    }
    unique
}

/// Assembles a PTX file for `arch` (as `sm_75`) and reports the resources of its kernels, in the order of the file; the
/// machine code itself is discarded.
///
/// # Errors
/// [`Error::NoPtxas`], [`Error::Run`] if it does not start, [`Error::Ptxas`] with its words if it refuses the file.
pub fn assemble(ptx: &Path, arch: &str) -> Result<Vec<KernelResources>> {
    let program = find_ptxas()?;
    let output = Command::new(&program)
        .arg("--verbose")
        .arg(format!("--gpu-name={arch}"))
        .args(["--output-file", "/dev/null"])
        .arg(ptx)
        .output()
        .map_err(|source| Error::Run { program, source })?;
    // The report goes to standard error in some versions and to standard output in others.
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(Error::Ptxas { path: ptx.to_owned(), arch: arch.to_owned(), stderr: text.trim_end().to_owned() });
    }
    let mut resources = parse_report(&text);
    // ptxas goes through the entries in an order of its own.
    let order = crate::parse_entries(&files::read(ptx)?)?;
    resources.sort_by_key(|kernel| order.iter().position(|entry| entry.name == kernel.name));
    Ok(resources)
}

/// The kernels of a report of `ptxas --verbose`.
fn parse_report(text: &str) -> Vec<KernelResources> {
    let mut kernels: Vec<KernelResources> = Vec::new();
    // The properties of functions that an entry calls are listed too, below the entry; they are not its own.
    let mut is_entry = false;
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernels.push(KernelResources {
                name: rest.split('\'').next().unwrap_or_default().to_owned(),
                ..KernelResources::default()
            });
            is_entry = false;
        }
        let Some(kernel) = kernels.last_mut() else { continue };
        if let Some((_, name)) = line.split_once("Function properties for ") {
            is_entry = name.trim() == kernel.name;
        } else if line.contains("bytes stack frame") && is_entry {
            kernel.local_bytes = before(line, "bytes stack frame");
            kernel.spill_stores = before(line, "bytes spill stores");
            kernel.spill_loads = before(line, "bytes spill loads");
        } else if let Some((_, used)) = line.split_once(": Used ") {
            kernel.registers = before(used, "registers");
            kernel.shared_bytes = before(used, "bytes smem");
        }
    }
    for (function, reason) in text.lines().filter_map(serialised) {
        // Of a function that is no entry every kernel may be a caller.
        let is_entry = kernels.iter().any(|kernel| kernel.name == function);
        for kernel in kernels.iter_mut().filter(|kernel| kernel.name == function || !is_entry) {
            kernel.serialised = reason.to_owned();
        }
    }
    kernels
}

/// The function and the text of a message that products of warp groups wait for each other.
fn serialised(line: &str) -> Option<(&str, &str)> {
    let at = line.find("wgmma.mma_async instructions are serialized")?;
    let (text, function) = line[at..].trim_end().strip_suffix('\'')?.rsplit_once('\'')?;
    Some((function, text.trim_end_matches(" in the function ").trim_end_matches(" for the function ")))
}

/// The number of the comma-separated item that ends in `unit`; 0 if there is none.
fn before(line: &str, unit: &str) -> u32 {
    line.split(',').find_map(|item| item.trim().strip_suffix(unit)?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_of_two_kernels_and_a_called_function() {
        let report = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'nothing' for 'sm_75'
ptxas info    : Function properties for nothing
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 1 barriers, 352 bytes cmem[0]
ptxas info    : Compile time = 6.057 ms
ptxas info    : Compiling entry function 'tiled' for 'sm_75'
ptxas info    : Function properties for tiled
    48 bytes stack frame, 44 bytes spill stores, 60 bytes spill loads
ptxas info    : Function properties for helper
    8 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 2048 bytes smem, 381 bytes cmem[0]
";
        let tiled = KernelResources {
            name: "tiled".to_owned(),
            registers: 255,
            shared_bytes: 2048,
            spill_stores: 44,
            spill_loads: 60,
            local_bytes: 48,
            serialised: String::new(),
        };
        let nothing = KernelResources { name: "nothing".to_owned(), registers: 4, ..KernelResources::default() };
        assert_eq!(parse_report(report), [nothing, tiled]);
        assert_eq!(parse_report("ptxas info    : 0 bytes gmem\n"), []);
    }

    #[test]
    fn products_that_wait_for_each_other_are_told_of_their_kernel() {
        let entry = |name| format!("ptxas info    : Compiling entry function '{name}' for 'sm_90a'\n");
        let entries = entry("tower") + &entry("head");
        let loss =
            "wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline";
        let told = |function| {
            let line =
                format!("ptxas info    : (C7510) Potential Performance Loss: {loss} in the function '{function}'\n");
            parse_report(&(line + &entries)).into_iter().map(|kernel| kernel.serialised).collect::<Vec<_>>()
        };
        assert_eq!(told("head"), ["", loss]);
        assert_eq!(told("helper"), [loss, loss]);
        assert!(parse_report(&entries).iter().all(|kernel| kernel.serialised.is_empty()));
    }

    #[test]
    fn the_program_is_found_below_an_environment_of_pythons() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("venv/lib/python3.11/site-packages/nvidia/cu13/bin");
        std::fs::create_dir_all(&bin).unwrap();
        assert_eq!(below(folder.path(), MAX_DEPTH), None);
        std::fs::write(bin.join("ptxas"), "").unwrap();
        assert_eq!(below(folder.path(), MAX_DEPTH), Some(bin.join("ptxas")));
    }
}
