//! Regressions: gradients of the losses, every engine against the plain program, a function that is learnt at the rate of theory, and what is refused.

use std::sync::Arc;

use warpplay::mlp::{
    Activation, Classifier, CsvFormat, Dataset, Engine, Layer, Loss, Network, Optimizer, Options, Precision, Reduction,
    Residence, Trainer,
};
use warpplay::{Device, Error, Progress};
use warpplay_cpu_ref::mlp::{self as reference, Parallel, Pass, Program, RegressionLoss, Sequential};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_architecture, for_each_architecture_of_f32};
use warpplay_tests::folder::Folder;
use warpplay_tests::mlp::{Twin, images, resumed, swept, train};
use warpplay_tests::npy::npy;
use warpplay_tests::rounding::{SINGLE, loss_bound};
use warpplay_tests::tolerance::{Tolerance, close};

const LOSSES: [Loss; 2] = [Loss::MeanSquaredError, Loss::Huber];

/// Images with targets of -3 to 3: on both sides of where Huber's loss becomes linear.
fn set(n: usize, rows: u32, cols: u32, n_targets: u32) -> Arc<Dataset> {
    let images = images(n, rows, cols, 5);
    let target = |at: u32| ((at * 37 + 11) % 61) as f32 / 10.0 - 3.0;
    let targets = (0..n as u32 * n_targets).map(target).collect();
    Arc::new(Dataset::with_targets(images.images().to_vec(), targets, rows, cols, n_targets, "made").expect("a set"))
}

fn options(hidden: &[u32], batch: u32, loss: Loss) -> Options {
    Options { hidden: hidden.to_vec(), batch, loss, epochs: 2, learning_rate: 0.05, seed: 3, ..Options::default() }
}

/// Each gradient is the difference of losses at weights a little apart: a central difference in double precision, whose error is some 1e-10 of numbers about 1. Where Huber's second derivative jumps, it would be
/// up to half the step; no difference is within a thousandth of that.
fn descends<P: Program>() {
    const STEP: f64 = 1e-5;
    let (x, targets): (Vec<f64>, Vec<f64>) = (
        (0..35).map(|at| f64::from(at * 29 % 17) / 9.0 - 0.9).collect(),
        (0..10).map(|at| f64::from(at) - 4.6).collect(),
    );
    for loss in
        [RegressionLoss::MeanSquaredError, RegressionLoss::Huber { delta: 1.0 }, RegressionLoss::Huber { delta: 2.5 }]
    {
        for reduction in [reference::Reduction::Mean, reference::Reduction::Sum] {
            let network = reference::Network::<f64>::drawn(&[7, 6, 2], reference::Init::XavierUniform, 5)
                .with_activation(reference::Activation::Tanh);
            let of = |network: &reference::Network<f64>| {
                let mut pass = Pass { x: x.clone(), ..Pass::default() };
                network.forward_from_x::<P>(&mut pass);
                network.regression_losses(&targets, loss, &mut pass);
                pass
            };
            let mut pass = of(&network);
            if let RegressionLoss::Huber { delta } = loss {
                let far = |(z, t): (&f64, &f64)| ((z - t).abs() - delta).abs() > 1e-3;
                assert!(pass.z[1].iter().zip(&targets).all(far), "a difference at the kink");
            }
            network.backward_regression::<P>(&targets, (loss, reduction), &mut pass);
            let divisor = if reduction == reference::Reduction::Mean { 5.0 } else { 1.0 };
            for (number, gradient) in pass.gradients.iter().enumerate() {
                let slope = |pick: &dyn Fn(&mut reference::Layer<f64>) -> &mut f64| {
                    let (mut more, mut less) = (network.clone(), network.clone());
                    *pick(&mut more.layers_mut()[number]) += STEP;
                    *pick(&mut less.layers_mut()[number]) -= STEP;
                    (of(&more).loss_sum() - of(&less).loss_sum()) / (2.0 * STEP) / divisor
                };
                let weights: Vec<f64> =
                    (0..gradient.weights.len()).map(|at| slope(&|layer| &mut layer.weights[at])).collect();
                let bias: Vec<f64> = (0..gradient.bias.len()).map(|at| slope(&|layer| &mut layer.bias[at])).collect();
                let bound = Tolerance { abs: 1e-8, rel: 1e-7 };
                close(&format!("{loss:?} dW{number}"), &gradient.weights, &weights, bound);
                close(&format!("{loss:?} db{number}"), &gradient.bias, &bias, bound);
            }
        }
    }
}

#[test]
fn gradients_of_regressions_are_differences_of_losses() {
    descends::<Sequential>();
    descends::<Parallel>();
}

/// By hand: differences of 2 and -1/2, and of nothing.
#[test]
fn losses_are_means_over_outputs() {
    let layer = Layer { n_inputs: 1, n_outputs: 2, weights: vec![2.0, 0.0], bias: vec![0.0, 0.5] };
    let network = Network::new(vec![layer]).expect("a network");
    let set = Dataset::with_targets(vec![255, 0], vec![0.0, 1.0, 0.0, 0.5], 1, 1, 2, "by hand").expect("a set");
    let set = Arc::new(set);
    for (loss, first) in [(Loss::MeanSquaredError, (4.0 + 0.25) / 2.0), (Loss::Huber, (1.5 + 0.125) / 2.0)] {
        let check = |device: &Device| -> Checked {
            let found = Classifier::builder(&network).loss(loss).build(device)?.evaluate(&set)?;
            // Numbers of few bits, which every precision holds.
            assert_eq!((found.loss, found.total, found.share()), (first / 2.0, 2, None), "{loss} on {device}");
            assert!(found.confusion.is_empty());
            assert!(found.to_string().starts_with("2 samples, loss "), "{found}");
            Ok(())
        };
        check(&Device::cpu()).expect("cpu");
        for_each_architecture(check);
    }
}

/// Widths below, at and above quads, eights and a warp; one output and many; a last batch that is short; a set copied from the host; an optimiser with a state; gradients that are clipped; a sum.
#[test]
fn epochs_of_regressions_equal_the_plain_programs() {
    let momentum = Optimizer::Momentum { momentum: 0.9 };
    for loss in LOSSES {
        for (n, rows, cols, hidden, outputs, batch, stream, optimizer, clip_norm) in [
            (60, 1, 13, &[9][..], 1, 7, Residence::Device, Optimizer::Sgd, None),
            (40, 4, 8, &[17, 12], 3, 40, Residence::Device, momentum, Some(0.5)),
            (24, 4, 4, &[20], 40, 24, Residence::Host, Optimizer::Sgd, None),
            (30, 1, 5, &[], 8, 8, Residence::Device, momentum, None),
        ] {
            let set = set(n, rows, cols, outputs);
            let reduction = if hidden.is_empty() { Reduction::Sum } else { Reduction::Mean };
            let activation = if hidden.len() == 1 { Activation::Relu } else { Activation::Tanh };
            let options =
                Options { stream, optimizer, clip_norm, activation, reduction, ..options(hidden, batch, loss) };
            let twin = Twin::of(&options, &set);
            for_each_architecture_of_f32(|device| {
                let (found, weights) = train(device, &options, &set)?;
                twin.check(&format!("{loss}, {hidden:?}, {outputs} outputs on {device}"), &found, &weights);
                Ok(())
            });
        }
    }
}

/// TF32 cuts off what its 11 significant bits do not hold, the others round.
#[test]
fn short_formats_have_regressions() {
    let set = set(32, 3, 5, 4);
    for loss in LOSSES {
        let options = Options { epochs: 1, learning_rate: 0.0, ..options(&[11, 6], 32, loss) };
        let first = |device: &Device, precision| -> warpplay::Result<(f64, Network)> {
            let (losses, network) = train(device, &Options { precision, ..options.clone() }, &set)?;
            Ok((losses[0], network))
        };
        let (exact, network) = first(&Device::cpu(), Precision::F64).expect("cpu");
        for_each_architecture(|device| {
            for (precision, bits) in [(Precision::Tf32, 10), (Precision::F16, 11), (Precision::Bf16, 8)] {
                let bound = loss_bound(&network, &set, &options, 1.0 / f64::from(1 << bits));
                let bound = Tolerance { abs: bound, rel: 0.0 };
                close(&format!("{loss} in {precision} on {device}"), &[first(device, precision)?.0], &[exact], bound);
            }
            Ok(())
        });
    }
}

/// A function that the network can represent: two outputs that are linear in two pixels of 0 or 1, all four pairs of them, from weights of 0.
///
/// The gradient is that of `|X (w - w*)|² / 4` for each output, by the factor of loss and outputs, where the rows of `X` are `(a, b, 1)`. `XᵀX / 4` has the eigenvalues 1/4 and `7/8 ± √33/8`: the least is above 0.156, their sum 2.
/// At a rate with which a step is `w -= XᵀX (w - w*) / 8`, what is left falls by at least 1 - 0.078 a step, and the loss by the square of it, down to the rounding of numbers below 1, whose square is below 1e-13. Huber's
/// loss is quadratic throughout, since the squares of all differences together never exceed 1.
#[test]
fn a_linear_function_is_learnt_at_the_rate_of_theory() {
    let images = vec![0, 0, 255, 0, 0, 255, 255, 255];
    let pairs = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)];
    let targets = pairs.iter().flat_map(|&(a, b)| [0.25 * a - 0.5 * b + 0.125, 0.1 - 0.2 * b]).collect::<Vec<f32>>();
    assert!(targets.iter().map(|target| target * target).sum::<f32>() < 1.0);
    let set = Arc::new(Dataset::with_targets(images, targets, 1, 2, 2, "a linear function").expect("a set"));
    let zeros = Layer { n_inputs: 2, n_outputs: 2, weights: vec![0.0; 4], bias: vec![0.0; 2] };
    let network = Network::new(vec![zeros]).expect("a network");
    // Gradients of both are by `XᵀX / 4` and these factors, for each of two outputs.
    for (loss, factor) in [(Loss::MeanSquaredError, 2.0 / 2.0), (Loss::Huber, 1.0 / 2.0)] {
        let check = |device: &Device| -> Checked {
            let options = Options { epochs: 120, learning_rate: 0.5 / factor, ..options(&[], 4, loss) };
            let builder = Trainer::builder(&set).options(options).network(network.clone());
            let report = builder.build(device)?.run(Progress::go_on)?;
            let (first, last) = (report.epochs[0].loss, report.epochs[119].loss);
            let bound = (1.0f64 - 0.078).powi(2 * 119) * first + 1e-13;
            assert!(last <= bound, "{loss} on {device}: {last} of {first}, at most {bound}");
            assert_eq!(report.epochs[0].test_accuracy, None);
            Ok(())
        };
        check(&Device::cpu()).expect("cpu");
        for_each_architecture_of_f32(check);
    }
}

/// A test set's loss is that of the CPU, and no share is right.
#[test]
fn evaluations_of_regressions_are_those_of_the_cpu() {
    let set = set(50, 2, 5, 3);
    for loss in LOSSES {
        for_each_architecture(|device| {
            let options = options(&[6], 10, loss);
            let mut trainer = Trainer::builder(&set).options(options.clone()).test(&set).build(device)?;
            let report = trainer.run(Progress::go_on)?;
            let network = trainer.network()?;
            let cpu = Classifier::builder(&network).loss(loss).build(&Device::cpu())?.evaluate(&set)?;
            let found = report.epochs[1].test_loss.expect("a test set");
            // Each within the bound of exact arithmetic.
            let bound = 2.0 * loss_bound(&network, &set, &options, SINGLE);
            close("loss", &[found], &[cpu.loss], Tolerance { abs: bound, rel: 0.0 });
            assert_eq!(report.epochs[1].test_accuracy, None, "{loss} on {device}");
            Ok(())
        });
    }
}

/// All options of hidden layers and of the loss at once: norms, curves, units that are dropped, one output and several; a last batch that is short, a set copied from the host, clipping and an optimiser with a state.
#[test]
fn regressions_with_layer_norm_and_dropout_equal_the_plain_programs() {
    let momentum = Optimizer::Momentum { momentum: 0.9 };
    for (loss, n, hidden, outputs, batch, activation, stream, optimizer) in [
        (Loss::MeanSquaredError, 60, &[9][..], 1, 7, Activation::Relu, Residence::Device, Optimizer::Sgd),
        (Loss::Huber, 40, &[17, 12], 3, 40, Activation::Gelu, Residence::Host, momentum),
    ] {
        let set = set(n, 3, 5, outputs);
        let clip_norm = (outputs > 1).then_some(0.5);
        let (layer_norm, dropout) = (true, 0.2);
        let options =
            Options { layer_norm, dropout, activation, stream, optimizer, clip_norm, ..options(hidden, batch, loss) };
        let twin = Twin::of(&options, &set);
        for_each_architecture_of_f32(|device| {
            let (found, weights) = train(device, &options, &set)?;
            twin.check(&format!("{loss}, {hidden:?}, {activation} on {device}"), &found, &weights);
            Ok(())
        });
    }
}

#[test]
fn a_resumed_regression_goes_on_with_its_loss() {
    let set = set(70, 2, 3, 3);
    for_each_architecture(|device| {
        for (precision, loss) in [(Precision::F32, Loss::Huber), (Precision::F16, Loss::MeanSquaredError)] {
            let options = Options { precision, ..options(&[5], 4, loss) };
            assert_eq!(resumed(device, &options, &set)?.loss, loss, "{precision} on {device}");
        }
        Ok(())
    });
}

#[test]
fn a_sweep_has_the_loss_of_a_training() -> Checked {
    let set = set(40, 4, 4, 2);
    for device in [Device::cpu(), Device::simt()] {
        swept(&device, &options(&[6], 8, Loss::MeanSquaredError), &set)?;
    }
    Ok(())
}

/// Labels have one loss, targets have the others; and the engine that has none of these refuses.
#[test]
fn losses_go_with_what_samples_have() -> Checked {
    let (numbers, classes) = (set(20, 4, 4, 3), images(20, 4, 4, 3));
    let built = |set: &Arc<Dataset>, options: Options| Trainer::builder(set).options(options).build(&Device::simt());
    let with = |engine, loss| Options { engine, ..options(&[9], 8, loss) };
    for loss in LOSSES {
        assert_eq!(built(&numbers, with(Engine::Auto, loss))?.engine(), Engine::Layers);
        let refused = |result: warpplay::Result<Trainer>| result.expect_err("refused").to_string();
        let text = format!("option loss: {loss} is not allowed (cross_entropy with engine epoch)");
        assert_eq!(refused(built(&numbers, with(Engine::Epoch, loss))), text);
        let text = "(cross_entropy for made for a test, whose samples have labels)";
        assert_eq!(
            refused(built(&classes, with(Engine::Auto, loss))),
            format!("option loss: {loss} is not allowed {text}")
        );
        let text = "option loss: cross_entropy is not allowed (mse or huber for made, whose samples have targets)";
        assert_eq!(refused(built(&numbers, with(Engine::Auto, Loss::CrossEntropy))), text);
        let tested = Trainer::builder(&numbers).options(with(Engine::Auto, loss)).test(&classes).build(&Device::cpu());
        assert!(refused(tested).contains("whose samples have labels"));
        let smoothed = Options { label_smoothing: 0.1, ..with(Engine::Auto, loss) };
        let text = format!("option label_smoothing: 0.1 is not allowed (0 with loss {loss}, which has no labels)");
        assert_eq!(refused(built(&numbers, smoothed)), text);
        let others = Trainer::builder(&numbers).options(with(Engine::Auto, loss)).test(&set(20, 4, 4, 2));
        let error = refused(others.build(&Device::cpu()));
        assert_eq!(error, "targets of a sample of made: expected 3, the network's outputs, got 2");
    }
    let error = "l1".parse::<Loss>().expect_err("no such name").to_string();
    assert_eq!(error, "option loss: l1 is not allowed (cross_entropy, mse, huber)");
    Ok(())
}

#[test]
fn targets_are_finite_and_as_many_as_samples() {
    let made = |n_bytes: usize, targets: &[f32], n_targets| {
        Dataset::with_targets(vec![0; n_bytes], targets.to_vec(), 1, 2, n_targets, "made")
    };
    assert_eq!(made(4, &[1.0, 2.0, 3.0, 4.0], 2).expect("a set").len(), 2);
    for (n_bytes, targets, n_targets) in
        [(4, &[1.0, 2.0, 3.0][..], 2), (4, &[], 1), (4, &[1.0], 0), (5, &[1.0, 2.0], 1)]
    {
        assert!(
            matches!(made(n_bytes, targets, n_targets), Err(Error::Shape { .. })),
            "{n_bytes} {targets:?} {n_targets}"
        );
    }
    let error = made(4, &[0.0, 1.0, 2.0, f32::NAN], 2).expect_err("no number").to_string();
    assert_eq!(error, "target 1 of sample 1: expected a finite number, got NaN");
    let set = set(10, 1, 2, 3);
    let (first, last) = set.split(4).expect("two parts");
    let joined = [first.targets().expect("targets"), last.targets().expect("targets")].concat();
    assert_eq!((first.len(), last.len(), &joined[..]), (6, 4, set.targets().expect("targets")));
    assert_ne!(first.checksum(), set.checksum());
    let error = set.save(Folder::new().path(""), warpplay::mlp::Split::Train).expect_err("targets").to_string();
    assert_eq!(error, "made: expected labels, as IDX files hold, got targets");
}

#[test]
fn files_of_targets_are_read() {
    let folder = Folder::new();
    let images = folder.write("images.npy", &npy("|u1", "(2, 3)", &[0, 1, 2, 3, 4, 5]));
    let singles = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let doubles = |values: &[f64]| values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<u8>>();
    for (bytes, n_targets, expected) in [
        (npy("<f4", "(2,)", &singles(&[0.5, -1e10])), 1, &[0.5f32, -1e10][..]),
        (npy("<f4", "(2, 2)", &singles(&[1.0, 2.0, 3.0, 4.0])), 2, &[1.0, 2.0, 3.0, 4.0]),
        (npy(">f8", "(2, 1)", &doubles(&[0.1, -7.0])), 1, &[0.1, -7.0]),
    ] {
        let path = folder.write("targets.npy", &bytes);
        let set = Dataset::load_with_targets(&images, &path).expect("a set");
        assert_eq!((set.targets(), set.n_classes(), set.len()), (Some(expected), n_targets, 2));
        assert_eq!((set.images(), set.labels()), (&[0, 1, 2, 3, 4, 5][..], &[][..]));
    }
    for (bytes, text) in [
        (npy("<i4", "(2,)", &[0; 8]), "targets have values of type \"<i4\", float32 or float64 is expected"),
        (npy("<f4", "(3,)", &[0; 12]), "targets of 3 samples for the 2 images of"),
        (npy("<f4", "(2, 1, 1)", &[0; 8]), "targets have the shape [2, 1, 1], [n] or [n, n_targets] is expected"),
        (npy("<f4", "(2, 0)", &[]), "targets have the shape [2, 0]"),
        (
            npy("<f4", "(2,)", &singles(&[0.5, f32::INFINITY])),
            "target 0 of sample 1 is inf, a finite number is expected",
        ),
        (
            npy("<f8", "(2,)", &1e300f64.to_le_bytes().repeat(2)),
            "target 0 of sample 0 is 1e300, a number of at most 3.4028235e38 in size is expected",
        ),
        (npy("<f4", "(2,)", &[0; 7]), "truncated"),
    ] {
        let path = folder.write("targets.npy", &bytes);
        let error = Dataset::load_with_targets(&images, &path).expect_err(text);
        assert!(matches!(error, Error::File { .. }) && error.to_string().contains(text), "{error}");
    }
    let format = CsvFormat { label: Some("price".into()), ..CsvFormat::default() };
    let path = folder.write("set.csv", b"a,price,b\n0,-1.5e2,255\n7,0.25,8\n");
    let set = Dataset::load_csv_with_targets(&path, &format).expect("a set");
    assert_eq!((set.targets(), set.images()), (Some(&[-150.0, 0.25][..]), &[0, 255, 7, 8][..]));
    let (finite, within) = ("a finite number", "a number of at most 3.4028235e38 in size");
    for (value, allowed) in
        [("nan", finite), ("1e39", within), ("-1e400", within), ("inf", finite), ("", finite), ("x", finite)]
    {
        let path = folder.write("set.csv", format!("a,price,b\n0,{value},255\n").as_bytes());
        let error = Dataset::load_csv_with_targets(&path, &format).expect_err(value).to_string();
        let expected = format!("line 2: the target in column 2 (\"price\") is {value:?}, {allowed} is expected");
        assert!(error.ends_with(&expected), "{error}");
    }
}
