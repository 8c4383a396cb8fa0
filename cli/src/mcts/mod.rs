//! Monte Carlo tree search from the command line: analyse a position, play against the search, let two players meet,
//! repeat a recorded search or a recorded match.
//!
//! ```text
//! warpplay mcts analyse --game connect4 --moves 4453 --steps 2000 --json found.json
//! warpplay mcts replay found.json
//! warpplay mcts play --game hex --seconds 1
//! warpplay mcts match --a acp_prodigal,seconds=0.2 --b vanilla,seconds=1 --games 100 --json match.json
//! warpplay mcts replay match.json
//! ```
//!
//! A good result: on the empty Connect 4 board the middle column (`4`) is best, with most of the visits and a value `q`
//! of about 0.6; a match of a player against itself comes out near 50 %; `replay` says `identical`. After every search
//! the program checks what must hold whatever was searched: the visits of the actions sum to those of the root, no
//! action has more wins and draws than visits, and the best action is the best by the final rule. A search that breaks
//! this is an error.
//!
//! Exit codes: 0 done, also when Ctrl-C ended it early, with the result so far; 2 a wrong command line; 130 ended at once
//! by Ctrl-C; 1 everything else, with one line on stderr. A replay that was stopped or found a difference ends with 1.

mod analyse;
mod args;
pub mod chart;
mod check;
mod contest;
mod games;
mod limits;
mod match_file;
mod play;
mod player;
mod replay;
mod replay_match;
mod score;
mod table;

pub use args::Args;
use args::Command;

use crate::common::flags::named_as_typed;

/// Options of a search whose flag has another name; a player of a match has the flags' names too.
pub const FLAGS: &[(&str, &str)] = &[("device_memory_gb", "memory"), ("n_playouts", "playouts"), ("n_trees", "trees")];

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<()> {
    let done = match args.command {
        Command::Analyse(args) => analyse::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Match(args) => contest::run(&args),
        // A file has the library's names.
        Command::Replay(args) => return replay::run(&args),
    };
    done.map_err(|error| named_as_typed(error, FLAGS))
}
