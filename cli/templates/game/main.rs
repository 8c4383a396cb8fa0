//! Searches a position: `cargo run -- a1b2`.

use my_game::MyGame;
use warpplay::mcts::{Notation, Search, position_after};
use warpplay::{Device, Progress};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let moves = std::env::args().nth(1).unwrap_or_default();
    let position: MyGame = position_after(&moves)?;
    let device = Device::auto();
    let mut search = Search::<MyGame>::builder()
        .steps(200)
        .no_seconds()
        .action_names(MyGame::action_name)
        .build(&device)?;
    let report = search.run(&position, Progress::go_on)?;
    println!("{}{report}", position.draw());
    Ok(())
}
