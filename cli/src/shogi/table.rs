//! What is printed: numbers, grids, values of pieces.

use warpplay::shogi::{Row, Values};

use crate::common::table::{Table, fixed};

/// The learnt kinds in the order of [`Values`].
pub const NAMES: [&str; 12] = ["L", "N", "S", "G", "B", "R", "+P", "+L", "+N", "+S", "+B", "+R"];

/// The paper's names of them.
pub const JAPANESE: [&str; 12] = ["香", "桂", "銀", "金", "角", "飛", "と", "成香", "成桂", "成銀", "馬", "龍"];

/// The table of iterations with the values in pawns, whose lines are printed one by one.
fn iterations() -> Table {
    let heads: Vec<&str> = ["iteration", "J"].into_iter().chain(NAMES).collect();
    Table::new(&heads).words(0).widths(&[[9, 8].as_slice(), &[6; NAMES.len()]].concat())
}

/// Head of the lines of [`progress`].
pub fn progress_head() -> String {
    iterations().head()
}

/// The line that the paper prints in every iteration: its number, the objective, the values.
pub fn progress(row: &Row) -> String {
    let start = [row.iteration.to_string(), fixed(row.j, 9)];
    iterations().line(&start.into_iter().chain(row.values.map(|value| fixed(value, 3))).collect::<Vec<_>>())
}

/// Columns of values, a row a kind, the pawn first.
pub fn of_values(columns: &[(String, Values)]) -> String {
    let mut head = vec!["piece", "sign"];
    head.extend(columns.iter().map(|(name, _)| name.as_str()));
    let mut rows = vec![["P", "歩"].map(String::from).to_vec()];
    rows[0].extend(columns.iter().map(|_| "1 (fixed)".to_string()));
    for (at, (name, japanese)) in NAMES.iter().zip(JAPANESE).enumerate() {
        let mut row = vec![(*name).to_string(), japanese.to_string()];
        row.extend(columns.iter().map(|(_, values)| format!("{:.4}", values[at])));
        rows.push(row);
    }
    Table::new(&head).words(2).rows(&rows)
}

/// Learnt values of the pieces, and of those in hand where they are apart, a row a kind.
pub fn learnt(values: &Values, hand: Option<&[f64; 7]>) -> String {
    let mut head = vec!["piece", "sign", "value, pawns"];
    head.extend(hand.map(|_| "in hand, pawns"));
    let kinds = std::iter::once(("P", "歩")).chain(NAMES.into_iter().zip(JAPANESE));
    let row = |(kind, (name, sign)): (usize, (&str, &str))| {
        let value = kind.checked_sub(1).map_or(1.0, |at| values[at]);
        let mut row = vec![name.to_string(), sign.to_string(), fixed(value, 4)];
        row.extend(hand.map(|hand| hand.get(kind).map_or(String::new(), |&value| fixed(value, 4))));
        row
    };
    Table::new(&head).words(2).rows(&kinds.enumerate().map(row).collect::<Vec<_>>())
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    if share.is_nan() { "-".into() } else { format!("{:.2} %", 100.0 * share) }
}
