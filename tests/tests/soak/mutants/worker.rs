//! The process that reads mutants, one after the other.

use std::ffi::OsString;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::{Named, Parser, change};
use warpplay_tests::resident::resident;

use crate::rounds;

/// Environment variables of the process: the folder that it works in, and its first mutant.
const FOLDER: &str = "WARPPLAY_SOAK_FOLDER";
const FIRST: &str = "WARPPLAY_SOAK_FIRST";
/// How often a file is repaired: a checksum of a part, one of the whole, and a fingerprint over all.
const MOST_REPAIRED: usize = 4;
/// How a line begins that tells of a mutant.
const MARK: &str = "mutant\t";
/// Fields are divided by this, and reasons with it.
const BETWEEN: char = '\u{1f}';

/// What is set for the process.
pub fn environment(folder: &Path, first: u32) -> Vec<(&'static str, OsString)> {
    vec![
        (FOLDER, folder.as_os_str().to_os_string()),
        (FIRST, first.to_string().into()),
        // The same on machines of all sizes.
        ("RAYON_NUM_THREADS", "2".into()),
    ]
}

/// What became of a mutant.
pub struct Report {
    pub number: u32,
    /// Read, else refused.
    pub read: bool,
    /// A checksum was repaired.
    pub repaired: bool,
    pub wall: Duration,
    pub cpu: Duration,
    /// Bytes beyond those before.
    pub memory: u64,
    /// What must not be.
    pub wrong: Vec<String>,
}

impl Report {
    fn line(&self) -> String {
        let Self { number, read, repaired, wall, cpu, memory, wrong } = self;
        let wrong = wrong.join(&BETWEEN.to_string()).replace(['\n', '\t'], " ");
        format!("{MARK}{number}\t{read}\t{repaired}\t{}\t{}\t{memory}\t{wrong}", wall.as_micros(), cpu.as_micros())
    }

    /// Of a line of the process; `None` for what the test harness says.
    pub fn parse(line: &str) -> Option<Self> {
        // The harness does not end its own line before a test says something.
        let (_, line) = line.split_once(MARK)?;
        let fields: Vec<&str> = line.split('\t').collect();
        let [number, read, repaired, wall, cpu, memory, wrong] = fields[..] else { return None };
        Some(Self {
            number: number.parse().ok()?,
            read: read.parse().ok()?,
            repaired: repaired.parse().ok()?,
            wall: Duration::from_micros(wall.parse().ok()?),
            cpu: Duration::from_micros(cpu.parse().ok()?),
            memory: memory.parse().ok()?,
            wrong: wrong.split(BETWEEN).filter(|reason| !reason.is_empty()).map(String::from).collect(),
        })
    }
}

/// Reads the seeds as they are and `n` mutants, if this is a process that is to; `false` if not.
///
/// # Panics
/// If a seed is refused.
pub fn work(test: &str, n: u32, make: impl FnOnce(&Path) -> Parser) -> bool {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return false };
    let first = std::env::var(FIRST).ok().and_then(|first| first.parse().ok()).expect("the first mutant");
    let parser = make(&folder);
    if first == 0 {
        for (name, seed) in &parser.seeds {
            let path = lay(&folder, &parser, name, seed);
            (parser.read)(&path).unwrap_or_else(|error| panic!("{name} is whole, and refused: {error}"));
        }
    }
    panic::set_hook(Box::new(|info| *LAST_PANIC.lock().expect("nobody panics with it") = info.to_string()));
    for number in first..n {
        println!("{}", one(test, &folder, &parser, number).line());
    }
    let _ = panic::take_hook();
    true
}

/// Text, file and line of the last panic.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Writes a file where the parser reads it, with the files that belong to it.
fn lay(folder: &Path, parser: &Parser, name: &str, bytes: &[u8]) -> PathBuf {
    for (name, whole) in &parser.beside {
        fs::write(folder.join(name), whole).expect("written");
    }
    let path = folder.join(name);
    fs::write(&path, bytes).expect("written");
    path
}

/// Whether an error names what it must.
fn is_named(error: &str, folder: &Path, parser: &Parser, name: &str) -> bool {
    let folder = folder.display().to_string();
    match parser.named {
        Named::File if parser.beside.is_empty() => error.contains(name),
        Named::File => error.contains(&format!("{folder}/")),
        Named::Folder => error.contains(&folder),
        Named::Nothing => true,
    }
}

fn one(test: &str, folder: &Path, parser: &Parser, number: u32) -> Report {
    let mut random = rounds::random(&format!("{test} {number}"));
    let (name, seed) = &parser.seeds[number as usize % parser.seeds.len()];
    let path = lay(folder, parser, name, &change::mutant(seed, parser.form, &mut random));
    reset_peak();
    let (memory, cpu, start) = (resident("VmRSS:"), processor_time(), Instant::now());
    let mut found = panic::catch_unwind(AssertUnwindSafe(|| (parser.read)(&path)));
    let mut wall = start.elapsed();
    let mut repaired = false;
    for _ in 0..MOST_REPAIRED {
        let Ok(Err(error)) = &found else { break };
        if !(parser.repair)(&path, error) {
            break;
        }
        repaired = true;
        let start = Instant::now();
        found = panic::catch_unwind(AssertUnwindSafe(|| (parser.read)(&path)));
        wall = wall.max(start.elapsed());
    }
    let mut wrong = Vec::new();
    match &found {
        Err(_) => wrong.push(LAST_PANIC.lock().expect("nobody panics with it").clone()),
        Ok(Err(error)) if !is_named(error, folder, parser, name) => {
            wrong.push(format!("the error does not name the file: {error}"))
        }
        _ => {}
    }
    let (cpu, memory) = (processor_time().saturating_sub(cpu), resident("VmHWM:").saturating_sub(memory));
    Report { number, read: matches!(found, Ok(Ok(()))), repaired, wall, cpu, memory, wrong }
}

/// The peak of memory is from now on.
fn reset_peak() {
    // Where the kernel does not, the peak is that of all mutants before, too.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Processor time of this process, all threads together.
fn processor_time() -> Duration {
    /// Of all Linux systems that Rust runs on.
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold spaces; after it the 12th and 13th fields are the times.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    Duration::from_secs_f64(ticks / TICKS_A_SECOND)
}
