//! Which weights a position has, and with which sign.
//!
//! All sets but [`Set::MaterialHand`] begin with 13 values of material, a piece in hand at its full value, Black's pieces +1 and White's −1. The tables behind them are
//! looked up once from each side's perspective, Black's with +1 and White's with −1. From White's perspective the board is turned by half a circle and the
//! colours change their roles, in hand too. k is the square of the perspective's own king, o that of the other.
//!
//! | set | offset in the table |
//! | --- | --- |
//! | [`Set::PieceSquare`] | own pieces: `kind * 81 + square`, in hand 1053 + their number from 0 among the 38 of one side |
//! | [`Set::KingPiece`] | `m(k) * 2183 + m(number)` |
//! | [`Set::KingKingPiece`] | `(m(k) * 81 + m(o)) * 2183 + m(number)` |
//! | [`Set::KingPiecePiece`] | `m(k) * T + pair`, every pair of pieces once |
//!
//! m mirrors left and right where k stands on files 6 to 9, so that the own king has 45 squares. For pairs promoted pawns, lances, knights and silvers are golds: nine
//! kinds on the board, 77 + 18 · 81 = 1535 numbers, T = 1535 · 1536 / 2 pairs, the pair of u ≤ v is v (v + 1) / 2 + u.

/// A set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// 13 kinds.
    Material,
    /// 13 kinds on the board and 7 in hand.
    MaterialHand,
    /// Each kind on each square, and in hand each count.
    PieceSquare,
    /// Own king and a piece.
    KingPiece,
    /// Both kings and a piece.
    KingKingPiece,
    /// Own king and two pieces.
    KingPiecePiece,
}

/// Values of material before the table.
pub const MATERIAL: usize = 13;
/// Numbers of pieces.
pub const NUMBERS: usize = 2183;
/// First number on the board.
pub const BOARD: usize = 77;
/// Numbers of pieces, where pieces that move like a gold count as golds.
pub const LOWERED: usize = 1535;
/// Pairs of those.
pub const PAIRS: usize = LOWERED * (LOWERED + 1) / 2;
/// Squares of the own king, mirrored.
pub const KINGS: usize = 45;

impl Set {
    /// All sets.
    pub const ALL: [Self; 6] = [
        Self::Material,
        Self::MaterialHand,
        Self::PieceSquare,
        Self::KingPiece,
        Self::KingKingPiece,
        Self::KingPiecePiece,
    ];

    /// Number of weights.
    pub const fn n_weights(self) -> usize {
        match self {
            Self::Material => MATERIAL,
            Self::MaterialHand => MATERIAL + 7,
            Self::PieceSquare => MATERIAL + 13 * 81 + 38,
            Self::KingPiece => MATERIAL + KINGS * NUMBERS,
            Self::KingKingPiece => MATERIAL + KINGS * 81 * NUMBERS,
            Self::KingPiecePiece => MATERIAL + KINGS * PAIRS,
        }
    }
}

/// A piece: kind, side, and the square or, in hand, the number of pieces of its kind before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// 0 to 12: P L N S G B R +P +L +N +S +B +R.
    pub kind: usize,
    /// 0 Black, 1 White.
    pub side: usize,
    /// Where on the board.
    pub square: Option<usize>,
    /// In hand: the number of pieces of its kind before it.
    pub before: usize,
}

/// First number of each kind in hand, and how many pieces of the kind there are.
const IN_HAND: [(usize, usize); 7] = [(1, 18), (37, 4), (45, 4), (53, 4), (61, 4), (69, 2), (73, 2)];

/// First offset in hand of each kind for the pieces of one side.
const IN_OWN_HAND: [usize; 7] = [0, 18, 22, 26, 30, 34, 36];

/// The piece with a number; `None` for 0.
///
/// # Panics
/// For a number that no piece has.
pub fn piece(number: u16) -> Option<Piece> {
    let number = usize::from(number);
    assert!(number < NUMBERS, "there is no piece {number}");
    if number == 0 {
        return None;
    }
    if number >= BOARD {
        let of_board = number - BOARD;
        let (code, square) = (of_board / 81, of_board % 81);
        return Some(Piece { kind: code / 2, side: code % 2, square: Some(square), before: 0 });
    }
    let kind = (0..7).rev().find(|&kind| number >= IN_HAND[kind].0)?;
    let (first, most) = IN_HAND[kind];
    Some(Piece { kind, side: (number - first) / most, square: None, before: (number - first) % most })
}

/// The number of a piece.
pub fn number(piece: &Piece) -> u16 {
    let number = match piece.square {
        Some(square) => BOARD + (piece.kind * 2 + piece.side) * 81 + square,
        None => {
            let (first, most) = IN_HAND[piece.kind];
            first + piece.side * most + piece.before
        }
    };
    number as u16
}

/// The view of the board from a side, mirrored or not.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// 0 Black's, 1 White's.
    pub side: usize,
    /// Left and right exchanged.
    pub mirrored: bool,
}

impl View {
    /// The view of a side whose king is on `king` (from Black's view).
    pub fn of(side: usize, king: usize) -> Self {
        let own = if side == 0 { king } else { 80 - king };
        Self { side, mirrored: own / 9 > 4 }
    }

    /// A square.
    pub fn square(self, square: usize) -> usize {
        let seen = if self.side == 0 { square } else { 80 - square };
        if self.mirrored { (8 - seen / 9) * 9 + seen % 9 } else { seen }
    }

    /// A piece.
    pub fn piece(self, piece: &Piece) -> Piece {
        Piece { side: piece.side ^ self.side, square: piece.square.map(|square| self.square(square)), ..*piece }
    }
}

/// The number of a piece for pairs, where pieces that move like a gold count as golds.
pub fn lowered(piece: &Piece) -> usize {
    let kind = match piece.kind {
        7..=10 => 4,
        11 => 7,
        12 => 8,
        kind => kind,
    };
    match piece.square {
        Some(square) => BOARD + (kind * 2 + piece.side) * 81 + square,
        None => usize::from(number(piece)),
    }
}

/// The offset of a pair.
pub fn pair(u: usize, v: usize) -> usize {
    let (low, high) = (u.min(v), u.max(v));
    high * (high + 1) / 2 + low
}

/// Visits the weights of all features that a single piece has, with their signs: everything but pairs. `kings` are Black's and White's squares.
pub fn each_of_piece(set: Set, kings: [usize; 2], piece: &Piece, mut visit: impl FnMut(usize, i32)) {
    let owner = if piece.side == 0 { 1 } else { -1 };
    let in_hand = set == Set::MaterialHand && piece.square.is_none();
    visit(if in_hand { MATERIAL + piece.kind } else { piece.kind }, owner);
    match set {
        Set::Material | Set::MaterialHand | Set::KingPiecePiece => {}
        Set::PieceSquare => {
            let view = View { side: piece.side, mirrored: false };
            let offset = match piece.square {
                Some(square) => piece.kind * 81 + view.square(square),
                None => 13 * 81 + IN_OWN_HAND[piece.kind] + piece.before,
            };
            visit(MATERIAL + offset, owner);
        }
        Set::KingPiece | Set::KingKingPiece => {
            for (side, sign) in [(0, 1), (1, -1)] {
                let view = View::of(side, kings[side]);
                let mut row = view.square(kings[side]);
                if set == Set::KingKingPiece {
                    row = row * 81 + view.square(kings[1 - side]);
                }
                visit(MATERIAL + row * NUMBERS + usize::from(number(&view.piece(piece))), sign);
            }
        }
    }
}

/// Visits the weights of all features of a position with their signs, each weight as often as it counts.
///
/// # Panics
/// If the list is not a position's.
pub fn each(set: Set, list: &[u16; 40], mut visit: impl FnMut(usize, i32)) {
    let kings = [usize::from(list[38]), usize::from(list[39])];
    let pieces: Vec<Piece> = list[..38].iter().filter_map(|&number| piece(number)).collect();
    for piece in &pieces {
        each_of_piece(set, kings, piece, &mut visit);
    }
    if set == Set::KingPiecePiece {
        for (side, sign) in [(0, 1), (1, -1)] {
            let view = View::of(side, kings[side]);
            let row = MATERIAL + view.square(kings[side]) * PAIRS;
            let seen: Vec<usize> = pieces.iter().map(|piece| lowered(&view.piece(piece))).collect();
            for (later, &v) in seen.iter().enumerate() {
                for &u in &seen[..later] {
                    visit(row + pair(u, v), sign);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_pieces_are_one_to_one() {
        assert_eq!(piece(0), None);
        for of_piece in 1..NUMBERS as u16 {
            let piece = piece(of_piece).unwrap();
            assert_eq!(number(&piece), of_piece);
            if piece.square.is_none() {
                assert!(piece.before < IN_HAND[piece.kind].1 && piece.side < 2, "{piece:?}");
            }
        }
    }

    #[test]
    fn sets_have_as_many_weights_as_they_should() {
        let counts = Set::ALL.map(Set::n_weights);
        assert_eq!(counts, [13, 20, 1104, 98_248, 7_957_048, 53_049_613]);
    }

    #[test]
    fn the_last_features_lie_inside() {
        let king = 44;
        for set in Set::ALL {
            let mut list = [0; 40];
            (list[38], list[39]) = (king, 80 - king);
            (list[0], list[1]) = (NUMBERS as u16 - 1, NUMBERS as u16 - 1 - 81);
            let mut last = 0;
            each(set, &list, |index, _| last = last.max(index));
            assert!(last < set.n_weights(), "{set:?}");
        }
        assert_eq!(pair(LOWERED - 1, LOWERED - 1), PAIRS - 1);
        let mut offsets: Vec<usize> = (0..60).flat_map(|v| (0..=v).map(move |u| pair(v, u))).collect();
        offsets.sort_unstable();
        assert_eq!(offsets, (0..60 * 61 / 2).collect::<Vec<_>>());
    }

    #[test]
    fn kings_have_45_squares() {
        for side in 0..2 {
            for king in 0..81 {
                let view = View::of(side, king);
                assert!(view.square(king) < KINGS);
                // Turning and mirroring are undone by themselves.
                let back = View { side, mirrored: view.mirrored };
                assert_eq!(back.square(view.square(king)), king);
            }
        }
        // Black's king on 2h and White's on 8b look the same from their owners' sides; 8h is 2h mirrored.
        let at = |file: usize, rank: usize| (file - 1) * 9 + rank - 1;
        assert_eq!(View::of(0, at(2, 8)).square(at(2, 8)), View::of(1, at(8, 2)).square(at(8, 2)));
        assert_eq!(View::of(0, at(2, 8)).square(at(2, 8)), View::of(0, at(8, 8)).square(at(8, 8)));
    }
}
