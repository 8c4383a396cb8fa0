//! The network layer by layer does what the plain program does: any shape, every precision, alone or among others, by every one of its kernels.

use proptest::prelude::*;
use warpplay::azero::{BlockOutput, Engine, Evaluator, Inputs, Network, NetworkShape, Outputs};
use warpplay::{Backend, Device, Module, Precision, Stream};
use warpplay_gpu::azero::layers::board::{
    self, NARROW, PAIR, SINGLE, azero_layers_conv_board_narrow, azero_layers_conv_board_pair,
    azero_layers_conv_board_single, azero_layers_conv_row,
};
use warpplay_gpu::azero::layers::conv::{
    ConvLayerArgs, INPUT_GROUP, LARGE, LINE, SMALL, azero_layers_conv_large, azero_layers_conv_small,
};
use warpplay_gpu::azero::layers::tensor::{
    self, TensorLayerArgs, azero_layers_conv_bf16_large, azero_layers_conv_bf16_small, azero_layers_conv_fp16_large,
    azero_layers_conv_fp16_small, azero_layers_conv_tf32_large, azero_layers_conv_tf32_small,
};
use warpplay_gpu::cuda::mma;
use warpplay_gpu::ptx::embedded::AZERO_LAYERS;
use warpplay_tests::Checked;
use warpplay_tests::azero::{FP32, all_positions, bounds, four_positions, reference_network};
use warpplay_tests::backends::{each_image, for_each_device};
use warpplay_tests::random::Random;
use warpplay_tests::skipped::skipped;
use warpplay_tests::strategies::config;
use warpplay_tests::tolerance::{Tolerance, close, same, widened};

const PRECISIONS: [Precision; 4] = [Precision::F32, Precision::Tf32, Precision::F16, Precision::Bf16];

/// Observations of 0 and 1, and masks with about a third of the actions.
fn positions(shape: NetworkShape, n: usize, seed: u64) -> (Vec<f32>, Vec<u8>) {
    let mut numbers = Random(seed);
    let observations = (0..n * shape.n_observation()).map(|_| (numbers.unit() * 2.0).floor()).collect();
    let actions = shape.actions as usize;
    let mut masks: Vec<u8> = (0..n * actions).map(|_| u8::from(numbers.unit() < 0.3)).collect();
    masks.iter_mut().step_by(actions).for_each(|mask| *mask = 1);
    (observations, masks)
}

fn layers(
    device: &Device,
    network: &Network,
    precision: Precision,
    max_batch: usize,
) -> Result<Evaluator, warpplay::Error> {
    Evaluator::builder(network).precision(precision).engine(Engine::Layers).max_batch(max_batch).build(device)
}

/// What a network of any shape may differ from double precision: the reference's bound on logits, which are sums over all that came before.
fn bound(precision: Precision) -> Tolerance {
    let size = match precision {
        Precision::F32 => return FP32,
        Precision::Tf32 => 8e-3,
        Precision::F16 => 9e-3,
        _ => 8e-2,
    };
    Tolerance { abs: size, rel: size }
}

fn check_network(device: &Device, shape: NetworkShape, n: usize, precision: Precision) -> Checked {
    let network = Network::seeded(shape, 5)?;
    let (observations, masks) = positions(shape, n, 3);
    let mut plain = Evaluator::builder(&network).precision(Precision::F64).build(&Device::cpu())?;
    let mut evaluator = layers(device, &network, precision, n)?;
    let what = format!("{precision}, {n} positions of {shape:?} on {device}");
    let bound = bound(precision);
    let (found, expected) = (evaluator.blocks(&observations)?, plain.blocks(&observations)?);
    same(&format!("blocks of {what}"), &names(&found), &names(&expected));
    for (found, expected) in found.iter().zip(&expected) {
        close(&format!("{} of {what}", found.name), &widened(&found.values), &widened(&expected.values), bound);
    }
    let (found, expected) = (evaluator.evaluate(&observations, &masks)?, plain.evaluate(&observations, &masks)?);
    close(&format!("values of {what}"), &found.values, &expected.values, bound);
    close(&format!("logits of {what}"), &found.policy_logits, &expected.policy_logits, bound);
    close(&format!("policies of {what}"), &found.policies, &expected.policies, bound);
    for (position, policy) in found.policies.chunks_exact(shape.actions as usize).enumerate() {
        assert!((policy.iter().sum::<f64>() - 1.0).abs() < 1e-5, "policy {position} of {what}");
        let masks = &masks[position * policy.len()..][..policy.len()];
        assert!(
            policy.iter().zip(masks).all(|(&share, &mask)| mask == 1 || share == 0.0),
            "policy {position} of {what}"
        );
    }
    Ok(())
}

fn names(blocks: &[BlockOutput]) -> Vec<String> {
    blocks.iter().map(|block| block.name.clone()).collect()
}

proptest! {
    #![proptest_config(config("azero_layers", 6))]

    #[test]
    fn any_network_is_the_plain_programs(
        (rows, columns) in prop_oneof![Just((8u32, 8u32)), (1u32..=10, 1u32..=12)],
        (planes, width, depth) in (1u32..=9, 8u32..=160, 0u32..=2),
        (value_filters, value_hidden, policy_filters, actions) in (1u32..=3, 1u32..=140, 1u32..=5, 1u32..=300),
        n in 1usize..=3,
        precision in proptest::sample::select(&PRECISIONS),
    ) {
        let shape = NetworkShape { rows, columns, planes, width, depth, value_filters, value_hidden, policy_filters, actions };
        for_each_device(|device| check_network(device, shape, n, precision));
    }
}

#[test]
fn boards_of_other_sizes_and_odd_widths_in_every_precision() {
    let shape = NetworkShape {
        rows: 3,
        columns: 5,
        planes: 3,
        width: 9,
        depth: 2,
        value_filters: 2,
        value_hidden: 7,
        policy_filters: 3,
        actions: 21,
    };
    for precision in PRECISIONS {
        for_each_device(|device| {
            check_network(device, shape, 3, precision)?;
            check_network(device, NetworkShape { rows: 9, columns: 9, width: 24, depth: 1, ..shape }, 2, precision)?;
            check_network(device, NetworkShape { rows: 1, columns: 32, width: 16, depth: 1, ..shape }, 2, precision)?;
            check_network(device, NetworkShape { rows: 8, columns: 8, width: 33, depth: 1, ..shape }, 2, precision)?;
            check_network(device, NetworkShape { rows: 8, columns: 8, planes: 40, depth: 0, ..shape }, 5, precision)
        });
    }
}

#[test]
fn the_reference_network_is_within_the_bounds() {
    let all = all_positions();
    for_each_device(|device| {
        // On the CPU, thread by thread, a position takes seconds.
        let (positions, n) = match (&all, device.backend()) {
            (Some(all), Backend::Cuda) => (all, all.n),
            _ => (&four_positions(), 1),
        };
        for precision in PRECISIONS {
            let mut evaluator = layers(device, &reference_network(), precision, n)?;
            let (observations, masks) = positions.first(n);
            let found = evaluator.evaluate(observations, masks)?;
            positions.check(&format!("{precision} on {device}"), &found, n, bounds(precision));
        }
        Ok(())
    });
}

#[test]
fn single_precision_is_within_1e_5_after_every_block() {
    let Some(positions) = all_positions() else { return };
    for_each_device(|device| {
        let n = if device.backend() == Backend::Cuda { 4 } else { 1 };
        let mut evaluator = layers(device, &reference_network(), Precision::F32, n)?;
        let (observations, _) = positions.first(n);
        for block in evaluator.blocks(observations)? {
            let known = block.name == "input" || block.name == "torso_0_mid" || !block.name.ends_with("_mid");
            if known {
                let expected = match block.name.contains("head_plane") {
                    true => positions.expected(&block.name),
                    false => positions.block(&block.name),
                };
                let found = widened(&block.values);
                close(&format!("{} on {device}", block.name), &found, &expected[..found.len()], FP32);
            }
        }
        Ok(())
    });
}

/// Evaluates each size of batch and holds every position to its bits in the largest.
fn check_batches(device: &Device, shape: NetworkShape, precision: Precision, sizes: &[usize]) -> Checked {
    let network = Network::seeded(shape, 8)?;
    let most = sizes.iter().copied().max().unwrap_or(1);
    let (observations, masks) = positions(shape, most, 11);
    let mut evaluator = layers(device, &network, precision, most)?;
    let whole = evaluator.evaluate(&observations, &masks)?;
    let (planes, actions) = (shape.n_observation(), shape.actions as usize);
    for &n in sizes {
        // The last n, so that each position has another index.
        let from = most - n;
        let found = evaluator.evaluate(&observations[from * planes..], &masks[from * actions..])?;
        let what = format!("{precision}, {n} of {most} on {device}");
        same(&format!("values of {what}"), &found.values, &whole.values[from..]);
        same(&format!("logits of {what}"), &found.policy_logits, &whole.policy_logits[from * actions..]);
        same(&format!("policies of {what}"), &found.policies, &whole.policies[from * actions..]);
    }
    Ok(())
}

#[test]
fn a_position_has_the_same_bits_alone_and_among_others() {
    let small = NetworkShape {
        rows: 3,
        columns: 4,
        planes: 2,
        width: 8,
        depth: 1,
        value_hidden: 9,
        actions: 11,
        ..NetworkShape::default()
    };
    let board = NetworkShape { width: 16, depth: 1, value_hidden: 9, actions: 40, ..NetworkShape::default() };
    for_each_device(|device| {
        for precision in PRECISIONS {
            check_batches(device, small, precision, &[1, 2, 63, 64, 65])?;
        }
        check_batches(device, small, Precision::F32, &[1, 7, 520])?;
        check_batches(device, board, Precision::F32, &[1, 64, 65])?;
        if device.backend() == Backend::Cuda {
            for precision in PRECISIONS {
                check_batches(device, NetworkShape::default(), precision, &[1, 2, 63, 64, 65, 99, 130, 300, 600])?;
                let large = NetworkShape { rows: 9, columns: 9, width: 96, depth: 2, ..NetworkShape::default() };
                check_batches(device, large, precision, &[1, 65, 700])?;
            }
        }
        Ok(())
    });
}

#[test]
fn one_legal_action_has_all_of_the_policy() {
    let shape = NetworkShape { rows: 4, columns: 4, width: 8, depth: 1, actions: 70, ..NetworkShape::default() };
    let network = Network::seeded(shape, 2).expect("a shape");
    for_each_device(|device| {
        let mut evaluator = layers(device, &network, Precision::F32, 3)?;
        let (observations, _) = positions(shape, 3, 4);
        let mut masks = vec![0; 3 * 70];
        for (position, action) in [(0, 0), (1, 33), (2, 69)] {
            masks[position * 70 + action] = 1;
        }
        let found = evaluator.evaluate(&observations, &masks)?;
        same("policies", &found.policies, &masks.iter().map(|&mask| f64::from(mask)).collect::<Vec<_>>());
        Ok(())
    });
}

#[test]
fn evaluations_on_the_device_allocate_nothing_and_follow_their_buffers() {
    let shape = NetworkShape { rows: 4, columns: 4, width: 8, depth: 1, actions: 6, ..NetworkShape::default() };
    let network = Network::seeded(shape, 2).expect("a shape");
    for_each_device(|device| {
        let mut evaluator = layers(device, &network, Precision::F32, 5)?;
        let stream = device.stream()?;
        let mut batches = Vec::new();
        for seed in [1, 2] {
            let (observations, masks) = positions(shape, 5, seed);
            let mut inputs = Inputs::new(&stream, shape, 5)?;
            stream.write(&mut inputs.observations, 0, &observations)?;
            stream.write(&mut inputs.masks, 0, &masks)?;
            let expected = evaluator.evaluate(&observations, &masks)?;
            batches.push((inputs, Outputs::new(&stream, shape, 5)?, expected));
        }
        let before = device.allocations();
        for n in [5, 3, 5, 1, 5] {
            for (inputs, outputs, expected) in &mut batches {
                stream.zero(&mut outputs.values)?;
                evaluator.enqueue(&stream, inputs, n, outputs)?;
                let values = widened(&stream.read(&outputs.values)?);
                same("values", &values[..n], &expected.values[..n]);
                assert!(values[n..].iter().all(|&value| value == 0.0), "beyond the batch nothing is written");
            }
        }
        assert_eq!(device.allocations(), before);
        // Inside a recording the launches are part of it.
        let (inputs, outputs, expected) = &mut batches[0];
        let graph = stream.capture(|stream| evaluator.enqueue(stream, inputs, 5, outputs))?;
        stream.zero(&mut outputs.policies)?;
        stream.launch_graph(&graph)?;
        same("policies", &widened(&stream.read(&outputs.policies)?), &expected.policies);
        Ok(())
    });
}

/// A convolution with residual and rectifier in double precision, `[n, outputs, rows, columns]`.
fn plain_conv(conv: &Convolution, input: &[f32], weights: &[f32], bias: &[f32], residual: &[f32]) -> Vec<f64> {
    let &Convolution { n, rows, columns, n_inputs, n_outputs } = conv;
    let cells = rows * columns;
    let mut found = Vec::new();
    for (plane, residual) in residual.chunks_exact(cells).enumerate() {
        let (position, output) = (plane / n_outputs, plane % n_outputs);
        for (cell, &residual) in residual.iter().enumerate() {
            let mut sum = f64::from(bias[output]) + f64::from(residual);
            for channel in 0..n_inputs {
                for tap in 0..9 {
                    // Both are one too large.
                    let (y, x) = (cell / columns + tap / 3, cell % columns + tap % 3);
                    if (1..=rows).contains(&y) && (1..=columns).contains(&x) {
                        let from = (position * n_inputs + channel) * cells + (y - 1) * columns + x - 1;
                        sum += f64::from(weights[(output * n_inputs + channel) * 9 + tap]) * f64::from(input[from]);
                    }
                }
            }
            found.push(sum.max(0.0));
        }
    }
    assert_eq!(found.len(), n * n_outputs * cells);
    found
}

/// Sizes of one convolution.
struct Convolution {
    n: usize,
    rows: usize,
    columns: usize,
    n_inputs: usize,
    n_outputs: usize,
}

impl Convolution {
    fn data(&self) -> [Vec<f32>; 4] {
        let cells = self.n * self.rows * self.columns;
        let mut numbers = Random(77);
        let weights = numbers.signed_vec(self.n_outputs * self.n_inputs * 9).iter().map(|w| w * 0.2).collect();
        [
            numbers.signed_vec(cells * self.n_inputs),
            weights,
            numbers.signed_vec(self.n_outputs),
            numbers.signed_vec(cells * self.n_outputs),
        ]
    }
}

#[test]
fn every_kernel_in_single_precision_gives_the_same_bits() {
    let convolutions = [
        Convolution { n: 5, rows: 8, columns: 8, n_inputs: 11, n_outputs: 40 },
        Convolution { n: 1, rows: 8, columns: 8, n_inputs: 4, n_outputs: 130 },
        Convolution { n: 3, rows: 5, columns: 7, n_inputs: 3, n_outputs: 33 },
    ];
    for conv in convolutions {
        let [input, weights, bias, residual] = conv.data();
        let expected = plain_conv(&conv, &input, &weights, &bias, &residual);
        let line = conv.n_outputs.next_multiple_of(LINE as usize);
        let mut packed = vec![0.0f32; conv.n_inputs.next_multiple_of(INPUT_GROUP as usize) * 9 * line];
        for (at, &weight) in weights.iter().enumerate() {
            packed[at % (conv.n_inputs * 9) * line + at / (conv.n_inputs * 9)] = weight;
        }
        let mut wide_bias = bias.clone();
        wide_bias.resize(line, 0.0);
        for_each_device(|device| {
            let stream = device.stream()?;
            let (input, packed) = (stream.upload(&input)?, stream.upload(&packed)?);
            let (wide_bias, residual) = (stream.upload(&wide_bias)?, stream.upload(&residual)?);
            for set in each_image(device, &AZERO_LAYERS) {
                let module = Module::load(device, &set)?;
                let mut all: Vec<(&str, Vec<f32>)> = Vec::new();
                let [n, rows, columns] = [conv.n, conv.rows, conv.columns].map(|size| size as u32);
                let (n_inputs, n_outputs) = (conv.n_inputs as u32, conv.n_outputs as u32);
                macro_rules! run {
                    ($kernel:ident, $shape:expr) => {
                        let mut output = stream.alloc::<f32>(residual.len())?;
                        let layer = ConvLayerArgs {
                            input: input.view(),
                            weights: packed.view(),
                            bias: wide_bias.view(),
                            residual: residual.view(),
                            output: output.view_mut(),
                            n,
                            rows,
                            columns,
                            n_inputs,
                            n_outputs,
                            line: line as u32,
                        };
                        // SAFETY: the kernel's own shape.
                        unsafe { stream.launch(&module.function($kernel)?, $shape, (layer,))? };
                        all.push((stringify!($kernel), stream.read(&output)?));
                    };
                }
                run!(azero_layers_conv_large, LARGE.shape(n, rows * columns, n_outputs));
                run!(azero_layers_conv_small, SMALL.shape(n, rows * columns, n_outputs));
                if (rows, columns) == (8, 8) {
                    run!(azero_layers_conv_board_pair, PAIR.shape(n, n_outputs));
                    run!(azero_layers_conv_board_single, SINGLE.shape(n, n_outputs));
                    run!(azero_layers_conv_board_narrow, NARROW.shape(n, n_outputs));
                    run!(azero_layers_conv_row, board::row_shape(n, n_outputs));
                }
                for (name, values) in &all {
                    close(&format!("{name} on {device}"), &widened(values), &expected, FP32);
                    same(&format!("{name} on {device}"), values, &all[0].1);
                }
            }
            Ok(())
        });
    }
}

/// A format of tensor cores: values of a word, and a word of values rounded as the kernels do.
struct Format {
    precision: Precision,
    per_word: usize,
    pack: fn(f32, f32) -> u32,
    unpack: fn(u32) -> [f32; 2],
}

const FORMATS: [Format; 3] = [
    Format {
        precision: Precision::Tf32,
        per_word: 1,
        pack: |a, _| mma::round_tf32(a),
        unpack: |w| [f32::from_bits(w), 0.0],
    },
    Format {
        precision: Precision::Bf16,
        per_word: 2,
        pack: mma::pack_bf16,
        unpack: |w| [f32::from_bits(w << 16), f32::from_bits(w & 0xFFFF_0000)],
    },
    Format { precision: Precision::F16, per_word: 2, pack: mma::pack_f16, unpack: mma::unpack_f16 },
];

impl Format {
    fn words(&self, channels: usize) -> usize {
        channels.div_ceil(self.per_word).next_multiple_of(tensor::GROUP as usize)
    }

    fn rounded(&self, values: &[f32]) -> Vec<f32> {
        values.iter().map(|&value| (self.unpack)((self.pack)(value, 0.0))[0]).collect()
    }

    /// Planes `[n, channels, cells]` as channels of cells.
    fn packed(&self, values: &[f32], channels: usize, cells: usize) -> Vec<u32> {
        let value = |cell: usize, channel: usize| match channel < channels {
            true => values[(cell / cells * channels + channel) * cells + cell % cells],
            false => 0.0,
        };
        let words = self.words(channels);
        (0..values.len() / channels * words)
            .map(|at| {
                let (cell, first) = (at / words, at % words * self.per_word);
                (self.pack)(value(cell, first), value(cell, first + 1))
            })
            .collect()
    }

    /// The reverse.
    fn unpacked(&self, packed: &[u32], channels: usize, cells: usize) -> Vec<f32> {
        let words = self.words(channels);
        (0..packed.len() / words * channels)
            .map(|at| {
                let (plane, cell_of) = (at / cells, at % cells);
                let (cell, channel) = (plane / channels * cells + cell_of, plane % channels);
                (self.unpack)(packed[cell * words + channel / self.per_word])[channel % self.per_word]
            })
            .collect()
    }

    /// Weights as chunks, taps, outputs, words.
    fn weights(&self, weights: &[f32], conv: &Convolution) -> Vec<u32> {
        let chunk = tensor::CHUNK as usize;
        let line = conv.n_outputs.next_multiple_of(LINE as usize);
        let size = self.words(conv.n_inputs).div_ceil(chunk) * 9 * line * chunk;
        let weight = |output: usize, input: usize, tap: usize| match output < conv.n_outputs && input < conv.n_inputs {
            true => weights[(output * conv.n_inputs + input) * 9 + tap],
            false => 0.0,
        };
        (0..size)
            .map(|at| {
                let (word, output, tap) = (at % chunk, at / chunk % line, at / chunk / line % 9);
                let input = (at / chunk / line / 9 * chunk + word) * self.per_word;
                (self.pack)(weight(output, input, tap), weight(output, input + 1, tap))
            })
            .collect()
    }
}

#[test]
fn both_tiles_of_tensor_cores_give_the_same_bits() {
    let convolutions = [
        Convolution { n: 3, rows: 8, columns: 8, n_inputs: 72, n_outputs: 136 },
        Convolution { n: 2, rows: 5, columns: 9, n_inputs: 20, n_outputs: 40 },
    ];
    for (conv, format) in convolutions.iter().flat_map(|conv| FORMATS.iter().map(move |format| (conv, format))) {
        let cells = conv.rows * conv.columns;
        let [input, weights, bias, residual] = conv.data();
        let [input, weights] = [input, weights].map(|values| format.rounded(&values));
        let residual = format.rounded(&residual);
        let expected = plain_conv(conv, &input, &weights, &bias, &residual);
        // Operands are exact here; what is left is the output's rounding, 2^-9 or 2^-11, and sums in single precision.
        let rel = [1e-5, 2f64.powi(-8), 2f64.powi(-10)]
            [FORMATS.iter().position(|f| f.precision == format.precision).unwrap_or(0)];
        let mut wide_bias = bias.clone();
        wide_bias.resize(conv.n_outputs.next_multiple_of(LINE as usize), 0.0);
        for_each_device(|device| {
            let stream = device.stream()?;
            let input = stream.upload(&format.packed(&input, conv.n_inputs, cells))?;
            let weights = stream.upload(&format.weights(&weights, conv))?;
            let residual = stream.upload(&format.packed(&residual, conv.n_outputs, cells))?;
            let wide_bias = stream.upload(&wide_bias)?;
            for set in each_image(device, &AZERO_LAYERS) {
                // Before sm_80 there is nothing to multiply with.
                if device.backend() == Backend::Cuda && set.images.iter().all(|image| image.arch == "sm_75") {
                    skipped(format_args!("{device} takes the image of sm_75, which has no tensor cores"));
                    continue;
                }
                let module = Module::load(device, &set)?;
                let large =
                    run_tensor(&stream, &module, conv, format, (&input, &weights, &wide_bias, &residual), true)?;
                let small =
                    run_tensor(&stream, &module, conv, format, (&input, &weights, &wide_bias, &residual), false)?;
                let what = format!("{} on {device}", format.precision);
                same(&what, &small, &large);
                let found = format.unpacked(&large, conv.n_outputs, cells);
                close(&what, &widened(&found), &expected, Tolerance { abs: 1e-4, rel });
            }
            Ok(())
        });
    }
}

type TensorBuffers<'a> =
    (&'a warpplay::Buffer<u32>, &'a warpplay::Buffer<u32>, &'a warpplay::Buffer<f32>, &'a warpplay::Buffer<u32>);

fn run_tensor(
    stream: &Stream,
    module: &Module,
    conv: &Convolution,
    format: &Format,
    (input, weights, bias, residual): TensorBuffers<'_>,
    large: bool,
) -> Result<Vec<u32>, warpplay::Error> {
    let mut output = stream.alloc::<u32>(residual.len())?;
    let layer = TensorLayerArgs {
        input: input.view(),
        weights: weights.view(),
        bias: bias.view(),
        residual: residual.view(),
        output: output.view_mut(),
        n: conv.n as u32,
        rows: conv.rows as u32,
        columns: conv.columns as u32,
        input_words: format.words(conv.n_inputs) as u32,
        output_words: format.words(conv.n_outputs) as u32,
        line: bias.len() as u32,
    };
    let tiles = if large { tensor::LARGE } else { tensor::SMALL };
    let shape = tiles.shape(layer.n, layer.rows, layer.columns, conv.n_outputs as u32);
    macro_rules! launch {
        ($kernel:ident) => {
            // SAFETY: the kernel's own shape.
            unsafe { stream.launch(&module.function($kernel)?, shape, (layer,))? }
        };
    }
    match (format.precision, large) {
        (Precision::Tf32, true) => launch!(azero_layers_conv_tf32_large),
        (Precision::Tf32, false) => launch!(azero_layers_conv_tf32_small),
        (Precision::Bf16, true) => launch!(azero_layers_conv_bf16_large),
        (Precision::Bf16, false) => launch!(azero_layers_conv_bf16_small),
        (_, true) => launch!(azero_layers_conv_fp16_large),
        (_, false) => launch!(azero_layers_conv_fp16_small),
    }
    stream.read(&output)
}
