//! Twelve values of pieces, fitted to game records by the paper's objective and update, with engines that are faster than its own.
//!
//! How many pawns is a rook worth? [`Material`] finds the values with which the moves that were played compare best with the others, the pawn's being 1. After each iteration
//! a value moves by the sign of a difference of the objective.
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::shogi::material::Material;
//! use warpplay::shogi::Shard;
//! # let shard = Shard { differences: vec![0, 1, 0x100].into(), first_child: vec![0, 3].into(), sides: vec![0].into(), pieces: vec![[0; 40]].into(), ..Shard::default() };
//! // `shard` has one parent with three children: the played move, one that wins a pawn, one that wins a lance.
//! let mut material = Material::builder(&shard).iterations(10).build(&Device::cpu())?;
//! let report = material.run(|_| ControlFlow::Continue(()))?;
//! let rows = &report.rows;
//! assert_eq!(rows.len(), 11);
//! assert!(rows[10].j < rows[0].j);
//! // The played move did not win the lance, so it must be worth little.
//! assert!(rows[10].values[0] < 3.0);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Material`], [`MaterialBuilder`] | a fit of the values |
//! | [`Options`], [`Engine`] | objective, first values, iterations; what sums |
//! | [`FitReport`] | the values and the objective after each iteration |
//! | [`Histogram`], [`Differences`], [`Positions`] | what the engines hold of a shard |
//! | [`Evaluation`] | thirteen sums of one iteration, and the step that follows |
//!
//! # Engines
//!
//! | engine | what is held for a child | a pass over it gives | `cpu` | `simt`, `cuda` |
//! | --- | --- | --- | --- | --- |
//! | [`Engine::Histogram`] | nothing: each distinct word once | all thirteen sums over some thousand rows | yes | yes |
//! | [`Engine::Fused`] | a word | all thirteen, one exponential a child | | yes |
//! | [`Engine::Plain`] | a word | all thirteen, thirteen exponentials a child | yes | yes |
//! | [`Engine::Persistent`] | a position of 96 bytes | all thirteen, one exponential a child | | yes |
//!
//! [`Engine::Auto`] is the histogram. Where kernels run, all iterations are one launch. The paper's own kernels are in the crate `warpplay-papers`.
//!
//! Only captures and promotions change material, so millions of children reduce to a few thousand distinct differences, and the sum over the children is a weighted sum over
//! these: [`Histogram`] needs the counts alone, and no position is looked at again. The same numbers are added in all forms, as whole numbers of 2⁻³⁶:
//!
//! - [`Engine::Plain`] and [`Engine::Histogram`] have equal sums, on every back end;
//! - [`Engine::Fused`] and [`Engine::Persistent`] have equal sums, whose terms differ from the plain ones by roundings (below 10⁻¹⁵ before they are rounded to 2⁻³⁶).
//!
//! # Data layout
//!
//! ```text
//! difference   u64, a child's word: how much more of each kind the side that moved has than after the played move
//!              bits 0..8 pawns, then four bits each L N S G B R +P +L +N +S +B +R, all in two's complement; bits 56..64 are 0
//! position     96 bytes, as in warpplay_gpu::shogi::layout
//! values       [12] f64, L N S G B R +P +L +N +S +B +R, in pawns
//! ```
//!
//! Source: 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」, 2009. Kernels: [`warpplay_gpu::shogi::material`], [`warpplay_gpu::shogi::persistent`]. Twin:
//! `warpplay_cpu_ref::shogi::material`.

mod builder;
mod fit;
pub(in crate::shogi) mod options;
mod report;

pub use builder::MaterialBuilder;
pub use fit::Material;
pub use options::{Engine, Options};
pub use report::FitReport;

pub use super::engines::histogram::Differences;
pub use super::evaluation::Evaluation;
pub use super::histogram::Histogram;
pub use super::positions::Positions;
