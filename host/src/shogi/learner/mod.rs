//! Learning of an evaluation from games, with any set of features.
//!
//! [`Learner::builder`] takes positions to learn from; its setters [`Options`], held-out positions, and the ranks that learn together; [`LearnerBuilder::build`] a device.
//! [`Learner::run`] learns and gives a [`LearnReport`]. A [`Checkpoint`] goes on later with the same bits. [`Weights`] are what is learnt, [`table`] and
//! [`rust_constant`] write the values of the pieces for people and for programs.
//!
//! Sums over positions are of whole numbers and each step of a weight is plain arithmetic, so what is learnt has the same bits on every back end, with any number of
//! ranks and threads, and however the positions are divided into shards.

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
