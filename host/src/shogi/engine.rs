//! What a back end computes of shards, for any set of features.

use super::{FeatureSet, Shard};
use crate::Result;
use crate::shogi::sparse::{Loss, Update};

/// Sums over children and parents, whole numbers all: the same in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Σ T over the children that count, in multiples of 2⁻³⁶.
    pub loss: i128,
    /// Children that count.
    pub children: u64,
    /// Parents with at least one.
    pub parents: u64,
    /// Expected number of parents whose played move ranks first, ties broken at random, in multiples of 2⁻³⁶.
    pub first: i128,
    /// The same among the first three.
    pub first_three: i128,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.loss += other.loss;
        self.children += other.children;
        self.parents += other.parents;
        self.first += other.first;
        self.first_three += other.first_three;
    }
}

const ONE: f64 = warpplay_gpu::shogi::fixed::ONE;

impl Totals {
    /// The objective; NaN without children.
    pub fn j(&self) -> f64 {
        self.loss as f64 / ONE / self.children as f64
    }

    /// Share of parents whose played move ranks first; NaN without parents.
    pub fn agreement(&self) -> f64 {
        self.first as f64 / ONE / self.parents as f64
    }

    /// Share of parents whose played move is among the first three.
    pub fn agreement_of_three(&self) -> f64 {
        self.first_three as f64 / ONE / self.parents as f64
    }
}

/// A back end's state for one set of features: weights, the optimiser's memory, a gradient being summed.
pub(in crate::shogi) trait Engine: Send {
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
    /// An engine may keep what it has copied of a shard, and know it again by its place in memory: see [`forget`](Self::forget).
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
