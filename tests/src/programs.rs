//! The example programs, for tests that run them as others do.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The example `name` of the library: what the environment variable `variable` names, or built by cargo for tests.
///
/// `target_tmp` is the caller's `CARGO_TARGET_TMPDIR`, which cargo tells integration tests alone: the folder beside the target folder's profiles.
///
/// # Panics
/// If it cannot be built.
pub fn example(name: &str, variable: &str, target_tmp: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        return PathBuf::from(path);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = Path::new(target_tmp).parent().expect("the target folder");
    let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--quiet", "--profile", "test", "--package", "warpplay", "--example", name])
        .arg("--message-format=json")
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo names the program")
}
