//! Layer norm of hidden layers: every engine trains as the double-precision program does, what is resumed goes on with the same bits, and files keep gains and shifts.

use warpplay::mlp::{
    Activation, Checkpoint, Classifier, Engine, Init, LayerNorm, Network, Optimizer, Options, Precision, Trainer,
    WeightLayout,
};
use warpplay::{Device, Progress};
use warpplay_tests::Checked;
use warpplay_tests::folder::Folder;
use warpplay_tests::mlp::{Twin, images, resumed, swept, train};
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

/// Single precision on all cores against the double-precision twin; gains and shifts move.
#[test]
fn epochs_with_layer_norm_are_those_of_double_precision() -> Checked {
    let set = images(60, 1, 13, 5);
    let adam = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
    for (hidden, optimizer, learning_rate) in [(&[9][..], Optimizer::Sgd, 0.1), (&[17, 6], adam, 0.01)] {
        let options = Options { optimizer, learning_rate, ..options(hidden, 7, Activation::Relu) };
        let twin = Twin::of(&options, &set);
        let (found, weights) = train(&Device::cpu(), &options, &set)?;
        twin.check(&format!("{hidden:?}"), &found, &weights);
        assert_eq!(weights.layer_norms().len(), hidden.len());
        for norm in weights.layer_norms() {
            assert!(norm.gain.iter().any(|&gain| gain != 1.0) && norm.shift.iter().any(|&shift| shift != 0.0));
        }
    }
    Ok(())
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
    let found = Classifier::builder(&network).build(&Device::cpu()).expect("cpu").logits(&[255]).expect("logits");
    close("logit", &[f64::from(found[0])], &[expected], Tolerance { abs: 1e-5, rel: 0.0 });
}

#[test]
fn a_resumed_training_goes_on_with_layer_norm() -> Checked {
    let set = images(70, 2, 3, 3);
    for precision in [Precision::F32, Precision::F64] {
        let optimizer = Optimizer::from_name("adamw")?;
        let options = Options { precision, optimizer, dropout: 0.2, ..options(&[5, 6], 4, Activation::Gelu) };
        assert!(resumed(&Device::cpu(), &options, &set)?.layer_norm, "{precision}");
    }
    swept(&Device::cpu(), &options(&[6], 8, Activation::Relu), &set)
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
