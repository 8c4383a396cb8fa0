//! The plain perceptrons against what other people's programs computed, and the sequential program against the parallel one.

use std::io::Read;
use std::sync::Arc;

use warpplay::Device;
use warpplay::mlp::{Classifier, Dataset, Options, Precision};
use warpplay_cpu_ref::mlp::{
    Activation, Dropout, Init, Layer, Network, Numbers, Optimizer, Parallel, Pass, Program, Real, Reduction,
    Sequential, Settings, Training, epoch_order, norm, pieces,
};
use warpplay_tests::Checked;
use warpplay_tests::golden::{self, Tensors};
use warpplay_tests::tolerance::{Tolerance, close, same};

/// Double precision against double precision with another order of summation.
const F64: Tolerance = Tolerance { abs: 1e-12, rel: 0.0 };

/// What each optimiser of the tiny set did.
const TINY: [(&str, f64, f64, Optimizer); 7] = [
    ("sgd", 0.1, 0.0, Optimizer::Sgd),
    ("momentum", 0.1, 0.0, Optimizer::Momentum { momentum: 0.9 }),
    ("nesterov", 0.1, 0.0, Optimizer::Nesterov { momentum: 0.9 }),
    ("sgd_wd", 0.1, 0.01, Optimizer::Sgd),
    ("adam", 0.01, 0.0, Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }),
    ("adamw", 0.01, 0.01, Optimizer::AdamW { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }),
    ("rmsprop", 0.01, 0.0, Optimizer::RmsProp { alpha: 0.99, epsilon: 1e-8 }),
];

fn widened<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.widened()).collect()
}

/// A bound as a share of the largest reference value: rounding of a sum goes with its largest terms.
fn of_largest(expected: &[f64], share: f64) -> Tolerance {
    Tolerance { abs: share * expected.iter().fold(0.0, |most, value| value.abs().max(most)), rel: 0.0 }
}

/// The two-layer network whose tensors have this prefix.
fn network<T: Real>(file: &Tensors, prefix: &str) -> Network<T> {
    let layer = |number: u32| {
        let (weights, bias) = (file.floats(&format!("{prefix}W{number}")), file.floats(&format!("{prefix}b{number}")));
        let rounded = |values: &[f64]| values.iter().map(|&value| T::rounded(value)).collect();
        let n_outputs = bias.len();
        Layer {
            n_inputs: weights.len() / n_outputs,
            n_outputs,
            weights: rounded(&weights),
            bias: rounded(&bias),
            ..Layer::default()
        }
    };
    Network::new(vec![layer(1), layer(2)])
}

/// Holds a network to the tensors with a prefix; `tolerance` from the name and the expected values.
fn check_network<T: Real>(
    got: &Network<T>,
    file: &Tensors,
    prefix: &str,
    tolerance: impl Fn(&str, &[f64]) -> Tolerance,
) {
    for (number, layer) in got.layers().iter().enumerate() {
        for (letter, values) in [("W", &layer.weights), ("b", &layer.bias)] {
            let name = format!("{prefix}{letter}{}", number + 1);
            let expected = file.floats(&name);
            close(&name, &widened(values), &expected, tolerance(&name, &expected));
        }
    }
}

/// Holds everything that a step left behind to the tensors with a prefix.
fn check_pass<T: Real>(pass: &Pass<T>, file: &Tensors, prefix: &str, tolerance: impl Fn(&[f64]) -> Tolerance) {
    let mean = [T::rounded(pass.loss_sum() / pass.losses.len() as f64)];
    let [first, second] = &pass.gradients[..] else { panic!("two layers") };
    let parts = [
        ("z1", &pass.z[0][..]),
        ("h", &pass.h[0]),
        ("z2", &pass.z[1]),
        ("p", &pass.p),
        ("nll", &pass.losses),
        ("loss", &mean),
        ("dz2", &pass.dz[1]),
        ("dz1", &pass.dz[0]),
        ("dW2", &second.weights),
        ("db2", &second.bias),
        ("dW1", &first.weights),
        ("db1", &first.bias),
    ];
    for (name, values) in parts {
        let name = format!("{prefix}{name}");
        let expected = file.floats(&name);
        close(&name, &widened(values), &expected, tolerance(&expected));
    }
}

fn tiny<P: Program>(program: &str) {
    let file = golden::tensors("mlp/mlp_tiny_reference.safetensors");
    let (x, y) = (file.floats("x"), file.bytes("y"));
    for (name, learning_rate, weight_decay, optimizer) in TINY {
        let settings = Settings { optimizer, weight_decay, ..Settings::default() };
        let mut training = Training::<f64>::new(network(&file, "init."), settings);
        let batches = x.chunks(7 * 13).zip(y.chunks(7));
        let mut losses = Vec::new();
        for (x, y) in batches {
            losses.push(training.step_on::<P>(x, y, learning_rate) / 7.0);
            if losses.len() == 1 {
                check_pass(training.pass(), &file, "step1.", |_| F64);
            }
        }
        assert_eq!(losses.len(), 5);
        close(&format!("{program}: {name}.losses"), &losses, &file.floats(&format!("{name}.losses")), F64);
        check_network(&training.network, &file, &format!("{name}.after5."), |_, _| F64);
    }
}

#[test]
fn tiny_network_learns_as_in_the_reference_with_every_optimiser() {
    tiny::<Sequential>("sequential");
    tiny::<Parallel>("parallel");
}

#[test]
fn first_weights_and_orders_are_the_published_ones() {
    let numbers = Numbers::new(1, 1);
    let first = [numbers.at(1), numbers.at(2), numbers.at(3)];
    assert_eq!(first, [0x6186_40d5_11ea_0c16, 0x8858_072c_497a_cfb9, 0x9891_b60f_af05_aad7]);
    let network = Network::<f32>::drawn(&[784, 256, 10], Init::HeUniform, 1);
    // The reference prints eight decimals.
    let printed = Tolerance { abs: 5.1e-9, rel: 0.0 };
    let weights = widened(&network.layers()[0].weights[..3]);
    close("W1", &weights, &[-0.020_828_58, 0.005_702_62, 0.016_791_84], printed);
    let order = epoch_order(1, 0, 60_000);
    same("epoch 0", &order[..8], &[2133, 15851, 41853, 47156, 38877, 13727, 25191, 41425]);
    same("epoch 1", &epoch_order(1, 1, 60_000)[..4], &[13657, 59073, 13996, 51306]);
    let mut sorted = order;
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..60_000), "every sample once");
}

#[test]
fn drawn_weights_have_the_stated_spread() {
    let (n_inputs, n_outputs) = (300, 100);
    for (init, variance) in [
        (Init::HeUniform, 2.0 / 300.0),
        (Init::HeNormal, 2.0 / 300.0),
        (Init::XavierUniform, 2.0 / 400.0),
        (Init::XavierNormal, 2.0 / 400.0),
    ] {
        let network = Network::<f64>::drawn(&[n_inputs, n_outputs], init, 7);
        let weights = &network.layers()[0].weights;
        let n = weights.len() as f64;
        let mean = weights.iter().sum::<f64>() / n;
        let found = weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / n;
        // Five standard errors of 30,000 draws: of the mean, and of a normal's variance.
        assert!(mean.abs() < 5.0 * (variance / n).sqrt(), "{init:?}: mean {mean}");
        assert!((found / variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{init:?}: variance {found}, not {variance}");
        let bound = (3.0 * variance).sqrt() * (1.0 + 1e-6);
        let bounded = weights.iter().all(|w| w.abs() <= bound);
        assert_eq!(bounded, matches!(init, Init::HeUniform | Init::XavierUniform), "{init:?}: within {bound}");
        assert!(network.layers()[0].bias.iter().all(|&b| b == 0.0));
    }
}

/// Pixels and labels without meaning.
fn noise(n: usize, n_inputs: usize, n_classes: u64, seed: u32) -> (Vec<u8>, Vec<u8>) {
    let numbers = Numbers::new(seed, 9);
    let images = (0..(n * n_inputs) as u64).map(|i| (numbers.at(i + 1) >> 56) as u8).collect();
    let labels = (0..n as u64).map(|i| (numbers.at(1 << 32 | i) % n_classes) as u8).collect();
    (images, labels)
}

#[test]
fn gradients_are_those_of_the_loss() {
    // Step of the difference quotient: its error is about step², that of the losses' rounding 1e-16 / step.
    const STEP: f64 = 1e-5;
    let (images, labels) = noise(9, 12, 4, 3);
    for hidden in [&[][..], &[7], &[6, 5, 8]] {
        let sizes = [&[12], hidden, &[4]].concat();
        let network = Network::<f64>::drawn(&sizes, Init::HeUniform, 5);
        for (reduction, smoothing) in [(Reduction::Mean, 0.0), (Reduction::Sum, 0.0), (Reduction::Mean, 0.3)] {
            let mut pass = Pass::default();
            network.forward::<Sequential>(&images, &mut pass);
            network.backward_smoothed::<Sequential>(&labels, reduction, smoothing, &mut pass);
            let loss = |network: &Network<f64>| {
                let mut pass = Pass::default();
                network.forward::<Sequential>(&images, &mut pass);
                network.smoothed_losses(&labels, smoothing, &mut pass);
                pass.loss_sum() / if reduction == Reduction::Mean { 9.0 } else { 1.0 }
            };
            for (number, gradient) in pass.gradients.iter().enumerate() {
                let slope = |pick: &dyn Fn(&mut Layer<f64>) -> &mut f64| {
                    let (mut more, mut less) = (network.clone(), network.clone());
                    *pick(&mut more.layers_mut()[number]) += STEP;
                    *pick(&mut less.layers_mut()[number]) -= STEP;
                    (loss(&more) - loss(&less)) / (2.0 * STEP)
                };
                let weights: Vec<f64> =
                    (0..gradient.weights.len()).map(|at| slope(&|layer| &mut layer.weights[at])).collect();
                let bias: Vec<f64> = (0..gradient.bias.len()).map(|at| slope(&|layer| &mut layer.bias[at])).collect();
                let bound = Tolerance { abs: 1e-8, rel: 1e-7 };
                close(&format!("{sizes:?} dW{number}"), &gradient.weights, &weights, bound);
                close(&format!("{sizes:?} db{number}"), &gradient.bias, &bias, bound);
            }
        }
    }
}

/// A smoothed label is a mixture of labels, in which loss and gradient are linear.
#[test]
fn smoothed_labels_are_a_mixture_of_labels() {
    let numbers = Numbers::new(4, 1);
    let logits: Vec<f64> = (0..5 * 4).map(|at| ((numbers.at(at) >> 40) as f64 / 2f64.powi(22)) - 2.0).collect();
    let labels = [2u8, 0, 3, 1, 2];
    let of = |labels: &[u8], smoothing: f64| {
        let (mut losses, mut p, mut dz) = ([0.0; 5], [0.0; 20], [0.0; 20]);
        pieces::smoothed_losses(&logits, labels, &mut losses, 4, smoothing);
        pieces::softmax(&logits, &mut p, 4);
        pieces::smoothed_gradient(&p, labels, &mut dz, 4, (Reduction::Mean, smoothing));
        [&losses[..], &dz].concat()
    };
    for smoothing in [0.0, 0.1, 0.75] {
        let mut expected: Vec<f64> = of(&labels, 0.0).iter().map(|value| (1.0 - smoothing) * value).collect();
        for class in 0..4 {
            for (sum, value) in expected.iter_mut().zip(of(&[class; 5], 0.0)) {
                *sum += smoothing / 4.0 * value;
            }
        }
        close(&format!("smoothing {smoothing}"), &of(&labels, smoothing), &expected, F64);
    }
}

/// A step of plain descent is the gradient, shortened to the norm where it is longer.
fn clips<P: Program>() {
    let (images, labels) = noise(9, 12, 4, 3);
    let network = Network::<f64>::drawn(&[12, 6, 4], Init::HeUniform, 5);
    let mut pass = Pass::default();
    network.forward::<P>(&images, &mut pass);
    network.backward::<P>(&labels, Reduction::Mean, &mut pass);
    let flat = |layers: &[Layer<f64>]| -> Vec<f64> {
        layers.iter().flat_map(|layer| [&layer.weights[..], &layer.bias].concat()).collect()
    };
    let gradient = flat(&pass.gradients);
    let norm = gradient.iter().map(|value| value * value).sum::<f64>().sqrt();
    for share in [0.25, 0.999, 1.5] {
        let most = share * norm;
        let mut training = Training::new(network.clone(), Settings { clip_norm: Some(most), ..Settings::default() });
        training.step::<P>(&images, &labels, &[0, 1, 2, 3, 4, 5, 6, 7, 8], 1.0);
        close("norm", &[training.norm().expect("it is clipped")], &[norm], F64);
        let factor = if share < 1.0 { most / (norm + 1e-6) } else { 1.0 };
        let before = flat(network.layers());
        let expected: Vec<f64> = before.iter().zip(&gradient).map(|(w, g)| w - factor * g).collect();
        close(&format!("{share} of the norm"), &flat(training.network.layers()), &expected, F64);
    }
}

/// Each gradient is the difference of losses at weights a little apart: a central difference in double precision, whose error is some 1e-10 of numbers about 1.
fn descends<P: Program>() {
    const STEP: f64 = 1e-5;
    let (images, labels) = noise(5, 7, 3, 3);
    for activation in [Activation::Relu, Activation::Tanh, Activation::Sigmoid, Activation::Gelu] {
        let network = Network::<f64>::drawn(&[7, 6, 5, 3], Init::XavierUniform, 5).with_activation(activation);
        let mut pass = Pass::default();
        network.forward::<P>(&images, &mut pass);
        network.backward::<P>(&labels, Reduction::Sum, &mut pass);
        let loss = |number: usize, at: usize, step: f64| {
            let mut moved = network.clone();
            moved.layers_mut()[number].weights[at] += step;
            let mut pass = Pass::default();
            moved.forward::<P>(&images, &mut pass);
            moved.losses(&labels, &mut pass);
            pass.loss_sum()
        };
        for (number, layer) in network.layers().iter().enumerate() {
            for at in 0..layer.weights.len() {
                let expected = (loss(number, at, STEP) - loss(number, at, -STEP)) / (2.0 * STEP);
                let found = pass.gradients[number].weights[at];
                assert!(
                    (found - expected).abs() < 1e-8,
                    "{activation:?}, layer {number}, weight {at}: {found} {expected}"
                );
            }
        }
    }
}

/// The same with layer norm, and with batch norm: of weights, biases, gains and shifts, with dropout behind it and without.
fn descends_with_norms<P: Program>(with_norm: fn(Network<f64>) -> Network<f64>) {
    const STEP: f64 = 1e-5;
    let (images, labels) = noise(5, 7, 3, 3);
    for (activation, dropout) in [
        (Activation::Relu, None),
        (Activation::Tanh, None),
        (Activation::Gelu, Some((Dropout { rate: 0.3, seed: 3 }, 1))),
    ] {
        let drawn = Network::<f64>::drawn(&[7, 6, 5, 3], Init::XavierUniform, 5);
        let mut network = with_norm(drawn.with_activation(activation));
        let numbers = Numbers::new(8, 1);
        for layer in &mut network.layers_mut()[..2] {
            for (at, value) in (1..).zip(layer.gain.iter_mut().chain(&mut layer.shift)) {
                *value += 0.5 * f64::from(numbers.uniform(at));
            }
        }
        let mut pass = Pass::default();
        network.forward_dropped::<P>(&images, dropout, &mut pass);
        network.backward::<P>(&labels, Reduction::Sum, &mut pass);
        type Pick = fn(&mut Layer<f64>) -> &mut Vec<f64>;
        let picks: [Pick; 4] = [|of| &mut of.weights, |of| &mut of.bias, |of| &mut of.gain, |of| &mut of.shift];
        for number in 0..3 {
            for (which, pick) in picks.iter().enumerate() {
                let found = pick(&mut pass.gradients[number]).clone();
                let loss = |at: usize, step: f64| {
                    let mut moved = network.clone();
                    pick(&mut moved.layers_mut()[number])[at] += step;
                    let mut pass = Pass::default();
                    moved.forward_dropped::<P>(&images, dropout, &mut pass);
                    moved.losses(&labels, &mut pass);
                    pass.loss_sum()
                };
                assert_eq!(found.is_empty(), which >= 2 && number == 2);
                for (at, found) in found.iter().enumerate() {
                    let expected = (loss(at, STEP) - loss(at, -STEP)) / (2.0 * STEP);
                    let what = format!("{activation:?}, layer {number}, {which}, {at}");
                    assert!((found - expected).abs() < 1e-7, "{what}: {found} {expected}");
                }
            }
        }
    }
}

/// Differences are of numbers a few times as large as without it, which are divided by deviations below 1.
#[test]
fn gradients_are_differences_of_losses_with_norms() {
    for with_norm in [Network::with_layer_norm, Network::with_batch_norm] {
        descends_with_norms::<Sequential>(with_norm);
        descends_with_norms::<Parallel>(with_norm);
    }
}

/// Two rows by hand: 1, 2, 3, 4 has the mean 2.5 and the variance 1.25; what does not vary is 0.
#[test]
fn rows_are_normalised() {
    let z = [1.0f64, 2.0, 3.0, 4.0, 7.0, 7.0, 7.0, 7.0];
    let (mut x, mut y) = ([0.0; 8], [0.0; 8]);
    norm::normalise(&z, &mut x, 4);
    let inverse = 1.0 / (1.25f64 + 1e-5).sqrt();
    let expected = [-1.5, -0.5, 0.5, 1.5, 0.0, 0.0, 0.0, 0.0].map(|distance| distance * inverse);
    close("normalised", &x, &expected, F64);
    norm::scale_and_shift(&x, &[1.0, 2.0, 3.0, 4.0], &[0.5, 0.0, 0.0, -1.0], &mut y);
    let expected = [x[0] + 0.5, 2.0 * x[1], 3.0 * x[2], 4.0 * x[3] - 1.0, 0.5, 0.0, 0.0, -1.0];
    close("scaled", &y, &expected, F64);
}

/// The same with half of the units dropped, the same ones in each pass of an update; weights of dropped units alone have no gradient.
fn descends_with_dropout<P: Program>() {
    const STEP: f64 = 1e-5;
    let (images, labels) = noise(5, 7, 3, 3);
    let dropout = Some((Dropout { rate: 0.5, seed: 3 }, 4));
    for activation in [Activation::Relu, Activation::Gelu] {
        let network = Network::<f64>::drawn(&[7, 6, 5, 3], Init::XavierUniform, 5).with_activation(activation);
        let mut pass = Pass::default();
        network.forward_dropped::<P>(&images, dropout, &mut pass);
        network.backward::<P>(&labels, Reduction::Sum, &mut pass);
        assert!([&pass.masks[0], &pass.masks[1]].iter().all(|mask| mask.contains(&0.0) && mask.contains(&2.0)));
        let loss = |number: usize, at: usize, step: f64| {
            let mut moved = network.clone();
            moved.layers_mut()[number].weights[at] += step;
            let mut pass = Pass::default();
            moved.forward_dropped::<P>(&images, dropout, &mut pass);
            moved.losses(&labels, &mut pass);
            pass.loss_sum()
        };
        for (number, layer) in network.layers().iter().enumerate() {
            for at in 0..layer.weights.len() {
                let expected = (loss(number, at, STEP) - loss(number, at, -STEP)) / (2.0 * STEP);
                let found = pass.gradients[number].weights[at];
                assert!((found - expected).abs() < 1e-8, "{activation:?}, {number}, {at}: {found} {expected}");
            }
        }
        network.forward::<P>(&images, &mut pass);
        assert!(pass.masks.is_empty());
    }
}

#[test]
fn gradients_are_differences_of_losses_with_dropout() {
    descends_with_dropout::<Sequential>();
    descends_with_dropout::<Parallel>();
}

/// The share of dropped units is within six standard deviations of the rate, in each of many updates together and in each column; each row of a batch has its own.
#[test]
fn units_are_dropped_at_the_rate() {
    let (rows, n_units, updates) = (40, 33, 50);
    for rate in [0.1, 0.5, 0.8] {
        let dropout = Dropout { rate, seed: 9 };
        let (mut all, mut of_columns) = (0.0, vec![0.0; n_units]);
        for update in 0..updates {
            let (mut mask, mut tail) = (vec![0.0f64; rows * n_units], vec![0.0; n_units]);
            dropout.factors(1, update, 0, n_units, &mut mask);
            dropout.factors(1, update, rows - 1, n_units, &mut tail);
            assert_eq!(mask[(rows - 1) * n_units..], tail);
            assert_ne!(mask[..n_units], mask[n_units..2 * n_units]);
            for (at, factor) in mask.iter().enumerate() {
                let is_dropped = f64::from(u8::from(*factor == 0.0));
                assert!(is_dropped == 1.0 || *factor == 1.0 / (1.0 - rate));
                all += is_dropped;
                of_columns[at % n_units] += is_dropped;
            }
        }
        let within = |dropped: f64, n: f64| (dropped - n * rate).abs() < 6.0 * (n * rate * (1.0 - rate)).sqrt();
        let of_column = (rows as u64 * updates) as f64;
        assert!(within(all, of_column * n_units as f64), "{rate}: {all}");
        assert!(of_columns.iter().all(|&dropped| within(dropped, of_column)), "{rate}: {of_columns:?}");
    }
}

#[test]
fn gradients_are_differences_of_losses_with_each_activation() {
    descends::<Sequential>();
    descends::<Parallel>();
}

#[test]
fn gradients_are_clipped_by_the_norm_of_them_all() {
    clips::<Sequential>();
    clips::<Parallel>();
}

/// Twenty steps on real batches in one precision; `share` bounds one step, `after20` the weights after all.
fn real_batches<T: Real, P: Program>(file: &Tensors, name: &str, share: f64, after1: f64, after20: f64) {
    let (x, y) = (file.bytes("batches_x_u8"), file.bytes("batches_y_u8"));
    let start = Network::<T>::drawn(&[784, 256, 10], Init::HeUniform, 1);
    check_network(&start, file, "init.", |_, _| Tolerance { abs: 0.0, rel: 0.0 });
    let mut training = Training::new(start, Settings::default());
    let mut losses = Vec::new();
    for batch in 0..20 {
        let samples: Vec<usize> = (64 * batch..64 * (batch + 1)).collect();
        losses.push(training.step::<P>(&x, &y, &samples, 0.01) / 64.0);
        if batch == 0 {
            check_pass(training.pass(), file, &format!("{name}.step1."), |expected| of_largest(expected, share));
            check_network(&training.network, file, &format!("{name}.after1."), |_, _| Tolerance {
                abs: after1,
                rel: 0.0,
            });
        }
    }
    let expected = file.floats(&format!("{name}.losses20"));
    close("losses", &losses, &expected, of_largest(&expected, share));
    check_network(&training.network, file, &format!("{name}.after20."), |_, _| Tolerance { abs: after20, rel: 0.0 });
}

#[test]
fn real_batches_are_learnt_as_in_the_reference() {
    let Some(path) = golden::shared("vectors/mlp_step_reference.safetensors") else { return };
    let file = Tensors::read(&path);
    let indices: Vec<usize> = file.integers("batches_index").iter().map(|&index| index as usize).collect();
    same("batches of epoch 0", &epoch_order(1, 0, 60_000)[..20 * 64], &indices);
    real_batches::<f64, Sequential>(&file, "f64", 1e-13, 1e-14, 1e-13);
    real_batches::<f64, Parallel>(&file, "f64", 1e-13, 1e-14, 1e-13);
    // The reference's own figures for single precision with another order of summation.
    real_batches::<f32, Sequential>(&file, "f32", 2e-6, 1e-6, 1e-6);
    real_batches::<f32, Parallel>(&file, "f32", 2e-6, 1e-6, 1e-6);
    real_batches::<f32, Parallel>(&file, "f64", 2e-6, 1e-6, 1e-6);
}

/// Images and labels of MNIST, if it is there: `train` or `t10k`.
fn mnist(part: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let read = |name: String, header: usize| {
        let file =
            std::fs::File::open(golden::shared(&format!("data/mnist/{name}"))?).expect("a file that can be read");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("a gzip file");
        Some(bytes.split_off(header))
    };
    Some((read(format!("{part}-images-idx3-ubyte.gz"), 16)?, read(format!("{part}-labels-idx1-ubyte.gz"), 8)?))
}

fn scores_as_published<T: Real, P: Program>(file: &Tensors, images: &[u8], labels: &[u8], share: f64) {
    let network = network::<T>(file, "");
    let mut classes = Vec::new();
    for images in images.chunks(1000 * 784) {
        let mut pass = Pass::default();
        network.forward::<P>(images, &mut pass);
        if classes.is_empty() {
            let expected = file.floats("test_logits_f64_first256");
            close("logits", &widened(&pass.z[1][..2560]), &expected, of_largest(&expected, share));
        }
        classes.extend(network.classes(&pass));
    }
    let expected: Vec<u32> = file.bytes("test_pred_u8").into_iter().map(u32::from).collect();
    same("classes", &classes, &expected);
    let correct = classes.iter().zip(labels).filter(|&(&class, &label)| class == u32::from(label)).count();
    assert_eq!(correct, 9415);
}

#[test]
fn trained_network_scores_exactly_what_it_should() {
    let Some(path) = golden::shared("vectors/mlp_trained_f32.safetensors") else { return };
    let Some((images, labels)) = mnist("t10k") else { return };
    let file = Tensors::read(&path);
    scores_as_published::<f32, Parallel>(&file, &images, &labels, 2e-6);
    scores_as_published::<f32, Sequential>(&file, &images, &labels, 2e-6);
    scores_as_published::<f64, Parallel>(&file, &images, &labels, 1e-13);
}

#[test]
fn trained_network_scores_the_same_through_the_cpu_back_end() -> Checked {
    let Some(path) = golden::shared("vectors/mlp_trained_f32.safetensors") else { return Ok(()) };
    let Some((images, labels)) = mnist("t10k") else { return Ok(()) };
    let layers = network::<f32>(&Tensors::read(&path), "")
        .layers()
        .iter()
        .map(|layer| warpplay::mlp::Layer {
            n_inputs: layer.n_inputs as u32,
            n_outputs: layer.n_outputs as u32,
            weights: layer.weights.clone(),
            bias: layer.bias.clone(),
        })
        .collect();
    let network = warpplay::mlp::Network::new(layers)?;
    let set = Arc::new(Dataset::new(images, labels, 28, 28, 10, "t10k")?);
    let run: serde_json::Value = serde_json::from_str(&golden::text("mlp/mlp_reference_run.json")).expect("JSON");
    let expected = &run["trained_weights"];
    for precision in [Precision::F32, Precision::F64] {
        let options = Options { precision, ..Options::default() };
        let found = Classifier::builder(&network).options(options.clone()).build(&Device::cpu())?.evaluate(&set)?;
        assert_eq!((found.correct, found.total), (9415, 10_000), "{precision}");
        assert_eq!(serde_json::json!(found.confusion), expected["confusion_rows_true_cols_pred"], "{precision}");
        let loss = expected["test_mean_nll"].as_f64().expect("a number");
        close("loss", &[found.loss], &[loss], Tolerance { abs: 0.0, rel: 2e-6 });
    }
    Ok(())
}

#[test]
fn first_epochs_follow_the_reference_curve() {
    const EPOCHS: u32 = 2;
    let Some((images, labels)) = mnist("train") else { return };
    let Some((test_images, test_labels)) = mnist("t10k") else { return };
    let run: serde_json::Value = serde_json::from_str(&golden::text("mlp/mlp_reference_run.json")).expect("JSON");
    let mut training = Training::<f32>::new(Network::drawn(&[784, 256, 10], Init::HeUniform, 1), Settings::default());
    for epoch in 0..EPOCHS {
        let order = epoch_order(1, epoch, labels.len());
        let loss = training.epoch::<Parallel>(&images, &labels, &order, 64, 0.01) / labels.len() as f64;
        let mut pass = Pass::default();
        training.network.forward::<Parallel>(&test_images, &mut pass);
        let accuracy = pieces::n_correct(&pass.z[1], &test_labels, 10) as f64 / test_labels.len() as f64;
        let expected = &run["trajectory"]["f64"][epoch as usize];
        let number = |name: &str| expected[name].as_f64().expect("a number");
        close("loss", &[loss], &[number("train_loss")], Tolerance { abs: 0.0, rel: 1e-4 });
        // Two of the 10,000 test images may be at the border.
        close("accuracy", &[accuracy], &[number("test_acc")], Tolerance { abs: 2.1e-4, rel: 0.0 });
    }
}

/// Some steps of a training on noise, the last batches short.
fn trained<T: Real, P: Program>(sizes: &[usize], batch: usize, optimizer: Optimizer) -> (Vec<f64>, Training<T>) {
    let n = 2 * batch + batch.div_ceil(3);
    let (images, labels) = noise(n, sizes[0], sizes[sizes.len() - 1] as u64, 11);
    let settings = Settings { optimizer, weight_decay: 0.01, ..Settings::default() };
    let mut training = Training::new(Network::drawn(sizes, Init::HeUniform, 3), settings);
    let losses =
        (0..2).map(|epoch| training.epoch::<P>(&images, &labels, &epoch_order(3, epoch, n), batch, 0.003)).collect();
    (losses, training)
}

/// Shapes on both sides of what a block, a panel and nalgebra's small products are.
const SHAPES: [(&[usize], usize); 7] = [
    (&[5, 3], 1),
    (&[7, 6, 2], 5),
    (&[40, 33, 17, 9], 31),
    (&[96, 8, 8, 8, 5], 33),
    (&[129, 200, 3], 64),
    (&[784, 300, 10], 65),
    (&[65, 31, 12], 600),
];

#[test]
fn sequential_and_parallel_agree_within_rounding() {
    for (sizes, batch) in SHAPES {
        for (name, _, _, optimizer) in TINY {
            // The adaptive optimisers divide by gradients' sizes, which blows up the rounding of small ones: they are held in f64 only.
            let (sequential_losses, sequential) = trained::<f64, Sequential>(sizes, batch, optimizer);
            let (parallel_losses, parallel) = trained::<f64, Parallel>(sizes, batch, optimizer);
            let what = format!("{sizes:?} by {batch}, {name}");
            let bound = Tolerance { abs: 1e-8, rel: 1e-9 };
            close(&what, &parallel_losses, &sequential_losses, bound);
            for (parallel, sequential) in parallel.network.layers().iter().zip(sequential.network.layers()) {
                close(&what, &parallel.weights, &sequential.weights, bound);
                close(&what, &parallel.bias, &sequential.bias, bound);
            }
        }
        let (sequential_losses, sequential) = trained::<f32, Sequential>(sizes, batch, Optimizer::Sgd);
        let (parallel_losses, parallel) = trained::<f32, Parallel>(sizes, batch, Optimizer::Sgd);
        let bound = Tolerance { abs: 2e-6, rel: 2e-6 };
        close("f32 losses", &parallel_losses, &sequential_losses, bound);
        for (parallel, sequential) in parallel.network.layers().iter().zip(sequential.network.layers()) {
            close("f32 weights", &widened(&parallel.weights), &widened(&sequential.weights), bound);
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let with_threads = |n_threads: usize, sizes: &[usize], batch: usize, optimizer: Optimizer| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("a few threads");
        pool.install(|| trained::<f32, Parallel>(sizes, batch, optimizer))
    };
    for (sizes, batch) in SHAPES {
        for (name, _, _, optimizer) in TINY {
            let (expected_losses, expected) = with_threads(1, sizes, batch, optimizer);
            for n_threads in [2, 3] {
                let (losses, training) = with_threads(n_threads, sizes, batch, optimizer);
                let what = format!("{sizes:?} by {batch}, {name}, {n_threads} threads");
                assert_eq!(losses, expected_losses, "{what}");
                assert_eq!(training.network, expected.network, "{what}");
                assert_eq!(training.moments, expected.moments, "{what}");
            }
        }
    }
}

#[test]
fn pieces_do_what_their_formulas_say() {
    use pieces::Product;
    // [2, 3] times [3, 2], by hand.
    let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]);
    let (a_transposed, b_transposed) = ([1.0, 4.0, 2.0, 5.0, 3.0, 6.0], [7.0, 9.0, 11.0, 8.0, 10.0, 12.0]);
    let shape = Product::new(2, 2, 3);
    for (a, shape) in [(&a, shape), (&a_transposed, shape.transposed_a())] {
        for (b, shape) in [(&b, shape), (&b_transposed, shape.transposed_b())] {
            let mut out = [f64::NAN; 4];
            Sequential::matmul(a, b, &mut out, shape);
            assert_eq!(out, [58.0, 64.0, 139.0, 154.0], "{shape:?}");
            out = [f64::NAN; 4];
            Parallel::matmul(a, b, &mut out, shape);
            assert_eq!(out, [58.0, 64.0, 139.0, 154.0], "{shape:?}");
        }
    }
    // The kink: 0 passes no gradient, of either sign.
    let z = [-1.0f32, -0.0, 0.0, 1e-30];
    let mut gradient = [1.0; 4];
    pieces::relu_backward(&z, &mut gradient);
    assert_eq!(gradient, [0.0, 0.0, 0.0, 1.0]);
    // Logits far beyond what exp can take.
    let (logits, labels) = ([1000.0f32, 1000.0, -1000.0, 0.0, 0.0, 0.0], [0u8, 2]);
    let (mut p, mut losses) = ([f32::NAN; 6], [f32::NAN; 2]);
    pieces::softmax(&logits, &mut p, 3);
    pieces::losses(&logits, &labels, &mut losses, 3);
    let third = 1.0 / 3.0;
    close("p", &widened(&p), &[0.5, 0.5, 0.0, third, third, third], Tolerance { abs: 1e-7, rel: 0.0 });
    close("losses", &widened(&losses), &[2f64.ln(), 3f64.ln()], Tolerance { abs: 2e-7, rel: 0.0 });
    assert_eq!(pieces::classes(&logits, 3), [0, 0], "the lowest of equals");
    assert_eq!(pieces::n_correct(&logits, &labels, 3), 1);
    let mut dz = [f32::NAN; 6];
    pieces::softmax_cross_entropy_gradient(&logits, &labels, &mut dz, 3, Reduction::Sum);
    close("dz", &widened(&dz), &[-0.5, 0.5, 0.0, third, third, third - 1.0], Tolerance { abs: 1e-7, rel: 0.0 });
    let (mut weights, mut gradients) = ([1.0f32, 2.0], [4.0, -8.0]);
    pieces::sgd_update(&mut weights, &mut gradients, 0.25);
    assert_eq!((weights, gradients), ([0.0, 4.0], [0.0, 0.0]));
    let mut active = [false; 2];
    pieces::mark_active(&[0.0f32, 0.0, 0.0, 1.0], &mut active);
    assert_eq!(active, [false, true]);
}
