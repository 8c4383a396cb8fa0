//! Data sets, checkpoints and weights of shogi.

use std::path::Path;

use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::learner::{Checkpoint, Weights};
use warpplay_tests::golden;
use warpplay_tests::programs::Scratch;

use super::{Found, Job, Output, column, same_bytes, text};

pub fn dataset(path: &Path) -> Found {
    Ok(format!("{:016x}", Dataset::open(path.parent().expect("a folder")).map_err(text)?.fingerprint()).into_bytes())
}

fn checkpoint(path: &Path) -> Found {
    let found = Checkpoint::load(path).map_err(text)?;
    Ok(format!("{} {:?}", found.iteration(), found.weights().map_err(text)?.values()).into_bytes())
}

fn weights(path: &Path) -> Found {
    Weights::load(path).map_err(text)?;
    same_bytes(path)
}

fn rows(path: &Path) -> Found {
    column(path, "/report/rows", &["iteration", "values"])
}

fn games(scratch: &Scratch) {
    scratch.write("games.usi", golden::text("shogi/six.usi").as_bytes());
}

#[test]
fn build_dataset() {
    Job {
        family: "shogi",
        prepare: games,
        line: "build-dataset --records games.usi --plies 20..70 --shard 4 --out set",
        resume: None,
        old: Some(("--plies 20..70", "--plies 30..60")),
        // Shards that no list names yet, or no longer.
        leaves: Some("set/shard-"),
        outputs: &[Output { kind: "data set (folder)", path: "set/dataset.json", read: dataset }],
    }
    .kill();
}

#[test]
fn learn() {
    Job {
        family: "shogi",
        prepare: games,
        line: "learn --records games.usi --held-out 0.4 --features material --iterations 60 --seed 1 --batch 40 --device cpu --threads 1 --checkpoint state --checkpoint-every 0.001 --save-weights out.safetensors --table values.txt --json found.json",
        resume: Some((
            "state",
            "learn --records games.usi --held-out 0.4 --resume state --iterations 60 --device cpu --threads 1 --checkpoint state --save-weights out.safetensors --table values.txt --json found.json",
        )),
        old: Some(("--seed 1", "--seed 2")),
        leaves: None,
        outputs: &[
            Output { kind: "checkpoint", path: "state", read: checkpoint },
            Output { kind: "weights", path: "out.safetensors", read: weights },
            Output { kind: "table", path: "values.txt", read: same_bytes },
            Output { kind: "result (JSON)", path: "found.json", read: rows },
        ],
    }
    .kill();
}

#[test]
fn fit() {
    Job {
        family: "shogi",
        prepare: games,
        line: "fit --records games.usi --iterations 20 --init 3 --device cpu --threads 1 --json found.json",
        resume: None,
        old: Some(("--init 3", "--init 4")),
        leaves: None,
        outputs: &[Output { kind: "result (JSON)", path: "found.json", read: rows }],
    }
    .kill();
}
