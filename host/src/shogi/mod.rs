//! Evaluation of shogi positions learnt from game records, by Bonanza's method.
//!
//! A *parent* is a position of a game. Its *children* are the positions after the move that was played and after every legal move. An evaluation is good where the
//! played move's child is worth more to the player than its siblings: learning lowers the mean of T(σ (f(child) − f(played child))) over all children, with
//! T(x) = 1 / (1 + exp(−a x)) and σ = 1 where Black moves, −1 where White does. All sums are of whole numbers, so that back end, threads, ranks and shards change no bit.
//!
//! ```text
//! files ─ records ─► games ─ dataset ─► shards (in memory, or mapped from disk) ─┬─ material ─► twelve values, the paper's way
//!                             board          └─ quiescence ─► shards of leaves ──┴─ learner ──► weights of any set of features
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`records`] | games from CSA, KIF, KI2 and lists of USI moves |
//! | [`board`] | the rules, as a trait; lists of pieces |
//! | [`dataset`] | parents and children in shards, built, kept on disk, divided into games to learn from and held out |
//! | [`material`] | twelve values by the paper's objective and update: [`Material`](material::Material), [`Engine`](material::Engine), [`Options`](material::Options) |
//! | [`learner`] | any set of features by any optimiser: [`Learner`](learner::Learner), [`Options`](learner::Options), [`Checkpoint`](learner::Checkpoint); [`Sparse`] for those who go step by step |
//! | [`quiescence`] | leaves of quiet lines instead of the children |
//! | [`ranks`] | several threads, GPUs or machines that learn together |
//! | `dispatch`, `engines` | which implementation runs, and all of them |
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::shogi::{Window, dataset::Dataset, learner::Learner, records::Records};
//!
//! let records = Records::from_bytes("game.usi".as_ref(), b"7g7f 3c3d 8h2b+ 3a2b");
//! let set = Dataset::builder().plies(Window { start: 0, end: 4, step: 1 }).build(&records)?;
//! let mut learner = Learner::builder(&set).iterations(5).build(&Device::cpu())?;
//! let report = learner.run(|_| ControlFlow::Continue(()))?;
//! assert!(report.rows[5].train.j < report.rows[0].train.j);
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! Kernels: [`warpplay_gpu::shogi`]. Twin: `warpplay_cpu_ref::shogi`. Commands: `warpplay shogi`; bench: `shogi`. The paper's own kernels, tables and figures: the crate
//! `warpplay-papers`, `warpplay papers shogi_bonanza`.
//!
//! Source: 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」, 2009; the method: Hoki, 「局面評価の学習を目指した探索結果の最適制御」, 2006.

pub mod board;
mod bound;
mod column;
pub mod dataset;
mod dispatch;
mod engines;
mod evaluation;
mod evaluator;
mod features;
mod histogram;
pub mod learner;
mod loss;
pub mod material;
mod objective;
mod options;
mod positions;
pub mod quiescence;
pub mod ranks;
pub mod records;
mod report;
mod selection;
mod shard;
mod share;
mod sound;
mod sparse;
mod update;

pub use column::{Cell, Column};
pub use evaluation::{check_features, raised};
pub use evaluator::Evaluator;
pub use features::FeatureSet;
pub use loss::{Loss, Totals};
pub use objective::{FIRST_VALUES, LARGEST, Objective, Row, SMALLEST_DELTA, Values, Window, check_values};
pub use options::SparseOptions;
pub use report::{SCHEMA, StoppedBy};
pub use selection::Selection;
pub use shard::{Shard, Shards};
pub use sparse::{Sparse, SparseBuilder};
pub use update::{Optimizer, Update};
