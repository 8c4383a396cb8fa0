//! Tree search: a short match of Connect 4.

use anyhow::Result;
use warpplay::mcts::contest::{Contestant, PlayerOptions, Scores, Side, VanillaOptions, play_game, running_percent};
use warpplay::mcts::{Connect4, Notation, Options};

use crate::common::table::thousands;
use crate::demo::part::{Part, Task};
use crate::mcts::chart;

/// Games of the match.
const GAMES: u32 = 20;
/// Steps of a move of the parallel search.
const STEPS: u64 = 300;
/// Steps of a move of the single-thread search, each of one playout.
const SINGLE_STEPS: u64 = 1000;

/// Plays the match.
pub fn run(task: &Task<'_>) -> Result<Option<Part>> {
    let parallel = Options { n_trees: 2, n_playouts: 8, steps: Some(STEPS), seconds: None, ..Options::default() };
    let variant = parallel.variant;
    let single = VanillaOptions { steps: Some(SINGLE_STEPS), seconds: None, ..VanillaOptions::default() };
    let mut players = [
        Contestant::<Connect4>::new(&PlayerOptions::Search(parallel), task.device)?,
        Contestant::new(&PlayerOptions::Vanilla(single), task.device)?,
    ];
    let mut games = Vec::new();
    for game in 0..GAMES {
        let first = if game % 2 == 0 { Side::A } else { Side::B };
        let seeds = [2 * u64::from(game) + 1, 2 * u64::from(game) + 2];
        let watch = |_: &_| task.watch(f64::from(game) / f64::from(GAMES));
        let Some(played) = play_game(&mut players, &Connect4::start(), first, seeds, &[], watch)? else { break };
        games.push(played.record);
    }
    if games.is_empty() {
        return Ok(None);
    }
    let scores = Scores::of(&games);
    let curve = running_percent(&games);
    let score = scores.a.score_percent.unwrap_or_default();
    let interval = scores.a.interval_percent.unwrap_or_default();
    let playouts =
        |side: &warpplay::mcts::contest::Score| thousands(side.mean_playouts.unwrap_or_default().round() as u64);
    Ok(Some(Part {
        family: "mcts",
        title: "Monte Carlo tree search",
        task: format!(
            "{GAMES} games of Connect 4: A, {variant} with two trees and {STEPS} steps a move, against B, the plain search of one thread with {} playouts a move",
            thousands(SINGLE_STEPS)
        ),
        data: "none is needed: both play by the rules alone".to_string(),
        found: vec![
            ("games", format!("A won {}, drew {}, lost {}", scores.a.wins, scores.a.draws, scores.a.losses)),
            ("score of A", format!("{score:.1} % (95 % interval {:.0} to {:.0})", interval[0], interval[1])),
            ("playouts a move", format!("{} of A, {} of B", playouts(&scores.a), playouts(&scores.b))),
        ],
        curve_of: "score of A after each game",
        plots: vec![chart::running_score(
            "Connect 4: score of the parallel search (A) against the search of one thread (B)",
            &curve,
        )],
        curve,
        more: "warpplay mcts match --game hex --games 20 --plots score.svg",
        engine: variant.to_string(),
        seconds: task.seconds(),
    }))
}
