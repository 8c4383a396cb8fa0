//! Tables for people, lines of JSON for programs.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

/// Where results go.
pub struct Output {
    json: Option<Box<dyn Write>>,
    /// Stdout is taken by JSON.
    text_to_stderr: bool,
    n_failed: usize,
}

impl Output {
    /// Opens the file of JSON lines first, so that a wrong path is known before an hour of work.
    pub fn new(json: Option<&Path>) -> anyhow::Result<Self> {
        let text_to_stderr = json == Some(Path::new("-"));
        let json: Option<Box<dyn Write>> = match json {
            None => None,
            Some(_) if text_to_stderr => Some(Box::new(io::stdout())),
            Some(path) => Some(Box::new(File::create(path).with_context(|| path.display().to_string())?)),
        };
        Ok(Self { json, text_to_stderr, n_failed: 0 })
    }

    pub fn text(&self, text: &str) -> anyhow::Result<()> {
        let write = |out: &mut dyn Write| {
            out.write_all(text.as_bytes())?;
            out.flush()
        };
        if self.text_to_stderr { write(&mut io::stderr()) } else { write(&mut io::stdout()) }?;
        Ok(())
    }

    /// One line of JSON, written at once: what was measured stays if the bench is ended.
    pub fn json(&mut self, value: &Value) -> anyhow::Result<()> {
        if let Some(out) = &mut self.json {
            writeln!(out, "{value}")?;
            out.flush()?;
        }
        Ok(())
    }

    /// What is being measured, for somebody who watches.
    pub fn progress(&self, what: &str) {
        if io::stderr().is_terminal() {
            eprintln!("... {what}");
        }
    }

    /// The cell of a row that could not be measured.
    pub fn failed(&mut self, error: &dyn std::fmt::Display) -> String {
        self.n_failed += 1;
        format!("failed: {error}")
    }

    pub const fn n_failed(&self) -> usize {
        self.n_failed
    }
}

/// A table: the first columns stand left, numbers right.
pub struct Table {
    title: String,
    n_left: usize,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Table {
    pub fn new(title: &str, n_left: usize, headers: &[&str]) -> Self {
        Self {
            title: title.to_string(),
            n_left,
            rows: vec![headers.iter().map(ToString::to_string).collect()],
            notes: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Adds rows.
    pub fn with(mut self, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// A line below the table.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// What the table is called in pages: the words in capitals that its title begins with.
    fn name(&self) -> String {
        let head = self.title.split([',', ':', '(']).next().unwrap_or_default();
        let words: Vec<&str> =
            head.split_whitespace().take_while(|word| !word.chars().any(char::is_lowercase)).collect();
        words.join(" ").to_lowercase()
    }

    /// Prints the table, and writes it as a line of JSON, from which `warpplay papers page` fills a page.
    pub fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        output.json(&json!({
            "section": "table", "table": self.name(), "title": self.title, "left": self.n_left, "rows": self.rows, "notes": self.notes,
        }))?;
        let mut text = format!("\n{}\n", self.title);
        let n_columns = self.rows[0].len();
        // A row with fewer cells ends in a text that may be as long as it likes.
        let counts = |row: &&Vec<String>, column: usize| row.len() == n_columns || column + 1 < row.len();
        let width = |column| {
            let cells = self.rows.iter().filter(|row| counts(row, column)).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..n_columns).map(width).collect();
        let rows = if self.rows.len() == 1 { &[] } else { &self.rows[..] };
        for row in rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = widths[column];
                line += &if column < self.n_left { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        for note in &self.notes {
            text += &format!("{note}\n");
        }
        output.text(&text)
    }
}

/// A number with three to four figures: `1,699`, `2.40e7`, `0.053`.
pub fn number(x: f64) -> String {
    if !x.is_finite() {
        return "-".to_string();
    }
    match x.abs() {
        a if a >= 1e6 => format!("{x:.2e}"),
        a if a >= 1e3 => format!("{},{:03}", x.round() as i64 / 1000, x.round() as i64 % 1000),
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// A number that may be missing.
pub fn maybe(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_string(), number)
}

/// A share as percent.
pub fn percent(x: f64) -> String {
    if x.is_finite() { format!("{:.1} %", x * 100.0) } else { "-".to_string() }
}
