//! Networks of convolutions in use: classes and probabilities of images, and a training that is stopped within an epoch.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::mlp::conv::{ConvClassifier, ConvNetwork, ConvOptions, ConvTrainer};
use warpplay::mlp::{Dataset, StoppedBy};
use warpplay::{Device, Progress, Result};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::mlp::images;

const ROWS: u32 = 8;
const COLS: u32 = 12;
const CLASSES: u32 = 5;

fn set(n: usize) -> Arc<Dataset> {
    images(n, ROWS, COLS, CLASSES)
}

fn options() -> ConvOptions {
    ConvOptions { blocks: vec![vec![8, 8], vec![8]], batch: 6, epochs: 2, ..ConvOptions::default() }
}

fn network() -> ConvNetwork {
    ConvNetwork::initial(&options().blocks, [ROWS, COLS], CLASSES, 3).expect("a network")
}

/// Logits, probabilities and evaluations agree with each other and with a trainer's, whatever the batch is.
#[test]
fn a_classifier_is_the_trainer_without_training() {
    let check = |device: &Device| -> Result<()> {
        // No multiple of any batch.
        let (set, network) = (set(17), network());
        let mut trainer = ConvTrainer::builder(&set).options(options()).network(network.clone()).build(device)?;
        let expected = trainer.evaluate(&set)?;
        let mut all = Vec::new();
        for batch in [1, 5, 128] {
            let mut classifier = ConvClassifier::builder(&network).batch(batch).build(device)?;
            let found = classifier.evaluate(&set)?;
            assert_eq!((&found.confusion, found.loss), (&expected.confusion, expected.loss), "{device}, batch {batch}");
            let logits = classifier.logits(set.images())?;
            assert_eq!(logits.len(), 17 * CLASSES as usize);
            let predictions = classifier.predict(set.images())?;
            let mut loss = 0.0;
            for ((prediction, logits), &label) in
                predictions.iter().zip(logits.chunks_exact(CLASSES as usize)).zip(set.labels())
            {
                let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                assert_eq!(logits[prediction.class as usize], most);
                loss -= f64::from(prediction.probabilities[usize::from(label)]).ln();
            }
            let correct = predictions.iter().zip(set.labels()).filter(|(one, label)| one.class == u32::from(**label));
            assert_eq!(correct.count() as u64, found.correct, "{device}");
            // Probabilities of single precision: some 2⁻²² of each sum of powers, and so of each loss.
            assert!((loss / 17.0 - found.loss).abs() < 1e-5, "{device}: {loss} {}", found.loss);
            all.push(logits);
        }
        assert!(all.iter().all(|logits| *logits == all[0]), "{device}: another batch gives other logits");
        Ok(())
    };
    check(&Device::cpu()).expect("cpu");
    for_each_device(check);
}

#[test]
fn images_that_do_not_fit_are_named() {
    let mut classifier = ConvClassifier::builder(&network()).threads(1).build(&Device::cpu()).expect("a classifier");
    assert_eq!((classifier.image_size(), classifier.n_inputs(), classifier.n_classes()), ([8, 12], 96, 5));
    for wrong in [&[][..], &[0; 95]] {
        let error = classifier.predict(wrong).expect_err("no whole image").to_string();
        assert!(error.contains("images") && error.contains("a multiple of 96 bytes"), "{error}");
    }
    // As many pixels, in another shape.
    let error = classifier.evaluate(&images(4, COLS, ROWS, CLASSES)).expect_err("turned images").to_string();
    assert!(error.contains("8 x 12") && error.contains("12 x 8"), "{error}");
    let error = classifier.evaluate(&images(9, ROWS, COLS, 9)).expect_err("more classes").to_string();
    assert!(error.contains("below 5, the network's classes"), "{error}");
    let built = |batch| ConvClassifier::builder(&network()).batch(batch).build(&Device::cpu());
    assert!(built(0).expect_err("no batch").to_string().contains("option batch: 0"));
    assert!(built(1 << 20).expect_err("too large").to_string().contains("pixels of a batch"));
}

/// Stopped in the middle of an epoch, and run on: the bits of a training that was not stopped.
#[test]
fn a_training_that_is_stopped_goes_on() {
    let check = |device: &Device, stop_at: u64| -> Result<()> {
        let set = set(20);
        let builder = ConvTrainer::builder(&set).options(options()).test(&set);
        let mut whole = builder.clone().build(device)?;
        let mut told = Vec::new();
        let expected = whole.run(|progress| {
            told.push((progress.steps, progress.latest.is_some()));
            ControlFlow::Continue(())
        })?;
        // Four steps an epoch.
        assert!(told.contains(&(4, true)) && told.contains(&(8, true)), "{told:?}");
        let mut parts = builder.build(device)?;
        let first = parts.run(|progress| match progress.steps == stop_at {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })?;
        assert_eq!((first.stopped_by, first.epochs.len()), (StoppedBy::Request, (stop_at / 4) as usize));
        let report = parts.run(Progress::go_on)?;
        assert_eq!(report.stopped_by, StoppedBy::Epochs);
        assert_eq!(parts.network()?, whole.network()?, "{device}");
        for (found, expected) in report.epochs.iter().zip(&expected.epochs) {
            assert_eq!((found.loss, found.test_loss), (expected.loss, expected.test_loss), "{device}");
        }
        Ok(())
    };
    // The CPU is asked after each step.
    check(&Device::cpu(), 2).expect("cpu");
    for_each_device(|device| check(device, 4));
}
