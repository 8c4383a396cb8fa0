//! The weights of a network, apart from any training.

use super::engine::{LayerValues, TrainState};
use super::options::Init;
use crate::{Error, Result};

/// One layer: `y = x W + b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Inputs.
    pub n_inputs: u32,
    /// Outputs.
    pub n_outputs: u32,
    /// `W`, `[n_inputs, n_outputs]` row-major.
    pub weights: Vec<f32>,
    /// `b`, `[n_outputs]`.
    pub bias: Vec<f32>,
}

/// How a weight file names and turns its tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightLayout {
    /// `W1`, `b1`, `W2`, …: weights `[in, out]`.
    #[default]
    InOut,
    /// `0.weight`, `0.bias`, `2.weight`, …, as PyTorch's `nn.Sequential` of linear layers and activations: weights `[out, in]`.
    PyTorch,
}

/// A multilayer perceptron with ReLU between its layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    layers: Vec<Layer>,
}

impl Network {
    /// A network of these layers.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is none, a tensor has another length than its layer says, or a layer's inputs are not the outputs before.
    pub fn new(layers: Vec<Layer>) -> Result<Self> {
        if layers.is_empty() {
            return Err(Error::shape("layers", "at least 1", 0));
        }
        for (number, layer) in layers.iter().enumerate() {
            let name = |what: &str| format!("{what} of layer {}", number + 1);
            let expected = layer.n_inputs as usize * layer.n_outputs as usize;
            if layer.weights.len() != expected || expected == 0 {
                return Err(Error::shape(name("weights"), expected, layer.weights.len()));
            }
            if layer.bias.len() != layer.n_outputs as usize {
                return Err(Error::shape(name("bias"), layer.n_outputs, layer.bias.len()));
            }
            if number > 0 && layers[number - 1].n_outputs != layer.n_inputs {
                return Err(Error::shape(name("inputs"), layers[number - 1].n_outputs, layer.n_inputs));
            }
        }
        Ok(Self { layers })
    }

    /// The layers, from the input on.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Widths of all layers, the inputs first, the classes last.
    pub fn sizes(&self) -> Vec<u32> {
        let inputs = self.layers.first().map(|layer| layer.n_inputs);
        inputs.into_iter().chain(self.layers.iter().map(|layer| layer.n_outputs)).collect()
    }

    pub(super) fn from_state(sizes: &[u32], state: &TrainState) -> Result<Self> {
        let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
        let layers = sizes.windows(2).zip(&state.layers).map(|(size, values)| Layer {
            n_inputs: size[0],
            n_outputs: size[1],
            weights: narrow(&values.weights),
            bias: narrow(&values.bias),
        });
        Self::new(layers.collect())
    }

    pub(super) fn to_state(&self) -> TrainState {
        let widen = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect();
        let layers =
            self.layers.iter().map(|layer| LayerValues { weights: widen(&layer.weights), bias: widen(&layer.bias) });
        TrainState { layers: layers.collect(), ..TrainState::default() }
    }
}

/// First weights of a training.
pub(super) fn initial(sizes: &[u32], init: Init, seed: u32) -> Result<Network> {
    let _ = (sizes, init, seed);
    todo!()
}
