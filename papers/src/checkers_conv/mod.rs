//! Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference": CUDA kernels for the three convolutions of OpenSpiel's network for checkers.
//!
//! ```text
//! input conv ─ norm ─ ReLU ─┬─ torso conv ─ norm ─ ReLU ─ torso conv ─ norm ─ add ─ ReLU ─┬─ … ─┬─ output conv ─ norm ─ ReLU ─ linear ─ ReLU ─ linear ─ tanh
//!                           └──────────────────────────────────────────────┘                     └─ output conv ─ norm ─ ReLU ─ linear ─ softmax
//! ```
//!
//! The paper says that its input kernel alone is 4.97 times as fast as the library's, that the whole model runs at 0.549 times the library's speed, and that the
//! player that uses it ends with an error after some moves.
//!
//! # What was found
//! * **The kernels add no bias to a convolution**, although OpenSpiel's convolutions have one ([`games`], [`errors`]).
//! * **Their tests could not see it**: all weights there are 0.01. With equal weights every mistake in an index gives the right number ([`mistakes`]).
//! * **All 14 speed-ups of Table I are means of ratios of runs in the repository** ([`published`]); medians of the same runs give other numbers.
//! * **The input's padding makes conflicts that the plain array has not, and the repository's kernels have conflicts of their own** ([`banks`]).
//! * **No error accumulates from evaluation to evaluation** ([`games`]), and no batch norm of this network doubles an error ([`growth`]).
//!
//! `docs/papers/checkers_conv.md` has the measurements, and `claims` lists everything that is wrong in the paper with its evidence.
//!
//! | to find out | read |
//! | --- | --- |
//! | what the kernels do | [`kernels`] |
//! | how one kernel is launched | [`Kernels`] |
//! | which forms there are | [`Options`] |
//! | how the network is run by them | [`Model`] |
//! | what a kernel, a layer, a block and the network cost | [`measure`] |
//! | what was published | [`published`] |
//! | what a measurement is made of | [`Study`], with [`table`], [`banks`], [`errors`], [`growth`], [`mistakes`], [`batch`], [`games`], [`fused`], [`cache`] |
//! | the items that `warpplay papers checkers_conv` measures | [`CheckersConv`] |

#[cfg(not(target_arch = "nvptx64"))]
mod arrays;
#[cfg(not(target_arch = "nvptx64"))]
pub mod banks;
#[cfg(not(target_arch = "nvptx64"))]
mod baseline;
#[cfg(not(target_arch = "nvptx64"))]
pub mod batch;
#[cfg(not(target_arch = "nvptx64"))]
pub mod cache;
#[cfg(not(target_arch = "nvptx64"))]
mod claims;
#[cfg(not(target_arch = "nvptx64"))]
mod convolutions;
#[cfg(not(target_arch = "nvptx64"))]
pub mod errors;
#[cfg(not(target_arch = "nvptx64"))]
pub mod forms;
#[cfg(not(target_arch = "nvptx64"))]
pub mod fused;
#[cfg(not(target_arch = "nvptx64"))]
pub mod games;
#[cfg(not(target_arch = "nvptx64"))]
pub mod growth;
pub mod kernels;
#[cfg(not(target_arch = "nvptx64"))]
mod launches;
#[cfg(not(target_arch = "nvptx64"))]
pub mod measure;
#[cfg(not(target_arch = "nvptx64"))]
pub mod mistakes;
#[cfg(not(target_arch = "nvptx64"))]
mod model;
#[cfg(not(target_arch = "nvptx64"))]
mod options;
#[cfg(not(target_arch = "nvptx64"))]
mod paper;
#[cfg(not(target_arch = "nvptx64"))]
mod parts;
#[cfg(not(target_arch = "nvptx64"))]
mod plan;
#[cfg(not(target_arch = "nvptx64"))]
pub mod published;
#[cfg(not(target_arch = "nvptx64"))]
mod reference;
#[cfg(not(target_arch = "nvptx64"))]
mod sheets;
#[cfg(not(target_arch = "nvptx64"))]
mod study;
#[cfg(not(target_arch = "nvptx64"))]
pub mod table;

#[cfg(not(target_arch = "nvptx64"))]
pub use arrays::{Affine, NormArrays};
#[cfg(not(target_arch = "nvptx64"))]
pub use baseline::{Baseline, Measured};
#[cfg(not(target_arch = "nvptx64"))]
pub use claims::{Claim, claims};
#[cfg(not(target_arch = "nvptx64"))]
pub use launches::Kernels;
#[cfg(not(target_arch = "nvptx64"))]
pub use model::Model;
#[cfg(not(target_arch = "nvptx64"))]
pub use options::{InputForm, Options, OutputForm, Program, Sums, TorsoForm, Weights};
#[cfg(not(target_arch = "nvptx64"))]
pub use paper::CheckersConv;
#[cfg(not(target_arch = "nvptx64"))]
pub use plan::Plan;
#[cfg(not(target_arch = "nvptx64"))]
pub use reference::Reference;
#[cfg(not(target_arch = "nvptx64"))]
pub use study::Study;
