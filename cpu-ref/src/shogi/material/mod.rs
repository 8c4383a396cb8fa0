//! The paper's program: 12 values, the pawn's fixed at 1, moved by the sign of differences of the objective.
//!
//! The objective is J(v) = Σ T(σ (f(child) − f(child 0))) / K over all K children. It is summed in three forms that hold the same numbers:
//!
//! | form | data of a child | what is added up for it |
//! | --- | --- | --- |
//! | [`Program::positions`] | a board of 81 bytes and 14 counts of hands | the values of all pieces, as the paper does |
//! | [`Program::differences`] | 13 small whole numbers in a word | 13 products |
//! | [`Program::histogram`] | nothing: each distinct word once, with its count | 13 products a distinct word |
//!
//! The last is possible because with material alone a child differs from child 0 only by what was captured and promoted: millions of children have a
//! few thousand distinct differences.

mod learn;
mod positions;
mod program;

pub use learn::{Row, Settings, evaluations, learn};
pub use positions::{HAND, MATERIAL_OF_CODE, POSITION_BYTES, evaluate};
pub use program::{Parallel, Program, Sequential, gradient, histogram_of};

use super::KINDS;

/// Values of lance, knight, silver, gold, bishop, rook, promoted pawn, lance, knight, silver, bishop, rook.
pub type Values = [f64; 12];

/// The number of kind `kind` in a packed difference: the pawns' in bits 0 to 7, those of the other twelve in four bits each from bit 8, in two's complement.
pub fn number(difference: u64, kind: usize) -> i32 {
    let (bits, shift) = if kind == 0 { (8, 0) } else { (4, 4 + 4 * kind) };
    let field = (difference >> shift & ((1 << bits) - 1)) as i32;
    if field >= 1 << (bits - 1) { field - (1 << bits) } else { field }
}

/// The packed difference with these numbers.
///
/// # Panics
/// If the pawns' number is not in -128 to 127, or another not in -8 to 7.
pub fn pack(numbers: &[i32; KINDS]) -> u64 {
    let mut difference = 0;
    for (kind, &number) in numbers.iter().enumerate() {
        let (bits, shift) = if kind == 0 { (8, 0) } else { (4, 4 + 4 * kind) };
        let half = 1 << (bits - 1);
        assert!((-half..half).contains(&number), "{number} of kind {kind} does not fit");
        difference |= ((number & (2 * half - 1)) as u64) << shift;
    }
    difference
}

/// Σ value · number, in the order of the kinds.
pub fn weigh(difference: u64, values: &Values) -> f64 {
    let mut sum = f64::from(number(difference, 0));
    for (kind, &value) in values.iter().enumerate() {
        sum += value * f64::from(number(difference, kind + 1));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for numbers in
            [[0; 13], [-128, -8, 7, -1, 1, 0, 5, -5, 3, -3, 2, -2, 7], [127, 7, -8, 0, 0, 0, 0, 0, 0, 0, 0, 0, -8]]
        {
            let packed = pack(&numbers);
            for (kind, &expected) in numbers.iter().enumerate() {
                assert_eq!(number(packed, kind), expected);
            }
        }
        let mut values = [0.0; 12];
        values[5] = 10.25;
        assert_eq!(weigh(pack(&[-3, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]), &values), 17.5);
    }
}
