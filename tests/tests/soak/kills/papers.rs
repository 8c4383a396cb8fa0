//! Journals, results and pages of publications.

use std::fs;
use std::path::Path;

use serde_json::Value;
use warpplay_tests::programs::Scratch;

use super::{Found, Job, Output, drawing, journal, json, nothing, text};

fn measurements(path: &Path) -> Found {
    let value = json(path)?;
    let all = value.pointer("/report/measurements").and_then(Value::as_object).ok_or("no measurements")?;
    Ok(all.iter().flat_map(|(key, record)| format!("{key} {}\n", record["exact"]).into_bytes()).collect())
}

#[test]
fn mctsnc() {
    Job {
        family: "papers",
        prepare: nothing,
        line: "mctsnc --quick --device cpu --only table2 --steps 1 --games 1 --checkpoint journal --json found.json --plots plots",
        resume: Some((
            "journal",
            "mctsnc --quick --device cpu --only table2 --steps 1 --games 1 --resume journal --json found.json --plots plots",
        )),
        // A journal that is there is gone on with, never replaced.
        old: None,
        leaves: None,
        outputs: &[
            Output { kind: "journal", path: "journal", read: journal },
            Output { kind: "result (JSON)", path: "found.json", read: measurements },
            Output { kind: "figure (SVG)", path: "plots/table2.svg", read: drawing },
        ],
    }
    .kill();
}

/// A page with a slot for a table, and a run that has it.
fn page(scratch: &Scratch) {
    scratch.write("page.md", b"# A page\n\n<!-- mctsnc table2 -->\n<!-- end -->\n");
    scratch.ok("mctsnc --quick --device cpu --only table2 --steps 1 --games 1 --json found.json");
}

#[test]
fn pages() {
    Job {
        family: "papers",
        prepare: page,
        line: "page page.md found.json",
        resume: None,
        old: None,
        leaves: None,
        outputs: &[Output { kind: "page (Markdown)", path: "page.md", read: same_page }],
    }
    .kill();
}

/// The page, whole, without the line of its run, which says the date. Its tables have scores and counts, and no times.
fn same_page(path: &Path) -> Found {
    let page = fs::read_to_string(path).map_err(text)?;
    if !page.starts_with("# A page\n") || !page.ends_with("<!-- end -->\n") {
        return Err("a part of a page".into());
    }
    let lines = page.split_inclusive('\n').filter(|line| !line.starts_with("`warpplay papers "));
    Ok(lines.collect::<String>().into_bytes())
}
