//! Label smoothing: every engine trains as the double-precision program does, evaluations stay plain, and what is resumed goes on with it.

use std::ops::ControlFlow;

use warpplay::Device;
use warpplay::mlp::{Classifier, Engine, Options, Precision, Trainer};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_architecture;
use warpplay_tests::mlp::{Twin, images, resumed, swept, train};
use warpplay_tests::tolerance::{Tolerance, close};

fn options(hidden: &[u32], batch: u32, label_smoothing: f32) -> Options {
    Options {
        hidden: hidden.to_vec(),
        batch,
        label_smoothing,
        epochs: 2,
        learning_rate: 0.1,
        seed: 3,
        ..Options::default()
    }
}

/// Classes of a quarter of a warp, of a warp, and of more, which have a kernel of their own; a depth that a cluster shares; a short last batch.
#[test]
fn smoothed_epochs_equal_the_plain_programs() {
    for (n, rows, cols, n_classes, hidden, batch, smoothing) in [
        (60, 1, 13, 5, &[9][..], 7, 0.1),
        (40, 4, 8, 32, &[600], 16, 0.3),
        (30, 4, 9, 33, &[17], 30, 0.3),
        (33, 3, 3, 2, &[], 8, 0.9),
    ] {
        let set = images(n, rows, cols, n_classes);
        let options = options(hidden, batch, smoothing);
        let twin = Twin::of(&options, &set);
        let plain = train(&Device::cpu(), &Options { label_smoothing: 0.0, ..options.clone() }, &set).expect("cpu");
        for_each_architecture(|device| {
            let (found, weights) = train(device, &options, &set)?;
            twin.check(
                &format!("{n_classes} classes, {hidden:?}, smoothing {smoothing} on {device}"),
                &found,
                &weights,
            );
            assert_ne!(weights, plain.1, "smoothing {smoothing} on {device} does something");
            Ok(())
        });
    }
}

/// Chosen freely, the engine is the one that can do it; asked for by name, one that cannot refuses.
#[test]
fn the_engine_epoch_leaves_smoothed_labels_to_layers() -> Checked {
    let set = images(20, 4, 4, 3);
    let built = |engine, smoothing| {
        let options = Options { engine, ..options(&[9], 8, smoothing) };
        Trainer::builder(&set).options(options).build(&Device::simt())
    };
    assert_eq!(built(Engine::Auto, 0.0)?.engine(), Engine::Epoch);
    assert_eq!(built(Engine::Auto, 0.1)?.engine(), Engine::Layers);
    let error = built(Engine::Epoch, 0.1).expect_err("no smoothing").to_string();
    assert_eq!(error, "option label_smoothing: 0.1 is not allowed (0 with engine epoch)");
    for wrong in [-0.1, 1.0, f32::NAN] {
        let error = built(Engine::Auto, wrong).expect_err("not in the range").to_string();
        assert!(error.ends_with("is not allowed (at least 0 and below 1)"), "{error}");
    }
    Ok(())
}

#[test]
fn evaluations_are_of_the_labels_as_they_are() {
    let set = images(50, 2, 5, 4);
    let options = options(&[6], 10, 0.2);
    for_each_architecture(|device| {
        let mut trainer = Trainer::builder(&set).options(options.clone()).test(&set).build(device)?;
        let report = trainer.run(|_| ControlFlow::Continue(()))?;
        let plain = Classifier::builder(&trainer.network()?).build(&Device::cpu())?.evaluate(&set)?.loss;
        let found = report.epochs[1].test_loss.expect("a test set");
        close("plain loss", &[found], &[plain], Tolerance { abs: 0.0, rel: 2e-6 });
        Ok(())
    });
}

#[test]
fn a_resumed_training_goes_on_with_smoothed_labels() {
    let set = images(70, 2, 3, 3);
    for_each_architecture(|device| {
        // Scaled gradients are smoothed before they are scaled.
        for precision in [Precision::F32, Precision::F16] {
            let options = Options { precision, ..options(&[5], 4, 0.1) };
            assert_eq!(resumed(device, &options, &set)?.label_smoothing, 0.1, "{precision} on {device}");
        }
        Ok(())
    });
}

#[test]
fn a_sweep_smooths_labels_as_a_training_does() -> Checked {
    let set = images(40, 4, 4, 3);
    for device in [Device::cpu(), Device::simt()] {
        swept(&device, &options(&[6], 8, 0.2), &set)?;
    }
    Ok(())
}
