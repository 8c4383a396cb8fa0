//! How fast the paper's kernels do its job, beside the engines of `warpplay`: all engines, ranks, single positions.
//!
//! ```text
//! cargo bench -p warpplay-papers --bench shogi_bonanza -- --quick
//! cargo bench -p warpplay-papers --bench shogi_bonanza -- --device cuda --games games.usi.txt.gz --json figures.jsonl
//! cargo bench -p warpplay-papers --bench shogi_bonanza -- --only job,ranks
//! ```
//!
//! Prints a table a section, and with `--json` one line of JSON a row. Games are read from `--games`, else the hundred of the repository are taken,
//! and repeated until there are as many children as the publication had. Times are of the wall clock,
//! medians, the first run not among them where kernels run.
//!
//! A good result on an H200: the paper's job in 3.7 s by its own kernels (125 s on the paper's GTX 260), in 16 ms from the same positions in one launch.
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "shogi_bonanza/job.rs"]
mod job;
#[path = "../../host/benches/shogi/measure.rs"]
mod measure;
#[path = "../../host/benches/common/output.rs"]
mod output;
#[path = "../../host/benches/common/program.rs"]
mod program;
#[path = "../../host/benches/shogi/published.rs"]
mod published;
#[path = "shogi_bonanza/ranks.rs"]
mod ranks;
#[path = "shogi_bonanza/single.rs"]
mod single;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::json;

use measure::Bench;
use output::Table;
use program::Flags;
use warpplay_papers::shogi_bonanza::published::{CPU_SECONDS, GPU, GPU_SECONDS, MPI};

/// Speed of the paper's learning of shogi evaluations
#[derive(Parser, Debug)]
#[command(name = "shogi_bonanza")]
struct Args {
    /// Games, a file or a folder [default: the hundred games of the repository]
    #[arg(long, value_name = "PATH")]
    games: Option<PathBuf>,

    /// Children of the job: games are repeated until there are so many [default: 6300000, or 100000 with --quick]
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
    /// The job by every engine
    Job,
    /// The job by several ranks
    Ranks,
    /// Single positions, by batch
    Single,
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
    let sections: program::Sections<Section, Bench> =
        &[(Section::Job, job::measure), (Section::Ranks, ranks::measure), (Section::Single, single::measure)];
    program::measure(&mut bench, &args.only, sections)?;
    let theirs = [
        ("the job, their CPU program".to_string(), format!("{CPU_SECONDS} s")),
        (format!("the job, their kernels on a {GPU}"), format!("{GPU_SECONDS} s")),
        (format!("the job, MPI on {} processes", MPI.0), format!("{} times one", MPI.1)),
    ];
    let rows = theirs.map(|(what, time)| vec![what, time, "reported".to_string()]);
    Table::new("FIGURES of the paper", 2, &["what", "time", "how"]).with(rows).print(&mut bench.output)?;
    Ok(bench.output.n_failed())
}
