//! How fast evaluations of shogi positions are learnt: the twelve values by every engine, histograms, data sets, features by the thousand and by the million.
//!
//! ```text
//! cargo bench -p warpplay --bench shogi -- --quick
//! cargo bench -p warpplay --bench shogi -- --device cuda --games games.usi.txt.gz --json figures.jsonl
//! cargo bench -p warpplay --bench shogi -- --only fit,features
//! ```
//!
//! Prints a table a section, and with `--json` one line of JSON a row. Games are read from `--games`, else the hundred of the repository are taken,
//! and repeated until there are as many children as the publication had. Times are of the wall clock,
//! medians, the first run not among them where kernels run.
//!
//! Figures of an H200: `docs/performance.md`.
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "shogi/counting.rs"]
mod counting;
#[path = "shogi/features.rs"]
mod features;
#[path = "shogi/fit.rs"]
mod fit;
#[path = "shogi/measure.rs"]
mod measure;
#[path = "common/output.rs"]
mod output;
#[path = "common/program.rs"]
mod program;
#[path = "shogi/published.rs"]
mod published;
#[path = "shogi/ranks.rs"]
mod ranks;
#[path = "shogi/sectors.rs"]
mod sectors;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::json;

use measure::Bench;
use output::Table;
use program::Flags;

/// Speed of learning shogi evaluations
#[derive(Parser, Debug)]
#[command(name = "shogi")]
struct Args {
    /// Games, a file or a folder [default: the hundred games of the repository]
    #[arg(long, value_name = "PATH")]
    games: Option<PathBuf>,

    /// Children of the fit: games are repeated until there are so many [default: 6300000, or 100000 with --quick]
    #[arg(long, value_name = "N")]
    children: Option<u64>,

    /// These sections only, separated by commas
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Section>,

    #[command(flatten)]
    flags: Flags,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// The twelve values by every engine
    Fit,
    /// Distinct differences counted
    Histogram,
    /// Data sets built from games, saved, opened, their quiet leaves searched
    Dataset,
    /// A pass over the positions with every set of features
    Features,
    /// Passes and steps on the device, against what its memory copies; more positions than it holds
    Gradient,
    /// Learning by one rank and by two, on a core each, on one device, on a GPU each
    Ranks,
}

fn main() -> ExitCode {
    program::exit(run(&Args::parse()))
}

/// Runs the sections; returns how many rows failed.
fn run(args: &Args) -> anyhow::Result<usize> {
    let (device, seconds, quick) = (args.flags.device()?, args.flags.seconds()?, args.flags.quick);
    let output = args.flags.output()?;
    let mut bench = Bench::open(device, seconds, quick, output, args.games.clone(), args.children)?;
    let more = json!({
        "games": bench.records.games.len(), "parents": bench.whole.n_parents(), "children": bench.whole.n_children(),
        "children_of_the_job": bench.n_job_children(),
    });
    args.flags.about(&mut bench.output, &bench.device, more)?;
    bench.output.text(&format!(
        "{} games, {} parents, {} children\n",
        bench.records.games.len(),
        bench.whole.n_parents(),
        bench.whole.n_children()
    ))?;
    let sections: program::Sections<Section, Bench> = &[
        (Section::Fit, fit::measure),
        (Section::Histogram, counting::histogram),
        (Section::Dataset, counting::dataset),
        (Section::Features, features::measure),
        (Section::Gradient, features::on_the_device),
        (Section::Ranks, ranks::measure),
    ];
    program::measure(&mut bench, &args.only, sections)?;
    let rows = published::FIGURES.map(|(what, time, how)| [what, time, how].map(String::from).to_vec());
    Table::new("PEERS AND LIMITS", 2, &["what", "time", "how"]).with(rows).print(&mut bench.output)?;
    Ok(bench.output.n_failed())
}
