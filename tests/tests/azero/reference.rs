//! The plain network, and the CPU back end that evaluates with it, against OpenSpiel's network in double precision.

use warpplay::azero::{Engine, Evaluator, Network, NetworkShape};
use warpplay::{Device, Error, Precision};
use warpplay_cpu_ref::azero::{self as reference, Parallel, Pass, Program, Real, Sequential, Shape};
use warpplay_tests::Checked;
use warpplay_tests::azero::{FP32, Positions, all_positions, bounds, four_positions, reference_network};
use warpplay_tests::golden::{self, Tensors};
use warpplay_tests::tolerance::{Tolerance, close, same};

/// Double precision against double precision with another order of summation: sums of 1,152 terms whose results reach 20.
const F64: Tolerance = Tolerance { abs: 1e-13, rel: 1e-12 };

fn widened<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.widened()).collect()
}

fn forward<T: Real, P: Program>(network: &reference::Network<T>, positions: &Positions) -> Pass<T> {
    let observations: Vec<T> = positions.observations.iter().map(|&value| T::rounded(value.into())).collect();
    let mut pass = Pass::default();
    network.forward::<P>(&observations, &positions.masks, &mut pass);
    pass
}

/// Holds every array of a pass to the reference: whole where the file has it, else its sums.
fn check_pass<T: Real>(pass: &Pass<T>, positions: &Positions, whole: bool, bound: Tolerance) {
    for (name, values) in pass.named() {
        let values = widened(values);
        let is_block = matches!(&name[..], "input_conv" | "input") || name.starts_with("torso_");
        if !is_block {
            close(&name, &values, &positions.expected(&name), bound);
            continue;
        }
        // The reference has the arrays before a norm of the first block alone.
        if name.ends_with("_conv_1") && name != "torso_0_conv_1" || name.ends_with("_mid") && name != "torso_0_mid" {
            continue;
        }
        if whole {
            let expected = positions.block(&name);
            close(&name, &values[..expected.len()], &expected, bound);
        }
        let [sums, squares] = positions.sums(&name);
        for (position, values) in values.chunks_exact(values.len() / positions.n).enumerate() {
            let (sum, square) = (values.iter().sum::<f64>(), values.iter().map(|value| value * value).sum::<f64>());
            // Errors of the elements add up: at most to the bound times their number, or to the bound's share of their sizes.
            let n = values.len() as f64;
            let size = values.iter().map(|value| value.abs()).sum::<f64>();
            let of_sum = Tolerance { abs: bound.abs * n + bound.rel * size, rel: 0.0 };
            close(&format!("sum of {name}, position {position}"), &[sum], &sums[position..=position], of_sum);
            let of_squares = Tolerance { abs: 2.0 * (bound.abs * size + bound.rel * square), rel: 0.0 };
            close(
                &format!("squares of {name}, position {position}"),
                &[square],
                &squares[position..=position],
                of_squares,
            );
        }
    }
}

/// All positions with whole blocks where the shared folder is, and the four of the repository in any case.
fn sets() -> Vec<(Positions, bool)> {
    let mut sets = vec![(four_positions(), false)];
    sets.extend(all_positions().map(|positions| (positions, true)));
    sets
}

#[test]
fn double_precision_gives_every_block_of_the_reference() {
    let network = reference::Network::<f64>::seeded(Shape::default(), 27);
    for (positions, whole) in sets() {
        check_pass(&forward::<f64, Parallel>(&network, &positions), &positions, whole, F64);
    }
}

#[test]
fn single_precision_is_within_1e_5_after_every_block() {
    let network = reference::Network::<f32>::seeded(Shape::default(), 27);
    for (positions, whole) in sets() {
        let pass = forward::<f32, Parallel>(&network, &positions);
        check_pass(&pass, &positions, whole, FP32);
        if !whole {
            assert_eq!(forward::<f32, Sequential>(&network, &positions), pass, "sequential and parallel");
        }
    }
}

#[test]
fn the_seeded_network_is_the_file_bit_for_bit() {
    let network = reference_network();
    let plain = reference::Network::<f32>::seeded(Shape::default(), 27);
    let mut tensors = plain.tensors.iter();
    network.visit(|name, dims, values| {
        let tensor = tensors.next().expect("as many tensors");
        assert_eq!((&tensor.name[..], &tensor.dims[..]), (name, dims));
        same(name, values, &tensor.values);
    });
    assert!(tensors.next().is_none());
    let Some(path) = golden::shared("vectors/az_checkers_net.safetensors") else { return };
    let file = Tensors::read(&path);
    network.visit(|name, _, values| same(name, &widened(values), &file.floats(name)));
}

#[test]
fn epsilon_is_one_thousandth() {
    // A network with epsilon 1e-5 is one whose variances are smaller by the difference.
    let mut network = reference::Network::<f32>::seeded(Shape::default(), 27);
    for tensor in network.tensors.iter_mut().filter(|tensor| tensor.name.ends_with("running_var")) {
        tensor.values.iter_mut().for_each(|variance| *variance += 1e-5 - 1e-3);
    }
    let positions = four_positions();
    let pass = forward::<f32, Parallel>(&network, &positions);
    let pairs = widened(&pass.policy_logits).into_iter().zip(positions.expected("policy_logits"));
    let most = pairs.map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
    assert!((3e-3..3e-2).contains(&most), "epsilon 1e-5 changes a logit by {most}, 1.6e-2 is known for 64 positions");
}

#[test]
fn the_cpu_back_end_evaluates_as_the_reference() -> Checked {
    let network = reference_network();
    for (positions, _) in sets() {
        for precision in [Precision::F32, Precision::F64] {
            let builder = Evaluator::builder(&network).precision(precision).max_batch(positions.n);
            let mut evaluator = builder.clone().build(&Device::cpu())?;
            let found = evaluator.evaluate(&positions.observations, &positions.masks)?;
            positions.check(precision.name(), &found, positions.n, bounds(precision));
            assert_eq!((evaluator.engine(), evaluator.precision()), (Engine::Cpu, precision));
            if positions.n > 4 {
                // More than go through the network at once, with other numbers of threads: the same bits.
                let (observations, masks) = positions.first(33);
                for threads in [1, 3] {
                    let mut evaluator = builder.clone().threads(threads).build(&Device::cpu())?;
                    let again = evaluator.evaluate(observations, masks)?;
                    same("values", &again.values, &found.values[..33]);
                    same("policies", &again.policies, &found.policies[..33 * 512]);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn blocks_are_named_and_whole() -> Checked {
    let network = reference_network();
    let positions = four_positions();
    let mut evaluator = Evaluator::builder(&network).build(&Device::cpu())?;
    let blocks = evaluator.blocks(&positions.observations)?;
    let names: Vec<&str> = blocks.iter().map(|block| &block.name[..]).collect();
    let torso = (0..5).flat_map(|block| [format!("torso_{block}_mid"), format!("torso_{block}")]);
    let expected: Vec<String> = std::iter::once("input".to_string())
        .chain(torso)
        .chain(["value_head_plane", "policy_head_planes"].map(String::from))
        .collect();
    assert_eq!(names, expected);
    let plain = forward::<f32, Parallel>(&reference::Network::seeded(Shape::default(), 27), &positions);
    for (name, values) in plain.named() {
        if let Some(block) = blocks.iter().find(|block| block.name == name) {
            same(&name, &block.values, values);
        }
    }
    Ok(())
}

/// A small network of an odd shape.
fn small() -> Network {
    let shape =
        NetworkShape { rows: 3, columns: 4, planes: 2, width: 9, depth: 1, actions: 5, ..NetworkShape::default() };
    Network::seeded(shape, 1).expect("the shape is allowed")
}

#[track_caller]
fn refused<T>(result: Result<T, Error>, text: &str) {
    match result {
        Ok(_) => panic!("it should have been refused: {text}"),
        Err(error) => assert_eq!(error.to_string(), text),
    }
}

#[test]
fn wrong_positions_are_named() -> Checked {
    let mut evaluator = Evaluator::builder(&small()).max_batch(3).build(&Device::cpu())?;
    let (observations, masks) = ([0.5; 72], [1; 15]);
    let expected = "observations: expected 24 values (2 x 3 x 4) for each of 1 to 3 positions, got";
    refused(evaluator.evaluate(&observations[..23], &masks[..5]), &format!("{expected} 23 values"));
    refused(evaluator.evaluate(&[], &[]), &format!("{expected} 0 values"));
    refused(evaluator.evaluate(&[0.0; 96], &[1; 20]), &format!("{expected} 96 values"));
    refused(evaluator.blocks(&[0.0; 25]), &format!("{expected} 25 values"));
    let text = "masks: expected 5 values for each of 3 positions, got 10 values";
    refused(evaluator.evaluate(&observations, &masks[..10]), text);
    let mut wrong = masks;
    wrong[5..10].fill(0);
    refused(
        evaluator.evaluate(&observations, &wrong),
        "masks, position 1: expected at least one legal action, got none",
    );
    wrong[8] = 2;
    refused(evaluator.evaluate(&observations, &wrong), "masks, action 3 of position 1: expected 0 or 1, got 2");
    for (value, name) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        let mut wrong = observations;
        wrong[50] = value;
        let text = format!("observations, element 2 of position 2: expected a finite number, got {name}");
        refused(evaluator.evaluate(&wrong, &masks), &text);
    }
    // What was refused leaves nothing behind.
    assert_eq!(evaluator.evaluate(&observations, &masks)?.values.len(), 3);
    Ok(())
}

#[test]
fn results_beyond_numbers_are_an_error() -> Checked {
    let mut observations = [0.5; 48];
    observations[24..].fill(f32::MAX);
    let mut evaluator = Evaluator::builder(&small()).build(&Device::cpu())?;
    let error = evaluator.evaluate(&observations, &[1; 10]).expect_err("it overflows");
    let Error::NotFinite { position: 1, precision: Precision::F32, .. } = &error else { panic!("{error:?}") };
    let text = error.to_string();
    assert!(text.contains(" of position 1 is ") && text.contains(" in f32: use a wider precision"), "{text}");
    let mut wide = Evaluator::builder(&small()).precision(Precision::F64).build(&Device::cpu())?;
    assert_eq!(wide.evaluate(&observations, &[1; 10])?.values.len(), 2);
    Ok(())
}

#[test]
fn wrong_options_are_named() {
    let network = small();
    let cpu = Device::cpu();
    let build = |builder: warpplay::azero::EvaluatorBuilder<'_>| builder.build(&cpu);
    for (n, name) in [(0, "0"), (1 << 20 | 1, "1048577"), (usize::MAX, "18446744073709551615")] {
        let text = format!("option max_batch: {name} is not allowed (1 to 1048576)");
        refused(build(Evaluator::builder(&network).max_batch(n)), &text);
    }
    refused(build(Evaluator::builder(&network).threads(0)), "option threads: 0 is not allowed (1 to 1024)");
    for precision in [Precision::Tf32, Precision::Bf16, Precision::F16] {
        let text = format!("option precision: {precision} is not allowed (f32 or f64 on the cpu back end)");
        refused(build(Evaluator::builder(&network).precision(precision)), &text);
    }
    for engine in [Engine::Fused, Engine::Layers] {
        let text =
            format!("option engine: {engine} is not allowed (auto or cpu on the cpu back end, which runs no kernels)");
        refused(build(Evaluator::builder(&network).engine(engine)), &text);
    }
    let simt = |builder: warpplay::azero::EvaluatorBuilder<'_>| builder.build(&Device::simt());
    refused(
        simt(Evaluator::builder(&network).precision(Precision::F64)),
        "option precision: f64 is not allowed (f32, tf32, bf16 or f16 where kernels run; f64 on the cpu)",
    );
    refused(
        simt(Evaluator::builder(&network).engine(Engine::Cpu)),
        "option engine: cpu is not allowed (auto, fused or layers where kernels run; cpu on the cpu back end)",
    );
}

#[test]
fn more_positions_than_memory_holds_are_refused() {
    // 65,536 actions at a million positions: results of 1 TiB.
    let shape = NetworkShape { width: 1, depth: 0, actions: 65_536, value_hidden: 1, ..NetworkShape::default() };
    let network = Network::seeded(shape, 1).expect("the shape is allowed");
    for device in [Device::cpu(), Device::simt()] {
        let built = Evaluator::builder(&network).max_batch(1 << 20).build(&device);
        let error = built.expect_err("no machine has so much");
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        assert!(error.to_string().contains("TiB needed") || error.to_string().contains("GiB needed"), "{error}");
    }
}

#[test]
fn positions_in_device_memory_need_a_device() -> Checked {
    let mut evaluator = Evaluator::builder(&small()).build(&Device::cpu())?;
    let stream = Device::simt().stream()?;
    let shape = evaluator.shape();
    let inputs = warpplay::azero::Inputs::new(&stream, shape, 1)?;
    let mut outputs = warpplay::azero::Outputs::new(&stream, shape, 1)?;
    refused(
        evaluator.enqueue(&stream, &inputs, 1, &mut outputs),
        "evaluation of positions in device memory is not supported by the back end cpu: use evaluate with positions in host memory",
    );
    Ok(())
}
