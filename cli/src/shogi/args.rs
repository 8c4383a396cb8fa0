//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use warpplay::shogi::material::Form;
use warpplay::shogi::ranks::Split;

use crate::common::{DeviceFlag, OutputFlags};
use crate::shogi::data_flags::{GameFlags, SourceFlags};
use crate::shogi::learn_flags::LearnFlags;
use crate::shogi::rule_flags::RuleFlags;

/// Evaluation of shogi positions learnt from game records by Bonanza's method, on the GPU, and on the CPU where there is none
#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Repeat the experiments of the source: its objective, its update, its tables and figures
    Reproduce(Box<ReproduceArgs>),
    /// Learn an evaluation: any features, any optimiser, with games held out
    Learn(Box<LearnArgs>),
    /// Evaluate a position, and rank its legal moves
    Evaluate(EvaluateArgs),
    /// Turn game records into a data set on disk
    BuildDataset(BuildArgs),
    /// What is in a data set, or in game records
    Inspect(InspectArgs),
    /// Check the legal moves of a file of positions
    Moves(MovesArgs),
}

#[derive(clap::Args, Debug)]
pub struct ReproduceArgs {
    #[command(flatten)]
    pub source: SourceFlags,
    #[command(flatten)]
    pub rule: RuleFlags,

    /// Games to measure the objective on after every update, and not to learn from: a share by a hash of the game (0.2), or a path of records or of a data set
    #[arg(long, value_name = "SHARE|PATH")]
    pub held_out: Option<String>,

    /// Updates; the source did 50
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    pub iterations: u32,

    /// How the objective is computed: paper (the source's positions of 96 bytes and its two kernels), paper95 (the same at 95 bytes), persistent, plain, fused,
    /// histogram (sums over the distinct differences)
    #[arg(long, value_name = "FORM", default_value_t = Form::Histogram)]
    pub form: Form,

    /// Take the positions so many times: the source had 6.3 million children
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,

    /// Threads of the device cpu; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,

    /// What is divided among ranks: data (each has a share of the positions), features (each evaluates a share of the 12 changed values, as the source)
    #[arg(long, value_name = "WHAT", default_value_t = Split::Data)]
    pub split: Split,

    /// Measure and print the source's Tables 2 (ranks), 6 (CPU and GPU) and 7 (values) beside its own figures
    #[arg(long)]
    pub tables: bool,

    /// Updates of each measurement of Tables 2 and 6
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..), requires = "tables")]
    pub table_iterations: u32,

    /// Learn once more with quiescence search, for Table 7
    #[arg(long, requires = "tables")]
    pub quiescence: bool,

    /// Search anew after so many updates
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..), requires = "quiescence")]
    pub quiescence_every: u32,

    /// Draw the two figures of convergence, from 3 and from 5, into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,

    /// Updates of the figures
    #[arg(long, value_name = "N", default_value_t = 100, requires = "plots")]
    pub plot_iterations: u32,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct LearnArgs {
    #[command(flatten)]
    pub source: SourceFlags,

    /// Games to test on: a share by a hash of the game (0.2; all positions are then copied into memory), or a path of records or of a data set, as
    /// build-dataset --held-out makes it
    #[arg(long, value_name = "SHARE|PATH")]
    pub held_out: Option<String>,

    #[command(flatten)]
    pub learn: LearnFlags,

    /// Write the state to this file at the end, also when Ctrl-C ends it, and every --checkpoint-every iterations
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,

    /// Write the checkpoint after so many iterations
    #[arg(long, value_name = "N", default_value_t = 10, requires = "checkpoint", value_parser = clap::value_parser!(u32).range(1..))]
    pub checkpoint_every: u32,

    /// Go on from this checkpoint, with the same games, until --iterations (to be given again) are done in all; the other options are the
    /// checkpoint's
    #[arg(long, value_name = "FILE", conflicts_with_all = ["features", "optimizer", "rate", "rate_factor", "init", "start", "a", "window", "siblings", "seed",
        "l1", "l2", "beta1", "beta2", "epsilon", "history", "keep_scale", "quiescence_every", "quiescence_depth"])]
    pub resume: Option<PathBuf>,

    /// Write the weights as safetensors: the last, with --patience the best on the games held out
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,

    /// Write the values of the pieces as a table
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,

    /// Write the values of the pieces as a Rust constant
    #[arg(long, value_name = "FILE.rs")]
    pub rust: Option<PathBuf>,

    /// Draw objective, agreement and values against iterations
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,

    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct EvaluateArgs {
    /// The position: startpos, or in SFEN (board, side to move, hands, number); then, if some have been played, the word moves and the moves in USI
    #[arg(value_name = "POSITION", required = true, num_args = 1..)]
    pub position: Vec<String>,

    /// Values L N S G B R +P +L +N +S +B +R with commas between, or one for all
    #[arg(long, value_name = "VALUES", default_value = crate::shogi::rule_flags::USUAL, value_parser = crate::shogi::rule_flags::values, allow_hyphen_values = true,
        conflicts_with = "weights")]
    pub values: warpplay::shogi::Values,

    /// Weights that learn has written
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,

    /// Moves shown; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct BuildArgs {
    #[command(flatten)]
    pub games: GameFlags,

    /// The folder of the data set; made if it is missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Keep this share of the games, by a hash of the game, out of --out, for a data set of their own
    #[arg(long, value_name = "SHARE", requires = "held_out_dir", allow_negative_numbers = true)]
    pub held_out: Option<f64>,

    /// The folder of that data set
    #[arg(long, value_name = "DIR", requires = "held_out")]
    pub held_out_dir: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct InspectArgs {
    #[command(flatten)]
    pub source: SourceFlags,

    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct MovesArgs {
    /// Lines of JSON with the fields sfen, n, moves
    #[arg(value_name = "FILE.jsonl")]
    pub file: PathBuf,

    #[command(flatten)]
    pub output: OutputFlags,
}
