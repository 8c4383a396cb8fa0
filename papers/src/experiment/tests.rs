//! Runs that are cut off, gone on with and repeated.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use warpplay::{Backend, Device};

use super::{
    Cell, Header, Item, Journal, Paper, Record, Replayed, Report, Run, Sheet, Step, Stop, Table, checksum, measure,
};

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

/// A publication whose further measurements are decided by times, and one of whose items needs kernels.
struct Deciding {
    seconds: f64,
}

impl Paper for Deciding {
    fn name(&self) -> &'static str {
        "deciding"
    }

    fn items(&self) -> &'static [Item] {
        const { &[Item::new("times", "what is fast goes on", "Table 1"), Item::new("kernels", "kernels", "Table 2")] }
    }

    fn options(&self) -> warpplay::Result<Value> {
        Ok(json!({}))
    }

    fn sheet(&self, item: &Item, run: &mut Run<'_>) -> Result<Sheet, Stop> {
        let sheet = Sheet::new(item);
        if item.name == "times" {
            let (_, both) = run.both("both", |_| Ok((1_u32, self.seconds)))?;
            let timed = run.timed("timed", |_| Ok(self.seconds))?;
            for (key, seconds) in [("after both", both), ("after timed", timed)] {
                if seconds < 1.0 {
                    run.exact(key, |_| Ok(4_u32))?;
                }
            }
            return Ok(sheet.note(format!("{both} s, {timed} s")));
        }
        if run.device().backend() == Backend::Cpu {
            return Ok(sheet.left_out("needs kernels"));
        }
        for key in ["kernel 1", "kernel 2"] {
            run.exact(key, |_| Ok(8_u32))?;
        }
        Ok(sheet)
    }
}

/// Measures the items of these names, all without a name, or repeats these records.
fn decided(seconds: f64, device: Device, only: &[&str], recorded: Option<&Report>) -> Result<Report, Stop> {
    let paper = Deciding { seconds };
    let is_wanted = |item: &&Item| only.is_empty() || only.contains(&item.name);
    let items: Vec<Item> = paper.items().iter().filter(is_wanted).copied().collect();
    let header = Header::new(paper.name(), paper.options()?, &device, true);
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let mut run = Run::new(device, true, Journal::in_memory(), &mut watch);
    if let Some(report) = recorded {
        let mut journal = Journal::in_memory();
        for (key, record) in &report.measurements {
            journal.insert(key, record.clone())?;
        }
        run = run.replay(journal, &header)?;
    }
    measure(&paper, &items, run, |_| ControlFlow::Continue(()))
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

/// A file of results, as a program that changed them would write it.
fn results(report: &Report, change: &dyn Fn(&mut Value)) -> Value {
    let mut value = json!({ "schema": 2, "report": report });
    change(&mut value);
    value["checksum"] = checksum(&value).expect("an object").into();
    value
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
    assert!(over.contains("exists already"), "{over}");
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
    fs::write(&json, results(&whole, &|_| ()).to_string()).expect("written");
    for (file, items) in [(&file, 0), (&json, 2)] {
        for (offset, differs) in [(0, false), (1, true)] {
            let paper = Counted { offset };
            let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
            let replay = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch)
                .replay(Journal::read(file).expect("a journal"), &header(&paper))
                .expect("of the same options");
            let found = measure(&paper, paper.items(), replay, |_| ControlFlow::Continue(()));
            match found {
                Ok(report) => {
                    assert!(!differs && report.sheets == whole.sheets);
                    assert_eq!(report.replayed, Some(Replayed { repeated: 6, taken: 0, items }));
                }
                Err(stop) => assert_eq!((differs, stop.to_string().as_str()), (true, "table1 1: 2 now, 1 recorded")),
            }
        }
    }
    for file in [file, json] {
        fs::remove_file(file).expect("there");
    }
}

#[test]
fn a_replay_decides_by_the_recorded_times() {
    let whole = decided(0.5, Device::cpu(), &[], None).expect("measured");
    assert_eq!((whole.measurements.len(), whole.replayed), (4, None));
    // Slower than it was, it would leave out what came after: the recorded times count.
    let again = decided(2.0, Device::cpu(), &[], Some(&whole)).expect("the same");
    assert_eq!((&again.sheets, &again.measurements), (&whole.sheets, &whole.measurements));
    assert_eq!(again.replayed, Some(Replayed { repeated: 3, taken: 1, items: 0 }));
    // Faster than it was, it would ask for what was not recorded.
    let slow = decided(2.0, Device::cpu(), &[], None).expect("measured");
    assert_eq!(slow.measurements.len(), 2);
    let again = decided(0.5, Device::cpu(), &[], Some(&slow)).expect("the same");
    assert_eq!(again.replayed, Some(Replayed { repeated: 1, taken: 1, items: 0 }));
}

#[test]
fn a_replay_that_leaves_out_recorded_measurements_fails() {
    let whole = decided(0.5, Device::simt(), &[], None).expect("measured");
    let items: Vec<&str> = whole.measurements.values().map(|record| record.item.as_str()).collect();
    assert_eq!(items, ["times", "times", "times", "kernels", "kernels", "times"], "in the order of the keys");
    let same = decided(0.5, Device::simt(), &[], Some(&whole)).expect("the same");
    assert_eq!(same.replayed, Some(Replayed { repeated: 5, taken: 1, items: 0 }));
    let all: &[&str] = &[];
    for only in [all, &["kernels"]] {
        let stop = decided(0.5, Device::cpu(), only, Some(&whole)).expect_err("without kernels");
        assert!(matches!(&stop, Stop::NotReached { key, n: 2 } if key == "kernel 1"), "{stop}");
    }
    // What is not asked for is not missed.
    let times = decided(0.5, Device::cpu(), &["times"], Some(&whole)).expect("the same");
    assert_eq!(times.replayed, Some(Replayed { repeated: 3, taken: 1, items: 0 }));
    // A file that does not say of which items its measurements are: all items together reach all of them.
    let mut old = whole.clone();
    old.measurements.values_mut().for_each(|record| record.item.clear());
    let stop = decided(0.5, Device::cpu(), &[], Some(&old)).expect_err("without kernels");
    assert!(matches!(&stop, Stop::NotReached { n: 2, .. }), "{stop}");
    assert!(decided(0.5, Device::cpu(), &["times"], Some(&old)).is_ok());
    let again = decided(0.5, Device::simt(), &[], Some(&old)).expect("the same");
    assert_eq!(again.measurements, whole.measurements);
}

#[test]
fn what_differs_a_little_is_compared_by_its_own_rule() {
    let header = header(&Counted { offset: 0 });
    let close = |recorded: &f64, now: &f64| (recorded - now).abs() < 1e-3;
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let mut first = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
    assert_eq!(first.near("sum", |_| Ok(1.5), close).expect("measured"), 1.5);
    let record = first.journal().get("sum").cloned().expect("kept");
    assert_eq!(record, Record { near: json!(1.5), ..Record::default() });
    for (now, differs) in [(1.5001, None), (1.75, Some("sum: 1.75 now, 1.5 recorded"))] {
        let mut recorded = Journal::in_memory();
        recorded.insert("sum", record.clone()).expect("in memory");
        let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
        let run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
        let mut run = run.replay(recorded, &header).expect("of the same options");
        let measured = |measurement: &mut super::Measurement<'_, f64>| {
            assert_eq!(measurement.before, Some(&1.5));
            Ok(now)
        };
        match run.near("sum", measured, close) {
            Ok(value) => assert_eq!((value, differs), (1.5, None), "what is recorded counts"),
            Err(stop) => assert_eq!(Some(stop.to_string().as_str()), differs),
        }
    }
}

#[test]
fn a_journal_of_another_build_is_refused() {
    let (paper, file) = (Counted { offset: 0 }, path("build"));
    let ours = header(&paper);
    let refused = || Journal::resume(&file, &ours).expect_err("another build").to_string();
    let other = Header { build: "other".into(), ..ours.clone() };
    drop(Journal::create(&file, other).expect("new"));
    let said = refused();
    assert!(said.contains(&format!("build other, and this run has {}", ours.build)), "{said}");
    // One that does not say which build measured it.
    fs::remove_file(&file).expect("there");
    drop(Journal::create(&file, Header { build: String::new(), ..ours.clone() }).expect("new"));
    let said = refused();
    assert!(said.contains("build unknown, and this run has"), "{said}");
    // Another build may repeat what this one measured.
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
    assert!(run.replay(Journal::read(&file).expect("a journal"), &ours).is_ok());
    fs::remove_file(&file).expect("there");
}

#[test]
fn what_is_no_journal_is_named() {
    let file = path("wrong");
    let header = header(&Counted { offset: 0 });
    for (content, reason) in [("{}", "missing field"), ("{}\n", "missing field"), ("words\n", "expected a value")] {
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

/// A disk that was full may have cut the first line, or a letter of several bytes.
#[test]
fn a_journal_that_was_cut_anywhere_is_gone_on_with() {
    let (paper, file) = (Counted { offset: 0 }, path("cut"));
    let mut journal = Journal::create(&file, header(&paper)).expect("new");
    journal.insert("first", Record { exact: json!("…"), ..Record::default() }).expect("kept");
    journal.insert("second … third", Record::default()).expect("kept");
    drop(journal);
    let whole = fs::read(&file).expect("there");
    let lines: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] == b'\n').map(|at| at + 1).collect();
    assert_eq!(lines.len(), 3);
    for end in 0..=whole.len() {
        fs::write(&file, &whole[..end]).expect("written");
        let ours = header(&paper);
        let journal = Journal::resume(&file, &ours).unwrap_or_else(|error| panic!("{end} bytes: {error}"));
        let expected = lines.iter().filter(|&&line| line <= end).count().saturating_sub(1);
        assert_eq!(journal.records().len(), expected, "{end} bytes");
        drop(journal);
        assert_eq!(text(&file).lines().count(), expected + 1, "{end} bytes");
    }
    // Nothing of another file is removed.
    fs::write(&file, "words of somebody").expect("written");
    assert!(Journal::resume(&file, &header(&paper)).is_err());
    assert_eq!(text(&file), "words of somebody");
    fs::remove_file(&file).expect("there");
}

#[test]
fn two_results_of_one_measurement_are_told() {
    let (paper, file) = (Counted { offset: 0 }, path("two"));
    let ours = header(&paper);
    let whole = |value: u32| {
        let mut journal = Journal::create(&file, ours.clone()).expect("new");
        journal.insert("n", Record { exact: json!(value), ..Record::default() }).expect("kept");
        drop(journal);
        let whole = text(&file);
        fs::remove_file(&file).expect("there");
        whole
    };
    let (one, two) = (whole(1), whole(2));
    let line = |text: &str| text.lines().nth(1).expect("a record").to_string();
    fs::write(&file, format!("{one}{}\n{}\n", line(&one), line(&two))).expect("written");
    for error in [Journal::read(&file).expect_err("two"), Journal::resume(&file, &header(&paper)).expect_err("two")] {
        let said = error.to_string();
        assert!(said.contains("line 4") && said.contains("n is in line 3 too, with another result"), "{said}");
    }
    fs::remove_file(&file).expect("there");
}

#[test]
fn a_replay_holds_the_tables_of_its_file() {
    let (paper, file) = (Counted { offset: 0 }, path("tables.json"));
    let journal = Journal::create(&path("tables"), header(&paper)).expect("new");
    let whole = run(&paper, journal, u64::MAX).0.expect("measured");
    let replayed = |change: &dyn Fn(&mut Value)| {
        fs::write(&file, results(&whole, change).to_string()).expect("written");
        let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
        let replay = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
        let replay = replay.replay(Journal::read(&file)?, &header(&paper))?;
        measure(&paper, paper.items(), replay, |_| ControlFlow::Continue(()))
    };
    assert_eq!(replayed(&|_| ()).expect("the same").replayed, Some(Replayed { repeated: 6, taken: 0, items: 2 }));
    let cell = "/report/sheets/1/tables/0/rows/2/1";
    let stop = replayed(&|value| *value.pointer_mut(cell).expect("a cell") = json!(28)).expect_err("another cell");
    let said = stop.to_string();
    assert_eq!(said, "item table2: tables 0 rows 2 1 27.0 now, tables 0 rows 2 1 28 recorded");
    let stop = replayed(&|value| value["schema"] = json!(99)).expect_err("another schema").to_string();
    assert!(stop.contains("field schema: 99 is not known"), "{stop}");
    // Another machine's tables tell another machine.
    let elsewhere = |value: &mut Value| {
        value["report"]["header"]["cpu_name"] = json!("another");
        *value.pointer_mut(cell).expect("a cell") = json!(28);
    };
    assert_eq!(replayed(&elsewhere).expect("the same").replayed.map(|replayed| replayed.items), Some(0));
    for file in [file, path("tables")] {
        fs::remove_file(file).expect("there");
    }
}

#[test]
fn a_value_that_cannot_be_kept_is_an_error() {
    let mut watch = |_: &Step<'_>| ControlFlow::Continue(());
    let mut run = Run::new(Device::cpu(), true, Journal::in_memory(), &mut watch);
    let found = run.exact("mean", |_| Ok(f64::NAN)).expect_err("no JSON").to_string();
    assert_eq!(found, "mean: cannot be kept: it holds a value that is not finite (NaN or infinite)");
    let found = run.timed("times", |_| Ok(vec![1.0, f64::INFINITY])).expect_err("no JSON").to_string();
    assert_eq!(found, "times: cannot be kept: it holds a value that is not finite (NaN or infinite)");
    assert!(run.journal().records().is_empty());
}
