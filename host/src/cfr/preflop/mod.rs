//! Heads-up hold'em before the flop: chances of winning an all-in, and the game of pushing or folding.
//!
//! With a stack of few big blinds, the small blind loses little by only going all-in or folding; the big blind then calls or folds. [`PushFold`] is this game with exact chances of winning
//! ([`Equities`]). Its [`Tree`](super::Tree) is small: the CPU solves it in seconds. [`PushFoldChart`] holds the solutions for several stacks.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::cfr::preflop::{Equities, PushFold, class_number};
//!
//! // Aces beat kings in four of five all-ins.
//! let equities = Equities::get();
//! let aces = class_number("AA").ok_or("no class")?;
//! assert!((equities.equity(aces, class_number("KK").ok_or("no class")?) - 0.8195).abs() < 5e-5);
//!
//! let solved = PushFold::new(10.0).solve(&Device::cpu(), 300)?;
//! assert!(solved.push[aces] > 0.999 && solved.exploitability < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Equities`] | chances of winning between classes of hands, exact |
//! | [`PushFold`], [`PushFoldSolved`] | the game for one stack, and its solution |
//! | [`PushFoldChart`] | solutions for many stacks |
//!
//! # Source
//! The game is that of Miltersen and Sørensen, "A Near-Optimal Strategy for a Heads-Up No-Limit Texas Hold'em Poker Tournament" (2007), for single hands.

mod equities;
mod push_fold;

pub use equities::Equities;
pub use push_fold::{PushFold, PushFoldChart, PushFoldSolved};

pub use crate::cfr::spot::grid::SIDE;

use crate::cfr::spot::grid;

/// Classes of hands before the flop, numbered row after row of a grid of 13 × 13: pairs from AA to 22 on the diagonal, hands of one suit above and those of two below it.
pub const N_CLASSES: usize = SIDE * SIDE;

/// Hands of two cards of the full deck.
pub const N_HANDS: usize = 1326;

/// The usual name of a class, `AA`, `AKs`, `AKo`; `None` if there is no such number.
pub fn class_name(number: usize) -> Option<String> {
    (number < N_CLASSES).then(|| grid::name(number))
}

/// The number of a class of this name.
pub fn class_number(name: &str) -> Option<usize> {
    (0..N_CLASSES).find(|&number| grid::name(number) == name)
}

/// Hands of a class: 6 of a pair, 4 of one suit, 12 of two.
pub fn n_hands(number: usize) -> usize {
    if number < N_CLASSES { grid::combos(number).count() } else { 0 }
}
