//! Batch norm of hidden layers: every engine trains as the double-precision program does, with the same bits every time; evaluations take running moments, and files keep them.

use warpplay::mlp::{
    Activation, BatchNorm, Checkpoint, Classifier, Engine, Init, Layer, Loss, Network, Optimizer, Options, Precision,
    Reduction, Residence, Trainer, WeightLayout,
};
use warpplay::{Backend, Device, Progress};
use warpplay_cpu_ref::mlp::norm::Moments;
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_architecture, for_each_architecture_of_f32};
use warpplay_tests::folder::Folder;
use warpplay_tests::mlp::{Twin, images, resumed, swept, train};
use warpplay_tests::tolerance::{Tolerance, close};

fn options(hidden: &[u32], batch: u32, activation: Activation) -> Options {
    Options {
        hidden: hidden.to_vec(),
        batch,
        activation,
        batch_norm: true,
        epochs: 2,
        learning_rate: 0.1,
        seed: 3,
        ..Options::default()
    }
}

/// A network of two hidden layers whose norms have four numbers of each unit that are none of the first ones.
fn network(activation: Activation) -> Network {
    let norm = |n: u8| BatchNorm {
        gain: (0..n).map(|at| 0.5 + 0.25 * f32::from(at)).collect(),
        shift: (0..n).map(|at| 0.125 * f32::from(at) - 0.25).collect(),
        mean: (0..n).map(|at| 0.5 - 0.25 * f32::from(at)).collect(),
        variance: (0..n).map(|at| 0.25 + 0.5 * f32::from(at)).collect(),
    };
    let drawn = Network::initial(&[6, 5, 4, 3], Init::XavierNormal, 2).expect("widths");
    drawn.with_activation(activation).with_batch_norms(vec![norm(5), norm(4)]).expect("norms")
}

/// Widths below, at and above quads, and more than a block has units; one hidden layer and several; a batch in several parts, and more rows than a block takes at a time; a last batch that is short; a set copied from the host;
/// each activation; optimisers with a state, weight decay and clipping, which have gains and shifts too and running moments not; dropout behind it.
#[test]
fn epochs_with_batch_norm_equal_the_plain_programs() {
    let adam = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
    let momentum = Optimizer::Momentum { momentum: 0.9 };
    for (n, hidden, batch, activation, changes) in [
        (60, &[9][..], 8, Activation::Relu, Options::default()),
        (
            40,
            &[17, 12, 3],
            40,
            Activation::Tanh,
            Options { optimizer: momentum, weight_decay: 0.01, ..Options::default() },
        ),
        (24, &[70, 6], 10, Activation::Relu, Options { dropout: 0.2, stream: Residence::Host, ..Options::default() }),
        (60, &[10, 7], 8, Activation::Gelu, Options { optimizer: adam, learning_rate: 0.01, ..Options::default() }),
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
            assert_eq!(weights.batch_norms().len(), hidden.len());
            for norm in weights.batch_norms() {
                assert!(norm.gain.iter().any(|&gain| gain != 1.0) && norm.shift.iter().any(|&shift| shift != 0.0));
            }
            Ok(())
        };
        check(&Device::cpu()).expect("cpu");
        for_each_architecture_of_f32(check);
    }
}

/// Sums over a batch are in a fixed order, in every precision.
#[test]
fn a_training_has_the_same_bits_every_time() {
    let set = images(101, 3, 5, 4);
    for_each_architecture(|device| {
        for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
            let options = Options { precision, ..options(&[40, 9], 33, Activation::Relu) };
            let first = train(device, &options, &set)?;
            assert!(first.0.iter().all(|loss| loss.is_finite()));
            assert_eq!(train(device, &options, &set)?, first, "{precision} on {device}");
        }
        Ok(())
    });
}

/// One step by hand, in numbers of few bits: the sums of two samples are ±1 about 1, so a unit has mean 1 and variance 1, 2 of the population; the running moments are a tenth of the way to these.
#[test]
fn running_moments_are_pytorchs() -> Checked {
    let set = std::sync::Arc::new(warpplay::mlp::Dataset::with_targets(
        vec![0, 255],
        vec![0.0, 0.0],
        1,
        1,
        1,
        "two samples",
    )?);
    let layer = |weight: f32| Layer { n_inputs: 1, n_outputs: 1, weights: vec![weight], bias: vec![0.0] };
    let network = Network::new(vec![layer(2.0), layer(1.0)])?.with_activation(Activation::Tanh).with_batch_norm();
    let check = |device: &Device| -> Checked {
        let options = Options {
            epochs: 1,
            learning_rate: 0.0,
            loss: Loss::MeanSquaredError,
            reduction: Reduction::Sum,
            ..options(&[1], 2, Activation::Tanh)
        };
        let mut trainer = Trainer::builder(&set).options(options).network(network.clone()).test(&set).build(device)?;
        let report = trainer.run(Progress::go_on)?;
        let trained = trainer.network()?;
        let norm = &trained.batch_norms()[0];
        let bound = Tolerance { abs: 4.0 * f64::from(f32::EPSILON), rel: 0.0 };
        close("mean and variance", &[norm.mean[0].into(), norm.variance[0].into()], &[0.1, 0.9 + 0.1 * 2.0], bound);
        let unit = (1.0 / (1.0f64 + 1e-5).sqrt()).tanh();
        let evaluated = |z: f64| ((z - 0.1) / (1.1f64 + 1e-5).sqrt()).tanh();
        let expected = [unit * unit, (evaluated(0.0).powi(2) + evaluated(2.0).powi(2)) / 2.0];
        let found = [report.epochs[0].loss, report.epochs[0].test_loss.expect("a test set")];
        // A few dozen roundings of numbers up to 2.
        close(&format!("losses on {device}"), &found, &expected, Tolerance { abs: 1e-5, rel: 0.0 });
        Ok(())
    };
    check(&Device::cpu())?;
    for_each_architecture_of_f32(check);
    let z = [0.0f64, 5.0, 2.0, 5.0, 4.0, 5.0];
    let moments = Moments::of_columns(&z, 2);
    let expected = Moments { mean: vec![2.0, 5.0], variance: vec![8.0 / 3.0, 0.0] };
    assert_eq!(moments, expected);
    let mut running = Moments { mean: vec![0.0; 2], variance: vec![1.0; 2] };
    running.follow(&moments, 3);
    close("means", &running.mean, &[0.2, 0.5], Tolerance { abs: 1e-15, rel: 0.0 });
    close("variances", &running.variance, &[1.3, 0.9], Tolerance { abs: 1e-15, rel: 0.0 });
    Ok(())
}

/// By PyTorch's formula with the running moments of the network.
#[test]
fn classifiers_have_the_networks_running_moments() {
    let layer = |n_inputs, n_outputs, weights: &[f32], bias: &[f32]| Layer {
        n_inputs,
        n_outputs,
        weights: weights.to_vec(),
        bias: bias.to_vec(),
    };
    let norm =
        BatchNorm { gain: vec![2.0, 0.5], shift: vec![0.25, -0.5], mean: vec![0.5, -1.0], variance: vec![0.25, 4.0] };
    let network = Network::new(vec![layer(1, 2, &[0.75, 0.5], &[0.5, 0.5]), layer(2, 1, &[1.0, 10.0], &[0.0])])
        .expect("a network")
        .with_activation(Activation::Tanh)
        .with_batch_norms(vec![norm])
        .expect("a norm");
    let unit = |z: f64, mean: f64, variance: f64| (z - mean) / (variance + 1e-5).sqrt();
    let expected = (2.0 * unit(1.25, 0.5, 0.25) + 0.25).tanh() + 10.0 * (0.5 * unit(1.0, -1.0, 4.0) - 0.5).tanh();
    let check = |device: &Device| -> Checked {
        let found = Classifier::builder(&network).build(device)?.logits(&[255])?;
        // A dozen roundings of numbers up to 10.
        let bound = Tolerance { abs: 120.0 * f64::from(f32::EPSILON), rel: 0.0 };
        close(&format!("on {device}"), &[f64::from(found[0])], &[expected], bound);
        Ok(())
    };
    check(&Device::cpu()).expect("cpu");
    for_each_architecture_of_f32(check);
}

/// Running moments, optimisers' states and masks go on with the same bits; a sweep trains as a training does.
#[test]
fn a_resumed_training_goes_on_with_batch_norm() -> Checked {
    let set = images(30, 2, 3, 3);
    let check = |device: &Device, precision| -> Checked {
        let optimizer = Optimizer::from_name("adamw")?;
        let options = Options { precision, optimizer, dropout: 0.2, ..options(&[5, 6], 4, Activation::Gelu) };
        assert!(resumed(device, &options, &set)?.batch_norm, "{precision}");
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

/// Weights that are no number anymore end a training with what was before the epoch: running moments too.
#[test]
fn a_diverged_epoch_leaves_the_moments_before_it() -> Checked {
    let set = images(40, 2, 3, 3);
    let check = |device: &Device| -> Checked {
        let options = Options { learning_rate: 1e38, ..options(&[5], 8, Activation::Relu) };
        let mut trainer = Trainer::builder(&set).options(options).build(device)?;
        let before = trainer.network()?;
        assert!(trainer.run(Progress::go_on).is_err(), "{device}");
        assert_eq!(trainer.network()?, before, "{device}");
        Ok(())
    };
    check(&Device::cpu())?;
    for_each_architecture_of_f32(check);
    Ok(())
}

/// Files of weights in both forms, and checkpoints, which are such files too.
#[test]
fn files_keep_running_moments() -> Checked {
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

/// One norm at most, batches that have a variance, networks with the norms that are trained; wrong lengths and numbers are named.
#[test]
fn what_does_not_fit_is_refused() -> Checked {
    let set = images(20, 2, 3, 3);
    let built = |batch_norm, network: &Network| {
        let options = Options { batch_norm, ..options(&[5, 4], 4, Activation::Relu) };
        Trainer::builder(&set).options(options).network(network.clone()).build(&Device::cpu())
    };
    let normalised = network(Activation::Relu);
    assert_eq!(built(true, &normalised)?.network()?, normalised);
    let plain = normalised.clone().with_batch_norms(Vec::new())?;
    let error = built(true, &plain).expect_err("no norms").to_string();
    assert_eq!(error, "option batch_norm: true is not allowed (false, as the given network has)");
    let error = built(false, &normalised).expect_err("norms").to_string();
    assert_eq!(error, "option batch_norm: false is not allowed (true, as the given network has)");
    let both = Options { layer_norm: true, ..options(&[5], 4, Activation::Relu) };
    let error = Trainer::builder(&set).options(both).build(&Device::cpu()).expect_err("both").to_string();
    assert_eq!(error, "option batch_norm: true is not allowed (false with layer_norm)");
    for batch in [1, 19] {
        let options = options(&[5], batch, Activation::Relu);
        let error = Trainer::builder(&set).options(options).build(&Device::cpu()).expect_err("one sample").to_string();
        let allowed = "batches of at least two of the 20 training samples, the last too, with batch_norm";
        assert_eq!(error, format!("option batch: {batch} is not allowed ({allowed})"));
    }
    let norm = |n: usize, mean: f32, variance: f32| BatchNorm {
        gain: vec![1.0; n],
        shift: vec![0.0; n],
        mean: vec![mean; n],
        variance: vec![variance; n],
    };
    for (norms, text) in [
        (vec![norm(5, 0.0, 1.0)], "batch norms"),
        (vec![norm(5, 0.0, 1.0), norm(3, 0.0, 1.0)], "gain of layer 2"),
        (vec![norm(5, f32::NAN, 1.0), norm(4, 0.0, 1.0)], "mean of layer 1, element 0"),
        (vec![norm(5, 0.0, 1.0), norm(4, 0.0, -1.0)], "variance of layer 2, element 0: expected at least 0, got -1"),
    ] {
        let error = plain.clone().with_batch_norms(norms).expect_err("wrong norms").to_string();
        assert!(error.contains(text), "{error}");
    }
    assert!(normalised.clone().with_layer_norm().batch_norms().is_empty());
    let set = images(20, 4, 4, 3);
    let options = Options { engine: Engine::Epoch, ..options(&[5], 4, Activation::Relu) };
    let error = Trainer::builder(&set).options(options).build(&Device::simt()).expect_err("no norm").to_string();
    assert_eq!(error, "option batch_norm: true is not allowed (false with engine epoch)");
    Ok(())
}
