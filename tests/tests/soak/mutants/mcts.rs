//! Recorded searches and matches, and lists of positions, which the program reads.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use warpplay_tests::programs::{end_of, warpplay};

use super::change::Form;
use super::{Parser, golden, mutants};

/// Time after which a repetition is asked to end: a mutant may be a record of a longer search.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time in which it ends then; more than that is a fault, however busy the machine is.
const MOST: Duration = Duration::from_secs(60);

/// What a command makes of a file.
pub fn program(words: &[&str], path: &Path, behind: &[&str]) -> Result<(), String> {
    let mut command = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
    let errors = path.with_extension("errors");
    command.args(words).arg(path).args(behind).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(std::fs::File::create(&errors).expect("a file"));
    let mut child = command.spawn().expect("the program starts");
    // Most end in a hundredth of a second.
    let start = Instant::now();
    let mut ended = child.try_wait().expect("a child");
    while ended.is_none() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
        ended = child.try_wait().expect("a child");
    }
    let status = ended.unwrap_or_else(|| {
        let sent = Command::new("kill").arg(child.id().to_string()).status().expect("kill starts");
        assert!(sent.success());
        end_of(&mut child, MOST).unwrap_or_else(|| {
            let _ = child.kill();
            panic!("it does not end when it is asked to");
        })
    });
    let said = std::fs::read_to_string(&errors).expect("text");
    match status.code() {
        Some(0) => Ok(()),
        Some(1 | 2) if said.lines().any(|line| line.starts_with("error: ")) && !said.contains("panicked") => Err(said),
        _ => panic!("it ended with {status}: {said}"),
    }
}

const REPLAY: [&str; 2] = ["mcts", "replay"];
const ON_CPU: [&str; 5] = ["--device", "cpu", "--threads", "1", "--quiet"];

mutants!(searches, "mcts: recorded searches", |_| {
    let seeds = [
        "mcts/v0.1/connect4_acp_prodigal_cpu.json",
        "mcts/v0.1/connect4_ocp_thrifty_cpu.json",
        "mcts/v0.1/hex.json",
        "mcts/v0.1/positions.jsonl",
    ];
    Parser::new(golden(&seeds), Form::Text, |path| program(&REPLAY, path, &ON_CPU))
});

mutants!(matches, "mcts: recorded match", |_| {
    Parser::new(golden(&["mcts/v0.1/match.json"]), Form::Text, |path| program(&REPLAY, path, &ON_CPU))
});

mutants!(positions, "mcts: list of positions", |_| {
    let words =
        ["mcts", "analyse", "--game", "connect4", "--steps", "2", "--trees", "1", "--playouts", "8", "--moves-file"];
    Parser::new(golden(&["mcts/v0.1/moves.txt"]), Form::Text, move |path| program(&words, path, &ON_CPU))
});
