//! Evaluating positions.

use std::sync::Arc;

use super::engine::{BlockOutput, Engine, Inputs, Outputs};
use super::{Execution, Network};
use crate::{Backend, Device, Error, Precision, Result, Stream};

/// Most positions that one call may evaluate.
pub const MAX_BATCH: usize = 1 << 20;

/// What the network says of some positions, in host memory; single-precision values are widened exactly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// `[n]`: expected result, -1 to 1.
    pub values: Vec<f64>,
    /// `[n, actions]`: logits of all actions, also of illegal ones.
    pub policy_logits: Vec<f64>,
    /// `[n, actions]`: softmax of the legal actions' logits; illegal ones have 0.
    pub policies: Vec<f64>,
}

/// Choices for an [`Evaluator`].
#[derive(Clone, Debug)]
pub struct EvaluatorBuilder {
    pub(in crate::azero) precision: Precision,
    pub(in crate::azero) execution: Execution,
    pub(in crate::azero) max_batch: usize,
    pub(in crate::azero) threads: Option<usize>,
}

impl EvaluatorBuilder {
    /// Arithmetic of the convolutions. Default fp32.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Which kernels run. Default [`Execution::Auto`].
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Most positions of a call: memory for them is taken at once. Default 128.
    pub fn max_batch(mut self, n: usize) -> Self {
        self.max_batch = n;
        self
    }

    /// Threads of the CPU back end; 1 is the sequential program. Default all cores.
    pub fn threads(mut self, n: usize) -> Self {
        self.threads = Some(n);
        self
    }
}
