//! Learning of an evaluation from games, with any set of features.
//!
//! [`Learner::builder`] takes positions to learn from; its setters [`Options`], held-out positions, and the ranks that learn together; [`LearnerBuilder::build`] a device.
//! [`Learner::run`] learns and gives a [`LearnReport`]. A [`Checkpoint`] goes on later with the same bits. [`Weights`] are what is learnt, [`table`] and
//! [`rust_constant`] write the values of the pieces for people and for programs.
//!
//! ```
//! use std::ops::ControlFlow;
//! use warpplay::Device;
//! use warpplay::shogi::board::Board;
//! use warpplay::shogi::{Evaluator, FeatureSet, Window, dataset::Dataset, learner::Learner, records::Records};
//!
//! let records = Records::from_bytes("game.usi".as_ref(), b"7g7f 3c3d 8h2b+ 3a2b");
//! let set = Dataset::builder().plies(Window { start: 0, end: 4, step: 1 }).build(&records)?;
//! let builder = Learner::builder(&set).features(FeatureSet::PieceSquare).learning_rate(0.05).iterations(10);
//! let mut learner = builder.build(&Device::cpu())?;
//! let report = learner.run(|_| ControlFlow::Continue(()))?;
//! assert!(report.rows[10].train.j < report.rows[0].train.j); // the played moves rank higher than at first
//!
//! // The weights evaluate positions.
//! let evaluator = Evaluator::from(learner.weights()?);
//! let advance = evaluator.evaluate_position(&Board::from_usi("startpos moves 7g7f")?)?;
//! assert!(advance > evaluator.evaluate_position(&Board::start())?); // Black played it
//! # Ok::<(), warpplay::Error>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Learner`], [`LearnerBuilder`] | a course of learning |
//! | [`Options`], [`Engine`], [`EarlyStopping`], [`Quiet`] | features, optimiser, loss, limits |
//! | [`LearnReport`], [`LearnRow`], [`Measures`], [`Whole`] | what came of it, step by step |
//! | [`Weights`] | what is learnt, in a file or for an [`Evaluator`](super::Evaluator) |
//! | [`Checkpoint`], [`State`] | the whole state in a file |
//! | [`Exchange`], [`Sharing`] | what ranks handed to each other |
//! | [`epoch_order`], [`siblings_seed`] | what mini-batches draw |
//!
//! Sums over positions are of whole numbers and each step of a weight is plain arithmetic, so what is learnt has the same bits on every back end, with any number of
//! ranks and threads, and however the positions are divided into shards.
//!
//! # Data layout
//!
//! ```text
//! weights   [features.len()] f32 in pawns, multiples of 2⁻³⁰; weight 0 is the pawn on the board, always 1
//!           13 values P L N S G B R +P +L +N +S +B +R first (FeatureSet::MaterialHand: then 7 in hand), then the set's own features
//! gradient  [features.len()] i64, multiples of 2⁻³⁶, not divided by the number of children
//! ```

mod batch;
mod builder;
mod checkpoint;
mod course;
mod exchange;
mod export;
mod lbfgs;
mod leaves;
pub(in crate::shogi) mod options;
mod report;
mod run;
mod weights;

pub use batch::{epoch_order, siblings_seed};
pub use builder::LearnerBuilder;
pub use checkpoint::{Checkpoint, State};
pub use exchange::{Exchange, Sharing};
pub use export::{rust_constant, table};
pub use options::{EarlyStopping, Engine, Options, Quiet};
pub use report::{LearnReport, LearnRow, Measures, Whole};
pub use run::Learner;
pub use weights::Weights;
