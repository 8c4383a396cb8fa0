//! Losses of a regression, whose targets are numbers. PyTorch's definitions.

use super::Real;

/// What a regression minimises: of a sample the mean over its outputs of a function of the difference `d = z - t` of output and target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RegressionLoss {
    /// `d²`: `MSELoss`.
    MeanSquaredError,
    /// `d² / 2` where `|d| <= delta`, else `delta (|d| - delta / 2)`: `HuberLoss(delta)` (Huber 1964). `delta` is above 0.
    Huber {
        /// Where it becomes linear.
        delta: f64,
    },
}

impl RegressionLoss {
    /// The loss of one output whose difference from its target is `d`. NaN stays NaN.
    pub fn value<T: Real>(self, d: T) -> T {
        match self {
            Self::MeanSquaredError => d * d,
            Self::Huber { delta } => {
                let (size, delta, half) = (d.abs(), T::rounded(delta), T::rounded(0.5));
                if size <= delta { half * d * d } else { delta * (size - half * delta) }
            }
        }
    }

    /// The derivative of [`value`](Self::value).
    pub fn slope<T: Real>(self, d: T) -> T {
        match self {
            Self::MeanSquaredError => d + d,
            Self::Huber { delta } => {
                let delta = T::rounded(delta);
                if d > delta {
                    delta
                } else if d < -delta {
                    -delta
                } else {
                    d
                }
            }
        }
    }
}
