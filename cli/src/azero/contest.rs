//! `match`: two players, many games, both colours of every opening.

use anyhow::{Context, Result};
use serde::Serialize;
use warpplay::azero::player::{Match, MatchOptions, MatchReport, Results};

use crate::azero::args::MatchArgs;
use crate::azero::contestant::ContestantSpec;
use crate::azero::print::repeated;
use crate::common;
use crate::common::table::{self, Table};

/// What is written.
#[derive(Serialize)]
struct Facts<'a> {
    a: &'a ContestantSpec,
    b: &'a ContestantSpec,
    score: f64,
    device_name: String,
    report: &'a MatchReport,
}

/// Runs the command.
pub fn run(args: &MatchArgs) -> Result<()> {
    args.output.start_log();
    let [a, b] = [args.a.path(), args.b.path()];
    let [resume, checkpoint] = args.journal.paths();
    let written = [("--json", args.output.json.as_deref()), checkpoint];
    common::expect_apart(&[("--a", a), ("--b", b), resume], &written, &[])?;
    let json = args.output.json_file()?;
    let options = MatchOptions {
        games: args.games,
        opening_plies: args.opening_plies,
        parallel: args.parallel,
        seed: args.seed.seed.unwrap_or(MatchOptions::default().seed),
    };
    let device = args.device.open()?;
    let open = |side: &str, spec: &ContestantSpec| spec.open().with_context(|| format!("player {side} ({spec})"));
    let mut builder = Match::builder([open("A", &args.a)?, open("B", &args.b)?]).options(options);
    if let Some(path) = &args.journal.checkpoint {
        builder = builder.checkpoint(path);
    }
    if let Some(path) = &args.journal.resume {
        builder = builder.resume(path);
    }
    let mut games = builder.build(&device)?;
    let bar = args.output.bar(u64::from(args.games));
    let report = games.run(|progress| {
        bar.set_position(progress.steps);
        common::until_interrupted()
    })?;
    bar.finish_and_clear();
    if let Some(json) = json {
        let facts = Facts {
            a: &args.a,
            b: &args.b,
            score: report.results().score(),
            device_name: device.name(),
            report: &report,
        };
        json.write_json(&common::Record::new("azero match", facts))?;
    }
    args.output.print(text(&report, [&args.a.to_string(), &args.b.to_string()]))?;
    let played = report.results().games();
    if played < args.games {
        args.output.print(format!("ended early: {played} of {} games{}\n", args.games, args.journal.go_on()))?;
    }
    Ok(())
}

/// A match in some lines.
pub fn text(report: &MatchReport, names: [&str; 2]) -> String {
    let row = |name: &str, results: Results| {
        let Results { wins, draws, losses } = results;
        let counts = [wins, draws, losses].map(|n| n.to_string());
        [name.to_string()].into_iter().chain(counts).chain([format!("{:.1}", 100.0 * results.score())]).collect()
    };
    let all = report.results();
    let [white, black] = report.by_colour;
    let mut text = format!("  A  {}\n  B  {}\n\n", names[0], names[1]);
    let rows = [row("White", white), row("Black", black), row("both", all)];
    text += &Table::new(&["results of A as", "won", "drawn", "lost", "score, %"]).rows(&rows);
    text.push('\n');
    let plies = report.plies as f64 / f64::from(all.games().max(1));
    text += &format!("  {} games of {plies:.0} actions in {}\n", all.games(), table::seconds(report.seconds));
    text + &repeated(report.repeated_batches.iter().sum())
}
