//! Tables and numbers as text: every table of the program has this look.
//!
//! Words are aligned to the left, numbers to the right, two spaces are between columns, and units stand in the head. A table that is wider than the terminal is printed in parts, each with its first column.

use std::io::{self, IsTerminal};

use console::{Alignment, measure_text_width, pad_str};

/// Space before each column.
const BETWEEN: &str = "  ";
/// Narrowest terminal that is taken into account.
const NARROWEST: usize = 20;

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

/// A number with four significant digits, whole numbers whole: 12.35, 0.0001235, 1,235; what is very small or large as 1.235e-9.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".to_string();
    }
    if size != 0.0 && !(1e-6..1e15).contains(&size) {
        return format!("{value:.3e}");
    }
    let is_whole = value.fract() == 0.0;
    let digits = if is_whole { 0 } else { (3 - size.log10().floor() as i32).clamp(0, 12) as usize };
    let text = format!("{size:.digits$}");
    let (whole, part) = text.split_once('.').map_or((text.as_str(), String::new()), |(w, p)| (w, format!(".{p}")));
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}{part}", whole.parse().map_or(whole.to_string(), thousands))
}

/// A number with so many digits behind the point; `-` where there is none.
pub fn fixed(value: impl Into<Option<f64>>, digits: usize) -> String {
    match value.into().filter(|value| value.is_finite()) {
        Some(value) => format!("{value:.digits$}"),
        None => "-".to_string(),
    }
}

/// Values of a game for its seats, a number each with its sign.
pub fn by_seat(values: &[f64], digits: usize) -> String {
    values.iter().map(|value| format!("{value:+.digits$}")).collect::<Vec<_>>().join(" ")
}

/// A column.
#[derive(Clone)]
struct Column {
    head: String,
    width: usize,
    is_words: bool,
}

/// The columns of a table, which gives its lines one by one or all at once.
#[derive(Clone)]
pub struct Table {
    columns: Vec<Column>,
    /// Width that is not to be exceeded, where it is known.
    most: Option<usize>,
}

impl Table {
    /// Columns with these heads: the first of words, the others of numbers.
    pub fn new(heads: &[&str]) -> Self {
        let column = |(at, head): (usize, &&str)| Column {
            head: (*head).to_string(),
            width: measure_text_width(head),
            is_words: at == 0,
        };
        Self { columns: heads.iter().enumerate().map(column).collect(), most: terminal_width() }
    }

    /// The first `n` columns are of words, the others of numbers.
    #[must_use]
    pub fn words(mut self, n: usize) -> Self {
        self.columns.iter_mut().enumerate().for_each(|(at, column)| column.is_words = at < n);
        self
    }

    /// This column is of words.
    #[must_use]
    pub fn words_at(mut self, at: usize) -> Self {
        if let Some(column) = self.columns.get_mut(at) {
            column.is_words = true;
        }
        self
    }

    /// Columns at least so wide, for lines that are printed before the later ones are known.
    #[must_use]
    pub fn widths(mut self, widths: &[usize]) -> Self {
        self.columns.iter_mut().zip(widths).for_each(|(column, &width)| column.width = column.width.max(width));
        self
    }

    /// The line of the heads.
    pub fn head(&self) -> String {
        let heads: Vec<String> = self.columns.iter().map(|column| column.head.clone()).collect();
        self.line(&heads)
    }

    /// A line of cells; on a narrow terminal it goes on below, farther in.
    pub fn line(&self, cells: &[String]) -> String {
        let parts = self.parts();
        let first = parts.first().map_or(String::new(), |part| self.part_of_line(cells, part));
        let rest = parts.iter().skip(1).map(|part| format!("    {}", self.part_of_line(cells, &part[1..])));
        std::iter::once(first).chain(rest).collect()
    }

    /// The whole table: each column is as wide as its widest cell.
    pub fn rows(mut self, rows: &[Vec<String>]) -> String {
        for (at, column) in self.columns.iter_mut().enumerate() {
            let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| measure_text_width(cell));
            column.width = cells.fold(column.width, usize::max);
        }
        let heads: Vec<String> = self.columns.iter().map(|column| column.head.clone()).collect();
        let all = || std::iter::once(&heads).chain(rows);
        let parts: Vec<String> =
            self.parts().iter().map(|part| all().map(|row| self.part_of_line(row, part)).collect()).collect();
        parts.join("\n")
    }

    /// Columns that fit side by side, the first in each part.
    fn parts(&self) -> Vec<Vec<usize>> {
        let width = |at: usize| BETWEEN.len() + self.columns[at].width;
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut taken = usize::MAX;
        for at in 0..self.columns.len() {
            // The first of a line that goes on is farther in.
            let fits = self.most.is_none_or(|most| taken.saturating_add(width(at) + 4) <= most);
            match parts.last_mut().filter(|part| fits || part.len() < 2) {
                Some(part) => {
                    part.push(at);
                    taken = taken.saturating_add(width(at));
                }
                None => {
                    let part = if at == 0 { vec![0] } else { vec![0, at] };
                    taken = part.iter().map(|&at| width(at)).sum();
                    parts.push(part);
                }
            }
        }
        parts
    }

    fn part_of_line(&self, cells: &[String], part: &[usize]) -> String {
        let mut line = String::new();
        for &at in part {
            let column = &self.columns[at];
            let alignment = if column.is_words { Alignment::Left } else { Alignment::Right };
            line += BETWEEN;
            line += &pad_str(cells.get(at).map_or("", String::as_str), column.width, alignment, None);
        }
        line.trim_end().to_string() + "\n"
    }

    #[cfg(test)]
    fn at_most(mut self, most: usize) -> Self {
        self.most = Some(most);
        self
    }
}

/// The terminal's width in columns, where stdout is one.
fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns).max(NARROWEST))
}

/// Names and values below each other, the values in one column.
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let facts: Vec<(&str, String)> = facts.into_iter().collect();
    let width = facts.iter().map(|(name, _)| measure_text_width(name)).max().unwrap_or(0);
    facts
        .iter()
        .map(|(name, value)| format!("{BETWEEN}{}{BETWEEN}{value}\n", pad_str(name, width, Alignment::Left, None)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_string()).collect()
    }

    #[test]
    fn words_are_left_and_numbers_right() {
        let table = Table::new(&["game", "steps", "time, ms", "note"]).words_at(3);
        let rows = [row(&["a", "1,000", "0.25", "x"]), row(&["連珠", "5", "12.50", ""])];
        assert_eq!(
            table.rows(&rows),
            "  game  steps  time, ms  note\n  a     1,000      0.25  x\n  連珠      5     12.50\n"
        );
    }

    #[test]
    fn lines_one_by_one_look_as_all_at_once() {
        let table = Table::new(&["epoch", "loss"]).words(0).widths(&[5, 8]);
        let all = table.clone().rows(&[row(&["1", "0.5"]), row(&["10", "0.25"])]);
        assert_eq!(table.head() + &table.line(&row(&["1", "0.5"])) + &table.line(&row(&["10", "0.25"])), all);
    }

    #[test]
    fn a_table_that_is_too_wide_has_parts() {
        let table = Table::new(&["name", "first", "second", "third"]).at_most(24);
        let rows = [row(&["a", "1", "2", "3"])];
        assert_eq!(
            table.clone().rows(&rows),
            "  name  first\n  a         1\n\n  name  second\n  a          2\n\n  name  third\n  a         3\n"
        );
        assert_eq!(table.head(), "  name  first\n      second\n      third\n");
        let wide = "x".repeat(70_000);
        assert!(Table::new(&["a"]).at_most(20).rows(&[vec![wide.clone()]]).contains(&wide));
    }

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        let cases = [
            (0.0, "0"),
            (1_234_567.0, "1,234,567"),
            (-1234.5678, "-1,235"),
            (12.34567, "12.35"),
            (0.000_123_456, "0.0001235"),
            (1.5e-9, "1.500e-9"),
            (f64::NAN, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn facts_have_their_values_in_one_column() {
        assert_eq!(facts([("a", "1".to_string()), ("time", "2 s".to_string())]), "  a     1\n  time  2 s\n");
    }
}
