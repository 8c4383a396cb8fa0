//! The Python wheel: one for every Python from 3.9 on, with the kernels in it; and its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use warpplay_gpu_builder::REQUIRE_VARIABLE;

use crate::process::{self, root, target_dir};
use crate::setup;

/// What builds the wheel, and what its tests need.
const PACKAGES: [&str; 3] = ["maturin>=1.9,<2", "numpy", "pytest>=8"];

/// Builds the wheel into `target/wheels`; with `test` an unoptimised one, which is installed and tested in an environment of its own.
pub fn make(test: bool) -> Result<()> {
    setup::device_compiler()?;
    let venv = target_dir().join("python");
    let python = venv.join("bin/python3");
    // What is there was made by the same list, or is made anew.
    let made = venv.join("made-of");
    let list = PACKAGES.join("\n");
    if !fs::read_to_string(&made).is_ok_and(|found| found == list) {
        setup::say(&format!("getting {} into {}", PACKAGES.join(", "), venv.display()));
        setup::python_packages(&venv, &PACKAGES)?;
        fs::write(&made, &list).with_context(|| made.display().to_string())?;
    }
    let wheels = target_dir().join(if test { "wheels-test" } else { "wheels" });
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| wheels.display().to_string())?;
    }
    let mut build = Command::new(venv.join("bin/maturin"));
    build.current_dir(root().join("python")).args(["build", "--quiet", "--out"]).arg(&wheels);
    build.args(["--profile", if test { "dev" } else { "release" }]);
    // A wheel without kernels is of no use to anybody with a GPU.
    build.env(REQUIRE_VARIABLE, "1").env("CARGO_TARGET_DIR", target_dir());
    process::run(&mut build)?;
    let wheel = only_file(&wheels)?;
    println!("{}: {} bytes", wheel.display(), fs::metadata(&wheel)?.len());
    if !test {
        return Ok(());
    }
    let mut install = setup::pip(&venv);
    install.args(["install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"]);
    process::run(install.arg(&wheel))?;
    // Outside the sources, so that what is installed is what is tested.
    let mut tests = Command::new(&python);
    tests.current_dir(&wheels).args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    process::run(tests.arg(root().join("python/tests")))?;
    let mut examples = Command::new(&python);
    examples
        .current_dir(&wheels)
        .args(["-c", "import doctest, warpplay.mcts; exit(doctest.testmod(warpplay.mcts).failed)"]);
    process::run(&mut examples)
}

/// The file of a folder that has one.
fn only_file(folder: &Path) -> Result<PathBuf> {
    let found: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    ensure!(found.len() == 1, "{} has {} files, one is expected", folder.display(), found.len());
    Ok(found[0].clone())
}
