//! Training of the residual network: kernels against the plain program, resuming, bad input.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use warpplay::azero::train::{
    Checkpoint, Engine, Losses, MAX_BATCH, Options, Samples, StepReport, StoppedBy, TrainEvent, Trainer,
};
use warpplay::azero::{Network, NetworkShape, ObservationLayout, ValueOf};
use warpplay::{Backend, Device, Error, Precision};
use warpplay_gpu::split_mix::{GAMMA, mix};
use warpplay_tests::azero::FP32;
use warpplay_tests::backends::for_each_architecture;
use warpplay_tests::tolerance::{Tolerance, close};

/// SplitMix64, for positions without meaning. The gradients' bounds hold for what it draws: a sum that nearly cancels has a larger relative error.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A position without meaning.
pub struct Position {
    pub observation: Vec<f32>,
    pub legal: Vec<u8>,
    pub visits: Vec<(u32, u32)>,
    pub value: f64,
}

/// `n` positions.
pub fn drawn(shape: NetworkShape, n: u64, seed: u64) -> Vec<Position> {
    let mut numbers = Numbers(seed);
    let draw = |_| {
        let observation = (0..shape.n_observation()).map(|_| numbers.below(2) as f32).collect();
        let mut legal: Vec<u8> = (0..shape.actions).map(|_| u8::from(numbers.below(4) == 0)).collect();
        legal[numbers.below(shape.actions.into()) as usize] = 1;
        let visits = (0..shape.actions)
            .filter(|&action| legal[action as usize] != 0)
            .map(|action| (action, 1 + numbers.below(50) as u32))
            .collect();
        let value = numbers.below(3) as f64 - 1.0;
        Position { observation, legal, visits, value }
    };
    (0..n).map(draw).collect()
}

/// `n` positions of `n / 4` games.
pub fn positions(shape: NetworkShape, n: u64, seed: u64) -> Arc<Samples> {
    let mut samples = Samples::new(shape, ObservationLayout::Default, ValueOf::First).expect("a shape");
    for (sample, Position { observation, legal, visits, value }) in (0..).zip(drawn(shape, n, seed)) {
        samples.push(sample / 4, &observation, &legal, &visits, value).expect("a position");
    }
    Arc::new(samples)
}

/// Odd sizes everywhere: nothing fills a quad or a tile.
pub fn odd_shape() -> NetworkShape {
    NetworkShape {
        rows: 3,
        columns: 5,
        planes: 5,
        width: 6,
        depth: 2,
        value_filters: 3,
        value_hidden: 7,
        policy_filters: 2,
        actions: 37,
    }
}

/// All tensors of a network, one after the other, with the name and length of each.
pub fn flat(network: &Network) -> (Vec<f64>, Vec<(String, usize)>) {
    let (mut values, mut tensors) = (Vec::new(), Vec::new());
    network.visit(|name, _, tensor| {
        tensors.push((name.to_string(), tensor.len()));
        values.extend(tensor.iter().map(|&value| f64::from(value)));
    });
    (values, tensors)
}

/// Compares two networks tensor by tensor, each within a share of its largest value: what is summed cancels.
pub fn compare(what: &str, got: &Network, expected: &Network, share: f64, least: f64) {
    let ((got, tensors), (expected, _)) = (flat(got), flat(expected));
    let mut at = 0;
    for (name, n) in tensors {
        let (got, expected) = (&got[at..at + n], &expected[at..at + n]);
        let largest = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        close(&format!("{what}: {name}"), got, expected, Tolerance { abs: least + share * largest, rel: 0.0 });
        at += n;
    }
}

/// Kernels and plain program sum in different orders, in single precision: at most 512 squares, 8 positions of 64 (of more as many times as much), an addition a rounding of 2⁻²⁴ of the largest value of a tensor. Tensor cores add up 16 products of first parts at a time, and cut off at most 2⁻²² of
/// the sum: less. In two parts of half precision a number is off by at most 2⁻²³ of itself, or 2⁻³⁸ of its array's bound. What is left out of a product of such numbers is 2⁻²² of it, so a product is off by 2⁻²¹ of its size.
pub const GRADIENT_SHARE: f64 = 8.0 * 64.0 / (1 << 24) as f64;

fn gradients_agree(shape: NetworkShape, batch: u32, samples: &Arc<Samples>) {
    let network = Network::seeded(shape, 3).expect("a network");
    let order: Vec<u32> = (0..batch).rev().collect();
    let builder = Trainer::builder(&network, samples).batch(batch);
    let squares = f64::from(batch * shape.rows * shape.columns);
    let share = GRADIENT_SHARE.max(squares / (1 << 24) as f64);
    let mut plain = builder.clone().build(&Device::cpu()).expect("a trainer");
    let expected = plain.gradient(&order).expect("a gradient");
    for_each_architecture(|device| {
        let mut trainer = builder.clone().build(device)?;
        let before = trainer.network()?;
        let found = trainer.gradient(&order)?;
        compare("gradient", &found, &expected, share, 1e-7);
        assert_eq!(trainer.gradient(&order)?, found, "the same bits again");
        assert_eq!(trainer.network()?, before, "nothing changed");
        // A part of a batch, whose statistics are its own.
        let few = &order[..batch as usize / 2];
        compare("gradient of few", &trainer.gradient(few)?, &plain_gradient(&builder, few), share, 1e-7);
        Ok(())
    });
}

fn plain_gradient(builder: &warpplay::azero::train::TrainerBuilder, order: &[u32]) -> Network {
    let mut plain = builder.clone().build(&Device::cpu()).expect("a trainer");
    plain.gradient(order).expect("a gradient")
}

#[test]
fn gradients_of_odd_shapes_agree_with_the_plain_program() {
    let shape = odd_shape();
    gradients_agree(shape, 9, &positions(shape, 9, 1));
    let shape = NetworkShape { rows: 1, columns: 1, depth: 0, value_filters: 1, policy_filters: 5, ..shape };
    gradients_agree(shape, 40, &positions(shape, 40, 2));
    let shape = NetworkShape { rows: 9, columns: 2, planes: 1, width: 33, depth: 1, ..shape };
    gradients_agree(shape, 6, &positions(shape, 6, 3));
}

/// What depends on the channels, norms and heads: three quads in the room of four, more than a warp has, and so many squares that few channels have several parts. And on the planes: patches of four slabs.
#[test]
fn gradients_of_few_and_many_channels_agree_with_the_plain_program() {
    let shape = NetworkShape { rows: 2, columns: 3, width: 12, depth: 1, ..odd_shape() };
    gradients_agree(shape, 7, &positions(shape, 7, 5));
    let shape = NetworkShape {
        rows: 2,
        columns: 2,
        planes: 22,
        width: 140,
        depth: 0,
        value_filters: 9,
        value_hidden: 3,
        ..shape
    };
    gradients_agree(shape, 5, &positions(shape, 5, 6));
    // Both heads in one launch, of more channels than a warp has; and more actions than are on their way at a time.
    let narrow = NetworkShape { width: 136, value_filters: 4, policy_filters: 3, actions: 161, ..shape };
    gradients_agree(narrow, 5, &positions(narrow, 5, 8));
    let shape = NetworkShape { rows: 8, columns: 8, planes: 1, width: 4, value_filters: 1, actions: 3, ..shape };
    gradients_agree(shape, 33, &positions(shape, 33, 7));
}

#[test]
fn gradients_of_large_tiles_agree_with_the_plain_program() {
    let shape = NetworkShape { width: 72, depth: 1, actions: 100, value_hidden: 12, ..NetworkShape::default() };
    gradients_agree(shape, 8, &positions(shape, 8, 4));
    // More planes than a patch holds.
    let shape = NetworkShape { rows: 3, columns: 3, planes: 27, ..shape };
    gradients_agree(shape, 8, &positions(shape, 8, 8));
}

/// Trains to the end and gives what every step reported.
pub fn train(trainer: &mut Trainer) -> Result<Vec<StepReport>, Error> {
    let mut reports = Vec::new();
    let report = trainer.run(|progress| {
        if let Some(TrainEvent::Step { report, .. }) = &progress.latest {
            reports.push(*report);
        }
        ControlFlow::Continue(())
    })?;
    assert_eq!(report.stopped_by, StoppedBy::Epochs);
    Ok(reports)
}

#[test]
fn a_few_steps_go_the_way_of_the_plain_program() {
    let (shape, n) = (odd_shape(), 24);
    let samples = positions(shape, n, 5);
    let options = Options { batch: 8, epochs: 3, learning_rate: 0.002, weight_decay: 0.01, ..Options::default() };
    let network = Network::seeded(shape, 8).expect("a network");
    let builder = Trainer::builder(&network, &samples).options(options);
    let mut plain = builder.clone().build(&Device::cpu()).expect("a trainer");
    let expected = train(&mut plain).expect("a training");
    assert_eq!(expected.len(), 9);
    let all: Vec<u32> = (0..n as u32).collect();
    for_each_architecture(|device| {
        let mut trainer = builder.clone().build(device)?;
        let found = train(&mut trainer)?;
        let numbers = |reports: &[StepReport]| -> Vec<f64> {
            reports
                .iter()
                .flat_map(|step| [step.policy_loss, step.value_loss, step.l2_loss, step.gradient_norm])
                .collect()
        };
        // Before the first step both have the same network. Then Adam divides by the root of squares: a gradient near 0 has a sign of rounding, and its parameter steps that way.
        close(
            "first report",
            &numbers(&found[..1]),
            &numbers(&expected[..1]),
            Tolerance { abs: 0.0, rel: GRADIENT_SHARE },
        );
        assert_eq!((found.len(), found[0].accuracy), (expected.len(), expected[0].accuracy));
        // Where it has come to, the plain program finds the same losses.
        let network = trainer.network()?;
        let mut plain = Trainer::builder(&network, &samples).batch(8).build(&Device::cpu())?;
        let losses = |found: Losses| [found.policy_loss, found.value_loss];
        let (found, expected) = (losses(trainer.evaluate(&all)?), losses(plain.evaluate(&all)?));
        close("evaluation", &found, &expected, FP32);
        Ok(())
    });
}

/// Adam divides by a root, near which a gradient of rounding alone moves its parameter a whole step. With an ε far above that, a step has a slope of at most
/// `learning_rate / ε` in the gradient, so that networks come as near as gradients are.
#[test]
fn a_few_steps_come_to_the_network_of_the_plain_program() {
    const RATE: f64 = 0.002;
    const EPSILON: f64 = 0.01;
    let (shape, n) = (odd_shape(), 24);
    let samples = positions(shape, n, 5);
    let options = Options {
        batch: 8,
        epochs: 1,
        learning_rate: RATE,
        weight_decay: 0.01,
        epsilon: EPSILON,
        ..Options::default()
    };
    let network = Network::seeded(shape, 8).expect("a network");
    let builder = Trainer::builder(&network, &samples).options(options);
    let mut plain = builder.clone().build(&Device::cpu()).expect("a trainer");
    let steps = train(&mut plain).expect("a training");
    assert_eq!(steps.len(), 3);
    // Twice the slope: the gradients of later steps are those of parameters that differ already.
    let apart: f64 = steps.iter().map(|step| 2.0 * RATE / EPSILON * GRADIENT_SHARE * step.gradient_norm).sum();
    let (expected, tensors) = flat(&plain.network().expect("a network"));
    for_each_architecture(|device| {
        let mut trainer = builder.clone().build(device)?;
        train(&mut trainer)?;
        let (found, _) = flat(&trainer.network()?);
        let mut at = 0;
        for (name, n) in &tensors {
            let (found, expected) = (&found[at..at + n], &expected[at..at + n]);
            let largest = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            // A norm's statistics sum up to 54 weights, each times an activation, and take a tenth of what they find at each of three steps.
            let times = if name.contains("running") { 54.0 * 0.3 } else { 1.0 };
            let tolerance = Tolerance { abs: times * apart + GRADIENT_SHARE * largest, rel: 0.0 };
            close(&format!("{name} on {device}"), found, expected, tolerance);
            at += n;
        }
        Ok(())
    });
}

#[test]
fn a_handful_of_positions_is_learned_by_heart() {
    let shape = NetworkShape { width: 16, depth: 1, value_hidden: 16, ..odd_shape() };
    let mut numbers = Numbers(3);
    let mut samples = Samples::new(shape, ObservationLayout::Egocentric, ValueOf::Mover).expect("a shape");
    for game in 0..6 {
        let observation: Vec<f32> = (0..shape.n_observation()).map(|_| numbers.below(2) as f32).collect();
        let action = numbers.below(37) as u32;
        samples.push(game, &observation, &[1; 37], &[(action, 25)], [1.0, -1.0, 0.0][game as usize % 3]).expect("fits");
    }
    let samples = Arc::new(samples);
    let network =
        Network::seeded(shape, 2).expect("a network").with_meaning(ObservationLayout::Egocentric, ValueOf::Mover);
    let builder = Trainer::builder(&network, &samples).batch(6).learning_rate(0.02).weight_decay(0.0).momentum(0.5);
    for device in [Device::cpu()].into_iter().chain(warpplay_tests::backends::kernel_devices()) {
        // Thread by thread a step takes long.
        let epochs = if device.backend() == Backend::Simt { 30 } else { 120 };
        let mut trainer = builder.clone().epochs(epochs).build(&device).expect("a trainer");
        trainer.run(|_| ControlFlow::Continue(())).expect("a training");
        let last = trainer.epochs().last().expect("an epoch");
        // One answer for all leaves squares of 1, 1 and 0, and of six actions five wrong.
        assert!(last.train.accuracy == 1.0 && last.train.value_loss < 2.0 / 3.0, "{device}: {last:?}");
        // What inference sees is nearly that: the running statistics have followed.
        let found = trainer.evaluate(&[0, 1, 2, 3, 4, 5]).expect("losses");
        assert!(found.accuracy == 1.0 && found.value_loss < 2.0 / 3.0, "{device}: {found:?}");
    }
}

/// The plain program, and those with kernels; `simt` in the place of 8.0, whose products it computes faster. Trainings that multiply by `tile` are resumed by the tests of tf32 and bf16.
fn devices() -> impl Iterator<Item = Device> {
    let as_older = |device: Device| match device.backend() {
        Backend::Cuda => device,
        _ => device.with_capability(8, 0).expect("an older device"),
    };
    std::iter::once(Device::cpu()).chain(warpplay_tests::backends::kernel_devices().into_iter().map(as_older))
}

#[test]
fn stopped_and_resumed_gives_the_same_bits() {
    let shape = odd_shape();
    let samples = positions(shape, 45, 6);
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { batch: 6, epochs: 3, validation: 0.2, ..Options::default() };
    let network = Network::seeded(shape, 1).expect("a network");
    let builder = Trainer::builder(&network, &samples).options(options);
    for device in devices() {
        let mut whole = builder.clone().build(&device).expect("a trainer");
        train(&mut whole).expect("a training");
        let validation = whole.epochs()[2].validation.expect("there are games for it");
        assert!(validation.policy_loss > 0.0 && whole.n_positions().1 > 0, "{validation:?}");
        let whole = whole.checkpoint().expect("a checkpoint");
        // Stopped in the second epoch; on a device all steps of an epoch are one piece.
        let mut first = builder.clone().build(&device).expect("a trainer");
        let mut seen = 0;
        let report = first.run(|progress| {
            seen += u32::from(matches!(progress.latest, Some(TrainEvent::Step { .. })));
            if seen < 8 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert_eq!(report.expect("it stops").stopped_by, StoppedBy::Request);
        assert!((8..15).contains(&first.updates()), "{}", first.updates());
        let path = folder.path().join("training.safetensors");
        first.checkpoint().expect("a checkpoint").save(&path).expect("it is written");
        let read = Checkpoint::load(&path).expect("it is read");
        assert_eq!(read, first.checkpoint().expect("a checkpoint"));
        assert_eq!(&Network::load(&path).expect("a weight file too"), read.network());
        let mut second = builder.clone().resume(read).build(&device).expect("a trainer");
        train_rest(&mut second);
        let resumed = second.checkpoint().expect("a checkpoint");
        assert_eq!(resumed.network(), whole.network(), "{device}");
        let losses = |checkpoint: &Checkpoint| -> Vec<_> {
            checkpoint.epochs().iter().map(|epoch| (epoch.train, epoch.validation, epoch.l2_loss)).collect()
        };
        assert_eq!(losses(&resumed), losses(&whole), "{device}");
        // Every byte counts.
        let bytes = std::fs::read(&path).expect("bytes");
        for at in [9, bytes.len() / 3, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            std::fs::write(&path, damaged).expect("written");
            assert!(matches!(Checkpoint::load(&path), Err(Error::File { .. })), "byte {at}");
        }
    }
}

/// What is written while a training runs is a state to go on from to the same bits, as a kill leaves it.
#[test]
fn checkpoints_are_written_while_it_trains() {
    let shape = odd_shape();
    let samples = positions(shape, 45, 6);
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { batch: 6, epochs: 3, ..Options::default() };
    let network = Network::seeded(shape, 1).expect("a network");
    let builder = Trainer::builder(&network, &samples).options(options);
    for device in devices() {
        let mut whole = builder.clone().build(&device).expect("a trainer");
        train(&mut whole).expect("a training");
        let whole = whole.network().expect("a network");
        let path = folder.path().join(format!("{}.safetensors", device.backend()));
        let kept = builder.clone().checkpoint(&path).checkpoint_every(Duration::from_nanos(1));
        let mut trainer = kept.build(&device).expect("a trainer");
        // Copies as they stand at the end of each epoch.
        let mut copies = Vec::new();
        trainer
            .run(|progress| {
                if matches!(progress.latest, Some(TrainEvent::Epoch(_))) {
                    copies.extend(Checkpoint::load(&path));
                }
                ControlFlow::Continue(())
            })
            .expect("a training");
        assert_eq!(copies.len(), 3, "{device}");
        for (number, copy) in copies.into_iter().enumerate() {
            assert_ne!((number, copy.network()), (0, &whole), "{device}");
            let mut rest = builder.clone().resume(copy).build(&device).expect("a trainer");
            train_rest(&mut rest);
            assert_eq!(rest.network().expect("a network"), whole, "{device}, from epoch {}", number + 1);
        }
    }
}

pub fn train_rest(trainer: &mut Trainer) {
    let report = trainer.run(|_| ControlFlow::Continue(())).expect("a training");
    assert_eq!(report.stopped_by, StoppedBy::Epochs);
}

#[test]
fn what_a_checkpoint_does_not_fit_is_refused() {
    let shape = odd_shape();
    let samples = positions(shape, 12, 7);
    let network = Network::seeded(shape, 1).expect("a network");
    let builder = Trainer::builder(&network, &samples).batch(6).epochs(1);
    let mut trainer = builder.clone().build(&Device::cpu()).expect("a trainer");
    train_rest(&mut trainer);
    let checkpoint = trainer.checkpoint().expect("a checkpoint");
    let refused = |builder: warpplay::azero::train::TrainerBuilder| {
        builder.resume(checkpoint.clone()).build(&Device::cpu()).unwrap_err().to_string()
    };
    assert_eq!(refused(builder.clone().batch(4)), "option batch: 4 is not allowed (6, as in the checkpoint)");
    let text = refused(builder.clone().learning_rate(0.5));
    assert_eq!(text, "option learning_rate: 0.5 is not allowed (0.001, as in the checkpoint)");
    let other = Trainer::builder(&network, &positions(shape, 12, 8)).batch(6).epochs(1);
    assert!(refused(other).contains("positions with checksum"));
    // What is not asked for is the checkpoint's.
    let unasked = Trainer::builder(&network, &samples).resume(checkpoint.clone()).build(&Device::cpu());
    assert_eq!(unasked.expect("a trainer").options(), checkpoint.options());
    let other = Trainer::builder(&network, &samples).beta1(0.5).beta2(0.999).epsilon(1e-8);
    assert_eq!(refused(other), "option beta1: 0.5 is not allowed (0.9, as in the checkpoint)");
    let text = refused(Trainer::builder(&network, &samples).engine(Engine::Device));
    assert_eq!(text, "option engine: device is not allowed (auto, cpu on cpu)");
    // More epochs are no other training.
    let mut more = builder.epochs(2).resume(checkpoint.clone()).build(&Device::cpu()).expect("a trainer");
    let report = more.run(|_| ControlFlow::Continue(())).expect("a training");
    assert_eq!((report.engine, report.seed), (Engine::Cpu, more.options().seed));
    assert!(report.to_string().contains("on cpu, engine cpu, seed 1"), "{report}");
    assert_eq!((more.epochs().len(), more.updates()), (2, 4));
}

#[test]
fn a_training_that_diverges_says_so_and_keeps_the_state() {
    let shape = odd_shape();
    let samples = positions(shape, 24, 9);
    let network = Network::seeded(shape, 1).expect("a network");
    let builder = Trainer::builder(&network, &samples).batch(8).epochs(2).learning_rate(1e38);
    for device in [Device::cpu()].into_iter().chain(warpplay_tests::backends::kernel_devices()) {
        let mut trainer = builder.clone().build(&device).expect("a trainer");
        let error = trainer.run(|_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, Error::Diverged { epoch: 1, steps: 3, .. }), "{device}: {error}");
        assert_eq!((trainer.network().expect("a network"), trainer.updates()), (network.clone(), 0), "{device}");
    }
}

#[test]
fn positions_that_cannot_be_are_refused() {
    let shape = NetworkShape { rows: 1, columns: 2, planes: 1, actions: 3, ..NetworkShape::default() };
    let mut samples = Samples::new(shape, ObservationLayout::Default, ValueOf::First).expect("a shape");
    let (seen, legal) = ([0.0, 1.0], [1, 0, 1]);
    let mut refused = |observation: &[f32], legal: &[u8], visits: &[(u32, u32)], value: f64, expected: &str| {
        let error = samples.push(0, observation, legal, visits, value).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(samples.is_empty());
    };
    refused(
        &seen,
        &legal,
        &[(1, 3)],
        0.0,
        "visits of a position: expected legal actions only, got 3 of action 1, which is illegal",
    );
    refused(&seen, &legal, &[(3, 3)], 0.0, "3 of action 3, which is illegal");
    refused(&seen, &legal, &[(0, 3), (0, 1)], 0.0, "two of 0");
    refused(&seen, &legal, &[(0, 0)], 0.0, "expected at least one, got none");
    refused(&seen, &legal, &[(0, u32::MAX), (2, 1)], 0.0, "at most 4294967295 in all");
    refused(&seen, &[0; 3], &[], 0.0, "legal actions of a position: expected at least one, got none");
    refused(&[0.0, 0.5], &legal, &[(0, 3)], 0.0, "element 1 of the observation: expected 0 or 1, got 0.5");
    refused(&[0.0], &legal, &[(0, 3)], 0.0, "length of the observation: expected 2, got 1");
    refused(&seen, &[1; 4], &[(0, 3)], 0.0, "length of the legal actions' mask: expected 3, got 4");
    refused(&seen, &legal, &[(0, 3)], f64::NAN, "value of a position: expected -1 to 1, got NaN");
    samples.push(0, &seen, &legal, &[(2, 1)], -1.0).expect("a position");
    let samples = Arc::new(samples);
    let network = Network::seeded(shape, 1).expect("a network");
    let builder = || Trainer::builder(&network, &samples);
    let error = builder().batch(2).build(&Device::cpu()).unwrap_err().to_string();
    assert_eq!(error, "option batch: 2 is not allowed (at most the 1 training positions)");
    let error = builder().checkpoint_every(Duration::from_secs(1)).build(&Device::cpu()).unwrap_err().to_string();
    assert_eq!(error, "option checkpoint_every: 1s is not allowed (only with a checkpoint's path)");
    let mover = network.clone().with_meaning(ObservationLayout::Default, ValueOf::Mover);
    let error = Trainer::builder(&mover, &samples).build(&Device::cpu()).unwrap_err().to_string();
    assert!(
        error.contains("expected observation default, value of mover, got observation default, value of first"),
        "{error}"
    );
    for (options, expected) in [
        (Options { batch: 1, ..Options::default() }, "option batch: 1 is not allowed (2 to 65536)"),
        (Options { learning_rate: 0.0, ..Options::default() }, "option learning_rate: 0 is not allowed (above 0)"),
        (Options { validation: 1.0, ..Options::default() }, "option validation: 1 is not allowed (0 to below 1)"),
        (Options { momentum: f64::NAN, ..Options::default() }, "option momentum: NaN is not allowed (0 to 1)"),
        (Options { steps: Some(0), ..Options::default() }, "option steps: 0 is not allowed (at least 1)"),
    ] {
        let error = builder().options(options).build(&Device::cpu()).unwrap_err().to_string();
        assert_eq!(error, expected);
    }
}

/// A terabyte of layers or more: 513 convolutions of 64 channels for 65,536 positions.
#[test]
fn a_batch_that_no_machine_has_memory_for_is_refused() {
    let shape = NetworkShape {
        rows: 8,
        columns: 8,
        planes: 1,
        width: 64,
        depth: 256,
        value_filters: 1,
        value_hidden: 1,
        policy_filters: 1,
        actions: 2,
    };
    let samples = positions(shape, MAX_BATCH.into(), 1);
    let network = Network::seeded(shape, 1).expect("the shape is allowed");
    for device in [Device::cpu(), Device::simt()] {
        let options = Options { batch: MAX_BATCH, ..Options::default() };
        let built = Trainer::builder(&network, &samples).options(options).build(&device);
        let error = built.expect_err("no machine has so much");
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(" of memory free, ") && text.contains("TiB needed: "), "{text}");
    }
}

#[test]
fn the_plain_gradient_is_the_slope_of_the_loss_and_the_same_on_all_cores() {
    use warpplay_cpu_ref::azero::training::{Batch, Settings};
    use warpplay_cpu_ref::azero::{Network, Parallel, Sequential, Shape};
    let shape = Shape {
        rows: 2,
        columns: 5,
        planes: 3,
        width: 9,
        depth: 1,
        value_filters: 1,
        value_hidden: 4,
        policy_filters: 3,
        actions: 5,
    };
    let mut numbers = Numbers(12);
    let mut uniform = || numbers.below(1 << 20) as f64 / f64::from(1 << 20);
    let n = 7;
    let observations: Vec<f64> = (0..n * shape.planes * shape.cells()).map(|_| uniform().round()).collect();
    let masks = vec![1; n * shape.actions];
    let mut shares: Vec<f64> = (0..n * shape.actions).map(|_| uniform()).collect();
    for shares in shares.chunks_exact_mut(shape.actions) {
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
    }
    let results: Vec<f64> = (0..n).map(|_| 2.0 * uniform() - 1.0).collect();
    let batch = Batch { observations: &observations, masks: &masks, shares: &shares, results: &results };
    let network = Network::<f64>::seeded(shape, 11);
    let settings = Settings { weight_decay: 0.003, ..Settings::default() };
    let found = network.gradient::<Parallel>(batch, &settings).network;
    assert_eq!(network.gradient::<Sequential>(batch, &settings).network, found);
    for (number, tensor) in network.tensors.iter().enumerate() {
        if tensor.name.contains("running") {
            continue;
        }
        for at in (0..tensor.values.len()).step_by(1 + tensor.values.len() / 11) {
            let loss = |distance: f64| {
                let mut moved = network.clone();
                moved.tensors[number].values[at] += distance;
                moved.gradient::<Sequential>(batch, &settings).losses.total()
            };
            let h = 1e-5;
            let (slope, own) = ((loss(h) - loss(-h)) / (2.0 * h), found.tensors[number].values[at]);
            assert!((own - slope).abs() < 1e-7 * (1.0 + own.abs()), "{} [{at}]: {own}, slope {slope}", tensor.name);
        }
    }
}

/// Positions a second at the default size, with convolutions in single precision and, where the GPU has them, in bfloat16.
#[test]
#[ignore = "measures"]
fn speed_of_the_default_network() {
    let Some(device) = warpplay_tests::backends::gpu() else { return };
    let shape = NetworkShape::default();
    let samples = positions(shape, 16_384, 1);
    let cases = [128, 1024, 4096].map(|batch| [(batch, Precision::F32), (batch, Precision::Bf16)]);
    for (batch, precision) in cases.into_iter().flatten() {
        let network = Network::seeded(shape, 1).expect("a network");
        let builder = Trainer::builder(&network, &samples).batch(batch).precision(precision).epochs(4);
        let built = builder.build(&device);
        if matches!((&built, precision), (Err(Error::Option { .. }), Precision::Bf16)) {
            continue;
        }
        let mut trainer = built.expect("a trainer");
        trainer.run(|_| ControlFlow::Continue(())).expect("a training");
        let rates: Vec<String> =
            trainer.epochs().iter().map(|epoch| format!("{:.0}", epoch.positions_per_second)).collect();
        println!("batch {batch}, {precision}: {} positions/s", rates.join(", "));
    }
}
