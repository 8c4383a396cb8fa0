//! Training with convolutions in tf32 and bf16: against the plain program, resuming, refusals.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::azero::train::{Checkpoint, Options, StepReport, StoppedBy, TrainEvent, Trainer};
use warpplay::azero::{Network, NetworkShape};
use warpplay::{Backend, Device, Precision};
use warpplay_cpu_ref::azero as twin;
use warpplay_cpu_ref::azero::training::{Batch, Operands, Settings};
use warpplay_tests::Checked;
use warpplay_tests::backends::{alike, kernel_devices};
use warpplay_tests::tolerance::{Tolerance, close};

use crate::train::{GRADIENT_SHARE, Position, compare, drawn, flat, odd_shape, positions, train, train_rest};

/// A precision of convolutions.
#[derive(Clone, Copy, Debug)]
struct Short {
    precision: Precision,
    /// Largest relative error of a number.
    rounding: f64,
    /// What the plain program's convolutions are to read.
    operands: Operands,
    /// By which share of its length an operand of the plain program is another one.
    apart: f64,
    /// How many of the numbers that a convolution reads and leaves along the way are rounded: its inputs, and its outputs.
    rounded: u32,
}

/// bfloat16 has 8 significant bits. Kernels and plain program round the same numbers, but sums of single precision, off by 2⁻²⁰ of their size, may lie on the other side of the middle between two numbers of 8 bits, up to 2⁻⁷ of their size apart:
/// 2⁻¹² of them, so that an operand's length is off by 2⁻⁷ times the root of that, 2⁻¹³.
const BF16: Short = Short {
    precision: Precision::Bf16,
    rounding: 1.0 / 256.0,
    operands: Operands::Bfloat16,
    apart: 1.0 / 8192.0,
    rounded: 2,
};
/// In tf32 a number has 11 significant bits, in half precision with a scale, but for those below 2⁻²⁷ of their array's bound, which are as good as 0; only inputs are rounded. As in [`BF16`]: sums that are off by 2⁻²⁰ lie on the other side of the middle between two numbers, 2⁻¹⁰ apart, for 2⁻⁹ of them at most, so that an
/// operand's length is off by 2⁻¹⁰ times the root of that, less than 2⁻¹⁴.
const TF32: Short = Short {
    precision: Precision::Tf32,
    rounding: 1.0 / 2048.0,
    operands: Operands::Tf32,
    apart: 1.0 / 16_384.0,
    rounded: 1,
};
const ALL: [Short; 2] = [TF32, BF16];

/// The devices that have such convolutions.
fn devices() -> Vec<Device> {
    let has = |device: &Device| device.info().is_ok_and(|info| info.compute_capability.is_none_or(|own| own == (9, 0)));
    kernel_devices().into_iter().filter(has).collect()
}

/// Distance of two lists, as a share of the length of the second.
fn apart(got: &[f64], expected: &[f64]) -> f64 {
    let length = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    length(&mut got.iter().zip(expected).map(|(a, b)| a - b)) / length(&mut expected.iter().copied()).max(1e-30)
}

/// Each tensor of two networks, with its name.
fn tensors(got: &Network, expected: &Network) -> Vec<(String, Vec<f64>, Vec<f64>)> {
    let ((got, names), (expected, _)) = (flat(got), flat(expected));
    let mut at = 0;
    let mut tensors = Vec::new();
    for (name, n) in names {
        tensors.push((name, got[at..at + n].to_vec(), expected[at..at + n].to_vec()));
        at += n;
    }
    tensors
}

/// The network with each number of its tensors replaced by what `change` makes of the tensor's name and the number.
fn with_numbers(network: &Network, change: impl Fn(&str, f32) -> f32) -> Network {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("network.safetensors");
    network.save(&path).expect("it is written");
    let mut bytes = std::fs::read(&path).expect("bytes");
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().expect("eight")) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..start]).expect("a header");
    let tensors = header.as_object().expect("tensors").iter().filter(|(name, _)| *name != "__metadata__");
    for (name, tensor) in tensors {
        let at = |number: usize| start + tensor["data_offsets"][number].as_u64().expect("an offset") as usize;
        for number in bytes[at(0)..at(1)].chunks_exact_mut(4) {
            let value = f32::from_le_bytes([number[0], number[1], number[2], number[3]]);
            number.copy_from_slice(&change(name, value).to_le_bytes());
        }
    }
    std::fs::write(&path, bytes).expect("written");
    Network::load(&path).expect("a network")
}

/// The network with a first convolution of which bfloat16 holds weights and outputs: weights are 1 / 16, 0 or -1 / 16, and there is no bias. With observations of 0 or 1 outputs are whole numbers of sixteenths, at most as many as a filter has weights, fewer than 256.
fn with_short_filters(network: &Network) -> Network {
    with_numbers(network, |name, value| match name {
        name if !name.contains("input_conv") => value,
        name if !name.ends_with("weight") || value.abs() < 0.01 => 0.0,
        _ => value.signum() / 16.0,
    })
}

/// Observations are 0 or 1, weights and outputs of the only convolution have no more bits than bfloat16, and heads of more than four filters read single precision: forward nothing is rounded, and of the gradients only those before the norm, which the filters' are sums
/// of. Each of those is off by at most the precision's rounding, at random; in sums of random terms errors stay the same share of the whole tensor. Twice it leaves room for the sizes of single terms, and all else is single precision.
#[test]
fn where_operands_have_few_bits_only_gradients_are_rounded() -> Checked {
    for (shape, batch) in [
        (NetworkShape { depth: 0, ..odd_shape() }, 40),
        (NetworkShape { rows: 8, columns: 8, planes: 9, width: 72, depth: 0, ..odd_shape() }, 8),
        (NetworkShape { rows: 1, columns: 1, width: 33, depth: 0, ..odd_shape() }, 70),
    ] {
        let shape = NetworkShape { value_filters: 5, ..shape };
        let samples = positions(shape, batch.into(), 1);
        let network = with_short_filters(&Network::seeded(shape, 3)?);
        let order: Vec<u32> = (0..batch).rev().collect();
        let builder = Trainer::builder(&network, &samples).batch(batch);
        for (device, short) in devices().into_iter().flat_map(|device| ALL.map(|short| (device.clone(), short))) {
            let mut trainer = builder.clone().precision(short.precision).build(&device)?;
            for n in [batch as usize, batch as usize / 2] {
                let expected = builder.clone().build(&Device::cpu())?.gradient(&order[..n])?;
                let found = trainer.gradient(&order[..n])?;
                for (name, found, expected) in tensors(&found, &expected) {
                    if name.contains("input_conv") && name.ends_with("weight") {
                        let distance = apart(&found, &expected);
                        assert!(
                            distance > 0.0 && distance < 2.0 * short.rounding + GRADIENT_SHARE,
                            "{name}, {n} positions on {device} in {}: {distance}",
                            short.precision
                        );
                        continue;
                    }
                    let largest = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
                    close(&name, &found, &expected, Tolerance { abs: 1e-7 + GRADIENT_SHARE * largest, rel: 0.0 });
                }
            }
        }
    }
    Ok(())
}

/// The gradient in double precision of such operands, tensor by tensor.
fn reference(network: &Network, positions: &[&Position], operands: Operands) -> Vec<(String, Vec<f64>)> {
    let NetworkShape { rows, columns, planes, width, depth, value_filters, value_hidden, policy_filters, actions } =
        network.shape();
    let [rows, columns, planes, width, depth, value_filters, value_hidden, policy_filters, actions] =
        [rows, columns, planes, width, depth, value_filters, value_hidden, policy_filters, actions].map(|n| n as usize);
    let shape =
        twin::Shape { rows, columns, planes, width, depth, value_filters, value_hidden, policy_filters, actions };
    let mut values: Vec<Vec<f64>> = Vec::new();
    network.visit(|_, _, tensor| values.push(tensor.iter().map(|&value| value.into()).collect()));
    let mut values = values.into_iter();
    let network = twin::Network::<f64>::from_tensors(shape, |_, _| values.next().unwrap_or_default());
    let widened = |position: &&Position| position.observation.iter().map(|&value| value.into()).collect::<Vec<f64>>();
    let observations: Vec<f64> = positions.iter().flat_map(widened).collect();
    let masks: Vec<u8> = positions.iter().flat_map(|position| position.legal.iter().copied()).collect();
    let mut shares = vec![0.0; positions.len() * actions];
    for (position, shares) in positions.iter().zip(shares.chunks_exact_mut(actions)) {
        let total: u32 = position.visits.iter().map(|&(_, count)| count).sum();
        for &(action, count) in &position.visits {
            shares[action as usize] = f64::from(count) / f64::from(total);
        }
    }
    let results: Vec<f64> = positions.iter().map(|position| position.value).collect();
    let batch = Batch { observations: &observations, masks: &masks, shares: &shares, results: &results };
    // Heads of a few filters read bfloat16.
    let heads = if operands == Operands::Bfloat16 && value_filters.max(policy_filters) <= 4 {
        operands
    } else {
        Operands::Exact
    };
    let settings = Settings { weight_decay: 0.0, operands, heads, ..Settings::default() };
    let gradient = network.gradient::<twin::Parallel>(batch, &settings).network;
    gradient.tensors.into_iter().map(|tensor| (tensor.name, tensor.values)).collect()
}

/// The share of a tensor's length that its gradient may be off by from the reference's, after `roundings` by `e` on the way through all convolutions of 3 × 3, and as many on the way back.
///
/// Norms keep shares, and convolutions add them. A rectifier whose input is nearer to 0 than that passes a gradient or keeps it back, wrongly: `0.8 e` of them, as of normal numbers,
/// of which each is off by all of its size, so that the length is off by the root of that share. Rectifiers behind each other add squares.
fn share(roundings: u32, e: f64) -> f64 {
    let flipped: f64 = (1..=roundings + 1).map(|n| 0.8 * e * f64::from(n)).sum();
    flipped.sqrt() + e * f64::from(2 * roundings + 1)
}

fn gradients_agree(shape: NetworkShape, batch: u32, seed: u64) -> Checked {
    ALL.into_iter().try_for_each(|short| gradients_agree_in(short, shape, batch, seed))
}

fn gradients_agree_in(short: Short, shape: NetworkShape, batch: u32, seed: u64) -> Checked {
    gradients_agree_of(short, &Network::seeded(shape, 3)?, batch, seed)
}

fn gradients_agree_of(short: Short, network: &Network, batch: u32, seed: u64) -> Checked {
    let shape = network.shape();
    let (samples, drawn) = (positions(shape, batch.into(), seed), drawn(shape, batch.into(), seed));
    let order: Vec<u32> = (0..batch).rev().collect();
    let builder = Trainer::builder(network, &samples).batch(batch).precision(short.precision);
    let bound = share(short.rounded * (1 + 2 * shape.depth), short.apart);
    for n in [batch as usize, batch as usize / 2] {
        let of: Vec<&Position> = order[..n].iter().map(|&number| &drawn[number as usize]).collect();
        let expected = reference(network, &of, short.operands);
        for device in devices() {
            let mut trainer = builder.clone().build(&device)?;
            let before = trainer.network()?;
            let found = trainer.gradient(&order[..n])?;
            let mut expected = expected.iter();
            let mut apart_in = Vec::new();
            found.visit(|name, _, values| {
                let (twin, expected) = expected.next().expect("the same tensors");
                assert_eq!(name, twin);
                let values: Vec<f64> = values.iter().map(|&value| value.into()).collect();
                // Biases before norms have no gradient, and running statistics are 0.
                if expected.iter().any(|&value| value != 0.0) {
                    apart_in.push((apart(&values, expected), name.to_string()));
                } else {
                    assert!(values.iter().all(|&value| value == 0.0), "{name}");
                }
            });
            let most = apart_in.iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("a tensor");
            assert!(most.0 < bound, "{n} positions on {device} in {}: bound {bound}, {apart_in:?}", short.precision);
            assert_eq!(trainer.gradient(&order[..n])?, found, "the same bits again");
            assert_eq!(trainer.network()?, before, "nothing changed");
        }
    }
    Ok(())
}

#[test]
fn gradients_of_odd_shapes_agree_with_the_reference() -> Checked {
    let shape = odd_shape();
    gradients_agree(NetworkShape { depth: 1, ..shape }, 24, 1)?;
    gradients_agree(NetworkShape { rows: 9, columns: 2, planes: 1, width: 33, depth: 1, ..shape }, 20, 3)
}

#[test]
fn gradients_of_wide_networks_agree_with_the_reference() -> Checked {
    let shape = NetworkShape { width: 72, depth: 1, actions: 100, value_hidden: 12, ..NetworkShape::default() };
    gradients_agree(shape, 8, 4)?;
    // More planes than a patch holds.
    gradients_agree(NetworkShape { rows: 5, columns: 5, planes: 27, ..shape }, 24, 5)
}

/// Norms of more channels than a block has, with heads of more outputs than one quad; and of so few that a part has many squares, of which there are several parts and a rest.
#[test]
fn gradients_of_many_and_few_channels_agree_with_the_reference() -> Checked {
    let shape = NetworkShape { rows: 2, columns: 3, depth: 1, ..odd_shape() };
    gradients_agree(NetworkShape { width: 136, value_filters: 9, ..shape }, 24, 6)?;
    gradients_agree(NetworkShape { rows: 8, columns: 8, width: 16, ..shape }, 22, 7)
}

/// Half precision ends at 65,504 and 2⁻²⁴. Weights beyond, whose gradients are smaller by as much, are as exact as others, since all have scales; norms take the factor away again. Evaluated by running statistics, which know nothing of the weights, values are far from the mean.
#[test]
fn large_weights_are_as_exact() -> Checked {
    let is_scaled = |name: &str| name.contains("conv") && name.ends_with("weight");
    let network = Network::seeded(NetworkShape { depth: 1, ..odd_shape() }, 3)?;
    let network = with_numbers(&network, |name, value| if is_scaled(name) { 1e6 * value } else { value });
    gradients_agree_of(TF32, &network, 24, 1)?;
    let samples = positions(network.shape(), 24, 1);
    let builder = Trainer::builder(&network, &samples).batch(24);
    let order: Vec<u32> = (0..24).collect();
    let expected = builder.clone().build(&Device::cpu())?.gradient(&order)?;
    for device in devices() {
        let found = builder.clone().build(&device)?.gradient(&order)?;
        compare(&format!("large weights on {device}"), &found, &expected, GRADIENT_SHARE, 0.0);
    }
    let is_first = |name: &str| name.contains("input_conv") && name.ends_with("weight");
    let network = Network::seeded(network.shape(), 3)?;
    let network = with_numbers(&network, |name, value| if is_first(name) { 1e4 * value } else { value });
    let builder = Trainer::builder(&network, &samples).batch(24);
    let expected = builder.clone().build(&Device::cpu())?.evaluate(&order)?;
    // Losses here are as large as logits, of which each of six layers is off by that share.
    let tolerance = Tolerance { abs: 0.0, rel: 6.0 * GRADIENT_SHARE };
    for device in devices() {
        let found = builder.clone().build(&device)?.evaluate(&order)?;
        close("policy loss far from the mean", &[found.policy_loss], &[expected.policy_loss], tolerance);
    }
    Ok(())
}

/// The losses of a network are those of the plain program but for what convolutions round: the outputs of each are off by twice the precision's rounding of their sizes, twice that where they are rounded too, and so are logits, whose sizes here are about 1; a loss is off by
/// no more than its logits.
#[test]
fn a_few_steps_go_the_way_of_the_plain_program() -> Checked {
    let shape = odd_shape();
    let samples = positions(shape, 24, 5);
    let options = Options { batch: 8, epochs: 3, learning_rate: 0.002, weight_decay: 0.01, ..Options::default() };
    let network = Network::seeded(shape, 8)?;
    let builder = Trainer::builder(&network, &samples).options(options);
    let expected = train(&mut builder.clone().build(&Device::cpu())?)?;
    let all: Vec<u32> = (0..24).collect();
    for (device, short) in devices().into_iter().flat_map(|device| ALL.map(|short| (device.clone(), short))) {
        let off = 2.0 * short.rounding * f64::from(short.rounded * (1 + 2 * shape.depth));
        let mut trainer = builder.clone().precision(short.precision).build(&device)?;
        let found = train(&mut trainer)?;
        let losses = |step: &StepReport| [step.policy_loss, step.value_loss];
        close("first report", &losses(&found[0]), &losses(&expected[0]), Tolerance { abs: off, rel: off });
        close("L2", &[found[0].l2_loss], &[expected[0].l2_loss], Tolerance { abs: 0.0, rel: GRADIENT_SHARE });
        let means = |steps: &[StepReport]| steps.iter().map(StepReport::loss).sum::<f64>() / steps.len() as f64;
        // As with f32 the loss falls: the third epoch's is below the first's.
        assert!(means(&found[6..]) < means(&found[..3]), "{device}: {found:?}");
        assert!(means(&expected[6..]) < means(&expected[..3]));
        // Where it has come to, the plain program finds nearly the same losses.
        let network = trainer.network()?;
        let mut plain = Trainer::builder(&network, &samples).batch(8).build(&Device::cpu())?;
        // Part of a batch, too.
        for order in [&all[..], &all[..11]] {
            let (own, plain) = (trainer.evaluate(order)?, plain.evaluate(order)?);
            let tolerance = Tolerance { abs: off, rel: off };
            close("evaluation", &[own.policy_loss, own.value_loss], &[plain.policy_loss, plain.value_loss], tolerance);
        }
    }
    Ok(())
}

#[test]
fn a_handful_of_positions_is_learned_by_heart() -> Checked {
    let shape = NetworkShape { width: 16, depth: 1, value_hidden: 16, ..odd_shape() };
    let samples = positions(shape, 6, 3);
    let network = Network::seeded(shape, 2)?;
    let all = [0, 1, 2, 3, 4, 5];
    for device in devices() {
        let epochs = if device.backend() == Backend::Simt { 30 } else { 120 };
        let of = |device: &Device, precision| -> Result<[f64; 2], warpplay::Error> {
            let builder = Trainer::builder(&network, &samples).batch(6).learning_rate(0.02).weight_decay(0.0);
            let mut trainer = builder.momentum(0.5).precision(precision).epochs(epochs).build(device)?;
            train_rest(&mut trainer);
            let last = trainer.epochs().last().expect("an epoch").train;
            // What inference sees is nearly that: the running statistics have followed.
            let seen = trainer.evaluate(&all)?;
            assert!(seen.value_loss < 2.0 / 3.0, "{device} in {precision}: {seen:?}");
            let first = trainer.epochs()[0].train;
            Ok([first, last].map(|losses| losses.policy_loss + losses.value_loss))
        };
        let [first, single] = of(&Device::cpu(), Precision::F32)?;
        for Short { precision, .. } in ALL {
            let [_, short] = of(&device, precision)?;
            // Both come most of the way down; the shares of visits have an entropy that stays.
            let is_down = single < first && first - short > 0.9 * (first - single);
            assert!(is_down, "{device} in {precision}: {first}, {single}, {short}");
        }
    }
    Ok(())
}

#[test]
fn a_seed_gives_the_same_bits_on_every_run_and_on_two_gpus() -> Checked {
    let samples = positions(odd_shape(), 45, 6);
    let network = Network::seeded(odd_shape(), 1)?;
    for precision in [Precision::F32, Precision::Tf32, Precision::Bf16] {
        let options = Options { batch: 9, epochs: 1, precision, ..Options::default() };
        let builder = Trainer::builder(&network, &samples).options(options);
        for device in devices() {
            let trained = |device: &Device| -> Result<Checkpoint, warpplay::Error> {
                let mut trainer = builder.clone().build(device)?;
                train_rest(&mut trainer);
                trainer.checkpoint()
            };
            let trained: Vec<_> = alike(&device).iter().map(trained).collect::<Result<_, _>>()?;
            assert!(trained.iter().all(|one| one.network() == trained[0].network()), "{precision} on {device}");
        }
    }
    Ok(())
}

#[test]
fn stopped_and_resumed_gives_the_same_bits() -> Checked {
    let shape = NetworkShape { depth: 1, ..odd_shape() };
    let samples = positions(shape, 45, 6);
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { batch: 6, epochs: 3, validation: 0.2, precision: Precision::Tf32, ..Options::default() };
    let network = Network::seeded(shape, 1)?;
    let builder = Trainer::builder(&network, &samples).options(options);
    for device in devices() {
        let [whole, again] = [builder.clone().build(&device)?, builder.clone().build(&device)?].map(|mut trainer| {
            train_rest(&mut trainer);
            trainer.checkpoint()
        });
        let (whole, again) = (whole?, again?);
        assert_eq!(whole.network(), again.network(), "{device}");
        let mut first = builder.clone().build(&device)?;
        let mut seen = 0;
        let report = first.run(|progress| {
            seen += u32::from(matches!(progress.latest, Some(TrainEvent::Step { .. })));
            if seen < 8 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        assert_eq!(report.stopped_by, StoppedBy::Request);
        let path = folder.path().join("training.safetensors");
        first.checkpoint()?.save(&path)?;
        // The precision is the checkpoint's.
        let mut second = Trainer::builder(&network, &samples).resume(Checkpoint::load(&path)?).build(&device)?;
        assert_eq!(second.options().precision, Precision::Tf32);
        train_rest(&mut second);
        let resumed = second.checkpoint()?;
        assert_eq!(resumed.network(), whole.network(), "{device}");
        assert_eq!(resumed.epochs()[2].validation, whole.epochs()[2].validation, "{device}");
        let other = Trainer::builder(&network, &samples).precision(Precision::F32).resume(resumed).build(&device);
        let text = other.expect_err("another precision").to_string();
        assert_eq!(text, "option precision: f32 is not allowed (tf32, as in the checkpoint)");
    }
    Ok(())
}

#[test]
fn precisions_that_a_device_does_not_have_are_refused() -> Checked {
    let shape = odd_shape();
    let samples = positions(shape, 12, 7);
    let network = Network::seeded(shape, 1)?;
    let refused = |precision, device: &Device| {
        let builder = Trainer::builder(&network, &samples).batch(6).precision(precision);
        let text = builder.memory_needed(device).expect_err("refused").to_string();
        assert_eq!(builder.build(device).expect_err("refused").to_string(), text);
        text
    };
    for precision in [Precision::F16, Precision::F64, Precision::E4m3, Precision::I16] {
        for device in [Device::cpu(), Device::simt()] {
            let text = refused(precision, &device);
            assert_eq!(text, format!("option precision: {precision} is not allowed (f32, tf32 or bf16)"));
        }
    }
    for Short { precision, .. } in ALL {
        let text = refused(precision, &Device::cpu());
        assert_eq!(text, format!("option precision: {precision} is not allowed (f32 on the cpu back end)"));
        for (major, minor) in [(7, 5), (8, 0), (8, 9)] {
            let text = refused(precision, &Device::simt().with_capability(major, minor)?);
            assert!(text.starts_with(&format!("option precision: {precision} is not allowed (f32 on ")), "{text}");
            assert!(text.ends_with("; tf32 and bf16 on GPUs of compute capability 9.0)"), "{text}");
        }
    }
    // More pixels than the convolutions count.
    let shape = NetworkShape { rows: 32, columns: 32, planes: 1, width: 4, depth: 0, ..shape };
    let network = Network::seeded(shape, 1)?;
    let samples = Arc::new(warpplay::azero::train::Samples::new(shape, network.observation(), network.value_of())?);
    let builder = Trainer::builder(&network, &samples).batch(32_768);
    assert!(builder.memory_needed(&Device::simt().with_capability(8, 0)?).is_ok());
    for precision in [Precision::F32, Precision::Tf32, Precision::Bf16] {
        let builder = builder.clone().precision(precision);
        let text = builder.memory_needed(&Device::simt()).expect_err("refused").to_string();
        assert_eq!(text, "squares of a batch: expected at most 16777216, got 33554432");
    }
    Ok(())
}
