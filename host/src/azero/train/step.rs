//! What a step of a training is: its report, and the state between two steps.

use crate::azero::Network;

/// Report of a step, for the network before the update.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Mean cross-entropy of the policy.
    pub policy_loss: f64,
    /// Mean squared error of the value, with its weight.
    pub value_loss: f64,
    /// L2 term.
    pub l2_loss: f64,
    /// Norm of the gradient, including the L2 term.
    pub gradient_norm: f64,
    /// Share of positions whose most probable legal action is the most visited one.
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

/// All numbers that a training keeps between two steps, except its progress. The moments have the shape of a network, with 0 for running statistics.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numbers {
    pub network: Network,
    pub first: Network,
    pub second: Network,
}
