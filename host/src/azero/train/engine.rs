//! What the trainer asks of each way to train: `device`, by kernels, and `plain`, on the CPU.

use std::sync::Arc;

use super::{Options, Samples};
use crate::Result;
use crate::azero::Network;

/// What a step reports, of the network before its update.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Mean cross-entropy of the policy.
    pub policy_loss: f64,
    /// Mean squared error of the value, with its weight.
    pub value_loss: f64,
    /// L2 term.
    pub l2_loss: f64,
    /// Length of the gradient, L2 term included.
    pub gradient_norm: f64,
    /// Share of positions whose likeliest legal action is the most visited one.
    pub accuracy: f64,
}

impl StepReport {
    /// Sum of the losses.
    pub fn loss(&self) -> f64 {
        self.policy_loss + self.value_loss + self.l2_loss
    }

    pub(super) fn is_finite(&self) -> bool {
        self.loss().is_finite() && self.gradient_norm.is_finite()
    }
}

/// All that a training remembers between two steps, but its place. The moments are shaped as a network, with 0 for running statistics.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub network: Network,
    pub first: Network,
    pub second: Network,
}

/// What an engine is opened with.
pub(super) struct Setup {
    pub options: Options,
    pub samples: Arc<Samples>,
    pub state: State,
}

/// A way to train.
pub(super) trait Engine: Send {
    /// One step for each whole batch of `order`; `updates` were done before.
    fn train(&mut self, order: &[u32], updates: u64) -> Result<Vec<StepReport>>;

    /// Sums of the policy's and the value's losses, and of the hits, over the positions of `order`, with the running statistics.
    fn evaluate(&mut self, order: &[u32]) -> Result<[f64; 3]>;

    /// Gradient of the loss of one batch, without the L2 term; running statistics are 0. Nothing is changed.
    fn gradient(&mut self, order: &[u32]) -> Result<Network>;

    /// The present state.
    fn state(&mut self) -> Result<State>;

    /// Goes back to a state.
    fn set_state(&mut self, state: &State) -> Result<()>;
}
