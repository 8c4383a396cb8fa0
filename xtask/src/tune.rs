//! `cargo xtask tune`: the table of `host/src/tile/shares.rs`, from measurements.
//!
//! A product's time is taken to be `⌈tiles / multiprocessors⌉ × rows × columns × depth / (speed × share)`, rows and columns being those of a tile. Products with several tiles for each multiprocessor give the product of speed and share; the
//! median over them, divided by that of the engine's best tile, is the share.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{date, setup};

/// Least tiles for each multiprocessor of a product that counts: beginning and end of its blocks are then a small part of its time.
const LEAST_TILES: u64 = 4;

/// A row of the table: capability, engine and tile, as the sources name them.
type Key = ((u64, u64), String, String);
/// Its share in per cent, and where it was measured.
type Entry = (u64, String);

/// Reads the results, and replaces the rows of what they measured.
///
/// # Errors
/// For a file that holds something else, or too little.
pub fn run(results: &[PathBuf]) -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src/tile/shares.rs");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut table = table_of(&text)?;
    for file in results {
        let lines = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let found = shares_of(&lines).with_context(|| file.display().to_string())?;
        // An engine that was measured anew has its new rows alone.
        table.retain(|(capability, engine, _), _| !found.keys().any(|key| (key.0, &key.1) == (*capability, engine)));
        setup::say(&format!("{}: {} shares", file.display(), found.len()));
        table.extend(found);
    }
    fs::write(&path, with_table(&text, &table)?).with_context(|| path.display().to_string())
}

/// What the rows of the table stand between.
const BEGIN: &str = "const TABLE: &[((u32, u32), Engine, Tile, u64)] = &[\n";
const END: &str = "];\n";

/// Where the rows of the table are.
fn rows(text: &str) -> Result<std::ops::Range<usize>> {
    let begin = text.find(BEGIN).context("shares.rs: the table is not there")? + BEGIN.len();
    let len = text[begin..].find(END).context("shares.rs: the table has no end")?;
    Ok(begin..begin + len)
}

fn table_of(text: &str) -> Result<BTreeMap<Key, Entry>> {
    text[rows(text)?]
        .lines()
        .map(|line| {
            let (row, source) = line.split_once("// ").with_context(|| format!("shares.rs: {line}: no source"))?;
            let words: Vec<&str> = row.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
            let [major, minor, "Engine", engine, "Tile", tile, share] = words[..] else {
                bail!("shares.rs: {line}: no row");
            };
            let capability = (major.parse()?, minor.parse()?);
            Ok(((capability, engine.to_string(), tile.to_string()), (share.parse()?, source.to_string())))
        })
        .collect()
}

/// In the order of capabilities, engines and tiles in the sources: the tile with more columns first, of equal ones that with more rows.
fn with_table(text: &str, table: &BTreeMap<Key, Entry>) -> Result<String> {
    let range = rows(text)?;
    let mut keys: Vec<&Key> = table.keys().collect();
    let engines = ["Wgmma", "Mma", "Plain"];
    keys.sort_by_key(|(capability, engine, tile)| {
        let columns_and_rows: Vec<u64> = numbers(tile).into_iter().rev().collect();
        (*capability, engines.iter().position(|of| of == engine), std::cmp::Reverse(columns_and_rows))
    });
    let mut lines = String::new();
    for key in keys {
        let ((major, minor), engine, tile) = key;
        let (share, source) = &table[key];
        lines += &format!("    (({major}, {minor}), Engine::{engine}, Tile::{tile}, {share}), // {source}\n");
    }
    Ok(format!("{}{lines}{}", &text[..range.start], &text[range.end..]))
}

/// Rows and columns in the name of a tile: `Rows128Columns64`, `128x64`.
fn numbers(tile: &str) -> Vec<u64> {
    tile.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}

/// The shares that one run of the bench gives.
fn shares_of(text: &str) -> Result<BTreeMap<Key, Entry>> {
    let lines: Vec<Value> =
        text.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("no JSON lines")?;
    let about = lines.iter().find(|line| line["section"] == "about").context("no line about the machine")?;
    ensure!(about["bench"] == "tile", "results of the bench {}, expected tile", about["bench"]);
    let number = |value: &Value, what: &str| value.as_u64().with_context(|| format!("no {what}"));
    let capability = &about["compute_capability"];
    let capability = (number(&capability[0], "compute capability")?, number(&capability[1], "compute capability")?);
    let multiprocessors = number(&about["multiprocessors"], "multiprocessors")?;
    let device = about["device_name"].as_str().context("no name of the device")?;
    let source = format!("{device}, {}", date::date(number(&about["started"], "time")?));
    // Speeds of each engine and tile.
    let mut speeds: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    // All formats of 16 bits take the same; TF32 and parts go by them.
    for line in lines.iter().filter(|line| line["section"] == "bf16" || line["section"] == "f32") {
        let tile = line["tile"].as_str().context("a row without its tile")?;
        // A tile whose depth is shared is chosen by a rule of its own.
        let [rows, columns] = numbers(tile)[..] else { continue };
        let engine = line["engine"].as_str().context("a row without its engine")?;
        let size = |name: &str| number(&line[name], name);
        let (m, n, k) = (size("m")?, size("n")?, size("k")?);
        let us = line["us"].as_f64().filter(|us| *us > 0.0).context("a row without its time")?;
        let tiles = m.div_ceil(rows) * n.div_ceil(columns);
        if tiles < LEAST_TILES * multiprocessors {
            continue;
        }
        let speed = (tiles.div_ceil(multiprocessors) * rows * columns * k) as f64 / us;
        let mut name = engine.to_string();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        speeds.entry((name, format!("Rows{rows}Columns{columns}"))).or_default().push(speed);
    }
    let medians: BTreeMap<_, _> = speeds.into_iter().map(|(key, speeds)| (key, median(speeds))).collect();
    ensure!(!medians.is_empty(), "no products with {LEAST_TILES} tiles for each of {multiprocessors} multiprocessors");
    let share = |(engine, tile): &(String, String), speed: f64| -> Result<(Key, Entry)> {
        let of_engine = medians.iter().filter(|(key, _)| key.0 == *engine);
        ensure!(of_engine.clone().count() > 1, "{engine} was measured with {tile} alone, expected --tiles");
        let best = of_engine.map(|(_, speed)| *speed).fold(0.0, f64::max);
        let share = (100.0 * speed / best).round().max(1.0) as u64;
        Ok(((capability, engine.clone(), tile.clone()), (share, source.clone())))
    };
    medians.iter().map(|(key, speed)| share(key, *speed)).collect()
}

/// Of at least one number; the lower one of two in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn about() -> Value {
        json!({"section": "about", "bench": "tile", "compute_capability": [8, 9], "multiprocessors": 10, "device_name": "A card", "started": 1_764_288_000})
    }

    /// A product of 1024 × 1024 × 64 whose tile of `rows` × `columns` has so many operations a microsecond on each multiprocessor.
    fn row(tile: &str, [rows, columns]: [u64; 2], speed: u64) -> Value {
        let tiles = 1024 / rows * (1024 / columns);
        let us = (tiles.div_ceil(10) * rows * columns * 64) as f64 / speed as f64;
        json!({"section": "bf16", "m": 1024, "n": 1024, "k": 64, "engine": "mma", "tile": tile, "us": us})
    }

    fn text(lines: &[Value]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn shares_are_those_of_the_best_tile_whatever_the_last_multiprocessors_do() {
        // 64 tiles on 10 multiprocessors take 7 rounds; a shared depth is no tile of the table.
        let lines =
            [about(), row("128x128", [128, 128], 800), row("64x64", [64, 64], 500), row("64x64/4", [64, 64], 900)];
        let found = shares_of(&text(&lines)).expect("shares");
        let entry = |tile: &str| found[&((8, 9), "Mma".to_string(), tile.to_string())].clone();
        let source = "A card, 2025-11-28".to_string();
        assert_eq!(entry("Rows128Columns128"), (100, source.clone()));
        // 500 / 800 is 62.5.
        assert_eq!(entry("Rows64Columns64"), (63, source));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn the_table_of_the_sources_is_read_and_written_as_it_is() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src/tile/shares.rs");
        let text = fs::read_to_string(path).expect("the sources");
        let mut table = table_of(&text).expect("a table");
        assert_eq!(with_table(&text, &table).expect("a table"), text);
        let new = ((8, 9), "Mma".to_string(), "Rows128Columns128".to_string());
        table.insert(new.clone(), (97, "A card, 2025-11-28".into()));
        let written = with_table(&text, &table).expect("a table");
        assert!(written.contains("    ((8, 9), Engine::Mma, Tile::Rows128Columns128, 97), // A card, 2025-11-28\n"));
        assert_eq!(table_of(&written).expect("a table"), table);
    }

    #[test]
    fn results_of_something_else_are_refused() {
        let refused = |lines: &[Value]| format!("{:#}", shares_of(&text(lines)).expect_err("no shares"));
        assert_eq!(refused(&[json!({})]), "no line about the machine");
        let mut other = about();
        other["bench"] = json!("mlp");
        assert_eq!(refused(&[other]), "results of the bench \"mlp\", expected tile");
        assert_eq!(refused(&[about()]), "no products with 4 tiles for each of 10 multiprocessors");
        let one = [about(), row("128x128", [128, 128], 800)];
        assert_eq!(refused(&one), "Mma was measured with Rows128Columns128 alone, expected --tiles");
        let mut cpu = about();
        cpu["compute_capability"] = Value::Null;
        assert_eq!(refused(&[cpu]), "no compute capability");
        assert!(format!("{:#}", shares_of("words").expect_err("no JSON")).starts_with("no JSON lines"));
    }
}
