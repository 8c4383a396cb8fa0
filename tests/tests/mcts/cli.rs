//! The program `mcts` as others use it: its JSON, its exit codes, its one-line errors, and what it never does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use warpplay::mcts::Variant;
use warpplay::mcts::contest::wilson_percent;
use warpplay_tests::backends::kernel_devices;
use warpplay_tests::journals::{Journaled, refused_without_journal, resealed};
use warpplay_tests::programs::{self, has};

/// The program `warpplay`.
fn program() -> &'static Path {
    programs::warpplay(env!("CARGO_TARGET_TMPDIR"))
}

fn mcts(arguments: &[&str]) -> Output {
    Command::new(program()).arg("mcts").args(arguments).output().expect("the program starts")
}

/// Runs it; it must end well.
fn ok(arguments: &[&str]) -> String {
    let output = mcts(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs it; it must end with this code, and say why on one line of stderr if the code is 1. Returns what it says.
fn fails(code: i32, arguments: &[&str]) -> String {
    let output = mcts(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    assert!(!stderr.trim().is_empty(), "{arguments:?}");
    assert!(code != 1 || stderr.trim_end().lines().count() == 1, "{arguments:?}: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap_or_else(|| panic!("{value} is no object")).keys().map(String::as_str).collect()
}

fn path<'a>(folder: &tempfile::TempDir, name: &str, kept: &'a mut PathBuf) -> &'a str {
    *kept = folder.path().join(name);
    kept.to_str().expect("a path in UTF-8")
}

#[test]
fn numbers_that_are_refused_say_what_is_allowed() {
    for (option, value, allowed) in [
        ("--seed", "-1", "a whole number of at most 64 bits, 0 or more"),
        ("--trees", "1.5", "a whole number of at most 32 bits, 0 or more"),
        ("--trees", "4294967296", "a whole number of at most 32 bits, 0 or more"),
        ("--seconds", "soon", "a number"),
    ] {
        let said = fails(2, &["analyse", "--game", "connect4", option, value]);
        assert!(said.contains(&format!("'{value}' for '{option} <")) && said.contains(allowed), "{said}");
    }
}

/// A disk that is full when a script keeps the help.
#[cfg(target_os = "linux")]
#[test]
fn a_help_that_cannot_be_written_is_an_error() {
    for words in [&["--help"][..], &["--version"], &["mcts", "analyse", "--help"]] {
        let full = std::fs::File::create("/dev/full").expect("Linux has it");
        let output = Command::new(program()).args(words).stdout(full).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{words:?}: {said}");
        assert!(said.starts_with("error: stdout: No space left"), "{said}");
    }
}

const SMALL: [&str; 6] = ["--trees", "2", "--playouts", "4", "--steps", "6"];

/// `analyse` with these arguments, small, written to `file`.
fn analysed(file: &str, arguments: &[&str]) -> Value {
    ok(&[&["analyse"], arguments, &SMALL, &["--json", file]].concat());
    json(Path::new(file))["report"].clone()
}

#[test]
fn the_json_of_analyse_has_the_fields_that_others_rely_on() {
    const ACTION: [&str; 9] = ["index", "name", "n_root", "n", "wins", "draws", "q", "ucb", "win_flag"];
    let folder = tempfile::tempdir().expect("a folder");
    let mut kept = PathBuf::new();
    let file = path(&folder, "found.json", &mut kept);
    let arguments = "analyse --game connect4 --moves 4453 --variant acp_prodigal --trees 8 --playouts 128 --steps 20 --seconds 60 --seed 0 --ucb-c 2.0 --device cpu --json";
    ok(&[&arguments.split(' ').collect::<Vec<_>>()[..], &[file]].concat());
    let written = json(Path::new(file));
    has(&written, &["schema", "kind", "program", "version", "report"]);
    let found = &written["report"];
    has(found, &["schema", "game", "moves", "options", "device", "seed", "best", "actions", "performance"]);
    assert_eq!((&found["schema"], &found["game"], &found["moves"]), (&2.into(), &"connect4".into(), &"4453".into()));
    assert_eq!((&found["device"], &found["seed"]), (&"cpu".into(), &0.into()));
    has(
        &found["options"],
        &["variant", "n_trees", "n_playouts", "steps", "seconds", "ucb_c", "draw_value", "device_memory_gb", "seed"],
    );
    assert_eq!(found["options"]["variant"], "acp_prodigal");
    has(&found["best"], &ACTION);
    let actions = found["actions"].as_array().expect("a list");
    assert_eq!(actions.len(), 7);
    for (index, action) in actions.iter().enumerate() {
        assert_eq!(keys(action), BTreeSet::from(ACTION));
        assert_eq!(
            (&action["index"], &action["name"]),
            (&index.into(), &(index + 1).to_string().into()),
            "index counts from 0"
        );
        assert!(action["q"].is_f64() && action["ucb"].is_f64() && action["win_flag"].is_boolean());
    }
    assert!(actions.contains(&found["best"]));
    let performance = &found["performance"];
    has(performance, &["steps", "steps_per_second", "playouts", "playouts_per_second", "ms", "trees"]);
    assert_eq!(performance["steps"], 20);
    has(
        &performance["ms"],
        &[
            "total",
            "loop",
            "mean_select",
            "mean_expand",
            "mean_playout",
            "mean_backup",
            "reduce_over_trees",
            "reduce_over_actions",
        ],
    );
    has(&performance["trees"], &["count", "mean_depth", "max_depth", "mean_size", "max_size", "full", "refused"]);
    assert_eq!(performance["playouts"], found["best"]["n_root"]);
    // 8 trees, 128 playouts of seven children: terminal ones count too.
    assert_eq!(performance["playouts"].as_u64(), actions.iter().map(|action| action["n"].as_u64()).sum());
}

#[test]
fn statistics_are_identical_on_every_back_end_for_all_variants_and_games() {
    let folder = tempfile::tempdir().expect("a folder");
    let devices: Vec<String> =
        kernel_devices().iter().map(|device| device.backend().to_string()).chain(["cpu".to_string()]).collect();
    for (game, moves) in [("connect4", "4453"), ("gomoku", "h8i9g7"), ("hex", "f6e7")] {
        for &variant in Variant::ALL {
            let variant = variant.to_string();
            let mut found = Vec::new();
            for device in &devices {
                let mut kept = PathBuf::new();
                let file = path(&folder, "found.json", &mut kept);
                let arguments =
                    ["--game", game, "--moves", moves, "--variant", &variant, "--device", device, "--seed", "7"];
                let json = analysed(file, &arguments);
                assert_eq!(json["device"], device.as_str());
                let trees = json["performance"]["trees"].clone();
                found.push((
                    json["best"].clone(),
                    json["actions"].clone(),
                    trees,
                    json["performance"]["playouts"].clone(),
                ));
            }
            assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{variant} of {game} on {devices:?}: {found:#?}");
        }
    }
}

#[test]
fn wrong_use_ends_with_2_and_everything_else_with_1() {
    let analyse = |more: &[&'static str]| [&["analyse", "--device", "cpu"], more].concat();
    for wrong in [
        &["--variant", "acp"][..],
        &["--trees", "0"],
        &["--trees", "513"],
        &["--playouts", "100"],
        &["--playouts", "many"],
        &["--steps", "0"],
        &["--seconds", "0"],
        &["--seconds", "-1"],
        &["--ucb-c", "-1"],
        &["--draw-value", "2"],
        &["--game", "chess"],
        &["--memory", "0"],
        &["--threads", "0"],
        &["--nonsense"],
        &["--device", "gpu"],
    ] {
        // The last device given counts, so the wrong one is given alone.
        let arguments = if wrong[0] == "--device" { [&["analyse"], wrong].concat() } else { analyse(wrong) };
        let said = fails(2, &arguments);
        assert!(said.contains(wrong[0].trim_start_matches('-').split('-').next().unwrap_or("")), "{wrong:?}: {said}");
    }
    fails(2, &["analyse", "--moves", "44", "--moves-file", "nowhere.txt"]);
    fails(2, &["guess"]);
    fails(2, &[]);
    ok(&["--help"]);
    ok(&["analyse", "--help"]);

    let moves = |game: &'static str, moves: &'static str| fails(1, &analyse(&["--game", game, "--moves", moves]));
    assert!(moves("connect4", "1111111").contains("move 7 (`1`) is illegal"));
    assert!(moves("connect4", "44x").contains("character 3: `x` is not a move"));
    assert!(moves("connect4", "41424344").contains("move 8 (`4`) comes after the end of the game"));
    assert!(moves("connect4", "4142434").contains("is finished"));
    assert!(moves("gomoku", "h16").contains("`h16` is not a move"));
    assert!(moves("hex", "a1a1").contains("move 2 (`a1`) is illegal"));
    assert!(fails(1, &["analyse", "--device", "cuda:4096"]).contains("no CUDA device"));
    assert!(fails(1, &["replay", "/nowhere/found.json"]).contains("/nowhere/found.json"));
    assert!(
        fails(1, &["replay", "/dev/zero"]).contains("/dev/zero: cannot be read: it is a folder, a device or a pipe")
    );
    assert!(fails(1, &analyse(&["--steps", "1", "--json", "/nowhere/found.json"])).contains("/nowhere/found.json"));
    assert!(fails(1, &analyse(&["--moves-file", "/nowhere/moves.txt"])).contains("/nowhere/moves.txt"));
}

#[test]
fn a_file_of_moves_gives_one_line_of_json_a_position() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut kept, mut kept_json) = (PathBuf::new(), PathBuf::new());
    let (moves, found) = (path(&folder, "moves.txt", &mut kept), path(&folder, "found.jsonl", &mut kept_json));
    std::fs::write(moves, "# comment\n4453\n\n44\n").expect("a folder");
    let arguments = [&["analyse", "--device", "cpu", "--moves-file", moves], &SMALL[..]].concat();
    let stdout = ok(&arguments);
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect();
    let of_lines: Vec<_> = lines.iter().map(|line| line["report"]["moves"].as_str().unwrap_or("?")).collect();
    assert_eq!(of_lines, ["4453", "", "44"]);
    ok(&[&arguments[..], &["--json", found]].concat());
    let written = std::fs::read_to_string(found).expect("written");
    assert_eq!(written.lines().count(), 3);
    for (line, printed) in written.lines().zip(&lines) {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["report"]["actions"], printed["report"]["actions"]);
    }
    // A wrong line is named, before anything is searched.
    std::fs::write(moves, "4453\n\n48\n").expect("a folder");
    let said = fails(1, &arguments);
    assert!(said.contains("moves.txt, line 3") && said.contains("`8` is not a move"), "{said}");
    assert!(mcts(&arguments).stdout.is_empty());
    let before = std::fs::read_to_string(found).expect("there");
    fails(1, &[&arguments[..], &["--json", found]].concat());
    assert_eq!(std::fs::read_to_string(found).expect("there"), before, "nothing is written over");
}

#[test]
fn a_recorded_search_is_repeated_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut kept, mut kept_again, mut kept_too) = (PathBuf::new(), PathBuf::new(), PathBuf::new());
    let (file, again) = (path(&folder, "timed.json", &mut kept), path(&folder, "again.json", &mut kept_again));
    let again_too = path(&folder, "too.json", &mut kept_too);
    // Limited by time: the file records how many steps that were.
    ok(&[
        "analyse",
        "--moves",
        "4453",
        "--device",
        "cpu",
        "--trees",
        "2",
        "--playouts",
        "8",
        "--seconds",
        "0.2",
        "--seed",
        "9",
        "--json",
        file,
    ]);
    let recorded = json(Path::new(file))["report"].clone();
    let said = ok(&["replay", file, "--json", again]);
    assert!(said.starts_with("identical: "), "{said}");
    let repeated = json(Path::new(again))["report"].clone();
    for field in ["best", "actions", "seed", "moves", "game", "options"] {
        assert_eq!(repeated[field], recorded[field], "{field}");
    }
    assert_eq!(repeated["performance"]["steps"], recorded["performance"]["steps"]);
    assert_eq!(repeated["performance"]["trees"], recorded["performance"]["trees"]);

    // On another back end, from a file small enough for it.
    let recorded = analysed(file, &["--game", "hex", "--device", "simt", "--variant", "ocp_thrifty"]);
    assert!(ok(&["replay", file, "--device", "cpu"]).starts_with("identical: "));
    assert_eq!(json(Path::new(file))["report"], recorded, "the file itself is left alone");

    // The report alone is what version 0.1 wrote; both may stand in one file, and what repeated a search can be repeated.
    let lines = format!("{recorded}\n{}\n", json(Path::new(file)));
    std::fs::write(again, lines).expect("a folder");
    assert_eq!(ok(&["replay", again, "--device", "cpu", "--json", again_too]).lines().count(), 2);
    assert_eq!(ok(&["replay", again_too, "--device", "cpu"]).lines().count(), 2);

    // A file that somebody changed: the search differs, and that is an error.
    let text = std::fs::read_to_string(file).expect("there");
    let n = recorded["best"]["wins"].as_u64().expect("a number");
    std::fs::write(file, text.replace(&format!("\"wins\": {n}"), &format!("\"wins\": {}", n + 1))).expect("a folder");
    assert!(fails(1, &["replay", file, "--device", "cpu"]).contains("differs"));
}

#[test]
fn a_truncated_or_foreign_file_is_refused_and_nothing_is_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut kept, mut kept_out) = (PathBuf::new(), PathBuf::new());
    let (file, out) = (path(&folder, "cut.json", &mut kept), path(&folder, "out.json", &mut kept_out));
    analysed(file, &["--device", "cpu"]);
    let whole = std::fs::read_to_string(file).expect("there");
    let wrong = [
        (&whole[..whole.len() / 2], "cut.json, line "),
        (&whole[..whole.len() - 3], "cut off"),
        ("", "the file is empty"),
        ("{}", "cut.json, line 1"),
        ("not json", "cut.json, line 1"),
        (&whole.replace("\"schema\": 2", "\"schema\": 99"), "field schema: 99"),
        (&whole.replace("\"connect4\"", "\"chess\""), "field game: chess"),
        (&whole.replace("\"n_trees\": 2", "\"n_trees\": 0"), "option n_trees: 0 is not allowed (1 to 512)"),
        (&whole.replace("\"moves\": \"\"", "\"moves\": \"9\""), "field moves"),
    ];
    for (text, expected) in wrong {
        std::fs::write(file, text).expect("a folder");
        std::fs::write(out, "what was there").expect("a folder");
        let said = fails(1, &["replay", file, "--json", out]);
        assert!(said.contains(expected) && said.contains("cut.json"), "{expected}: {said}");
        assert_eq!(std::fs::read_to_string(out).expect("there"), "what was there");
        assert_eq!(std::fs::read_to_string(file).expect("there"), text);
    }
    // Analyses that fail leave an old result as it was, too.
    for arguments in [&["--moves", "1111111"][..], &["--trees", "0"], &["--device", "cuda:4096"]] {
        let output = mcts(&[&["analyse"], arguments, &["--json", out]].concat());
        assert!(!output.status.success());
        assert_eq!(std::fs::read_to_string(out).expect("there"), "what was there", "{arguments:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 2, "no temporary files are left");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_keeps_the_partial_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut kept = PathBuf::new();
    let file = path(&folder, "partial.json", &mut kept);
    let mut child = Command::new(program())
        .arg("mcts")
        .args(["analyse", "--device", "cpu", "--trees", "2", "--playouts", "8", "--seconds", "60", "--json", file])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    programs::await_handler(&mut child);
    let status = programs::ended_by(&mut child, "INT", std::time::Duration::from_secs(60));
    assert_eq!(status.code(), Some(0));
    let found = json(Path::new(file))["report"].clone();
    assert_eq!(found["stopped_by"], "request");
    assert!(found["performance"]["steps"].as_u64() > Some(0));
    assert!(ok(&["replay", file]).starts_with("identical: "), "a partial result can be repeated");
}

#[test]
fn a_game_can_be_played_to_its_end_from_stdin() {
    use std::io::Write;
    let mut child = Command::new(program())
        .arg("mcts")
        .args(["play", "--game", "connect4", "--device", "cpu", "--trees", "1", "--playouts", "8", "--steps", "5"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A wrong move is asked for again.
    child.stdin.take().expect("piped").write_all(b"9\n4\nquit\n").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains('X') && shown.contains('O'), "{shown}");
}

#[test]
fn a_match_switches_colours_and_gives_scores_in_per_cent() {
    let shown = ok(&[
        "match",
        "--games",
        "2",
        "--a",
        "acp_prodigal,trees=1,playouts=8,steps=5,device=cpu",
        "--b",
        "vanilla,steps=20",
    ]);
    assert!(shown.contains('%'), "{shown}");
}

#[test]
fn a_match_limited_by_time_is_repeated_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut kept, mut kept_again) = (PathBuf::new(), PathBuf::new());
    let (file, again) = (path(&folder, "match.json", &mut kept), path(&folder, "again.json", &mut kept_again));
    let search = "acp_prodigal,trees=2,playouts=4,seconds=0.004,memory=0.01,device=cpu";
    let players = ["--a", search, "--b", "vanilla,seconds=0.003"];
    let shown =
        ok(&[&["match", "--games", "2", "--moves", "44", "--seed", "5", "--json", file], &players[..]].concat());
    let recorded = json(Path::new(file));
    assert!(shown.contains("95 % interval") && !shown.contains("trees were full"), "{shown}");
    for side in ["a", "b"] {
        let percent = recorded[side]["score_percent"].as_f64().expect("two games");
        let interval = wilson_percent(percent, 2).expect("two games");
        assert_eq!(recorded[side]["interval_percent"], serde_json::json!(interval), "{side}: {percent} %");
    }
    let mut steps = BTreeSet::new();
    for (game, first) in recorded["games"].as_array().expect("a list").iter().zip(["a", "b"]) {
        let searches = game["searches"].as_array().expect("a list");
        assert_eq!(game["plies"].as_u64(), Some(searches.len() as u64));
        assert_eq!((&game["first"], &searches[0]["side"]), (&first.into(), &first.into()));
        assert_eq!(game["seconds"].as_array().map(Vec::len), Some(searches.len()));
        for search in searches {
            has(search, &["side", "action", "name", "steps", "playouts", "n", "wins", "draws", "q", "ucb"]);
            has(search, &["mean_depth", "max_depth", "full_trees"]);
            steps.insert(search["steps"].as_u64());
        }
        let names: String = searches.iter().map(|search| search["name"].as_str().expect("a name")).collect();
        assert_eq!(game["moves"].as_str(), Some(&*format!("44{names}")));
    }
    assert!(steps.len() > 1, "time, not steps, ended the searches: {steps:?}");
    let said = ok(&["replay", file, "--json", again]);
    assert!(said.starts_with("identical: "), "{said}");
    let repeated = json(Path::new(again));
    for (new, old) in ["a", "b"].map(|side| (&repeated[side], &recorded[side])) {
        for field in ["player", "options", "wins", "draws", "losses", "mean_steps", "mean_depth", "max_depth"] {
            assert_eq!(new[field], old[field], "{field}");
        }
    }
    for (new, old) in
        repeated["games"].as_array().expect("a list").iter().zip(recorded["games"].as_array().expect("a list"))
    {
        for field in ["moves", "result", "searches"] {
            assert_eq!(new[field], old[field], "{field}");
        }
    }
    // What repeated a match can be repeated, with other threads too.
    ok(&["replay", again, "--threads", "1", "--quiet"]);

    // A file that somebody changed: move and values are named.
    let text = std::fs::read_to_string(file).expect("there");
    let third = &recorded["games"][1]["searches"][2];
    let wins = third["wins"].as_u64().expect("a number");
    let mut changed = recorded.clone();
    changed["games"][1]["searches"][2]["wins"] = (wins + 1).into();
    std::fs::write(file, changed.to_string()).expect("a folder");
    let said = fails(1, &["replay", file, "--quiet"]);
    let expected = format!(
        "match.json, game 2: the repeated game differs in 1 value, first move 3 (B, {}), wins: recorded {}, now {wins}",
        third["name"].as_str().expect("a name"),
        wins + 1
    );
    assert!(said.contains(&expected), "{expected}: {said}");
    // Other steps are another search.
    changed["games"][1]["searches"][2]["wins"] = wins.into();
    changed["games"][0]["searches"][0]["steps"] = (third["steps"].as_u64().expect("a number") + 700).into();
    std::fs::write(file, changed.to_string()).expect("a folder");
    assert!(fails(1, &["replay", file]).contains("game 1: the repeated game differs in"));
    // The games are what they were; what is said of them all is not, or not all of them are there.
    for (field, value, said) in [
        ("/a/wins", 7.into(), "field a.wins: 7 is not what the games come to"),
        ("/b/max_depth", 99.into(), "field b.max_depth: 99 is not what the games come to"),
        ("/n_played", 3.into(), "field n_played: 3 is not the number of games, 2"),
        ("/n_games", 1.into(), "field n_games: 1 is less than the 2 games"),
        ("/seed", 777.into(), "those of seed 777 are"),
        ("/games/1/game", 1.into(), "field games: number 1 after 1"),
        ("/games/0/plies", 1.into(), "and says 1 plies"),
        ("/schema", 99.into(), "field schema: 99 is not known"),
        ("/kind", Value::from("x"), "field kind: x is no match"),
    ] {
        let mut changed = recorded.clone();
        *changed.pointer_mut(field).expect("a field") = value;
        std::fs::write(file, changed.to_string()).expect("a folder");
        let found = fails(1, &["replay", file, "--quiet"]);
        assert!(found.contains(said), "{field}: {found}");
    }
    // Fields that contradict each other, and a file that is cut off.
    changed["games"][0]["moves"] = "4".into();
    std::fs::write(file, changed.to_string()).expect("a folder");
    assert!(fails(1, &["replay", file]).contains("game 1: field moves: 4 is not the game of field searches"));
    std::fs::write(file, &text[..text.len() / 2]).expect("a folder");
    assert!(fails(1, &["replay", file]).contains("cut off"));
}

#[test]
fn a_match_of_kernels_is_repeated_by_the_cpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut kept = PathBuf::new();
    let file = path(&folder, "match.json", &mut kept);
    for device in kernel_devices() {
        // Full trees too: what is refused is the same everywhere.
        let player = |variant: &str| format!("{variant},trees=2,playouts=4,steps=20,memory=0.00002,device={device}");
        let (a, b) = (player("acp_prodigal"), player("ocp_thrifty"));
        let opening = ["--moves", "25777131474464721417456153", "--games", "2", "--seed", "3"];
        ok(&[&["match", "--a", &a, "--b", &b, "--json", file], &opening[..]].concat());
        let recorded = json(Path::new(file));
        assert_eq!(recorded["a"]["device"], device.backend().to_string());
        assert!(recorded["a"]["searches_with_full_trees"].as_u64() > Some(0), "{recorded}");
        let said = ok(&["replay", file, "--device", "cpu"]);
        assert!(said.starts_with("identical: ") && said.contains("repeated on cpu"), "{device}: {said}");
    }
}

#[test]
fn full_trees_are_told_with_a_hint() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut kept = PathBuf::new();
    let file = path(&folder, "full.json", &mut kept);
    let search = ["analyse", "--device", "cpu", "--trees", "2", "--playouts", "2", "--steps", "60", "--json", file];
    let shown = ok(&[&search[..], &["--memory", "0.00004"]].concat());
    let trees = json(Path::new(file))["report"]["performance"]["trees"].clone();
    assert_eq!(trees["full"], 2, "{trees}");
    assert!(trees["refused"].as_u64() > Some(0));
    assert!(shown.contains("2 of 2 trees have no node left") && shown.contains("--memory"), "{shown}");
    assert!(ok(&["replay", file]).starts_with("identical: "));
    // A file that says that no tree was full contradicts the repetition; one of version 1 says nothing of it.
    let mut told = json(Path::new(file));
    told["report"]["performance"]["trees"]["full"] = 0.into();
    told["report"]["performance"]["trees"]["refused"] = 0.into();
    std::fs::write(file, told.to_string()).expect("a folder");
    assert!(fails(1, &["replay", file]).contains("performance.trees.full: recorded 0, now 2"));
    told["report"]["schema"] = 1.into();
    std::fs::write(file, told.to_string()).expect("a folder");
    assert!(ok(&["replay", file]).starts_with("identical: "));
    let shown = ok(&search);
    let trees = json(Path::new(file))["report"]["performance"]["trees"].clone();
    assert_eq!((&trees["full"], &trees["refused"]), (&0.into(), &0.into()));
    assert!(!shown.contains("no node left"), "{shown}");
    let player = |memory: &str| format!("acp_prodigal,trees=2,playouts=2,steps=60,memory={memory},device=cpu");
    let shown = |memory| ok(&["match", "--games", "1", "--a", &player(memory), "--b", "vanilla,steps=5"]);
    let (full, room) = (shown("0.00004"), shown("0.01"));
    let hint = "the option memory= of a player gives its trees more nodes";
    assert!(full.lines().any(|line| line.trim_start().starts_with("full trees") && line.ends_with(hint)), "{full}");
    assert!(!room.contains(hint), "{room}");
}

#[test]
fn the_log_shows_options_and_results_and_with_vv_every_kernel() {
    let said = |verbose: &str, device: &str| {
        let arguments = ["analyse", "--device", device, "--variant", "ocp_thrifty", "--rows", "3", verbose];
        let output = mcts(&[&arguments[..], &SMALL].concat());
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let info = said("-v", "cpu");
    for part in ["tree_capacity", "n_trees: 2", "best", "playouts"] {
        assert!(info.contains(part), "{part} in {info}");
    }
    assert!(!info.contains("DEBUG"), "{info}");
    let debug = said("-vv", "simt");
    for kernel in [
        "mcts_reset_connect4",
        "mcts_select_connect4",
        "mcts_expand_1_ocp_thrifty_connect4",
        "mcts_playout_ocp_connect4",
    ] {
        let line = debug.lines().find(|line| line.contains(kernel)).unwrap_or_else(|| panic!("{kernel} in {debug}"));
        assert!(["grid", "block", "ms"].iter().all(|part| line.contains(part)), "{line}");
    }
}

#[test]
fn an_engine_is_chosen_by_name_and_plots_go_to_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut kept, mut kept_plots) = (PathBuf::new(), PathBuf::new());
    let (file, plots) = (path(&folder, "found.json", &mut kept), path(&folder, "plots", &mut kept_plots));
    for (given, ran) in [("auto", "graph"), ("stage_graph", "stage_graph"), ("stages", "stages")] {
        let found = analysed(file, &["--device", "simt", "--engine", given]);
        assert_eq!((&found["options"]["engine"], &found["engine"]), (&given.into(), &ran.into()));
    }
    assert_eq!(analysed(file, &["--device", "cpu"])["engine"], "cpu");
    let said = fails(2, &[&["analyse", "--device", "cpu", "--engine", "graph"], &SMALL[..]].concat());
    assert!(said.contains("option engine: graph is not allowed (auto, cpu for acp_prodigal on cpu)"), "{said}");
    fails(2, &["analyse", "--engine", "fast"]);
    let player = "acp_prodigal,trees=1,playouts=2,steps=2,engine=stages,device=simt";
    ok(&["match", "--games", "1", "--a", player, "--b", "vanilla,steps=5", "--plots", plots]);
    assert!(Path::new(plots).join("score.svg").is_file());
}

#[test]
fn the_help_names_defaults_and_usual_constants() {
    let help = ok(&["analyse", "--help"]);
    for part in ["0.7071", "1.4142", "acp_prodigal", "[default: 8]", "[default: 128]", "[default: 2"] {
        assert!(help.contains(part), "{part} in {help}");
    }
}

#[test]
fn a_match_that_was_cut_off_goes_on_with_its_journal() {
    let scratch = programs::Scratch::new(program(), "mcts");
    let line = "match --games 4 --seed 1 --moves 44 --a acp_prodigal,trees=1,playouts=4,steps=5,device=cpu --b vanilla,steps=9";
    let other = ("steps=9", "steps=8", "was made with option b.steps 9, and this run has 8");
    let journaled = Journaled { scratch: &scratch, line, other, n_pieces: 4, file: None, repeats: true };
    journaled.check();
    // Two at once come to the same games.
    let two = format!("{line} --parallel 2");
    std::fs::remove_file(scratch.path("journal")).expect("the journal");
    Journaled { line: &two, ..journaled }.check();
    // A move that nobody can make.
    let text = scratch.text("journal");
    let at = text.find("\"action\":").expect("a move") + 9;
    scratch.write("journal", resealed(&format!("{}9{}", &text[..at], &text[at..])).as_bytes());
    let said = scratch.fails(1, &format!("{two} --resume journal"));
    assert!(said.contains("journal: ") && said.contains(": move 1 is illegal"), "{said}");
    // Wins that no sum takes.
    let at = text.find("\"wins\":").expect("a move") + 7;
    let digits = text[at..].find(',').expect("another field");
    let damaged =
        format!("{}{}{}", &text[..at], u64::MAX, &text[at + digits..]).replacen("\"draws\":0", "\"draws\":1", 1);
    scratch.write("journal", resealed(&damaged).as_bytes());
    let said = scratch.fails(1, &format!("{two} --resume journal"));
    assert!(said.contains("journal: ") && said.contains("has 18446744073709551615 wins and "), "{said}");
}

#[test]
fn a_match_that_is_refused_leaves_no_journal() {
    let scratch = programs::Scratch::new(program(), "mcts");
    let small = "acp_prodigal,trees=1,playouts=4,steps=5";
    for (players, told) in [
        (format!("--a {small},engine=graph,device=cpu --b vanilla,steps=9"), "player A"),
        (format!("--a vanilla,steps=9 --b {small},engine=cpu,device=simt"), "player B"),
        (format!("--a {small},device=cpu,threads=0 --b vanilla,steps=9"), "option threads: 0"),
        // As typed, not as it is held.
        (format!("--a {small},ucb_c=2,device=cpu --b vanilla,steps=9,ucb_c=1e60"), "option ucb_c: 1e60 is not"),
    ] {
        refused_without_journal(&scratch, 2, &format!("match --games 2 {players}"), told);
    }
}
