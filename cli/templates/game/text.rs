//! Positions and moves as text, for programs; the search does not need it.

use warpplay_gpu::mcts::notation::{draw_squares, parse_squares, square_name};
use warpplay_gpu::mcts::{Notation, NotationError, Player};

use crate::{MyGame, SIZE};

impl Notation for MyGame {
    fn start() -> Self {
        Self::default()
    }

    /// A letter for the column and a number for the row: a1 is action 0, b1 action 1.
    fn action_name(action: u32) -> String {
        square_name(action, SIZE)
    }

    fn parse_moves(text: &str) -> Result<Vec<u32>, NotationError> {
        parse_squares(text, SIZE, SIZE)
    }

    /// `X` for the first player, `O` for the second, `.` for an empty square.
    fn draw(&self) -> String {
        let has = |player, square: u32| self.stones(player) >> square & 1 == 1;
        draw_squares(SIZE, SIZE, |square| match square {
            _ if has(Player::First, square) => 'X',
            _ if has(Player::Second, square) => 'O',
            _ => '.',
        })
    }
}
