//! Recorded searches and matches, and lists of positions, which the program reads.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use warpplay_tests::programs::{Scratch, end_of, ended_by, warpplay};

use super::change::Form;
use super::{Parser, checksums, golden, mutants, seed};

/// Time after which a repetition is asked to end: a mutant may be a record of a longer search.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time in which it ends then; more than that is a fault, however busy the machine is.
const MOST: Duration = Duration::from_secs(60);
/// Exit code of a program that is ended at once while it has nothing to keep, as shells report it.
const ENDED_AT_ONCE: i32 = 130;
/// The signal by which it is asked to end.
const SIGTERM: i32 = 15;

/// What a command makes of a file. One that is asked to end was at work on what it read, or had not begun.
pub fn program(words: &[&str], path: &Path, behind: &[&str]) -> Result<(), String> {
    let mut command = Command::new(warpplay(env!("CARGO_TARGET_TMPDIR")));
    let errors = path.with_extension("errors");
    command.args(words).arg(path).args(behind).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(std::fs::File::create(&errors).expect("a file"));
    let mut child = command.spawn().expect("the program starts");
    let ended = end_of(&mut child, PATIENCE);
    let was_asked = ended.is_none();
    let status = ended.unwrap_or_else(|| ended_by(&mut child, "TERM", MOST));
    let said = String::from_utf8_lossy(&std::fs::read(&errors).expect("a file")).into_owned();
    match status.code() {
        Some(0) => Ok(()),
        Some(ENDED_AT_ONCE) if was_asked => Ok(()),
        // It did not catch signals yet.
        None if was_asked && status.signal() == Some(SIGTERM) => Ok(()),
        Some(1 | 2) if said.lines().any(|line| line.starts_with("error: ")) && !said.contains("panicked") => Err(said),
        _ => panic!("it ended with {status}: {said}"),
    }
}

const REPLAY: [&str; 2] = ["mcts", "replay"];
const ON_CPU: [&str; 5] = ["--device", "cpu", "--threads", "1", "--quiet"];

mutants!(searches, "mcts: recorded searches", 40, |_| {
    let seeds = [
        "mcts/v0.1/connect4_acp_prodigal_cpu.json",
        "mcts/v0.1/connect4_ocp_thrifty_cpu.json",
        "mcts/v0.1/hex.json",
        "mcts/v0.1/positions.jsonl",
    ];
    Parser::new(golden(&seeds), Form::Text, |path| program(&REPLAY, path, &ON_CPU))
});

const MATCH: &str = "match --games 2 --seed 1 --a acp_prodigal,trees=1,playouts=8,steps=20,device=cpu --b vanilla,steps=20 --json match.json";

mutants!(matches, "mcts: recorded match", 20, |_| {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "mcts");
    scratch.ok(MATCH);
    Parser::new(vec![seed(&scratch.path("match.json"))], Form::Text, |path| program(&REPLAY, path, &ON_CPU))
});

/// A run that keeps a journal, and the parser that goes on with it: the line of the run, which ends with `--checkpoint journal`.
pub fn journal(scratch: &Scratch, family: &'static str, line: &str) -> Parser {
    let begun = line.strip_suffix("--checkpoint journal").expect("a journal");
    scratch.ok(line);
    let words: Vec<String> = begun.split_whitespace().chain(["--resume"]).map(str::to_string).collect();
    Parser::new(vec![seed(&scratch.path("journal"))], Form::Text, move |path| {
        let words: Vec<&str> = std::iter::once(family).chain(words.iter().map(String::as_str)).collect();
        program(&words, path, &["--quiet"])
    })
    .repairing(checksums::journal)
}

mutants!(journal_of_a_match, "mcts: journal of a match", 20, |_| {
    let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), "mcts");
    let line = "match --games 2 --seed 1 --a acp_prodigal,trees=1,playouts=8,steps=20,device=cpu --b vanilla,steps=20 --checkpoint journal";
    journal(&scratch, "mcts", line)
});

mutants!(positions, "mcts: list of positions", 20, |_| {
    let words =
        ["mcts", "analyse", "--game", "connect4", "--steps", "2", "--trees", "1", "--playouts", "8", "--moves-file"];
    Parser::new(golden(&["mcts/v0.1/moves.txt"]), Form::Text, move |path| program(&words, path, &ON_CPU))
});
