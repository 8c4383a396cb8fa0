//! Layer norm (Ba et al. 2016): each row of a hidden layer's sums is brought to mean 0 and variance 1, then each unit has a gain and a shift. PyTorch's `LayerNorm` of the units.

use super::Real;

/// Added to the variance.
pub const EPSILON: f64 = 1e-5;

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
