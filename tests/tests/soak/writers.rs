//! Two programs that write the same thing, and a reader meanwhile. What is read is always whole, and what one of the two writes when it is alone; where two cannot share, the
//! second is refused while the first has the lock.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use warpplay::mlp::Checkpoint;
use warpplay::shogi::dataset::Dataset;
use warpplay_tests::golden;
use warpplay_tests::programs::{Scratch, signal, warpplay};
use warpplay_tests::running::Running;

use crate::kills::{self, Found};
use crate::rounds;

/// Longer than any two programs take here, however busy the machine is.
const MOST: Duration = Duration::from_secs(300);
/// So many rounds that a reader finds the file in some of them.
const ENOUGH: u32 = 30;
/// First programs that may stand still without the lock, for one that has it.
const MOST_EARLY: u32 = 100;

/// Two lines of one family that are run at once.
struct Pair {
    /// As the table names it.
    kind: &'static str,
    family: &'static str,
    prepare: fn(&Scratch),
    lines: [&'static str; 2],
    /// The file that both write; of a folder the one that names all others.
    path: &'static str,
    /// Reads it.
    read: fn(&Path) -> Found,
    /// It grows: until its program has ended it may be the beginning of what it is then.
    grows: bool,
    /// Where one process writes at a time: the file that it locks, and what the second is told.
    lock: Option<(&'static str, &'static str)>,
}

/// What became of all rounds.
#[derive(Default)]
struct Sums {
    both: u32,
    refused: u32,
    reads: u32,
    wrong: Vec<String>,
}

impl Pair {
    /// Runs both so often, with a reader beside them; the sums go to the table.
    ///
    /// # Panics
    /// If a reader finds what neither of the two writes alone, or one ends otherwise than it should.
    fn run(&self) {
        // Where the second is refused, all is the first one's.
        let writers = if self.lock.is_some() { &self.lines[..1] } else { &self.lines[..] };
        let alone: Vec<Vec<u8>> = writers.iter().map(|line| self.alone(line)).collect();
        let mut sums = Sums::default();
        for round in 0..rounds::kills() {
            let so_far = sums.wrong.len();
            let scratch = match self.lock {
                Some((lock, words)) => self.in_turn(lock, words, &alone, &mut sums),
                None => self.at_once(&alone, &mut sums),
            };
            let end = self.fault(&scratch, &alone, false);
            sums.wrong.extend(end.map(|what| format!("at the end: {what}")));
            sums.wrong[so_far..].iter_mut().for_each(|what| *what = format!("round {round}, {what}"));
        }
        let Sums { both, refused, reads, wrong } = &sums;
        rounds::note("writers", &[&self.kind, &rounds::kills(), both, refused, reads, &wrong.len()]);
        assert!(wrong.is_empty(), "{}\n{}", self.kind, wrong.join("\n"));
        // In a few rounds both may end between two looks.
        assert!(rounds::kills() < ENOUGH || *reads > 0, "{}: the file was never read while they ran", self.kind);
    }

    fn scratch(&self) -> Scratch {
        let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), self.family);
        (self.prepare)(&scratch);
        scratch
    }

    /// What a command writes that nobody disturbs.
    fn alone(&self, line: &str) -> Vec<u8> {
        let scratch = self.scratch();
        scratch.ok(line);
        (self.read)(&scratch.path(self.path)).expect("a whole file")
    }

    fn start(scratch: &Scratch, line: &str) -> Running {
        Running::start(scratch.command(line).stdout(Stdio::null()))
    }

    /// Both start together, and both end well.
    fn at_once(&self, alone: &[Vec<u8>], sums: &mut Sums) -> Scratch {
        let scratch = self.scratch();
        let mut both = self.lines.map(|line| Self::start(&scratch, line));
        self.read_on(&scratch, alone, &mut both, sums);
        let failures: Vec<String> = both.iter_mut().filter_map(|running| running.end().err()).collect();
        sums.both += u32::from(failures.is_empty());
        sums.wrong.extend(failures);
        scratch
    }

    /// The first has the lock and stands still until the second was refused, then it ends well.
    fn in_turn(&self, lock: &str, words: &str, alone: &[Vec<u8>], sums: &mut Sums) -> Scratch {
        let (scratch, mut first) = self.with_lock(lock);
        let mut second = Self::start(&scratch, self.lines[1]);
        self.read_on(&scratch, alone, std::slice::from_mut(&mut second), sums);
        match second.end() {
            Err(said) if said.contains(words) => sums.refused += 1,
            Err(said) => sums.wrong.push(format!("the second: {said}")),
            Ok(()) => sums.wrong.push("the second was not refused".into()),
        }
        signal(&first.child, "CONT");
        self.read_on(&scratch, alone, std::slice::from_mut(&mut first), sums);
        sums.wrong.extend(first.end().err());
        scratch
    }

    /// Starts the first and stops it while it has the lock.
    ///
    /// # Panics
    /// If it never has it.
    fn with_lock(&self, lock: &str) -> (Scratch, Running) {
        for _ in 0..MOST_EARLY {
            let scratch = self.scratch();
            let path = scratch.path(lock);
            let mut first = Self::start(&scratch, self.lines[0]);
            while !path.exists() && first.is_at_work() {
                std::thread::sleep(Duration::from_micros(200));
            }
            if first.is_at_work() && stopped(&first) && is_locked(&path) {
                return (scratch, first);
            }
        }
        panic!("{}: {MOST_EARLY} programs did not lock {lock}", self.kind);
    }

    /// Reads until these have ended.
    fn read_on(&self, scratch: &Scratch, alone: &[Vec<u8>], running: &mut [Running], sums: &mut Sums) {
        let start = Instant::now();
        while running.iter_mut().any(Running::is_at_work) {
            assert!(start.elapsed() < MOST, "{}: no end in {} s", self.kind, MOST.as_secs());
            if scratch.path(self.path).exists() {
                sums.reads += 1;
                let found = self.fault(scratch, alone, self.grows);
                sums.wrong.extend(found.map(|what| format!("while they run: {what}")));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What is wrong with the file now: it cannot be read, or neither of the two writes this when it is alone.
    fn fault(&self, scratch: &Scratch, alone: &[Vec<u8>], may_grow: bool) -> Option<String> {
        let found = match (self.read)(&scratch.path(self.path)) {
            Ok(found) => found,
            Err(error) => return Some(error),
        };
        let is_of = |whole: &Vec<u8>| *whole == found || may_grow && whole.starts_with(&found);
        if alone.iter().any(is_of) {
            return None;
        }
        let shown: String = String::from_utf8_lossy(&found).chars().take(200).collect();
        Some(format!("what neither writes alone: {shown}"))
    }
}

/// Stops a program; `false` if it ended before.
fn stopped(running: &Running) -> bool {
    signal(&running.child, "STOP");
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", running.child.id())).expect("a child");
        // The name, in parentheses, may hold spaces; after it comes the state.
        match stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
            Some('T') => return true,
            Some('Z') => return false,
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Whether a process has the lock of a file.
fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn nothing(_: &Scratch) {}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The losses of the epochs that a training has done.
fn losses(path: &Path) -> Found {
    let found = Checkpoint::load(path).map_err(text)?;
    Ok(found.epochs().iter().flat_map(|epoch| format!("{:?}\n", epoch.loss).into_bytes()).collect())
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
        read: kills::mcts::report,
        grows: false,
        lock: None,
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
        read: losses,
        grows: true,
        lock: None,
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
        read: kills::azero::games,
        grows: false,
        lock: None,
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
        read: kills::azero::iterations,
        grows: true,
        lock: Some(("run/.warpplay-lock", "is being written by another process: wait until it ends")),
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
        read: kills::shogi::dataset,
        grows: false,
        lock: Some(("set/.warpplay-lock", "is being written by another process: wait until it ends")),
    }
    .run();
}

#[test]
fn one_journal() {
    Pair {
        kind: "journal of two publications",
        family: "papers",
        prepare: nothing,
        lines: [
            "mctsnc --quick --device cpu --only table2 --steps 1 --games 1 --checkpoint journal --quiet",
            "mctsnc --quick --device cpu --only table2 --steps 1 --games 1 --resume journal --quiet",
        ],
        path: "journal",
        // The last line may be half written: that is what a journal is.
        read: kills::journal,
        grows: true,
        lock: Some(("journal", "is used by another process")),
    }
    .run();
}

#[test]
fn one_journal_of_games() {
    Pair {
        kind: "journal of two `azero selfplay`",
        family: "azero",
        prepare: nothing,
        lines: [
            "selfplay --uniform --games 20 --parallel 2 --simulations 4 --threads 1 --device cpu --seed 1 --checkpoint journal",
            "selfplay --uniform --games 20 --parallel 2 --simulations 4 --threads 1 --device cpu --seed 1 --resume journal",
        ],
        path: "journal",
        read: kills::journal,
        grows: true,
        lock: Some(("journal", "is used by another process")),
    }
    .run();
}

/// A set that is replaced by another, again and again, is found whole by who opens it meanwhile.
#[test]
fn a_reader_of_a_data_set_that_is_replaced() {
    let folder = warpplay_tests::folder::Folder::new();
    let sets = [0..3, 3..6].map(|games| warpplay_tests::learning::dataset(games, 40..80, 1, 7));
    sets[0].save(folder.folder()).expect("written");
    let replacements = 10 * rounds::kills();
    let (mut reads, mut wrong) = (0u32, Vec::new());
    let refusals = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut refusals = 0u32;
            for round in 0..replacements as usize {
                let start = Instant::now();
                // A process that another test starts has our lock too, until it is a program of its own.
                while let Err(error) = sets[(round + 1) % 2].save(folder.folder()) {
                    assert!(error.to_string().contains("is being written by another process"), "{error}");
                    assert!(start.elapsed() < MOST, "refused for {} s", MOST.as_secs());
                    refusals += 1;
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            refusals
        });
        while !writer.is_finished() {
            reads += 1;
            match Dataset::open(folder.folder()) {
                Ok(found) if sets.iter().any(|set| set.fingerprint() == found.fingerprint()) => {}
                Ok(_) => wrong.push("a set of both".to_string()),
                Err(error) => wrong.push(error.to_string()),
            }
        }
        writer.join().expect("it writes")
    });
    rounds::note("replaced", &[&"data set", &replacements, &refusals, &reads, &wrong.len()]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
