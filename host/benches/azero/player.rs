//! Games played with the network: how far its answers are off from the first action to the last.
//!
//! All games are played side by side, an evaluation of all positions an action; each action is drawn from the policy. Beside the player, a sample of the same
//! positions is evaluated in double precision. `warpplay papers checkers_conv games` shows what the published kernels change.

use serde_json::json;
use warpplay::Precision;
use warpplay::azero::Engine;
use warpplay::azero::checkers::{Checkers, N_ACTIONS, legal_mask, observation};
use warpplay::mcts::Game;
use warpplay_cpu_ref::azero::{Parallel, Pass};

use crate::measure::{Bench, Draw};
use crate::output::Table;
use crate::plain::converted;

/// Actions that one row of the table stands for.
const ACTIONS: usize = 25;
/// Positions of an evaluation that are looked at in double precision.
const SAMPLE: usize = 4;

/// What one stretch of the games showed.
#[derive(Clone, Copy, Default, serde::Serialize)]
struct Stretch {
    positions: u64,
    largest_logit_error: f64,
    largest_value_error: f64,
    invalid: u64,
}

pub fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let precisions: &[Precision] = if bench.has_kernels() { &Bench::PRECISIONS } else { &[Precision::F32] };
    let headers = ["precision", "actions", "positions", "invalid", "logit error", "value error"];
    let mut table = Table::new(&format!("PLAYER, {} games drawn from the policy", bench.games), 2, &headers);
    for &precision in precisions {
        bench.output.progress(&format!("games in {precision}"));
        match play(bench, precision) {
            Ok(stretches) => {
                for (number_of_stretch, stretch) in stretches.iter().enumerate() {
                    bench.output.json(&json!({
                        "section": "player", "precision": precision, "first_action": number_of_stretch * ACTIONS, "games": bench.games, "stretch": stretch,
                        "device": bench.device.to_string(),
                    }))?;
                    table.row(vec![
                        precision.to_string(),
                        format!("{} to {}", number_of_stretch * ACTIONS, (number_of_stretch + 1) * ACTIONS - 1),
                        stretch.positions.to_string(),
                        stretch.invalid.to_string(),
                        format!("{:.1e}", stretch.largest_logit_error),
                        format!("{:.1e}", stretch.largest_value_error),
                    ]);
                }
            }
            Err(error) => {
                let cell = bench.refused(&error);
                table.row(vec![precision.to_string(), cell]);
            }
        }
    }
    table.note("Invalid: drawn actions that are not legal, and answers that are not numbers. Errors: largest of a sample, against double precision.".into());
    table.print(&mut bench.output)
}

/// The action with the largest share.
fn best(policy: &[f64]) -> usize {
    (0..policy.len()).fold(0, |best, action| if policy[action] > policy[best] { action } else { best })
}

fn largest(found: &[f64], expected: &[f64]) -> f64 {
    found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max)
}

fn play(bench: &Bench, precision: Precision) -> warpplay::Result<Vec<Stretch>> {
    let mut evaluator = bench.evaluator(&bench.network, precision, Engine::Auto, bench.games)?;
    let exact = converted::<f64>(&bench.network);
    let mut expected = Pass::default();
    let layout = bench.network.observation();
    let mut games = vec![Checkers::new(); bench.games];
    let (mut draw, mut stretches) = (Draw::new(27), Vec::<Stretch>::new());
    let mut action_number = 0;
    while !games.is_empty() {
        if stretches.len() <= action_number / ACTIONS {
            stretches.push(Stretch::default());
        }
        let stretch = &mut stretches[action_number / ACTIONS];
        let observations: Vec<f32> = games.iter().flat_map(|game| observation(game, game.to_move(), layout)).collect();
        let masks: Vec<u8> = games.iter().flat_map(legal_mask).collect();
        let found = evaluator.evaluate(&observations, &masks)?;
        stretch.positions += games.len() as u64;

        let n = games.len().min(SAMPLE);
        let each = observations.len() / games.len();
        let (observations, masks) = (&observations[..n * each], &masks[..n * N_ACTIONS]);
        let observations: Vec<f64> = observations.iter().map(|&value| value.into()).collect();
        exact.forward::<Parallel>(&observations, masks, &mut expected);
        let error = largest(&found.policy_logits[..n * N_ACTIONS], &expected.policy_logits);
        stretch.largest_logit_error = stretch.largest_logit_error.max(error);
        stretch.largest_value_error = stretch.largest_value_error.max(largest(&found.values[..n], &expected.value));

        for (game, policy) in games.iter_mut().zip(found.policies.chunks_exact(N_ACTIONS)) {
            let mut left = draw.share() * policy.iter().sum::<f64>();
            let drawn = policy.iter().position(|&share| {
                left -= share;
                left < 0.0
            });
            // The last bits of the sum may leave nothing for the last action.
            let action = drawn.unwrap_or_else(|| best(policy)) as u32;
            if game.is_legal(action) && policy.iter().all(|share| share.is_finite()) {
                game.apply(action);
            } else {
                stretch.invalid += 1;
                game.apply(game.moves().nth(0));
            }
        }
        games.retain(|game| !game.outcome().is_over());
        action_number += 1;
    }
    Ok(stretches)
}
