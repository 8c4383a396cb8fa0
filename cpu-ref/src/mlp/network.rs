//! A network, and one batch's way through it and back.

use super::norm::{self, Moments};
use super::pieces::{self, Product, Reduction};
use super::{Activation, Dropout, Layer, Program, Real, RegressionLoss};

/// A multilayer perceptron: rectifiers, or another activation, between the layers, softmax and cross-entropy after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Network<T> {
    layers: Vec<Layer<T>>,
    activation: Activation,
    /// Of the batch norm behind each hidden layer; empty without.
    running: Vec<Moments<T>>,
}

/// Activations and gradients of one batch of `n` samples; layer `l` has `n_l` outputs, the last layer one per class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pass<T> {
    /// Scaled pixels, `[n, n_inputs]`.
    pub x: Vec<T>,
    /// For each layer, outputs before the activation, `[n, n_l]`. The last are the logits.
    pub z: Vec<Vec<T>>,
    /// For each layer but the last, its sums with mean 0 and variance 1, `[n, n_l]`; empty without layer norm and batch norm.
    pub x_norm: Vec<Vec<T>>,
    /// For each layer but the last, what is activated, `[n, n_l]`: the norm's result. Empty without.
    pub y: Vec<Vec<T>>,
    /// For each layer but the last, the moments of the batch that a batch norm in training has taken; empty otherwise.
    pub moments: Vec<Moments<T>>,
    /// For each layer but the last, outputs after the activation and its mask, `[n, n_l]`.
    pub h: Vec<Vec<T>>,
    /// For each layer but the last, what its outputs were multiplied with, `[n, n_l]`; empty without dropout.
    pub masks: Vec<Vec<T>>,
    /// Probabilities, `[n, n_classes]`.
    pub p: Vec<T>,
    /// Cross-entropy of each sample, `[n]`; with smoothed labels if it is that of [`Network::backward_smoothed`].
    pub losses: Vec<T>,
    /// For each layer, gradient of the loss with respect to `z`, `[n, n_l]`.
    pub dz: Vec<Vec<T>>,
    /// For each layer, gradients of weights and bias.
    pub gradients: Vec<Layer<T>>,
}

/// What a forward pass is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    /// Batch norms take their running moments, and nothing is dropped.
    Evaluation,
    /// Batch norms take those of the batch, and units are dropped as in the update of this number.
    Training(Option<(Dropout, u64)>),
}

impl<T: Real> Pass<T> {
    /// Sum of the losses, added in double precision in the order of the samples.
    pub fn loss_sum(&self) -> f64 {
        self.losses.iter().map(|loss| loss.widened()).sum()
    }
}

impl<T: Real> Network<T> {
    /// A network of these layers, with rectifiers.
    ///
    /// # Panics
    /// If there is none, if a tensor's length differs from its layer's size, if a layer's inputs differ from the outputs of the previous layer, or if some but not all hidden layers, or the last, have a gain and a shift.
    pub fn new(layers: Vec<Layer<T>>) -> Self {
        assert!(!layers.is_empty(), "a network has at least one layer");
        for layer in &layers {
            assert_eq!(layer.weights.len(), layer.n_inputs * layer.n_outputs, "length of weights");
            assert_eq!(layer.bias.len(), layer.n_outputs, "length of a bias");
            let n_norm = if layer.is_normalised() { layer.n_outputs } else { 0 };
            assert_eq!((layer.gain.len(), layer.shift.len()), (n_norm, n_norm), "lengths of gain and shift");
        }
        for pair in layers.windows(2) {
            assert_eq!(pair[0].n_outputs, pair[1].n_inputs, "outputs of a layer and inputs of the next");
        }
        if let Some((last, hidden)) = layers.split_last() {
            assert!(!last.is_normalised(), "no layer norm behind the last layer");
            let n_norms = hidden.iter().filter(|layer| layer.is_normalised()).count();
            assert!(n_norms == 0 || n_norms == hidden.len(), "a norm behind all hidden layers, or none");
        }
        Self { layers, activation: Activation::default(), running: Vec::new() }
    }

    /// The same layers with another activation.
    pub fn with_activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// The same layers with batch norm behind the hidden ones: gains 1, shifts 0, running means 0 and variances 1.
    pub fn with_batch_norm(self) -> Self {
        let mut normalised = self.with_layer_norm();
        let hidden = &normalised.layers[..normalised.layers.len() - 1];
        let of = |layer: &Layer<T>| Moments {
            mean: vec![T::zero(); layer.n_outputs],
            variance: vec![T::one(); layer.n_outputs],
        };
        normalised.running = hidden.iter().map(of).collect();
        normalised
    }

    /// Running moments of the batch norm behind each hidden layer; empty without batch norm.
    pub fn running(&self) -> &[Moments<T>] {
        &self.running
    }

    /// The running moments; their shapes must not change.
    pub fn running_mut(&mut self) -> &mut [Moments<T>] {
        &mut self.running
    }

    /// The same layers with layer norm behind the hidden ones: gains 1 and shifts 0.
    pub fn with_layer_norm(mut self) -> Self {
        if let Some((_, hidden)) = self.layers.split_last_mut() {
            for layer in hidden {
                (layer.gain, layer.shift) = (vec![T::one(); layer.n_outputs], vec![T::zero(); layer.n_outputs]);
            }
        }
        self.running.clear();
        self
    }

    /// What follows each layer but the last.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// The layers, from the input on.
    pub fn layers(&self) -> &[Layer<T>] {
        &self.layers
    }

    /// The layers' values; their shapes must not change.
    pub fn layers_mut(&mut self) -> &mut [Layer<T>] {
        &mut self.layers
    }

    /// Bytes of an image.
    pub fn n_inputs(&self) -> usize {
        self.layers[0].n_inputs
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.layers[self.layers.len() - 1].n_outputs
    }

    /// Whether there is a layer norm or batch norm behind each hidden layer.
    fn is_normalised(&self) -> bool {
        self.layers[0].is_normalised()
    }

    /// Forward pass from pixels `[n, n_inputs]` to logits: fills `x`, `z` and `h` of the pass.
    ///
    /// # Panics
    /// If the pixels are not those of whole images.
    pub fn forward<P: Program>(&self, pixels: &[u8], pass: &mut Pass<T>) {
        self.scale::<P>(pixels, pass);
        self.layers_from_x::<P>(Mode::Evaluation, pass);
    }

    /// The same in training: batch norms take the moments of the batch, and fill `moments`; units are dropped as in an update of this number, from 0, which fills `masks`. The backward pass applies both.
    ///
    /// # Panics
    /// As [`Network::forward`].
    pub fn forward_dropped<P: Program>(&self, pixels: &[u8], dropout: Option<(Dropout, u64)>, pass: &mut Pass<T>) {
        self.scale::<P>(pixels, pass);
        self.layers_from_x::<P>(Mode::Training(dropout), pass);
    }

    fn scale<P: Program>(&self, pixels: &[u8], pass: &mut Pass<T>) {
        pass.x.resize(pixels.len(), T::zero());
        P::panels(&mut pass.x, self.n_inputs(), |at, x| pieces::scale_pixels(&pixels[at..at + x.len()], x));
    }

    /// [`forward`](Network::forward) from the pass's `x` `[n, n_inputs]`, for inputs that are not pixels.
    ///
    /// # Panics
    /// If the inputs are not those of whole samples.
    pub fn forward_from_x<P: Program>(&self, pass: &mut Pass<T>) {
        self.layers_from_x::<P>(Mode::Evaluation, pass);
    }

    pub(super) fn layers_from_x<P: Program>(&self, mode: Mode, pass: &mut Pass<T>) {
        let dropout = match mode {
            Mode::Training(dropout) => dropout,
            Mode::Evaluation => None,
        };
        assert_eq!(pass.x.len() % self.n_inputs(), 0, "inputs of whole samples");
        let n = pass.x.len() / self.n_inputs();
        pass.z.resize(self.layers.len(), Vec::new());
        pass.h.resize(self.layers.len() - 1, Vec::new());
        let n_norms = if self.is_normalised() { pass.h.len() } else { 0 };
        pass.x_norm.resize(n_norms, Vec::new());
        pass.y.resize(n_norms, Vec::new());
        pass.moments.clear();
        pass.masks.resize(if dropout.is_some() { pass.h.len() } else { 0 }, Vec::new());
        for (number, layer) in self.layers.iter().enumerate() {
            let (before, after) = pass.h.split_at_mut(number);
            let (x, z) = (before.last().unwrap_or(&pass.x), &mut pass.z[number]);
            z.resize(n * layer.n_outputs, T::zero());
            P::matmul(x, &layer.weights, z, Product::new(n, layer.n_outputs, layer.n_inputs));
            P::panels(z, layer.n_outputs, |_, z| pieces::add_bias(z, &layer.bias));
            if let (Some(x), Some(y)) = (pass.x_norm.get_mut(number), pass.y.get_mut(number)) {
                x.resize(z.len(), T::zero());
                y.resize(z.len(), T::zero());
                let n_units = layer.n_outputs;
                match (self.running.get(number), mode) {
                    (None, _) => P::panels(x, n_units, |at, x| norm::normalise(&z[at..at + x.len()], x, n_units)),
                    (Some(running), Mode::Evaluation) => {
                        P::panels(x, n_units, |at, x| running.normalise(&z[at..at + x.len()], x));
                    }
                    (Some(_), Mode::Training(_)) => {
                        let moments = Moments::of_columns(z, n_units);
                        P::panels(x, n_units, |at, x| moments.normalise(&z[at..at + x.len()], x));
                        pass.moments.push(moments);
                    }
                }
                P::panels(y, n_units, |at, y| {
                    norm::scale_and_shift(&x[at..at + y.len()], &layer.gain, &layer.shift, y);
                });
            }
            let z = pass.y.get(number).unwrap_or(z);
            if let Some(h) = after.first_mut() {
                h.resize(z.len(), T::zero());
                P::panels(h, layer.n_outputs, |at, h| match self.activation {
                    Activation::Relu => pieces::relu(&z[at..at + h.len()], h),
                    activation => pieces::activate(activation, &z[at..at + h.len()], h),
                });
                if let (Some((dropout, update)), Some(mask)) = (dropout, pass.masks.get_mut(number)) {
                    let n_units = layer.n_outputs;
                    mask.resize(h.len(), T::zero());
                    P::panels(mask, n_units, |at, mask| dropout.factors(number, update, at / n_units, n_units, mask));
                    P::panels(h, n_units, |at, h| pieces::multiply(&mask[at..at + h.len()], h));
                }
            }
        }
    }

    /// The loss of each sample after a forward pass: fills `losses`, `[n]`.
    ///
    /// # Panics
    /// If there are not as many labels as samples, or one is not below the number of classes.
    pub fn losses(&self, labels: &[u8], pass: &mut Pass<T>) {
        self.smoothed_losses(labels, T::zero(), pass);
    }

    /// The same with labels smoothed by `smoothing`, see [`pieces::smoothed_losses`].
    ///
    /// # Panics
    /// As [`Network::losses`].
    pub fn smoothed_losses(&self, labels: &[u8], smoothing: T, pass: &mut Pass<T>) {
        let logits = &pass.z[self.layers.len() - 1];
        assert_eq!(labels.len() * self.n_classes(), logits.len(), "one label a sample");
        pass.losses.resize(labels.len(), T::zero());
        pieces::smoothed_losses(logits, labels, &mut pass.losses, self.n_classes(), smoothing);
    }

    /// Backward pass from the logits to all gradients: fills `p`, `losses`, `dz` and `gradients`.
    ///
    /// # Panics
    /// As [`Network::losses`]; if there are batch norms and the pass is not that of [`Network::forward_dropped`].
    pub fn backward<P: Program>(&self, labels: &[u8], reduction: Reduction, pass: &mut Pass<T>) {
        self.backward_smoothed::<P>(labels, reduction, T::zero(), pass);
    }

    /// The same with labels smoothed by `smoothing`, in losses and gradients.
    ///
    /// # Panics
    /// As [`Network::backward`].
    pub fn backward_smoothed<P: Program>(&self, labels: &[u8], reduction: Reduction, smoothing: T, pass: &mut Pass<T>) {
        self.smoothed_losses(labels, smoothing, pass);
        let (n, last) = (labels.len(), self.prepare(pass));
        let (logits, n_classes) = (&pass.z[last], self.n_classes());
        pass.p.resize(logits.len(), T::zero());
        pass.dz[last].resize(logits.len(), T::zero());
        pieces::softmax(logits, &mut pass.p, n_classes);
        pieces::smoothed_gradient(&pass.p, labels, &mut pass.dz[last], n_classes, (reduction, smoothing));
        self.propagate::<P>(n, pass);
    }

    /// The loss of each sample of a regression after a forward pass: fills `losses`, `[n]`, from `targets` `[n, n_outputs of the last layer]`.
    ///
    /// # Panics
    /// If there are not as many targets as outputs.
    pub fn regression_losses(&self, targets: &[T], loss: RegressionLoss, pass: &mut Pass<T>) {
        let (outputs, n_outputs) = (&pass.z[self.layers.len() - 1], self.n_classes());
        assert_eq!(targets.len(), outputs.len(), "a target for each output");
        pass.losses.resize(targets.len() / n_outputs, T::zero());
        pieces::regression_losses(outputs, targets, &mut pass.losses, n_outputs, loss);
    }

    /// Backward pass of a regression: fills `losses`, `dz` and `gradients`.
    ///
    /// # Panics
    /// As [`Network::regression_losses`]; if there are batch norms and the pass is not that of [`Network::forward_dropped`].
    pub fn backward_regression<P: Program>(
        &self,
        targets: &[T],
        (loss, reduction): (RegressionLoss, Reduction),
        pass: &mut Pass<T>,
    ) {
        self.regression_losses(targets, loss, pass);
        let last = self.prepare(pass);
        let outputs = &pass.z[last];
        pass.dz[last].resize(outputs.len(), T::zero());
        pieces::regression_gradient(outputs, targets, &mut pass.dz[last], self.n_classes(), (loss, reduction));
        self.propagate::<P>(targets.len() / self.n_classes(), pass);
    }

    /// Makes room for gradients; returns the last layer's number.
    fn prepare(&self, pass: &mut Pass<T>) -> usize {
        pass.dz.resize(self.layers.len(), Vec::new());
        if pass.gradients.len() != self.layers.len() {
            pass.gradients = self.layers.iter().map(Layer::zeros_like).collect();
        }
        self.layers.len() - 1
    }

    /// From the gradient of the last layer's outputs, for `n` samples, to all others.
    fn propagate<P: Program>(&self, n: usize, pass: &mut Pass<T>) {
        let n_norms = self.running.len();
        assert_eq!(pass.moments.len(), n_norms, "gradients of batch norms need the pass of forward_dropped");
        for (number, layer) in self.layers.iter().enumerate().rev() {
            let (before, after) = pass.dz.split_at_mut(number);
            let dz = &after[0];
            let (n_inputs, n_outputs) = (layer.n_inputs, layer.n_outputs);
            let gradient = &mut pass.gradients[number];
            let x = if number == 0 { &pass.x } else { &pass.h[number - 1] };
            P::matmul(x, dz, &mut gradient.weights, Product::new(n_inputs, n_outputs, n).transposed_a());
            P::column_sums(dz, &mut gradient.bias);
            if let Some(dx) = before.last_mut() {
                let sums = &pass.z[number - 1];
                let z = pass.y.get(number - 1).unwrap_or(sums);
                dx.resize(n * n_inputs, T::zero());
                P::matmul(dz, &layer.weights, dx, Product::new(n, n_inputs, n_outputs).transposed_b());
                if let Some(mask) = pass.masks.get(number - 1) {
                    P::panels(dx, n_inputs, |at, dx| pieces::multiply(&mask[at..at + dx.len()], dx));
                }
                P::panels(dx, n_inputs, |at, dx| match self.activation {
                    Activation::Relu => pieces::relu_backward(&z[at..at + dx.len()], dx),
                    activation => pieces::activate_backward(activation, &z[at..at + dx.len()], dx),
                });
                if let Some(x) = pass.x_norm.get(number - 1) {
                    let (gain, gradient) = (&self.layers[number - 1].gain, &mut pass.gradients[number - 1]);
                    let mut products = dx.clone();
                    P::panels(&mut products, n_inputs, |at, values| {
                        pieces::multiply(&x[at..at + values.len()], values)
                    });
                    P::column_sums(&products, &mut gradient.gain);
                    P::column_sums(dx, &mut gradient.shift);
                    let of_batch = pass.moments.get(number - 1);
                    P::panels(dx, n_inputs, |at, dx| {
                        let own = at..at + dx.len();
                        match of_batch {
                            None => norm::normalise_backward(&sums[own.clone()], &x[own], gain, dx),
                            Some(moments) => {
                                let sums = [&gradient.gain[..], &gradient.shift];
                                moments.normalise_backward(&x[own], gain, sums, n, dx);
                            }
                        }
                    });
                }
            }
        }
    }

    /// The most probable class of each image after a forward pass, the lowest among equals.
    pub fn classes(&self, pass: &Pass<T>) -> Vec<u32> {
        pieces::classes(&pass.z[self.layers.len() - 1], self.n_classes())
    }
}
