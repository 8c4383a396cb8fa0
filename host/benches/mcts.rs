//! How fast the tree search is: whole searches, raw playouts, what each choice costs, the stages, and the GPU against the CPU.
//!
//! ```text
//! cargo bench -p warpplay --bench mcts -- --quick
//! cargo bench -p warpplay --bench mcts -- --device cuda --seconds 2 --json figures.jsonl
//! cargo bench -p warpplay --bench mcts -- --only searches,playouts
//! ```
//!
//! Prints a table a section, and with `--json` one line of JSON a row. Everything is warmed up before it is timed. Figures a second are of wall time unless
//! they say "device", which is time between two events on the GPU. The program needs no files: the executable can be copied to another machine.
//!
//! Figures of an H200: `docs/performance.md`.
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "mcts/choices.rs"]
mod choices;
#[path = "mcts/devices.rs"]
mod devices;
#[path = "mcts/measure.rs"]
mod measure;
#[allow(dead_code, reason = "shared by the benches of all families, each of which uses a part")]
#[path = "common/output.rs"]
mod output;
#[path = "mcts/playouts.rs"]
mod playouts;
#[path = "common/program.rs"]
mod program;
#[path = "mcts/published.rs"]
mod published;
#[path = "mcts/searches.rs"]
mod searches;
#[path = "mcts/stages.rs"]
mod stages;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::json;
use warpplay::{Backend, Device};

use measure::Bench;
use program::Flags;

/// Speed of the Monte Carlo tree search
#[derive(Parser, Debug)]
#[command(name = "mcts")]
struct Args {
    /// These sections only, separated by commas
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Section>,

    #[command(flatten)]
    flags: Flags,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Whole searches of the empty board beside those of MCTS-NC
    Searches,
    /// Playouts without a tree, and the playout stage of a search (GPU only)
    Playouts,
    /// Prodigal against thrifty, 8 trees against 1, ways of launching, block sizes (GPU only)
    Choices,
    /// Time of each stage
    Stages,
    /// This device against the CPU with all cores and with one, and the vanilla player
    Devices,
}

fn main() -> ExitCode {
    program::exit(run(&Args::parse()))
}

/// Runs the sections; returns how many rows failed.
fn run(args: &Args) -> anyhow::Result<usize> {
    let (device, seconds, quick) = (args.flags.device()?, args.flags.seconds()?, args.flags.quick);
    let mut bench = Bench::new(device, quick, seconds, args.flags.output()?)?;
    args.flags.about(&mut bench.output, &bench.device, json!({}))?;
    if bench.backend() != Backend::Cuda {
        let why = Device::why_no_cuda().map_or_else(|| "another device was asked for".to_string(), |e| e.to_string());
        bench.output.text(&format!("Rows of cuda are left out: {why}.\n"))?;
    }
    let sections: program::Sections<Section, Bench> = &[
        (Section::Searches, searches::run),
        (Section::Playouts, playouts::run),
        (Section::Choices, choices::run),
        (Section::Stages, stages::run),
        (Section::Devices, devices::run),
    ];
    program::measure(&mut bench, &args.only, sections)?;
    Ok(bench.output.n_failed())
}
