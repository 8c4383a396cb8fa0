//! The engine `epoch` is single precision whatever the size of weights, hidden values and gradients; where its scales do not do, `layers` answers.

use std::sync::Arc;

use warpplay::mlp::{Classifier, Dataset, Engine, Layer, Network, Options, Sweep, Trainer};
use warpplay::{Device, Progress, Result};
use warpplay_cpu_ref::mlp as reference;
use warpplay_cpu_ref::mlp::Parallel;
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::mlp::{images, in_double};
use warpplay_tests::tolerance::same;

const INPUTS: u32 = 16;
const HIDDEN: u32 = 20;
const CLASSES: u32 = 5;

/// Steps of two blocks, the second not full.
fn set(n: usize) -> Arc<Dataset> {
    images(n, 4, 4, CLASSES)
}

/// A network with biases, whose class 0 has no weights, so that its logit is 0.
fn network_of([inputs, hidden, classes]: [u32; 3]) -> Network {
    let numbers = reference::Numbers::new(5, 9000);
    let value = |at: u32, most: f32| ((numbers.at(u64::from(at)) >> 40) as f32 / (1 << 23) as f32 - 1.0) * most;
    let first = Layer {
        n_inputs: inputs,
        n_outputs: hidden,
        weights: (0..inputs * hidden).map(|at| value(at, 2.4 / (inputs as f32).sqrt())).collect(),
        bias: (0..hidden).map(|at| value(1_000_000 + at, 0.3)).collect(),
    };
    let of_class = |at: u32, most| if at.is_multiple_of(classes) { 0.0 } else { value(2_000_000 + at, most) };
    let second = Layer {
        n_inputs: hidden,
        n_outputs: classes,
        weights: (0..hidden * classes).map(|at| of_class(at, 2.2 / (hidden as f32).sqrt())).collect(),
        bias: (0..classes).map(|at| of_class(at, 0.2)).collect(),
    };
    Network::new(vec![first, second]).expect("a network")
}

fn network() -> Network {
    network_of([INPUTS, HIDDEN, CLASSES])
}

/// The network of the same function whose hidden unit `j` is `scale(j)` times as large.
fn rescaled(network: &Network, scale: impl Fn(usize) -> f32) -> Network {
    let mut layers = network.layers().to_vec();
    let [hidden, classes] = [layers[1].n_inputs, layers[1].n_outputs].map(|n| n as usize);
    for (at, weight) in layers[0].weights.iter_mut().enumerate() {
        *weight *= scale(at % hidden);
    }
    for (unit, bias) in layers[0].bias.iter_mut().enumerate() {
        *bias *= scale(unit);
    }
    for (at, weight) in layers[1].weights.iter_mut().enumerate() {
        *weight /= scale(at / classes);
    }
    Network::new(layers).expect("a network")
}

/// What hidden units are multiplied by: all alike, and each by another power of ten.
fn scales() -> impl Iterator<Item = (String, Box<dyn Fn(usize) -> f32>)> {
    let alike = [1.0f32, 1e-2, 10.0, 100.0, 1000.0, 1e-6, 1e6].into_iter();
    let alike =
        alike.map(|scale| (format!("units times {scale}"), Box::new(move |_| scale) as Box<dyn Fn(usize) -> f32>));
    let each = |most: i32| -> (String, Box<dyn Fn(usize) -> f32>) {
        let scale = move |unit: usize| 10f32.powi((unit as i32 * 5) % (2 * most + 1) - most);
        (format!("units times 1e-{most} to 1e{most}"), Box::new(scale))
    };
    alike.chain([each(3), each(6)])
}

/// Logits in double precision.
fn logits(network: &reference::Network<f64>, images: &[u8]) -> Vec<f64> {
    let mut pass = reference::Pass::default();
    network.forward::<Parallel>(images, &mut pass);
    pass.z[1].clone()
}

fn options(engine: Engine) -> Options {
    Options { hidden: vec![HIDDEN], batch: 32, epochs: 1, seed: 3, engine, ..Options::default() }
}

/// The network after an epoch, and how many epochs were repeated.
fn trained(device: &Device, network: &Network, options: &Options, set: &Arc<Dataset>) -> Result<(Network, u64)> {
    let mut trainer = Trainer::builder(set).options(options.clone()).network(network.clone()).build(device)?;
    let report = trainer.run(Progress::go_on)?;
    assert_eq!(report.epochs.iter().filter(|epoch| epoch.repeated).count() as u64, report.repeated_epochs);
    Ok((trainer.network()?, report.repeated_epochs))
}

/// The same epoch in double precision.
fn trained_in_double(network: &Network, options: &Options, set: &Dataset) -> reference::Training<f64> {
    let mut training = reference::Training::new(in_double(network), reference::Settings::default());
    let order = reference::epoch_order(options.seed as u32, 0, set.len());
    training.epoch::<Parallel>(set.images(), set.labels(), &order, options.batch as usize, options.learning_rate);
    training
}

#[test]
fn logits_of_networks_with_large_and_small_hidden_units_are_those_of_double_precision() {
    let set = set(96);
    for (what, scale) in scales() {
        let network = rescaled(&network(), scale);
        let expected = logits(&in_double(&network), set.images());
        for_each_device(|device| {
            let mut classifier = Classifier::builder(&network).engine(Engine::Epoch).build(device)?;
            let stream = device.stream()?;
            let on_device = classifier.logits_on_device(&stream.upload(set.images())?)?;
            same(&format!("{what}, logits on {device}"), &stream.read(&on_device)?, &classifier.logits(set.images())?);
            let found = classifier.predict(set.images())?;
            let found = found
                .iter()
                .flat_map(|of| of.probabilities.iter().map(|&p| (f64::from(p) / f64::from(of.probabilities[0])).ln()));
            for (at, (found, &expected)) in found.zip(&expected).enumerate() {
                let bound = 1e-5 + 1e-5 * expected.abs();
                assert!((found - expected).abs() <= bound, "{what}, logit {at} on {device}: {found} for {expected}");
            }
            assert_eq!(classifier.evaluate(&set)?.engine, Some(Engine::Epoch), "{what}");
            Ok(())
        });
    }
}

#[test]
fn a_power_of_two_in_a_hidden_unit_changes_no_bit_of_a_prediction() {
    let set = set(70);
    let network = network();
    let other = rescaled(&network, |unit| 2f32.powi(unit as i32 * 3 - 29));
    for_each_device(|device| {
        let predict = |network: &Network| -> Result<Vec<f32>> {
            let mut classifier = Classifier::builder(network).engine(Engine::Epoch).build(device)?;
            Ok(classifier.predict(set.images())?.into_iter().flat_map(|of| of.probabilities).collect())
        };
        same("probabilities", &predict(&other)?, &predict(&network)?);
        Ok(())
    });
}

/// That the engine trains `network`, whose hidden units are as large as `scale` says, as well as single precision can: logits after an epoch, beside those in double
/// precision of the same epoch in double precision.
fn trains_in_single_precision(
    device: &Device,
    what: &str,
    network: &Network,
    scale: impl Fn(usize) -> f32,
    base: &Options,
    set: &Arc<Dataset>,
) -> Checked {
    let network = rescaled(network, &scale);
    // Larger steps would leave the network far behind: the gradient of `W2` grows with the hidden values, that of `W1` with `W2`.
    let hidden = network.layers()[0].n_outputs as usize;
    let most = (0..hidden).map(|unit| scale(unit).max(1.0 / scale(unit))).fold(1.0, f32::max);
    let base = Options { learning_rate: 0.2 / f64::from(most).powi(2), ..base.clone() };
    let expected = logits(&trained_in_double(&network, &base, set).network, set.images());
    let error = |network: &Network| -> Vec<f64> {
        let found = logits(&in_double(network), set.images());
        found.iter().zip(&expected).map(|(found, expected)| (found - expected).abs()).collect()
    };
    let (found, repeated) = trained(device, &network, &base, set)?;
    assert_eq!(repeated, 0, "{what} on {device}");
    let (plain, _) = trained(device, &network, &Options { engine: Engine::Layers, ..base }, set)?;
    let plain = error(&plain).into_iter().fold(0.0, f64::max);
    for (at, (error, expected)) in error(&found).into_iter().zip(&expected).enumerate() {
        let bound = (1e-5 + 1e-5 * expected.abs()).max(2.0 * plain);
        assert!(error <= bound, "{what}, logit {at} on {device}: {error:e} off {expected}, layers {plain:e}");
    }
    Ok(())
}

#[test]
fn networks_with_large_and_small_hidden_units_are_trained_in_single_precision() {
    let set = set(96);
    for (what, scale) in scales() {
        for_each_device(|device| {
            trains_in_single_precision(device, &what, &network(), &scale, &options(Engine::Epoch), &set)
        });
    }
}

/// The widths of MNIST, on a GPU alone; 4 steps, in which no hidden value is so near 0 that rounding decides its side.
#[test]
fn networks_of_full_size_are_trained_in_single_precision() -> Checked {
    let Some(device) = gpu() else { return Ok(()) };
    let set = images(256, 28, 28, 10);
    let base = Options { hidden: vec![256], batch: 64, ..options(Engine::Epoch) };
    let network = network_of([784, 256, 10]);
    for (what, scale) in scales() {
        trains_in_single_precision(&device, &what, &network, scale, &base, &set)?;
    }
    Ok(())
}

/// Bounds of `gpu::mlp::epoch::scale` for a product of `n` terms, as a share of the sum of absolute values.
fn share(n: usize) -> f64 {
    (4 + n) as f64 * 2f64.powi(-23)
}

/// How far the change of each weight by one step of rate 1 may be from that in double precision: errors of each product, and of its operands, added up to first order.
fn bounds(pass: &reference::Pass<f64>, network: &reference::Network<f64>, n: usize) -> Vec<f64> {
    let [inputs, hidden, classes] = [INPUTS, HIDDEN, CLASSES].map(|n| n as usize);
    let (first, second) = (&network.layers()[0], &network.layers()[1]);
    let largest = |unit: usize| {
        (0..inputs).map(|pixel| first.weights[pixel * hidden + unit].abs()).fold(first.bias[unit].abs(), f64::max)
    };
    let w2 = |unit: usize, class: usize| second.weights[unit * classes + class].abs();
    // What the second halves lose of W2 at most: 2⁻³⁶ scaled, where the largest of all is 2 to 4.
    let most =
        (0..hidden * classes).map(|at| w2(at / classes, at % classes) * largest(at / classes)).fold(0.0, f64::max);
    let lost = |unit: usize| 2f64.powi(-35) * most / largest(unit);
    let (mut of_w1, mut of_b1) = (vec![0.0; inputs * hidden], vec![0.0; hidden]);
    let (mut of_w2, mut of_b2) = (vec![0.0; hidden * classes], vec![0.0; classes]);
    for sample in 0..n {
        let x = |pixel: usize| pass.x[sample * inputs + pixel];
        let z1 = |unit: usize| pass.z[0][sample * hidden + unit];
        let h = |unit: usize| z1(unit).max(0.0);
        let all_x: f64 = (0..inputs).map(x).sum::<f64>() + 1.0;
        let eh: Vec<f64> = (0..hidden)
            .map(|unit| {
                let sum: f64 = (0..inputs).map(|pixel| x(pixel) * first.weights[pixel * hidden + unit].abs()).sum();
                share(inputs + 1) * (sum + first.bias[unit].abs()) + 2f64.powi(-34) * largest(unit) * all_x
            })
            .collect();
        let ez: Vec<f64> = (0..classes)
            .map(|class| {
                let of_unit =
                    |unit| h(unit) * (share(hidden + 2) * w2(unit, class) + lost(unit)) + eh[unit] * w2(unit, class);
                (0..hidden).map(of_unit).sum::<f64>() + 2f64.powi(-23) * pass.z[1][sample * classes + class].abs()
            })
            .collect();
        let p = |class: usize| pass.p[sample * classes + class];
        let mean: f64 = (0..classes).map(|class| p(class) * ez[class]).sum();
        // Powers and their sum within 2⁻²⁰; the difference from 1 is rounded.
        let edz2: Vec<f64> =
            (0..classes).map(|class| p(class) * (ez[class] + mean + 2f64.powi(-20)) + 2f64.powi(-24)).collect();
        let dz2 = |class: usize| pass.dz[1][sample * classes + class].abs() * n as f64;
        for class in 0..classes {
            of_b2[class] += share(n) * dz2(class) + edz2[class];
            for unit in 0..hidden {
                of_w2[unit * classes + class] +=
                    share(n) * h(unit) * dz2(class) + eh[unit] * dz2(class) + h(unit) * edz2[class];
            }
        }
        for unit in 0..hidden {
            let sizes = (0..classes).map(|class| dz2(class) * w2(unit, class)).sum::<f64>();
            let edz1 = match z1(unit).abs() <= eh[unit] {
                // Which side of 0 it is on is not sure.
                true => sizes,
                false if z1(unit) < 0.0 => 0.0,
                false => (0..classes)
                    .map(|class| {
                        share(classes) * dz2(class) * w2(unit, class)
                            + dz2(class) * lost(unit)
                            + edz2[class] * w2(unit, class)
                    })
                    .sum(),
            };
            let dz1 = if z1(unit) > 0.0 { sizes } else { 0.0 };
            for pixel in 0..inputs {
                of_w1[pixel * hidden + unit] += x(pixel) * (share(n) * dz1 + edz1);
            }
            of_b1[unit] += share(n) * dz1 + edz1;
        }
    }
    let all = of_w1.into_iter().chain(of_b1).chain(of_w2).chain(of_b2);
    all.map(|bound| bound / n as f64).collect()
}

#[test]
fn each_product_keeps_its_bound() {
    let set = set(48);
    for (what, scale) in scales() {
        let mut network = rescaled(&network(), &scale);
        let mut layers = network.layers().to_vec();
        // Classes of different sizes too.
        for (at, weight) in layers[1].weights.iter_mut().enumerate() {
            *weight *= [1.0, 1.0, 1e-2, 1e2, 1e-3][at % CLASSES as usize];
        }
        network = Network::new(layers).expect("a network");
        let base = Options { batch: 48, learning_rate: 1.0, ..options(Engine::Epoch) };
        let before = in_double(&network);
        let training = trained_in_double(&network, &base, &set);
        let flat = |network: &reference::Network<f64>| -> Vec<f64> {
            network.layers().iter().flat_map(|layer| layer.weights.iter().chain(&layer.bias)).copied().collect()
        };
        let (before, expected, bounds) = (flat(&before), flat(&training.network), bounds(training.pass(), &before, 48));
        for_each_device(|device| {
            let (found, repeated) = trained(device, &network, &base, &set)?;
            assert_eq!(repeated, 0, "{what} on {device}");
            for (at, found) in flat(&in_double(&found)).into_iter().enumerate() {
                // The sum with the weight is rounded, and so is the rate's product.
                let rounding = 2f64.powi(-23) * (expected[at].abs() + before[at].abs());
                let error = (found - expected[at]).abs();
                assert!(error <= bounds[at] + rounding, "{what}, value {at} on {device}: {found} for {}", expected[at]);
            }
            Ok(())
        });
    }
}

#[test]
fn what_leaves_the_range_is_done_again_by_layers_with_its_bits() {
    let set = set(96);
    // Weights that grow by more than scales of the beginning allow; and some that have no scale.
    for (what, scale, learning_rate) in
        [("weights that grow", 1e-4, 0.1), ("weights without a scale", 1e-12, 1e-25), ("large weights", 1e12, 1e-25)]
    {
        let network = rescaled(&network(), |_| scale);
        for_each_device(|device| {
            let base = Options { learning_rate, epochs: 2, ..options(Engine::Epoch) };
            let (plain, none) = trained(device, &network, &Options { engine: Engine::Layers, ..base.clone() }, &set)?;
            assert_eq!(none, 0);
            let first = Options { epochs: 1, ..base.clone() };
            let mut trainer = Trainer::builder(&set).options(first).network(network.clone()).build(device)?;
            let report = trainer.run(Progress::go_on)?;
            assert_eq!((report.repeated_epochs, report.epochs[0].repeated), (1, true), "{what} on {device}");
            assert!(report.to_string().contains("repeated    1 epochs by engine layers"), "{report}");
            // The checkpoint knows of it.
            let mut trainer = Trainer::builder(&set).options(base).resume(trainer.checkpoint()?).build(device)?;
            let report = trainer.run(Progress::go_on)?;
            assert!(report.epochs[0].repeated && report.repeated_epochs >= 1, "{what} on {device}");
            if report.repeated_epochs == 2 {
                assert_eq!(trainer.network()?, plain, "{what} on {device}");
            }
            assert_eq!(report.repeated_epochs == 2, scale != 1e-4, "{what} on {device}: the next epoch has new scales");
            Ok(())
        });
    }
}

#[test]
fn a_network_without_a_scale_is_classified_by_layers() {
    let set = set(70);
    for scale in [1e-12, 1e12] {
        let network = rescaled(&network(), |unit| if unit == 7 { scale } else { 1.0 });
        for_each_device(|device| {
            let build = |engine| Classifier::builder(&network).engine(engine).build(device);
            let (mut epoch, mut layers) = (build(Engine::Epoch)?, build(Engine::Layers)?);
            assert_eq!(epoch.predict(set.images())?, layers.predict(set.images())?);
            let (found, expected) = (epoch.evaluate(&set)?, layers.evaluate(&set)?);
            assert_eq!(found.engine, Some(Engine::Layers), "units times {scale} on {device}");
            assert_eq!((found.loss, found.confusion), (expected.loss, expected.confusion));
            assert!(found.loss.is_finite());
            Ok(())
        });
    }
}

#[test]
fn a_model_of_a_sweep_that_leaves_the_range_is_repeated_alone() {
    let set = set(96);
    let base = options(Engine::Auto);
    for_each_device(|device| {
        let builder = Sweep::builder(&set).options(Options { epochs: 2, ..base.clone() }).test(&set);
        let report = builder.model(3, 0.1).model(4, 300.0).model(5, 0.2).build(device)?.run(Progress::go_on)?;
        assert!(report.side_by_side);
        for (model, repeats) in report.models.iter().zip([false, true, false]) {
            assert_eq!((model.repeated_epochs > 0, model.diverged), (repeats, None), "{model:?} on {device}");
            let alone = Options { seed: model.seed, learning_rate: model.learning_rate, epochs: 2, ..base.clone() };
            let mut trainer = Trainer::builder(&set).options(alone).test(&set).build(device)?;
            let alone = trainer.run(Progress::go_on)?;
            let losses: Vec<f64> = alone.epochs.iter().map(|epoch| epoch.loss).collect();
            assert_eq!(model.epochs.iter().map(|epoch| epoch.loss).collect::<Vec<_>>(), losses, "on {device}");
            assert_eq!(model.repeated_epochs, alone.repeated_epochs);
            assert_eq!(model.test_loss, alone.epochs.last().and_then(|epoch| epoch.test_loss));
        }
        Ok(())
    });
}

#[test]
fn the_spare_engine_is_in_the_memory() {
    let set = set(96);
    let device = Device::simt();
    let needed = |engine| Trainer::builder(&set).options(options(engine)).memory_needed(&device).expect("known");
    let (epoch, layers) = (needed(Engine::Epoch), needed(Engine::Layers));
    let spare = epoch.parts().iter().find(|part| part.what == "spare engine").expect("a part");
    assert_eq!(spare.device, layers.device());
    assert!(epoch.device() > layers.device());
}

#[test]
fn as_many_pixels_as_shared_memory_holds() {
    for (rows, cols, fits) in [(16, 59, true), (16, 60, false), (16, 63, false)] {
        let set = images(3, rows, cols, 2);
        let options = |engine| Options { hidden: vec![3], batch: 2, ..options(engine) };
        for_each_device(|device| {
            let built = Trainer::builder(&set).options(options(Engine::Epoch)).build(device);
            match built {
                Ok(mut trainer) => {
                    assert!(fits, "{} pixels on {device}", rows * cols);
                    assert!(trainer.run(Progress::go_on)?.epochs[0].loss.is_finite());
                }
                Err(error) => {
                    let expected = format!("a multiple of 16 up to 944 pixels with engine epoch, got {}", rows * cols);
                    assert!(
                        !fits && error.to_string().contains(&expected),
                        "{} pixels on {device}: {error}",
                        rows * cols
                    );
                }
            }
            let trainer = Trainer::builder(&set).options(options(Engine::Auto)).build(device)?;
            assert_eq!(trainer.engine(), if fits { Engine::Epoch } else { Engine::Layers }, "on {device}");
            Ok(())
        });
    }
}
