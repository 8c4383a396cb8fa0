//! The ways to train: `device`, by kernels, and `cpu`, the plain program.

pub(super) mod cpu;
pub(super) mod device;

use std::sync::Arc;

use super::step::{Numbers, StepReport};
use super::{Options, Samples};
use crate::Result;
use crate::azero::Network;

/// Arguments for opening an engine.
pub(in crate::azero::train) struct Setup {
    pub options: Options,
    pub samples: Arc<Samples>,
    pub state: Numbers,
}

/// An engine for training.
pub(in crate::azero::train) trait Train: Send {
    /// Makes one step for each whole batch of `order`, after `updates` earlier updates.
    fn train(&mut self, order: &[u32], updates: u64) -> Result<Vec<StepReport>>;

    /// Sums of the policy's and the value's losses, and the number of hits, over the positions of `order`, with the running statistics.
    fn evaluate(&mut self, order: &[u32]) -> Result<[f64; 3]>;

    /// Gradient of the loss of one batch, without the L2 term; running statistics are 0. Nothing is changed.
    fn gradient(&mut self, order: &[u32]) -> Result<Network>;

    /// The present state.
    fn state(&mut self) -> Result<Numbers>;

    /// Sets a state.
    fn set_state(&mut self, state: &Numbers) -> Result<()>;

    /// Keeps a copy of the present state where it is.
    fn keep(&mut self) -> Result<()>;

    /// Returns to the state that was kept last, or opened with.
    fn restore(&mut self) -> Result<()>;

    /// Whether all parameters and running statistics are finite numbers.
    fn is_finite(&mut self) -> Result<bool>;
}
