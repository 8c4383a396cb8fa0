//! The formulas, one function each, as plain loops over row-major slices.
//!
//! Each is the twin of a kernel. Sums are in the order of the index that they run over, from the first element on.

use super::{Activation, Real, RegressionLoss};

/// Shape of a matrix product: `op(a) [m, k]` times `op(b) [k, n]` is `[m, n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Whether `a` is stored as `[k, m]` and used transposed; else it is `[m, k]`.
    pub transpose_a: bool,
    /// Whether `b` is stored as `[n, k]` and used transposed; else it is `[k, n]`.
    pub transpose_b: bool,
}

impl Product {
    /// `[m, k]` times `[k, n]`, neither transposed.
    pub const fn new(m: usize, n: usize, k: usize) -> Self {
        Self { m, n, k, transpose_a: false, transpose_b: false }
    }

    /// The same with `a` stored as `[k, m]`.
    pub const fn transposed_a(self) -> Self {
        Self { transpose_a: true, ..self }
    }

    /// The same with `b` stored as `[n, k]`.
    pub const fn transposed_b(self) -> Self {
        Self { transpose_b: true, ..self }
    }

    /// Checks that three slices have the lengths of the shape.
    pub(super) fn check<T>(&self, a: &[T], b: &[T], out: &[T]) {
        let expected = (self.m * self.k, self.k * self.n, self.m * self.n);
        assert_eq!((a.len(), b.len(), out.len()), expected, "lengths of a product {self:?}");
    }
}

/// Pixels as the network takes them: byte / 255, rounded to single precision.
///
/// # Panics
/// If the lengths differ.
pub fn scale_pixels<T: Real>(pixels: &[u8], out: &mut [T]) {
    assert_eq!(pixels.len(), out.len(), "one value a pixel");
    let values: [T; 256] = std::array::from_fn(|byte| T::rounded(f64::from(byte as f32 / 255.0)));
    for (out, &pixel) in out.iter_mut().zip(pixels) {
        *out = values[usize::from(pixel)];
    }
}

/// Matrix product: `out = op(a) op(b)`.
///
/// # Panics
/// If the length of a slice does not match the shape.
pub fn matmul<T: Real>(a: &[T], b: &[T], out: &mut [T], shape: Product) {
    shape.check(a, b, out);
    let Product { m, n, k, transpose_a, transpose_b } = shape;
    let left = |row: usize, l: usize| if transpose_a { a[l * m + row] } else { a[row * k + l] };
    for (row, out) in (0..m).zip(out.chunks_exact_mut(n)) {
        if transpose_b {
            for (out, b) in out.iter_mut().zip(b.chunks_exact(k)) {
                *out = (0..k).fold(T::zero(), |sum, l| sum + left(row, l) * b[l]);
            }
        } else {
            out.fill(T::zero());
            for (l, b) in b.chunks_exact(n).enumerate() {
                let left = left(row, l);
                for (out, &b) in out.iter_mut().zip(b) {
                    *out += left * b;
                }
            }
        }
    }
}

/// Adds `bias` `[n]` to each row of `values` `[rows, n]`.
pub fn add_bias<T: Real>(values: &mut [T], bias: &[T]) {
    for row in values.chunks_exact_mut(bias.len()) {
        for (value, &bias) in row.iter_mut().zip(bias) {
            *value += bias;
        }
    }
}

/// Rectifier: `h = max(z, 0)`. NaN stays NaN.
pub fn relu<T: Real>(z: &[T], h: &mut [T]) {
    for (h, &z) in h.iter_mut().zip(z) {
        *h = if z <= T::zero() { T::zero() } else { z };
    }
}

/// Gradient through the rectifier: `dz = dh` where `z > 0`, else 0; also 0 at `z = 0`. `gradient` is `dh` before and `dz` after.
pub fn relu_backward<T: Real>(z: &[T], gradient: &mut [T]) {
    for (gradient, &z) in gradient.iter_mut().zip(z) {
        if z <= T::zero() {
            *gradient = T::zero();
        }
    }
}

/// An activation: `h = f(z)`.
pub fn activate<T: Real>(activation: Activation, z: &[T], h: &mut [T]) {
    for (h, &z) in h.iter_mut().zip(z) {
        *h = activation.value(z);
    }
}

/// Gradient through an activation: `dz = f'(z) dh`. `gradient` is `dh` before and `dz` after.
pub fn activate_backward<T: Real>(activation: Activation, z: &[T], gradient: &mut [T]) {
    for (gradient, &z) in gradient.iter_mut().zip(z) {
        *gradient *= activation.slope(z);
    }
}

/// Multiplies with the factors of a mask: of [`Dropout`](super::Dropout), forward and backward.
pub fn multiply<T: Real>(mask: &[T], values: &mut [T]) {
    for (value, &factor) in values.iter_mut().zip(mask) {
        *value *= factor;
    }
}

/// The largest value of a row.
fn largest<T: Real>(row: &[T]) -> T {
    row.iter().copied().fold(row[0], |most, value| if value > most { value } else { most })
}

/// Softmax of each row: `p = exp(z - max) / Σ exp(z - max)`. `z` and `p` are `[rows, n_classes]`.
pub fn softmax<T: Real>(z: &[T], p: &mut [T], n_classes: usize) {
    for (z, p) in z.chunks_exact(n_classes).zip(p.chunks_exact_mut(n_classes)) {
        let most = largest(z);
        let mut sum = T::zero();
        for (p, &z) in p.iter_mut().zip(z) {
            *p = (z - most).exp();
            sum += *p;
        }
        for p in p {
            *p /= sum;
        }
    }
}

/// Cross-entropy of each sample: `log Σ exp(z) - z[label]`, computed as `log Σ exp(z - max) - (z[label] - max)`.
/// `z` is `[rows, n_classes]`, `labels` and `losses` are `[rows]`.
pub fn losses<T: Real>(z: &[T], labels: &[u8], losses: &mut [T], n_classes: usize) {
    smoothed_losses(z, labels, losses, n_classes, T::zero());
}

/// Cross-entropy with smoothed labels `t = (1 - s) onehot(label) + s / n_classes`, `s` in [0, 1): `log Σ exp(z) - Σ t z`, computed from `z - max` as [`losses`],
/// which is that of `s = 0`. PyTorch's `CrossEntropyLoss(label_smoothing=s)`.
pub fn smoothed_losses<T: Real>(z: &[T], labels: &[u8], losses: &mut [T], n_classes: usize, smoothing: T) {
    let even = smoothing / T::rounded(n_classes as f64);
    for ((z, &label), loss) in z.chunks_exact(n_classes).zip(labels).zip(losses) {
        let most = largest(z);
        let sum = z.iter().fold(T::zero(), |sum, &z| sum + (z - most).exp());
        let mut of_target = z[usize::from(label)] - most;
        if smoothing > T::zero() {
            let of_all = z.iter().fold(T::zero(), |sum, &z| sum + (z - most));
            of_target = (T::one() - smoothing) * of_target + even * of_all;
        }
        *loss = sum.ln() - of_target;
    }
}

/// How the gradients of a batch's samples are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Their mean: divided by the number of samples of the batch, also for a short last one.
    #[default]
    Mean,
    /// Their sum, as in the paper's CPU program, which lacks the division, so that its step is `batch` times as long.
    Sum,
}

impl Reduction {
    /// The divisor of the gradients of a batch of `n` samples.
    fn divisor<T: Real>(self, n: usize) -> T {
        T::rounded(if self == Self::Mean { n as f64 } else { 1.0 })
    }
}

/// Gradient of the loss with respect to the logits, from the probabilities: `dz = (p - onehot(label)) / B`, or without the
/// division for a sum. `p` and `dz` are `[rows, n_classes]`, `B` is the number of rows.
pub fn cross_entropy_gradient<T: Real>(p: &[T], labels: &[u8], dz: &mut [T], n_classes: usize, reduction: Reduction) {
    smoothed_gradient(p, labels, dz, n_classes, (reduction, T::zero()));
}

/// The same of [`smoothed_losses`], with its `s` beside the reduction: `dz = (p - (1 - s) onehot(label) - s / n_classes) / B`.
pub fn smoothed_gradient<T: Real>(
    p: &[T],
    labels: &[u8],
    dz: &mut [T],
    n_classes: usize,
    (reduction, smoothing): (Reduction, T),
) {
    let divisor = reduction.divisor::<T>(labels.len());
    let even = smoothing / T::rounded(n_classes as f64);
    for ((p, &label), dz) in p.chunks_exact(n_classes).zip(labels).zip(dz.chunks_exact_mut(n_classes)) {
        for (class, (dz, &p)) in dz.iter_mut().zip(p).enumerate() {
            let onehot = if class == usize::from(label) { T::one() } else { T::zero() };
            *dz = (p - ((T::one() - smoothing) * onehot + even)) / divisor;
        }
    }
}

/// Softmax and gradient at once, from the logits: [`softmax`], then [`cross_entropy_gradient`].
pub fn softmax_cross_entropy_gradient<T: Real>(
    z: &[T],
    labels: &[u8],
    dz: &mut [T],
    n_classes: usize,
    reduction: Reduction,
) {
    let mut p = vec![T::zero(); z.len()];
    softmax(z, &mut p, n_classes);
    cross_entropy_gradient(&p, labels, dz, n_classes, reduction);
}

/// Loss of each sample of a regression: the mean of [`RegressionLoss::value`] over its outputs. `z` and `targets` are `[rows, n_outputs]`, `losses` is `[rows]`.
pub fn regression_losses<T: Real>(z: &[T], targets: &[T], losses: &mut [T], n_outputs: usize, loss: RegressionLoss) {
    let n = T::rounded(n_outputs as f64);
    for ((z, targets), of_row) in z.chunks_exact(n_outputs).zip(targets.chunks_exact(n_outputs)).zip(losses) {
        let sum = z.iter().zip(targets).fold(T::zero(), |sum, (&z, &target)| sum + loss.value(z - target));
        *of_row = sum / n;
    }
}

/// Gradient of [`regression_losses`] by the outputs, combined over the rows: `dz = ρ'(z - t) / n_outputs / B`, or without the last division for a sum. All are `[rows, n_outputs]`, `B` is the number of rows.
pub fn regression_gradient<T: Real>(
    z: &[T],
    targets: &[T],
    dz: &mut [T],
    n_outputs: usize,
    (loss, reduction): (RegressionLoss, Reduction),
) {
    let divisor = T::rounded(n_outputs as f64) * reduction.divisor::<T>(z.len() / n_outputs);
    for ((&z, &target), dz) in z.iter().zip(targets).zip(dz) {
        *dz = loss.slope(z - target) / divisor;
    }
}

/// Sum of each column of `values` `[rows, n]`, in the order of the rows; `out` is `[n]`.
pub fn column_sums<T: Real>(values: &[T], out: &mut [T]) {
    out.fill(T::zero());
    for row in values.chunks_exact(out.len()) {
        for (out, &value) in out.iter_mut().zip(row) {
            *out += value;
        }
    }
}

/// Sum of the squares of `values`, in double precision, in which it is finite for all finite values in single precision.
pub fn square_sum<T: Real>(values: &[T]) -> f64 {
    values.iter().map(|value| value.widened() * value.widened()).sum()
}

/// What gradients of norm `norm` are multiplied with so that it is at most `most`: `min(1, most / (norm + 1e-6))`, as PyTorch's `clip_grad_norm_`. For a norm that is no number it is 1.
pub fn clip_factor(norm: f64, most: f64) -> f64 {
    let factor = most / (norm + 1e-6);
    if factor < 1.0 { factor } else { 1.0 }
}

/// Gradient descent, `w -= lr g`, after which the gradients are reset to 0.
pub fn sgd_update<T: Real>(weights: &mut [T], gradients: &mut [T], learning_rate: T) {
    for (weight, gradient) in weights.iter_mut().zip(gradients) {
        *weight -= learning_rate * *gradient;
        *gradient = T::zero();
    }
}

/// The most probable class of each row of `z` `[rows, n_classes]`, the lowest among equals.
pub fn classes<T: Real>(z: &[T], n_classes: usize) -> Vec<u32> {
    let likeliest = |row: &[T]| (1..n_classes).fold(0, |most, class| if row[class] > row[most] { class } else { most });
    z.chunks_exact(n_classes).map(|row| likeliest(row) as u32).collect()
}

/// Number of samples whose most probable class is their label.
pub fn n_correct<T: Real>(z: &[T], labels: &[u8], n_classes: usize) -> usize {
    classes(z, n_classes).iter().zip(labels).filter(|&(&class, &label)| class == u32::from(label)).count()
}

/// Marks in `active` `[n]` the columns of `h` `[rows, n]` that hold a positive value. A unit without one over a whole set is dead.
pub fn mark_active<T: Real>(h: &[T], active: &mut [bool]) {
    for row in h.chunks_exact(active.len()) {
        for (active, &h) in active.iter_mut().zip(row) {
            *active |= h > T::zero();
        }
    }
}
