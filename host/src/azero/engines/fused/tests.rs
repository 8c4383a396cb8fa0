//! Every form of the kernels against the plain network, block by block.

use warpplay_gpu::azero::fused::format::{FULL, SIMULATED, TENSOR_CORE, sum_error};

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
        Precision::F32 | Precision::F64 | Precision::E4m3 | Precision::I16 => 1e-5,
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
    let mut engine = Fused::new(device, &stream, folded, precision, n).unwrap();
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

/// The same function with channel `c` of the residual stream `trunk(c)` times as large, and of all that is within blocks `middle(c)` times.
fn rescaled(mut network: Network, trunk: impl Fn(usize) -> f32, middle: impl Fn(usize) -> f32) -> Network {
    let outputs = |values: &mut Vec<f32>, factor: &dyn Fn(usize) -> f32| {
        values.iter_mut().enumerate().for_each(|(channel, value)| *value *= factor(channel));
    };
    let inputs = |values: &mut Vec<f32>, factor: &dyn Fn(usize) -> f32, taps: usize| {
        values.iter_mut().enumerate().for_each(|(at, value)| *value /= factor(at / taps % WIDTH as usize));
    };
    network.visit_mut(|name, _, values| {
        let is_norm = name.ends_with(".weight") || name.ends_with(".bias");
        match name.rsplit('.').nth(1).unwrap_or_default() {
            "input_batch_norm" if is_norm => outputs(values, &trunk),
            norm if norm.ends_with("_batch_norm_1") && is_norm => outputs(values, &middle),
            norm if norm.ends_with("_batch_norm_2") && is_norm => outputs(values, &trunk),
            conv if conv.ends_with("_conv_1") && name.ends_with("weight") => inputs(values, &trunk, 9),
            conv if conv.ends_with("_conv_2") && name.ends_with("weight") => inputs(values, &middle, 9),
            "value_conv" | "policy_conv" if name.ends_with("weight") => inputs(values, &trunk, 1),
            _ => {}
        }
    });
    network
}

/// A thousandth to a thousand, another one for every channel.
fn uneven(channel: usize) -> f32 {
    10f32.powf((channel * 37 % 61) as f32 / 10.0 - 3.0)
}

/// Holds every convolution to the bound of `format`, computed in double precision from what the one before it left.
fn check_layers(device: &Device, what: &str, network: &Network, boards: u32) {
    let n = 2;
    let (width, cells) = (WIDTH as usize, CELLS as usize);
    let folded = FoldedNetwork::new(network);
    let scaled = Scaled::new(folded.clone());
    let stream = device.stream().unwrap();
    let mut inputs = Inputs::new(&stream, SHAPE, n).unwrap();
    let (observations, _) = positions(n);
    stream.write(&mut inputs.observations, 0, &observations).unwrap();
    let mut engine = Fused::new(device, &stream, folded.clone(), Precision::F32, n).unwrap();
    engine.boards = Some(boards);
    let blocks = engine.blocks(&stream, &inputs, n).unwrap();
    let lost = if device.backend() == Backend::Simt { SIMULATED } else { TENSOR_CORE };
    let power = |exponent: i32| f64::from(exponent).exp2();
    for (number, conv) in std::iter::once(&folded.input).chain(folded.torso.iter().flatten()).enumerate() {
        let x = if number == 0 { &observations } else { &blocks[number - 1].values };
        let kept = (number > 0 && number % 2 == 0).then(|| &blocks[number - 2].values);
        // In the network's own scale the size down to which a number has all its bits is another one for each channel and row.
        let exponent = |channel: usize| if number == 0 { 0 } else { scaled.exponents[(number - 1) * width + channel] };
        let full: Vec<f64> = (0..conv.n_inputs).map(|channel| FULL * power(-exponent(channel))).collect();
        for (at, &found) in blocks[number].values.iter().enumerate() {
            let (position, output, cell) = (at / cells / width, at / cells % width, at % cells);
            let row = number * width + output;
            let full_weight = FULL * f64::from(scaled.factors[row]) * power(-scaled.exponents[row]);
            let (mut sum, mut sizes) = (0.0, 0.0);
            for input in 0..conv.n_inputs {
                for tap in 0..9 {
                    let (y, x_) = (cell / 8 + tap / 3, cell % 8 + tap % 3);
                    let inside = (1..=8).contains(&y) && (1..=8).contains(&x_);
                    let a = match inside {
                        true => f64::from(x[((position * conv.n_inputs + input) * 8 + y - 1) * 8 + x_ - 1]),
                        // The edge is 0 exactly.
                        false => continue,
                    };
                    let w = f64::from(conv.weight[(output * conv.n_inputs + input) * 9 + tap]);
                    sum += w * a;
                    sizes += w.abs().max(full_weight * power(exponent(input))) * a.abs().max(full[input]);
                }
            }
            let expected = (sum + f64::from(conv.bias[output]) + kept.map_or(0.0, |kept| kept[at].into())).max(0.0);
            let plain = sum.abs() + f64::from(conv.bias[output].abs()) + kept.map_or(0.0, |kept| kept[at].into());
            let bound = sum_error(lost) * sizes
                + 2f64.powi(-23) * plain
                + 2f64.powi(-22) * expected.max(FULL * power(-scaled.exponents[row]));
            let error = (f64::from(found) - expected).abs();
            let name = &blocks[number].name;
            assert!(
                error <= bound,
                "{what} on {device}, {name}, element {at}: {found}, expected {expected}, bound {bound}"
            );
        }
    }
}

#[test]
fn every_layer_of_single_precision_is_within_its_bound() {
    let seeded = || Network::seeded(SHAPE, 4).unwrap();
    for device in devices() {
        let on_gpu = device.backend() == Backend::Cuda;
        check_layers(
            &device,
            "channels a thousandth to a thousand times as large",
            &rescaled(seeded(), uneven, uneven),
            2,
        );
        check_layers(&device, "a thousand times as large", &rescaled(seeded(), |_| 1e3, |_| 1.0), 1);
        if on_gpu {
            check_layers(&device, "as it is", &seeded(), 1);
            check_layers(&device, "a hundredth as large", &rescaled(seeded(), |_| 1e-2, |_| 1e2), 2);
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
