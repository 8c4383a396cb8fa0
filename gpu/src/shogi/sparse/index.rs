//! Which parameters a position counts: the one file where the tables of all sets of features are laid out.
//! On the host `warpplay::shogi::Evaluator` and the CPU engine use these functions too.   Twin  `warpplay_cpu_ref::shogi::sparse`, file `features.rs`.
//!
//! A set is evaluated from both sides. From a side's perspective colours are swapped and squares turned for White, so that the side plays upwards; where a set knows
//! the side's own king, everything is mirrored so that this king stands on the files 1 to 5. What Black's perspective counts is added, what White's counts subtracted.
//!
//! | set | values | table of a perspective |
//! | --- | --- | --- |
//! | `Material` | 13 kinds | none |
//! | `MaterialHand` | 13 kinds on the board, 7 in hand | none |
//! | `PieceSquare` | 13 | own pieces: `kind * 81 + square`, then the 38 slots in hand |
//! | `KingPiece` | 13 | `[own king 45][number 2183]` |
//! | `KingKingPiece` | 13 | `[own king 45][other king 81][number 2183]` |
//! | `KingPiecePiece` | 13 | `[own king 45][pair of lowered numbers]`, the pair `tri(a, b)` of 1,535 |
//!
//! Lowering: promoted pawns, lances, knights and silvers count as golds, which they move like; numbers in hand stay, those on the board become
//! `77 + (kind9 * 2 + side) * 81 + square` with the kinds P L N S G B R +B +R.

use crate::shogi::piece::{BOARD, NUMBERS, SQUARES};

/// Kinds with a value of their own in every set; the table of a set comes after their values.
pub const VALUES: u32 = 13;
/// Values of `MaterialHand`.
pub const HAND_VALUES: u32 = 20;
/// Squares of an own king, mirrored.
pub const KINGS: u32 = 45;
/// Numbers of pieces after lowering.
pub const LOWERED: u32 = BOARD + 9 * 2 * SQUARES;
/// Pairs of lowered numbers, equal ones included.
pub const PAIRS: u32 = LOWERED * (LOWERED + 1) / 2;
/// Offsets of a piece for its owner: squares of each kind, then in hand.
pub const OWN_OFFSETS: u32 = 13 * SQUARES + 38;
/// No row: this perspective counts nothing for the piece.
pub const NONE: u32 = u32::MAX;

/// What the evaluation of a set is made of.
pub trait Set {
    /// Parameters.
    const LEN: u64;
    /// Whether the table holds pairs of pieces.
    const OF_PAIRS: bool;
    /// Whether a perspective looks at its own king, and at the other side's.
    const OWN_KING: bool;
    /// See `OWN_KING`.
    const OTHER_KING: bool;
    /// Which value counts for a piece.
    fn value(number: u32) -> u32;
    /// Where the rows of a perspective begin, for the kings as [`view_square`] gives them.
    fn base(own: u32, other: u32) -> u64;
    /// Row of a piece in a perspective (0 Black's, 1 White's), [`NONE`] where it has none.
    fn row(number: u32, perspective: u32, mirrored: bool) -> u32;
}

/// A square turned so that the perspective's side plays upwards.
#[device_inline]
pub const fn turned(square: u32, perspective: u32) -> u32 {
    if perspective == 0 { square } else { SQUARES - 1 - square }
}

/// A square mirrored from left to right.
#[device_inline]
pub const fn mirror(square: u32) -> u32 {
    (8 - square / 9) * 9 + square % 9
}

/// A square as a perspective sees it.
#[device_inline]
pub const fn view_square(square: u32, perspective: u32, mirrored: bool) -> u32 {
    let square = turned(square, perspective);
    if mirrored { mirror(square) } else { square }
}

/// Whether a perspective with its own king there is mirrored.
#[device_inline]
pub const fn is_mirrored(own_king: u32, perspective: u32) -> bool {
    turned(own_king, perspective) / 9 > 4
}

/// First number of a kind in hand, how many a side may have, and the kind.
#[device_inline]
const fn group(number: u32) -> (u32, u32, u32) {
    if number < 37 {
        (1, 18, 0)
    } else if number < 69 {
        let kind = (number - 37) / 8;
        (37 + 8 * kind, 4, 1 + kind)
    } else {
        let kind = (number - 69) / 4;
        (69 + 4 * kind, 2, 5 + kind)
    }
}

/// A number as a perspective sees it; 0 stays 0.
#[device_inline]
pub const fn view(number: u32, perspective: u32, mirrored: bool) -> u32 {
    if number >= BOARD {
        let rest = number - BOARD;
        let (plane, square) = (rest / SQUARES, rest % SQUARES);
        BOARD + (plane ^ perspective) * SQUARES + view_square(square, perspective, mirrored)
    } else if number == 0 || perspective == 0 {
        number
    } else {
        let (first, most, _) = group(number);
        if number - first < most { number + most } else { number - most }
    }
}

/// A number lowered.
#[device_inline]
pub const fn lowered(number: u32) -> u32 {
    if number < BOARD {
        return number;
    }
    let rest = number - BOARD;
    let (plane, square) = (rest / SQUARES, rest % SQUARES);
    let kind = match plane / 2 {
        kind @ 0..=6 => kind,
        7..=10 => 4,
        kind => kind - 4,
    };
    BOARD + (kind * 2 + plane % 2) * SQUARES + square
}

/// Kind (0 to 12) of a number that is not 0, and its side.
#[device_inline]
pub const fn kind_and_side(number: u32) -> (u32, u32) {
    if number >= BOARD {
        let plane = (number - BOARD) / SQUARES;
        (plane / 2, plane % 2)
    } else {
        let (first, most, kind) = group(number);
        (kind, (number - first) / most)
    }
}

/// Offset of a pair in the table of a king.
#[device_inline]
pub const fn tri(a: u32, b: u32) -> u32 {
    let (least, most) = if a < b { (a, b) } else { (b, a) };
    most * (most + 1) / 2 + least
}

/// Offset of an own piece in the table of `PieceSquare`; [`NONE`] for the other side's.
#[device_inline]
const fn own_offset(number: u32, perspective: u32) -> u32 {
    let (kind, side) = kind_and_side(number);
    if side != perspective {
        NONE
    } else if number >= BOARD {
        kind * SQUARES + turned((number - BOARD) % SQUARES, perspective)
    } else {
        let (first, most, _) = group(number);
        // The offsets of the kinds before: half of their numbers.
        13 * SQUARES + (first - 1) / 2 + (number - first) % most
    }
}

/// The sets' types, one each: [`Set`].
pub mod sets {
    use super::*;

    /// 13 values.
    pub struct Material;
    /// 13 values on the board, 7 in hand.
    pub struct MaterialHand;
    /// Each kind on each square.
    pub struct PieceSquare;
    /// Own king and a piece.
    pub struct KingPiece;
    /// Both kings and a piece.
    pub struct KingKingPiece;
    /// Own king and two pieces.
    pub struct KingPiecePiece;

    impl Set for Material {
        const LEN: u64 = VALUES as u64;
        const OF_PAIRS: bool = false;
        const OWN_KING: bool = false;
        const OTHER_KING: bool = false;
        #[device_inline]
        fn value(number: u32) -> u32 {
            kind_and_side(number).0
        }
        #[device_inline]
        fn base(_: u32, _: u32) -> u64 {
            0
        }
        #[device_inline]
        fn row(_: u32, _: u32, _: bool) -> u32 {
            NONE
        }
    }

    impl Set for MaterialHand {
        const LEN: u64 = HAND_VALUES as u64;
        const OF_PAIRS: bool = false;
        const OWN_KING: bool = false;
        const OTHER_KING: bool = false;
        #[device_inline]
        fn value(number: u32) -> u32 {
            let kind = kind_and_side(number).0;
            if number < BOARD { VALUES + kind } else { kind }
        }
        #[device_inline]
        fn base(_: u32, _: u32) -> u64 {
            0
        }
        #[device_inline]
        fn row(_: u32, _: u32, _: bool) -> u32 {
            NONE
        }
    }

    macro_rules! with_table {
        ($name:ident, $rows:expr, $pairs:literal, $own:literal, $other:literal, $base:expr, $row:expr) => {
            impl Set for $name {
                const LEN: u64 = VALUES as u64 + $rows;
                const OF_PAIRS: bool = $pairs;
                const OWN_KING: bool = $own;
                const OTHER_KING: bool = $other;
                #[device_inline]
                fn value(number: u32) -> u32 {
                    kind_and_side(number).0
                }
                #[device_inline]
                fn base(own: u32, other: u32) -> u64 {
                    let base: fn(u64, u64) -> u64 = $base;
                    VALUES as u64 + base(own as u64, other as u64)
                }
                #[device_inline]
                fn row(number: u32, perspective: u32, mirrored: bool) -> u32 {
                    let row: fn(u32, u32, bool) -> u32 = $row;
                    if number == 0 { NONE } else { row(number, perspective, mirrored) }
                }
            }
        };
    }

    with_table!(PieceSquare, OWN_OFFSETS as u64, false, false, false, |_, _| 0, |number, perspective, _| own_offset(
        number,
        perspective
    ));
    with_table!(
        KingPiece,
        (KINGS * NUMBERS) as u64,
        false,
        true,
        false,
        |own, _| own * NUMBERS as u64,
        |number, perspective, mirrored| view(number, perspective, mirrored)
    );
    with_table!(
        KingKingPiece,
        (KINGS * SQUARES * NUMBERS) as u64,
        false,
        true,
        true,
        |own, other| (own * SQUARES as u64 + other) * NUMBERS as u64,
        |number, perspective, mirrored| view(number, perspective, mirrored)
    );
    with_table!(
        KingPiecePiece,
        (KINGS * PAIRS) as u64,
        true,
        true,
        false,
        |own, _| own * PAIRS as u64,
        |number, perspective, mirrored| lowered(view(number, perspective, mirrored))
    );
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;
    use crate::shogi::piece::{Location, in_hand, on_board, parts};

    #[test]
    fn numbers_are_seen_from_both_sides() {
        for number in 1..NUMBERS {
            let (kind, side, location) = parts(number).unwrap();
            assert_eq!(kind_and_side(number), (kind, side));
            for mirrored in [false, true] {
                let same = match location {
                    Location::Hand(_) => number,
                    Location::Board(square) => {
                        on_board(kind, side, if mirrored { (8 - square / 9) * 9 + square % 9 } else { square })
                    }
                };
                assert_eq!(view(number, 0, mirrored), same);
                let turned = match location {
                    Location::Hand(n) => in_hand(kind, 1 - side, n),
                    Location::Board(square) => {
                        let square = 80 - square;
                        on_board(kind, 1 - side, if mirrored { (8 - square / 9) * 9 + square % 9 } else { square })
                    }
                };
                assert_eq!(view(number, 1, mirrored), turned);
                assert_eq!(view(turned, 1, mirrored), view(number, 0, false));
            }
        }
        assert_eq!(view(0, 1, true), 0);
    }

    #[test]
    fn lowering_joins_what_moves_like_a_gold() {
        let mut seen = vec![false; LOWERED as usize];
        for number in 0..NUMBERS {
            seen[lowered(number) as usize] = true;
        }
        assert!(seen.iter().all(|&seen| seen));
        assert_eq!(LOWERED, 1535);
        assert_eq!(lowered(on_board(7, 1, 5)), lowered(on_board(4, 1, 5)));
        assert_eq!(lowered(on_board(12, 0, 80)), BOARD + (8 * 2) * 81 + 80);
        assert_eq!(tri(LOWERED - 1, LOWERED - 1), PAIRS - 1);
        assert_eq!((tri(2, 1), tri(1, 2), tri(0, 0)), (4, 4, 0));
    }

    #[test]
    fn rows_lie_in_their_tables() {
        fn check<S: Set>(rows: u32) {
            for number in 0..NUMBERS {
                for perspective in 0..2 {
                    let row = S::row(number, perspective, perspective == 1);
                    assert!(row == NONE || row < rows);
                }
                assert!(number == 0 || u64::from(S::value(number)) < S::LEN);
            }
            let rows = if S::OF_PAIRS { tri(rows - 1, rows - 1) + 1 } else { rows };
            for own in 0..KINGS {
                for other in 0..SQUARES {
                    assert!(rows == 0 || S::base(own, other) + u64::from(rows) <= S::LEN);
                }
            }
            for king in 0..SQUARES {
                for perspective in 0..2 {
                    assert!(view_square(king, perspective, is_mirrored(king, perspective)) < KINGS);
                }
            }
        }
        check::<sets::Material>(0);
        check::<sets::MaterialHand>(0);
        check::<sets::PieceSquare>(OWN_OFFSETS);
        check::<sets::KingPiece>(NUMBERS);
        check::<sets::KingKingPiece>(NUMBERS);
        check::<sets::KingPiecePiece>(LOWERED);
        assert_eq!(sets::KingPiecePiece::LEN, 13 + 45 * 1535 * 1536 / 2);
        assert_eq!(sets::KingKingPiece::LEN, 13 + 45 * 81 * 2183);
        let own: std::collections::HashSet<u32> =
            (1..NUMBERS).filter_map(|n| Some(own_offset(n, 0)).filter(|&p| p != NONE)).collect();
        assert_eq!(own.len() as u32, OWN_OFFSETS);
    }
}
