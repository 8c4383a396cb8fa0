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
    /// Atomic additions, one a value: the order, so the last bits, differ from run to run.
    Atomic = "atomic",
    /// A block a column, a partial sum a thread, an atomic addition a thread: the published kernel 6.
    AtomicThread = "atomic_thread",
    /// The same with an atomic addition a block.
    AtomicBlock = "atomic_block",
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
    /// How the losses of a batch are summed.
    LossForm, "loss":
    /// One a block from the logits, then a reduction in a fixed order.
    Tree = "tree",
    /// A thread a sample from the probabilities, added atomically to one float: the published form.
    Atomic = "atomic",
}

named! {
    /// Where the mean over a batch divides.
    Divide, "divide":
    /// In the loss gradient.
    Gradient = "gradient",
    /// In the update, which takes the learning rate divided by the batch: the published kernel 7.
    Update = "update",
}

named! {
    /// Type in which the matrix product and the column sums add up.
    Accumulate, "accumulate":
    /// Single precision.
    F32 = "f32",
    /// Double precision, rounded once at the end.
    F64 = "f64",
}

/// The forms of the kernels: the paper's, and others of each to compare with.
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
    /// The sum of the losses.
    #[serde(default = "LossForm::first")]
    pub loss: LossForm,
    /// The mean.
    #[serde(default = "Divide::first")]
    pub divide: Divide,
}

impl Default for Forms {
    /// What gives the same bits every time: 256 threads, tiles of 16, tree sums, fused gradient, f32. [`Forms::published`] are the paper's.
    fn default() -> Self {
        Self {
            block: 256,
            tile: 16,
            matmul: Matmul::Tiled,
            column_sums: ColumnSums::Tree,
            softmax: SoftmaxForm::Fused,
            accumulate: Accumulate::F32,
            loss: LossForm::Tree,
            divide: Divide::Gradient,
        }
    }
}

impl LossForm {
    /// That of a file of before there was a choice.
    fn first() -> Self {
        Self::Tree
    }
}

impl Divide {
    /// That of a file of before there was a choice.
    fn first() -> Self {
        Self::Gradient
    }
}

impl Forms {
    /// Those of the published program. Its product is the plain one: the tiled kernel is there, but not used (section 2.2, decision 2). Softmax and gradient are two kernels
    /// (section 1.3, kernels 3 and 4), the bias gradients are added atomically by every thread of a block a column (kernel 6), the mean is taken in the update (kernel 7), and the
    /// losses are added atomically to one float (section 2.2, decision 1).
    pub fn published() -> Self {
        Self {
            matmul: Matmul::Plain,
            column_sums: ColumnSums::AtomicThread,
            softmax: SoftmaxForm::Separate,
            loss: LossForm::Atomic,
            divide: Divide::Update,
            ..Self::default()
        }
    }

    /// Whether a training gives the same bits every time: no atomic addition whose order depends on the threads.
    pub fn is_exact(&self) -> bool {
        !matches!(self.column_sums, ColumnSums::Atomic | ColumnSums::AtomicThread) && self.loss != LossForm::Atomic
    }

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
        let atomic = !matches!(self.column_sums, ColumnSums::Tree | ColumnSums::Warp);
        if self.accumulate == Accumulate::F64 && atomic {
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
    /// Seed of weights and of every epoch's order; 32 bits, as in the publication's kernels. Default 1.
    pub seed: u32,
    /// Where the training set lies. Default [`Residence::Device`].
    pub stream: Residence,
    /// Samples evaluated at once, at least 1. Default 256.
    pub evaluate_batch: u32,
    /// Steps between two readings of the losses, at least 1: each waits for the device, and on a GPU only then can the caller stop. Default 64; the published program
    /// reads after every step.
    #[serde(default = "every_64_steps")]
    pub read_every: u32,
    /// Forms of the kernels.
    pub forms: Forms,
}

fn every_64_steps() -> u32 {
    64
}

impl Default for Options {
    /// The paper's: 784-256-10, batch 64, 10 epochs at 0.01, averaged; He-uniform, seed 1, which it does not tell.
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
            read_every: every_64_steps(),
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
        let counts = [
            ("batch", self.batch),
            ("evaluate_batch", self.evaluate_batch),
            ("epochs", self.epochs),
            ("read_every", self.read_every),
        ];
        for (name, value) in counts {
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
