//! The engine under `simt` against plain loops in double precision.

use super::*;
use crate::azero::folded::FoldedConv;
use crate::azero::{Network, NetworkShape};

fn plain_conv(conv: &FoldedConv, input: &[f64], rows: usize, columns: usize, residual: Option<&[f64]>) -> Vec<f64> {
    let cells = rows * columns;
    let reach = conv.side as isize / 2;
    let mut output = Vec::new();
    for out in 0..conv.n_outputs {
        for cell in 0..cells {
            let (row, column) = ((cell / columns) as isize, (cell % columns) as isize);
            let mut sum = f64::from(conv.bias[out]);
            for channel in 0..conv.n_inputs {
                for dy in -reach..=reach {
                    for dx in -reach..=reach {
                        let (y, x) = (row + dy, column + dx);
                        if y >= 0 && x >= 0 && y < rows as isize && x < columns as isize {
                            let tap = ((dy + reach) * conv.side as isize + dx + reach) as usize;
                            let weight = conv.weight[(out * conv.n_inputs + channel) * conv.side * conv.side + tap];
                            sum += f64::from(weight) * input[channel * cells + (y * columns as isize + x) as usize];
                        }
                    }
                }
            }
            output.push((sum + residual.map_or(0.0, |values| values[out * cells + cell])).max(0.0));
        }
    }
    output
}

/// Every block of one position, then value, logits, policy.
fn plain(network: &FoldedNetwork, observation: &[f32], mask: &[u8]) -> Vec<Vec<f64>> {
    let (rows, columns) = (network.shape.rows as usize, network.shape.columns as usize);
    let observation: Vec<f64> = observation.iter().map(|&value| f64::from(value)).collect();
    let mut found = vec![plain_conv(&network.input, &observation, rows, columns, None)];
    for [first, second] in &network.torso {
        let before = found[found.len() - 1].clone();
        let middle = plain_conv(first, &before, rows, columns, None);
        let after = plain_conv(second, &middle, rows, columns, Some(&before));
        found.extend([middle, after]);
    }
    let features = found[found.len() - 1].clone();
    let linear = |weight: &[f32], bias: &[f32], input: &[f64]| -> Vec<f64> {
        let row = |(row, &bias): (&[f32], &f32)| {
            f64::from(bias) + row.iter().zip(input).map(|(&w, x)| f64::from(w) * x).sum::<f64>()
        };
        weight.chunks_exact(input.len()).zip(bias).map(row).collect()
    };
    let value_planes = plain_conv(&network.value_conv, &features, rows, columns, None);
    let hidden = linear(&network.value_linear_1.weight, &network.value_linear_1.bias, &value_planes);
    let hidden: Vec<f64> = hidden.iter().map(|value| value.max(0.0)).collect();
    let value = linear(&network.value_linear_2.weight, &network.value_linear_2.bias, &hidden)[0].tanh();
    let policy_planes = plain_conv(&network.policy_conv, &features, rows, columns, None);
    let logits = linear(&network.policy_linear.weight, &network.policy_linear.bias, &policy_planes);
    let legal = |at: usize| mask[at] != 0;
    let largest = (0..logits.len()).filter(|&at| legal(at)).map(|at| logits[at]).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = (0..logits.len()).filter(|&at| legal(at)).map(|at| (logits[at] - largest).exp()).sum();
    let policy = (0..logits.len()).map(|at| if legal(at) { (logits[at] - largest).exp() / sum } else { 0.0 }).collect();
    found.extend([value_planes, policy_planes, vec![value], logits, policy]);
    found
}

fn close(what: &str, got: &[f32], expected: &[f64], bound: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let mut worst = 0.0f64;
    for (at, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let share = (f64::from(got) - expected).abs() / (bound + bound * expected.abs());
        assert!(share <= 1.0, "{what}[{at}]: {got} instead of {expected}");
        worst = worst.max(share);
    }
    println!("{what}: {worst:.3} of the bound");
}

fn inputs(stream: &Stream, shape: NetworkShape, n: usize) -> (Inputs, Vec<f32>, Vec<u8>) {
    let mut inputs = Inputs::new(stream, shape, n).unwrap();
    let mut state = 5u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let observations: Vec<f32> = (0..n * shape.n_observation()).map(|_| (next() % 2) as f32).collect();
    let mut masks: Vec<u8> = (0..n * shape.actions as usize).map(|_| u8::from(next() % 3 == 0)).collect();
    masks.iter_mut().step_by(shape.actions as usize).for_each(|mask| *mask = 1);
    stream.write(&mut inputs.observations, 0, &observations).unwrap();
    stream.write(&mut inputs.masks, 0, &masks).unwrap();
    (inputs, observations, masks)
}

fn check(shape: NetworkShape, n: usize, precision: Precision, bound: f64) {
    let device = Device::simt();
    let stream = device.stream().unwrap();
    let network = FoldedNetwork::new(&Network::seeded(shape, 27).unwrap());
    let (inputs, observations, masks) = inputs(&stream, shape, n);
    let mut engine = build(&device, &stream, &network, precision, n).unwrap();
    let blocks = engine.blocks(&stream, &inputs, n).unwrap();
    let mut outputs = Outputs::new(&stream, shape, n).unwrap();
    engine.enqueue(&stream, &inputs, n, &mut outputs).unwrap();
    let values = stream.read(&outputs.values).unwrap();
    let logits = stream.read(&outputs.policy_logits).unwrap();
    let policies = stream.read(&outputs.policies).unwrap();
    let actions = shape.actions as usize;
    for position in 0..n {
        let observation = &observations[position * shape.n_observation()..][..shape.n_observation()];
        let expected = plain(&network, observation, &masks[position * actions..][..actions]);
        let (of_blocks, of_heads) = expected.split_at(expected.len() - 3);
        for (block, expected) in blocks.iter().zip(of_blocks) {
            let len = block.values.len() / n;
            let name = format!("{} of {position}", block.name);
            close(&name, &block.values[position * len..][..len], expected, bound);
        }
        close("value", &values[position..][..1], &of_heads[0], bound);
        close("logits", &logits[position * actions..][..actions], &of_heads[1], bound);
        close("policy", &policies[position * actions..][..actions], &of_heads[2], bound);
    }
}

#[test]
fn odd_shapes_equal_plain_loops() {
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
    check(shape, 3, Precision::Fp32, 1e-5);
    check(NetworkShape { rows: 9, columns: 9, width: 40, depth: 1, actions: 300, ..shape }, 2, Precision::Fp32, 1e-5);
    check(NetworkShape { rows: 8, columns: 8, width: 33, depth: 1, ..shape }, 2, Precision::Fp32, 1e-5);
}

#[test]
fn the_default_shape_equals_plain_loops() {
    check(NetworkShape::default(), 1, Precision::Fp32, 1e-5);
}
