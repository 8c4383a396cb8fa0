//! Files that version 0.1 wrote are read, and what they record is found again, bit for bit.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use warpplay::mcts::{
    Checkers, Connect4, Connect4Large, Engine, KernelSet, Notation, Options, Report, Search, Variant, position_after,
};
use warpplay::{Device, Progress};
use warpplay_example_hex::Hex;
use warpplay_example_lights_out::LightsOut;
use warpplay_tests::backends::kernel_devices;
use warpplay_tests::golden;
use warpplay_tests::invariants::{Found, check_report};
use warpplay_tests::programs;

fn old(file: &str) -> String {
    golden::text(&format!("mcts/v0.1/{file}"))
}

/// Reads the reports of a file.
fn reports(file: &str) -> Vec<Report> {
    let text = old(file);
    let reports = serde_json::Deserializer::from_str(&text).into_iter();
    reports.map(|report| report.unwrap_or_else(|error| panic!("{file}: {error}"))).collect()
}

/// Repeats what a report records, on every back end.
fn repeat<G: KernelSet + Notation>(file: &str, old: &Report) {
    assert_eq!(old.options.engine, Engine::Auto, "{file}: not recorded then");
    let position: G = position_after(&old.moves).unwrap_or_else(|error| panic!("{file}: {error}"));
    let steps = Some(old.performance.steps);
    let options = Options { steps, seconds: None, ..old.options.clone() };
    for device in kernel_devices().into_iter().chain([Device::cpu()]) {
        let builder = Search::<G>::builder().options(options.clone()).action_names(G::action_name).profile_steps(0);
        let report = builder
            .build(&device)
            .and_then(|mut search| search.run(&position, Progress::go_on))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        check_report(&report);
        assert_eq!(Found::from(&report), Found::from(old), "{file} on {device}");
    }
}

#[test]
fn recorded_searches_are_repeated_with_the_same_statistics() {
    for variant in Variant::ALL {
        for device in ["cpu", "simt"] {
            let file = format!("connect4_{variant}_{device}.json");
            for report in reports(&file) {
                assert_eq!((report.options.variant, report.device.as_str()), (*variant, device));
                repeat::<Connect4>(&file, &report);
            }
        }
    }
    for file in ["timed.json", "positions.jsonl"] {
        reports(file).iter().for_each(|report| repeat::<Connect4>(file, report));
    }
    reports("connect4_8x8.json").iter().for_each(|report| repeat::<Connect4Large>("connect4_8x8.json", report));
    reports("checkers.json").iter().for_each(|report| repeat::<Checkers>("checkers.json", report));
    reports("hex.json").iter().for_each(|report| repeat::<Hex>("hex.json", report));
    reports("lights_out.json").iter().for_each(|report| repeat::<LightsOut>("lights_out.json", report));
}

fn mcts(arguments: &[&str]) -> String {
    let mut program = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
    let output = program.arg("mcts").args(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn the_program_replays_old_files() {
    for file in ["connect4_acp_thrifty_cpu.json", "connect4_ocp_prodigal_simt.json", "hex.json", "positions.jsonl"] {
        let path = golden::path(&format!("mcts/v0.1/{file}"));
        let said = mcts(&["replay", path.to_str().expect("a path in UTF-8"), "--device", "cpu"]);
        assert!(said.lines().all(|line| line.starts_with("identical: ")), "{said}");
        assert_eq!(said.lines().count(), reports(file).len());
    }
}

#[test]
fn an_old_match_and_an_old_game_are_played_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("match.json");
    let file = file.to_str().expect("a path in UTF-8");
    let old_match = json(&old("match.json"));
    let player = |side: &str| old_match[side]["player"].as_str().expect("a text").to_string();
    let (a, b, seed) = (player("a"), player("b"), old_match["seed"].to_string());
    mcts(&["match", "--games", "4", "--a", &a, "--b", &b, "--seed", &seed, "--quiet", "--json", file]);
    let new_match = json(&std::fs::read_to_string(Path::new(file)).expect("written"));
    let (new_games, old_games) = (new_match["games"].as_array(), old_match["games"].as_array());
    for (new, old) in new_games.expect("a list").iter().zip(old_games.expect("a list")) {
        for (field, value) in old.as_object().expect("a game") {
            assert_eq!(&new[field], value, "{field}: new files hold more, and the old fields as they were");
        }
    }
    assert_eq!(new_games.map(Vec::len), old_games.map(Vec::len));
    assert_eq!(new_match["a"]["mean_depth"], old_match["a"]["mean_depth"]);

    let game = json(&old("play.json"));
    let options: Options = serde_json::from_value(game["options"].clone()).expect("options of then");
    let moves = game["moves"].as_str().expect("a text");
    let position: Connect4 = position_after(&moves[..1]).expect("legal");
    let search = Search::<Connect4>::builder().options(options).action_names(Connect4::action_name);
    let report = search.build(&Device::cpu()).and_then(|mut search| search.run(&position, Progress::go_on));
    assert_eq!(report.expect("small").best.name, moves[1..]);
}

#[test]
fn an_old_match_is_refused_by_name() {
    let path = golden::path("mcts/v0.1/match.json");
    let mut program = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
    let output = program.args(["mcts", "replay", path.to_str().expect("a path in UTF-8")]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("match.json: field games: the searches of its moves are not recorded"), "{said}");
}
