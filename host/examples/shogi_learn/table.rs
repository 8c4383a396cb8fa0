//! What is printed: numbers, grids, values of pieces.

use std::fmt::Write;

use warpplay::shogi::{Row, Values};

pub use crate::units::{count, seconds, thousands};

/// The learnt kinds in the order of [`Values`].
pub const NAMES: [&str; 12] = ["L", "N", "S", "G", "B", "R", "+P", "+L", "+N", "+S", "+B", "+R"];

/// The source's names of them.
pub const JAPANESE: [&str; 12] = ["香", "桂", "銀", "金", "角", "飛", "と", "成香", "成桂", "成銀", "馬", "龍"];

/// Rows under a head, each column as wide as its widest cell; the first column to the left, the others to the right.
pub fn grid(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells.chain([head[at].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            // Writing to a string cannot fail.
            let _ = if at == 0 { write!(line, "  {cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        line.trim_end().to_string() + "\n"
    };
    let mut text = line(head);
    for row in rows {
        text += &line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    text
}

/// Head of the lines of [`progress`].
pub fn progress_head() -> String {
    let mut text = format!("{:>5} {:>18}", "iter", "J");
    for name in NAMES {
        // Writing to a string cannot fail.
        let _ = write!(text, " {name:>7}");
    }
    text + "\n"
}

/// The line that the source prints in every iteration: its number, the objective, the values.
pub fn progress(row: &Row) -> String {
    let mut text = format!("{:>5} {:>18.15}", row.iteration, row.j);
    for value in row.values {
        // Writing to a string cannot fail.
        let _ = write!(text, " {value:>7.4}");
    }
    text + "\n"
}

/// Columns of values, a row a kind, the pawn first.
pub fn of_values(columns: &[(String, Values)]) -> String {
    let mut head = vec!["piece", ""];
    head.extend(columns.iter().map(|(name, _)| name.as_str()));
    let mut rows = vec![["P", "歩"].map(String::from).to_vec()];
    rows[0].extend(columns.iter().map(|_| "1 (fixed)".to_string()));
    for (at, (name, japanese)) in NAMES.iter().zip(JAPANESE).enumerate() {
        let mut row = vec![(*name).to_string(), japanese.to_string()];
        row.extend(columns.iter().map(|(_, values)| format!("{:.4}", values[at])));
        rows.push(row);
    }
    grid(&head, &rows)
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    if share.is_nan() { "-".into() } else { format!("{:.2} %", 100.0 * share) }
}
