//! A perceptron that no machine has memory for is refused before any of it is taken, with what is needed and what is free.

use std::process::Command;

use warpplay::mlp::{Classifier, Layer, Network, Optimizer, Options, Precision, Sweep};
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
