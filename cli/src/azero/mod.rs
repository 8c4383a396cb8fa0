//! AlphaZero for checkers from the command line: evaluation of positions, games against a network, self-play, learning, and checks of the rules.
//!
//! ```text
//! warpplay azero play --simulations 400
//! warpplay azero analyse --weights NET.safetensors --moves "a3b4 b6a5"
//! warpplay azero analyse --weights NET.safetensors --inputs IO.safetensors --out OUT.safetensors --precision f32
//! warpplay azero selfplay --games 1000 --save-games games.jsonl
//! warpplay azero train --records games.jsonl --save-weights new.safetensors --gate 200
//! warpplay azero learn --folder learned --iterations 10 --save-weights best.safetensors
//! warpplay azero match --a new.safetensors,simulations=100 --b seed:27,simulations=100 --games 200
//! warpplay azero bench
//! warpplay azero verify GAMES.jsonl
//! warpplay azero perft --depth 8
//! ```
//!
//! Without `--weights` the seeded default network `seed:27` is used, and that is said: it is the reference network of the tests, and knows nothing of
//! the game. A good result: `perft --depth 8` ends with 838248 lines of actions and 845931 of turns; a search of 100 simulations, whatever the network, beats
//! `random` in more than 95 of 100 games; a network that has learned for some minutes wins most games against the one it began as. Every program
//! checks what must hold: policies sum to 1 and illegal actions have none, games end by the rules, records replay.
//!
//! Exit codes: 0 done, also when Ctrl-C ended it early, with the result so far (`analyse` alone writes nothing then, and fails); 2 a wrong command line or
//! an option that is not allowed; 130 ended at once by Ctrl-C; 1 everything else, with one line on stderr.
//!
//! # Paper
//! Paul and Xu, "Parallelizing Convolutional Networks for Faster AlphaZero Inference"; the game and the network are OpenSpiel's.

mod analyse;
mod args;
mod bench;
mod board;
pub mod chart;
mod contest;
mod contestant;
mod convert;
mod flags;
mod gate;
mod learn;
pub mod network;
mod play;
mod print;
mod rules;
mod selfplay;
mod start;
mod train;

pub use args::Args;
use args::Command;

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<()> {
    // A training says how many there are.
    if !matches!(args.command, Command::Train(_)) {
        crate::common::start_threads(None)?;
    }
    match args.command {
        Command::Analyse(args) => analyse::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Selfplay(args) => selfplay::run(&args),
        Command::Train(args) => train::run(&args),
        Command::Learn(args) => learn::run(&args),
        Command::Match(args) => contest::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Verify(args) => rules::verify(&args),
        Command::Perft(args) => rules::perft(&args),
    }
}
