//! Poker solved from the command line: games from definition files, hold'em spots, exploitability, strategies asked and played against.
//!
//! ```text
//! warpplay cfr info GAME.game
//! warpplay cfr solve GAME.game --algorithm cfr_plus --iterations 1000 --report 1,10,100,1000 --strategy game.strategy
//! warpplay cfr compare GAME.game --samplings none,public_chance,opponent_public,self_public --plots compare.svg
//! warpplay cfr exploitability game.strategy
//! warpplay cfr query game.strategy --history cr --hand 4c
//! warpplay cfr solve-spot SPOT.json --target 0.5%pot --save turn.spot
//! warpplay cfr solve-boards SPOT.json --boards 25 --target 0.5%pot --device cuda:0,cuda:1 --csv flops.csv --html flops.html
//! warpplay cfr query turn.spot --line cr50c/ --board 8c
//! warpplay cfr browse turn.spot
//! warpplay cfr browse turn.spot --html turn.html --runouts 8c
//! warpplay cfr play game.strategy
//! warpplay cfr play turn.spot --seat 0 --hands 20 --history hands.txt
//! warpplay cfr match a.strategy b.strategy
//! warpplay cfr ranges btn_open
//! warpplay cfr push-fold --stack 10
//! warpplay cfr matrix rock-paper-scissors
//! ```
//!
//! A good result: `solve` of Leduc hold'em (`leduc.limit.2p.game`) with `--algorithm cfr_plus` says a NashConv of 0.0268 and the value -0.0846 for the first player
//! after 100 iterations, and -0.0856 after 1,000; the value of Kuhn poker comes to -1/18. After every solve the program checks what must hold whatever was solved: no
//! best response is worth less than the strategy it answers, all numbers are finite, and what two players win sums to 0 where nobody takes a share.
//!
//! The memory that a solve needs is said before it is taken. Exit codes: 0 done, also when Ctrl-C ended it early, with the result so far; 2 a wrong
//! command line or an option that is not allowed; 130 ended at once by Ctrl-C; 1 everything else, with one line on stderr.
//!
//! # Paper
//! Reis, "A GPU implementation of Counterfactual Regret Minimization" (2015); the algorithms' own papers stand at `warpplay::cfr::Algorithm`.

mod args;
mod ask;
mod browse;
mod check;
mod compare;
mod exploitability;
mod games;
mod info;
mod kinds;
mod matrix;
mod play;
mod play_spot;
mod push_fold;
mod query;
mod ranges;
mod saved;
mod solve;
mod solve_boards;
mod solve_flags;
mod solve_spot;
mod spot_node;

pub use args::Args;
use args::Command;

use crate::common::flags::named_as_typed;

/// Options of the library whose flag has another name.
const FLAGS: &[(&str, &str)] = &[("checkpoint_every", "checkpoint-every")];

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<()> {
    let done = match args.command {
        Command::Info(args) => info::run(&args),
        Command::Solve(args) => solve::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Exploitability(args) => exploitability::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Browse(args) => browse::run(&args),
        Command::Play(args) => play::run(&args),
        Command::SolveSpot(args) => solve_spot::run(&args),
        Command::SolveBoards(args) => solve_boards::run(&args),
        Command::Ranges(args) => ranges::run(&args),
        Command::PushFold(args) => push_fold::run(&args),
        #[cfg(feature = "papers")]
        Command::Thesis(args) => crate::papers::cfr_thesis::run(*args),
        Command::Match(args) => exploitability::run_match(&args),
        Command::Matrix(args) => matrix::run(&args),
    };
    done.map_err(|error| named_as_typed(error, FLAGS))
}
