//! `warpplay papers mctsnc`: every item in a quick run, gone on with and repeated; what it refuses.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use warpplay_papers::experiment::checksum;
use warpplay_papers::mctsnc::published::kernels::TABLE_1;
use warpplay_papers::mctsnc::published::printout::MISREAD;
use warpplay_tests::golden;
use warpplay_tests::programs::{self, has};

use crate::slots::columns_are_those_of_the_page;

fn mctsnc(arguments: &[&str]) -> Output {
    let mut program = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
    program.args(["papers", "mctsnc"]).args(arguments).output().expect("the program starts")
}

/// Runs it; it must end well.
fn ok(arguments: &[&str]) -> String {
    let output = mctsnc(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn report(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("written");
    serde_json::from_str::<Value>(&text).expect("JSON")["report"].clone()
}

const QUICK: [&str; 4] = ["--device", "cpu", "--quick", "--quiet"];

/// The sheets of a report by their items.
fn sheet<'a>(report: &'a Value, item: &str) -> &'a Value {
    let sheets = report["sheets"].as_array().expect("a list");
    sheets.iter().find(|sheet| sheet["item"] == item).unwrap_or_else(|| panic!("no sheet {item}"))
}

/// Number of rows of a sheet's table.
fn rows(sheet: &Value, table: usize) -> &Vec<Value> {
    sheet["tables"][table]["rows"].as_array().unwrap_or_else(|| panic!("no table {table} in {sheet}"))
}

/// Names of the columns of a sheet's table.
fn columns(sheet: &Value, table: usize) -> Vec<String> {
    let columns = sheet["tables"][table]["columns"].as_array().expect("columns");
    columns.iter().map(|column| column["name"].as_str().expect("a name").to_string()).collect()
}

/// The column "published" of Fig. 6 has numbers that follow from each other; what the text at hand has otherwise is beside them.
fn published_numbers_of_figure_6_fit_together(figure6: &Value) {
    let row = |name: &str| {
        rows(figure6, 0).iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no row {name} in {figure6}"))
    };
    let published = |name: &str| row(name)[1].as_f64().unwrap_or_else(|| panic!("no number of {name}"));
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert!(near(published("playouts a second"), published("playouts") / published("total, ms") * 1e3));
    assert!(near(published("mean step, ms"), published("loop, ms") / published("steps")));
    let stages = ["mean select, ms", "mean expand, ms", "mean playout, ms", "mean backup, ms"];
    assert!(stages.map(published).iter().sum::<f64>() <= published("mean step, ms"), "parts of the step");
    for misread in MISREAD.iter().filter(|misread| !misread.what.starts_with("n_root")) {
        let as_read = row(misread.what)[2].as_f64().unwrap_or_else(|| panic!("nothing as read of {}", misread.what));
        assert!(near(as_read, misread.as_read), "{misread:?}");
    }
    assert!(row("steps")[2].is_null(), "read as printed");
}

/// One thread and all, of the same searches; thrifty and prodigal are one search there.
fn the_cpu_reference_has_a_rate_for_every_setting(speed: &Value) {
    let (names, rows) = (columns(speed, 1), rows(speed, 1));
    assert_eq!(rows.len(), 8);
    let at = |name: &str| names.iter().position(|of| of == name).unwrap_or_else(|| panic!("no {name} in {names:?}"));
    for threads in ["one thread", "all threads"] {
        for row in rows {
            let rate = |what: &str| row[at(&format!("{what}, {threads}"))].as_f64().expect("a rate");
            assert!(rate("steps/s") > 0.0 && rate("playouts/s") >= rate("steps/s"), "{row}");
        }
        let playouts = at(&format!("playouts/s, {threads}"));
        assert_eq!((&rows[2][playouts], &rows[6][playouts]), (&rows[3][playouts], &rows[7][playouts]), "ACP");
    }
    assert!(rows[0][at("playouts/s, device / all")].is_null(), "the device is the CPU");
}

/// Scores stand between the ends of their intervals.
fn scores_have_intervals(sheet: &Value, score: &str, ends: [&str; 2]) {
    let names = columns(sheet, 0);
    let at = |name: &str| names.iter().position(|of| of == name).unwrap_or_else(|| panic!("no {name} in {names:?}"));
    for row in rows(sheet, 0) {
        let [low, score, high] =
            [ends[0], score, ends[1]].map(|name| row[at(name)].as_f64().unwrap_or_else(|| panic!("{name}: {row}")));
        assert!(low <= score + 1e-9 && score <= high + 1e-9 && low < high, "{row}");
    }
}

/// The bands of Figs. 5 and 7 reach from the value of a move to its bound, the distance enlarged; values and bounds are those of the sample games.
fn bands_reach_from_the_value_to_the_bound(report: &Value, item: &str, game: usize, enlarged: f64) {
    let games = sheet(report, "games");
    let names = columns(games, game);
    let at = |name: &str| names.iter().position(|of| of == name).unwrap_or_else(|| panic!("no {name} in {names:?}"));
    let (mut points, mut widths) = (0, 0.0);
    for line in sheet(report, item)["figures"][0]["chart"]["lines"].as_array().expect("lines") {
        let bands = line["band"].as_array().expect("a band");
        for (point, band) in line["points"].as_array().expect("points").iter().zip(bands) {
            let [number, q, low, high] =
                [&point[0], &point[1], &band[0], &band[1]].map(|value| value.as_f64().expect("a number"));
            let row = &rows(games, game)[number as usize - 1];
            assert!(
                line["name"].as_str().is_some_and(|name| name.starts_with(row[at("player")].as_str().expect("A or B")))
            );
            let [value, bound] = ["q", "ucb"].map(|name| row[at(name)].as_f64().expect("a number"));
            assert_eq!((q, low), (value, value), "{item}, move {number}");
            assert!((high - (value + enlarged * (bound - value))).abs() < 1e-12, "{item}, move {number}: {high}");
            (points, widths) = (points + 1, widths + (bound - value));
        }
    }
    assert!(points > 0 && points <= rows(games, game).len() && widths > 0.0, "{item}: {points} points");
}

#[test]
fn every_item_has_its_tables_and_figures_and_the_run_is_repeated_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (json, plots) = (path("run.json"), path("plots"));
    let (json_name, plots_name) = (json.to_str().expect("UTF-8"), plots.to_str().expect("UTF-8"));
    ok(&[&QUICK[..], &["--games", "1", "--json", json_name, "--plots", plots_name]].concat());
    let measured = report(&json);
    let listed = ok(&["--list"]);
    let items: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(items.len(), 16, "{listed}");
    for item in &items {
        let sheet = sheet(&measured, item);
        has(sheet, &["title", "location", "tables", "figures", "notes", "left_out"]);
        assert!(!rows(sheet, 0).is_empty(), "{item}");
    }
    columns_are_those_of_the_page("mctsnc", &measured["sheets"]);
    assert_eq!(rows(sheet(&measured, "table1"), 0).len(), 20, "the kernels");
    assert_eq!(rows(sheet(&measured, "figure3"), 0).len(), 16, "four variants, two m, two T");
    for table in ["table2", "table3"] {
        assert_eq!(rows(sheet(&measured, table), 0).len(), 20, "five players, each against four");
        assert_eq!(rows(sheet(&measured, table), 1).len(), 5);
    }
    let speed = sheet(&measured, "speed");
    assert_eq!(rows(speed, 0).len(), 8, "two games, four variants");
    the_cpu_reference_has_a_rate_for_every_setting(speed);
    assert_eq!(rows(sheet(&measured, "claims"), 1).len(), 8, "claims in words");
    assert_eq!(rows(sheet(&measured, "claims"), 2).len(), 8, "four variants, m and T");
    assert_eq!(rows(sheet(&measured, "tableC4"), 0).len(), 14);
    for figure in
        ["figure3_acp_prodigal", "figure4", "figure5", "figure5_depth", "table2", "figure7", "bounds", "question1"]
    {
        assert!(plots.join(format!("{figure}.svg")).is_file(), "{figure}");
    }
    let figure6 = sheet(&measured, "figure6");
    published_numbers_of_figure_6_fit_together(figure6);
    assert_eq!(rows(figure6, 1).len(), MISREAD.len());
    // The rules of question 3 speak of blocks, which a CPU does not have.
    let notes = sheet(&measured, "question3")["notes"].to_string();
    assert_eq!((notes.matches("no game decides it").count(), notes.contains("right for")), (2, false), "{notes}");
    for table in ["table2", "table3"] {
        let table = sheet(&measured, table);
        for (score, ends) in [
            ("published", ["low", "high"]),
            ("ours, time", ["low, time", "high, time"]),
            ("ours, steps", ["low, steps", "high, steps"]),
        ] {
            scores_have_intervals(table, score, ends);
        }
    }
    for item in ["figure3", "question1", "question2"] {
        scores_have_intervals(sheet(&measured, item), "score, %", ["low", "high"]);
    }
    scores_have_intervals(sheet(&measured, "question3"), "score of ACP, %", ["low", "high"]);
    bands_reach_from_the_value_to_the_bound(&measured, "figure5", 0, 1.0);
    bands_reach_from_the_value_to_the_bound(&measured, "figure7", 1, 25.0);
    // Searches that time ended, here after a step or some, are repeated by their steps.
    let again = path("again.json");
    ok(&[&QUICK[..], &["--games", "1", "--replay", json_name, "--json", again.to_str().expect("UTF-8")]].concat());
    let repeated = report(&again);
    for (key, record) in measured["measurements"].as_object().expect("an object") {
        assert_eq!(repeated["measurements"][key]["exact"], record["exact"], "{key}");
    }
    // A changed file is refused, with the measurement and both values.
    let mut changed = serde_json::from_str::<Value>(&std::fs::read_to_string(&json).expect("there")).expect("JSON");
    let search = &mut changed["report"]["measurements"]["Table 2 A-B by time game 1"]["exact"]["moves"][1];
    let wins = search["wins"].as_u64().expect("a number");
    search["wins"] = (wins + 1).into();
    let replay = |changed: &Value| {
        std::fs::write(&json, changed.to_string()).expect("there");
        mctsnc(&[&QUICK[..], &["--games", "1", "--only", "table2", "--replay", json_name]].concat())
    };
    let output = replay(&changed);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the results are damaged: their checksum is "), "{said}");
    // One that a program has changed, with the checksum of what it has now.
    changed["checksum"] = checksum(&changed).expect("an object").into();
    let output = replay(&changed);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let expected = format!("Table 2 A-B by time game 1: moves 1 wins {wins} now, moves 1 wins {} recorded", wins + 1);
    assert!(said.contains(&expected), "{expected}: {said}");
}

#[test]
fn a_tournament_that_was_killed_goes_on_with_the_next_game() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_string();
    let (journal, json) = (path("journal"), path("run.json"));
    let arguments = [&QUICK[..], &["--only", "table2", "--steps", "1", "--games", "1"]].concat();
    ok(&[&arguments[..], &["--checkpoint", &journal, "--json", &json]].concat());
    let whole = report(Path::new(&json));
    // Nothing of it is called equal time.
    let table2 = sheet(&whole, "table2");
    assert!(!columns(table2, 0).iter().any(|name| name.contains("time")), "{table2}");
    let title = table2["tables"][0]["title"].as_str().expect("a title");
    assert!(title.ends_with("ours by equal steps (1 game, 1 step a move)"), "{title}");
    let figure = table2["figures"][0]["title"].as_str().expect("a title");
    assert!(figure.ends_with("by equal steps"), "{figure}");
    // What a kill leaves: the first five games, and half a line.
    let lines: Vec<String> = std::fs::read_to_string(&journal).expect("there").lines().map(String::from).collect();
    assert_eq!(lines.len(), 1 + 10, "a line a game, ten pairs; with --steps there are no games by time");
    std::fs::write(&journal, format!("{}\n{}", lines[..6].join("\n"), &lines[6][..lines[6].len() / 2])).expect("there");
    ok(&[&arguments[..], &["--resume", &journal, "--json", &json]].concat());
    let resumed = report(Path::new(&json));
    for (key, record) in whole["measurements"].as_object().expect("an object") {
        assert_eq!(resumed["measurements"][key]["exact"], record["exact"], "{key}: steps limit these games");
    }
    let kept: Vec<String> = std::fs::read_to_string(&journal).expect("there").lines().map(String::from).collect();
    assert_eq!((kept.len(), &kept[..6]), (lines.len(), &lines[..6]), "what was there was not played again");
}

#[test]
fn the_kernels_of_table_1_are_entries_of_the_module() {
    // Names of ours end in the game's.
    let page = include_str!("../../../gpu/src/mcts/instantiate.rs");
    for kernel in TABLE_1 {
        let name = kernel.ours;
        assert!(page.contains(name), "{name} is no entry of instantiate.rs");
    }
}

#[test]
fn full_trees_are_told_where_they_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("run.json");
    let notes = |item: &str, memory: &str, steps: &str| {
        let sizes = ["--only", item, "--memory", memory, "--steps", steps, "--games", "1"];
        ok(&[&QUICK[..], &sizes, &["--json", json.to_str().expect("UTF-8")]].concat());
        sheet(&report(&json), item)["notes"].to_string()
    };
    let told = notes("table2", "0.00002", "80");
    assert!(told.contains("Trees were full in ") && told.contains("searches: more --memory lets them grow."), "{told}");
    assert!(!notes("table2", "0.01", "80").contains("Trees were full"));
    let told = notes("speed", "0.0005", "20");
    assert!(told.contains("Trees were full in gomoku ocp_thrifty, gomoku ocp_prodigal, gomoku acp_thrifty"), "{told}");
    assert!(!notes("speed", "0.01", "20").contains("Trees were full"));
}

/// The page says of each fault which tests hold it: files from the root of the workspace, behind each the names of its functions.
#[test]
fn what_was_found_wrong_names_tests_that_exist() {
    let page = include_str!("../../../docs/papers/mctsnc.md");
    let (_, faults) = page.split_once("| what | evidence | test |").expect("the table of what was found wrong");
    // Behind the head: the end of its line, and the rule.
    let rows: Vec<&str> = faults.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        let cell = row.trim_end_matches('|').rsplit('|').next().expect("a cell");
        let (mut source, mut tests) = (String::new(), 0);
        for name in cell.split('`').skip(1).step_by(2) {
            if name.ends_with(".rs") {
                source =
                    std::fs::read_to_string(golden::workspace().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
            } else {
                assert!(source.contains(&format!("fn {name}(")), "no test {name}: {row}");
                tests += 1;
            }
        }
        assert!(tests > 0, "no test is named: {row}");
    }
}

#[test]
fn a_wrong_option_is_named() {
    for (wrong, said) in [
        (&["--seconds", "-1"][..], "option seconds: -1"),
        (&["--vanilla-seconds", "0"], "option vanilla-seconds: 0"),
        (&["--games", "0"], "option games: 0"),
        (&["--memory", "0"], "option memory: 0"),
        (&["--only", "table9"], "option only: table9"),
        (&["--full", "--quick"], "--quick"),
    ] {
        let output = mctsnc(&[&["--device", "cpu"], wrong].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {stderr}");
        assert!(stderr.contains(said), "{wrong:?}: {stderr}");
    }
}
