//! Dropout of hidden units: every engine trains as the double-precision program does with the same units, what is resumed goes on with them, and evaluations drop nothing.

use std::ops::ControlFlow;

use warpplay::mlp::{Activation, Classifier, Engine, Network, Optimizer, Options, Precision, Residence, Trainer};
use warpplay::{Device, Progress};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_architecture, for_each_architecture_of_f32};
use warpplay_tests::mlp::{Twin, images, resumed, swept, train};
use warpplay_tests::rounding::{SINGLE, loss_bound};
use warpplay_tests::tolerance::{Tolerance, close};

fn options(hidden: &[u32], batch: u32, dropout: f32) -> Options {
    Options { hidden: hidden.to_vec(), batch, dropout, epochs: 2, learning_rate: 0.1, seed: 3, ..Options::default() }
}

/// Widths below, at and above quads, odd and even; one hidden layer and several; a last batch that is short; a set copied from the host; rectifiers and curves; an optimiser with a state.
#[test]
fn epochs_with_dropout_equal_the_plain_programs() {
    let momentum = Optimizer::Momentum { momentum: 0.9 };
    for (n, rows, cols, hidden, batch, dropout, activation, stream, optimizer) in [
        (60, 1, 13, &[9][..], 7, 0.5, Activation::Relu, Residence::Device, Optimizer::Sgd),
        (40, 4, 8, &[17, 12, 3], 40, 0.2, Activation::Relu, Residence::Device, momentum),
        (24, 4, 4, &[60], 24, 0.3, Activation::Relu, Residence::Host, Optimizer::Sgd),
        (60, 1, 13, &[10, 7], 7, 0.5, Activation::Gelu, Residence::Device, Optimizer::Sgd),
        (24, 4, 4, &[31], 5, 0.1, Activation::Tanh, Residence::Host, momentum),
    ] {
        let set = images(n, rows, cols, 5);
        let options = Options { stream, optimizer, activation, ..options(hidden, batch, dropout) };
        let twin = Twin::of(&options, &set);
        let whole = Options { dropout: 0.0, stream: Residence::Device, ..options.clone() };
        let plain = train(&Device::cpu(), &whole, &set).expect("cpu");
        for_each_architecture_of_f32(|device| {
            let (found, weights) = train(device, &options, &set)?;
            twin.check(&format!("{activation}, {hidden:?}, rate {dropout} on {device}"), &found, &weights);
            assert_ne!(weights.layers(), plain.1.layers(), "{dropout} on {device} does something");
            Ok(())
        });
    }
}

/// A rate that rounds to no unit of 2^32 and to a scale of 1: outputs are taken apart and put together again without a change of a bit.
#[test]
fn a_rate_that_drops_nothing_changes_nothing() {
    let set = images(40, 3, 5, 4);
    for activation in [Activation::Relu, Activation::Sigmoid] {
        let check = |device: &Device, precision| -> Checked {
            let options = Options { precision, activation, engine: Engine::Layers, ..options(&[9, 8], 7, 1e-12) };
            let plain = Options { dropout: 0.0, ..options.clone() };
            assert_eq!(train(device, &options, &set)?, train(device, &plain, &set)?, "{precision} on {device}");
            Ok(())
        };
        for_each_architecture_of_f32(|device| check(device, Precision::F32));
        for_each_architecture(|device| {
            [Precision::Tf32, Precision::Bf16, Precision::F16]
                .iter()
                .try_for_each(|&precision| check(device, precision))
        });
    }
}

/// TF32 cuts off what its 11 significant bits do not hold, the others round.
#[test]
fn short_formats_drop_the_same_units() {
    let set = images(32, 3, 5, 4);
    let options = Options { epochs: 1, learning_rate: 0.0, ..options(&[11, 6], 32, 0.25) };
    let first = |device: &Device, precision| -> warpplay::Result<(f64, Network)> {
        let (losses, network) = train(device, &Options { precision, ..options.clone() }, &set)?;
        Ok((losses[0], network))
    };
    let (exact, network) = first(&Device::cpu(), Precision::F64).expect("cpu");
    for_each_architecture(|device| {
        for (precision, bits) in [(Precision::Tf32, 10), (Precision::F16, 11), (Precision::Bf16, 8)] {
            let bound = loss_bound(&network, &set, &options, 1.0 / f64::from(1 << bits));
            let bound = Tolerance { abs: bound, rel: 0.0 };
            close(&format!("{precision} on {device}"), &[first(device, precision)?.0], &[exact], bound);
        }
        Ok(())
    });
}

/// Chosen freely, the engine is the one that can do it; asked for by name, one that cannot refuses.
#[test]
fn the_engine_epoch_leaves_dropout_to_layers() -> Checked {
    let set = images(20, 4, 4, 3);
    let built = |engine, dropout| {
        let options = Options { engine, ..options(&[9], 8, dropout) };
        Trainer::builder(&set).options(options).build(&Device::simt())
    };
    assert_eq!(built(Engine::Auto, 0.0)?.engine(), Engine::Epoch);
    assert_eq!(built(Engine::Auto, 0.5)?.engine(), Engine::Layers);
    let error = built(Engine::Epoch, 0.5).expect_err("no dropout").to_string();
    assert_eq!(error, "option dropout: 0.5 is not allowed (0 with engine epoch)");
    for wrong in [1.0, -0.1, f32::NAN, f32::INFINITY] {
        let error = built(Engine::Auto, wrong).expect_err("no rate").to_string();
        assert!(error.ends_with("is not allowed (at least 0 and below 1)"), "{error}");
    }
    Ok(())
}

/// An evaluation of the training's network is the training's.
#[test]
fn evaluations_drop_nothing() {
    let set = images(50, 2, 5, 4);
    let check = |device: &Device| -> Checked {
        let mut trainer = Trainer::builder(&set).options(options(&[6], 10, 0.5)).test(&set).build(device)?;
        let report = trainer.run(Progress::go_on)?;
        let network = trainer.network()?;
        let plain = Classifier::builder(&network).build(&Device::cpu())?.evaluate(&set)?;
        let found = report.epochs[1].test_loss.expect("a test set");
        // Each within the bound of exact arithmetic.
        let bound = 2.0 * loss_bound(&network, &set, &options(&[6], 10, 0.0), SINGLE);
        close("loss", &[found], &[plain.loss], Tolerance { abs: bound, rel: 0.0 });
        assert_eq!(report.dead_units_by_layer, plain.dead_units_by_layer, "{device}");
        Ok(())
    };
    check(&Device::cpu()).expect("cpu");
    for_each_architecture(check);
}

/// At the end of an epoch by a file, and within one: batches of 4 of 300 samples are 75 steps, and a training may be stopped between two graphs of up to 64.
#[test]
fn a_resumed_training_drops_the_same_units() {
    let set = images(70, 2, 3, 3);
    let check = |device: &Device, precision, activation| -> Checked {
        let options = Options { precision, activation, ..options(&[5, 6], 4, 0.4) };
        assert_eq!(resumed(device, &options, &set)?.dropout, 0.4, "{precision} on {device}");
        assert_eq!(train(device, &options, &set)?, train(device, &options, &set)?, "{precision} on {device}");
        Ok(())
    };
    check(&Device::cpu(), Precision::F64, Activation::Relu).expect("cpu");
    for_each_architecture(|device| {
        check(device, Precision::F32, Activation::Gelu)?;
        check(device, Precision::F16, Activation::Relu)
    });
    let set = images(300, 2, 3, 3);
    let interrupted = |device: &Device| -> Checked {
        let options = options(&[5], 4, 0.4);
        let (_, whole) = train(device, &options, &set)?;
        let mut first = Trainer::builder(&set).options(options).build(device)?;
        let stopped = first.run(|_| ControlFlow::Break(()))?;
        assert!(stopped.epochs.is_empty(), "{device} stops within the epoch");
        let mut second = Trainer::builder(&set).resume(first.checkpoint()?).build(device)?;
        second.run(Progress::go_on)?;
        assert_eq!(second.network()?, whole, "{device}");
        Ok(())
    };
    interrupted(&Device::cpu()).expect("cpu");
    for_each_architecture(interrupted);
}

#[test]
fn a_sweep_drops_as_a_training_does() -> Checked {
    let set = images(40, 4, 4, 3);
    for device in [Device::cpu(), Device::simt()] {
        swept(&device, &options(&[6], 8, 0.3), &set)?;
    }
    Ok(())
}
