//! How far outputs and loss of a perceptron may be from those of exact arithmetic: errors that are carried from layer to layer, for the weights and samples of a test. No constant is measured.

use warpplay::mlp::{Activation, Dataset, Layer, LayerNorm, Loss, Network, Options};
use warpplay_cpu_ref::mlp::Dropout;

use crate::mlp::in_reference;

/// A rounding of single precision.
const UNIT: f64 = 1.0 / (1 << 24) as f64;
/// What a sum of products loses for each term, by the sum of their sizes: operands in three parts are six products a term, each of which tensor cores cut off to 24 bits of the largest, by 2⁻²³, and six roundings of the sum.
const TERM: f64 = 18.0 * UNIT;
/// What single precision in parts leaves of an operand: less than 2⁻²⁴ of it beyond three parts, and as much again in the products of small parts that are left out.
pub const SINGLE: f64 = 2.0 * UNIT;

/// A number, and how far from it the found one may be.
#[derive(Clone, Copy, Debug)]
struct Near {
    value: f64,
    error: f64,
}

/// How far a mean loss over the set may be from that of exact arithmetic, in a first step with the dropout of the options (or without, if it is 0), if operands and outputs of layers are rounded by a share `rounding` of themselves.
///
/// # Panics
/// If the set does not fit the network, or a layer norm divides by a deviation that the errors may make 0.
pub fn loss_bound(network: &Network, set: &Dataset, options: &Options, rounding: f64) -> f64 {
    let n_outputs = set.n_classes() as usize;
    let of_sample = |(sample, outputs): (usize, Vec<Near>)| {
        let n_roundings = (n_outputs + set.len() + 8) as f64;
        match (options.loss, set.targets()) {
            (Loss::CrossEntropy, _) => {
                let logit = outputs.iter().map(|output| output.value.abs()).fold(0.0, f64::max);
                let error = outputs.iter().map(|output| output.error).fold(0.0, f64::max);
                // Its slopes by the logits are the probabilities less those of the label.
                2.0 * error + n_roundings * UNIT * ((n_outputs as f64).ln() + 2.0 * (logit + error))
            }
            (loss, Some(targets)) => {
                let factor = if loss == Loss::MeanSquaredError { 2.0 } else { 1.0 } / n_outputs as f64;
                let targets = &targets[sample * n_outputs..];
                let pairs = outputs.iter().zip(targets);
                // The slope of `d² / 2`, and of what grows less, is at most the largest difference.
                pairs.fold(0.0, |sum, (output, &target)| {
                    let difference = (output.value - f64::from(target)).abs();
                    let error = output.error + UNIT * (difference + output.error);
                    let largest = difference + error;
                    sum + factor * (largest * error + n_roundings * UNIT * largest * largest / 2.0)
                })
            }
            (loss, None) => panic!("{loss} has targets"),
        }
    };
    // Of the rows that a sample may have the worst, and the mean over the samples.
    let mut of_samples = vec![0.0f64; set.len()];
    for (sample, outputs) in outputs(network, set, options, rounding) {
        of_samples[sample] = of_samples[sample].max(of_sample((sample, outputs)));
    }
    of_samples.iter().sum::<f64>() / set.len() as f64
}

/// How far an output may be from that of exact arithmetic, likewise.
///
/// # Panics
/// As [`loss_bound`].
pub fn output_bound(network: &Network, set: &Dataset, options: &Options, rounding: f64) -> f64 {
    let outputs = outputs(network, set, options, rounding);
    outputs.iter().flat_map(|(_, outputs)| outputs).map(|output| output.error).fold(0.0, f64::max)
}

/// Outputs of each sample, by its number; with dropout for each row that it may have in the batch.
fn outputs(network: &Network, set: &Dataset, options: &Options, rounding: f64) -> Vec<(usize, Vec<Near>)> {
    let dropout = Dropout { rate: options.dropout.into(), seed: options.seed as u32 };
    let n_rows = if options.dropout > 0.0 { options.batch as usize } else { 1 };
    let each = (0..set.len()).flat_map(|sample| (0..n_rows).map(move |row| (sample, row)));
    let of_row = |(sample, row): (usize, usize)| {
        let mut values = inputs(set, sample);
        for (number, layer) in network.layers().iter().enumerate() {
            values = sums(layer, &values, rounding);
            if number + 1 == network.layers().len() {
                break;
            }
            if let Some(norm) = network.layer_norms().get(number) {
                normalise(norm, &mut values);
            }
            values.iter_mut().for_each(|near| *near = activated(network.activation(), *near));
            if options.dropout > 0.0 {
                let mut factors = vec![0.0; values.len()];
                dropout.factors(number, 0, row, values.len(), &mut factors);
                values.iter_mut().zip(factors).for_each(|(near, factor)| *near = dropped(*near, factor, rounding));
            }
        }
        (sample, values)
    };
    each.map(of_row).collect()
}

/// A pixel has two roundings, of the quotient of 255 and of its product.
fn inputs(set: &Dataset, sample: usize) -> Vec<Near> {
    let n = set.n_inputs() as usize;
    match (set.features(), set.image(sample)) {
        (Some(features), _) => {
            let own = &features[sample * n..][..n];
            own.iter().map(|&value| Near { value: value.into(), error: 0.0 }).collect()
        }
        (None, Some(pixels)) => {
            let value = |&pixel: &u8| f64::from(pixel) / 255.0;
            pixels.iter().map(value).map(|value| Near { value, error: 2.0 * UNIT * value }).collect()
        }
        (None, None) => unreachable!("samples have features or pixels"),
    }
}

/// An error of the inputs `e` and the roundings of a product give its sums at most `Σ |w| e + (2 rounding + rounding² + (n + 2) 18 · 2⁻²⁴) Σ |w x|`, the bias a term with the input 1.
fn sums(layer: &Layer, inputs: &[Near], rounding: f64) -> Vec<Near> {
    let n = layer.n_outputs as usize;
    let share = 1.0 + rounding;
    let of_output = |output: usize| {
        let bias = f64::from(layer.bias[output]);
        let (mut value, mut size, mut error) = (bias, bias.abs(), 0.0);
        for (&weight, input) in layer.weights[output..].iter().step_by(n).zip(inputs) {
            let weight = f64::from(weight);
            value += weight * input.value;
            size += weight.abs() * (input.value.abs() + input.error);
            error += weight.abs() * input.error * share * share;
        }
        error += (2.0 * rounding + rounding * rounding + (inputs.len() + 2) as f64 * TERM) * size;
        Near { value, error }
    };
    (0..n).map(of_output).collect()
}

/// Errors of the distances `d` from the mean are at most `e_j + mean(e)` and the roundings of a mean. The deviation `s` is a norm of the distances, so its error is at most the root of their mean square, `r`; and
/// `d'/s' - d/s = (d' - d)/s' + d/s (s - s')/s'`, where `s'` is at least `s - r`.
fn normalise(norm: &LayerNorm, values: &mut [Near]) {
    let n = values.len() as f64;
    let mean = values.iter().map(|near| near.value).sum::<f64>() / n;
    let of_mean = values.iter().map(|near| near.error).sum::<f64>() / n;
    let largest = values.iter().map(|near| near.value.abs() + near.error).fold(0.0, f64::max);
    let distance_errors: Vec<f64> =
        values.iter().map(|near| near.error + of_mean + (n + 3.0) * UNIT * largest).collect();
    let variance = values.iter().map(|near| (near.value - mean).powi(2)).sum::<f64>() / n;
    let deviation = (variance + 1e-5).sqrt();
    let root = (distance_errors.iter().map(|error| error * error).sum::<f64>() / n).sqrt();
    assert!(root < deviation, "errors of {root} may make a deviation of {deviation} 0");
    for (number, (near, error)) in values.iter_mut().zip(distance_errors).enumerate() {
        let unit = (near.value - mean) / deviation;
        let (gain, shift) = (f64::from(norm.gain[number]), f64::from(norm.shift[number]));
        let error = (error + unit.abs() * root) / (deviation - root);
        let error = error + (n + 8.0) * UNIT * (unit.abs() + error);
        let value = gain * unit + shift;
        let error = gain.abs() * error + 2.0 * UNIT * ((gain * unit).abs() + shift.abs() + gain.abs() * error);
        *near = Near { value, error };
    }
}

/// Slopes are at most 1.13 (GELU's), and a function has 8 roundings of single precision.
fn activated(activation: Activation, near: Near) -> Near {
    let error = 1.13 * near.error + 8.0 * UNIT * near.value.abs().max(1.0);
    Near { value: in_reference(activation).value(near.value), error }
}

/// What is dropped is 0; what is kept was rounded before it is scaled, and its product is rounded.
fn dropped(Near { value, error }: Near, factor: f64, rounding: f64) -> Near {
    let size = value.abs() + error;
    Near { value: factor * value, error: factor * (error + (rounding + 3.0 * UNIT) * size) }
}
