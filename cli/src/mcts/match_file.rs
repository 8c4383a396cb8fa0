//! The file of a match: what `match --json` writes and `replay` reads.

use serde::{Deserialize, Serialize};
use warpplay::mcts::contest::{GameRecord, GameResult, MoveRecord, Played, Score, Side};

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
