//! The search finds what a child would, the same on every back end: `simt` runs the very source of the kernels on the CPU, and checks every access to memory.

use my_game::MyGame;
use warpplay::mcts::{Notation, Report, Search, position_after};
use warpplay::{Device, Progress};

/// A short search after some moves.
fn search(moves: &str, device: &Device) -> Result<Report, warpplay::Error> {
    let position: MyGame = position_after(moves)?;
    let builder = Search::<MyGame>::builder()
        .n_trees(2)
        .n_playouts(32)
        .steps(40)
        .no_seconds();
    builder
        .action_names(MyGame::action_name)
        .build(device)?
        .run(&position, Progress::go_on)
}

#[test]
fn a_win_is_taken_and_a_threat_is_met() -> Result<(), warpplay::Error> {
    // The first player has a1 and b1: c1 wins for it.
    assert_eq!(search("a1a3b1b3", &Device::cpu())?.best.name, "c1");
    // The second player must take it.
    assert_eq!(search("a1a3b1", &Device::cpu())?.best.name, "c1");
    Ok(())
}

#[test]
fn back_ends_agree() -> Result<(), warpplay::Error> {
    let plain = search("b2", &Device::cpu())?;
    // The GPU, where there is one.
    for device in [Device::simt(), Device::auto()] {
        assert_eq!(search("b2", &device)?.actions, plain.actions, "{device}");
    }
    Ok(())
}
