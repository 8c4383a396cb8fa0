//! Scales of single precision: powers of two, so that no number is rounded by them and the network stays the same function.
//!
//! A number is two halves of 16 bits, whose unit is 2⁻²⁴ at the least: a small one has fewer than 22 bits, a large one overflows. So each channel of activations is
//! kept times `2^a`, and each row of weights (all that makes one output) times `2^r`:
//!
//! ```text
//! weights of output o, input i    w · 2^(r[o] - a[i])            largest of a row: 2^14 to 2^15
//! sum                             2^r[o] times the plain one
//! kept                            relu(sum · 2^(a[o] - r[o]) + bias · 2^a[o])      and for a block's second convolution + the block's input, kept in the same scale
//! heads' 1×1 convolutions         w · 2^-a[i]: their planes are the plain ones
//! ```
//!
//! `a` is found by running the network on a few observations: the channel's largest value before its rectifier becomes 2^5 to 2^6. That leaves a factor of 1,000 until the large
//! half overflows, and 2^8 down to where the small half begins to lose bits. The residual stream has one scale for all blocks.

use rayon::prelude::*;
use warpplay_gpu::azero::fused;
use warpplay_gpu::split_mix::mix;

use crate::azero::NetworkShape;
use crate::azero::folded::{FoldedConv, FoldedNetwork};

/// Exponent of a row's largest weight.
const WEIGHT: i32 = 14;
/// Exponent of a channel's largest activation among the samples.
const ACTIVATION: i32 = 5;
/// Maximum absolute value of a channel's exponent: the sum of two stays within the exponents of single precision.
const MOST: i32 = 60;
/// Number of sample observations.
const SAMPLES: u64 = 4;

const CELLS: usize = fused::CELLS as usize;
const SIDE: usize = fused::SIDE as usize;
/// Squares of a row including its borders.
const PADDED: usize = SIDE + 2;

/// A network with the scales that the kernels use.
pub(super) struct Scaled {
    /// Convolutions and heads with their scales.
    pub network: FoldedNetwork,
    /// Factors that convert sums to the scale of the outputs, `[n_convs, width]`.
    pub factors: Vec<f32>,
    /// Exponents of the outputs' scales, `[n_convs, width]`.
    pub exponents: Vec<i32>,
}

impl Scaled {
    /// Leaves the network unchanged: every scale is 1.
    pub fn plain(network: FoldedNetwork) -> Self {
        let n = (1 + 2 * network.torso.len()) * network.input.n_outputs;
        Self { network, factors: vec![1.0; n], exponents: vec![0; n] }
    }

    /// Scales the network according to the activations of the sample observations.
    pub fn new(mut network: FoldedNetwork) -> Self {
        let (trunk, middles) = channels(&network);
        let mut scaled = Self { factors: Vec::new(), exponents: Vec::new(), network: network.clone() };
        scaled.network.input = scaled.conv(&network.input, &vec![0; network.input.n_inputs], &trunk);
        for (at, middle) in middles.iter().enumerate() {
            let [first, second] = &network.torso[at];
            scaled.network.torso[at] = [scaled.conv(first, &trunk, middle), scaled.conv(second, middle, &trunk)];
        }
        for conv in [&mut network.value_conv, &mut network.policy_conv] {
            for row in conv.weight.chunks_exact_mut(conv.n_inputs) {
                row.iter_mut().zip(&trunk).for_each(|(weight, &exponent)| *weight = times(*weight, -exponent));
            }
        }
        (scaled.network.value_conv, scaled.network.policy_conv) = (network.value_conv, network.policy_conv);
        scaled
    }

    /// Scales a 3×3 convolution and records its factors and exponents.
    fn conv(&mut self, conv: &FoldedConv, inputs: &[i32], outputs: &[i32]) -> FoldedConv {
        let mut scaled = conv.clone();
        let rows = scaled.weight.chunks_exact_mut(9 * conv.n_inputs);
        for ((row, bias), &output) in rows.zip(&mut scaled.bias).zip(outputs) {
            let weights = || row.chunks_exact(9).zip(inputs);
            let largest = weights().filter_map(|(taps, &input)| Some(exponent(largest(taps))? - input)).max();
            // Without weights any will do.
            let row_exponent =
                largest.map_or(output, |largest| (WEIGHT - largest).clamp(output - 2 * MOST, output + 2 * MOST));
            for (taps, &input) in row.chunks_exact_mut(9).zip(inputs) {
                taps.iter_mut().for_each(|weight| *weight = times(*weight, row_exponent - input));
            }
            *bias = times(*bias, output);
            self.factors.push(times(1.0, output - row_exponent));
            self.exponents.push(output);
        }
        scaled
    }
}

/// Exponents of the residual stream's channels, and of those between the two convolutions of every block.
fn channels(network: &FoldedNetwork) -> (Vec<i32>, Vec<Vec<i32>>) {
    let (width, depth) = (network.input.n_outputs, network.torso.len());
    let mut trunk = vec![0.0; width];
    let mut middles = vec![vec![0.0; width]; depth];
    for sample in 0..SAMPLES {
        let mut x = convolve(&network.input, &observation(network.shape, sample));
        rectify(&mut x, &mut trunk);
        for ([first, second], middle) in network.torso.iter().zip(&mut middles) {
            let mut y = convolve(first, &x);
            rectify(&mut y, middle);
            let y = convolve(second, &y);
            x.iter_mut().zip(&y).for_each(|(x, y)| *x += y);
            rectify(&mut x, &mut trunk);
        }
    }
    // The heads' weights times the scale of their inputs have to be numbers.
    let heads = [&network.value_conv, &network.policy_conv];
    let least = |channel: usize| {
        let weights = heads.iter().flat_map(|conv| conv.weight.iter().skip(channel).step_by(width));
        weights.filter_map(|&weight| exponent(weight)).max().map_or(-MOST, |most| (most - 126).max(-MOST))
    };
    let of = |largest: f32| exponent(largest).map_or(0, |largest| (ACTIVATION - largest).clamp(-MOST, MOST));
    let trunk = trunk.iter().enumerate().map(|(channel, &largest)| of(largest).max(least(channel))).collect();
    (trunk, middles.iter().map(|middle| middle.iter().map(|&largest| of(largest)).collect()).collect())
}

/// Records the largest absolute value of every channel, and sets negative values to 0.
fn rectify(values: &mut [f32], most: &mut [f32]) {
    for (values, most) in values.chunks_exact_mut(CELLS).zip(most) {
        *most = most.max(largest(values));
        values.iter_mut().for_each(|value| *value = value.max(0.0));
    }
}

fn largest(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

/// The exponent of the largest power of two that is at most a number's absolute value; `None` for 0, 1024 for infinity.
fn exponent(value: f32) -> Option<i32> {
    // Every number of single precision is a normal one of double precision.
    let bits = f64::from(value).to_bits() >> 52 & 0x7FF;
    (bits > 0).then_some(bits as i32 - 1023)
}

/// `value · 2^exponent`.
pub(super) fn times(value: f32, exponent: i32) -> f32 {
    let power = f64::from_bits(((1023 + exponent) as u64) << 52);
    (f64::from(value) * power) as f32
}

/// A sample observation: two boards have a plane set on every square, and two have planes set at random with probabilities a quarter and a half.
fn observation(shape: NetworkShape, sample: u64) -> Vec<f32> {
    let planes = shape.planes as usize;
    let draw = |number: usize| mix((sample << 32 | number as u64).wrapping_add(1));
    let is_set = |plane: usize, cell: usize| match sample {
        0 | 1 => draw(cell) % planes as u64 == plane as u64,
        _ => draw(plane * CELLS + cell) % 4 < sample - 1,
    };
    (0..planes * CELLS).map(|at| f32::from(u8::from(is_set(at / CELLS, at % CELLS)))).collect()
}

/// A 3×3 convolution of one board, `[n_inputs, 8, 8]`, with its bias.
fn convolve(conv: &FoldedConv, values: &[f32]) -> Vec<f32> {
    let mut padded = vec![0.0; conv.n_inputs * PADDED * PADDED];
    for (row, values) in values.chunks_exact(SIDE).enumerate() {
        let (channel, y) = (row / SIDE, row % SIDE);
        padded[(channel * PADDED + y + 1) * PADDED + 1..][..SIDE].copy_from_slice(values);
    }
    let output = |(row, &bias): (&[f32], &f32)| {
        let mut sums = [bias; CELLS];
        for (taps, values) in row.chunks_exact(9).zip(padded.chunks_exact(PADDED * PADDED)) {
            for (tap, &weight) in taps.iter().enumerate() {
                let shifted = values[tap / 3 * PADDED + tap % 3..].chunks(PADDED);
                for (sums, values) in sums.chunks_exact_mut(SIDE).zip(shifted) {
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
                }
            }
        }
        sums
    };
    conv.weight.par_chunks_exact(9 * conv.n_inputs).zip(&conv.bias).flat_map_iter(output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azero::Network;

    const SHAPE: NetworkShape = NetworkShape {
        rows: fused::SIDE,
        columns: fused::SIDE,
        planes: 5,
        width: 6,
        depth: 2,
        value_filters: 1,
        value_hidden: 4,
        policy_filters: 2,
        actions: 7,
    };

    fn network() -> FoldedNetwork {
        FoldedNetwork::new(&Network::seeded(SHAPE, 3).unwrap())
    }

    /// The values that the kernels store after every convolution, computed in plain arithmetic.
    fn run(scaled: &Scaled, observation: &[f32]) -> Vec<Vec<f32>> {
        let width = SHAPE.width as usize;
        let conv = |number: usize, conv: &FoldedConv, x: &[f32], kept: Option<&[f32]>| -> Vec<f32> {
            let sums = convolve(&FoldedConv { bias: vec![0.0; width], ..conv.clone() }, x);
            let output = |(at, sum): (usize, f32)| {
                let value = sum * scaled.factors[number * width + at / CELLS] + conv.bias[at / CELLS];
                (value + kept.map_or(0.0, |kept| kept[at])).max(0.0)
            };
            sums.into_iter().enumerate().map(output).collect()
        };
        let mut found = vec![conv(0, &scaled.network.input, observation, None)];
        for (block, [first, second]) in scaled.network.torso.iter().enumerate() {
            let x = found[2 * block].clone();
            let middle = conv(2 * block + 1, first, &x, None);
            let out = conv(2 * block + 2, second, &middle, Some(&x));
            found.extend([middle, out]);
        }
        found
    }

    #[test]
    fn scales_change_no_bit_of_what_a_network_says() {
        let network = network();
        let (plain, scaled) = (Scaled::plain(network.clone()), Scaled::new(network));
        assert!(scaled.exponents.iter().any(|&exponent| exponent != 0));
        for sample in 0..SAMPLES {
            let observation = observation(SHAPE, sample);
            let kept = run(&scaled, &observation).concat();
            let found = kept.iter().enumerate().map(|(at, &value)| times(value, -scaled.exponents[at / CELLS]));
            assert_eq!(run(&plain, &observation).concat(), found.collect::<Vec<f32>>(), "sample {sample}");
        }
        let heads =
            |of: &Scaled| [&of.network.value_conv, &of.network.policy_conv].map(|conv| conv.weight.clone()).concat();
        let trunk = scaled.exponents[..6].iter().cycle();
        let found = heads(&scaled).into_iter().zip(trunk).map(|(weight, &exponent)| times(weight, exponent));
        assert_eq!(heads(&plain), found.collect::<Vec<f32>>());
    }

    #[test]
    fn rows_and_channels_come_to_their_sizes() {
        let mut network = network();
        // Channel 2 of the residual stream is ten million times as large, channel 4 always 0.
        network.input.weight[2 * 45..3 * 45].iter_mut().for_each(|weight| *weight *= 1e7);
        network.input.weight[4 * 45..5 * 45].fill(0.0);
        network.input.bias[4] = 0.0;
        let scaled = Scaled::new(network);
        for conv in std::iter::once(&scaled.network.input).chain(scaled.network.torso.iter().flatten()) {
            for row in conv.weight.chunks_exact(9 * conv.n_inputs) {
                let most = largest(row);
                assert!(most == 0.0 || exponent(most) == Some(WEIGHT), "{most}");
            }
        }
        assert!(scaled.exponents[2] < -10, "{:?}", scaled.exponents);
        let mut most = vec![0.0f32; 6];
        for kept in (0..SAMPLES).flat_map(|sample| run(&scaled, &observation(SHAPE, sample)).into_iter().step_by(2)) {
            most.iter_mut().zip(kept.chunks_exact(CELLS)).for_each(|(most, values)| *most = most.max(largest(values)));
        }
        // A channel that its rectifier keeps small may stay below.
        assert!(most.iter().all(|&most| most < 64.0) && most.iter().any(|&most| most >= 32.0), "{most:?}");
    }

    #[test]
    fn numbers_beyond_all_scales_stay_numbers() {
        for size in [f32::MIN_POSITIVE, 1e-30, 1e30, f32::MAX] {
            let mut network = network();
            network.input.weight.iter_mut().for_each(|weight| *weight = weight.signum() * size);
            network.value_conv.weight.fill(f32::MAX);
            let scaled = Scaled::new(network);
            assert!(scaled.factors.iter().all(|factor| factor.is_normal()), "{size}");
            assert!(scaled.network.value_conv.weight.iter().all(|weight| weight.is_finite()), "{size}");
        }
    }

    #[test]
    fn exponents_and_powers_are_exact() {
        assert_eq!([1.0, 1.5, 2.0, -0.75, 1e-45].map(exponent), [0, 0, 1, -1, -149].map(Some));
        assert_eq!(exponent(0.0), None);
        assert_eq!((times(3.0, -4), times(1.0, 120), times(-1.0, -120)), (0.1875, 120f32.exp2(), -(-120f32).exp2()));
    }
}
