//! The commands `warpplay cfr` as others use them: its JSON, its exit codes, its one-line errors, strategies, checkpoints.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use warpplay_tests::backends::gpu;
use warpplay_tests::golden;
use warpplay_tests::journals::{Journaled, refused_without_journal};
use warpplay_tests::programs::{self, Scratch, has};

/// The program `warpplay`.
fn program() -> &'static Path {
    programs::warpplay(env!("CARGO_TARGET_TMPDIR"))
}

/// A folder for runs of the program, with the games that are part of the repository.
fn new_scratch() -> Scratch {
    let scratch = Scratch::new(program(), "cfr");
    for game in ["kuhn.limit.2p", "kuhn.limit.3p", "leduc.limit.2p", "variant_a", "variant_c", "variant_d"] {
        let name = format!("{game}.game");
        fs::write(scratch.path(&name), golden::text(&format!("cfr/games/{name}"))).expect("a file");
    }
    scratch
}

/// Runs the program with this typed; it must end well. Returns what it prints.
#[track_caller]
fn typed(scratch: &Scratch, line: &str, input: &str) -> String {
    let (code, shown, said) = typed_until(scratch, line, input);
    assert_eq!(code, Some(0), "{line}: {said}");
    shown
}

/// The exit status, and what was written to stdout and stderr.
fn typed_until(scratch: &Scratch, line: &str, input: &str) -> (Option<i32>, String, String) {
    let mut command = scratch.command(line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // It may have left before all is read.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn close(found: &Value, expected: f64, tolerance: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found} is no number"));
    assert!((found - expected).abs() <= tolerance, "{found}, expected {expected}");
}

#[test]
fn a_game_is_solved_in_buckets_that_are_kept() {
    let scratch = new_scratch();
    let solve = "solve leduc.limit.2p.game --device cpu --iterations 20 --batch 32 --report none --seed 3";
    typed(
        &scratch,
        &format!(
            "{solve} --abstraction lossless,ehs:3 --save-abstraction buckets --strategy a.strategy --checkpoint a.checkpoint"
        ),
        "",
    );
    typed(&scratch, &format!("{solve} --abstraction buckets --strategy b.strategy"), "");
    let bytes = |name: &str| fs::read(scratch.path(name)).expect("a file");
    assert_eq!(bytes("a.strategy"), bytes("b.strategy"));
    let measured = typed(&scratch, "exploitability a.strategy --device cpu", "");
    assert!(measured.contains("NashConv"), "{measured}");
    let bound = typed(&scratch, "exploitability a.strategy --deals 30 --seed 2 --json bound.json", "");
    assert!(
        bound.contains("a lower bound: exploitability at least") && bound.contains("30 sampled deals, seed 2"),
        "{bound}"
    );
    let bound = scratch.json("bound.json");
    assert_eq!(bound["report"]["sampled"]["deals"], 30);
    assert!(bound["report"]["exploitability_at_least"].is_number(), "{bound}");
    typed(&scratch, "query a.strategy --history cr --hand 4c", "");
    typed(&scratch, "match a.strategy b.strategy --device cpu", "");
    typed(&scratch, "solve --resume a.checkpoint --iterations 30 --report none --device cpu", "");
    typed(&scratch, "solve leduc.limit.2p.game --resume a.checkpoint --iterations 30 --report none --device cpu", "");
    typed(&scratch, "play a.strategy --hands 1", "quit\n");
    for (line, told) in [
        ("solve kuhn.limit.2p.game --resume a.checkpoint", "--resume a.checkpoint: the checkpoint of another game"),
        ("solve leduc.limit.2p.game --abstraction lossless", "option rounds: 1 is not allowed (2, one a betting round"),
        ("solve leduc.limit.2p.game --abstraction lossless,ehs", "option abstraction: 'ehs' is not allowed"),
        (
            "solve leduc.limit.2p.game --abstraction lossless,ehs:2 --batch 33 --device cpu",
            "option batch: 33 is not allowed",
        ),
        (
            "solve leduc.limit.2p.game --abstraction lossless,ehs:2 --algorithm dcfr --sampling chance --device cpu",
            "option algorithm: dcfr",
        ),
        ("exploitability a.strategy --deals 9 --precision f32", "cannot be used with"),
        (
            "solve leduc.limit.2p.game --abstraction buckets --abstraction-runouts 3",
            "--abstraction-runouts: the buckets of buckets are found already",
        ),
        ("solve kuhn.limit.2p.game --abstraction buckets", "option abstraction: 2 suits of 3 ranks"),
        ("solve liars_dice --abstraction lossless", "is not a game of poker"),
        ("solve --resume a.checkpoint --abstraction lossless", "--abstraction"),
    ] {
        let (code, _, said) = typed_until(&scratch, line, "");
        assert_eq!(code, Some(2), "{line}: {said}");
        assert!(said.contains(told), "{line}: {said}");
    }
}

/// The rest of a hand, solved anew from a strategy for the whole game.
#[test]
fn the_rest_of_a_hand_is_solved_anew() {
    let scratch = new_scratch();
    typed(&scratch, "solve leduc.limit.2p.game --device cpu --iterations 20 --report none --strategy a.strategy", "");
    let from = "solve --from a.strategy --history cc/ --board 4c --seat 0 --device cpu";
    typed(
        &scratch,
        &format!(
            "{from} --iterations 20 --report 1,20 --strategy rest.strategy --checkpoint rest.checkpoint --json rest.json"
        ),
        "",
    );
    let trajectory = scratch.json("rest.json")["trajectory"].as_array().cloned().expect("a list");
    assert_eq!(trajectory.len(), 2);
    assert!(trajectory.iter().all(|point| point["nash_conv"].as_f64().is_some_and(|gain| gain >= 0.0)));
    let asked = typed(&scratch, "query rest.strategy --board 4c --hand 4d", "");
    assert!(asked.contains("0:4d:4c:"), "{asked}");
    typed(&scratch, "solve --resume rest.checkpoint --iterations 30 --report none --device cpu", "");
    // Measured again, it is as good as the solve said.
    let measured = typed(&scratch, "exploitability rest.strategy --device cpu --json again.json", "");
    assert!(measured.contains("NashConv") && !measured.contains("seat"), "{measured}");
    let last = trajectory[1]["nash_conv"].as_f64().expect("a number");
    // Strategies are kept in single precision.
    close(&scratch.json("again.json")["report"]["nash_conv"], last, 1e-5);
    for (line, told) in [
        ("solve leduc.limit.2p.game --history cc/ --board 4c --seat 0".to_string(), "--history: only with --from"),
        ("solve --resume rest.checkpoint --history cc/ --seat 0".to_string(), "--history: only with --from"),
        (
            "solve leduc.limit.2p.game --resume rest.checkpoint".to_string(),
            "the checkpoint of a subgame of seat 0 after cc/ on 4c; leave FILE.game out",
        ),
        (
            "query rest.strategy --board 3c".to_string(),
            "option board: '3c' is not allowed (a board that begins with 4c)",
        ),
        ("match rest.strategy rest.strategy --device cpu".to_string(), "a strategy that has all seats"),
        (format!("{from} --abstraction lossless,strength:2"), "cannot be used with"),
        (from.replace("cc/", "rf/"), "'/', but the betting is over"),
        (from.replace("--board 4c", ""), "option board: '' is not allowed (as many cards as are turned up: 1)"),
        ("solve --from a.strategy --board 4c --seat 0".to_string(), "--history"),
        ("solve leduc.limit.2p.game --board 4c".to_string(), "--from"),
        (format!("{from} leduc.limit.2p.game"), "cannot be used with"),
        (from.replace("--seat 0", "--seat 2"), "a.strategy: option seat: 2 is not allowed (0 or 1)"),
        (from.replace("cc/", "xx"), "a.strategy"),
        (format!("{from} --updates simultaneous"), "--from a.strategy: option updates: simultaneous is not allowed"),
    ] {
        let (code, _, said) = typed_until(&scratch, &line, "");
        assert_eq!(code, Some(2), "{line}: {said}");
        assert!(said.contains(told), "{line}: {said}");
    }
}

#[test]
fn info_counts_the_four_games_of_the_source() {
    let scratch = new_scratch();
    for (game, sequences, levels, buckets) in
        [("variant_a", 4, 3, 4), ("variant_c", 21_285, 21, 2_024), ("variant_d", 616_592, 29, 8)]
    {
        let shown = scratch.ok(&format!("info {game}.game --json info.json"));
        let counts = &scratch.json("info.json")["counts"];
        has(counts, &["sequences", "levels", "buckets", "information_sets", "average_sequences_per_level"]);
        assert_eq!((&counts["sequences"], &counts["levels"]), (&json!(sequences), &json!(levels)), "{game}");
        assert_eq!(counts["buckets"], buckets, "{game}");
        assert!(shown.contains("information sets"), "{shown}");
    }
    // The paper's 30 levels of D are printed too.
    assert_eq!(scratch.json("info.json")["counts"]["levels_with_last"], 30);
    scratch.ok("info leduc.limit.2p.game --json info.json --quiet");
    assert_eq!(scratch.json("info.json")["counts"]["information_sets"], 936);
}

#[test]
fn the_json_of_solve_has_the_fields_that_others_rely_on() {
    let scratch = new_scratch();
    // Every flag of the agreed command line.
    let line = "solve leduc.limit.2p.game --algorithm cfr_plus --updates alternating --iterations 100 --report 1,10,100 --device cpu \
                --precision f64 --json run.json --plots run.svg";
    let shown = scratch.ok(line);
    // The memory is said before it is taken.
    assert!(shown.contains("infoset-actions") && shown.contains("of tables"), "{shown}");
    let report = scratch.json("run.json");
    has(
        &report,
        &["schema", "program", "version", "counts", "trajectory", "seconds", "device", "device_name", "report"],
    );
    has(&report["counts"], &["sequences", "levels", "buckets", "information_sets", "average_sequences_per_level"]);
    assert_eq!((&report["device"], &report["counts"]["information_sets"]), (&json!("cpu"), &json!(936)));
    let points = report["trajectory"].as_array().expect("a list");
    assert_eq!(
        points.iter().map(|point| point["iteration"].as_u64()).collect::<Vec<_>>(),
        [Some(1), Some(10), Some(100)]
    );
    for point in points {
        has(point, &["iteration", "nash_conv", "value", "average_utility"]);
        // Zero-sum; average utilities are not, since seats that learn in turn play other strategies in each pass.
        let [first, second] = point["value"].as_array().expect("a list").as_slice() else { panic!("{point}") };
        close(first, -second.as_f64().expect("a number"), 1e-9);
    }
    // The reference's, to six digits.
    close(&points[2]["nash_conv"], 0.026832, 1e-6);
    assert!(report["seconds"].as_f64() > Some(0.0));
    assert!(fs::read_to_string(scratch.path("run.svg")).expect("a picture").starts_with("<svg"));
}

#[test]
fn every_algorithm_and_update_of_the_agreed_line_runs() {
    let scratch = new_scratch();
    for algorithm in ["cfr", "cfr_plus", "lcfr", "dcfr", "pcfr_plus", "cfr_br"] {
        for updates in ["alternating", "simultaneous"] {
            if algorithm == "cfr_br" && updates == "simultaneous" {
                continue;
            }
            let line = format!(
                "solve kuhn.limit.2p.game --algorithm {algorithm} --updates {updates} --iterations 200 --report 1,200 --device cpu --json run.json --quiet"
            );
            scratch.ok(&line);
            let points = scratch.json("run.json")["trajectory"].clone();
            assert!(points[1]["nash_conv"].as_f64() < points[0]["nash_conv"].as_f64(), "{line}: {points}");
            // The game's value is no further than both seats can still gain.
            close(&points[1]["value"][0], -1.0 / 18.0, points[1]["nash_conv"].as_f64().expect("a number"));
        }
    }
}

#[test]
fn a_strategy_is_written_measured_asked_and_exported() {
    let scratch = new_scratch();
    scratch.ok("solve kuhn.limit.2p.game --algorithm cfr_plus --precision f64 --device cpu --strategy k.strategy --json run.json --quiet");
    let run = scratch.json("run.json");
    let solved = run["trajectory"].as_array().expect("a list").last().expect("a point").clone();
    scratch.ok("exploitability k.strategy --device cpu --json e.json");
    close(&scratch.json("e.json")["report"]["nash_conv"], solved["nash_conv"].as_f64().expect("a number"), 1e-6);
    let shown = scratch.ok("query k.strategy --history r --hand 4c --json q.json");
    assert!(shown.contains("\n  1:4c::r "), "{shown}");
    let answer = scratch.json("q.json")["answers"][0].clone();
    // The king calls every bet, but in half of the first of T iterations, whose weights are 1 to T; kept in single precision.
    assert_eq!(answer["choices"][1]["action"], "c");
    let t = run["iterations"].as_f64().expect("a number");
    close(&answer["choices"][1]["probability"], 1.0 - 1.0 / (t * (t + 1.0)), 1e-7);
    scratch.ok("query k.strategy --key 1:4c::r --json q.json --quiet");
    assert_eq!(scratch.json("q.json")["answers"][0], answer);
    scratch.ok("query k.strategy --history r --json q.json --quiet");
    assert_eq!(scratch.json("q.json")["answers"].as_array().map(Vec::len), Some(3));
    scratch.ok("query k.strategy --export all.json");
    scratch.ok("query k.strategy --export all.csv");
    assert_eq!(scratch.json("all.json").as_object().map(serde_json::Map::len), Some(12));
    let csv = fs::read_to_string(scratch.path("all.csv")).expect("a file");
    assert_eq!((csv.lines().next(), csv.lines().count()), (Some("key,seat,reached,action,probability"), 25));
    // Half the size, and all but as good: the two probabilities of a set are off by half of 1/65535 at most, of three decisions in a row each may lead elsewhere, which changes each of four values by at
    // most 4 chips.
    scratch.ok("solve kuhn.limit.2p.game --algorithm cfr_plus --precision f64 --device cpu --strategy c.strategy --compact --quiet");
    scratch.ok("exploitability c.strategy --device cpu --json e.json --quiet");
    let rounding = 2.0 * 0.5 / 65535.0 * 3.0 * 4.0 * 4.0;
    close(&scratch.json("e.json")["report"]["nash_conv"], solved["nash_conv"].as_f64().expect("a number"), rounding);
}

#[test]
fn a_match_of_a_strategy_with_itself_is_worth_nothing() {
    let scratch = new_scratch();
    scratch.ok(
        "solve leduc.limit.2p.game --algorithm cfr_plus --iterations 100 --device cpu --strategy a.strategy --json a.json --quiet",
    );
    scratch
        .ok("solve leduc.limit.2p.game --algorithm cfr_plus --iterations 1 --device cpu --strategy b.strategy --quiet");
    scratch.ok("match a.strategy a.strategy --device cpu --json m.json --quiet");
    close(&scratch.json("m.json")["report"]["value"], 0.0, 1e-9);
    scratch.ok("match a.strategy b.strategy --device cpu --json m.json --quiet");
    let gain = scratch.json("m.json")["report"]["value"].as_f64().expect("a number");
    // Whatever the other plays, who is that near to an equilibrium loses no more than what both seats can still gain.
    let left = scratch.json("a.json")["trajectory"].as_array().and_then(|points| points.last()?["nash_conv"].as_f64());
    assert!(gain != 0.0 && gain >= -left.expect("a number"), "{gain}, {left:?}");
    scratch.ok("match b.strategy a.strategy --device cpu --json m.json --quiet");
    close(&scratch.json("m.json")["report"]["value"], -gain, 1e-9);
}

#[test]
fn a_solve_that_was_stopped_goes_on_with_the_same_numbers() {
    let scratch = new_scratch();
    let line = "solve leduc.limit.2p.game --algorithm pcfr_plus --device cpu --quiet --report 10,20,40";
    scratch.ok(&format!("{line} --iterations 40 --json whole.json"));
    let line = "solve leduc.limit.2p.game --algorithm pcfr_plus --device cpu --quiet --report 10,20";
    scratch.ok(&format!("{line} --iterations 20 --checkpoint half.checkpoint"));
    scratch.ok(
        "solve --resume half.checkpoint --iterations 40 --report 10,20,40 --device cpu --quiet --json resumed.json",
    );
    let course = |name: &str| {
        let points = scratch.json(name)["trajectory"].as_array().expect("a list").clone();
        points
            .iter()
            .map(|point| (point["iteration"].clone(), point["nash_conv"].clone(), point["value"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(course("whole.json"), course("resumed.json"));
}

#[test]
fn a_checkpoint_is_not_gone_on_from_with_other_options() {
    let scratch = new_scratch();
    scratch.ok(
        "solve kuhn.limit.2p.game --algorithm cfr_plus --iterations 5 --device cpu --checkpoint k.checkpoint --quiet",
    );
    let error = scratch.fails(2, "solve --resume k.checkpoint --algorithm cfr --device cpu");
    assert!(error.contains("option algorithm: cfr is not allowed (cfr_plus, as in the checkpoint"), "{error}");
    // Five of seven are done; the form of old lines is the engine of new ones.
    scratch
        .ok("solve --resume k.checkpoint --iterations 7 --form auto --plot p.svg --device cpu --json k.json --quiet");
    assert_eq!(scratch.json("k.json")["report"]["options"]["iterations"], 7);
    assert_eq!(scratch.json("k.json")["iterations"], 7);
}

#[test]
fn a_checkpoint_is_not_gone_on_from_to_fewer_iterations() {
    let scratch = new_scratch();
    scratch.ok("solve kuhn.limit.2p.game --iterations 5 --device cpu --checkpoint k.checkpoint --quiet");
    let error = scratch.fails(2, "solve --resume k.checkpoint --iterations 3 --device cpu --json k.json");
    assert!(error.contains("option iterations: 3 is not allowed (at least 5"), "{error}");
    assert!(!scratch.path("k.json").exists());
    // As many as are done: nothing is left but to write.
    scratch.ok("solve --resume k.checkpoint --iterations 5 --device cpu --json k.json --quiet");
    assert_eq!(scratch.json("k.json")["iterations"], 5);
}

#[test]
fn discounts_and_exploration_are_those_of_the_library() {
    let scratch = new_scratch();
    let course = |more: &str| {
        scratch.ok(&format!("solve kuhn.limit.2p.game --iterations 20 --device cpu --json d.json --quiet {more}"));
        let run = scratch.json("d.json");
        (run["report"]["options"].clone(), run["trajectory"][2]["nash_conv"].as_f64().expect("a number"))
    };
    let (options, plain) = course("--algorithm dcfr");
    assert_eq!((&options["discounts"], &options["exploration"]), (&json!([1.5, 0.0, 2.0]), &json!(0.6)));
    assert_eq!(course("--algorithm dcfr --discounts 1.5,0,2").1, plain);
    let (options, other) = course("--algorithm dcfr --discounts -1,0.5,3");
    assert_eq!(options["discounts"], json!([-1.0, 0.5, 3.0]));
    assert_ne!(other, plain);
    let (options, _) = course("--sampling outcome --exploration 0.3");
    assert_eq!(options["exploration"], 0.3);
    for (wrong, told) in [
        ("--discounts 1,2,inf", "option discounts: inf is not allowed (finite numbers)"),
        // As typed, not as it is held.
        ("--discounts 1,2,1e400", "option discounts: 1e400 is not allowed (finite numbers)"),
        ("--exploration 0", "option exploration: 0 is not allowed (above 0, at most 1)"),
        ("--exploration -1", "option exploration: -1 is not allowed"),
    ] {
        let error = scratch.fails(2, &format!("solve kuhn.limit.2p.game --device cpu {wrong}"));
        assert!(error.contains(told), "{wrong}: {error}");
    }
    assert!(scratch.misused("solve kuhn.limit.2p.game --discounts 1,2").contains("three finite numbers"));
}

#[test]
fn wrong_numbers_name_their_flag_and_are_usage_errors() {
    let scratch = new_scratch();
    for (line, told) in [
        ("compare kuhn.limit.2p.game --batch 0 --device cpu", "option batch: 0 is not allowed (at least 1)"),
        ("compare kuhn.limit.2p.game --seconds -1 --device cpu", "option seconds: -1 is not allowed"),
        ("compare kuhn.limit.2p.game --seconds 1e400 --device cpu", "option seconds: 1e400 is not allowed"),
        ("solve kuhn.limit.2p.game --precision i16 --device cpu", "option precision: i16 is not allowed"),
        ("matrix rock-paper-scissors --precision i16 --device cpu", "option precision: i16 is not allowed"),
        // As typed, not as it is held.
        (
            "solve kuhn.limit.2p.game --sampling outcome --exploration 1e-400 --device cpu",
            "option exploration: 1e-400 is not allowed (above 0",
        ),
    ] {
        let error = scratch.fails(2, line);
        assert!(error.contains(told), "{line}: {error}");
    }
    let error = scratch.misused("solve kuhn.limit.2p.game --checkpoint k --checkpoint-every 0.0000000000001");
    assert!(
        error.contains("invalid value '0.0000000000001' for '--checkpoint-every <TIME>': a time from 1 ns"),
        "{error}"
    );
    for line in [
        "solve kuhn.limit.2p.game --iterations -1",
        "solve kuhn.limit.2p.game --report -1",
        "play k.strategy --hands -1",
        "play k.strategy --seat -1",
        "match a b --deals -1",
    ] {
        let error = scratch.misused(line);
        assert!(error.contains("invalid value '-1' for '--"), "{line}: {error}");
    }
}

/// Building a tree of eight million histories takes many seconds.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_at_once_what_has_nothing_to_keep() {
    let scratch = new_scratch();
    let mut command = scratch.command("solve liars_dice:1,8 --device cpu --json run.json");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    programs::await_handler(&mut child);
    assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
    // A second on a machine with nothing else to do.
    let status = programs::ended_by(&mut child, "TERM", std::time::Duration::from_secs(10));
    assert_eq!(status.code(), Some(130));
    assert!(!scratch.path("run.json").exists());
}

/// A spot with all hands, started by this line; it has said what it will take, and lays the spot out.
#[cfg(target_os = "linux")]
fn started_on_a_large_spot(scratch: &Scratch, turn: Option<&str>, line: &str, stderr: Stdio) -> std::process::Child {
    let all = "22+,A2+,K2+,Q2+,J2+,T2+,92+,82+,72+,62+,52+,42+,32";
    let spot = json!({"pot": 10, "effective_stack": 100, "flop": "Qs Jh 2d", "turn": turn, "bet_fraction_of_pot": 1, "ranges": [all, all]});
    fs::write(scratch.path("large.json"), spot.to_string()).expect("a file");
    let mut child = scratch.command(line).stdout(Stdio::piped()).stderr(stderr).spawn().expect("the program starts");
    child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("a line");
    child
}

#[cfg(target_os = "linux")]
#[test]
fn spots_none_of_which_was_begun_are_no_result() {
    let scratch = new_scratch();
    let line = "solve-spot large.json --device cpu --report none --json out.json";
    let mut child = started_on_a_large_spot(&scratch, None, line, Stdio::piped());
    let status = programs::ended_by(&mut child, "INT", Duration::from_secs(60));
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("stopped before there was anything to save"), "{said}");
    assert!(!scratch.path("out.json").exists());
}

/// The first signal waits for the end of an iteration, which takes minutes thread by thread; nothing waits after the second, not even for a reader of stderr.
#[cfg(target_os = "linux")]
#[test]
fn a_second_signal_ends_the_program_within_an_iteration() {
    let scratch = new_scratch();
    let (_reader, mut writer) = std::io::pipe().expect("a pipe");
    // As much as a pipe holds.
    writer.write_all(&[b'x'; 1 << 16]).expect("written");
    let line = "solve-spot large.json --device simt --report none --json out.json";
    let mut child = started_on_a_large_spot(&scratch, Some("7c"), line, writer.into());
    std::thread::sleep(Duration::from_secs(3));
    programs::signal(&child, "INT");
    // Sooner it would count as the same one.
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().expect("a child").is_none(), "the first signal ended it");
    let status = programs::ended_by(&mut child, "INT", Duration::from_secs(10));
    assert_eq!(status.code(), Some(130));
    assert!(!scratch.path("out.json").exists());
}

#[cfg(unix)]
#[test]
fn what_never_ends_is_not_read() {
    let scratch = new_scratch();
    for line in ["info /dev/zero", "solve /dev/zero --device cpu", "solve-spot /dev/zero --device cpu"] {
        let error = scratch.fails(1, line);
        assert!(error.contains("/dev/zero: cannot be read: it is a folder, a device or a pipe"), "{line}: {error}");
    }
    fs::write(scratch.path("long.game"), "#\n".repeat(1 << 20)).expect("a file");
    assert!(scratch.fails(1, "info long.game").contains("more than 1048576 bytes"));
}

#[test]
fn spots_have_names_of_their_own_and_need_not_be_measured() {
    let scratch = new_scratch();
    let river = r#"{"pot": 10, "effective_stack": 10, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c", "ranges": ["AA", "KK"]}"#;
    fs::create_dir(scratch.path("other")).expect("a folder");
    for file in ["s.json", "other/s.json"] {
        fs::write(scratch.path(file), river).expect("a file");
    }
    let error = scratch.fails(2, "solve-spot s.json other/s.json --iterations 2 --device cpu");
    assert!(error.contains("s.json and other/s.json: both have a spot s, expected names of their own"), "{error}");
    fs::write(scratch.path("twice.json"), format!(r#"{{"spots": {{"a": {river}, "a": {river}}}}}"#)).expect("a file");
    let error = scratch.fails(1, "solve-spot twice.json --iterations 2 --device cpu");
    assert!(error.contains("the name a occurs twice"), "{error}");
    let again = river.replacen("\"pot\": 10", "\"pot\": 10, \"pot\": 20", 1);
    let lock = |hands: &str| {
        let lock = format!(r#", "locks": [{{"history": "", "seat": 0, "strategy": {{{hands}}}}}]}}"#);
        river[..river.len() - 1].to_string() + &lock
    };
    let hands = lock(r#""AA": [1, 0, 0], "AA": [0, 1, 0]"#);
    for (text, told) in [
        (format!(r#"{{"spots": {{"a": {river}, "b": {again}}}}}"#), "spot b: the name pot occurs twice"),
        (format!(r#"{{"pot": 1, "pot": 2, "spots": {{"a": {river}}}}}"#), "the name pot occurs twice"),
        (format!(r#"{{"spots": {{"a": {river}}}, "spots": {{"b": {river}}}}}"#), "the name spots occurs twice"),
        (format!(r#"{{"spots": {{"a": {hands}}}}}"#), "spot a: the name AA occurs twice"),
        (hands, "the name AA occurs twice"),
        (again, "duplicate field `pot`"),
        (lock(r#""AA": ["x", 0, 0]"#), "field locks[0].strategy.AA[0]: invalid type: string \"x\", expected a number"),
        (
            format!(r#"{{"spots": {{"a": {}}}}}"#, lock(r#""AA": 1"#)),
            "spot a: field locks[0].strategy.AA: invalid type",
        ),
        (r#"{"spots": {"a": 3}}"#.to_string(), "spot a: is no object"),
        (r#"{"spots": {}}"#.to_string(), "field spots: has no spot"),
        ("[]".to_string(), "expected an object"),
    ] {
        fs::write(scratch.path("wrong.json"), &text).expect("a file");
        let error = scratch.fails(1, "solve-spot wrong.json --iterations 2 --device cpu");
        assert!(error.starts_with("error: wrong.json") && error.contains(told), "{text}: {error}");
    }
    let error = scratch.fails(2, "solve-spot s.json --spot t --iterations 2 --device cpu");
    assert!(error.contains("option spot: 't' is not allowed (s)"), "{error}");
    scratch.ok("solve-spot s.json --iterations 2 --report none --device cpu --json s.out --quiet");
    // A stream that leads to a file would be replaced by it.
    fs::write(scratch.path("log"), "kept\n").expect("a file");
    let log = fs::OpenOptions::new().append(true).open(scratch.path("log")).expect("the log");
    #[cfg(target_os = "linux")]
    std::os::unix::fs::symlink("/proc/self/fd/1", scratch.path("link")).expect("a link");
    for stream in ["/dev/stdout", if cfg!(target_os = "linux") { "link" } else { "/dev/stdout" }] {
        let mut command = scratch.command(&format!("solve kuhn --iterations 2 --device cpu --json {stream}"));
        let output = command.stdout(log.try_clone().expect("the log")).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("a stream that is redirected"), "{stream}: {said}");
    }
    assert_eq!(fs::read_to_string(scratch.path("log")).expect("the log"), "kept\n");
}

#[test]
fn the_help_of_solve_spot_shows_a_spot_that_can_be_solved() {
    let scratch = new_scratch();
    let help = scratch.ok("solve-spot --help");
    let start = help.find("{\"pot\"").unwrap_or_else(|| panic!("no spot in {help}"));
    let end = start + help[start..].find("]}").expect("its end") + 2;
    fs::write(scratch.path("spot.json"), &help[start..end]).expect("a file");
    scratch.ok("solve-spot spot.json --iterations 2 --device cpu --json s.json --quiet");
    assert_eq!(scratch.json("s.json")["report"]["iterations"], 2);
    fs::write(scratch.path("wrong.json"), help[start..end].replace("\"turn\"", "\"trun\"")).expect("a file");
    let error = scratch.fails(1, "solve-spot wrong.json --device cpu");
    assert!(error.contains("trun") && error.contains("bet_fraction_of_pot"), "{error}");
    assert!(!error.contains("trajectory") && !error.contains("equity"), "{error}");
}

/// A turn with narrow ranges.
const TURN: &str = r#"{"pot": 10, "effective_stack": 10, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h", "turn": "2d", "ranges": ["AA,KK", "QQ,AKs"]}"#;

/// Without a terminal nothing can be browsed; what is wrong with the file is said in any case.
#[test]
fn a_spot_is_browsed_in_a_terminal_alone() {
    let scratch = new_scratch();
    scratch.write("turn.json", TURN.as_bytes());
    scratch
        .ok("solve-spot turn.json --iterations 2 --report none --device cpu --save a.spot --form strategies --quiet");
    scratch.ok("solve kuhn.limit.2p.game --iterations 2 --device cpu --strategy k.strategy --quiet");
    let whole = fs::read(scratch.path("a.spot")).expect("a file");
    scratch.write("short.spot", &whole[..whole.len() / 2]);
    // A byte of the header, and the first one of a tensor of the first street.
    let start = 8 + u64::from_le_bytes(whole[..8].try_into().expect("a length")) as usize;
    let head: Value = serde_json::from_slice(&whole[8..start]).expect("a header");
    let tensor = head["strategy.0.turn"]["data_offsets"][0].as_u64().expect("a tensor") as usize;
    for (name, at) in [("header.spot", 100), ("tensor.spot", start + tensor)] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        scratch.write(name, &bytes);
    }
    for (code, line, told) in [
        (2, "browse a.spot", "browse needs a terminal, and stdin or stdout is not one: `warpplay cfr query a.spot`"),
        (2, "browse a.spot --line cr10c --board 8c", "`warpplay cfr query a.spot` answers the same"),
        (2, "browse a.spot --line x", "--line: moves of poker: 'x', column 1: 'x': expected c, r10"),
        (2, "browse a.spot --line x --html a.html", "expected c, r10"),
        (2, "browse a.spot --line cc/", "option board: '' is not allowed (a card for each street of 'cc/')"),
        (1, "browse k.strategy", "k.strategy: is a strategy, written by solve: use query"),
        (1, "browse turn.json", "turn.json: is a spot as JSON, which is not solved"),
        (1, "browse none.spot", "none.spot: "),
        (1, "browse short.spot", "short.spot: "),
        (1, "browse header.spot", "header.spot: "),
        (1, "browse tensor.spot", "tensor.spot: "),
    ] {
        let said = scratch.fails(code, line);
        assert!(said.contains(told), "{line}: {said}");
    }
    assert!(scratch.misused("browse").contains("FILE.spot"));
}

#[test]
fn a_spot_is_saved_gone_on_with_and_asked() {
    let scratch = new_scratch();
    scratch.write("turn.json", TURN.as_bytes());
    let line = "solve-spot turn.json --algorithm cfr_plus --report 20 --device cpu --threads 1";
    let said = scratch.ok(&format!("{line} --iterations 20 --save a.spot --checkpoint-every 60s --json a.json"));
    assert!(said.starts_with("turn: engine cpu on cpu, memory ") && !said.contains("infoset-actions"), "{said}");
    let said = scratch.ok(&format!("{line} --iterations 20 -v"));
    assert!(said.starts_with("turn: engine cpu, ") && said.contains("regrets and averages"), "{said}");
    scratch.ok(&format!("{line} --iterations 60 --save whole.spot --json whole.json --quiet"));
    // Gone on with, by its own options.
    scratch
        .ok("solve-spot --resume a.spot --iterations 60 --report 60 --device cpu --save a.spot --json a.json --quiet");
    assert_eq!(scratch.json("a.json")["report"]["by_hand"], scratch.json("whole.json")["report"]["by_hand"]);
    assert_eq!(scratch.json("a.json")["kind"], "solve-spot");
    let said = scratch.fails(2, "solve-spot --resume a.spot --algorithm dcfr --iterations 70 --device cpu");
    assert!(said.contains("option algorithm: dcfr is not allowed (cfr_plus, as in the checkpoint"), "{said}");
    // To a target, of strategies alone; the old name of the command works, and an old value of --form.
    let target = "--iterations 100000 --report none --target 1%pot";
    scratch.ok(&format!("{line} {target} --save b.spot --form i16 --json b.json --quiet").replace("--report 20 ", ""));
    let report = &scratch.json("b.json")["report"];
    let last = report["trajectory"].as_object().expect("points").values().filter_map(Value::as_f64).next_back();
    let chips: Vec<f64> =
        report["trajectory"].as_object().expect("points").values().filter_map(Value::as_f64).collect();
    assert!(last.is_some() && chips.iter().any(|chips| *chips <= 0.1), "{report}");
    assert!(report["iterations"].as_u64().is_some_and(|iterations| iterations < 100_000));
    let size = |name: &str| fs::metadata(scratch.path(name)).expect("a file").len();
    assert!(3 * size("b.spot") < size("a.spot"));
    scratch.ok("subgame turn.json --iterations 2 --device cpu --form auto --quiet");
    let said = scratch.fails(1, "solve-spot --resume b.spot --device cpu");
    assert!(said.contains("b.spot: has strategies alone (form strategies), expected form full"), "{said}");
    // Asked.
    let said = scratch.ok("query a.spot --line cr10c --board 8c");
    assert!(said.starts_with("after 'cr10c' on QsJh2h2d8c, pot 30; nobody acts\n"), "{said}");
    let line = "query a.spot --line cc/ --board 8c --json q.json --csv q.csv";
    let said = scratch.ok(line);
    assert!(said.starts_with("after 'cc/' on QsJh2h2d8c, pot 10; seat 0: c, r10\n"), "{said}");
    let found = scratch.json("q.json");
    has(&found, &["spot", "iterations", "exploitability", "report"]);
    let report = &found["report"];
    let ev = [0, 1].map(|seat| report["ev"][seat].as_f64().expect("a number"));
    assert!((ev[0] + ev[1] - 10.0).abs() < 1e-6, "{ev:?}");
    let csv = scratch.text("q.csv");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("seat,hand,reach,equity,ev,probability c,probability r10,ev c,ev r10"));
    let hands = [0, 1].map(|seat| report["by_hand"][seat].as_array().expect("a list").len());
    assert_eq!(lines.count(), hands[0] + hands[1]);
    scratch.ok("query a.spot --line cc/ --board 8c --hand AhAd --json hand.json --quiet");
    let hand = scratch.json("hand.json");
    assert_eq!(hand["report"]["by_hand"][0].as_array().map(Vec::len), Some(1));
    let same = |of: &Value| of["hand"] == hand["report"]["by_hand"][0][0]["hand"];
    assert!(report["by_hand"][0].as_array().expect("a list").iter().any(same));
    for (code, line, told) in [
        (2, "query a.spot --line cc/", "option board: '' is not allowed (a card for each street of 'cc/')"),
        (2, "query a.spot --line x", "--line: moves of poker: 'x', column 1: 'x': expected c, r10"),
        (2, "play a.spot --line x", "--line: moves of poker: "),
        (2, "solve-boards --from a.spot --line x --device cpu", "--line: moves of poker: "),
        (2, "query a.spot --hand 2c2s", "option hand: '2c2s' is not allowed (a hand of one of the seats)"),
        (2, "query a.spot --key 0:AhAd::", "--key: only of a strategy"),
        (2, "query a.spot --export a.csv", "--export: only of a strategy"),
        (2, "solve-spot turn.json --device cpu --form full", "--form: nothing is saved, expected --save FILE.spot"),
        (2, "solve-spot turn.json --device cpu,cpu --save c.spot", "--save: 1 spot on 2 devices, expected one spot on"),
        (1, "solve-spot --resume a.spot --iterations 60 --device simt", "expected engine cpu, which wrote it"),
        (2, "solve-spot --resume turn.json --device cpu", "SPOT.json is needed beside --resume, unless that is a file"),
        (2, "solve-spot turn.json --device cpu --save turn.json", "--save and SPOT.json name the same file"),
        (
            1,
            "solve-spot turn.json --device cpu --save a.spot",
            "a.spot: exists already: go on with --resume a.spot, or",
        ),
        (1, "solve-spot turn.json --device cpu --save a.json", "a.json: exists already: name a new file"),
        (1, "solve-spot --resume a.spot --device cpu --save b.spot", "b.spot: exists already: name a new file"),
        (1, "exploitability a.spot --device cpu", "a.spot: is a solved spot: use query"),
    ] {
        let said = scratch.fails(code, line);
        assert!(said.contains(told), "{line}: {said}");
    }
    assert!(scratch.misused("solve-spot turn.json --checkpoint-every 60s").contains("--save"));
    assert!(
        scratch.misused("solve-spot turn.json --target 0").contains("above 0: chips as 0.25, or a part of the pot")
    );
    assert!(scratch.misused("solve-spot turn.json --form fish").contains("full, strategies"));
    let mut bytes = fs::read(scratch.path("a.spot")).expect("a file");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(scratch.path("a.spot"), &bytes).expect("a file");
    let said = scratch.fails(1, "query a.spot --line cc/ --board 8c");
    assert!(said.contains("a.spot: damaged solved spot: the checksum of tensor "), "{said}");
}

/// The file keeps the target; what is not reached, not saved or not to be done is told.
#[test]
fn a_target_is_kept_and_told() {
    let scratch = new_scratch();
    scratch.write("turn.json", TURN.as_bytes());
    let line = "solve-spot turn.json --report none --device cpu --threads 1";
    let said = |line: &str| {
        let output = scratch.run(line);
        let [shown, said] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        (shown, said)
    };
    let (_, missed) = said(&format!("{line} --target 0.0001%pot --iterations 10 --save a.spot --quiet"));
    assert!(missed.starts_with("turn: target 0.0001%pot not reached: exploitability "), "{missed}");
    assert!(missed.ends_with(" chips after 10 iterations (--iterations)\n"), "{missed}");
    // Another one, which the file then has.
    said(
        "solve-spot --resume a.spot --target 20%pot --iterations 500 --report none --device cpu --save a.spot --quiet",
    );
    let (shown, told) = said("solve-spot --resume a.spot --iterations 1000 --report none --device cpu --json a.json");
    assert!(told.starts_with("nothing is saved without --save: --save a.spot writes the solve back"), "{told}");
    assert!(told.contains("a.spot: the target 20%pot is reached already: --target names a closer one\n"), "{told}");
    assert!(!shown.contains("ended early"), "{shown}");
    let iterations = scratch.json("a.json")["report"]["iterations"].as_u64().expect("a number");
    assert!((10..500).contains(&iterations), "{iterations}");
}

/// A folder that goes away costs the file, not the result.
#[cfg(unix)]
#[test]
fn a_solve_that_cannot_be_saved_is_shown() {
    let scratch = new_scratch();
    scratch.write("turn.json", TURN.as_bytes());
    fs::create_dir(scratch.path("gone")).expect("a folder");
    let line = "solve-spot turn.json --iterations 3000 --report 1 --device cpu --threads 1 --save gone/a.spot --checkpoint-every 0.001 --json a.json";
    let mut command = scratch.command(line);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let began = Instant::now();
    while !scratch.path("gone/a.spot").exists() {
        assert!(began.elapsed().as_secs() < 60, "no file");
        std::thread::sleep(Duration::from_millis(1));
    }
    // Some iterations after that which was measured.
    std::thread::sleep(Duration::from_millis(20));
    fs::copy(scratch.path("gone/a.spot"), scratch.path("kept.spot")).expect("a copy");
    // A write may be under way: its file is beside the name for a moment.
    while fs::remove_dir_all(scratch.path("gone")).is_err() {
        assert!(began.elapsed().as_secs() < 60, "the folder stays");
    }
    let output = child.wait_with_output().expect("its end");
    let [shown, said] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("gone/a.spot: cannot be written: "), "{said}");
    assert!(said.contains("; the solve goes on, and tries to save again\n"), "{said}");
    assert!(said.lines().next_back().is_some_and(|line| line.starts_with("error: gone/a.spot: cannot be ")), "{said}");
    assert!(shown.contains("turn: 3,000 iterations in ") && shown.contains("of the highest expected value"), "{shown}");
    assert_eq!(scratch.json("a.json")["report"]["iterations"], 3000);
    // The copy is as that of a run that was killed: it says which iteration was measured.
    scratch.ok("query kept.spot --json q.json --quiet");
    let found = scratch.json("q.json");
    let iterations = found["iterations"].as_u64().expect("a number");
    assert!(iterations > 1 && found["measured_at"] == 1, "{iterations}, {}", found["measured_at"]);
    let shown = typed(&scratch, "play kept.spot", "quit\n");
    assert!(shown.contains(" after 1 iteration and not measured since: board "), "{shown}");
}

#[test]
fn a_spot_that_does_not_fit_is_told_with_what_would() {
    let scratch = new_scratch();
    // Five sizes on three streets: terabytes of tables.
    let sizes = json!([0.33, 0.5, 1, 2, "all-in"]);
    let streets = |value: Value| json!({"flop": value, "turn": value, "river": value});
    let spot = json!({
        "pot": 10, "effective_stack": 5000, "flop": "Qs Jh 2c", "ranges": ["all", "all"],
        "bet_sizes": streets(sizes), "raise_sizes": streets(json!([1])), "max_raises": streets(json!(4)),
    });
    scratch.write("large.json", spot.to_string().as_bytes());
    let said = scratch.fails(1, "solve-spot large.json --device cpu --save a.spot");
    assert!(
        said.contains(" of memory free, ") && said.contains(" needed") && said.contains("; it would fit with "),
        "{said}"
    );
    assert!(!scratch.path("a.spot").exists());
}

#[test]
fn play_deals_hands_and_keeps_the_account() {
    let scratch = new_scratch();
    scratch.ok("solve kuhn.limit.2p.game --iterations 100 --device cpu --strategy k.strategy --quiet");
    // Whatever comes: a call is always legal.
    let shown =
        typed(&scratch, "play k.strategy --seed 3 --hands 4 --hints --json play.json", &"hint\nx\nc\n".repeat(40));
    assert!(shown.contains("Hand 4") && shown.contains("You won"), "{shown}");
    assert!(shown.contains("'x' cannot be done here"), "{shown}");
    let record = scratch.json("play.json");
    let hands = record["hands"].as_array().expect("a list");
    assert_eq!(hands.len(), 4);
    let won: f64 = hands
        .iter()
        .map(|hand| hand["payoffs"][hand["seat"].as_u64().expect("a seat") as usize].as_f64().expect("chips"))
        .sum();
    close(&record["won"], won, 1e-12);
    // The same seed, the same hands.
    typed(&scratch, "play k.strategy --seed 3 --hands 4 --json again.json", &"c\n".repeat(40));
    assert_eq!(scratch.json("again.json")["hands"], record["hands"]);
    let left = typed(&scratch, "play k.strategy", "quit\n");
    assert!(left.contains("Hand 1") && left.ends_with("You won +0 chips in 0 hands.\n"), "{left}");
}

#[test]
fn hands_of_a_spot_are_played_judged_and_kept() {
    let scratch = new_scratch();
    scratch.write("turn.json", TURN.as_bytes());
    scratch
        .ok("solve-spot turn.json --algorithm cfr_plus --iterations 50 --report 50 --device cpu --save a.spot --quiet");
    // A number, a letter, what cannot be done; a check or call, or a fold, is always the first action.
    let line = "play a.spot --seed 3 --hands 6 --json play.json --history hands.txt";
    let shown = typed(&scratch, line, &"hint\nx\n9\nhelp\n1\n".repeat(40));
    for part in [
        "A spot solved in 50 iterations, exploitability ",
        "Hand 1: seat 0, first to act",
        "Hand 2: seat 1, last to act",
        "Hand 6: seat 1",
        "'x' cannot be done here: 1 to 2, or c, r10",
        "'9' cannot be done here",
        " (r10)\n",
        "without luck",
        "lost a hand",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let record = scratch.json("play.json");
    has(&record, &["spot", "iterations", "exploitability", "line", "board", "seed", "score", "hands"]);
    let hands = record["hands"].as_array().expect("a list");
    assert_eq!((hands.len(), record["kind"].as_str(), record["score"]["hands"].as_u64()), (6, Some("play"), Some(6)));
    let sum = |of: &dyn Fn(&Value) -> f64| hands.iter().map(of).sum::<f64>();
    close(&record["score"]["won"], sum(&|hand| hand["won"].as_f64().expect("chips")), 1e-9);
    let loss = |hand: &Value| {
        let decisions = hand["decisions"].as_array().expect("a list").iter();
        decisions.map(|decision| decision["loss"].as_f64().expect("chips")).sum()
    };
    close(&record["score"]["loss"], sum(&loss), 1e-9);
    has(&hands[0]["decisions"][0], &["history", "board", "hand", "pot", "actions", "ev", "strategy", "action", "loss"]);
    let history = scratch.text("hands.txt");
    assert_eq!(history.matches("PokerStars Hand #").count(), 6);
    assert!(history.matches("*** SUMMARY ***").count() == 6 && history.ends_with("\n\n\n"), "{history}");
    // The same seed, the same hands; what was written stays.
    let line = "play a.spot --seed 3 --hands 6 --feedback none --json again.json --history hands.txt";
    let shown = typed(&scratch, line, &"1\n".repeat(40));
    assert!(!shown.contains("without luck") && shown.contains("won"), "{shown}");
    assert_eq!(scratch.json("again.json")["hands"], record["hands"]);
    assert!(scratch.text("hands.txt").starts_with(&history));
    assert_eq!(scratch.text("hands.txt").matches("PokerStars Hand #").count(), 12);
    let text = scratch.text("hands.txt");
    let numbers: BTreeSet<&str> =
        text.split("PokerStars Hand #").skip(1).filter_map(|hand| hand.split(':').next()).collect();
    assert_eq!(numbers.len(), 12, "{numbers:?}");
    #[cfg(unix)]
    {
        let said = scratch.fails(1, "play a.spot --history /dev/null");
        assert!(said.contains("/dev/null: cannot be written: it is a folder, a device or a pipe"), "{said}");
    }
    // From a node on, as one seat; the input ends within the second hand, which does not count.
    let line = "play a.spot --seat 0 --line cc/ --board 8c --seed 1 --feedback end --hints --json end.json";
    let shown = typed(&scratch, line, "r\nc\nc\nc\n");
    assert!(shown.contains("after 'cc/', board QsJh2h2d8c, pot 10") && shown.contains("your action> \n"), "{shown}");
    let record = scratch.json("end.json");
    let hands = record["hands"].as_array().expect("a list");
    assert_eq!((record["line"].as_str(), record["score"]["hands"].as_u64()), (Some("cc/"), Some(hands.len() as u64)));
    assert!(hands.iter().all(|hand| hand["history"].as_str().is_some_and(|line| line.starts_with("cc/"))), "{record}");
    let left = typed(&scratch, "play a.spot --seat 1", "quit\n");
    assert!(left.contains("Hand 1: seat 1") && left.contains("0 hands"), "{left}");
    scratch.ok("solve kuhn.limit.2p.game --iterations 2 --device cpu --strategy k.strategy --quiet");
    for (code, line, told) in [
        (2, "play a.spot --seat 5", "option seat: 5 is not allowed (a seat that acts: 0, 1)"),
        (2, "play a.spot --seat 2", "option seat: 2 is not allowed (a seat that acts: 0, 1)"),
        (2, "play a.spot --line r10 --seat 0", "option seat: 0 is not allowed (a seat that acts: 1)"),
        (2, "play a.spot --line r10c", "option line: 'r10c' is not allowed (a line after which a seat acts)"),
        (2, "play a.spot --line x", "expected c, r10"),
        (2, "play a.spot --line cc/", "option board: '' is not allowed (a card for each street of 'cc/')"),
        (1, "play a.spot --history turn.json", "turn.json: is no hand history: it does not begin with 'PokerStars'"),
        (1, "play a.spot --history .", ".: cannot be written: it is a folder, a device or a pipe, expected a file"),
        (2, "play a.spot --hands 0", "option hands: 0 is not allowed (at least 1)"),
        (2, "play k.strategy --hands 0", "option hands: 0 is not allowed (at least 1)"),
        (2, "play a.spot --history a.spot", "--history and FILE name the same file"),
        (1, "play a.spot --history nowhere/hands.txt", "nowhere/hands.txt: cannot be written"),
        (1, "play turn.json", "turn.json: is a spot as JSON, which is not solved"),
        (2, "play k.strategy --line c", "--line: only of a spot"),
        (2, "play k.strategy --feedback end", "--feedback: only of a spot"),
        (2, "play k.strategy --history hands.txt", "--history: only of a spot"),
        (2, "play k.strategy --seat both", "option seat: both is not allowed (0 to 1)"),
        (2, "play k.strategy --seat 2", "option seat: 2 is not allowed (0 to 1)"),
    ] {
        let said = scratch.fails(code, line);
        assert!(said.contains(told), "{line}: {said}");
    }
    let mut bytes = fs::read(scratch.path("a.spot")).expect("a file");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(scratch.path("a.spot"), &bytes).expect("a file");
    // Before a hand is dealt, though nothing is typed.
    let said = scratch.fails(1, "play a.spot");
    assert!(said.contains("a.spot: damaged solved spot: the checksum of tensor "), "{said}");
}

/// Iterations on a matrix.
const ROUNDS: f64 = 2000.0;

/// The average strategy of a seat after regret matching on a matrix, and what both seats can still gain.
fn matrix(scratch: &Scratch, game: &str, seat: usize) -> (Vec<f64>, f64) {
    let mut command = Command::new(program());
    command.arg("cfr");
    command
        .current_dir(scratch.folder())
        .args(["matrix", game, "--device", "cpu", "--iterations"])
        .arg(ROUNDS.to_string());
    let output =
        command.args(["--algorithm", "cfr", "--json", "matrix.json", "--quiet"]).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{game}: {}", String::from_utf8_lossy(&output.stderr));
    let run = scratch.json("matrix.json");
    let choices = run["strategy"][seat]["choices"].as_array().expect("a list").iter();
    let left = run["trajectory"].as_array().and_then(|points| points.last()?["nash_conv"].as_f64());
    let strategy = choices.map(|choice| choice["probability"].as_f64().expect("a number")).collect();
    (strategy, left.expect("a number"))
}

#[test]
fn matrix_games_end_where_the_books_say() {
    let scratch = new_scratch();
    for seat in [0, 1] {
        // It begins at the equilibrium, in single precision.
        for probability in matrix(&scratch, "rock-paper-scissors", seat).0 {
            assert!((probability - 1.0 / 3.0).abs() < 1e-6, "{probability}");
        }
        // To confess is better whatever the other does: all but the first round, which is half and half.
        let dilemma = matrix(&scratch, "prisoners-dilemma", seat).0;
        assert!((dilemma[0] - 0.5 / ROUNDS).abs() < 1e-6, "{dilemma:?}");
        // Matching pennies with one side worth twice: 2/5 and 3/5 by indifference. Who is off by d gives away 2 d or 3 d, and no more than both seats can still gain: that is at most both
        // regrets, of two actions 3 apart, and one round's winnings, since the second seat meets strategies that are a round further.
        let (strategy, left) = matrix(&scratch, "2,-1;-1,1", seat);
        assert!(left <= (2.0 * 3.0 * (2.0 * ROUNDS).sqrt() + 3.0) / ROUNDS, "{left}");
        assert!((strategy[0] - 0.4).abs() <= left / 2.0 + 1e-6, "{strategy:?}, {left}");
    }
    assert!(scratch.fails(2, "matrix 1,2;3").contains("different lengths"));
    assert!(scratch.fails(2, "matrix scissors").contains("rock-paper-scissors"));
}

#[test]
fn compare_measures_every_combination() {
    let scratch = new_scratch();
    let line =
        "compare kuhn.limit.2p.game --algorithms cfr,cfr_plus --seconds 0.05 --device cpu --json c.json --plots c.svg";
    let shown = scratch.ok(line);
    assert!(shown.contains("cfr_plus"), "{shown}");
    let runs = scratch.json("c.json")["runs"].as_array().expect("a list").clone();
    assert_eq!(runs.len(), 2);
    for run in runs {
        has(&run, &["algorithm", "sampling", "engine", "trajectory"]);
        assert!(run["trajectory"].as_array().map(Vec::len) > Some(2), "{run}");
    }
    assert!(fs::read_to_string(scratch.path("c.svg")).expect("a picture").starts_with("<svg"));
    // A plot gets a name in a folder, which may be that of the JSON.
    for (line, plot) in [
        ("compare kuhn.limit.2p.game --seconds 0.05", "compare.svg"),
        ("solve kuhn.limit.2p.game", "solve.svg"),
        ("matrix rock-paper-scissors", "matrix.svg"),
    ] {
        let said = scratch.fails(2, &format!("{line} --device cpu --json {plot} --plots ."));
        assert!(said.contains("--plots and --json name the same file"), "{said}");
    }
    // A link that leads to a file which is not there yet.
    std::os::unix::fs::symlink("later", scratch.path("link")).expect("a link");
    for (one, two) in [("strategy", "json"), ("checkpoint", "strategy"), ("json", "checkpoint")] {
        let said = scratch.fails(2, &format!("solve kuhn.limit.2p.game --device cpu --{one} later --{two} link"));
        assert!(said.contains("name the same file"), "{said}");
    }
    // A folder of plots that is not there yet: the other file is refused before it is made.
    scratch.fails(2, "solve kuhn.limit.2p.game --device cpu --strategy new/solve.svg --plots new");
    let said = scratch.fails(2, "compare kuhn.limit.2p.game --device cpu --checkpoint new/compare.svg --plots new");
    assert!(said.contains("name the same file"), "{said}");
    assert!(!scratch.path("new").exists());
}

#[test]
fn other_games_have_names() {
    let scratch = new_scratch();
    scratch.ok("solve goofspiel:3 --algorithm cfr_plus --iterations 100 --device cpu --json g.json --quiet");
    let last = scratch.json("g.json")["trajectory"].as_array().expect("a list").last().expect("a point").clone();
    // Symmetric: worth nothing to anybody, which is no further than both seats can still gain.
    close(&last["value"][0], 0.0, last["nash_conv"].as_f64().expect("a number"));
    assert!(scratch.fails(2, "solve goofspiel --device cpu").contains("goofspiel:CARDS"));
}

/// Strategies and checkpoints of these games need no definition file: their names say which they are.
#[test]
fn strategies_of_other_games_are_read() {
    let scratch = new_scratch();
    for game in ["liars_dice:1,3", "goofspiel:3"] {
        let solve = format!("solve {game} --iterations 20 --device cpu --json g.json --quiet");
        scratch.ok(&format!("{solve} --strategy a.strategy --checkpoint a.checkpoint"));
        let last = scratch.json("g.json")["trajectory"].as_array().expect("a list").last().expect("a point").clone();
        scratch.ok("exploitability a.strategy --device cpu --json e.json");
        // The tables of the strategy hold single precision.
        close(&scratch.json("e.json")["report"]["nash_conv"], last["nash_conv"].as_f64().expect("a number"), 1e-4);
        scratch.ok("query a.strategy --export all.json");
        scratch.ok("match a.strategy a.strategy --device cpu");
        scratch.ok("solve --resume a.checkpoint --iterations 30 --device cpu");
        assert!(
            scratch.fails(1, "play a.strategy --hands 1").contains("play takes strategies for whole games of poker")
        );
        assert!(scratch.fails(2, "query a.strategy").contains("by the key of an information set"));
    }
}

#[test]
fn errors_are_one_line_and_say_where() {
    let scratch = new_scratch();
    fs::write(scratch.path("bad.game"), "GAMEDEF\nlimit\nnumPlayers = 2\nnumFish = 3\nEND GAMEDEF\n").expect("a file");
    let error = scratch.fails(1, "info bad.game");
    assert!(error.contains("bad.game, line 4") && error.contains("column") && error.contains("numFish"), "{error}");
    let error = scratch.fails(1, "info missing.game");
    assert!(error.contains("missing.game"), "{error}");
    let error = scratch.fails(2, "solve kuhn.limit.2p.game --iterations 10 --report 20 --device cpu");
    assert!(error.contains("report") && error.contains("20"), "{error}");
    let error = scratch.fails(2, "solve kuhn.limit.2p.game --device cpu --batch 0");
    assert!(error.contains("batch"), "{error}");
    let error = scratch.fails(2, "solve kuhn.limit.2p.game --device gpu");
    assert!(error.contains("device"), "{error}");
    assert!(scratch.misused("solve kuhn.limit.2p.game --algorithm fish").contains("cfr_plus"));
    scratch.misused("solve");
    // Nothing half-written: the folder is missing, so nothing is done.
    let error = scratch.fails(1, "solve kuhn.limit.2p.game --device cpu --json nowhere/run.json");
    assert!(error.contains("nowhere"), "{error}");
    // A damaged strategy.
    scratch.ok("solve kuhn.limit.2p.game --iterations 10 --device cpu --strategy k.strategy --quiet");
    let mut bytes = fs::read(scratch.path("k.strategy")).expect("a file");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(scratch.path("damaged.strategy"), &bytes).expect("a file");
    let error = scratch.fails(1, "exploitability damaged.strategy --device cpu");
    assert!(error.contains("damaged") && error.contains("checksum"), "{error}");
    let error = scratch.fails(1, "exploitability kuhn.limit.2p.game --device cpu");
    assert!(error.contains("kuhn.limit.2p.game"), "{error}");
    let error = scratch.fails(2, "query k.strategy --history r --hand Ah");
    assert!(error.contains("Ah"), "{error}");
    let error = scratch.fails(2, "query k.strategy --history rx");
    assert!(error.contains("--history: ") && error.contains("column 2"), "{error}");
    scratch.write("empty", b"");
    for line in ["query empty", "play empty"] {
        let error = scratch.fails(1, line);
        let told = "empty: the file is empty, expected a strategy, written by solve --strategy, or a spot, written by";
        assert!(error.contains(told), "{line}: {error}");
    }
}

/// A wrong value in a spot's file is told with the file, and with the spot where there are several; numbers are short.
#[test]
fn wrong_values_of_a_spot_are_told_with_its_file() {
    let scratch = new_scratch();
    let river = |changes: Value| {
        let mut spot = json!({"pot": 10, "effective_stack": 30, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c", "ranges": ["AA,KK", "QQ,AKs"]});
        let fields = spot.as_object_mut().expect("an object");
        fields.extend(changes.as_object().expect("an object").clone());
        spot
    };
    let bad = river(json!({"pot": -1}));
    scratch.write("bad.json", bad.to_string().as_bytes());
    scratch.write("spots.json", json!({"spots": {"first": river(json!({})), "second": bad}}).to_string().as_bytes());
    scratch.write("name.json", river(json!({"ranges": ["@btn_opne", "AA"]})).to_string().as_bytes());
    scratch.write(
        "flops.json",
        br#"{"pot": -1, "effective_stack": 30, "bet_fraction_of_pot": 1, "ranges": ["AA", "KK"]}"#,
    );
    let pot = "option pot: -1 is not allowed (1e-9 to 1e9 chips)";
    for (line, told) in [
        ("solve-spot bad.json --device cpu", format!("error: bad.json: {pot}")),
        ("solve-spot spots.json --device cpu", format!("error: spots.json: spot second: {pot}")),
        ("solve-spot spots.json --spot second --device cpu", format!("error: spots.json: spot second: {pot}")),
        ("solve-boards flops.json --boards \"Qs Jh 2h\" --device cpu", format!("error: flops.json, QsJh2h: {pot}")),
        (
            "solve-spot name.json --device cpu",
            "error: name.json: option ranges: seat 0: '@btn_opne' at column 1 is not allowed (a named range; the nearest is @btn_open)".into(),
        ),
    ] {
        let said = scratch.fails(2, line);
        assert!(said.contains(&told), "{line}: {said}");
    }
    for (field, told) in [
        (json!({"bet_sizes": {"river": [1e300]}}), "option bet_sizes: 1e300 (1e302%) is not allowed"),
        (json!({"raise_sizes": {"river": [1e300]}}), "option raise_sizes: 1e300 (1e302%) is not allowed"),
        (json!({"bet_sizes": {"river": [30]}}), "option bet_sizes: 30 (3000%) is not allowed"),
        (json!({"bet_fraction_of_pot": 1e-300, "pot": 1e8}), "of the pot of 100000000 it is 1"),
    ] {
        scratch.write("big.json", river(field).to_string().as_bytes());
        let said = scratch.fails(2, "solve-spot big.json --device cpu");
        assert!(said.starts_with("error: big.json: ") && said.contains(told) && said.len() < 300, "{said}");
    }
}

/// The named ranges are listed, shown and used in a spot.
#[test]
fn ranges_have_names() {
    let scratch = new_scratch();
    let listed = scratch.ok("ranges --json ranges.json");
    let found = scratch.json("ranges.json");
    let ranges = found["ranges"].as_array().expect("a list");
    assert_eq!(listed.lines().filter(|line| line.trim_start().starts_with('@')).count(), ranges.len());
    for range in ranges {
        has(range, &["name", "meaning", "text", "combos", "percent", "weights"]);
        let combos = range["combos"].as_f64().expect("a number");
        close(&range["percent"], combos / 13.26, 1e-9);
        // A class is a pair, of one suit, or of two.
        let of_class = |(name, weight): (&String, &Value)| {
            let n = match name.as_bytes() {
                [_, _, b's'] => 4.0,
                [_, _, b'o'] => 12.0,
                _ => 6.0,
            };
            n * weight.as_f64().expect("a number")
        };
        close(&json!(range["weights"].as_object().expect("classes").iter().map(of_class).sum::<f64>()), combos, 1e-9);
    }
    let shown = scratch.ok("ranges btn_open");
    assert!(shown.starts_with("@btn_open: ") && shown.contains("\nAA     AKs    AQs "), "{shown}");
    assert!(scratch.ok("ranges @btn_open:0.5,AA").contains("AA     AKs:50 AQs:50 "));
    let error = scratch.fails(2, "ranges btn_opne");
    assert!(error.contains("'btn_opne' is not allowed (a named range; the nearest is @btn_open)"), "{error}");
    assert!(scratch.fails(2, "ranges AX").contains("'AX' at column 1"));
    let spot = json!({
        "pot": 5.5, "effective_stack": 97.5, "bet_sizes": {"river": ["75%"]}, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c",
        "ranges": ["@bb_call_btn", "@btn_open, 72o:0.5"],
    });
    scratch.write("named.json", spot.to_string().as_bytes());
    scratch.ok("solve-spot named.json --iterations 2 --device cpu --json named-run.json --quiet");
    // What is on the board is held by nobody.
    let hands = scratch.json("named-run.json")["report"]["by_hand"][1].as_array().expect("hands").clone();
    assert!(hands.iter().any(|hand| hand["hand"] == "7d2c") && !hands.iter().any(|hand| hand["hand"] == "7c2c"));
}

/// What is measured over sampled deals has one arithmetic.
#[test]
fn precision_is_for_all_deals_only() {
    let scratch = new_scratch();
    scratch.ok(
        "solve variant_d.game --sampling chance --device cpu --iterations 1 --report none --strategy a.strategy --quiet",
    );
    for line in ["match a.strategy a.strategy", "exploitability a.strategy"] {
        let error = scratch.fails(2, &format!("{line} --precision f32 --device cpu"));
        let expected =
            "option precision: f32 is not allowed (only for exact values over all deals: this game has too many deals";
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn games_of_five_and_eight_players_are_solved_asked_played_and_matched() {
    let scratch = new_scratch();
    // The betting of variant C with half its suits, so that its tables are some hundred megabytes; and variant D.
    let c = golden::text("cfr/games/variant_c.game").replace("numSuits = 4", "numSuits = 2");
    fs::write(scratch.path("c.game"), c).expect("a file");
    for (game, seats, hand, board) in [("c.game", 5, "2c2d", "--board 3c"), ("variant_d.game", 8, "2c", "")] {
        let line = format!("solve {game} --sampling chance --device cpu");
        // What is asked for by default cannot be measured: that is said, and nothing is lost.
        let shown = scratch
            .ok(&format!("{line} --iterations 3 --strategy a.strategy --checkpoint a.checkpoint --json run.json"));
        assert!(shown.contains("left out  exploitability: ") && shown.contains("engine walk"), "{shown}");
        let run = scratch.json("run.json");
        let reason = run["left_out"][0].as_str().unwrap_or_else(|| panic!("{run}"));
        assert!(reason.contains("exploitability") && reason.contains("histories"), "{reason}");
        assert_eq!((&run["iterations"], run["trajectory"].as_array().map(Vec::len)), (&json!(3), Some(0)));
        let utilities = run["average_utility"].as_array().expect("a list");
        let sum: f64 = utilities.iter().filter_map(Value::as_f64).sum();
        assert!(utilities.len() == seats && sum.abs() < 1e-3, "{utilities:?}");
        let shown = scratch.ok(&format!("query a.strategy --history cr --hand {hand} {board}"));
        let head: Vec<&str> = shown.lines().next().unwrap_or_default().split_whitespace().collect();
        assert!(shown.contains("\n  2:") && ["f", "c", "r"].iter().all(|action| head.contains(action)), "{shown}");
        let shown = typed(&scratch, "play a.strategy --seed 2 --hands 2 --seat 1", &"c\n".repeat(60));
        assert!(shown.contains(&format!("Poker, {seats} players")) && shown.contains("Hand 2"), "{shown}");
        assert!(shown.contains("You won"), "{shown}");

        // Against itself every deal's payoffs sum to nothing.
        scratch.ok("match a.strategy a.strategy --deals 4 --seed 9 --device cpu --json m.json --quiet");
        let error = scratch.fails(2, "match a.strategy a.strategy --precision f64 --device cpu");
        assert!(
            error.contains("option precision: f64 is not allowed (only for exact values over all deals"),
            "{error}"
        );
        let report = scratch.json("m.json")["report"].clone();
        assert_eq!((report["values"].as_array().map(Vec::len), &report["sampled"]["deals"]), (Some(seats), &json!(4)));
        close(&report["value"], 0.0, 1e-5);
        if seats == 5 {
            // With --report none nothing is reported as left out, and the resumed strategy is another one.
            let quiet = scratch.ok(
                "solve --resume a.checkpoint --iterations 4 --report none --device cpu --strategy b.strategy --json b.json",
            );
            let run = scratch.json("b.json");
            assert!(!quiet.contains("left out") && run["left_out"].is_null(), "{quiet}");
            assert_eq!((&run["iterations"], &run["complete"]), (&json!(4), &json!(true)));
            scratch.ok("match a.strategy b.strategy --deals 4 --device cpu --json m.json --quiet");
            assert_eq!(scratch.json("m.json")["device"], "cpu");
            scratch.misused("match a.strategy b.strategy --deals 4 --precision f32");
            scratch.fails(2, "solve kuhn.limit.2p.game --report none --plots plots --device cpu");
        }
        fs::remove_file(scratch.path("a.checkpoint")).expect("a file");
    }
    let error = scratch.fails(2, "solve kuhn.limit.2p.game --report none,3 --device cpu");
    assert!(error.contains("option report"), "{error}");
}

/// Variant C itself, whose tables take gigabytes, by the lines of its page.
#[test]
fn variant_c_is_solved_and_matched_as_its_page_says() {
    let Some(_) = gpu() else { return };
    let (scratch, mut shown) = (new_scratch(), Vec::new());
    let page = fs::read_to_string(golden::workspace().join("docs/papers/cfr_thesis.md")).expect("a page");
    for start in ["warpplay cfr solve", "warpplay cfr match"] {
        let line = page.lines().find(|line| line.starts_with(start)).expect("a line");
        let line = line.split('#').next().unwrap_or(line).replace("tests/golden/cfr/games/", "");
        shown.push(scratch.ok(line.trim().trim_start_matches("warpplay cfr ")));
    }
    assert!(shown[0].contains("engine walk"), "{}", shown[0]);
    assert!(shown[1].contains("sampled deals"), "{}", shown[1]);
}

/// A measurement that never ends costs nothing that was computed: strategy, checkpoint and results are written before it begins.
#[test]
fn everything_is_written_before_the_last_measurement() {
    let scratch = new_scratch();
    // To measure this game takes seconds, and the program is killed within hundredths of one.
    fs::write(scratch.path("rhode.game"), golden::text("cfr/games/rhode_island.limit.2p.game")).expect("a file");
    let line =
        "solve rhode.game --iterations 1 --device cpu --strategy a.strategy --checkpoint a.checkpoint --json a.json";
    let mut child = scratch.command(line).stdout(Stdio::null()).spawn().expect("the program starts");
    let start = Instant::now();
    while !scratch.path("a.json").exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it wrote its results");
        if start.elapsed() > Duration::from_secs(240) {
            let _ = child.kill();
            panic!("no results");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it still measures");
    child.wait().expect("a child");
    let run = scratch.json("a.json");
    assert_eq!((&run["complete"], &run["iterations"], &run["trajectory"]), (&json!(false), &json!(1), &json!([])));
    let head = scratch.ok("query a.strategy --hand Ah");
    assert!(head.lines().next().is_some_and(|head| head.ends_with(" r")), "{head}");
    scratch.ok("solve --resume a.checkpoint --report none --device cpu --strategy b.strategy --quiet");
    assert!(fs::read(scratch.path("a.strategy")).ok() == fs::read(scratch.path("b.strategy")).ok(), "another strategy");
}

#[test]
fn without_measuring_everything_else_is_written() {
    let scratch = new_scratch();
    let line = "solve kuhn.limit.2p.game --iterations 50 --device cpu";
    scratch.ok(&format!("{line} --report none --strategy n.strategy --checkpoint n.checkpoint --json n.json --quiet"));
    let run = scratch.json("n.json");
    assert_eq!((&run["trajectory"], &run["exploitability_seconds"]), (&json!([]), &json!(0.0)));
    assert_eq!(run["average_utility"].as_array().map(Vec::len), Some(2));
    // The strategy is that of a run which measures.
    scratch.ok(&format!("{line} --strategy m.strategy --quiet"));
    scratch.ok("match n.strategy m.strategy --device cpu --json m.json --quiet");
    close(&scratch.json("m.json")["report"]["value"], 0.0, 1e-9);
    assert!(scratch.json("m.json")["report"]["sampled"].is_null());
    for line in ["match n.strategy m.strategy", "exploitability n.strategy"] {
        for (precision, device) in [("f16", "cpu"), ("e4m3", "cpu"), ("i16", "cpu"), ("i16", "simt")] {
            let error = scratch.fails(2, &format!("{line} --precision {precision} --device {device}"));
            let expected = format!("option precision: {precision} is not allowed (f32 or f64)");
            assert!(error.contains(&expected), "{line}: {error}");
        }
    }
    scratch.ok("solve --resume n.checkpoint --iterations 60 --device cpu --json r.json --quiet");
    assert_eq!(
        scratch.json("r.json")["trajectory"].as_array().expect("a list").last().expect("a point")["iteration"],
        60
    );
}

/// Three rivers, by their stacks.
fn rivers(scratch: &Scratch) {
    let spot = |stack: u32| json!({"effective_stack": stack, "pot": 10, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h", "turn": "2d", "river": "7c", "ranges": ["AA,KK", "QQ,AK"]});
    let spots = json!({"spots": {"first": spot(20), "second": spot(30), "third": spot(40)}});
    scratch.write("spots.json", spots.to_string().as_bytes());
}

#[test]
fn spots_that_were_cut_off_go_on_with_their_journal() {
    let scratch = new_scratch();
    rivers(&scratch);
    let line = "solve-spot spots.json --iterations 20 --report 10,20 --device cpu --threads 1";
    let other = (
        "--iterations 20 --report 10,20",
        "--iterations 30 --report 10,30",
        "was made with option iterations 20, and this run has 30",
    );
    Journaled { scratch: &scratch, line, other, n_pieces: 3, file: None, repeats: true }.check();
    // A spot that another run of the same options has left there.
    let said = scratch.fails(1, &format!("{line} --spot second --resume journal"));
    assert!(
        said.contains("journal: QsJh2h2d7c ") && said.contains(": is in the file, but does not belong to this run"),
        "{said}"
    );
    // Spots that are the same are solved once where one was kept.
    let text = scratch.text("spots.json");
    scratch.write("same.json", text.replace(":30", ":20").replace(":40", ":20").as_bytes());
    let line = line.replace("spots.json", "same.json");
    scratch.ok(&format!("{line} --checkpoint once --quiet"));
    assert_eq!(scratch.text("once").lines().count(), 2);
    scratch.ok(&format!("{line} --resume once --json same-run.json --quiet"));
    let found = scratch.json("same-run.json");
    assert_eq!(found["spots"]["first"], found["spots"]["third"]);
}

#[test]
fn boards_are_reported_and_go_on_with_their_journal() {
    let scratch = new_scratch();
    scratch.write("turn.json", golden::text("commands/turn.json").as_bytes());
    let shown = scratch.ok(
        "solve-boards turn.json --boards 8c,Kd,7s:2 --iterations 20 --device cpu,cpu --json b.json --csv b.csv --html b.html",
    );
    assert!(shown.contains("3 boards, as QsJh2h2d8c: ") && shown.contains("cards to a straight"), "{shown}");
    assert!(shown.contains("exploitability: at most ") && shown.contains(" an hour"), "{shown}");
    let found = scratch.json("b.json");
    has(&found, &["spot", "options", "mean", "groups", "report"]);
    assert_eq!((&found["kind"], &found["mean"]["weight"]), (&json!("solve-boards"), &json!(4.0)));
    close(&found["mean"]["probability"], 1.0, 1e-12);
    let ev = [0, 1].map(|seat| found["mean"]["ev"][seat].as_f64().expect("chips"));
    // Whatever is played, both share the pot; values are found in double precision, as sums of at most 64 · 64 pairs of hands times 200 chips.
    assert!((ev[0] + ev[1] - 100.0).abs() < 64.0 * 64.0 * 200.0 * f64::EPSILON, "{ev:?}");
    let boards: Vec<&Value> =
        found["report"]["rows"].as_array().expect("rows").iter().map(|row| &row["board"]).collect();
    assert_eq!(boards, ["QsJh2h2d8c", "QsJh2h2dKd", "QsJh2h2d7s"]);
    let csv = scratch.text("b.csv");
    assert!(csv.starts_with("board,weight,") && csv.lines().count() == 4, "{csv}");
    let page = scratch.text("b.html");
    assert!(page.contains("<title>turn: 3 boards</title>") && page.contains("QsJh2h2d8c"), "{page}");

    let line = "solve-boards turn.json --boards 8c,Kd,7s --iterations 20 --device cpu --csv b.csv";
    let other = ("--iterations 20", "--iterations 30", "was made with option iterations 20, and this run has 30");
    Journaled { scratch: &scratch, line, other, n_pieces: 3, file: None, repeats: true }.check();

    // A list in a file; a target; what follows a line.
    scratch.write("list.txt", b"8c\nKd:3\n");
    scratch.ok("solve-boards turn.json --boards list.txt --iterations 500 --target 5%pot --algorithm cfr_plus --device cpu --json l.json --quiet");
    let found = scratch.json("l.json");
    assert_eq!((&found["mean"]["weight"], &found["target"]["part_of_pot"]), (&json!(4.0), &json!(0.05)));
    let rows = found["report"]["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["exploitability"].as_f64().is_some_and(|chips| chips <= 5.0)), "{rows:?}");
    scratch.ok("solve-spot turn.json --iterations 20 --device cpu --save turn.spot --quiet");
    scratch
        .ok("solve-boards --from turn.spot --line cc --boards 8c --iterations 20 --device cpu --json f.json --quiet");
    let found = scratch.json("f.json");
    assert_eq!((&found["spot"]["pot"], &found["report"]["rows"][0]["board"]), (&json!(100.0), &json!("QsJh2h2d8c")));

    for (code, line, told) in [
        (2, "turn.json --boards 25", "option boards: '25' is not allowed (all, or a list of cards, after a flop)"),
        (2, "turn.json --boards 2d", "option boards: '2d' is not allowed"),
        (2, "turn.json --boards 8c,8c", "each board once"),
        (2, "turn.json --boards -3", "option boards: '-3' is not allowed"),
        (2, "--from turn.spot --line c", "option line: 'c' is not allowed (a line after which a card is dealt)"),
        (1, "--from turn.json --line cc", "turn.json"),
        (2, "turn.json --csv turn.json", "--csv and SPOT.json name the same file"),
        (2, "turn.json --csv x --html x", "--html and --csv name the same file"),
    ] {
        let said = scratch.fails(code, &format!("solve-boards {line} --device cpu"));
        assert!(said.contains(told), "{line}: {said}");
    }
    for (line, told) in [
        ("turn.json --target 0", "option target: 0"),
        ("--boards 8c", "SPOT.json"),
        ("turn.json --from turn.spot --line cc", "--from"),
        ("--from turn.spot", "--line"),
    ] {
        let output =
            scratch.command(&format!("solve-boards {line} --device cpu")).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(told), "{line}: {said}");
    }
}

#[test]
fn a_comparison_that_was_cut_off_goes_on_with_its_journal() {
    let scratch = new_scratch();
    Journaled {
        scratch: &scratch,
        line: "compare kuhn.limit.2p.game --seconds 0.01 --algorithms cfr,cfr_plus,lcfr,dcfr --device cpu --threads 1",
        other: ("--seconds 0.01", "--seconds 0.02", "was made with option seconds 0.01, and this run has 0.02"),
        n_pieces: 4,
        file: None,
        repeats: false,
    }
    .check();
    scratch
        .ok("compare kuhn.limit.2p.game --seconds 0.01 --algorithms cfr,cfr --device cpu --checkpoint twice --quiet");
    scratch.ok("compare kuhn.limit.2p.game --seconds 0.01 --algorithms cfr --device cpu --resume twice --quiet");
    fs::copy(scratch.path("leduc.limit.2p.game"), scratch.path("kuhn.limit.2p.game")).expect("a copy");
    let said =
        scratch.fails(1, "compare kuhn.limit.2p.game --seconds 0.01 --algorithms cfr --device cpu --resume twice");
    assert!(said.contains("twice: was made with option game \"definition "), "{said}");
}

#[test]
fn a_comparison_and_spots_that_are_refused_leave_no_journal() {
    let scratch = new_scratch();
    rivers(&scratch);
    let compare = "compare kuhn.limit.2p.game --seconds 0.01 --device cpu";
    for (line, told) in [
        (format!("{compare} --precision i16"), "kuhn.limit.2p.game: cfr, sampling none: option precision: i16"),
        (format!("{compare} --engine street"), "option engine: street"),
        (format!("{compare} --discounts 1,nan,2"), "option discounts: nan is not allowed (finite numbers)"),
        (format!("{compare} --threads 0"), "option threads: 0"),
        // The first combination could be run.
        (
            format!("{compare} --engine mccfr --algorithms cfr --samplings external,none"),
            "cfr, sampling none: option sampling: none",
        ),
        ("solve-spot spots.json --iterations 5 --device cpu --precision i16".into(), "option precision: i16"),
        ("solve-spot spots.json --iterations 5 --device cpu --engine explicit".into(), "option engine: explicit"),
    ] {
        refused_without_journal(&scratch, 2, &line, told);
    }
}

/// A whole comparison, or a part of it that says so: its JSON, its plot and its journal, and nothing else.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_comparison_which_keeps_what_it_has() {
    // Far less than the ten minutes that the run would take. A second is enough on a machine with nothing else to do, but a busy disk lets a journal wait.
    const MOST: Duration = Duration::from_secs(60);
    let start = |scratch: &Scratch, seconds: &str| {
        let line = format!(
            "compare leduc.limit.2p.game --algorithms cfr,dcfr --seconds {seconds} --device cpu --threads 1 --json run.json --plots run.svg --checkpoint journal"
        );
        let mut command = scratch.command(&line);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().expect("the program starts")
    };
    // In the first combination, and in the second, when the journal has the first.
    for (name, seconds, n_kept) in [("INT", "600", 0), ("TERM", "600", 0), ("TERM", "4", 1)] {
        let scratch = new_scratch();
        let mut expected = scratch.names();
        let mut child = start(&scratch, seconds);
        programs::await_handler(&mut child);
        let n_lines = || fs::read_to_string(scratch.path("journal")).map_or(0, |text| text.lines().count());
        while n_lines() < 1 + n_kept {
            assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        if n_kept == 0 {
            // The first combination begins behind the journal's first line: its game is built in a part of this time.
            programs::await_work(&mut child, Duration::from_secs(2));
        }
        let status = programs::ended_by(&mut child, name, MOST);
        assert_eq!(status.code(), Some(0), "{name} after {n_kept} combinations");
        let mut shown = String::new();
        child.stdout.take().expect("piped").read_to_string(&mut shown).expect("text");
        let runs = scratch.json("run.json")["runs"].as_array().expect("a list").len();
        // The second combination has perhaps not begun when the journal has the first.
        assert!(runs == n_kept + 1 || n_kept > 0 && runs == n_kept, "{runs}: {shown}");
        let told =
            format!("ended early: {runs} of 2 combinations, the last perhaps in part; continue with --resume journal");
        assert!(shown.contains(&told), "{shown}");
        assert_eq!(n_lines(), n_kept + 1);
        assert!(scratch.text("run.svg").trim_end().ends_with("</svg>"));
        expected.extend(["journal", "run.json", "run.svg"].map(String::from));
        expected.sort();
        assert_eq!(scratch.names(), expected, "{name} after {n_kept} combinations");
        if n_kept > 0 {
            let line = "compare leduc.limit.2p.game --algorithms cfr,dcfr --seconds 4 --device cpu --threads 1 --quiet";
            scratch.ok(&format!("{line} --resume journal"));
            assert_eq!(n_lines(), 3);
        }
    }
}

/// A limit game of so many raises that its tree has more nodes than are built.
#[test]
fn a_game_that_is_too_large_is_named() {
    let scratch = new_scratch();
    let deep = "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 4\nstack = 20000 20000\nblind = 50 100\nfirstPlayer = 1 2 2 2\nnumSuits = 4\nnumRanks = 13\n\
                numHoleCards = 2\nnumBoardCards = 0 3 1 1\nEND GAMEDEF\n";
    scratch.write("deep.game", deep.as_bytes());
    for line in ["info deep.game", "solve deep.game --device cpu", "compare deep.game --device cpu"] {
        let said = scratch.fails(2, line);
        assert!(said.starts_with("error: deep.game: ") && said.contains("a betting tree of"), "{line}: {said}");
    }
    let said = scratch.fails(2, "solve goofspiel:99 --device cpu");
    assert!(said.starts_with("error: goofspiel:99: option "), "{said}");
    // Its histories are not counted one by one, which would take hours.
    let said = scratch.fails(1, "compare goofspiel:9 --device cpu");
    assert!(said.contains("goofspiel:9: tree of goofspiel") && said.contains("got 678136402037"), "{said}");
}

/// A file of another kind is told by what it is and what reads it; a typing error in a file's name too.
#[test]
fn files_of_another_kind_are_told() {
    let scratch = new_scratch();
    let river = r#"{"pot": 10, "effective_stack": 10, "bet_fraction_of_pot": 1.0, "flop": "Qs 2h Jh", "turn": "2d", "river": "7c", "ranges": ["AA,T9s", "KK"]}"#;
    scratch.write("river.json", river.as_bytes());
    scratch.write("flops.json", river.replace(r#""flop": "Qs 2h Jh", "turn": "2d", "river": "7c", "#, "").as_bytes());
    scratch.ok("solve-spot river.json --iterations 20 --device cpu --save a.spot");
    scratch.ok("solve kuhn --iterations 2 --device cpu --strategy a.strategy");
    for (line, told) in [
        ("query river.json", "river.json: is a spot as JSON, which is not solved: use solve-spot"),
        ("browse a.strategy --html x.html", "a.strategy: is a strategy, written by solve: use query"),
        ("exploitability a.spot", "a.spot: is a solved spot: use query, browse, play or info"),
        ("info a.strategy", "a.strategy: is a strategy"),
        ("solve a.strategy", "a.strategy: is a strategy"),
        ("solve --resume a.strategy", "a.strategy: is a strategy"),
        ("solve --from a.spot --history c --seat 0", "a.spot: is a solved spot"),
        ("solve kuhn --strategy a.spot", "a.spot: a file that holds something else is there already"),
        ("solve kuhn --strategy river.json", "river.json: a file that holds something else is there already"),
        ("solve kuhn --checkpoint a.strategy", "a.strategy: a file that holds something else is there already"),
        ("solve leduc --abstraction a.strategy --iterations 2", "a.strategy: is a strategy"),
        ("solve-boards a.spot --boards 1", "a.spot: is a solved spot"),
        ("solve-boards flops.json --boards nofile.txt", "nofile.txt: there is no such file, which --boards names"),
        (
            "solve-spot flops.json --iterations 2 --device cpu",
            "solve-boards (solve_boards in the library) solves a spot on many flops",
        ),
        (
            "solve-spot river.json --iterations 100000000 --device cpu",
            "option iterations: 100000000 is not allowed (at most ",
        ),
    ] {
        let output = scratch.command(line).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(told), "{line}: {said}");
    }
    let said = scratch.ok("info a.spot --json info.json");
    for part in ["Qs Jh 2h 2d 7c", "20 iterations", "10 hands", "exploitability", "MB"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(scratch.json("info.json")["iterations"], 20);
    scratch.ok("solve-spot river.json --iterations 20 --device cpu --save b.spot --checkpoint-every 500ms --report 0");
}
