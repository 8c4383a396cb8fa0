//! Poker solved from the command line: games from definition files, hold'em spots, exploitability, strategies asked and played against.
//!
//! ```text
//! cargo run --release --example cfr_poker -- info GAME.game
//! cargo run --release --example cfr_poker -- solve GAME.game --algorithm cfr_plus --iterations 1000 --report 1,10,100,1000 --strategy game.strategy
//! cargo run --release --example cfr_poker -- compare GAME.game --samplings none,public_chance,opponent_public,self_public --plot compare.svg
//! cargo run --release --example cfr_poker -- exploitability game.strategy
//! cargo run --release --example cfr_poker -- query game.strategy --history cr --hand Kc
//! cargo run --release --example cfr_poker -- subgame SPOT.json --iterations 1000 --json spot.json
//! cargo run --release --example cfr_poker -- thesis --games DIR --json thesis.json --plots plots
//! cargo run --release --example cfr_poker -- play game.strategy
//! cargo run --release --example cfr_poker -- match a.strategy b.strategy
//! cargo run --release --example cfr_poker -- matrix rock-paper-scissors
//! ```
//!
//! A good result: `solve` of Leduc hold'em (`leduc.limit.2p.game`) with `cfr_plus` says a NashConv of 0.0268 after 100 iterations, and the value of the
//! game for the first player comes to -0.0856; of Kuhn poker to -1/18. After every solve the program checks what must hold whatever was solved: no
//! best response is worth less than the strategy it answers, all numbers are finite, and what two players win sums to 0 where nobody takes a share.
//!
//! The memory that a solve needs is said before it is taken. Exit codes: 0 done, also when Ctrl-C ended it early, with the result so far; 2 a wrong
//! command line or an option that is not allowed; 1 everything else, with one line on stderr.
//!
//! # Source
//! Reis, "A GPU implementation of Counterfactual Regret Minimization" (2015); the algorithms' own papers stand at `warpplay::cfr::Algorithm`.

#[allow(dead_code, unused_imports, reason = "shared by the programs of all families, each of which uses a part")]
mod common;

#[path = "cfr_poker/args.rs"]
mod args;
#[path = "cfr_poker/chart.rs"]
mod chart;
#[path = "cfr_poker/check.rs"]
mod check;
#[path = "cfr_poker/compare.rs"]
mod compare;
#[path = "cfr_poker/exploitability.rs"]
mod exploitability;
#[path = "cfr_poker/games.rs"]
mod games;
#[path = "cfr_poker/info.rs"]
mod info;
#[path = "cfr_poker/matrix.rs"]
mod matrix;
#[path = "cfr_poker/play.rs"]
mod play;
#[path = "cfr_poker/query.rs"]
mod query;
#[path = "cfr_poker/solve.rs"]
mod solve;
#[path = "cfr_poker/solve_flags.rs"]
mod solve_flags;
#[path = "cfr_poker/subgame.rs"]
mod subgame;
#[path = "cfr_poker/thesis.rs"]
mod thesis;

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
        Command::Info(args) => info::run(&args),
        Command::Solve(args) => solve::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Exploitability(args) => exploitability::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Subgame(args) => subgame::run(&args),
        Command::Thesis(args) => thesis::run(&args),
        Command::Match(args) => exploitability::run_match(&args),
        Command::Matrix(args) => matrix::run(&args),
    }
}
