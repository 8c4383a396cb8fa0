//! The pages of the publications have a slot for every result.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use warpplay_tests::{golden, programs};

const PAPERS: [&str; 5] = ["mctsnc", "checkers_conv", "mnist_mlp", "shogi_bonanza", "cfr_thesis"];

/// Without its line in the page, an item is measured and then not shown.
#[test]
fn every_item_has_one_slot_on_its_page() {
    let program = programs::warpplay(env!("CARGO_TARGET_TMPDIR"));
    let pages = golden::workspace().join("docs/papers");
    let mut wrong = Vec::new();
    for paper in PAPERS {
        let output = Command::new(program).args(["papers", paper, "--list"]).output().expect("the program starts");
        assert!(output.status.success(), "{paper}: {}", String::from_utf8_lossy(&output.stderr));
        let listed = String::from_utf8_lossy(&output.stdout);
        let items: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(!items.is_empty(), "{paper} has no items");
        let page = std::fs::read_to_string(pages.join(format!("{paper}.md"))).expect("a page");
        let slots: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.strip_prefix(paper)?.strip_prefix(' '))
            .collect();
        for item in &items {
            let n = slots.iter().filter(|slot| *slot == item).count();
            if n != 1 {
                wrong.push(format!("docs/papers/{paper}.md: {n} lines <!-- {paper} {item} -->, expected 1"));
            }
        }
        let strangers = slots.iter().filter(|slot| !items.contains(slot));
        wrong.extend(strangers.map(|slot| format!("docs/papers/{paper}.md: <!-- {paper} {slot} --> is no item")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A page that is shown has its tables: every slot of the pages of papers, of docs/performance.md and of its appendix holds a result, with the line that says where it comes from.
#[test]
fn no_slot_is_empty() {
    let docs = golden::workspace().join("docs");
    let measured = ["performance.md", "performance-journal.md"].map(str::to_owned);
    let pages = PAPERS.map(|paper| format!("papers/{paper}.md")).into_iter().chain(measured);
    let mut wrong = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(docs.join(&page)).expect("a page");
        let mut slot: Option<(&str, Vec<&str>)> = None;
        for line in text.lines() {
            let comment = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
            match comment {
                Some("end") => {
                    let (name, content) = slot.take().unwrap_or_else(|| panic!("docs/{page}: an end without a slot"));
                    let origin = content.iter().any(|line| line.starts_with('`') && line.contains(", 20"));
                    let result = content.iter().filter(|line| !line.trim().is_empty()).count() > 1;
                    if !(origin && result) {
                        wrong.push(format!("docs/{page}: <!-- {name} --> holds no result"));
                    }
                }
                Some(name) => {
                    if let Some((open, _)) = slot.replace((name, Vec::new())) {
                        wrong.push(format!("docs/{page}: <!-- {open} --> has no end before <!-- {name} -->"));
                    }
                }
                None => {
                    if let Some((_, content)) = &mut slot {
                        content.push(line);
                    }
                }
            }
        }
        wrong.extend(slot.map(|(name, _)| format!("docs/{page}: <!-- {name} --> has no end")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tables that a run without a GPU, or a small one, may find no rows for, by publication, item and a column of theirs.
const NOT_IN_EVERY_RUN: [(&str, &str, &str); 1] = [("mnist_mlp", "rates", "seed")];

/// The columns of a table, numbers in their names replaced: they are sizes, and a small run has others.
fn columns<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let masked = |name: &str| {
        let mut text = String::new();
        for sign in name.trim().chars() {
            let goes_on = text.ends_with('#') && (sign.is_ascii_digit() || sign == '.' || sign == ',');
            match sign {
                _ if goes_on => {}
                '0'..='9' => text.push('#'),
                _ => text.push(sign),
            }
        }
        text
    };
    names.map(masked).collect()
}

/// The columns of all tables in an item's slot.
fn columns_on_the_page(page: &str, paper: &str, item: &str) -> Vec<BTreeSet<String>> {
    let begin = format!("<!-- {paper} {item} -->\n");
    let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("docs/papers/{paper}.md has no {begin}"));
    let lines: Vec<&str> = rest.lines().take_while(|line| *line != "<!-- end -->").collect();
    let of = |head: &str| {
        // A sign of a name that would end the cell is written with a backslash.
        let head = head.replace("\\|", "\0");
        let names: Vec<String> = head.trim_matches('|').split('|').map(|name| name.replace('\0', "|")).collect();
        columns(names.iter().map(String::as_str))
    };
    lines.windows(2).filter(|pair| pair[1].starts_with("| --")).map(|pair| of(pair[0])).collect()
}

/// The tables of a page have the columns that the program writes: who adds one measures the page again. Sheets that leave something out are part of the page's.
pub fn columns_are_those_of_the_page(paper: &str, sheets: &Value) {
    let path = golden::workspace().join("docs/papers").join(format!("{paper}.md"));
    let page = std::fs::read_to_string(path).expect("a page");
    let mut wrong = Vec::new();
    for sheet in sheets.as_array().expect("sheets") {
        let item = sheet["item"].as_str().expect("a name");
        let whole = sheet["left_out"].as_array().expect("a list").is_empty();
        let shown = columns_on_the_page(&page, paper, item);
        let found: Vec<BTreeSet<String>> = sheet["tables"]
            .as_array()
            .expect("tables")
            .iter()
            .map(|table| {
                columns(
                    table["columns"].as_array().expect("columns").iter().filter_map(|column| column["name"].as_str()),
                )
            })
            .collect();
        for table in &found {
            if !shown.iter().any(|head| if whole { head == table } else { head.is_superset(table) }) {
                wrong.push(format!("{paper} {item}: the page has no table with the columns {table:?}"));
            }
        }
        let may_lack = |head: &BTreeSet<String>| {
            NOT_IN_EVERY_RUN.iter().any(|(p, i, column)| (*p, *i) == (paper, item) && head.contains(*column))
        };
        for head in shown.iter().filter(|head| whole && !found.contains(head) && !may_lack(head)) {
            wrong.push(format!("{paper} {item}: the program writes no table with the page's columns {head:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
