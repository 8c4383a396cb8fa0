//! Learnt values for people and for programs.

use std::fmt::Write;

use crate::shogi::objective::Values;

/// Kinds of pieces with a value, in the notations of CSA and USI, and in Japanese.
const KINDS: [(&str, &str, &str); 13] = [
    ("P", "pawn", "歩"),
    ("L", "lance", "香"),
    ("N", "knight", "桂"),
    ("S", "silver", "銀"),
    ("G", "gold", "金"),
    ("B", "bishop", "角"),
    ("R", "rook", "飛"),
    ("+P", "promoted pawn", "と"),
    ("+L", "promoted lance", "成香"),
    ("+N", "promoted knight", "成桂"),
    ("+S", "promoted silver", "成銀"),
    ("+B", "horse", "馬"),
    ("+R", "dragon", "龍"),
];

/// The values on the board, and in hand if these are separate, as a table with one line per kind.
///
/// ```
/// let table = warpplay::shogi::learner::table(&[3.0; 12], None);
/// assert_eq!(table.lines().nth(1), Some("P   pawn             歩      1.0000"));
/// assert_eq!(table.lines().count(), 14);
/// ```
pub fn table(values: &Values, hand: Option<&[f64; 7]>) -> String {
    let mut text = String::from("    kind                     value");
    text.push_str(if hand.is_some() { "   in hand\n" } else { "\n" });
    for (kind, (letter, name, japanese)) in KINDS.iter().enumerate() {
        // A Japanese character is as wide as two others.
        let wide = " ".repeat(6 - 2 * japanese.chars().count());
        let _ = write!(text, "{letter:<3} {name:<16} {japanese}{wide}{:>8.4}", value(values, kind));
        if let Some(value) = hand.and_then(|hand| hand.get(kind)) {
            let _ = write!(text, "  {value:>8.4}");
        }
        text.push('\n');
    }
    text
}

/// The values as Rust source: a constant of 13 numbers, in pawns, and one of seven for those in hand if these are separate. Every number reads back exactly.
///
/// ```
/// let source = warpplay::shogi::learner::rust_constant(&[2.5; 12], None);
/// assert!(source.contains("pub const PIECE_VALUES: [f64; 13] = ["));
/// assert!(source.contains("    1.0, // P pawn\n    2.5, // L lance\n"));
/// ```
pub fn rust_constant(values: &Values, hand: Option<&[f64; 7]>) -> String {
    let mut text = String::from(
        "/// Values of the pieces in pawns, learnt from game records.\npub const PIECE_VALUES: [f64; 13] = [\n",
    );
    for (kind, (letter, name, _)) in KINDS.iter().enumerate() {
        let _ = writeln!(text, "    {:?}, // {letter} {name}", value(values, kind));
    }
    text.push_str("];\n");
    if let Some(hand) = hand {
        text.push_str("\n/// Values of the pieces in hand in pawns.\npub const HAND_VALUES: [f64; 7] = [\n");
        for (value, (letter, name, _)) in hand.iter().zip(KINDS) {
            let _ = writeln!(text, "    {value:?}, // {letter} {name}");
        }
        text.push_str("];\n");
    }
    text
}

fn value(values: &Values, kind: usize) -> f64 {
    kind.checked_sub(1).and_then(|learnt| values.get(learnt)).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_reads_back() {
        let values: Values = std::array::from_fn(|kind| 1.0 / 3.0 + kind as f64 * 1e-9 - 2.0);
        let hand = std::array::from_fn(|kind| 1.0 + kind as f64 / 7.0);
        let text = rust_constant(&values, Some(&hand));
        let numbers: Vec<f64> = text
            .lines()
            .filter_map(|line| line.trim().split_once(',').and_then(|(number, _)| number.parse().ok()))
            .collect();
        assert_eq!(numbers[0], 1.0);
        assert_eq!(numbers[1..13], values);
        assert_eq!(numbers[13..], hand);
        let table = table(&values, Some(&hand));
        assert_eq!(table.lines().count(), 14);
        assert!(table.lines().nth(7).unwrap().ends_with("1.8571"), "{table}");
    }
}
