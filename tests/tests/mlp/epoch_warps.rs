//! The engine `epoch` on devices without products of warpgroups and clusters: a whole epoch in one cooperative launch does what the plain program does.

use warpplay::mlp::{Classifier, Engine, Network, Optimizer, Options, Precision, Reduction, Sweep, Trainer};
use warpplay::{Device, Progress};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::mlp::{Answers, Twin, images, resumed, train};
use warpplay_tests::tolerance::{Tolerance, close};

use crate::epoch_short::most;

fn options(hidden: &[u32], batch: u32) -> Options {
    let (hidden, engine) = (hidden.to_vec(), Engine::Epoch);
    Options { hidden, batch, epochs: 2, learning_rate: 0.1, seed: 3, engine, ..Options::default() }
}

/// With a tiny epsilon the first steps amplify rounding errors.
const ADAM: Optimizer = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-4 };

/// Each device in the place of one of compute capability 8.0, if it is not older.
fn for_each_older(property: impl Fn(&Device) -> Checked) {
    for_each_device(|device| match device.info()?.compute_capability {
        Some(own) if own < (8, 0) => Ok(()),
        _ => property(&device.with_capability(8, 0)?),
    });
}

/// Every kernel of two halves, 16 blocks and 32 of two hidden layers, with batches of one part and of several, the last one short, blocks without units, and pixels that single warps multiply.
#[test]
fn epochs_equal_the_plain_programs() {
    let nesterov = Optimizer::Nesterov { momentum: 0.9 };
    for (n, side, n_classes, hidden, batch, reduction, optimizer, weight_decay, learning_rate) in [
        // Five steps an epoch: every slot of the blocks' messages is used again.
        (290, 8, 10, &[20][..], 64, Reduction::Mean, Optimizer::Sgd, 0.0, 0.1),
        (100, 8, 3, &[300], 80, Reduction::Mean, Optimizer::Sgd, 0.03, 0.1),
        (70, 28, 13, &[33], 40, Reduction::Mean, nesterov, 0.0, 0.02),
        (100, 8, 16, &[1], 80, Reduction::Sum, ADAM, 0.01, 0.001),
        (290, 8, 10, &[40, 24], 64, Reduction::Mean, Optimizer::Sgd, 0.0, 0.1),
        (100, 8, 3, &[33, 50], 80, Reduction::Mean, Optimizer::Sgd, 0.03, 0.1),
        (70, 28, 5, &[20, 100], 40, Reduction::Mean, nesterov, 0.0, 0.02),
        (70, 8, 16, &[16, 300], 40, Reduction::Mean, ADAM, 0.01, 0.001),
    ] {
        let set = images(n, side, side, n_classes);
        let base = Options { reduction, optimizer, weight_decay, learning_rate, ..options(hidden, batch) };
        let twin = Twin::of(&base, &set);
        for_each_older(|device| {
            let (found, weights) = train(device, &base, &set)?;
            let what = format!("{hidden:?} units, batch {batch}, {} on {device}", optimizer.name());
            twin.check(&what, &found, &weights);
            Ok(())
        });
    }
}

/// Every kernel of one half: two steps of each optimiser, the second with what the first has changed.
#[test]
fn one_half_learns_like_the_plain_program() {
    let set = images(80, 8, 8, 5);
    for (name, learning_rate) in [("sgd", 0.2), ("nesterov", 0.05), ("adam", 0.002)] {
        let optimizer = if name == "adam" { ADAM } else { Optimizer::from_name(name).expect("a name") };
        for (hidden, weight_decay) in [(&[21][..], 0.0), (&[21, 18], 0.0), (&[21], 0.03), (&[21, 18], 0.03)] {
            if weight_decay != 0.0 && name != "sgd" {
                continue;
            }
            let base = Options { optimizer, weight_decay, learning_rate, epochs: 1, ..options(hidden, 40) };
            let plain = Options { engine: Engine::Auto, precision: Precision::F64, ..base.clone() };
            let (expected, weights) = train(&Device::cpu(), &plain, &set).expect("cpu");
            for_each_older(|device| {
                let options = Options { precision: Precision::Bf16, ..base.clone() };
                let (found, changed) = train(device, &options, &set)?;
                let what = format!("{name}, {hidden:?} units, decay {weight_decay} on {device}");
                close(&what, &found, &expected, Tolerance { abs: 0.0, rel: most(hidden) });
                assert_ne!(changed, weights, "{what}: as good as double precision");
                Ok(())
            });
        }
    }
}

#[test]
fn classification_equals_the_plain_programs() {
    // Several batches, the last one short.
    let set = images(200, 8, 8, 11);
    for hidden in [&[30][..], &[24, 60]] {
        let network =
            Network::initial(&[&[64], hidden, &[11]].concat(), Options::default().init, 5).expect("a network");
        let answers = Answers::of(&network, &set);
        for_each_older(|device| answers.check(device));
    }
}

#[test]
fn a_training_goes_on_from_its_checkpoint_bit_for_bit() {
    let set = images(70, 4, 4, 5);
    for_each_older(|device| {
        for (precision, hidden) in [(Precision::F32, &[20][..]), (Precision::Bf16, &[20, 17])] {
            let options = Options { precision, optimizer: ADAM, learning_rate: 0.001, ..options(hidden, 64) };
            resumed(device, &options, &set)?;
        }
        Ok(())
    });
}

/// The models of a sweep have launches of their own, one behind the other.
#[test]
fn a_sweep_gives_each_model_what_it_gets_alone() {
    let set = images(70, 4, 4, 5);
    let base = Options { epochs: 1, ..options(&[20], 64) };
    for_each_older(|device| {
        let builder = Sweep::builder(&set).options(base.clone()).test(&set).model(3, 0.1).model(4, 0.2);
        let report = builder.build(device)?.run(Progress::go_on)?;
        assert_eq!(report.engine, Engine::Epoch, "on {device}");
        assert!(!report.side_by_side, "on {device}");
        for model in &report.models {
            let options = Options { seed: model.seed, learning_rate: model.learning_rate, ..base.clone() };
            let alone = Trainer::builder(&set).options(options).test(&set).build(device)?.run(Progress::go_on)?;
            assert_eq!(model.epochs[0].loss, alone.epochs[0].loss, "{model:?} on {device}");
            assert_eq!(model.test_accuracy, alone.epochs[0].test_accuracy, "{model:?} on {device}");
        }
        Ok(())
    });
}

#[test]
fn auto_takes_it_where_it_is_faster_and_what_is_older_refuses() -> Checked {
    let set = images(257, 4, 4, 2);
    let built = |device: &Device, engine, options: Options| {
        Trainer::builder(&set).options(Options { engine, ..options }).build(device)
    };
    let device = Device::simt();
    for capability in [(8, 0), (10, 0)] {
        let device = device.with_capability(capability.0, capability.1)?;
        for (hidden, batch, precision, expected) in [
            (&[20][..], 256, Precision::F32, Engine::Epoch),
            (&[20], 257, Precision::F32, Engine::Layers),
            (&[512], 256, Precision::Bf16, Engine::Epoch),
            (&[20, 30], 192, Precision::Bf16, Engine::Epoch),
            (&[20, 30], 193, Precision::Bf16, Engine::Layers),
            (&[20, 257], 192, Precision::F32, Engine::Epoch),
            (&[20, 257], 128, Precision::Bf16, Engine::Epoch),
            (&[20, 257], 129, Precision::Bf16, Engine::Layers),
        ] {
            let options = Options { precision, ..options(hidden, batch) };
            let chosen = built(&device, Engine::Auto, options)?.engine();
            assert_eq!(chosen, expected, "{hidden:?}, batch {batch}, {precision}, {capability:?}");
        }
    }
    let network = Network::initial(&[16, 20, 2], Options::default().init, 1)?;
    let classifies =
        |device: &Device| Classifier::builder(&network).build(device).map(|classifier| classifier.engine());
    assert_eq!([classifies(&device)?, classifies(&device.with_capability(8, 0)?)?], [Engine::Epoch, Engine::Layers]);
    let error =
        built(&device.with_capability(7, 5)?, Engine::Epoch, options(&[20], 4)).expect_err("too old").to_string();
    let expected = "option engine: epoch is not allowed (layers: this device has not compute capability 8.0 or newer)";
    assert_eq!(error, expected);
    Ok(())
}
