//! The weights of a network, apart from any training.

use warpplay_gpu::mlp::random;

use super::inputs::{Description, Inputs};
use super::options::{Activation, Init, Loss, MAX_WIDTH, seed_in_32_bits};
use super::scaling::Scaling;
use super::state::{LayerValues, TrainState};
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

/// Names and orientation of tensors in a weight file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightLayout {
    /// `W1`, `b1`, `W2`, …: weights `[in, out]`.
    #[default]
    InOut,
    /// `0.weight`, `0.bias`, `2.weight`, …, as PyTorch's `nn.Sequential` of linear layers and activations: weights `[out, in]`. With layer norms between them, `0.weight`, `0.bias`, `1.weight` `[out]`, `1.bias`, `3.weight`, …; with batch norms also `1.running_mean`, `1.running_var`.
    PyTorch,
}

/// Gain and shift of a layer norm (Ba et al. 2016) behind a hidden layer, before its activation: `y = gain (z - mean) / √(variance + 1e-5) + shift`, with mean and variance of a sample's units; PyTorch's `LayerNorm`.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerNorm {
    /// `[n_outputs]` of the layer.
    pub gain: Vec<f32>,
    /// `[n_outputs]` of the layer.
    pub shift: Vec<f32>,
}

/// A batch norm (Ioffe and Szegedy 2015) behind a hidden layer, before its activation: `y = gain (z - mean) / √(variance + 1e-5) + shift`; PyTorch's `BatchNorm1d`. A training takes mean and variance of its batch, and moves those kept here a tenth of the way to them.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchNorm {
    /// `[n_outputs]` of the layer.
    pub gain: Vec<f32>,
    /// `[n_outputs]` of the layer.
    pub shift: Vec<f32>,
    /// Running mean, `[n_outputs]` of the layer.
    pub mean: Vec<f32>,
    /// Running variance, `[n_outputs]` of the layer; at least 0.
    pub variance: Vec<f32>,
}

/// A multilayer perceptron with ReLU, or another [`Activation`], between its layers, and a [`LayerNorm`] or [`BatchNorm`] before it if it has them.
///
/// ```text
/// x [n_inputs]  ─►  x W + b  ─► ReLU ─►  …  ─►  x W + b  ─►  logits [n_outputs of the last layer]
/// W             [n_inputs, n_outputs] f32, row-major: weight from input i to output o at  i · n_outputs + o
/// b             [n_outputs] f32
/// n_inputs      of the first layer the pixels of an image or the features of a sample, of every other the n_outputs before
/// in a file     safetensors: W1 [in, out], b1 [out], W2, …; or PyTorch's 0.weight [out, in], 0.bias [out], 2.weight, … (WeightLayout);
///               metadata `activation` with its name if it is not ReLU, `warpplay.loss` likewise if it is not cross entropy, `warpplay.inputs` `features` if they are no pixels, and
///               `warpplay.scaling` if these are standardised; layer norms are gain1 [out], shift1 [out], gain2, …, or PyTorch's 1.weight [out], 1.bias [out], 4.weight, …;
///               batch norms have mean1, variance1, … too, or PyTorch's 1.running_mean, 1.running_var, …
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    layers: Vec<Layer>,
    norms: Vec<LayerNorm>,
    batch_norms: Vec<BatchNorm>,
    description: Description,
}

impl Network {
    /// A network of these layers, with ReLU between them.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is none, if a tensor's length differs from its layer's size or a value is not finite, or if a layer's inputs differ from the outputs of the
    /// previous layer.
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
            for (what, values) in [("weights", &layer.weights), ("bias", &layer.bias)] {
                if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                    return Err(Error::shape(format!("{}, element {at}", name(what)), "a finite number", values[at]));
                }
            }
            if number > 0 && layers[number - 1].n_outputs != layer.n_inputs {
                return Err(Error::shape(name("inputs"), layers[number - 1].n_outputs, layer.n_inputs));
            }
        }
        Ok(Self { layers, norms: Vec::new(), batch_norms: Vec::new(), description: Description::default() })
    }

    /// The same layers with another activation between them.
    pub fn with_activation(self, activation: Activation) -> Self {
        Self { description: Description { activation, ..self.description }, ..self }
    }

    /// The same layers, trained with this loss. It is kept in files and changes no output; classifiers evaluate with it.
    pub fn with_loss(self, loss: Loss) -> Self {
        Self { description: Description { loss, ..self.description }, ..self }
    }

    /// The same layers, with these inputs. They are kept in files. A scaling says with what features are standardised before a classifier takes them ([`Scaling::scaled`]); it does not do it.
    ///
    /// # Errors
    /// [`Error::Shape`] if a length of a scaling differs from the number of inputs, a mean is not finite, or a deviation is not above 0 and finite.
    pub fn with_inputs(self, inputs: Inputs) -> Result<Self> {
        if let Inputs::Features(Some(scaling)) = &inputs {
            scaling.check(self.layers[0].n_inputs)?;
        }
        Ok(Self { description: Description { inputs, ..self.description }, ..self })
    }

    pub(super) fn with_description(self, description: Description) -> Self {
        Self { description, ..self }
    }

    pub(super) fn description(&self) -> &Description {
        &self.description
    }

    /// The same layers with a layer norm behind each but the last, or none if there are none; batch norms are taken away.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are neither none nor as many as hidden layers, if a length differs from its layer's outputs, or a value is not finite.
    pub fn with_layer_norms(self, norms: Vec<LayerNorm>) -> Result<Self> {
        self.expect_norms("layer norms", norms.iter().map(|norm| vec![("gain", &norm.gain), ("shift", &norm.shift)]))?;
        Ok(Self { norms, batch_norms: Vec::new(), ..self })
    }

    /// The same layers with a batch norm behind each but the last, or none if there are none; layer norms are taken away.
    ///
    /// # Errors
    /// As [`with_layer_norms`](Self::with_layer_norms); [`Error::Shape`] also for a variance below 0.
    pub fn with_batch_norms(self, norms: Vec<BatchNorm>) -> Result<Self> {
        let named = norms.iter().map(|BatchNorm { gain, shift, mean, variance }| {
            vec![("gain", gain), ("shift", shift), ("mean", mean), ("variance", variance)]
        });
        self.expect_norms("batch norms", named)?;
        for (number, norm) in (1..).zip(&norms) {
            if let Some(at) = norm.variance.iter().position(|&value| value < 0.0) {
                let what = format!("variance of layer {number}, element {at}");
                return Err(Error::shape(what, "at least 0", norm.variance[at]));
            }
        }
        Ok(Self { batch_norms: norms, norms: Vec::new(), ..self })
    }

    /// Checks the named values of each norm.
    fn expect_norms<'a>(
        &self,
        what: &str,
        norms: impl ExactSizeIterator<Item = Vec<(&'static str, &'a Vec<f32>)>>,
    ) -> Result<()> {
        let hidden = &self.layers[..self.layers.len() - 1];
        if norms.len() != 0 && norms.len() != hidden.len() {
            return Err(Error::shape(what, format!("none, or {}", hidden.len()), norms.len()));
        }
        for (number, (norm, layer)) in (1..).zip(norms.zip(hidden)) {
            for (what, values) in norm {
                let name = format!("{what} of layer {number}");
                if values.len() != layer.n_outputs as usize {
                    return Err(Error::shape(name, layer.n_outputs, values.len()));
                }
                if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                    return Err(Error::shape(format!("{name}, element {at}"), "a finite number", values[at]));
                }
            }
        }
        Ok(())
    }

    /// The same layers with layer norms of gain 1 and shift 0, as a training begins with.
    pub fn with_layer_norm(self) -> Self {
        let hidden = &self.layers[..self.layers.len() - 1];
        let of = |layer: &Layer, value| vec![value; layer.n_outputs as usize];
        let norms = hidden.iter().map(|layer| LayerNorm { gain: of(layer, 1.0), shift: of(layer, 0.0) }).collect();
        Self { norms, batch_norms: Vec::new(), ..self }
    }

    /// The same layers with batch norms of gain 1, shift 0, mean 0 and variance 1, as a training begins with.
    pub fn with_batch_norm(self) -> Self {
        let hidden = &self.layers[..self.layers.len() - 1];
        let of = |layer: &Layer, value| vec![value; layer.n_outputs as usize];
        let norm = |layer: &Layer| BatchNorm {
            gain: of(layer, 1.0),
            shift: of(layer, 0.0),
            mean: of(layer, 0.0),
            variance: of(layer, 1.0),
        };
        Self { batch_norms: hidden.iter().map(norm).collect(), norms: Vec::new(), ..self }
    }

    /// The batch norm behind each hidden layer; none if the network has none.
    pub fn batch_norms(&self) -> &[BatchNorm] {
        &self.batch_norms
    }

    /// The layer norm behind each hidden layer; none if the network has none.
    pub fn layer_norms(&self) -> &[LayerNorm] {
        &self.norms
    }

    /// What is between the layers.
    pub fn activation(&self) -> Activation {
        self.description.activation
    }

    /// The loss that it was trained with; cross entropy where nothing says it.
    pub fn loss(&self) -> Loss {
        self.description.loss
    }

    /// What its inputs are; pixels where nothing says it.
    pub fn inputs(&self) -> &Inputs {
        &self.description.inputs
    }

    /// With what its inputs are standardised, where they are.
    pub fn scaling(&self) -> Option<&Scaling> {
        match &self.description.inputs {
            Inputs::Features(scaling) => scaling.as_ref(),
            Inputs::Pixels => None,
        }
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

    /// Draws initial weights for layers of these widths, the inputs first, the classes last; biases are 0.
    ///
    /// # Errors
    /// [`Error::Shape`] for fewer than two widths, or a width outside 1 to [`MAX_WIDTH`].
    pub fn initial(sizes: &[u32], init: Init, seed: u64) -> Result<Self> {
        initial(sizes, init, seed)
    }

    pub(super) fn from_state(sizes: &[u32], description: Description, state: &TrainState) -> Result<Self> {
        let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
        let layers = sizes.windows(2).zip(&state.layers).map(|(size, values)| Layer {
            n_inputs: size[0],
            n_outputs: size[1],
            weights: narrow(&values.weights),
            bias: narrow(&values.bias),
        });
        let normalised = state.layers.iter().filter(|values| !values.gain.is_empty());
        let network = Self::new(layers.collect())?.with_description(description);
        if state.layers.iter().any(|values| !values.mean.is_empty()) {
            let norm = |values: &LayerValues| BatchNorm {
                gain: narrow(&values.gain),
                shift: narrow(&values.shift),
                mean: narrow(&values.mean),
                variance: narrow(&values.variance),
            };
            return network.with_batch_norms(normalised.map(norm).collect());
        }
        let norm = |values: &LayerValues| LayerNorm { gain: narrow(&values.gain), shift: narrow(&values.shift) };
        network.with_layer_norms(normalised.map(norm).collect())
    }

    pub(super) fn to_state(&self) -> TrainState {
        let widen = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect();
        let mut layers: Vec<LayerValues> = self
            .layers
            .iter()
            .map(|layer| LayerValues {
                weights: widen(&layer.weights),
                bias: widen(&layer.bias),
                ..LayerValues::default()
            })
            .collect();
        for (values, norm) in layers.iter_mut().zip(&self.norms) {
            (values.gain, values.shift) = (widen(&norm.gain), widen(&norm.shift));
        }
        for (values, norm) in layers.iter_mut().zip(&self.batch_norms) {
            (values.gain, values.shift) = (widen(&norm.gain), widen(&norm.shift));
            (values.mean, values.variance) = (widen(&norm.mean), widen(&norm.variance));
        }
        TrainState { layers, ..TrainState::default() }
    }
}

/// Initial weights of a training.
pub(super) fn initial(sizes: &[u32], init: Init, seed: u64) -> Result<Network> {
    let allowed = 1..=MAX_WIDTH;
    if sizes.len() < 2 || sizes.iter().any(|size| !allowed.contains(size)) {
        let expected = format!("at least 2, each 1 to {MAX_WIDTH}");
        return Err(Error::shape("widths of the layers", expected, format!("{sizes:?}")));
    }
    let layers = sizes.windows(2).zip(1..).map(|(size, stream)| {
        let (fan_in, fan_out) = (f64::from(size[0]), f64::from(size[1]));
        let n = u64::from(size[0]) * u64::from(size[1]);
        let key = random::key(seed_in_32_bits(seed), stream);
        let weights = match init {
            Init::HeUniform => uniform(key, n, (6.0 / fan_in).sqrt()),
            Init::XavierUniform => uniform(key, n, (6.0 / (fan_in + fan_out)).sqrt()),
            Init::HeNormal => normal(key, n, (2.0 / fan_in).sqrt()),
            Init::XavierNormal => normal(key, n, (2.0 / (fan_in + fan_out)).sqrt()),
        };
        Layer { n_inputs: size[0], n_outputs: size[1], weights, bias: vec![0.0; size[1] as usize] }
    });
    Network::new(layers.collect())
}

/// `n` numbers in [-bound, bound), with 24 random bits each; product and bound are single precision.
fn uniform(key: u64, n: u64, bound: f64) -> Vec<f32> {
    let bound = bound as f32;
    let half = 1_i32 << 23;
    // 24 bits less a half: exact in single precision.
    let unit = |i| ((random::element(key, i) >> 40) as i32 - half) as f32 / half as f32;
    (1..=n).map(|i| unit(i) * bound).collect()
}

/// `n` normal numbers with this standard deviation (Box and Muller 1958, one number of each pair), computed in double precision.
fn normal(key: u64, n: u64, deviation: f64) -> Vec<f32> {
    let unit = 1.0 / (1_u64 << 53) as f64;
    let draw = |i: u64| {
        // In (0, 1], so that the logarithm is finite.
        let u1 = ((random::element(key, 2 * i + 1) >> 11) + 1) as f64 * unit;
        let u2 = (random::element(key, 2 * i + 2) >> 11) as f64 * unit;
        let normal = (-2.0 * libm::log(u1)).sqrt() * libm::cos(2.0 * std::f64::consts::PI * u2);
        (normal * deviation) as f32
    };
    (0..n).map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_weights_are_the_published_ones() {
        let network = initial(&[784, 256, 10], Init::HeUniform, 1).unwrap();
        let digits = network.layers()[0].weights[..3].iter().map(|value| format!("{value:.8}")).collect::<Vec<_>>();
        assert_eq!(digits, ["-0.02082858", "0.00570262", "0.01679184"]);
        assert_eq!(network.sizes(), [784, 256, 10]);
    }

    #[test]
    fn values_that_are_not_finite_are_refused() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let layer =
                |weight, bias| Layer { n_inputs: 2, n_outputs: 1, weights: vec![0.0, weight], bias: vec![bias] };
            let error = |layer| Network::new(vec![layer]).expect_err("not finite").to_string();
            assert!(error(layer(value, 0.0)).contains("weights of layer 1, element 1"), "{}", error(layer(value, 0.0)));
            assert!(error(layer(0.0, value)).contains("bias of layer 1, element 0"), "{}", error(layer(0.0, value)));
        }
    }

    /// Mean and variance of every way to draw, within five standard errors.
    #[test]
    fn first_weights_have_their_variance() {
        let (fan_in, fan_out) = (300, 200);
        for &init in Init::ALL {
            let network = initial(&[fan_in, fan_out], init, 7).unwrap();
            let values: Vec<f64> = network.layers()[0].weights.iter().map(|&value| value.into()).collect();
            let n = values.len() as f64;
            let expected = match init {
                Init::HeUniform | Init::HeNormal => 2.0 / f64::from(fan_in),
                Init::XavierUniform | Init::XavierNormal => 2.0 / f64::from(fan_in + fan_out),
            };
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|value| value * value).sum::<f64>() / n;
            assert!(mean.abs() < 5.0 * (expected / n).sqrt(), "{init}: mean {mean}");
            assert!((variance / expected - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{init}: variance {variance}");
            let most = values.iter().fold(0.0_f64, |most, value| most.max(value.abs())) / expected.sqrt();
            let normal = matches!(init, Init::HeNormal | Init::XavierNormal);
            assert_eq!(most > 3.0_f64.sqrt() + 1e-6, normal, "{init}: largest {most}");
        }
    }
}
