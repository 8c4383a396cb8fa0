//! `info`: how large a game is.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::cfr::spot::{SolvedSpot, Spot, SpotForm};
use warpplay::cfr::{Counts, GameDef, Options};

use crate::cfr::args::InfoArgs;
use crate::cfr::browse::path;
use crate::cfr::games;
use crate::cfr::kinds::{self, Kind};
use crate::common;
use crate::common::table::{Table, count, facts, seconds, significant, thousands};

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    game: String,
    definition: &'a GameDef,
    counts: &'a Counts,
}

/// Runs the command.
pub fn run(args: &InfoArgs) -> Result<()> {
    args.output.start_log();
    common::expect_apart(&[("FILE.game", Some(&args.game))], &[("--json", args.output.json.as_deref())], &[])?;
    match kinds::of(&args.game) {
        Some(Kind::Spot) => return run_spot(args),
        _ => kinds::expect(&args.game, &[])?,
    }
    let game = games::definition(&args.game)?;
    let json = args.output.json_file()?;
    let counts = common::without_results(|| Counts::of(&game)).with_context(|| args.game.display().to_string())?;
    if let Some(json) = json {
        let facts = Facts { game: args.game.display().to_string(), definition: &game, counts: &counts };
        json.write_json(&common::Record::new("cfr info", facts))?;
    }
    args.output.print(text(&counts))?;
    Ok(())
}

/// What is written of a solved spot.
#[derive(Serialize)]
struct SpotFacts<'a> {
    file: String,
    file_bytes: u64,
    spot: &'a Spot,
    board: String,
    /// Hands of each seat that the board leaves possible.
    hands: [usize; 2],
    options: &'a Options,
    form: SpotForm,
    iterations: u64,
    seconds: f64,
    device: &'a str,
    trajectory: &'a BTreeMap<u64, f64>,
}

/// Runs the command for a solved spot.
fn run_spot(args: &InfoArgs) -> Result<()> {
    let json = args.output.json_file()?;
    let solved = common::without_results(|| SolvedSpot::open(&args.game))?;
    let root = solved.root();
    let facts = SpotFacts {
        file: args.game.display().to_string(),
        file_bytes: fs::metadata(&args.game).map_or(0, |file| file.len()),
        spot: solved.spot(),
        board: root.board(),
        hands: [0, 1].map(|seat| root.reach(seat).len()),
        options: solved.options(),
        form: solved.form(),
        iterations: solved.iterations(),
        seconds: solved.seconds(),
        device: solved.device(),
        trajectory: solved.trajectory(),
    };
    let text = spot_text(&facts);
    if let Some(json) = json {
        json.write_json(&common::Record::new("cfr info", &facts))?;
    }
    args.output.print(text)
}

/// A solved spot in some lines.
fn spot_text(of: &SpotFacts<'_>) -> String {
    let unit = if of.spot.icm.is_some() { "prizes" } else { "chips" };
    let exploitability = match of.trajectory.last_key_value() {
        Some((at, value)) => format!("{} {unit}, after {}", significant(*value), count(*at, "iteration")),
        None => "not measured".to_string(),
    };
    let hands = |seat: usize| count(of.hands[seat] as u64, "hand");
    let algorithm = of.options.algorithm;
    facts([
        ("solved spot", of.file.clone()),
        ("board", path::cards(&of.board).join(" ")),
        ("pot, stack", format!("{}, {} chips", of.spot.pot, of.spot.effective_stack)),
        ("range of seat 0", hands(0)),
        ("range of seat 1", hands(1)),
        (
            "solved",
            format!("{} of {algorithm} on {}, {}", count(of.iterations, "iteration"), of.device, seconds(of.seconds)),
        ),
        ("exploitability", exploitability),
        ("form", of.form.to_string()),
        ("file", format!("{:.1} MB", of.file_bytes as f64 / 1e6)),
    ])
}

/// The counts as a table.
fn text(counts: &Counts) -> String {
    let rows = [
        ("sequences", thousands(counts.sequences)),
        ("terminal sequences", thousands(counts.terminals)),
        ("levels", counts.levels.to_string()),
        ("levels with the last, all-terminal one", counts.levels_with_last.to_string()),
        ("sequences a level, mean", format!("{:.1}", counts.average_sequences_per_level)),
        ("buckets", thousands(counts.buckets)),
        ("information sets", thousands(counts.information_sets)),
        ("sequences × buckets", thousands(counts.thesis_information_sets)),
    ];
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(what, n)| vec![what.to_string(), n]).collect();
    Table::new(&["count of", "number"]).rows(&rows)
}
