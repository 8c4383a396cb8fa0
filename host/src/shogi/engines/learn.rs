//! What an engine computes of shards, for any set of features.

use std::any::Any;
use std::sync::Arc;

use warpplay_gpu::shogi::sparse::exchange::ROW;

use crate::shogi::features::FeatureSet;
use crate::shogi::loss::{Loss, Totals};
use crate::shogi::selection::{ColumnCheck, Selection};
use crate::shogi::update::{MOST, Optimizer, Update};
use crate::{Device, Error, Result};

/// A back end's state for one set of features: weights, the optimiser's memory, a gradient being summed.
pub(in crate::shogi) trait Learn: Send {
    /// The set of features of the weights.
    fn features(&self) -> FeatureSet;
    /// The weights, `[features.len()]`.
    fn weights(&self) -> Result<Vec<f32>>;
    /// The weights that are values of pieces, which come first: `[features.n_values()]`.
    fn values(&self) -> Result<Vec<f32>>;
    /// Sets the weights, each rounded to a multiple of 2⁻³⁰.
    fn set_weights(&mut self, weights: &[f32]) -> Result<()>;
    /// Makes one pass over parents with the present weights and returns their totals. With `gradient`, the gradient becomes the sum over these parents.
    ///
    /// An engine may keep a copy of a shard and recognise the shard by its address: see [`forget`](Self::forget).
    fn pass(&mut self, parts: &[Selection<'_>], check: ColumnCheck, loss: &Loss, gradient: bool) -> Result<Totals>;
    /// Forgets all kept shards. Called before the next pass if a shard was changed or dropped since the last.
    fn forget(&mut self) -> Result<()> {
        Ok(())
    }
    /// The summed gradient of the last pass, in multiples of 2⁻³⁶, not divided by the number of children.
    fn gradient(&self) -> Result<Vec<i64>>;
    /// Replaces the gradient.
    fn set_gradient(&mut self, gradient: &[i64]) -> Result<()>;
    /// Rows of [`ROW`] weights in which the gradient is not all 0, ascending.
    fn touched(&mut self) -> Result<Vec<u32>>;
    /// The gradient in some rows, one after the other; beyond the last weight 0.
    fn rows(&mut self, rows: &[u32]) -> Result<Vec<i64>>;
    /// Replaces the gradient in some rows, each named once, by `[rows.len() * ROW]` numbers.
    fn set_rows(&mut self, rows: &[u32], values: &[i64]) -> Result<()>;
    /// Reserves this many bytes of the device's memory for rows of gradients.
    fn reserve(&mut self, _bytes: u64) {}
    /// The device whose memory holds the gradient, if [`lend_rows`](Self::lend_rows) is supported.
    fn lends_on(&self) -> Option<Device> {
        None
    }
    /// Copies the gradient in some rows to memory that other engines on the device can read. The copy is complete on return and is not written again.
    fn lend_rows(&mut self, _rows: &[u32]) -> Result<Lent> {
        Err(in_host_memory())
    }
    /// As [`lend_rows`](Self::lend_rows), for engines of other processes on the same GPU: returns the memory, which must be kept until they have read it, and its handle.
    fn export_rows(&mut self, _rows: &[u32]) -> Result<(Lent, Vec<u8>)> {
        Err(in_host_memory())
    }
    /// Adds the same rows exported by engines of other processes, by their handles. Their memory is no longer read when the call returns.
    fn add_exported(&mut self, _rows: &[u32], _handles: &[&[u8]]) -> Result<()> {
        Err(in_host_memory())
    }
    /// Adds the same rows lent by other engines on the device, each named once. Their memory is no longer read when the call returns.
    fn add_lent(&mut self, _rows: &[u32], _others: &[Lent]) -> Result<()> {
        Err(in_host_memory())
    }
    /// One step of an optimiser with the gradient divided by `children`. If the optimiser's number of arrays differs from the present one, its state begins with zeros.
    /// Fails if a weight reaches 1,024, after which the weights must not be used.
    fn update(&mut self, update: &Update, children: u64) -> Result<()>;
    /// Multiplies all weights except the fixed one (scale constraint), and rounds.
    fn scale(&mut self, factor: f32) -> Result<()>;
    /// The optimiser's memory, for checkpoints: none, one or two arrays of `[features.len()]`.
    fn memory(&self) -> Result<Vec<Vec<f32>>>;
    /// Restores the optimiser's memory.
    fn set_memory(&mut self, memory: &[Vec<f32>]) -> Result<()>;
}

fn in_host_memory() -> Error {
    Error::Order { what: "gradient of an engine in host memory", reason: "it is not lent: exchange rows".into() }
}

/// Rows of a gradient in a device's memory, for other engines on that device.
pub(in crate::shogi) type Lent = Arc<dyn Any + Send + Sync>;

/// Checks that the rows exist and that the number of values is theirs.
pub(super) fn check_rows(features: FeatureSet, rows: &[u32], n_values: usize) -> Result<()> {
    let n_rows = features.len().div_ceil(ROW as usize);
    if let Some(row) = rows.iter().find(|&&row| row as usize >= n_rows) {
        return Err(Error::shape("row of a gradient", format!("below {n_rows}"), row));
    }
    if n_values != rows.len() * ROW as usize {
        return Err(Error::shape("values of rows", rows.len() * ROW as usize, n_values));
    }
    Ok(())
}

/// The error for a step or factor that made a weight too large.
pub(super) fn too_large(what: &'static str, value: f32) -> Error {
    Error::option(what, value, format!("a smaller one: a weight has grown to {MOST} or beyond"))
}

/// The error for L-BFGS, which engines do not support.
pub(super) fn on_the_host() -> Error {
    Error::option("optimizer", Optimizer::Lbfgs, "sign, gd, momentum, adagrad, adam: lbfgs works on the host")
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
