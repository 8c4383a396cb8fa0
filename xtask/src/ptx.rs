//! `cargo xtask ptx`: what every kernel costs, on every architecture it is built for.
//!
//! Which modules there are is asked of the build scripts: cargo names the output folder of each, and the builder leaves there
//! the PTX, and one Rust file a module that includes it. So the table shows what the programs embed, and a new device crate is in it as
//! soon as its build script runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use warpplay_gpu_builder::{KernelResources, assemble};

use crate::{process, setup};

/// The list of spills that are known and accepted, relative to the root.
const KNOWN: &str = "gpu/known_spills.txt";

/// One PTX file that some program embeds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Image {
    module: String,
    arch: String,
    path: PathBuf,
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    module: String,
    arch: String,
    kernel: String,
    registers: u64,
    shared_bytes: u64,
    spill_bytes: u64,
    local_bytes: u64,
    /// Why its products of warp groups wait for each other; empty where they do not.
    serialised: String,
}

/// One line of [`KNOWN`]: what a kernel may use outside registers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    /// Entry name; `*` stands for any letters.
    kernel: String,
    /// Architecture; `*` stands for any letters.
    arch: String,
    spill_bytes: u64,
    local_bytes: u64,
}

impl Known {
    fn is_about(&self, row: &Row) -> bool {
        matches(&self.kernel, &row.kernel) && matches(&self.arch, &row.arch)
    }

    fn allows(&self, row: &Row) -> bool {
        self.is_about(row) && row.spill_bytes <= self.spill_bytes && row.local_bytes <= self.local_bytes
    }
}

/// Assembles all PTX, prints the table on stdout and fails on spills or local memory that are not in the list, and on products of warp groups that the assembler makes wait for each other.
pub fn list() -> Result<()> {
    let compiler = setup::device_compiler()?.context("there is no compiler for device code, so no PTX to list")?;
    let ptxas = setup::ptxas()?.context("there is no ptxas to assemble the PTX")?;
    setup::say(&format!("device compiler {}; ptxas {}", compiler, ptxas.display()));
    let known_path = process::root().join(KNOWN);
    let text = fs::read_to_string(&known_path).with_context(|| format!("cannot read {}", known_path.display()))?;
    let known = parse_known(&text)?;

    let images: Vec<Image> = images()?.into_iter().collect();
    if images.is_empty() {
        bail!("no build script made PTX");
    }
    let mut rows = rows(&images)?;
    rows.sort_by(|a, b| (&a.module, &a.kernel, &a.arch).cmp(&(&b.module, &b.kernel, &b.arch)));
    print!("{}", table(&rows));

    for line in known.iter().filter(|line| !rows.iter().any(|row| line.is_about(row) && outside_registers(row))) {
        setup::say(&format!("{KNOWN}: {} no longer spills on {}: the line can go", line.kernel, line.arch));
    }
    let (lines, sums) = faults(&rows, &known);
    lines.iter().for_each(|line| setup::say(line));
    if !sums.is_empty() {
        bail!("{}", sums.join("; "));
    }
    setup::say(&format!("{} kernels in {} PTX files: no unknown spill or local memory", rows.len(), images.len()));
    Ok(())
}

/// What is wrong with kernels: a line for each, and how many with what to do.
fn faults(rows: &[Row], known: &[Known]) -> (Vec<String>, Vec<String>) {
    let serialised = rows.iter().filter(|row| !row.serialised.is_empty());
    let waits = |row: &Row| format!("{} ({}, {}): {}", row.kernel, row.module, row.arch, row.serialised);
    let mut lines: Vec<String> = serialised.map(waits).collect();
    let n_serialised = lines.len();
    let unknown = rows.iter().filter(|row| outside_registers(row) && !known.iter().any(|line| line.allows(row)));
    lines.extend(unknown.map(|row| {
        let Row { kernel, module, arch, spill_bytes, local_bytes, .. } = row;
        format!("{kernel} ({module}, {arch}): {spill_bytes} bytes of spills, {local_bytes} bytes of local memory")
    }));
    let n_unknown = lines.len() - n_serialised;
    let mut sums = Vec::new();
    if n_serialised > 0 {
        sums.push(format!("ptxas serialises the products of {n_serialised} kernels: repair them"));
    }
    if n_unknown > 0 {
        let what = "use memory outside registers more than";
        sums.push(format!("{n_unknown} kernels {what} {KNOWN} allows: repair them, or add a line with the reason"));
    }
    (lines, sums)
}

/// The rows of all images; they are assembled on all cores.
fn rows(images: &[Image]) -> Result<Vec<Row>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        while let Some(image) = images.get(next.fetch_add(1, Ordering::Relaxed)) {
            let kernels = assemble(&image.path, &image.arch)?;
            if kernels.is_empty() {
                bail!("module {} for {} has no kernel", image.module, image.arch);
            }
            rows.extend(kernels.into_iter().map(|kernel| row(image, kernel)));
        }
        Ok(rows)
    };
    let n_threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        let mut rows = Vec::new();
        for thread in threads {
            rows.extend(thread.join().map_err(|_| anyhow!("a thread that assembles PTX ended early"))??);
        }
        Ok(rows)
    })
}

/// Whether `text` is what `pattern` says, where each `*` stands for any letters.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text
            .strip_prefix(before)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(after, &rest[at..]))),
    }
}

fn outside_registers(row: &Row) -> bool {
    row.spill_bytes > 0 || row.local_bytes > 0
}

fn row(image: &Image, kernel: KernelResources) -> Row {
    Row {
        module: image.module.clone(),
        arch: image.arch.clone(),
        kernel: kernel.name,
        registers: u64::from(kernel.registers),
        shared_bytes: u64::from(kernel.shared_bytes),
        spill_bytes: u64::from(kernel.spill_stores) + u64::from(kernel.spill_loads),
        local_bytes: u64::from(kernel.local_bytes),
        serialised: kernel.serialised,
    }
}

/// Runs all build scripts of the workspace and collects the PTX that they embed.
fn images() -> Result<BTreeSet<Image>> {
    let mut command = process::cargo(&["check", "--workspace", "--message-format=json-render-diagnostics"]);
    // Without PTX there is nothing to list: the builder shall say why instead of going on.
    command.env("WARPPLAY_REQUIRE_PTX", "1").stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start `{}`", process::line(&command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", process::line(&command), output.status);
    }
    let text = String::from_utf8(output.stdout).context("cargo's messages are not UTF-8")?;
    let mut images = BTreeSet::new();
    for dir in text.lines().filter_map(out_dir) {
        for entry in fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))? {
            images.extend(image(entry?.path()));
        }
    }
    Ok(images)
}

/// The output folder that a message of cargo names; only those of this workspace's packages.
fn out_dir(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let ours = message["package_id"].as_str()?.starts_with("path+");
    (ours && message["reason"] == "build-script-executed").then(|| message["out_dir"].as_str().map(PathBuf::from))?
}

/// The image in the file `MODULE.ARCH.ptx` of a build script's output folder; `None` if it is another file, or one of an earlier
/// build that `MODULE.rs`, which the program includes, no longer names.
fn image(path: PathBuf) -> Option<Image> {
    let file = path.file_name()?.to_str()?;
    let (module, arch) = file.strip_suffix(".ptx")?.split_once('.')?;
    let included = fs::read_to_string(path.with_file_name(format!("{module}.rs"))).ok()?;
    included.contains(&format!("/{file}.lz\"")).then(|| Image {
        module: module.to_owned(),
        arch: arch.to_owned(),
        path: path.clone(),
    })
}

/// Reads the list: `kernel arch spill_bytes local_bytes reason` a line, `#` begins a comment line.
fn parse_known(text: &str) -> Result<Vec<Known>> {
    let mut known = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let read = || {
            let mut words = line.split_whitespace();
            let known = Known {
                kernel: words.next()?.to_owned(),
                arch: words.next()?.to_owned(),
                spill_bytes: words.next()?.parse().ok()?,
                local_bytes: words.next()?.parse().ok()?,
            };
            // The reason is not for the program, but it must be there.
            words.next().map(|_| known)
        };
        let expected = "expected `kernel arch spill_bytes local_bytes reason`";
        known.push(read().with_context(|| format!("{KNOWN}, line {}: {expected}", number + 1))?);
    }
    Ok(known)
}

/// The table as text, columns aligned.
fn table(rows: &[Row]) -> String {
    let head = ["kernel", "module", "arch", "registers", "shared", "spills", "local"].map(str::to_owned);
    let mut lines = vec![head];
    lines.extend(rows.iter().map(|row| {
        let numbers =
            [row.registers, row.shared_bytes, row.spill_bytes, row.local_bytes].map(|number| number.to_string());
        let [registers, shared, spills, local] = numbers;
        [row.kernel.clone(), row.module.clone(), row.arch.clone(), registers, shared, spills, local]
    }));
    let mut widths = [0; 7];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.len());
        }
    }
    let mut text = String::new();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
            // Names to the left, numbers (bytes, but for the registers) to the right.
            let cell = if column < 3 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            text += &cell;
            text += if column < 6 { "  " } else { "\n" };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Row {
        Row {
            module: "mcts_connect4".into(),
            arch: "sm_90".into(),
            kernel: "mcts_select_connect4".into(),
            registers: 40,
            shared_bytes: 1024,
            spill_bytes: 0,
            local_bytes: 0,
            serialised: String::new(),
        }
    }

    #[test]
    fn only_files_that_the_program_includes_count() {
        let dir = process::target_dir().join("xtask-test-images");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("m.rs"), r#"include_bytes!(concat!(env!("OUT_DIR"), "/m.sm_75.ptx.lz"))"#).unwrap();
        let found = image(dir.join("m.sm_75.ptx")).unwrap();
        assert_eq!((found.module.as_str(), found.arch.as_str()), ("m", "sm_75"));
        for other in ["m.sm_70.ptx", "n.sm_75.ptx", "m.rs", "m.ptx"] {
            assert_eq!(image(dir.join(other)), None, "{other}");
        }
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn only_our_build_scripts_count() {
        let line = r#"{"reason":"build-script-executed","package_id":"path+file:///w/host#warpplay@0.1.0","out_dir":"/t/out"}"#;
        assert_eq!(out_dir(line), Some(PathBuf::from("/t/out")));
        assert_eq!(out_dir(&line.replace("path+file", "registry+https")), None);
        assert_eq!(out_dir(&line.replace("build-script-executed", "compiler-artifact")), None);
        assert_eq!(out_dir("not JSON"), None);
    }

    #[test]
    fn the_list_allows_what_it_names_and_no_more() {
        let known = parse_known("# comment\n\nmcts_select_connect4 * 8 16 the path array\n").unwrap();
        let row = Row { spill_bytes: 8, local_bytes: 16, ..example() };
        assert!(known[0].allows(&row));
        assert!(!known[0].allows(&Row { spill_bytes: 12, ..row.clone() }));
        assert!(!known[0].allows(&Row { local_bytes: 32, ..row.clone() }));
        assert!(!known[0].allows(&Row { kernel: "other".into(), ..row.clone() }));
        let on_75 = Known { arch: "sm_75".into(), ..known[0].clone() };
        assert!(!on_75.allows(&row));
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let known = parse_known("spills * 8 16 why\n").unwrap();
        let row = |kernel: &str, spill_bytes, serialised: &str| Row {
            kernel: kernel.into(),
            spill_bytes,
            serialised: serialised.into(),
            ..example()
        };
        let rows = [row("waits", 0, "they wait"), row("spills", 12, ""), row("spills", 8, "")];
        let (lines, sums) = faults(&rows, &known);
        assert!(lines[0].starts_with("waits (") && lines[0].ends_with("): they wait"), "{lines:?}");
        assert!(lines[1].starts_with("spills (") && lines[1].contains("): 12 bytes of spills"), "{lines:?}");
        assert_eq!((lines.len(), sums.len()), (2, 2));
        assert!(sums[0].contains("products of 1 kernels") && sums[1].contains("1 kernels use memory"), "{sums:?}");
        assert_eq!(faults(&rows[2..], &known), (Vec::new(), Vec::new()));
    }

    #[test]
    fn stars_stand_for_any_letters() {
        for (pattern, text) in [("*", "sm_75"), ("a_*_b*", "a_x_y_b"), ("a*", "a"), ("ab", "ab"), ("*b", "b_b")] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a*", "ba"), ("ab", "abc"), ("a*c", "ab"), ("a**b", "a"), ("", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        let error = parse_known("# a\nkernel sm_75 8 8\n").unwrap_err().to_string();
        assert_eq!(error, "gpu/known_spills.txt, line 2: expected `kernel arch spill_bytes local_bytes reason`");
        assert!(parse_known("kernel sm_75 eight 8 why\n").is_err());
    }

    #[test]
    fn columns_are_aligned() {
        let text = table(&[example(), Row { kernel: "k".into(), registers: 128, ..example() }]);
        let lengths: BTreeSet<usize> = text.lines().map(str::len).collect();
        assert_eq!(lengths.len(), 1, "{text}");
        assert!(text.starts_with("kernel "));
    }
}
