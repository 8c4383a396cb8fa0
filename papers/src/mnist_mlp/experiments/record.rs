//! Tables as data, and the text of their cells.

use serde::Serialize;

use super::lab::Run;

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// Its short name, as of a file.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Heads of the columns.
    pub head: Vec<&'static str>,
    /// Its cells.
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
    /// The training.
    #[serde(flatten)]
    pub run: Run,
}

impl Table {
    pub(super) fn new(name: &str, title: impl Into<String>, head: &[&'static str]) -> Self {
        Self { name: name.to_string(), title: title.into(), head: head.to_vec(), ..Self::default() }
    }
}

/// Seconds with four digits that count.
pub(super) fn seconds(value: f64) -> String {
    let digits = (3 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}

/// `-` where there is nothing.
pub(super) fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or("-".to_string(), text)
}

/// A share in per cent; `-` where there is none.
pub(super) fn percent(share: Option<f64>) -> String {
    or_dash(share, |share| format!("{:.2} %", 100.0 * share))
}

/// A count with commas.
pub(super) fn thousands(n: u64) -> String {
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
