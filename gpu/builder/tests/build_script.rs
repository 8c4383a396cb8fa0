//! `build_and_emit` as a build script runs it.
//!
//! Each test starts this test program again as the script, with the environment that cargo would give it.

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The variable that makes [`script`] run; its value is the device crate's folder.
const SCRIPT: &str = "WARPPLAY_TEST_DEVICE_CRATE";

/// The build script. Without its variable it is a test that does nothing.
#[test]
fn script() -> Result<(), warpplay_gpu_builder::Error> {
    if let Some(krate) = std::env::var_os(SCRIPT) {
        common::builder(Path::new(&krate), "test_script").build_and_emit()?;
    }
    Ok(())
}

fn start(krate: &Path, out_dir: &Path, environment: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "script", "--nocapture"])
        .env_remove("WARPPLAY_REQUIRE_PTX")
        .env(SCRIPT, krate)
        .env("OUT_DIR", out_dir)
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Whether the script succeeded, what it wrote, and the expression it made.
fn finish(child: Child, out_dir: &Path) -> (bool, String, String) {
    let output = child.wait_with_output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    let set = std::fs::read_to_string(out_dir.join("test_script.rs")).unwrap_or_default();
    (output.status.success(), text, set)
}

fn run(krate: &Path, environment: &[(&str, &str)]) -> (bool, String, String) {
    let out_dir = tempfile::tempdir().unwrap();
    finish(start(krate, out_dir.path(), environment), out_dir.path())
}

const REMEDY: &str = "let WARPPLAY_DEVICE_RUSTC name a rustc that has it";

#[test]
fn without_a_compiler_the_set_is_empty_and_says_why() {
    let krate = common::fixture("kernels", "script_missing");
    let (success, text, set) = run(&krate, &[("WARPPLAY_DEVICE_RUSTC", "/nowhere/rustc")]);
    assert!(success, "{text}");
    assert!(text.contains("cargo::warning=PTX module test_script is not built: no compiler"), "{text}");
    assert!(text.contains("cargo::rerun-if-env-changed=WARPPLAY_DEVICE_RUSTC"), "{text}");
    assert!(
        set.contains("missing: Some(\"no compiler for device code (WARPPLAY_DEVICE_RUSTC: /nowhere/rustc"),
        "{set}"
    );
    assert!(set.contains(REMEDY), "{set}");
    assert!(!set.contains("PtxImage"), "{set}");
}

#[test]
fn without_a_compiler_that_is_required_the_script_fails() {
    let krate = common::fixture("kernels", "script_required");
    let (success, text, set) =
        run(&krate, &[("WARPPLAY_DEVICE_RUSTC", "/nowhere/rustc"), ("WARPPLAY_REQUIRE_PTX", "1")]);
    assert!(!success, "{text}");
    assert!(text.contains("Error: no compiler for device code"), "{text}");
    assert!(text.contains(REMEDY), "{text}");
    assert_eq!(set, "");
}

#[test]
fn a_crate_that_builds_itself_gets_an_empty_set() {
    let krate = common::fixture("kernels", "script_itself");
    let environment = [("TARGET", "nvptx64-nvidia-cuda"), ("WARPPLAY_DEVICE_RUSTC", "/nowhere/rustc")];
    let (success, text, set) = run(&krate, &environment);
    assert!(success, "{text}");
    assert!(!text.contains("cargo::warning"), "{text}");
    // Else each change of a variable of ours would compile all device code again.
    assert!(!text.contains("rerun-if-env-changed"), "{text}");
    assert!(set.contains("images: &[\n    ],"), "{set}");
    assert!(set.contains("missing: Some("), "{set}");
}

#[test]
fn the_outer_build_does_not_reach_device_code() {
    if !common::have_compiler() {
        return;
    }
    let krate = common::fixture("kernels", "script_environment");
    // What clippy, coverage tools and continuous integration set; each would break the nested build.
    let environment = [
        ("TARGET", "x86_64-unknown-linux-gnu"),
        ("RUSTC_WORKSPACE_WRAPPER", "/nowhere/clippy-driver"),
        ("RUSTC_WRAPPER", "/nowhere/sccache"),
        ("RUSTFLAGS", "--no-such-flag"),
        ("CARGO_ENCODED_RUSTFLAGS", "--no-such-flag"),
        ("CARGO_BUILD_RUSTFLAGS", "--no-such-flag"),
        ("CARGO_TARGET_DIR", "/nowhere/target"),
        ("CARGO_BUILD_TARGET", "wasm32-unknown-unknown"),
        ("CARGO_PROFILE_RELEASE_PANIC", "unwind"),
        ("CARGO_MAKEFLAGS", "-j --jobserver-fds=98,99 --jobserver-auth=98,99"),
    ];
    let (success, text, set) = run(&krate, &environment);
    assert!(success, "{text}");
    assert!(set.contains("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/test_script.sm_75.ptx.lz\"))"), "{set}");
    assert!(set.contains("missing: None"), "{set}");
    let krate = krate.canonicalize().unwrap();
    for source in ["Cargo.toml", "src"] {
        let line = format!("cargo::rerun-if-changed={}\n", krate.join(source).display());
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

#[test]
fn two_scripts_may_build_one_module_at_once() {
    if !common::have_compiler() {
        return;
    }
    let krate = common::fixture("kernels", "script_twice");
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let children = folders.each_ref().map(|folder| start(&krate, folder.path(), &[]));
    let mut texts = Vec::new();
    for (child, folder) in children.into_iter().zip(&folders) {
        let (success, text, _) = finish(child, folder.path());
        assert!(success, "{text}");
        texts.push(std::fs::read_to_string(folder.path().join("test_script.sm_75.ptx")).unwrap());
    }
    assert!(texts[0].contains(".entry scale("), "{}", texts[0]);
    assert_eq!(texts[0], texts[1]);
}
