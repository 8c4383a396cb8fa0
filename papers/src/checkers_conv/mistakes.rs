//! What wrong weights change: in a network whose weights are all 0.01, as in the paper's tests, and in the network itself.
//!
//! Every mistake is made in all convolutions that it is possible in, in double precision on the CPU, so that nothing but the mistake is seen.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use warpplay_cpu_ref::azero::{Network, Parallel, Pass};

use super::Study;
use super::reference::{change_convs, converted};

/// Every weight of the paper's tests.
pub(super) const CONSTANT: f64 = 0.01;

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

/// Takes each value from another index.
fn moved(values: &mut [f64], from: impl Fn(usize) -> usize) {
    let before = values.to_vec();
    for (at, value) in values.iter_mut().enumerate() {
        *value = before[from(at)];
    }
}

/// What a mistake changes: the largest change of each part's values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The mistake, made in every convolution.
    pub mistake: String,
    /// Whose weights: `all 0.01`, of every convolution and without bias, or `the network's`.
    pub weights: String,
    /// Of the first convolution's values.
    pub first_conv: f64,
    /// Of those of the torso's first convolution.
    pub torso_conv: f64,
    /// Of the value.
    pub value: f64,
    /// Of the policy's logits.
    pub policy_logits: f64,
}

impl Study {
    /// Every mistake, with equal weights and with the network's, on the first `n` positions. `watch` is asked before each network; `None` where it ends the work.
    pub fn mistakes(&self, n: usize, mut watch: impl FnMut() -> ControlFlow<()>) -> Option<Vec<Row>> {
        let (observations, masks) = self.first(n);
        let observations: Vec<f64> = observations.iter().map(|&value| value.into()).collect();
        let right = converted::<f64>(self.network());
        let mut constant = right.clone();
        change_convs(&mut constant, |_, weight, bias| {
            weight.fill(CONSTANT);
            bias.fill(0.0);
        });
        let mut outputs = |network: &Network<f64>| match watch() {
            ControlFlow::Continue(()) => Some(outputs(network, &observations, &masks)),
            ControlFlow::Break(()) => None,
        };
        let without = [("all 0.01", &constant, outputs(&constant)?), ("the network's", &right, outputs(&right)?)];
        let mut rows = Vec::new();
        for (name, mistake) in MISTAKES {
            for (weights, network, right) in &without {
                let mut wrong = (*network).clone();
                change_convs(&mut wrong, mistake);
                let wrong = outputs(&wrong)?;
                let largest = |part: fn(&Pass<f64>) -> &[f64]| {
                    let pairs = part(right).iter().zip(part(&wrong));
                    pairs.map(|(right, wrong)| (right - wrong).abs()).fold(0.0, f64::max)
                };
                rows.push(Row {
                    mistake: name.to_string(),
                    weights: weights.to_string(),
                    first_conv: largest(|pass| &pass.input_conv),
                    torso_conv: largest(|pass| pass.torso.first().map_or(&[], |block| &block.conv_1)),
                    value: largest(|pass| &pass.value),
                    policy_logits: largest(|pass| &pass.policy_logits),
                });
            }
        }
        Some(rows)
    }
}

fn outputs(network: &Network<f64>, observations: &[f64], masks: &[u8]) -> Pass<f64> {
    let mut pass = Pass::default();
    network.forward::<Parallel>(observations, masks, &mut pass);
    pass
}
