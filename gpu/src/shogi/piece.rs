//! Numbers of pieces: which piece, of which side, where.
//!
//! A position has 40 slots in a list: 38 for pieces, in no particular order, and two for the kings. A piece keeps its slot when it moves. The number of a piece:
//!
//! | numbers | what |
//! | --- | --- |
//! | 0 | no piece (games at odds have fewer than 38) |
//! | 1 to 76 | in hand: for pawn (18), lance, knight, silver, gold (4 each), bishop, rook (2 each), Black's first, second, … of the kind, then White's |
//! | 77 to 2182 | on the board: `77 + (kind * 2 + side) * 81 + square` with the 13 kinds of `kind`, side 0 Black, 1 White |
//!
//! A side with `n` pawns in hand has its pawn numbers 1 to `n`, so that what is in hand counts piece by piece. Squares are numbered down the files from the right as
//! Black sees the board: `(file - 1) * 9 + (rank - 1)`. The kings' slots, [`BLACK_KING`] and [`WHITE_KING`], hold their squares alone.

/// Slots of a position's list.
pub const SLOTS: u32 = 40;
/// Slots for pieces other than kings.
pub const PIECES: u32 = 38;
/// Slot of Black's king: its square.
pub const BLACK_KING: u32 = 38;
/// Slot of White's king: its square.
pub const WHITE_KING: u32 = 39;
/// Squares of the board.
pub const SQUARES: u32 = 81;
/// First number of a piece on the board.
pub const BOARD: u32 = 77;
/// Numbers of pieces, the 0 for none included.
pub const NUMBERS: u32 = BOARD + 13 * 2 * SQUARES;
/// Kinds in hand: pawn, lance, knight, silver, gold, bishop, rook.
pub const HAND_KINDS: u32 = 7;

/// Most pieces of a kind in hand, the first seven kinds.
pub const fn most_in_hand(kind: u32) -> u32 {
    match kind {
        0 => 18,
        1..=4 => 4,
        _ => 2,
    }
}

/// Number of the `n`-th piece (from 0) of `kind` (pawn, lance, knight, silver, gold, bishop, rook) in `side`'s hand.
pub const fn in_hand(kind: u32, side: u32, n: u32) -> u32 {
    let first = match kind {
        0 => 1,
        1..=4 => 37 + 8 * (kind - 1),
        _ => 69 + 4 * (kind - 5),
    };
    first + side * most_in_hand(kind) + n
}

/// Number of a piece of `kind` (0 to 12: P L N S G B R +P +L +N +S +B +R) and `side` on a square.
pub const fn on_board(kind: u32, side: u32, square: u32) -> u32 {
    BOARD + (kind * 2 + side) * SQUARES + square
}

/// Where a number stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// On a square.
    Board(u32),
    /// In hand, with how many of the kind before it.
    Hand(u32),
}

/// Kind, side and location of a number; `None` for 0 and beyond the last.
pub const fn parts(number: u32) -> Option<(u32, u32, Location)> {
    if number == 0 || number >= NUMBERS {
        None
    } else if number >= BOARD {
        let rest = number - BOARD;
        Some((rest / SQUARES / 2, rest / SQUARES % 2, Location::Board(rest % SQUARES)))
    } else {
        let (kind, rest) = if number < 37 {
            (0, number - 1)
        } else if number < 69 {
            (1 + (number - 37) / 8, (number - 37) % 8)
        } else {
            (5 + (number - 69) / 4, (number - 69) % 4)
        };
        Some((kind, rest / most_in_hand(kind), Location::Hand(rest % most_in_hand(kind))))
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_all_different() {
        let mut next = 1;
        for kind in 0..HAND_KINDS {
            for side in 0..2 {
                for n in 0..most_in_hand(kind) {
                    assert_eq!(in_hand(kind, side, n), next);
                    assert_eq!(parts(next), Some((kind, side, Location::Hand(n))));
                    next += 1;
                }
            }
        }
        assert_eq!(next, BOARD);
        for kind in 0..13 {
            for side in 0..2 {
                for square in 0..SQUARES {
                    assert_eq!(on_board(kind, side, square), next);
                    assert_eq!(parts(next), Some((kind, side, Location::Board(square))));
                    next += 1;
                }
            }
        }
        assert_eq!((next, NUMBERS), (NUMBERS, 2183));
        assert!(parts(0).is_none() && parts(NUMBERS).is_none());
    }
}
