//! What was learnt, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::exchange::Exchange;
use super::options::{Engine, Options};
use crate::shogi::loss::Totals;
use crate::shogi::objective::Values;
use crate::shogi::report::StoppedBy;

/// How well weights agree with the games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// The objective: mean of `T` over the children that count.
    pub j: f64,
    /// Share of positions in which the played move ranks first, ties broken at random.
    pub agreement: f64,
    /// Share of positions in which it is among the first three.
    pub agreement_of_three: f64,
    /// Children that count.
    pub children: u64,
    /// Positions.
    pub parents: u64,
}

impl Measures {
    /// `None` if no child counts, as for held-out games whose quiet leaves were all omitted.
    pub(super) fn of(totals: &Totals) -> Option<Self> {
        (totals.children > 0).then(|| totals.into())
    }
}

impl From<&Totals> for Measures {
    /// All 0 if no child counts, as for a mini-batch whose quiet leaves were all omitted.
    fn from(totals: &Totals) -> Self {
        if totals.children == 0 {
            return Self { j: 0.0, agreement: 0.0, agreement_of_three: 0.0, children: 0, parents: 0 };
        }
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
    /// Measures on the training games; with mini-batches, on the positions of the next step.
    #[serde(flatten)]
    pub train: Measures,
    /// Measures on held-out games, if any; with mini-batches only at the beginning of an epoch.
    pub held_out: Option<Measures>,
    /// Values of L N S G B R +P +L +N +S +B +R; the pawn's value is 1.
    pub values: Values,
    /// Values in hand, P L N S G B R, if the features distinguish them from those on the board.
    pub hand: Option<[f64; 7]>,
    /// Number of training and held-out positions omitted because a quiet leaf's material does not fit into a word.
    pub left_out: u64,
    /// Learning rate of the next step.
    #[serde(alias = "rate")]
    pub learning_rate: f64,
    /// Wall-clock seconds in [`Learner::run`](super::Learner::run) up to this row, including those before a checkpoint.
    pub seconds: f64,
}

/// Measures of the last weights on all positions, with mini-batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Whole {
    /// Measures on all training games.
    pub train: Measures,
    /// Measures on all held-out games, if any.
    pub held_out: Option<Measures>,
}

/// Report of a course of learning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnReport {
    /// Version of these fields, [`SCHEMA`](crate::shogi::SCHEMA).
    pub schema: u32,
    /// Version of the library.
    pub version: String,
    /// Back end: `cuda`, `simt` or `cpu`.
    pub device: String,
    /// Name of the device.
    pub device_name: String,
    /// The engine that ran; [`Engine::Auto`] only in reports of version 0.1, which lack it.
    #[serde(default = "unsaid")]
    pub engine: Engine,
    /// Seed of the choice of siblings and of the order of mini-batches.
    #[serde(default)]
    pub seed: u64,
    /// Seconds of all runs, including those before a checkpoint.
    #[serde(default)]
    pub seconds: f64,
    /// Number of ranks that learnt together.
    pub ranks: usize,
    /// Number of weights, including the pawn's.
    pub n_weights: usize,
    /// Fingerprint of the training and held-out positions, independent of their division into shards.
    pub data_fingerprint: String,
    /// Why the run ended.
    pub stopped_by: StoppedBy,
    /// The iteration with the lowest objective on held-out games.
    pub best_iteration: Option<u32>,
    /// Steps of an epoch, with mini-batches.
    #[serde(default)]
    pub steps_per_epoch: Option<u64>,
    /// The last weights on all positions, with mini-batches.
    #[serde(default)]
    pub whole: Option<Whole>,
    /// Statistics of this rank's exchange since the learner was built; `None` for one rank.
    #[serde(default)]
    pub exchange: Option<Exchange>,
    /// One row per iteration, the first before any step, including those before a checkpoint.
    pub rows: Vec<LearnRow>,
    /// The options.
    pub options: Options,
}

const fn unsaid() -> Engine {
    Engine::Auto
}

impl fmt::Display for LearnReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device_name, engine, seed, stopped_by, seconds, rows, options, n_weights, .. } = self;
        let Some(last) = rows.last() else { return write!(f, "nothing was learnt, ended by {stopped_by}") };
        write!(f, "{} iterations in {seconds:.2} s, ended by {stopped_by}; ", last.iteration)?;
        writeln!(
            f,
            "{}, {n_weights} weights, by {}; engine {engine} on {device_name}, seed {seed}",
            options.features, options.optimizer
        )?;
        if let (Some(Whole { train, held_out }), Some(steps)) = (&self.whole, self.steps_per_epoch) {
            writeln!(f, "mini-batches of {} positions, {steps} an epoch; on all positions:", options.batch)?;
            return write_measures(f, train, held_out.as_ref());
        }
        write_measures(f, &last.train, last.held_out.as_ref())
    }
}

fn write_measures(f: &mut fmt::Formatter<'_>, train: &Measures, held_out: Option<&Measures>) -> fmt::Result {
    let percent = |of: &Measures| (100.0 * of.agreement, 100.0 * of.agreement_of_three);
    let (first, three) = percent(train);
    write!(f, "objective {:.9}, played move first in {first:.2} %, among three in {three:.2} %", train.j)?;
    if let Some(held_out) = held_out {
        let (first, three) = percent(held_out);
        write!(f, "\nheld out  {:.9}, played move first in {first:.2} %, among three in {three:.2} %", held_out.j)?;
    }
    Ok(())
}
