//! What can be chosen about an evaluation.

use serde::{Deserialize, Serialize};

use super::evaluation::MAX_BATCH;
use crate::runtime::named::named;
use crate::runtime::threads;
use crate::{Error, Precision, Result};

named! {
    /// The implementation that evaluates.
    Engine, "engine":
    /// The fastest engine that device, shape and precision allow: [`Engine::Fused`] if possible, else [`Engine::Layers`]; on the CPU [`Engine::Cpu`].
    Auto = "auto",
    /// All convolutions in one launch, activations in shared memory.
    Fused = "fused",
    /// One kernel per layer; any shape.
    Layers = "layers",
    /// No kernels: the plain implementation, on the CPU back end only.
    Cpu = "cpu" | "plain",
}

/// Options of an [`Evaluator`](super::Evaluator), with their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluatorOptions {
    /// The implementation to run. Default [`Engine::Auto`].
    pub engine: Engine,
    /// Arithmetic of the convolutions: f32, tf32, bf16 and f16 with kernels, f32 and f64 on the CPU. Default f32.
    pub precision: Precision,
    /// Maximum number of positions of a call, 1 to [`MAX_BATCH`]; memory for them is allocated at the beginning. Default 128.
    pub max_batch: usize,
    /// Threads of the CPU back end, 1 to 1024; 1 selects the sequential program; results do not depend on the number. Default all cores.
    pub threads: Option<usize>,
}

impl Default for EvaluatorOptions {
    fn default() -> Self {
        Self { engine: Engine::Auto, precision: Precision::F32, max_batch: 128, threads: None }
    }
}

impl EvaluatorOptions {
    /// Checks every option individually; `build` checks what the device offers.
    ///
    /// # Errors
    /// [`Error::Option`] for the first that is not allowed.
    pub fn check(&self) -> Result<()> {
        if !(1..=MAX_BATCH).contains(&self.max_batch) {
            return Err(Error::option("max_batch", self.max_batch, format!("1 to {MAX_BATCH}")));
        }
        if matches!(self.precision, Precision::E4m3 | Precision::I16) {
            let allowed = "f32, tf32, bf16 or f16 where kernels run; f32 or f64 on the cpu";
            return Err(Error::option("precision", self.precision, allowed));
        }
        threads::check(self.threads)
    }
}
