//! What follows a hidden layer's product. PyTorch's definitions.

use super::Real;

/// The function of a hidden layer's outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// `max(z, 0)`.
    #[default]
    Relu,
    /// `tanh z`.
    Tanh,
    /// `1 / (1 + exp(-z))`.
    Sigmoid,
    /// `z (1 + erf(z / √2)) / 2`: `z` times the probability that a normal number is below it (Hendrycks and Gimpel 2016).
    Gelu,
}

impl Activation {
    /// The value at `z`. NaN stays NaN.
    pub fn value<T: Real>(self, z: T) -> T {
        let one = T::one();
        match self {
            Self::Relu if z <= T::zero() => T::zero(),
            Self::Relu => z,
            Self::Tanh => z.tanh(),
            Self::Sigmoid => one / (one + (-z).exp()),
            Self::Gelu => z * normal_share(z),
        }
    }

    /// The derivative at `z`; that of the rectifier is 0 at 0.
    pub fn slope<T: Real>(self, z: T) -> T {
        let one = T::one();
        match self {
            Self::Relu if z <= T::zero() => T::zero(),
            Self::Relu => one,
            Self::Tanh => {
                let value = z.tanh();
                one - value * value
            }
            Self::Sigmoid => {
                let value = self.value(z);
                value * (one - value)
            }
            Self::Gelu => {
                let density = (-z * z * T::rounded(0.5)).exp() / T::rounded(std::f64::consts::TAU.sqrt());
                normal_share(z) + z * density
            }
        }
    }
}

/// The probability that a normal number is below `z`.
fn normal_share<T: Real>(z: T) -> T {
    T::rounded(0.5) * (T::one() + (z * T::rounded(std::f64::consts::FRAC_1_SQRT_2)).erf())
}
