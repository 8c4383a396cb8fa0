//! Lesson 1: search a position, and read what was found.
//!
//! ```text
//! cargo run -p warpplay --example 01_search
//! ```

use warpplay::mcts::{Connect4, Notation, Search, position_after};
use warpplay::{Device, Progress};

fn main() -> warpplay::Result<()> {
    // The first GPU, or the CPU where there is none: the result is the same.
    let device = Device::auto();
    // Both players have stacked three stones. It is the first player's turn: column 4 wins.
    let position: Connect4 = position_after("434343")?;

    let builder = Search::<Connect4>::builder().n_trees(4).n_playouts(32).steps(50).no_seconds();
    let mut search = builder.action_names(Connect4::action_name).build(&device)?;
    let report = search.run(&position, Progress::go_on)?;

    println!("{}{report}", position.draw());
    assert_eq!(report.best.name, "4");
    assert!(report.best.win_flag, "it wins at once");
    Ok(())
}
