//! Gradients clipped by their norm: every engine trains as the double-precision program does, what is resumed goes on with it, and a norm that is no number ends a training.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::mlp::{Dataset, Engine, Layer, Network, Optimizer, Options, Precision, Reduction, Trainer};
use warpplay::{Device, Error};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_architecture;
use warpplay_tests::mlp::{Twin, images, resumed, swept, train};

fn options(hidden: &[u32], batch: u32, clip_norm: f32) -> Options {
    let (hidden, clip_norm) = (hidden.to_vec(), Some(clip_norm));
    Options { hidden, batch, clip_norm, epochs: 2, learning_rate: 0.1, seed: 3, ..Options::default() }
}

/// Every step shortened, or some; with weight decay, which is added afterwards; gradients in one part and in several; more quads than a launch has threads for; a mean and a sum.
#[test]
fn clipped_epochs_equal_the_plain_programs() {
    let momentum = Optimizer::Momentum { momentum: 0.9 };
    for (n, rows, cols, hidden, batch, clip_norm, optimizer, reduction) in [
        (60, 1, 13, &[9][..], 7, 0.05, Optimizer::Sgd, Reduction::Mean),
        (60, 1, 13, &[9], 7, 1.0, momentum, Reduction::Sum),
        (40, 4, 8, &[17, 11], 40, 0.2, momentum, Reduction::Mean),
        (24, 10, 10, &[900], 24, 0.5, Optimizer::Sgd, Reduction::Mean),
    ] {
        let set = images(n, rows, cols, 5);
        let learning_rate = if reduction == Reduction::Sum { 0.01 } else { 0.1 };
        let options =
            Options { optimizer, reduction, learning_rate, weight_decay: 0.01, ..options(hidden, batch, clip_norm) };
        let twin = Twin::of(&options, &set);
        let plain = train(&Device::cpu(), &Options { clip_norm: None, ..options.clone() }, &set).expect("cpu");
        for_each_architecture(|device| {
            let (found, weights) = train(device, &options, &set)?;
            twin.check(&format!("{hidden:?}, batch {batch}, norm {clip_norm} on {device}"), &found, &weights);
            assert_ne!(weights, plain.1, "norm {clip_norm} on {device} does something");
            Ok(())
        });
    }
}

/// A norm that no gradient reaches changes no bit.
#[test]
fn a_norm_that_is_not_reached_changes_nothing() {
    let set = images(40, 3, 5, 4);
    for_each_architecture(|device| {
        for precision in [Precision::F32, Precision::F16] {
            let clipped = Options { precision, engine: Engine::Layers, ..options(&[9], 8, 1e30) };
            let plain = Options { clip_norm: None, ..clipped.clone() };
            assert_eq!(train(device, &clipped, &set)?, train(device, &plain, &set)?, "{precision} on {device}");
        }
        Ok(())
    });
}

/// Chosen freely, the engine is the one that can do it; asked for by name, one that cannot refuses.
#[test]
fn the_engine_epoch_leaves_clipping_to_layers() -> Checked {
    let set = images(20, 4, 4, 3);
    let built = |engine, norm| {
        let options = Options { engine, ..options(&[9], 8, norm) };
        Trainer::builder(&set).options(options).build(&Device::simt())
    };
    assert_eq!(built(Engine::Auto, 0.5)?.engine(), Engine::Layers);
    let error = built(Engine::Epoch, 0.5).expect_err("no clipping").to_string();
    assert_eq!(error, "option clip_norm: 0.5 is not allowed (none with engine epoch)");
    for wrong in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let error = built(Engine::Auto, wrong).expect_err("no norm").to_string();
        assert!(error.ends_with("is not allowed (a finite number above 0)"), "{error}");
    }
    Ok(())
}

#[test]
fn a_resumed_training_goes_on_with_clipping() {
    let set = images(70, 2, 3, 3);
    for_each_architecture(|device| {
        // Scaled gradients have the norm of those that are not.
        for precision in [Precision::F32, Precision::F16] {
            let options = Options { precision, ..options(&[5], 4, 0.1) };
            assert_eq!(resumed(device, &options, &set)?.clip_norm, Some(0.1), "{precision} on {device}");
        }
        Ok(())
    });
}

/// Outputs of 30 and -30, whose loss is 60; but the gradient of the hidden unit is twice 3e38, beyond single precision.
#[test]
fn a_norm_that_is_no_number_ends_the_training_at_its_step() {
    let set = Arc::new(Dataset::new(vec![255; 6], vec![1; 6], 1, 1, 2, "one pixel").expect("a set"));
    let layer = |weights: &[f32], bias: &[f32]| Layer {
        n_inputs: (weights.len() / bias.len()) as u32,
        n_outputs: bias.len() as u32,
        weights: weights.to_vec(),
        bias: bias.to_vec(),
    };
    let network = Network::new(vec![layer(&[0.0], &[1e-37]), layer(&[3e38, -3e38], &[0.0, 0.0])]).expect("a network");
    let ended = |device: &Device| -> Checked {
        let options = Options { reduction: Reduction::Sum, learning_rate: 1e-3, ..options(&[1], 2, 1.0) };
        let mut trainer = Trainer::builder(&set).options(options).network(network.clone()).build(device)?;
        let error = trainer.run(|_| ControlFlow::Continue(())).expect_err("no number");
        assert!(matches!(error, Error::Diverged { epoch: 1, step: 1, .. }), "{error} on {device}");
        assert_eq!(trainer.network()?, network, "{device}");
        Ok(())
    };
    ended(&Device::cpu()).expect("cpu");
    for_each_architecture(ended);
}

#[test]
fn a_sweep_clips_as_a_training_does() -> Checked {
    let set = images(40, 4, 4, 3);
    for device in [Device::cpu(), Device::simt()] {
        swept(&device, &options(&[6], 8, 0.1), &set)?;
    }
    Ok(())
}
