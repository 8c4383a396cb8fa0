//! The pages of the publications have a slot for every result.

use std::process::Command;

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

/// A page that is shown has its tables: every slot of the pages of papers and of docs/performance.md holds a result, with the line that says where it comes from.
#[test]
fn no_slot_is_empty() {
    let docs = golden::workspace().join("docs");
    let pages = PAPERS.map(|paper| format!("papers/{paper}.md")).into_iter().chain(["performance.md".to_owned()]);
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
