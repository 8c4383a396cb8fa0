//! The rules by the crate `rsshogi`.

use std::fmt;

use rsshogi::board::{MoveList, Position, generate_sfen};
use rsshogi::movegen::generate_legal_all;
use rsshogi::types::{Color, HandPiece, Move as Theirs, Piece, PieceType, Square};

use warpplay_gpu::shogi::piece::{SQUARES, most_in_hand};

use super::list::unpromoted;
use super::{KING, Move, Rules};
use crate::{Error, Result};

/// A position, with the rules of the crate `rsshogi`.
#[derive(Clone)]
pub struct Board(Position);

/// Our kinds by the crate's kinds: P L N S B R G K +P +L +N +S +B +R from 1.
const KINDS: [u32; 15] = [u32::MAX, 0, 1, 2, 3, 5, 6, 4, KING, 7, 8, 9, 10, 11, 12];
/// The crate's kinds by our kinds in hand.
const HAND: [HandPiece; 7] = [
    HandPiece::PAWN,
    HandPiece::LANCE,
    HandPiece::KNIGHT,
    HandPiece::SILVER,
    HandPiece::GOLD,
    HandPiece::BISHOP,
    HandPiece::ROOK,
];

/// Maximum move number of a position that is read: the crate continues counting from it in 16 bits.
const LAST_NUMBER: u16 = 32_767;

impl Board {
    /// The usual start.
    pub fn start() -> Self {
        Self(rsshogi::board::hirate_position())
    }

    /// Reads a position in the form that USI passes to engines: `startpos` or a position in SFEN, then, after the word `moves`, the moves played from there. The words
    /// `position` and `sfen` may precede it.
    ///
    /// ```
    /// use warpplay::shogi::board::{Board, Rules};
    ///
    /// let board = Board::from_usi("position startpos moves 7g7f 3c3d")?;
    /// assert_eq!(board.sfen(), "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3");
    /// # Ok::<(), warpplay::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] for an invalid position, and for the first word that is not a legal move.
    pub fn from_usi(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut parts = words.splitn(2, |&word| word == "moves");
        let (start, moves) = (parts.next().unwrap_or(&[]), parts.next().unwrap_or(&[]));
        let mut board = match start.strip_prefix(&["position"]).unwrap_or(start) {
            ["startpos"] => Self::start(),
            ["sfen", sfen @ ..] | sfen => Self::from_sfen(&sfen.join(" "))?,
        };
        for &text in moves {
            if !board.play(text.parse()?) {
                return Err(Error::option("move", text, format!("a legal move of the position {}", board.sfen())));
            }
        }
        Ok(board)
    }

    /// Describes the first kind with more pieces than a set has, if any. Without such pieces a position has at most 593 legal moves, and the crate has room for 600.
    fn surplus(&self) -> Option<String> {
        let mut counts = [0; HAND.len()];
        let mut kings = [0; 2];
        for (kind, side) in (0..SQUARES).filter_map(|square| self.piece_on(square)) {
            match counts.get_mut(unpromoted(kind) as usize) {
                Some(count) => *count += 1,
                None => kings[side as usize & 1] += 1,
            }
        }
        if kings.into_iter().any(|kings| kings > 1) {
            return Some("a side has two kings".to_owned());
        }
        (0..).zip(counts).find_map(|(kind, on_board)| {
            let (n, most) = (on_board + self.in_hand(kind, 0) + self.in_hand(kind, 1), most_in_hand(kind));
            let name = ["pawns", "lances", "knights", "silvers", "golds", "bishops", "rooks"][kind as usize];
            (n > most).then(|| format!("it has {n} {name}, a set has {most}"))
        })
    }
}

/// Converts a move of the crate to ours; `None` for its special values.
pub(in crate::shogi) fn ours(theirs: Theirs) -> Option<Move> {
    let to = u32::try_from(theirs.to_sq().raw()).ok()?;
    if theirs.is_drop() {
        let kind = KINDS.get(usize::try_from(theirs.dropped_piece()?.raw()).ok()?)?;
        return Move::drop(*kind, to);
    }
    Move::board(u32::try_from(theirs.from_sq().raw()).ok()?, to, theirs.is_promotion())
}

fn square(square: u32) -> Square {
    Square::new(square as i8)
}

/// Converts our move to the crate's.
pub(in crate::shogi) fn theirs(ours: Move) -> Theirs {
    let to = square(ours.to());
    match (ours.from(), ours.dropped()) {
        (Some(from), _) if ours.promotes() => Theirs::promotion(square(from), to),
        (Some(from), _) => Theirs::normal(square(from), to),
        (None, kind) => {
            let kind =
                kind.and_then(|kind| HAND.get(kind as usize)).map_or(PieceType::PAWN, |kind| kind.to_piece_type());
            Theirs::drop(kind, to)
        }
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Board").field(&self.sfen()).finish()
    }
}

impl Rules for Board {
    fn from_sfen(sfen: &str) -> Result<Self> {
        let bad = |reason: String| Error::option("sfen", sfen, format!("a position in SFEN: {reason}"));
        let board = Self(Position::from_sfen(sfen).map_err(|error| bad(error.to_string()))?);
        if board.0.game_ply() > LAST_NUMBER {
            return Err(bad(format!("its move number is {}, at most {LAST_NUMBER} is allowed", board.0.game_ply())));
        }
        match board.surplus() {
            Some(reason) => Err(bad(reason)),
            None => Ok(board),
        }
    }

    fn sfen(&self) -> String {
        generate_sfen(&self.0)
    }

    fn side(&self) -> u32 {
        u32::from(self.0.turn() == Color::WHITE)
    }

    fn piece_on(&self, at: u32) -> Option<(u32, u32)> {
        if at >= SQUARES {
            return None;
        }
        let piece = self.0.piece_on(square(at));
        if piece == Piece::NONE {
            return None;
        }
        let kind = *KINDS.get(usize::try_from(piece.piece_type().raw()).ok()?)?;
        Some((kind, u32::from(piece.color() == Color::WHITE)))
    }

    fn in_hand(&self, kind: u32, side: u32) -> u32 {
        let color = if side == 0 { Color::BLACK } else { Color::WHITE };
        HAND.get(kind as usize).map_or(0, |&kind| self.0.hand(color).count(kind))
    }

    fn in_check(&self) -> bool {
        self.0.is_in_check()
    }

    fn takes_king(&self) -> bool {
        let (mover, other) = (self.0.turn(), self.0.turn().flip());
        let king = self.0.king_square(other);
        king.is_on_board() && self.0.is_attacked_by(king, mover)
    }

    fn legal_moves(&self, moves: &mut Vec<Move>) {
        let mut list = MoveList::new();
        generate_legal_all(&self.0, &mut list);
        moves.clear();
        moves.extend(list.iter().filter_map(|&found| ours(found)));
        moves.sort_unstable();
    }

    fn play(&mut self, played: Move) -> bool {
        let played = self.0.move32_from_move(theirs(played));
        self.0.try_apply_move32(played).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_as_engines_are_told_them() {
        let sfen = |text: &str| Board::from_usi(text).unwrap().sfen();
        let after = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2";
        let start = Board::start().sfen();
        for text in ["startpos", "position startpos", "startpos moves", &format!("sfen {start}"), &start] {
            assert_eq!(sfen(text), start, "{text}");
            let text = text.trim_end_matches(" moves");
            assert_eq!(sfen(&format!("{text} moves 7g7f")), after, "{text}");
        }
    }

    #[test]
    fn moves_that_cannot_be_played_are_named() {
        let error = |text: &str| Board::from_usi(text).unwrap_err().to_string();
        assert!(error("startpos moves 7g7f 7g7f").starts_with("option move: 7g7f is not allowed"));
        assert!(error("startpos moves 7g7").starts_with("option move: 7g7 is not allowed"));
        // The king stays in check, two pawns on a file, mate by a pawn that is dropped.
        assert!(error("4k4/9/9/9/9/9/4r4/9/4K4 b - 1 moves 5i5h").contains("5i5h"));
        assert!(error("4k4/9/9/9/9/9/4P4/9/4K4 b P 1 moves P*5e").contains("P*5e"));
        assert!(error("3rkr3/9/4P4/9/9/9/9/9/4K4 b GP 1 moves P*5b").contains("P*5b"));
        for text in ["", "moves 7g7f", "position", "nonsense"] {
            assert!(error(text).starts_with("option sfen"), "{text}");
        }
    }
}
