//! Forward, backward, and the update.

use rayon::prelude::*;

use super::{ConvNetwork, Rounding, pieces};
use crate::mlp::pieces::{classes, losses, relu_backward, scale_pixels, softmax};
use crate::mlp::{Layer, Real};

/// Images whose gradients are added up one after the other.
const AT_ONCE: usize = 4;

/// How far a step goes: momentum as PyTorch's SGD, `v = momentum v + g + decay w; w -= rate v`. Biases do not decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Learning rate.
    pub rate: f64,
    /// Momentum.
    pub momentum: f64,
    /// L2 term of weights.
    pub decay: f64,
}

/// A network in training.
#[derive(Clone, Debug)]
pub struct ConvTraining<T> {
    /// The network.
    pub network: ConvNetwork<T>,
    /// What momentum remembers.
    pub velocity: Vec<Layer<T>>,
    /// What products read.
    pub rounding: Rounding<T>,
}

/// An image on its way through the network: outputs of each layer, what the dense layer reads, and the logits.
struct Pass<T> {
    /// Inputs of each convolution; those of the dense layer are the last.
    inputs: Vec<Vec<T>>,
    /// Outputs of each convolution behind the rectifier.
    outputs: Vec<Vec<T>>,
    logits: Vec<T>,
}

fn zeros<T: Real>(layers: &[Layer<T>]) -> Vec<Layer<T>> {
    layers.iter().map(Layer::zeros_like).collect()
}

impl<T: Real> ConvTraining<T> {
    /// A training that begins with this network.
    pub fn new(network: ConvNetwork<T>, rounding: Rounding<T>) -> Self {
        Self { velocity: zeros(&network.layers), network, rounding }
    }

    /// The layers as products read them: biases are added, and so not rounded.
    fn rounded(&self) -> Vec<Layer<T>> {
        let round = self.rounding;
        let rounded = |layer: &Layer<T>| {
            let weights = layer.weights.iter().map(|&weight| round(weight)).collect();
            Layer { weights, ..layer.clone() }
        };
        self.network.layers.iter().map(rounded).collect()
    }

    fn forward(&self, layers: &[Layer<T>], image: &[u8]) -> Pass<T> {
        let round = self.rounding;
        let mut input = vec![T::zero(); image.len()];
        scale_pixels(image, &mut input);
        input.iter_mut().for_each(|value| *value = round(*value));
        let (mut inputs, mut outputs) = (vec![input], Vec::new());
        for (plan, layer) in self.network.shape.convolutions().iter().zip(layers) {
            let size = [plan.rows, plan.cols];
            let mut h = pieces::convolve(&inputs[inputs.len() - 1], layer, size);
            for value in &mut h {
                // What is no number stays so.
                *value = if *value <= T::zero() { T::zero() } else { round(*value) };
            }
            inputs.push(if plan.pooled { pieces::pool(&h, size, plan.outputs) } else { h.clone() });
            outputs.push(h);
        }
        let dense = &layers[layers.len() - 1];
        let mut logits = dense.bias.clone();
        for (&value, weights) in inputs[inputs.len() - 1].iter().zip(dense.weights.chunks_exact(dense.n_outputs)) {
            for (logit, &weight) in logits.iter_mut().zip(weights) {
                *logit += value * weight;
            }
        }
        Pass { inputs, outputs, logits }
    }

    /// Adds the gradients of an image to `gradients`, from that of its logits.
    fn backward(&self, layers: &[Layer<T>], pass: &Pass<T>, dlogits: &[T], gradients: &mut [Layer<T>]) {
        let round = self.rounding;
        let last = layers.len() - 1;
        let (dense, of_dense) = (&layers[last], &mut gradients[last]);
        let mut gradient = Vec::with_capacity(dense.n_inputs);
        let rows = of_dense.weights.chunks_exact_mut(dense.n_outputs);
        for ((&input, row), weights) in
            pass.inputs[last].iter().zip(rows).zip(dense.weights.chunks_exact(dense.n_outputs))
        {
            let mut sum = T::zero();
            for ((of_weight, &weight), &dz) in row.iter_mut().zip(weights).zip(dlogits) {
                *of_weight += input * dz;
                sum += weight * dz;
            }
            gradient.push(round(sum));
        }
        for (bias, &dz) in of_dense.bias.iter_mut().zip(dlogits) {
            *bias += dz;
        }
        for (number, plan) in self.network.shape.convolutions().iter().enumerate().rev() {
            let size = [plan.rows, plan.cols];
            let h = &pass.outputs[number];
            let dz = if plan.pooled {
                pieces::pool_backward(h, &gradient, size, plan.outputs)
            } else {
                relu_backward(h, &mut gradient);
                gradient
            };
            pieces::add_gradient(&pass.inputs[number], &dz, size, &mut gradients[number]);
            if number == 0 {
                return;
            }
            gradient = pieces::convolve(&dz, &pieces::turned(&layers[number]), size);
            gradient.iter_mut().for_each(|value| *value = round(*value));
        }
    }

    /// Losses of a batch and the gradients of their mean.
    pub fn gradients(&self, images: &[u8], labels: &[u8]) -> (Vec<T>, Vec<Layer<T>>) {
        let (layers, pixels) = (self.rounded(), images.len() / labels.len());
        let (n_classes, divisor) = (self.network.shape.n_classes, T::rounded(labels.len() as f64));
        let parts: Vec<_> = (images.par_chunks(AT_ONCE * pixels).zip(labels.par_chunks(AT_ONCE)))
            .map(|(images, labels)| {
                let (mut gradients, mut found) = (zeros(&layers), Vec::new());
                for (image, &label) in images.chunks_exact(pixels).zip(labels) {
                    let pass = self.forward(&layers, image);
                    let (mut loss, mut p) = ([T::zero()], vec![T::zero(); n_classes]);
                    losses(&pass.logits, &[label], &mut loss, n_classes);
                    found.push(loss[0]);
                    softmax(&pass.logits, &mut p, n_classes);
                    p[usize::from(label)] -= T::one();
                    p.iter_mut().for_each(|dz| *dz = (self.rounding)(*dz / divisor));
                    self.backward(&layers, &pass, &p, &mut gradients);
                }
                (found, gradients)
            })
            .collect();
        let (mut found, mut sums) = (Vec::new(), zeros(&layers));
        for (losses, gradients) in parts {
            found.extend(losses);
            for (sum, gradient) in sums.iter_mut().zip(&gradients) {
                let sums = sum.weights.iter_mut().chain(&mut sum.bias);
                sums.zip(gradient.weights.iter().chain(&gradient.bias)).for_each(|(sum, &value)| *sum += value);
            }
        }
        (found, sums)
    }

    /// A step; the losses are those before it.
    pub fn step(&mut self, images: &[u8], labels: &[u8], rates: Rates) -> Vec<T> {
        let (found, gradients) = self.gradients(images, labels);
        let [rate, momentum, decay] = [rates.rate, rates.momentum, rates.decay].map(T::rounded);
        for ((layer, velocity), gradient) in self.network.layers.iter_mut().zip(&mut self.velocity).zip(&gradients) {
            for ((w, v), &g) in layer.weights.iter_mut().zip(&mut velocity.weights).zip(&gradient.weights) {
                *v = momentum * *v + g + decay * *w;
                *w -= rate * *v;
            }
            for ((w, v), &g) in layer.bias.iter_mut().zip(&mut velocity.bias).zip(&gradient.bias) {
                *v = momentum * *v + g;
                *w -= rate * *v;
            }
        }
        found
    }

    /// Logits of images, `[n, n_classes]`.
    pub fn logits(&self, images: &[u8]) -> Vec<T> {
        let (layers, pixels) = (self.rounded(), self.network.shape.rows * self.network.shape.cols);
        images.par_chunks(pixels).flat_map_iter(|image| self.forward(&layers, image).logits).collect()
    }

    /// Loss and class of each image.
    pub fn classify(&self, images: &[u8], labels: &[u8]) -> (Vec<T>, Vec<u32>) {
        let (logits, n_classes) = (self.logits(images), self.network.shape.n_classes);
        let mut found = vec![T::zero(); labels.len()];
        losses(&logits, labels, &mut found, n_classes);
        (found, classes(&logits, n_classes))
    }
}
