//! One step of a deviating program, rule by rule.

use warpplay_cpu_ref::mlp::{Init, Network, pieces};

use super::rules::{Arrive, Grid, Mask, Rules, Scale, Softmax, Start};
use super::samples::Samples;

/// Values of one kind for each parameter: W1, b1, W2, b2.
type Four = [Vec<f32>; 4];

/// What lies in memory during a training.
pub(super) struct State {
    rules: Rules,
    n_inputs: usize,
    hidden: usize,
    n_classes: usize,
    weights: Four,
    gradients: Four,
    velocity: Four,
    /// Labels of the batch.
    labels: Vec<u8>,
    /// Inputs of the batch, `[B, n_inputs]`.
    x: Vec<f32>,
    z1: Vec<f32>,
    h: Vec<f32>,
    z2: Vec<f32>,
    /// Probabilities, then loss gradients.
    p: Vec<f32>,
    dh: Vec<f32>,
}

/// The input that each byte stands for.
pub(super) fn byte_values(standardised: bool) -> [f32; 256] {
    std::array::from_fn(|byte| {
        let scaled = byte as f32 / 255.0;
        if standardised { (scaled - 0.1307) / 0.3081 } else { scaled }
    })
}

/// `out += factor * values`.
fn add(out: &mut [f32], factor: f32, values: &[f32]) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out += factor * value;
    }
}

impl State {
    pub fn new(rules: &Rules, train: &Samples<'_>, hidden: usize, seed: u32) -> Self {
        let (n_inputs, n_classes) = (train.n_inputs, train.n_classes);
        let init = if let Start::Drawn(init) = rules.start { init } else { Init::HeUniform };
        let network = Network::<f32>::drawn(&[n_inputs, hidden, n_classes], init, seed);
        let mut weights: Four = Default::default();
        for (layer, pair) in network.layers().iter().zip(weights.chunks_exact_mut(2)) {
            pair[0] = layer.weights.clone();
            pair[1] = layer.bias.clone();
            // He-uniform is uniform within this bound.
            let bound = (6.0 / layer.n_inputs as f32).sqrt();
            for weight in &mut pair[0] {
                match rules.start {
                    Start::Drawn(_) => {}
                    Start::Scaled(factor) => *weight *= factor,
                    Start::Uniform(low, high) => *weight = low + (high - low) * (*weight / bound + 1.0) / 2.0,
                }
            }
        }
        let zeros = weights.clone().map(|values| vec![0.0; values.len()]);
        let (gradients, velocity) = (zeros.clone(), zeros);
        let none = Vec::new;
        Self {
            rules: *rules,
            n_inputs,
            hidden,
            n_classes,
            weights,
            gradients,
            velocity,
            labels: Vec::new(),
            x: none(),
            z1: none(),
            h: none(),
            z2: none(),
            p: none(),
            dh: none(),
        }
    }

    /// Samples of the present batch.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// The inputs of a batch of `rows`, the first of which are new.
    pub fn load(&mut self, samples: &[usize], rows: usize, set: &Samples<'_>, values: &[f32; 256]) {
        self.x.resize(rows * self.n_inputs, 0.0);
        self.labels.resize(rows, 0);
        let inputs = self.x.chunks_exact_mut(self.n_inputs).zip(&mut self.labels);
        for ((x, label), &sample) in inputs.zip(samples) {
            let image = &set.images[sample * set.n_inputs..][..set.n_inputs];
            for (x, &byte) in x.iter_mut().zip(image) {
                *x = values[usize::from(byte)];
            }
            *label = set.labels[sample];
        }
    }

    /// From the inputs to the logits.
    fn forward(&mut self) {
        let Self { hidden, n_classes, n_inputs, weights: [w1, b1, w2, b2], x, z1, h, z2, labels, .. } = self;
        let (hidden, n_classes, rows) = (*hidden, *n_classes, labels.len());
        z1.clear();
        z1.resize(rows * hidden, 0.0);
        z2.clear();
        z2.resize(rows * n_classes, 0.0);
        h.resize(rows * hidden, 0.0);
        for (x, z1) in x.chunks_exact(*n_inputs).zip(z1.chunks_exact_mut(hidden)) {
            for (&x, w1) in x.iter().zip(w1.chunks_exact(hidden)) {
                if x != 0.0 {
                    add(z1, x, w1);
                }
            }
        }
        pieces::add_bias(z1, b1);
        pieces::relu(z1, h);
        for (h, z2) in h.chunks_exact(hidden).zip(z2.chunks_exact_mut(n_classes)) {
            for (&h, w2) in h.iter().zip(w2.chunks_exact(n_classes)) {
                add(z2, h, w2);
            }
        }
        pieces::add_bias(z2, b2);
    }

    /// One step; the sum of the losses of the first `counted` rows before it.
    pub fn step(&mut self, rate: f32, counted: usize) -> f64 {
        self.forward();
        let rows = self.labels.len();
        let mut losses = vec![0.0; rows];
        pieces::losses(&self.z2, &self.labels, &mut losses, self.n_classes);
        self.loss_gradient();
        self.gradients_of_layer_2();
        if self.rules.late {
            self.update(2, rate);
            self.update(3, rate);
        }
        self.hidden_gradient();
        self.gradients_of_layer_1();
        self.update(0, rate);
        self.update(1, rate);
        if !self.rules.late {
            self.update(2, rate);
            self.update(3, rate);
        }
        losses[..counted].iter().copied().map(f64::from).sum()
    }

    /// `p` becomes the gradient of the loss by the logits, summed over the batch.
    fn loss_gradient(&mut self) {
        let Self { rules, n_classes, z2, p, labels, .. } = self;
        p.resize(z2.len(), 0.0);
        pieces::softmax(z2, p, *n_classes);
        match rules.softmax {
            Softmax::Once => {}
            Softmax::Twice => {
                let once = p.clone();
                pieces::softmax(&once, p, *n_classes);
            }
            Softmax::Unscaled => {
                for p in p.chunks_exact_mut(*n_classes) {
                    let most = p.iter().copied().fold(0.0, f32::max);
                    p.iter_mut().for_each(|p| *p /= most);
                }
            }
        }
        let reached = match rules.grid {
            Grid::Whole => p.len(),
            Grid::DownInPlace | Grid::DownZero => p.len() / 256 * 256,
        };
        for (row, &label) in labels.iter().enumerate() {
            let at = row * *n_classes + usize::from(label);
            if at < reached {
                p[at] -= 1.0;
            }
        }
        if rules.grid == Grid::DownZero {
            p[reached..].fill(0.0);
        }
    }

    fn gradients_of_layer_2(&mut self) {
        let Self { rules, hidden, n_classes, gradients: [.., dw2, db2], h, p, .. } = self;
        if rules.reset_weights {
            dw2.fill(0.0);
        }
        for (h, dz2) in h.chunks_exact(*hidden).zip(p.chunks_exact(*n_classes)) {
            for (&h, dw2) in h.iter().zip(dw2.chunks_exact_mut(*n_classes)) {
                add(dw2, h, dz2);
            }
        }
        bias_gradient(rules, p, db2);
    }

    /// `dh` becomes the gradient by `z1`.
    fn hidden_gradient(&mut self) {
        let Self { rules, hidden, n_classes, weights: [_, _, w2, _], z1, p, dh, .. } = self;
        dh.resize(z1.len(), 0.0);
        if rules.clear_hidden {
            dh.fill(0.0);
        }
        for (dh, dz2) in dh.chunks_exact_mut(*hidden).zip(p.chunks_exact(*n_classes)) {
            for (dh, w2) in dh.iter_mut().zip(w2.chunks_exact(*n_classes)) {
                *dh += w2.iter().zip(dz2).map(|(w2, dz2)| w2 * dz2).sum::<f32>();
            }
        }
        match rules.mask {
            Mask::Unit => pieces::relu_backward(z1, dh),
            Mask::None => {}
            Mask::Gradient => dh.iter_mut().for_each(|dh| *dh = dh.max(0.0)),
        }
    }

    fn gradients_of_layer_1(&mut self) {
        let Self { rules, n_inputs, hidden, gradients: [dw1, db1, ..], x, dh, .. } = self;
        if rules.reset_weights {
            dw1.fill(0.0);
        }
        if rules.scale[0] != Scale::Frozen {
            for (x, dz1) in x.chunks_exact(*n_inputs).zip(dh.chunks_exact(*hidden)) {
                for (&x, dw1) in x.iter().zip(dw1.chunks_exact_mut(*hidden)) {
                    if x != 0.0 {
                        add(dw1, x, dz1);
                    }
                }
            }
        }
        bias_gradient(rules, dh, db1);
    }

    /// Updates one of the four.
    fn update(&mut self, which: usize, rate: f32) {
        let Rules { scale, reach, momentum, .. } = self.rules;
        let rows = self.labels.len() as f32;
        let factor = match scale[which] {
            Scale::Mean => 1.0 / rows,
            Scale::Sum => 1.0,
            Scale::Twice => 1.0 / (rows * rows),
            Scale::Frozen => return,
        };
        let (weights, gradients) = (&mut self.weights[which], &self.gradients[which]);
        let reach = reach.min(weights.len());
        if momentum == 0.0 {
            return add(&mut weights[..reach], -rate * factor, gradients);
        }
        let velocity = &mut self.velocity[which];
        for ((weight, &gradient), velocity) in weights[..reach].iter_mut().zip(gradients).zip(velocity) {
            *velocity = momentum * *velocity + factor * gradient;
            *weight -= rate * *velocity;
        }
    }

    /// Share of a set whose likeliest class is the label.
    pub fn accuracy(&mut self, set: &Samples<'_>, values: &[f32; 256]) -> f64 {
        let all: Vec<usize> = (0..set.labels.len()).collect();
        let right: usize = all
            .chunks(256)
            .map(|samples| {
                self.load(samples, samples.len(), set, values);
                self.forward();
                pieces::n_correct(&self.z2, &self.labels, self.n_classes)
            })
            .sum();
        right as f64 / set.labels.len() as f64
    }
}

/// Column sums of `dz`, as far as they arrive, stored or added to what `sums` holds.
fn bias_gradient(rules: &Rules, dz: &[f32], sums: &mut [f32]) {
    if rules.reset_biases {
        sums.fill(0.0);
    }
    let rows = dz.chunks_exact(sums.len());
    match rules.arrive {
        Arrive::All => rows.for_each(|row| add(sums, 1.0, row)),
        Arrive::Last => rows.last().into_iter().for_each(|row| add(sums, 1.0, row)),
        Arrive::Half => rows.step_by(2).for_each(|row| add(sums, 1.0, row)),
    }
}
