//! 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」, 2009, repeated.
//!
//! The paper learns twelve values of shogi pieces by Bonanza's method, from the moves of 6.3 million children: the objective at the values and at each value raised by Δ,
//! then a step of all values against the signs of the differences, 50 times. It divides the work over processes by MPI, and in a second program gives it to a GeForce
//! GTX 260: a block of 96 threads for each position of 96 bytes, then a kernel that compares each child with the played one. [`kernels`] are its kernels, [`Program`] launches
//! them, [`reproduce`] is its learning on any number of ranks, [`tables`] measures its tables beside ours.
//!
//! ```text
//! positions ─ shogi_paper_evaluate ─► a value each ─ shogi_paper_sum ─► Σ T of each block ─ host ─► Σ T      13 times an iteration
//! ```
//!
//! | to find out | read |
//! | --- | --- |
//! | what its kernels do | [`kernels`] |
//! | how they are launched | [`Program`], [`PositionEvaluator`] |
//! | how its learning is divided over ranks | [`reproduce`], [`Split`], [`part`] |
//! | the same learning by the paper's engines and by the engines of `warpplay` | [`Job`], [`PaperEngine`] |
//! | its Tables 2, 6 and 7, its figures | [`tables`], [`published`], `warpplay papers shogi_bonanza --tables --plots DIR` |
//!
//! # What was found
//!
//! - **The reductions leave out barriers**: in the last steps, since only threads of one warp are left, and inside a branch. Since Volta the threads of a warp do not run in
//!   step; run thread by thread, each is found to be wrong (a race in shared memory, a barrier that some never reach). Ours have them all.
//! - **The all-gather of the MPI program writes past its array** where the ranks do not divide twelve. Here shares may be uneven, or empty.
//! - **Pad or no pad makes no difference.** The paper takes 96 bytes a position for the sake of aligned reading; 95 bytes take the same time (3,720 and 3,727 ms on an H200).
//!   Memory idles: the time goes to the instructions of the reduction, seven barriers for 96 additions.
//! - **The ideal speed-up is (L + 1) / (⌈L / P⌉ + 1)**: no value can be divided, so that five processes gain what four do.
//! - **The positions are not needed.** With material alone 5.4 million children have 1,619 distinct differences; a sum over these takes 0.21 ms for the whole job
//!   (`warpplay::shogi::material`), the paper's kernels 3.7 s.
//! - **Promoted pawns come out too high**, as the paper suspects, because a promotion that is taken back at once counts: with quiet positions behind every child
//!   (`warpplay::shogi::quiescence`) they do not.

pub mod kernels;

#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
mod engine;
#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
mod job;
#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
mod launch;
#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
mod part;
#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
mod program;
#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
pub mod published;
#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
mod reproduce;
#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
mod single;
#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
pub mod tables;

#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
pub use self::{
    engine::PaperEngine,
    job::{Job, Options, learn},
    part::part,
    program::Program,
    reproduce::{Reproducible, Split, ideal_speed_up, reproduce, share_of_features},
    single::PositionEvaluator,
};
