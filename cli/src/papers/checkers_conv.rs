//! `warpplay papers checkers_conv`: Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference".
//!
//! ```text
//! warpplay papers checkers_conv --list
//! warpplay papers checkers_conv --only table1,figure2 --baseline torch.json --plots plots --json results.json
//! warpplay papers checkers_conv games --games 1000 --device cuda
//! ```

use std::path::PathBuf;

use anyhow::Result;
use warpplay::azero::Network;
use warpplay_papers::checkers_conv::{Baseline, CheckersConv, Plan};

use super::items::ItemFlags;
use crate::azero::network::seed;

/// Paul and Xu: three kernels for AlphaZero's convolutions, their table, figures and claims beside ours
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Items, as with --only; `times` means all tables and figures of times
    #[arg(value_name = "ITEM")]
    words: Vec<String>,

    /// The network: a file, or seed:N for an untrained network from that seed
    #[arg(long, value_name = "FILE|seed:N", default_value = "seed:27")]
    weights: PathBuf,

    /// Positions in each call in table1 [default: 1,128; 1 with --quick and on simt]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', allow_negative_numbers = true)]
    batch: Vec<usize>,

    /// Games of the item games [default: 1000, or 20 with --quick]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    games: Option<usize>,

    /// Times of the library that the paper compares with; docs/papers/checkers_conv.md has the program that writes the file
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    #[command(flatten)]
    items: ItemFlags,
}

/// What the word `times` stands for.
const TIMES: [&str; 6] = ["kernels", "table1", "figure2", "figure3", "figure4", "figure5"];

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let Args { words, weights, batch, games, baseline, mut items } = args;
    for word in words {
        match word.as_str() {
            "times" => items.only.extend(TIMES.map(String::from)),
            _ => items.only.push(word),
        }
    }
    items.output.start_log();
    let times = baseline.as_ref().map(Baseline::load).transpose()?;
    // Only text can be `seed:N`.
    let network = weights.to_str().map_or_else(|| Network::load(&weights), Network::from_weights)?;
    let plan = Plan { weights: weights.display().to_string(), batch, games, baseline: times };
    let file = seed(weights.as_os_str()).is_none().then_some(weights.as_path());
    items.run(
        "papers checkers_conv",
        &[("--baseline", baseline.as_deref()), ("--weights", file)],
        &CheckersConv::new(network, plan)?,
    )
}
