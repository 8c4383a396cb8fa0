//! Layer norm of hidden layers: every engine trains as the double-precision program does, what is resumed goes on with the same bits, and files keep gains and shifts.

use warpplay::mlp::{
    Activation, Checkpoint, Classifier, Engine, Init, LayerNorm, Network, Optimizer, Options, Precision, Residence,
    Trainer, WeightLayout,
};
use warpplay::{Backend, Device, Progress};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_architecture, for_each_architecture_of_f32};
use warpplay_tests::folder::Folder;
use warpplay_tests::mlp::{Twin, images, resumed, swept, train};
use warpplay_tests::rounding::{SINGLE, loss_bound};
use warpplay_tests::tolerance::{Tolerance, close};

fn options(hidden: &[u32], batch: u32, activation: Activation) -> Options {
    Options {
        hidden: hidden.to_vec(),
        batch,
        activation,
        layer_norm: true,
        epochs: 2,
        learning_rate: 0.1,
        seed: 3,
        ..Options::default()
    }
}

/// A network of two hidden layers with gains and shifts that are neither 1 nor 0.
fn network(activation: Activation) -> Network {
    let norm = |n: u8| LayerNorm {
        gain: (0..n).map(|at| 0.5 + 0.25 * f32::from(at)).collect(),
        shift: (0..n).map(|at| 0.125 * f32::from(at) - 0.25).collect(),
    };
    let drawn = Network::initial(&[6, 5, 4, 3], Init::XavierNormal, 2).expect("widths");
    drawn.with_activation(activation).with_layer_norms(vec![norm(5), norm(4)]).expect("norms")
}

/// Widths below, at and above quads, and more than a warp has lanes for; one hidden layer and several; a batch in several parts; a last batch that is short; a set copied from the host;
/// each activation; optimisers with a state, weight decay and clipping, which have gains and shifts too; dropout behind it.
#[test]
fn epochs_with_layer_norm_equal_the_plain_programs() {
    let adam = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
    let momentum = Optimizer::Momentum { momentum: 0.9 };
    for (n, hidden, batch, activation, changes) in [
        (60, &[9][..], 7, Activation::Relu, Options::default()),
        (
            40,
            &[17, 12, 3],
            40,
            Activation::Tanh,
            Options { optimizer: momentum, weight_decay: 0.01, ..Options::default() },
        ),
        (24, &[150, 6], 10, Activation::Relu, Options { dropout: 0.2, stream: Residence::Host, ..Options::default() }),
        (60, &[10, 7], 7, Activation::Gelu, Options { optimizer: adam, learning_rate: 0.01, ..Options::default() }),
        (300, &[8], 300, Activation::Sigmoid, Options { clip_norm: Some(0.1), ..Options::default() }),
    ] {
        let set = images(n, 3, 5, 4);
        let Options { optimizer, weight_decay, dropout, stream, clip_norm, learning_rate, .. } = changes;
        let learning_rate = if optimizer == adam { learning_rate } else { 0.1 };
        let options = Options {
            optimizer,
            weight_decay,
            dropout,
            stream,
            clip_norm,
            learning_rate,
            ..options(hidden, batch, activation)
        };
        let twin = Twin::of(&options, &set);
        let check = |device: &Device| -> Checked {
            let options = match device.backend() {
                Backend::Cpu => Options { stream: Residence::Device, ..options.clone() },
                _ => options.clone(),
            };
            let (found, weights) = train(device, &options, &set)?;
            twin.check(&format!("{activation}, {hidden:?}, batch {batch} on {device}"), &found, &weights);
            assert_eq!(weights.layer_norms().len(), hidden.len());
            for norm in weights.layer_norms() {
                assert!(norm.gain.iter().any(|&gain| gain != 1.0) && norm.shift.iter().any(|&shift| shift != 0.0));
            }
            Ok(())
        };
        check(&Device::cpu()).expect("cpu");
        for_each_architecture_of_f32(check);
    }
}

/// TF32 cuts off what its 11 significant bits do not hold, the others round. A norm divides errors by the deviation of its sums: behind a second one the bound of the worst case would say nothing.
#[test]
fn short_formats_have_layer_norm() {
    let set = images(32, 3, 5, 4);
    for activation in [Activation::Relu, Activation::Tanh] {
        let options = Options { epochs: 1, learning_rate: 0.0, ..options(&[6], 32, activation) };
        let exact = Options { precision: Precision::F64, ..options.clone() };
        let (exact, network) = train(&Device::cpu(), &exact, &set).expect("cpu");
        for (precision, bits) in [(Precision::Tf32, 10), (Precision::F16, 11), (Precision::Bf16, 8)] {
            let bound = loss_bound(&network, &set, &options, 1.0 / f64::from(1 << bits));
            assert!(bound < exact[0], "{precision}: {bound} of {} says nothing", exact[0]);
            for_each_architecture(|device| {
                let (found, _) = train(device, &Options { precision, ..options.clone() }, &set)?;
                let what = format!("{activation} in {precision} on {device}");
                close(&what, &found, &exact, Tolerance { abs: bound, rel: 0.0 });
                Ok(())
            });
        }
    }
}

/// An evaluation of the training's network is the training's, and units die behind a norm too.
#[test]
fn evaluations_are_those_of_the_cpu() {
    let set = images(50, 2, 5, 4);
    for activation in [Activation::Relu, Activation::Gelu] {
        for_each_architecture(|device| {
            let options = options(&[6, 40], 10, activation);
            let mut trainer = Trainer::builder(&set).options(options.clone()).test(&set).build(device)?;
            let report = trainer.run(Progress::go_on)?;
            assert_eq!(report.engine, Engine::Layers);
            let network = trainer.network()?;
            let plain = Classifier::builder(&network).build(&Device::cpu())?.evaluate(&set)?;
            let found = report.epochs[1].test_loss.expect("a test set");
            // Each within the bound of exact arithmetic.
            let bound = 2.0 * loss_bound(&network, &set, &options, SINGLE);
            close("loss", &[found], &[plain.loss], Tolerance { abs: bound, rel: 0.0 });
            assert_eq!(report.dead_units_by_layer, plain.dead_units_by_layer, "{activation} on {device}");
            Ok(())
        });
    }
}

/// By PyTorch's formula: a unit of two has the distance ±d from their mean, and is ±d / √(d² + 1e-5) after the norm.
#[test]
fn classifiers_have_the_networks_layer_norm() {
    let layer = |n_inputs, n_outputs, weights: &[f32], bias: &[f32]| warpplay::mlp::Layer {
        n_inputs,
        n_outputs,
        weights: weights.to_vec(),
        bias: bias.to_vec(),
    };
    let norm = LayerNorm { gain: vec![2.0, 0.5], shift: vec![0.25, -0.5] };
    let network = Network::new(vec![layer(1, 2, &[0.03, 0.01], &[0.5, 0.5]), layer(2, 1, &[1.0, 10.0], &[0.0])])
        .expect("a network")
        .with_activation(Activation::Tanh)
        .with_layer_norms(vec![norm])
        .expect("a norm");
    let distance = 0.01f64;
    let unit = distance / (distance * distance + 1e-5).sqrt();
    let expected = (2.0 * unit + 0.25).tanh() + 10.0 * (-0.5 * unit - 0.5).tanh();
    let check = |device: &Device| -> Checked {
        let found = Classifier::builder(&network).build(device)?.logits(&[255])?;
        close(&format!("on {device}"), &[f64::from(found[0])], &[expected], Tolerance { abs: 1e-5, rel: 0.0 });
        Ok(())
    };
    check(&Device::cpu()).expect("cpu");
    for_each_architecture_of_f32(check);
}

#[test]
fn a_resumed_training_goes_on_with_layer_norm() -> Checked {
    let set = images(70, 2, 3, 3);
    let check = |device: &Device, precision| -> Checked {
        let optimizer = Optimizer::from_name("adamw")?;
        let options = Options { precision, optimizer, dropout: 0.2, ..options(&[5, 6], 4, Activation::Gelu) };
        assert!(resumed(device, &options, &set)?.layer_norm, "{precision}");
        Ok(())
    };
    check(&Device::cpu(), Precision::F32)?;
    check(&Device::cpu(), Precision::F64)?;
    for_each_architecture(|device| {
        check(device, Precision::F32)?;
        check(device, Precision::F16)
    });
    for device in [Device::cpu(), Device::simt()] {
        swept(&device, &options(&[6], 8, Activation::Relu), &set)?;
    }
    Ok(())
}

/// Files of weights in both forms, and checkpoints, which are such files too.
#[test]
fn files_keep_gains_and_shifts() -> Checked {
    let folder = Folder::new();
    let path = folder.path("net.safetensors");
    for activation in [Activation::Relu, Activation::Tanh] {
        for layout in [WeightLayout::InOut, WeightLayout::PyTorch] {
            network(activation).save(&path, layout)?;
            assert_eq!(Network::load(&path)?, network(activation), "{activation} {layout:?}");
        }
    }
    let set = images(20, 2, 3, 3);
    let options = options(&[5, 4], 4, Activation::Relu);
    let mut trainer =
        Trainer::builder(&set).options(options).network(network(Activation::Relu)).build(&Device::cpu())?;
    trainer.run(Progress::go_on)?;
    let path = folder.path("net.checkpoint");
    trainer.checkpoint()?.save(&path)?;
    assert_eq!(Network::load(&path)?, trainer.network()?);
    assert_eq!(Checkpoint::load(&path)?.network()?, trainer.network()?);
    Ok(())
}

/// A network is trained on with the norms that it has; wrong lengths and numbers are named.
#[test]
fn what_does_not_fit_is_refused() -> Checked {
    let set = images(20, 2, 3, 3);
    let built = |layer_norm, network: &Network| {
        let options = Options { layer_norm, ..options(&[5, 4], 4, Activation::Relu) };
        Trainer::builder(&set).options(options).network(network.clone()).build(&Device::cpu())
    };
    let normalised = network(Activation::Relu);
    assert_eq!(built(true, &normalised)?.network()?, normalised);
    let plain = normalised.clone().with_layer_norms(Vec::new())?;
    let error = built(true, &plain).expect_err("no norms").to_string();
    assert_eq!(error, "option layer_norm: true is not allowed (false, as the given network has)");
    let error = built(false, &normalised).expect_err("norms").to_string();
    assert_eq!(error, "option layer_norm: false is not allowed (true, as the given network has)");
    let norm = |n: usize, gain: f32| LayerNorm { gain: vec![gain; n], shift: vec![0.0; n] };
    for (norms, text) in [
        (vec![norm(5, 1.0)], "layer norms"),
        (vec![norm(5, 1.0), norm(3, 1.0)], "gain of layer 2"),
        (vec![norm(5, f32::NAN), norm(4, 1.0)], "gain of layer 1, element 0"),
    ] {
        let error = plain.clone().with_layer_norms(norms).expect_err("wrong norms").to_string();
        assert!(error.contains(text), "{error}");
    }
    let set = images(20, 4, 4, 3);
    let options = Options { engine: Engine::Epoch, ..options(&[5], 4, Activation::Relu) };
    let error = Trainer::builder(&set).options(options).build(&Device::simt()).expect_err("no norm").to_string();
    assert_eq!(error, "option layer_norm: true is not allowed (false with engine epoch)");
    Ok(())
}
