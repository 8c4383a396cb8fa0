//! How fast multilayer perceptrons are trained and used: epochs of every engine, large batches, inference, sweeps and networks of convolutions. The published kernels are timed by `warpplay papers mnist_mlp`.
//!
//! ```text
//! cargo bench -p warpplay --bench mlp -- --quick
//! cargo bench -p warpplay --bench mlp -- --device cuda --data DIR --seconds 2 --json figures.jsonl
//! cargo bench -p warpplay --bench mlp -- --only epoch,sweep
//! cargo bench -p warpplay --bench mlp -- --device cuda --only layers,grid --peer "python3 docs/peers/mlp.py"
//! ```
//!
//! Prints a table a section, and with `--json` one line of JSON a row. The first epoch or run is not timed. Times are of the wall clock. Without `--data` the images are drawn digits, as many as MNIST has.
//!
//! Figures of an H200: `docs/performance.md`.
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "mlp/convolutions.rs"]
mod convolutions;
#[path = "mlp/measure.rs"]
mod measure;
#[path = "mlp/networks.rs"]
mod networks;
#[path = "common/output.rs"]
mod output;
#[path = "common/peer_flags.rs"]
mod peer_flags;
#[path = "common/peers.rs"]
mod peers;
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
use warpplay::Backend;
use warpplay::mlp::Dataset;

use measure::Bench;
use output::{Table, number};
use peer_flags::PeerFlags;
use program::Flags;

/// Speed of multilayer perceptrons
#[derive(Parser, Debug)]
#[command(name = "mlp")]
struct Args {
    /// Folder with MNIST's files [default: drawn digits]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// These sections only, separated by commas
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Section>,

    #[command(flatten)]
    peers: PeerFlags,

    #[command(flatten)]
    flags: Flags,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Every engine at batch 64, with and without evaluation
    Epoch,
    /// Epochs in one launch and layer by layer, as GPUs of compute capability 8.0 train
    #[value(name = "epoch80")]
    Epoch80,
    /// Batch 8192 in every precision
    #[value(name = "batch8192")]
    Batch8192,
    /// Networks and batches of all sizes, layer by layer, and beside each those that GPUs of compute capability 8.0 use
    Layers,
    /// One to four hidden layers and batches of 16 to 8192, by the engine that is chosen
    Grid,
    /// Classification in batches of 64
    Inference,
    /// Many models at once against one
    Sweep,
    /// Data on the device against data in host memory
    Stream,
    /// Networks of convolutions: an epoch and the test set
    Conv,
}

fn main() -> ExitCode {
    program::exit(run(&Args::parse()))
}

/// Runs the sections; returns how many rows failed.
fn run(args: &Args) -> anyhow::Result<usize> {
    let (device, seconds, quick) = (args.flags.device()?, args.flags.seconds()?, args.flags.quick);
    let output = args.flags.output()?;
    let (train, test) = match &args.data {
        Some(folder) => Dataset::load_dir(folder)?,
        None => {
            let (n_train, n_test) = match (device.backend(), quick) {
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
    let peers = args.peers.start()?;
    let mut bench = Bench { device, seconds, quick, output, train, test, peers };
    let more = json!({ "data": bench.train.source(), "train": bench.train.len(), "test": bench.test.len() });
    args.flags.about(&mut bench.output, &bench.device, more)?;
    let sections: program::Sections<Section, Bench> = &[
        (Section::Epoch, trainings::epoch),
        (Section::Epoch80, trainings::epoch80),
        (Section::Batch8192, trainings::batch8192),
        (Section::Layers, networks::layers),
        (Section::Grid, networks::grid),
        (Section::Inference, uses::inference),
        (Section::Sweep, uses::sweep),
        (Section::Stream, trainings::stream),
        (Section::Conv, convolutions::conv),
    ];
    program::measure(&mut bench, &args.only, sections)?;
    let rows =
        published::FIGURES.into_iter().map(|(what, ms, how)| [what.to_string(), number(ms), how.to_string()].to_vec());
    Table::new("FIGURES of others, 784-256-10, 60,000 samples", 1, &["what", "ms", "how"])
        .with(rows)
        .print(&mut bench.output)?;
    Ok(bench.output.n_failed())
}
