//! Every form of the kernels against the plain network, block by block.

use super::*;
use crate::azero::{Evaluator, Network, ObservationLayout, ValueOf};
use crate::{Backend, Device};

/// A network that the kernels take, with nothing else as in the reference.
const SHAPE: NetworkShape = NetworkShape {
    rows: SIDE,
    columns: SIDE,
    planes: 7,
    width: WIDTH,
    depth: 1,
    value_filters: 2,
    value_hidden: 37,
    policy_filters: 2,
    actions: 75,
};

/// Largest errors of blocks and of logits that a precision may have here, in units of 1 + the value.
fn bound(precision: Precision) -> f64 {
    match precision {
        Precision::F32 | Precision::F64 | Precision::I16 => 1e-5,
        Precision::Tf32 | Precision::F16 => 4e-3,
        Precision::Bf16 => 3e-2,
    }
}

fn devices() -> Vec<Device> {
    std::iter::once(Device::simt())
        .chain(Device::cuda(0))
        .filter(|device| fits(device, SHAPE, Precision::F32).is_ok())
        .collect()
}

fn positions(n: usize) -> (Vec<f32>, Vec<u8>) {
    // Observations need not be planes of bits.
    let value = |at: usize| [0.0, 1.0, 0.0, -0.75, -0.0, 1.0, 0.3][at * at % 7];
    let observations = (0..n * SHAPE.n_observation()).map(value).collect();
    let masks = (0..n * SHAPE.actions as usize).map(|at| u8::from(at % 3 != 1 || at % 75 == 0)).collect();
    (observations, masks)
}

#[track_caller]
fn close(what: &str, found: &[f32], expected: impl IntoIterator<Item = f64>, bound: f64) {
    for (at, (&found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs() / (1.0 + expected.abs());
        assert!(error <= bound, "{what}, element {at}: {found}, expected {expected}, bound {bound}");
    }
}

/// Runs `n` positions with `boards` boards a block (0: the kernel for one position) and holds all that comes out to the plain network.
fn check(device: &Device, precision: Precision, boards: u32, n: usize) {
    let what = format!("{precision} on {device}, {n} positions, {boards} boards a block");
    let network = Network::seeded(SHAPE, 4).unwrap().with_meaning(ObservationLayout::Default, ValueOf::First);
    let mut plain = Evaluator::builder(&network).precision(Precision::F64).max_batch(n).build(&Device::cpu()).unwrap();
    let (observations, masks) = positions(n);
    let expected = plain.evaluate(&observations, &masks).unwrap();
    let stream = device.stream().unwrap();
    let mut inputs = Inputs::new(&stream, SHAPE, n).unwrap();
    let mut outputs = Outputs::new(&stream, SHAPE, n).unwrap();
    stream.write(&mut inputs.observations, 0, &observations).unwrap();
    stream.write(&mut inputs.masks, 0, &masks).unwrap();
    let folded = FoldedNetwork::new(&network);
    let mut engine = Fused::new(device, &stream, &folded, precision, n).unwrap();
    engine.boards = Some(boards);
    engine.enqueue(&stream, &inputs, n, &mut outputs).unwrap();
    let bound = bound(precision);
    close(&format!("{what}: values"), &stream.read(&outputs.values).unwrap(), expected.values, bound);
    close(&format!("{what}: logits"), &stream.read(&outputs.policy_logits).unwrap(), expected.policy_logits, bound);
    close(&format!("{what}: policies"), &stream.read(&outputs.policies).unwrap(), expected.policies, bound);
    if boards > 0 {
        let blocks = engine.blocks(&stream, &inputs, n).unwrap();
        // The CPU gives blocks of the same names in single precision.
        let expected =
            Evaluator::builder(&network).max_batch(n).build(&Device::cpu()).unwrap().blocks(&observations).unwrap();
        assert_eq!(blocks.len(), expected.len());
        for (found, expected) in blocks.iter().zip(&expected) {
            assert_eq!((&found.name, found.values.len()), (&expected.name, expected.values.len()));
            close(
                &format!("{what}: {}", found.name),
                &found.values,
                expected.values.iter().map(|&value| value.into()),
                bound,
            );
        }
    }
}

#[test]
fn half_precision_agrees_with_the_plain_network() {
    for device in devices() {
        // The last block is not full; with more positions than blocks at once, blocks go round.
        for (boards, n) in [(0, 1), (1, 2), (2, 3), (4, 5)] {
            check(&device, Precision::F16, boards, n);
        }
        if device.backend() == Backend::Cuda {
            for (boards, n) in [(0, 70), (1, 300), (2, 301), (4, 1063)] {
                check(&device, Precision::F16, boards, n);
            }
        }
    }
}

#[test]
fn bfloat16_agrees_with_the_plain_network() {
    for device in devices() {
        for (boards, n) in [(0, 1), (1, 1), (2, 2), (4, 4)] {
            check(&device, Precision::Bf16, boards, n);
        }
    }
}

#[test]
fn tf32_agrees_with_the_plain_network() {
    for device in devices() {
        for (boards, n) in [(0, 1), (1, 2), (2, 3), (4, 5)] {
            check(&device, Precision::Tf32, boards, n);
        }
        if device.backend() == Backend::Cuda {
            check(&device, Precision::Tf32, 4, 1063);
        }
    }
}

#[test]
fn single_precision_agrees_with_the_plain_network() {
    for device in devices() {
        for (boards, n) in [(0, 1), (1, 2), (2, 3)] {
            check(&device, Precision::F32, boards, n);
        }
        if device.backend() == Backend::Cuda {
            for (boards, n) in [(0, 70), (1, 300), (2, 1063)] {
                check(&device, Precision::F32, boards, n);
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let refused = |shape: NetworkShape, precision| fits(&Device::simt(), shape, precision).unwrap_err().to_string();
    let width = refused(NetworkShape { width: 64, ..SHAPE }, Precision::F32);
    assert!(width.contains("width") && width.contains("64") && width.contains("128"), "{width}");
    let filters = refused(NetworkShape { policy_filters: 3, ..SHAPE }, Precision::F32);
    assert!(filters.contains("policy filters") && filters.contains('3'), "{filters}");
    assert!(refused(SHAPE, Precision::F64).contains("f64"));
}
