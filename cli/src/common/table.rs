//! Numbers and lines of tables.

use std::fmt::Write;

/// A count with commas.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of things.
pub fn count(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// A time in the unit that suits it.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Rows under a head, each column as wide as its widest cell; the first column to the left, the others to the right.
pub fn grid(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        // `format!` limits widths to `u16::MAX`.
        cells.chain([head[at].chars().count()]).max().unwrap_or(0).min(u16::MAX.into())
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
