//! Positions of bytes, and their evaluation by adding up all pieces.

use super::Values;

/// Bytes of a position with its pad; 95 without.
pub const POSITION_BYTES: usize = 96;

/// Where the counts of pieces in hand begin: Black's P L N S G B R, then White's.
pub const HAND: usize = 81;

/// Kind and sign of a square's code: code 0 is an empty square, 1 to 13 are Black's P L N S G B R +P +L +N +S +B +R, 14 is Black's king; 15 to 27 and 28 are the same for
/// White. Kings and empty squares have sign 0.
pub const MATERIAL_OF_CODE: [(usize, i32); 29] = {
    let mut table = [(0, 0); 29];
    let mut kind = 0;
    while kind < 13 {
        table[1 + kind] = (kind, 1);
        table[15 + kind] = (kind, -1);
        kind += 1;
    }
    table
};

/// The value of a position, positive if Black has more: all squares in turn, then the hands. `position` has 95 bytes or more.
pub fn evaluate(position: &[u8], values: &Values) -> f64 {
    let value = |kind: usize| if kind == 0 { 1.0 } else { values[kind - 1] };
    let mut sum = 0.0;
    for &code in &position[..HAND] {
        let (kind, sign) = MATERIAL_OF_CODE[usize::from(code)];
        sum += f64::from(sign) * value(kind);
    }
    for kind in 0..7 {
        sum += f64::from(position[HAND + kind]) * value(kind);
        sum -= f64::from(position[HAND + 7 + kind]) * value(kind);
    }
    sum
}
