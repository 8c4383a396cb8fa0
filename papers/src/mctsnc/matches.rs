//! Matches, each game a measurement of its own: a tournament that is killed goes on with the next game, and a repetition makes the recorded steps.

use warpplay::Fnv;
use warpplay::mcts::contest::{Contestant, GameRecord, Played, PlayerOptions, Score, Scores, Side, play_game};
use warpplay::mcts::{KernelSet, Notation};
use warpplay_gpu::split_mix::{GAMMA, mix};

use crate::experiment::{Cell, Run, Stop};

/// Plays a match from the start of the game, A first in even games; `key` names it in the journal. What each game took is its seconds, move by move.
pub(super) fn play_match<G: KernelSet + Notation>(
    run: &mut Run<'_>,
    key: &str,
    players: &[PlayerOptions; 2],
    games: u32,
    seed: u64,
) -> Result<Vec<Played>, Stop> {
    // Memory is taken when the first game is really played, and serves all of them.
    let mut ready: Option<[Contestant<G>; 2]> = None;
    (0..games)
        .map(|game| {
            let key = format!("{key} game {}", game + 1);
            let (record, seconds) = run.both(&key, |now| {
                let players = match &mut ready {
                    Some(players) => players,
                    None => {
                        let [a, b] = players;
                        ready.insert([Contestant::new(a, now.device)?, Contestant::new(b, now.device)?])
                    }
                };
                let first = if game.is_multiple_of(2) { Side::A } else { Side::B };
                let seeds = Side::BOTH.map(|side| game_seed(seed, &key, side));
                let recorded = now.before.map_or(Vec::new(), |before: &GameRecord| before.moves.clone());
                let played = play_game(players, &G::start(), first, seeds, &recorded, |_| now.go_on())?;
                let Played { record, seconds } = played.ok_or(Stop::Interrupted)?;
                Ok((record, seconds))
            })?;
            Ok(Played { record, seconds })
        })
        .collect()
}

/// Seed of a player in a game: 53 bits that depend on all of these. Every `seed` is allowed.
pub(super) fn game_seed(seed: u64, key: &str, side: Side) -> u64 {
    // FNV-1a over the key, then SplitMix64's finaliser.
    mix(Fnv::of(key.as_bytes()) ^ seed.wrapping_mul(GAMMA).wrapping_add(side.index() as u64)) >> 11
}

/// What a match came to.
pub(super) fn scores(games: &[Played]) -> Scores {
    Scores::of(games.iter().map(|played| &played.record))
}

/// Score and its interval, as three cells.
pub(super) fn score_cells(score: &Score) -> [Cell; 3] {
    let bound = |at: usize| Cell::from(score.interval_percent.map(|interval| interval[at]));
    [score.score_percent.into(), bound(0), bound(1)]
}

/// Playouts, steps, mean and largest depth of a player's moves, as four cells.
pub(super) fn reached_cells(score: &Score) -> [Cell; 4] {
    [score.mean_playouts, score.mean_steps, score.mean_depth, score.mean_max_depth].map(Cell::from)
}

/// Playouts a second of one player.
pub(super) fn playouts_per_second(games: &[Played], side: Side) -> Option<f64> {
    let moves = games.iter().flat_map(|played| played.record.moves.iter().zip(&played.seconds));
    let (playouts, seconds) = moves
        .filter(|(turn, _)| turn.side == side)
        .fold((0.0, 0.0), |(playouts, sum), (turn, seconds)| (playouts + turn.playouts as f64, sum + seconds));
    (seconds > 0.0).then(|| playouts / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_by_game_side_and_seed() {
        let mut seeds: Vec<u64> = ["table2 B-C game 1", "table2 B-C game 2", "table3 B-C game 1"]
            .iter()
            .flat_map(|key| [0, 1, u64::MAX].map(|seed| (key, seed)))
            .flat_map(|(key, seed)| Side::BOTH.map(|side| game_seed(seed, key, side)))
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 18);
        assert!(seeds.iter().all(|seed| seed >> 53 == 0));
    }
}
