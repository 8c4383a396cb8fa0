//! Crates outside this workspace, built and run without the network, without the CUDA toolkit, and with no file of ours copied: one laid out as `docs/adding-a-game.md` says,
//! with a game of its own, and those that `warpplay new-game` and `warpplay new-kernel` write.

use std::path::{Path, PathBuf};
use std::process::Command;

use warpplay_tests::golden::workspace;
use warpplay_tests::programs::warpplay;

const MANIFEST: &str = r#"
[package]
name = "outside"
version = "0.1.0"
edition = "2024"

[dependencies]
warpplay-gpu = { path = "ROOT/gpu", default-features = false, features = ["mcts"] }
bytemuck = { version = "1.25", features = ["derive"] }

[target.'cfg(not(target_arch = "nvptx64"))'.dependencies]
warpplay = { path = "ROOT/host", default-features = false, features = ["mcts"] }

[build-dependencies]
warpplay-gpu-builder = { path = "ROOT/gpu/builder" }

[workspace]

[profile.dev]
debug = false
"#;

const BUILD: &str = r#"
fn main() -> Result<(), Box<dyn std::error::Error>> {
    warpplay_gpu_builder::CudaBuilder::new(".").module("nim").arch("sm_75").build_and_emit()?;
    Ok(())
}
"#;

const LIBRARY: &str = r#"
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]

use bytemuck::{Pod, Zeroable};
use warpplay_gpu::mcts::{Game, Outcome, Player};

#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: warpplay_gpu::ptx::PtxSet = include!(concat!(env!("OUT_DIR"), "/nim.rs"));

warpplay_gpu::mcts_kernels!(kernels, Nim, "nim", crate::PTX);

/// One heap; one to three may be taken; who takes the last wins.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Nim {
    pub left: u32,
    pub plies: u32,
}

impl Game for Nim {
    const NAME: &'static str = "nim";
    const MAX_ACTIONS: u32 = 3;
    const BOARD: (u32, u32) = (1, 1);
    fn to_move(&self) -> Player {
        Player::from_index(self.plies)
    }
    fn is_legal(&self, action: u32) -> bool {
        action < 3 && action < self.left
    }
    fn apply(&mut self, action: u32) {
        self.left -= action + 1;
        self.plies += 1;
    }
    fn outcome(&self) -> Outcome {
        if self.left == 0 { Outcome::Win(self.to_move().other()) } else { Outcome::Ongoing }
    }
}
"#;

const PROGRAM: &str = r#"
use outside::Nim;
use warpplay::mcts::{Connect4, Search, position_after};
use warpplay::{Device, Error, Progress};

fn main() -> Result<(), Error> {
    let position: Connect4 = position_after("414243")?;
    let mut search = Search::<Connect4>::builder().n_trees(2).n_playouts(32).steps(30).build(&Device::cpu())?;
    println!("connect4 best {} of {}", search.run(&position, Progress::go_on)?.best.index, Device::list().len());
    for device in [Device::cpu(), Device::simt(), Device::auto()] {
        let mut search = Search::<Nim>::builder().n_trees(2).n_playouts(32).steps(60).build(&device)?;
        let report = search.run(&Nim { left: 7, plies: 0 }, Progress::go_on)?;
        println!("nim best {} of {}", report.best.index, report.best.n_root);
    }
    Ok(())
}
"#;

/// Writes the crate's files.
fn write(folder: &Path, root: &Path) {
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).expect("the workspace's lock file");
    for (name, text) in [
        ("Cargo.toml", MANIFEST.replace("ROOT", root.to_str().expect("a path in UTF-8"))),
        // The versions that are already here: nothing is to be fetched.
        ("Cargo.lock", lock),
        ("build.rs", BUILD.to_string()),
        ("src/lib.rs", LIBRARY.to_string()),
        ("src/main.rs", PROGRAM.to_string()),
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("in the folder")).expect("a temporary folder");
        // What has not changed keeps its time stamp, so that a second run builds nothing.
        if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            std::fs::write(&path, text).expect("a temporary folder");
        }
    }
}

/// Runs cargo in a folder outside; it must end well. Returns what it prints.
#[track_caller]
fn cargo(folder: &Path, arguments: &[&str]) -> String {
    // A folder of its own inside the workspace's target folder: device code finds `core` compiled there.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder").join("tests/outside");
    let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let mut command = Command::new(cargo);
    command.current_dir(folder).args(arguments).env("CARGO_TARGET_DIR", target);
    // Of all crates here alike, so that the library is built once for them.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    // What cargo sets for this test is not for that crate.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST") {
            command.env_remove(&name);
        }
    }
    let output = command.output().expect("cargo starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout.into_owned()
}

#[test]
fn crates_that_the_program_writes_pass_their_tests() {
    let root = workspace().canonicalize().expect("the workspace");
    let scratch = tempfile::tempdir().expect("a folder");
    for (command, name, n_tests, printed) in [
        // Without moves the start is searched; of its nine actions the middle is the best first move of tic-tac-toe.
        ("new-game", "three-rows", 5, "best        b2, action 4"),
        // 2 · 1 + 10, and so on.
        ("new-kernel", "scaled-sums", 1, "[12.0, 24.0, 36.0] on "),
    ] {
        let mut program = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
        let output = program.current_dir(scratch.path()).args([command, name, "--path"]).arg(&root).output();
        let output = output.expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let folder = scratch.path().join(name);
        // The versions that are already here: nothing is to be fetched.
        std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the workspace's lock file");
        let said = cargo(&folder, &["test", "--offline"]);
        let passed: usize = said
            .lines()
            .filter_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse::<usize>().ok())
            .sum();
        assert_eq!(passed, n_tests, "{said}");
        let said = cargo(&folder, &["run", "--quiet", "--offline"]);
        assert!(said.contains(printed), "{said}");
    }
}

#[test]
fn a_crate_outside_the_workspace_builds_offline_and_runs() {
    let root = workspace().canonicalize().expect("the workspace");
    // Outside the workspace, but always the same folder, so that the build is warm the second time.
    let folder = std::env::temp_dir().join(format!("warpplay-outside-{:x}", hash(&root)));
    write(&folder, &root);
    let stdout = cargo(&folder, &["run", "--quiet", "--offline"]);
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with("connect4 best 3 of "), "{stdout}");
    // Of seven, three are to be taken, so that four are left: action 2, on every back end alike.
    assert!(lines[1].starts_with("nim best 2 of "), "{stdout}");
    assert!(lines.len() == 4 && lines[1..].iter().all(|line| *line == lines[1]), "{stdout}");
}

/// A short name for a path.
fn hash(path: &Path) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}
