//! What games add up to.

use serde::{Deserialize, Serialize};

use super::record::{GameRecord, MoveRecord, Side};

/// The score of a player. Averages are over its moves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Games won.
    pub wins: u32,
    /// Games drawn.
    pub draws: u32,
    /// Games lost.
    pub losses: u32,
    /// Score in percent, a draw counting half; `None` if no game was played.
    pub score_percent: Option<f64>,
    /// 95 % interval of the score, [`wilson_percent`].
    #[serde(default)]
    pub interval_percent: Option<[f64; 2]>,
    /// The score over the games in which the player moved first.
    pub as_first_percent: Option<f64>,
    /// The score over the games in which the player moved second.
    pub as_second_percent: Option<f64>,
    /// Searches made, one a move; the averages are over them.
    pub searches: u64,
    /// Mean number of steps.
    pub mean_steps: Option<f64>,
    /// Mean number of playouts.
    pub mean_playouts: Option<f64>,
    /// Mean depth of the trees' nodes.
    pub mean_depth: Option<f64>,
    /// Average of the searches' largest depths.
    pub mean_max_depth: Option<f64>,
    /// Largest depth of all.
    pub max_depth: u32,
    /// Searches in which a tree was full.
    #[serde(default)]
    pub searches_with_full_trees: u64,
}

/// The result of a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Score of A.
    pub a: Score,
    /// Score of B.
    pub b: Score,
    /// Score of the players that moved first, in percent.
    pub first_mover_percent: Option<f64>,
}

/// Mean of the values; `None` if there are none.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0u64, 0.0), |(n, sum), value| (n + 1, sum + value));
    (n > 0).then(|| sum / n as f64)
}

fn percent<'a>(games: impl Iterator<Item = &'a GameRecord>, of: impl Fn(&GameRecord) -> Side) -> Option<f64> {
    mean(games.map(|game| 100.0 * game.result.score(of(game))))
}

/// 95 % interval of a score of `percent` in `n` games, after Wilson; `None` without a game. Draws count as half a win and half a loss; their variance is smaller than that
/// of wins and losses, so the interval is wide enough for them too.
///
/// # Source
/// Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
pub fn wilson_percent(percent: f64, n: u64) -> Option<[f64; 2]> {
    /// 97.5 % quantile of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    if n == 0 {
        return None;
    }
    let (p, n) = (percent / 100.0, n as f64);
    let scale = 1.0 + Z * Z / n;
    let middle = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some([middle - half, middle + half].map(|bound| 100.0 * bound.clamp(0.0, 1.0)))
}

impl Scores {
    /// Adds up the games.
    pub fn of<'a>(games: impl IntoIterator<Item = &'a GameRecord>) -> Self {
        let games: Vec<&GameRecord> = games.into_iter().collect();
        let [a, b] = Side::BOTH.map(|side| Score::of(&games, side));
        Self { a, b, first_mover_percent: percent(games.into_iter(), |game| game.first) }
    }
}

impl Score {
    fn of(games: &[&GameRecord], side: Side) -> Self {
        let all = || games.iter().copied();
        let count = |score: f64| all().filter(|game| game.result.score(side) == score).count() as u32;
        let moves = || all().flat_map(|game| game.moves_of(side));
        let average = |value: fn(&MoveRecord) -> f64| mean(moves().map(value));
        let score_percent = percent(all(), |_| side);
        Self {
            wins: count(1.0),
            draws: count(0.5),
            losses: count(0.0),
            score_percent,
            interval_percent: score_percent.and_then(|score| wilson_percent(score, games.len() as u64)),
            as_first_percent: percent(all().filter(|game| game.first == side), |_| side),
            as_second_percent: percent(all().filter(|game| game.first != side), |_| side),
            searches: moves().count() as u64,
            mean_steps: average(|found| found.steps as f64),
            mean_playouts: average(|found| found.playouts as f64),
            mean_depth: average(|found| found.mean_depth),
            mean_max_depth: average(|found| f64::from(found.max_depth)),
            max_depth: moves().map(|found| found.max_depth).max().unwrap_or(0),
            searches_with_full_trees: moves().filter(|found| found.full_trees > 0).count() as u64,
        }
    }
}

/// A's score in percent after each game, in their order.
pub fn running_percent<'a>(games: impl IntoIterator<Item = &'a GameRecord>) -> Vec<f64> {
    let mut sum = 0.0;
    games
        .into_iter()
        .zip(1..)
        .map(|(game, n): (_, u32)| {
            sum += game.result.score(Side::A);
            100.0 * sum / f64::from(n)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_ends_where_the_score_is_as_far_off_as_it_may_be() {
        // Wilson's bounds are the two p for which the observed share is exactly z standard deviations of p away.
        for (percent, n) in [(55.0, 100), (0.0, 10), (100.0, 7), (12.5, 4)] {
            let bounds = wilson_percent(percent, n).expect("games");
            assert!(bounds[0] <= percent && percent <= bounds[1], "{bounds:?}");
            for p in bounds.map(|bound| bound / 100.0) {
                let distance = (percent / 100.0 - p).abs();
                let deviation = 1.959_963_984_540_054 * (p * (1.0 - p) / n as f64).sqrt();
                assert!((distance - deviation).abs() < 1e-9 || distance < 1e-9, "{percent} of {n}: {p}");
            }
        }
        assert_eq!(wilson_percent(50.0, 0), None);
    }
}
