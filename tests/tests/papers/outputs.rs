//! What `warpplay papers` writes, and what keeps it from being written.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use warpplay_tests::folder::Folder;
use warpplay_tests::programs;

/// Runs an item that takes no time, with these words more.
fn run(folder: &Path, words: &[&OsStr]) -> Output {
    let mut command = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
    command.current_dir(folder).args(["papers", "mnist_mlp", "--quick", "--device", "cpu"]).args(words);
    command.stdin(Stdio::null()).output().expect("the program starts")
}

fn words(line: &str) -> Vec<&OsStr> {
    line.split_whitespace().map(OsStr::new).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_path_that_is_no_text_is_written_with_signs_of_replacement() {
    let folder = Folder::new();
    let name = OsStr::from_bytes(b"found\xff.json");
    let output = run(folder.folder(), &[words("--only arithmetic --json"), vec![name]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let found = fs::read(folder.folder().join(name)).expect("written");
    let found: Value = serde_json::from_slice(&found).expect("JSON");
    let line = found["command_line"].as_str().expect("a line");
    assert!(line.ends_with("--json found\u{fffd}.json"), "{line}");
}

/// A plot would replace the file, or the file the plot.
#[test]
fn a_name_that_a_plot_may_have_is_refused_before_the_work() {
    let folder = Folder::new();
    fs::create_dir(folder.path("plots")).expect("a folder");
    for line in [
        "--plots plots --json plots/main-losses.svg",
        "--plots plots --checkpoint plots/main-losses.svg",
        "--plots one.svg --json one.svg",
    ] {
        let output = run(folder.folder(), &words(&format!("--only main {line}")));
        assert_eq!(output.status.code(), Some(2), "{line}: {}", said(&output));
        assert!(said(&output).contains("--plots"), "{line}: {}", said(&output));
    }
    assert_eq!(fs::read_dir(folder.path("plots")).expect("a folder").count(), 0);
    let output = run(folder.folder(), &words("--only arithmetic --plots plots --json plots/found.json"));
    assert!(output.status.success(), "{}", said(&output));
}

/// What was measured is written; the error is told at the end.
#[test]
fn a_plot_that_cannot_be_drawn_costs_no_result() {
    let folder = Folder::new();
    // A folder in the plot's way.
    fs::create_dir_all(folder.path("plots/batch-time.svg")).expect("a folder");
    let line = "--only batch,arithmetic --drawn 64 --drawn-test 32 --epochs 1 --plots plots --json found.json";
    let output = run(folder.folder(), &words(line));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("batch-time.svg"), "{}", said(&output));
    let found = folder.json("found.json");
    assert_eq!(found["report"]["complete"], true);
    assert_eq!(found["report"]["sheets"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_reader_that_leaves_costs_no_result() {
    let folder = Folder::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
    command.current_dir(folder.folder()).args(words("papers mnist_mlp --quick --device cpu --only arithmetic,work"));
    command.args(["--json", "found.json"]).stdin(Stdio::null()).stdout(writer);
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(folder.json("found.json")["report"]["sheets"].as_array().map(Vec::len), Some(2));
}
