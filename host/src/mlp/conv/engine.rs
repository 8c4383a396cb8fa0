//! What trains a network of convolutions.

use std::sync::Arc;

use crate::Result;
use crate::mlp::evaluation::Classified;
use crate::mlp::{Dataset, Layer};

/// An epoch as engines take it.
pub(super) struct Epoch {
    /// Samples in the order in which they are taken.
    pub order: Vec<u32>,
    /// The learning rate of each step.
    pub rates: Vec<f32>,
}

/// What an engine does.
pub(super) trait Train: Send {
    /// Trains an epoch, and gives the sum of the losses of each step.
    fn train(&mut self, epoch: &Epoch) -> Result<Vec<f32>>;
    /// Classifies a set, whose images have the training set's size.
    fn classify(&mut self, set: &Arc<Dataset>) -> Result<Classified>;
    /// Remembers the present state.
    fn keep(&mut self) -> Result<()>;
    /// Goes back to what [`keep`](Self::keep) remembered.
    fn restore(&mut self) -> Result<()>;
    /// The present weights.
    fn layers(&mut self) -> Result<Vec<Layer>>;
}
