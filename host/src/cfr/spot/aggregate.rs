//! Values and frequencies of a spot on many boards, board by board and by texture.

mod csv;
mod html;
pub(in crate::cfr::spot) mod values;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub(super) use self::values::pairs;
pub use self::values::{BoardValues, Decision};
use super::boards::Boards;
use super::texture::Texture;
use crate::runtime::ranks::Ranks;
use crate::{Error, Result};

/// The boards on which a spot was solved, with values and frequencies of each. [`solve_boards`](super::solve_boards) makes it.
///
/// A mean weighs a board with the number of boards that it stands for times the pairs of hands that both ranges have beside it: this is the probability of the board, given that both seats
/// hold hands of their ranges. So the means of all boards are those of the game in which the board is dealt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    /// Chips in the pot at the beginning of the spot.
    pub pot: f64,
    /// The boards that were solved, in the order in which they were given.
    pub rows: Vec<BoardRow>,
    /// Boards beside which the ranges have no two hands that can be held together; they have the probability 0.
    pub blocked: Vec<String>,
    /// Boards that were not solved, or not to the end, because the work was stopped.
    pub left: Vec<String>,
}

/// A board that was solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoardRow {
    /// The cards, as `QsJh2h8c`.
    pub board: String,
    /// The number of boards that it stands for.
    pub weight: f64,
    /// Sum of the weights of all pairs of hands, one of each range, that can be held together beside it.
    pub pairs: f64,
    /// The features by which boards are grouped.
    pub texture: Texture,
    /// Values and frequencies.
    #[serde(flatten)]
    pub values: BoardValues,
}

/// The mean over some boards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoardMean {
    /// The boards that were solved.
    pub boards: usize,
    /// Sum of their weights: the boards that they stand for.
    pub weight: f64,
    /// Their probability among all boards that were solved.
    pub probability: f64,
    /// Expected share of the pot, by seat, in chips; with `icm` in prizes, as [`BoardValues::ev`].
    pub ev: [f64; 2],
    /// Share of the pot that each seat wins if everybody checks to the end, 0 to 1.
    pub equity: [f64; 2],
    /// The first decisions of both seats.
    pub decisions: Vec<Decision>,
}

/// The mean over the boards with one value of a feature of their [`Texture`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoardGroup {
    /// The feature: `high card`, `pairing`, `suits`, `cards to a straight`.
    pub feature: String,
    /// Its value, as `A` or `two_tone`.
    pub value: String,
    /// The mean.
    #[serde(flatten)]
    pub mean: BoardMean,
}

impl fmt::Display for Aggregate {
    /// Prints a line for the mean over all boards, one for each group of boards, and the numbers of boards that are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, name: &str, mean: &BoardMean| {
            let BoardMean { boards, probability, ev: [first, second], equity: [equity, _], decisions, .. } = mean;
            let percent = 100.0 * probability;
            write!(f, "{name:<40} {boards:>5} boards {percent:>6.2} %  ev {first:.4} {second:.4}  equity {equity:.4}")?;
            for decision in decisions.iter().filter(|decision| decision.history.is_empty()) {
                for (action, frequency) in decision.actions.iter().zip(&decision.frequencies) {
                    write!(f, "  {action} {:.1} %", 100.0 * frequency)?;
                }
            }
            writeln!(f)
        };
        match self.mean() {
            Some(mean) => line(f, "all", &mean)?,
            None => writeln!(f, "no board was solved")?,
        }
        for BoardGroup { feature, value, mean } in &self.groups() {
            line(f, &format!("{feature}: {value}"), mean)?;
        }
        write!(f, "{} boards impossible beside the ranges, {} not solved", self.blocked.len(), self.left.len())
    }
}

impl BoardRow {
    /// Its probability, but for a factor that is the same for all boards.
    fn chance(&self) -> f64 {
        self.weight * self.pairs
    }
}

/// Sums over the rows at one decision.
#[derive(Default)]
struct Sums {
    seat: usize,
    reach: f64,
    actions: Vec<(String, f64)>,
}

impl Aggregate {
    /// The mean over all boards; `None` without any.
    pub fn mean(&self) -> Option<BoardMean> {
        self.mean_of(&self.rows.iter().collect::<Vec<_>>())
    }

    /// The means of the boards that have the same value of a feature, in the order of features and values.
    pub fn groups(&self) -> Vec<BoardGroup> {
        let mut groups: BTreeMap<(usize, usize), (&str, String, Vec<&BoardRow>)> = BTreeMap::new();
        for row in &self.rows {
            for (number, (feature, order, value)) in row.texture.features().into_iter().enumerate() {
                groups.entry((number, order)).or_insert_with(|| (feature, value, Vec::new())).2.push(row);
            }
        }
        let group = |(feature, value, rows): (&str, String, Vec<&BoardRow>)| {
            Some(BoardGroup { feature: feature.to_string(), value, mean: self.mean_of(&rows)? })
        };
        groups.into_values().filter_map(group).collect()
    }

    fn mean_of(&self, rows: &[&BoardRow]) -> Option<BoardMean> {
        let all: f64 = self.rows.iter().map(BoardRow::chance).sum();
        let chance: f64 = rows.iter().map(|row| row.chance()).sum();
        if rows.is_empty() || chance <= 0.0 {
            return None;
        }
        let mean = |of: &dyn Fn(&BoardRow) -> f64| rows.iter().map(|row| row.chance() * of(row)).sum::<f64>() / chance;
        let by_seat = |of: &dyn Fn(&BoardRow) -> [f64; 2]| [0, 1].map(|seat| mean(&|row| of(row)[seat]));
        let mut decisions: BTreeMap<&str, Sums> = BTreeMap::new();
        for row in rows {
            for decision in &row.values.decisions {
                let sums = decisions.entry(&decision.history).or_default();
                let reach = row.chance() * decision.reach;
                sums.seat = decision.seat;
                sums.reach += reach;
                for (action, frequency) in decision.actions.iter().zip(&decision.frequencies) {
                    match sums.actions.iter_mut().find(|(name, _)| name == action) {
                        Some((_, sum)) => *sum += reach * frequency,
                        None => sums.actions.push((action.clone(), reach * frequency)),
                    }
                }
            }
        }
        let decision = |(history, sums): (&str, Sums)| {
            let frequency = |&(_, sum): &(String, f64)| if sums.reach > 0.0 { sum / sums.reach } else { 0.0 };
            Decision {
                history: history.to_string(),
                seat: sums.seat,
                reach: sums.reach / chance,
                frequencies: sums.actions.iter().map(frequency).collect(),
                actions: sums.actions.into_iter().map(|(action, _)| action).collect(),
            }
        };
        Some(BoardMean {
            boards: rows.len(),
            weight: rows.iter().map(|row| row.weight).sum(),
            probability: chance / all,
            ev: by_seat(&|row| row.values.ev),
            equity: by_seat(&|row| row.values.equity),
            decisions: decisions.into_iter().map(decision).collect(),
        })
    }

    /// The largest exploitability of a board in chips (prizes, if the spot has some); `None` where it was not measured.
    pub fn worst_exploitability(&self) -> Option<f64> {
        self.rows.iter().filter_map(|row| row.values.exploitability).reduce(f64::max)
    }

    /// Whether every board was solved to the end.
    pub fn is_finished(&self) -> bool {
        self.left.is_empty()
    }

    /// Collects what all ranks of a group have solved, each its [`share`](Boards::share) of these boards. Every rank calls it, and gets all.
    ///
    /// # Errors
    /// [`Error::Rank`] if another rank failed, or sent something else.
    pub fn gather(self, boards: &Boards, ranks: &dyn Ranks) -> Result<Self> {
        if ranks.size() == 1 {
            return Ok(self);
        }
        // Plain data, which always has a JSON form.
        let own = serde_json::to_vec(&self).unwrap_or_default();
        let mut all = Self { rows: Vec::new(), blocked: Vec::new(), left: Vec::new(), ..self };
        for (rank, bytes) in ranks.gather_bytes(&own)?.into_iter().enumerate() {
            let wrong = |error: serde_json::Error| Error::Rank {
                rank,
                size: ranks.size(),
                reason: format!("sent no boards: {error}"),
            };
            let part: Self = serde_json::from_slice(&bytes).map_err(wrong)?;
            all.rows.extend(part.rows);
            all.blocked.extend(part.blocked);
            all.left.extend(part.left);
        }
        let places: BTreeMap<&str, usize> = boards.iter().enumerate().map(|(at, board)| (&*board.cards, at)).collect();
        let place = |board: &str| places.get(board).copied().unwrap_or(usize::MAX);
        all.rows.sort_by_key(|row| place(&row.board));
        all.blocked.sort_by_key(|board| place(board));
        all.left.sort_by_key(|board| place(board));
        Ok(all)
    }
}

#[cfg(test)]
mod tests;
