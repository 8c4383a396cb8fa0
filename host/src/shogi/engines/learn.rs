//! What an engine computes of shards, for any set of features.

use crate::shogi::features::FeatureSet;
use crate::shogi::loss::{Loss, Totals};
use crate::shogi::shard::Shard;
use crate::shogi::update::{MOST, Optimizer, Update};
use crate::{Error, Result};

/// A back end's state for one set of features: weights, the optimiser's memory, a gradient being summed.
pub(in crate::shogi) trait Learn: Send {
    /// What the weights belong to.
    fn features(&self) -> FeatureSet;
    /// The weights, `[features.len()]`.
    fn weights(&self) -> Result<Vec<f32>>;
    /// Those that are values of pieces, which come first: `[features.n_values()]`.
    fn values(&self) -> Result<Vec<f32>>;
    /// Sets the weights, each rounded to a multiple of 2⁻³⁰.
    fn set_weights(&mut self, weights: &[f32]) -> Result<()>;
    /// One pass over shards with the present weights: their totals. With `gradient`, the gradient becomes the sum over these shards.
    ///
    /// An engine may keep what it has copied of a shard, and know it again by its address: see [`forget`](Self::forget).
    fn pass(&mut self, shards: &[&Shard], loss: &Loss, gradient: bool) -> Result<Totals>;
    /// Forgets what was kept of shards: to be called before the next pass where one has been changed or dropped since.
    fn forget(&mut self) -> Result<()> {
        Ok(())
    }
    /// The summed gradient of the last pass, in multiples of 2⁻³⁶, not divided by the number of children.
    fn gradient(&self) -> Result<Vec<i64>>;
    /// Replaces the gradient (by the sum over ranks).
    fn set_gradient(&mut self, gradient: &[i64]) -> Result<()>;
    /// One step of an optimiser with the gradient divided by `children`. An optimiser that remembers another number of arrays than there are begins with zeros.
    /// Fails where a weight grows to 1,024 or beyond, after which the weights are not to be used.
    fn update(&mut self, update: &Update, children: u64) -> Result<()>;
    /// Multiplies all weights but the fixed one (scale constraint), and rounds.
    fn scale(&mut self, factor: f32) -> Result<()>;
    /// The optimiser's memory, for checkpoints: none, one or two arrays of `[features.len()]`.
    fn memory(&self) -> Result<Vec<Vec<f32>>>;
    /// Puts it back.
    fn set_memory(&mut self, memory: &[Vec<f32>]) -> Result<()>;
}

/// A step or factor that made a weight too large.
pub(super) fn too_large(what: &'static str, value: f32) -> Error {
    Error::option(what, value, format!("a smaller one: a weight has grown to {MOST} or beyond"))
}

/// L-BFGS is no step of an engine.
pub(super) fn on_the_host() -> Error {
    Error::option("optimizer", Optimizer::Lbfgs, "sign, sgd, momentum, adagrad, adam: lbfgs works on the host")
}

/// Refuses an optimiser's memory of another shape.
pub(super) fn check_memory(features: FeatureSet, memory: &[Vec<f32>]) -> Result<()> {
    if memory.len() > 2 {
        return Err(Error::shape("memory of an optimiser", "at most 2 arrays", memory.len()));
    }
    match memory.iter().find(|array| array.len() != features.len()) {
        Some(array) => Err(Error::shape(format!("memory of an optimiser of {features}"), features.len(), array.len())),
        None => Ok(()),
    }
}
