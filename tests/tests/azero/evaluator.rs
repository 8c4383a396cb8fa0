//! The evaluator where kernels run: what it promises of memory, streams and errors, whatever engine is behind it.

use warpplay::azero::{Evaluation, Evaluator, Inputs, Network, NetworkShape, Outputs};
use warpplay::{Backend, Device, Error, Precision};
use warpplay_tests::Checked;
use warpplay_tests::azero::{FP32, bounds, four_positions, reference_network};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::skipped::skipped;
use warpplay_tests::tolerance::{close, same};

/// A shape in which nothing is a multiple of a warp or a tile.
const ODD: NetworkShape = NetworkShape {
    rows: 5,
    columns: 3,
    planes: 2,
    width: 9,
    depth: 1,
    value_filters: 2,
    value_hidden: 7,
    policy_filters: 3,
    actions: 37,
};

/// Positions without meaning: every third square of a plane is set; each has some legal actions.
fn positions(shape: NetworkShape, n: usize) -> (Vec<f32>, Vec<u8>) {
    let observations = (0..n * shape.n_observation()).map(|at| f32::from(at * at % 7 == 1)).collect();
    let masks = (0..n * shape.actions as usize).map(|at| u8::from(at % 3 != 1)).collect();
    (observations, masks)
}

fn compare(what: &str, found: &Evaluation, expected: &Evaluation) {
    close(&format!("{what}: values"), &found.values, &expected.values, FP32);
    close(&format!("{what}: policy logits"), &found.policy_logits, &expected.policy_logits, FP32);
    close(&format!("{what}: policies"), &found.policies, &expected.policies, FP32);
}

#[track_caller]
fn refused<T>(result: Result<T, Error>, text: &str) {
    match result {
        Ok(_) => panic!("it should have been refused: {text}"),
        Err(error) => assert_eq!(error.to_string(), text),
    }
}

#[test]
fn batches_of_any_size_agree_with_the_cpu() {
    for_each_device(|device| {
        let network = Network::seeded(ODD, 4)?;
        let mut evaluator = Evaluator::builder(&network).max_batch(5).build(device)?;
        let mut plain = Evaluator::builder(&network).build(&Device::cpu())?;
        for n in [5, 1, 4] {
            let (observations, masks) = positions(ODD, n);
            let found = evaluator.evaluate(&observations, &masks)?;
            compare(&format!("{n} positions"), &found, &plain.evaluate(&observations, &masks)?);
            let illegal = found.policies.iter().zip(&masks).find(|&(&share, &mask)| mask == 0 && share != 0.0);
            assert!(illegal.is_none(), "an illegal action has a share");
        }
        let (observations, _) = positions(ODD, 3);
        let (found, expected) = (evaluator.blocks(&observations)?, plain.blocks(&observations)?);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.name, expected.name);
            let widened = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
            close(&found.name, &widened(&found.values), &widened(&expected.values), FP32);
        }
        Ok(())
    });
}

#[test]
fn positions_in_device_memory_give_the_same_bits_and_nothing_is_allocated() {
    for_each_device(|device| {
        let network = Network::seeded(ODD, 4)?;
        let mut evaluator = Evaluator::builder(&network).max_batch(4).build(device)?;
        let (observations, masks) = positions(ODD, 4);
        let mut found = evaluator.evaluate(&observations, &masks)?;
        let stream = device.stream()?;
        let (mut inputs, mut outputs) = (Inputs::new(&stream, ODD, 4)?, Outputs::new(&stream, ODD, 4)?);
        stream.write(&mut inputs.observations, 0, &observations)?;
        stream.write(&mut inputs.masks, 0, &masks)?;
        evaluator.enqueue(&stream, &inputs, 4, &mut outputs)?;
        let allocated = device.allocations();
        for n in [4, 2, 4] {
            evaluator.enqueue(&stream, &inputs, n, &mut outputs)?;
            let widened = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<_>>();
            same("values", &widened(stream.read(&outputs.values)?), &found.values);
            same("policy logits", &widened(stream.read(&outputs.policy_logits)?), &found.policy_logits);
            same("policies", &widened(stream.read(&outputs.policies)?), &found.policies);
            evaluator.evaluate_into(&observations, &masks, &mut found)?;
        }
        assert_eq!(device.allocations(), allocated, "a call allocates device memory");

        let text = |n| format!("option batch: {n} is not allowed (1 to 4, the evaluator's max_batch)");
        refused(evaluator.enqueue(&stream, &inputs, 0, &mut outputs), &text(0));
        refused(evaluator.enqueue(&stream, &inputs, 5, &mut outputs), &text(5));
        let (few_inputs, mut few_outputs) = (Inputs::new(&stream, ODD, 3)?, Outputs::new(&stream, ODD, 3)?);
        let text = format!("observations: expected at least {} values, got {} values", 4 * 30, 3 * 30);
        refused(evaluator.enqueue(&stream, &few_inputs, 4, &mut outputs), &text);
        refused(
            evaluator.enqueue(&stream, &inputs, 4, &mut few_outputs),
            "values: expected at least 4 values, got 3 values",
        );
        if device.backend() == Backend::Cuda {
            let other = Device::simt().stream()?;
            let error = evaluator.enqueue(&other, &inputs, 4, &mut outputs).expect_err("another device's stream");
            assert!(matches!(error, Error::Device { .. }), "{error}");
        }
        Ok(())
    });
}

/// The reference network on the first of the reference positions; all of them in all precisions where that is fast.
#[test]
fn every_precision_is_within_its_bounds() {
    for_each_device(|device| {
        let network = reference_network();
        let positions = four_positions();
        let n = if device.backend() == Backend::Simt { 1 } else { positions.n };
        for precision in [Precision::F32, Precision::Tf32, Precision::Bf16, Precision::F16] {
            let built = Evaluator::builder(&network).precision(precision).max_batch(n).build(device);
            let mut evaluator = match built {
                // Tensor cores of short formats came with compute capability 8.0.
                Err(Error::Option { name: "precision", .. }) if precision != Precision::F32 => {
                    skipped(format_args!("{device} has no {precision}"));
                    continue;
                }
                built => built?,
            };
            let (observations, masks) = positions.first(n);
            let found = evaluator.evaluate(observations, masks)?;
            positions.check(&format!("{precision} by {}", evaluator.engine()), &found, n, bounds(precision));
        }
        Ok(())
    });
}

#[test]
fn overflow_of_a_narrow_precision_is_an_error_and_not_a_result() {
    for_each_device(|device| {
        let network = Network::seeded(ODD, 4)?;
        let (mut observations, masks) = positions(ODD, 2);
        observations[ODD.n_observation()..].fill(3e38);
        for precision in [Precision::F32, Precision::F16] {
            let built = Evaluator::builder(&network).precision(precision).max_batch(2).build(device);
            let mut evaluator = match built {
                Err(Error::Option { name: "precision", .. }) if precision == Precision::F16 => {
                    skipped(format_args!("{device} has no {precision}"));
                    continue;
                }
                built => built?,
            };
            match evaluator.evaluate(&observations, &masks) {
                Err(Error::NotFinite { position: 1, precision: found, .. }) => assert_eq!(found, precision),
                Err(error) => return Err(error),
                Ok(found) => panic!("{precision} on {device}: {:?}", found.values),
            }
            // The next call is not harmed.
            let (observations, masks) = positions(ODD, 2);
            evaluator.evaluate(&observations, &masks)?;
        }
        Ok(())
    });
}

#[test]
fn wrong_positions_are_refused_before_they_are_sent() -> Checked {
    let network = Network::seeded(ODD, 4)?;
    let mut evaluator = Evaluator::builder(&network).max_batch(2).build(&Device::simt())?;
    let (observations, mut masks) = positions(ODD, 2);
    masks[37..].fill(0);
    refused(
        evaluator.evaluate(&observations, &masks),
        "masks, position 1: expected at least one legal action, got none",
    );
    refused(
        evaluator.evaluate(&[], &[]),
        "observations: expected 30 values (2 x 5 x 3) for each of 1 to 2 positions, got 0 values",
    );
    Ok(())
}
