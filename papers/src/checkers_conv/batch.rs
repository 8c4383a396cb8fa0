//! What a caller sees who gives the repository's layers more than one position.
//!
//! The input layer refuses it (`std::invalid_argument`; a program that does not catch it ends). The torso's and the output's layers allocate `[batch, channels, 8, 8]`
//! of zeros, and launch one block for each output channel: the first position is computed, the others keep zeros in place of every convolution's sums. Norms,
//! biases of linear layers and the softmax go on from there, so that all positions but the first get the same logits, whatever is on their boards.
//!
//! The repository's layers are not run: [`Study::batch`] derives their answers on the CPU, those of the other positions from a network whose convolutions are all zeros.

use serde::{Deserialize, Serialize};
use warpplay::azero::checkers::N_ACTIONS;
use warpplay_cpu_ref::azero::{Parallel, Pass};

use super::Study;
use super::games::{best, fault_of};
use super::published::INPUT_REFUSAL;
use super::reference::{change_convs, converted, without_bias};

/// What the repository's input layer says to so many positions where it refuses them, in its own words.
pub fn input_layer_refuses(n: usize) -> Option<&'static str> {
    (n != 1).then_some(INPUT_REFUSAL)
}

/// A position of a batch, as the layers behind the input would answer it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its index in the batch.
    pub position: usize,
    /// The value, in double precision.
    pub expected_value: f64,
    /// The value of the published layers.
    pub value: f64,
    /// The likeliest action.
    pub expected_action: usize,
    /// That of the published layers.
    pub action: usize,
    /// Whether this action is legal.
    pub legal: bool,
    /// Whether the policy is one: finite, not negative, of sum 1, nothing for illegal actions.
    pub policy: bool,
}

impl Study {
    /// The first `n` positions as one batch.
    pub fn batch(&self, n: usize) -> Vec<Row> {
        let (observations, masks) = self.first(n);
        let exact: Vec<f64> = observations.iter().map(|&value| value.into()).collect();
        let mut zeros = converted::<f64>(self.network());
        change_convs(&mut zeros, |_, weight, bias| {
            weight.fill(0.0);
            bias.fill(0.0);
        });
        let pass = |network: &warpplay_cpu_ref::azero::Network<f64>| {
            let mut pass = Pass::default();
            network.forward::<Parallel>(&exact, &masks, &mut pass);
            pass
        };
        let (expected, first, others) =
            (pass(&converted(self.network())), pass(&without_bias(self.network())), pass(&zeros));
        let rows = (0..n).map(|position| {
            let published = if position == 0 { &first } else { &others };
            let at = position * N_ACTIONS..(position + 1) * N_ACTIONS;
            let (policy, mask) = (&published.policy[at.clone()], &masks[at.clone()]);
            let action = best(policy);
            Row {
                position,
                expected_value: expected.value[position],
                value: published.value[position],
                expected_action: best(&expected.policy[at]),
                action,
                legal: mask[action] != 0,
                policy: fault_of(policy, mask).is_none(),
            }
        });
        rows.collect()
    }
}
