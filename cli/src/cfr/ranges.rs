//! `ranges`: the named ranges, and one range as a grid.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use warpplay::cfr::preflop::{N_HANDS, SIDE};
use warpplay::cfr::spot::{NamedRange, Range};

use crate::cfr::args::RangesArgs;
use crate::common;
use crate::common::table::{Table, fixed, significant};

/// What is written.
#[derive(Serialize)]
struct Facts {
    ranges: Vec<Entry>,
}

/// A range.
#[derive(Serialize)]
struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<&'static str>,
    text: String,
    /// Hands, each counted by its weight.
    combos: f64,
    percent: f64,
    /// Mean weights of the classes of hands that the range has.
    weights: BTreeMap<String, f64>,
}

/// Runs the command.
pub fn run(args: &RangesArgs) -> Result<()> {
    args.output.start_log();
    let json = args.output.json_file()?;
    let text;
    let ranges = match &args.range {
        None => {
            let ranges = NamedRange::ALL.iter().map(named).collect::<Result<Vec<_>>>()?;
            text = table(&ranges);
            ranges
        }
        Some(asked) => {
            // No hands have an underscore, and all names do.
            let is_name =
                asked.contains('_') && asked.trim_start_matches('@').chars().all(|c| c.is_alphanumeric() || c == '_');
            let range = if is_name { named(NamedRange::find(asked)?)? } else { entry(asked)? };
            text = grid(&range, &Range::parse(&range.text)?);
            vec![range]
        }
    };
    if let Some(json) = json {
        json.write_json(&common::Record::new("cfr ranges", Facts { ranges }))?;
    }
    args.output.print(text)
}

fn named(range: &NamedRange) -> Result<Entry> {
    Ok(Entry { name: Some(range.name), meaning: Some(range.meaning), ..entry(range.text)? })
}

fn entry(text: &str) -> Result<Entry> {
    let range = Range::parse(text)?;
    let combos = range.combos();
    let weights = range.classes().into_iter().filter(|(_, weight)| *weight > 0.0).collect();
    Ok(Entry {
        name: None,
        meaning: None,
        text: text.into(),
        combos,
        percent: 100.0 * combos / N_HANDS as f64,
        weights,
    })
}

/// The names, a line each.
fn table(ranges: &[Entry]) -> String {
    let row = |range: &Entry| {
        let name = format!("@{}", range.name.unwrap_or_default());
        vec![name, significant(range.combos), fixed(range.percent, 1), range.meaning.unwrap_or_default().to_string()]
    };
    let rows: Vec<Vec<String>> = ranges.iter().map(row).collect();
    Table::new(&["name", "hands", "of all, %", "what it is"]).words_at(3).rows(&rows)
}

/// A range with its grid: hands of one suit above the diagonal, after a hand its weight in per cent where it is not 100.
fn grid(entry: &Entry, range: &Range) -> String {
    let mut text = String::new();
    if let (Some(name), Some(meaning)) = (entry.name, entry.meaning) {
        // Writing to a text does not fail.
        let _ = writeln!(text, "@{name}: {meaning}");
    }
    let _ = writeln!(text, "{}", entry.text);
    let _ = writeln!(text, "{} hands, {} % of all\n", significant(entry.combos), fixed(entry.percent, 1));
    text + &rows(range.classes().into_iter().map(|(name, weight)| cell(&name, weight)))
}

/// Cells of the grid, row after row.
pub(super) fn rows(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(|cell| format!("{cell:<7}")).collect();
    cells.chunks(SIDE).map(|row| row.concat().trim_end().to_string() + "\n").collect()
}

/// A hand with what is played of it, between 0 and 1, in per cent where it is not all.
pub(super) fn cell(name: &str, weight: f64) -> String {
    match (100.0 * weight).round() {
        _ if weight <= 0.0 => ".".to_string(),
        percent if percent >= 100.0 => name.to_string(),
        percent => format!("{name}:{}", percent.max(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_grid_with_weights() {
        let text = "AA,AKs:0.5,AKo:0.25,AhQh,22:0.001";
        let shown = grid(&entry(text).expect("a range"), &Range::parse(text).expect("a range"));
        let lines: Vec<&str> = shown.lines().collect();
        // 6 + 4 / 2 + 12 / 4 + 1 + 6 / 1000.
        assert_eq!(lines[..3], [text, "12.01 hands, 0.9 % of all", ""]);
        assert!(lines[3].starts_with("AA     AKs:50 AQs:25 .  "), "{}", lines[3]);
        assert!(lines[4].starts_with("AKo:25 .      ."), "{}", lines[4]);
        assert!(lines[15].ends_with(" 22:1"), "{}", lines[15]);
        assert_eq!(lines.len(), 3 + SIDE);
        // It fits in a terminal of 100 columns.
        assert!(lines[2..].iter().all(|line| line.len() < 100));
    }
}
