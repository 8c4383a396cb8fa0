//! 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」, 2009, repeated.
//!
//! The paper learns twelve values of shogi pieces by Bonanza's method, from 6.3 million children: the objective at the values and at each value raised by Δ,
//! then a step of all values against the signs of the differences, 50 times. It divides the work over processes by MPI, and in a second program gives it to a GeForce
//! GTX 260: a block of 96 threads for each position of 96 bytes, then a kernel that compares each child with the played one. [`kernels`] are its kernels, [`Program`] launches
//! them, [`reproduce`] is its learning on any number of ranks, [`experiments`] are its tables and figures beside ours.
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
//! | all that it printed, with its location | [`published`] |
//! | its tables, figures, progress lines and claims beside ours | [`experiments`], `warpplay papers shogi_bonanza` |
//! | what was found wrong in it, and what could not be repeated | `docs/papers/shogi_bonanza.md` |

pub mod kernels;

#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
mod engine;
#[cfg(all(feature = "shogi_bonanza", not(target_arch = "nvptx64")))]
pub mod experiments;
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
pub use self::{
    engine::PaperEngine,
    job::{Job, Options, learn},
    part::part,
    program::{Program, Stages},
    reproduce::{Reproducible, Split, ideal_speed_up, reproduce, share_of_features},
    single::PositionEvaluator,
};
