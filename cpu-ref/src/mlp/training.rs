//! Training: one step, and the steps of an epoch.

use super::network::Mode;
use super::pieces;
use super::{Dropout, Layer, Network, Optimizer, Pass, Program, Real, Reduction, RegressionLoss};

/// Settings of a training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// The optimiser.
    pub optimizer: Optimizer,
    /// Added to the gradient as `weight_decay * w`, of weights and biases alike; decoupled with [`Optimizer::AdamW`].
    pub weight_decay: f64,
    /// Mean or sum over a batch.
    pub reduction: Reduction,
    /// Smoothing of the labels, [0, 1): see [`smoothed_losses`](super::pieces::smoothed_losses).
    pub label_smoothing: f64,
    /// The largest norm of all gradients together: longer ones are shortened to it before the update, see [`clip_factor`](super::pieces::clip_factor).
    pub clip_norm: Option<f64>,
    /// Dropout of hidden units, whose masks follow [`Training::updates`].
    pub dropout: Option<Dropout>,
}

/// A network in training.
#[derive(Clone, Debug)]
pub struct Training<T> {
    /// The network.
    pub network: Network<T>,
    /// State of the optimiser: [`Optimizer::n_moments`] lists of layers of the network's shape.
    pub moments: Vec<Vec<Layer<T>>>,
    /// Updates done.
    pub updates: u64,
    settings: Settings,
    norm: Option<f64>,
    pass: Pass<T>,
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl<T: Real> Training<T> {
    /// Starts a training: no updates done, moments 0.
    pub fn new(network: Network<T>, settings: Settings) -> Self {
        let zeros: Vec<Layer<T>> = network.layers().iter().map(Layer::zeros_like).collect();
        let moments = vec![zeros; settings.optimizer.n_moments()];
        let (pass, pixels, labels) = (Pass::default(), Vec::new(), Vec::new());
        Self { network, moments, updates: 0, settings, norm: None, pass, pixels, labels }
    }

    /// The pass of the last step.
    pub fn pass(&self) -> &Pass<T> {
        &self.pass
    }

    /// The norm of the last step's gradients before they were clipped, if they are. Where it is not finite, the step was not clipped and has no meaning.
    pub fn norm(&self) -> Option<f64> {
        self.norm
    }

    /// Makes one step on the samples `batch` of a set of `images` `[n, n_inputs]` and `labels` `[n]`; returns the sum of the batch's losses before the update.
    ///
    /// All gradients come from the weights before the step.
    ///
    /// # Panics
    /// If a sample is not in the set, or a label is not below the number of classes.
    pub fn step<P: Program>(&mut self, images: &[u8], labels: &[u8], batch: &[usize], learning_rate: f64) -> f64 {
        let n_inputs = self.network.n_inputs();
        self.pixels.clear();
        self.labels.clear();
        for &sample in batch {
            self.pixels.extend_from_slice(&images[sample * n_inputs..(sample + 1) * n_inputs]);
            self.labels.push(labels[sample]);
        }
        self.network.forward_dropped::<P>(&self.pixels, self.dropout(), &mut self.pass);
        let labels = std::mem::take(&mut self.labels);
        self.backward::<P>(&labels);
        self.labels = labels;
        self.update::<P>(learning_rate);
        self.pass.loss_sum()
    }

    /// As [`step`](Self::step), on a batch of inputs that are not pixels: `x` `[n, n_inputs]`, `labels` `[n]`.
    ///
    /// # Panics
    /// If lengths do not fit, or a label is not below the number of classes.
    pub fn step_on<P: Program>(&mut self, x: &[T], labels: &[u8], learning_rate: f64) -> f64 {
        self.pass.x.clear();
        self.pass.x.extend_from_slice(x);
        self.network.layers_from_x::<P>(Mode::Training(self.dropout()), &mut self.pass);
        self.backward::<P>(labels);
        self.update::<P>(learning_rate);
        self.pass.loss_sum()
    }

    /// Dropout of the next update.
    fn dropout(&self) -> Option<(Dropout, u64)> {
        self.settings.dropout.map(|dropout| (dropout, self.updates))
    }

    /// As [`step_on`](Self::step_on), of a regression: `targets` `[n, n_outputs of the last layer]`.
    ///
    /// # Panics
    /// If lengths do not fit.
    pub fn step_regression<P: Program>(
        &mut self,
        x: &[T],
        targets: &[T],
        loss: RegressionLoss,
        learning_rate: f64,
    ) -> f64 {
        self.pass.x.clear();
        self.pass.x.extend_from_slice(x);
        self.network.layers_from_x::<P>(Mode::Training(self.dropout()), &mut self.pass);
        self.network.backward_regression::<P>(targets, (loss, self.settings.reduction), &mut self.pass);
        self.update::<P>(learning_rate);
        self.pass.loss_sum()
    }

    fn backward<P: Program>(&mut self, labels: &[u8]) {
        let Settings { reduction, label_smoothing, .. } = self.settings;
        self.network.backward_smoothed::<P>(labels, reduction, T::rounded(label_smoothing), &mut self.pass);
    }

    fn clip<P: Program>(&mut self, most: f64) {
        let gradients = &mut self.pass.gradients;
        let sums = gradients.iter().map(|layer| {
            let of = |values: &[T]| P::square_sum(values);
            of(&layer.weights) + of(&layer.bias) + of(&layer.gain) + of(&layer.shift)
        });
        let norm = sums.sum::<f64>().sqrt();
        let factor = T::rounded(pieces::clip_factor(norm, most));
        for layer in gradients {
            let line = layer.n_outputs;
            for values in [&mut layer.weights, &mut layer.bias, &mut layer.gain, &mut layer.shift] {
                P::panels(values, line, |_, values| values.iter_mut().for_each(|value| *value *= factor));
            }
        }
        self.norm = Some(norm);
    }

    fn update<P: Program>(&mut self, learning_rate: f64) {
        let Settings { optimizer, weight_decay, clip_norm, .. } = self.settings;
        if let Some(most) = clip_norm {
            self.clip::<P>(most);
        }
        self.updates += 1;
        let update = optimizer.update(learning_rate, weight_decay, self.updates);
        let layers = self.network.layers_mut().iter_mut().zip(&self.pass.gradients);
        for (number, (layer, gradient)) in layers.enumerate() {
            let moments = self.moments.iter_mut().map(|moment| &mut moment[number]).collect();
            P::update(&update, layer, gradient, moments);
        }
        let n_rows = self.pass.losses.len();
        for (running, of_batch) in self.network.running_mut().iter_mut().zip(&self.pass.moments) {
            running.follow(of_batch, n_rows);
        }
    }

    /// Makes an epoch at one learning rate: a step on each `batch` samples of `order`, of which the last batch may be shorter. Returns the sum of the losses.
    ///
    /// # Panics
    /// As [`Training::step`]; if `batch` is 0.
    pub fn epoch<P: Program>(
        &mut self,
        images: &[u8],
        labels: &[u8],
        order: &[usize],
        batch: usize,
        learning_rate: f64,
    ) -> f64 {
        order.chunks(batch).map(|batch| self.step::<P>(images, labels, batch, learning_rate)).sum()
    }
}
