//! The rules of shogi on a board of bytes: slow, short, and written from the rules alone.
//!
//! A move is legal if the piece may go there, is promoted where it could never move again, leaves the own king unattacked, puts no second unpromoted pawn of a side
//! on a file, and does not mate by the drop of a pawn. Moves that leave the promotion out where one may are legal too. Repetition is not looked at.

mod children;
mod moves;
mod position;

pub use children::{Children, children, material};
pub use moves::{Move, perft};
pub use position::{Position, START};

/// Kind of the king, after the 13 kinds with a value.
pub const KING: usize = 13;

/// File (0 to 8 from Black's right) and rank (0 to 8 from White's side) of a square.
pub const fn coordinates(square: usize) -> (i32, i32) {
    ((square / 9) as i32, (square % 9) as i32)
}

/// The square of a file and a rank, if they are on the board.
pub fn square(file: i32, rank: i32) -> Option<usize> {
    ((0..9).contains(&file) && (0..9).contains(&rank)).then_some((file * 9 + rank) as usize)
}

#[cfg(test)]
mod tests;
