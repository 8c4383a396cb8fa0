//! Checkpoints, strategies and results of solved games.

use std::path::Path;

use warpplay::cfr::{Checkpoint, SolvedSpot, Strategy};
use warpplay_tests::golden;
use warpplay_tests::programs::Scratch;

use super::{Found, Job, Output, column, fields, journal, same_bytes, text};

fn checkpoint(path: &Path) -> Found {
    let found = Checkpoint::load(path).map_err(text)?;
    let last = found.trajectory().last().map(|point| (point.iteration, point.nash_conv));
    Ok(format!("{} {last:?}", found.iteration()).into_bytes())
}

fn strategy(path: &Path) -> Found {
    Strategy::load(path).map_err(text)?;
    same_bytes(path)
}

fn solved_spot(path: &Path) -> Found {
    let solved = SolvedSpot::open(path).map_err(text)?;
    // Reads the strategies of all streets.
    let report = solved.root().report().map_err(text)?;
    Ok(format!("{} {:?} {report:?}", solved.iterations(), solved.trajectory()).into_bytes())
}

fn course(path: &Path) -> Found {
    column(path, "/report/trajectory", &["iteration", "nash_conv", "value"])
}

fn spots(path: &Path) -> Found {
    fields(path, &["/spots/first/by_hand", "/spots/second/by_hand"])
}

/// Which combinations were run: how far each came is a matter of its time.
fn runs(path: &Path) -> Found {
    column(path, "/runs", &["algorithm", "sampling", "batch", "engine"])
}

fn runs_kept(path: &Path) -> Found {
    let kept = String::from_utf8(journal(path)?).map_err(text)?;
    // The key is the first text of a line.
    Ok(kept.lines().flat_map(|line| format!("{:?}\n", line.split('"').nth(1)).into_bytes()).collect())
}

fn game(scratch: &Scratch) {
    let game = golden::text("cfr/games/leduc.limit.2p.game");
    scratch.write("leduc.game", game.as_bytes());
    let spots = golden::text("commands/spots.json");
    // The second as another one: equal spots would be solved once.
    let (first, second) = spots.split_once("\"second\"").expect("two spots");
    let second = second.replace("\"effective_stack\": 20", "\"effective_stack\": 30");
    scratch.write("spots.json", format!("{first}\"second\"{second}").as_bytes());
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
fn solve_spot() {
    Job {
        family: "cfr",
        prepare: |scratch| {
            scratch.write(
                "turn.json",
                br#"{"pot": 10, "effective_stack": 20, "bet_fraction_of_pot": 1, "flop": "Qs Jh 2h", "turn": "2d", "ranges": ["AA,KK", "QQ,AKs"]}"#,
            );
        },
        line: "solve-spot turn.json --iterations 300 --report 100 --device cpu --threads 1 --save found.spot --checkpoint-every 0.001 --json found.json",
        resume: Some((
            "found.spot",
            "solve-spot --resume found.spot --iterations 300 --report 100 --device cpu --threads 1 --save found.spot --json found.json",
        )),
        // A saved spot that is there is gone on with, never replaced.
        old: None,
        leaves: None,
        outputs: &[
            Output { kind: "solved spot", path: "found.spot", read: solved_spot },
            Output { kind: "result (JSON)", path: "found.json", read: |path| fields(path, &["/report/by_hand"]) },
        ],
    }
    .kill();
}

#[test]
fn solve_spots() {
    Job {
        family: "cfr",
        prepare: game,
        line: "solve-spot spots.json --iterations 100 --report 100 --device cpu --threads 1 --json found.json --checkpoint journal",
        resume: Some((
            "journal",
            "solve-spot spots.json --iterations 100 --report 100 --device cpu --threads 1 --json found.json --resume journal",
        )),
        // A journal that is there is gone on with, never replaced.
        old: None,
        leaves: None,
        outputs: &[
            Output { kind: "journal", path: "journal", read: journal },
            Output { kind: "result (JSON)", path: "found.json", read: spots },
        ],
    }
    .kill();
}

#[test]
fn compare() {
    Job {
        family: "cfr",
        prepare: game,
        line: "compare leduc.game --seconds 0.05 --algorithms cfr,cfr_plus,lcfr,dcfr --device cpu --threads 1 --json found.json --checkpoint journal",
        resume: Some((
            "journal",
            "compare leduc.game --seconds 0.05 --algorithms cfr,cfr_plus,lcfr,dcfr --device cpu --threads 1 --json found.json --resume journal",
        )),
        old: None,
        leaves: None,
        outputs: &[
            Output { kind: "journal", path: "journal", read: runs_kept },
            Output { kind: "result (JSON)", path: "found.json", read: runs },
        ],
    }
    .kill();
}
