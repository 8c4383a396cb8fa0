//! Two programs that write the same thing, and a reader meanwhile. What is read is always whole, and the file of one of the two; where two cannot share, the second is told.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use warpplay::azero::read_records;
use warpplay::mlp::Checkpoint;
use warpplay::shogi::dataset::Dataset;
use warpplay_papers::experiment::Journal;
use warpplay_tests::golden;
use warpplay_tests::programs::{Scratch, warpplay};

use crate::rounds;

/// Two lines of one family that are run at once.
struct Pair {
    /// As the table names it.
    kind: &'static str,
    family: &'static str,
    prepare: fn(&Scratch),
    lines: [&'static str; 2],
    /// The file that both write; of a folder the one that names all others.
    path: &'static str,
    /// Reads it; else what is wrong.
    read: fn(&Path) -> Result<(), String>,
    /// What the second is told where it cannot write; without, both end well.
    refused: Option<&'static str>,
}

impl Pair {
    /// Runs both, with a reader beside them.
    ///
    /// # Panics
    /// If a reader finds what is not whole, no one ends well, or one ends otherwise than it should.
    fn run(&self) {
        let (mut both, mut refused, mut reads, mut wrong) = (0, 0, 0, Vec::new());
        for round in 0..rounds::kills() {
            let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), self.family);
            (self.prepare)(&scratch);
            let mut start = |line: &str| {
                let mut command = scratch.command(line);
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .expect("the program starts")
            };
            let mut children = self.lines.map(&mut start);
            let path = scratch.path(self.path);
            let running = |child: &mut std::process::Child| child.try_wait().expect("a child").is_none();
            while children.iter_mut().any(running) {
                if path.exists() {
                    reads += 1;
                    wrong.extend(
                        (self.read)(&path).err().map(|error| format!("round {round}, while both run: {error}")),
                    );
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            let outputs = children.map(|child| child.wait_with_output().expect("it ends"));
            let n_ended = outputs.iter().filter(|output| output.status.success()).count();
            both += u32::from(n_ended == 2);
            for output in outputs.iter().filter(|output| !output.status.success()) {
                let said = String::from_utf8_lossy(&output.stderr);
                match self.refused {
                    Some(words) if said.contains(words) && n_ended == 1 => refused += 1,
                    _ => wrong.push(format!("round {round}: {} {said}", output.status)),
                }
            }
            wrong.extend((self.read)(&path).err().map(|error| format!("round {round}, at the end: {error}")));
        }
        rounds::note("writers", &[&self.kind, &rounds::kills(), &both, &refused, &reads, &wrong.len()]);
        assert!(wrong.is_empty(), "{}\n{}", self.kind, wrong.join("\n"));
    }
}

fn nothing(_: &Scratch) {}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn json(path: &Path) -> Result<(), String> {
    serde_json::from_slice::<Value>(&fs::read(path).map_err(text)?).map(drop).map_err(text)
}

#[test]
fn one_result() {
    Pair {
        kind: "`--json` of two `mcts analyse`",
        family: "mcts",
        prepare: nothing,
        lines: [
            "analyse --device cpu --threads 1 --trees 2 --playouts 8 --steps 400 --seed 1 --json found.json",
            "analyse --device cpu --threads 1 --trees 2 --playouts 8 --steps 400 --seed 2 --json found.json",
        ],
        path: "found.json",
        read: json,
        refused: None,
    }
    .run();
}

#[test]
fn one_checkpoint() {
    Pair {
        kind: "checkpoint of two `mlp train`",
        family: "mlp",
        prepare: nothing,
        lines: [
            "train --device cpu --threads 1 --drawn 220 --drawn-test 60 --hidden 16 --batch 4 --epochs 8 --seed 1 --checkpoint state --checkpoint-every 0.001",
            "train --device cpu --threads 1 --drawn 220 --drawn-test 60 --hidden 16 --batch 4 --epochs 8 --seed 2 --checkpoint state --checkpoint-every 0.001",
        ],
        path: "state",
        read: |path| Checkpoint::load(path).map(drop).map_err(text),
        refused: None,
    }
    .run();
}

#[test]
fn one_file_of_games() {
    Pair {
        kind: "games of two `azero selfplay`",
        family: "azero",
        prepare: nothing,
        lines: [
            "selfplay --uniform --games 20 --parallel 2 --simulations 4 --threads 1 --device cpu --seed 1 --save-games games.jsonl",
            "selfplay --uniform --games 20 --parallel 2 --simulations 4 --threads 1 --device cpu --seed 2 --save-games games.jsonl",
        ],
        path: "games.jsonl",
        // The games of one, none of the other.
        read: |path| match read_records(path).map_err(text)?.len() {
            20 => Ok(()),
            n => Err(format!("{n} games, expected 20")),
        },
        refused: None,
    }
    .run();
}

#[test]
fn one_folder_of_learning() {
    Pair {
        kind: "folder of two `azero learn`",
        family: "azero",
        prepare: nothing,
        lines: ["learn --folder run --width 2 --depth 0 --games 2 --simulations 2 --gate 2 --epochs 1 --iterations 1 --batch 16 --device cpu"; 2],
        path: "run/learn.json",
        read: json,
        refused: Some("is being written by another process: wait for its end"),
    }
    .run();
}

fn games(scratch: &Scratch) {
    scratch.write("games.usi", golden::text("shogi/six.usi").as_bytes());
}

#[test]
fn one_data_set() {
    Pair {
        kind: "data set of two `shogi build-dataset`",
        family: "shogi",
        prepare: games,
        lines: [
            "build-dataset --records games.usi --plies 20..70 --shard 4 --out set",
            "build-dataset --records games.usi --plies 30..60 --shard 4 --out set",
        ],
        path: "set/dataset.json",
        read: |path| Dataset::open(path.parent().expect("a folder")).map(drop).map_err(text),
        refused: Some("is being written by another process: wait for its end"),
    }
    .run();
}

#[test]
fn one_journal() {
    Pair {
        kind: "journal of two publications",
        family: "papers",
        prepare: nothing,
        lines: ["mctsnc --quick --device cpu --only table2 --steps 1 --games 1 --checkpoint journal --quiet"; 2],
        path: "journal",
        // The first line, or another, may be half written: that is what a journal is.
        read: |path| match Journal::read(path) {
            Err(error) if !["it is empty", "cut off", "EOF"].iter().any(|words| error.to_string().contains(words)) => {
                Err(text(error))
            }
            _ => Ok(()),
        },
        refused: Some("is there already: go on with it"),
    }
    .run();
}

/// A set that is replaced by another, again and again, is found whole by who opens it meanwhile.
#[test]
fn a_reader_of_a_data_set_that_is_replaced() {
    let folder = warpplay_tests::folder::Folder::new();
    let sets = [0..3, 3..6].map(|games| warpplay_tests::learning::dataset(games, 40..80, 1, 7));
    sets[0].save(folder.folder()).expect("written");
    let (mut reads, mut wrong) = (0u32, Vec::new());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..10 * rounds::kills() as usize {
                // A process that another test starts has our lock too, until it is a program of its own.
                while let Err(error) = sets[(round + 1) % 2].save(folder.folder()) {
                    assert!(error.to_string().contains("is being written by another process"), "{error}");
                }
            }
        });
        while !writer.is_finished() {
            reads += 1;
            match Dataset::open(folder.folder()) {
                Ok(found) if sets.iter().any(|set| set.fingerprint() == found.fingerprint()) => {}
                Ok(_) => wrong.push("a set of both".to_string()),
                Err(error) => wrong.push(error.to_string()),
            }
        }
    });
    let replaced = 10 * rounds::kills();
    rounds::note("writers", &[&"data set that is replaced", &replaced, &replaced, &0, &reads, &wrong.len()]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
