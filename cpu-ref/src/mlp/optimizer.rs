//! How weights follow gradients. PyTorch's definitions.

use super::Real;

/// An optimiser and its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Optimizer {
    /// `w -= lr g`.
    #[default]
    Sgd,
    /// `v = momentum v + g; w -= lr v`.
    Momentum {
        /// Decay of the velocity.
        momentum: f64,
    },
    /// `v = momentum v + g; w -= lr (g + momentum v)`.
    Nesterov {
        /// Decay of the velocity.
        momentum: f64,
    },
    /// `m = β1 m + (1 - β1) g; s = β2 s + (1 - β2) g²; w -= lr (m / (1 - β1^t)) / (√(s / (1 - β2^t)) + ε)` (Kingma and Ba 2015).
    Adam {
        /// β1.
        beta1: f64,
        /// β2.
        beta2: f64,
        /// ε, outside the root.
        epsilon: f64,
    },
    /// Adam, preceded by `w -= lr weight_decay w`; the gradient has no decay (Loshchilov and Hutter 2019).
    AdamW {
        /// β1.
        beta1: f64,
        /// β2.
        beta2: f64,
        /// ε, outside the root.
        epsilon: f64,
    },
    /// `s = α s + (1 - α) g²; w -= lr g / (√s + ε)`.
    RmsProp {
        /// α.
        alpha: f64,
        /// ε, outside the root.
        epsilon: f64,
    },
}

impl Optimizer {
    /// Number of arrays of the weights' shape in its state: 0 to 2.
    pub const fn n_moments(&self) -> usize {
        match self {
            Self::Sgd => 0,
            Self::Momentum { .. } | Self::Nesterov { .. } | Self::RmsProp { .. } => 1,
            Self::Adam { .. } | Self::AdamW { .. } => 2,
        }
    }

    /// The update number `number` (from 1) at one learning rate.
    pub fn update<T: Real>(&self, learning_rate: f64, weight_decay: f64, number: u64) -> Update<T> {
        let t = number as f64;
        let decoupled = matches!(self, Self::AdamW { .. });
        let form = match *self {
            Self::Sgd => Form::Sgd,
            Self::Momentum { momentum } => Form::Momentum { momentum: T::rounded(momentum) },
            Self::Nesterov { momentum } => Form::Nesterov { momentum: T::rounded(momentum) },
            Self::Adam { beta1, beta2, epsilon } | Self::AdamW { beta1, beta2, epsilon } => Form::Adam {
                beta1: T::rounded(beta1),
                rest1: T::rounded(1.0 - beta1),
                beta2: T::rounded(beta2),
                rest2: T::rounded(1.0 - beta2),
                epsilon: T::rounded(epsilon),
                step: T::rounded(learning_rate / (1.0 - libm::pow(beta1, t))),
                root: T::rounded(libm::sqrt(1.0 - libm::pow(beta2, t))),
            },
            Self::RmsProp { alpha, epsilon } => {
                Form::RmsProp { alpha: T::rounded(alpha), rest: T::rounded(1.0 - alpha), epsilon: T::rounded(epsilon) }
            }
        };
        Update {
            form,
            learning_rate: T::rounded(learning_rate),
            decay: T::rounded(if decoupled { 0.0 } else { weight_decay }),
            kept: T::rounded(if decoupled { 1.0 - learning_rate * weight_decay } else { 1.0 }),
        }
    }
}

/// One update of all weights: the optimiser with the constants of its number, computed in double precision and then rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update<T> {
    form: Form<T>,
    learning_rate: T,
    /// Added to the gradient as `decay * w`.
    decay: T,
    /// Factor of a weight by decoupled decay.
    kept: T,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form<T> {
    Sgd,
    Momentum { momentum: T },
    Nesterov { momentum: T },
    Adam { beta1: T, rest1: T, beta2: T, rest2: T, epsilon: T, step: T, root: T },
    RmsProp { alpha: T, rest: T, epsilon: T },
}

impl<T: Real> Update<T> {
    /// Updates `weights` by `gradients`. `moments` are [`Optimizer::n_moments`] slices, each as long as `weights`: velocity, or mean and then mean square, or mean square.
    ///
    /// # Panics
    /// If lengths differ or moments are missing.
    pub fn apply(&self, weights: &mut [T], gradients: &[T], moments: &mut [&mut [T]]) {
        let n = weights.len();
        assert!(gradients.len() == n && moments.iter().all(|moment| moment.len() == n), "lengths of an update");
        let (lr, decay, kept) = (self.learning_rate, self.decay, self.kept);
        match (self.form, moments) {
            (Form::Sgd, []) => {
                for (w, &g) in weights.iter_mut().zip(gradients) {
                    *w -= lr * (g + decay * *w);
                }
            }
            (Form::Momentum { momentum }, [velocity]) => {
                for ((w, &g), v) in weights.iter_mut().zip(gradients).zip(velocity.iter_mut()) {
                    *v = momentum * *v + (g + decay * *w);
                    *w -= lr * *v;
                }
            }
            (Form::Nesterov { momentum }, [velocity]) => {
                for ((w, &g), v) in weights.iter_mut().zip(gradients).zip(velocity.iter_mut()) {
                    let g = g + decay * *w;
                    *v = momentum * *v + g;
                    *w -= lr * (g + momentum * *v);
                }
            }
            (Form::Adam { beta1, rest1, beta2, rest2, epsilon, step, root }, [mean, square]) => {
                let moments = mean.iter_mut().zip(square.iter_mut());
                for ((w, &g), (m, s)) in weights.iter_mut().zip(gradients).zip(moments) {
                    let g = g + decay * *w;
                    *w *= kept;
                    *m = beta1 * *m + rest1 * g;
                    *s = beta2 * *s + rest2 * (g * g);
                    *w -= step * *m / (s.sqrt() / root + epsilon);
                }
            }
            (Form::RmsProp { alpha, rest, epsilon }, [square]) => {
                for ((w, &g), s) in weights.iter_mut().zip(gradients).zip(square.iter_mut()) {
                    let g = g + decay * *w;
                    *s = alpha * *s + rest * (g * g);
                    *w -= lr * g / (s.sqrt() + epsilon);
                }
            }
            (_, moments) => panic!("{} moments do not suit the optimiser", moments.len()),
        }
    }
}
