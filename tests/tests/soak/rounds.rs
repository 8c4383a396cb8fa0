//! How much is tried, with which seed, and where the rows of the tables go: set by `cargo xtask soak` through environment variables; small defaults otherwise.

use std::fmt::Display;
use std::io::Write;
use std::str::FromStr;

use warpplay_tests::random::Random;

/// Environment variables: kills of each command and rounds of two writers; mutants of each parser; the seed; the file of the rows. A test of `xtask` holds its names to these.
const KILLS: &str = "WARPPLAY_SOAK_KILLS";
const MUTANTS: &str = "WARPPLAY_SOAK_MUTANTS";
const SEED: &str = "WARPPLAY_SOAK_SEED";
const ROWS: &str = "WARPPLAY_SOAK_ROWS";

fn number<T: FromStr>(variable: &str, otherwise: T) -> T {
    let Ok(text) = std::env::var(variable) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number"))
}

/// Kills of each command, and rounds of each pair of writers.
pub fn kills() -> u32 {
    number(KILLS, 2)
}

/// Mutants of a parser; `few` where nobody says how many.
pub fn mutants(few: u32) -> u32 {
    number(MUTANTS, few)
}

/// Random numbers for a subject: others for each, the same in each run of a seed.
pub fn random(subject: &str) -> Random {
    let seed = number(SEED, 1u64);
    let mut random = Random(subject.bytes().fold(seed, |sum, byte| Random(sum ^ u64::from(byte)).state()));
    // The first states of similar seeds are similar.
    random.state();
    random
}

/// Notes a row of a table: `table`, then the cells. Without a file to write to, it is printed.
pub fn note(table: &str, cells: &[&dyn Display]) {
    let cells = cells.iter().map(|cell| format!("\t{cell}")).collect::<String>();
    let line = format!("{table}{cells}\n");
    let Some(path) = std::env::var_os(ROWS) else { return print!("{line}") };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    // One write, so that the lines of tests side by side do not mix.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
