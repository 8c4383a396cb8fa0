//! What the trainer asks of each engine. One implementation a folder: `epoch`, `layers`, `cpu`.

pub(super) mod cpu;
pub(super) mod epoch;
pub(super) mod layers;

use std::sync::Arc;

use super::evaluation::Classified;
use super::state::TrainState;
use super::{Dataset, Engine, Options};
use crate::{Buffer, Error, Result};

/// The rest of one epoch.
pub(super) struct EpochPlan<'a> {
    /// The epoch, from 0; its order is that of random stream 64 + epoch.
    pub epoch: u32,
    /// Seed of the order, in 32 bits.
    pub seed: u32,
    /// First step to do; earlier ones were done before an interruption.
    pub from_step: u32,
    /// Sum of the losses of the steps before: the sum goes on from it, so that an interruption changes no bit of it.
    pub loss_before: f64,
    /// The learning rate of every step of the epoch.
    pub learning_rates: &'a [f64],
    /// Updates done before this epoch; Adam's bias correction of step `s` uses `updates + s + 1`.
    pub updates: u64,
}

/// The result of training the rest of an epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EpochOutcome {
    /// Sum over the epoch's samples seen so far, also before an interruption, of the loss before their batch's update.
    pub loss_sum: f64,
    /// Number of steps done from the epoch's beginning: fewer than all if the caller stopped it.
    pub next_step: u32,
    /// The first step whose loss is not finite; the engine may stop there.
    pub bad_step: Option<u32>,
    /// Seconds that the device spent on copies of batches, if they are copied.
    pub transfer_s: Option<f64>,
    /// Whether the epoch was repeated: see [`EpochReport::repeated`](super::EpochReport::repeated).
    pub repeated: bool,
}

/// A data set that an engine has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetId(pub usize);

/// An engine, which trains and classifies. The caller sets weights before any other call.
pub(super) trait Train: Send {
    /// Trains the rest of an epoch on the training set. The state has been kept before, and an engine may restore it. An engine that can stop between steps calls
    /// `goes_on(step, loss)` after a step; engines that launch whole epochs do not.
    fn train(&mut self, plan: &EpochPlan<'_>, goes_on: &mut dyn FnMut(u32, f64) -> bool) -> Result<EpochOutcome>;

    /// Loads a data set to be classified; called once per set.
    fn load(&mut self, set: &Arc<Dataset>) -> Result<SetId>;

    /// Classifies a loaded set with the present weights, `evaluate_batch` samples at once if the engine uses batches.
    fn classify(&mut self, set: SetId) -> Result<Classified>;

    /// Logits `[n, n_classes]` of `n` images of bytes, `[n, n_inputs]`.
    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>>;

    /// Outputs `[n, n_classes]` of `n` samples of features, `[n, n_inputs]`, by an engine that was opened for these.
    fn outputs(&mut self, _: &[f32]) -> Result<Vec<f32>> {
        Err(Error::option("engine", self.engine(), "layers or cpu with features in f32"))
    }

    /// As [`logits`](Train::logits) of at least one image, from memory of the device to memory of the device; all of it is done on return.
    fn logits_on_device(&mut self, images: &Buffer<u8>) -> Result<Buffer<f32>>;

    /// Saves the present state, on the device if it is there.
    fn keep(&mut self) -> Result<()>;

    /// Restores the state that was saved.
    fn restore(&mut self) -> Result<()>;

    /// Reads the present state.
    fn state(&mut self) -> Result<TrainState>;

    /// Sets the state.
    fn set_state(&mut self, state: &TrainState) -> Result<()>;

    /// Its name, for reports.
    fn engine(&self) -> Engine;

    /// The engine that ran the last [`classify`](Train::classify): another one if this engine cannot represent the network.
    fn classified_by(&self) -> Engine {
        self.engine()
    }
}

/// Arguments for opening an engine.
#[derive(Clone)]
pub(super) struct Setup {
    /// Options, checked.
    pub options: Options,
    /// Widths, the inputs first, the classes last.
    pub sizes: Vec<u32>,
    /// Whether inputs are features, not images.
    pub features: bool,
    /// The training set, without the validation samples; `None` for classification only.
    pub train: Option<Arc<Dataset>>,
}

impl Setup {
    /// Number of weights and biases of the network, with gains and shifts.
    pub fn n_parameters(&self) -> u64 {
        let linear: u64 = self.sizes.windows(2).map(|size| (u64::from(size[0]) + 1) * u64::from(size[1])).sum();
        let hidden: u64 = self.options.hidden.iter().map(|&width| u64::from(width)).sum();
        linear + if self.options.has_norm() { 2 * hidden } else { 0 }
    }
}
