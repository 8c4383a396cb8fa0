//! A whole epoch in one launch does what the plain program does, and goes on where it stopped.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::mlp::{
    Checkpoint, Classifier, Dataset, Engine, Network, Optimizer, Options, Reduction, Split, Sweep, SweepEpoch, Trainer,
};
use warpplay::{Backend, Device, Progress};
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::folder::Folder;
use warpplay_tests::golden;
use warpplay_tests::mlp::{Twin, images, train};
use warpplay_tests::tolerance::{Tolerance, close};

fn options(hidden: u32, batch: u32, engine: Engine) -> Options {
    Options { hidden: vec![hidden], batch, epochs: 2, learning_rate: 0.2, seed: 3, engine, ..Options::default() }
}

#[test]
fn epochs_equal_the_plain_programs() {
    // Short last batches, widths that fill no block, cluster of one and of several, mean and sum.
    for (n, side, n_classes, hidden, batch, reduction) in [
        (200, 4, 3, 16, 64, Reduction::Mean),
        (70, 8, 10, 20, 7, Reduction::Mean),
        (129, 4, 16, 61, 32, Reduction::Mean),
        (64, 8, 2, 5, 64, Reduction::Sum),
        (1, 4, 2, 3, 1, Reduction::Mean),
    ] {
        let set = images(n, side, side, n_classes);
        let rate = if reduction == Reduction::Sum { 0.002 } else { 0.2 };
        let base = Options { reduction, learning_rate: rate, ..options(hidden, batch, Engine::Auto) };
        let twin = Twin::of(&base, &set);
        for_each_device(|device| {
            let options = Options { engine: Engine::Epoch, ..base.clone() };
            let (found, weights) = train(device, &options, &set)?;
            let what = format!("{n} images of {side}², {n_classes} classes, {hidden} units, batch {batch} on {device}");
            twin.check(&what, &found, &weights);
            Ok(())
        });
    }
}

/// Every optimiser, with weight decay and without; rates that neither diverge nor stand still.
fn optimizers() -> impl Iterator<Item = (Optimizer, f32, f64)> {
    let rates =
        [("sgd", 0.2), ("momentum", 0.05), ("nesterov", 0.05), ("adam", 0.002), ("adamw", 0.002), ("rmsprop", 0.002)];
    let named = |name| Optimizer::from_name(name).expect("a name");
    let all = rates.into_iter().flat_map(move |(name, rate)| [0.0, 0.03].map(|decay| (named(name), decay, rate)));
    // With a tiny epsilon Adam's first steps amplify rounding errors, so that precisions disagree; a large one avoids it.
    all.map(|(optimizer, decay, rate)| match optimizer {
        Optimizer::Adam { beta1, beta2, .. } => (Optimizer::Adam { beta1, beta2, epsilon: 1e-4 }, decay, rate),
        Optimizer::AdamW { beta1, beta2, .. } => (Optimizer::AdamW { beta1, beta2, epsilon: 1e-4 }, decay, rate),
        Optimizer::RmsProp { alpha, .. } => (Optimizer::RmsProp { alpha, epsilon: 1e-4 }, decay, rate),
        _ => (optimizer, decay, rate),
    })
}

/// The least epsilon is accepted; one below it is refused by `epoch`, and left to `layers` where the engine is free.
#[test]
fn an_epsilon_that_is_lost_beside_the_root_is_left_to_layers() {
    let (device, set) = (Device::simt(), images(3, 4, 4, 2));
    let built = |engine, epsilon| {
        let optimizer = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon };
        Trainer::builder(&set).options(Options { optimizer, ..options(3, 2, engine) }).build(&device)
    };
    assert!(built(Engine::Epoch, 1e-12).is_ok());
    let said = built(Engine::Epoch, 9e-13).expect_err("refused").to_string();
    assert!(
        said.contains("option epsilon: 0.0000000000009 is not allowed (at least 1e-12 with engine epoch)"),
        "{said}"
    );
    let report = built(Engine::Auto, 9e-13).expect("another engine").run(Progress::go_on).expect("a training");
    assert_eq!(report.engine, Engine::Layers);
}

#[test]
fn optimizers_equal_the_plain_programs() {
    // A short last batch, a width that fills no block, more than one quartet of pixels for a warpgroup.
    let set = images(90, 16, 24, 5);
    for (optimizer, weight_decay, learning_rate) in optimizers() {
        let base = Options { optimizer, weight_decay, learning_rate, ..options(21, 40, Engine::Auto) };
        let twin = Twin::of(&base, &set);
        for_each_device(|device| {
            let options = Options { engine: Engine::Epoch, ..base.clone() };
            let (found, weights) = train(device, &options, &set)?;
            twin.check(&format!("{} with decay {weight_decay} on {device}", optimizer.name()), &found, &weights);
            Ok(())
        });
    }
}

/// More than 24 groups of 32 pixels and the bias, whose rest single warps multiply: the bias alone, one group more, and as many as there can be, so that every warp has half of one. And 24 groups, without a rest.
#[test]
fn pixels_beyond_the_quartets_equal_the_plain_programs() {
    let one = [("sgd", 40)];
    let most = [("sgd", 40), ("sgd", 70), ("momentum", 40), ("adam", 70)];
    for (rows, cols, cases) in [(16, 47, &one[..]), (16, 48, &one), (28, 28, &one), (16, 59, &most)] {
        let set = images(70, rows, cols, 5);
        for &(name, batch) in cases {
            let (optimizer, weight_decay, learning_rate) =
                optimizers().find(|(optimizer, ..)| optimizer.name() == name).expect("a name");
            let base = Options {
                optimizer,
                weight_decay,
                learning_rate: learning_rate / 4.0,
                ..options(21, batch, Engine::Auto)
            };
            let twin = Twin::of(&base, &set);
            for_each_device(|device| {
                let options = Options { engine: Engine::Epoch, ..base.clone() };
                let (found, weights) = train(device, &options, &set)?;
                twin.check(&format!("{name}, batch {batch}, {rows} x {cols} on {device}"), &found, &weights);
                Ok(())
            });
        }
    }
}

#[test]
fn batches_of_several_parts_equal_the_plain_programs() {
    // Full parts, a short last part, a last step without its last part, a batch that is the whole set, mean and sum.
    let set = images(200, 8, 12, 5);
    for (batch, reduction) in [(128, Reduction::Mean), (130, Reduction::Mean), (200, Reduction::Sum)] {
        let names = ["sgd", "nesterov", "adam"];
        for (optimizer, weight_decay, rate) in optimizers().filter(|(optimizer, ..)| names.contains(&optimizer.name()))
        {
            let learning_rate = if reduction == Reduction::Sum { rate / 50.0 } else { rate };
            let base =
                Options { optimizer, weight_decay, learning_rate, reduction, ..options(21, batch, Engine::Auto) };
            let twin = Twin::of(&base, &set);
            for_each_device(|device| {
                let options = Options { engine: Engine::Epoch, ..base.clone() };
                let (found, weights) = train(device, &options, &set)?;
                let what = format!("batch {batch}, {} with decay {weight_decay} on {device}", optimizer.name());
                twin.check(&what, &found, &weights);
                Ok(())
            });
        }
    }
}

/// Networks side by side, whose optimisers have parts of the same arrays; one leaves the range of its scales and is repeated by `layers` with its moments.
#[test]
fn a_sweep_with_moments_gives_each_model_what_it_gets_alone() {
    let set = images(150, 4, 4, 5);
    for (name, batch) in [("momentum", 16), ("adam", 16), ("rmsprop", 100)] {
        let optimizer = Optimizer::from_name(name).expect("a name");
        let base = Options { optimizer, weight_decay: 0.01, ..options(20, batch, Engine::Auto) };
        for_each_device(|device| {
            // Adam moves each weight by its rate: by ten a step, weights below 1 leave the range.
            let models = [(3, 0.001), (4, 0.002), (5, 10.0)];
            let builder = Sweep::builder(&set).options(base.clone());
            let builder = models.iter().fold(builder, |builder, model| builder.model(model.0, model.1));
            let report = builder.build(device)?.run(|_| ControlFlow::Continue(()))?;
            assert!(report.side_by_side && report.engine == Engine::Epoch, "on {device}");
            for model in &report.models {
                let options = Options { seed: model.seed, learning_rate: model.learning_rate, ..base.clone() };
                let mut trainer = Trainer::builder(&set).options(options).build(device)?;
                let Ok(alone) = trainer.run(|_| ControlFlow::Continue(())) else {
                    assert!(model.diverged.is_some(), "{model:?}");
                    continue;
                };
                assert_eq!(model.repeated_epochs, alone.repeated_epochs, "{name}, {model:?}");
                let losses = |epochs: &[SweepEpoch]| epochs.iter().map(|epoch| epoch.loss).collect::<Vec<_>>();
                let expected: Vec<f64> = alone.epochs.iter().map(|epoch| epoch.loss).collect();
                assert_eq!(losses(&model.epochs), expected, "{name}, the same bits as alone on {device}");
            }
            assert!(name == "momentum" || report.models[2].repeated_epochs > 0, "{name} on {device}");
            Ok(())
        });
    }
}

#[test]
fn an_optimizer_goes_on_from_its_checkpoint_bit_for_bit() {
    let set = images(70, 4, 4, 5);
    for (optimizer, weight_decay, learning_rate) in optimizers().filter(|(_, decay, _)| *decay > 0.0) {
        for_each_device(|device| {
            let options =
                Options { optimizer, weight_decay, learning_rate, epochs: 3, ..options(30, 16, Engine::Epoch) };
            let (_, whole) = train(device, &options, &set)?;
            let first = Options { epochs: 1, ..options.clone() };
            let mut trainer = Trainer::builder(&set).options(first).build(device)?;
            trainer.run(|_| ControlFlow::Continue(()))?;
            let folder = Folder::new();
            trainer.checkpoint()?.save(folder.path("checkpoint"))?;
            let checkpoint = Checkpoint::load(folder.path("checkpoint"))?;
            let mut trainer = Trainer::builder(&set).options(options.clone()).resume(checkpoint).build(device)?;
            trainer.run(|_| ControlFlow::Continue(()))?;
            assert_eq!(trainer.network()?, whole, "{} on {device}", optimizer.name());
            Ok(())
        });
    }
}

#[test]
fn classification_equals_the_plain_programs() {
    let set = images(150, 8, 8, 10);
    let mut trainer = Trainer::builder(&set).options(options(24, 32, Engine::Auto)).build(&Device::cpu()).expect("cpu");
    trainer.run(|_| ControlFlow::Continue(())).expect("cpu");
    let network = trainer.network().expect("cpu");
    let expected = trainer.evaluate(&set).expect("cpu");
    for_each_device(|device| {
        let options = Options { engine: Engine::Epoch, ..Options::default() };
        let mut classifier = Classifier::builder(&network).options(options.clone()).build(device)?;
        let found = classifier.evaluate(&set)?;
        assert_eq!(found.confusion, expected.confusion);
        assert_eq!(found.dead_units_by_layer, expected.dead_units_by_layer);
        close("loss", &[found.loss], &[expected.loss], Tolerance { abs: 0.0, rel: 2e-6 });
        let mut plain = Classifier::builder(&network).build(&Device::cpu())?;
        let some = &set.images()[..70 * 64];
        let of = |predictions: Vec<warpplay::mlp::Prediction>| -> Vec<f64> {
            predictions.iter().flat_map(|p| p.probabilities.iter().map(|&p| f64::from(p))).collect()
        };
        close(
            "probabilities",
            &of(classifier.predict(some)?),
            &of(plain.predict(some)?),
            Tolerance { abs: 2e-6, rel: 0.0 },
        );
        Ok(())
    });
}

#[test]
fn a_training_goes_on_from_its_checkpoint_bit_for_bit() {
    let set = images(100, 4, 4, 5);
    for_each_device(|device| {
        let options = Options { epochs: 3, ..options(30, 16, Engine::Epoch) };
        let (_, whole) = train(device, &options, &set)?;
        let first = Options { epochs: 1, ..options.clone() };
        let mut trainer = Trainer::builder(&set).options(first).build(device)?;
        trainer.run(|_| ControlFlow::Continue(()))?;
        let mut trainer =
            Trainer::builder(&set).options(options.clone()).resume(trainer.checkpoint()?).build(device)?;
        let report = trainer.run(|_| ControlFlow::Continue(()))?;
        assert_eq!(report.epochs.len(), 3);
        assert_eq!(trainer.network()?, whole);
        Ok(())
    });
}

#[test]
fn a_loss_that_is_no_number_stops_the_training_and_keeps_the_last_good_state() {
    let set = images(100, 4, 4, 5);
    for_each_device(|device| {
        let options = Options { epochs: 3, learning_rate: 1e30, ..options(30, 16, Engine::Epoch) };
        let mut trainer = Trainer::builder(&set).options(options.clone()).build(device)?;
        let error = trainer.run(|_| ControlFlow::Continue(())).expect_err("it diverges").to_string();
        assert!(error.starts_with("loss is not finite in epoch 1, step "), "{error}");
        assert_eq!(trainer.network()?, Network::initial(&[16, 30, 5], options.init, options.seed)?);
        Ok(())
    });
}

#[test]
fn a_sweep_gives_each_model_what_it_gets_alone() {
    let set = images(100, 4, 4, 5);
    let models = [(3, 0.1), (4, 0.2), (3, 0.2), (5, 1e30)];
    let base = options(20, 16, Engine::Auto);
    let sweep = |device: &Device| {
        let builder = models.iter().fold(Sweep::builder(&set).options(base.clone()).test(&set), |builder, model| {
            builder.model(model.0, model.1)
        });
        builder.build(device)?.run(|_| ControlFlow::Continue(()))
    };
    let plain = sweep(&Device::cpu()).expect("cpu");
    assert!(!plain.side_by_side);
    for_each_device(|device| {
        let report = sweep(device)?;
        assert!(report.side_by_side, "on {device}");
        assert_eq!(report.engine, Engine::Epoch);
        for (model, on_cpu) in report.models.iter().zip(&plain.models) {
            assert_eq!((model.seed, model.learning_rate), (on_cpu.seed, on_cpu.learning_rate));
            assert_eq!(model.diverged.is_some(), model.learning_rate > 1.0, "{model:?}");
            if model.diverged.is_some() {
                assert_eq!(model.test_accuracy, None);
                continue;
            }
            let options = Options { seed: model.seed, learning_rate: model.learning_rate, ..base.clone() };
            let mut trainer = Trainer::builder(&set).options(options).test(&set).build(device)?;
            let alone = trainer.run(|_| ControlFlow::Continue(()))?;
            let losses = |epochs: &[SweepEpoch]| epochs.iter().map(|epoch| epoch.loss).collect::<Vec<_>>();
            let expected: Vec<f64> = alone.epochs.iter().map(|epoch| epoch.loss).collect();
            assert_eq!(losses(&model.epochs), expected, "the same bits as alone on {device}");
            assert_eq!(model.test_accuracy, alone.epochs.last().and_then(|epoch| epoch.test_accuracy));
            let single = Options { seed: model.seed, learning_rate: model.learning_rate, ..base.clone() };
            Twin::of(&single, &set).check_losses(&format!("a model on {device}"), &losses(&model.epochs));
        }
        assert!(report.models_per_second > 0.0);
        Ok(())
    });
    let none = Sweep::builder(&set).build(&Device::cpu()).expect_err("no model").to_string();
    assert_eq!(none, "option models: 0 is not allowed (1 to 4096)");
}

#[test]
fn a_sweep_hears_within_an_epoch_that_it_is_to_stop() {
    let digits = Arc::new(Dataset::drawn_digits(1, 640).expect("drawn"));
    let options = Options { hidden: vec![8], batch: 64, epochs: 1, ..Options::default() };
    let sweep = Sweep::builder(&digits).options(options).model(1, 0.01).test(&digits).build(&Device::cpu());
    let mut asked = 0;
    let report = sweep.expect("small").run(|_| {
        asked += 1;
        if asked == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let model = &report.expect("trains").models[0];
    assert!(asked == 3 && model.epochs.is_empty() && model.test_accuracy.is_none(), "{asked}: {model:?}");
}

/// Where some models are in a journal, the others are trained in fewer clusters: to the same bits.
#[test]
fn a_sweep_side_by_side_goes_on_with_its_journal() {
    let set = images(100, 4, 4, 5);
    let models = [(3, 0.1), (4, 0.2), (3, 0.2), (5, 1e30)];
    for_each_device(|device| {
        let builder = || {
            let builder = Sweep::builder(&set).options(options(20, 16, Engine::Auto)).test(&set);
            models.iter().fold(builder, |builder, model| builder.model(model.0, model.1))
        };
        let go_on = |_: &Progress| ControlFlow::Continue(());
        let whole = builder().build(device)?.run(go_on)?;
        let folder = Folder::new();
        let kept = builder().checkpoint(folder.path("journal")).build(device)?.run(go_on)?;
        assert_eq!(kept.models, whole.models, "on {device}");
        let text = folder.text("journal");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        assert_eq!(lines.len(), 5);
        for n in [1, 2, 4, 5] {
            folder.write("journal", lines[..n].concat().as_bytes());
            let mut sweep = builder().resume(folder.path("journal")).build(device)?;
            // The second run finds all of them.
            for _ in 0..2 {
                let found = sweep.run(go_on)?;
                assert!(found.side_by_side && found.seconds > 0.0);
                assert_eq!(found.models, whole.models, "after {n} lines on {device}");
            }
        }
        Ok(())
    });
}

/// Real digits on a GPU: the curve of an independent program's run in double precision.
///
/// In 9,380 steps a rounding grows, so no bound follows from their number. The same program in single precision ends 1.4e-5 of its loss away: one draw of the errors that roundings come to, and an engine's is
/// another (Higham 2002, section 2.8). Eight times as much is four standard deviations even where that draw was only half a one, and chance exceeds these once in 16,000.
#[test]
fn the_reference_curve_is_met() {
    let Some(device) = gpu() else { return };
    let folder = [
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    ]
    .map(|name| golden::shared(&format!("data/mnist/{name}")));
    let [Some(images), ..] = &folder else { return };
    let folder = images.parent().expect("a folder");
    let digits = Arc::new(Dataset::load_split(folder, Split::Train, None).expect("MNIST"));
    let test = Arc::new(Dataset::load_split(folder, Split::Test, Some(10)).expect("MNIST"));
    let reference: serde_json::Value = serde_json::from_str(&golden::text("mlp/mlp_reference_run.json")).expect("JSON");
    let of = |precision: &str, field: &str| -> Vec<f64> {
        let epochs = reference["trajectory"][precision].as_array().expect("epochs");
        epochs.iter().map(|epoch| epoch[field].as_f64().expect("a number")).collect()
    };
    let expected = of("f64", "train_loss");
    let errors =
        of("f32", "train_loss").into_iter().zip(&expected).map(|(single, double)| (single / double - 1.0).abs());
    let curve = Tolerance { abs: 0.0, rel: 8.0 * errors.fold(0.0, f64::max) };
    for engine in [Engine::Epoch, Engine::Auto] {
        let options = Options { engine, ..Options::default() };
        let mut trainer = Trainer::builder(&digits).options(options).test(&test).build(&device).expect("build");
        let report = trainer.run(|_| ControlFlow::Continue(())).expect("run");
        assert_eq!(report.engine, Engine::Epoch);
        let losses: Vec<f64> = report.epochs.iter().map(|epoch| epoch.loss).collect();
        close("losses", &losses, &expected, curve);
        let accuracies: Vec<f64> = report.epochs.iter().filter_map(|epoch| epoch.test_accuracy).collect();
        // Three images of 10,000: those whose two best logits are nearly equal.
        close("accuracies", &accuracies, &of("f32", "test_acc"), Tolerance { abs: 3.5e-4, rel: 0.0 });
        let seconds: Vec<f64> = report.epochs.iter().map(|epoch| epoch.seconds).collect();
        println!("seconds of an epoch: {seconds:?}");
    }
    assert_eq!(device.backend(), Backend::Cuda);
}
