//! All children of a data set as the few thousand differences that there are.

use std::collections::HashMap;

use rayon::prelude::*;
use warpplay_cpu_ref::shogi::material::{self, Program, Sequential};

use crate::Result;
use crate::shogi::evaluation::{Evaluation, SUMS, check_children, raised};
use crate::shogi::objective::{Objective, Row, Values, check_values};
use crate::shogi::shard::Shard;

/// Children that one thread counts at a time.
const CHUNK: usize = 1 << 16;

/// Distinct differences of material ([`warpplay_gpu::shogi::difference`]) in ascending order, each with its number of children.
///
/// Everything the paper computes of its positions is a sum over these rows; two histograms of parts of a data set [merge](Self::merge) into that of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    rows: Vec<(u64, u64)>,
}

impl Histogram {
    /// Counts on the CPU, on all its cores.
    pub fn from_shards(shards: &[&Shard]) -> Self {
        let chunks: Vec<&[u64]> = shards.iter().flat_map(|shard| shard.differences.chunks(CHUNK)).collect();
        let count = |mut counts: HashMap<u64, u64>, chunk: &&[u64]| {
            let mut zeros = 0;
            for &difference in *chunk {
                if difference == 0 {
                    zeros += 1;
                } else {
                    *counts.entry(difference).or_default() += 1;
                }
            }
            *counts.entry(0).or_default() += zeros;
            counts
        };
        let parts: Vec<HashMap<u64, u64>> = chunks.par_iter().fold(HashMap::new, count).collect();
        Self::from_rows(parts.into_iter().flatten())
    }

    /// Makes a histogram from differences and counts in any order; equal differences are added up (to at most 2⁶⁴ − 1), and counts of 0 omitted.
    pub fn from_rows(rows: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut all: Vec<(u64, u64)> = rows.into_iter().filter(|row| row.1 > 0).collect();
        all.sort_unstable();
        all.dedup_by(|again, first| {
            let equal = again.0 == first.0;
            if equal {
                first.1 = first.1.saturating_add(again.1);
            }
            equal
        });
        Self { rows: all }
    }

    /// The rows: difference and count, ascending.
    pub fn rows(&self) -> &[(u64, u64)] {
        &self.rows
    }

    /// Total number of children, at most 2⁶⁴ − 1.
    pub fn children(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.1))
    }

    /// Share of the children that have no difference; NaN without children.
    pub fn zero_share(&self) -> f64 {
        let zeros = self.rows.iter().find(|row| row.0 == 0).map_or(0, |row| row.1);
        zeros as f64 / self.children() as f64
    }

    /// Adds the histogram of another part of the data.
    pub fn merge(&mut self, other: &Self) {
        *self = Self::from_rows(self.rows.iter().chain(&other.rows).copied());
    }

    /// The histogram with every count multiplied, as if the data occurred this many times.
    pub fn repeated(&self, times: u32) -> Self {
        Self::from_rows(self.rows.iter().map(|&(difference, count)| (difference, count.saturating_mul(times.into()))))
    }

    /// The objective and its differences, on one core.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for values that are not finite or too large.
    pub fn evaluate(&self, objective: &Objective, values: &Values) -> Result<Evaluation> {
        check_values("values", values)?;
        Ok(self.evaluation(objective, values))
    }

    /// As [`evaluate`](Self::evaluate), for values of a fit, regardless of their size.
    fn evaluation(&self, objective: &Objective, values: &Values) -> Evaluation {
        let sum = |value: Option<usize>| {
            Sequential::histogram(&self.rows, &raised(values, value, objective.delta), objective.a)
        };
        let mut sums = [0; SUMS];
        for (value, to) in std::iter::once(None).chain((0..).map(Some)).zip(&mut sums) {
            *to = sum(value);
        }
        Evaluation { sums, children: self.children() }
    }

    /// The analytic gradient `∂J/∂v`; NaN without children.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for values that are not finite or too large.
    pub fn gradient(&self, objective: &Objective, values: &Values) -> Result<Values> {
        check_values("values", values)?;
        Ok(material::gradient(&self.rows, values, objective.a))
    }

    /// The fit over these rows, on one core: `iterations + 1` rows, the last one evaluated after the last step.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) for values or an objective that are not finite or too large; [`Error::Shape`](crate::Error::Shape) without children.
    pub fn fit(&self, objective: Objective, mut values: Values, iterations: u32) -> Result<Vec<Row>> {
        objective.check()?;
        check_values("values", &values)?;
        check_children(self.children())?;
        let mut h = objective.h;
        let mut rows = Vec::new();
        for iteration in 0..=iterations {
            let evaluation = self.evaluation(&objective, &values);
            rows.push(evaluation.row(iteration, values, h));
            evaluation.step(&mut values, h);
            h *= objective.factor;
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_merge_into_the_whole() {
        let shard = |differences: &[u64]| Shard { differences: differences.into(), ..Shard::default() };
        let (one, two) = (shard(&[5, 0, 0, 256]), shard(&[256, 5, 5, 0]));
        let whole = Histogram::from_shards(&[&one, &two]);
        assert_eq!(whole.rows(), [(0, 3), (5, 3), (256, 2)]);
        assert_eq!((whole.children(), whole.zero_share()), (8, 0.375));
        let mut merged = Histogram::from_shards(&[&two]);
        merged.merge(&Histogram::from_shards(&[&one]));
        assert_eq!(merged, whole);
        assert_eq!(whole.repeated(2).rows(), [(0, 6), (5, 6), (256, 4)]);
        assert_eq!(Histogram::from_shards(&[]).rows(), []);
        assert_eq!(Histogram::from_rows([(1, u64::MAX), (1, 1), (2, 5)]).repeated(9).children(), u64::MAX);
        assert_eq!(Histogram::from_rows([(1, 0), (2, 1), (1, 3)]).rows(), [(1, 3), (2, 1)]);
    }

    #[test]
    fn nothing_cannot_be_learnt_from() {
        let none = Histogram::default();
        let error = none.fit(Objective::default(), [3.0; 12], 1).unwrap_err();
        assert_eq!(error.to_string(), "children: expected 1 or more, got 0");
    }
}
