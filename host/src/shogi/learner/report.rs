//! What was learnt, as plain data.

use serde::{Deserialize, Serialize};

use super::Options;
use crate::runtime::named::named;
use crate::shogi::{Totals, Values};

/// Version of the reports' fields.
pub const SCHEMA: u32 = 1;

/// How well weights agree with the games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// The objective: mean of `T` over the children that count.
    pub j: f64,
    /// Share of positions where the played move ranks first, ties broken at random.
    pub agreement: f64,
    /// Share of positions where it is among the first three.
    pub agreement_of_three: f64,
    /// Children that count.
    pub children: u64,
    /// Positions.
    pub parents: u64,
}

impl From<&Totals> for Measures {
    fn from(totals: &Totals) -> Self {
        Self {
            j: totals.j(),
            agreement: totals.agreement(),
            agreement_of_three: totals.agreement_of_three(),
            children: totals.children,
            parents: totals.parents,
        }
    }
}

/// The state before a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnRow {
    /// Steps done before it.
    pub iteration: u32,
    /// On the games that are learnt from.
    #[serde(flatten)]
    pub train: Measures,
    /// On held-out games, where there are.
    pub held_out: Option<Measures>,
    /// L N S G B R +P +L +N +S +B +R; the pawn's value is 1.
    pub values: Values,
    /// In hand, P L N S G B R; where the features tell them from those on the board.
    pub hand: Option<[f64; 7]>,
    /// Positions of both kinds that are not among them, since a quiet leaf's material does not fit into a word.
    pub left_out: u64,
    /// Rate of the next step.
    pub rate: f64,
    /// Seconds by the wall clock in [`Learner::run`](super::Learner::run) up to this row, those before a checkpoint included.
    pub seconds: f64,
}

named! {
    /// Why learning ended.
    StoppedBy, "stopped_by":
        /// All iterations are done.
        Iterations = "iterations",
        /// The objective on held-out games no longer fell.
        EarlyStopping = "early_stopping",
        /// The caller asked for it.
        Request = "request",
        /// No step along the gradient lowers the objective (L-BFGS).
        Converged = "converged",
}

/// A whole course of learning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LearnReport {
    /// Version of these fields, [`SCHEMA`].
    pub schema: u32,
    /// Version of the library.
    pub version: &'static str,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// Ranks that learnt together.
    pub ranks: usize,
    /// Weights, the pawn's among them.
    pub n_weights: usize,
    /// Of the positions that are learnt from and of those held out, the same however they are divided.
    pub data_fingerprint: String,
    /// Why it ended.
    pub stopped_by: StoppedBy,
    /// The iteration with the lowest objective on held-out games.
    pub best_iteration: Option<u32>,
    /// One row an iteration, the first before any step; those before a checkpoint included.
    pub rows: Vec<LearnRow>,
    /// The options.
    pub options: Options,
}
