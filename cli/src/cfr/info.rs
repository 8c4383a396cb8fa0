//! `info`: how large a game is.

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::cfr::{Counts, GameDef};

use crate::cfr::args::InfoArgs;
use crate::common;
use crate::common::table::thousands;

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
    let game = GameDef::read(&args.game)?;
    let json = args.output.json_file()?;
    let counts = common::without_results(|| Counts::of(&game)).with_context(|| args.game.display().to_string())?;
    if let Some(json) = json {
        let facts = Facts { game: args.game.display().to_string(), definition: &game, counts: &counts };
        json.write_json(&common::Record::new("cfr info", facts))?;
    }
    args.output.print(text(&counts))?;
    Ok(())
}

/// The counts in some lines.
fn text(counts: &Counts) -> String {
    format!(
        "sequences                    {}\nterminal sequences           {}\nlevels                       {}\n  with the last, all-terminal one {}\n\
         buckets                      {}\ninformation sets             {}\nsequences × buckets          {}\naverage sequences per level  {:.1}\n",
        thousands(counts.sequences),
        thousands(counts.terminals),
        counts.levels,
        counts.levels_with_last,
        thousands(counts.buckets),
        thousands(counts.information_sets),
        thousands(counts.thesis_information_sets),
        counts.average_sequences_per_level,
    )
}
