//! Compiles a device crate to PTX, from a build script or from any other program.
//!
//! A **device crate** is an ordinary `no_std` library whose kernels carry `#[kernel]`. rustc has a back end for
//! NVIDIA GPUs of its own (target `nvptx64-nvidia-cuda`); this crate runs it through a nested cargo with the flags
//! that device code needs, and hands out one PTX file for each architecture.
//!
//! In a build script:
//!
//! ```no_run
//! fn main() -> Result<(), warpplay_gpu_builder::Error> {
//!     warpplay_gpu_builder::CudaBuilder::new("../gpu")
//!         .module("mcts_connect4")
//!         .default_features(false)
//!         .features(["mcts-connect4"])
//!         .arch("sm_75")
//!         .build_and_emit()?;
//!     Ok(())
//! }
//! ```
//!
//! and in the crate that launches the kernels:
//!
//! ```ignore
//! static PTX: warpplay_gpu::ptx::PtxSet = include!(concat!(env!("OUT_DIR"), "/mcts_connect4.rs"));
//! ```
//!
//! # The device compiler
//! Device code needs a rustc that has the source of its own standard library, since `core` is compiled for the GPU:
//! with rustup the component `rust-src`, on Debian the packages `rustc-web` and `rust-web-src`. [`find_compiler`]
//! looks in `WARPPLAY_DEVICE_RUSTC`, then at the active toolchain, then at `/usr/bin/rustc`. Where there is none,
//! [`CudaBuilder::build_and_emit`] embeds an empty set that says so, and the program runs without kernels;
//! with `WARPPLAY_REQUIRE_PTX=1` it is an error instead.
//!
//! # Ready PTX
//! A package may bring its PTX along, in a folder `ptx` that [`pack`] fills: a build of the sources that it was made from takes it and needs no device compiler. Other sources are compiled,
//! and with `WARPPLAY_BUILD_PTX=1` all are.
//!
//! # What is built again
//! The nested cargo decides, so nothing is compiled that did not change. `core` and the dependencies are compiled
//! once for each architecture and shared by all modules of one target folder.
//!
//! # What is rewritten
//! Launch bounds that `#[kernel]` left in comments become directives; and sums that some versions of `ptxas` take from a register that has moved on
//! are made opaque to it: see [`stale_sums`].
//!
//! # Without a GPU
//! Nothing here needs a GPU or a driver. [`parse_entries`] lists a PTX text's kernels with their parameters, and
//! [`assemble`] has NVIDIA's `ptxas` report registers, shared memory and spills.

mod arch;
mod builder;
mod compiler;
mod emit;
mod error;
mod files;
mod nested;
mod ptx;
mod ptxas;
mod ready;
mod sums;

pub use builder::{Built, BuiltImage, CudaBuilder};
pub use compiler::{DeviceCompiler, find_compiler};
pub use error::Error;
pub use ptx::{PtxEntry, parse_entries};
pub use ptxas::{KernelResources, assemble, find_ptxas};
pub use ready::pack;
pub use sums::{StaleSum, stale_sums, with_opaque_sums};

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Environment variable that names the rustc for device code.
pub const COMPILER_VARIABLE: &str = "WARPPLAY_DEVICE_RUSTC";
/// Environment variable that, set to `1`, makes a missing device compiler an error.
pub const REQUIRE_VARIABLE: &str = "WARPPLAY_REQUIRE_PTX";
/// Environment variable that, set to `1`, compiles kernels even if their package includes the PTX.
pub const BUILD_VARIABLE: &str = "WARPPLAY_BUILD_PTX";
/// Environment variable that names `ptxas`.
pub const PTXAS_VARIABLE: &str = "WARPPLAY_PTXAS";
/// Default architecture: every GPU from 2018 on loads its PTX.
pub const BASELINE_ARCH: &str = "sm_75";

/// Whether `WARPPLAY_REQUIRE_PTX=1` is set, which makes a missing compiler an error.
pub fn ptx_required() -> bool {
    std::env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1")
}
