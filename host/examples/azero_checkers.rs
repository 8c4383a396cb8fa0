//! AlphaZero for checkers from the command line: what a network says of positions, games against it, self-play, learning, and the rules' proof.
//!
//! ```text
//! cargo run --release --example azero_checkers -- play --simulations 400
//! cargo run --release --example azero_checkers -- eval --weights NET.safetensors --moves "a3b4 b6a5"
//! cargo run --release --example azero_checkers -- eval --weights NET.safetensors --inputs IO.safetensors --out OUT.safetensors --precision fp32
//! cargo run --release --example azero_checkers -- selfplay --games 1000 --json games.jsonl
//! cargo run --release --example azero_checkers -- train --games games.jsonl --out new.safetensors --gate 200
//! cargo run --release --example azero_checkers -- learn --folder learned --iterations 10 --out best.safetensors
//! cargo run --release --example azero_checkers -- match --a new.safetensors,simulations=100 --b seed:27,simulations=100 --games 200
//! cargo run --release --example azero_checkers -- bench
//! cargo run --release --example azero_checkers -- replay GAMES.jsonl
//! cargo run --release --example azero_checkers -- perft --depth 8
//! ```
//!
//! Without `--weights` the seeded default network `seed:27` is used, and that is said: it is the reference network of the tests, and knows nothing of
//! the game. A good result: `perft --depth 8` ends with 838248 lines of actions and 845931 of turns; a search of 100 simulations, whatever the network, beats
//! `random` in more than 95 of 100 games; a network that has learned for some minutes wins most games against the one it began as. Every program
//! checks what must hold: policies sum to 1 and illegal actions have none, games end by the rules, records replay.
//!
//! Exit codes: 0 done, also when Ctrl-C ended it early, with the result so far (`eval` alone writes nothing then, and fails); 2 a wrong command line or
//! an option that is not allowed; 1 everything else, with one line on stderr.
//!
//! # Source
//! Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference"; the game and the network are OpenSpiel's.

#[allow(dead_code, unused_imports, reason = "shared by the programs of all families, each of which uses a part")]
mod common;

#[path = "azero_checkers/args.rs"]
mod args;
#[path = "azero_checkers/bench.rs"]
mod bench;
#[path = "azero_checkers/board.rs"]
mod board;
#[path = "azero_checkers/contest.rs"]
mod contest;
#[path = "azero_checkers/contestant.rs"]
mod contestant;
#[path = "azero_checkers/convert.rs"]
mod convert;
#[path = "azero_checkers/eval.rs"]
mod eval;
#[path = "azero_checkers/gate.rs"]
mod gate;
#[path = "azero_checkers/learn.rs"]
mod learn;
#[path = "azero_checkers/network.rs"]
mod network;
#[path = "azero_checkers/play.rs"]
mod play;
#[path = "azero_checkers/rules.rs"]
mod rules;
#[path = "azero_checkers/selfplay.rs"]
mod selfplay;
#[path = "azero_checkers/start.rs"]
mod start;
#[path = "azero_checkers/train.rs"]
mod train;

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
        Command::Eval(args) => eval::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Selfplay(args) => selfplay::run(&args),
        Command::Train(args) => train::run(&args),
        Command::Learn(args) => learn::run(&args),
        Command::Match(args) => contest::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Replay(args) => rules::replay(&args),
        Command::Perft(args) => rules::perft(&args),
    }
}
