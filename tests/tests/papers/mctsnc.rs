//! `warpplay papers mctsnc`: its JSON, and what it refuses.

use std::process::{Command, Output};

use serde_json::Value;
use warpplay_tests::programs::{self, has};

fn mctsnc(arguments: &[&str]) -> Output {
    let mut program = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
    program.args(["papers", "mctsnc"]).args(arguments).output().expect("the program starts")
}

#[test]
fn the_published_figures_stand_beside_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mctsnc.json");
    let name = file.to_str().expect("a path in UTF-8");
    let output = mctsnc(&["--device", "cpu", "--seconds", "0.001", "--json", name]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("published") && shown.contains("gomoku"), "{shown}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&file).expect("written")).expect("JSON");
    has(&report, &["device", "device_name", "seed", "options", "seconds", "rows"]);
    let rows = report["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 8, "two games, four variants");
    for row in rows {
        has(&row["published"], &["game", "variant", "n_trees", "n_playouts", "steps", "playouts", "score_percent"]);
        has(&row["ours"], &["engine", "steps_per_second", "playouts_per_second", "mean_depth", "max_depth"]);
    }
}

#[test]
fn a_wrong_option_is_named() {
    let output = mctsnc(&["--device", "cpu", "--seconds", "-1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("option seconds: -1"));
}
