//! The engine `epoch` with one half a number, for `tf32`, `bf16` and `f16`: within what that rounding does, and the engine's promises as in single precision.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::mlp::{
    Checkpoint, Classifier, Dataset, Engine, Layer, Network, Optimizer, Options, Precision, Reduction, Sweep, Trainer,
};
use warpplay::{Device, Progress, Result};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::folder::Folder;
use warpplay_tests::mlp::{error_of, images, train, values};
use warpplay_tests::tolerance::{Tolerance, close, same};

const SHORT: [Precision; 3] = [Precision::Tf32, Precision::Bf16, Precision::F16];
/// How far results of one hidden layer may be off, as a share of the largest: 2⁻¹¹ for one rounding, twice that for a sum of products of two, and a layer more.
const MOST: f64 = 2e-3;
/// At least: a result as good as single precision would mean that a second half was used.
const LEAST: f64 = 1e-6;

/// As [`MOST`], of any number of hidden layers: as much for each layer.
pub(crate) fn most(hidden: &[u32]) -> f64 {
    MOST / 2.0 * (hidden.len() + 1) as f64
}

fn options(hidden: &[u32], batch: u32) -> Options {
    let (hidden, engine) = (hidden.to_vec(), Engine::Epoch);
    Options { hidden, batch, engine, epochs: 2, learning_rate: 0.2, seed: 3, ..Options::default() }
}

/// The same for the plain program.
fn plain(options: &Options) -> Options {
    Options { engine: Engine::Auto, precision: Precision::F64, ..options.clone() }
}

/// A network whose biases keep every hidden unit positive: no sample is at the kink of ReLU, where a rounding decides about a whole column.
fn network(n_inputs: u32, hidden: &[u32], n_classes: u32) -> Network {
    let sizes = [&[n_inputs], hidden, &[n_classes]].concat();
    let mut layers = Network::initial(&sizes, Options::default().init, 5).expect("a network").layers().to_vec();
    // The units of a second hidden layer have inputs of about 1.
    for (layer, bias) in layers.iter_mut().zip([1.0, 2.0]).take(hidden.len()) {
        layer.weights.iter_mut().for_each(|weight| *weight *= 0.2);
        layer.bias.fill(bias);
    }
    Network::new(layers).expect("a network")
}

/// What one step changes.
fn change(device: &Device, options: Options, set: &Arc<Dataset>, start: &Network) -> Result<Vec<f64>> {
    let options = Options { epochs: 1, ..options };
    let mut trainer = Trainer::builder(set).options(options).network(start.clone()).build(device)?;
    trainer.run(Progress::go_on)?;
    Ok(values(&trainer.network()?).iter().zip(values(start)).map(|(after, before)| before - after).collect())
}

#[test]
fn logits_are_within_the_rounding_of_one_half() {
    // As many pixels as there can be.
    for (cols, hidden) in [(59, &[45][..]), (53, &[45, 37])] {
        let (set, network) = (images(150, 16, cols, 13), network(16 * cols, hidden, 13));
        let logits = |device: &Device, options: Options| -> Result<Vec<f64>> {
            let mut classifier = Classifier::builder(&network).options(options).build(device)?;
            let logits = classifier.logits(set.images())?;
            Ok(logits.into_iter().map(f64::from).collect())
        };
        let expected = logits(&Device::cpu(), Options::default()).expect("cpu");
        for_each_device(|device| {
            let of = |precision| logits(device, Options { engine: Engine::Epoch, precision, ..Options::default() });
            let single = error_of(&of(Precision::F32)?, &expected);
            assert!(single < LEAST, "{hidden:?} units, f32 on {device}: {single:e}");
            let first = of(Precision::Tf32)?;
            let error = error_of(&first, &expected);
            println!("logits of {hidden:?} units off by {error:.1e} on {device}");
            assert!((LEAST..most(hidden)).contains(&error), "{hidden:?} units on {device}: {error:e}");
            for precision in SHORT {
                same(&format!("{hidden:?} units, {precision} on {device}"), &of(precision)?, &first);
            }
            Ok(())
        });
    }
}

/// Optimisers whose first step is the gradient, or follows it as closely: with an epsilon of 1, Adam and RMSprop move a weight by `g / (|g| + 1)` or less of the rate, whose slope is at most 1.
fn followers() -> [(Optimizer, f64); 4] {
    [("sgd", 0.5), ("momentum", 0.5), ("adam", 0.5), ("rmsprop", 0.05)].map(|(name, rate)| {
        let optimizer = match Optimizer::from_name(name).expect("a name") {
            Optimizer::Adam { beta1, beta2, .. } => Optimizer::Adam { beta1, beta2, epsilon: 1.0 },
            Optimizer::RmsProp { alpha, .. } => Optimizer::RmsProp { alpha, epsilon: 1.0 },
            other => other,
        };
        (optimizer, rate)
    })
}

/// Every kernel that trains, by one step of one part, and of three, the last not full; pixels of single warps among them.
#[test]
fn gradients_are_within_the_rounding_of_one_half() {
    let cases = [
        (&[45][..], 64, Reduction::Mean),
        (&[45], 130, Reduction::Mean),
        (&[45], 130, Reduction::Sum),
        (&[300], 64, Reduction::Mean),
        (&[300], 130, Reduction::Mean),
        (&[45, 37], 64, Reduction::Mean),
        (&[45, 37], 130, Reduction::Sum),
    ];
    for (hidden, n, reduction) in cases {
        let (set, start) = (images(n, 28, 28, 13), network(784, hidden, 13));
        for (optimizer, rate) in followers() {
            let linear = matches!(optimizer, Optimizer::Sgd | Optimizer::Momentum { .. });
            if !linear && reduction == Reduction::Sum {
                // Gradients of sums are far above 1.
                continue;
            }
            let learning_rate = if reduction == Reduction::Sum { rate / 64.0 } else { rate };
            let options = Options { optimizer, reduction, learning_rate, ..options(hidden, n as u32) };
            let expected = change(&Device::cpu(), plain(&options), &set, &start).expect("cpu");
            // An error of a gradient is one of the change, but the largest change is a gradient G divided by G + 1, or less.
            let largest = expected.iter().fold(0.0f64, |most, value| most.max(value.abs())) / learning_rate;
            let most = if linear { most(hidden) } else { most(hidden) / (1.0 - largest) };
            for_each_device(|device| {
                // Of many units, or two hidden layers, one precision will do: all three have the same kernels, and `simt` takes its time.
                for precision in &SHORT[..if hidden == [45] { SHORT.len() } else { 1 }] {
                    let options = Options { precision: *precision, ..options.clone() };
                    let error = error_of(&change(device, options, &set, &start)?, &expected);
                    let what = format!(
                        "{}, {precision}, {hidden:?} units, {n} samples, {reduction} on {device}",
                        optimizer.name()
                    );
                    println!("{what}: changes off by {error:.1e}");
                    assert!((LEAST..most).contains(&error), "{what}: {error:e}");
                }
                Ok(())
            });
        }
    }
}

/// All hidden units fall below what a half holds, so that a product with them is minus infinity, on samples without a pixel of 0, in batches whose rows are all there: no number of the answer would tell, were minus infinity rectified to 0.
#[test]
fn weights_below_the_range_are_noticed_and_layers_repeats_the_epoch_in_the_same_precision() {
    let set = Dataset::new(vec![100; 128 * 16], vec![0; 128], 4, 4, 2, "made for a test").expect("a set");
    let set = Arc::new(set);
    let first = Layer { n_inputs: 16, n_outputs: 20, weights: vec![1e-3; 320], bias: vec![1e-3; 20] };
    let second = Layer { n_inputs: 20, n_outputs: 2, weights: [-1.0, 1.0].repeat(20), bias: vec![0.0; 2] };
    let start = Network::new(vec![first, second]).expect("a network");
    for_each_device(|device| {
        for precision in [Precision::F32, Precision::Tf32, Precision::Bf16, Precision::F16] {
            let trained = |engine| -> Result<_> {
                let options = Options { engine, precision, learning_rate: 1.0, epochs: 1, ..options(&[20], 64) };
                let mut trainer = Trainer::builder(&set).options(options).network(start.clone()).build(device)?;
                let report = trainer.run(Progress::go_on)?;
                Ok((report.repeated_epochs, trainer.network()?))
            };
            let (repeated, network) = trained(Engine::Epoch)?;
            assert_eq!(repeated, 1, "{precision} on {device}");
            assert_eq!(network, trained(Engine::Layers)?.1, "{precision} on {device}");
        }
        Ok(())
    });
}

/// Some steps of each optimiser, in batches of one part and of several.
#[test]
fn optimizers_learn_like_the_plain_program() {
    let set = images(200, 8, 12, 5);
    let rates = [("sgd", 0.2), ("nesterov", 0.05), ("adam", 0.002), ("rmsprop", 0.002)];
    for (name, learning_rate) in rates {
        let optimizer = match Optimizer::from_name(name).expect("a name") {
            // With a tiny epsilon the first steps amplify rounding errors.
            Optimizer::Adam { beta1, beta2, .. } => Optimizer::Adam { beta1, beta2, epsilon: 1e-4 },
            Optimizer::RmsProp { alpha, .. } => Optimizer::RmsProp { alpha, epsilon: 1e-4 },
            other => other,
        };
        // By plain SGD more units than a cluster has too, in one hidden layer and in two.
        let wide = if name == "sgd" { &[(&[260][..], 40, 0.0), (&[21, 260], 40, 0.0)][..] } else { &[] };
        let narrow = [(&[21][..], 40, 0.0), (&[21], 40, 0.03), (&[21], 128, 0.03), (&[21, 18], 128, 0.03)];
        for &(hidden, batch, weight_decay) in narrow.iter().chain(wide) {
            let base = Options { optimizer, weight_decay, learning_rate, ..options(hidden, batch) };
            let (expected, _) = train(&Device::cpu(), &plain(&base), &set).expect("cpu");
            for_each_device(|device| {
                let options = Options { precision: Precision::Bf16, ..base.clone() };
                let (found, _) = train(device, &options, &set)?;
                let what = format!("{name}, {hidden:?} units, batch {batch}, decay {weight_decay} on {device}");
                close(&what, &found, &expected, Tolerance { abs: 0.0, rel: most(hidden) });
                Ok(())
            });
        }
    }
}

#[test]
fn it_is_chosen_by_itself_and_goes_on_from_its_checkpoint_bit_for_bit() {
    let set = images(100, 4, 4, 5);
    for_each_device(|device| {
        for precision in SHORT {
            let optimizer = Optimizer::from_name("adam")?;
            let options = Options { precision, optimizer, learning_rate: 0.002, ..options(&[30], 16) };
            let (_, whole) = train(device, &options, &set)?;
            let first = Options { epochs: 1, engine: Engine::Auto, ..options.clone() };
            let mut trainer = Trainer::builder(&set).options(first).build(device)?;
            assert_eq!(trainer.run(Progress::go_on)?.engine, Engine::Epoch);
            let folder = Folder::new();
            trainer.checkpoint()?.save(folder.path("checkpoint"))?;
            let checkpoint = Checkpoint::load(folder.path("checkpoint"))?;
            let mut trainer = Trainer::builder(&set).options(options).resume(checkpoint).build(device)?;
            trainer.run(Progress::go_on)?;
            assert_eq!(trainer.network()?, whole, "{precision} on {device}");
        }
        Ok(())
    });
}

/// One model moves its weights by ten a step, which leaves the range of the scales: `layers` repeats the epoch in the same precision.
#[test]
fn a_sweep_gives_each_model_what_it_gets_alone() {
    let set = images(150, 4, 4, 5);
    let optimizer = Optimizer::from_name("adam").expect("a name");
    let base = Options { optimizer, precision: Precision::Bf16, engine: Engine::Auto, ..options(&[20], 16) };
    for_each_device(|device| {
        let builder = Sweep::builder(&set).options(base.clone()).model(3, 0.001).model(5, 10.0);
        let report = builder.build(device)?.run(|_| ControlFlow::Continue(()))?;
        assert!(report.side_by_side && report.engine == Engine::Epoch, "on {device}");
        assert!(report.models[1].repeated_epochs > 0, "{:?}", report.models[1]);
        for model in &report.models {
            let options = Options { seed: model.seed, learning_rate: model.learning_rate, ..base.clone() };
            let alone = Trainer::builder(&set).options(options).build(device)?.run(Progress::go_on)?;
            assert_eq!(model.repeated_epochs, alone.repeated_epochs, "on {device}");
            let expected: Vec<f64> = alone.epochs.iter().map(|epoch| epoch.loss).collect();
            assert_eq!(model.epochs.iter().map(|epoch| epoch.loss).collect::<Vec<_>>(), expected, "on {device}");
        }
        Ok(())
    });
}
