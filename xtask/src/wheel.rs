//! The Python wheel: one for every Python from 3.9 on, with the kernels in it; and its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use warpplay_gpu_builder::REQUIRE_VARIABLE;

use crate::process::{self, root, target_dir};
use crate::setup;
use crate::tally::Tally;

/// What builds the wheel, and what its tests need.
const PACKAGES: [&str; 3] = ["maturin>=1.9,<2", "numpy", "pytest>=8"];

/// What links the wheel that is handed on: with the C library's names of any version, so that older systems have them too.
const ZIG: &str = "ziglang==0.17.1";

/// The oldest C library of the wheel that is handed on, as `pip` calls it: glibc 2.17, which is that of Rust's standard library.
const PLATFORM: &str = "manylinux_2_17";

/// Other programs that the tests compare with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peers {
    /// OpenSpiel, scikit-learn, JAX, ONNX and its runtime, mypy, and matplotlib for the notebooks.
    pub peers: bool,
    /// PyTorch.
    pub torch: bool,
    /// PyTorch, CuPy and JAX for CUDA.
    pub cuda: bool,
}

impl Peers {
    /// The lists of what is installed, and the modules whose absence is a failure then.
    fn lists(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let peers = self
            .peers
            .then_some(("requirements.txt", "pyspiel,open_spiel,sklearn,matplotlib,jax,mypy,onnx,onnxruntime"));
        let torch = self.torch.then_some(("requirements-torch.txt", "torch"));
        peers.into_iter().chain(torch).chain(self.cuda.then_some(("requirements-cuda.txt", "torch,cupy,jax")))
    }
}

/// Builds the wheel into `target/wheels`; on Linux for old systems too.
pub fn make() -> Result<()> {
    let linker = cfg!(target_os = "linux").then_some(ZIG);
    let venv = environment("python-wheel", linker.into_iter().map(String::from).collect(), "")?;
    let arguments: &[&str] = match linker {
        Some(_) => &["--profile", "release", "--zig", "--compatibility", PLATFORM],
        None => &["--profile", "release"],
    };
    build(&venv, &target_dir().join("wheels"), arguments)?;
    Ok(())
}

/// Builds an unoptimised wheel, installs it into an environment of its own and tests it there.
pub fn test(peers: Peers) -> Result<()> {
    let (mut arguments, mut lists) = (Vec::new(), String::new());
    for (file, _) in peers.lists() {
        let path = root().join("python/tests").join(file);
        lists += &fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        arguments.extend(["--requirement".to_string(), path.display().to_string()]);
    }
    let venv = environment("python", arguments, &lists)?;
    let wheels = target_dir().join("wheels-test");
    let wheel = build(&venv, &wheels, &["--profile", "dev"])?;
    let mut install = setup::pip(&venv);
    install.args(["install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"]);
    process::run(install.arg(&wheel))?;
    // Outside the sources, so that what is installed is what is tested.
    let mut tests = suite(&venv, &wheels);
    tests.env("WARPPLAY_REQUIRE_PEERS", peers.lists().map(|(_, modules)| modules).collect::<Vec<_>>().join(","));
    process::run(&mut tests)
}

/// Tests the package of the sources with the native library of the build that the tests of Rust have made, with these features of the workspace: no wheel is made. Where
/// Python cannot be had, the sums say so.
///
/// # Errors
/// A test that fails; in CI also Python that cannot be had.
pub fn test_sources(tally: &mut Tally, features: &[&str]) -> Result<()> {
    let venv = target_dir().join("python");
    // One that a test of the wheel has made may have more.
    let made = match venv.join("made-of").is_file() {
        true => Ok(venv),
        false => environment("python", Vec::new(), ""),
    };
    let venv = match made {
        Ok(venv) => venv,
        Err(error) if process::is_set("CI") => return Err(error),
        Err(error) => {
            tally.leave_out_python(format!("{error:#}"));
            return Ok(());
        }
    };
    let folder = package_of_sources(features)?;
    tally.run_pytest(suite(&venv, &folder).env("PYTHONPATH", &folder))
}

/// The Python package made of the sources and an unoptimised extension module: the folder that holds it.
fn package_of_sources(features: &[&str]) -> Result<PathBuf> {
    // With a test, as the suite is built: libraries alone have other features.
    let build = ["build", "--quiet", "--profile", "test", "--workspace", "--lib", "--test", "structure"];
    process::run(process::cargo(&build).args(features))?;
    let folder = target_dir().join("python-sources");
    let package = folder.join("warpplay");
    if package.exists() {
        fs::remove_dir_all(&package).with_context(|| package.display().to_string())?;
    }
    fs::create_dir_all(&package).with_context(|| package.display().to_string())?;
    let sources = root().join("python/python/warpplay");
    for entry in fs::read_dir(&sources).with_context(|| sources.display().to_string())? {
        let from = entry?.path();
        if let Some(name) = from.file_name().filter(|_| from.is_file()) {
            fs::copy(&from, package.join(name)).with_context(|| from.display().to_string())?;
        }
    }
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = target_dir().join(format!("debug/{prefix}_native{suffix}"));
    fs::copy(&library, package.join("_native.abi3.so")).with_context(|| library.display().to_string())?;
    Ok(folder)
}

/// The tests and the examples of the docstrings, started in `folder`.
fn suite(venv: &Path, folder: &Path) -> Command {
    let mut tests = Command::new(venv.join("bin/python3"));
    tests.current_dir(folder).args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]);
    tests.arg(root().join("python/tests"));
    tests
}

/// The environment of this name, with [`PACKAGES`] and what further `arguments` of `pip install` say; `lists` is what stands in the files that they name. One that is there was
/// made by the same, or is made anew.
fn environment(name: &str, arguments: Vec<String>, lists: &str) -> Result<PathBuf> {
    let venv = target_dir().join(name);
    let made = venv.join("made-of");
    let arguments: Vec<String> = PACKAGES.map(String::from).into_iter().chain(arguments).collect();
    let list = format!("{}\n{lists}", arguments.join("\n"));
    if !fs::read_to_string(&made).is_ok_and(|found| found == list) {
        setup::say(&format!("getting {} into {}", arguments.join(" "), venv.display()));
        setup::python_packages(&venv, &arguments.iter().map(String::as_str).collect::<Vec<_>>())?;
        fs::write(&made, &list).with_context(|| made.display().to_string())?;
    }
    Ok(venv)
}

/// Builds a wheel into a folder that has nothing else, with these arguments of `maturin build`; its path.
fn build(venv: &Path, wheels: &Path, arguments: &[&str]) -> Result<PathBuf> {
    setup::device_compiler()?;
    if wheels.exists() {
        fs::remove_dir_all(wheels).with_context(|| wheels.display().to_string())?;
    }
    // Its Python is the one that knows the linker.
    let programs = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::iter::once(venv.join("bin")).chain(std::env::split_paths(&programs));
    let mut build = Command::new(venv.join("bin/maturin"));
    build.env("PATH", std::env::join_paths(programs).context("PATH")?);
    build.current_dir(root().join("python")).args(["build", "--quiet", "--out"]).arg(wheels);
    build.args(arguments);
    // A wheel without kernels is of no use to anybody with a GPU.
    build.env(REQUIRE_VARIABLE, "1").env("CARGO_TARGET_DIR", target_dir());
    process::run(&mut build)?;
    let wheel = only_file(wheels)?;
    println!("{}: {} bytes", wheel.display(), fs::metadata(&wheel)?.len());
    Ok(wheel)
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
