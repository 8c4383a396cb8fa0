//! The three programs of the dissertation that this family started from, and ours of the same iteration.
//!
//! Reis, "A GPU implementation of Counterfactual Regret Minimization", 2015: one deal of the cards an iteration, all seats updated in one pass from the same
//! strategies. [`Program`] names the programs, [`Run`] runs one, [`Options`] sets threads, blocks and each of the devices that the source claims a gain for.
//!
//! | program | where | how |
//! | --- | --- | --- |
//! | `recursive` | CPU, one thread | depth first |
//! | `iterative` | CPU, `threads` threads | level by level |
//! | `levels` | GPU | level by level, two launches a level, a deal from the host an iteration |
//! | `graph` | GPU | ours: the same launches recorded once, deals uploaded a thousand at a time, tables by bucket, so that a deal's sets lie side by side |
//!
//! Tables are `[sequence][bucket][fold, call, raise]`; a sequence is a node of the betting tree where somebody acts, numbered level by level; a bucket is the
//! unordered set of a player's hole cards and the board.

pub mod kernels;

#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
#[cfg(not(target_arch = "nvptx64"))]
mod device;
#[cfg(not(target_arch = "nvptx64"))]
#[allow(unsafe_code)]
mod launch;
#[cfg(not(target_arch = "nvptx64"))]
mod options;
#[cfg(not(target_arch = "nvptx64"))]
pub mod report;
#[cfg(not(target_arch = "nvptx64"))]
mod run;

#[cfg(not(target_arch = "nvptx64"))]
pub use options::{Options, Program};
#[cfg(not(target_arch = "nvptx64"))]
pub use run::{Profile, Run};

/// The published kernels as PTX, from this crate's build script.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: warpplay_gpu::ptx::PtxSet = include!(concat!(env!("OUT_DIR"), "/cfr_thesis.rs"));
