//! `warpplay papers page`: the tables of runs, written into a page.
//!
//! A page is Markdown with slots for tables: what stands between a line `<!-- NAME ITEM -->` and the next line `<!-- end -->` is replaced by what the runs have under that name:
//! `<!-- cfr_thesis table3 -->` an item of a publication (`--json` of `warpplay papers NAME`), `<!-- bench mcts searches -->` a table of a bench (`--json` of `cargo bench`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use warpplay::input_file;
use warpplay_papers::experiment::{Figure, Header, Report, Sheet, expect_checksum};

use super::{date, draw};
use crate::common::table::count;
use crate::common::{self, OutputFile, SCHEMA, Usage};

/// Write the tables of runs into a Markdown page, between the lines that mark them
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The page
    pub page: PathBuf,

    /// Results: files written by --json of publications and benches, one for each machine
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,

    /// Draw the figures of the results as SVG into this folder too
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
}

/// Line that ends a slot.
const END: &str = "<!-- end -->";

/// Runs the command.
///
/// # Errors
/// Files that cannot be read or written; runs without results; a page without a slot for any of them.
pub fn run(args: &Args) -> Result<()> {
    // What another process writes into the page meanwhile would be lost.
    let _lock = input_file::locked(&args.page)?;
    let page = input_file::read_text(&args.page)?;
    let mut found = BTreeMap::new();
    let mut origins = BTreeMap::new();
    for path in &args.runs {
        let folder = args.page.with_extension("");
        let text = input_file::read_text(path)?;
        if let Some(plots) = &args.plots {
            draw_all(&text, plots).with_context(|| path.display().to_string())?;
        }
        let run = read(&text, &folder).with_context(|| path.display().to_string())?;
        if !run.complete {
            common::print(format!("{}: of a run that was ended early\n", path.display()))?;
        }
        for (name, text) in run.texts {
            if let Some(other) = origins.insert((name.clone(), run.machine.clone()), path) {
                let (path, other) = (path.display(), other.display());
                return Err(Usage(format!("{path}: {name} of this machine is in {other} too")).into());
            }
            found.entry(name).or_insert_with(Vec::new).push(text);
        }
    }
    let filled = fill(&page, &found).with_context(|| args.page.display().to_string())?;
    if filled.n == 0 {
        let names = filled.unused.join(", ");
        return Err(Usage(format!("{}: has no line <!-- NAME --> of {names}", args.page.display())).into());
    }
    OutputFile::prepare(&args.page)?.write(&filled.text)?;
    common::print(format!("{}: {}", args.page.display(), filled.summary()))
}

/// A text of a result on one line, and without the signs that begin and end slots.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ").replace("<!--", "&lt;!--")
}

/// What a file of results has for a page.
struct Found {
    /// Names of slots, and what they are filled with.
    texts: Vec<(String, String)>,
    machine: String,
    complete: bool,
}

/// A page with its slots filled.
#[derive(Debug, Default, PartialEq)]
struct Filled {
    text: String,
    /// How many slots were filled.
    n: u64,
    /// Names of slots without results.
    empty: Vec<String>,
    /// Names of results without a slot.
    unused: Vec<String>,
}

impl Filled {
    /// How many slots were filled, and what was not.
    fn summary(&self) -> String {
        let mut text = format!("{} filled\n", count(self.n, "slot"));
        for (what, names) in [("slots without results", &self.empty), ("results without a slot", &self.unused)] {
            if !names.is_empty() {
                text += &format!("  {what}: {}\n", names.join(", "));
            }
        }
        text
    }
}

/// Fills the slots of a page.
fn fill(page: &str, found: &BTreeMap<String, Vec<String>>) -> Result<Filled> {
    let mut filled = Filled::default();
    let mut used = BTreeSet::new();
    let mut lines = (1_usize..).zip(page.lines());
    while let Some((number, line)) = lines.next() {
        anyhow::ensure!(line != END, "line {number}: {END} without the line that begins the slot");
        filled.text += line;
        filled.text.push('\n');
        let name = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        let Some(name) = name.filter(|_| line != END) else { continue };
        // Another slot before the end: what is between them would be lost.
        let mut old = String::new();
        let next = lines.by_ref().map(|(_, line)| line).find(|line| {
            let ends = line.starts_with("<!-- ");
            if !ends {
                old += &format!("{line}\n");
            }
            ends
        });
        anyhow::ensure!(next == Some(END), "line {number}: {line} has no line {END}");
        match found.get(name) {
            Some(tables) => {
                filled.text += &format!("\n{}\n{END}\n", tables.join("\n"));
                filled.n += 1;
                used.insert(name);
            }
            None => {
                filled.text += &format!("{old}{END}\n");
                filled.empty.push(name.to_string());
            }
        }
    }
    if page.contains("\r\n") {
        filled.text = filled.text.replace('\n', "\r\n");
    }
    filled.unused = found.keys().filter(|name| !used.contains(name.as_str())).cloned().collect();
    Ok(filled)
}

/// Draws the figures of a file of results; what a bench has under one name is one figure.
fn draw_all(text: &str, folder: &Path) -> Result<()> {
    let mut files: BTreeMap<String, Vec<Figure>> = BTreeMap::new();
    match report_of(text)? {
        Some(report) => {
            for figure in report.sheets.into_iter().flat_map(|sheet| sheet.figures) {
                files.insert(figure.file.clone(), vec![figure]);
            }
        }
        None => {
            for of_table in figures_of(&lines_of(text)?)? {
                files.entry(of_table.figure.file.clone()).or_default().push(of_table.figure);
            }
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("{}: the folder cannot be made", folder.display()))?;
    for (file, figures) in files {
        // The name is the file's, which may be anything.
        let is_name = Path::new(&file).file_name().is_some_and(|name| *name == *file);
        anyhow::ensure!(is_name, "a figure's name is {file:?}, expected one without a folder");
        OutputFile::prepare(&folder.join(format!("{file}.svg")))?.write(&draw::svg(&figures))?;
    }
    Ok(())
}

/// The results of a publication, whole and undamaged; `None` where the file has something else.
fn report_of(text: &str) -> Result<Option<Report>> {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Ok(None) };
    let Some(report) = value.get("report") else { return Ok(None) };
    let report = Report::deserialize(report).context("no results of a publication")?;
    let (schema, kind) = (&value["schema"], &value["kind"]);
    anyhow::ensure!(*schema == SCHEMA, "schema {schema}, expected {SCHEMA}");
    expect_checksum(&value).map_err(anyhow::Error::msg)?;
    anyhow::ensure!(*kind == *report.header.paper, "is of kind {kind}, and its report of {}", report.header.paper);
    // Its times may be of another machine than its header says.
    anyhow::ensure!(report.replayed.is_none(), "of --replay: the page needs the file of the run that was repeated");
    Ok(Some(report))
}

/// Names and texts of a file of results. `figures` is the folder of the page's figures.
fn read(text: &str, figures: &Path) -> Result<Found> {
    if let Some(report) = report_of(text)? {
        for (sheet, table) in
            report.sheets.iter().flat_map(|sheet| sheet.tables.iter().map(move |table| (sheet, table)))
        {
            let n = table.columns.len();
            if let Some((row, cells)) = (1..).zip(&table.rows).find(|(_, cells)| cells.len() != n) {
                let (item, title, found) = (&sheet.item, &table.title, cells.len());
                anyhow::bail!("item {item}, table {title}, row {row}: {found} cells, expected {n}");
            }
        }
        let value: Value = serde_json::from_str(text).context("no JSON")?;
        let line = &without_journal(value.get("command_line").and_then(Value::as_str).unwrap_or_default());
        let Header { device_name, cpu_name, .. } = &report.header;
        return Ok(Found {
            texts: report.sheets.iter().map(|sheet| of_sheet(&report, line, sheet, figures)).collect(),
            machine: format!("{device_name}, {cpu_name}"),
            complete: report.complete,
        });
    }
    of_bench(&lines_of(text)?, figures)
}

/// A command that measures the same anew: without the journal that it went on with, which a reader does not have.
fn without_journal(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    if let Some(at) = words.iter().position(|word| *word == "--resume" || word.starts_with("--resume=")) {
        let n = if words[at] == "--resume" { 2 } else { 1 };
        words.drain(at..words.len().min(at + n));
    }
    words.join(" ")
}

/// The lines of a bench's file.
///
/// # Errors
/// What the file is instead, or the line that is no JSON.
fn lines_of(text: &str) -> Result<Vec<Value>> {
    let expected = "expected the results of a publication or a bench";
    let is_lines = text.lines().next().is_some_and(|line| serde_json::from_str::<Value>(line).is_ok());
    if !is_lines {
        // Readable JSON has an object in many lines.
        let value: Value = match serde_json::from_str(text) {
            Err(_) if input_file::is_cut_off_json(text) => anyhow::bail!("the file is cut off"),
            parsed => parsed.context(format!("no JSON, {expected}"))?,
        };
        anyhow::bail!("is of kind {}, {expected}", value["kind"].as_str().unwrap_or("none"));
    }
    (1..)
        .zip(text.lines())
        .map(|(number, line)| match serde_json::from_str(line) {
            Err(_) if input_file::is_cut_off_json(line) => anyhow::bail!("line {number}: the line is cut off"),
            parsed => parsed.with_context(|| format!("line {number}: no JSON, {expected}")),
        })
        .collect()
}

/// Where and when something was measured.
fn head(command: &str, started: u64, device: &str, cpu: &str, threads: u64) -> String {
    let machine = if device == cpu { String::new() } else { format!("{device}, ") };
    let line = one_line(&format!(
        "`{}`, {}, {machine}{cpu} ({threads} threads):",
        command.replace('`', "'"),
        date::date(started)
    ));
    format!("{line}\n")
}

fn of_sheet(report: &Report, line: &str, sheet: &Sheet, figures: &Path) -> (String, String) {
    let header = &report.header;
    let mut text = head(line, header.started, &header.device_name, &header.cpu_name, header.cpu_threads as u64);
    for table in &sheet.tables {
        text += &format!("\n{}\n\n{}", one_line(&table.title), table.markdown());
    }
    for figure in &sheet.figures {
        text += &shown(&figure.file, &figure.title, figures);
    }
    let left_out = sheet.left_out.iter().map(|what| format!("Left out: {what}"));
    for note in sheet.notes.iter().cloned().chain(left_out) {
        text += &format!("\n{}\n", one_line(&note));
    }
    (format!("{} {}", header.paper, sheet.item), text)
}

/// The line that shows a figure, if it is drawn in the page's folder.
fn shown(file: &str, title: &str, folder: &Path) -> String {
    match folder.file_name() {
        Some(name) if folder.join(format!("{file}.svg")).exists() => {
            format!("\n![{}]({}/{file}.svg)\n", one_line(title), name.display())
        }
        _ => String::new(),
    }
}

/// A figure of a bench, as its line of JSON.
#[derive(Deserialize)]
struct BenchFigure {
    /// The table that it is shown with.
    table: String,
    figure: Figure,
}

fn figures_of(lines: &[Value]) -> Result<Vec<BenchFigure>> {
    let figures = lines.iter().filter(|line| line["section"] == "figure");
    figures.map(|line| BenchFigure::deserialize(line).context("a figure")).collect()
}

/// A table of a bench, as its line of JSON.
#[derive(Deserialize)]
struct BenchTable {
    table: String,
    left: usize,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

/// What ran it.
#[derive(Deserialize)]
struct About {
    package: String,
    bench: String,
    started: u64,
    device_name: String,
    cpu_name: String,
    cpu_threads: u64,
    arguments: String,
}

fn of_bench(lines: &[Value], folder: &Path) -> Result<Found> {
    let section = |name: &'static str| lines.iter().filter(move |line| line["section"] == name);
    let about = section("about").next().context("no line about the machine")?;
    let about = About::deserialize(about).context("the line about the machine")?;
    let command = format!("cargo bench -p {} --bench {} -- {}", about.package, about.bench, about.arguments);
    let head = head(&command, about.started, &about.device_name, &about.cpu_name, about.cpu_threads);
    let figures = figures_of(lines)?;
    let texts = section("table")
        .map(|line| {
            let table = BenchTable::deserialize(line).context("a table")?;
            let mut text = format!("{head}\n");
            let n = table.rows.first().map_or(0, Vec::len);
            for (at, row) in table.rows.iter().enumerate() {
                let mut cells: Vec<String> = row.iter().map(|cell| one_line(cell).replace('|', "\\|")).collect();
                cells.resize(n, String::new());
                text += &format!("| {} |\n", cells.join(" | "));
                if at == 0 {
                    let rule: Vec<&str> = (0..n).map(|at| if at < table.left { "---" } else { "---:" }).collect();
                    text += &format!("| {} |\n", rule.join(" | "));
                }
            }
            let of_table = figures.iter().filter(|figure| figure.table == table.table).map(|figure| &figure.figure);
            let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            of_table.for_each(|figure| files.entry(&figure.file).or_default().push(&figure.title));
            for (file, titles) in files {
                text += &shown(file, &titles.join("; "), folder);
            }
            for note in &table.notes {
                text += &format!("\n{}\n", one_line(note));
            }
            Ok((format!("bench {} {}", about.bench, table.table), text))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Found { texts, machine: format!("{}, {}", about.device_name, about.cpu_name), complete: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use warpplay_papers::experiment::checksum;

    #[test]
    fn a_journal_that_a_reader_does_not_have_is_left_out_of_the_command() {
        for (given, shown) in [
            ("warpplay papers mctsnc --resume j.journal --json a.json", "warpplay papers mctsnc --json a.json"),
            ("warpplay papers mctsnc --resume=j.journal --only speed", "warpplay papers mctsnc --only speed"),
            ("warpplay papers mctsnc --only speed --resume j.journal", "warpplay papers mctsnc --only speed"),
            ("warpplay papers mctsnc --checkpoint j.journal", "warpplay papers mctsnc --checkpoint j.journal"),
        ] {
            assert_eq!(without_journal(given), shown);
        }
    }

    #[test]
    fn slots_are_filled_and_the_rest_stays() {
        let about = json!({"section": "about", "package": "warpplay", "bench": "mcts", "started": 1_763_769_600, "device_name": "NVIDIA H200",
            "cpu_name": "Xeon", "cpu_threads": 16, "arguments": "--only searches"});
        let table = json!({"section": "table", "table": "searches", "title": "SEARCHES", "left": 1, "rows": [["game", "steps/s"], ["a|b", "5"]],
            "notes": ["A note."]});
        let bench = format!("{about}\n{table}\n");
        let found = read(&bench, Path::new("docs/x")).expect("a bench");
        assert!(found.complete && found.machine == "NVIDIA H200, Xeon");
        let found = found.texts;
        let expected = "`cargo bench -p warpplay --bench mcts -- --only searches`, 2025-11-22, NVIDIA H200, Xeon (16 threads):\n\n\
                        | game | steps/s |\n| --- | ---: |\n| a\\|b | 5 |\n\nA note.\n";
        assert_eq!(found, [("bench mcts searches".to_string(), expected.to_string())]);
        let found: BTreeMap<_, _> = found.into_iter().map(|(name, text)| (name, vec![text])).collect();
        let page = "# Page\n\n<!-- bench mcts searches -->\nold\n<!-- end -->\n\n<!-- other -->\nstays\n<!-- end -->\n";
        let filled = fill(page, &found).expect("whole");
        assert_eq!(filled.text, page.replace("old\n", &format!("\n{expected}\n")));
        assert_eq!(filled.summary(), "1 slot filled\n  slots without results: other\n");
        // Filled again it is the same.
        assert_eq!(fill(&filled.text, &found).expect("whole"), filled);
        let cut = "<!-- bench mcts searches -->\nold\n";
        assert!(fill(cut, &found).is_err());
        assert!(read("words", Path::new("docs/x")).is_err());
        // A file of a bench that did not note its package.
        let old = bench.replace("\"package\"", "\"other\"");
        let found = read(&old, Path::new("docs/x")).err().expect("no package");
        assert!(format!("{found:#}").contains("missing field `package`"), "{found:#}");
    }

    #[test]
    fn figures_of_a_bench_are_drawn_under_their_names_and_shown_with_their_tables() {
        let about = json!({"section": "about", "package": "warpplay", "bench": "cfr", "started": 1_763_769_600, "device_name": "a",
            "cpu_name": "a", "cpu_threads": 16, "arguments": ""});
        let figure = |title: &str| {
            json!({"section": "figure", "table": "targets", "figure": {"file": "cfr-targets", "title": title, "x": {"label": "s", "log": true},
                "y": {"label": "%", "log": true}, "chart": {"lines": [{"name": "cpu", "points": [[1.0, 2.0], [10.0, 0.2]], "band": [], "published": false}]}}})
        };
        let table = |name: &str| json!({"section": "table", "table": name, "title": name, "left": 1, "rows": [["a"]], "notes": []});
        let [turn, river] = ["turn", "river"].map(figure);
        let bench = format!("{about}\n{turn}\n{river}\n{}\n{}\n", table("targets"), table("schedules"));
        let folder = tempfile::tempdir().expect("a folder");
        let texts = || read(&bench, &folder.path().join("page")).expect("a bench").texts;
        assert!(texts().iter().all(|(_, text)| !text.contains("!["))); // nothing is drawn yet
        draw_all(&bench, &folder.path().join("page")).expect("drawn");
        let drawn = std::fs::read_to_string(folder.path().join("page/cfr-targets.svg")).expect("a figure");
        assert!(drawn.contains(">Turn</text>") && drawn.contains(">River</text>"));
        let shown = texts();
        assert!(
            shown[0].1.contains("\n![turn; river](page/cfr-targets.svg)\n") && !shown[1].1.contains("!["),
            "{shown:?}"
        );
        let elsewhere = bench.replace("cfr-targets", "../cfr-targets");
        assert!(draw_all(&elsewhere, folder.path()).is_err());
    }

    #[test]
    fn a_slot_without_an_end_takes_no_text_of_the_next() {
        let found = BTreeMap::from([("paper a".to_string(), vec!["new\n".to_string()])]);
        let page = "<!-- paper a -->\nprose that must stay\n<!-- paper b -->\n<!-- end -->\n";
        let refused = fill(page, &found).expect_err("no end").to_string();
        assert_eq!(refused, "line 1: <!-- paper a --> has no line <!-- end -->");
    }

    #[test]
    fn lines_that_begin_or_end_no_slot_are_refused_and_line_ends_stay() {
        let found = BTreeMap::from([("paper a".to_string(), vec!["new\n".to_string()])]);
        let refused = fill("prose\n<!-- end -->\n", &found).expect_err("no beginning").to_string();
        assert_eq!(refused, "line 2: <!-- end --> without the line that begins the slot");
        let filled = fill("prose\r\n<!-- paper a -->\r\nold\r\n<!-- end -->\r\n", &found).expect("whole");
        assert_eq!(filled.text, "prose\r\n<!-- paper a -->\r\n\r\nnew\r\n\r\n<!-- end -->\r\n");
    }

    #[test]
    fn a_row_that_is_too_short_is_named() {
        let table = json!({"title": "times", "columns": [{"name": "a", "digits": null}, {"name": "b", "digits": null}], "rows": [["1", "2"], ["3"]]});
        let sheet = json!({"item": "table1", "title": "t", "location": "l", "tables": [table], "figures": [], "notes": [], "left_out": []});
        let header = json!({"paper": "p", "version": "0", "device": "cpu", "device_name": "d", "cpu_name": "c", "cpu_threads": 1, "quick": true,
            "options": {}, "started": 0});
        let report = json!({"header": header, "complete": true, "seconds": 0.0, "sheets": [sheet], "measurements": {}});
        let mut results = json!({"schema": 2, "kind": "p", "report": report});
        let refused =
            |results: &Value| read(&results.to_string(), Path::new("docs/x")).err().expect("a short row").to_string();
        assert_eq!(refused(&results), "the results have no checksum, as those of older builds");
        results["checksum"] = checksum(&results).expect("an object").into();
        assert_eq!(refused(&results), "item table1, table times, row 2: 1 cells, expected 2");
        results["report"]["seconds"] = json!(0.5);
        assert!(refused(&results).starts_with("the results are damaged: their checksum is "));
    }

    #[test]
    fn results_without_a_slot_are_named() {
        let result = |name: &str| (name.to_string(), vec!["new\n".to_string()]);
        let found = BTreeMap::from(["paper a", "paper b", "paper c"].map(result));
        let filled = fill("<!-- paper b -->\n<!-- end -->\n", &found).expect("whole");
        assert_eq!(filled.summary(), "1 slot filled\n  results without a slot: paper a, paper c\n");
    }
}
