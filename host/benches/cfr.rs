//! How fast games are solved: Leduc beside other programs, the dissertation's variants, hold'em spots.
//!
//! ```text
//! cargo bench -p warpplay --bench cfr -- --quick
//! cargo bench -p warpplay --bench cfr -- --device cuda --seconds 2 --json figures.jsonl
//! cargo bench -p warpplay --bench cfr -- --only leduc,river
//! ```
//!
//! Prints a table a section, and with `--json` one line of JSON a row. The first iterations are not timed. Times are of the wall clock; exploitability is
//! not among them. `bytes each` is what the engine has taken for an infoset-action, `moved` what an iteration must at least read and write of it, and the
//! last column that traffic's share of what the memory of an H200 copies.
//!
//! A good result on an H200: 60,000 iterations/s of Leduc, 40 us an iteration of a river spot, 0.4 ms of a turn, 8 ms of a flop.
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "cfr/games.rs"]
mod games;
#[path = "cfr/measure.rs"]
mod measure;
#[path = "common/output.rs"]
mod output;
#[path = "cfr/peer.rs"]
mod peer;
#[path = "common/program.rs"]
mod program;
#[path = "cfr/published.rs"]
mod published;
#[path = "cfr/small.rs"]
mod small;
#[path = "cfr/spots.rs"]
mod spots;
#[path = "cfr/thesis.rs"]
mod thesis;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::json;
use warpplay::Device;

use measure::Bench;
use output::{Output, Table};

/// Speed of counterfactual regret minimisation
#[derive(Parser, Debug)]
#[command(name = "cfr")]
struct Args {
    /// Small and short: a look at everything in some seconds, no figures to keep
    #[arg(long)]
    quick: bool,

    /// What to run on: auto (the first GPU, else cpu), cuda, cuda:1 and so on, cpu, simt
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: String,

    /// Seconds of one row [default: 2, or 0.2 with --quick]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,

    /// These sections only, separated by commas
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Section>,

    /// Write one line of JSON a row to this file, or with - to stdout (the tables then go to stderr)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Given by cargo; has no meaning here
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Leduc hold'em, one game and many, beside the crate `cfr`
    Leduc,
    /// Sampled deals of the dissertation's variants C and D
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
}

fn main() -> ExitCode {
    program::exit(run(&Args::parse()))
}

/// Runs the sections; returns how many rows failed.
fn run(args: &Args) -> anyhow::Result<usize> {
    let device = Device::parse(&args.device)?;
    let seconds = program::seconds(args.seconds, args.quick)?;
    let output = Output::new(args.json.as_deref())?;
    let mut bench = Bench { device, seconds, quick: args.quick, output };
    let threads = rayon::current_num_threads();
    bench.output.json(&json!({
        "section": "about", "version": env!("CARGO_PKG_VERSION"), "quick": args.quick, "seconds": seconds,
        "device": bench.device.to_string(), "device_name": bench.device.name(), "cpu_name": Device::cpu().name(),
        "cpu_threads": threads,
    }))?;
    let (name, cpu) = (bench.device.name(), Device::cpu().name());
    let about = format!("device {} ({name}), CPU {cpu} with {threads} threads, {seconds} s a row\n", bench.device);
    bench.output.text(&about)?;
    /// What measures one section.
    type Measure = fn(&mut Bench) -> anyhow::Result<()>;
    let sections: [(Section, Measure); 7] = [
        (Section::Leduc, small::leduc),
        (Section::Sampled, thesis::sampled),
        (Section::Exact, thesis::exact),
        (Section::River, spots::river),
        (Section::Turn, spots::turn),
        (Section::Flop, spots::flop),
        (Section::Limit, spots::limit_flop),
    ];
    for (section, measure) in sections {
        if args.only.is_empty() || args.only.contains(&section) {
            measure(&mut bench)?;
        }
    }
    let mut table = Table::new("FIGURES of others, and what is aimed at", 2, &["what", "time", "how"]);
    for (what, time, how) in published::FIGURES {
        table.row(vec![what.to_string(), time.to_string(), how.to_string()]);
    }
    table.print(&bench.output)?;
    Ok(bench.output.n_failed())
}
