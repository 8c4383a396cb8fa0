//! What the tests of shogi learning share: small data, and the source's objective from the reference's distinct differences.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use warpplay::Result;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::ranks::Reproducible;
use warpplay::shogi::records::{self, Records};
use warpplay::shogi::{Objective, Values, Window};
use warpplay_cpu_ref::shogi::source::{self, Program, Sequential};

use crate::golden;

/// The source's objective over distinct differences and their counts.
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
        let reference: Value =
            serde_json::from_str(&golden::text("shogi/learning.json")).expect("the reference is JSON");
        let first = reference["first_100_games"].clone();
        let rows: Vec<([i32; 13], u64)> =
            serde_json::from_value(first["difference_histogram"].clone()).expect("the reference has a histogram");
        let rows = rows.iter().map(|(numbers, count)| (source::pack(numbers), *count)).collect();
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
        Ok(source::evaluations(|values| Sequential::histogram(&self.rows, values, a), values, delta, features))
    }

    fn children(&self) -> u64 {
        self.rows.iter().map(|(_, count)| count).sum()
    }
}

/// The file of the first 100 games.
pub fn file_of_games() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/shogi/first_100.usi.txt.gz")
}

/// The first 100 games.
///
/// # Panics
/// If the file is not what it should be: it is part of the repository.
pub fn games() -> &'static Records {
    static GAMES: OnceLock<Records> = OnceLock::new();
    GAMES.get_or_init(|| records::read(&file_of_games()).expect("the games can be read"))
}

/// Some of these games and half-moves, in shards of so many parents.
///
/// # Panics
/// If there are none.
pub fn dataset(games: Range<u32>, plies: Range<u32>, ply_step: u32, shard_parents: usize) -> Dataset {
    let window = |range: Range<u32>, step| Window { start: range.start, end: range.end, step };
    let builder = Dataset::builder().games(window(games, 1)).plies(window(plies, ply_step));
    builder.shard_parents(shard_parents).build(self::games()).expect("there are such games")
}

/// Positions to learn from and held-out ones of a few games: enough that most pieces move, few enough for kernels that run thread by thread.
pub fn few() -> (Dataset, Dataset) {
    (dataset(0..8, 40..80, 13, 5), dataset(8..11, 41..80, 13, 100))
}
