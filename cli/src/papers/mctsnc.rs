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
    /// Use the paper's numbers of games and times
    #[arg(long, conflicts_with = "quick")]
    full: bool,

    /// Games of a match [default: by --quick or --full]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    games: Option<u32>,

    /// Seconds for each move or search [default: by --quick or --full]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seconds: Option<f64>,

    /// Seconds for each move of the single-thread player in figure3, figure4 and figure5 (the paper used 5); without this option it makes 17,140 steps, as many as the paper's
    /// player made in 5 seconds
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    vanilla_seconds: Option<f64>,

    /// Steps for each move or search, for every player, instead of seconds; no item then compares players at equal time
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
