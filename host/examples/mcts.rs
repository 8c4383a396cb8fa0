//! Monte Carlo tree search from the command line: analyse a position, play against the search, let two players meet,
//! repeat a recorded search.
//!
//! ```text
//! cargo run --release --example mcts -- analyse --game connect4 --moves 4453 --steps 2000 --json found.json
//! cargo run --release --example mcts -- replay found.json
//! cargo run --release --example mcts -- play --game hex --seconds 1
//! cargo run --release --example mcts -- match --a acp_prodigal,seconds=0.2 --b vanilla,seconds=1 --games 100
//! ```
//!
//! A good result: on the empty Connect 4 board the middle column (`4`) is best, with most of the visits and a value `q`
//! of about 0.6; a match of a player against itself comes out near 50 %; `replay` says `identical`. After every search
//! the program checks what must hold whatever was searched: the visits of the actions sum to those of the root, no
//! action has more wins and draws than visits, and the best action is the best by the final rule. A search that breaks
//! this is an error.
//!
//! Exit codes: 0 done, also when Ctrl-C ended it early, with the result so far; 2 a wrong command line; 1 everything
//! else, with one line on stderr. A replay that was stopped or found a difference ends with 1.

#[allow(dead_code, unused_imports, reason = "shared by the programs of all families, each of which uses a part")]
mod common;

#[path = "mcts/analyse.rs"]
mod analyse;
#[path = "mcts/args.rs"]
mod args;
#[path = "mcts/chart.rs"]
mod chart;
#[path = "mcts/check.rs"]
mod check;
#[path = "mcts/contest.rs"]
mod contest;
#[path = "mcts/games.rs"]
mod games;
#[path = "mcts/play.rs"]
mod play;
#[path = "mcts/player.rs"]
mod player;
#[path = "mcts/replay.rs"]
mod replay;
#[path = "mcts/score.rs"]
mod score;
#[path = "mcts/table.rs"]
mod table;

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
        Command::Analyse(args) => analyse::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Match(args) => contest::run(&args),
        Command::Replay(args) => replay::run(&args),
    }
}
