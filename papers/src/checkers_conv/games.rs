//! Games played with a network, in which every policy and every action is checked: the player of section IV.D could not decide its next action at some point.
//!
//! All games are played side by side, an evaluation of all positions an action; each action is drawn from the policy. [`Study::games`] shows what leaving the bias
//! out changes: a sample of the positions is evaluated in double precision, as the network is and without its convolutions' bias.

use serde::{Deserialize, Serialize};
use warpplay::azero::checkers::{Checkers, N_ACTIONS, legal_mask, observation};
use warpplay::azero::{Evaluation, Evaluator, ObservationLayout};
use warpplay::mcts::Game;
use warpplay::{Device, Error, Precision, Result};
use warpplay_cpu_ref::azero::{Parallel, Pass};

use super::measure::BOUND;
use super::reference::{converted, without_bias};
use super::study::Draw;
use super::{Model, Options, Study};

/// Actions that one stretch stands for.
pub const ACTIONS: usize = 25;
/// Positions of an evaluation that are looked at in double precision.
const SAMPLE: usize = 4;
/// How far a policy's sum may be from 1: each share is rounded once to f32, by at most half of this machine epsilon.
const SUM_BOUND: f64 = N_ACTIONS as f64 * f32::EPSILON as f64;

/// How far a logit may be from what an earlier evaluation of the same position gave: both are within the absolute part of [`BOUND`] of the exact value.
pub const DRIFT_BOUND: f64 = 2.0 * BOUND;

/// What games came to. Where all is well, `ended` is `games`, and both faults are 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// Games.
    pub games: u64,
    /// Those that came to an end by the rules.
    pub ended: u64,
    /// Positions that were evaluated.
    pub positions: u64,
    /// Actions of the longest game.
    pub longest: u64,
    /// Policies with a number that is not finite or negative, with a sum other than 1, or with a share for an illegal action; values beyond -1 to 1.
    pub wrong_policies: u64,
    /// Actions drawn that are illegal; the game is not gone on with.
    pub illegal_actions: u64,
    /// The first fault in words.
    pub first_fault: Option<String>,
}

impl Played {
    /// Whether every game came to an end by the rules, and every policy and action was right.
    pub fn is_faultless(&self) -> bool {
        (self.ended, self.wrong_policies, self.illegal_actions) == (self.games, 0, 0)
    }
}

/// What one stretch of the games showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
pub(super) fn best(policy: &[f64]) -> usize {
    (0..policy.len()).fold(0, |best, action| if policy[action] > policy[best] { action } else { best })
}

/// What is wrong with a policy.
pub(super) fn fault_of(policy: &[f64], mask: &[u8]) -> Option<String> {
    for (action, (&share, &legal)) in policy.iter().zip(mask).enumerate() {
        if !share.is_finite() || share < 0.0 || (legal == 0 && share > 0.0) {
            return Some(format!("action {action} has a share of {share}"));
        }
    }
    let sum: f64 = policy.iter().sum();
    ((sum - 1.0).abs() > SUM_BOUND).then(|| format!("a sum of {sum}"))
}

fn largest(found: &[f64], expected: &[f64]) -> f64 {
    found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max)
}

/// Plays `n` games side by side. `evaluate` is given observations `[k, planes, 8, 8]` and masks `[k, actions]` of the games that are not over; `see` is told of each
/// evaluation, and may end the games by an error.
///
/// # Errors
/// What `evaluate` and `see` say; [`Error::Shape`] if it gives not one value and one policy for each position.
pub fn play<E: From<Error>>(
    n: usize,
    layout: ObservationLayout,
    mut evaluate: impl FnMut(&[f32], &[u8]) -> Result<Evaluation>,
    mut see: impl FnMut(u64, &[f32], &[u8]) -> Result<(), E>,
) -> Result<Played, E> {
    let mut games = vec![Checkers::new(); n];
    let mut draw = Draw::new(27);
    let mut played = Played { games: n as u64, ..Played::default() };
    while !games.is_empty() {
        let seen: Vec<f32> = games.iter().flat_map(|game| observation(game, game.to_move(), layout)).collect();
        let masks: Vec<u8> = games.iter().flat_map(legal_mask).collect();
        let found = evaluate(&seen, &masks)?;
        if (found.values.len(), found.policies.len()) != (games.len(), masks.len()) {
            return Err(Error::shape("policies", masks.len(), found.policies.len()).into());
        }
        see(played.longest, &seen, &masks)?;
        played.positions += games.len() as u64;
        let mut rows = found.policies.chunks_exact(N_ACTIONS).zip(masks.chunks_exact(N_ACTIONS)).zip(&found.values);
        games.retain_mut(|game| {
            // As many rows as games: checked above.
            let Some(((policy, mask), &value)) = rows.next() else { return false };
            let value_fault = (!(-1.0..=1.0).contains(&value)).then(|| format!("a value of {value}"));
            if let Some(fault) = fault_of(policy, mask).or(value_fault) {
                played.wrong_policies += 1;
                played.first_fault.get_or_insert(fault);
            }
            let mut left = draw.share() * policy.iter().sum::<f64>();
            let drawn = policy.iter().position(|&share| {
                left -= share;
                left < 0.0
            });
            // The last bits of the sum may leave nothing for the last action.
            let action = drawn.unwrap_or_else(|| best(policy));
            if mask[action] == 0 {
                played.illegal_actions += 1;
                played.first_fault.get_or_insert_with(|| format!("action {action} is illegal"));
                return false;
            }
            game.apply(action as u32);
            let over = game.outcome().is_over();
            played.ended += u64::from(over);
            !over
        });
        played.longest += 1;
    }
    Ok(played)
}

impl Study {
    /// `n` games by our evaluator. `go_on` is asked before each evaluation.
    ///
    /// # Errors
    /// As [`EvaluatorBuilder::build`](warpplay::azero::EvaluatorBuilder::build); errors of the device; what `go_on` says.
    pub fn games_by_ours<E: From<Error>>(
        &self,
        device: &Device,
        precision: Precision,
        n: usize,
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<Played, E> {
        let mut evaluator = self.evaluator_for_games(device, precision, n)?;
        play(n, self.network().observation(), |seen, masks| evaluator.evaluate(seen, masks), |_, _, _| go_on())
    }

    /// `n` games by the published kernels, likewise.
    ///
    /// # Errors
    /// As [`Model::new`]; errors of the device; what `go_on` says.
    pub fn games_by_kernels<E: From<Error>>(
        &self,
        device: &Device,
        options: Options,
        n: usize,
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<Played, E> {
        let stream = device.stream()?;
        let mut model = Model::new(&stream, self.network(), options, n)?;
        play(n, self.network().observation(), |seen, masks| model.evaluate(&stream, seen, masks), |_, _, _| go_on())
    }

    /// `n` games by our evaluator in f32, and what leaving the bias out would change in a sample of their positions, stretch by stretch.
    ///
    /// # Errors
    /// As [`Study::games_by_ours`].
    pub fn games<E: From<Error>>(
        &self,
        device: &Device,
        n: usize,
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<(Played, Vec<Stretch>), E> {
        let mut evaluator = self.evaluator_for_games(device, Precision::F32, n)?;
        let (exact, no_bias) = (converted::<f64>(self.network()), without_bias(self.network()));
        let (mut expected, mut other) = (Pass::default(), Pass::default());
        let mut stretches = Vec::<Stretch>::new();
        let look = |action: u64, seen: &[f32], masks: &[u8]| -> Result<(), E> {
            go_on()?;
            let positions = masks.len() / N_ACTIONS;
            let at = action as usize / ACTIONS;
            if stretches.len() <= at {
                stretches.push(Stretch::default());
            }
            let stretch = &mut stretches[at];
            stretch.positions += positions as u64;
            let (sample, each) = (positions.min(SAMPLE), seen.len() / positions);
            let masks = &masks[..sample * N_ACTIONS];
            let seen: Vec<f64> = seen[..sample * each].iter().map(|&value| value.into()).collect();
            exact.forward::<Parallel>(&seen, masks, &mut expected);
            no_bias.forward::<Parallel>(&seen, masks, &mut other);
            stretch.sampled += sample as u64;
            stretch.largest_logit_change =
                stretch.largest_logit_change.max(largest(&other.policy_logits, &expected.policy_logits));
            stretch.largest_value_change = stretch.largest_value_change.max(largest(&other.value, &expected.value));
            let pairs = other.policy.chunks_exact(N_ACTIONS).zip(expected.policy.chunks_exact(N_ACTIONS));
            stretch.other_best_action += pairs.filter(|(other, exact)| best(other) != best(exact)).count() as u64;
            Ok(())
        };
        let played = play(n, self.network().observation(), |seen, masks| evaluator.evaluate(seen, masks), look)?;
        Ok((played, stretches))
    }

    /// How much the answers for the first `n` positions change after `calls` other evaluations by the published kernels: the largest change of a logit; none
    /// if a logit is not finite. Each evaluation begins with the position, so that nothing but the order of the atomic additions can differ: by no more than
    /// [`DRIFT_BOUND`].
    ///
    /// # Errors
    /// As [`Model::new`]; errors of the device.
    pub fn drift(&self, device: &Device, options: Options, n: usize, calls: usize) -> Result<Option<f64>> {
        let stream = device.stream()?;
        let mut model = Model::new(&stream, self.network(), options, n)?;
        let (observations, masks) = self.first(n);
        let before = model.evaluate(&stream, &observations, &masks)?;
        // Other positions come between: the same in reverse order.
        let turned: Vec<f32> = observations.chunks_exact(observations.len() / n).rev().flatten().copied().collect();
        for _ in 0..calls {
            model.evaluate(&stream, &turned, &masks)?;
        }
        let after = model.evaluate(&stream, &observations, &masks)?;
        let (before, after) = (&before.policy_logits, &after.policy_logits);
        let finite = before.iter().chain(after).all(|logit| logit.is_finite());
        Ok(finite.then(|| largest(after, before)))
    }

    fn evaluator_for_games(&self, device: &Device, precision: Precision, n: usize) -> Result<Evaluator> {
        Evaluator::builder(self.network()).precision(precision).max_batch(n).build(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(change: impl Fn(&mut Vec<f64>, &[u8])) -> Played {
        let uniform = |_: &[f32], masks: &[u8]| {
            let mut policies: Vec<f64> = masks
                .chunks_exact(N_ACTIONS)
                .flat_map(|mask| {
                    let n: f64 = mask.iter().map(|&legal| f64::from(legal)).sum();
                    mask.iter().map(move |&legal| f64::from(legal) / n)
                })
                .collect();
            change(&mut policies, masks);
            Ok(Evaluation { values: vec![0.0; masks.len() / N_ACTIONS], policy_logits: policies.clone(), policies })
        };
        play(3, ObservationLayout::Default, uniform, |_, _, _| Ok::<_, Error>(())).expect("evaluated")
    }

    #[test]
    fn faults_of_an_evaluation_are_counted() {
        let right = played(|_, _| ());
        assert_eq!((right.games, right.ended, right.wrong_policies, right.illegal_actions), (3, 3, 0, 0));
        assert!(right.positions > 3 && right.longest > 1 && right.first_fault.is_none() && right.is_faultless());
        // Not a number: no action can be drawn, as in the paper's player.
        let nan = played(|policies, _| policies.fill(f64::NAN));
        assert!(nan.wrong_policies >= 3 && nan.ended == 0 && nan.illegal_actions == 3, "{nan:?}");
        assert!(!nan.is_faultless());
        // All on an illegal action.
        let illegal = played(|policies, masks| {
            for (policy, mask) in policies.chunks_exact_mut(N_ACTIONS).zip(masks.chunks_exact(N_ACTIONS)) {
                policy.fill(0.0);
                policy[mask.iter().position(|&legal| legal == 0).expect("not all are legal")] = 1.0;
            }
        });
        assert_eq!((illegal.wrong_policies, illegal.illegal_actions, illegal.ended), (3, 3, 0));
        assert!(played(|policies, _| policies.iter_mut().for_each(|share| *share *= 1.01)).wrong_policies > 3);
    }
}
