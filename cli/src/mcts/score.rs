//! The games of a match and what they add up to.

use std::fmt::Write;

use serde::Serialize;

use crate::common::table::thousands;
use crate::mcts::player::Thought;

/// One of the two players of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Name {
    A,
    B,
}

impl Name {
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The opponent.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Result {
    A,
    B,
    Draw,
}

impl Result {
    /// 1 for a win, 0.5 for a draw, 0 for a loss of this player.
    fn score(self, name: Name) -> f64 {
        match (self, name) {
            (Self::Draw, _) => 0.5,
            (Self::A, Name::A) | (Self::B, Name::B) => 1.0,
            _ => 0.0,
        }
    }
}

/// A game that was played to its end.
#[derive(Clone, Debug, Serialize)]
pub struct Game {
    /// Number of the game, from 1.
    pub game: u32,
    /// Who moved first.
    pub first: Name,
    /// Seeds of the players' searches.
    pub seed_a: u64,
    pub seed_b: u64,
    /// All moves from the start of the game.
    pub moves: String,
    /// Moves that the players made.
    pub plies: u32,
    /// Who won.
    pub result: Result,
    /// What the players thought, for the averages.
    #[serde(skip)]
    pub thoughts: Vec<(Name, Thought)>,
}

/// What a player scored.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Score {
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
    /// In percent, a draw counting half; `None` where no such game was played.
    pub score_percent: Option<f64>,
    /// The same over the games in which the player moved first.
    pub as_first_percent: Option<f64>,
    /// The same over the games in which the player moved second.
    pub as_second_percent: Option<f64>,
    /// Searches made, one a move; the averages are over them.
    pub searches: u64,
    pub mean_steps: Option<f64>,
    pub mean_playouts: Option<f64>,
    pub mean_depth: Option<f64>,
    /// Average of the searches' largest depths.
    pub mean_max_depth: Option<f64>,
    /// Largest depth of all.
    pub max_depth: u32,
}

/// What a match comes to.
#[derive(Clone, Debug, Serialize)]
pub struct Scores {
    pub a: Score,
    pub b: Score,
    /// Score of whoever moved first, in percent.
    pub first_mover_percent: Option<f64>,
}

/// Mean of some values; `None` of none.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0u64, 0.0), |(n, sum), value| (n + 1, sum + value));
    (n > 0).then(|| sum / n as f64)
}

fn percent<'a>(games: impl Iterator<Item = &'a Game>, of: impl Fn(&Game) -> Name) -> Option<f64> {
    mean(games.map(|game| 100.0 * game.result.score(of(game))))
}

impl Scores {
    /// Adds up the games.
    pub fn of(games: &[Game]) -> Self {
        let [a, b] = Name::BOTH.map(|name| Score::of(games, name));
        Self { a, b, first_mover_percent: percent(games.iter(), |game| game.first) }
    }

    /// As a table.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let number = |x: Option<f64>, digits: usize| x.map_or("-".to_string(), |x| format!("{x:.digits$}"));
        let count = |x: Option<f64>| x.map_or("-".to_string(), |x| thousands(x.round() as u64));
        let (a, b) = (&self.a, &self.b);
        let rows = [
            (
                "wins / draws / losses",
                [a, b].map(|score| format!("{} / {} / {}", score.wins, score.draws, score.losses)),
            ),
            ("score, %", [a, b].map(|score| number(score.score_percent, 1))),
            ("  as first mover, %", [a, b].map(|score| number(score.as_first_percent, 1))),
            ("  as second mover, %", [a, b].map(|score| number(score.as_second_percent, 1))),
            ("searches", [a, b].map(|score| thousands(score.searches))),
            ("playouts a search, mean", [a, b].map(|score| count(score.mean_playouts))),
            ("steps a search, mean", [a, b].map(|score| count(score.mean_steps))),
            ("depth of the nodes, mean", [a, b].map(|score| number(score.mean_depth, 2))),
            ("largest depth, mean", [a, b].map(|score| number(score.mean_max_depth, 2))),
            ("largest depth of all", [a, b].map(|score| score.max_depth.to_string())),
        ];
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<26} {:>18} {:>18}", "", "A", "B");
        for (name, [a, b]) in rows {
            let _ = writeln!(text, "{name:<26} {a:>18} {b:>18}");
        }
        let _ = writeln!(text, "first mover's mean score   {} %", number(self.first_mover_percent, 1));
        text
    }
}

impl Score {
    fn of(games: &[Game], name: Name) -> Self {
        let count = |score: f64| games.iter().filter(|game| game.result.score(name) == score).count() as u32;
        let thoughts: Vec<Thought> = games
            .iter()
            .flat_map(|game| &game.thoughts)
            .filter(|(of, _)| *of == name)
            .map(|(_, thought)| *thought)
            .collect();
        let average = |value: fn(&Thought) -> f64| mean(thoughts.iter().map(value));
        Self {
            wins: count(1.0),
            draws: count(0.5),
            losses: count(0.0),
            score_percent: percent(games.iter(), |_| name),
            as_first_percent: percent(games.iter().filter(|game| game.first == name), |_| name),
            as_second_percent: percent(games.iter().filter(|game| game.first != name), |_| name),
            searches: thoughts.len() as u64,
            mean_steps: average(|thought| thought.steps as f64),
            mean_playouts: average(|thought| thought.playouts as f64),
            mean_depth: average(|thought| thought.mean_depth),
            mean_max_depth: average(|thought| f64::from(thought.max_depth)),
            max_depth: thoughts.iter().map(|thought| thought.max_depth).max().unwrap_or(0),
        }
    }
}

/// A's score in percent after each game, in their order.
pub fn running(games: &[Game]) -> Vec<f64> {
    let mut sum = 0.0;
    games
        .iter()
        .zip(1..)
        .map(|(game, n): (_, u32)| {
            sum += game.result.score(Name::A);
            100.0 * sum / f64::from(n)
        })
        .collect()
}
