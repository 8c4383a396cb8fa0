//! What a training step consists of: one operation, one launch.

use super::options::{Forms, LossForm, SoftmaxForm};

/// One launch of a step. Layers count from 0; `z`, `h`, `dz` of a layer are its values before and after ReLU and the gradient before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// The batch's pixels, scaled.
    Gather,
    /// The batch's labels.
    GatherLabels,
    /// z = h W.
    Forward(usize),
    /// z += b.
    Bias(usize),
    /// h = max(z, 0).
    Relu(usize),
    /// Loss of each sample.
    Loss,
    /// Their sum.
    LossSum,
    /// Their sum, added atomically from the probabilities.
    LossAtomic,
    /// p = softmax(z), where the gradient or the loss is made from it.
    Softmax,
    /// Gradient of the loss by the logits.
    Gradient,
    /// dW = hᵀ dz.
    WeightGradient(usize),
    /// db = column sums of dz.
    BiasGradient(usize),
    /// dh of the layer before = dz Wᵀ.
    InputGradient(usize),
    /// dz = dh where z > 0.
    ReluBackward(usize),
    /// W -= lr dW.
    UpdateWeights(usize),
    /// b -= lr db.
    UpdateBias(usize),
}

use Operation::*;

impl Operation {
    /// Its name in reports.
    pub fn name(self) -> String {
        let of_layer = |what: &str, layer: usize| format!("{what}, layer {}", layer + 1);
        match self {
            Gather => "gather and scale pixels".into(),
            GatherLabels => "gather labels".into(),
            Forward(layer) => of_layer("forward product", layer),
            Bias(layer) => of_layer("bias", layer),
            Relu(layer) => of_layer("ReLU", layer),
            Loss => "loss".into(),
            LossSum => "loss sum".into(),
            LossAtomic => "loss, added atomically".into(),
            Softmax => "softmax".into(),
            Gradient => "softmax gradient".into(),
            WeightGradient(layer) => of_layer("weight gradient", layer),
            BiasGradient(layer) => of_layer("bias gradient", layer),
            InputGradient(layer) => of_layer("input gradient", layer),
            ReluBackward(layer) => of_layer("ReLU backward", layer),
            UpdateWeights(layer) => of_layer("weight update", layer),
            UpdateBias(layer) => of_layer("bias update", layer),
        }
    }
}

/// From the pixels to the logits of a network of `n_layers` layers.
pub(super) fn forward(n_layers: usize) -> Vec<Operation> {
    let mut operations = vec![Gather];
    for layer in 0..n_layers {
        operations.extend([Forward(layer), Bias(layer)]);
        if layer + 1 < n_layers {
            operations.push(Relu(layer));
        }
    }
    operations
}

/// From the logits to the sum of the losses.
pub(super) fn losses(options: &Forms) -> Vec<Operation> {
    match options.loss {
        LossForm::Tree => vec![GatherLabels, Loss, LossSum],
        LossForm::Atomic => vec![GatherLabels, Softmax, LossAtomic],
    }
}

/// A whole step. All gradients are made from the weights before it: the updates come last.
pub(super) fn training(n_layers: usize, options: &Forms) -> Vec<Operation> {
    let mut operations = forward(n_layers);
    operations.extend(losses(options));
    if options.softmax == SoftmaxForm::Separate && options.loss == LossForm::Tree {
        operations.push(Softmax);
    }
    operations.push(Gradient);
    for layer in (0..n_layers).rev() {
        operations.extend([WeightGradient(layer), BiasGradient(layer)]);
        if layer > 0 {
            operations.extend([InputGradient(layer), ReluBackward(layer - 1)]);
        }
    }
    for layer in 0..n_layers {
        operations.extend([UpdateWeights(layer), UpdateBias(layer)]);
    }
    operations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_the_papers_network_is_theirs() {
        let step = training(2, &Forms::default());
        let expected = [
            Gather,
            Forward(0),
            Bias(0),
            Relu(0),
            Forward(1),
            Bias(1),
            GatherLabels,
            Loss,
            LossSum,
            Gradient,
            WeightGradient(1),
            BiasGradient(1),
            InputGradient(1),
            ReluBackward(0),
            WeightGradient(0),
            BiasGradient(0),
            UpdateWeights(0),
            UpdateBias(0),
            UpdateWeights(1),
            UpdateBias(1),
        ];
        assert_eq!(step, expected);
        let published: Vec<Operation> = training(2, &Forms::published()).into_iter().skip(6).take(4).collect();
        assert_eq!(published, [GatherLabels, Softmax, LossAtomic, Gradient], "kernel 4 takes what kernel 3 makes");
        let linear = training(1, &Forms { softmax: SoftmaxForm::Separate, ..Forms::default() });
        assert!(linear.contains(&Softmax) && !linear.iter().any(|step| matches!(step, Relu(_) | ReluBackward(_))));
    }
}
