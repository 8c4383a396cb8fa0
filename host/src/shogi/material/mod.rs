//! The source's learning: twelve values moved by the signs of differences of the objective, in the source's own layout and in faster ones.
//!
//! | form | what is held for a child | a pass over it gives | `cpu` | `simt`, `cuda` |
//! | --- | --- | --- | --- | --- |
//! | [`Form::Paper`], [`Form::Paper95`] | a position of 96 or 95 bytes | one sum: thirteen passes an iteration | yes | yes |
//! | [`Form::Persistent`] | a position of 96 bytes | all thirteen, all iterations in one launch | | yes |
//! | [`Form::Plain`] | a word | the same, thirteen exponentials a child | yes | yes |
//! | [`Form::Fused`] | a word | the same, one exponential a child | | yes |
//! | [`Form::Histogram`] | nothing: each distinct word once | the same over some thousand rows | yes | yes |
//!
//! With material alone a child differs from the played one only by what was captured and promoted. So the children fall into a few thousand classes of equal
//! differences, and the sum over millions of children is a weighted sum over these: [`Histogram`] needs no more than the classes' counts, and no position is ever
//! looked at again. The same numbers are added in all forms, as whole numbers of 2⁻³⁶:
//!
//! - [`Form::Plain`] and [`Form::Histogram`] have equal sums, on every back end;
//! - [`Form::Fused`] and [`Form::Persistent`] have equal sums, whose terms differ from the plain ones by roundings (below 10⁻¹⁵ before they are rounded to 2⁻³⁶);
//! - [`Form::Paper`] adds the values of a position's pieces in the order of its reduction, so that its terms too differ by roundings.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::shogi::material::{Form, Histogram, Material};
//! use warpplay::shogi::{Objective, Shard};
//! # let shard = Shard { differences: vec![0, 1, 0x100].into(), first_child: vec![0, 3].into(), sides: vec![0].into(), pieces: vec![[0; 40]].into(), ..Shard::default() };
//! // `shard` has one parent with three children: the played move, one that wins a pawn, one that wins a lance.
//! let mut material = Material::build(&Device::cpu(), Form::Histogram, &[&shard], Objective::default(), 1)?;
//! let rows = material.run([3.0; 12], 10)?;
//! assert_eq!(rows.len(), 11);
//! assert!(rows[10].j < rows[0].j);
//! // The played move did not win the lance, so it must be worth little.
//! assert!(rows[10].values[0] < 3.0);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! Source: 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」, 2009. Kernels: [`warpplay_gpu::shogi::paper`], [`warpplay_gpu::shogi::material`]. Twin:
//! `warpplay_cpu_ref::shogi::source`.

mod cpu;
mod device;
mod differences;
mod evaluation;
mod evaluator;
mod histogram;
#[allow(unsafe_code)]
mod kernels;
mod learn;
mod positions;

pub use differences::Differences;
pub use evaluation::Evaluation;
pub(in crate::shogi) use evaluation::{check_children, thirteen};
pub use evaluator::PositionEvaluator;
pub use histogram::Histogram;
pub use learn::Material;
pub use positions::Positions;

use crate::runtime::named::named;

named! {
    /// What is held of the children, and how it is summed ([module](self)).
    Form, "form":
        /// Positions of 96 bytes, a block of 96 threads each, as in the source.
        Paper = "paper",
        /// The same with 95 bytes a position, so that positions do not begin where the hardware's sectors do.
        Paper95 = "paper95",
        /// Positions of 96 bytes, all iterations in one launch.
        Persistent = "persistent",
        /// Differences of material, with thirteen exponentials a child.
        Plain = "plain",
        /// Differences of material, with one exponential a child.
        Fused = "fused",
        /// Distinct differences with their counts.
        Histogram = "histogram",
}

/// Half in a sum's unit: what a child without a difference adds to every sum.
const HALF: i128 = 1 << 35;
/// Values that are learnt.
pub(in crate::shogi) const LEARNT: usize = 12;
/// Sums of an evaluation.
const SUMS: usize = LEARNT + 1;
