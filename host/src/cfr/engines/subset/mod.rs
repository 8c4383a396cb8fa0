//! Poker with one hole card each, one suit, one round and no board: all deals in every iteration, by a recurrence over sets of players at each terminal.
//!
//! The rule: 2 to 8 players, at most 8 cards of one suit, no side pots, and everything in the device's memory (about 0.3 GiB for the eight-player game of the
//! published program in single precision).

#[allow(unsafe_code)]
mod kernels;
mod plan;
mod solver;

use std::sync::Arc;

pub use solver::{SeatMeasure, SubsetSolver};

use super::Solve;
use crate::cfr::game::betting::BettingTree;
use crate::cfr::game::game_file::GameDef;
use crate::cfr::options::Options;
use crate::{Device, Memory, Result};

/// The engine for a game. Tables are `[decision node of the seat][card][action]`, nodes in the order of the betting tree.
///
/// # Errors
/// As [`fits`]; [`Error::Unsupported`](crate::Error::Unsupported) on the CPU back end.
pub(in crate::cfr) fn build(device: &Device, game: Arc<GameDef>, options: &Options) -> Result<Box<dyn Solve>> {
    plan::check(&game, options)?;
    solver::build(device, &game, &BettingTree::new(&game)?, options)
}

/// Checks that the engine supports the game, and returns the memory that it needs.
///
/// # Errors
/// [`Error::Option`](crate::Error::Option) with the reason: cards, rounds, players or options.
pub(in crate::cfr) fn fits(game: &GameDef, options: &Options) -> Result<Memory> {
    plan::check(game, options)
}
