//! Tables as data and as text.

use std::fmt::Write;

use serde::Serialize;

use super::lab::Run;
use crate::common::table::grid;

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    pub name: String,
    pub title: String,
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
    /// The parameter that is varied, where there is one.
    pub parameter: Option<&'static str>,
    /// The trainings behind the rows.
    pub runs: Vec<Setting>,
    /// Values that are no trainings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<serde_json::Value>,
    /// What follows from it.
    pub notes: Vec<String>,
}

/// A training of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The row.
    pub label: String,
    /// The parameter's value, where there is one.
    pub value: Option<f64>,
    #[serde(flatten)]
    pub run: Run,
}

impl Table {
    pub fn new(name: &str, title: impl Into<String>, head: &[&'static str]) -> Self {
        Self { name: name.to_string(), title: title.into(), head: head.to_vec(), ..Self::default() }
    }

    /// As it is printed.
    pub fn text(&self) -> String {
        let mut text = format!("\n{}\n\n{}", self.title, grid(&self.head, &self.rows));
        for note in &self.notes {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {note}");
        }
        text
    }
}

/// Seconds with four digits that count.
pub fn seconds(value: f64) -> String {
    let digits = (3 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}

/// `-` where there is nothing.
pub fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or("-".to_string(), text)
}
