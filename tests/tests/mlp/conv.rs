//! Networks of convolutions: the plain gradients against differences, the kernels against the plain program, and MNIST.

use std::sync::Arc;

use warpplay::mlp::conv::{ConvNetwork, ConvOptions, ConvReport, ConvTrainer};
use warpplay::mlp::{Dataset, Layer, Network};
use warpplay::tile::bf16;
use warpplay::{Device, Error, Progress, Result};
use warpplay_cpu_ref::mlp as reference;
use warpplay_cpu_ref::mlp::conv as plain;
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::golden;
use warpplay_tests::mlp::images;

/// Two blocks, the first of two convolutions; images that are not square.
fn options() -> ConvOptions {
    ConvOptions { blocks: vec![vec![8, 16], vec![8]], batch: 6, epochs: 1, ..ConvOptions::default() }
}

const ROWS: u32 = 8;
const COLS: u32 = 12;
const CLASSES: u32 = 5;

fn set(n: usize) -> Arc<Dataset> {
    images(n, ROWS, COLS, CLASSES)
}

/// The network, with biases.
fn network(seed: u64) -> ConvNetwork {
    let drawn = ConvNetwork::initial(&options().blocks, [ROWS, COLS], CLASSES, seed).expect("a network");
    let numbers = reference::Numbers::new(9, 9000);
    let mut layers = drawn.layers().to_vec();
    for (number, layer) in layers.iter_mut().enumerate() {
        for (at, bias) in layer.bias.iter_mut().enumerate() {
            *bias = 0.1 * numbers.uniform(1 + 1000 * number as u64 + at as u64);
        }
    }
    ConvNetwork::new(options().blocks, [ROWS, COLS], layers).expect("a network")
}

/// The same in double precision.
fn in_double(network: &ConvNetwork) -> plain::ConvNetwork<f64> {
    let [rows, cols] = network.image_size().map(|side| side as usize);
    let blocks = network.blocks().iter().map(|block| block.iter().map(|&n| n as usize).collect()).collect();
    let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect();
    let layer = |layer: &Layer| reference::Layer {
        weights: wide(&layer.weights),
        bias: wide(&layer.bias),
        n_inputs: layer.n_inputs as usize,
        n_outputs: layer.n_outputs as usize,
        gain: vec![],
        shift: vec![],
    };
    plain::ConvNetwork {
        shape: plain::ConvShape { rows, cols, blocks, n_classes: network.n_classes() as usize },
        layers: network.layers().iter().map(layer).collect(),
    }
}

fn rounded(value: f64) -> f64 {
    bf16::from_f64(value).to_f64()
}

#[test]
fn plain_gradients_are_those_of_differences() {
    let set = set(3);
    let training = plain::ConvTraining::new(in_double(&network(1)), |value| value);
    let (_, gradients) = training.gradients(set.images(), set.labels());
    let loss = |training: &plain::ConvTraining<f64>| {
        let (losses, _) = training.classify(set.images(), set.labels());
        losses.iter().sum::<f64>() / losses.len() as f64
    };
    // The third derivative of a loss over a step of 1e-5 leaves about 1e-10, rounding about 1e-16 / 1e-5. A rectifier or a maximum that changes sides within a step would be seen as an error of the order of the
    // gradient; with these few weights none does.
    const STEP: f64 = 1e-5;
    for (number, gradient) in gradients.iter().enumerate() {
        let n = gradient.weights.len();
        for at in (0..n).step_by(n / 23 + 1).chain(n..n + gradient.bias.len()) {
            let moved = |by: f64| {
                let mut moved = training.clone();
                let layer = &mut moved.network.layers[number];
                *(if at < n { &mut layer.weights[at] } else { &mut layer.bias[at - n] }) += by;
                loss(&moved)
            };
            let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            let found = if at < n { gradient.weights[at] } else { gradient.bias[at - n] };
            assert!((found - expected).abs() <= 1e-8, "parameter {at} of layer {number}: {found} for {expected}");
        }
    }
}

/// Gradients of a single step from `network`, found from a step of rate 1.
fn gradients(device: &Device, network: &ConvNetwork, set: &Arc<Dataset>) -> Result<Vec<Vec<f64>>> {
    let options = ConvOptions {
        batch: set.len() as u32,
        learning_rate: 1.0,
        warmup: 0.0,
        momentum: 0.0,
        weight_decay: 0.0,
        ..options()
    };
    let mut trainer = ConvTrainer::builder(set).options(options).network(network.clone()).build(device)?;
    trainer.run(Progress::go_on)?;
    let moved = trainer.network()?;
    let difference = |before: &[f32], after: &[f32]| {
        before.iter().zip(after).map(|(&before, &after)| f64::from(before) - f64::from(after)).collect()
    };
    let layers = network.layers().iter().zip(moved.layers());
    Ok(layers
        .flat_map(|(before, after)| {
            [difference(&before.weights, &after.weights), difference(&before.bias, &after.bias)]
        })
        .collect())
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

#[test]
fn gradients_of_kernels_are_those_of_the_plain_program_with_rounded_operands() {
    for_each_device(|device| {
        let (set, network) = (set(6), network(2));
        let training = plain::ConvTraining::new(in_double(&network), rounded);
        let (_, expected) = training.gradients(set.images(), set.labels());
        let expected: Vec<&[f64]> = expected.iter().flat_map(|layer| [&layer.weights[..], &layer.bias]).collect();
        for (number, (found, expected)) in gradients(device, &network, &set)?.iter().zip(expected).enumerate() {
            // Both round the same numbers to bfloat16. Sums of single precision may bring one to the neighbour, 2⁻⁸ of it, in each of the 8 roundings on the way there and back through 4 layers; to these come 2⁻²⁴ of a weight below 2.
            let bound = 8.0 / 256.0 * norm(expected.iter().copied()) + (expected.len() as f64).sqrt() * 2f64.powi(-23);
            let error = norm(found.iter().zip(expected).map(|(found, expected)| found - expected));
            assert!(error <= bound, "tensor {number} on {device}: off by {error}, allowed {bound}");
        }
        Ok(())
    });
}

/// Steps with momentum, decay, and rates that rise and fall: the weights move as the plain program's.
#[test]
fn steps_are_those_of_the_plain_program() {
    const RATE: f64 = 0.01;
    let (set, network) = (set(6), network(2));
    let (momentum, decay) = (0.5f32, 0.25f32);
    let options = ConvOptions {
        batch: 6,
        epochs: 3,
        learning_rate: RATE,
        warmup: 0.5,
        momentum,
        weight_decay: decay,
        ..options()
    };
    let check = |device: &Device, rounding: fn(f64) -> f64| -> Result<()> {
        let mut trainer = ConvTrainer::builder(&set).options(options.clone()).network(network.clone()).build(device)?;
        trainer.run(Progress::go_on)?;
        let found = trainer.network()?;
        let mut training = plain::ConvTraining::new(in_double(&network), rounding);
        let n_layers = network.layers().len();
        let mut bounds = vec![[0.0f64; 2]; n_layers];
        let mut of_velocity = vec![[0.0f64; 2]; n_layers];
        // Half a step of three, and the fall from 1.5 to 3.
        for rate in [2.0 / 3.0, 1.0, 0.75].map(|share| share * RATE) {
            let (_, gradients) = training.gradients(set.images(), set.labels());
            for ((bound, velocity), layer) in bounds.iter_mut().zip(&mut of_velocity).zip(&gradients) {
                for (at, values) in [&layer.weights, &layer.bias].into_iter().enumerate() {
                    // As above, and one rounding of the weights that have moved.
                    velocity[at] = 0.5 * velocity[at] + 9.0 / 256.0 * norm(values.iter().copied());
                    bound[at] += rate * velocity[at] + (values.len() as f64).sqrt() * 2f64.powi(-23);
                }
            }
            let rates = plain::Rates { rate, momentum: momentum.into(), decay: decay.into() };
            training.step(set.images(), set.labels(), rates);
        }
        for (number, (found, expected)) in found.layers().iter().zip(&training.network.layers).enumerate() {
            for (at, (found, expected)) in
                [(&found.weights, &expected.weights), (&found.bias, &expected.bias)].into_iter().enumerate()
            {
                let error = norm(found.iter().zip(expected).map(|(&found, expected)| f64::from(found) - expected));
                let bound = bounds[number][at];
                assert!(error <= bound, "layer {number}, {at} on {device}: off by {error}, allowed {bound}");
            }
        }
        Ok(())
    };
    check(&Device::cpu(), |value| value).expect("cpu");
    for_each_device(|device| check(device, rounded));
}

fn trained(device: &Device, set: &Arc<Dataset>, options: &ConvOptions) -> Result<(ConvReport, ConvNetwork)> {
    let mut trainer = ConvTrainer::builder(set).options(options.clone()).test(set).build(device)?;
    let report = trainer.run(Progress::go_on)?;
    Ok((report, trainer.network()?))
}

#[test]
fn a_training_has_the_same_bits_every_time_and_learns() {
    // The last batch is not full.
    let (set, options) = (set(20), ConvOptions { epochs: 3, ..options() });
    for_each_device(|device| {
        let (report, network) = trained(device, &set, &options)?;
        let (again, same) = trained(device, &set, &options)?;
        assert_eq!(network, same, "{device}");
        for (first, second) in report.epochs.iter().zip(&again.epochs) {
            assert_eq!((first.loss, first.test_loss), (second.loss, second.test_loss), "{device}");
        }
        assert!(report.epochs[2].test_loss < report.epochs[0].test_loss, "{report}");
        Ok(())
    });
}

#[test]
fn first_weights_are_those_of_the_plain_program() {
    let network = ConvNetwork::initial(&options().blocks, [ROWS, COLS], CLASSES, 7).unwrap();
    assert_eq!(in_double(&network), plain::ConvNetwork::drawn(in_double(&network).shape, 7));
}

#[test]
fn what_does_not_fit_is_named() {
    let error = |set: &Arc<Dataset>, options: ConvOptions| {
        ConvTrainer::builder(set).options(options).build(&Device::cpu()).unwrap_err().to_string()
    };
    assert!(error(&images(4, 6, 8, 3), options()).contains("multiples of 4"));
    let old = Device::simt().with_capability(8, 0).unwrap();
    let refused = ConvTrainer::builder(&set(4)).options(options()).build(&old);
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
}

#[test]
fn files_keep_networks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("network.safetensors");
    let network = network(3);
    network.save(&path).expect("written");
    assert_eq!(ConvNetwork::load(&path).expect("read"), network);
    let bytes = std::fs::read(&path).expect("read");
    let changed = |from: &str, to: &str| {
        let mut bytes = bytes.clone();
        let at = bytes.windows(from.len()).position(|found| found == from.as_bytes()).expect("it is there");
        bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        std::fs::write(&path, bytes).expect("written");
        ConvNetwork::load(&path).expect_err("a wrong file").to_string()
    };
    let error = Network::load(&path).expect_err("of convolutions").to_string();
    assert!(error.ends_with("expected [in, out] of a perceptron, not of convolutions"), "{error}");
    assert!(changed("8,16;8", "8,16;a").contains("metadata blocks is \"8,16;a\""));
    assert!(changed("8,16;8", "8,16;9").contains("blocks"));
    assert!(changed("8,16;8", "16,8;8").contains("tensor W1"));
    assert!(changed("8x12", "8y12").contains("metadata image is \"8y12\""));
    assert!(changed("\"b4\"", "\"c4\"").contains("tensor b4 is missing"));
    std::fs::write(&path, &bytes[..bytes.len() - 4]).expect("written");
    assert!(ConvNetwork::load(&path).is_err());
}

/// The state of before the epoch is there again.
#[test]
fn a_training_that_diverged_is_as_before_the_epoch() {
    let diverges = |device: &Device| -> Result<()> {
        let mut layers = network(1).layers().to_vec();
        layers.iter_mut().for_each(|layer| layer.weights.iter_mut().for_each(|weight| *weight *= 1e30));
        let large = ConvNetwork::new(options().blocks, [ROWS, COLS], layers)?;
        let mut trainer = ConvTrainer::builder(&set(12)).options(options()).network(large.clone()).build(device)?;
        let error = trainer.run(Progress::go_on).expect_err("no number");
        assert!(matches!(error, Error::Diverged { epoch: 1, .. }), "{error}");
        assert_eq!(trainer.network()?, large);
        Ok(())
    };
    diverges(&Device::cpu()).expect("cpu");
    for_each_device(diverges);
}

/// A set of a regression has no labels.
#[test]
fn sets_of_a_regression_are_refused() {
    let images = vec![0u8; 4 * (ROWS * COLS) as usize];
    let targets = Dataset::with_targets(images, vec![0.5; 4], ROWS, COLS, 1, "targets").expect("a set");
    let refused = ConvTrainer::builder(&Arc::new(targets)).options(options()).build(&Device::cpu());
    let error = refused.expect_err("no labels").to_string();
    assert!(error.contains("samples with labels"), "{error}");
}

/// The default network on MNIST: 99 % of the test set.
#[test]
fn mnist_is_learnt_to_99_percent() {
    let (Some(device), Some(file)) = (gpu(), golden::shared("data/mnist/train-images-idx3-ubyte.gz")) else { return };
    let (train, test) = Dataset::load_dir(file.parent().expect("a folder")).expect("MNIST");
    let (train, test) = (Arc::new(train), Arc::new(test));
    let begun = std::time::Instant::now();
    let built = ConvTrainer::builder(&train).test(&test).build(&device);
    let mut trainer = match built {
        Err(Error::Unsupported { .. }) => return,
        built => built.expect("a trainer"),
    };
    let report = trainer.run(Progress::go_on).expect("a training");
    println!("{report}\nin all      {:.3} s with evaluations and building", begun.elapsed().as_secs_f64());
    assert!(report.epochs.last().is_some_and(|last| last.test_accuracy >= Some(0.99)), "{report}");
}
