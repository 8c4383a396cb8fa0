//! `verify` and `perft`: that games and counts are those of the rules.

use std::fmt::Write;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use warpplay::azero::checkers::{self, MoveCount, ReplayedGames};
use warpplay::azero::{GameRecord, read_records};
use warpplay::input_file;

use crate::azero::args::{PerftArgs, VerifyArgs};
use crate::common;
use crate::common::table;

/// Runs `verify`.
pub fn verify(args: &VerifyArgs) -> Result<()> {
    args.output.start_log();
    let read: Vec<_> = args.games.iter().map(|path| ("GAMES.jsonl", Some(path.as_path()))).collect();
    common::expect_apart(&read, &[("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
    let mut files = Vec::new();
    for path in &args.games {
        // Games of self-play tell what the search found, recorded ones the legal actions.
        let self_play = is_self_play(path);
        let found = common::without_results(|| match self_play {
            true => Ok(of_self_play(&read_records(path)?)),
            false => checkers::replay(path),
        })?;
        let text =
            if self_play { found.to_string().replace(" games,", " games of self-play,") } else { found.to_string() };
        args.output.print(format!("{}: {text}: all agree with the rules\n", path.display()))?;
        let ReplayedGames { games, states, draws, wins } = found;
        files.push(Verified { file: path.display().to_string(), self_play, games, states, draws, wins });
    }
    json.map_or(Ok(()), |json| json.write_json(&common::Record::new("azero verify", VerifyFacts { files })))
}

/// What `verify` writes.
#[derive(Serialize)]
struct VerifyFacts {
    files: Vec<Verified>,
}

/// A file of games that agree with the rules.
#[derive(Serialize)]
struct Verified {
    file: String,
    /// Recorded by `selfplay`, not by others.
    self_play: bool,
    games: u64,
    /// The last one of each game among them.
    states: u64,
    draws: u64,
    /// By White and by Black.
    wins: [u64; 2],
}

/// Whether the file's first line has visits of a search. What cannot be read, and what is no file, is left to the reader of games to report.
fn is_self_play(path: &std::path::Path) -> bool {
    use std::io::BufRead;
    if input_file::expect_file(path).is_err() {
        return false;
    }
    let Ok(file) = std::fs::File::open(path) else { return false };
    let first = std::io::BufReader::new(file).lines().map_while(Result::ok).find(|line| !line.trim().is_empty());
    first.is_some_and(|line| line.contains("\"visits\""))
}

fn of_self_play(records: &[GameRecord]) -> ReplayedGames {
    let states = records.iter().map(|record| u64::from(record.plies) + 1).sum();
    let n = |returns: [i64; 2]| records.iter().filter(|record| record.returns == returns).count() as u64;
    ReplayedGames { games: records.len() as u64, states, draws: n([0, 0]), wins: [n([1, -1]), n([-1, 1])] }
}

/// What `perft` writes.
#[derive(Serialize)]
struct Facts {
    position: String,
    depths: Vec<Count>,
    seconds: f64,
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
    let counts = checkers::perft_watched(&position, args.depth, common::until_interrupted)?;
    let is_stopped = counts.len() < args.depth as usize;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(json) = json {
        let depths = counts.iter().map(|&MoveCount { depth, actions, turns }| Count { depth, actions, turns });
        let facts = Facts { position: position.to_text(), depths: depths.collect(), seconds };
        json.write_json(&common::Record::new("azero perft", facts))?;
    }
    if !args.output.quiet {
        let mut text = String::from("depth        actions          turns\n");
        for MoveCount { depth, actions, turns } in counts {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{depth:>5} {actions:>14} {turns:>14}");
        }
        if is_stopped {
            text += "stopped early\n";
        }
        text += &format!("in {}; jumps of one piece in a row are one turn\n", table::seconds(seconds));
        common::print(text)?;
    }
    Ok(())
}
