//! Games played with the network: what leaving the bias out changes, from the first action to the last.
//!
//! All games are played side by side, an evaluation of all positions an action; each action is drawn from the policy. A sample of the positions is evaluated in
//! double precision, as the network is and without its convolutions' bias, which the published kernels leave out.

use serde::Serialize;
use warpplay::Precision;
use warpplay::azero::checkers::{Checkers, N_ACTIONS, legal_mask, observation};
use warpplay::mcts::Game;
use warpplay_cpu_ref::azero::{Parallel, Pass};

use super::Study;
use super::reference::{converted, without_bias};
use super::study::Draw;

/// Actions that one stretch stands for.
pub const ACTIONS: usize = 25;
/// Positions of an evaluation that are looked at in double precision.
const SAMPLE: usize = 4;

/// What one stretch of the games showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stretch {
    /// Positions that the games came to.
    pub positions: u64,
    /// Positions whose answers were looked at in double precision.
    pub sampled: u64,
    /// Largest change of a logit without the bias.
    pub largest_logit_change: f64,
    /// Largest change of the value.
    pub largest_value_change: f64,
    /// Positions whose likeliest action is another one.
    pub other_best_action: u64,
}

/// The action with the largest share.
fn best(policy: &[f64]) -> usize {
    (0..policy.len()).fold(0, |best, action| if policy[action] > policy[best] { action } else { best })
}

fn largest(found: &[f64], expected: &[f64]) -> f64 {
    found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max)
}

impl Study {
    /// Plays `n` games.
    ///
    /// # Errors
    /// As [`EvaluatorBuilder::build`](warpplay::azero::EvaluatorBuilder::build); errors of the device.
    pub fn games(&self, n: usize) -> warpplay::Result<Vec<Stretch>> {
        let mut evaluator = self.evaluator(self.network(), Precision::F32, n)?;
        let (exact, no_bias) = (converted::<f64>(self.network()), without_bias(self.network()));
        let (mut expected, mut other) = (Pass::default(), Pass::default());
        let layout = self.network().observation();
        let mut games = vec![Checkers::new(); n];
        let (mut draw, mut stretches) = (Draw::new(27), Vec::<Stretch>::new());
        let mut action_number = 0;
        while !games.is_empty() {
            if stretches.len() <= action_number / ACTIONS {
                stretches.push(Stretch::default());
            }
            let stretch = &mut stretches[action_number / ACTIONS];
            let seen: Vec<f32> = games.iter().flat_map(|game| observation(game, game.to_move(), layout)).collect();
            let masks: Vec<u8> = games.iter().flat_map(legal_mask).collect();
            let found = evaluator.evaluate(&seen, &masks)?;
            stretch.positions += games.len() as u64;

            let sample = games.len().min(SAMPLE);
            let each = seen.len() / games.len();
            let (seen, masks) = (&seen[..sample * each], &masks[..sample * N_ACTIONS]);
            let seen: Vec<f64> = seen.iter().map(|&value| value.into()).collect();
            exact.forward::<Parallel>(&seen, masks, &mut expected);
            no_bias.forward::<Parallel>(&seen, masks, &mut other);
            stretch.sampled += sample as u64;
            stretch.largest_logit_change =
                stretch.largest_logit_change.max(largest(&other.policy_logits, &expected.policy_logits));
            stretch.largest_value_change = stretch.largest_value_change.max(largest(&other.value, &expected.value));
            let pairs = other.policy.chunks_exact(N_ACTIONS).zip(expected.policy.chunks_exact(N_ACTIONS));
            stretch.other_best_action += pairs.filter(|(other, exact)| best(other) != best(exact)).count() as u64;

            for (game, policy) in games.iter_mut().zip(found.policies.chunks_exact(N_ACTIONS)) {
                let mut left = draw.share() * policy.iter().sum::<f64>();
                let drawn = policy.iter().position(|&share| {
                    left -= share;
                    left < 0.0
                });
                // The last bits of the sum may leave nothing for the last action.
                let action = drawn.unwrap_or_else(|| best(policy)) as u32;
                game.apply(if game.is_legal(action) { action } else { game.moves().nth(0) });
            }
            games.retain(|game| !game.outcome().is_over());
            action_number += 1;
        }
        Ok(stretches)
    }
}
