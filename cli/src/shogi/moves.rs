//! `moves`: legal moves against a file of positions.

use anyhow::{Result, bail};
use serde::Serialize;
use warpplay::shogi::board::{Disagreement, check_moves};

use crate::common;
use crate::common::table::{count, thousands};
use crate::shogi::args::MovesArgs;

/// Disagreements that are printed; the JSON has all.
const SHOWN: usize = 10;

/// What is written.
#[derive(Serialize)]
struct Found<'a> {
    file: String,
    positions: u64,
    moves: u64,
    differ: &'a [Disagreement],
}

/// Runs the command.
pub fn run(args: &MovesArgs) -> Result<()> {
    args.output.start_log();
    common::expect_apart(&[("FILE.jsonl", Some(&args.file))], &[("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
    let report = check_moves(&args.file)?;
    if let Some(json) = json {
        let found = Found {
            file: args.file.display().to_string(),
            positions: report.positions,
            moves: report.moves,
            differ: &report.disagreements,
        };
        json.write_json(&common::Record::new("shogi moves", found))?;
    }
    if !args.output.quiet {
        for differ in report.disagreements.iter().take(SHOWN) {
            common::print(text(differ))?;
        }
    }
    if !report.disagreements.is_empty() {
        let (wrong, all) = (report.disagreements.len() as u64, report.positions);
        bail!("{}: {} of {} differ", args.file.display(), thousands(wrong), count(all, "position"));
    }
    if !args.output.quiet {
        let (positions, moves) = (count(report.positions, "position"), count(report.moves, "legal move"));
        common::print(format!("{positions}, {moves}: all agree\n"))?;
    }
    Ok(())
}

fn text(differ: &Disagreement) -> String {
    let list = |moves: &[String]| if moves.is_empty() { "none".to_string() } else { moves.join(" ") };
    let (missing, extra) = (list(&differ.missing), list(&differ.extra));
    format!("line {}: {}\n  only in the file: {missing}\n  only here: {extra}\n", differ.line, differ.sfen)
}
