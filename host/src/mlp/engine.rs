//! What the trainer asks of each way to train. One implementation a file: `cpu`, `paper`, `layers`, `epoch`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Dataset, Options};
use crate::Result;

/// The rest of one epoch.
pub(super) struct EpochPlan<'a> {
    /// The epoch, from 0; its order is that of random stream 64 + epoch.
    pub epoch: u32,
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
}

/// A data set that an engine has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetId(pub usize);

/// What an engine says of a data set.
#[derive(Clone, Debug, Default)]
pub(super) struct Classified {
    /// The likeliest class of each sample; the lowest of equals.
    pub classes: Vec<u32>,
    /// Sum of the losses.
    pub loss_sum: f64,
    /// For each hidden layer, for each unit, whether any sample makes it positive.
    pub active: Vec<Vec<bool>>,
}

/// Values of one layer: weights `[n_inputs, n_outputs]` row-major, and bias.
///
/// Single-precision engines hold values that are exactly `f32`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LayerValues {
    pub weights: Vec<f64>,
    pub bias: Vec<f64>,
}

/// All that a training remembers between two updates, but its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TrainState {
    /// The layers, from the input on.
    pub layers: Vec<LayerValues>,
    /// What the optimiser remembers: 0 to 2 arrays of the layers' shape (momentum or mean first, mean square second).
    pub moments: Vec<Vec<LayerValues>>,
    /// The loss scale of [`Precision::F16`](super::Precision::F16), and updates since it last changed.
    pub loss_scale: Option<(f32, u32)>,
}

impl TrainState {
    /// Whether all weights are numbers.
    pub fn is_finite(&self) -> bool {
        self.layers.iter().all(|layer| layer.weights.iter().chain(&layer.bias).all(|value| value.is_finite()))
    }
}

/// A way to train and to classify. Weights are set before anything else is asked.
pub(super) trait Engine: Send {
    /// Trains the rest of an epoch on the training set. `goes_on(step, loss)` is asked after a step where the engine can stop between steps; engines
    /// that launch whole epochs do not ask.
    fn train(&mut self, plan: &EpochPlan<'_>, goes_on: &mut dyn FnMut(u32, f64) -> bool) -> Result<EpochOutcome>;

    /// Takes a data set to be classified, once.
    fn load(&mut self, set: &Arc<Dataset>) -> Result<SetId>;

    /// Classifies a loaded set with the present weights, `evaluate_batch` samples at once where batches matter.
    fn classify(&mut self, set: SetId) -> Result<Classified>;

    /// Logits `[n, n_classes]` of `n` images of bytes, `[n, n_inputs]`.
    fn logits(&mut self, images: &[u8]) -> Result<Vec<f32>>;

    /// Remembers the present state, on the device where it lies there.
    fn keep(&mut self) -> Result<()>;

    /// Goes back to the state that was kept.
    fn restore(&mut self) -> Result<()>;

    /// Reads the present state.
    fn state(&mut self) -> Result<TrainState>;

    /// Sets the state.
    fn set_state(&mut self, state: &TrainState) -> Result<()>;

    /// Which kernels it is: for reports.
    fn execution(&self) -> super::Execution;
}

/// What an engine is made of.
pub(super) struct Setup {
    /// Options, checked.
    pub options: Options,
    /// Widths, the inputs first, the classes last.
    pub sizes: Vec<u32>,
    /// The training set, without the validation samples; `None` where nothing is to be trained.
    pub train: Option<Arc<Dataset>>,
    /// Threads of the CPU back end; `None` for all cores. 1 is the sequential program.
    pub threads: Option<usize>,
}
