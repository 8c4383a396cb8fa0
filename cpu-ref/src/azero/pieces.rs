//! The formulas of one position, one function each, on row-major slices.

use nalgebra::{DMatrixView, DMatrixViewMut, Dyn};

use crate::mlp::Real;

/// The term that a norm adds to a variance before taking the square root.
pub const EPSILON: f64 = 1e-3;

/// Sides of a product below which plain loops are used: for these, nalgebra replaces its fast product by one that assumes unit strides.
const LEAST_SIDE: usize = 8;

/// Parameters of a convolution, `weight` `[n_outputs, n_inputs, side, side]`, or of a linear layer, `[n_outputs, n_inputs]`.
#[derive(Clone, Copy, Debug)]
pub struct Affine<'a, T> {
    /// Outputs first.
    pub weight: &'a [T],
    /// `[n_outputs]`.
    pub bias: &'a [T],
}

/// Parameters and running statistics of a norm, all `[channels]`.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a, T> {
    /// Factor.
    pub weight: &'a [T],
    /// Term.
    pub bias: &'a [T],
    /// Running mean.
    pub mean: &'a [T],
    /// Running variance.
    pub variance: &'a [T],
}

/// A 3×3 convolution by its definition, with zeros around the board; `x` is `[n_inputs, rows, columns]`, `out` `[n_outputs, rows, columns]`. It is slow, and serves to
/// explain and test [`patches`] followed by [`matmul`].
pub fn convolution<T: Real>(x: &[T], conv: Affine<'_, T>, (rows, columns): (usize, usize), out: &mut [T]) {
    let cells = rows * columns;
    let n_inputs = x.len() / cells;
    for (output, out) in out.chunks_exact_mut(cells).enumerate() {
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = T::zero();
                for input in 0..n_inputs {
                    for (down, right) in (0..9).map(|at| (at / 3, at % 3)) {
                        // The kernel's middle is at 1, 1.
                        let (from_row, from_column) = ((row + down).wrapping_sub(1), (column + right).wrapping_sub(1));
                        if from_row < rows && from_column < columns {
                            let weight = conv.weight[((output * n_inputs + input) * 3 + down) * 3 + right];
                            sum += weight * x[input * cells + from_row * columns + from_column];
                        }
                    }
                }
                out[row * columns + column] = sum + conv.bias[output];
            }
        }
    }
}

/// Copies the values of each square of `x` `[n_inputs, rows, columns]` and of its neighbours, 0 beyond the border: `out` is `[n_inputs · 9, rows · columns]`, and the
/// weights `[n_outputs, n_inputs · 9]` times it are the convolution.
pub fn patches<T: Real>(x: &[T], (rows, columns): (usize, usize), out: &mut [T]) {
    let cells = rows * columns;
    for (number, out) in out.chunks_exact_mut(cells).enumerate() {
        let (x, down, right) = (&x[number / 9 * cells..][..cells], number / 3 % 3, number % 3);
        out.fill(T::zero());
        for row in (1 - down.min(1))..rows.min(rows + 1 - down) {
            let from = &x[(row + down - 1) * columns..][..columns];
            let to = &mut out[row * columns..][..columns];
            match right {
                0 => to[1..].copy_from_slice(&from[..columns - 1]),
                1 => to.copy_from_slice(from),
                _ => to[..columns - 1].copy_from_slice(&from[1..]),
            }
        }
    }
}

/// Matrix product `out = a b`: `a` is `[m, k]`, `b` `[k, n]`, `out` `[m, n]`.
///
/// # Panics
/// If a slice has another length than that.
pub fn matmul<T: Real>(a: &[T], b: &[T], out: &mut [T], (m, n, k): (usize, usize, usize)) {
    assert_eq!((a.len(), b.len(), out.len()), (m * k, k * n, m * n), "lengths of a product");
    if m.min(n).min(k) < LEAST_SIDE {
        for (a, out) in a.chunks_exact(k).zip(out.chunks_exact_mut(n)) {
            out.fill(T::zero());
            for (&a, b) in a.iter().zip(b.chunks_exact(n)) {
                for (out, &b) in out.iter_mut().zip(b) {
                    *out += a * b;
                }
            }
        }
        return;
    }
    let a = DMatrixView::<T, Dyn, Dyn>::from_slice_with_strides(a, m, k, k, 1);
    let b = DMatrixView::<T, Dyn, Dyn>::from_slice_with_strides(b, k, n, n, 1);
    DMatrixViewMut::<T, Dyn, Dyn>::from_slice_with_strides_mut(out, m, n, n, 1).gemm(T::one(), &a, &b, T::zero());
}

/// Adds its bias to every channel of `x`, `[channels, cells]` of `cells` values each.
pub fn add_bias<T: Real>(x: &mut [T], bias: &[T], cells: usize) {
    for (x, &bias) in x.chunks_exact_mut(cells).zip(bias) {
        x.iter_mut().for_each(|x| *x += bias);
    }
}

/// A norm with running statistics: `out = (x - mean) / √(variance + EPSILON) · weight + bias`, both `[channels, cells]`.
pub fn normalize<T: Real>(x: &[T], norm: Norm<'_, T>, cells: usize, out: &mut [T]) {
    let epsilon = T::rounded(EPSILON);
    for (channel, (x, out)) in x.chunks_exact(cells).zip(out.chunks_exact_mut(cells)).enumerate() {
        let (mean, weight, bias) = (norm.mean[channel], norm.weight[channel], norm.bias[channel]);
        let deviation = (norm.variance[channel] + epsilon).sqrt();
        for (&x, out) in x.iter().zip(out) {
            *out = (x - mean) / deviation * weight + bias;
        }
    }
}

/// Rectifier in place: `max(x, 0)`. NaN stays NaN.
pub fn relu<T: Real>(x: &mut [T]) {
    for x in x {
        if *x <= T::zero() {
            *x = T::zero();
        }
    }
}

/// Adds `x` to `out`, value by value.
pub fn add<T: Real>(x: &[T], out: &mut [T]) {
    for (&x, out) in x.iter().zip(out) {
        *out += x;
    }
}

/// A linear layer: `out[o] = Σ weight[o, i] x[i] + bias[o]`, summed in the order of `i`.
pub fn linear<T: Real>(x: &[T], layer: Affine<'_, T>, out: &mut [T]) {
    for ((weight, &bias), out) in layer.weight.chunks_exact(x.len()).zip(layer.bias).zip(out) {
        *out = weight.iter().zip(x).fold(T::zero(), |sum, (&weight, &x)| sum + weight * x) + bias;
    }
}

/// Softmax of the logits whose mask is not 0; the probability of the others is 0.
///
/// # Panics
/// If there is none.
pub fn masked_softmax<T: Real>(logits: &[T], mask: &[u8], policy: &mut [T]) {
    let legal = |&(_, &mask): &(&T, &u8)| mask != 0;
    let mut allowed = logits.iter().zip(mask).filter(legal).map(|(&logit, _)| logit);
    let first = allowed.next().expect("a legal action");
    let most = allowed.fold(first, |most, logit| if logit > most { logit } else { most });
    let mut sum = T::zero();
    for ((&logit, &mask), policy) in logits.iter().zip(mask).zip(policy.iter_mut()) {
        *policy = if mask != 0 { (logit - most).exp() } else { T::zero() };
        sum += *policy;
    }
    policy.iter_mut().for_each(|policy| *policy /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1 without meaning.
    fn noise(n: usize, seed: u32) -> Vec<f64> {
        let numbers = crate::mlp::Numbers::new(seed, 3);
        (1..=n as u64).map(|at| f64::from(numbers.uniform(at))).collect()
    }

    #[test]
    fn patches_and_product_are_the_convolution() {
        for (n_inputs, n_outputs, rows, columns) in
            [(1, 1, 1, 1), (5, 16, 8, 8), (3, 2, 1, 7), (2, 9, 5, 1), (9, 8, 3, 5), (4, 31, 2, 9)]
        {
            let cells = rows * columns;
            let (x, weight) = (noise(n_inputs * cells, 1), noise(n_outputs * n_inputs * 9, 2));
            let bias = noise(n_outputs, 3);
            let mut expected = vec![0.0; n_outputs * cells];
            convolution(&x, Affine { weight: &weight, bias: &bias }, (rows, columns), &mut expected);
            let mut around = vec![f64::NAN; n_inputs * 9 * cells];
            patches(&x, (rows, columns), &mut around);
            let mut found = vec![f64::NAN; n_outputs * cells];
            matmul(&weight, &around, &mut found, (n_outputs, cells, n_inputs * 9));
            add_bias(&mut found, &bias, cells);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-14 * (n_inputs * 9) as f64, "{found}, expected {expected}");
            }
        }
    }

    #[test]
    fn only_legal_actions_have_a_share() {
        let mut policy = [9.0; 4];
        masked_softmax(&[1000.0, 2.0, 2.0, -5.0], &[0, 1, 1, 0], &mut policy);
        assert_eq!(policy, [0.0, 0.5, 0.5, 0.0]);
        masked_softmax(&[1000.0, 2.0, 2.0, -5.0], &[1, 0, 0, 1], &mut policy);
        assert_eq!(policy, [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_norm_is_as_written() {
        let norm = Norm { weight: &[2.0, 1.0], bias: &[0.5, 0.0], mean: &[1.0, 0.0], variance: &[0.063, 0.0] };
        let mut out = [0.0; 4];
        normalize(&[3.0, 1.0, 0.0, 1.0], norm, 2, &mut out);
        let expected = [4.0 / 0.064_f64.sqrt() + 0.5, 0.5, 0.0, 1000.0_f64.sqrt()];
        assert!(out.iter().zip(expected).all(|(out, expected)| (out - expected).abs() < 1e-12), "{out:?}");
    }
}
