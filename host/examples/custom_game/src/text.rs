//! Positions and squares of Hex as text.

use warpplay_gpu::mcts::notation::{parse_squares, square_name};
use warpplay_gpu::mcts::{Notation, NotationError};

use crate::{Hex, SECOND, SIZE};

impl Notation for Hex {
    fn start() -> Self {
        Self::new()
    }

    fn action_name(action: u32) -> String {
        square_name(action, SIZE as u32)
    }

    fn parse_moves(text: &str) -> Result<Vec<u32>, NotationError> {
        parse_squares(text, SIZE as u32, SIZE as u32)
    }

    /// Row 1 on top; each row stands half a square to the right of the one above, so that squares that touch are seen side by side.
    fn draw(&self) -> String {
        let letters: String = ('a'..).take(SIZE).map(|letter| format!(" {letter}")).collect();
        let mut text = format!("   {letters}\n");
        for (y, row) in self.rows.iter().enumerate() {
            text.push_str(&format!("{:y$}{:>3} ", "", y + 1));
            for x in 0..SIZE {
                text.push(match (row >> x & 1, row >> (SECOND as usize + x) & 1) {
                    (0, 0) => '.',
                    (_, 0) => 'X',
                    _ => 'O',
                });
                text.push(' ');
            }
            text.push_str(&format!("{}\n", y + 1));
        }
        text.push_str(&format!("{}{letters}\n", " ".repeat(SIZE + 3)));
        text.push_str("X: row 1 to row 11, O: column a to column k\n");
        text
    }
}
