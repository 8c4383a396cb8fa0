//! The packages as a registry would get them, with their PTX; and the proof that a crate outside builds from them alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use warpplay_gpu_builder::{BUILD_VARIABLE, COMPILER_VARIABLE, REQUIRE_VARIABLE, pack};

use crate::process::{self, cargo, root, target_dir};
use crate::setup;

/// What is published, with the folders; each after those that it needs.
pub const PACKAGES: [(&str, &str); 9] = [
    ("warpplay-gpu-macros", "gpu/macros"),
    ("warpplay-gpu-builder", "gpu/builder"),
    ("warpplay-gpu", "gpu"),
    ("warpplay-cpu-ref", "cpu-ref"),
    ("warpplay", "host"),
    ("warpplay-example-hex", "host/examples/custom_game"),
    ("warpplay-example-lights-out", "host/examples/custom_puzzle"),
    ("warpplay-papers", "papers"),
    ("warpplay-cli", "cli"),
];
/// Those with kernels.
const WITH_PTX: [&str; 4] = ["warpplay-gpu", "warpplay-example-hex", "warpplay-example-lights-out", "warpplay-papers"];
/// Most bytes of a package: nine tenths of what registries take.
const MOST_BYTES: u64 = 10 * 1024 * 1024 / 10 * 9;
/// Most time for a crate outside with one family: a quarter of a minute on two idle cores, and other programs may run beside it.
const MOST_TIME: Duration = Duration::from_secs(180);

/// Kernels that are compiled a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Verify {
    /// Those of one family, with modules of each architecture, and a crate outside with one family: minutes less, on each change.
    Family,
    /// All, and a crate outside with all packages: before a release.
    All,
}

/// Features of the kernels that [`Verify::Family`] compiles.
const FAMILY: &str = "mlp-layers,mlp-epoch,mlp-epoch-mma";

/// Makes the packages; with `verify` also builds PTX a second time, elsewhere, and the crate outside.
pub fn make(verify: Option<Verify>) -> Result<()> {
    setup::device_compiler()?;
    let folder = target_dir().join("package");
    let stage = folder.join("stage");
    copy_sources(&stage)?;
    let first = ptx(&root(), &WITH_PTX, None)?;
    for (name, out_dir) in &first {
        let modules = pack(&stage.join(folder_of(name)), out_dir)?;
        println!("{name}: PTX of {}", modules.join(", "));
    }
    // Without the network where what is known of the registry is enough.
    if let Err(error) = assemble(&stage, &folder, true) {
        setup::say(&format!("{error:#}: again, with the network"));
        assemble(&stage, &folder, false)?;
    }
    let crates = collect(&folder)?;
    if let Some(verify) = verify {
        again(&stage, &folder, &first, verify)?;
        outside(&folder, &crates, verify)?;
    }
    println!("packages: {}", folder.display());
    Ok(())
}

/// Has cargo make the packages.
fn assemble(stage: &Path, folder: &Path, offline: bool) -> Result<()> {
    let mut command = cargo(&["package", "--quiet", "--allow-dirty", "--no-verify", "--target-dir"]);
    command.current_dir(stage).arg(folder.join("made"));
    if offline {
        command.arg("--offline");
    }
    for (name, _) in PACKAGES {
        command.args(["--package", name]);
    }
    process::run(&mut command)
}

/// Copies the files of the workspace, links followed, and the licences into each package.
fn copy_sources(stage: &Path) -> Result<()> {
    if stage.exists() {
        fs::remove_dir_all(stage).with_context(|| stage.display().to_string())?;
    }
    for file in sources()? {
        copy(&root().join(&file), &stage.join(&file))?;
    }
    for (_, package) in PACKAGES {
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            copy(&root().join(licence), &stage.join(package).join(licence))?;
        }
    }
    Ok(())
}

/// The files of the workspace: what git knows and what it does not ignore; where git does not know this folder, all but build folders and hidden files.
fn sources() -> Result<Vec<PathBuf>> {
    let listed = process::output_of("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let Some(listed) = listed.filter(|listed| !listed.is_empty()) else {
        setup::say("this is no clone that git knows: all files but hidden ones and those of build folders are taken");
        let mut found = Vec::new();
        below(Path::new(""), &mut found)?;
        return Ok(found);
    };
    // What git knows may be removed and not yet committed.
    Ok(listed.split('\0').map(PathBuf::from).filter(|file| root().join(file).is_file()).collect())
}

/// Adds the files below a folder of the workspace.
fn below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let path = root().join(folder);
    for entry in fs::read_dir(&path).with_context(|| path.display().to_string())? {
        let name = entry?.file_name();
        let inner = folder.join(&name);
        let is_left_out = name.to_string_lossy().starts_with('.') || name == "target" || name == "__pycache__";
        match root().join(&inner) {
            _ if is_left_out => {}
            path if path.is_dir() => below(&inner, found)?,
            path if path.is_file() => found.push(inner),
            _ => {}
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let parent = to.parent().context("a file lies in a folder")?;
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    fs::copy(from, to).with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))?;
    Ok(())
}

/// Compiles kernels in `place`, all of `packages` or those of [`FAMILY`], and gives for each package the folder that its build script wrote to. With `target` it begins from nothing there.
fn ptx(place: &Path, packages: &[&str], target: Option<(&Path, Verify)>) -> Result<BTreeMap<String, PathBuf>> {
    let mut command = cargo(&["check", "--message-format", "json-render-diagnostics"]);
    command.current_dir(place).env(BUILD_VARIABLE, "1").env(REQUIRE_VARIABLE, "1").stderr(Stdio::inherit());
    match target {
        Some((_, Verify::Family)) => command.args(["--no-default-features", "--features", FAMILY]),
        _ => command.arg("--all-features"),
    };
    if let Some((target, _)) = target {
        command.arg("--target-dir").arg(target);
    }
    for name in packages {
        command.args(["--package", name]);
    }
    let output = command.output().with_context(|| format!("cannot start `{}`", process::line(&command)))?;
    process::expect_success(&command, output.status)?;
    let mut found = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let id = message["package_id"].as_str().unwrap_or_default();
        let name = packages.iter().find(|name| id.contains(&format!("#{name}@")));
        if let (Some(name), Some(out_dir)) = (name, message["out_dir"].as_str()) {
            found.insert((*name).to_string(), PathBuf::from(out_dir));
        }
    }
    let missing: Vec<_> = packages.iter().filter(|name| !found.contains_key(**name)).collect();
    ensure!(missing.is_empty(), "cargo names no folder of the build scripts of {missing:?}");
    Ok(found)
}

fn folder_of(name: &str) -> &'static str {
    PACKAGES.iter().find(|(other, _)| *other == name).map_or("", |(_, folder)| folder)
}

/// The packages that cargo has made, in `packages`, and unpacked, in `unpacked`: their folders by their names.
fn collect(folder: &Path) -> Result<BTreeMap<&'static str, PathBuf>> {
    let (packages, unpacked) = (folder.join("packages"), folder.join("unpacked"));
    for path in [&packages, &unpacked] {
        if path.exists() {
            fs::remove_dir_all(path).with_context(|| path.display().to_string())?;
        }
        fs::create_dir_all(path).with_context(|| path.display().to_string())?;
    }
    let version = env!("CARGO_PKG_VERSION");
    let mut found = BTreeMap::new();
    for (name, _) in PACKAGES {
        let file = format!("{name}-{version}.crate");
        let made = folder.join("made/package").join(&file);
        copy(&made, &packages.join(&file))?;
        let bytes = fs::metadata(&made).with_context(|| made.display().to_string())?.len();
        println!("{file}: {bytes} bytes");
        ensure!(bytes <= MOST_BYTES, "{file} has {bytes} bytes, at most {MOST_BYTES} are allowed");
        process::run(Command::new("tar").arg("-xzf").arg(&made).arg("-C").arg(&unpacked))?;
        found.insert(name, unpacked.join(format!("{name}-{version}")));
    }
    Ok(found)
}

/// Compiles kernels again, in another folder and from nothing, and compares them with the first ones, bit for bit.
fn again(stage: &Path, folder: &Path, first: &BTreeMap<String, PathBuf>, verify: Verify) -> Result<()> {
    let target = folder.join("again");
    if target.exists() {
        fs::remove_dir_all(&target).with_context(|| target.display().to_string())?;
    }
    let mut n_images = 0;
    let packages = match verify {
        Verify::All => &WITH_PTX[..],
        Verify::Family => &WITH_PTX[..1],
    };
    for (name, out_dir) in ptx(stage, packages, Some((&target, verify)))? {
        let before = first.get(&name).context("the same packages")?;
        let (mut ours, theirs) = (images(before)?, images(&out_dir)?);
        if verify == Verify::Family {
            ours.retain(|image| theirs.contains(image));
        }
        ensure!(
            ours == theirs,
            "{name}: images {ours:?} are packed, and {theirs:?} compiled again: remove the target folder"
        );
        for entry in fs::read_dir(&out_dir)? {
            let path = entry?.path();
            if path.extension().is_none_or(|end| end != "lz") {
                continue;
            }
            let file = path.file_name().context("a file has a name")?;
            if fs::read(&path)? != fs::read(before.join(file))? {
                bail!("{name}: {} is another one when it is compiled again in another folder", file.display());
            }
            n_images += 1;
        }
    }
    ensure!(n_images > 0, "no PTX was compiled again");
    println!("compiled again elsewhere, bit for bit the same: {n_images} images");
    fs::remove_dir_all(&target).with_context(|| target.display().to_string())
}

/// Names of the images in a folder.
fn images(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut images: Vec<String> = names.collect::<Result<_>>()?;
    images.retain(|name| name.ends_with(".lz"));
    images.sort();
    Ok(images)
}

const OUTSIDE: &str = r#"[package]
name = "outside"
version = "0.1.0"
edition = "2024"

[dependencies]
warpplay = { version = "VERSION", default-features = false, features = ["mcts"] }
warpplay-gpu = { version = "VERSION", default-features = false }
warpplay-papers = { version = "VERSION", optional = true }
warpplay-example-hex = { version = "VERSION", optional = true }
warpplay-example-lights-out = { version = "VERSION", optional = true }

[features]
all = ["dep:warpplay-papers", "dep:warpplay-example-hex", "dep:warpplay-example-lights-out"]

[workspace]

[profile.dev]
debug = false

[patch.crates-io]
"#;

const MAIN: &str = r#"use warpplay::mcts::{Connect4, Notation, Search, position_after};
use warpplay::{Device, Progress};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    assert!(!warpplay_gpu::ptx::embedded::MCTS_CONNECT4.images.is_empty(), "the package brings its PTX along");
    let position: Connect4 = position_after("4453")?;
    let builder = Search::<Connect4>::builder().n_trees(2).n_playouts(32).steps(20).no_seconds();
    let mut search = builder.action_names(Connect4::action_name).build(&Device::simt())?;
    println!("play {}", search.run(&position, Progress::go_on)?.best.name);
    Ok(())
}
"#;

/// Builds and runs a crate from the unpacked packages, without the network, a device compiler or anything that was built before.
fn outside(folder: &Path, crates: &BTreeMap<&str, PathBuf>, verify: Verify) -> Result<()> {
    let krate = folder.join("outside");
    if krate.exists() {
        fs::remove_dir_all(&krate).with_context(|| krate.display().to_string())?;
    }
    fs::create_dir_all(krate.join("src"))?;
    let mut manifest = OUTSIDE.replace("VERSION", &format!("={}", env!("CARGO_PKG_VERSION")));
    for (name, path) in crates.iter().filter(|(name, _)| **name != "warpplay-cli") {
        manifest += &format!("{name} = {{ path = {:?} }}\n", path.display().to_string());
    }
    fs::write(krate.join("Cargo.toml"), manifest)?;
    fs::write(krate.join("src/main.rs"), MAIN)?;
    let start = Instant::now();
    let mut command = cargo(&["run", "--quiet", "--offline"]);
    command.current_dir(&krate).env("CARGO_TARGET_DIR", krate.join("target"));
    command.env(COMPILER_VARIABLE, "/nonexistent").env(REQUIRE_VARIABLE, "1").env_remove(BUILD_VARIABLE);
    process::run(&mut command)?;
    let time = start.elapsed();
    println!("a crate outside, from the packages alone, built and run in {:.0} s", time.as_secs_f64());
    ensure!(time <= MOST_TIME, "that is more than {} s", MOST_TIME.as_secs());
    if verify == Verify::Family {
        return Ok(());
    }
    // The other packages with kernels, which need all families.
    let mut command = cargo(&["check", "--quiet", "--offline", "--features", "all"]);
    command.current_dir(&krate).env("CARGO_TARGET_DIR", krate.join("target"));
    command.env(COMPILER_VARIABLE, "/nonexistent").env(REQUIRE_VARIABLE, "1").env_remove(BUILD_VARIABLE);
    process::run(&mut command)?;
    println!("all packages with kernels: checked outside, without a compiler for device code");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is promised to users is what everything is tested with.
    #[test]
    fn the_oldest_rust_of_the_packages_is_the_pinned_toolchain() {
        let pinned = fs::read_to_string(root().join("rust-toolchain.toml")).unwrap();
        let channel = pinned.lines().find_map(|line| line.strip_prefix("channel = \"")).unwrap().trim_end_matches('"');
        let (oldest, _) = channel.rsplit_once('.').unwrap();
        assert_eq!(env!("CARGO_PKG_RUST_VERSION"), oldest);
        for (name, folder) in PACKAGES {
            let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
            for line in ["version.workspace = true", "rust-version.workspace = true"] {
                assert!(manifest.lines().any(|found| found == line), "{name} has no line '{line}'");
            }
        }
    }
}
