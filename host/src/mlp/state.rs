//! What a training remembers between two updates.

use serde::{Deserialize, Serialize};

/// Values of one layer: weights `[n_inputs, n_outputs]` row-major, and bias; gain and shift of the layer norm or batch norm behind it, empty without; running mean and variance of the batch norm, empty without and in moments.
///
/// Single-precision engines hold values that are exactly `f32`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LayerValues {
    pub weights: Vec<f64>,
    pub bias: Vec<f64>,
    #[serde(default)]
    pub gain: Vec<f64>,
    #[serde(default)]
    pub shift: Vec<f64>,
    #[serde(default)]
    pub mean: Vec<f64>,
    #[serde(default)]
    pub variance: Vec<f64>,
}

impl LayerValues {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &f64> {
        let norm = self.gain.iter().chain(&self.shift).chain(&self.mean).chain(&self.variance);
        self.weights.iter().chain(&self.bias).chain(norm)
    }
}

/// The complete state of a training between two updates, except its position.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TrainState {
    /// The layers, from the input on.
    pub layers: Vec<LayerValues>,
    /// State of the optimiser: 0 to 2 arrays of the layers' shape (momentum or mean first, mean square second).
    pub moments: Vec<Vec<LayerValues>>,
    /// The loss scale of [`Precision::F16`](crate::Precision::F16), and updates since it last changed.
    pub loss_scale: Option<(f32, u32)>,
}

impl TrainState {
    /// Whether all weights are finite.
    pub fn is_finite(&self) -> bool {
        self.layers.iter().flat_map(LayerValues::all).all(|value| value.is_finite())
    }
}
