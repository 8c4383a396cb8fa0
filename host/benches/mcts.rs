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
//! A good result on an H200: column "of reach" near 100 % or above in `searches`, "raw/stage" at most 1.5 in `playouts`, and `vanilla` above 300,000 steps/s.
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "mcts/choices.rs"]
mod choices;
#[path = "mcts/devices.rs"]
mod devices;
#[path = "mcts/measure.rs"]
mod measure;
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

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::json;
use warpplay::{Backend, Device};

use measure::Bench;
use output::Output;

/// Speed of the Monte Carlo tree search
#[derive(Parser, Debug)]
#[command(name = "mcts")]
struct Args {
    /// Small and short: a look at everything in some seconds, no figures to keep
    #[arg(long)]
    quick: bool,

    /// What to run on: auto (the first GPU, else cpu), cuda, cuda:1 and so on, cpu, simt
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: String,

    /// Seconds of one search [default: 2, or 0.2 with --quick]
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
    /// Whole searches of the empty board beside the figures of MCTS-NC
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
    let device = Device::parse(&args.device)?;
    let seconds = program::seconds(args.seconds, args.quick)?;
    let mut bench = Bench::new(device, args.quick, seconds, Output::new(args.json.as_deref())?)?;
    let about = json!({
        "section": "about", "version": env!("CARGO_PKG_VERSION"), "quick": args.quick, "seconds": seconds,
        "device": bench.device.to_string(), "device_name": bench.device.name(), "cpu_name": Device::cpu().name(),
        "cpu_threads": rayon::current_num_threads(),
    });
    bench.output.json(&about)?;
    bench.output.text(&format!(
        "device {} ({}), CPU {} with {} threads, {seconds} s a search\n",
        bench.device,
        bench.device.name(),
        Device::cpu().name(),
        rayon::current_num_threads()
    ))?;
    if bench.backend() != Backend::Cuda {
        let why = Device::why_no_cuda().map_or_else(|| "another device was asked for".to_string(), |e| e.to_string());
        bench.output.text(&format!("Rows of cuda are left out: {why}.\n"))?;
    }
    let wanted = |section| args.only.is_empty() || args.only.contains(&section);
    if wanted(Section::Searches) {
        searches::run(&mut bench)?;
    }
    if wanted(Section::Playouts) {
        playouts::run(&mut bench)?;
    }
    if wanted(Section::Choices) {
        choices::run(&mut bench)?;
    }
    if wanted(Section::Stages) {
        stages::run(&mut bench)?;
    }
    if wanted(Section::Devices) {
        devices::run(&mut bench)?;
    }
    Ok(bench.output.n_failed())
}
