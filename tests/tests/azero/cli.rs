//! The commands `warpplay azero` as others use it: its files and JSON, its exit codes, its one-line errors; and that what was there stays where
//! something is wrong.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use warpplay::azero::{Network, NetworkShape, ObservationLayout, ValueOf};
use warpplay_tests::golden::{self, Tensors};
use warpplay_tests::journals::{Journaled, resealed};
use warpplay_tests::programs::{self, Scratch};

/// The program `warpplay`.
fn program() -> &'static Path {
    programs::warpplay(env!("CARGO_TARGET_TMPDIR"))
}

/// A folder for runs of the program.
fn new_scratch() -> Scratch {
    Scratch::new(program(), "azero")
}

/// A network small enough for the plain program.
fn tiny(scratch: &Scratch, name: &str, seed: u64) {
    let shape = NetworkShape { width: 4, depth: 1, value_hidden: 4, ..NetworkShape::default() };
    let network = Network::seeded(shape, seed).expect("a network");
    let network = network.with_meaning(ObservationLayout::Egocentric, ValueOf::Mover);
    network.save(scratch.path(name)).expect("written");
}

/// A tensor of a file that a test writes.
#[derive(Clone)]
struct Raw {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

fn read(path: &Path) -> HashMap<String, Raw> {
    let bytes = fs::read(path).expect("readable");
    let file = SafeTensors::deserialize(&bytes).expect("safetensors");
    let raw =
        |view: TensorView<'_>| Raw { dtype: view.dtype(), shape: view.shape().to_vec(), bytes: view.data().to_vec() };
    file.tensors().into_iter().map(|(name, view)| (name, raw(view))).collect()
}

fn write(path: &Path, tensors: &HashMap<String, Raw>) {
    let views = tensors
        .iter()
        .map(|(name, raw)| (name, TensorView::new(raw.dtype, raw.shape.clone(), &raw.bytes).expect("a tensor")));
    fs::write(path, safetensors::serialize(views, None).expect("safetensors")).expect("written");
}

fn golden_path(name: &str) -> PathBuf {
    golden::path("azero").join(name)
}

/// That the file's results are those of the reference within bounds for value, logits and policy.
fn agrees(out: &Path, reference: &Path, n: usize, bounds: [f64; 3]) {
    let (found, expected) = (Tensors::read(out), Tensors::read(reference));
    for (name, bound) in ["value", "policy_logits", "policy"].into_iter().zip(bounds) {
        let (found, expected) = (found.floats(name), expected.floats(name));
        assert_eq!(found.len(), if name == "value" { n } else { 512 * n }, "{name}");
        let largest = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(largest <= bound, "{name}: {largest:e} off, at most {bound:e}");
    }
}

#[test]
fn analyse_writes_what_the_reference_network_says() {
    let scratch = new_scratch();
    let inputs = golden_path("az_checkers_4.safetensors");
    let eval = |precision: &str| {
        let line = format!(
            "analyse --weights seed:27 --inputs \"{}\" --out out.safetensors --precision {precision} --device cpu --engine auto",
            inputs.display()
        );
        scratch.ok(&line)
    };
    eval("f64");
    agrees(&scratch.path("out.safetensors"), &inputs, 4, [1e-12, 1e-12, 1e-12]);
    assert!(read(&scratch.path("out.safetensors")).values().all(|tensor| tensor.dtype == Dtype::F64));
    assert!(eval("f32").contains("4 positions"));
    agrees(&scratch.path("out.safetensors"), &inputs, 4, [1e-5, 2e-5, 1e-5]);
    assert!(read(&scratch.path("out.safetensors")).values().all(|tensor| tensor.dtype == Dtype::F32));
    assert_eq!(scratch.names(), ["out.safetensors"], "nothing else is left");
}

#[test]
fn what_was_evaluated_twice_is_told() {
    let scratch = new_scratch();
    super::precision::spiked().save(scratch.path("spiked.safetensors")).expect("written");
    let how = "--weights spiked.safetensors --engine fused --device simt --json out.json";
    let json = |scratch: &Scratch| -> Value {
        serde_json::from_slice(&fs::read(scratch.path("out.json")).expect("written")).expect("JSON")
    };
    let text = scratch.ok(&format!("analyse {how}"));
    assert!(text.contains("\n1 batch evaluated twice: numbers were too large for the engine fused\n"), "{text}");
    assert_eq!(json(&scratch)["repeated_batches"], 1);
    // The start is the first of its positions.
    let text = scratch.ok(&format!("bench {how} --batch 1 --precision f32 --seconds 0.01"));
    assert!(text.contains(" batches evaluated twice"), "{text}");
    assert!(json(&scratch)["lines"][0]["repeated_batches"].as_u64() >= Some(2));
}

#[test]
fn analyse_agrees_with_the_large_set_of_positions() {
    let (Some(inputs), Some(weights)) =
        (golden::shared("vectors/az_checkers_io.safetensors"), golden::shared("vectors/az_checkers_net.safetensors"))
    else {
        return;
    };
    let scratch = new_scratch();
    for weights in [weights.display().to_string(), "seed:27".to_string()] {
        let line = format!(
            "analyse --weights \"{weights}\" --inputs \"{}\" --out out.safetensors --precision f64 --device cpu --batch 24",
            inputs.display()
        );
        scratch.ok(&line);
        agrees(&scratch.path("out.safetensors"), &inputs, 64, [1e-12, 1e-12, 1e-12]);
    }
}

#[test]
fn analyse_shows_value_and_moves_of_positions() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    let shown =
        scratch.ok("analyse --device cpu --weights net.safetensors --moves \"a3b4 b6a5\" --top 2 --json out.json");
    assert!(shown.contains("White to move, value ") && shown.contains("and 5 more"), "{shown}");
    let record = scratch.json("out.json");
    assert_eq!(
        (&record["kind"], &record["observation"], &record["value_of"]),
        (&"analyse".into(), &"egocentric".into(), &"mover".into())
    );
    let moves = record["positions"][0]["moves"].as_array().expect("a list");
    assert_eq!(moves.len(), 7);
    let sum: f64 = moves.iter().map(|one| one["probability"].as_f64().expect("a number")).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    // A file of positions: moves, and boards as the records write them.
    let board = record["positions"][0]["position"].as_str().expect("a text");
    fs::write(scratch.path("positions.txt"), format!("a3b4 # first\n\n{board}\n")).expect("written");
    scratch.ok("analyse --device cpu --weights net.safetensors --positions positions.txt --json both.json");
    let both = scratch.json("both.json");
    assert_eq!(both["positions"][1], record["positions"][0]);
    assert_eq!(both["positions"].as_array().map(Vec::len), Some(2));
}

#[test]
fn without_weights_the_seeded_network_is_used_and_that_is_said() {
    let scratch = new_scratch();
    let shown = scratch.ok("analyse --device cpu");
    assert!(shown.starts_with("no --weights: the seeded default network, seed:27"), "{shown}");
    // The first move of the reference network's liking.
    let cells = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let likes = |cells: &[String]| cells.len() > 1 && cells[0] == "g3h4" && cells[1].starts_with("80.9");
    assert!(shown.lines().map(cells).any(|cells| likes(&cells)), "{shown}");
    assert_eq!(scratch.ok("analyse --device cpu --quiet"), "");
}

#[test]
fn weights_that_are_wrong_are_refused_by_name_and_nothing_is_overwritten() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    fs::copy(golden_path("az_checkers_4.safetensors"), scratch.path("io.safetensors")).expect("copied");
    fs::write(scratch.path("out.safetensors"), "what was there").expect("written");
    let line = "analyse --weights bad.safetensors --inputs io.safetensors --out out.safetensors --device cpu";
    let good = read(&scratch.path("net.safetensors"));
    let name = "layers.1.res_0_conv_2.weight";
    let with = |change: &dyn Fn(&mut HashMap<String, Raw>), words: &str| {
        let mut tensors = good.clone();
        change(&mut tensors);
        write(&scratch.path("bad.safetensors"), &tensors);
        let said = scratch.fails(1, line);
        assert!(said.contains(words), "{line}: {said}");
    };
    with(&|tensors| drop(tensors.remove(name)), name);
    with(
        &|tensors| {
            let tensor = tensors.remove(name).expect("there");
            tensors.insert("layers.1.res_0_conv_9.weight".into(), tensor);
        },
        "layers.1.res_0_conv_",
    );
    with(&|tensors| tensors.get_mut(name).expect("there").shape = vec![4, 4, 9, 1], name);
    let nan = |tensor: &mut Raw| tensor.bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    with(&|tensors| nan(tensors.get_mut(name).expect("there")), name);
    // Of several faults always the same one is told.
    let first = good.keys().min().expect("a tensor");
    for _ in 0..3 {
        with(&|tensors| tensors.values_mut().for_each(nan), &format!("tensor {first}, "));
    }
    let mut bytes = fs::read(scratch.path("net.safetensors")).expect("readable");
    bytes.truncate(bytes.len() - 8);
    fs::write(scratch.path("bad.safetensors"), &bytes).expect("written");
    assert!(scratch.fails(1, line).contains("tensor layers."));
    fs::write(scratch.path("bad.safetensors"), "").expect("written");
    assert!(scratch.fails(1, line).contains("the file is empty"));
    fs::remove_file(scratch.path("bad.safetensors")).expect("removed");
    assert!(scratch.fails(1, line).contains("cannot be read"));
    assert!(scratch.fails(2, &line.replace("bad.safetensors", "seed:x")).contains("option weights: seed:x"));
    // A network for another game.
    let other = NetworkShape {
        rows: 6,
        columns: 7,
        actions: 7,
        ..NetworkShape { width: 4, depth: 0, ..NetworkShape::default() }
    };
    Network::seeded(other, 1).expect("a network").save(scratch.path("bad.safetensors")).expect("written");
    assert!(scratch.fails(1, line).contains("checkers has 5 of 8 x 8 and 512"));
    assert_eq!(scratch.text("out.safetensors"), "what was there");
    assert_eq!(scratch.names(), ["bad.safetensors", "io.safetensors", "net.safetensors", "out.safetensors"]);
}

#[test]
fn inputs_that_are_wrong_are_refused_by_name_and_nothing_is_overwritten() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    fs::write(scratch.path("out.safetensors"), "what was there").expect("written");
    let line = "analyse --weights net.safetensors --inputs bad.safetensors --out out.safetensors --device cpu";
    let good = read(&golden_path("az_checkers_4.safetensors"));
    let with = |change: &dyn Fn(&mut HashMap<String, Raw>), words: &str| {
        let mut tensors = good.clone();
        change(&mut tensors);
        write(&scratch.path("bad.safetensors"), &tensors);
        let said = scratch.fails(1, line);
        assert!(said.contains(words), "{line}: {said}");
    };
    let set = |tensor: &str, shape: Vec<usize>| {
        let tensor = tensor.to_string();
        move |tensors: &mut HashMap<String, Raw>| {
            let raw = tensors.get_mut(&tensor).expect("there");
            raw.bytes.resize(shape.iter().product::<usize>() * if raw.dtype == Dtype::U8 { 1 } else { 4 }, 0);
            raw.shape = shape.clone();
        }
    };
    with(&|tensors| drop(tensors.remove("obs")), "tensor obs is missing");
    with(&|tensors| drop(tensors.remove("mask")), "tensor mask is missing");
    with(&set("obs", vec![4, 319]), "tensor obs has the shape [4, 319], expected [n, 320] or [n, 5, 8, 8]");
    with(&set("obs", vec![1280]), "tensor obs has the shape [1280]");
    with(&set("obs", vec![0, 320]), "tensor obs holds no position");
    with(&set("mask", vec![3, 512]), "tensor mask has the shape [3, 512], expected [4, 512]");
    with(
        &|tensors| tensors.get_mut("mask").expect("there").dtype = Dtype::I8,
        "tensor mask is of type I8, expected U8 or BOOL",
    );
    with(&|tensors| tensors.get_mut("obs").expect("there").dtype = Dtype::I32, "tensor obs is of type I32");
    with(
        &|tensors| tensors.get_mut("mask").expect("there").bytes[1024..1536].fill(0),
        "tensor mask, position 2 has no legal action",
    );
    with(
        &|tensors| tensors.get_mut("mask").expect("there").bytes[515] = 7,
        "tensor mask, position 1, action 3 is 7, expected 0 or 1",
    );
    with(
        &|tensors| {
            tensors.get_mut("obs").expect("there").bytes[1284..1288].copy_from_slice(&f32::INFINITY.to_le_bytes())
        },
        "tensor obs, position 1, element 1 is not a finite number",
    );
    fs::write(scratch.path("bad.safetensors"), "{}").expect("written");
    assert!(scratch.fails(1, line).contains("bad.safetensors"));
    assert_eq!(scratch.text("out.safetensors"), "what was there");
    // Planes of their own dimensions are as good.
    let mut tensors = good.clone();
    set("obs", vec![4, 5, 8, 8])(&mut tensors);
    write(&scratch.path("bad.safetensors"), &tensors);
    scratch.ok(line);
    assert_eq!(read(&scratch.path("out.safetensors"))["policy"].shape, [4, 512]);
}

#[test]
fn options_that_are_wrong_are_refused_by_name() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    for (line, words) in [
        ("analyse --batch 0 --device cpu", "option batch: 0 is not allowed (1 to 1048576)"),
        ("analyse --batch 1048577 --device cpu", "option batch: 1048577"),
        ("bench --batch 1,0 --device cpu", "option batch: 0"),
        ("analyse --precision f64 --device simt", "option precision: f64"),
        ("analyse --engine fused --device cpu", "option engine: fused"),
        ("analyse --device gpu", "option device: gpu"),
        ("analyse --position ........", "option position: ........ is not allowed (board: 8 characters, expected 64)"),
        ("selfplay --simulations 0 --device cpu", "option simulations: 0"),
        ("selfplay --uniform --leaves 17 --device cpu", "option leaves: 17"),
        ("selfplay --uniform --parallel 0 --device cpu", "option parallel: 0"),
        ("selfplay --uniform --noise-epsilon 2 --device cpu", "option noise epsilon: 2"),
        ("selfplay --playouts 0 --device cpu", "option playouts: 0"),
        ("perft --depth 0", "option depth: 0 is not allowed (1 to 14)"),
        ("match --games 3 --device cpu", "option games: 3"),
        ("match --a uniform,simulations=0 --device cpu", "option simulations: 0"),
        ("match --a uniform,c_puct=1e400 --device cpu", "option c_puct: 1e400 is not allowed (above 0, at most 1e6)"),
        ("analyse --inputs io --out io --device cpu", "--out and --inputs name the same file io"),
        (
            "analyse --weights net.safetensors --json ./net.safetensors --device cpu",
            "--json and --weights name the same file",
        ),
        (
            "match --a net.safetensors,simulations=2 --json ./net.safetensors --device cpu",
            "--json and --a name the same file",
        ),
        (
            "match --b net.safetensors,simulations=2 --json ./net.safetensors --device cpu",
            "--json and --b name the same file",
        ),
        ("train --records games.jsonl --save-weights games.jsonl", "--save-weights and --records name the same file"),
        ("train --records games.jsonl --save-weights net --gate 1", "option gate: 1"),
        ("train --records games.jsonl --save-weights net --learning-rate 0", "option learning_rate: 0"),
        (
            "train --records games.jsonl --save-weights net --gate 2 --uniform",
            "--uniform and --playouts cannot be used",
        ),
        ("learn --folder run --precision f16 --device cpu", "option precision: f16"),
        ("learn --folder run --games 70000 --parallel 70000 --device cpu", "option parallel: 70000 is not allowed"),
        ("learn --folder run --games 4 --batch 60000 --device cpu", "option batch: 60000 is not allowed (at most 4000"),
        ("learn --folder run --width 0 --device cpu", "option width: 0"),
    ] {
        let said = scratch.fails(2, line);
        assert!(said.contains(words), "{line}: {said}");
    }
    for (line, words) in [
        ("analyse --moves a3c5 --device cpu", "moves of checkers: move 1 (`a3c5`) is illegal"),
        ("analyse --moves a3a4 --device cpu", "`a3a4` is not a move"),
        ("play --moves zz --device cpu", "`z` is not a move"),
        ("analyse --out nowhere/out.safetensors --device cpu", "nowhere/out.safetensors: cannot be written"),
        ("selfplay --uniform --save-games nowhere/games.jsonl --device cpu", "nowhere/games.jsonl: cannot be written"),
        ("analyse --positions none.txt --device cpu", "none.txt: cannot be read"),
    ] {
        let said = scratch.fails(1, line);
        assert!(said.contains(words), "{line}: {said}");
    }
    fs::write(scratch.path("positions.txt"), "a3b4\na3b4 b6a5 b4a5\n").expect("written");
    let line = "analyse --positions positions.txt --device cpu";
    assert!(scratch.fails(1, line).contains("positions.txt, line 2: moves of checkers: move 3 (`b4a5`) is illegal"));
    fs::write(scratch.path("positions.txt"), format!("{} 0 40\n", ".".repeat(63) + ".")).expect("written");
    assert!(scratch.fails(1, line).contains("positions.txt, line 1: the game is over there"));
    for line in [
        "analyse --batch -1",
        "analyse --precision fp8",
        "selfplay --games 0",
        "match --a net,foo=1",
        "match --b random,seed=1",
        "verify",
        "convert",
        "train --save-weights x",
    ] {
        let output = scratch.run(line);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(stderr.starts_with("error: "), "{line}: {stderr}");
    }
    assert_eq!(scratch.names(), ["net.safetensors", "positions.txt"]);
}

#[test]
fn verify_agrees_or_names_the_first_place_that_does_not() {
    let scratch = new_scratch();
    let games = golden_path("checkers_games.jsonl");
    let shown = scratch.ok(&format!("verify \"{}\"", games.display()));
    assert!(shown.contains("8 games, 664 states") && shown.contains("all agree"), "{shown}");
    if let Some(path) = golden::shared("vectors/checkers_random_games.jsonl") {
        assert!(scratch.ok(&format!("verify \"{}\"", path.display())).contains("60 games, 4226 states"));
    }
    let text = fs::read_to_string(&games).expect("readable");
    // The third game's second action becomes one that is not legal.
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    lines[2]["actions"][1] = 511.into();
    fs::write(scratch.path("bad.jsonl"), lines.iter().map(|line| format!("{line}\n")).collect::<String>())
        .expect("written");
    assert!(
        scratch.fails(1, "verify bad.jsonl").contains("bad.jsonl, line 3: ply 1: action 511 is illegal (allowed: ")
    );
    fs::write(scratch.path("bad.jsonl"), "{}\n").expect("written");
    assert!(scratch.fails(1, "verify bad.jsonl").contains("bad.jsonl, line 1: not a recorded game: missing field"));
    assert!(scratch.fails(1, "verify none.jsonl").contains("none.jsonl: cannot be read"));
    assert!(
        scratch.fails(1, "verify /dev/zero").contains("/dev/zero: cannot be read: it is a folder, a device or a pipe")
    );
}

#[test]
fn perft_prints_the_published_counts() {
    let scratch = new_scratch();
    let shown = scratch.ok("perft --depth 8 --json counts.json");
    let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[7], ["7", "179255", "179740"]);
    assert_eq!(rows[8], ["8", "838248", "845931"]);
    assert_eq!(scratch.json("counts.json")["depths"][7]["actions"], 838_248);
}

#[test]
fn selfplay_records_games_that_replay_and_train_learns_from_them() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    let play = |more: &str| {
        let line = "selfplay --games 4 --simulations 8 --weights net.safetensors --seed 5 --device cpu --save-games";
        scratch.ok(&format!("{line} {more}"))
    };
    let shown = play("games.jsonl");
    assert!(shown.contains("4 games are in games.jsonl"), "{shown}");
    play("again.jsonl --parallel 2");
    assert_eq!(scratch.text("games.jsonl"), scratch.text("again.jsonl"), "games do not depend on their neighbours");
    assert!(scratch.ok("verify games.jsonl --json verify.json").contains("4 games of self-play"));
    assert_eq!(scratch.json("verify.json")["files"][0]["games"], 4);
    let first: Value = serde_json::from_str(scratch.text("games.jsonl").lines().next().expect("a line")).expect("JSON");
    for field in
        ["game", "seed", "actions", "players", "boards", "visits", "root_values", "returns", "plies", "network"]
    {
        assert!(!first[field].is_null(), "no field {field}");
    }
    // Half of a file is no games.
    let text = scratch.text("games.jsonl");
    fs::write(scratch.path("half.jsonl"), &text[..text.len() / 2]).expect("written");
    assert!(scratch.fails(1, "verify half.jsonl").contains("half.jsonl, line "));
    let line = "train --records half.jsonl --weights net.safetensors --save-weights new.safetensors --device cpu";
    assert!(scratch.fails(1, line).contains("half.jsonl, line "));

    let train = "train --records games.jsonl --device cpu --batch 32 --save-weights new.safetensors";
    let shown = scratch
        .ok(&format!("{train} --weights net.safetensors --epochs 2 --checkpoint state.safetensors --json train.json"));
    assert!(shown.lines().any(|line| line.trim_start().starts_with("2 ")), "{shown}");
    assert!(shown.contains("the network is in new.safetensors"), "{shown}");
    let record = scratch.json("train.json");
    assert_eq!((record["report"]["epochs"].as_array().map(Vec::len), &record["written"]), (Some(2), &true.into()));
    let new = Network::load(scratch.path("new.safetensors")).expect("a network");
    assert_eq!((new.observation(), new.value_of()), (ObservationLayout::Egocentric, ValueOf::Mover));
    assert_ne!(new, Network::load(scratch.path("net.safetensors")).expect("a network"));
    // Going on for a third epoch is the same as three at once.
    scratch.ok(&format!("{train} --epochs 3 --resume state.safetensors"));
    let resumed = fs::read(scratch.path("new.safetensors")).expect("readable");
    scratch.ok(&format!("{train} --epochs 3 --weights net.safetensors"));
    assert!(resumed == fs::read(scratch.path("new.safetensors")).expect("readable"), "resumed equals uninterrupted");
    // A gate that nothing passes: what was there stays.
    let shown = scratch.ok(&format!(
        "{train} --epochs 1 --learning-rate 0.00001 --weights net.safetensors --gate 2 --gate-score 1 --simulations 2 --json gate.json"
    ));
    let gate = scratch.json("gate.json");
    assert_eq!(gate["written"].as_bool(), Some(shown.contains("the network is in")), "{shown}");
    assert_eq!(gate["gate"]["names"][0], "the new network");
    if gate["written"] == false {
        assert!(resumed == fs::read(scratch.path("new.safetensors")).expect("readable"));
    }
    // Games held out: a number is the share that it is of all.
    let held = |what: &str| {
        scratch.ok(&format!("{train} --epochs 1 --weights net.safetensors --held-out {what} --json held.json"));
        scratch.json("held.json")["report"].clone()
    };
    let (number, share) = (held("1"), held("0.25"));
    assert_eq!((&number["options"]["validation"], &number["options"]), (&0.25.into(), &share["options"]));
    assert!(number["epochs"][0]["validation"].is_object(), "{number}");
    assert_eq!(number["epochs"][0]["validation"], share["epochs"][0]["validation"]);
    assert_eq!(held("0")["options"]["validation"], 0.0);
    for (what, allowed) in
        [("4", "4 is not allowed (0 to 3 of 4 games)"), ("games.jsonl", "a number of the games of --records")]
    {
        let said = scratch.fails(2, &format!("{train} --weights net.safetensors --held-out {what}"));
        assert!(said.contains("option held-out") && said.contains(allowed), "{said}");
    }
    // The seed, the engine and the threads are those of the training; the gate has its own seed.
    scratch.ok(&format!(
        "{train} --epochs 1 --weights net.safetensors --seed 9 --engine cpu --threads 1 --gate 2 --gate-score 0 --gate-seed 4 --simulations 2 --json seeds.json"
    ));
    let seeds = scratch.json("seeds.json");
    assert_eq!((&seeds["report"]["seed"], &seeds["report"]["engine"]), (&9.into(), &"cpu".into()));
    assert_eq!(seeds["gate"]["seed"], 4);
    assert!(scratch.fails(2, &format!("{train} --threads 0")).contains("option threads: 0 is not allowed"));
    let line = "train --records games.jsonl --weights net.safetensors --device cpu --batch 60000 --save-weights new.safetensors";
    assert!(scratch.fails(2, line).contains("option batch: 60000 is not allowed (at most the "));
}

#[test]
fn a_match_counts_both_colours() {
    let scratch = new_scratch();
    let shown =
        scratch.ok("match --a uniform,simulations=60 --b random --games 6 --device cpu --seed 3 --json match.json");
    assert!(shown.contains("results of A"), "{shown}");
    let record = scratch.json("match.json");
    let of = |colour: usize, name: &str| record["report"]["by_colour"][colour][name].as_u64().expect("a count");
    let count = |colour: usize| ["wins", "draws", "losses"].map(|name| of(colour, name)).iter().sum::<u64>();
    assert_eq!((count(0), count(1)), (3, 3));
    let halves = |colour: usize| 2 * of(colour, "wins") + of(colour, "draws");
    assert_eq!(record["score"].as_f64(), Some((halves(0) + halves(1)) as f64 / 12.0), "{record}");
    scratch.ok("match --a playouts,playouts=2,simulations=4 --b mcts,steps=2,playouts=2 --games 2 --device cpu");
}

#[test]
fn the_observation_is_stored_with_the_weights() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    scratch.ok("convert --weights net.safetensors --observation legacy --save-weights other.safetensors");
    let network = Network::load(scratch.path("other.safetensors")).expect("a network");
    assert_eq!(network.observation(), ObservationLayout::Legacy);
    scratch.ok("analyse --device cpu --weights other.safetensors --json a.json");
    scratch.ok("analyse --device cpu --weights net.safetensors --observation legacy --json b.json");
    assert_eq!(scratch.json("a.json")["observation"], "legacy");
    assert_eq!(scratch.json("a.json")["positions"], scratch.json("b.json")["positions"]);
    assert!(
        scratch
            .fails(2, "convert --weights net.safetensors --save-weights net.safetensors")
            .contains("name the same file")
    );
}

/// Plays with these lines typed.
fn play(scratch: &Scratch, flags: &str, typed: &str) -> String {
    let mut command = scratch.command(&format!("play --uniform --simulations 8 --device cpu {flags}"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(typed.as_bytes()).expect("the program reads");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_game_is_played_in_the_terminal() {
    let scratch = new_scratch();
    let shown = play(&scratch, "--json game.json", "help\nnonsense\nb2c3\na3b4\nundo\nhint\nc3b4\nquit\n");
    assert!(shown.contains("White to move: a3b4 c3b4 c3d4 e3d4 e3f4 g3f4 g3h4"), "{shown}");
    assert!(shown.contains("b2c3 cannot be played"), "{shown}");
    assert!(shown.contains("is not a move"), "{shown}");
    assert!(shown.contains("Black plays "), "{shown}");
    assert!(shown.ends_with("The game is left unfinished.\n"), "{shown}");
    let record = scratch.json("game.json");
    assert_eq!((&record["moves"][0], &record["finished"]), (&"c3b4".into(), &false.into()));
    assert_eq!(record["moves"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_piece_that_can_jump_on_is_asked_to() {
    let scratch = new_scratch();
    let mut board = vec!['.'; 64];
    // a1, b2, d4, h2.
    for (square, piece) in [(56, 'o'), (49, '+'), (35, '+'), (55, 'o')] {
        board[square] = piece;
    }
    let board: String = board.into_iter().collect();
    let shown = play(&scratch, &format!("--position \"{board}\""), "h2g3\na1c3\nh2g3\nc3e5\n");
    assert!(shown.contains("White must capture: a1c3\n"), "{shown}");
    assert!(shown.contains("h2g3 cannot be played: capturing is compulsory"), "{shown}");
    assert!(shown.contains("White jumps on with the same piece: c3e5\n"), "{shown}");
    assert!(shown.contains("h2g3 cannot be played: the piece that has jumped must jump on"), "{shown}");
    assert!(shown.ends_with("The end: White wins, Black cannot move.\n"), "{shown}");
}

#[test]
fn two_engines_play_to_the_end() {
    let scratch = new_scratch();
    let shown = play(&scratch, "--white engine --black engine --quiet --json game.json", "");
    assert!(shown.contains("The end: "), "{shown}");
    assert_eq!(scratch.json("game.json")["finished"], true);
}

#[test]
fn bench_measures_every_line() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    scratch.ok(
        "bench --weights net.safetensors --device cpu --batch 1,3 --precision f32,f64 --seconds 0 --json bench.json",
    );
    let record = scratch.json("bench.json");
    let lines = record["lines"].as_array().expect("a list");
    assert_eq!(lines.len(), 4);
    assert!(lines.iter().all(|line| line["positions_per_second"].as_f64() > Some(0.0)));
}

#[test]
fn learning_goes_on_in_its_folder() {
    let scratch = new_scratch();
    let line = "learn --folder run --width 4 --depth 1 --games 4 --simulations 4 --gate 2 --batch 32 --device cpu --save-weights best.safetensors";
    let shown = scratch.ok(&format!("{line} --iterations 1"));
    assert!(shown.contains("iteration 1 of 1"), "{shown}");
    let shown = scratch.ok(&format!("{line} --iterations 2 --json learn.json"));
    assert!(shown.contains("1 iterations are done already") && shown.contains("iteration 2 of 2"), "{shown}");
    assert_eq!(scratch.json("learn.json")["report"]["iterations"].as_array().map(Vec::len), Some(2));
    assert!(Network::load(scratch.path("best.safetensors")).is_ok());
}

#[test]
fn a_gate_that_cannot_be_played_is_refused_before_the_training() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    scratch.ok("selfplay --games 2 --simulations 2 --weights net.safetensors --device cpu --save-games games.jsonl");
    let line = "train --records games.jsonl --weights net.safetensors --batch 16 --epochs 1 --gate 2 --device cpu --save-weights new.safetensors --checkpoint state.safetensors";
    for (more, words) in [
        ("--gate-precision bf16", "the gate match: option precision: bf16"),
        ("--gate-engine fused", "the gate match: option engine: fused"),
    ] {
        let said = scratch.fails(2, &format!("{line} {more}"));
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(scratch.names(), ["games.jsonl", "net.safetensors"], "no training has begun");
}

#[test]
fn a_run_that_was_refused_can_be_begun_with_other_options() {
    let scratch = new_scratch();
    let line = "learn --folder run --width 2 --depth 0 --games 2 --simulations 2 --gate 2 --epochs 1 --iterations 1 --device cpu";
    // More than the games have, which is known when they are played.
    assert!(
        scratch.fails(2, &format!("{line} --batch 1999")).contains("option batch: 1999 is not allowed (at most the ")
    );
    scratch.ok(&format!("{line} --batch 16"));
    // Files of the run are no place for results.
    let kept = scratch.text("run/learn.json");
    for (file, option) in [("learn.json", "--json"), ("network-0001.safetensors", "--save-weights")] {
        let said = scratch.fails(2, &format!("{line} --batch 16 {option} ./run/{file}"));
        assert!(said.contains(&format!("{option} and --folder name the same file")), "{said}");
    }
    assert_eq!(scratch.text("run/learn.json"), kept);
    scratch.ok(&format!("{line} --batch 16 --save-weights run/best.safetensors"));
}

/// Ends a program that is at work as Ctrl-C does; it must end well, and soon.
#[cfg(target_os = "linux")]
fn interrupted(line: &str, mut child: std::process::Child) {
    assert!(child.try_wait().expect("a child").is_none(), "{line}: it ended by itself");
    assert_eq!(programs::ended_by(&mut child, "INT", Duration::from_secs(60)).code(), Some(0), "{line}");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_is_heard_within_a_move() {
    let scratch = new_scratch();
    let lines = [
        "perft --depth 14",
        "selfplay --playouts 100 --simulations 1000000 --games 2 --device cpu",
        "match --a playouts,playouts=100,simulations=1000000 --b random --games 2 --device cpu",
        "match --a mcts,steps=1000000000 --b random --games 2 --device cpu",
        "play --white engine --playouts 100 --simulations 1000000 --device cpu",
    ];
    let start = |(number, line): (usize, &&'static str)| {
        let mut command = scratch.command(&format!("{line} --json {number}.json"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the program starts")
    };
    let mut children: Vec<_> = lines.iter().enumerate().map(start).collect();
    children.iter_mut().for_each(programs::await_handler);
    for (line, child) in lines.iter().zip(children) {
        interrupted(line, child);
    }
    assert_eq!(scratch.names(), ["0.json", "1.json", "2.json", "3.json", "4.json"]);
    assert_eq!(scratch.json("1.json")["report"]["games"], 0);
    assert!(scratch.json("0.json")["depths"].as_array().is_some_and(|depths| (1..14).contains(&depths.len())));
}

#[cfg(unix)]
#[test]
fn ctrl_c_is_heard_in_gate_matches() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    scratch.ok("selfplay --games 2 --simulations 2 --weights net.safetensors --device cpu --save-games games.jsonl");
    // Sixteen million games take hours.
    let small = "--batch 16 --epochs 1 --simulations 2 --gate 16777216 --device cpu";
    for (line, written) in [
        (
            "train --records games.jsonl --weights net.safetensors --save-weights new.safetensors --checkpoint state.safetensors",
            "state.safetensors",
        ),
        ("learn --folder run --width 2 --depth 0 --games 2 --iterations 1", "run/network-0001.safetensors"),
    ] {
        let mut command = scratch.command(&format!("{line} {small}"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        programs::interrupt(child, &scratch.path(written));
    }
    assert!(!scratch.path("new.safetensors").exists(), "it has not passed the gate");
    let iterations = &scratch.json("run/learn.json")["iterations"];
    assert_eq!(iterations.as_array().map(Vec::len), Some(0));
}

/// Names of files need not be text.
#[cfg(target_os = "linux")]
#[test]
fn weights_may_have_any_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    let odd = |name: &[u8]| OsStr::from_bytes(name).to_os_string();
    let (weights, games) = (odd(b"net-\xff.safetensors"), odd(b"games-\xff.jsonl"));
    let run = |line: &str, more: &[&OsStr]| {
        let output = scratch.command(line).args(more).output().expect("the program starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let [w, r, s] = ["--weights", "--records", "--save-weights"].map(OsStr::new);
    for (line, more) in [
        ("convert --weights net.safetensors --json out.json", &[s, &weights][..]),
        ("convert --save-weights again.safetensors --json out.json", &[w, &weights]),
        ("analyse --device cpu --json out.json", &[w, &weights]),
        ("selfplay --games 1 --simulations 2 --device cpu", &[w, &weights, OsStr::new("--save-games"), &games]),
        (
            "train --batch 16 --epochs 1 --device cpu --save-weights new.safetensors --json out.json",
            &[w, &weights, r, &games],
        ),
    ] {
        let (code, said) = run(line, more);
        assert_eq!(code, Some(0), "{line}: {said}");
    }
    assert_eq!(Network::load(scratch.path("again.safetensors")).expect("a network"), {
        Network::load(scratch.path("net.safetensors")).expect("a network")
    });
    // A player has its options in the same argument.
    let player = odd(b"net-\xff.safetensors,simulations=2");
    let (code, said) = run("match --games 2 --device cpu --b random", &[OsStr::new("--a"), &player]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run("match --games 2 --device cpu --b random", &[OsStr::new("--a"), &odd(b"no-\xff,leaves=2")]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no-\u{fffd}: cannot be read"), "{said}");
}

#[test]
fn self_play_that_was_cut_off_goes_on_with_its_journal() {
    let scratch = new_scratch();
    tiny(&scratch, "net.safetensors", 3);
    tiny(&scratch, "other.safetensors", 4);
    Journaled {
        scratch: &scratch,
        line: "selfplay --weights net.safetensors --games 4 --parallel 2 --simulations 3 --device cpu --threads 1 --seed 1 --save-games games.jsonl",
        other: ("--simulations 3", "--simulations 4", "was made with option search.simulations 3, and this run has 4"),
        n_pieces: 4,
        file: Some("games.jsonl"),
        repeats: true,
    }
    .check();
    let uniform = "selfplay --uniform --games 3 --simulations 2 --device cpu --quiet";
    scratch.ok(&format!("{uniform} --checkpoint few"));
    // Other numbers of games side by side and in all change no game; fewer are not all that the file holds.
    scratch.ok(&format!("{uniform} --games 5 --parallel 1 --threads 1 --resume few --save-games more.jsonl")
        .replace("--games 3 ", ""));
    scratch.ok(&format!("{uniform} --games 5 --save-games all.jsonl").replace("--games 3 ", ""));
    assert_eq!(scratch.text("more.jsonl"), scratch.text("all.jsonl"));
    let said = scratch.fails(1, &format!("{uniform} --resume few"));
    assert!(said.contains("few: 3: is in the file, but does not belong to this run"), "{said}");
    // Of another network under the same name.
    let line = "selfplay --weights net.safetensors --games 1 --simulations 2 --device cpu --quiet";
    scratch.ok(&format!("{line} --checkpoint one"));
    fs::copy(scratch.path("other.safetensors"), scratch.path("net.safetensors")).expect("a copy");
    let said = scratch.fails(1, &format!("{line} --resume one"));
    assert!(said.contains("one: was made with option estimator.parameters "), "{said}");
    // A game that breaks the rules.
    let damaged = scratch.text("few").replacen("\"returns\":[", "\"returns\":[7,", 1);
    let damaged = damaged.replace("[7,1,", "[7,").replace("[7,-1,", "[7,").replace("[7,0,", "[7,");
    scratch.write("few", resealed(&damaged).as_bytes());
    let said = scratch.fails(1, &format!("{uniform} --resume few").replace("--games 3", "--games 5"));
    assert!(said.contains("few: ") && said.contains(": returns: [7, "), "{said}");
}

#[test]
fn a_match_that_was_cut_off_goes_on_with_its_journal() {
    let scratch = new_scratch();
    Journaled {
        scratch: &scratch,
        line: "match --a playouts,playouts=2,simulations=3 --b mcts,steps=2,playouts=2 --games 4 --parallel 3 --device cpu --seed 3",
        other: ("steps=2", "steps=3", "was made with option b.mcts.steps 2, and this run has 3"),
        n_pieces: 4,
        file: None,
        repeats: true,
    }
    .check();
}

#[test]
fn ctrl_c_says_how_to_go_on_with_a_journal() {
    let scratch = new_scratch();
    let line =
        "selfplay --uniform --games 100000 --parallel 1 --simulations 4 --device cpu --threads 1 --checkpoint journal";
    let mut child = scratch.command(line).stdout(Stdio::piped()).spawn().expect("the program starts");
    while scratch.path("journal").metadata().is_ok_and(|found| found.len() < 10_000)
        || !scratch.path("journal").exists()
    {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(20));
    }
    programs::signal(&child, "INT");
    let output = child.wait_with_output().expect("it ends");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && shown.contains(" of 100000 games; continue with --resume journal"), "{shown}");
}

/// What is named on the command line is named in the error, also where it is nothing.
#[test]
fn empty_names_are_refused_by_their_option() {
    let scratch = new_scratch();
    for (line, told) in [
        ("analyse --weights \"\" --device cpu", "invalid value '' for '--weights <FILE|seed:N>': it is empty"),
        ("selfplay --weights \"\" --device cpu", "invalid value '' for '--weights <FILE|seed:N>': it is empty"),
        ("train --records x --save-weights y --held-out \"\"", "'--held-out <SHARE or N>': it is empty"),
        ("match --a \"\" --device cpu", "'--a <PLAYER>': a player is a network (FILE or seed:N), uniform"),
        ("match --a seed=27 --device cpu", "there is no file `seed=27`: a player is a network (FILE or seed:N)"),
        ("train --records \"\" --save-weights y", "'--records <FILES>'"),
        ("selfplay --uniform --json \"\"", "'--json <FILE>'"),
    ] {
        let said = scratch.misused(line);
        assert!(said.contains(told), "{line}: {said}");
    }
    let said = scratch.fails(2, "selfplay --uniform --device \"\"");
    assert!(said.contains("option device: '' is not allowed (auto, "), "{said}");
}

/// The program's data is limited to much less than the trees may become: it would end without a word if it began to grow them.
#[cfg(target_os = "linux")]
#[test]
fn trees_that_no_machine_has_memory_for_are_refused_before_any_grows() {
    let scratch = new_scratch();
    let of = |line: &str| {
        let asked = scratch.command(line);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -d 1000000 && exec \"$@\"", "sh"]).arg(asked.get_program()).args(asked.get_args());
        let output = command.current_dir(scratch.folder()).output().expect("the program starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for line in [
        "selfplay --uniform --games 65536 --parallel 65536 --simulations 1048576 --device cpu --checkpoint journal",
        "match --a uniform,simulations=1048576 --b random --games 65536 --parallel 65536 --device cpu --checkpoint journal",
    ] {
        let (code, said) = of(line);
        assert_eq!(code, Some(1), "{line}: {said}");
        assert!(said.starts_with("error: the host has ") && said.contains("TiB needed: "), "{line}: {said}");
        assert!(!scratch.path("journal").exists(), "{line}");
    }
}

/// Thread by thread on the CPU a launch for these games takes tens of seconds, a move minutes: the signal is heard in the middle of a launch.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_self_play_whose_launches_take_long() {
    // A second on a machine with nothing else to do; tests run side by side with others.
    const MOST: Duration = Duration::from_secs(10);
    let scratch = new_scratch();
    for trees in ["selfplay --games 64 --simulations 64", "match --a seed:27,simulations=64 --b random --games 64"] {
        let line = format!("{trees} --device simt --json out.json --checkpoint journal");
        let mut command = scratch.command(&line);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        programs::await_handler(&mut child);
        while !scratch.path("journal").exists() {
            assert!(child.try_wait().expect("a child").is_none(), "it ended before it was interrupted");
            std::thread::sleep(Duration::from_millis(20));
        }
        // Into a launch.
        std::thread::sleep(Duration::from_secs(1));
        let status = programs::ended_by(&mut child, "TERM", MOST);
        assert_eq!(status.code(), Some(0), "{line}");
        let found = scratch.json("out.json");
        assert!(found["report"].is_object(), "{found}");
        assert_eq!(scratch.text("journal").lines().count(), 1, "no game is over");
        fs::remove_file(scratch.path("journal")).expect("it is there");
    }
}
