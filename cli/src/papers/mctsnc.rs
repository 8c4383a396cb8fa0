//! `papers mctsnc`: the settings of MCTS-NC's tournaments, its figures beside ours.

use anyhow::Result;
use warpplay_papers::mctsnc::{self, Options};

use crate::common::flags::SeedFlag;
use crate::common::{self, DeviceFlag, OutputFlags};

/// Seconds of a search with `--quick`.
const QUICK: f64 = 0.2;

/// MCTS-NC: steps and playouts a second of the four variants on Connect 4 and Gomoku, beside those of the paper
///
/// A search of the empty board for each row of the paper's Tables 2 and 3, with its trees, playouts and time: 5 seconds
/// for Connect 4, 30 for Gomoku.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Short searches: a look at everything, no figures to keep
    #[arg(long, conflicts_with = "seconds")]
    quick: bool,

    /// Seconds of each search [default: those of the paper]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seconds: Option<f64>,

    /// Device memory for the trees in GiB [default: 16 or what is free on a GPU, else 2]
    #[arg(long, value_name = "GB", allow_negative_numbers = true)]
    memory: Option<f64>,

    #[command(flatten)]
    device: DeviceFlag,
    #[command(flatten)]
    seed: SeedFlag,
    #[command(flatten)]
    output: OutputFlags,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.output.start_log();
    let defaults = Options::default();
    let options = Options {
        seconds: if args.quick { Some(QUICK) } else { args.seconds },
        seed: args.seed.seed.unwrap_or(defaults.seed),
        memory_gb: args.memory,
    };
    options.check()?;
    let json = args.output.json_file()?;
    let device = args.device.open()?;
    let bar = args.output.bar(mctsnc::published::TOURNAMENTS.len() as u64);
    let report = mctsnc::measure(&device, &options, |progress| {
        bar.set_position(progress.steps);
        common::until_interrupted()
    })?;
    bar.finish_and_clear();
    if let Some(json) = json {
        json.write_json(&report)?;
    }
    args.output.print(format!("{report}\n"))?;
    Ok(())
}
