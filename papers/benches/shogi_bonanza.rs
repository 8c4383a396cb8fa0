//! How fast the paper's kernel evaluates single positions, by batch. Its job by every engine and by ranks: `warpplay papers shogi_bonanza`, items `table6` and `table2`.
//!
//! ```text
//! cargo bench -p warpplay-papers --bench shogi_bonanza -- --quick
//! cargo bench -p warpplay-papers --bench shogi_bonanza -- --device cuda --games games.usi.txt.gz --json figures.jsonl
//! ```
//!
//! Prints a table, and with `--json` one line of JSON a row. Games are read from `--games`, else the hundred of the repository are taken.
//! Times are of the wall clock, medians, the first run not among them where kernels run.
//!
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[allow(dead_code, reason = "shared with the bench of the family, which has more sections")]
#[path = "../../host/benches/shogi/measure.rs"]
mod measure;
#[allow(dead_code, reason = "shared by the benches of all families, each of which uses a part")]
#[path = "../../host/benches/common/output.rs"]
mod output;
#[allow(dead_code, reason = "shared by the benches of all families, each of which uses a part")]
#[path = "../../host/benches/common/program.rs"]
mod program;
#[allow(dead_code, reason = "shared with the bench of the family, which has more sections")]
#[path = "../../host/benches/shogi/published.rs"]
mod published;
#[path = "shogi_bonanza/single.rs"]
mod single;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use measure::Bench;
use program::Flags;

/// Speed of the paper's evaluation of shogi positions
#[derive(Parser, Debug)]
#[command(name = "shogi_bonanza")]
struct Args {
    /// Games, a file or a folder [default: the hundred games of the repository]
    #[arg(long, value_name = "PATH")]
    games: Option<PathBuf>,

    #[command(flatten)]
    flags: Flags,
}

fn main() -> ExitCode {
    program::exit(run(&Args::parse()))
}

/// Measures; returns how many rows failed.
fn run(args: &Args) -> anyhow::Result<usize> {
    let (device, seconds, quick) = (args.flags.device()?, args.flags.seconds()?, args.flags.quick);
    let output = args.flags.output()?;
    let mut bench = Bench::open(device, seconds, quick, output, args.games.clone(), None)?;
    let (games, parents, children) = (bench.records.games.len(), bench.whole.n_parents(), bench.whole.n_children());
    let more = json!({ "games": games, "parents": parents, "children": children });
    args.flags.about(&mut bench.output, &bench.device, more)?;
    bench.output.text(&format!("{games} games, {parents} parents, {children} children\n"))?;
    single::measure(&mut bench)?;
    Ok(bench.output.n_failed())
}
