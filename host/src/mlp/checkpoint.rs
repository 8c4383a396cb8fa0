//! A training's whole state in a file.

use std::path::Path;

use super::engine::TrainState;
use super::{EpochReport, Options};
use crate::Result;

/// Everything needed to go on with a training as if it had never stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub(super) options: Options,
    pub(super) sizes: Vec<u32>,
    /// Samples trained on in an epoch, and a checksum of the training set.
    pub(super) n_train: u64,
    pub(super) data_checksum: u64,
    /// Epochs done.
    pub(super) epochs: Vec<EpochReport>,
    /// Steps done of the next epoch, and the sum of their losses, and the seconds they took.
    pub(super) step: u32,
    pub(super) loss_sum: f64,
    pub(super) seconds: f64,
    /// Updates done.
    pub(super) updates: u64,
    /// Early stopping: the best validation loss and the epochs since.
    pub(super) best_loss: Option<f64>,
    pub(super) epochs_since_best: u32,
    pub(super) state: TrainState,
}

impl Checkpoint {
    /// Writes it.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let _ = path;
        todo!()
    }

    /// Reads it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let _ = path;
        todo!()
    }

    /// That a training with these options and data may go on from here.
    pub(super) fn check_fits(
        &self,
        options: &Options,
        sizes: &[u32],
        train: &super::Dataset,
        checksum: u64,
    ) -> Result<()> {
        let _ = (options, sizes, train, checksum);
        todo!()
    }

    /// The options of the training.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The epochs done.
    pub fn epochs(&self) -> &[EpochReport] {
        &self.epochs
    }
}
