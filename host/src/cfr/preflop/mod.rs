//! Hold'em before the flop, heads-up: how often hands win if all chips go in, and the game of pushing or folding.
//!
//! With few big blinds left the small blind does best to go all-in or fold, and the big blind to call or fold. [`PushFold`] is this game with exact chances of winning ([`Equities`]); its
//! [`Tree`](super::Tree) is small, so every device solves it in seconds. [`PushFoldChart`] has the solutions for many stacks.
//!
//! ```
//! use warpplay::Device;
//! use warpplay::cfr::preflop::{Equities, PushFold, class_number};
//!
//! // Aces win against kings four times of five.
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

use crate::cfr::spot::grid;

/// Classes of hands before the flop, numbered row after row of a grid of 13 × 13: pairs from AA to 22 on the diagonal, hands of one suit above and those of two below it.
pub const N_CLASSES: usize = grid::SIDE * grid::SIDE;

/// What players call a class, `AA`, `AKs`, `AKo`; `None` if there is no such number.
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
