//! Single precision of the fused network: networks that compute the same function by other sizes, a trained one, and numbers that its format cannot hold.

use std::collections::HashMap;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;

use safetensors::tensor::{Dtype, TensorView, serialize};
use warpplay::azero::checkers::Checkers;
use warpplay::azero::player::{Decision, Estimator, Player, SearchOptions, SelfPlay, Trees};
use warpplay::azero::train::{Samples, Trainer};
use warpplay::azero::{
    Engine, Evaluation, Evaluator, EvaluatorOptions, Inputs, Network, NetworkShape, ObservationLayout, Outputs, ValueOf,
};
use warpplay::{Backend, Device, Precision};
use warpplay_tests::Checked;
use warpplay_tests::azero::{FP32, Positions, all_positions, four_positions};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::tolerance::{close, same};

use super::player::check_record;

/// Channels that the fused network takes.
const WIDTH: usize = 128;

/// A network of OpenSpiel's shape for checkers with `depth` blocks.
fn seeded(depth: u32) -> Network {
    Network::seeded(NetworkShape { depth, ..NetworkShape::default() }, 27).expect("the shape is allowed")
}

/// The network with every tensor changed by `change`, which gets its name.
fn changed(network: &Network, change: impl Fn(&str, &mut [f32])) -> Network {
    let mut tensors = Vec::new();
    network.visit(|name, dims, values| {
        let mut values = values.to_vec();
        change(name, &mut values);
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        tensors.push((name.to_string(), dims.to_vec(), bytes));
    });
    let views = tensors
        .iter()
        .map(|(name, dims, bytes)| (name, TensorView::new(Dtype::F32, dims.clone(), bytes).expect("whole values")));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("network.safetensors");
    std::fs::write(&path, serialize(views, None::<HashMap<String, String>>).expect("it can be written"))
        .expect("written");
    let changed = Network::load(path).expect("a network");
    changed.with_meaning(network.observation(), network.value_of())
}

/// The same function with channel `c` of the residual stream `trunk(c)` times as large, and of all that is within blocks `middle(c)` times.
fn rescaled(network: &Network, trunk: impl Fn(usize) -> f32, middle: impl Fn(usize) -> f32) -> Network {
    let outputs = |values: &mut [f32], factor: &dyn Fn(usize) -> f32| {
        values.iter_mut().enumerate().for_each(|(channel, value)| *value *= factor(channel));
    };
    let inputs = |values: &mut [f32], factor: &dyn Fn(usize) -> f32, taps: usize| {
        values.iter_mut().enumerate().for_each(|(at, value)| *value /= factor(at / taps % WIDTH));
    };
    changed(network, |name, values| match name.rsplit_once('.') {
        Some((norm, "weight" | "bias")) if norm.ends_with("input_batch_norm") => outputs(values, &trunk),
        Some((norm, "weight" | "bias")) if norm.ends_with("_batch_norm_1") => outputs(values, &middle),
        Some((norm, "weight" | "bias")) if norm.ends_with("_batch_norm_2") => outputs(values, &trunk),
        Some((conv, "weight")) if conv.ends_with("_conv_1") => inputs(values, &trunk, 9),
        Some((conv, "weight")) if conv.ends_with("_conv_2") => inputs(values, &middle, 9),
        Some((conv, "weight")) if conv.ends_with("value_conv") || conv.ends_with("policy_conv") => {
            inputs(values, &trunk, 1)
        }
        _ => {}
    })
}

/// A thousandth to a thousand, another one for every channel.
fn uneven(channel: usize) -> f32 {
    10f32.powf((channel * 37 % 61) as f32 / 10.0 - 3.0)
}

/// The four positions of the repository, or on a GPU the 64 of the shared folder where it is.
fn positions(device: &Device) -> Positions {
    match device.backend() {
        Backend::Simt => four_positions(),
        _ => all_positions().unwrap_or_else(four_positions),
    }
}

/// What an engine says of the first `n` positions, `batch` at a time: in double precision on the CPU, else in single precision.
fn evaluate(
    device: &Device,
    engine: Engine,
    network: &Network,
    positions: &Positions,
    (n, batch): (usize, usize),
) -> warpplay::Result<Evaluation> {
    let precision = if engine == Engine::Cpu { Precision::F64 } else { Precision::F32 };
    let mut evaluator =
        Evaluator::builder(network).engine(engine).precision(precision).max_batch(batch).build(device)?;
    let (observations, masks) = positions.first(n);
    let mut all = Evaluation::default();
    for (observations, masks) in observations.chunks(320 * batch).zip(masks.chunks(512 * batch)) {
        all.append(evaluator.evaluate(observations, masks)?);
    }
    Ok(all)
}

/// Values and logits.
fn both(found: &Evaluation) -> Vec<f64> {
    [&found.values[..], &found.policy_logits[..]].concat()
}

#[test]
fn networks_of_one_function_agree_with_double_precision_whatever_their_numbers_sizes() {
    for_each_device(|device| {
        let positions = positions(device);
        // Thread by thread on the CPU a position takes a second a block.
        let (network, batches): (Network, &[usize]) = match device.backend() {
            Backend::Simt => (seeded(1), &[1]),
            _ => (seeded(5), &[1, 4, positions.n]),
        };
        let single = |channel: usize| if channel == 3 { 1e3 } else { 1.0 };
        let small = |channel: usize| if channel == 3 { 1e-3 } else { 1.0 };
        let networks = [
            ("trunk a hundredth", rescaled(&network, |_| 1e-2, |_| 1.0)),
            ("trunk ten times", rescaled(&network, |_| 10.0, |_| 1.0)),
            ("trunk a hundred times", rescaled(&network, |_| 100.0, |_| 1.0)),
            ("trunk a thousand times, middles a thousandth", rescaled(&network, |_| 1e3, |_| 1e-3)),
            ("a channel a thousand times", rescaled(&network, single, small)),
            ("every channel another size", rescaled(&network, uneven, |channel| uneven(channel + 1))),
        ];
        for (what, network) in &networks {
            for &n in batches {
                let found = evaluate(device, Engine::Fused, network, &positions, (n, n))?;
                let expected = evaluate(&Device::cpu(), Engine::Cpu, network, &positions, (n, n))?;
                close(&format!("{what}, {n} positions"), &both(&found), &both(&expected), FP32);
            }
        }
        Ok(())
    });
}

/// The largest difference.
fn apart(found: &Evaluation, expected: &Evaluation) -> f64 {
    both(found).iter().zip(both(expected)).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max)
}

/// A network after some steps of training on positions with one answer each.
fn trained(depth: u32, positions: &Positions) -> Network {
    let start = seeded(depth);
    let mut samples = Samples::new(start.shape(), ObservationLayout::Default, ValueOf::First).expect("a shape");
    let each = positions.observations.chunks_exact(320).zip(positions.masks.chunks_exact(512));
    for (game, (observation, legal)) in each.enumerate() {
        let best =
            (0..).zip(legal).find_map(|(action, &legal)| (legal != 0).then_some(action)).expect("a legal action");
        samples.push(game as u64, observation, legal, &[(best, 9)], [1.0, -1.0, 0.0][game % 3]).expect("a sample");
    }
    let n = positions.n.min(16) as u32;
    let builder = Trainer::builder(&start, &Arc::new(samples)).batch(n).learning_rate(0.01).steps(12).epochs(12);
    let mut trainer = builder.build(&Device::cpu()).expect("a trainer");
    trainer.run(|_| Continue(())).expect("a training");
    trainer.network().expect("a network")
}

#[test]
fn a_trained_network_is_at_most_twice_as_wrong_as_in_plain_single_precision() {
    for_each_device(|device| {
        let positions = positions(device);
        // One position alone takes another way than many. Thread by thread on the CPU a position takes a second a block, and the second block is the first that reads another's sums.
        let (depth, n, batches): (u32, usize, &[usize]) = match device.backend() {
            Backend::Simt => (2, 2, &[1]),
            _ => (5, positions.n, &[1, 4, positions.n]),
        };
        let network = trained(depth, &positions);
        assert_ne!(network, seeded(depth), "it has learned");
        for (what, network) in [("trained", &network), ("trained, uneven", &rescaled(&network, uneven, uneven))] {
            let expected = evaluate(&Device::cpu(), Engine::Cpu, network, &positions, (n, n))?;
            let plain = apart(&evaluate(device, Engine::Layers, network, &positions, (n, n))?, &expected);
            for &batch in batches {
                let error = apart(&evaluate(device, Engine::Fused, network, &positions, (n, batch))?, &expected);
                assert!(error <= 2.0 * plain, "{what}, batches of {batch} on {device}: {error:e}, plain {plain:e}");
            }
        }
        Ok(())
    });
}

/// A network with a channel that is a million times as large as all else where two rows are empty, which random planes never are.
pub fn spiked() -> Network {
    changed(&seeded(1), |name, values| match name {
        // Channel 0 counts six squares that are empty and nothing else, less five and a half.
        "layers.0.input_conv.weight" => {
            for (at, value) in values[..45].iter_mut().enumerate() {
                *value = if at % 9 < 3 {
                    0.0
                } else if at / 9 == 4 {
                    1.0
                } else {
                    -1.0
                };
            }
        }
        "layers.0.input_conv.bias" => values[0] = -5.5,
        "layers.0.input_batch_norm.weight" => values[0] = 1.0,
        "layers.0.input_batch_norm.running_var" => values[0] = 0.999,
        "layers.0.input_batch_norm.bias" | "layers.0.input_batch_norm.running_mean" => values[0] = 0.0,
        // In the block, channel 1 is a million times that; what follows takes a millionth of it.
        "layers.1.res_0_conv_1.weight" => values[WIDTH * 9..][..9].fill(1e6),
        "layers.1.res_0_conv_2.weight" => {
            let of_channel = values.iter_mut().enumerate().filter(|(at, _)| at / 9 % WIDTH == 1);
            of_channel.for_each(|(_, value)| *value *= 1e-6);
        }
        _ => {}
    })
}

/// The start, whose two middle rows are empty.
fn start() -> (Vec<f32>, Vec<u8>) {
    let positions = warpplay::azero::Positions::of_checkers(&[Checkers::new()], ObservationLayout::Default);
    (positions.observations().to_vec(), positions.masks().to_vec())
}

#[test]
fn what_is_too_large_is_evaluated_again_and_counted() {
    for_each_device(|device| {
        let network = spiked();
        let (observations, masks) = start();
        let builder = Evaluator::builder(&network).max_batch(2);
        let mut fused = builder.clone().engine(Engine::Fused).build(device)?;
        let expected = builder.clone().engine(Engine::Layers).build(device)?.evaluate(&observations, &masks)?;
        let found = fused.evaluate(&observations, &masks)?;
        same("values and logits of the other engine", &both(&found), &both(&expected));
        same("its policy", &found.policies, &expected.policies);
        assert_eq!(fused.repeated_batches(), 1);
        // A position without: nothing is repeated, nor does it get other bits where one beside it is.
        let (empty, masks) = (vec![0.0; 320], [&masks[..], &masks].concat());
        let plain = fused.evaluate(&[&empty[..], &empty].concat(), &masks)?;
        assert_eq!(fused.repeated_batches(), 1);
        let observations = [&empty[..], &observations].concat();
        let found = fused.evaluate(&observations, &masks)?;
        same("values", &found.values, &[plain.values[0], expected.values[0]]);
        same("logits", &found.policy_logits, &[&plain.policy_logits[..512], &expected.policy_logits].concat());
        same("policies", &found.policies, &[&plain.policies[..512], &expected.policies].concat());
        assert_eq!(fused.repeated_batches(), 2);

        // In device memory the caller sees it, and asks again.
        let stream = device.stream()?;
        let mut inputs = Inputs::new(&stream, fused.shape(), 2)?;
        let mut outputs = Outputs::new(&stream, fused.shape(), 2)?;
        stream.write(&mut inputs.observations, 0, &observations)?;
        stream.write(&mut inputs.masks, 0, &masks)?;
        assert!(fused.may_overflow());
        fused.enqueue(&stream, &inputs, 2, &mut outputs)?;
        let (values, logits) = (stream.read(&outputs.values)?, stream.read(&outputs.policy_logits)?);
        assert!(values[0].is_finite() && logits[..512].iter().all(|logit| logit.is_finite()));
        assert!(values[1].is_nan() && logits[512..].iter().all(|logit| logit.is_nan()));
        fused.enqueue_again(&stream, &inputs, 2, &mut outputs)?;
        let values: Vec<f64> = stream.read(&outputs.values)?.iter().map(|&value| value.into()).collect();
        same("the value again", &values[1..], &expected.values);
        assert_eq!(fused.repeated_batches(), 3);

        // Blocks are those of the other engine too.
        let blocks = fused.blocks(&observations[320..])?;
        assert_eq!(blocks, builder.engine(Engine::Layers).build(device)?.blocks(&observations[320..])?);
        Ok(())
    });
}

/// How searches of the test evaluate.
fn estimator(network: &Network, engine: Engine) -> Estimator {
    let options = EvaluatorOptions { engine, ..EvaluatorOptions::default() };
    Estimator::network(network.clone(), "spiked").with_options(options)
}

/// Equal visits, and values and priors that two evaluations within 1e-5 + 1e-5 |x| can have. A search's values are means of values in [-1, 1], so they are as near as those;
/// a prior p is a softmax of logits, each within d of the other's, so it is within p (e^2d - 1), and d is at most 1e-5 + 1e-5 of the largest logit here, which is below 100.
fn same_but_for_rounding(found: &Decision, expected: &Decision) {
    let visits =
        |decision: &Decision| decision.actions.iter().map(|action| (action.action, action.visits)).collect::<Vec<_>>();
    assert_eq!((found.action, found.n_nodes, visits(found)), (expected.action, expected.n_nodes, visits(expected)));
    let near = |name: &str, found: f32, expected: f32, bound: f64| {
        let error = (f64::from(found) - f64::from(expected)).abs();
        assert!(error <= bound, "{name}: {found} for {expected}, more than {bound} apart");
    };
    near("value", found.value, expected.value, 2e-5);
    for (found, expected) in found.actions.iter().zip(&expected.actions) {
        near(&found.name, found.value, expected.value, 2e-5);
        near(&found.name, found.prior, expected.prior, f64::from(expected.prior) * 2.1e-3);
    }
}

#[test]
fn searches_with_numbers_too_large_are_those_of_the_other_engine() -> Checked {
    for_each_device(|device| {
        let network = spiked();
        // Trees in host memory evaluate as the test above does.
        let (simulations, trees): (u32, &[Trees]) = match device.backend() {
            Backend::Simt => (2, &[Trees::Device]),
            _ => (64, &[Trees::Device, Trees::Host]),
        };
        for &trees in trees {
            let search = SearchOptions { simulations, leaves: 2, trees, ..SearchOptions::default() };
            let player = |engine| Player::builder(estimator(&network, engine)).options(search).build(device);
            let (mut fused, mut layers) = (player(Engine::Fused)?, player(Engine::Layers)?);
            let expected = layers.run(&Checkers::new(), |_| Continue(()))?;
            let found = fused.run(&Checkers::new(), |_| Continue(()))?;
            match trees {
                Trees::Device => assert_eq!(found, expected),
                // Only what overflowed is evaluated again; the other positions are the fused network's.
                _ => same_but_for_rounding(&found, &expected),
            }
            assert_eq!(layers.repeated_batches(), 0);
            let repeated = fused.repeated_batches();
            // The root and all steps together, or each batch that has to be.
            match trees {
                Trees::Device => assert_eq!(repeated, 1 + u64::from(simulations) / 2),
                _ => assert!((1..=1 + u64::from(simulations) / 2).contains(&repeated), "{repeated}"),
            }
        }
        if device.backend() == Backend::Cuda {
            let search = SearchOptions { simulations: 32, ..SearchOptions::self_play() };
            let games = |engine| -> warpplay::Result<_> {
                let builder = SelfPlay::builder(estimator(&network, engine)).search(search).parallel(4).games(6);
                let mut records = Vec::new();
                let report = builder.build(device)?.run(|progress| {
                    records.extend(progress.latest.clone());
                    Continue(())
                })?;
                Ok((records, report))
            };
            let ((fused, report), (layers, plain)) = (games(Engine::Fused)?, games(Engine::Layers)?);
            assert!(report.played.repeated_batches > 0, "{report}");
            assert_eq!(plain.played.repeated_batches, 0);
            // Engines round otherwise, so that they may play other games; each keeps the rules.
            for mut records in [fused, layers] {
                records.iter().for_each(check_record);
                records.sort_by_key(|record| record.game);
                assert!(records.iter().map(|record| record.game).eq(0..6));
            }
        }
        Ok(())
    });
    Ok(())
}
