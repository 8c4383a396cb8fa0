//! Makes sure of the two programs that cargo does not bring: a compiler for device code, and `ptxas`.
//!
//! Both checks take milliseconds once the programs are there.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use warpplay_gpu_builder::{
    COMPILER_VARIABLE, DeviceCompiler, PTXAS_VARIABLE, REQUIRE_VARIABLE, find_compiler, find_ptxas, ptx_required,
};

use crate::plan::{self, BROWSER_PACKAGE, DEBIAN_PACKAGES, MPI_PACKAGES, Machine, OLDEST_COMPILER, Privilege, Step};
use crate::process;

/// The Python package that holds `ptxas`.
const PTXAS_WHEEL: &str = "nvidia-cuda-nvcc==13.0.88";
/// Longest wait for rustup: without a network it would retry for minutes.
const RUSTUP_LIMIT: Duration = Duration::from_secs(60);
/// Longest wait for one call of apt-get or pip.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(600);

/// The compiler for device code; installs one where it may.
///
/// `None` if there is none: the reason and the remedy have been printed, and everything but the GPU kernels works.
///
/// # Errors
/// With `WARPPLAY_REQUIRE_PTX=1`, that there is none; else only that `WARPPLAY_DEVICE_RUSTC` names an unusable compiler.
pub fn device_compiler() -> Result<Option<DeviceCompiler>> {
    let missing = match find_compiler() {
        Ok(compiler) => return Ok(Some(compiler)),
        // The user chose a compiler: another one in its place would hide the mistake.
        Err(error) if env::var_os(COMPILER_VARIABLE).is_some() => return Err(error.into()),
        Err(error) => error,
    };
    say("no compiler for device code yet");
    for step in plan::steps(&machine()) {
        say(&format!("trying: {step}"));
        match take(step).and_then(|()| find_compiler().context("it ran, but there is still no usable compiler")) {
            Ok(compiler) => return Ok(Some(compiler)),
            Err(error) => say(&format!("  no: {error:#}")),
        }
    }
    if ptx_required() {
        return Err(anyhow::Error::new(missing).context(format!("{REQUIRE_VARIABLE} is set")));
    }
    say("going on without GPU kernels: the CPU back ends work");
    say(&plan::remedy());
    Ok(None)
}

/// `ptxas`, NVIDIA's assembler; installs it into `target/ptxas` where it can.
///
/// # Errors
/// With `WARPPLAY_REQUIRE_PTX=1`, that it cannot be had; else `None`, with the reason printed.
pub fn ptxas() -> Result<Option<PathBuf>> {
    let venv = process::target_dir().join("ptxas");
    match find_ptxas() {
        Ok(path) => return Ok(Some(path)),
        Err(error) if env::var_os(PTXAS_VARIABLE).is_some() => return Err(error.into()),
        Err(_) => {}
    }
    say(&format!("getting ptxas ({PTXAS_WHEEL}) into {}", venv.display()));
    let error = match install_ptxas(&venv).and_then(|()| Ok(find_ptxas()?)) {
        Ok(path) => return Ok(Some(path)),
        Err(error) => error.context(format!(
            "cannot get ptxas: install Python 3 with its venv module and type `python3 -m pip install {PTXAS_WHEEL}` in an \
             environment of your own, or set WARPPLAY_PTXAS to a ptxas of CUDA 13"
        )),
    };
    if ptx_required() {
        return Err(error);
    }
    say(&format!("{error:#}"));
    say("going on without it: the tests that assemble PTX report it as absent");
    Ok(None)
}

/// Makes sure of MPI, which only programs of several ranks need; installs Debian's packages where it may.
///
/// # Errors
/// That it is not there and cannot be had, with what the user can type.
pub fn mpi() -> Result<()> {
    debian_packages("for ranks, Open MPI", &MPI_PACKAGES, "mpirun, mpicc or libclang", mpi_is_there)
}

/// Makes sure of Chromium, in which tests open pages; installs Debian's package where it may.
///
/// # Errors
/// As [`mpi`].
pub fn browser() -> Result<()> {
    debian_packages("for the tests of pages, Chromium", &[BROWSER_PACKAGE], BROWSER_PACKAGE, browser_is_there)
}

fn browser_is_there() -> bool {
    process::is_on_path(BROWSER_PACKAGE)
}

/// Installs packages of Debian unless what they bring is there.
fn debian_packages(what: &str, packages: &[&str], programs: &str, is_there: fn() -> bool) -> Result<()> {
    if is_there() {
        return Ok(());
    }
    let names = packages.join(" ");
    let remedy = || format!("{what} is needed; on Debian or Ubuntu: sudo apt-get install {names}");
    let machine = machine();
    let privilege = plan::privilege(&machine).filter(|_| machine.apt).with_context(remedy)?;
    if privilege == Privilege::SudoAfterAsking && !yes(&format!("install {names} with sudo?"))? {
        bail!(remedy());
    }
    say(&format!("installing {names}"));
    apt_get(privilege, &["update"]).with_context(remedy)?;
    apt_get(privilege, &[&["install", "-y", "--no-install-recommends"], packages].concat()).with_context(remedy)?;
    if !is_there() {
        bail!("{names} were installed, but {programs} is still not found");
    }
    Ok(())
}

/// Whether `mpirun`, the compiler's wrapper and the library that reads its headers are there.
pub fn mpi_is_there() -> bool {
    process::is_on_path("mpirun") && process::is_on_path("mpicc") && libclang_is_there()
}

/// Whether bindgen will find libclang: where its variable points, or where Debian puts it.
fn libclang_is_there() -> bool {
    let named = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).any(|name| {
            let name = name.to_string_lossy();
            name.starts_with("libclang") && name.contains(".so") && !name.contains("cpp")
        })
    };
    let mut folders = vec![PathBuf::from("/usr/lib"), "/usr/lib64".into(), "/usr/local/lib".into()];
    folders.extend(env::var_os("LIBCLANG_PATH").map(PathBuf::from));
    let below = |dir: &str| {
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>()
    };
    folders.extend(below("/usr/lib").into_iter().filter(|path| path.to_string_lossy().ends_with("-linux-gnu")));
    folders.extend(below("/usr/lib").into_iter().map(|path| path.join("lib")));
    folders.iter().any(|dir| named(dir))
}

/// Whether the user is root.
pub fn is_root() -> bool {
    machine().root
}

/// Says what set-up finds and what it would do, and does nothing.
pub fn describe() {
    let machine = machine();
    match find_compiler() {
        Ok(compiler) => say(&format!("device compiler: {}", compiler)),
        Err(error) => say(&format!("device compiler: {error}")),
    }
    match find_ptxas() {
        Ok(path) => say(&format!("ptxas: {}", path.display())),
        Err(_) => {
            say(&format!("ptxas: absent; would install {PTXAS_WHEEL} into {}/ptxas", process::target_dir().display()))
        }
    }
    match mpi_is_there() {
        true => say("MPI: there"),
        false => say(&format!("MPI: absent; `run` with --ranks would install {}", MPI_PACKAGES.join(" "))),
    }
    match browser_is_there() {
        true => say("Chromium: there"),
        false => say(&format!("Chromium: absent; in CI, `test` would install {BROWSER_PACKAGE}")),
    }
    say("ways to a device compiler on this machine, in order:");
    let steps = plan::steps(&machine);
    for step in &steps {
        say(&format!("  {step}"));
    }
    if steps.is_empty() {
        say("  none without you");
        say(&plan::remedy());
    }
}

/// Looks at the machine.
fn machine() -> Machine {
    Machine {
        rustup: rustup_owns_the_toolchain(),
        apt: process::is_on_path("apt-get") && process::is_on_path("apt-cache"),
        root: process::output_of("id", &["-u"]).is_some_and(|id| id.trim() == "0"),
        ci: process::is_set("CI"),
        sudo: process::is_on_path("sudo"),
        terminal: process::at_terminal(),
    }
}

/// Whether the active compiler lies in rustup's home: only then does a rustup component reach it.
fn rustup_owns_the_toolchain() -> bool {
    let home = process::output_of("rustup", &["show", "home"]);
    let sysroot = process::output_of("rustc", &["--print", "sysroot"]);
    matches!((home, sysroot), (Some(home), Some(sysroot)) if Path::new(sysroot.trim()).starts_with(home.trim()))
}

fn take(step: Step) -> Result<()> {
    match step {
        Step::Rustup => process::run_within(
            Command::new("rustup").args(["component", "add", "rust-src"]).env("RUST_BACKTRACE", "0"),
            RUSTUP_LIMIT,
        ),
        Step::Apt(privilege) => {
            if privilege == Privilege::SudoAfterAsking
                && !yes(&format!("install {} with sudo?", DEBIAN_PACKAGES.join(" and ")))?
            {
                bail!("not wanted");
            }
            apt_get(privilege, &["update"])?;
            let policy = process::output_of("apt-cache", &["policy", DEBIAN_PACKAGES[0]]);
            let candidate = policy.as_deref().and_then(plan::apt_candidate);
            match candidate {
                Some(version) if version >= OLDEST_COMPILER => {}
                Some((major, minor)) => {
                    let (needs_major, needs_minor) = OLDEST_COMPILER;
                    bail!("{} is {major}.{minor} here, {needs_major}.{needs_minor} is needed", DEBIAN_PACKAGES[0]);
                }
                None => bail!("no package {} here", DEBIAN_PACKAGES[0]),
            }
            apt_get(privilege, &["install", "-y", "--no-install-recommends", DEBIAN_PACKAGES[0], DEBIAN_PACKAGES[1]])
        }
    }
}

fn apt_get(privilege: Privilege, args: &[&str]) -> Result<()> {
    // Bounded waits: a dead mirror or another apt-get is reported, not waited for.
    let options = ["-q", "-o", "DPkg::Lock::Timeout=60", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=30"];
    let environment = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    let mut command = match privilege {
        Privilege::Root => Command::new("env"),
        Privilege::Sudo | Privilege::SudoAfterAsking => Command::new("sudo"),
    };
    if privilege == Privilege::Sudo {
        command.arg("-n");
    }
    let environment = if privilege == Privilege::Root { &environment[1..] } else { &environment[..] };
    command.args(environment).args(options).args(args);
    if privilege == Privilege::SudoAfterAsking {
        // sudo asks for the password at the terminal, so it stays in our process group, without a limit.
        command.stdout(std::io::stderr());
        return process::run(&mut command);
    }
    process::run_within(&mut command, DOWNLOAD_LIMIT)
}

fn install_ptxas(venv: &Path) -> Result<()> {
    python_packages(venv, &["--no-deps", PTXAS_WHEEL])
}

/// Makes a virtual environment of Python anew and installs packages into it, by the arguments of `pip install`.
///
/// # Errors
/// Python that is not there and cannot be installed, or packages that cannot be had.
pub fn python_packages(venv: &Path, arguments: &[&str]) -> Result<()> {
    if !process::is_on_path("python3") {
        apt_python()?;
    }
    let make = |extra: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-m", "venv", "--clear"]).args(extra).arg(venv);
        process::run_within(&mut command, DOWNLOAD_LIMIT)
    };
    // Debian packs `ensurepip` apart from Python. A pip outside the environment can fill it as well.
    if make(&[]).is_err() {
        if process::output_of("python3", &["-m", "pip", "--version"]).is_some() {
            make(&["--without-pip"])?;
        } else {
            apt_python()?;
            make(&[])?;
        }
    }
    let mut pip = pip(venv);
    pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(arguments);
    process::run_within(&mut pip, DOWNLOAD_LIMIT)
}

/// `pip` of a virtual environment that [`python_packages`] made, which may have none of its own.
pub fn pip(venv: &Path) -> Command {
    let python = venv.join("bin/python3");
    let mut pip = Command::new(&python);
    if venv.join("bin/pip").is_file() {
        pip.args(["-m", "pip"]);
    } else {
        pip = Command::new("python3");
        pip.args(["-m", "pip", "--python"]).arg(&python);
    }
    pip
}

/// Python and its venv module from Debian, where we may install at once.
fn apt_python() -> Result<()> {
    let machine = machine();
    match plan::privilege(&machine).filter(|_| machine.apt) {
        Some(privilege @ (Privilege::Root | Privilege::Sudo)) => {
            say("installing python3-venv");
            apt_get(privilege, &["update"])?;
            apt_get(privilege, &["install", "-y", "--no-install-recommends", "python3", "python3-venv"])
        }
        _ => bail!("python3 with its venv module is missing (on Debian or Ubuntu: sudo apt-get install python3-venv)"),
    }
}

fn yes(question: &str) -> Result<bool> {
    eprint!("xtask: {question} [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// One message to the user; stdout belongs to the programs that xtask runs.
pub fn say(text: &str) {
    eprintln!("xtask: {text}");
}
