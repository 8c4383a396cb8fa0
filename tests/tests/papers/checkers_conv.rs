//! The kernels of Paul and Xu for the AlphaZero network, each alone against the plain functions, and the network that is made of them.

use warpplay::azero::{Conv, Linear, Network, NetworkShape, Norm};
use warpplay::{Backend, BankReport, Device, Error, Stream};
use warpplay_cpu_ref::azero::{self as plain, Pass, Sequential, pieces};
use warpplay_gpu::mlp::random;
use warpplay_gpu::simt::Access;
use warpplay_papers::checkers_conv::{Affine, InputForm, Kernels, Model, NormArrays, Options, TorsoSums};
use warpplay_tests::Checked;
use warpplay_tests::backends::for_each_device;
use warpplay_tests::golden::{self, Tensors};
use warpplay_tests::tolerance::{Tolerance, close, same, widened};

/// Rounding of sums of up to 1,170 products of numbers below 1.
const SUMS: Tolerance = Tolerance { abs: 1e-5, rel: 1e-5 };
/// The bound that every block's output is held to.
const BLOCKS: Tolerance = Tolerance { abs: 1e-5, rel: 1e-5 };
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

fn input_options() -> impl Iterator<Item = Options> {
    InputForm::ALL.iter().flat_map(|&input| {
        [true, false].map(|padded| Options {
            input,
            padded,
            bias: !(padded && input == InputForm::Planes),
            ..Options::default()
        })
    })
}

fn torso_options() -> impl Iterator<Item = Options> {
    TorsoSums::ALL.iter().flat_map(|&torso_sums| {
        [(true, 8), (false, 8), (true, 1), (false, 1)].map(|(banked, torso_layers)| Options {
            torso_sums,
            banked,
            torso_layers,
            bias: torso_layers == 8,
            ..Options::default()
        })
    })
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
fn what_stands_between_and_behind_the_convolutions() {
    for_each_device(|device| {
        let stream = device.stream()?;
        let kernels = Kernels::load(device, Options::default())?;
        for (salt, (n, channels)) in (1..).zip([(1, 1), (3, 5), (2, 33)]) {
            let (each, all) = (channels * CELLS, n * channels * CELLS);
            let (x, y) = (values(all, salt), values(all, salt + 1));
            let x_there = stream.upload(&x)?;

            let layer = conv(channels, 3, 1, salt + 2);
            let layer_there = Affine::conv(&stream, &layer)?;
            let found =
                run_conv(&stream, n * 3 * CELLS, |out| kernels.output(&stream, n, &x_there, &layer_there, out))?;
            let mut expected = vec![0.0; n * 3 * CELLS];
            for (x, out) in widened(&x).chunks_exact(each).zip(expected.chunks_exact_mut(3 * CELLS)) {
                pieces::matmul(&widened(&layer.weight), x, out, (3, CELLS, channels));
                pieces::add_bias(out, &widened(&layer.bias), CELLS);
            }
            close("output convolution", &widened(&found), &expected, SUMS);

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
        for options in input_options().chain(torso_options()).chain([Options::published()]) {
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
    assert!(moved(&reference) > 0.5, "{}", moved(&reference));
}

/// Bank conflicts of one convolution of the paper's size on `simt`.
fn conflicts(options: Options, torso: bool) -> Result<BankReport, Error> {
    let device = Device::simt();
    let stream = device.stream()?;
    let kernels = Kernels::load(&device, options)?;
    let n_inputs = if torso { 128 } else { 5 };
    let layer = Affine::conv(&stream, &conv(n_inputs, 1, 9, 1))?;
    let (x, mut out) = (stream.upload(&values(n_inputs * CELLS, 2))?, stream.alloc(CELLS)?);
    let (launched, report) = device.count_bank_conflicts(|| {
        if torso {
            kernels.torso(&stream, 1, &x, &layer, &mut out)
        } else {
            kernels.input(&stream, 1, &x, &layer, &mut out)
        }
    })?;
    launched.map(|()| report)
}

#[test]
fn the_torsos_banks_have_no_conflicts_and_the_plain_order_has_31_a_read() -> Checked {
    let reads = |banked, layers| {
        let report = conflicts(Options { banked, torso_layers: layers, ..Options::default() }, true)?;
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

#[test]
fn sums_in_shared_memory_take_32_turns_an_addition() -> Checked {
    let report = conflicts(Options { torso_sums: TorsoSums::Shared, ..Options::default() }, true)?;
    assert_eq!(report.conflicts_of(Access::Update), 31 * 4 * 64, "{report:?}");
    assert_eq!(report.conflicts(), report.conflicts_of(Access::Update), "{report:?}");
    Ok(())
}

#[test]
fn padding_the_observation_makes_conflicts_and_none_are_there_without() -> Checked {
    for input in [InputForm::Squares, InputForm::Planes] {
        let [padded, plain] =
            [true, false].map(|padded| conflicts(Options { input, padded, ..Options::default() }, false));
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
    let layers = Options { torso_layers: 3, ..base };
    assert_eq!(refused(shape, layers, 1), "option torso layers: 3 is not allowed (1 or 8)");
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
