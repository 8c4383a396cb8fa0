//! Games, networks, checkpoints and the folder of learning.

use std::path::Path;

use warpplay::azero::train::Checkpoint;
use warpplay::azero::{Network, NetworkShape, ObservationLayout, ValueOf, read_records};
use warpplay_tests::programs::Scratch;

use super::{Found, Job, Output, column, fields, nothing, pieces, same_bytes, text};

/// Games, each of which is played again by its reader.
pub fn games(path: &Path) -> Found {
    let games = read_records(path).map_err(text)?;
    Ok(games.iter().flat_map(|game| format!("{:?} {:?}\n", game.actions, game.visits).into_bytes()).collect())
}

fn checkpoint(path: &Path) -> Found {
    let found = Checkpoint::load(path).map_err(text)?;
    Ok(format!("{} {} {:?}", found.epochs().len(), found.updates(), found.network()).into_bytes())
}

fn network(path: &Path) -> Found {
    Network::load(path).map_err(text)?;
    same_bytes(path)
}

fn course(path: &Path) -> Found {
    column(path, "/report/epochs", &["epoch", "train", "validation"])
}

fn selfplay_report(path: &Path) -> Found {
    let played = ["games", "plies", "first_wins", "second_wins", "draws", "seed", "options", "estimator"];
    fields(path, &played.map(|name| format!("/report/{name}")))
}

fn match_report(path: &Path) -> Found {
    fields(path, &["/score", "/report/by_colour", "/report/plies", "/report/options"])
}

/// A small network, and games to learn from.
fn learning(scratch: &Scratch) {
    let shape = NetworkShape { width: 4, depth: 1, value_hidden: 4, ..NetworkShape::default() };
    let network = Network::seeded(shape, 3).expect("a network");
    network.with_meaning(ObservationLayout::Egocentric, ValueOf::Mover).save(scratch.path("net")).expect("written");
    scratch.write(
        "games.jsonl",
        &std::fs::read(warpplay_tests::golden::path("azero/v0.1/games.jsonl")).expect("a golden file"),
    );
}

/// The report of a run's folder: which iterations are done.
pub fn iterations(path: &Path) -> Found {
    column(path, "/iterations", &["iteration", "accepted"])
}

/// The folder of a run: each of its files is read. Of the report what does not depend on the time.
fn folder(report: &Path) -> Found {
    let path = report.parent().expect("a folder");
    let mut names: Vec<_> =
        std::fs::read_dir(path).map_err(text)?.map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    let mut all = Vec::new();
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let found = match (name.split('-').next(), path.extension().and_then(|end| end.to_str())) {
            (Some("games"), _) => games(&path),
            (Some("training"), _) => checkpoint(&path),
            (_, Some("safetensors")) => network(&path),
            _ => iterations(&path),
        };
        all.extend(name.bytes());
        all.extend(found.map_err(|error| format!("{name}: {error}"))?);
    }
    Ok(all)
}

#[test]
fn selfplay() {
    Job {
        family: "azero",
        prepare: nothing,
        line: "selfplay --uniform --games 30 --parallel 2 --simulations 8 --threads 1 --device cpu --seed 1 --save-games games.jsonl --json found.json --checkpoint journal",
        resume: Some((
            "journal",
            "selfplay --uniform --games 30 --parallel 2 --simulations 8 --threads 1 --device cpu --seed 1 --save-games games.jsonl --json found.json --resume journal",
        )),
        // A journal that is there is gone on with, never replaced.
        old: None,
        leaves: None,
        outputs: &[
            Output { kind: "journal", path: "journal", read: pieces },
            Output { kind: "games", path: "games.jsonl", read: games },
            Output { kind: "result (JSON)", path: "found.json", read: selfplay_report },
        ],
    }
    .kill();
}

#[test]
fn a_match() {
    Job {
        family: "azero",
        prepare: nothing,
        line: "match --a uniform,simulations=16 --b random --games 30 --parallel 4 --device cpu --seed 1 --json found.json --checkpoint journal",
        resume: Some((
            "journal",
            "match --a uniform,simulations=16 --b random --games 30 --parallel 4 --device cpu --seed 1 --json found.json --resume journal",
        )),
        old: None,
        leaves: None,
        outputs: &[
            Output { kind: "journal", path: "journal", read: pieces },
            Output { kind: "result (JSON)", path: "found.json", read: match_report },
        ],
    }
    .kill();
}

#[test]
fn train() {
    Job {
        family: "azero",
        prepare: learning,
        line: "train --records games.jsonl --weights net --batch 16 --epochs 6 --seed 1 --threads 1 --device cpu --checkpoint state --checkpoint-every 0.001 --save-weights out.safetensors --json found.json",
        resume: Some((
            "state",
            "train --records games.jsonl --resume state --epochs 6 --threads 1 --device cpu --checkpoint state --save-weights out.safetensors --json found.json",
        )),
        old: Some(("--seed 1", "--seed 2")),
        leaves: None,
        outputs: &[
            Output { kind: "checkpoint", path: "state", read: checkpoint },
            Output { kind: "weights", path: "out.safetensors", read: network },
            Output { kind: "result (JSON)", path: "found.json", read: course },
        ],
    }
    .kill();
}

const LEARN: &str = "learn --folder run --width 2 --depth 0 --games 2 --simulations 2 --gate 2 --epochs 1 --iterations 2 --batch 16 --seed 1 --device cpu --save-weights best.safetensors";

#[test]
fn learn() {
    Job {
        family: "azero",
        prepare: nothing,
        line: LEARN,
        // The same line goes on with what is there.
        resume: Some(("run/learn.json", LEARN)),
        old: None,
        leaves: None,
        outputs: &[
            Output { kind: "folder of a run", path: "run/learn.json", read: folder },
            Output { kind: "weights", path: "best.safetensors", read: network },
        ],
    }
    .kill();
}
