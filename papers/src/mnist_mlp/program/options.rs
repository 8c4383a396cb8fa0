//! What can be chosen about the published program, as plain data, and the checks of it.

use serde::{Deserialize, Serialize};
use warpplay::mlp::{Init, MAX_HIDDEN_LAYERS, MAX_WIDTH, Reduction, Residence};
use warpplay::{Error, Result};

use crate::mnist_mlp::kernels::matmul::SIDES;
use crate::named::named;

named! {
    /// The matrix product.
    Matmul, "matmul":
    /// One thread an element, operands from global memory.
    Plain = "plain",
    /// Tiles of both operands in shared memory.
    Tiled = "tiled",
}

named! {
    /// How columns are summed for the bias gradients.
    ColumnSums, "column_sums":
    /// A tree in shared memory.
    Tree = "tree",
    /// Atomic additions: the order, so the last bits, differ from run to run.
    Atomic = "atomic",
    /// Warp shuffles.
    Warp = "warp",
}

named! {
    /// How the gradient of the loss by the logits is made.
    SoftmaxForm, "softmax":
    /// Softmax and gradient in one kernel.
    Fused = "fused",
    /// Softmax first, then `(p - onehot) / B` in a kernel of its own.
    Separate = "separate",
}

named! {
    /// Type in which the matrix product and the column sums add up.
    Accumulate, "accumulate":
    /// Single precision.
    F32 = "f32",
    /// Double precision, rounded once at the end.
    F64 = "f64",
}

/// The forms of the kernels that the paper compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forms {
    /// Threads of a one-dimensional block: 128, 256 or 512.
    pub block: u32,
    /// Side of a square two-dimensional block, and of a tile: 8, 16 or 32.
    pub tile: u32,
    /// The matrix product.
    pub matmul: Matmul,
    /// The bias gradients.
    pub column_sums: ColumnSums,
    /// The loss gradient.
    pub softmax: SoftmaxForm,
    /// The sums.
    pub accumulate: Accumulate,
}

impl Default for Forms {
    /// The paper's: 256 threads, tiles of 16, tree sums, fused gradient, f32.
    fn default() -> Self {
        Self {
            block: 256,
            tile: 16,
            matmul: Matmul::Tiled,
            column_sums: ColumnSums::Tree,
            softmax: SoftmaxForm::Fused,
            accumulate: Accumulate::F32,
        }
    }
}

impl Forms {
    /// Checks the choices.
    ///
    /// # Errors
    /// [`Error::Option`] for the first that is not allowed.
    pub fn check(&self) -> Result<()> {
        if ![128, 256, 512].contains(&self.block) {
            return Err(Error::option("block", self.block, "128, 256 or 512"));
        }
        if !SIDES.contains(&self.tile) {
            return Err(Error::option("tile", self.tile, "8, 16 or 32"));
        }
        if self.accumulate == Accumulate::F64 && self.column_sums == ColumnSums::Atomic {
            return Err(Error::option("accumulate", self.accumulate, "f32 with atomic column sums"));
        }
        Ok(())
    }
}

/// Everything about a training by the published program but its data and its device: SGD at one rate, in single precision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Units of each hidden layer. Default `[256]`.
    pub hidden: Vec<u32>,
    /// Samples of a batch, 1 to the training samples; the last of an epoch may be shorter. Default 64.
    pub batch: u32,
    /// Epochs in all, at least 1. Default 10.
    pub epochs: u32,
    /// Learning rate, at least 0. Default 0.01.
    pub learning_rate: f64,
    /// Mean or sum over a batch. Default [`Reduction::Mean`].
    pub reduction: Reduction,
    /// First weights. Default [`Init::HeUniform`].
    pub init: Init,
    /// Seed of weights and of every epoch's order. Default 1.
    pub seed: u32,
    /// Where the training set lies. Default [`Residence::Device`].
    pub stream: Residence,
    /// Samples evaluated at once, at least 1. Default 256.
    pub evaluate_batch: u32,
    /// Forms of the kernels.
    pub forms: Forms,
}

impl Default for Options {
    /// The paper's: 784-256-10, batch 64, 10 epochs at 0.01, averaged; He-uniform, seed 1.
    fn default() -> Self {
        Self {
            hidden: vec![256],
            batch: 64,
            epochs: 10,
            learning_rate: 0.01,
            reduction: Reduction::Mean,
            init: Init::HeUniform,
            seed: 1,
            stream: Residence::Device,
            evaluate_batch: 256,
            forms: Forms::default(),
        }
    }
}

impl Options {
    /// Checks every option that does not depend on data or device.
    ///
    /// # Errors
    /// [`Error::Option`] for the first that is not allowed.
    pub fn check(&self) -> Result<()> {
        if self.hidden.len() > MAX_HIDDEN_LAYERS {
            return Err(Error::option("hidden", self.hidden.len(), format!("at most {MAX_HIDDEN_LAYERS} layers")));
        }
        if let Some(width) = self.hidden.iter().find(|width| !(1..=MAX_WIDTH).contains(width)) {
            return Err(Error::option("hidden", width, format!("1 to {MAX_WIDTH} units")));
        }
        for (name, value) in [("batch", self.batch), ("evaluate_batch", self.evaluate_batch), ("epochs", self.epochs)] {
            if value == 0 {
                return Err(Error::option(name, 0, "at least 1"));
            }
        }
        if !(self.learning_rate >= 0.0 && (self.learning_rate as f32).is_finite()) {
            return Err(Error::option("learning_rate", self.learning_rate, "0 to 3.4e38, finite in single precision"));
        }
        self.forms.check()
    }

    /// Widths of all layers, the inputs first, the classes last.
    pub fn sizes(&self, n_inputs: u32, n_classes: u32) -> Vec<u32> {
        [&[n_inputs], &self.hidden[..], &[n_classes]].concat()
    }
}
