//! What the network sees of a position of checkers: five planes of 8 × 8, row 0 (the top) first, and a mask of the legal actions.
//!
//! The board is never turned, and neither the count of quiet actions nor the piece in mid-capture is shown.
//!
//! Source: OpenSpiel 2.0.2, game `checkers`.

use crate::mcts::Game;
use crate::mcts::games::checkers::{Checkers, Square};

/// Number of values of an observation, `[5, 8, 8]`.
pub const N_OBSERVATION: usize = 5 * 64;
/// Number of actions.
pub const N_ACTIONS: usize = 512;

/// The layout of the planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Men and kings of player 0, men and kings of player 1, empty squares: for both observers.
    Default,
    /// Men and kings of the observer, men and kings of the other, empty squares.
    Egocentric,
    /// Men and kings of the observer, kings and men of the other, empty squares: OpenSpiel before 1.6.10.
    Legacy,
}

/// The plane, of 5, that represents the content of a square for `observer`.
fn plane(square: Square, observer: usize, layout: Layout) -> usize {
    let (player, king) = match square {
        Square::Empty => return 4,
        Square::Man(player) => (player, false),
        Square::King(player) => (player, true),
    };
    let first = if layout == Layout::Default { 0 } else { observer };
    match (player == first, king) {
        (true, false) => 0,
        (true, true) => 1,
        (false, king) if king == (layout == Layout::Legacy) => 2,
        (false, _) => 3,
    }
}

/// The observation of player `observer` (0 or 1): `[5, 8, 8]`, 0 and 1.
pub fn observation(position: &Checkers, observer: usize, layout: Layout) -> [f32; N_OBSERVATION] {
    let mut planes = [0.0; N_OBSERVATION];
    for square in 0..64 {
        planes[plane(position.square(square), observer, layout) * 64 + square] = 1.0;
    }
    planes
}

/// 1 for each legal action, 0 for the others; all 0 once the game is over.
pub fn legal_mask(position: &Checkers) -> [u8; N_ACTIONS] {
    let mut legal = Vec::new();
    position.legal_actions(&mut legal);
    let mut mask = [0; N_ACTIONS];
    for action in legal {
        mask[action] = 1;
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_differ_in_order_alone() {
        // White man, white king, black man, black king.
        let pieces = [Square::Man(0), Square::King(0), Square::Man(1), Square::King(1), Square::Empty];
        let planes = |observer, layout| pieces.map(|piece| plane(piece, observer, layout));
        assert_eq!(planes(0, Layout::Default), [0, 1, 2, 3, 4]);
        assert_eq!(planes(1, Layout::Default), [0, 1, 2, 3, 4]);
        assert_eq!(planes(0, Layout::Egocentric), [0, 1, 2, 3, 4]);
        assert_eq!(planes(1, Layout::Egocentric), [2, 3, 0, 1, 4]);
        assert_eq!(planes(0, Layout::Legacy), [0, 1, 3, 2, 4]);
        assert_eq!(planes(1, Layout::Legacy), [3, 2, 0, 1, 4]);
    }
}
