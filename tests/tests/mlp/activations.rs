//! Activations other than the rectifier: every engine trains as the double-precision program does, and networks, files and resumed trainings keep them.

use warpplay::mlp::{
    Activation, Checkpoint, Classifier, Engine, Init, Network, Optimizer, Options, Precision, Residence, Trainer,
    WeightLayout,
};
use warpplay::{Device, Progress};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_architecture, for_each_architecture_of_f32};
use warpplay_tests::folder::Folder;
use warpplay_tests::mlp::{Twin, images, resumed, swept, train};
use warpplay_tests::rounding::{SINGLE, loss_bound};
use warpplay_tests::tolerance::{Tolerance, close};

const CURVES: [Activation; 3] = [Activation::Tanh, Activation::Sigmoid, Activation::Gelu];

fn options(hidden: &[u32], batch: u32, activation: Activation) -> Options {
    Options { hidden: hidden.to_vec(), batch, activation, epochs: 2, learning_rate: 0.1, seed: 3, ..Options::default() }
}

/// Widths below, at and above quads and blocks; one hidden layer and several; a last batch that is short; a set copied from the host; an optimiser with a state.
#[test]
fn epochs_with_each_activation_equal_the_plain_programs() {
    let momentum = Optimizer::Momentum { momentum: 0.9 };
    for activation in CURVES {
        for (n, rows, cols, hidden, batch, stream, optimizer) in [
            (60, 1, 13, &[9][..], 7, Residence::Device, Optimizer::Sgd),
            (40, 4, 8, &[17, 12, 3], 40, Residence::Device, momentum),
            (24, 4, 4, &[60], 24, Residence::Host, Optimizer::Sgd),
        ] {
            let set = images(n, rows, cols, 5);
            let options = Options { stream, optimizer, ..options(hidden, batch, activation) };
            let twin = Twin::of(&options, &set);
            let rectified = Options { activation: Activation::Relu, stream: Residence::Device, ..options.clone() };
            let plain = train(&Device::cpu(), &rectified, &set).expect("cpu");
            for_each_architecture_of_f32(|device| {
                let (found, weights) = train(device, &options, &set)?;
                twin.check(&format!("{activation}, {hidden:?}, batch {batch} on {device}"), &found, &weights);
                assert_ne!(weights.layers(), plain.1.layers(), "{activation} on {device} does something");
                assert_eq!(weights.activation(), activation);
                Ok(())
            });
        }
    }
}

/// TF32 cuts off what its 11 significant bits do not hold, the others round.
#[test]
fn short_formats_have_each_activation() {
    let set = images(32, 3, 5, 4);
    for activation in CURVES {
        let first = |device: &Device, precision| -> warpplay::Result<(f64, Network)> {
            let options = Options { precision, epochs: 1, learning_rate: 0.0, ..options(&[11, 6], 32, activation) };
            let (losses, network) = train(device, &options, &set)?;
            Ok((losses[0], network))
        };
        let (exact, network) = first(&Device::cpu(), Precision::F64).expect("cpu");
        let options = options(&[11, 6], 32, activation);
        for_each_architecture(|device| {
            for (precision, bits) in [(Precision::Tf32, 10), (Precision::F16, 11), (Precision::Bf16, 8)] {
                let bound = loss_bound(&network, &set, &options, 1.0 / f64::from(1 << bits));
                close(
                    &format!("{activation} in {precision} on {device}"),
                    &[first(device, precision)?.0],
                    &[exact],
                    Tolerance { abs: bound, rel: 0.0 },
                );
            }
            Ok(())
        });
    }
}

/// Chosen freely, the engine is the one that can do it, for trainings and for networks; asked for by name, one that cannot refuses.
#[test]
fn the_engine_epoch_leaves_activations_to_layers() -> Checked {
    let set = images(20, 4, 4, 3);
    for activation in CURVES {
        let built = |engine, activation| {
            let options = Options { engine, ..options(&[9], 8, activation) };
            Trainer::builder(&set).options(options).build(&Device::simt())
        };
        assert_eq!(built(Engine::Auto, Activation::Relu)?.engine(), Engine::Epoch);
        assert_eq!(built(Engine::Auto, activation)?.engine(), Engine::Layers);
        let expected = format!("option activation: {activation} is not allowed (relu with engine epoch)");
        assert_eq!(built(Engine::Epoch, activation).expect_err("no activation").to_string(), expected);
        let network = Network::initial(&[16, 9, 3], Init::XavierUniform, 1)?.with_activation(activation);
        assert_eq!(Classifier::builder(&network).build(&Device::simt())?.engine(), Engine::Layers);
        let refused = Classifier::builder(&network).engine(Engine::Epoch).build(&Device::simt());
        assert_eq!(refused.expect_err("no activation").to_string(), expected);
    }
    let error = "swish".parse::<Activation>().expect_err("no such name").to_string();
    assert_eq!(error, "option activation: swish is not allowed (relu, tanh, sigmoid, gelu)");
    Ok(())
}

/// Logits of a network with one input, one unit and one class, by hand: a normal number is below -0.75 with a probability of 0.2266.
#[test]
fn classifiers_have_the_networks_activation() {
    let one = |weight: f32, bias: f32| warpplay::mlp::Layer {
        n_inputs: 1,
        n_outputs: 1,
        weights: vec![weight],
        bias: vec![bias],
    };
    let z = -0.75f64;
    let expected = |activation| match activation {
        Activation::Relu => 0.0,
        Activation::Tanh => z.tanh(),
        Activation::Sigmoid => 1.0 / (1.0 + (-z).exp()),
        Activation::Gelu => z * 0.226_627_352_376_868,
    };
    for &activation in Activation::ALL {
        let network =
            Network::new(vec![one(-1.0, 0.25), one(2.0, 0.5)]).expect("a network").with_activation(activation);
        let check = |device: &Device| -> Checked {
            let found = Classifier::builder(&network).build(device)?.logits(&[255])?;
            let expected = 2.0 * expected(activation) + 0.5;
            close(
                &format!("{activation} on {device}"),
                &[f64::from(found[0])],
                &[expected],
                Tolerance { abs: 1e-6, rel: 0.0 },
            );
            Ok(())
        };
        check(&Device::cpu()).expect("cpu");
        for_each_architecture_of_f32(check);
    }
}

/// An evaluation of the training's network is the training's; no unit is dead.
#[test]
fn evaluations_are_those_of_the_cpu() {
    let set = images(50, 2, 5, 4);
    for activation in CURVES {
        for_each_architecture(|device| {
            let options = options(&[6], 10, activation);
            let mut trainer = Trainer::builder(&set).options(options.clone()).test(&set).build(device)?;
            let report = trainer.run(Progress::go_on)?;
            let network = trainer.network()?;
            let plain = Classifier::builder(&network).build(&Device::cpu())?.evaluate(&set)?;
            let found = report.epochs[1].test_loss.expect("a test set");
            // Each within the bound of exact arithmetic.
            let bound = 2.0 * loss_bound(&network, &set, &options, SINGLE);
            close("loss", &[found], &[plain.loss], Tolerance { abs: bound, rel: 0.0 });
            assert_eq!(
                (report.dead_units_by_layer, plain.dead_units_by_layer),
                (vec![0], vec![0]),
                "{activation} on {device}"
            );
            Ok(())
        });
    }
}

#[test]
fn a_resumed_training_goes_on_with_the_activation() {
    let set = images(70, 2, 3, 3);
    for_each_architecture(|device| {
        for (precision, activation) in [(Precision::F32, Activation::Gelu), (Precision::F16, Activation::Tanh)] {
            let options = Options { precision, ..options(&[5], 4, activation) };
            assert_eq!(resumed(device, &options, &set)?.activation, activation, "{precision} on {device}");
        }
        Ok(())
    });
}

#[test]
fn a_sweep_activates_as_a_training_does() -> Checked {
    let set = images(40, 4, 4, 3);
    for device in [Device::cpu(), Device::simt()] {
        swept(&device, &options(&[6], 8, Activation::Sigmoid), &set)?;
    }
    Ok(())
}

/// Files of weights in both forms, and checkpoints, which are such files too; without the name they are of the rectifier, as older ones are.
#[test]
fn files_name_the_activation() -> Checked {
    let folder = Folder::new();
    let path = folder.path("net.safetensors");
    for &activation in Activation::ALL {
        let network = Network::initial(&[6, 5, 3], Init::XavierNormal, 2)?.with_activation(activation);
        for layout in [WeightLayout::InOut, WeightLayout::PyTorch] {
            network.save(&path, layout)?;
            assert_eq!(Network::load(&path)?, network, "{activation}");
            let names_it = std::fs::read(&path).expect("a file").windows(10).any(|part| part == b"activation");
            assert_eq!(names_it, activation != Activation::Relu, "{activation}");
        }
        let set = images(20, 2, 3, 3);
        let mut trainer = Trainer::builder(&set).options(options(&[5], 4, activation)).build(&Device::cpu())?;
        trainer.run(Progress::go_on)?;
        let path = folder.path("net.checkpoint");
        trainer.checkpoint()?.save(&path)?;
        assert_eq!(Network::load(&path)?, trainer.network()?, "{activation}");
        assert_eq!(Checkpoint::load(&path)?.network()?, trainer.network()?, "{activation}");
    }
    let network = Network::initial(&[6, 5, 3], Init::XavierNormal, 2)?.with_activation(Activation::Tanh);
    network.save(&path, WeightLayout::InOut)?;
    let mut bytes = std::fs::read(&path).expect("a file");
    let at = bytes.windows(4).position(|part| part == b"tanh").expect("its name");
    bytes[at..at + 4].copy_from_slice(b"tank");
    std::fs::write(&path, bytes).expect("written");
    let error = Network::load(&path).expect_err("no such activation").to_string();
    assert!(error.contains("metadata activation: option activation: tank is not allowed"), "{error}");
    Ok(())
}

/// A network is trained on with the activation that it has, never with another one.
#[test]
fn a_given_network_has_the_options_activation() -> Checked {
    let set = images(20, 2, 3, 3);
    let network = Network::initial(&[6, 5, 3], Init::HeUniform, 1)?.with_activation(Activation::Tanh);
    let built = |activation| {
        let builder = Trainer::builder(&set).options(options(&[5], 4, activation)).network(network.clone());
        builder.build(&Device::cpu())
    };
    assert_eq!(built(Activation::Tanh)?.network()?, network);
    let error = built(Activation::Relu).expect_err("another one").to_string();
    assert_eq!(error, "option activation: relu is not allowed (tanh, the given network's)");
    Ok(())
}
