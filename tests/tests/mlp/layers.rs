//! Training layer by layer does what the plain program does: any shape, every optimiser, every precision; and goes on where it stopped.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::mlp::{
    Checkpoint, Classifier, Dataset, Engine, Layer, Network, Optimizer, Options, Precision, Reduction, Residence,
    Trainer,
};
use warpplay::{Backend, Device, Module};
use warpplay_gpu::mlp::layers::order::{
    self, mlp_layers_order_count, mlp_layers_order_rank, mlp_layers_order_scan, mlp_layers_order_scatter,
};
use warpplay_gpu::mlp::{random, shuffle};
use warpplay_gpu::ptx::embedded::MLP_LAYERS;
use warpplay_tests::backends::{for_each_architecture, for_each_architecture_of_f32, for_each_device, gpu};
use warpplay_tests::mlp::{RealBatches, Twin, error_of, images, train, values};
use warpplay_tests::random::Random;
use warpplay_tests::tolerance::{Tolerance, close, same};

fn options(hidden: &[u32], batch: u32) -> Options {
    let engine = Engine::Layers;
    Options { hidden: hidden.to_vec(), batch, epochs: 2, learning_rate: 0.1, seed: 3, engine, ..Options::default() }
}

/// The same by the plain program in single precision.
fn plain(options: &Options, set: &Arc<Dataset>) -> (Vec<f64>, Network) {
    let (engine, stream, precision) = (Engine::Auto, Residence::Device, Precision::F32);
    let options = Options { engine, stream, precision, ..options.clone() };
    train(&Device::cpu(), &options, set).expect("the plain program")
}

#[test]
fn the_order_of_an_epoch_is_a_sort_by_key() {
    for_each_device(|device| {
        let stream = device.stream()?;
        let module = Module::load(device, &MLP_LAYERS)?;
        let (count, scan) = (module.function(mlp_layers_order_count)?, module.function(mlp_layers_order_scan)?);
        let (scatter, rank) = (module.function(mlp_layers_order_scatter)?, module.function(mlp_layers_order_rank)?);
        for (n, seed, epoch) in
            [(1u32, 1u32, 0u32), (2, 1, 0), (31, 5, 1), (33, 1, 70), (1000, 9, 2), (5000, u32::MAX, 3)]
        {
            let bits = shuffle::bucket_bits(n);
            let mut counts = stream.alloc::<u32>(shuffle::n_buckets(n) as usize + 1)?;
            let mut arrivals = stream.alloc::<u32>(n as usize)?;
            let mut scattered = stream.alloc::<u32>(n as usize)?;
            let mut found = stream.alloc::<u32>(n as usize)?;
            let shape = order::shape(n);
            stream.run(&count, (&mut counts, &mut arrivals, seed, epoch, bits, n))?;
            stream.run(&scan, (&mut counts, shuffle::n_buckets(n)))?;
            // SAFETY: the buffers hold n values, and one for each bucket and one more.
            unsafe {
                stream.launch(&scatter, shape, (&counts, &arrivals, &mut scattered, seed, epoch, bits, n))?;
                stream.launch(&rank, shape, (&counts, &scattered, &mut found, seed, epoch, bits, n))?;
            }
            let stream_key = random::key(seed, random::order_stream(epoch));
            let mut expected: Vec<u32> = (0..n).collect();
            expected.sort_by_key(|&sample| (random::element(stream_key, u64::from(sample) + 1), sample));
            same(&format!("order of {n} on {device}"), &stream.read(&found)?, &expected);
        }
        Ok(())
    });
}

#[test]
fn epochs_equal_the_plain_programs_for_any_shape() {
    // One hidden layer, two, none; widths beyond a tile; batches that do not divide; one sample; mean and sum.
    for (n, rows, cols, n_classes, hidden, batch, reduction) in [
        (60, 1, 13, 5, &[9][..], 7, Reduction::Mean),
        (50, 4, 5, 3, &[17, 11], 16, Reduction::Mean),
        (40, 3, 3, 4, &[], 9, Reduction::Mean),
        (30, 4, 9, 33, &[40], 30, Reduction::Sum),
        (1, 2, 2, 2, &[3], 1, Reduction::Mean),
    ] {
        let set = images(n, rows, cols, n_classes);
        let learning_rate = if reduction == Reduction::Sum { 0.002 } else { 0.1 };
        let options = Options { reduction, learning_rate, ..options(hidden, batch) };
        let twin = Twin::of(&options, &set);
        for_each_architecture_of_f32(|device| {
            let (found, weights) = train(device, &options, &set)?;
            let what =
                format!("{n} images of {rows} x {cols}, {n_classes} classes, {hidden:?}, batch {batch} on {device}");
            twin.check(&what, &found, &weights);
            Ok(())
        });
    }
}

fn optimizers() -> Vec<(Optimizer, f32, f64)> {
    let mut all: Vec<_> = Optimizer::NAMES
        .iter()
        .map(|name| {
            let optimizer = Optimizer::from_name(name).expect("a name");
            let adaptive = matches!(name, &"adam" | &"adamw" | &"rmsprop");
            (optimizer, if *name == "adamw" { 0.01 } else { 0.0 }, if adaptive { 0.01 } else { 0.1 })
        })
        .collect();
    all.push((Optimizer::Sgd, 0.01, 0.1));
    all.push((Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }, 0.01, 0.01));
    all
}

#[test]
fn every_optimizer_equals_the_plain_programs() {
    let set = images(35, 1, 13, 5);
    for (optimizer, weight_decay, learning_rate) in optimizers() {
        let options = Options { optimizer, weight_decay, learning_rate, ..options(&[9], 7) };
        let twin = Twin::of(&options, &set);
        for_each_architecture_of_f32(|device| {
            let (found, weights) = train(device, &options, &set)?;
            twin.check(&format!("{optimizer:?}, weight decay {weight_decay} on {device}"), &found, &weights);
            Ok(())
        });
    }
}

#[test]
fn classification_equals_the_plain_programs() {
    let set = images(150, 5, 7, 10);
    let base = options(&[24, 12], 32);
    let (_, network) = plain(&base, &set);
    let mut classifier = Classifier::builder(&network).build(&Device::cpu()).expect("cpu");
    let expected = classifier.evaluate(&set).expect("cpu");
    let of = |predictions: Vec<warpplay::mlp::Prediction>| -> Vec<f64> {
        predictions.iter().flat_map(|p| p.probabilities.iter().map(|&p| f64::from(p))).collect()
    };
    let some = &set.images()[..70 * 35];
    let probabilities = of(classifier.predict(some).expect("cpu"));
    for_each_architecture_of_f32(|device| {
        for stream in [Residence::Device, Residence::Host] {
            let options = Options { stream, evaluate_batch: 64, ..base.clone() };
            let mut classifier = Classifier::builder(&network).options(options.clone()).build(device)?;
            let found = classifier.evaluate(&set)?;
            assert_eq!(found.confusion, expected.confusion, "{device}, {stream}");
            assert_eq!(found.dead_units_by_layer, expected.dead_units_by_layer, "{device}, {stream}");
            close("loss", &[found.loss], &[expected.loss], Tolerance { abs: 0.0, rel: 2e-6 });
            close("probabilities", &of(classifier.predict(some)?), &probabilities, Tolerance { abs: 2e-6, rel: 0.0 });
        }
        Ok(())
    });
}

#[test]
fn images_on_the_device_have_the_logits_of_those_on_the_host() {
    // Lines of images that the kernels read where they lie, and lines that are copied; more samples than go through at once.
    for (rows, cols, n) in [(4, 8, 70), (5, 7, 70), (2, 8, 2100)] {
        let set = images(n, rows, cols, 10);
        let network = Network::initial(&[rows * cols, 12, 10], Options::default().init, 3).expect("sizes");
        for_each_architecture_of_f32(|device| {
            let stream = device.stream()?;
            let on_device = stream.upload(set.images())?;
            // The classifier has a stream of its own.
            stream.synchronize()?;
            let mut classifier = Classifier::builder(&network).engine(Engine::Layers).build(device)?;
            let found = stream.read(&classifier.logits_on_device(&on_device)?)?;
            same("logits", &found, &classifier.logits(set.images())?);
            // Nothing of it is kept.
            let first = stream.upload(&set.images()[..set.n_inputs() as usize])?;
            stream.synchronize()?;
            same("logits", &stream.read(&classifier.logits_on_device(&first)?)?, &found[..10]);
            let error = classifier.logits_on_device(&stream.alloc(1)?).expect_err("no whole image").to_string();
            assert_eq!(error, format!("images: expected a multiple of {} bytes, got 1", set.n_inputs()));
            assert!(classifier.logits_on_device(&stream.alloc(0)?).is_err());
            let mut on_cpu = Classifier::builder(&network).build(&Device::cpu())?;
            let error = on_cpu.logits_on_device(&first).expect_err("memory of another device").to_string();
            assert!(error.starts_with("images belongs to"), "{error}");
            Ok(())
        });
    }
}

#[test]
fn copied_batches_give_the_same_bits_as_a_resident_set() {
    let set = images(50, 1, 13, 5);
    for_each_architecture_of_f32(|device| {
        let resident = Options { optimizer: Optimizer::from_name("adam")?, learning_rate: 0.01, ..options(&[9], 8) };
        let copied = Options { stream: Residence::Host, evaluate_batch: 16, ..resident.clone() };
        let (losses, network) = train(device, &resident, &set)?;
        let mut trainer = Trainer::builder(&set).options(copied).build(device)?;
        let report = trainer.run(|_| ControlFlow::Continue(()))?;
        same("losses", &report.epochs.iter().map(|epoch| epoch.loss).collect::<Vec<_>>(), &losses);
        assert_eq!(trainer.network()?, network);
        for epoch in &report.epochs {
            let share = epoch.transfer_share.expect("batches are copied");
            assert!((0.0..=1.0).contains(&share), "{share} of the time in copies");
        }
        Ok(())
    });
}

#[test]
fn a_training_stopped_at_a_step_goes_on_bit_for_bit() {
    // More steps than one graph has, so that it can stop in the middle of an epoch.
    let set = images(140, 2, 3, 3);
    for_each_architecture(|device| {
        for precision in [Precision::F32, Precision::F16] {
            let optimizer = Optimizer::from_name("adamw")?;
            let options = Options { optimizer, weight_decay: 0.01, learning_rate: 0.01, precision, ..options(&[5], 2) };
            let (losses, whole) = train(device, &options, &set)?;
            let mut trainer = Trainer::builder(&set).options(options.clone()).build(device)?;
            let stopped = trainer.run(|_| ControlFlow::Break(()))?;
            assert_eq!(stopped.epochs.len(), 0, "stopped in the first epoch");
            let checkpoint = trainer.checkpoint()?;
            let mut trainer = Trainer::builder(&set).resume(checkpoint).build(device)?;
            let report = trainer.run(|_| ControlFlow::Continue(()))?;
            assert_eq!(trainer.network()?, whole, "{precision} on {device}");
            let found: Vec<f64> = report.epochs.iter().map(|epoch| epoch.loss).collect();
            // Losses of the two pieces are added in another order.
            close("losses", &found, &losses, Tolerance { abs: 0.0, rel: 1e-12 });
        }
        Ok(())
    });
}

#[test]
fn a_loss_that_is_no_number_stops_the_training_and_keeps_the_last_good_state() {
    let set = images(100, 4, 4, 5);
    for_each_architecture_of_f32(|device| {
        let options = Options { learning_rate: 1e30, ..options(&[30, 10], 16) };
        let mut trainer = Trainer::builder(&set).options(options.clone()).build(device)?;
        let error = trainer.run(|_| ControlFlow::Continue(())).expect_err("it diverges").to_string();
        assert!(error.starts_with("loss is not finite in epoch 1, step "), "{error}");
        assert_eq!(trainer.network()?, Network::initial(&[16, 30, 10, 5], options.init, options.seed)?);
        Ok(())
    });
}

#[test]
fn short_formats_are_refused_before_capability_8_0() -> Result<(), warpplay::Error> {
    let set = images(10, 2, 3, 3);
    let turing = Device::simt().with_capability(7, 5)?;
    for precision in [Precision::Tf32, Precision::Bf16, Precision::F16] {
        let options = Options { precision, ..options(&[5], 2) };
        let error = Trainer::builder(&set).options(options).build(&turing).expect_err("refused").to_string();
        assert!(error.contains("compute capability is 7.5, below 8.0"), "{error}");
    }
    Ok(())
}

/// On a GPU, batches large enough for all fast kernels.
#[test]
fn large_batches_equal_the_plain_program() {
    let Some(device) = gpu() else { return };
    let set = images(2000, 28, 28, 10);
    let options = options(&[256], 768);
    let (found, weights) = train(&device, &options, &set).expect("cuda");
    Twin::of(&options, &set).check("large batches", &found, &weights);
    let copied = Options { stream: Residence::Host, ..options };
    assert_eq!(train(&device, &copied, &set).expect("cuda"), (found, weights));
}

/// More than half a million parameters, which the products of their gradients update; widths that fill no quad.
#[test]
fn large_networks_equal_the_plain_program() {
    let set = images(26, 8, 8, 10);
    let options = Options { epochs: 1, weight_decay: 0.01, ..options(&[739, 722], 17) };
    let twin = Twin::of(&options, &set);
    for_each_architecture_of_f32(|device| {
        let (found, weights) = train(device, &options, &set)?;
        twin.check(&format!("a large network on {device}"), &found, &weights);
        Ok(())
    });
}

#[test]
fn twenty_steps_of_real_digits_meet_the_reference() {
    let Some(real) = RealBatches::read() else { return };
    for_each_architecture_of_f32(|device| {
        // Under `simt` the first step alone.
        let n_steps = if device.backend() == Backend::Cuda { 20 } else { 1 };
        let when = if n_steps == 20 { "after20" } else { "after1" };
        let set = real.set(n_steps);
        // 256 hidden units need a cluster of 16 blocks, which `simt` and older cards do not have.
        let has_clusters = device.info()?.compute_capability.is_some_and(|own| own >= (9, 0));
        let epoch = (device.backend() == Backend::Cuda && has_clusters).then_some(Engine::Epoch);
        for engine in [Engine::Layers].into_iter().chain(epoch) {
            let options = Options { epochs: 1, engine, ..Options::default() };
            let mut trainer = Trainer::builder(&set).options(options).network(real.network()).build(device)?;
            let report = trainer.run(|_| ControlFlow::Continue(()))?;
            let expected: f64 = real.floats("f64.losses20").iter().take(n_steps).sum::<f64>() / n_steps as f64;
            close("loss", &[report.epochs[0].loss], &[expected], Tolerance { abs: 0.0, rel: 2e-6 });
            let names = [["W1", "b1"], ["W2", "b2"]];
            for (layer, [w, b]) in trainer.network()?.layers().iter().zip(names) {
                for (found, name) in [(&layer.weights, w), (&layer.bias, b)] {
                    let found: Vec<f64> = found.iter().map(|&value| f64::from(value)).collect();
                    let expected = real.floats(&format!("f64.{when}.{name}"));
                    let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    println!("{when} {name}, {engine} on {device}: {worst:.1e} from the reference");
                    let what = format!("{when} {name}, {engine} on {device}");
                    close(&what, &found, &expected, Tolerance { abs: 1e-6, rel: 0.0 });
                }
            }
        }
        Ok(())
    });
}

/// A network of the given widths with weights in about ±`size`, and `bias` throughout.
fn network(sizes: &[u32], size: f32, bias: f32) -> Network {
    let mut random = Random(99);
    let mut next = || random.signed() * size;
    let layers = sizes.windows(2).map(|pair| Layer {
        n_inputs: pair[0],
        n_outputs: pair[1],
        weights: (0..pair[0] * pair[1]).map(|_| next()).collect(),
        bias: vec![bias; pair[1] as usize],
    });
    Network::new(layers.collect()).expect("a network")
}

/// Short formats and how far they may be off: 2⁻¹¹ and 2⁻⁸ for one rounding, twice that for a sum of products of two, and a layer more. At least: a result
/// as good as single precision would mean that the format was not used.
const FORMATS: [(Precision, [f64; 2]); 3] =
    [(Precision::Tf32, [1e-6, 2e-3]), (Precision::F16, [1e-6, 2e-3]), (Precision::Bf16, [1e-5, 1.6e-2])];

#[test]
fn logits_of_short_formats_are_within_their_rounding() {
    // All layers wide enough for tensor cores, none a multiple of a tile.
    let sizes = [50, 141, 36, 33];
    let set = images(40, 5, 10, 33);
    let network = network(&sizes, 0.3, 0.1);
    let logarithms = |predictions: Vec<warpplay::mlp::Prediction>| -> Vec<f64> {
        let of = |p: &warpplay::mlp::Prediction| {
            let first = f64::from(p.probabilities[0]).ln();
            p.probabilities.iter().map(|&p| f64::from(p).ln() - first).collect::<Vec<_>>()
        };
        predictions.iter().flat_map(of).collect()
    };
    let expected = logarithms(
        Classifier::builder(&network).build(&Device::cpu()).and_then(|mut c| c.predict(set.images())).expect("cpu"),
    );
    for_each_architecture(|device| {
        for (precision, [least, most]) in FORMATS {
            let options = Options { precision, engine: Engine::Layers, evaluate_batch: 40, ..Options::default() };
            let mut classifier = Classifier::builder(&network).options(options.clone()).build(device)?;
            let error = error_of(&logarithms(classifier.predict(set.images())?), &expected);
            println!("{precision} on {device}: logits off by {error:.1e}");
            assert!((least..most).contains(&error), "{precision} on {device}: {error:e}");
        }
        Ok(())
    });
}

#[test]
fn gradients_of_short_formats_are_within_their_rounding() {
    // Biases keep every unit positive: no sample is at the kink of ReLU, where a rounding decides about a whole column.
    let sizes = [50, 45, 36, 33];
    let set = images(70, 5, 10, 33);
    let start = network(&sizes, 0.05, 1.0);
    let gradient = |device: &Device, precision, reduction| -> Result<Vec<f64>, warpplay::Error> {
        let engine = if device.backend() == Backend::Cpu { Engine::Auto } else { Engine::Layers };
        let learning_rate = if reduction == Reduction::Sum { 1.0 / 128.0 } else { 0.5 };
        // One step on 70 samples: more than a part of the batch.
        let options = Options { precision, reduction, engine, learning_rate, epochs: 1, ..options(&sizes[1..3], 70) };
        let options = Options { engine, ..options };
        let mut trainer = Trainer::builder(&set).options(options).network(start.clone()).build(device)?;
        trainer.run(|_| ControlFlow::Continue(()))?;
        Ok(values(&trainer.network()?).iter().zip(values(&start)).map(|(after, before)| before - after).collect())
    };
    for reduction in [Reduction::Mean, Reduction::Sum] {
        let expected = gradient(&Device::cpu(), Precision::F64, reduction).expect("cpu");
        for_each_architecture(|device| {
            for (precision, [least, most]) in FORMATS {
                let error = error_of(&gradient(device, precision, reduction)?, &expected);
                println!("{precision}, {reduction} on {device}: gradients off by {error:.1e}");
                assert!((least..most).contains(&error), "{precision}, {reduction} on {device}: {error:e}");
            }
            Ok(())
        });
    }
}

#[test]
fn short_formats_learn_like_single_precision() {
    let set = images(96, 5, 10, 33);
    let base = Options { epochs: 2, ..options(&[40], 32) };
    let (losses, _) = plain(&base, &set);
    for_each_architecture(|device| {
        for (precision, [_, most]) in FORMATS {
            let options = Options { precision, ..base.clone() };
            let (found, _) = train(device, &options, &set)?;
            close(&format!("{precision} on {device}"), &found, &losses, Tolerance { abs: 0.0, rel: most });
        }
        Ok(())
    });
}

#[test]
fn a_step_whose_scaled_gradients_overflow_is_left_out_and_the_scale_falls() {
    // Weights so large that gradients times the first loss scale leave half precision.
    let set = images(64, 5, 10, 33);
    let start = network(&[50, 40, 36, 33], 2.0, 0.1);
    for_each_architecture(|device| {
        let run = |epochs| -> Result<Network, warpplay::Error> {
            let (precision, reduction, learning_rate) = (Precision::F16, Reduction::Sum, 1e-4);
            let options = Options { precision, reduction, learning_rate, epochs, ..options(&[40, 36], 64) };
            let mut trainer = Trainer::builder(&set).options(options).network(start.clone()).build(device)?;
            trainer.run(|_| ControlFlow::Continue(()))?;
            trainer.network()
        };
        assert_eq!(run(1)?, start, "the first step overflows");
        let later = run(12)?;
        assert_ne!(later, start, "a later step does not");
        assert!(values(&later).iter().all(|value| value.is_finite()));
        Ok(())
    });
}

#[test]
fn a_checkpoint_is_written_while_a_training_runs_and_changes_nothing() {
    let set = images(140, 2, 3, 3);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("c");
    for device in [Device::cpu()].into_iter().chain(warpplay_tests::backends::kernel_devices()) {
        let engine = if device.backend() == Backend::Cpu { Engine::Cpu } else { Engine::Layers };
        let options = Options { engine, ..options(&[5], 2) };
        let mut whole = Trainer::builder(&set).options(options.clone()).build(&device).expect("built");
        whole.run(|_| ControlFlow::Continue(())).expect("trained");
        let builder = Trainer::builder(&set).options(options.clone()).checkpoint(&path);
        let mut trainer = builder.checkpoint_every(std::time::Duration::from_nanos(1)).build(&device).expect("built");
        let mut seen = 0;
        trainer
            .run(|progress| {
                // Two epochs of 70 steps.
                assert_eq!(progress.n_steps, Some(140));
                if progress.latest.is_none() && path.exists() {
                    let found = Checkpoint::load(&path).expect("whole whenever it is there");
                    assert!(found.updates() < progress.steps);
                    seen += 1;
                }
                ControlFlow::Continue(())
            })
            .expect("trained");
        assert!(seen > 0, "written on the way on {device}");
        assert_eq!(trainer.network().expect("read"), whole.network().expect("read"), "every bit on {device}");
        // At the end too; a higher limit goes on from there as one training does.
        let end = Checkpoint::load(&path).expect("the end");
        assert_eq!((end.epochs().len(), end.step()), (2, 0));
        let other = Trainer::builder(&set).seed(77).resume(end.clone());
        let (error, seed) = (other.build(&device).expect_err("another seed").to_string(), options.seed);
        assert_eq!(error, format!("option seed: 77 is not allowed ({seed}, as in the checkpoint)"));
        let fewer = Trainer::builder(&set).epochs(1).resume(end.clone());
        let error = fewer.build(&device).expect_err("fewer epochs").to_string();
        assert_eq!(error, "option epochs: 1 is not allowed (at least 2, the epochs that have begun)");
        let builder = Trainer::builder(&set).options(options).resume(end);
        let mut resumed = builder.epochs(3).build(&device).expect("built");
        resumed.run(|_| ControlFlow::Continue(())).expect("trained");
        whole.set_limit(3).expect("allowed");
        let report = whole.run(|_| ControlFlow::Continue(())).expect("trained");
        assert_eq!((report.epochs.len(), report.options.epochs), (3, 3));
        assert_eq!(resumed.network().expect("read"), whole.network().expect("read"), "every bit on {device}");
        assert!(whole.set_limit(0).is_err());
        assert!(whole.set_limit(2).is_err(), "three are done");
        std::fs::remove_file(&path).expect("there");
    }
    let every = Trainer::builder(&set).checkpoint(&path).checkpoint_every(std::time::Duration::ZERO);
    let error = every.build(&Device::cpu()).expect_err("no time").to_string();
    assert_eq!(error, "option checkpoint_every: 0 s is not allowed (a time above 0)");
    let every = Trainer::builder(&set).checkpoint_every(std::time::Duration::from_secs(1));
    let error = every.build(&Device::cpu()).expect_err("no path").to_string();
    assert!(error.contains("only with a checkpoint's path"), "{error}");
}

#[test]
fn memory_is_known_before_it_is_taken() {
    let set = images(140, 4, 4, 3);
    for device in [Device::cpu()].into_iter().chain(warpplay_tests::backends::kernel_devices()) {
        let small = Trainer::builder(&set).hidden(vec![5]).batch(2);
        let needed = small.memory_needed(&device).expect("known");
        let large = small.clone().hidden(vec![500]).memory_needed(&device).expect("known");
        assert!(0 < needed.device() && needed.device() < large.device(), "{needed} {large}");
        assert_eq!(*small.build(&device).expect("built").memory_needed(), needed);
        let huge = Trainer::builder(&set)
            .hidden(vec![16_384; 16])
            .batch(2)
            .optimizer(Optimizer::from_name("adam").expect("known"));
        let memory = huge.memory_needed(&device).expect("known");
        // 15 matrices of 2^28 weights, with the moments of Adam, and a copy of all.
        assert!(memory.device() > 15 * 6 * (1 << 30), "{memory}");
    }
    // On the CPU the first weights, in single precision, and the state that they are set from, in double precision, are in the same memory.
    let plain = Trainer::builder(&set).hidden(vec![16_384; 16]);
    let memory = plain.memory_needed(&Device::cpu()).expect("known");
    assert!(memory.device() > 15 * (3 + 1 + 2) * (1 << 30), "{memory}");
}
