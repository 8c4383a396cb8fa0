//! `warpplay papers mnist_mlp`: Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification".
//!
//! ```text
//! warpplay papers mnist_mlp experiments --data DIR --plots plots --json experiments.json
//! warpplay papers mnist_mlp train --data DIR --column-sums atomic
//! ```

mod plots;

use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use serde::Serialize;
use warpplay::mlp::{Reduction, Residence};
use warpplay_papers::mnist_mlp::experiments::{self, Plan, Record, Section, Table, Watched};
use warpplay_papers::mnist_mlp::{Accumulate, ColumnSums, Forms, Matmul, Options, Program, Report, SoftmaxForm};

use crate::common::flags::PlotsFlag;
use crate::common::table::grid;
use crate::common::{self, DeviceFlag, OutputFlags};
use crate::mlp::data::DataFlags;

/// Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification"
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// The paper's tables beside ours, and where its accuracy gap comes from
    Experiments(ExperimentsArgs),
    /// Train by the published kernels, in any of their forms
    Train(TrainArgs),
}

#[derive(clap::Args, Debug)]
pub struct ExperimentsArgs {
    #[command(flatten)]
    data: DataFlags,
    #[command(flatten)]
    device: DeviceFlag,

    /// Epochs of each training [default: 10, the paper's; with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    epochs: Option<u32>,

    /// Only these, with commas between: batch, block, tile, hidden, lr, evaluate, gap, suspects, operations, matmul,
    /// transfer
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<Section>,

    /// Trainings of each form whose spread from run to run is asked for
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..))]
    repeats: u32,

    /// The first 2048 training and 512 test samples, one epoch: shows that everything runs, its figures mean little
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    plots: PlotsFlag,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(clap::Args, Debug)]
struct TrainArgs {
    #[command(flatten)]
    data: DataFlags,
    #[command(flatten)]
    device: DeviceFlag,

    /// Units of each hidden layer, with commas between [default: 256]
    #[arg(long, value_name = "UNITS", value_delimiter = ',')]
    hidden: Option<Vec<u32>>,

    /// Samples of a batch [default: 64]
    #[arg(long, value_name = "N")]
    batch: Option<u32>,

    /// Learning rate [default: 0.01]
    #[arg(long, value_name = "RATE", alias = "lr")]
    learning_rate: Option<f64>,

    /// Epochs [default: 10]
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,

    /// What becomes of a batch's gradients: mean, sum [default: mean]
    #[arg(long, value_name = "R")]
    reduction: Option<Reduction>,

    /// Seed of the first weights and of the order of every epoch [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u32>,

    /// Where the training set lies: device, host (each batch is copied) [default: device]
    #[arg(long, value_name = "WHERE")]
    stream: Option<Residence>,

    /// Threads of a one-dimensional block: 128, 256, 512 [default: 256]
    #[arg(long, value_name = "N")]
    block: Option<u32>,

    /// Side of the two-dimensional blocks and tiles: 8, 16, 32 [default: 16]
    #[arg(long, value_name = "N")]
    tile: Option<u32>,

    /// The matrix product: plain, tiled [default: tiled]
    #[arg(long, value_name = "FORM")]
    matmul: Option<Matmul>,

    /// The column sums: tree, atomic, warp [default: tree]
    #[arg(long, value_name = "FORM")]
    column_sums: Option<ColumnSums>,

    /// The loss gradient: fused, separate [default: fused]
    #[arg(long, value_name = "FORM")]
    softmax: Option<SoftmaxForm>,

    /// Type in which the kernels add up: f32, f64 [default: f32]
    #[arg(long, value_name = "TYPE")]
    accumulate: Option<Accumulate>,

    #[command(flatten)]
    output: OutputFlags,
}

impl Args {
    /// The options of a training.
    #[cfg(test)]
    pub fn options(&self) -> Option<Options> {
        match &self.command {
            Command::Train(args) => Some(args.options()),
            Command::Experiments(_) => None,
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Experiments(args) => experiments(args),
        Command::Train(args) => train(args),
    }
}

/// What is written: the library's record, and whose.
#[derive(Serialize)]
struct Written<'a, T> {
    #[serde(flatten)]
    record: &'a T,
    program: &'static str,
}

const PROGRAM: &str = "warpplay papers mnist_mlp";

/// Makes the tables.
pub fn experiments(args: &ExperimentsArgs) -> Result<()> {
    args.output.start_log();
    let json = args.output.json_file()?;
    let plots = args.plots.folder()?;
    let device = args.device.open()?;
    let (train, test) = args.data.load()?;
    args.data.say_if_drawn(args.output.quiet)?;
    let (quick, repeats, only) = (args.quick, args.repeats, args.only.clone());
    let plan = Plan { device, train, test, epochs: args.epochs, quick, repeats, only };
    let bar = args.output.bar(1);
    // A reader of stdout that goes away, or a plot that cannot be written, ends the work.
    let mut told = Ok(());
    let record = experiments::run(&plan, &mut |watched| {
        if told.is_ok() {
            told = match watched {
                Watched::Head(text) => bar.suspend(|| args.output.print(text)),
                Watched::Training { label, progress } => {
                    bar.set_length(progress.n_steps.unwrap_or(1));
                    bar.set_position(progress.steps);
                    let loss =
                        progress.latest.as_ref().map_or(String::new(), |epoch| format!(", loss {:.4}", epoch.loss));
                    bar.set_message(format!("{label}{loss}"));
                    Ok(())
                }
                Watched::Table(table) => {
                    let drawn = plots.map_or(Ok(()), |folder| plots::draw(folder, table));
                    drawn.and_then(|()| bar.suspend(|| args.output.print(text(table))))
                }
                _ => Ok(()),
            };
        }
        if told.is_err() || common::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    bar.finish_and_clear();
    told?;
    check(&record)?;
    for reason in &record.left_out {
        args.output.print(format!("left out: {reason}\n"))?;
    }
    if record.interrupted {
        args.output.print("stopped early: the tables hold what was finished\n")?;
    }
    if let Some(json) = json {
        json.write_json(&Written { record: &record, program: PROGRAM })?;
    }
    Ok(())
}

/// What must hold of every training, whoever trained.
fn check(record: &Record) -> Result<()> {
    for run in record.tables.iter().flat_map(|table| &table.runs).map(|setting| &setting.run) {
        for loss in &run.losses {
            ensure!(loss.is_finite() && *loss >= 0.0, "check failed: an epoch has a loss of {loss}");
        }
        for share in &run.accuracies {
            ensure!((0.0..=1.0).contains(share), "check failed: an epoch has an accuracy of {share}");
        }
        let units: u64 = run.options.hidden.iter().map(|&units| u64::from(units)).sum();
        ensure!(run.dead_units <= units, "check failed: {} dead units of {units}", run.dead_units);
    }
    Ok(())
}

/// A table as it is printed.
fn text(table: &Table) -> String {
    let mut text = format!("\n{}\n\n{}", table.title, grid(&table.head, &table.rows));
    for note in &table.notes {
        text += &format!("  {note}\n");
    }
    text
}

impl TrainArgs {
    fn options(&self) -> Options {
        let base = Options::default();
        Options {
            hidden: self.hidden.clone().unwrap_or(base.hidden),
            batch: self.batch.unwrap_or(base.batch),
            epochs: self.epochs.unwrap_or(base.epochs),
            learning_rate: self.learning_rate.unwrap_or(base.learning_rate),
            reduction: self.reduction.unwrap_or(base.reduction),
            seed: self.seed.unwrap_or(base.seed),
            stream: self.stream.unwrap_or(base.stream),
            forms: Forms {
                block: self.block.unwrap_or(base.forms.block),
                tile: self.tile.unwrap_or(base.forms.tile),
                matmul: self.matmul.unwrap_or(base.forms.matmul),
                column_sums: self.column_sums.unwrap_or(base.forms.column_sums),
                softmax: self.softmax.unwrap_or(base.forms.softmax),
                accumulate: self.accumulate.unwrap_or(base.forms.accumulate),
            },
            ..base
        }
    }
}

fn train(args: &TrainArgs) -> Result<()> {
    args.output.start_log();
    let options = args.options();
    options.check()?;
    let json = args.output.json_file()?;
    let device = args.device.open()?;
    let (train, test) = args.data.load()?;
    args.data.say_if_drawn(args.output.quiet)?;
    let mut program = Program::new(&device, &train, &options)?;
    let bar = args.output.bar(u64::from(program.steps_per_epoch()) * u64::from(options.epochs));
    let report: Report = program.run(Some(&test), |progress| {
        bar.set_position(progress.steps);
        common::until_interrupted()
    })?;
    bar.finish_and_clear();
    if let Some(json) = json {
        json.write_json(&Written { record: &report, program: PROGRAM })?;
    }
    args.output.print(format!("{report}\n"))
}
