//! The kernels of Paul and Xu for the AlphaZero network, each alone against the plain functions, and the network that is made of them.

use std::ops::ControlFlow;

use warpplay::azero::{Conv, Engine, Linear, Network, NetworkShape, Norm};
use warpplay::{Backend, BankReport, Device, Error, Precision, Stream};
use warpplay_cpu_ref::azero::{self as plain, Pass, Sequential, pieces};
use warpplay_gpu::mlp::random;
use warpplay_gpu::simt::Access;

use warpplay_papers::checkers_conv::batch::input_layer_refuses;
use warpplay_papers::checkers_conv::games::{DRIFT_BOUND, Played};
use warpplay_papers::checkers_conv::measure::{BOUND, Level, Part};
use warpplay_papers::checkers_conv::published::{
    ATOL_RTOL, FIGURE_5, KERNEL_MEAN_ERRORS, LAYER_MEAN_ERRORS, MACHINE, MEAN_ERROR, MEAN_ERROR_GROWTH, NETWORK,
    SHARED_MEAN_ERRORS, Summary, TABLE_1, TORSO_SHARED_KB, mean_ratios, summary,
};
use warpplay_papers::checkers_conv::{
    Affine, Baseline, CheckersConv, InputForm, Kernels, Model, NormArrays, Options, OutputForm, Plan, Program, Study,
    Sums, TorsoForm, Weights, banks, claims,
};
use warpplay_papers::experiment::{Cell, Header, Journal, Paper, Report, Run, Step, Stop, measure};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::golden::{self, Tensors};
use warpplay_tests::skipped::skipped;
use warpplay_tests::tolerance::{Tolerance, close, same, widened};

use crate::slots::columns_are_those_of_the_page;

/// Rounding of sums of up to 1,170 products of numbers below 1.
const SUMS: Tolerance = Tolerance { abs: 1e-5, rel: 1e-5 };
/// The bound that every block's output is held to.
const BLOCKS: Tolerance = Tolerance { abs: BOUND, rel: BOUND };
/// Squares of the board.
const CELLS: usize = 64;
/// Values behind those that a kernel may touch.
const BEHIND: usize = 40;
/// What stands there.
const MARK: f32 = -77.25;

/// Values in (-1, 1) without a pattern.
fn values(n: usize, salt: u32) -> Vec<f32> {
    let key = random::key(salt, 1);
    let value = |i| ((random::element(key, i) >> 40) as f32 - 8_388_608.0) / 8_388_608.0;
    (1..=n as u64).map(value).collect()
}

/// Planes of 0 and 1.
fn planes(n: usize, salt: u32) -> Vec<f32> {
    values(n, salt).into_iter().map(|value| if value > 0.3 { 1.0 } else { 0.0 }).collect()
}

fn conv(n_inputs: usize, n_outputs: usize, taps: usize, salt: u32) -> Conv {
    Conv { weight: values(n_outputs * n_inputs * taps, salt), bias: values(n_outputs, salt + 1) }
}

/// The 3×3 convolution of `n` positions, in double precision.
fn expected_conv(x: &[f32], n: usize, conv: &Conv, bias: bool) -> Vec<f64> {
    let (weight, mut biases) = (widened(&conv.weight), widened(&conv.bias));
    if !bias {
        biases.fill(0.0);
    }
    let layer = pieces::Affine { weight: &weight, bias: &biases };
    let mut all = Vec::new();
    for x in widened(x).chunks_exact(x.len() / n) {
        let mut out = vec![0.0; conv.bias.len() * CELLS];
        pieces::convolution(x, layer, (8, 8), &mut out);
        all.extend(out);
    }
    all
}

/// What a convolution leaves in a buffer that held something before and has marked values behind.
fn run_conv(
    stream: &Stream,
    n_values: usize,
    launch: impl FnOnce(&mut warpplay::Buffer<f32>) -> Result<(), Error>,
) -> Result<Vec<f32>, Error> {
    let mut before = values(n_values, 99);
    before.extend([MARK; BEHIND]);
    let mut out = stream.upload(&before)?;
    launch(&mut out)?;
    let mut found = stream.read(&out)?;
    same("values behind the buffer", &found.split_off(n_values), &[MARK; BEHIND]);
    Ok(found)
}

/// Every kernel of the input once, some with the bias and some without.
fn input_options() -> impl Iterator<Item = Options> {
    let weights = |input| match input {
        InputForm::Squares | InputForm::Rows => Weights::ALL,
        _ => &[Weights::Shared],
    };
    InputForm::ALL.iter().flat_map(move |&input| {
        weights(input).iter().flat_map(move |&weights| {
            [true, false].map(|padded| Options {
                input,
                padded,
                weights,
                bias: padded || input == InputForm::Squares,
                ..Options::default()
            })
        })
    })
}

/// Every kernel of the torso once in each number of layers.
fn torso_options() -> impl Iterator<Item = Options> {
    let tiles = Sums::ALL.iter().flat_map(|&torso_sums| {
        [(true, 8), (false, 8), (true, 1), (false, 1)].map(|(banked, layers)| Options {
            torso_sums,
            banked,
            layers,
            bias: layers == 8,
            ..Options::default()
        })
    });
    let repository = [TorsoForm::Repository1, TorsoForm::Repository2, TorsoForm::Repository3];
    tiles.chain(repository.map(|torso| Options { torso, bias: torso != TorsoForm::Repository2, ..Options::default() }))
}

/// Every kernel of the output, tiles with each number of layers.
fn output_options() -> impl Iterator<Item = Options> {
    OutputForm::ALL.iter().flat_map(|&output| {
        Sums::ALL.iter().flat_map(move |&output_sums| {
            [1, 8].map(|layers| Options {
                output,
                output_sums,
                layers,
                bias: layers == 8 || output == OutputForm::Squares,
                ..Options::default()
            })
        })
    })
}

/// The 1×1 convolution of `n` positions, in double precision.
fn expected_output(x: &[f32], n: usize, layer: &Conv, bias: bool) -> Vec<f64> {
    let n_outputs = layer.bias.len();
    let mut expected = vec![0.0; n * n_outputs * CELLS];
    for (x, out) in widened(x).chunks_exact(x.len() / n).zip(expected.chunks_exact_mut(n_outputs * CELLS)) {
        pieces::matmul(&widened(&layer.weight), x, out, (n_outputs, CELLS, x.len() / CELLS));
        if bias {
            pieces::add_bias(out, &widened(&layer.bias), CELLS);
        }
    }
    expected
}

#[test]
fn input_convolutions_of_all_forms() {
    for_each_device(|device| {
        let stream = device.stream()?;
        for options in input_options() {
            let kernels = Kernels::load(device, options)?;
            for (salt, (n, n_inputs, n_outputs)) in (1..).zip([(1, 5, 7), (3, 5, 2), (2, 1, 3), (1, 16, 2), (4, 3, 1)])
            {
                let (x, layer) = (values(n * n_inputs * CELLS, salt), conv(n_inputs, n_outputs, 9, salt + 10));
                let (x_there, layer_there) = (stream.upload(&x)?, Affine::conv(&stream, &layer)?);
                let found = run_conv(&stream, n * n_outputs * CELLS, |out| {
                    kernels.input(&stream, n, &x_there, &layer_there, out)
                })?;
                let what = format!("{options:?}, {n} positions, {n_inputs} to {n_outputs}");
                close(&what, &widened(&found), &expected_conv(&x, n, &layer, options.bias), SUMS);
            }
        }
        Ok(())
    });
}

#[test]
fn torso_convolutions_of_all_forms() {
    for_each_device(|device| {
        let stream = device.stream()?;
        for options in torso_options() {
            let kernels = Kernels::load(device, options)?;
            let shapes = [(1, 128, 2), (3, 5, 4), (2, 33, 1), (1, 130, 2)];
            for (salt, (n, n_inputs, n_outputs)) in (1..).zip(shapes) {
                let (x, layer) = (values(n * n_inputs * CELLS, salt), conv(n_inputs, n_outputs, 9, salt + 10));
                let (x_there, layer_there) = (stream.upload(&x)?, Affine::conv(&stream, &layer)?);
                let found = run_conv(&stream, n * n_outputs * CELLS, |out| {
                    kernels.torso(&stream, n, &x_there, &layer_there, out)
                })?;
                let what = format!("{options:?}, {n} positions, {n_inputs} to {n_outputs}");
                close(&what, &widened(&found), &expected_conv(&x, n, &layer, options.bias), SUMS);
            }
        }
        Ok(())
    });
}

#[test]
fn output_convolutions_of_all_forms() {
    for_each_device(|device| {
        let stream = device.stream()?;
        for options in output_options() {
            let kernels = Kernels::load(device, options)?;
            for (salt, (n, n_inputs, n_outputs)) in (1..).zip([(1, 128, 2), (3, 5, 1), (2, 33, 3), (1, 130, 2)]) {
                let (x, layer) = (values(n * n_inputs * CELLS, salt), conv(n_inputs, n_outputs, 1, salt + 10));
                let (x_there, layer_there) = (stream.upload(&x)?, Affine::conv(&stream, &layer)?);
                let found = run_conv(&stream, n * n_outputs * CELLS, |out| {
                    kernels.output(&stream, n, &x_there, &layer_there, out)
                })?;
                let what = format!("{options:?}, {n} positions, {n_inputs} to {n_outputs}");
                close(&what, &widened(&found), &expected_output(&x, n, &layer, options.bias), SUMS);
            }
        }
        Ok(())
    });
}

#[test]
fn what_stands_between_and_behind_the_convolutions() {
    for_each_device(|device| {
        let stream = device.stream()?;
        let kernels = Kernels::load(device, Options::default())?;
        for (salt, (n, channels)) in (1..).zip([(1, 1), (3, 5), (2, 33)]) {
            let (each, all) = (channels * CELLS, n * channels * CELLS);
            let (x, y) = (values(all, salt), values(all, salt + 1));
            let norm = Norm {
                weight: values(channels, salt + 4),
                bias: values(channels, salt + 5),
                mean: values(channels, salt + 6),
                variance: values(channels, salt + 7).into_iter().map(f32::abs).collect(),
            };
            let mut normed = stream.upload(&x)?;
            kernels.batch_norm(&stream, n, &mut normed, &NormArrays::new(&stream, &norm)?)?;
            let [weight, bias, mean, variance] =
                [&norm.weight, &norm.bias, &norm.mean, &norm.variance].map(|part| part.as_slice());
            let norm = pieces::Norm { weight, bias, mean, variance };
            let mut expected = vec![0.0; all];
            for (x, out) in x.chunks_exact(each).zip(expected.chunks_exact_mut(each)) {
                pieces::normalize(x, norm, CELLS, out);
            }
            // The same operations in the same order.
            same("batch norm", &stream.read(&normed)?, &expected);

            let mut sum = stream.upload(&x)?;
            kernels.add(&stream, n, each, &mut sum, &stream.upload(&y)?)?;
            kernels.relu(&stream, n, each, &mut sum)?;
            let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| (x + y).max(0.0)).collect();
            same("sum and rectifier", &stream.read(&sum)?, &expected);
        }
        Ok(())
    });
}

#[test]
fn linear_layers_and_policies() {
    for_each_device(|device| {
        let stream = device.stream()?;
        let kernels = Kernels::load(device, Options::default())?;
        for (salt, (n, n_inputs, n_outputs)) in (1..).zip([(1, 64, 1), (3, 7, 129), (2, 128, 512)]) {
            let x = values(n * n_inputs, salt);
            let layer = Linear { weight: values(n_outputs * n_inputs, salt + 1), bias: values(n_outputs, salt + 2) };
            let (x_there, layer_there) = (stream.upload(&x)?, Affine::linear(&stream, &layer)?);
            let mut logits = stream.alloc(n * n_outputs)?;
            kernels.linear(&stream, n, &x_there, &layer_there, &mut logits)?;
            let mut expected = vec![0.0; n * n_outputs];
            let (weight, bias) = (widened(&layer.weight), widened(&layer.bias));
            for (x, out) in widened(&x).chunks_exact(n_inputs).zip(expected.chunks_exact_mut(n_outputs)) {
                pieces::linear(x, pieces::Affine { weight: &weight, bias: &bias }, out);
            }
            close("linear layer", &widened(&stream.read(&logits)?), &expected, SUMS);

            let masks: Vec<u8> = (0..n * n_outputs).map(|at| u8::from(at % 7 == 0 || n_outputs == 1)).collect();
            let mut policies = stream.alloc(n * n_outputs)?;
            let masks_there = stream.upload(&masks)?;
            kernels.policy(&stream, n, n_outputs as u32, &logits, &masks_there, &mut policies)?;
            let mut shares = vec![0.0; n * n_outputs];
            for (position, out) in shares.chunks_exact_mut(n_outputs).enumerate() {
                let at = position * n_outputs..(position + 1) * n_outputs;
                pieces::masked_softmax(&expected[at.clone()], &masks[at], out);
            }
            close("policy", &widened(&stream.read(&policies)?), &shares, SUMS);

            let mut values = stream.alloc(n * n_inputs)?;
            kernels.tanh(&stream, n * n_inputs, &x_there, &mut values)?;
            let expected: Vec<f64> = x.iter().map(|&x| f64::from(x).tanh()).collect();
            close("tanh", &widened(&stream.read(&values)?), &expected, SUMS);
        }
        Ok(())
    });
}

/// Small network of the host's and of the reference's kind.
fn small() -> (NetworkShape, plain::Shape) {
    let shape = NetworkShape {
        planes: 3,
        width: 12,
        depth: 2,
        value_filters: 2,
        value_hidden: 9,
        actions: 20,
        ..NetworkShape::default()
    };
    let same = plain::Shape {
        planes: 3,
        width: 12,
        depth: 2,
        value_filters: 2,
        value_hidden: 9,
        actions: 20,
        ..plain::Shape::default()
    };
    (shape, same)
}

/// A network whose convolutions have no bias, which the published kernels compute instead.
fn without_conv_bias(mut network: plain::Network<f64>) -> plain::Network<f64> {
    for tensor in &mut network.tensors {
        if tensor.name.contains("conv") && tensor.name.ends_with(".bias") {
            tensor.values.fill(0.0);
        }
    }
    network
}

#[test]
fn the_network_in_all_forms_and_without_bias() {
    let (shape, plain_shape) = small();
    let n = 3;
    let (observations, masks) = (planes(n * 3 * CELLS, 5), vec![1u8; n * 20]);
    for_each_device(|device| {
        let stream = device.stream()?;
        let network = Network::seeded(shape, 3)?;
        let published = Program::ALL.iter().map(|program| program.options()).chain([Options::published()]);
        for options in input_options().chain(torso_options()).chain(output_options()).chain(published) {
            let mut reference = plain::Network::<f64>::seeded(plain_shape, 3);
            if !options.bias {
                reference = without_conv_bias(reference);
            }
            let mut pass = Pass::default();
            reference.forward::<Sequential>(&widened(&observations), &masks, &mut pass);
            let mut model = Model::new(&stream, &network, options, 4)?;
            let evaluation = model.evaluate(&stream, &observations, &masks)?;
            close("values", &evaluation.values, &pass.value, BLOCKS);
            close("logits", &evaluation.policy_logits, &pass.policy_logits, BLOCKS);
            close("policies", &evaluation.policies, &pass.policy, BLOCKS);
            let blocks = model.block_outputs(&stream, &observations)?;
            let names: Vec<&str> = blocks.iter().map(|block| block.name.as_str()).collect();
            let expected =
                ["input", "torso_0_mid", "torso_0", "torso_1_mid", "torso_1", "value_head_plane", "policy_head_planes"];
            assert_eq!(names, expected);
            let named = pass.named();
            for block in &blocks {
                let (_, expected) = named.iter().find(|(name, _)| *name == block.name).expect("named the same");
                close(&format!("{} with {options:?}", block.name), &widened(&block.values), expected, BLOCKS);
            }
        }
        Ok(())
    });
}

#[test]
fn the_reference_vectors_by_the_published_kernels() {
    let Some(path) = golden::shared("vectors/az_checkers_io.safetensors") else { return };
    let tensors = Tensors::read(&path);
    let (observations, masks) = (tensors.floats("obs"), tensors.bytes("mask"));
    let observations: Vec<f32> = observations.into_iter().map(|value| value as f32).collect();
    for_each_device(|device| {
        // One position keeps some hundred million threads' steps within seconds on the CPU.
        let n = if device.backend() == Backend::Simt { 1 } else { 64 };
        let (observations, masks) = (&observations[..n * 320], &masks[..n * 512]);
        let stream = device.stream()?;
        let network = Network::seeded(NetworkShape::default(), 27)?;
        let mut model = Model::new(&stream, &network, Options::default(), n)?;
        let evaluation = model.evaluate(&stream, observations, masks)?;
        for (name, found, each) in [
            ("value", &evaluation.values, 1),
            ("policy_logits", &evaluation.policy_logits, 512),
            ("policy", &evaluation.policies, 512),
        ] {
            close(name, found, &tensors.floats(name)[..n * each], BLOCKS);
        }
        if device.backend() == Backend::Cuda {
            for block in model.block_outputs(&stream, &observations[..4 * 320])? {
                let expected = match block.name.as_str() {
                    head @ ("value_head_plane" | "policy_head_planes") => {
                        tensors.floats(head)[..block.values.len()].to_vec()
                    }
                    // Of the middles of blocks the reference has the first only.
                    name if name.ends_with("_mid") && name != "torso_0_mid" => continue,
                    name => tensors.floats(&format!("first4.{name}")),
                };
                close(&block.name, &widened(&block.values), &expected, BLOCKS);
            }
        }
        Ok(())
    });
}

/// Logits of positions by the plain program, in double precision.
fn logits(network: &plain::Network<f64>, observations: &[f32], masks: &[u8]) -> Vec<f64> {
    let mut pass = Pass::default();
    network.forward::<plain::Parallel>(&widened(observations), masks, &mut pass);
    pass.policy_logits
}

fn largest_change(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn leaving_out_the_bias_moves_the_reference_logits_by_two() {
    let Some(path) = golden::shared("vectors/az_checkers_io.safetensors") else { return };
    let tensors = Tensors::read(&path);
    let observations: Vec<f32> = tensors.floats("obs").into_iter().map(|value| value as f32).collect();
    let masks = tensors.bytes("mask");
    let network = plain::Network::<f64>::seeded(plain::Shape::default(), 27);
    let published = logits(&without_conv_bias(network), &observations, &masks);
    let moved = largest_change(&published, &tensors.floats("policy_logits"));
    println!("without the convolutions' bias logits move by up to {moved:.4}");
    assert!((1.9..2.1).contains(&moved), "{moved}");
}

#[test]
fn equal_weights_cannot_tell_that_a_weight_is_read_from_another_index() {
    let shape = plain::Shape { width: 32, depth: 1, ..plain::Shape::default() };
    let (observations, masks) = (planes(2 * 320, 8), vec![1u8; 2 * 512]);
    let reference = plain::Network::<f64>::seeded(shape, 27);
    let mut constant = without_conv_bias(reference.clone());
    let weights = |network: &mut plain::Network<f64>, change: &dyn Fn(&mut Vec<f64>)| {
        let convs = network.tensors.iter_mut().filter(|tensor| tensor.name.contains("conv") && tensor.dims.len() == 4);
        convs.for_each(|tensor| change(&mut tensor.values));
    };
    weights(&mut constant, &|values| values.fill(0.01));
    let moved = |right: &plain::Network<f64>| {
        let mut wrong = right.clone();
        // Each kernel turned, inputs and outputs in reverse order: about as wrong as an index can be.
        weights(&mut wrong, &|values| values.reverse());
        largest_change(&logits(&wrong, &observations, &masks), &logits(right, &observations, &masks))
    };
    assert_eq!(moved(&constant), 0.0);
    // Beyond what the paper's check lets pass.
    assert!(moved(&reference) > ATOL_RTOL.0, "{}", moved(&reference));
}

#[test]
fn the_torsos_banks_have_no_conflicts_and_the_plain_order_has_31_a_read() -> Checked {
    let reads = |banked, layers| {
        let report = banks::report(Options { banked, layers, ..Options::default() }, Part::Torso)?;
        let reads = report.counts.iter().filter(|count| count.access == Access::Read).cloned().collect::<Vec<_>>();
        Ok::<_, Error>((report, reads))
    };
    for layers in [1, 8] {
        let (banked, _) = reads(true, layers)?;
        assert_eq!(banked.conflicts(), 0, "{banked:?}");
        let (plain, counts) = reads(false, layers)?;
        // The board's values: 484 taps of a board lie on it, for each of 4 warps; the weights' stride is odd.
        let board = counts.iter().find(|count| count.conflicts() > 0).expect("the board's reads");
        assert_eq!((board.requests, board.conflicts()), (4 * 484, 31 * 4 * 484), "{plain:?}");
        assert_eq!(counts.iter().filter(|count| count.conflicts() > 0).count(), 1, "{plain:?}");
        // Staged by a channel a lane: each write of the board too.
        assert_eq!(plain.conflicts_of(Access::Write), 31 * 4 * 64, "{plain:?}");
    }
    Ok(())
}

/// Section III.B: the paper speaks of the banks' conflicts when tiles are read. The repository's kernels copy 32 values of one channel at a time into one bank.
#[test]
fn the_repositorys_tiles_are_filled_with_31_conflicts_a_write() -> Checked {
    for (options, part) in [
        (Options { torso: TorsoForm::Repository1, ..Options::default() }, Part::Torso),
        (Options { torso: TorsoForm::Repository2, ..Options::default() }, Part::Torso),
        (Options { output: OutputForm::Repository1, ..Options::default() }, Part::Output),
        (Options { output: OutputForm::Repository2, ..Options::default() }, Part::Output),
    ] {
        let report = banks::report(options, part)?;
        // 8,192 values by 32 threads at a time.
        assert_eq!(report.conflicts_of(Access::Write), 31 * 256, "{report:?}");
        assert_eq!(report.conflicts(), report.conflicts_of(Access::Write), "{report:?}");
    }
    for part in [Part::Torso, Part::Output] {
        assert_eq!(banks::report(Options::default(), part)?.conflicts(), 0);
    }
    Ok(())
}

#[test]
fn sums_in_shared_memory_take_32_turns_an_addition() -> Checked {
    for part in [Part::Torso, Part::Output] {
        let options = Options { torso_sums: Sums::Shared, output_sums: Sums::Shared, ..Options::default() };
        let report = banks::report(options, part)?;
        assert_eq!(report.conflicts_of(Access::Update), 31 * 4 * 64, "{report:?}");
        assert_eq!(report.conflicts(), report.conflicts_of(Access::Update), "{report:?}");
    }
    Ok(())
}

#[test]
fn padding_the_observation_makes_conflicts_and_none_are_there_without() -> Checked {
    for input in [InputForm::Squares, InputForm::Planes] {
        let [padded, plain] =
            [true, false].map(|padded| banks::report(Options { input, padded, ..Options::default() }, Part::Input));
        let (padded, plain) = (padded?, plain?);
        println!(
            "{input}: {} conflicts padded, {} plain, of {} requests",
            padded.conflicts(),
            plain.conflicts(),
            plain.requests()
        );
        assert_eq!(plain.conflicts(), 0, "{plain:?}");
        assert_eq!(padded.requests(), plain.requests());
        assert!(padded.conflicts() > 0, "{padded:?}");
    }
    // 45 weights in shared memory add none: all lanes read one at a time.
    for padded in [true, false] {
        let of = |weights| banks::report(Options { weights, padded, ..Options::default() }, Part::Input);
        assert_eq!(of(Weights::Shared)?.conflicts(), of(Weights::Global)?.conflicts());
    }
    Ok(())
}

/// Section III.A says that no two threads of a warp meet in a bank. In the repository's kernels they do, whatever the padding.
#[test]
fn the_repositorys_input_kernels_read_one_bank_by_several_lanes() -> Checked {
    let of = |input| banks::report(Options { input, ..Options::default() }, Part::Input);
    let reads = |report: &BankReport| {
        let reads = report.counts.iter().filter(|count| count.access == Access::Read && count.conflicts() > 0);
        reads.map(|count| (count.requests, count.conflicts())).collect::<Vec<_>>()
    };
    // V3: rows 0 to 7 of 4 columns. Rows r and r + 4 are 32 values apart, so a read takes 2 turns; taps above or below the board leave rows out, but one pair
    // remains of each. 45 taps of 2 warps, each with its weight, which all lanes read together.
    let turned = reads(&of(InputForm::Turned)?);
    assert_eq!(turned.len(), 1, "{turned:?}");
    let (requests, found) = turned[0];
    assert_eq!((requests, found), (2 * 45 * 2, 45 * 2));
    // V1 and V2: 4 planes of 8 rows in a warp, 8 lanes in a bank; a second warp has the last plane, 2 lanes in a bank.
    let rows = reads(&of(InputForm::Rows)?);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let (requests, found) = rows[0];
    // In each of 8 columns 9 taps, less one of three at both ends of the row.
    let turns = (8 * 9 - 2 * 3) as u64;
    assert_eq!((requests, found), (2 * 2 * turns, turns * (7 + 1)));
    // V4, squares in the order of memory: none.
    assert_eq!(of(InputForm::PlanesGlobal)?.conflicts(), 0);
    Ok(())
}

#[test]
fn what_the_kernels_cannot_do_is_refused_by_name() -> Checked {
    let stream = Device::simt().stream()?;
    let refused = |shape: NetworkShape, options: Options, capacity| {
        let network = Network::seeded(shape, 1).expect("the shape is allowed");
        match Model::new(&stream, &network, options, capacity) {
            Ok(_) => panic!("{shape:?} is not refused"),
            Err(error) => error.to_string(),
        }
    };
    let (shape, base) = (small().0, Options::default());
    let expected = "option rows: 9 is not allowed (8, with the published kernels)";
    assert_eq!(refused(NetworkShape { rows: 9, ..shape }, base, 1), expected);
    let planes = Options { input: InputForm::Planes, ..base };
    let expected = "option planes: 17 is not allowed (1 to 16 with input planes)";
    assert_eq!(refused(NetworkShape { planes: 17, ..shape }, planes, 1), expected);
    let layers = Options { layers: 3, ..base };
    assert_eq!(refused(shape, layers, 1), "option layers: 3 is not allowed (1 or 8)");
    let weights = Options { weights: Weights::Global, ..planes };
    let expected = "option weights: global is not allowed (shared with input planes)";
    assert_eq!(refused(shape, weights, 1), expected);
    assert!(refused(shape, base, 0).starts_with("option max batch: 0 is not allowed"));

    let mut model = Model::new(&stream, &Network::seeded(shape, 1)?, base, 2)?;
    let error = model.evaluate(&stream, &[0.0; 100], &[1; 20]).expect_err("no whole position");
    assert_eq!(error.to_string(), "values of the positions: expected 1 to 2 times 192, got 100");
    let error = model.evaluate(&stream, &[0.0; 192], &[1; 21]).expect_err("masks of one position");
    assert_eq!(error.to_string(), "masks: expected 1 times 20 values, got 21");

    let kernels = Kernels::load(stream.device(), base)?;
    let layer = Affine::conv(&stream, &conv(2, 3, 9, 1))?;
    let (x, mut out) = (stream.alloc(2 * CELLS)?, stream.alloc(3 * CELLS - 1)?);
    let error = kernels.torso(&stream, 1, &x, &layer, &mut out).expect_err("the output is too short");
    assert_eq!(error.to_string(), "out: expected at least 192 values, got 191");
    let error = kernels.torso(&stream, 0, &x, &layer, &mut out).expect_err("no position");
    assert!(error.to_string().starts_with("option positions: 0 is not allowed"), "{error}");
    Ok(())
}

/// A network for checkers that takes little time.
fn little(width: u32, depth: u32) -> Result<Network, Error> {
    Network::seeded(NetworkShape { width, depth, value_hidden: 8, ..NetworkShape::default() }, 27)
}

/// Numbers and orders that the paper's text states otherwise than its own table and arrays.
#[test]
fn numbers_of_the_paper() {
    let [input, torso, output, _, torso_layer, output_layer, model] = &TABLE_1;
    // Section IV.C: 4.9 is the speed-up against the GPU, 12.7 that against the CPU, by the runs too.
    let (gpu, cpu) = mean_ratios(input.runs);
    assert!((4.9..5.0).contains(&gpu) && (12.7..12.8).contains(&cpu), "{gpu} {cpu}");
    // The torso's speed-up falls against the GPU; against the CPU the quotient, and not the speed-up, is 1.4.
    assert!(torso_layer.vs_gpu < torso.vs_gpu && torso_layer.vs_cpu < 1.2);
    assert!((torso_layer.vs_cpu / torso.vs_cpu - 1.4).abs() < 0.01);
    // The output's rises too against the CPU.
    assert!(output_layer.vs_cpu > output.vs_cpu);
    // Slower than the library: torso and output kernel against the CPU, the model against both. The worst kernel against the CPU is the output's.
    assert!(torso.vs_cpu < 1.0 && output.vs_cpu < torso.vs_cpu && model.vs_cpu < 1.0 && model.vs_gpu < 1.0);
    // Abstract: 4.9 times is the input kernel's. No layer has it against either, one is slower than the library on the GPU, and the model is, which is the inference.
    let layers = TABLE_1.iter().filter(|component| component.level == Level::Layer);
    assert!(layers.flat_map(|layer| [layer.vs_gpu, layer.vs_cpu]).all(|speed_up| speed_up < 4.9));
    assert!(torso_layer.vs_gpu < 1.0);
    // Section III: 320 values are 10 rows of 32, a board in f32 has 256 bytes, a multiply-add is two operations.
    let planes = 5 * CELLS;
    assert_eq!((planes / 32, CELLS * size_of::<f32>(), 2 * 5 * 9), (10, 256, 90));
    // Section III.B: [256][32] boards and [36][32] filters in f32, a kB of 1024 bytes; the machine of section IV.A has room for them.
    let torso = 4 * (256 * 32 + 36 * 32);
    assert_eq!(TORSO_SHARED_KB * 1024.0, f64::from(torso));
    assert!(TORSO_SHARED_KB < f64::from(MACHINE[0]));
    // Section IV.B: a mean error of 1e-4 is beyond the absolute tolerance by itself.
    assert!(MEAN_ERROR > ATOL_RTOL.0);
}

/// Section IV.B says that batch norm can double a mean error. In the repository's files, GPU to kernels, the torso's falls behind norm and rectifier, and those of input and output, which are 0, rise.
#[test]
fn mean_errors_of_the_repositorys_layers() {
    let gpu_to_kernels = |errors: &[[f64; 3]; 3]| errors.map(|[_, _, error]| error);
    let (alone, layers) = (gpu_to_kernels(&KERNEL_MEAN_ERRORS), gpu_to_kernels(&LAYER_MEAN_ERRORS));
    assert!(layers[1] < alone[1] / 2.0, "{alone:?} {layers:?}");
    assert!(alone[0] == 0.0 && alone[2] == 0.0 && layers[0] > 0.0 && layers[2] > layers[0], "{alone:?} {layers:?}");
    // Where the library has the same on both, the kernels are as far from one as from the other.
    for errors in KERNEL_MEAN_ERRORS.iter().chain(&LAYER_MEAN_ERRORS).chain(&SHARED_MEAN_ERRORS) {
        assert!(errors[0] > 0.0 || errors[1] == errors[2], "{errors:?}");
    }
}

/// Section II.C and Figure 1: the sizes of the network that all items are measured on.
#[test]
fn the_network_is_the_one_of_figure_1() {
    let shape = NetworkShape::default();
    let head = [shape.value_filters, shape.policy_filters];
    assert_eq!([shape.planes, shape.rows, shape.columns, shape.width, shape.depth, head[0], head[1]], NETWORK);
    // Flattened `[1, 64]` and `[1, 128]`.
    assert_eq!(head.map(|filters| filters * shape.rows * shape.columns), [64, 128]);
}

#[test]
fn medians_of_the_published_runs() {
    let input = &TABLE_1[0];
    let [cpu, gpu, kernels] = [0, 1, 2].map(|column| summary(input.runs, column));
    // Most runs of the CPU take a quarter of its mean: a few of up to 50 times that make 12.739 of it.
    assert!(cpu.median < cpu.mean / 2.0 && cpu.max > 10.0 * cpu.median, "{cpu:?}");
    assert!(cpu.median / kernels.median < input.vs_cpu / 2.0);
    // The GPU has none, and its number stands.
    assert!((gpu.median / kernels.median / input.vs_gpu - 1.0).abs() < 0.1, "{gpu:?} {kernels:?}");
}

/// Section IV.C says that the library is always faster on the CPU for kernels and layers. The input kernel's mean on the CPU is one of outliers.
#[test]
fn where_the_library_is_faster_on_the_gpu() {
    let faster = |of: fn(&Summary) -> f64| {
        let parts = TABLE_1.iter().filter(|component| component.level != Level::Model);
        let faster = parts.filter(|part| of(&summary(part.runs, 1)) < of(&summary(part.runs, 0)));
        faster.map(|part| part.name).collect::<Vec<_>>()
    };
    assert_eq!(faster(|runs| runs.mean), ["Input Kernel", "Torso Layer"]);
    assert_eq!(faster(|runs| runs.median), ["Torso Layer"]);
}

/// Section IV.C says that in the first run the library takes significantly longer on the GPU than the kernels do. The output kernel's takes less, in both files.
#[test]
fn where_the_librarys_first_run_on_the_gpu_is_the_shorter_one() {
    let table = TABLE_1.into_iter().map(|component| (component.name, component.runs));
    let all = table.chain(FIGURE_5.map(|(name, _, runs)| (name, runs)));
    let shorter: Vec<&str> = all.filter(|(_, runs)| runs[0][1] < runs[0][2]).map(|(name, _)| name).collect();
    assert_eq!(shorter, ["Output Kernel", "Output Kernel"]);
    let all = claims();
    let claim = all.iter().find(|claim| claim.printed.starts_with("in the first run")).expect("listed");
    for number in ["4.782 to 7.491 ms", "4.665 to 16.547 ms"] {
        assert!(claim.found.contains(number), "{}", claim.found);
    }
}

/// Section IV.C: the first run is the slowest. In the published runs it is.
#[test]
fn the_first_published_run_is_the_slowest() {
    let all = TABLE_1.iter().map(|component| component.runs).chain(FIGURE_5.map(|(.., runs)| runs));
    for runs in all {
        for column in 0..3 {
            let found = summary(runs, column);
            assert!(found.first > found.max && found.min <= found.mean && found.mean <= found.max, "{found:?}");
        }
    }
}

/// Every point names how it is known, and the tests and items that it names are there.
#[test]
fn every_claim_has_evidence() -> Checked {
    let here = include_str!("checkers_conv.rs");
    let library = [
        include_str!("../../../papers/src/checkers_conv/errors.rs"),
        include_str!("../../../papers/src/checkers_conv/kernels/input.rs"),
    ];
    let paper = CheckersConv::new(little(2, 1)?, Plan::default())?;
    let names: Vec<&str> = paper.items().iter().map(|item| item.name).collect();
    for claim in claims() {
        let words: Vec<&str> = claim.evidence.split([' ', ',', ';', ':']).filter(|word| !word.is_empty()).collect();
        let mut known = claim.evidence.contains("repository:");
        for word in &words {
            // Names of tests have underscores and no point.
            if word.contains('_') && !word.contains('.') && !word.contains("::") {
                let there = |text: &&str| text.contains(&format!("fn {word}()"));
                assert!([here].iter().chain(&library).any(there), "{}: no test {word}", claim.location);
                known = true;
            }
            known |= names.contains(word);
        }
        assert!(known, "{}: {}", claim.location, claim.evidence);
    }
    Ok(())
}

#[test]
fn batch_norm_multiplies_an_error_by_weight_over_deviation() -> Checked {
    let study = Study::new(little(32, 2)?, 4);
    let growth = study.growth(4);
    // Every norm of the network: two of each block.
    let convs: Vec<&str> = growth.norms.iter().map(|row| row.conv.as_str()).collect();
    let torso = ["torso_0_mid", "torso_0", "torso_1_mid", "torso_1"];
    assert_eq!(convs, [&["input"][..], &torso, &["value_head_plane", "policy_head_planes"]].concat());
    assert_eq!(growth.norms.iter().map(|row| row.factor).collect::<Vec<_>>(), study.norm_factors());
    for row in &growth.norms {
        // The mean of 64 squares of 4 positions is one of 256 draws a channel, of a relative deviation of 0.58: 6 of its deviations for a single channel.
        let factor = row.behind_norm / MEAN_ERROR;
        assert!((factor / row.factor - 1.0).abs() < 6.0 * 0.58 / 256f64.sqrt(), "{row:?}");
        // A rectifier makes no difference larger.
        assert!(row.behind_relu <= row.behind_norm, "{row:?}");
        // No doubling where weights are below 1.5 and variances above 0.5 only in the extreme: the mean stays below.
        assert!(factor < MEAN_ERROR_GROWTH, "{row:?}");
    }
    let first = &growth.blocks[0];
    assert_eq!(first.after, "input_conv");
    assert!((first.mean / MEAN_ERROR - 1.0).abs() < 1e-6, "{first:?}");
    Ok(())
}

/// Weights of 0.01 on 128 channels: a convolution multiplies by 11.52 where 9 taps are on the board, and by 4/9 of that in a corner.
#[test]
fn equal_weights_without_norms_make_large_errors_of_rounding() {
    for_each_device(|device| {
        let study = Study::new(little(128, 2)?, 1);
        let rows = study.constant_errors(device, 1)?;
        let of = |after: &str| rows.iter().find(|row| row.after == after).expect("named").clone();
        let (input, first, second) = (of("input"), of("torso_0"), of("torso_1"));
        let gain = 1.28 * 9.0;
        let bounds = (gain * 4.0 / 9.0f64).powi(2)..=gain.powi(2) + 1.0;
        for (before, after) in [(&input, &first), (&first, &second)] {
            assert!(bounds.contains(&(after.mean_size / before.mean_size)), "{before:?} {after:?}");
        }
        // The paper's verdict is lost by rounding alone: half a unit of the last place of numbers of this size is above the absolute tolerance.
        assert!(second.mean_size * f64::from(f32::EPSILON) / 2.0 > ATOL_RTOL.0, "{second:?}");
        assert!(!second.errors.within && second.errors.mean.is_some_and(|mean| mean > 0.0), "{second:?}");
        // The sums of 1,152 products are right all the same.
        let largest = second.errors.largest.expect("finite");
        assert!(largest <= 1152.0 * f64::from(f32::EPSILON) * 4.0 * second.mean_size, "{second:?}");
        Ok(())
    });
}

/// Section IV.D: nothing accumulates from evaluation to evaluation.
#[test]
fn an_evaluation_leaves_nothing_behind() {
    for_each_device(|device| {
        let study = Study::new(little(8, 2)?, 2);
        let calls = if device.backend() == Backend::Simt { [1, 12] } else { [1, 1000] };
        for calls in calls {
            let drift = study.drift(device, Options::default(), 2, calls)?.expect("finite");
            // Only the order of the atomic additions differs.
            assert!(drift <= DRIFT_BOUND, "{drift} after {calls} calls");
        }
        Ok(())
    });
}

#[test]
fn a_batch_as_derived_is_refused_or_answered_for_its_first_position() -> Checked {
    // The text of `input_conv_forward`, with its constants 1, 5, 8, 8 and 320.
    assert_eq!(input_layer_refuses(2), Some("input must be of shape [ 1, 5, 8, 8] or [ 1, 320]"));
    assert_eq!(input_layer_refuses(1), None);
    let study = Study::new(little(16, 1)?, 6);
    let rows = study.batch(6);
    let (first, others) = rows.split_first().expect("six");
    // The first is computed without the convolutions' bias.
    let shape = plain::Shape { width: 16, depth: 1, value_hidden: 8, ..plain::Shape::default() };
    let mut network = without_conv_bias(plain::Network::<f64>::seeded(shape, 27));
    let (observations, masks) = study.first(6);
    let mut pass = Pass::default();
    network.forward::<Sequential>(&widened(&observations), &masks, &mut pass);
    assert!((first.value - pass.value[0]).abs() <= BOUND, "{first:?}");
    // The others have the same logits, of convolutions that give 0: which actions are legal decides the best one.
    for tensor in network.tensors.iter_mut().filter(|tensor| tensor.name.contains("conv")) {
        tensor.values.fill(0.0);
    }
    let of_zeros = logits(&network, &observations, &masks);
    let one = &of_zeros[..512];
    assert!(of_zeros.chunks_exact(512).all(|logits| logits == one));
    for row in others {
        let legal = (0..512).filter(|action| masks[row.position * 512 + action] != 0);
        assert_eq!(legal.max_by(|&a, &b| one[a].total_cmp(&one[b])), Some(row.action), "{row:?}");
    }
    // All other positions have one answer, whatever is on their boards; all actions are legal, so this alone stops no player.
    assert!(others.iter().all(|row| row.value == others[0].value), "{rows:?}");
    assert!(others.iter().any(|row| (row.value - row.expected_value).abs() > 1e-3), "{rows:?}");
    assert!(first.value != others[0].value && rows.iter().all(|row| row.legal && row.policy), "{rows:?}");
    Ok(())
}

/// Nobody ends the games.
fn on() -> Result<(), Error> {
    Ok(())
}

fn all_ended(what: &str, played: &Played) {
    println!("{what}: {played:?}");
    let faults = (played.wrong_policies, played.illegal_actions, played.first_fault.as_deref());
    assert_eq!((played.ended, faults), (played.games, (0, 0, None)), "{what}");
}

/// Section IV.D: the published player aborts at some point. Every policy is finite and of sum 1, every action legal, every game has an end.
#[test]
fn a_thousand_games_by_a_network_end_by_the_rules() -> Checked {
    let study = Study::new(little(4, 1)?, 1);
    all_ended("a small network, CPU", &study.games_by_ours(&Device::cpu(), Precision::F32, 1000, on)?);
    let little_study = Study::new(little(1, 1)?, 1);
    let played = little_study.games_by_kernels(&Device::simt(), Options::default(), 1, on)?;
    all_ended("a tiny network, the paper's kernels, simt", &played);
    let Some(device) = gpu() else { return Ok(()) };
    let study = Study::new(Network::seeded(NetworkShape::default(), 27)?, 1);
    for precision in [Precision::F32, Precision::F16] {
        let what = format!("the reference network, {precision}");
        all_ended(&what, &study.games_by_ours(&device, precision, 1000, on)?);
    }
    for (what, options) in [
        ("the paper's kernels", Options::default()),
        ("the paper's kernels without bias", Options::published()),
        ("the repository's kernels", Program::Repository.options()),
    ] {
        all_ended(what, &study.games_by_kernels(&device, options, 1000, on)?);
    }
    Ok(())
}

/// All items in a quick run.
fn measured(device: &Device, plan: Plan, only: &[&str]) -> Result<Report, Box<dyn std::error::Error>> {
    let paper = CheckersConv::new(little(2, 1)?, plan)?;
    let wanted = |name| only.is_empty() || only.contains(&name);
    let items: Vec<_> = paper.items().iter().filter(|item| wanted(item.name)).copied().collect();
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let run = Run::new(device.clone(), true, Journal::in_memory(), &mut watch);
    Ok(measure(&paper, &items, run, |_| ControlFlow::Continue(()))?)
}

#[test]
fn every_item_has_a_sheet_on_every_device() {
    let plan = || Plan { games: Some(2), ..Plan::default() };
    let check = |device: &Device| {
        let report = measured(device, plan(), &[]).expect("measured");
        assert!(report.complete && report.sheets.len() == 15);
        for sheet in &report.sheets {
            let kernels = device.backend() != Backend::Cpu;
            let rows: usize = sheet.tables.iter().map(|table| table.rows.len()).sum();
            let needs_kernels = ["kernels", "errors", "fused"].contains(&sheet.item.as_str());
            let empty = sheet.item == "cache" && device.backend() != Backend::Cuda || needs_kernels && !kernels;
            assert_eq!((rows == 0, sheet.tables.is_empty()), (empty, empty), "{}", sheet.item);
            assert!(!empty || !sheet.left_out.is_empty(), "{}", sheet.item);
            let drawn = sheet.item.starts_with("figure") || sheet.item == "fused" && kernels;
            assert_eq!(sheet.figures.is_empty(), !drawn, "{}", sheet.item);
        }
        columns_are_those_of_the_page("checkers_conv", &serde_json::to_value(&report.sheets).expect("JSON"));
        let text: String = report.sheets.iter().map(ToString::to_string).collect();
        // Both columns of Table I, and a figure's published first run.
        for number in ["4.968", "12.739", "0.549", "0.709"] {
            assert!(text.contains(number), "{number}");
        }
    };
    check(&Device::cpu());
    for_each_device(|device| {
        check(device);
        Ok(())
    });
}

/// A launch that takes minutes on the CPU's threads is ended in its middle.
#[test]
fn a_measurement_on_simt_ends_within_a_launch() -> Checked {
    let paper = CheckersConv::new(little(32, 1)?, Plan::default())?;
    let items: Vec<_> = paper.items().iter().filter(|item| item.name == "errors").copied().collect();
    // How often it is asked; the last answer is an end.
    let ended_after = |most: u32| {
        let mut asked = 0;
        let mut watch = |_: &Step<'_>| {
            asked += 1;
            if asked >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let run = Run::new(Device::simt(), true, Journal::in_memory(), &mut watch);
        let report = measure(&paper, &items, run, |_| ControlFlow::Continue(())).expect("measured, or ended");
        (report, asked)
    };
    let (whole, all) = ended_after(u32::MAX);
    assert!(whole.complete);
    // More often than once a measurement: its launches ask.
    let measurements = u32::try_from(whole.measurements.len()).expect("few");
    assert!(all > measurements, "{all} questions, {measurements} measurements");
    let (ended, asked) = ended_after(2);
    assert!(!ended.complete && asked == 2, "{asked}");
    assert!(ended.measurements.len() < whole.measurements.len());
    Ok(())
}

/// A replay on `simt` of one item whose records were changed in between.
fn replayed(item: &str, change: impl Fn(&str) -> String) -> Result<Report, Stop> {
    let paper = CheckersConv::new(little(2, 1)?, Plan::default())?;
    let items: Vec<_> = paper.items().iter().filter(|found| found.name == item).copied().collect();
    let header = Header::new(paper.name(), paper.options()?, &Device::simt(), true);
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let run = Run::new(Device::simt(), true, Journal::in_memory(), &mut watch);
    let whole = measure(&paper, &items, run, |_| ControlFlow::Continue(()))?;
    let mut recorded = Journal::in_memory();
    for (key, record) in &whole.measurements {
        let text = serde_json::to_string(record).expect("written");
        recorded.insert(key, serde_json::from_str(&change(&text)).expect("read"))?;
    }
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let run = Run::new(Device::simt(), true, Journal::in_memory(), &mut watch).replay(recorded, &header)?;
    measure(&paper, &items, run, |_| ControlFlow::Continue(()))
}

/// Verdicts and launches are measured with times, or with errors whose last bits differ; a replay compares them all the same.
#[test]
fn a_replay_finds_other_verdicts_and_launches() {
    for (item, recorded, other) in [
        ("errors", r#""repository_verdict":true"#, r#""repository_verdict":false"#),
        ("kernels", r#""within":true"#, r#""within":false"#),
        ("fused", r#""launches":"#, r#""launches":1"#),
    ] {
        replayed(item, str::to_string).unwrap_or_else(|stop| panic!("{item}: {stop}"));
        let changed = replayed(item, |text| text.replace(recorded, other));
        assert!(matches!(changed, Err(Stop::Differs { .. })), "{item}: {changed:?}");
    }
}

/// The launches of our engines: a convolution each, heads in two and for short formats the observation's packing; or all convolutions at once, with the heads or
/// before them.
#[test]
fn launches_of_our_engines_are_counted() {
    for_each_device(|device| {
        let depth = 2;
        let study = Study::new(little(128, depth)?, 1);
        for (precision, packing) in [(Precision::F32, 0), (Precision::Bf16, 1)] {
            let layers = study.launches_of_ours(device, Engine::Layers, precision, 1)?;
            assert_eq!(layers, u64::from(1 + 2 * depth) + 2 + packing, "{precision}");
            match study.launches_of_ours(device, Engine::Fused, precision, 1) {
                Ok(fused) => assert!((1..=2).contains(&fused), "{precision}: {fused}"),
                // It needs compute capability 9.0; `simt` has it.
                Err(error) => {
                    assert!(device.backend() == Backend::Cuda, "{error}");
                    skipped(error);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn the_librarys_times_stand_beside_ours() {
    let text = r#"{"schema":1,"library":"torch 2.8","device":"a GPU","cpu":"a CPU","threads":2,"batch":1,
        "components":[{"name":"Input Kernel","gpu_us":[90.0,2e6,4e6],"cpu_us":[70.0,6e6,6e6]}]}"#;
    let baseline = Some(Baseline::parse("torch.json", text).expect("read"));
    let plan = Plan { baseline, ..Plan::default() };
    let report = measured(&Device::simt(), plan, &["table1", "figure2"]).expect("measured");
    let table = &report.sheets[0].tables[0];
    let column = |name: &str| table.columns.iter().position(|column| column.name == name).expect(name);
    let of = |row: usize, name: &str| match &table.rows[row][column(name)] {
        Cell::Number(value) => Some(*value),
        _ => None,
    };
    // Medians and means of 3 s and 6 s over the same time. On `simt` one run is timed, which is its own median.
    for statistic in ["mean / mean", "median / median"] {
        let [gpu, cpu] = ["GPU", "CPU"].map(|device| of(0, &format!("{device}: here, {statistic}")));
        let ratio = cpu.expect("measured") / gpu.expect("measured");
        assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
    }
    assert_eq!(of(1, "GPU: here, mean / mean"), None);
    // The published runs by the same statistics stand beside, and the printed number, which is a mean of ratios.
    let (library, kernels) = (summary(TABLE_1[0].runs, 0), summary(TABLE_1[0].runs, 2));
    assert_eq!(of(0, "CPU: published, mean / mean"), Some(library.mean / kernels.mean));
    assert_eq!(of(0, "CPU: published, mean of ratios"), Some(TABLE_1[0].vs_cpu));
    assert!(report.sheets[0].notes.iter().any(|note| note.contains("torch 2.8")), "{:?}", report.sheets[0].notes);
    let programs: Vec<_> = report.sheets[1].tables[0].rows.iter().map(|row| row[1].clone()).collect();
    assert!(programs.contains(&Cell::from("torch 2.8, a GPU")), "{programs:?}");
}

/// Published runs are of one position: Table I stands where the library has times, and once where it has none.
#[test]
fn table_1_stands_where_the_library_has_times() {
    let of = |baseline: Option<Baseline>| {
        let plan = Plan { batch: vec![1, 2], baseline, ..Plan::default() };
        let report = measured(&Device::cpu(), plan, &["table1"]).expect("measured");
        let sheet = report.sheets.into_iter().next().expect("one item");
        let titles = sheet.tables.iter().map(|table| table.title.clone());
        let titles: Vec<String> = titles.filter(|title| title.starts_with("Table I")).collect();
        (titles, sheet.notes, sheet.left_out)
    };
    let (titles, _, left_out) = of(None);
    assert!(titles.len() == 1 && titles[0].contains(", 1 position,"), "{titles:?}");
    assert!(left_out.iter().any(|what| what.starts_with("Table I for 2 positions")), "{left_out:?}");

    // No plain program takes 6 s for one convolution.
    let text = r#"{"schema":1,"library":"torch 2.8","device":"a GPU","cpu":"a CPU","threads":2,"batch":2,
        "components":[{"name":"Input Kernel","gpu_us":[],"cpu_us":[70.0,6e6,6e6]}]}"#;
    let (titles, notes, left_out) = of(Some(Baseline::parse("torch.json", text).expect("read")));
    assert!(titles.len() == 1 && titles[0].contains(", 2 positions,"), "{titles:?}");
    assert!(left_out.iter().any(|what| what.starts_with("Table I for 1 position:")), "{left_out:?}");
    assert!(notes.iter().any(|note| note.ends_with("with one for: none; not less for: Input Kernel.")), "{notes:?}");
}
