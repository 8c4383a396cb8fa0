//! What the two programs do differently.

use super::pieces::Product;
use super::{Layer, Real, Update};

/// How the formulas are computed: [`Sequential`](super::Sequential) or [`Parallel`](super::Parallel).
pub trait Program {
    /// Matrix product `out = op(a) op(b)`, as [`pieces::matmul`](super::pieces::matmul).
    ///
    /// # Panics
    /// If the length of a slice does not match the shape.
    fn matmul<T: Real>(a: &[T], b: &[T], out: &mut [T], shape: Product);

    /// Sum of each column, as [`pieces::column_sums`](super::pieces::column_sums).
    fn column_sums<T: Real>(values: &[T], out: &mut [T]);

    /// Sum of squares in double precision, as [`pieces::square_sum`](super::pieces::square_sum).
    fn square_sum<T: Real>(values: &[T]) -> f64;

    /// Calls `work(start, panel)` for panels of `values` `[rows, n]` that are whole rows and together all of them; `start` is the
    /// offset of the panel's first element.
    fn panels<T: Real>(values: &mut [T], n: usize, work: impl Fn(usize, &mut [T]) + Sync);

    /// Applies an update to a layer. `moments` are as many layers as the optimiser has moments.
    fn update<T: Real>(update: &Update<T>, layer: &mut Layer<T>, gradient: &Layer<T>, moments: Vec<&mut Layer<T>>);
}
