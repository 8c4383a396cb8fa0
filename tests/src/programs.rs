//! The program `warpplay`, for tests that run them as others do.

use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folder::Folder;
use crate::golden::workspace;

/// The program `warpplay`: what the environment variable `WARPPLAY_PROGRAM` names, or built by cargo for tests, once in a process.
///
/// `target_tmp` is the caller's `CARGO_TARGET_TMPDIR`, which cargo tells integration tests alone: the folder beside the target folder's profiles.
///
/// # Panics
/// If it cannot be built.
pub fn warpplay(target_tmp: &str) -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| std::env::var_os("WARPPLAY_PROGRAM").map_or_else(|| build(target_tmp), PathBuf::from))
}

fn build(target_tmp: &str) -> PathBuf {
    let target = Path::new(target_tmp).parent().expect("the target folder");
    let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let output = Command::new(cargo)
        .current_dir(workspace())
        // The whole workspace with a test, as the suite is built: a package by itself, or programs alone, have other features, and would be
        // compiled a second time.
        .args(["build", "--quiet", "--profile", "test", "--workspace", "--bin", "warpplay", "--test", "structure"])
        .args(if cfg!(feature = "mpi") { &["--features", "warpplay-tests/mpi,warpplay-cli/mpi"][..] } else { &[] })
        .arg("--message-format=json")
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "warpplay")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo names the program")
}

/// All of these fields are there; more may be, since others rely on those that are.
///
/// # Panics
/// If one is missing, or the value is no object.
#[track_caller]
pub fn has(value: &Value, fields: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("{value} is no object"));
    for field in fields {
        assert!(object.contains_key(*field), "no field {field} in {:?}", object.keys());
    }
}

/// The entries of a list.
///
/// # Panics
/// If the value is no list.
#[track_caller]
pub fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// Holds a number of a report to another.
///
/// # Panics
/// If they differ by more than `tolerance`, or one is no number.
#[track_caller]
pub fn close(found: &Value, expected: &Value, tolerance: f64) {
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((number(found) - number(expected)).abs() <= tolerance, "{found}, expected {expected}");
}

/// How a program ended; `None`, and it goes on, if it did not in this time. A test that waits for ever says nothing.
///
/// # Panics
/// If the system does not know the program.
pub fn end_of(child: &mut Child, most: Duration) -> Option<ExitStatus> {
    /// Short beside what a program of a few milliseconds takes.
    const INTERVAL: Duration = Duration::from_millis(2);
    let start = Instant::now();
    loop {
        let status = child.try_wait().expect("a child");
        let left = most.saturating_sub(start.elapsed());
        if status.is_some() || left.is_zero() {
            return status;
        }
        std::thread::sleep(left.min(INTERVAL));
    }
}

/// Sends a program a signal by its name, as `INT`.
///
/// # Panics
/// If the program has ended and was waited for.
#[track_caller]
pub fn signal(child: &Child, name: &str) {
    assert!(send(name, &child.id().to_string()), "there is no process {} to send {name} to", child.id());
}

/// Sends a signal to a process, or with `-` before its number to a process group; whether there is one.
pub(crate) fn send(name: &str, target: &str) -> bool {
    // The shell's own `kill`: a small machine may lack the program.
    Command::new("sh").args(["-c", &format!("kill -{name} {target}")]).status().is_ok_and(|sent| sent.success())
}

/// How a program ends that is sent a signal: within this time, or it is killed.
///
/// # Panics
/// If it does not end in this time.
#[track_caller]
pub fn ended_by(child: &mut Child, name: &str, most: Duration) -> ExitStatus {
    signal(child, name);
    end_of(child, most).unwrap_or_else(|| {
        let _ = child.kill();
        let _ = child.wait();
        panic!("it did not end within {} s of {name}", most.as_secs())
    })
}

/// Waits until a program catches Ctrl-C, which would end it at once before, and until it has computed for a while: into the middle of its work.
///
/// # Panics
/// If it ends before, does not catch it in a minute, or computes nothing in another.
#[cfg(target_os = "linux")]
#[track_caller]
pub fn await_handler(child: &mut Child) {
    const SIGINT: u64 = 1 << 1;
    let start = Instant::now();
    let catches = |text: &str| {
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & SIGINT != 0)
    };
    while !std::fs::read_to_string(format!("/proc/{}/status", child.id())).is_ok_and(|text| catches(&text)) {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it was interrupted");
        assert!(start.elapsed() < Duration::from_secs(60), "it does not catch Ctrl-C");
        std::thread::sleep(Duration::from_millis(20));
    }
    await_work(child, Duration::from_millis(500));
}

/// Waits until a program has computed for this time, on the clock and in the processor: the clock alone says little where the machine is busy, or its disk.
///
/// # Panics
/// If it ends before, or does not get so far in a minute.
#[cfg(target_os = "linux")]
#[track_caller]
pub fn await_work(child: &mut Child, time: Duration) {
    let (start, before) = (Instant::now(), processor_time(child));
    while processor_time(child) < before + time || start.elapsed() < time {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it was interrupted");
        if start.elapsed() >= Duration::from_secs(60) {
            let _ = child.kill();
            panic!("it computes too little in a minute");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processor time that a running program has used, in all its threads.
#[cfg(target_os = "linux")]
fn processor_time(child: &Child) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // Behind the name in brackets; in user mode the 14th field, in the kernel the 15th, both in hundredths of a second.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11).take(2);
    Duration::from_millis(10 * fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>())
}

/// Interrupts a program as Ctrl-C does, once it has written this file, which says that it is at work; it must end well.
///
/// # Panics
/// If it does not write it or does not end in a minute, or ends otherwise.
#[track_caller]
pub fn interrupt(mut child: Child, written: &Path) {
    const MINUTE: Duration = Duration::from_secs(60);
    let start = Instant::now();
    while !written.exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it was interrupted");
        if start.elapsed() >= MINUTE {
            let _ = child.kill();
            panic!("no {} in a minute", written.display());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // Into the middle of what it does next.
    std::thread::sleep(Duration::from_millis(100));
    let status = ended_by(&mut child, "INT", MINUTE);
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut said).expect("text");
    }
    assert_eq!(status.code(), Some(0), "{said}");
}

/// A temporary folder in which the program runs, so that nothing is written elsewhere.
pub struct Scratch {
    folder: Folder,
    program: PathBuf,
    family: &'static str,
}

impl Scratch {
    /// An empty folder for runs of a family's commands.
    ///
    /// # Panics
    /// If the system gives none.
    pub fn new(program: &Path, family: &'static str) -> Self {
        Self { folder: Folder::new(), program: program.to_path_buf(), family }
    }

    /// The program with the words of a line, those between quotes as one, not yet started.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(self.folder()).arg(self.family);
        for (at, part) in line.split('"').enumerate() {
            match at % 2 {
                0 => command.args(part.split_whitespace()),
                _ => command.arg(part),
            };
        }
        command
    }

    /// Runs it.
    ///
    /// # Panics
    /// If it does not start.
    pub fn run(&self, line: &str) -> Output {
        self.command(line).output().expect("the program starts")
    }

    /// Runs it; it must end well. Returns what it prints.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs it; it must end with this code, and say why on one line of stderr. Returns that line.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn fails(&self, code: i32, line: &str) -> String {
        let output = self.run(line);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}: {stderr}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{line}: {stderr}");
        assert!(stderr.starts_with("error: ") && !stderr.contains("panicked"), "{line}: {stderr}");
        stderr
    }

    /// Runs it; the parser of the command line must refuse it. Returns what it says.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn misused(&self, line: &str) -> String {
        let output = self.run(line);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(!stderr.contains("panicked"), "{line}: {stderr}");
        stderr
    }
}

impl Deref for Scratch {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}
