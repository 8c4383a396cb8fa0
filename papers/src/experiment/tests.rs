//! Runs that are cut off, gone on with and repeated.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::json;
use warpplay::Device;

use super::{Cell, Header, Item, Journal, Paper, Report, Run, Sheet, Step, Stop, Table, measure};

/// A publication that counts its measurements.
struct Counted {
    offset: u32,
}

impl Paper for Counted {
    fn name(&self) -> &'static str {
        "counted"
    }

    fn items(&self) -> &'static [Item] {
        const { &[Item::new("table1", "squares", "Table 1"), Item::new("table2", "cubes", "Table 2")] }
    }

    fn options(&self) -> warpplay::Result<serde_json::Value> {
        Ok(json!({ "unit": "one" }))
    }

    fn sheet(&self, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
        let mut table = Table::new(item.title).column("n").column("power");
        run.expect(3);
        for n in 1..=3u32 {
            let power = if item.name == "table1" { n * n } else { n * n * n };
            let key = format!("{} {n}", item.name);
            let (power, _) = run.both(&key, |_| Ok((power + self.offset, 0.25)))?;
            table.row([Cell::from(n), power.into()]);
        }
        Ok(Sheet::new(item).table(table))
    }
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("warpplay-experiment-{}-{name}", std::process::id()))
}

fn header(paper: &Counted) -> Header {
    Header::new(paper.name(), paper.options().expect("allowed"), &Device::cpu(), true)
}

/// Measures all items; the watcher ends the run before the measurement `end`. Also how many measurements were begun.
fn run(paper: &Counted, journal: Journal, end: u64) -> (Result<Report, Stop>, u64) {
    let mut begun = 0;
    let mut watch = |step: &Step<'_>| {
        begun += 1;
        if step.done == end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let run = Run::new(Device::cpu(), true, journal, &mut watch);
    let report = measure(paper, paper.items(), run, |_| ControlFlow::Continue(()));
    (report, begun)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("there")
}

#[test]
fn a_run_that_was_cut_off_goes_on_where_it_ended() {
    let (paper, file) = (Counted { offset: 0 }, path("resume"));
    let whole = run(&paper, Journal::in_memory(), u64::MAX).0.expect("measured");
    assert!(whole.complete && whole.measurements.len() == 6);
    let journal = Journal::create(&file, header(&paper)).expect("new");
    // A second writer is refused while the first is there, and a file that is there is not written over.
    let second = Journal::resume(&file, &header(&paper)).expect_err("locked").to_string();
    assert!(second.contains("used by another process"), "{second}");
    let over = Journal::create(&file, header(&paper)).expect_err("there").to_string();
    assert!(over.contains("is there already"), "{over}");
    let part = run(&paper, journal, 4).0.expect("the first item");
    assert!(!part.complete && part.sheets.len() == 1 && part.measurements.len() == 4);
    // A kill in the middle of a line.
    let kept = text(&file);
    fs::write(&file, format!("{kept}{{\"key\":\"table2 2\",\"ex")).expect("written");
    // Measured again it would be another value: what is in the journal counts.
    let journal = Journal::resume(&file, &header(&paper)).expect("gone on with");
    assert_eq!((journal.records().len(), text(&file)), (4, kept));
    let rest = run(&paper, journal, u64::MAX).0.expect("the rest");
    assert_eq!((rest.complete, &rest.sheets, &rest.measurements), (true, &whole.sheets, &whole.measurements));
    assert_eq!(text(&file).lines().count(), 7);
    let other = Header { options: json!({ "unit": "two" }), ..header(&paper) };
    let refused = Journal::resume(&file, &other).expect_err("other options").to_string();
    assert!(refused.contains("option unit \"one\", and this run has \"two\""), "{refused}");
    fs::remove_file(&file).expect("there");
}

#[test]
fn a_replay_finds_what_is_not_the_same() {
    let (paper, file) = (Counted { offset: 0 }, path("replay"));
    let whole = run(&paper, Journal::create(&file, header(&paper)).expect("new"), u64::MAX).0.expect("measured");
    let json = path("replay.json");
    fs::write(&json, serde_json::to_string(&json!({ "report": whole })).expect("JSON")).expect("written");
    for file in [&file, &json] {
        for (offset, differs) in [(0, false), (1, true)] {
            let paper = Counted { offset };
            let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
            let replay = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch)
                .replay(Journal::read(file).expect("a journal"), &header(&paper))
                .expect("of the same options");
            let found = measure(&paper, paper.items(), replay, |_| ControlFlow::Continue(()));
            match found {
                Ok(report) => assert!(!differs && report.sheets == whole.sheets),
                Err(stop) => assert_eq!((differs, stop.to_string().as_str()), (true, "table1 1: 2 now, 1 recorded")),
            }
        }
    }
    for file in [file, json] {
        fs::remove_file(file).expect("there");
    }
}

#[test]
fn what_is_no_journal_is_named() {
    let file = path("wrong");
    let header = header(&Counted { offset: 0 });
    for (content, reason) in [("", "empty"), ("{}\n", "missing field"), ("words\n", "expected value")] {
        fs::write(&file, content).expect("written");
        let found = Journal::resume(&file, &header).expect_err("no journal").to_string();
        assert!(found.contains(reason), "{found}");
    }
    let line = serde_json::to_string(&json!({ "schema": 9, "kind": "journal", "header": header })).expect("JSON");
    fs::write(&file, line + "\n").expect("written");
    let found = Journal::resume(&file, &header).expect_err("another schema").to_string();
    assert!(found.contains("schema 9"), "{found}");
    fs::remove_file(&file).expect("there");
}

#[test]
fn a_value_that_cannot_be_kept_is_an_error() {
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let mut run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
    let found = run.exact("mean", |_| Ok(f64::NAN)).expect_err("no JSON").to_string();
    assert!(found.starts_with("mean: cannot be kept"), "{found}");
    assert!(run.journal().records().is_empty());
}
