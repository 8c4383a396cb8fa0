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

mod cpu;
mod deals;
mod device;
#[allow(unsafe_code)]
mod kernels;
mod options;
pub mod report;
mod run;
mod sequences;

pub use kernels::Memory;
pub use options::{Options, Program};
pub use run::{Checksums, Profile, Run, Set};

pub(in crate::cfr) use cpu::rules;
pub(in crate::cfr) use deals::{Bucketing, Dealer, Unordered};
pub(in crate::cfr) use sequences::{ACTIONS, Child, Sequences};
