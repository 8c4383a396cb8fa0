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
//! * **The kernels add no bias to a convolution**, although OpenSpiel's convolutions have one. On the reference network logits move by up to 1.98 without it, and
//!   over whole games the best action is another one in up to 16 % of the positions ([`games`]).
//! * **Their tests could not see it**: all weights there are 0.01. With equal weights every mistake in an index gives the right number ([`mistakes`]).
//! * **The model is slow where its kernels are fast**: it is 60 launches, each of which reads what the one before wrote, and a torso convolution makes a million
//!   atomic additions a position. A torso kernel takes 50.7 µs on an H200, the model 586 µs; `warpplay` takes 55.8 µs for the model in f32 ([`table`]).
//! * **The torso's arrays are worth their trouble, the input's padding is not**: without a bank a channel each read of a board takes 32 turns; the padded
//!   observation has conflicts that the plain one has not. Sums in shared memory take 32 turns an addition.
//!
//! `docs/azero-paper.md` has the measurements.
//!
//! | to find out | read |
//! | --- | --- |
//! | what the kernels do | [`kernels`] |
//! | how one kernel is launched | [`Kernels`] |
//! | which forms there are | [`Options`] |
//! | how the network is run by them | [`Model`] |
//! | what a kernel, a layer, a block and the network cost | [`measure`] |
//! | the tables that `warpplay papers checkers_conv` prints | [`Study`], with [`table`], [`errors`], [`mistakes`], [`games`], [`cache`] |

#[cfg(not(target_arch = "nvptx64"))]
mod arrays;
#[cfg(not(target_arch = "nvptx64"))]
pub mod cache;
#[cfg(not(target_arch = "nvptx64"))]
pub mod errors;
#[cfg(not(target_arch = "nvptx64"))]
pub mod games;
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
mod reference;
#[cfg(not(target_arch = "nvptx64"))]
mod study;
#[cfg(not(target_arch = "nvptx64"))]
pub mod table;

#[cfg(not(target_arch = "nvptx64"))]
pub use arrays::{Affine, NormArrays};
#[cfg(not(target_arch = "nvptx64"))]
pub use launches::Kernels;
#[cfg(not(target_arch = "nvptx64"))]
pub use model::Model;
#[cfg(not(target_arch = "nvptx64"))]
pub use options::{InputForm, Options, TorsoSums};
#[cfg(not(target_arch = "nvptx64"))]
pub use study::Study;

/// What the paper says of its own kernels against the library's: speed-up of the input kernel alone, and of the whole model.
#[cfg(not(target_arch = "nvptx64"))]
pub const PUBLISHED_SPEEDUPS: [(&str, f64); 2] = [("input kernel", 4.97), ("whole model", 0.549)];
