//! A position in bytes, as the paper has it.
//!
//! ```text
//!  position   | 81 squares: codes | Black's hand: P L N S G B R | White's hand | pad |      96 bytes
//!  code       0 empty   1 to 13 Black's P L N S G B R +P +L +N +S +B +R   14 Black's king   15 to 28 the same of White's
//! ```

use crate::shogi::difference;

/// Bytes of a position with its pad.
pub const BYTES: u32 = 96;
/// Bytes that say something.
pub const USED: u32 = 95;
/// Where Black's hand begins, a count for each of P L N S G B R.
pub const BLACK_HAND: u32 = 81;
/// Where White's begins.
pub const WHITE_HAND: u32 = 88;
/// Code of an empty square.
pub const EMPTY: u8 = 0;
/// Code of a king is [`code`] of this kind.
pub const KING: u32 = 13;
/// Codes of a side.
const OF_SIDE: u32 = 14;

/// Code of a piece of `kind` (0 to 12, [`KING`]) and side (0 Black, 1 White).
pub const fn code(kind: u32, side: u32) -> u8 {
    (1 + kind + OF_SIDE * side) as u8
}

/// Kind and side of a code other than [`EMPTY`] and below 29.
#[device_inline]
pub const fn piece(code: u32) -> (u32, u32) {
    let white = (code > OF_SIDE) as u32;
    (code - 1 - OF_SIDE * white, white)
}

/// What a piece of a code adds to a sum of [`difference::unit`]s; 0 for empty squares, kings and codes that mean nothing.
#[device_inline]
pub const fn unit(code: u32) -> u64 {
    if code == 0 || code > 2 * OF_SIDE {
        return 0;
    }
    let (kind, white) = piece(code);
    let unit = difference::unit(kind);
    if white == 1 { unit.wrapping_neg() } else { unit }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart() {
        let mut next = 1;
        for side in 0..2 {
            for kind in 0..14 {
                assert_eq!(u32::from(code(kind, side)), next);
                assert_eq!(piece(next), (kind, side));
                next += 1;
            }
        }
        assert_eq!((unit(0), unit(14), unit(28), unit(29), unit(255)), (0, 0, 0, 0, 0));
        assert_eq!((unit(1), unit(15), unit(2)), (1, u64::MAX, 256));
    }
}
