//! The rules of shogi, as far as learning needs them: legal moves, positions in SFEN, and positions as lists of pieces.
//!
//! Learning needs every legal move of every position of a game, and what each move changes. [`Rules`] is what the rest of the family asks of a position, so that the crate
//! behind it can be changed in one file; [`Board`] implements it. [`List`] holds the same pieces as the numbers that data sets and kernels use.
//!
//! ```
//! use warpplay::shogi::board::{Board, List, Move, Rules};
//!
//! let mut board = Board::start();
//! let mut moves = Vec::new();
//! board.legal_moves(&mut moves);
//! assert_eq!(moves.len(), 30);
//!
//! let push: Move = "7g7f".parse()?;
//! let list = List::new(&board)?;
//! let change = list.change(board.side(), push).expect("a pawn stands there");
//! assert!(board.play(push) && !board.play(push)); // White is to move now
//! assert_eq!(change.words().len(), 1); // one piece has moved
//! assert_eq!(board.sfen(), "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Rules`] | a position that knows the rules: the trait |
//! | [`Board`] | the implementation, by the crate `rsshogi` |
//! | [`Move`] | a move, as USI writes it |
//! | [`List`], [`Change`] | a position as 40 numbers, and what a move changes in them |
//! | [`check_moves`], [`MovesReport`], [`Disagreement`] | the rules compared with files of positions and their legal moves |
//! | [`expect_sound`] | refuses positions that no game comes to |
//!
//! # Data layout
//!
//! ```text
//! square   (file - 1) · 9 + (rank - 1), 0 to 80: 1a is 0, 9i is 80
//! kind     0 to 12: P L N S G B R +P +L +N +S +B +R; KING is 13
//! side     0 Black, 1 White
//! list     40 slots of u16: 38 pieces in no order, then the squares of Black's and White's king; numbers as in warpplay_gpu::shogi::piece
//! change   u32, slot << 16 | new number
//! ```

mod check;
mod list;
mod moves;
mod rules;

pub use check::{Disagreement, MovesReport, check_moves};
pub(in crate::shogi) use list::promoted;
pub use list::{Change, List};
pub use moves::Move;
pub use rules::Board;
pub(in crate::shogi) use rules::ours;

use crate::Result;

/// The usual start position.
pub const START: &str = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";

/// The king, as a kind; the other kinds are those of [`warpplay_gpu::shogi::piece`].
pub const KING: u32 = 13;

/// The reason why no game can continue from a position: the side that has just moved is in check. A king may be missing, and pawns may stand on impossible squares, as in
/// problems.
pub(in crate::shogi) fn unsound(position: &impl Rules) -> Option<&'static str> {
    position.takes_king().then_some("the side that has just moved is in check")
}

/// Refuses a position from which no game can continue: the side that has just moved is in check. A king may be missing, and pawns may stand on impossible squares, as in problems.
///
/// # Errors
/// [`Error::Option`](crate::Error::Option) with the position and the reason.
pub fn expect_sound(position: &impl Rules) -> Result<()> {
    match unsound(position) {
        Some(reason) => {
            Err(crate::Error::option("sfen", position.sfen(), format!("not a position of a game: {reason}")))
        }
        None => Ok(()),
    }
}

/// A position that knows the rules.
pub trait Rules: Sized + Clone {
    /// Reads a position in SFEN.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option) with what is wrong.
    fn from_sfen(sfen: &str) -> Result<Self>;

    /// The position in SFEN.
    fn sfen(&self) -> String;

    /// The side to move: 0 Black, 1 White.
    fn side(&self) -> u32;

    /// Kind and side of the piece on a square, numbered as in [`warpplay_gpu::shogi::piece`]; `None` also beyond the board.
    fn piece_on(&self, square: u32) -> Option<(u32, u32)>;

    /// Pieces of a kind (0 to 6) in a side's hand.
    fn in_hand(&self, kind: u32, side: u32) -> u32;

    /// Whether the side to move is in check.
    fn in_check(&self) -> bool;

    /// Whether the side to move could capture the other's king at once, which no game reaches.
    fn takes_king(&self) -> bool;

    /// Replaces the vector's content by all legal moves, ascending ([`Move`]'s order). They include drops and moves that could promote but do not; excluded are a second
    /// pawn on a file, mate by a pawn drop, and moves that leave the own king in check. Repetition is ignored.
    fn legal_moves(&self, moves: &mut Vec<Move>);

    /// Plays a move; returns `false` without a change if it is not legal.
    fn play(&mut self, played: Move) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_pieces_than_a_set_has_are_refused() {
        for (sfen, said) in [
            ("4k4/9/9/9/9/9/9/9/K3K4 b - 1", "a side has two kings"),
            // More moves than the crate has room for.
            ("+R3k4/1+R7/2+R6/3+R5/4+R4/5+R3/6+R2/7+R1/4K3+R b RBGSNLP 1", "it has 10 rooks, a set has 2"),
            ("4k4/9/9/9/9/9/9/9/4K4 b 12P7p 1", "it has 19 pawns, a set has 18"),
            ("4k4/9/9/9/9/9/9/9/4K4 b - 40000", "its move number is 40000, at most 32767 is allowed"),
        ] {
            let error = Board::from_sfen(sfen).err().unwrap().to_string();
            assert!(error.contains(said), "{error}");
        }
        let mut moves = Vec::new();
        Board::from_sfen("R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1").unwrap().legal_moves(&mut moves);
        assert_eq!(moves.len(), 593);
    }
}
