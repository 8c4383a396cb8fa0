//! Networks of two hidden layers: a whole epoch in one cooperative launch does what the plain program does, and goes on where it stopped.

use std::ops::ControlFlow;

use warpplay::mlp::{Engine, Layer, Network, Optimizer, Options, Precision, Reduction, Sweep, Trainer};
use warpplay::{Backend, Device, Progress, Result};
use warpplay_tests::backends::{for_each_architecture, for_each_device};
use warpplay_tests::mlp::{Answers, Twin, images, resumed, train};

fn options(hidden: [u32; 2], batch: u32) -> Options {
    let (hidden, engine) = (hidden.to_vec(), Engine::Epoch);
    Options { hidden, batch, epochs: 2, learning_rate: 0.1, seed: 3, engine, ..Options::default() }
}

/// With a tiny epsilon the first steps amplify rounding errors.
const ADAM: Optimizer = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-4 };

/// Every kernel; 16 blocks and 32, the wider layer first or second, the least and the most units, blocks without any of one layer or of both, short last batches, several parts, few classes and as many as there can be, mean and sum.
#[test]
fn epochs_equal_the_plain_programs() {
    let nesterov = Optimizer::Nesterov { momentum: 0.9 };
    for (n, n_classes, hidden, batch, reduction, optimizer, weight_decay, learning_rate) in [
        // Five steps an epoch: every slot of the blocks' messages is used again.
        (290, 10, [40, 24], 64, Reduction::Mean, Optimizer::Sgd, 0.0, 0.1),
        (100, 3, [256, 256], 80, Reduction::Mean, Optimizer::Sgd, 0.03, 0.1),
        (70, 16, [16, 300], 40, Reduction::Mean, ADAM, 0.01, 0.001),
        (210, 10, [33, 50], 200, Reduction::Sum, ADAM, 0.0, 0.001),
        (130, 5, [20, 100], 130, Reduction::Sum, nesterov, 0.03, 0.0002),
        (70, 2, [1, 1], 64, Reduction::Mean, Optimizer::Sgd, 0.0, 0.1),
        (70, 13, [512, 512], 64, Reduction::Mean, Optimizer::Sgd, 0.0, 0.05),
    ] {
        let set = images(n, 8, 8, n_classes);
        let base = Options { reduction, optimizer, weight_decay, learning_rate, ..options(hidden, batch) };
        let twin = Twin::of(&base, &set);
        for_each_device(|device| {
            let (found, weights) = train(device, &base, &set)?;
            let what = format!("{hidden:?} units, batch {batch}, {} on {device}", optimizer.name());
            twin.check(&what, &found, &weights);
            Ok(())
        });
    }
}

/// More than 24 groups of 32 pixels and the bias, whose rest single warps multiply, and as many pixels as there can be.
#[test]
fn many_pixels_equal_the_plain_programs() {
    for (rows, cols, optimizer, learning_rate) in [(28, 28, Optimizer::Sgd, 0.05), (16, 53, ADAM, 0.0005)] {
        let set = images(70, rows, cols, 5);
        let base = Options { optimizer, learning_rate, ..options([21, 30], 40) };
        let twin = Twin::of(&base, &set);
        for_each_device(|device| {
            let (found, weights) = train(device, &base, &set)?;
            twin.check(&format!("{rows} x {cols} pixels, {} on {device}", optimizer.name()), &found, &weights);
            Ok(())
        });
    }
}

/// A network whose units of these numbers no image of pixels from 0 on makes positive.
fn with_dead_units(hidden: [u32; 2], n_classes: u32, dead: [&[u32]; 2]) -> Network {
    let sizes = [64, hidden[0], hidden[1], n_classes];
    let mut layers = Network::initial(&sizes, Options::default().init, 5).expect("a network").layers().to_vec();
    for (layer, units) in layers.iter_mut().zip(dead) {
        for weights in layer.weights.chunks_exact_mut(layer.n_outputs as usize) {
            units.iter().for_each(|&unit| weights[unit as usize] = -0.1);
        }
    }
    Network::new(layers).expect("a network")
}

#[test]
fn classification_equals_the_plain_programs() {
    // Several batches, the last one short.
    let set = images(200, 8, 8, 11);
    for (hidden, dead) in [([300, 40], [&[3, 290][..], &[39]]), ([24, 60], [&[0], &[5, 17, 59]])] {
        let network = with_dead_units(hidden, 11, dead);
        let answers = Answers::of(&network, &set);
        for (&n_dead, units) in answers.evaluation.dead_units_by_layer.iter().zip(dead) {
            assert!(n_dead >= units.len() as u64, "{:?}", answers.evaluation.dead_units_by_layer);
        }
        for_each_device(|device| answers.check(device));
    }
}

/// A unit that is never positive has no gradient, not the least one, of which Adam without epsilon makes a whole step: what goes into it and out of it stays as it was.
#[test]
fn dead_units_stay_as_they_were() {
    let (set, dead) = (images(150, 8, 8, 5), [2, 21]);
    let start = with_dead_units([40, 24], 5, [&[], &dead]);
    let optimizer = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-12 };
    for_each_device(|device| {
        let options = Options { optimizer, learning_rate: 0.001, epochs: 1, ..options([40, 24], 40) };
        let mut trainer = Trainer::builder(&set).options(options).network(start.clone()).build(device)?;
        assert_eq!(trainer.run(Progress::go_on)?.repeated_epochs, 0, "on {device}");
        let trained = trainer.network()?;
        assert_ne!(trained, start, "on {device}");
        let of_unit = |network: &Network, unit: usize| -> Vec<f32> {
            let [_, into, from] = network.layers() else { panic!("three layers of weights") };
            let columns = into.weights.iter().skip(unit).step_by(24).copied();
            columns.chain([into.bias[unit]]).chain(from.weights[5 * unit..5 * (unit + 1)].iter().copied()).collect()
        };
        for unit in dead {
            let unit = unit as usize;
            assert_eq!(of_unit(&trained, unit), of_unit(&start, unit), "unit {unit} on {device}");
        }
        Ok(())
    });
}

/// Plain SGD too: a launch keeps numbers in global memory, which must not be those of the one before.
#[test]
fn a_training_goes_on_from_its_checkpoint_bit_for_bit() {
    let set = images(70, 4, 4, 5);
    for_each_device(|device| {
        for (hidden, precision, optimizer, learning_rate) in [
            ([30, 20], Precision::F32, Optimizer::Sgd, 0.1),
            ([30, 20], Precision::Bf16, Optimizer::Momentum { momentum: 0.9 }, 0.02),
            ([20, 40], Precision::F32, ADAM, 0.001),
        ] {
            let options = Options { precision, optimizer, learning_rate, ..options(hidden, 64) };
            resumed(device, &options, &set)?;
        }
        Ok(())
    });
}

/// `layers` stops behind 64 steps, in the middle of an epoch, and `epoch` ends it: of two hidden layers, and of more units than a cluster has, with and without products of warpgroups.
#[test]
fn an_epoch_that_layers_began_is_ended_by_epoch() {
    let set = images(67, 4, 4, 3);
    for (hidden, optimizer, learning_rate) in [(vec![18, 20], ADAM, 0.001), (vec![270], Optimizer::Sgd, 0.02)] {
        let base =
            Options { hidden, optimizer, learning_rate, epochs: 1, engine: Engine::Layers, ..options([1, 1], 1) };
        let twin = Twin::of(&base, &set);
        for_each_architecture(|device| {
            let mut first = Trainer::builder(&set).options(base.clone()).build(device)?;
            assert_eq!(first.run(|_| ControlFlow::Break(()))?.epochs.len(), 0, "stopped in the first epoch");
            let mut second = Trainer::builder(&set).resume(first.checkpoint()?).engine(Engine::Epoch).build(device)?;
            let report = second.run(Progress::go_on)?;
            assert_eq!(report.engine, Engine::Epoch, "on {device}");
            let losses: Vec<f64> = report.epochs.iter().map(|epoch| epoch.loss).collect();
            twin.check(
                &format!("{:?} units, {} on {device}", base.hidden, optimizer.name()),
                &losses,
                &second.network()?,
            );
            Ok(())
        });
    }
}

/// The models of a sweep have launches of their own, one behind the other; the numbers of one in the middle leave the range of their scales, and `layers` repeats its epoch.
#[test]
fn a_sweep_gives_each_model_what_it_gets_alone() {
    let set = images(70, 4, 4, 5);
    let base = Options { optimizer: ADAM, epochs: 1, ..options([40, 24], 64) };
    for_each_device(|device| {
        let builder = Sweep::builder(&set).options(base.clone()).test(&set);
        let builder =
            [(3, 0.001), (5, 1000.0), (4, 0.002)].iter().fold(builder, |all, model| all.model(model.0, model.1));
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
        assert_eq!([0, 1, 2].map(|model| report.models[model].repeated_epochs), [0, 1, 0], "on {device}");
        Ok(())
    });
}

/// A weight that `epoch`'s scales have no room for is seen in either layer behind the pixels', in a block that is not the first.
#[test]
fn weights_out_of_range_are_noticed_and_layers_repeats_the_epoch() {
    let set = images(64, 4, 4, 2);
    let layer = |n_inputs: u32, n_outputs: u32, weights| Layer {
        n_inputs,
        n_outputs,
        weights,
        bias: vec![0.0; n_outputs as usize],
    };
    let layers = vec![
        layer(16, 40, vec![1e-2; 16 * 40]),
        layer(40, 200, vec![1e-2; 40 * 200]),
        layer(200, 2, [-1.0, 1.0].repeat(200)),
    ];
    let trained = |device: &Device, layers: Vec<Layer>, engine| -> Result<_> {
        // No step moves another weight out of the range.
        let options = Options { epochs: 1, learning_rate: 1e-22, engine, ..options([40, 200], 64) };
        let builder = Trainer::builder(&set).options(options).network(Network::new(layers)?);
        let mut trainer = builder.build(device)?;
        let report = trainer.run(Progress::go_on)?;
        Ok((report.repeated_epochs, trainer.network()?))
    };
    for_each_device(|device| {
        assert_eq!(trained(device, layers.clone(), Engine::Epoch)?.0, 0, "on {device}");
        // Unit 190 of the second hidden layer, from unit 7 of the first or to the first class.
        for (number, place) in [(1, 7 * 200 + 190), (2, 2 * 190)] {
            let mut layers = layers.clone();
            layers[number].weights[place] = 1e20;
            let (repeated, network) = trained(device, layers.clone(), Engine::Epoch)?;
            assert_eq!(repeated, 1, "layer {number} on {device}");
            assert_eq!(network, trained(device, layers, Engine::Layers)?.1, "layer {number} on {device}");
        }
        Ok(())
    });
}

#[test]
fn what_does_not_fit_is_refused_and_auto_takes_epoch_for_two_hidden_layers() {
    let device = Device::simt();
    assert_eq!(device.backend(), Backend::Simt);
    let chosen = |hidden: &[u32], [rows, cols]: [u32; 2], engine| -> Result<Engine> {
        let options = Options { hidden: hidden.to_vec(), batch: 4, engine, epochs: 1, ..Options::default() };
        let sweep = Sweep::builder(&images(4, rows, cols, 2)).options(options).model(1, 0.1).build(&device)?;
        Ok(sweep.engine())
    };
    let few = [4, 4];
    for (hidden, size, expected) in [
        (&[40, 24, 10][..], few, "option hidden: 3 is not allowed (one or two hidden layers with engine epoch)"),
        (&[], few, "option hidden: 0 is not allowed (one or two hidden layers with engine epoch)"),
        (&[40, 513], few, "option hidden: 513 is not allowed (at most 512 units with engine epoch on this device)"),
        (&[513, 40], few, "option hidden: 513 is not allowed (at most 512 units with engine epoch on this device)"),
        (
            &[40, 24],
            [16, 54],
            "images: expected a multiple of 16 up to 848 pixels with engine epoch and two hidden layers, got 864",
        ),
    ] {
        assert_eq!(chosen(hidden, size, Engine::Epoch).expect_err("refused").to_string(), expected);
        assert_eq!(chosen(hidden, size, Engine::Auto).expect("a sweep"), Engine::Layers, "{hidden:?}");
    }
    for (hidden, size) in [(&[40, 24][..], few), (&[512, 512], few), (&[40, 24], [16, 53]), (&[40], [16, 54])] {
        assert_eq!(chosen(hidden, size, Engine::Auto).expect("a sweep"), Engine::Epoch, "{hidden:?}");
    }
    for (hidden, batch, precision, expected) in [
        ([256, 256], 128, Precision::F32, Engine::Epoch),
        ([256, 256], 129, Precision::F32, Engine::Layers),
        ([256, 256], 128, Precision::Bf16, Engine::Epoch),
        ([40, 257], 128, Precision::F32, Engine::Epoch),
        ([40, 257], 64, Precision::Bf16, Engine::Epoch),
        ([40, 257], 65, Precision::Bf16, Engine::Layers),
    ] {
        let options = Options { precision, engine: Engine::Auto, epochs: 1, ..options(hidden, batch) };
        let sweep =
            Sweep::builder(&images(256, 4, 4, 2)).options(options).model(1, 0.1).build(&device).expect("a sweep");
        assert_eq!(sweep.engine(), expected, "{hidden:?}, batch {batch}, {precision}");
    }
}
