//! `info`: how large a game is.

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::cfr::{Counts, GameDef};

use crate::cfr::args::InfoArgs;
use crate::cfr::games;
use crate::common;
use crate::common::table::{Table, thousands};

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
