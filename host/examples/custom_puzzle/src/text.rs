//! States of the puzzle and lamps as text.

use warpplay_gpu::mcts::notation::{draw_squares, parse_squares, square_name};
use warpplay_gpu::mcts::{Notation, NotationError};

use crate::{LAMPS, LightsOut, SIZE};

/// Lamps whose pressing solves the starting pattern, fewest possible: a1, d1, b3, e4, c5.
pub(crate) const START: [u32; 5] = [0, 3, 11, 19, 22];

impl Notation for LightsOut {
    /// A pattern that five presses solve, and no fewer.
    fn start() -> Self {
        const PUZZLE: LightsOut = match LightsOut::from_presses(&START) {
            Ok(puzzle) => puzzle,
            Err(_) => panic!("the starting pattern's lamps exist"),
        };
        PUZZLE
    }

    fn action_name(action: u32) -> String {
        square_name(action, SIZE)
    }

    fn parse_moves(text: &str) -> Result<Vec<u32>, NotationError> {
        parse_squares(text, SIZE, SIZE)
    }

    /// `*` for a lamp that is lit, `.` for a dark one; below, what was pressed and how many presses are left.
    fn draw(&self) -> String {
        let mut text = draw_squares(SIZE, SIZE, |lamp| if self.lit >> lamp & 1 == 1 { '*' } else { '.' });
        let pressed = (0..LAMPS).filter(|lamp| self.pressed >> lamp & 1 == 1).map(Self::action_name);
        let pressed = pressed.collect::<Vec<_>>().join(" ");
        let pressed = if pressed.is_empty() { "none" } else { &pressed };
        text.push_str(&format!("pressed: {pressed}; presses left: {}\n", self.presses_left));
        text
    }
}
