//! Reports of self-play and matches.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::options::{MatchOptions, SelfPlayOptions};
use crate::azero::Engine;

/// Games of self-play, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GamesPlayed {
    /// Games that ended.
    pub games: u64,
    /// Actions in them.
    pub plies: u64,
    /// Games won by the first player.
    pub first_wins: u64,
    /// Games won by the second player.
    pub second_wins: u64,
    /// Games drawn by the 40-action rule.
    pub draws: u64,
    /// Time in seconds.
    pub seconds: f64,
    /// Batches of leaves that were evaluated twice, as [`Player::repeated_batches`](super::Player::repeated_batches); 0 in older files.
    #[serde(default)]
    pub repeated_batches: u64,
}

/// Result of self-play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfPlayReport {
    /// The device.
    pub device: String,
    /// Name of the estimator of leaves.
    pub estimator: String,
    /// The engine that evaluated; `None` without a network.
    pub engine: Option<Engine>,
    /// Seed of all random numbers.
    #[serde(default)]
    pub seed: u64,
    /// The options.
    pub options: SelfPlayOptions,
    /// The games, and their time.
    #[serde(flatten)]
    pub played: GamesPlayed,
}

impl fmt::Display for SelfPlayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GamesPlayed { games, plies, first_wins, second_wins, draws, seconds, repeated_batches } = self.played;
        write!(
            f,
            "{games} games by {} on {}, engine {}, seed {}: {first_wins} won by the first player, {second_wins} by the second, {draws} drawn; {:.1} actions a game, {seconds:.2} s",
            self.estimator,
            self.device,
            engine_name(self.engine),
            self.seed,
            plies as f64 / games.max(1) as f64
        )?;
        repeated(f, repeated_batches)
    }
}

/// Prints how many batches were evaluated twice, if any were.
fn repeated(f: &mut fmt::Formatter<'_>, batches: u64) -> fmt::Result {
    if batches == 0 { Ok(()) } else { write!(f, "; {batches} batches evaluated twice") }
}

/// The engine's name in a line of text.
fn engine_name(engine: Option<Engine>) -> &'static str {
    engine.map_or("none", Engine::name)
}

/// Games by their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// Won.
    pub wins: u32,
    /// Drawn.
    pub draws: u32,
    /// Lost.
    pub losses: u32,
}

impl Results {
    /// Games.
    pub fn games(&self) -> u32 {
        self.wins + self.draws + self.losses
    }

    /// Share of the points, a draw being half a point.
    pub fn score(&self) -> f64 {
        (f64::from(self.wins) + 0.5 * f64::from(self.draws)) / f64::from(self.games().max(1))
    }
}

/// The result of a match for the first contestant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchReport {
    /// Names of both.
    pub names: [String; 2],
    /// The first contestant's results as first player (White) and as second.
    pub by_colour: [Results; 2],
    /// Actions of all games.
    pub plies: u64,
    /// Time in seconds.
    pub seconds: f64,
    /// The device; empty in files of version 0.1.
    #[serde(default)]
    pub device: String,
    /// The engine of each contestant; `None` for a contestant without a network.
    #[serde(default)]
    pub engines: [Option<Engine>; 2],
    /// Seed of openings and of random play.
    #[serde(default)]
    pub seed: u64,
    /// The options; the defaults for files of version 0.1.
    #[serde(default)]
    pub options: MatchOptions,
    /// Number of batches of leaves evaluated twice for each contestant, as [`Player::repeated_batches`](super::Player::repeated_batches); 0 in older files.
    #[serde(default)]
    pub repeated_batches: [u64; 2],
}

impl MatchReport {
    /// The first contestant's results with both colours.
    pub fn results(&self) -> Results {
        let [first, second] = self.by_colour;
        Results {
            wins: first.wins + second.wins,
            draws: first.draws + second.draws,
            losses: first.losses + second.losses,
        }
    }
}

impl fmt::Display for MatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Results { wins, draws, losses } = self.results();
        let ([first, second], [one, other]) = (&self.names, self.engines.map(engine_name));
        write!(f, "{first} against {second}: {wins} won, {draws} drawn, {losses} lost on {}", self.device)?;
        match one == other {
            true => write!(f, ", engine {one}")?,
            false => write!(f, ", engines {one} and {other}")?,
        }
        write!(f, ", seed {}; {:.2} s", self.seed, self.seconds)?;
        repeated(f, self.repeated_batches.iter().sum())
    }
}
