//! What trains a network of convolutions, and what uses one.

use std::sync::Arc;

use crate::Result;
use crate::mlp::evaluation::Classified;
use crate::mlp::{Dataset, Layer};

/// The rest of an epoch as engines take it.
pub(super) struct Epoch {
    /// Samples in the order in which they are taken.
    pub order: Vec<u32>,
    /// The learning rate of each step.
    pub rates: Vec<f32>,
    /// The first step; those before it are done.
    pub from_step: u32,
}

/// An engine that has a network.
pub(super) trait Classify: Send {
    /// Classifies a set, whose images have the network's size.
    fn classify(&mut self, set: &Arc<Dataset>) -> Result<Classified>;
    /// Logits `[n, n_classes]` of `n` images of the network's size, at least one.
    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>>;
}

/// An engine that trains its network.
pub(super) trait Train: Classify {
    /// Trains until the epoch ends or `goes_on` says no, which is asked from time to time between two steps, with the number of steps of the epoch that are done. Gives the sum of the losses of each step that was done here.
    fn train(&mut self, epoch: &Epoch, goes_on: &mut dyn FnMut(u32) -> bool) -> Result<Vec<f32>>;
    /// Remembers the present state.
    fn keep(&mut self) -> Result<()>;
    /// Goes back to what [`keep`](Self::keep) remembered.
    fn restore(&mut self) -> Result<()>;
    /// The present weights.
    fn layers(&mut self) -> Result<Vec<Layer>>;
}
