//! Reis, "A GPU implementation of Counterfactual Regret Minimization", 2015: its three programs, and ours of the same iteration.
//!
//! One deal of the cards an iteration, all seats updated in one pass from the same strategies. [`Program`] names the programs, [`Run`] runs one, [`Options`]
//! sets threads, blocks and each of the techniques that the paper claims a gain for; [`report`] measures its tables and figures anew.
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
//!
//! # What was found
//!
//! One H200 and 16 threads of its CPU, single precision, blocks of 64 threads, a deal:
//!
//! | game | sequences | recursive | iterative | `levels` | `graph` | 32 deals at once ([`walk`](warpplay::cfr::engines::walk)) | the paper's GPU |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | A | 4 | 0.3 µs | 1.2 µs | 23.1 µs | 19.9 µs | 0.5 µs | |
//! | B | 4 | 21.8 µs | 25.1 µs | 25.3 µs | 21.1 µs | 0.8 µs | |
//! | C | 21,285 | 77.1 ms | 51.2 ms | 0.303 ms | 0.273 ms | 10.1 µs | 34 ms |
//! | D | 616,592 | 93.0 ms | 31.4 ms | 0.690 ms | 0.620 ms | 39 µs | 223 ms |
//!
//! - Without flattening (a thread for each sequence of a level) C takes 380 times as long; without renumbering 14 % longer, without constant memory 7 %; staging in
//!   shared memory gains nothing on this card.
//! - The CPU is faster on A, where there is nothing to share out.
//! - What gains most is not in the paper: many deals at once. The product's engine `walk` does 32 in the time of four.
//! - The paper's buckets forget which card is whose, so its solve is of an abstraction: game C has three times as many information sets. It counts 30 levels of
//!   D and 3 and 21 of A and C; the first is with the last level, where every line has ended, the others are without it.
//! - It knows no side pots and one betting round. Games that have them are refused.

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
mod plan;
#[cfg(not(target_arch = "nvptx64"))]
pub mod report;
#[cfg(not(target_arch = "nvptx64"))]
mod run;

#[cfg(not(target_arch = "nvptx64"))]
pub use options::{Options, Program};
#[cfg(not(target_arch = "nvptx64"))]
pub use plan::Profile;
#[cfg(not(target_arch = "nvptx64"))]
pub use run::Run;
