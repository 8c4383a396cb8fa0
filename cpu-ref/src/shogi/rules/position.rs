//! Boards, hands, and their notation.

use super::{KING, square};
use crate::shogi::sparse::features::{Piece, number};

/// The usual start.
pub const START: &str = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";

/// Letters of the kinds, unpromoted.
const LETTERS: [char; 8] = ['P', 'L', 'N', 'S', 'G', 'B', 'R', 'K'];

/// A position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Codes of the squares `(file - 1) * 9 + (rank - 1)`: 0 empty, 1 to 14 Black's P L N S G B R +P +L +N +S +B +R K, 15 to 28 White's.
    pub board: [u8; 81],
    /// Numbers of P L N S G B R that Black and White have in hand.
    pub hands: [[u8; 7]; 2],
    /// The side to move: 0 Black, 1 White.
    pub side: usize,
    /// Half-moves made before.
    pub ply: u32,
}

/// The code of a piece.
pub const fn code(kind: usize, side: usize) -> u8 {
    (1 + kind + 14 * side) as u8
}

/// Kind and side of a code; `None` for an empty square.
pub const fn kind_and_side(code: u8) -> Option<(usize, usize)> {
    if code == 0 { None } else { Some(((code as usize - 1) % 14, (code as usize - 1) / 14)) }
}

/// The kind unpromoted.
pub const fn unpromoted(kind: usize) -> usize {
    match kind {
        7..=10 => kind - 7,
        11 | 12 => kind - 6,
        kind => kind,
    }
}

/// The kind promoted, if it can be.
pub const fn promoted(kind: usize) -> Option<usize> {
    match kind {
        0..=3 => Some(kind + 7),
        5 | 6 => Some(kind + 6),
        _ => None,
    }
}

/// A letter's kind (7 the king) and side.
fn letter(letter: char) -> Option<(usize, usize)> {
    let kind = LETTERS.iter().position(|&upper| upper == letter.to_ascii_uppercase())?;
    Some((kind, usize::from(letter.is_ascii_lowercase())))
}

impl Position {
    /// The usual start.
    pub fn start() -> Self {
        let mut position = Self { board: [0; 81], hands: [[0; 7]; 2], side: 0, ply: 0 };
        for (file, &kind) in [1, 2, 3, 4, KING, 4, 3, 2, 1].iter().enumerate() {
            for (side, rank) in [(0, 8), (1, 0)] {
                position.board[file * 9 + rank] = code(kind, side);
            }
            for (side, rank) in [(0, 6), (1, 2)] {
                position.board[file * 9 + rank] = code(0, side);
            }
        }
        for (kind, file, rank, side) in [(6, 1, 7, 0), (5, 7, 7, 0), (6, 7, 1, 1), (5, 1, 1, 1)] {
            position.board[file * 9 + rank] = code(kind, side);
        }
        position
    }

    /// Reads a position in SFEN: board, side, hands, and optionally the number of the next move.
    ///
    /// # Errors
    /// A description of the error.
    pub fn from_sfen(sfen: &str) -> Result<Self, String> {
        let mut fields = sfen.split_whitespace();
        let (Some(board), Some(side), Some(hands)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(format!("{sfen:?} has no three fields"));
        };
        let side = match side {
            "b" => 0,
            "w" => 1,
            _ => return Err(format!("the side {side:?} is not b or w")),
        };
        let ply = match fields.next().map(str::parse::<u32>) {
            None => 0,
            Some(Ok(next)) => next.saturating_sub(1),
            Some(Err(_)) => return Err(format!("{sfen:?} ends in no number")),
        };
        let mut position = Self { board: [0; 81], hands: [[0; 7]; 2], side, ply };
        position.read_board(board)?;
        position.read_hands(hands)?;
        Ok(position)
    }

    fn read_board(&mut self, text: &str) -> Result<(), String> {
        let ranks: Vec<&str> = text.split('/').collect();
        if ranks.len() != 9 {
            return Err(format!("the board has {} ranks, not 9", ranks.len()));
        }
        for (rank, text) in (0..9).zip(ranks) {
            let (mut file, mut promote) = (8, false);
            for symbol in text.chars() {
                if let Some(empty) = symbol.to_digit(10) {
                    file -= empty as i32;
                } else if symbol == '+' {
                    promote = true;
                } else {
                    let (kind, side) = letter(symbol).ok_or_else(|| format!("{symbol:?} is no piece"))?;
                    let at = square(file, rank).ok_or_else(|| format!("the rank {text:?} is too long"))?;
                    let kind = match (kind, promote) {
                        (7, false) => KING,
                        (kind, false) => kind,
                        (kind, true) => promoted(kind).ok_or_else(|| format!("{symbol:?} has no other side"))?,
                    };
                    self.board[at] = code(kind, side);
                    (file, promote) = (file - 1, false);
                }
            }
            if file != -1 || promote {
                return Err(format!("the rank {text:?} has not 9 squares"));
            }
        }
        Ok(())
    }

    fn read_hands(&mut self, text: &str) -> Result<(), String> {
        let mut count = String::new();
        for symbol in text.chars().filter(|_| text != "-") {
            if symbol.is_ascii_digit() {
                count.push(symbol);
                continue;
            }
            let n = if count.is_empty() { Ok(1) } else { count.parse() };
            match (letter(symbol), n) {
                (Some((kind @ 0..7, side)), Ok(n @ 1..=18)) => self.hands[side][kind] = n,
                _ => return Err(format!("the hands {text:?} stop making sense at {symbol:?}")),
            }
            count.clear();
        }
        Ok(())
    }

    /// The square of a side's king.
    pub fn king(&self, side: usize) -> Option<usize> {
        self.board.iter().position(|&on| on == code(KING, side))
    }

    /// 81 codes, 14 counts and a padding byte, the form that [`material`](crate::shogi::material) evaluates.
    pub fn bytes(&self) -> [u8; 96] {
        let mut bytes = [0; 96];
        bytes[..81].copy_from_slice(&self.board);
        bytes[81..88].copy_from_slice(&self.hands[0]);
        bytes[88..95].copy_from_slice(&self.hands[1]);
        bytes
    }

    /// The list of [`sparse`](crate::shogi::sparse): pieces in the order of the squares, then the hands; kings that are missing are on square 0.
    ///
    /// # Panics
    /// With more than 38 pieces.
    pub fn list(&self) -> [u16; 40] {
        let (mut list, mut n) = ([0; 40], 0);
        let mut push = |piece: Piece| {
            assert!(n < 38, "more than 38 pieces");
            list[n] = number(&piece);
            n += 1;
        };
        for (square, &code) in self.board.iter().enumerate() {
            if let Some((kind, side)) = kind_and_side(code).filter(|&(kind, _)| kind != KING) {
                push(Piece { kind, side, square: Some(square), before: 0 });
            }
        }
        for side in 0..2 {
            for kind in 0..7 {
                for before in 0..usize::from(self.hands[side][kind]) {
                    push(Piece { kind, side, square: None, before });
                }
            }
        }
        for side in 0..2 {
            list[38 + side] = self.king(side).unwrap_or(0) as u16;
        }
        list
    }
}
