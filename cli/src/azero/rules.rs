//! `verify` and `perft`: that games and counts are those of the rules.

use std::fmt::Write;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use warpplay::azero::checkers::{self, MoveCount};
use warpplay::azero::{GameRecord, read_records};

use crate::azero::args::{PerftArgs, VerifyArgs};
use crate::common;
use crate::common::table;

/// Version of the fields of [`Counts`].
const SCHEMA: u32 = 1;

/// Runs `verify`.
pub fn verify(args: &VerifyArgs) -> Result<()> {
    args.output.start_log();
    for path in &args.games {
        // Games of self-play tell what the search found, recorded ones the legal actions.
        let found = match is_self_play(path) {
            true => of_self_play(&read_records(path)?),
            false => checkers::replay(path)?.to_string(),
        };
        args.output.print(format!("{}: {found}: all agree with the rules\n", path.display()))?;
    }
    Ok(())
}

/// Whether the file's first line has visits of a search. A file that cannot be read is left to the reader of games to report.
fn is_self_play(path: &std::path::Path) -> bool {
    use std::io::BufRead;
    let Ok(file) = std::fs::File::open(path) else { return false };
    let first = std::io::BufReader::new(file).lines().map_while(Result::ok).find(|line| !line.trim().is_empty());
    first.is_some_and(|line| line.contains("\"visits\""))
}

fn of_self_play(records: &[GameRecord]) -> String {
    let states: u64 = records.iter().map(|record| u64::from(record.plies) + 1).sum();
    let n = |returns: [i64; 2]| records.iter().filter(|record| record.returns == returns).count();
    format!(
        "{} games of self-play, {} states: {} won by White, {} by Black, {} drawn",
        records.len(),
        states,
        n([1, -1]),
        n([-1, 1]),
        n([0, 0])
    )
}

/// What `perft` writes.
#[derive(Serialize)]
struct Counts {
    schema: u32,
    kind: &'static str,
    position: String,
    depths: Vec<Count>,
    seconds: f64,
    program: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Count {
    depth: u32,
    actions: u64,
    turns: u64,
}

/// Runs `perft`.
pub fn perft(args: &PerftArgs) -> Result<()> {
    args.output.start_log();
    let position = args.start.position()?;
    let json = args.output.json_file()?;
    let start = Instant::now();
    let counts = checkers::perft(&position, args.depth)?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(json) = json {
        let depths = counts.iter().map(|&MoveCount { depth, actions, turns }| Count { depth, actions, turns });
        let record = Counts {
            schema: SCHEMA,
            kind: "perft",
            position: position.to_text(),
            depths: depths.collect(),
            seconds,
            program: "warpplay azero",
            version: env!("CARGO_PKG_VERSION"),
        };
        json.write_json(&record)?;
    }
    if !args.output.quiet {
        let mut text = String::from("depth        actions          turns\n");
        for MoveCount { depth, actions, turns } in counts {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{depth:>5} {actions:>14} {turns:>14}");
        }
        text += &format!("in {}; jumps of one piece in a row are one turn\n", table::seconds(seconds));
        common::print(text)?;
    }
    Ok(())
}
