//! What the trainer asks of each engine. One implementation a folder: `epoch`, `layers`, `cpu`.

pub(super) mod cpu;
pub(super) mod epoch;
pub(super) mod layers;

use std::sync::Arc;

use super::evaluation::Classified;
use super::state::TrainState;
use super::{Dataset, Engine, Options};
use crate::{Buffer, Result};

/// The rest of one epoch.
pub(super) struct EpochPlan<'a> {
    /// The epoch, from 0; its order is that of random stream 64 + epoch.
    pub epoch: u32,
    /// Seed of the order.
    pub seed: u32,
    /// First step to do; earlier ones were done before an interruption.
    pub from_step: u32,
    /// The learning rate of every step of the epoch.
    pub learning_rates: &'a [f64],
    /// Updates done before this epoch; Adam's bias correction of step `s` uses `updates + s + 1`.
    pub updates: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EpochOutcome {
    /// Sum over the samples seen of the loss before their batch's update.
    pub loss_sum: f64,
    /// Steps done by now, from the epoch's beginning: fewer than all if the caller stopped it.
    pub next_step: u32,
    /// The first step whose loss is not finite; the engine may stop there.
    pub bad_step: Option<u32>,
    /// Seconds that the device spent on copies of batches, where they are copied.
    pub transfer_s: Option<f64>,
    /// Whether all of it was done twice: see [`EpochReport::repeated`](super::EpochReport::repeated).
    pub repeated: bool,
}

/// A data set that an engine has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetId(pub usize);

/// An engine: it trains and classifies. Weights are set before anything else is asked.
pub(super) trait Train: Send {
    /// Trains the rest of an epoch on the training set. The state was kept before, and an engine may go back to it. `goes_on(step, loss)` is asked after a step where the engine can stop between steps; engines
    /// that launch whole epochs do not ask.
    fn train(&mut self, plan: &EpochPlan<'_>, goes_on: &mut dyn FnMut(u32, f64) -> bool) -> Result<EpochOutcome>;

    /// Takes a data set to be classified, once.
    fn load(&mut self, set: &Arc<Dataset>) -> Result<SetId>;

    /// Classifies a loaded set with the present weights, `evaluate_batch` samples at once where batches matter.
    fn classify(&mut self, set: SetId) -> Result<Classified>;

    /// Logits `[n, n_classes]` of `n` images of bytes, `[n, n_inputs]`.
    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>>;

    /// As [`logits`](Train::logits) of at least one image, from memory of the device to memory of the device; all of it is done on return.
    fn logits_on_device(&mut self, images: &Buffer<u8>) -> Result<Buffer<f32>>;

    /// Remembers the present state, on the device where it lies there.
    fn keep(&mut self) -> Result<()>;

    /// Goes back to the state that was kept.
    fn restore(&mut self) -> Result<()>;

    /// Reads the present state.
    fn state(&mut self) -> Result<TrainState>;

    /// Sets the state.
    fn set_state(&mut self, state: &TrainState) -> Result<()>;

    /// Which it is: for reports.
    fn engine(&self) -> Engine;

    /// Which engine the last [`classify`](Train::classify) was by: another one where this one cannot represent the network.
    fn classified_by(&self) -> Engine {
        self.engine()
    }
}

/// What an engine is made of.
#[derive(Clone)]
pub(super) struct Setup {
    /// Options, checked.
    pub options: Options,
    /// Widths, the inputs first, the classes last.
    pub sizes: Vec<u32>,
    /// The training set, without the validation samples; `None` where nothing is to be trained.
    pub train: Option<Arc<Dataset>>,
}

impl Setup {
    /// Weights and biases of the network.
    pub fn n_parameters(&self) -> u64 {
        self.sizes.windows(2).map(|size| (u64::from(size[0]) + 1) * u64::from(size[1])).sum()
    }
}
