//! What can be chosen about a training.

use serde::{Deserialize, Serialize};

use crate::runtime::named::named;
use crate::{Error, Precision, Result};

/// Most positions of a step.
pub const MAX_BATCH: u32 = 65_536;
/// Most epochs.
pub const MAX_EPOCHS: u32 = 1_000_000;

named! {
    /// The implementation that trains.
    #[derive(Default)]
    Engine, "engine":
    /// [`Engine::Cpu`] on the CPU back end, else [`Engine::Device`].
    #[default]
    Auto = "auto",
    /// Kernels; each step is one recorded graph.
    Device = "device" | "kernels",
    /// No kernels: the plain implementation, on the CPU back end only.
    Cpu = "cpu" | "plain",
}

/// Options of a training, with their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Positions of a step, 2 to 65536; default 1024. Norms compute their statistics over them.
    pub batch: u32,
    /// Number of passes over all positions; default 10. An epoch omits the positions after its last whole batch.
    pub epochs: u32,
    /// Maximum total number of steps; default no limit, only epochs count.
    pub steps: Option<u64>,
    /// Adam's learning rate, above 0; default 0.001.
    pub learning_rate: f64,
    /// Factor of the L2 term `weight_decay / 2 · Σ w²` over the weights of convolutions and linear layers, at least 0; default 0.0001.
    pub weight_decay: f64,
    /// Factor of the value's loss, at least 0; default 1.
    pub value_weight: f64,
    /// Weight of a batch in the norms' running statistics, 0 to 1; default 0.1.
    pub momentum: f64,
    /// Adam's decay rate of the mean, 0 to below 1; default 0.9.
    pub beta1: f64,
    /// Adam's decay rate of the mean square, 0 to below 1; default 0.999.
    pub beta2: f64,
    /// The term that Adam adds to the root, above 0; default 1e-8.
    pub epsilon: f64,
    /// Share of the games whose positions are reserved for validation, 0 to below 1; default 0.
    pub validation: f64,
    /// Seed of the order of positions and of the choice of games for validation; default 1.
    pub seed: u64,
    /// Arithmetic of the convolutions of 3 × 3, forward and backward: f32, or tf32 or bf16 on devices of compute capability 9.0 and under simt. Default f32. There tensor cores multiply: f32 in two parts of half precision, 22 bits, tf32 in one, 11 bits, each array of numbers with a scale, and bf16 in bfloat16, 8 bits. Sums,
    /// weights, statistics of norms, heads and Adam are in f32 in all of them. In bf16 the results of convolutions, the residuals and the gradients between layers are rounded to bf16 too.
    pub precision: Precision,
    /// The implementation that trains; default [`Engine::Auto`].
    pub engine: Engine,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            batch: 1024,
            epochs: 10,
            steps: None,
            learning_rate: 1e-3,
            weight_decay: 1e-4,
            value_weight: 1.0,
            momentum: 0.1,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            validation: 0.0,
            seed: 1,
            precision: Precision::F32,
            engine: Engine::Auto,
        }
    }
}

impl Options {
    /// # Errors
    /// [`Error::Option`] for the first value that is not allowed.
    pub fn check(&self) -> Result<()> {
        let within = |name, value: f64, allowed: &str, fits: bool| match fits && value.is_finite() {
            true => Ok(()),
            false => Err(Error::option(name, value, allowed)),
        };
        if !(2..=MAX_BATCH).contains(&self.batch) {
            return Err(Error::option("batch", self.batch, format!("2 to {MAX_BATCH}")));
        }
        if !(1..=MAX_EPOCHS).contains(&self.epochs) {
            return Err(Error::option("epochs", self.epochs, format!("1 to {MAX_EPOCHS}")));
        }
        if self.steps == Some(0) {
            return Err(Error::option("steps", 0, "at least 1"));
        }
        if !matches!(self.precision, Precision::F32 | Precision::Tf32 | Precision::Bf16) {
            return Err(Error::option("precision", self.precision, "f32, tf32 or bf16"));
        }
        within("learning_rate", self.learning_rate, "above 0", self.learning_rate > 0.0)?;
        within("weight_decay", self.weight_decay, "at least 0", self.weight_decay >= 0.0)?;
        within("value_weight", self.value_weight, "at least 0", self.value_weight >= 0.0)?;
        within("momentum", self.momentum, "0 to 1", (0.0..=1.0).contains(&self.momentum))?;
        within("beta1", self.beta1, "0 to below 1", (0.0..1.0).contains(&self.beta1))?;
        within("beta2", self.beta2, "0 to below 1", (0.0..1.0).contains(&self.beta2))?;
        within("epsilon", self.epsilon, "above 0", self.epsilon > 0.0)?;
        within("validation", self.validation, "0 to below 1", (0.0..1.0).contains(&self.validation))
    }
}
