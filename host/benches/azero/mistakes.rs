//! What wrong weights change: in a network whose weights are all 0.01, as in the source's tests, and in the network itself.
//!
//! Every mistake is made in all convolutions that it is possible in, in double precision on the CPU, so that nothing but the mistake is seen.

use serde_json::json;
use warpplay_cpu_ref::azero::{Network, Parallel, Pass};

use crate::measure::Bench;
use crate::output::Table;
use crate::plain::{change_convs, converted};

/// Every weight of the source's tests.
const CONSTANT: f64 = 0.01;

/// A name, and what it does to the weights `[outputs, inputs, side, side]` and biases of a convolution.
type Mistake = (&'static str, fn(&[usize], &mut [f64], &mut [f64]));

const MISTAKES: [Mistake; 5] = [
    ("bias left out", |_, _, bias| bias.fill(0.0)),
    ("rows and columns of each kernel swapped", |dims, weight, _| {
        let side = dims[3];
        moved(weight, |at| {
            let (kernel, row, column) = (at / (side * side), at / side % side, at % side);
            (kernel * side + column) * side + row
        });
    }),
    ("each kernel turned by half a turn", |dims, weight, _| {
        let taps = dims[2] * dims[3];
        moved(weight, |at| at / taps * taps + taps - 1 - at % taps);
    }),
    ("inputs and outputs swapped", |dims, weight, _| {
        let (outputs, inputs, taps) = (dims[0], dims[1], dims[2] * dims[3]);
        if outputs == inputs {
            moved(weight, |at| (at / taps % inputs * outputs + at / taps / inputs) * taps + at % taps);
        }
    }),
    ("inputs in reverse order", |dims, weight, _| {
        let (inputs, taps) = (dims[1], dims[2] * dims[3]);
        moved(weight, |at| {
            let (output, input) = (at / taps / inputs, at / taps % inputs);
            (output * inputs + inputs - 1 - input) * taps + at % taps
        });
    }),
];

/// Takes each value from another place.
fn moved(values: &mut [f64], from: impl Fn(usize) -> usize) {
    let before = values.to_vec();
    for (at, value) in values.iter_mut().enumerate() {
        *value = before[from(at)];
    }
}

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let headers =
        ["mistake in every convolution", "weights", "first conv by", "torso conv by", "value by", "logits by"];
    let mut table = Table::new("MISTAKES: how far they move what is computed", 2, &headers);
    let n = if bench.quick { 8 } else { 64 };
    let (observations, masks) = bench.positions.first(n);
    let observations: Vec<f64> = observations.iter().map(|&value| value.into()).collect();
    let right = converted::<f64>(&bench.network);
    let mut constant = right.clone();
    change_convs(&mut constant, |_, weight, bias| {
        weight.fill(CONSTANT);
        bias.fill(0.0);
    });
    for (name, mistake) in MISTAKES {
        for (weights, right) in [("all 0.01", &constant), ("the network's", &right)] {
            let mut wrong = right.clone();
            change_convs(&mut wrong, mistake);
            let [right, wrong] = [right, &wrong].map(|network| outputs(network, &observations, &masks));
            let largest = |part: fn(&Pass<f64>) -> &[f64]| {
                let pairs = part(&right).iter().zip(part(&wrong));
                pairs.map(|(right, wrong)| (right - wrong).abs()).fold(0.0, f64::max)
            };
            let moved = [
                largest(|pass| &pass.input_conv),
                largest(|pass| pass.torso.first().map_or(&[], |block| &block.conv_1)),
                largest(|pass| &pass.value),
                largest(|pass| &pass.policy_logits),
            ];
            bench.output.json(&json!({
                "section": "mistakes", "mistake": name, "weights": weights, "positions": n, "first_conv": moved[0], "torso_conv": moved[1],
                "value": moved[2], "policy_logits": moved[3],
            }))?;
            let cells = moved.map(|moved| format!("{moved:.1e}"));
            table.row([name.to_string(), weights.to_string()].into_iter().chain(cells).collect());
        }
    }
    table.note(format!("Largest change over {n} positions. All 0.01: weights of every convolution, without bias; the rest is the network's."));
    table.print(&bench.output)
}

fn outputs(network: &Network<f64>, observations: &[f64], masks: &[u8]) -> Pass<f64> {
    let mut pass = Pass::default();
    network.forward::<Parallel>(observations, masks, &mut pass);
    pass
}
