//! Checkpoints, strategies and results of solved games.

use std::fs;
use std::path::Path;

use warpplay::cfr::{Checkpoint, Strategy};
use warpplay_tests::golden;
use warpplay_tests::programs::Scratch;

use super::{Found, Job, Output, column, fields, same_bytes, text};

fn checkpoint(path: &Path) -> Found {
    let found = Checkpoint::load(path).map_err(text)?;
    let last = found.trajectory().last().map(|point| (point.iteration, point.nash_conv));
    Ok(format!("{} {last:?}", found.iteration()).into_bytes())
}

fn strategy(path: &Path) -> Found {
    Strategy::load(path).map_err(text)?;
    same_bytes(path)
}

fn course(path: &Path) -> Found {
    column(path, "/report/trajectory", &["iteration", "nash_conv", "value"])
}

fn spots(path: &Path) -> Found {
    fields(path, &["/spots/first/by_hand", "/spots/second/by_hand"])
}

fn game(scratch: &Scratch) {
    let game = golden::text("cfr/games/leduc.limit.2p.game");
    scratch.write("leduc.game", game.as_bytes());
    scratch.write("spots.json", &fs::read(golden::path("commands/spots.json")).expect("a golden file"));
}

#[test]
fn solve() {
    Job {
        family: "cfr",
        prepare: game,
        line: "solve leduc.game --iterations 400 --report 1,200,400 --sampling external --seed 1 --device cpu --threads 1 --checkpoint state --checkpoint-every 0.001 --strategy found.strategy --json found.json",
        resume: Some((
            "state",
            "solve leduc.game --resume state --iterations 400 --report 1,200,400 --device cpu --threads 1 --checkpoint state --strategy found.strategy --json found.json",
        )),
        old: Some(("--seed 1", "--seed 2")),
        leaves: None,
        outputs: &[
            Output { kind: "checkpoint", path: "state", read: checkpoint },
            Output { kind: "strategy", path: "found.strategy", read: strategy },
            Output { kind: "result (JSON)", path: "found.json", read: course },
        ],
    }
    .kill();
}

#[test]
fn subgame() {
    Job {
        family: "cfr",
        prepare: game,
        line: "subgame spots.json --iterations 100 --report 100 --device cpu --threads 1 --json found.json",
        resume: None,
        old: Some(("--iterations 100 --report 100", "--iterations 50 --report 50")),
        leaves: None,
        outputs: &[Output { kind: "result (JSON)", path: "found.json", read: spots }],
    }
    .kill();
}
