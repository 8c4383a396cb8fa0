//! What is to be repeated, and what a caller is told on the way.

use std::sync::Arc;

use warpplay::mlp::{Dataset, EpochReport};
use warpplay::{Device, Progress};

use super::record::Table;
use crate::named::named;

named! {
    /// One experiment.
    Section, "only":
    /// Samples of a batch: 32, 64, 128, 256.
    Batch = "batch",
    /// Threads of a one-dimensional block: 128, 256, 512.
    Block = "block",
    /// Side of a two-dimensional block: 8, 16, 32.
    Tile = "tile",
    /// Hidden units: 128, 256, 512, 1024.
    Hidden = "hidden",
    /// Learning rate: 0.001, 0.01, 0.1.
    Lr = "lr",
    /// Samples evaluated at once: 64, 256, 512.
    Evaluate = "evaluate",
    /// Gradient averaged or summed: where the accuracy gap comes from.
    Gap = "gap",
    /// What the gap does not come from: order and type of sums, form of the softmax.
    Suspects = "suspects",
    /// Work, traffic and share of peak of each launch of a step.
    Operations = "operations",
    /// Plain against tiled product.
    Matmul = "matmul",
    /// Share of time in copies of batches.
    Transfer = "transfer",
}

/// What is to be repeated, and on what.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What kernels run on; with the back end `cpu` only the plain program is run.
    pub device: Device,
    /// Training set.
    pub train: Arc<Dataset>,
    /// Test set.
    pub test: Arc<Dataset>,
    /// Epochs of each training; `None` for the paper's 10, 1 where it is quick.
    pub epochs: Option<u32>,
    /// The first 2048 training and 512 test samples: shows that everything runs.
    pub quick: bool,
    /// Trainings of each form whose spread from run to run is asked for.
    pub repeats: u32,
    /// These experiments; empty for all.
    pub only: Vec<Section>,
}

/// What a caller is told on the way.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Watched<'a> {
    /// What is compared with what, before the first table.
    Head(&'a str),
    /// A training is under way.
    Training {
        /// Which.
        label: &'a str,
        /// How far it is.
        progress: &'a Progress<EpochReport>,
    },
    /// A table is done.
    Table(&'a Table),
}
