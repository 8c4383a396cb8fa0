//! How fast and how exact the AlphaZero network for checkers is evaluated: every precision and batch, errors
//! block by block, the cache's window, play with the network, and its training.
//!
//! ```text
//! cargo bench -p warpplay --bench azero -- --quick
//! cargo bench -p warpplay --bench azero -- speed --device cuda --batches 1,128,8192
//! cargo bench -p warpplay --bench azero -- errors l2 player --games 100
//! cargo bench -p warpplay --bench azero -- train --device cuda --peer "python3 docs/peers/azero.py"
//! ```
//!
//! Prints a table a section, and with `--json` one line of JSON a row. Times are of the device, by events, with the data there, but where the row says
//! otherwise; the first run is told apart and in no mean. Positions are distinct ones of random games from a fixed seed.
//!
//! Figures of an H200: `docs/performance.md`.
//! Exit codes: 0; 1 if a row failed (it says why); 2 a wrong command line.

#[path = "azero/errors.rs"]
mod errors;
#[path = "azero/l2.rs"]
mod l2;
#[path = "azero/measure.rs"]
mod measure;
#[allow(dead_code, reason = "shared by the benches of all families, each of which uses a part")]
#[path = "common/output.rs"]
mod output;
#[path = "common/peer_flags.rs"]
mod peer_flags;
#[allow(dead_code, reason = "shared by the benches of all families, each of which uses a part")]
#[path = "common/peers.rs"]
mod peers;
#[path = "azero/plain.rs"]
mod plain;
#[path = "azero/player.rs"]
mod player;
#[path = "common/program.rs"]
mod program;
#[path = "azero/published.rs"]
mod published;
#[path = "azero/selfplay.rs"]
mod selfplay;
#[path = "azero/speed.rs"]
mod speed;
#[path = "azero/train.rs"]
mod train;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::json;
use warpplay::azero::{MAX_BATCH, Network, NetworkShape};
use warpplay::{Backend, Error};

use measure::{Bench, Positions};
use peer_flags::PeerFlags;
use program::Flags;

/// Speed and exactness of the AlphaZero network
#[derive(Parser, Debug)]
#[command(name = "azero")]
struct Args {
    /// What to measure [default: all]
    #[arg(value_name = "SECTION", value_enum)]
    sections: Vec<Section>,

    /// The network's weights [default: the reference network, made from its seed]
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,

    /// Positions of a call, separated by commas [default: 1, 2, 8, 64, 128, 512, 1024, 8192; 1 and 8 with --quick]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    batches: Vec<usize>,

    /// Games of sections player and selfplay [default: 1000, or 20 with --quick]
    #[arg(long, value_name = "N")]
    games: Option<usize>,

    #[command(flatten)]
    peers: PeerFlags,

    #[command(flatten)]
    flags: Flags,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Every precision, engine and batch, against PyTorch's figures
    Speed,
    /// Mean and largest error after every block, for every precision
    Errors,
    /// The second-level cache's window over the weights, on and off
    L2,
    /// Games played with the network: errors from the first to the last action
    Player,
    /// Games of self-play with the network and without
    Selfplay,
    /// Steps of a training, in every precision, and those of peers
    Train,
}

fn main() -> ExitCode {
    program::exit(run(&Args::parse()))
}

/// Runs the sections; returns how many rows failed.
fn run(args: &Args) -> anyhow::Result<usize> {
    let (device, seconds, quick) = (args.flags.device()?, args.flags.seconds()?, args.flags.quick);
    let batches = match (&args.batches[..], device.backend(), quick) {
        ([], Backend::Simt, _) => vec![1],
        ([], _, true) => vec![1, 8],
        ([], ..) => vec![1, 2, 8, 64, 128, 512, 1024, 8192],
        (given, ..) => given.to_vec(),
    };
    for &batch in &batches {
        if !(1..=MAX_BATCH).contains(&batch) {
            return Err(Error::option("batches", batch, format!("1 to {MAX_BATCH}")).into());
        }
    }
    if args.games == Some(0) {
        return Err(Error::option("games", 0, "at least 1").into());
    }
    let output = args.flags.output()?;
    let network = match &args.weights {
        Some(path) => Network::load(path)?,
        None => Network::seeded(NetworkShape::default(), 27)?,
    };
    let (shape, checkers) = (network.shape(), NetworkShape::default());
    let sizes = |shape: NetworkShape| [shape.rows, shape.columns, shape.planes, shape.actions];
    if sizes(shape) != sizes(checkers) || shape.depth == 0 {
        return Err(
            Error::option("weights", format!("{shape:?}"), "a network of checkers with at least one block").into()
        );
    }
    let most = batches.iter().copied().max().unwrap_or(1).max(64);
    let mut bench = Bench {
        positions: Positions::random(27, most, network.observation())?,
        peers: args.peers.start()?,
        games: args.games.unwrap_or(if quick { 20 } else { 1000 }),
        quick,
        device,
        seconds,
        batches,
        network,
        output,
    };
    let more = json!({ "positions": bench.positions.len(), "shape": bench.network.shape() });
    args.flags.about(&mut bench.output, &bench.device, more)?;
    bench.output.text(&format!("{} distinct positions\n", bench.positions.len()))?;
    let sections: program::Sections<Section, Bench> = &[
        (Section::Speed, speed::run),
        (Section::Errors, errors::run),
        (Section::L2, l2::run),
        (Section::Player, player::run),
        (Section::Selfplay, selfplay::run),
        (Section::Train, train::run),
    ];
    program::measure(&mut bench, &args.sections, sections)?;
    Ok(bench.output.n_failed())
}
