//! How fast games are solved: Leduc beside other programs, the paper's variants, hold'em spots; how soon ten standard spots are solved.
//!
//! ```text
//! cargo bench -p warpplay --bench cfr -- --quick
//! cargo bench -p warpplay --bench cfr -- --device cuda --seconds 2 --json figures.jsonl
//! cargo bench -p warpplay --bench cfr -- --only leduc,river
//! cargo bench -p warpplay --bench cfr -- --only targets --json bench-cfr.jsonl
//! warpplay papers page docs/performance.md bench-cfr.jsonl --plots docs/performance
//! ```
//!
//! Prints a table a section, and with `--json` one line of JSON a row. The first iterations are not timed. Times are of the wall clock; exploitability is
//! not among them. `bytes each` is what the engine has taken for an infoset-action, `moved` what an iteration must at least read and write of it, and the
//! last column that traffic's share of what the memory of an H200 copies.
//!
//! Figures of an H200: `docs/performance.md`.
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "cfr/approach.rs"]
mod approach;
#[path = "cfr/blueprint.rs"]
mod blueprint;
#[path = "cfr/files.rs"]
mod files;
#[path = "cfr/games.rs"]
mod games;
#[path = "cfr/measure.rs"]
mod measure;
#[path = "common/output.rs"]
mod output;
#[path = "cfr/peer.rs"]
mod peer;
#[path = "../../papers/src/cfr_thesis/plain_cpp.rs"]
mod plain_cpp;
#[path = "common/program.rs"]
mod program;
#[path = "cfr/published.rs"]
mod published;
#[path = "cfr/small.rs"]
mod small;
#[path = "cfr/spots.rs"]
mod spots;
#[path = "cfr/targets.rs"]
mod targets;
#[path = "cfr/variants.rs"]
mod variants;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::json;

use measure::Bench;
use output::Table;
use program::Flags;

/// Speed of counterfactual regret minimisation
#[derive(Parser, Debug)]
#[command(name = "cfr")]
struct Args {
    /// These sections only, separated by commas
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Section>,

    #[command(flatten)]
    flags: Flags,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Leduc hold'em, one game and many, beside the crate `cfr`
    Leduc,
    /// Sampled deals of the paper's variants C and D
    Sampled,
    /// All deals of its variants D and B
    Exact,
    /// River spots, one and many
    River,
    /// A turn spot
    Turn,
    /// A flop spot
    Flop,
    /// Limit hold'em from a flop on
    Limit,
    /// Ten spots until the exploitability is 0.5 % and 0.1 % of the pot, on the device and on the CPU
    Targets,
    /// Files of solved spots: sizes, and times of saving, asking and going on
    Files,
    /// Buckets and a strategy for 20 big blinds, a turn and a flop solved anew from it
    Blueprint,
}

fn main() -> ExitCode {
    program::exit(run(&Args::parse()))
}

/// Runs the sections; returns how many rows failed.
fn run(args: &Args) -> anyhow::Result<usize> {
    let (device, seconds, quick) = (args.flags.device()?, args.flags.seconds()?, args.flags.quick);
    let output = args.flags.output()?;
    let mut bench = Bench { device, seconds, quick, output };
    args.flags.about(&mut bench.output, &bench.device, json!({}))?;
    let sections: program::Sections<Section, Bench> = &[
        (Section::Leduc, small::leduc),
        (Section::Sampled, variants::sampled),
        (Section::Exact, variants::exact),
        (Section::River, spots::river),
        (Section::Turn, spots::turn),
        (Section::Flop, spots::flop),
        (Section::Limit, spots::limit_flop),
        (Section::Targets, targets::targets),
        (Section::Files, files::files),
        (Section::Blueprint, blueprint::blueprint),
    ];
    program::measure(&mut bench, &args.only, sections)?;
    let rows = published::figures().into_iter().map(|row| row.to_vec());
    Table::new("FIGURES of others", 2, &["what", "time", "how"]).with(rows).print(&mut bench.output)?;
    Ok(bench.output.n_failed())
}
