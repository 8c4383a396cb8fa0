//! A perceptron that no machine has memory for is refused before any of it is taken, with what is needed and what is free.

use std::process::Command;
use std::sync::Arc;

use warpplay::mlp::{
    Activation, Classifier, Dataset, Layer, Loss, Network, Optimizer, Options, Precision, Sweep, Trainer,
};
use warpplay::{Device, Error};
use warpplay_tests::mlp::images;
use warpplay_tests::programs;

/// 15 matrices of 16,384 x 16,384 weights in double precision with Adam's moments, and 60,000 samples at once: most of a terabyte.
const SAMPLES: u32 = 60_000;
const HIDDEN: [u32; 16] = [16_384; 16];

/// The text has both numbers.
#[track_caller]
fn refused<T: std::fmt::Debug>(built: warpplay::Result<T>, device: &str) {
    let error = built.expect_err("no machine has so much");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    named(&error.to_string(), device);
}

#[track_caller]
fn named(text: &str, device: &str) {
    let needed = text.split_once(" of memory free, ").map(|(_, needed)| needed);
    let is_large = |needed: &str| needed.contains("GiB needed: ") || needed.contains("TiB needed: ");
    assert!(text.contains(&format!("{device} has ")) && needed.is_some_and(is_large), "{text}");
}

fn options() -> Options {
    Options {
        hidden: HIDDEN.into(),
        batch: SAMPLES,
        evaluate_batch: SAMPLES,
        precision: Precision::F64,
        optimizer: Optimizer::from_name("adam").expect("a name"),
        ..Options::default()
    }
}

#[test]
fn a_sweep_of_too_large_a_perceptron_is_refused() {
    let set = images(SAMPLES as usize, 1, 2, 2);
    refused(Sweep::builder(&set).options(options()).model(1, 0.1).build(&Device::cpu()), "cpu");
}

/// A thousand samples of two features, with classes or two targets.
fn numbers(has_targets: bool) -> Arc<Dataset> {
    let features = vec![0.5; 2000];
    Arc::new(
        match has_targets {
            true => Dataset::of_features_with_targets(features, vec![0.0; 2000], 2, 2, "made"),
            false => Dataset::of_features(features, vec![0; 1000], 2, 2, "made"),
        }
        .expect("a set"),
    )
}

#[test]
fn large_perceptrons_with_norms_dropout_losses_and_features_are_refused() {
    let changed = |change: fn(&mut Options)| {
        let mut options = options();
        (options.batch, options.evaluate_batch) = (1000, 1000);
        change(&mut options);
        options
    };
    for (options, set) in [
        (changed(|options| options.dropout = 0.5), images(1000, 1, 2, 2)),
        (changed(|options| options.layer_norm = true), images(1000, 1, 2, 2)),
        (changed(|options| options.batch_norm = true), images(1000, 1, 2, 2)),
        (changed(|options| options.loss = Loss::Huber), numbers(true)),
        (changed(|_| ()), numbers(false)),
    ] {
        refused(Trainer::builder(&set).options(options.clone()).build(&Device::cpu()), "cpu");
        refused(Sweep::builder(&set).options(options.clone()).model(1, 0.1).build(&Device::cpu()), "cpu");
        let options = Options { precision: Precision::F32, ..options };
        refused(Trainer::builder(&set).options(options).build(&Device::simt()), "simt");
    }
}

/// What the options add on a device: a key of 8 bytes for each hidden layer; the sums without gain and shift and a factor of each row of a batch, and gains and shifts; four bytes for each target, and for each feature in place of a byte.
#[test]
fn memory_has_what_the_options_take() {
    let device = Device::simt();
    let needed = |set: &Arc<Dataset>, change: fn(&mut Options)| {
        let mut options =
            Options { hidden: vec![12, 8], batch: 10, activation: Activation::Tanh, ..Options::default() };
        change(&mut options);
        let builder = Trainer::builder(set).options(options);
        let memory = builder.memory_needed(&device).expect("known");
        assert_eq!(builder.build(&device).expect("built").memory_needed(), &memory);
        memory.device()
    };
    let images = images(1000, 1, 2, 2);
    let plain = needed(&images, |_| ());
    assert_eq!(needed(&images, |options| options.dropout = 0.5), plain + 2 * 8);
    let kept = 4 * 10 * (12 + 1 + 8 + 1) + 4 * 2 * (12 + 8);
    assert!(needed(&images, |options| options.layer_norm = true) >= plain + kept);
    // A factor of each unit in place of one of each row, and running moments with their copy.
    let kept = 4 * (10 + 1) * (12 + 8) + 4 * 2 * (12 + 8) + 4 * 2 * 2 * (12 + 8);
    assert!(needed(&images, |options| options.batch_norm = true) >= plain + kept);
    let with_features = needed(&numbers(false), |_| ());
    assert!(with_features > plain);
    let with_targets = needed(&numbers(true), |options| options.loss = Loss::Huber);
    assert!(with_targets >= with_features + 1000 * (2 * 4 - 1));
}

/// A network that is there fits a CPU, which classifies a few samples at a time; kernels have as many as are asked for.
#[test]
fn a_classifier_of_too_many_samples_at_once_is_refused() {
    let layer = |n_inputs: u32, n_outputs: u32| Layer {
        n_inputs,
        n_outputs,
        weights: vec![0.5; (n_inputs * n_outputs) as usize],
        bias: vec![0.0; n_outputs as usize],
    };
    let network = Network::new(vec![layer(1, 16_384), layer(16_384, 2)]).expect("a network");
    let options = Options { evaluate_batch: 1 << 25, ..Options::default() };
    refused(Classifier::builder(&network).options(options).build(&Device::simt()), "simt");
}

/// The program's data is limited to less than one of the matrices: it would end without a word if it took one.
#[cfg(target_os = "linux")]
#[test]
fn training_too_large_a_perceptron_is_refused_by_the_program() {
    let hidden = HIDDEN.map(|units| units.to_string()).join(",");
    let line = format!(
        "mlp train --hidden {hidden} --drawn {SAMPLES} --drawn-test 10 --batch {SAMPLES} --evaluate-batch {SAMPLES} --precision f64 --optimizer adam --device cpu"
    );
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -d 1000000 && exec \"$@\"", "sh"]).arg(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
    let output = command.args(line.split(' ')).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    named(&said, "cpu");
}
