//! What is said of a driver that cannot be used: a library of our own in its place, seen by the program alone.

use std::path::Path;
use std::process::{Command, Output};

use warpplay_tests::golden;
use warpplay_tests::programs::warpplay;
use warpplay_tests::skipped::skipped;

/// Builds the library in a folder, with these flags of the compiler; `false`, and it is said, where there is no compiler.
fn build(folder: &Path, flags: &[&str]) -> bool {
    let source = golden::workspace().join("tests/tests/device/fake_driver/driver.rs");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib"]).args(flags);
    match rustc.arg("-o").arg(folder.join("libcuda.so.1")).arg(source).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(error) => {
            skipped(format!("rustc: {error}"));
            false
        }
    }
}

/// Runs the program with the library of a folder as its driver.
fn run(folder: &Path, arguments: &str, init: &str) -> Output {
    let mut program = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
    program.current_dir(folder).args(arguments.split_whitespace());
    program.env("LD_LIBRARY_PATH", folder).env("FAKE_DRIVER_INIT", init);
    program.output().expect("the program starts")
}

/// The error with which it must end, after what it may have noted: one line.
#[track_caller]
fn error(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(output.status.code() == Some(1) && text.trim_end().lines().last() == errors.last().copied(), "{output:?}");
    assert_eq!(errors.len(), 1, "{output:?}");
    errors[0].to_string()
}

/// A command of every family that loads a module.
fn commands() -> Vec<String> {
    let golden = golden::path("");
    let golden = golden.display();
    vec![
        #[cfg(feature = "mcts")]
        "mcts analyse --trees 1 --playouts 2 --steps 3".to_string(),
        #[cfg(feature = "azero")]
        "azero analyse".to_string(),
        #[cfg(feature = "mlp")]
        "mlp train --drawn 60 --drawn-test 20 --hidden 4 --batch 16 --epochs 1".to_string(),
        #[cfg(feature = "shogi")]
        format!("shogi learn --records {golden}/shogi/six.usi --limit 2 --plies 40..44 --iterations 1"),
        #[cfg(feature = "cfr")]
        format!("cfr solve {golden}/cfr/games/kuhn.limit.2p.game --iterations 2"),
    ]
}

#[test]
fn every_family_names_a_driver_that_is_too_old() {
    let folder = tempfile::tempdir().expect("a folder");
    if !build(folder.path(), &[]) {
        return;
    }
    for command in commands() {
        let text = error(&run(folder.path(), &format!("{command} --device cuda"), "0"));
        let named = text.contains("driver supports PTX up to 7.4, module ") && text.contains("update the driver");
        assert!(named, "{command}: {text}");
    }
}

#[test]
fn a_driver_that_does_not_start_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    if !build(folder.path(), &[]) {
        return;
    }
    let expected = [
        // The toolkit's library for linking, and a code of which nobody has heard.
        ("34", "(34): the toolkit's stub library was found in place of the driver"),
        ("100", "(100): the driver is installed but shows no GPU"),
        ("12345", "CUDA error 12345 (12345): the driver is installed but does not start"),
    ];
    for (code, reason) in expected {
        let text = error(&run(folder.path(), "mcts analyse --steps 1 --device cuda", code));
        assert!(text.contains(reason), "{code}: {text}");
    }
}

#[test]
fn an_entry_that_a_driver_lacks_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    if !build(folder.path(), &["--cfg", "without_context"]) {
        return;
    }
    let text = error(&run(folder.path(), "mcts analyse --steps 1 --device cuda", "0"));
    assert!(
        text.contains("cuDevicePrimaryCtxRetain failed: CUDA_ERROR_NOT_FOUND (500): the driver may be too old"),
        "{text}"
    );
}
