//! Reports of a training.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Engine, Options};

/// Mean losses and accuracy of the network over a set of positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// Cross-entropy between the search's shares of visits and the policy.
    pub policy_loss: f64,
    /// Squared error of the value, with its weight.
    pub value_loss: f64,
    /// Share of positions whose most probable legal action is the most visited one.
    pub accuracy: f64,
}

/// Report of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// Number of the epoch, from 1.
    pub epoch: u32,
    /// Steps of the epoch; fewer than batches if [`Options::steps`](super::Options::steps) ended it.
    pub steps: u32,
    /// Averages over the epoch's positions, each measured before the update of its batch, with the batch's statistics.
    pub train: Losses,
    /// L2 term, average over the steps.
    pub l2_loss: f64,
    /// Norm of the gradient, average over the steps.
    pub gradient_norm: f64,
    /// Averages over the validation positions after the epoch, with the running statistics.
    pub validation: Option<Losses>,
    /// Seconds of the steps.
    pub seconds: f64,
    /// Positions processed per second.
    pub positions_per_second: f64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// All epochs are done.
    Epochs,
    /// All steps are done.
    Steps,
    /// The caller stopped it.
    Request,
}

/// Report of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The device.
    pub device: String,
    /// The engine that trained, never [`Engine::Auto`].
    pub engine: Engine,
    /// Seed of the order of positions and of the games for validation.
    #[serde(default)]
    pub seed: u64,
    /// The options.
    pub options: Options,
    /// All finished epochs, including those before a resume.
    pub epochs: Vec<EpochReport>,
    /// Total number of updates.
    pub updates: u64,
    /// Why this run ended.
    pub stopped_by: StoppedBy,
    /// Seconds of this run.
    pub seconds: f64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, engine, seed, options, epochs, updates, seconds, .. } = self;
        write!(
            f,
            "{} epochs, {updates} steps of {} positions on {device}, engine {engine}, seed {seed}",
            epochs.len(),
            options.batch
        )?;
        if let Some(EpochReport { train, .. }) = epochs.last() {
            write!(f, ": policy {:.4}, value {:.4}", train.policy_loss, train.value_loss)?;
        }
        write!(f, "; {seconds:.2} s")
    }
}
