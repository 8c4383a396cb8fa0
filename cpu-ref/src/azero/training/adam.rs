//! Adam: how parameters follow gradients.

use crate::mlp::Real;

/// Adam's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Decay rate of the mean.
    pub beta1: f64,
    /// Decay rate of the mean square.
    pub beta2: f64,
    /// Added to the root.
    pub epsilon: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

/// One update, with its constants in the network's precision.
#[derive(Clone, Copy, Debug)]
pub struct Update<T> {
    beta1: T,
    rest1: T,
    beta2: T,
    rest2: T,
    epsilon: T,
    step: T,
    root: T,
}

impl Adam {
    /// The update number `number` (from 1): `m = β1 m + (1 - β1) g; s = β2 s + (1 - β2) g²; w -= lr m / (1 - β1^t) / (√s / √(1 - β2^t) + ε)`.
    pub fn update<T: Real>(&self, learning_rate: f64, number: u64) -> Update<T> {
        let t = number as f64;
        let [beta1, beta2] = [self.beta1, self.beta2].map(T::rounded);
        Update {
            beta1,
            rest1: T::one() - beta1,
            beta2,
            rest2: T::one() - beta2,
            epsilon: T::rounded(self.epsilon),
            step: T::rounded(learning_rate / (1.0 - libm::pow(self.beta1, t))),
            root: T::rounded(libm::sqrt(1.0 - libm::pow(self.beta2, t))),
        }
    }
}

impl<T: Real> Update<T> {
    /// Updates `values` by `gradient`; `first` and `second` are the means of gradients and of their squares.
    pub fn apply(&self, values: &mut [T], gradient: &[T], first: &mut [T], second: &mut [T]) {
        let moments = first.iter_mut().zip(second);
        for ((value, &gradient), (first, second)) in values.iter_mut().zip(gradient).zip(moments) {
            *first = self.beta1 * *first + self.rest1 * gradient;
            *second = self.beta2 * *second + self.rest2 * gradient * gradient;
            *value -= self.step * *first / (second.sqrt() / self.root + self.epsilon);
        }
    }
}
