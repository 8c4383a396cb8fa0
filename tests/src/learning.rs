//! What the tests of shogi learning share: small data, what the reference says of them.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::Value;
use warpplay::Progress;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::records::{self, Records};
use warpplay::shogi::{Row, Shard, Window};
use warpplay_gpu::shogi::piece::parts;

use crate::golden;

/// What the reference's floats may differ by: its sums are rounded elsewhere than ours.
const TOLERANCE: f64 = 1e-9;

/// What the reference says: of the first 100 games whole, of all games the ends.
///
/// # Panics
/// If the file is not what it should be: it is part of the repository.
pub fn reference() -> Value {
    serde_json::from_str(&golden::text("shogi/learning.json")).expect("the reference is JSON")
}

/// Holds rows to those of one of the reference's runs, which may have more.
///
/// # Panics
/// If a number is too far.
#[track_caller]
pub fn same_as_reference(rows: &[Row], run: &Value) {
    let expected = run["rows"].as_array().expect("a list");
    assert!(rows.len() <= expected.len() && rows.len() > 1);
    for (row, expected) in rows.iter().zip(expected) {
        let close = |what: &str, got: f64, expected: &Value| {
            // The reference's last row has no differences.
            let Some(expected) = expected.as_f64() else { return };
            assert!((got - expected).abs() <= TOLERANCE, "{what} of row {}: {got}, not {expected}", row.iteration);
        };
        assert!(expected["J"].is_f64());
        close("J", row.j, &expected["J"]);
        close("h", row.h, &expected["h"]);
        for value in 0..12 {
            close("value", row.values[value], &expected["v"][value]);
            close("difference", row.differences[value], &expected["dJ"][value]);
        }
    }
}

/// The file of the first 100 games.
pub fn file_of_games() -> PathBuf {
    golden::path("shogi/first_100.usi.txt.gz")
}

/// The first 100 games.
///
/// # Panics
/// If the file is not what it should be: it is part of the repository.
pub fn games() -> &'static Records {
    static GAMES: OnceLock<Records> = OnceLock::new();
    GAMES.get_or_init(|| records::read(&file_of_games(), Progress::go_on).expect("the games can be read"))
}

/// The first of these games alone.
///
/// # Panics
/// As [`games`].
pub fn first_games(n: usize) -> Records {
    let Records { games, skipped } = games();
    Records { games: games[..n].to_vec(), skipped: skipped.clone() }
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

/// Half-moves 40 to `end` of the first games, a hundred at most.
pub fn shards_of(games: u32, end: u32, shard_parents: usize) -> Dataset {
    dataset(0..games, 40..end, 1, shard_parents)
}

/// Positions to learn from and held-out ones of a few games: enough that most pieces move, few enough for kernels that run thread by thread.
pub fn few() -> (Dataset, Dataset) {
    (dataset(0..8, 40..80, 13, 5), dataset(8..11, 41..80, 13, 100))
}

/// The list of pieces of a parent's child.
pub fn list_of_child(shard: &Shard, parent: usize, child: usize) -> [u16; 40] {
    let mut numbers = shard.pieces[parent];
    for change in shard.changes_of(child) {
        numbers[(change >> 16) as usize] = *change as u16;
    }
    numbers
}

/// What a list has more of each kind for a side than for the other.
pub fn material(numbers: &[u16; 40], side: u32) -> [i32; 13] {
    let mut counts = [0; 13];
    for (kind, owner, _) in numbers[..38].iter().filter_map(|&number| parts(number.into())) {
        counts[kind as usize] += if owner == side { 1 } else { -1 };
    }
    counts
}
