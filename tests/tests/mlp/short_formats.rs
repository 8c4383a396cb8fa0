//! Steps on real digits in single precision, TF32 and bfloat16, against the independent reference: every value within what the formats' roundings can do to it.
//!
//! The bounds are propagated beside the values, in double precision: an operand that is rounded to `p` significant bits is off by at most 2⁻ᵖ of itself, a product by what its operands' bounds make of it,
//! a sum of `k` terms in single precision by a share of their sizes. Of 784-256-10 the first layer's two products are large enough for tensor cores, and their operands are rounded; pixels are whole
//! numbers, exact in each format. All else is in single precision.

use std::ops::ControlFlow;

use warpplay::Backend;
use warpplay::mlp::{Classifier, Engine, Options, Precision, Trainer};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::mlp::{RealBatches, values};

/// A rounding to single precision, with room for a second one.
const SINGLE: f64 = 1.0 / (1 << 23) as f64;
/// What a sum of products loses for each term, as a share of the terms' sizes: single precision rounds once, tensor cores cut each of the terms that they add at once off to the bits of the largest,
/// at least 24, and the sum too.
const TERM: f64 = 1.0 / (1 << 21) as f64;
const RATE: f64 = 0.01;
const BATCH: usize = 64;

/// A matrix, row by row, and how far from its values those of an engine may be.
#[derive(Clone, Debug)]
struct Near {
    columns: usize,
    values: Vec<f64>,
    bounds: Vec<f64>,
}

impl Near {
    fn exact(columns: usize, values: Vec<f64>) -> Self {
        let bounds = vec![0.0; values.len()];
        Self { columns, values, bounds }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    fn transposed(&self) -> Self {
        let turned = |of: &[f64]| -> Vec<f64> {
            (0..self.columns).flat_map(|column| of.iter().skip(column).step_by(self.columns).copied()).collect()
        };
        Self { columns: self.rows(), values: turned(&self.values), bounds: turned(&self.bounds) }
    }

    /// The largest sizes that elements may have before a rounding by a share of `unit` and after it.
    fn sizes(&self, unit: f64) -> Vec<f64> {
        self.values.iter().zip(&self.bounds).map(|(value, bound)| (value.abs() + bound) * (1.0 + unit)).collect()
    }

    /// The product by operands that are rounded by shares of `units`: `a' b'` is off from `a b` by at most `A B - |a| |b|`, where `A` and `B` are the largest sizes.
    fn product(&self, other: &Self, units: [f64; 2]) -> Self {
        let (left, right) = (self.sizes(units[0]), other.sizes(units[1]));
        let share = 1.0 + self.columns as f64 * TERM;
        let mut product = Self::exact(other.columns, vec![0.0; self.rows() * other.columns]);
        for (row, (values, bounds)) in product
            .values
            .chunks_exact_mut(other.columns)
            .zip(product.bounds.chunks_exact_mut(other.columns))
            .enumerate()
        {
            for depth in 0..self.columns {
                let (a, largest) = (self.values[row * self.columns + depth], left[row * self.columns + depth]);
                if largest == 0.0 {
                    continue;
                }
                let from = depth * other.columns;
                for column in 0..other.columns {
                    let b = other.values[from + column];
                    values[column] += a * b;
                    bounds[column] += largest * right[from + column] * share - (a * b).abs();
                }
            }
        }
        product
    }

    /// The sum of the same row and each row.
    fn plus(mut self, row: &Self) -> Self {
        for (at, (value, bound)) in self.values.iter_mut().zip(&mut self.bounds).enumerate() {
            *value += row.values[at % self.columns];
            *bound += row.bounds[at % self.columns];
            *bound += SINGLE * (value.abs() + *bound);
        }
        self
    }

    /// The step of an optimiser.
    fn descend(&mut self, gradient: &Self) {
        for at in 0..self.values.len() {
            self.values[at] -= RATE * gradient.values[at];
            let step = RATE * (gradient.values[at].abs() + gradient.bounds[at]);
            self.bounds[at] += RATE * gradient.bounds[at];
            self.bounds[at] += SINGLE * (self.values[at].abs() + self.bounds[at] + step);
        }
    }
}

/// Weights and biases: W1, b1, W2, b2.
type Parameters = [Near; 4];

/// One step: its logits, its loss and how far that may be off.
fn step(parameters: &mut Parameters, x: &Near, labels: &[u8], unit: f64) -> (Near, f64, f64) {
    let [w1, b1, w2, b2] = parameters;
    // Pixels are exact, and their division by 255 is a rounding of the sums.
    let units = [2.0 * SINGLE, unit];
    let z1 = x.product(w1, units).plus(b1);
    let mut h = z1.clone();
    h.values.iter_mut().for_each(|value| *value = value.max(0.0));
    let z2 = h.product(w2, [0.0; 2]).plus(b2);
    let (mut loss, mut off) = (0.0, 0.0);
    let mut dz2 = z2.clone();
    for (row, &label) in labels.iter().enumerate() {
        let range = row * z2.columns..(row + 1) * z2.columns;
        let (z, most) = (&z2.values[range.clone()], z2.bounds[range.clone()].iter().copied().fold(0.0, f64::max));
        let sum: f64 = z.iter().map(|z| z.exp()).sum();
        loss += (sum.ln() - z[usize::from(label)]) / BATCH as f64;
        off += 2.0 * most / BATCH as f64;
        for (class, at) in range.enumerate() {
            let p = z2.values[at].exp() / sum;
            dz2.values[at] = (p - f64::from(u8::from(class == usize::from(label)))) / BATCH as f64;
            // Numerator and denominator are each off by a factor of at most e to the bound; the exponentials and the quotient by some roundings.
            dz2.bounds[at] = (p * ((2.0 * most).exp_m1() + 8.0 * SINGLE) + SINGLE) / BATCH as f64;
        }
    }
    off += 8.0 * SINGLE * (1.0 + loss);
    let mut dz1 = dz2.product(&w2.transposed(), [0.0; 2]);
    for (at, (value, bound)) in dz1.values.iter_mut().zip(&mut dz1.bounds).enumerate() {
        let (z, within) = (z1.values[at], z1.bounds[at]);
        if z.abs() <= within {
            // The unit may be on either side of 0, and its gradient passes or not.
            *bound += value.abs();
        }
        if z <= 0.0 {
            *value = 0.0;
            *bound = if z < -within { 0.0 } else { *bound };
        }
    }
    let ones = Near::exact(BATCH, vec![1.0; BATCH]);
    let gradients = [
        x.transposed().product(&dz1, units),
        ones.product(&dz1, [0.0, unit]),
        h.transposed().product(&dz2, [0.0; 2]),
        ones.product(&dz2, [0.0; 2]),
    ];
    for (values, gradient) in parameters.iter_mut().zip(&gradients) {
        values.descend(gradient);
    }
    (z2, loss, off)
}

/// Values that an engine found are within the bounds, and how much of them is used at most.
fn within(what: &str, found: &[f64], expected: &[f64], bounds: impl IntoIterator<Item = f64>) {
    let mut used = 0.0f64;
    for (at, ((found, expected), bound)) in found.iter().zip(expected).zip(bounds).enumerate() {
        let error = (found - expected).abs();
        assert!(error <= bound, "{what}: {found} at {at}, expected {expected} within {bound:e}");
        used = used.max(error / bound);
    }
    println!("{what}: at most {used:.2} of the bound");
}

#[test]
fn steps_on_real_digits_are_within_the_formats_roundings() {
    let Some(real) = RealBatches::read() else { return };
    for_each_device(|device| {
        let n_steps = if device.backend() == Backend::Cuda { 20 } else { 1 };
        let (set, names) = (real.set(n_steps), ["W1", "b1", "W2", "b2"]);
        let single = |precision| -> warpplay::Result<_> {
            let options = Options { epochs: 1, engine: Engine::Layers, precision, ..Options::default() };
            let mut trainer = Trainer::builder(&set).options(options).network(real.network()).build(device)?;
            let report = trainer.run(|_| ControlFlow::Continue(()))?;
            Ok((report.epochs[0].loss, trainer.network()?))
        };
        let (_, of_single) = single(Precision::F32)?;
        // In single precision an operand is split into three of bfloat16, which lose less than 2⁻²⁴ of it.
        let formats = [(Precision::F32, -24), (Precision::Tf32, -11), (Precision::Bf16, -8)];
        for (precision, unit) in formats.map(|(precision, exponent)| (precision, 2f64.powi(exponent))) {
            let columns = [256, 256, 10, 10];
            let mut parameters: Parameters =
                std::array::from_fn(|at| Near::exact(columns[at], real.floats(&format!("init.{}", names[at]))));
            let (mut loss, mut off, mut logits) = (0.0, 0.0, None);
            for at in 0..n_steps {
                let (x, labels) = real.batch(at);
                let (z2, of_step, bound) = step(&mut parameters, &Near::exact(784, x), labels, unit);
                loss += of_step / n_steps as f64;
                off += bound / n_steps as f64;
                logits.get_or_insert(z2);
            }
            let logits = logits.expect("a step");

            // The values are those of the reference.
            let losses: Vec<f64> = real.floats("f64.losses20");
            let expected = losses[..n_steps].iter().sum::<f64>() / n_steps as f64;
            assert!((loss - expected).abs() < 1e-12, "{loss} for {expected}");
            let when = if n_steps == 20 { "after20" } else { "after1" };
            for (name, near) in names.iter().zip(&parameters) {
                for (value, expected) in near.values.iter().zip(real.floats(&format!("f64.{when}.{name}"))) {
                    assert!((value - expected).abs() < 1e-12, "{name}: {value} for {expected}");
                }
            }

            // The logits of the first batch, less that of class 0, which is all that probabilities tell.
            let what = format!("{precision} on {device}");
            let options = Options { precision, engine: Engine::Layers, ..Options::default() };
            let mut classifier = Classifier::builder(&real.network()).options(options).build(device)?;
            let of = |of: &[f64], sign: f64| -> Vec<f64> {
                of.chunks_exact(10).flat_map(|row| row.iter().map(move |z| z + sign * row[0])).collect()
            };
            let predictions = classifier.predict(real.pixels(0))?;
            let found: Vec<f64> =
                predictions.iter().flat_map(|one| &one.probabilities).map(|&p| f64::from(p).ln()).collect();
            // Probabilities in single precision have a few roundings each.
            let bounds = of(&logits.bounds, 1.0).into_iter().map(|bound| bound + 16.0 * SINGLE);
            within(&format!("logits, {what}"), &of(&found, -1.0), &of(&real.floats("f64.step1.z2"), -1.0), bounds);

            let (found, network) = single(precision)?;
            within(&format!("loss, {what}"), &[found], &[expected], [off]);
            let bounds: Vec<f64> = parameters.iter().flat_map(|near| near.bounds.iter().copied()).collect();
            let expected: Vec<f64> = parameters.iter().flat_map(|near| near.values.iter().copied()).collect();
            within(&format!("{when}, {what}"), &values(&network), &expected, bounds);
            assert_eq!(network == of_single, precision == Precision::F32, "{precision} is the format");
        }
        Ok(())
    });
}
