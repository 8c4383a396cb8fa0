//! The commands of `warpplay shogi` as others use them: their JSON, exit codes, one-line errors, data sets, checkpoints and Ctrl-C.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use warpplay_tests::backends::kernel_devices;
use warpplay_tests::golden;
use warpplay_tests::programs::{self, Scratch, close, has, interrupt, list};

/// The program `warpplay`.
fn program() -> &'static Path {
    programs::warpplay(env!("CARGO_TARGET_TMPDIR"))
}

/// A folder for runs of the program, with six games in it.
fn new_scratch() -> Scratch {
    let scratch = Scratch::new(program(), "shogi");
    fs::write(scratch.path("six.usi"), golden::text("shogi/six.usi")).expect("a file");
    scratch
}

/// What a run of `learn` computes, without its times.
fn course(report: &Value) -> Vec<Value> {
    let rows = list(&report["trajectory"]).iter().map(|row| {
        let mut row = row.clone();
        row.as_object_mut().expect("an object").remove("seconds");
        row
    });
    rows.collect()
}

#[test]
fn fit_is_the_reference_on_every_back_end_by_every_engine() {
    let games = golden::path("shogi/first_100.usi.txt.gz");
    let reference: Value = serde_json::from_str(&golden::text("shogi/learning.json")).expect("JSON");
    let expected = list(&reference["first_100_games"]["rows"]);
    let scratch = new_scratch();
    let mut runs = vec![("cpu".to_string(), "auto"), ("cpu".to_string(), "plain")];
    for device in kernel_devices() {
        runs.push((device.backend().to_string(), "histogram"));
    }
    for (device, engine) in runs {
        let shown = scratch.ok(&format!(
            "fit --records \"{}\" --limit 100 --iterations 10 --device {device} --engine {engine} --json run.json --plots run.svg",
            games.display()
        ));
        let report = scratch.json("run.json");
        has(
            &report,
            &["schema", "kind", "program", "version", "device", "device_name", "report", "data", "trajectory"],
        );
        assert_eq!(report["children"], reference["first_100_games"]["children_K"]);
        assert!(shown.contains("3,823") && shown.contains("龍"), "{shown}");
        assert!(scratch.text("run.svg").starts_with("<svg"));
        let found = list(&report["trajectory"]);
        assert_eq!(found.len(), 11);
        for (row, expected) in found.iter().zip(expected) {
            close(&row["j"], &expected["J"], 1e-9);
            for (value, expected) in list(&row["values"]).iter().zip(list(&expected["v"])) {
                close(value, expected, 1e-9);
            }
        }
    }
    // A few positions by every engine of the devices that run kernels.
    let line = "fit --records six.usi --limit 1 --plies 40..44 --iterations 2 --quiet --json run.json";
    scratch.ok(&format!("{line} --device cpu"));
    let expected = scratch.json("run.json")["trajectory"].clone();
    for device in kernel_devices() {
        for engine in ["auto", "histogram", "fused", "plain", "persistent"] {
            scratch.ok(&format!("{line} --device {} --engine {engine}", device.backend()));
            let report = scratch.json("run.json");
            assert_eq!(report["report"]["engine"], if engine == "auto" { "histogram" } else { engine });
            for (row, expected) in list(&report["trajectory"]).iter().zip(list(&expected)) {
                close(&row["j"], &expected["j"], 1e-11);
            }
        }
    }
    scratch.ok(&format!("{line} --device cpu --engine plain --threads 1"));
    assert_eq!(scratch.json("run.json")["trajectory"], expected);
    assert!(scratch.fails(1, &format!("{line} --device cpu --engine fused")).contains("engine fused"));
    assert!(scratch.misused(&format!("{line} --engine paper")).contains("histogram"));
    assert!(scratch.fails(2, &format!("{line} --device cpu --threads 0")).contains("option threads: 0"));
}

const LEARN: &str = "learn --records six.usi --plies 40..60 --held-out 0.4 --device cpu --quiet";

#[test]
fn the_json_of_learn_has_the_fields_that_others_rely_on() {
    let scratch = new_scratch();
    for features in ["material", "material_hand", "piece_square", "kp"] {
        scratch.ok(&format!("{LEARN} --features {features} --optimizer adam --iterations 5 --json run.json"));
        let report = scratch.json("run.json");
        has(
            &report,
            &[
                "schema",
                "kind",
                "program",
                "version",
                "device",
                "features",
                "optimizer",
                "parameters",
                "train",
                "held_out",
            ],
        );
        assert_eq!(report["features"], features);
        for part in ["train", "held_out"] {
            has(&report[part], &["parents", "children"]);
            assert!(report[part]["parents"].as_u64() > Some(0), "{report}");
        }
        let rows = list(&report["trajectory"]);
        assert_eq!(rows.len(), 6);
        for (number, row) in rows.iter().enumerate() {
            has(row, &["iteration", "j", "agreement", "agreement_of_three", "held_out", "values", "seconds"]);
            assert_eq!(row["iteration"], number);
            for share in ["j", "agreement", "agreement_of_three"] {
                for of in [row, &row["held_out"]] {
                    let share = of[share].as_f64().expect("a number");
                    assert!((0.0..=1.0).contains(&share), "{row}");
                }
            }
            assert_eq!(list(&row["values"]).len(), 12);
        }
        assert!(rows[5]["j"].as_f64() < rows[0]["j"].as_f64(), "{features}: {rows:?}");
    }
}

/// A flag that is read but not passed on would go unnoticed elsewhere.
#[test]
fn every_option_of_learn_comes_back() {
    let scratch = new_scratch();
    scratch.ok(&format!(
        "{LEARN} --features piece_square --optimizer adam --iterations 2 --json run.json --learning-rate 0.25 --rate-factor 0.5 --init 4 --a 2.5 \
         --window 4.5 --siblings 9 --seed 5 --l1 0.001 --l2 0.01 --beta1 0.5 --beta2 0.75 --epsilon 0.001 --history 3 --keep-scale \
         --patience 7 --min-delta 0.125 --quiescence-every 1 --quiescence-depth 2"
    ));
    let report = scratch.json("run.json");
    let options = &report["report"]["options"];
    let init = [4.0; 12];
    for (name, expected) in [
        ("features", json!("piece_square")),
        ("optimizer", json!("adam")),
        ("learning_rate", json!(0.25)),
        ("rate_factor", json!(0.5)),
        ("init", json!(init)),
        ("a", json!(2.5)),
        ("window", json!(4.5)),
        ("siblings", json!(9)),
        ("seed", json!(5)),
        ("l1", json!(0.001)),
        ("l2", json!(0.01)),
        ("beta1", json!(0.5)),
        ("beta2", json!(0.75)),
        ("epsilon", json!(0.001)),
        ("history", json!(3)),
        ("keep_scale", json!(true)),
        ("early_stopping", json!({ "patience": 7, "min_delta": 0.125 })),
        ("quiet", json!({ "every": 1, "depth": 2 })),
    ] {
        assert_eq!(options[name], expected, "{name}");
    }
    let rows = course(&report);
    assert_eq!(
        rows.iter().map(|row| row["learning_rate"].as_f64()).collect::<Vec<_>>(),
        [Some(0.25), Some(0.125), Some(0.0625)]
    );
    // Child 0 and nine others of each position at most.
    let at_most = |row: &Value| row["parents"].as_u64().map(|parents| 10 * parents);
    assert!(rows.iter().all(|row| row["children"].as_u64() <= at_most(row)), "{rows:?}");
}

#[test]
fn every_optimizer_runs_and_exports() {
    let scratch = new_scratch();
    for optimizer in ["sign", "gd", "momentum", "adagrad", "adam", "lbfgs"] {
        scratch.ok(&format!(
            "{LEARN} --optimizer {optimizer} --iterations 3 --json run.json --l2 0.001{}",
            if optimizer == "lbfgs" { "" } else { " --keep-scale" }
        ));
        let rows = course(&scratch.json("run.json"));
        let sum = |row: &Value| list(&row["values"]).iter().map(|value| value.as_f64().expect("a number")).sum::<f64>();
        let last = &rows[rows.len() - 1];
        assert!(optimizer == "lbfgs" || (sum(&rows[0]) - sum(last)).abs() < 1e-3, "{optimizer}");
        assert!(last["j"].as_f64() < rows[0]["j"].as_f64(), "{optimizer}: {rows:?}");
    }
    scratch.ok(&format!(
        "{LEARN} --iterations 2 --save-weights w.safetensors --table values.txt --rust values.rs --plots run.svg"
    ));
    assert!(scratch.text("values.rs").contains("pub const"), "{}", scratch.text("values.rs"));
    assert!(scratch.text("values.txt").contains("+R"));
    assert!(scratch.text("run.svg").starts_with("<svg"));
    // Weights are what a further run starts from, and what positions are evaluated with.
    scratch.ok(&format!("{LEARN} --iterations 0 --start w.safetensors --json again.json"));
    scratch.ok(&format!("{LEARN} --iterations 2 --json run.json"));
    let rows = course(&scratch.json("run.json"));
    assert_eq!(course(&scratch.json("again.json"))[0]["j"], rows[2]["j"]);
    scratch.ok("analyse startpos --weights w.safetensors --json e.json --quiet");
    close(&scratch.json("e.json")["value"], &json!(0.0), 1e-9);
}

/// Its old name is read, and what is written is the new one.
#[test]
fn gradient_descent_was_called_sgd() {
    let scratch = new_scratch();
    scratch.ok(&format!("{LEARN} --optimizer sgd --iterations 2 --json old.json --checkpoint old.checkpoint"));
    scratch.ok(&format!("{LEARN} --optimizer gd --iterations 2 --json new.json"));
    let (old, new) = (scratch.json("old.json"), scratch.json("new.json"));
    assert_eq!(course(&old)[2]["values"], course(&new)[2]["values"]);
    assert_eq!((&old["optimizer"], &old["report"]["options"]["optimizer"]), (&json!("gd"), &json!("gd")));
    scratch.ok(&format!("{LEARN} --optimizer sgd --iterations 3 --resume old.checkpoint"));
    assert!(scratch.misused(&format!("{LEARN} --optimizer sgdm")).contains("sign, gd, momentum, adagrad, adam, lbfgs"));
}

#[test]
fn mini_batches_by_flag() {
    let scratch = new_scratch();
    let line = format!("{LEARN} --features piece_square --batch 5 --seed 3");
    let shown = scratch.ok(&format!("{line} --iterations 7 --json whole.json").replace(" --quiet", ""));
    assert!(shown.contains("5 positions a step") && shown.contains("on all positions J "), "{shown}");
    let whole = scratch.json("whole.json");
    assert_eq!(whole["report"]["options"]["batch"], 5);
    assert!(course(&whole)[..7].iter().all(|row| row["parents"].as_u64() <= Some(5)));
    let steps = whole["report"]["steps_per_epoch"].as_u64().expect("steps of an epoch");
    assert!(steps > 1);
    assert!(whole["report"]["whole"]["train"]["parents"].as_u64() > Some(5 * (steps - 1)));
    // On from the middle of an epoch.
    scratch.ok(&format!("{line} --iterations 3 --checkpoint half.checkpoint"));
    scratch.ok(&format!("{LEARN} --iterations 7 --resume half.checkpoint --json resumed.json"));
    assert_eq!(course(&whole)[7]["values"], course(&scratch.json("resumed.json"))[7]["values"]);
    assert!(scratch.misused(&format!("{LEARN} --batch -1")).contains("--batch"));
}

#[test]
fn a_learning_that_was_stopped_goes_on_with_the_same_bits() {
    let scratch = new_scratch();
    let line = format!("{LEARN} --features kp --optimizer adam --siblings 10 --seed 3");
    scratch.ok(&format!("{line} --iterations 6 --json whole.json --save-weights whole.safetensors"));
    scratch.ok(&format!("{line} --iterations 3 --checkpoint half.checkpoint"));
    scratch.ok(&format!(
        "{LEARN} --iterations 6 --resume half.checkpoint --json resumed.json --save-weights resumed.safetensors"
    ));
    let (whole, resumed) = (course(&scratch.json("whole.json")), course(&scratch.json("resumed.json")));
    assert_eq!(whole[3..], resumed[resumed.len() - 4..]);
    let bytes = |name: &str| fs::read(scratch.path(name)).expect("a file");
    assert_eq!(bytes("whole.safetensors"), bytes("resumed.safetensors"));
    // A checkpoint that is cut short, or of other features, is refused.
    let checkpoint = bytes("half.checkpoint");
    fs::write(scratch.path("short.checkpoint"), &checkpoint[..checkpoint.len() / 2]).expect("a file");
    assert!(scratch.fails(1, &format!("{LEARN} --resume short.checkpoint")).contains("short.checkpoint"));
    let mut damaged = checkpoint.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(scratch.path("damaged.checkpoint"), &damaged).expect("a file");
    assert!(scratch.fails(1, &format!("{LEARN} --resume damaged.checkpoint")).contains("damaged.checkpoint"));
    // Its options are its own, and its games must be those.
    let stderr = scratch.fails(2, &format!("{LEARN} --features material --resume half.checkpoint"));
    assert!(stderr.contains("option features: material is not allowed (kp, as in the checkpoint)"), "{stderr}");
    assert!(scratch.misused(&format!("{LEARN} --start w.safetensors --resume half.checkpoint")).contains("--resume"));
    // Without --iterations as far as the checkpoint's course was to go.
    let shown = scratch.ok(&format!("{} --resume half.checkpoint", LEARN.replace(" --quiet", "")));
    assert!(shown.contains("3 iterations are done: --iterations 3 leaves nothing to do"), "{shown}");
    let other = "learn --records six.usi --plies 40..50 --held-out 0.4 --device cpu --resume half.checkpoint";
    assert!(scratch.fails(1, other).contains("checkpoint"));
}

#[test]
fn ctrl_c_keeps_what_there_is() {
    let scratch = new_scratch();
    let mut command = scratch.command(
        "learn --records six.usi --plies 0..100 --device cpu --features kp --iterations 1000000 --checkpoint c --checkpoint-every 0.05s --json run.json --quiet",
    );
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    // Its first checkpoint says that it is learning.
    interrupt(child, &scratch.path("c"));
    let rows = course(&scratch.json("run.json")).len();
    assert!(rows > 0 && scratch.path("c").is_file(), "{rows}");
}

#[test]
fn evaluate_ranks_the_legal_moves() {
    let scratch = new_scratch();
    let shown = scratch.ok("analyse lnsgkgsnl/1r5+B1/pppp3pp/6p2/9/2P6/PP1PPPPPP/7R1/LNSGKGSNL w B2p 4");
    let lines: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("White holds")).collect();
    assert_eq!((lines[0], lines[11]), ("White holds p2", "Black holds B"), "{shown}");
    assert_eq!((lines[1], lines[3]), ("  9  8  7  6  5  4  3  2  1", "  .  r  .  .  .  .  . +B  .  b"), "{shown}");
    let shown = scratch.ok("analyse startpos --json e.json --top 0");
    let report = scratch.json("e.json");
    has(&report, &["sfen", "side", "value", "moves"]);
    assert_eq!(list(&report["moves"]).len(), 30);
    close(&report["value"], &json!(0.0), 1e-12);
    assert!(shown.contains("7g7f") && shown.contains("  l  n  s  g  k  g  s  n  l  a"), "{shown}");
    // A rook that hangs, seen from either side: the best move takes it, and is worth the rook twice (it changes hands).
    for (sfen, best) in [("4k4/9/9/4r4/4R4/9/9/9/4K4 b - 1", "5e5d"), ("4k4/9/9/4r4/4R4/9/9/9/4K4 w - 1", "5d5e")] {
        scratch.ok(&format!("analyse {sfen} --json e.json --quiet --values 3,4,5,6,8,10,7,6,6,6,10,12"));
        let report = scratch.json("e.json");
        assert!(report["moves"][0]["usi"].as_str().is_some_and(|usi| usi.starts_with(best)), "{report}");
        close(&report["value"], &json!(0.0), 1e-12);
        let values: Vec<f64> =
            list(&report["moves"]).iter().map(|row| row["value"].as_f64().expect("a number")).collect();
        assert!(values.is_sorted_by(|a, b| a >= b) && values[0] >= 20.0, "{values:?}");
    }
    // After moves, as engines are told them.
    scratch.ok("analyse startpos moves 7g7f 3c3d 8h2b+ --json e.json --quiet --values 3,4,5,6,8,10,7,6,6,6,10,12");
    let report = scratch.json("e.json");
    assert_eq!(report["sfen"], "lnsgkgsnl/1r5+B1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/7R1/LNSGKGSNL w B 4");
    close(&report["value"], &json!(8.0 + 8.0 + 2.0), 1e-12);
    assert!(report["moves"][0]["usi"].as_str().is_some_and(|usi| usi.ends_with("2b")), "{report}");
    assert!(scratch.fails(2, "analyse startpos moves 7g7f 7g7f").contains("7g7f is not allowed"));
    assert!(scratch.fails(2, "analyse nonsense").contains("nonsense"));
    assert!(scratch.fails(2, "analyse 4k4/9/9/9/9/9/9/9/4K4 b - 65535").contains("move number"));
    let many = "+R3k4/1+R7/2+R6/3+R5/4+R4/5+R3/6+R2/7+R1/4K3+R b RBGSNLP 1";
    assert!(scratch.fails(2, &format!("analyse {many}")).contains("10 rooks"));
    assert!(scratch.misused("analyse startpos --values 1,2,3").contains("twelve"));
    assert!(scratch.fails(1, "analyse startpos --weights missing.safetensors").contains("missing.safetensors"));
}

#[test]
fn a_data_set_is_built_inspected_and_learnt_from() {
    let scratch = new_scratch();
    scratch.ok("build-dataset --records six.usi --plies 40..60 --out data --shard 50 --json build.json");
    let shown = scratch.ok("inspect --data data --json inspect.json");
    let facts = scratch.json("inspect.json")["report"].clone();
    has(&facts, &["parents", "children", "distinct_vectors", "zero_share", "games", "shards"]);
    assert!(facts["shards"].as_u64() > Some(1) && shown.contains("children"), "{shown}");
    scratch.ok("inspect --records six.usi --plies 40..60 --json games.json --quiet");
    let games = scratch.json("games.json")["report"].clone();
    for field in ["parents", "children", "distinct_vectors", "zero_share", "games"] {
        assert_eq!(facts[field], games[field], "{field}");
    }
    // Shards change nothing.
    scratch
        .ok("learn --records six.usi --plies 40..60 --device cpu --iterations 3 --features kp --quiet --json one.json");
    scratch.ok("learn --data data --device cpu --iterations 3 --features kp --quiet --json shards.json");
    assert_eq!(course(&scratch.json("one.json")), course(&scratch.json("shards.json")));
    scratch.ok("fit --data data --device cpu --iterations 3 --quiet --json data.json");
    scratch.ok("fit --records six.usi --plies 40..60 --device cpu --iterations 3 --quiet --json direct.json");
    assert_eq!(scratch.json("data.json")["trajectory"], scratch.json("direct.json")["trajectory"]);
    // Games held out when sets are built are those that are held out of records.
    scratch.ok("build-dataset --records six.usi --plies 40..60 --out train --held-out 0.4 --held-out-dir test --quiet");
    scratch.ok("learn --data train --held-out test --device cpu --iterations 3 --quiet --json sets.json");
    scratch.ok(&format!("{LEARN} --iterations 3 --json split.json"));
    assert_eq!(course(&scratch.json("sets.json")), course(&scratch.json("split.json")));
    assert!(scratch.misused("build-dataset --records six.usi --out train --held-out 0.4").contains("--held-out-dir"));
    let same = "build-dataset --records six.usi --out train --held-out 0.4 --held-out-dir ./train";
    assert!(scratch.fails(2, same).contains("--held-out-dir and --out name the same file"));
    // The paper's rule, measured on them.
    scratch.ok("fit --data train --held-out test --device cpu --iterations 3 --quiet --json sets.json");
    scratch.ok(
        "fit --records six.usi --plies 40..60 --held-out 0.4 --device cpu --iterations 3 --quiet --json split.json",
    );
    let (sets, split) = (scratch.json("sets.json"), scratch.json("split.json"));
    assert_eq!((&sets["trajectory"], &sets["held_out"]), (&split["trajectory"], &split["held_out"]));
    assert_eq!(list(&sets["held_out"]["j"]).len(), 4);
    assert!(scratch.fails(2, "fit --data test --held-out 0.001").contains("leaves one side without a game"));
    // A number of games: those whose hashes are lowest, so more hold the same ones out.
    let held = |n: u32| {
        scratch.ok(&format!(
            "learn --records six.usi --plies 40..60 --held-out {n} --device cpu --iterations 0 --quiet --json n.json"
        ));
        let written = scratch.json("n.json");
        (written["train"]["distinct_games"].clone(), written["held_out"]["distinct_games"].clone())
    };
    let all = facts["distinct_games"].as_u64().expect("a number");
    assert_eq!(held(1), (json!(all - 1), json!(1)));
    assert_eq!(held(2), (json!(all - 2), json!(2)));
    assert_eq!(held(0), (json!(all), Value::Null));
    let said = scratch.fails(2, &format!("fit --records six.usi --plies 40..60 --held-out {all}"));
    assert!(
        said.contains(&format!("option held-out: {all} is not allowed (0 to {} of {all} games)", all - 1)),
        "{said}"
    );
    scratch.ok("build-dataset --records six.usi --plies 40..60 --out most --held-out 2 --held-out-dir two --quiet --json most.json");
    assert_eq!(scratch.json("most.json")["report"]["distinct_games"], all - 2);
    let said = scratch.fails(2, "build-dataset --records six.usi --out most --held-out test --held-out-dir two");
    assert!(said.contains("option held-out: \"test\" is not allowed"), "{said}");
    // What was chosen when it was built cannot be chosen again.
    assert!(scratch.fails(2, "fit --data data --plies 40..50").contains("--data"));
    // One bit, or a file cut short.
    let files: Vec<PathBuf> =
        fs::read_dir(scratch.path("data")).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    let largest = files.iter().max_by_key(|path| fs::metadata(path).expect("a file").len()).expect("a file");
    let whole = fs::read(largest).expect("a file");
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 4;
    fs::write(largest, &damaged).expect("a file");
    let name = largest.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(scratch.fails(1, "learn --data data --device cpu --iterations 1").contains(&name));
    fs::write(largest, &whole[..middle]).expect("a file");
    assert!(scratch.fails(1, "inspect --data data").contains(&name));
}

#[test]
fn moves_must_all_agree() {
    let scratch = new_scratch();
    let file = golden::path("shogi/moves.jsonl");
    let shared = golden::shared("vectors/shogi_moves.jsonl").map(|file| (file, 300, 22_414));
    for (file, positions, moves) in std::iter::once((file, 63, 4_278)).chain(shared) {
        let shown = scratch.ok(&format!("moves \"{}\" --json moves.json", file.display()));
        assert!(shown.contains(&format!("{positions} positions")), "{shown}");
        let report = scratch.json("moves.json");
        assert_eq!(
            (&report["positions"], &report["moves"], &report["differ"]),
            (&json!(positions), &json!(moves), &json!([]))
        );
    }
    let start = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";
    fs::write(scratch.path("wrong.jsonl"), format!("{{\"sfen\":\"{start}\",\"n\":1,\"moves\":[\"7g7f\"]}}\n"))
        .expect("a file");
    assert!(scratch.fails(1, "moves wrong.jsonl --quiet").contains("wrong.jsonl"));
    fs::write(scratch.path("broken.jsonl"), "{\"sfen\":\n").expect("a file");
    assert!(scratch.fails(1, "moves broken.jsonl").contains("line 1"));
    let many = "+R3k4/1+R7/2+R6/3+R5/4+R4/5+R3/6+R2/7+R1/4K3+R b RBGSNLP 1";
    fs::write(scratch.path("many.jsonl"), format!("{{\"sfen\":\"{many}\",\"n\":1,\"moves\":[]}}\n")).expect("a file");
    assert!(scratch.fails(1, "moves many.jsonl").contains("10 rooks"));
    fs::write(scratch.path("empty.jsonl"), "").expect("a file");
    assert!(scratch.fails(1, "moves empty.jsonl").contains("empty.jsonl"));
}

#[test]
fn bad_input_is_told_in_one_line() {
    let scratch = new_scratch();
    for command in ["fit", "learn", "inspect"] {
        assert!(scratch.fails(1, &format!("{command} --records missing.usi")).contains("missing.usi"));
        fs::create_dir_all(scratch.path("empty")).expect("a folder");
        assert!(scratch.fails(1, &format!("{command} --records empty")).contains("empty"));
        // No game is so long.
        assert!(scratch.fails(2, &format!("{command} --records six.usi --plies 900..901")).contains("900"));
        assert!(scratch.fails(1, &format!("{command} --data missing")).contains("missing"));
        assert!(scratch.misused(command).contains("--records"));
    }
    scratch.write("copy.usi", golden::text("shogi/six.usi").as_bytes());
    for (wrong, said) in [
        ("--learning-rate 0", "option learning-rate"),
        ("--learning-rate nan", "option learning-rate"),
        ("--rate-factor -1", "option rate-factor: -1"),
        ("--quiescence-every 1 --quiescence-depth 0", "option quiescence-depth: 0"),
        ("--held-out 0.4 --patience 2 --min-delta -1", "option min-delta: -1"),
        ("--l1 -1", "l1"),
        ("--a 0", "option a"),
        ("--held-out missing", "held-out: \"missing\""),
        ("--held-out ./six.usi", "held-out: \"./six.usi\" is not allowed (games other than"),
        ("--held-out copy.usi", "held-out: \"copy.usi\" is not allowed (games other than"),
        ("--game-range 50..60", "option game-range: 50..60"),
        ("--init 2000", "2000"),
    ] {
        let stderr = scratch.fails(2, &format!("learn --records six.usi --device cpu --iterations 1 {wrong}"));
        assert!(stderr.contains(said), "{wrong}: {stderr}");
    }
    for (wrong, said) in
        [("--init 1e300", "init"), ("--h 1e300", "option h: 1e300 is"), ("--delta 1e-300", "option delta")]
    {
        let stderr = scratch.fails(2, &format!("fit --records six.usi --device cpu --iterations 1 {wrong}"));
        assert!(stderr.contains(said), "{wrong}: {stderr}");
    }
    for flag in ["--plies", "--game-range"] {
        let said = scratch.misused(&format!("fit --records six.usi {flag} 40"));
        assert!(said.contains(&format!("for '{flag} <RANGE>': START..END or START..END/STEP")), "{said}");
    }
    for flag in ["--siblings", "--history", "--quiescence-every", "--device-bytes", "--limit", "--shard", "--plies"] {
        let stderr = scratch.misused(&format!("learn --records six.usi {flag} -1"));
        assert!(stderr.contains(&format!("invalid value '-1' for '{flag} <")), "{flag}: {stderr}");
    }
    assert!(scratch.misused("learn --records six.usi --features all").contains("kpp"));
    assert!(scratch.misused("learn --records six.usi --optimizer newton").contains("lbfgs"));
    assert!(scratch.misused("learn --records six.usi --patience 3").contains("--held-out"));
    assert!(scratch.misused("learn --records six.usi --held-out 1.5").contains("a share above 0 and below 1"));
    assert!(scratch.fails(1, "fit --records six.usi --json missing/run.json").contains("missing/run.json"));
    // A game with an illegal move is skipped and named; the rest is learnt from.
    let games = golden::text("shogi/six.usi");
    let wrong = games.replacen(" 2g2f", " 2g2e", 1);
    assert_ne!(games, wrong);
    fs::write(scratch.path("wrong.usi"), wrong).expect("a file");
    scratch.ok("fit --records wrong.usi --iterations 1 --device cpu --json run.json --quiet");
    let report = scratch.json("run.json");
    let data = &report["data"];
    assert_eq!((&data["games"], list(&data["skipped"]).len()), (&json!(5), 1));
    has(&data["skipped"][0], &["source", "reason"]);
}

#[test]
fn results_are_not_written_over_what_is_read() {
    let scratch = new_scratch();
    let games = fs::read(scratch.path("six.usi")).expect("the games");
    fs::write(scratch.path("held.usi"), &games).expect("a file");
    for (line, said) in [
        (
            "fit --records six.usi --held-out held.usi --device cpu --iterations 1 --json held.usi",
            "--json and --held-out name the same file held.usi",
        ),
        (
            "learn --records six.usi --held-out held.usi --device cpu --iterations 1 --save-weights ./held.usi",
            "--save-weights and --held-out name the same file ./held.usi",
        ),
        (
            "fit --records six.usi --device cpu --iterations 1 --json six.usi",
            "--json and --records name the same file six.usi",
        ),
        (
            "learn --records six.usi --device cpu --save-weights ./six.usi",
            "--save-weights and --records name the same file ./six.usi",
        ),
        (
            "learn --records six.usi --device cpu --json out --save-weights out",
            "--save-weights and --json name the same file out",
        ),
        ("inspect --records six.usi --json six.usi", "--json and --records name the same file six.usi"),
    ] {
        let stderr = scratch.fails(2, &format!("{line} --quiet"));
        assert!(stderr.contains(said), "{line}: {stderr}");
    }
    // A folder of plots that is not there yet.
    let line = "learn --records six.usi --plies 40..44 --device cpu --iterations 1 --json new/learning.svg --plots new";
    assert!(scratch.fails(2, line).contains("new/learning.svg"));
    assert!(!scratch.path("new").exists());
    // The old name of --save-weights is that of a file to read elsewhere.
    let stderr = scratch.misused("learn --records six.usi --device cpu --weights held.usi");
    assert!(stderr.contains("--save-weights FILE writes the weights"), "{stderr}");
    for file in ["six.usi", "held.usi"] {
        assert!(fs::read(scratch.path(file)).expect("the games") == games, "{file}");
    }
    assert!(!scratch.path("out").exists());
}

/// Two sets of two thousand files in all are written for longer than it takes to interrupt that: no set is half there, and the folders can be written again.
#[cfg(unix)]
#[test]
fn what_is_interrupted_while_it_is_written_is_whole_or_not_there() {
    const MINUTE: Duration = Duration::from_secs(60);
    let scratch = new_scratch();
    let records = format!("--records \"{}\"", golden::path("shogi/first_100.usi.txt.gz").display());
    let build = format!(
        "build-dataset {records} --shard 2 --out train --held-out 0.5 --held-out-dir test --json build.json --quiet"
    );
    let games_of = |source: &str| {
        scratch.ok(&format!("inspect {source} --json inspect.json --quiet"));
        scratch.json("inspect.json")["report"]["distinct_games"].as_u64().expect("a number")
    };
    let mut child = scratch.command(&build).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.as_mut().expect("the program starts");
    let start = Instant::now();
    while !scratch.path("test/.warpplay-lock").exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it was interrupted");
        assert!(start.elapsed() < MINUTE, "it does not begin to write");
        thread::sleep(Duration::from_millis(20));
    }
    let status = programs::ended_by(child, "INT", MINUTE);
    assert_eq!(status.code(), Some(130));
    assert!(!scratch.path("build.json").exists() && !scratch.path("train").exists());
    scratch.fails(1, "inspect --data test --quiet");
    scratch.ok(&build);
    let (train, test, all) = (games_of("--data train"), games_of("--data test"), games_of(&records));
    assert!(train > 0 && test > 0 && train + test == all, "{train}, {test}, {all}");
    assert_eq!(scratch.json("build.json")["report"]["distinct_games"], train);
}

/// Files may not grow beyond some bytes, as on a disk that is full: writing ends in the middle.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_what_was_there() {
    let scratch = new_scratch();
    let learn = "learn --data data --device cpu --features kp --iterations 2 --quiet --checkpoint c";
    scratch.ok("build-dataset --records six.usi --plies 40..50 --out data --quiet");
    scratch.ok(learn);
    let files = || {
        let mut files: Vec<(PathBuf, Vec<u8>)> = ["", "data"]
            .iter()
            .flat_map(|folder| fs::read_dir(scratch.path(folder)).expect("a folder"))
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), fs::read(path).expect("a file")))
            .collect();
        files.sort_unstable();
        files
    };
    let before = files();
    for (line, named) in [
        ("build-dataset --records six.usi --plies 40..60 --out data --quiet", "shard-"),
        (learn, "c: "),
        (
            "learn --data data --device cpu --features kp --iterations 1 --quiet --save-weights w.safetensors",
            "w.safetensors",
        ),
    ] {
        let plain = scratch.command(line);
        let mut limited = Command::new("sh");
        limited.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\""]).arg(plain.get_program());
        let output = limited.args(plain.get_args()).current_dir(scratch.folder()).output().expect("a shell");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(named), "{line}: {stderr}");
        assert!(files() == before, "{line}: other files than before");
    }
    scratch.ok("inspect --data data --quiet");
}

#[test]
fn what_cannot_be_is_refused_before_it_takes_memory() {
    let scratch = new_scratch();
    let stderr = scratch
        .fails(1, "fit --records six.usi --device cpu --engine plain --repeat 4000000000 --iterations 1 --quiet");
    assert!(stderr.contains("memory free"), "{stderr}");
    // A histogram's counts are multiplied, which takes none.
    for device in ["cpu", "simt"] {
        scratch.ok(&format!("fit --records six.usi --device {device} --repeat 4000000000 --iterations 1 --quiet"));
    }
    // Black moves, and White's king could be taken.
    let stderr = scratch.fails(2, "analyse 4k4/4R4/9/9/9/9/9/9/4K4 b - 1");
    assert!(stderr.contains("is in check"), "{stderr}");
}
