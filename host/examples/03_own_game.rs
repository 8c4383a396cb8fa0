//! Lesson 3: a game of one's own. Hex lies in a crate of its own, `examples/custom_game`; `docs/adding-a-game.md` tells how it is written.

use warpplay::mcts::{Game, Notation, Outcome, Player, Search, position_after};
use warpplay::{Device, Progress};
use warpplay_example_hex::Hex;

fn main() -> warpplay::Result<()> {
    // The first player's chain from top to bottom lacks two stones of column f.
    let mut position: Hex = position_after("f1a1f2b1f3c1f4d1f5e1f6g1f7h1f8i1f9j1")?;
    let builder = Search::<Hex>::builder().n_trees(2).n_playouts(16).steps(40).no_seconds();
    let mut search = builder.action_names(Hex::action_name).build(&Device::auto())?;

    // The search plays both sides until somebody has won.
    while position.outcome() == Outcome::Ongoing {
        let best = search.run(&position, Progress::go_on)?.best;
        println!("{} plays {}", Hex::symbol(position.to_move()), best.name);
        position.apply(best.index);
    }
    println!("{}", position.draw());
    assert_eq!(position.outcome(), Outcome::Win(Player::First));
    Ok(())
}
