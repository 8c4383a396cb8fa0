//! Shogi evaluation learning from the command line: the source's experiments, learning of any features, evaluation of positions, data sets.
//!
//! ```text
//! cargo run --release --example shogi_learn -- reproduce --games games.usi.txt.gz --iterations 50 --init 3 --plies 40..80 --json run.json
//! cargo run --release --example shogi_learn -- reproduce --games games.usi.txt.gz --tables --plots plots
//! cargo run --release --example shogi_learn -- learn --games games.usi.txt.gz --held-out 0.2 --features kpp --optimizer adam --weights kpp.safetensors
//! cargo run --release --example shogi_learn -- evaluate startpos moves 7g7f 3c3d --weights kpp.safetensors
//! cargo run --release --example shogi_learn -- build-dataset --games DIR --out data
//! cargo run --release --example shogi_learn -- inspect --data data
//! cargo run --release --example shogi_learn -- moves positions.jsonl
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

#[allow(dead_code, unused_imports, reason = "shared by the programs of all families, each of which uses a part")]
mod common;

#[path = "shogi_learn/args.rs"]
mod args;
#[path = "shogi_learn/chart.rs"]
mod chart;
#[path = "shogi_learn/check.rs"]
mod check;
#[path = "shogi_learn/data.rs"]
mod data;
#[path = "shogi_learn/data_flags.rs"]
mod data_flags;
#[path = "shogi_learn/dataset.rs"]
mod dataset;
#[path = "shogi_learn/evaluate.rs"]
mod evaluate;
#[path = "shogi_learn/group.rs"]
mod group;
#[path = "shogi_learn/learn.rs"]
mod learn;
#[path = "shogi_learn/learn_flags.rs"]
mod learn_flags;
#[path = "shogi_learn/moves.rs"]
mod moves;
#[path = "shogi_learn/published.rs"]
mod published;
#[path = "shogi_learn/reproduce.rs"]
mod reproduce;
#[path = "shogi_learn/rule_flags.rs"]
mod rule_flags;
#[path = "shogi_learn/table.rs"]
mod table;
#[path = "shogi_learn/tables.rs"]
mod tables;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    common::exit(run(args.command))
}

fn run(command: Command) -> anyhow::Result<()> {
    common::catch_interrupts()?;
    match command {
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Learn(args) => learn::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::BuildDataset(args) => dataset::build(&args),
        Command::Inspect(args) => dataset::inspect(&args),
        Command::Moves(args) => moves::run(&args),
    }
}
