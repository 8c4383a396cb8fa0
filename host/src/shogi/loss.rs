//! Which children count, and the sums that they add up to.

use crate::{Error, Result};

/// Which children count, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Slope of the sigmoid.
    pub a: f64,
    /// Siblings whose evaluation differs from the played child's by more than this do not count; infinite to count all.
    pub window: f64,
    /// Maximum number of siblings of a parent that count, drawn by a hash of seed, game and half-move; 0 for all. Child 0 always counts.
    pub siblings: u32,
    /// Seed of the draw.
    pub seed: u64,
}

impl Loss {
    /// Checks that the numbers are meaningful.
    ///
    /// # Errors
    /// [`Error::Option`] names the number.
    pub fn check(&self) -> Result<()> {
        // Terms of the gradient are at most a / 4 and counted in multiples of 2⁻³⁶. Up to this slope the sums over some 200,000 children fit into 64 bits for any positions; beyond
        // that `bound` checks.
        if !(self.a > 0.0 && self.a <= 64.0) {
            return Err(Error::option("a", self.a, "above 0, at most 64"));
        }
        if self.window.is_nan() || self.window < 0.0 {
            return Err(Error::option("window", self.window, "0 or more, inf for all"));
        }
        Ok(())
    }
}

impl Default for Loss {
    fn default() -> Self {
        Self { a: 3.0, window: f64::INFINITY, siblings: 0, seed: 0 }
    }
}

/// Sums over children and parents. All are integers, so they do not depend on the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Σ T over the children that count, in multiples of 2⁻³⁶.
    pub loss: i128,
    /// Number of children that count.
    pub children: u64,
    /// Number of parents with at least one such child.
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
