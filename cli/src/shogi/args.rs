//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use warpplay::shogi::material::{Engine, Options};

use crate::common::flags::{CheckpointFlags, EngineFlag, MovedArgs, PlotsFlag, ThreadsFlag, TopFlag};
use crate::common::{DeviceFlag, OutputFlags};
use crate::shogi::data_flags::{GameFlags, HeldOutFlag, RepeatFlag, SourceFlags};
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

#[derive(clap::Args, Debug)]
pub struct FitArgs {
    #[command(flatten)]
    pub source: SourceFlags,
    #[command(flatten)]
    pub rule: RuleFlags,

    #[command(flatten)]
    pub held_out: HeldOutFlag,

    /// Iterations in all
    #[arg(long, value_name = "N", default_value_t = Options::default().iterations, allow_negative_numbers = true)]
    pub iterations: u32,

    #[command(flatten)]
    pub repeat: RepeatFlag,
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

    #[command(flatten)]
    pub held_out: HeldOutFlag,

    #[command(flatten)]
    pub learn: LearnFlags,

    #[command(flatten)]
    pub checkpoint: CheckpointFlags,

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

    #[command(flatten)]
    pub top: TopFlag<10>,
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
