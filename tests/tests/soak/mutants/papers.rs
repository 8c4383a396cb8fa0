//! Journals, results and pages of publications.

use serde_json::json;
use warpplay_papers::checkers_conv::Baseline;
use warpplay_papers::experiment::Journal;
use warpplay_tests::programs::{Scratch, warpplay};

use super::change::Form;
use super::mcts::program;
use super::{Parser, checksums, mutants, seed, text};

const RUN: &str =
    "mctsnc --quick --device cpu --only table2 --steps 1 --games 1 --checkpoint journal --json found.json";

/// A run of a publication: its journal, and its results.
fn run() -> Scratch {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "papers");
    scratch.ok(RUN);
    scratch
}

mutants!(journal, "papers: journal", |_| {
    let scratch = run();
    Parser::new(vec![seed(&scratch.path("journal"))], Form::Text, |path| Journal::read(path).map(drop).map_err(text))
        .repairing(checksums::journal)
});

// A journal is opened to be gone on with.
mutants!(journal_of_a_run, "papers: journal that is gone on with", 20, |_| {
    let scratch = run();
    let words = [
        "papers", "mctsnc", "--quick", "--device", "cpu", "--only", "table2", "--steps", "1", "--games", "1",
        "--resume",
    ];
    Parser::new(vec![seed(&scratch.path("journal"))], Form::Text, move |path| program(&words, path, &["--quiet"]))
        .repairing(checksums::journal)
});

mutants!(results, "papers: results (JSON)", |_| {
    let scratch = run();
    Parser::new(vec![seed(&scratch.path("found.json"))], Form::Text, |path| Journal::read(path).map(drop).map_err(text))
        .repairing(checksums::results)
});

const PAGE: &[u8] = b"# A page\n\nText.\n\n<!-- mctsnc table2 -->\n<!-- end -->\n\nMore.\n";

mutants!(page, "papers: page (Markdown)", 20, |folder| {
    let scratch = run();
    let results = folder.join("found.json");
    let parser = Parser::new(vec![("page.md".into(), PAGE.to_vec())], Form::Text, move |path| {
        program(&["papers", "page"], path, &[results.to_str().expect("UTF-8")])
    });
    parser.beside(vec![seed(&scratch.path("found.json"))])
});

mutants!(results_for_a_page, "papers: results for a page", 20, |folder| {
    let scratch = run();
    let page = folder.join("page.md").display().to_string();
    let parser = Parser::new(vec![seed(&scratch.path("found.json"))], Form::Text, move |path| {
        program(&["papers", "page", &page], path, &[])
    });
    parser.beside(vec![("page.md".to_string(), PAGE.to_vec())]).repairing(checksums::results)
});

mutants!(baseline, "papers: times of another library", |_| {
    let components = json!([{ "name": "Model", "gpu_us": [900.0, 2.0, 4.0], "cpu_us": [800.0, 700.0] }, { "name": "Torso Layer", "gpu_us": [9.0, 1.5], "cpu_us": [] }]);
    let times = json!({ "schema": 1, "library": "torch", "device": "a GPU", "cpu": "a CPU", "threads": 1, "batch": 1, "components": components });
    Parser::new(vec![("times.json".into(), times.to_string().into_bytes())], Form::Text, |path| {
        Baseline::load(path).map(drop).map_err(text)
    })
});
