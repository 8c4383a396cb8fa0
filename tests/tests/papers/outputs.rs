//! What `warpplay papers` writes, and what keeps it from being written.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use warpplay::azero::{Network, NetworkShape};
use warpplay::mlp::{Dataset, Split};
use warpplay_tests::folder::Folder;
use warpplay_tests::programs;

/// Runs a publication on the CPU, with these words more.
fn run_paper(folder: &Path, paper: &str, words: &[&OsStr]) -> Output {
    let mut command = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
    command.current_dir(folder).args(["papers", paper, "--quick", "--device", "cpu"]).args(words);
    command.stdin(Stdio::null()).output().expect("the program starts")
}

/// Runs one that has items that take no time.
fn run(folder: &Path, words: &[&OsStr]) -> Output {
    run_paper(folder, "mnist_mlp", words)
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

/// Weights of any name are read, by the same words for what they are.
#[test]
fn weights_may_have_any_name() {
    let folder = Folder::new();
    let name = OsStr::from_bytes(b"net\xff.safetensors");
    let shape = NetworkShape { width: 2, depth: 1, value_hidden: 4, ..NetworkShape::default() };
    Network::seeded(shape, 3).expect("allowed").save(folder.folder().join(name)).expect("written");
    let mut command = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
    let line = "papers checkers_conv --quick --device cpu --only claims --json found.json --weights";
    command.current_dir(folder.folder()).args(words(line)).arg(name).stdin(Stdio::null());
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", said(&output));
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

/// Code and text of a command that is refused.
fn refused(folder: &Folder, code: i32, line: &str) -> String {
    let output = run(folder.folder(), &words(line));
    assert_eq!(output.status.code(), Some(code), "{line}: {}", said(&output));
    said(&output)
}

/// A link that leads to a file which is not there yet is that file.
#[test]
fn two_names_of_one_new_file_are_refused() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("kept", folder.path("link")).expect("a link");
    for line in ["--checkpoint kept --json link", "--json kept --plots link"] {
        assert!(refused(&folder, 2, line).contains("name the same file"), "{line}");
    }
}

/// What a publication reads of its own is not written over.
#[test]
fn no_result_replaces_an_input_of_the_publication() {
    let folder = Folder::new();
    let about = r#""schema": 1, "library": "l", "device": "d", "cpu": "c", "threads": 1, "batch": 1"#;
    let times = format!(r#"{{{about}, "components": [{{"name": "Model", "gpu_us": [9, 1.5], "cpu_us": []}}]}}"#);
    let network = Network::seeded(NetworkShape::default(), 1).expect("a network");
    fs::write(folder.path("times.json"), times).expect("written");
    network.save(folder.path("network")).expect("written");
    fs::write(folder.path("games"), "startpos moves 7g7f 3c3d\n").expect("written");
    fs::write(folder.path("variant_a.game"), include_str!("../../golden/cfr/games/variant_a.game")).expect("written");
    for (paper, option, file, words) in [
        ("checkers_conv", "--baseline", "times.json", "--only table1"),
        ("checkers_conv", "--weights", "network", "--only table1"),
        ("shogi_bonanza", "--records", "games", ""),
        ("cfr_thesis", "--definitions", "variant_a.game", "--game a"),
    ] {
        let given = if option == "--definitions" { "." } else { file };
        let before = fs::read(folder.path(file)).expect("a file");
        for output in ["--json", "--checkpoint"] {
            let line = format!("{words} {option} {given} {output} {file}");
            let found = run_paper(folder.folder(), paper, &self::words(&line));
            let said = said(&found);
            assert_eq!(found.status.code(), Some(2), "{paper} {line}: {said}");
            let expected = format!("{output} and {option} name the same file {file}: each needs its own");
            assert!(said.contains(&expected), "{paper} {line}: {said}");
            assert_eq!(fs::read(folder.path(file)).expect("a file"), before, "{paper} {line}");
        }
    }
}

/// Of a folder that is read no file is written over, whichever of them the program would have taken.
#[test]
fn no_result_replaces_a_file_of_a_folder_that_is_read() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).expect("made");
    let game = "startpos moves 7g7f 3c3d\n";
    for file in ["in/games.usi", "in/train-images-idx3-ubyte.gz"] {
        fs::write(folder.path(file), game).expect("written");
    }
    for (paper, words) in [
        ("shogi_bonanza", "--records in --only memory --json in/games.usi"),
        ("shogi_bonanza", "--records in --only memory --json in/../in/games.usi"),
        ("mnist_mlp", "--data in --only main --json in/train-images-idx3-ubyte.gz"),
    ] {
        let output = run_paper(folder.folder(), paper, &self::words(words));
        assert_eq!(output.status.code(), Some(2), "{words}: {}", said(&output));
        assert!(said(&output).contains("a file in the folder of --"), "{words}: {}", said(&output));
        assert_eq!(fs::read_to_string(folder.path("in/games.usi")).expect("there"), game, "{words}");
    }
}

/// The paper's network has ten outputs.
#[test]
fn images_with_more_classes_than_the_paper_has_are_refused() {
    let folder = Folder::new();
    for (split, n) in [(Split::Train, 24_u8), (Split::Test, 12)] {
        let labels = (0..n).map(|at| at % 12).collect();
        let set = Dataset::new(vec![0; usize::from(n) * 784], labels, 28, 28, 12, "drawn").expect("a set");
        set.save(folder.folder(), split).expect("written");
    }
    let said = refused(&folder, 2, "--only batch --data .");
    assert!(said.contains("labels up to 11 is not allowed (labels below 10, the outputs"), "{said}");
}

/// A page that another process is writing is not written, and what a result says begins or ends no slot.
#[test]
fn a_page_is_locked_and_stays_one() {
    let folder = Folder::new();
    let output = run(folder.folder(), &[words("--only arithmetic --json"), vec!["x\n<!-- end -->".as_ref()]].concat());
    assert!(output.status.success(), "{}", said(&output));
    fs::write(folder.path("page.md"), "<!-- mnist_mlp arithmetic -->\n<!-- end -->\n").expect("written");
    let fill = || {
        let mut command = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
        command.current_dir(folder.folder()).args(["papers", "page", "page.md", "x\n<!-- end -->"]);
        command.stdin(Stdio::null()).output().expect("the program starts")
    };
    for _ in 0..2 {
        let filled = fill();
        assert!(filled.status.success(), "{}", said(&filled));
    }
    let before = fs::read_to_string(folder.path("page.md")).expect("there");
    let held = fs::File::open(folder.path("page.md")).expect("there");
    held.try_lock().expect("locked");
    let refused = fill();
    assert!(
        !refused.status.success() && said(&refused).contains("page.md: is used by another process"),
        "{}",
        said(&refused)
    );
    assert_eq!(fs::read_to_string(folder.path("page.md")).expect("there"), before);
}

/// A pipe is written once somebody reads it; until then a signal ends the program at once.
#[test]
fn a_pipe_without_a_reader_keeps_nobody() {
    let folder = Folder::new();
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status().expect("mkfifo starts");
    assert!(made.success());
    let start = || {
        let mut command = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
        let line = "papers mnist_mlp --quick --device cpu --only arithmetic --json pipe";
        command.current_dir(folder.folder()).args(words(line)).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::null()).spawn().expect("the program starts")
    };
    let mut child = start();
    // What it has found is printed before it is written.
    let mut found = [0; 1];
    child.stdout.take().expect("piped").read_exact(&mut found).expect("printed");
    // It opens the pipe at once after that, and waits for a reader.
    std::thread::sleep(Duration::from_secs(1));
    assert!(child.try_wait().expect("asked").is_none(), "it waits for a reader");
    let asked = Instant::now();
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill starts");
    assert!(killed.success());
    let ended = loop {
        if let Some(status) = child.try_wait().expect("asked") {
            break status;
        }
        if asked.elapsed() > Duration::from_secs(20) {
            child.kill().expect("killed");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(ended.code(), Some(130), "one signal ends it");
    let mut child = start();
    let found: Value = serde_json::from_str(&fs::read_to_string(folder.path("pipe")).expect("read")).expect("JSON");
    assert_eq!(found["kind"], "mnist_mlp");
    assert!(child.wait().expect("ended").success());
}

#[test]
fn a_list_writes_nothing_and_says_so() {
    let folder = Folder::new();
    for option in ["--json f", "--plots f", "--checkpoint f", "--resume f", "--replay f"] {
        let said = refused(&folder, 2, &format!("--list {option}"));
        assert!(said.contains("--list") && said.contains("cannot be used with"), "{said}");
    }
}

#[test]
fn plots_are_a_folder_with_figures_or_there_is_none() {
    let folder = Folder::new();
    let said = refused(&folder, 2, "--only batch --plots one.svg");
    assert!(said.contains("option plots: one.svg is not allowed (a folder"), "{said}");
    let output = run(folder.folder(), &words("--only arithmetic --plots plots"));
    assert!(output.status.success(), "{}", self::said(&output));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("no figures in these items: nothing written to plots"), "{shown}");
    assert!(!folder.path("plots").exists());
}

/// A journal that was cut off, with a line break behind or other lines: an editor's work, or a disk's.
#[test]
fn a_cut_journal_is_gone_on_with_or_says_what_to_do() {
    let folder = Folder::new();
    let line = "--only batch --drawn 64 --drawn-test 32 --epochs 1";
    assert!(run(folder.folder(), &words(&format!("{line} --checkpoint kept"))).status.success());
    let whole = fs::read_to_string(folder.path("kept")).expect("written");
    let lines: Vec<&str> = whole.lines().collect();
    let (last, before) = lines.split_last().expect("lines");
    let cut = &last[..last.len() / 2];
    fs::write(folder.path("cut"), format!("{}\n{cut}\n", before.join("\n"))).expect("written");
    let said = refused(&folder, 1, &format!("{line} --replay cut"));
    assert!(said.contains(&format!("cut, line {}: the line is cut off; --resume", lines.len())), "{said}");
    let output = run(folder.folder(), &words(&format!("{line} --resume cut")));
    assert!(output.status.success(), "{}", self::said(&output));
    assert!(self::said(&output).contains("cut: the last line was cut off; it is removed"), "{}", self::said(&output));
    let count = |name: &str| fs::read_to_string(folder.path(name)).expect("written").lines().count();
    assert_eq!(count("cut"), lines.len());
    for nothing in ["", &whole[..20]] {
        fs::write(folder.path("nothing"), nothing).expect("written");
        let output = run(folder.folder(), &words(&format!("{line} --resume nothing")));
        assert!(output.status.success(), "{}", self::said(&output));
        assert!(
            self::said(&output).contains("nothing: contains no finished work; the run starts from the beginning"),
            "{}",
            self::said(&output)
        );
        assert_eq!(count("nothing"), lines.len());
    }
    let head = &lines[1][..lines[1].len() / 2];
    fs::write(folder.path("middle"), whole.replace(lines[1], head)).expect("written");
    for option in ["--resume", "--replay"] {
        let said = refused(&folder, 1, &format!("{line} {option} middle"));
        assert!(said.contains("middle, line 2: the line is cut off, and others follow"), "{option}: {said}");
    }
    // As it says: without that line the rest is taken, and what it held is measured.
    fs::write(folder.path("middle"), whole.replace(&format!("{}\n", lines[1]), "")).expect("written");
    let output = run(folder.folder(), &words(&format!("{line} --resume middle")));
    assert!(output.status.success(), "{}", self::said(&output));
    assert_eq!(count("middle"), lines.len());
}

/// What a file is that is no run's, where it is damaged, and which file: for a replay and for a page.
#[test]
fn a_file_of_another_kind_or_run_is_named() {
    let folder = Folder::new();
    assert!(run(folder.folder(), &words("--only arithmetic --json found")).status.success());
    let whole = fs::read_to_string(folder.path("found")).expect("written");
    fs::write(folder.path("cut"), &whole[..whole.len() / 2]).expect("written");
    fs::write(folder.path("damaged"), whole.replacen("\"kind\":", "\"kind\"=", 1)).expect("written");
    // A number is another one.
    fs::write(folder.path("number"), whole.replacen("\"cpu_threads\": ", "\"cpu_threads\": 1", 1)).expect("written");
    fs::write(folder.path("other"), "{\n  \"schema\": 2,\n  \"kind\": \"match\"\n}\n").expect("written");
    fs::write(folder.path("page"), "<!-- mnist_mlp arithmetic -->\n<!-- end -->\n").expect("written");
    let line = whole.lines().position(|line| line.contains("\"kind\":")).expect("a kind") + 1;
    let damaged = format!("line {line}");
    for (name, reasons) in [
        ("cut", ["cut: the file is cut off", "cut: the file is cut off"]),
        ("other", ["other: is of kind match, expected", "other: is of kind match, expected"]),
        ("number", ["number: the results are damaged: their checksum is "; 2]),
        ("damaged", [&*format!("damaged, {damaged}: "), &*damaged]),
    ] {
        let replayed = refused(&folder, 1, &format!("--only arithmetic --replay {name}"));
        let mut page = Command::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")));
        let page =
            page.current_dir(folder.folder()).args(["papers", "page", "page", name]).output().expect("it starts");
        for (said, reason) in [replayed, said(&page)].iter().zip(reasons) {
            assert!(said.contains(reason) && said.contains(name), "{name}: {said}");
        }
    }
    let said = refused(&folder, 1, "--only arithmetic --epochs 1 --replay found");
    assert!(said.contains("found: was measured with option epochs none, and this run has 1"), "{said}");
}
