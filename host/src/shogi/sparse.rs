//! What the learner uses, for those who want to go step by step.

use super::bound;
use super::dispatch;
use super::engines::learn::Learn;
use super::features::FeatureSet;
use super::loss::{Loss, Totals};
use super::options::SparseOptions;
use super::selection::{ColumnCheck, Selection};
use super::shard::Shard;
use super::update::Update;
use crate::runtime::setters::setters;
use crate::{Device, Memory, Result};

/// Options of a [`Sparse`]; made by [`Sparse::builder`].
#[derive(Clone, Debug)]
pub struct SparseBuilder {
    features: FeatureSet,
    options: SparseOptions,
}

impl SparseBuilder {
    /// Sets all options at once.
    #[must_use]
    pub fn options(mut self, options: SparseOptions) -> Self {
        self.options = options;
        self
    }

    setters! {
        /// Maximum number of bytes of positions kept on the device.
        device_bytes: impl Into<Option<u64>> = device_bytes.into(),
        /// Threads on the CPU; `None` for all cores.
        threads: impl Into<Option<usize>> = threads.into(),
    }

    /// Memory that [`build`](Self::build) takes. An optimiser's state takes additional memory from its first use on, and positions as far as there is room.
    ///
    /// # Errors
    /// None: every device has all sets of features.
    pub fn memory_needed(&self, _device: &Device) -> Result<Memory> {
        Ok(dispatch::memory_of_learn(self.features, None, 1))
    }

    /// Allocates the memory on a device: 12 bytes per weight, and the optimiser's at its first use. All weights are 0.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for threads that cannot be started; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if weights and gradient do not fit;
    /// errors of loading the kernels.
    pub fn build(self, device: &Device) -> Result<Sparse> {
        let memory = self.memory_needed(device)?;
        let engine = dispatch::learn(device, self.features, &self.options, &memory)?;
        Ok(Sparse { engine, memory })
    }
}

/// Weights of a set of features on a device, with the operations on them: the loss of positions, its gradient, steps of an optimiser.
///
/// All sums are of integers, so all back ends, numbers of threads and divisions into shards give the same bits. [`Learner`](super::learner) uses the same operations.
///
/// ```
/// use warpplay::Device;
/// use warpplay::shogi::{FeatureSet, Loss, Shard, Sparse};
/// let mut sparse = Sparse::builder(FeatureSet::PieceSquare).build(&Device::cpu())?;
/// sparse.set_weights(&FeatureSet::PieceSquare.weights_of(&[3.0; 12]))?;
/// let totals = sparse.pass(&[&Shard::default()], &Loss::default(), true)?;
/// assert_eq!(totals.children, 0);
/// # Ok::<(), warpplay::Error>(())
/// ```
pub struct Sparse {
    engine: Box<dyn Learn>,
    memory: Memory,
}

impl std::fmt::Debug for Sparse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sparse").field("features", &self.engine.features()).finish_non_exhaustive()
    }
}

impl Sparse {
    /// A builder for a set of features.
    pub fn builder(features: FeatureSet) -> SparseBuilder {
        SparseBuilder { features, options: SparseOptions::default() }
    }

    /// Memory that was requested, without the optimiser's state and positions.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// The set of features of the weights.
    pub fn features(&self) -> FeatureSet {
        self.engine.features()
    }

    /// The weights, `[features.len()]`.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn weights(&self) -> Result<Vec<f32>> {
        self.engine.weights()
    }

    /// Sets the weights, each rounded to a multiple of 2⁻³⁰.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for another number of weights; [`Error::Option`](crate::Error::Option) for a weight that is not finite or not below 1,024.
    pub fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        self.engine.set_weights(weights)
    }

    /// Makes one pass over shards with the present weights and returns their totals. With `gradient`, the gradient becomes the sum over these shards.
    ///
    /// Shards may be kept on the device and are recognised by their addresses: see [`forget`](Self::forget). Their columns are checked when they are copied to the device,
    /// on the CPU in every pass.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for a shard with inconsistent columns; [`Error::Option`](crate::Error::Option) for an invalid loss, or a memory limit that has
    /// no room for two parents; [`Error::Shape`](crate::Error::Shape) for so many children that a sum of the gradient may not fit into 64 bits; errors of the device.
    pub fn pass(&mut self, shards: &[&Shard], loss: &Loss, gradient: bool) -> Result<Totals> {
        let whole: Vec<Selection<'_>> = shards.iter().map(|&shard| shard.into()).collect();
        self.pass_some(&whole, loss, gradient)
    }

    /// As [`pass`](Self::pass), over some parents of each shard: a mini-batch. Shards on the device stay there; of other shards, only these parents are copied.
    ///
    /// # Errors
    /// As [`pass`](Self::pass); [`Error::Shape`](crate::Error::Shape) for a parent that does not exist, or that is named twice.
    pub fn pass_some(&mut self, parts: &[Selection<'_>], loss: &Loss, gradient: bool) -> Result<Totals> {
        let totals = self.engine.pass(parts, ColumnCheck::Needed, loss, gradient)?;
        if gradient {
            bound::check(&totals, loss.a, parts)?;
        }
        Ok(totals)
    }

    /// Forgets all kept shards. Call it before the next pass if a shard was changed or dropped since the last.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn forget(&mut self) -> Result<()> {
        self.engine.forget()
    }

    /// The gradient of the last pass that computed it, in multiples of 2⁻³⁶, not divided by the number of children.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn gradient(&self) -> Result<Vec<i64>> {
        self.engine.gradient()
    }

    /// Replaces the gradient.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for another length.
    pub fn set_gradient(&mut self, gradient: &[i64]) -> Result<()> {
        self.engine.set_gradient(gradient)
    }

    /// One step of an optimiser with the gradient divided by `children`. If the optimiser's number of arrays differs from the present one, its state begins with zeros.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for invalid numbers, for L-BFGS, which works on the host, and if a weight reaches 1,024, after which the weights must not be used.
    pub fn update(&mut self, update: &Update, children: u64) -> Result<()> {
        self.engine.update(update, children)
    }

    /// Multiplies all weights except the pawn's, and rounds.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn scale(&mut self, factor: f32) -> Result<()> {
        self.engine.scale(factor)
    }

    /// The optimiser's memory: none, one or two arrays of `[features.len()]`.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn memory(&self) -> Result<Vec<Vec<f32>>> {
        self.engine.memory()
    }

    /// Restores an optimiser's memory.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for more than two arrays, or arrays of another length.
    pub fn set_memory(&mut self, memory: &[Vec<f32>]) -> Result<()> {
        self.engine.set_memory(memory)
    }
}
