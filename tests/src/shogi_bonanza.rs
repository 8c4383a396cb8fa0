//! The paper's objective from distinct differences of material, which need no positions.

use std::ops::Range;

use serde_json::Value;
use warpplay::Result;
use warpplay::shogi::{Objective, Values};
use warpplay_cpu_ref::shogi::material::{self, Program, Sequential};
use warpplay_papers::shogi_bonanza::Reproducible;

use crate::learning::reference;

/// The paper's objective over distinct differences and their counts.
#[derive(Debug)]
pub struct Distinct {
    rows: Vec<(u64, u64)>,
    objective: Objective,
}

impl Distinct {
    /// The first 100 games, and what the reference says of them.
    ///
    /// # Panics
    /// If the file is not what it should be: it is part of the repository.
    pub fn reference() -> (Self, Value) {
        let first = reference()["first_100_games"].clone();
        let rows: Vec<([i32; 13], u64)> =
            serde_json::from_value(first["difference_histogram"].clone()).expect("the reference has a histogram");
        let rows = rows.iter().map(|(numbers, count)| (material::pack(numbers), *count)).collect();
        (Self { rows, objective: Objective::default() }, first)
    }

    /// Every `size`-th row.
    pub fn share(&self, rank: usize, size: usize) -> Self {
        Self { rows: self.rows.iter().copied().skip(rank).step_by(size).collect(), ..*self }
    }

    /// No children at all.
    pub fn nothing() -> Self {
        Self { rows: vec![], objective: Objective::default() }
    }
}

impl Reproducible for Distinct {
    fn sums(&mut self, values: &Values, features: Range<usize>) -> Result<Vec<i128>> {
        let Objective { a, delta, .. } = self.objective;
        Ok(material::evaluations(|values| Sequential::histogram(&self.rows, values, a), values, delta, features))
    }

    fn children(&self) -> u64 {
        self.rows.iter().map(|(_, count)| count).sum()
    }
}
