//! Losses of a batch, and their gradients by the network's outputs.

use crate::mlp::Real;

/// Losses of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses<T> {
    /// Mean cross-entropy of the policy.
    pub policy: T,
    /// Mean squared error of the value, with its weight.
    pub value: T,
    /// L2 term.
    pub l2: T,
    /// Share of positions whose most probable legal action is the most visited one; the lowest action counts among equals.
    pub accuracy: T,
}

impl<T: Real> Losses<T> {
    /// The sum of all three.
    pub fn total(&self) -> T {
        self.policy + self.value + self.l2
    }
}

/// Cross-entropy of one position between the shares of visits and the softmax of the legal logits. Adds `factor` times its gradient, softmax minus shares, to `gradient`.
///
/// # Panics
/// If no action is legal.
pub fn policy<T: Real>(logits: &[T], mask: &[u8], shares: &[T], factor: T, gradient: &mut [T]) -> T {
    let legal: Vec<usize> = (0..mask.len()).filter(|&action| mask[action] != 0).collect();
    let most = legal.iter().map(|&action| logits[action]).reduce(|a, b| if b > a { b } else { a });
    let most = most.expect("a legal action");
    let sum = legal.iter().fold(T::zero(), |sum, &action| sum + (logits[action] - most).exp());
    let log_sum = sum.ln() + most;
    let mut loss = T::zero();
    for &action in &legal {
        loss += shares[action] * (log_sum - logits[action]);
        gradient[action] += factor * ((logits[action] - most).exp() / sum - shares[action]);
    }
    loss
}

/// Squared error of one position's value `tanh(z)`, and its derivative with respect to `z`.
pub fn value<T: Real>(z: T, result: T) -> (T, T) {
    let value = z.tanh();
    let distance = value - result;
    let two = T::one() + T::one();
    (distance * distance, two * distance * (T::one() - value * value))
}

/// Whether the most probable legal action is the most visited one; the lowest action counts among equals.
pub fn is_hit<T: Real>(logits: &[T], mask: &[u8], shares: &[T]) -> bool {
    let best = |values: &[T]| {
        let legal = (0..mask.len()).filter(|&action| mask[action] != 0);
        legal.reduce(|best, action| if values[action] > values[best] { action } else { best })
    };
    best(logits) == best(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certain_and_even_policies() {
        let mut gradient = [0.0; 3];
        let loss = policy(&[0.0, 9.0, 0.0], &[1, 0, 1], &[0.25, 0.0, 0.75], 2.0, &mut gradient);
        assert!((loss - 2.0_f64.ln()).abs() < 1e-15);
        assert_eq!(gradient, [0.5, 0.0, -0.5]);
        assert!(is_hit(&[1.0, 9.0, 1.0], &[1, 0, 1], &[0.5, 0.0, 0.5]));
        assert!(!is_hit(&[1.0, 9.0, 1.5], &[1, 0, 1], &[0.5, 0.0, 0.5]));
    }

    #[test]
    fn the_values_derivative_is_its_slope() {
        let (z, h) = (0.4_f64, 1e-6);
        let slope = (value(z + h, -1.0).0 - value(z - h, -1.0).0) / (2.0 * h);
        assert!((value(z, -1.0).1 - slope).abs() < 1e-9);
    }
}
