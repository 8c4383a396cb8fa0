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
        /// Most bytes of positions that are kept on the device.
        device_bytes: impl Into<Option<u64>> = device_bytes.into(),
        /// Threads on the CPU; `None` for all cores.
        threads: impl Into<Option<usize>> = threads.into(),
    }

    /// Memory that [`build`](Self::build) takes; what an optimiser remembers comes on top when it is first used, and positions as far as there is room.
    ///
    /// # Errors
    /// None: every device has all sets of features.
    pub fn memory_needed(&self, _device: &Device) -> Result<Memory> {
        Ok(dispatch::memory_of_learn(self.features, None, 1))
    }

    /// Takes the memory on a device: 12 bytes a weight, and the optimiser's when it is first used. All weights are 0.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for threads that cannot be started; [`Error::OutOfMemory`](crate::Error::OutOfMemory) where weights and gradient do not
    /// fit; those of loading the kernels.
    pub fn build(self, device: &Device) -> Result<Sparse> {
        let memory = self.memory_needed(device)?;
        let engine = dispatch::learn(device, self.features, &self.options, &memory)?;
        Ok(Sparse { engine, memory })
    }
}

/// Weights of a set of features on a device, and what is computed with them: the loss of positions, its gradient, steps of an optimiser.
///
/// Everything that is summed is whole, so all back ends, numbers of threads and ways to divide positions into shards give the same bits. [`Learner`](super::learner)
/// does all of this by itself.
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

    /// Memory that was asked for; what an optimiser remembers came on top when it was first used, and positions as far as there was room.
    pub fn memory_needed(&self) -> &Memory {
        &self.memory
    }

    /// What the weights belong to.
    pub fn features(&self) -> FeatureSet {
        self.engine.features()
    }

    /// The weights, `[features.len()]`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn weights(&self) -> Result<Vec<f32>> {
        self.engine.weights()
    }

    /// Sets the weights, each rounded to a multiple of 2⁻³⁰.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for another number of weights; [`Error::Option`](crate::Error::Option) for one that is no number or not below 1,024.
    pub fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        self.engine.set_weights(weights)
    }

    /// One pass over shards with the present weights: their totals. With `gradient`, the gradient becomes the sum over these shards.
    ///
    /// Shards may be kept on the device and are known again by their addresses: see [`forget`](Self::forget). Their columns are checked when they come there, on the CPU in every pass.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for a shard whose columns do not belong together; [`Error::Option`](crate::Error::Option) for a loss without meaning, or
    /// a limit of memory that has no room for two parents; [`Error::Shape`](crate::Error::Shape) for so many children that a sum of the gradient may not fit into 64 bits;
    /// those of the device.
    pub fn pass(&mut self, shards: &[&Shard], loss: &Loss, gradient: bool) -> Result<Totals> {
        let whole: Vec<Selection<'_>> = shards.iter().map(|&shard| shard.into()).collect();
        self.pass_some(&whole, loss, gradient)
    }

    /// The same over some parents of each shard: a mini-batch. Shards that are known stay where they are, and of others these parents alone are copied.
    ///
    /// # Errors
    /// As [`pass`](Self::pass); [`Error::Shape`](crate::Error::Shape) for a parent that there is not, or that is named twice.
    pub fn pass_some(&mut self, parts: &[Selection<'_>], loss: &Loss, gradient: bool) -> Result<Totals> {
        let totals = self.engine.pass(parts, ColumnCheck::Needed, loss, gradient)?;
        if gradient {
            bound::check(&totals, loss.a, parts)?;
        }
        Ok(totals)
    }

    /// Forgets what was kept of shards: to be called before the next pass where one has been changed or dropped since.
    ///
    /// # Errors
    /// Those of the device.
    pub fn forget(&mut self) -> Result<()> {
        self.engine.forget()
    }

    /// The gradient of the last pass that computed it, in multiples of 2⁻³⁶, not divided by the number of children.
    ///
    /// # Errors
    /// Those of the device.
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

    /// One step of an optimiser with the gradient divided by `children`. An optimiser that remembers another number of arrays than there are begins with zeros.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for numbers without meaning, for L-BFGS, which works on the host, and where a weight grows to 1,024 or beyond, after
    /// which the weights are not to be used.
    pub fn update(&mut self, update: &Update, children: u64) -> Result<()> {
        self.engine.update(update, children)
    }

    /// Multiplies all weights but the pawn's, and rounds.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn scale(&mut self, factor: f32) -> Result<()> {
        self.engine.scale(factor)
    }

    /// The optimiser's memory: none, one or two arrays of `[features.len()]`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn memory(&self) -> Result<Vec<Vec<f32>>> {
        self.engine.memory()
    }

    /// Puts an optimiser's memory back.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for more than two arrays, or of another length.
    pub fn set_memory(&mut self, memory: &[Vec<f32>]) -> Result<()> {
        self.engine.set_memory(memory)
    }
}
