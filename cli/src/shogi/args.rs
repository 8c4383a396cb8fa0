//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use warpplay::shogi::material::{Engine, Options};

use crate::common::flags::{CheckpointFlags, EngineFlag, PlotsFlag, ThreadsFlag};
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
    /// Learn an evaluation: any features, any optimiser, with games held out
    Learn(Box<LearnArgs>),
    /// Fit the values of twelve kinds of pieces by differences of the objective
    Fit(Box<FitArgs>),
    /// Evaluate a position, and rank its legal moves
    #[command(alias = "evaluate")]
    Analyse(AnalyseArgs),
    /// Turn game records into a data set on disk
    BuildDataset(BuildArgs),
    /// What is in a data set, or in game records
    Inspect(InspectArgs),
    /// Check the legal moves of a file of positions
    Moves(MovesArgs),
    /// Is now `warpplay papers shogi_bonanza`
    #[command(hide = true, disable_help_flag = true)]
    Reproduce(MovedArgs),
}

/// Whatever was given to a command that is elsewhere now.
#[derive(clap::Args, Debug)]
pub struct MovedArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<String>,
}

#[derive(clap::Args, Debug)]
pub struct FitArgs {
    #[command(flatten)]
    pub source: SourceFlags,
    #[command(flatten)]
    pub rule: RuleFlags,

    /// Games to measure the objective on after every iteration, and not to learn from: a share by a hash of the game (0.2), or a path of records or of a data set
    #[arg(long, value_name = "SHARE|PATH", alias = "validation")]
    pub held_out: Option<String>,

    /// Iterations in all
    #[arg(long, value_name = "N", default_value_t = Options::default().iterations, allow_negative_numbers = true)]
    pub iterations: u32,

    /// Take the positions so many times, to reach a size for measurements
    #[arg(long, value_name = "N", default_value_t = Options::default().repeat, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,

    #[command(flatten)]
    pub engine: EngineFlag<Engine>,
    #[command(flatten)]
    pub threads: ThreadsFlag,
    #[command(flatten)]
    pub plots: PlotsFlag,
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
    #[arg(long, value_name = "SHARE|PATH", alias = "validation")]
    pub held_out: Option<String>,

    #[command(flatten)]
    pub learn: LearnFlags,

    #[command(flatten)]
    pub checkpoint: CheckpointFlags,

    /// Write the weights as safetensors: the last, with --patience the best on the games held out
    #[arg(long, value_name = "FILE", alias = "weights")]
    pub save_weights: Option<PathBuf>,

    /// Write the values of the pieces as a table
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,

    /// Write the values of the pieces as a Rust constant
    #[arg(long, value_name = "FILE.rs")]
    pub rust: Option<PathBuf>,

    #[command(flatten)]
    pub plots: PlotsFlag,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(clap::Args, Debug)]
pub struct AnalyseArgs {
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
    #[arg(long, value_name = "N", alias = "rows", default_value_t = 10)]
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
