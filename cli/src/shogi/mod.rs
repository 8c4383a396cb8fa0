//! Shogi evaluation learning from the command line: the source's experiments, learning of any features, evaluation of positions, data sets.
//!
//! ```text
//! warpplay shogi reproduce --games games.usi.txt.gz --iterations 50 --init 3 --plies 40..80 --json run.json
//! warpplay shogi reproduce --games games.usi.txt.gz --tables --plots plots
//! warpplay shogi learn --games games.usi.txt.gz --held-out 0.2 --features kpp --optimizer adam --weights kpp.safetensors
//! warpplay shogi evaluate startpos moves 7g7f 3c3d --weights kpp.safetensors
//! warpplay shogi build-dataset --games DIR --out data
//! warpplay shogi inspect --data data
//! warpplay shogi moves positions.jsonl
//! ```
//!
//! A good result: `reproduce` from 3 brings the objective of 1,965 games, a hundred of which are in the repository
//! (`tests/golden/shogi/first_100.usi.txt.gz`), from 0.36341 to 0.35396 in 50 updates, the dragon above the promoted bishop above the rook above the
//! bishop; `learn` with the pairs of king and pieces ranks the played move of games held out first far more often than the values of the pieces alone.
//! After every run the program checks what must hold whatever was learnt: objectives lie between 0 and 1, shares too, and all values are finite. A
//! result that breaks this is an error.
//!
//! Exit codes: 0 done, also when Ctrl-C ended it early, with the result so far; 2 a wrong command line or an option that is not allowed; 1 everything else,
//! with one line on stderr.
//!
//! # Source
//! 「MPIまたはCUDAを用いた将棋評価関数学習プログラムの並列化」, 2009.

mod args;
mod chart;
mod check;
mod data;
mod data_flags;
mod dataset;
mod evaluate;
mod group;
mod learn;
mod learn_flags;
mod moves;
mod published;
mod reproduce;
mod rule_flags;
mod table;
mod tables;

pub use args::Args;
use args::Command;

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Learn(args) => learn::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::BuildDataset(args) => dataset::build(&args),
        Command::Inspect(args) => dataset::inspect(&args),
        Command::Moves(args) => moves::run(&args),
    }
}
