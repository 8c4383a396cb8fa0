//! One layer.

use super::Real;

/// One layer: `z = x W + b`; or anything of its shape, such as its gradient.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer<T> {
    /// `W`, `[n_inputs, n_outputs]` row-major.
    pub weights: Vec<T>,
    /// `b`, `[n_outputs]`.
    pub bias: Vec<T>,
    /// Gain of the layer norm or batch norm behind it, `[n_outputs]`; empty without.
    pub gain: Vec<T>,
    /// Shift of the norm, `[n_outputs]`; empty without.
    pub shift: Vec<T>,
    /// Inputs.
    pub n_inputs: usize,
    /// Outputs.
    pub n_outputs: usize,
}

impl<T: Real> Layer<T> {
    /// Whether a layer norm or batch norm is behind it.
    pub fn is_normalised(&self) -> bool {
        !self.gain.is_empty()
    }

    /// A layer of the same shape with zeros.
    pub fn zeros_like(&self) -> Self {
        let zeros = |values: &[T]| vec![T::zero(); values.len()];
        Self {
            weights: zeros(&self.weights),
            bias: zeros(&self.bias),
            gain: zeros(&self.gain),
            shift: zeros(&self.shift),
            ..*self
        }
    }
}
