//! `warpplay papers mnist_mlp`: Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification".
//!
//! ```text
//! warpplay papers mnist_mlp --data DIR --plots plots --json all.json
//! warpplay papers mnist_mlp --only rates,collapses --quick --device cpu
//! warpplay papers mnist_mlp train --data DIR --published
//! ```

use std::sync::Arc;

use anyhow::Result;
use clap::{Parser, Subcommand};
use serde::Serialize;
use warpplay::mlp::{Dataset, Loss, Reduction, Residence};
use warpplay_papers::mnist_mlp::experiments::{MnistMlp, renamed};
use warpplay_papers::mnist_mlp::{
    Accumulate, ColumnSums, Divide, Forms, LossForm, Matmul, Options, Program, Report, SoftmaxForm,
};

use super::items::ItemFlags;
use crate::common::{self, DeviceFlag, OutputFlags};
use crate::mlp::data::DataFlags;

/// Ha and Beqaj, "GPU-Accelerated MLP for MNIST Classification"
#[derive(Parser, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(flatten)]
    items: ItemsArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Train by the published kernels, in any of their forms
    #[command(after_help = examples!["papers mnist_mlp train --epochs 2"])]
    Train(Box<TrainArgs>),
    /// The same as without a command
    #[command(hide = true)]
    Experiments(Box<ItemsArgs>),
}

#[derive(clap::Args, Debug)]
struct ItemsArgs {
    #[command(flatten)]
    data: DataFlags,

    /// Epochs of every training [default: the paper's, 10 of the item main and gap, else 5; with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    epochs: Option<u32>,

    /// Trainings of each form whose results differ from run to run
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..), allow_negative_numbers = true)]
    repeats: u32,

    #[command(flatten)]
    items: ItemFlags,
}

#[derive(clap::Args, Debug)]
struct TrainArgs {
    #[command(flatten)]
    data: DataFlags,
    #[command(flatten)]
    device: DeviceFlag,

    /// Units of each hidden layer, separated by commas [default: 256]
    #[arg(long, value_name = "UNITS", value_delimiter = ',', allow_negative_numbers = true)]
    hidden: Option<Vec<u32>>,

    /// Samples in each batch [default: 64]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    batch: Option<u32>,

    /// Learning rate [default: 0.01]
    #[arg(long, value_name = "RATE", alias = "lr", allow_negative_numbers = true)]
    learning_rate: Option<f64>,

    /// Epochs [default: 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    epochs: Option<u32>,

    /// Reduction of the gradients over a batch: mean, sum [default: mean]
    #[arg(long, value_name = "R")]
    reduction: Option<Reduction>,

    /// Seed of the first weights and of the order of every epoch [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u32>,

    /// Where the training set is stored: device, host (each batch is copied) [default: device]
    #[arg(long, value_name = "WHERE")]
    stream: Option<Residence>,

    /// All forms as the paper has them, where no other is named: plain product, atomic sums, softmax and gradient apart, mean in the update
    #[arg(long)]
    published: bool,

    /// Threads of a one-dimensional block: 128, 256, 512 [default: 256]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    block: Option<u32>,

    /// Side of the two-dimensional blocks and tiles: 8, 16, 32 [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    tile: Option<u32>,

    /// The matrix product: plain, tiled [default: tiled]
    #[arg(long, value_name = "FORM")]
    matmul: Option<Matmul>,

    /// The column sums: tree, atomic, atomic_thread, atomic_block, warp [default: tree]
    #[arg(long, value_name = "FORM")]
    column_sums: Option<ColumnSums>,

    /// The loss gradient: fused, separate [default: fused]
    #[arg(long, value_name = "FORM")]
    softmax: Option<SoftmaxForm>,

    /// Type in which the kernels add up: f32, f64 [default: f32]
    #[arg(long, value_name = "TYPE")]
    accumulate: Option<Accumulate>,

    /// The sum of the losses: tree, atomic [default: tree]
    #[arg(long, value_name = "FORM")]
    loss: Option<LossForm>,

    /// Where the mean divides: gradient, update [default: gradient]
    #[arg(long, value_name = "WHERE")]
    divide: Option<Divide>,

    /// Steps between two readings of the losses; the paper's program reads after each [default: 64]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    read_every: Option<u32>,

    #[command(flatten)]
    output: OutputFlags,
}

impl Args {
    /// The options of a training.
    #[cfg(test)]
    pub fn options(&self) -> Option<Options> {
        match &self.command {
            Some(Command::Train(args)) => Some(args.options()),
            _ => None,
        }
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    match args.command {
        Some(Command::Train(args)) => train(&args),
        Some(Command::Experiments(args)) => items(*args),
        None => items(args.items),
    }
}

/// Measures the items that are asked for, by their names or by older ones.
fn items(mut args: ItemsArgs) -> Result<()> {
    let items = &mut args.items;
    items.output.start_log();
    for name in &mut items.only {
        *name = renamed(name).to_string();
    }
    let inputs = args.data.paths();
    // Before the set is read.
    items.expect_apart(&inputs)?;
    let (train, test) = if items.list {
        // A list needs no data; a set has at least a sample.
        let one = Arc::new(Dataset::drawn_digits(1, 1)?);
        (Arc::clone(&one), one)
    } else {
        args.data.say_if_drawn(items.output.quiet)?;
        args.data.load(Loss::default(), None)?
    };
    let paper = MnistMlp { train, test, epochs: args.epochs, repeats: args.repeats };
    items.run("papers mnist_mlp", &inputs, &paper)
}

/// What is written: the library's record, and whose.
#[derive(Serialize)]
struct Written<'a, T> {
    #[serde(flatten)]
    record: &'a T,
    program: &'static str,
}

const PROGRAM: &str = "warpplay papers mnist_mlp";

impl TrainArgs {
    fn options(&self) -> Options {
        let forms = if self.published { Forms::published() } else { Forms::default() };
        let base = Options { forms, ..Options::default() };
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
                loss: self.loss.unwrap_or(base.forms.loss),
                divide: self.divide.unwrap_or(base.forms.divide),
            },
            read_every: self.read_every.unwrap_or(base.read_every),
            ..base
        }
    }
}

fn train(args: &TrainArgs) -> Result<()> {
    args.output.start_log();
    let options = args.options();
    options.check()?;
    common::expect_apart(&args.data.paths(), &[("--json", args.output.json.as_deref())], &[])?;
    let json = args.output.json_file()?;
    let device = args.device.open()?;
    let (train, test) = args.data.load(Loss::default(), None)?;
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
