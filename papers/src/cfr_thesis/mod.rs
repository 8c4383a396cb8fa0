//! Reis, "A GPU implementation of Counterfactual Regret Minimization", 2015: its three programs, and ours of the same iteration.
//!
//! One deal of the cards an iteration, all seats updated in one pass from the same strategies. [`Program`] names the programs, [`Run`] runs one, [`Options`]
//! sets threads, blocks and each of the memory optimisations of section 4.3.2; [`Thesis`] measures the tables, figures and claims anew, beside
//! [what is printed](published) and [what others measured](peers).
//!
//! | program | where | how |
//! | --- | --- | --- |
//! | `recursive` | CPU, one thread | depth first |
//! | `iterative` | CPU, `threads` threads | level by level |
//! | `levels` | GPU | level by level, two launches a level, a deal from the host an iteration |
//! | `graph` | GPU | ours: the same launches recorded once, deals uploaded a thousand at a time, tables by bucket, so that a deal's sets lie side by side |
//!
//! Results call them by [`Program::label`].
//!
//! Tables are `[sequence][bucket][fold, call, raise]`; a sequence is a node of the betting tree where somebody acts, numbered level by level; a bucket is the
//! unordered set of a player's hole cards and the board. What was measured and what was found wrong stands in `docs/papers/cfr_thesis.md`.
//!
//! The paper knows no side pots and one betting round. Games that have them are refused.

pub mod kernels;

#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
#[cfg(not(target_arch = "nvptx64"))]
mod device;
#[cfg(not(target_arch = "nvptx64"))]
pub mod examples;
#[cfg(not(target_arch = "nvptx64"))]
mod items;
#[cfg(not(target_arch = "nvptx64"))]
#[allow(unsafe_code)]
mod launch;
#[cfg(not(target_arch = "nvptx64"))]
mod options;
#[cfg(not(target_arch = "nvptx64"))]
pub mod peers;
#[cfg(not(target_arch = "nvptx64"))]
mod plain_cpp;
#[cfg(not(target_arch = "nvptx64"))]
mod plan;
#[cfg(not(target_arch = "nvptx64"))]
pub mod published;
#[cfg(not(target_arch = "nvptx64"))]
mod run;
#[cfg(not(target_arch = "nvptx64"))]
pub mod statistics;
#[cfg(not(target_arch = "nvptx64"))]
pub mod sweep;

#[cfg(not(target_arch = "nvptx64"))]
pub use items::{Settings, Thesis, items_of};
#[cfg(not(target_arch = "nvptx64"))]
pub use options::{BLOCK_SIZES, Lists, Options, Program, Rows, block_sizes};
#[cfg(not(target_arch = "nvptx64"))]
pub use plan::Profile;
#[cfg(not(target_arch = "nvptx64"))]
pub use run::Run;
