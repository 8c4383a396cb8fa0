//! How fast multilayer perceptrons are trained and used: epochs of every engine, large batches, inference, sweeps, and the kernels of the source.
//!
//! ```text
//! cargo bench -p warpplay --bench mlp -- --quick
//! cargo bench -p warpplay --bench mlp -- --device cuda --data DIR --seconds 2 --json figures.jsonl
//! cargo bench -p warpplay --bench mlp -- --only epoch,sweep
//! ```
//!
//! Prints a table a section, and with `--json` one line of JSON a row. The first epoch or run is not timed. Times are of the wall clock but for section
//! `kernels`, whose are of the device. Without `--data` the images are drawn digits, as many as MNIST has.
//!
//! A good result on an H200: at most 4 ms an epoch at batch 64, 6 us a batch of inference, and 64 models at 20 times the models/s of one.
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "mlp/measure.rs"]
mod measure;
#[path = "mlp/operations.rs"]
mod operations;
#[path = "common/output.rs"]
mod output;
#[path = "common/program.rs"]
mod program;
#[path = "mlp/published.rs"]
mod published;
#[path = "mlp/trainings.rs"]
mod trainings;
#[path = "mlp/uses.rs"]
mod uses;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use serde_json::json;
use warpplay::mlp::Dataset;
use warpplay::{Backend, Device};

use measure::Bench;
use output::{Output, Table, number};

/// Speed of multilayer perceptrons
#[derive(Parser, Debug)]
#[command(name = "mlp")]
struct Args {
    /// Small and short: a look at everything in some seconds, no figures to keep
    #[arg(long)]
    quick: bool,

    /// What to run on: auto (the first GPU, else cpu), cuda, cuda:1 and so on, cpu, simt
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: String,

    /// Folder with MNIST's files [default: drawn digits]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

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
    /// Every engine at batch 64, with and without evaluation
    Epoch,
    /// Batch 8192 in every precision
    #[value(name = "batch8192")]
    Batch8192,
    /// Classification in batches of 64
    Inference,
    /// Many models at once against one
    Sweep,
    /// The kernels of the source alone
    Kernels,
    /// Data on the device against data in host memory
    Stream,
}

fn main() -> ExitCode {
    program::exit(run(&Args::parse()))
}

/// Runs the sections; returns how many rows failed.
fn run(args: &Args) -> anyhow::Result<usize> {
    let device = Device::parse(&args.device)?;
    let seconds = program::seconds(args.seconds, args.quick)?;
    let output = Output::new(args.json.as_deref())?;
    let (train, test) = match &args.data {
        Some(folder) => Dataset::load_dir(folder)?,
        None => {
            let (n_train, n_test) = match (device.backend(), args.quick) {
                (Backend::Simt, _) => (128, 128),
                (_, true) => (2_000, 500),
                (_, false) => (60_000, 10_000),
            };
            output.text(&format!(
                "No --data: {n_train} drawn digits to train on, {n_test} to test, instead of MNIST.\n"
            ))?;
            (Dataset::drawn_digits(1, n_train)?, Dataset::drawn_digits(2, n_test)?)
        }
    };
    let (train, test) = (Arc::new(train), Arc::new(test));
    let mut bench = Bench { device, seconds, quick: args.quick, output, train, test };
    let threads = rayon::current_num_threads();
    bench.output.json(&json!({
        "section": "about", "version": env!("CARGO_PKG_VERSION"), "quick": args.quick, "seconds": seconds,
        "device": bench.device.to_string(), "device_name": bench.device.name(), "cpu_name": Device::cpu().name(),
        "cpu_threads": threads, "data": bench.train.source(), "train": bench.train.len(), "test": bench.test.len(),
    }))?;
    let (name, cpu) = (bench.device.name(), Device::cpu().name().to_string());
    let about = format!("device {} ({name}), CPU {cpu} with {threads} threads, {seconds} s a row\n", bench.device);
    bench.output.text(&about)?;
    /// What measures one section.
    type Measure = fn(&mut Bench) -> anyhow::Result<()>;
    let sections: [(Section, Measure); 6] = [
        (Section::Epoch, trainings::epoch),
        (Section::Batch8192, trainings::batch8192),
        (Section::Inference, uses::inference),
        (Section::Sweep, uses::sweep),
        (Section::Kernels, operations::run),
        (Section::Stream, trainings::stream),
    ];
    for (section, measure) in sections {
        if args.only.is_empty() || args.only.contains(&section) {
            measure(&mut bench)?;
        }
    }
    let mut table = Table::new("FIGURES of others, 784-256-10, 60,000 samples", 1, &["what", "ms", "how"]);
    for (what, ms, how) in published::FIGURES {
        table.row(vec![what.to_string(), number(ms), how.to_string()]);
    }
    table.print(&bench.output)?;
    Ok(bench.output.n_failed())
}
