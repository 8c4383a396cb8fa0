//! Moves.

use std::fmt;
use std::str::FromStr;

use warpplay_gpu::shogi::piece::{HAND_KINDS, SQUARES};

/// Letters of the kinds in hand.
const LETTERS: &[u8; HAND_KINDS as usize] = b"PLNSGBR";

/// A move as in USI: from a square or the hand to a square, with or without promotion.
///
/// Moves are ordered by origin (squares, then drops in the order P L N S G B R), then by target, then without promotion before with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move(u16);

impl Move {
    /// A move of the piece on `from` (0 to 80) to `to`; `None` beyond the board, and if `from` equals `to`.
    pub const fn board(from: u32, to: u32, promotes: bool) -> Option<Self> {
        if from < SQUARES && to < SQUARES && from != to {
            Some(Self((from << 8 | to << 1 | promotes as u32) as u16))
        } else {
            None
        }
    }

    /// A drop of a kind (0 to 6: P L N S G B R); `None` for other kinds and beyond the board.
    pub const fn drop(kind: u32, to: u32) -> Option<Self> {
        if kind < HAND_KINDS && to < SQUARES { Some(Self(((SQUARES + kind) << 8 | to << 1) as u16)) } else { None }
    }

    /// The square the piece comes from; `None` for a drop.
    pub const fn from(self) -> Option<u32> {
        let from = (self.0 >> 8) as u32;
        if from < SQUARES { Some(from) } else { None }
    }

    /// The kind that is dropped.
    pub const fn dropped(self) -> Option<u32> {
        ((self.0 >> 8) as u32).checked_sub(SQUARES)
    }

    /// The square it goes to.
    pub const fn to(self) -> u32 {
        (self.0 >> 1 & 127) as u32
    }

    /// Whether the piece promotes.
    pub const fn promotes(self) -> bool {
        self.0 & 1 == 1
    }

    /// The move as a number: origin, target and promotion in bits 8 to 15, 1 to 7 and 0.
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Move {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let square = |square: u32| (char::from(b'1' + (square / 9) as u8), char::from(b'a' + (square % 9) as u8));
        let (file, rank) = square(self.to());
        if let Some(kind) = self.dropped() {
            return write!(formatter, "{}*{file}{rank}", char::from(LETTERS[kind as usize]));
        }
        let (from_file, from_rank) = square((self.0 >> 8).into());
        write!(formatter, "{from_file}{from_rank}{file}{rank}{}", if self.promotes() { "+" } else { "" })
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Move {
    type Err = crate::Error;

    /// Reads USI: `7g7f`, `8h2b+`, `P*5e`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text.as_bytes())
            .ok_or_else(|| crate::Error::option("move", text, "a move in USI, such as 7g7f, 8h2b+ or P*5e"))
    }
}

fn read(text: &[u8]) -> Option<Move> {
    let square = |file: u8, rank: u8| {
        let (file, rank) = (file.wrapping_sub(b'1'), rank.wrapping_sub(b'a'));
        (file < 9 && rank < 9).then(|| u32::from(file) * 9 + u32::from(rank))
    };
    match *text {
        [letter, b'*', file, rank] => {
            let kind = LETTERS.iter().position(|&known| known == letter)?;
            Move::drop(kind as u32, square(file, rank)?)
        }
        [from_file, from_rank, file, rank] => Move::board(square(from_file, from_rank)?, square(file, rank)?, false),
        [from_file, from_rank, file, rank, b'+'] => {
            Move::board(square(from_file, from_rank)?, square(file, rank)?, true)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_written_as_they_are_read() {
        for text in ["7g7f", "8h2b+", "P*5e", "R*9i", "1a9i", "9i1a+", "G*1a"] {
            assert_eq!(text.parse::<Move>().map(|played| played.to_string()).ok().as_deref(), Some(text));
        }
        for text in ["", "7g", "7g7", "7g7f-", "0a1a", "7j7f", "K*5e", "p*5e", "5e5e", "7g7f++", "七六歩"] {
            assert!(text.parse::<Move>().is_err(), "{text}");
        }
    }

    #[test]
    fn order_is_origin_then_target() {
        let moves = ["1a1b", "1a1b+", "1a1c", "1b1a", "9i9h", "P*1a", "P*9i", "L*1a", "R*9i"];
        let moves: Vec<Move> = moves.iter().filter_map(|text| text.parse().ok()).collect();
        assert_eq!(moves.len(), 9);
        assert!(moves.is_sorted());
    }
}
