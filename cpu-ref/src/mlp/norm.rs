//! Layer norm (Ba et al. 2016): each row of a hidden layer's sums is brought to mean 0 and variance 1, then each unit has a gain and a shift. PyTorch's `LayerNorm` of the units.
//!
//! Batch norm (Ioffe and Szegedy 2015) does so with each column: in training with mean and variance of the batch, else with running ones. PyTorch's `BatchNorm1d`.

use super::Real;

/// Added to the variance.
pub const EPSILON: f64 = 1e-5;
/// The share of the present batch in running means and variances.
pub const MOMENTUM: f64 = 0.1;

/// Mean and variance of each unit of a batch norm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments<T> {
    /// `[n_units]`
    pub mean: Vec<T>,
    /// `[n_units]`
    pub variance: Vec<T>,
}

impl<T: Real> Moments<T> {
    /// Those of the columns of `z` `[rows, n_units]`, added row by row; the variance is the mean square of the distances from the mean.
    pub fn of_columns(z: &[T], n_units: usize) -> Self {
        let n = T::rounded((z.len() / n_units) as f64);
        let mut mean = vec![T::zero(); n_units];
        for row in z.chunks_exact(n_units) {
            mean.iter_mut().zip(row).for_each(|(sum, &z)| *sum += z);
        }
        mean.iter_mut().for_each(|sum| *sum /= n);
        let mut variance = vec![T::zero(); n_units];
        for row in z.chunks_exact(n_units) {
            for ((sum, &z), &mean) in variance.iter_mut().zip(row).zip(&mean) {
                *sum += (z - mean) * (z - mean);
            }
        }
        variance.iter_mut().for_each(|sum| *sum /= n);
        Self { mean, variance }
    }

    /// Moves running values a tenth of the way to those of a batch of `n_rows`, whose variance is then a sum of squares by `n_rows - 1`.
    ///
    /// # Panics
    /// If the batch has fewer than two rows.
    pub fn follow(&mut self, batch: &Self, n_rows: usize) {
        assert!(n_rows >= 2, "a batch of at least two rows");
        let [new, old] = [MOMENTUM, 1.0 - MOMENTUM].map(T::rounded);
        let unbiased = T::rounded(n_rows as f64 / (n_rows - 1) as f64);
        for (mean, &of_batch) in self.mean.iter_mut().zip(&batch.mean) {
            *mean = old * *mean + new * of_batch;
        }
        for (variance, &of_batch) in self.variance.iter_mut().zip(&batch.variance) {
            *variance = old * *variance + new * (of_batch * unbiased);
        }
    }

    /// `1 / √(variance + 1e-5)` of a unit.
    fn inverse(&self, unit: usize) -> T {
        T::one() / (self.variance[unit] + T::rounded(EPSILON)).sqrt()
    }

    /// `x = (z - mean) / √(variance + 1e-5)` of each column; `z` and `x` are `[rows, n_units]`.
    pub fn normalise(&self, z: &[T], x: &mut [T]) {
        let inverses: Vec<T> = (0..self.mean.len()).map(|unit| self.inverse(unit)).collect();
        for (z, x) in z.chunks_exact(inverses.len()).zip(x.chunks_exact_mut(inverses.len())) {
            for (((x, &z), &mean), &inverse) in x.iter_mut().zip(z).zip(&self.mean).zip(&inverses) {
                *x = (z - mean) * inverse;
            }
        }
    }

    /// Gradient through gain, shift and [`normalise`](Self::normalise) with the moments of the batch itself, of `n_rows`: `dz = gain / √(variance + 1e-5) (dy - mean(dy) - x mean(dy x))`, means of a column. `gradient` is `dy` of
    /// some rows before and their `dz` after, `x` the rows' results; `sums` are the columns' sums of `dy x` and of `dy`, the gradients of gain and shift.
    pub fn normalise_backward(&self, x: &[T], gain: &[T], sums: [&[T]; 2], n_rows: usize, gradient: &mut [T]) {
        let (n_units, n) = (gain.len(), T::rounded(n_rows as f64));
        let factors: Vec<T> = (0..n_units).map(|unit| gain[unit] * self.inverse(unit)).collect();
        for (x, gradient) in x.chunks_exact(n_units).zip(gradient.chunks_exact_mut(n_units)) {
            for (unit, (gradient, &x)) in gradient.iter_mut().zip(x).enumerate() {
                *gradient = factors[unit] * (*gradient - sums[1][unit] / n - x * (sums[0][unit] / n));
            }
        }
    }
}

/// Mean of a row, and `1 / √(variance + 1e-5)`; the variance is the mean square of the distances from the mean.
fn moments<T: Real>(z: &[T]) -> (T, T) {
    let n = T::rounded(z.len() as f64);
    let mean = z.iter().fold(T::zero(), |sum, &z| sum + z) / n;
    let variance = z.iter().fold(T::zero(), |sum, &z| sum + (z - mean) * (z - mean)) / n;
    (mean, T::one() / (variance + T::rounded(EPSILON)).sqrt())
}

/// Each row of `z` `[rows, n_units]` with mean 0 and variance 1: `x = (z - mean) / √(variance + 1e-5)`, to `x` of the same shape.
pub fn normalise<T: Real>(z: &[T], x: &mut [T], n_units: usize) {
    for (z, x) in z.chunks_exact(n_units).zip(x.chunks_exact_mut(n_units)) {
        let (mean, inverse) = moments(z);
        for (x, &z) in x.iter_mut().zip(z) {
            *x = (z - mean) * inverse;
        }
    }
}

/// `y = gain x + shift`; `x` and `y` are `[rows, n_units]`, `gain` and `shift` `[n_units]`.
pub fn scale_and_shift<T: Real>(x: &[T], gain: &[T], shift: &[T], y: &mut [T]) {
    for (x, y) in x.chunks_exact(gain.len()).zip(y.chunks_exact_mut(gain.len())) {
        for (((y, &x), &gain), &shift) in y.iter_mut().zip(x).zip(gain).zip(shift) {
            *y = gain * x + shift;
        }
    }
}

/// Gradient through both: `dz = (a - mean(a) - x mean(a x)) / √(variance + 1e-5)` with `a = gain dy`, means of a row; `z` and `x` are those of [`normalise`]. `gradient` is `dy` before and `dz` after.
pub fn normalise_backward<T: Real>(z: &[T], x: &[T], gain: &[T], gradient: &mut [T]) {
    let n_units = gain.len();
    let n = T::rounded(n_units as f64);
    let rows = z.chunks_exact(n_units).zip(x.chunks_exact(n_units));
    for ((z, x), gradient) in rows.zip(gradient.chunks_exact_mut(n_units)) {
        let (_, inverse) = moments(z);
        let (mut of_a, mut of_ax) = (T::zero(), T::zero());
        for ((gradient, &gain), &x) in gradient.iter_mut().zip(gain).zip(x) {
            *gradient *= gain;
            of_a += *gradient;
            of_ax += *gradient * x;
        }
        for (gradient, &x) in gradient.iter_mut().zip(x) {
            *gradient = (*gradient - of_a / n - x * (of_ax / n)) * inverse;
        }
    }
}
