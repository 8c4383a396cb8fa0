//! `warpplay shogi`: learning of evaluations from game records, fits of piece values, positions, data sets.
//!
//! ```text
//! warpplay shogi learn --records games.usi.txt.gz --held-out 0.2 --features kpp --optimizer adam --save-weights kpp.safetensors
//! warpplay shogi analyse startpos moves 7g7f 3c3d --weights kpp.safetensors
//! warpplay shogi fit --records games.usi.txt.gz --iterations 50 --json run.json
//! warpplay shogi build-dataset --records DIR --out data
//! warpplay shogi inspect --data data
//! warpplay shogi moves positions.jsonl
//! ```
//!
//! A good result: `fit` from 3 brings the objective of 1,965 games, a hundred of which are in the repository (`tests/golden/shogi/first_100.usi.txt.gz`), from 0.36341
//! to 0.35396 in 50 iterations, the dragon above the promoted bishop above the rook above the bishop; `learn` with the pairs of king and pieces ranks the played move of
//! games held out first far more often than the values of the pieces alone. After every run the program checks what must hold whatever was learnt: objectives lie between 0
//! and 1, shares too, and all values are finite. A result that breaks this is an error.
//!
//! Exit codes: 0 done, also when Ctrl-C ended it early, with the result so far; 2 a wrong command line or an option that is not allowed; 130 ended at once by
//! Ctrl-C; 1 everything else, with one line on stderr.

mod analyse;
mod args;
#[cfg_attr(not(feature = "papers"), allow(dead_code))]
pub(crate) mod chart;
pub(crate) mod check;
pub(crate) mod data;
pub(crate) mod data_flags;
mod dataset;
mod fit;
mod learn;
mod learn_flags;
mod moves;
pub(crate) mod rule_flags;
#[cfg_attr(not(feature = "papers"), allow(dead_code))]
pub(crate) mod table;

pub use args::Args;
use args::Command;

use crate::common::flags::named_as_typed;

/// Options of the library whose flag has another name.
const FLAGS: &[(&str, &str)] = &[
    ("checkpoint_every", "checkpoint-every"),
    ("device_bytes", "device-bytes"),
    ("early_stopping", "patience"),
    ("games", "game-range"),
    ("held_out", "held-out"),
    ("keep_scale", "keep-scale"),
    ("learning_rate", "learning-rate"),
    ("min_delta", "min-delta"),
    ("quiet", "quiescence-every"),
    ("quiet.every", "quiescence-every"),
    ("quiet.depth", "quiescence-depth"),
    ("depth", "quiescence-depth"),
    ("rate_factor", "rate-factor"),
    ("shard_parents", "shard"),
];

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<()> {
    let done = match args.command {
        Command::Learn(args) => learn::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Analyse(args) => analyse::run(&args),
        Command::BuildDataset(args) => dataset::build(&args),
        Command::Inspect(args) => dataset::inspect(&args),
        Command::Moves(args) => moves::run(&args),
        Command::Reproduce(args) => Err(moved(&args.rest)),
    };
    done.map_err(|error| named_as_typed(error, FLAGS))
}

/// What to type instead of `reproduce`.
fn moved(rest: &[String]) -> anyhow::Error {
    let line = format!("warpplay papers shogi_bonanza {}", rest.join(" "));
    crate::common::Usage(format!("the paper's experiments are a command of their own now: {}", line.trim_end())).into()
}
