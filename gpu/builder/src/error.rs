//! The errors of the builder; each text ends with the remedy.

use std::path::PathBuf;

use thiserror::Error;

/// Why there is no PTX.
///
/// `Debug` prints the same text as `Display`: a build script that returns the error from `main` prints it in this form.
#[derive(Error)]
#[non_exhaustive]
pub enum Error {
    /// No rustc with its library's source was found.
    #[error(
        "no compiler for device code ({searched}): add the library's source with \
         `rustup component add rust-src`, or install Debian's packages rustc-web and rust-web-src, \
         or let {variable} name a rustc that has it",
        variable = crate::COMPILER_VARIABLE
    )]
    NoCompiler {
        /// The paths that were searched, and what was missing there.
        searched: String,
    },
    /// A program could not be started.
    #[error("cannot run `{}`: {source}: check that it is installed and may be executed", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The device crate does not compile.
    #[error("device crate `{package}` does not compile for {arch} with {compiler}:\n{stderr}\n{remedy}")]
    Compile {
        /// Name of the package.
        package: String,
        /// Architecture.
        arch: String,
        /// Version and path of the compiler.
        compiler: String,
        /// What cargo and rustc wrote.
        stderr: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The nested build succeeded without leaving PTX.
    #[error(
        "the build of device crate `{package}` left no PTX at {}: remove the folder {} and build again",
        path.display(), target_dir.display()
    )]
    NoOutput {
        /// Name of the package.
        package: String,
        /// The file that was expected.
        path: PathBuf,
        /// Target folder of the nested cargo.
        target_dir: PathBuf,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}: check the path and its permissions", path.display())]
    File {
        /// What was tried, as `read`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder holds no package.
    #[error("{} is not the manifest of a package: give `CudaBuilder::new` the folder of the device crate", path.display())]
    NotAPackage {
        /// The manifest that was read.
        path: PathBuf,
    },
    /// An option has a value that is not allowed.
    #[error("option {name}: `{value}` is not allowed: give {allowed}")]
    Option {
        /// Name of the option.
        name: &'static str,
        /// The value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// Included PTX is damaged, or there is none to be packed.
    #[error("{}: {reason}: get the package again, or set {variable}=1 to compile the kernels", path.display(), variable = crate::BUILD_VARIABLE)]
    Ready {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The call is only valid in a build script.
    #[error("environment variable {variable} is not set: call `build_and_emit` from a build script, or use `build`")]
    NotABuildScript {
        /// The variable that cargo sets for build scripts.
        variable: &'static str,
    },
    /// No target folder is known.
    #[error("no folder to build in is known for {}: give one with `CudaBuilder::target_dir`", krate.display())]
    NoTargetDir {
        /// Folder of the device crate.
        krate: PathBuf,
    },
    /// A PTX text is not as the compiler writes it.
    #[error("PTX line {line}: {reason}: build the file again")]
    Ptx {
        /// Line, from 1.
        line: usize,
        /// Description of the error.
        reason: String,
    },
    /// `ptxas` was not found.
    #[error(
        "no ptxas ({searched}): run `cargo xtask ptx` once, which fetches it, or install the Python package \
         nvidia-cuda-nvcc or the CUDA toolkit, or let {variable} name it",
        variable = crate::PTXAS_VARIABLE
    )]
    NoPtxas {
        /// The paths that were searched.
        searched: String,
    },
    /// `ptxas` refused a PTX file.
    #[error("ptxas refuses {} for {arch}:\n{stderr}\ncorrect the device code, or use a newer ptxas if it does not know the PTX version", path.display())]
    Ptxas {
        /// The PTX file.
        path: PathBuf,
        /// Architecture.
        arch: String,
        /// What ptxas wrote.
        stderr: String,
    },
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// The error for a failed compilation, with the remedy that fits the compiler's words.
    pub(crate) fn compile(package: &str, arch: &str, compiler: String, stderr: &str) -> Self {
        let has = |text: &str| stderr.contains(text);
        let remedy = if has("can't find crate for `std`") || has("`std` is required") {
            "make the device crate and its dependencies `no_std` for the target: \
             `#![cfg_attr(target_arch = \"nvptx64\", no_std)]`"
        } else if has("`#[panic_handler]` function required") {
            "link the panic handler: depend on warpplay-gpu and write `extern crate warpplay_gpu` or use it"
        } else if has("download") || has("network") || has("--offline") {
            "fetch the dependencies once while the network is there: `cargo fetch` in the device crate"
        } else {
            "correct the errors above: the crate compiles for the host and, `no_std`, for nvptx64-nvidia-cuda"
        };
        Self::Compile {
            package: package.to_owned(),
            arch: arch.to_owned(),
            compiler,
            stderr: stderr.trim_end().to_owned(),
            remedy,
        }
    }
}
