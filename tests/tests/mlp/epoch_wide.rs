//! Networks of 257 to 512 units, more than a cluster of blocks has: a whole epoch in one cooperative launch does what the plain program does.

use warpplay::mlp::{Engine, Layer, Network, Optimizer, Options, Precision, Reduction, Sweep, Trainer};
use warpplay::{Backend, Device, Progress};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::mlp::{Answers, Twin, images, resumed, train};

fn options(hidden: u32, batch: u32) -> Options {
    let engine = Engine::Epoch;
    Options { hidden: vec![hidden], batch, epochs: 2, learning_rate: 0.1, seed: 3, engine, ..Options::default() }
}

/// With a tiny epsilon the first steps amplify rounding errors.
const ADAM: Optimizer = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-4 };

/// Every kernel; the least and the most units, blocks without any, short last batches, several parts, few classes and as many as there can be, mean and sum.
#[test]
fn epochs_equal_the_plain_programs() {
    let nesterov = Optimizer::Nesterov { momentum: 0.9 };
    for (n, n_classes, hidden, batch, reduction, optimizer, weight_decay, learning_rate) in [
        // Five steps an epoch: every slot of the blocks' messages is used again.
        (290, 10, 257, 64, Reduction::Mean, Optimizer::Sgd, 0.0, 0.1),
        (100, 3, 300, 80, Reduction::Mean, Optimizer::Sgd, 0.03, 0.1),
        (70, 13, 512, 40, Reduction::Mean, nesterov, 0.0, 0.02),
        (70, 16, 290, 40, Reduction::Mean, ADAM, 0.01, 0.001),
        (100, 5, 400, 80, Reduction::Sum, ADAM, 0.0, 0.001),
    ] {
        let set = images(n, 8, 8, n_classes);
        let base = Options { reduction, optimizer, weight_decay, learning_rate, ..options(hidden, batch) };
        let twin = Twin::of(&base, &set);
        for_each_device(|device| {
            let (found, weights) = train(device, &base, &set)?;
            twin.check(&format!("{hidden} units, batch {batch}, {} on {device}", optimizer.name()), &found, &weights);
            Ok(())
        });
    }
}

#[test]
fn classification_equals_the_plain_programs() {
    // Several batches, the last one short.
    let set = images(200, 8, 8, 11);
    let network = Network::initial(&[64, 300, 11], Options::default().init, 5).expect("a network");
    let answers = Answers::of(&network, &set);
    for_each_device(|device| answers.check(device));
}

#[test]
fn a_training_goes_on_from_its_checkpoint_bit_for_bit() {
    let set = images(70, 4, 4, 5);
    for_each_device(|device| {
        for precision in [Precision::F32, Precision::Bf16] {
            let options = Options { precision, optimizer: ADAM, learning_rate: 0.001, ..options(260, 64) };
            resumed(device, &options, &set)?;
        }
        Ok(())
    });
}

/// The models of a sweep have launches of their own, one behind the other; the numbers of the last leave the range of their scales, and `layers` repeats its epoch.
#[test]
fn a_sweep_gives_each_model_what_it_gets_alone() {
    let set = images(70, 4, 4, 5);
    let base = Options { optimizer: ADAM, epochs: 1, ..options(270, 64) };
    for_each_device(|device| {
        let builder = Sweep::builder(&set).options(base.clone()).test(&set);
        let builder =
            [(3, 0.001), (4, 0.002), (5, 1000.0)].iter().fold(builder, |all, model| all.model(model.0, model.1));
        let report = builder.build(device)?.run(Progress::go_on)?;
        assert_eq!(report.engine, Engine::Epoch, "on {device}");
        assert!(!report.side_by_side, "on {device}");
        for model in &report.models {
            let options = Options { seed: model.seed, learning_rate: model.learning_rate, ..base.clone() };
            let alone = Trainer::builder(&set).options(options).test(&set).build(device)?.run(Progress::go_on)?;
            assert_eq!(model.repeated_epochs, alone.repeated_epochs, "{model:?} on {device}");
            assert_eq!(model.epochs[0].loss, alone.epochs[0].loss, "{model:?} on {device}");
            assert_eq!(model.test_accuracy, alone.epochs[0].test_accuracy, "{model:?} on {device}");
        }
        assert_eq!(report.models[2].repeated_epochs, 1, "on {device}");
        Ok(())
    });
}

/// A weight that `epoch`'s scales have no room for is seen in a block that is not the first.
#[test]
fn weights_out_of_range_are_noticed_and_layers_repeats_the_epoch() {
    let set = images(64, 4, 4, 2);
    let first = Layer { n_inputs: 16, n_outputs: 300, weights: vec![1e-2; 16 * 300], bias: vec![0.0; 300] };
    let mut second = Layer { n_inputs: 300, n_outputs: 2, weights: [-1.0, 1.0].repeat(300), bias: vec![0.0; 2] };
    second.weights[2 * 290] = 1e20;
    let start = Network::new(vec![first, second]).expect("a network");
    for_each_device(|device| {
        let options = Options { epochs: 1, learning_rate: 1e-6, ..options(300, 64) };
        let mut trainer = Trainer::builder(&set).options(options).network(start.clone()).build(device)?;
        assert_eq!(trainer.run(Progress::go_on)?.repeated_epochs, 1, "on {device}");
        Ok(())
    });
}

#[test]
fn what_does_not_fit_is_refused_and_auto_takes_the_faster_engine() {
    let set = images(4, 4, 4, 2);
    let device = Device::simt();
    let built = |options: Options| Trainer::builder(&set).options(options).build(&device);
    let said = built(options(513, 4)).expect_err("too many units").to_string();
    assert_eq!(said, "option hidden: 513 is not allowed (at most 512 units with engine epoch on this device)");
    let chosen = |hidden, batch, precision| -> Engine {
        let options = Options { engine: Engine::Auto, precision, epochs: 1, ..options(hidden, batch) };
        let set = images(256, 4, 4, 2);
        let sweep = Sweep::builder(&set).options(options).model(1, 0.1).build(&device).expect("a sweep");
        sweep.engine()
    };
    assert_eq!(device.backend(), Backend::Simt);
    assert_eq!(chosen(512, 256, Precision::F32), Engine::Epoch);
    assert_eq!(chosen(512, 192, Precision::Bf16), Engine::Epoch);
    assert_eq!(chosen(512, 193, Precision::Bf16), Engine::Layers);
    assert_eq!(chosen(256, 256, Precision::Bf16), Engine::Epoch);
    assert_eq!(chosen(513, 64, Precision::F32), Engine::Layers);
}
