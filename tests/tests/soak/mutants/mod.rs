//! Mutants of every kind of file that is read. The reader takes one or refuses it with an error that names it: it does not panic, does not end the program, and takes
//! little time and memory. Where a checksum stands before the content it is repaired, so that the mutant reaches what is behind.
//!
//! A reader runs in a process of its own, this test program again: one that ends is a finding, and so is its memory.

mod azero;
mod cfr;
mod change;
mod checksums;
mod mcts;
mod mlp;
mod papers;
mod shogi;
mod worker;

use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use warpplay_tests::folder::Folder;
use warpplay_tests::programs::warpplay;
use warpplay_tests::running::Running;

use crate::rounds;
use change::Form;
use worker::Report;

/// Processor time for one mutant, all threads together. What is small is read in milliseconds, and the betting of a large game is counted for up to five seconds; a size
/// that is believed takes minutes.
const MOST_CPU: Duration = Duration::from_secs(10);
/// Memory for one mutant beyond what the process had before.
const MOST_MEMORY: u64 = 1 << 30;
/// Address space of the process, so that a reader that asks for more than the machine has ends alone.
const MOST_ADDRESSES: u64 = 6 << 30;
/// A reader that waits takes no processor time; however busy the machine is, this is enough.
const MOST_WALL: Duration = Duration::from_secs(120);
/// Of so many mutants every reader refuses one: else nothing was changed, or nothing is looked at.
const SOME_REFUSED: u32 = 100;
/// Of so many mutants every reader takes one, also where nine bytes of ten have a checksum and one mutant in fifty is sound: none does with a probability of 0.98⁴⁰⁰ = 0.0003.
const SOME_READ: u32 = 400;

/// Reads a file and makes use of what it holds; else the error.
type Reader = dyn Fn(&Path) -> Result<(), String>;

/// A kind of file, and what reads it.
struct Parser {
    /// Whole files: names, whose endings readers may look at, and contents.
    seeds: Vec<(String, Vec<u8>)>,
    form: Form,
    read: Box<Reader>,
    /// Repairs what the error complains of, a checksum; `true` if the file is to be read again.
    repair: fn(&Path, &str) -> bool,
    /// Whole files that are read with it: they lie there anew for each mutant, and an error may name them.
    beside: Vec<(String, Vec<u8>)>,
    named: Named,
}

/// What an error must name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// The file; of several that belong together any, also one that is missing.
    File,
    /// The folder that the reader is given.
    Folder,
    /// Nothing: what is parsed is a text of a command line or of another file.
    Nothing,
}

impl Parser {
    /// Of these seeds; nothing is repaired.
    fn new(seeds: Vec<(String, Vec<u8>)>, form: Form, read: impl Fn(&Path) -> Result<(), String> + 'static) -> Self {
        Self { seeds, form, read: Box::new(read), repair: |_, _| false, beside: Vec::new(), named: Named::File }
    }

    /// With these files beside the mutant.
    fn beside(mut self, beside: Vec<(String, Vec<u8>)>) -> Self {
        self.beside = beside;
        self
    }

    /// Repairs checksums.
    fn repairing(mut self, repair: fn(&Path, &str) -> bool) -> Self {
        self.repair = repair;
        self
    }

    /// With errors that name something else than the file.
    fn naming(mut self, named: Named) -> Self {
        self.named = named;
        self
    }
}

/// Files of `tests/golden` as seeds.
fn golden(names: &[&str]) -> Vec<(String, Vec<u8>)> {
    names.iter().map(|name| seed(&warpplay_tests::golden::path(name))).collect()
}

/// A file as a seed.
fn seed(path: &Path) -> (String, Vec<u8>) {
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    (name, fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A test of a parser: the row of the table, and what makes the parser, told the folder in which the mutants lie. Without being asked for more, it gets 200 mutants, which are
/// read in milliseconds each, or as many as stand here: ten of each seed and at least 20.
macro_rules! mutants {
    ($name:ident, $kind:literal, $make:expr) => {
        mutants!($name, $kind, 200, $make);
    };
    ($name:ident, $kind:literal, $few:literal, $make:expr) => {
        #[test]
        fn $name() {
            let test = concat!(module_path!(), "::", stringify!($name));
            crate::mutants::soak(test, $kind, crate::rounds::mutants($few), $make);
        }
    };
}
use mutants;

/// What became of all mutants.
#[derive(Debug, Default)]
struct Sums {
    read: u32,
    refused: u32,
    repaired: u32,
    slowest: Duration,
    most_memory: u64,
    failures: Vec<String>,
}

impl Sums {
    fn add(&mut self, report: Report) {
        self.repaired += u32::from(report.repaired);
        self.slowest = self.slowest.max(report.wall);
        self.most_memory = self.most_memory.max(report.memory);
        let mut wrong = report.wrong;
        if report.cpu > MOST_CPU {
            wrong.push(format!("{:.1} s of processor time", report.cpu.as_secs_f64()));
        }
        if report.memory > MOST_MEMORY {
            wrong.push(format!("{} MiB", report.memory >> 20));
        }
        match report.read {
            _ if !wrong.is_empty() => self.failures.push(format!("mutant {}: {}", report.number, wrong.join("; "))),
            true => self.read += 1,
            false => self.refused += 1,
        }
    }
}

/// Gives a parser its seeds and `n` mutants of them; the sums go to the table.
///
/// # Panics
/// If a seed is refused; if a mutant makes it panic, ends its process, takes too long or too much, or is refused without its name; if none of many is read, or none refused.
fn soak(test: &str, kind: &str, n: u32, make: impl FnOnce(&Path) -> Parser) {
    if worker::work(test, n, make) {
        return;
    }
    let mut sums = Sums::default();
    let mut first = 0;
    while first < n {
        let folder = Folder::new();
        first = match process(test, folder.folder(), first..n, &mut sums) {
            Ok(next) => next,
            Err((number, reason)) => {
                let kept = keep(test, number, folder.folder());
                sums.failures.push(format!("mutant {number}: {reason} ({})", kept.display()));
                number + 1
            }
        };
    }
    for (found, most, what) in [(sums.refused, SOME_REFUSED, "refused"), (sums.read, SOME_READ, "read")] {
        if n >= most && found == 0 {
            sums.failures.push(format!("of {n} mutants none was {what}"));
        }
    }
    let Sums { read, refused, repaired, slowest, most_memory, failures } = &sums;
    let slowest = format!("{:.0}", slowest.as_secs_f64() * 1e3);
    let memory = format!("{:.0}", *most_memory as f64 / f64::from(1 << 20));
    rounds::note("mutants", &[&kind, &n, repaired, read, refused, &failures.len(), &slowest, &memory]);
    assert!(failures.is_empty(), "{kind}\n{}", failures.join("\n"));
}

/// Runs a process that reads these mutants. The number after the last; or the one at which it ended, and how.
fn process(test: &str, folder: &Path, mutants: Range<u32>, sums: &mut Sums) -> Result<u32, (u32, String)> {
    let this = std::env::current_exe().expect("this program");
    let script = format!("ulimit -v {} && exec \"$0\" \"$@\"", MOST_ADDRESSES >> 10);
    let name = test.split_once("::").map_or(test, |(_, name)| name);
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .arg(this)
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .envs(worker::environment(folder, mutants.start))
        // Found once, and not by each process.
        .env("WARPPLAY_PROGRAM", warpplay(env!("CARGO_TARGET_TMPDIR")))
        .stdout(Stdio::piped());
    let mut running = Running::start(&mut command);
    let (sender, lines) = mpsc::channel();
    let stdout = BufReader::new(running.child.stdout.take().expect("piped"));
    std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let mut at = mutants.start;
    let end = loop {
        match lines.recv_timeout(MOST_WALL) {
            Ok(line) => match Report::parse(&line) {
                Some(report) => {
                    at = report.number + 1;
                    sums.add(report);
                }
                None => continue,
            },
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // With the program that it may wait for.
                running.kill();
                break format!("no end within {} s", MOST_WALL.as_secs());
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break String::new(),
        }
    };
    let status = running.child.wait().expect("it ends");
    if at == mutants.end && status.success() {
        return Ok(at);
    }
    let said = running.said();
    let tail: Vec<&str> = said.lines().rev().take(5).collect();
    Err((at, format!("the process ended: {status}; {end} {}", tail.join(" / "))))
}

/// Keeps what the process was reading when it ended.
fn keep(test: &str, number: u32, folder: &Path) -> PathBuf {
    let kept = std::env::temp_dir().join(format!("warpplay-{}-{number}", test.replace("::", "-")));
    fs::create_dir_all(&kept).expect("a folder");
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_file() {
            fs::copy(&entry, kept.join(entry.file_name().expect("a name"))).expect("a copy");
        }
    }
    kept
}
