//! The file of a match: what `match --json` writes and `replay` reads.

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpplay::mcts::contest::{GameRecord, GameResult, MoveRecord, Played, Score, Scores, Side};
use warpplay_gpu::split_mix;

use crate::mcts::player::Kind;

/// A match as data: all its games can be repeated from it, also those limited by time.
#[derive(Serialize, Deserialize)]
pub struct MatchFacts {
    pub game: String,
    /// The position from which all games start.
    pub moves: String,
    pub seed: u64,
    /// Games asked for; fewer were played if the match was stopped.
    pub n_games: u32,
    pub n_played: usize,
    /// Score of whoever moved first, in percent.
    pub first_mover_percent: Option<f64>,
    pub a: PlayerFacts,
    pub b: PlayerFacts,
    pub games: Vec<GameFacts>,
}

/// A player and its score.
#[derive(Serialize, Deserialize)]
pub struct PlayerFacts {
    pub player: String,
    pub options: Kind,
    /// Back end that ran it.
    pub device: String,
    pub device_name: String,
    #[serde(flatten)]
    pub score: Score,
}

/// A game that was played to its end.
#[derive(Serialize, Deserialize)]
pub struct GameFacts {
    /// Number of the game, from 1.
    pub game: u32,
    /// Who moved first.
    pub first: Side,
    /// Seeds of the players' searches.
    pub seed_a: u64,
    pub seed_b: u64,
    /// All moves from the start of the game.
    pub moves: String,
    /// Moves that the players made.
    pub plies: u32,
    /// Who won.
    pub result: GameResult,
    /// What the players found before each of their moves. Version 0.1 did not record it.
    pub searches: Option<Vec<MoveRecord>>,
    /// Seconds of each search.
    #[serde(default)]
    pub seconds: Vec<f64>,
}

impl MatchFacts {
    /// Holds the games to each other and to the match: numbers, seeds, plies.
    ///
    /// # Errors
    /// The first field that contradicts another.
    pub fn check_games(&self) -> Result<()> {
        let played = self.games.len();
        ensure!(self.n_played == played, "field n_played: {} is not the number of games, {played}", self.n_played);
        ensure!(
            played as u64 <= self.n_games.into(),
            "field n_games: {} is less than the {played} games",
            self.n_games
        );
        let mut before = 0;
        for game in &self.games {
            let number = game.game;
            ensure!(
                number > before && number <= self.n_games,
                "field games: number {number} after {before}, expected ascending numbers up to {}",
                self.n_games
            );
            before = number;
            let (plies, found) = (game.plies, game.searches.as_ref().map_or(0, Vec::len));
            ensure!(plies as usize == found, "field games: game {number} has {found} searches and says {plies} plies");
            let seeds = Side::BOTH.map(|side| seed(self.seed, number - 1, side));
            let given = [game.seed_a, game.seed_b];
            ensure!(
                given == seeds,
                "field games: game {number} has the seeds {given:?}, those of seed {} are {seeds:?}",
                self.seed
            );
        }
        Ok(())
    }

    /// Holds the totals of a match to those of its games.
    ///
    /// # Errors
    /// The first field that is not what follows from the games.
    pub fn check_totals(&self) -> Result<()> {
        let records: Vec<GameRecord> = self.games.iter().filter_map(GameFacts::record).collect();
        let Scores { a, b, first_mover_percent } = Scores::of(&records);
        for (name, recorded, found) in [("a", &self.a.score, a), ("b", &self.b.score, b)] {
            // Older files have no intervals; numbers as a file has them.
            let found = Score { interval_percent: recorded.interval_percent.and(found.interval_percent), ..found };
            let [recorded, found] = [as_written(recorded)?, as_written(&found)?];
            let differing =
                recorded.as_object().into_iter().flatten().find(|&(field, value)| found.get(field) != Some(value));
            if let Some((field, value)) = differing {
                bail!("field {name}.{field}: {value} is not what the games come to, {}", found[field]);
            }
        }
        let [recorded, found] = [as_written(&self.first_mover_percent)?, as_written(&first_mover_percent)?];
        ensure!(recorded == found, "field first_mover_percent: {recorded} is not what the games come to, {found}");
        Ok(())
    }
}

/// A value as it is read from a file.
fn as_written(value: &impl Serialize) -> Result<Value> {
    Ok(serde_json::from_str(&serde_json::to_string(value)?)?)
}

/// Seed of a player in a game, from 0: the search's number of the match's sequence, so that neighbours have nothing in common. 53 bits, since
/// many readers of JSON keep no more.
pub fn seed(match_seed: u64, game: u32, side: Side) -> u64 {
    split_mix::element(match_seed, 2 * u64::from(game) + side.index() as u64) >> 11
}

impl GameFacts {
    /// A game that was played; `moves` are all of it as text, from the start.
    pub fn new(game: u32, moves: String, played: Played) -> Self {
        let Played { record: GameRecord { first, seeds: [seed_a, seed_b], result, moves: searches }, seconds } = played;
        let plies = searches.len() as u32;
        Self { game, first, seed_a, seed_b, moves, plies, result, searches: Some(searches), seconds }
    }

    /// What a repetition must find again; `None` where the searches were not recorded.
    pub fn record(&self) -> Option<GameRecord> {
        let moves = self.searches.clone()?;
        Some(GameRecord { first: self.first, seeds: [self.seed_a, self.seed_b], result: self.result, moves })
    }
}
