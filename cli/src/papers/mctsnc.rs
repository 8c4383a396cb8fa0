//! `papers mctsnc`: the tables, figures and claims of MCTS-NC.

use anyhow::Result;
use warpplay_papers::mctsnc::{MctsNc, Options};

use super::items::ItemFlags;
use crate::common::flags::SeedFlag;

/// MCTS-NC: kernels, matches against the single-thread player, tournaments of Connect 4 and Gomoku, claims and open questions
///
/// Without flags the games and times are so few that one GPU needs about half an hour for all items. --full takes those
/// of the paper (100 games of a match; 1, 5 and 30 seconds a move), which need about 300 hours: --checkpoint keeps every
/// game, --resume goes on, --replay repeats every search by its recorded steps.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The games and times of the paper
    #[arg(long, conflicts_with = "quick")]
    full: bool,

    /// Games of a match [default: by --quick or --full]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    games: Option<u32>,

    /// Seconds of a move or of a search [default: by --quick or --full]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seconds: Option<f64>,

    /// Seconds of a move of the single-thread player in figure3, figure4 and figure5, 5 in the paper; without, it makes the
    /// 17,140 steps that the paper's made in them
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    vanilla_seconds: Option<f64>,

    /// Steps of a move or of a search, of every player, instead of seconds; no item then compares by equal time
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "vanilla_seconds"], allow_negative_numbers = true)]
    steps: Option<u64>,

    /// Device memory for the trees of each player in GiB [default: 4, with --full 16]
    #[arg(long, value_name = "GB", allow_negative_numbers = true)]
    memory: Option<f64>,

    #[command(flatten)]
    seed: SeedFlag,
    #[command(flatten)]
    items: ItemFlags,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.items.output.start_log();
    let options = Options {
        seconds: args.seconds,
        vanilla_seconds: args.vanilla_seconds,
        steps: args.steps,
        games: args.games,
        full: args.full,
        seed: args.seed.seed.unwrap_or_default(),
        memory_gb: args.memory,
    };
    args.items.run("papers mctsnc", &[], &MctsNc { options })
}
