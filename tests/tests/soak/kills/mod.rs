//! Programs that are killed at random times. What they were to write is then absent, the old file, or a whole new one; the next run is not held up by what is left, comes to
//! the bits of a run that was never killed, also where it goes on from a checkpoint, and leaves no files that such a run does not.

pub mod azero;
mod cfr;
pub mod mcts;
mod mlp;
pub mod papers;
pub mod shogi;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use warpplay_tests::programs::{Scratch, end_of, warpplay};
use warpplay_tests::random::Random;
use warpplay_tests::running::Running;

use crate::rounds;

/// Longer than any command takes here, however busy the machine is.
const MOST: Duration = Duration::from_secs(300);

/// Runs of a command that may end before their kill, for one that is killed.
const MOST_EARLY: u32 = 100;

/// The signal that [`std::process::Child::kill`] sends.
const SIGKILL: i32 = 9;

/// What a whole file says that does not depend on the time at which it was written; else what is wrong with it.
pub type Found = Result<Vec<u8>, String>;

/// A file that a command writes.
struct Output {
    /// As the table names it.
    kind: &'static str,
    /// The file; of a folder the one that names all others.
    path: &'static str,
    /// Reads it.
    read: fn(&Path) -> Found,
}

/// A command that is killed.
struct Job {
    family: &'static str,
    /// Writes what the command reads into its folder.
    prepare: fn(&Scratch),
    /// From nothing.
    line: &'static str,
    /// A file, and the line that goes on from it where the killed run has written it.
    resume: Option<(&'static str, &'static str)>,
    /// A part of the line, and what stands for it in a run whose files are there already when half of the others begin.
    old: Option<(&'static str, &'static str)>,
    /// How the files begin that a kill may leave for good.
    leaves: Option<&'static str>,
    outputs: &'static [Output],
}

/// What became of one file in all rounds.
#[derive(Default)]
struct Sums {
    absent: u32,
    old: u32,
    new: u32,
    wrong: Vec<String>,
    same: u32,
}

/// A file after a kill.
enum After {
    Absent,
    /// The bytes that it had before.
    Old,
    /// Other bytes, which are read whole.
    New,
    /// Lost or damaged.
    Wrong(String),
}

impl Sums {
    fn add(&mut self, after: &After) {
        match after {
            After::Absent => self.absent += 1,
            After::Old => self.old += 1,
            After::New => self.new += 1,
            After::Wrong(what) => self.wrong.push(what.clone()),
        }
    }
}

impl Output {
    fn after(&self, scratch: &Scratch, old: Option<&[u8]>) -> After {
        let path = scratch.path(self.path);
        match (fs::read(&path).ok(), old) {
            (None, None) => After::Absent,
            (None, Some(_)) => After::Wrong("lost".into()),
            (Some(now), Some(old)) if now == old => After::Old,
            _ => (self.read)(&path).map_or_else(After::Wrong, |_| After::New),
        }
    }
}

impl Job {
    fn scratch(&self) -> Scratch {
        let scratch = Scratch::new(warpplay(env!("CARGO_TARGET_TMPDIR")), self.family);
        (self.prepare)(&scratch);
        scratch
    }

    fn read(&self, scratch: &Scratch) -> Vec<Found> {
        self.outputs.iter().map(|output| (output.read)(&scratch.path(output.path))).collect()
    }

    /// Starts the command and kills it after this time; what is left of each file. If it ended before, the time that it took.
    ///
    /// # Panics
    /// If it ended before, and not well.
    fn kill_after(&self, scratch: &Scratch, time: Duration) -> Result<Vec<After>, Duration> {
        let old: Vec<_> = self.outputs.iter().map(|output| fs::read(scratch.path(output.path)).ok()).collect();
        let start = Instant::now();
        let mut running = Running::start(scratch.command(self.line).stdout(Stdio::null()));
        let status = end_of(&mut running.child, time).unwrap_or_else(|| {
            // SIGKILL cannot be caught.
            running.child.kill().expect("a child");
            running.child.wait().expect("a child")
        });
        let time = start.elapsed();
        if status.signal() != Some(SIGKILL) {
            assert!(status.success(), "{}: {status} before its kill: {}", self.line, running.said());
            return Err(time);
        }
        Ok(self.outputs.iter().zip(&old).map(|(output, old)| output.after(scratch, old.as_deref())).collect())
    }

    /// A folder in which the command was killed, at first with what lies in `before`, and what is left of each file. A run that ends before its kill says how long the
    /// command takes now, and it is drawn again.
    ///
    /// # Panics
    /// If all runs end before.
    fn killed(
        &self,
        before: Option<&Scratch>,
        duration: &mut Duration,
        mut share: impl FnMut() -> f32,
    ) -> (Scratch, Vec<After>) {
        for _ in 0..MOST_EARLY {
            let scratch = self.scratch();
            if let Some(before) = before {
                copy(before.folder(), scratch.folder());
            }
            match self.kill_after(&scratch, duration.mul_f32(share())) {
                Ok(left) => return (scratch, left),
                Err(time) => *duration = time,
            }
        }
        panic!("{}: {MOST_EARLY} runs ended before they were killed", self.line);
    }

    /// Files that neither a whole run nor the one before has, and that nobody removes.
    fn left_over(&self, scratch: &Scratch, whole: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let mut names = names(scratch.folder());
        names.retain(|name| {
            let file = name.file_name().unwrap_or_default().to_string_lossy();
            let is_hidden = file == ".warpplay-lock" || file.starts_with(".warpplay-") && file.ends_with(".part");
            let is_known = self.leaves.is_some_and(|beginning| name.to_string_lossy().starts_with(beginning));
            !is_hidden && !is_known && !whole.contains(name)
        });
        names.into_iter().collect()
    }

    /// Kills the command so often; the sums go to the table.
    ///
    /// # Panics
    /// If a file is lost or damaged, or a run after a kill fails, comes to other bits or leaves other files.
    fn kill(&self) {
        let whole = self.scratch();
        whole.ok(self.line);
        // The first run reads the program from the disk; later ones take this time.
        let mut duration = ends(self.scratch().command(self.line)).expect("as before");
        let expected = self.read(&whole).into_iter().map(|found| found.expect("a whole run's file"));
        let expected: Vec<Vec<u8>> = expected.collect();
        let before = self.old.map(|(part, other)| {
            assert!(self.line.contains(part), "{}: no {part}", self.line);
            let scratch = self.scratch();
            scratch.ok(&self.line.replace(part, other));
            scratch
        });
        let mut whole_names = names(whole.folder());
        whole_names.extend(before.iter().flat_map(|before| names(before.folder())));
        let mut random = rounds::random(self.line);
        let mut sums: Vec<Sums> = self.outputs.iter().map(|_| Sums::default()).collect();
        let mut n_resumed = 0;
        for round in 0..rounds::kills() {
            let share = || share(round, &mut random);
            let (scratch, left) = self.killed(before.as_ref().filter(|_| round % 2 == 1), &mut duration, share);
            // On from what the killed run has left, or again.
            let is_new = |file: &str| {
                self.outputs.iter().zip(&left).any(|(output, after)| output.path == file && matches!(after, After::New))
            };
            let resumed = self.resume.filter(|(file, _)| is_new(file));
            n_resumed += u32::from(resumed.is_some());
            let line = resumed.map_or(self.line, |(_, line)| line);
            let said = ends(scratch.command(line));
            if let (Ok(time), None) = (&said, resumed) {
                duration = *time;
            }
            let left_over = self.left_over(&scratch, &whole_names);
            if !left_over.is_empty() {
                sums[0].wrong.push(format!("`{line}` in round {round} left {left_over:?}"));
            }
            for (((found, expected), after), sums) in
                self.read(&scratch).iter().zip(&expected).zip(&left).zip(&mut sums)
            {
                sums.add(after);
                match (&said, found) {
                    (Ok(_), Ok(found)) if found == expected => sums.same += 1,
                    (Ok(_), Ok(_)) => sums.wrong.push(format!("`{line}` in round {round} came to other bits")),
                    (Ok(_), Err(error)) => sums.wrong.push(format!("after `{line}` in round {round}: {error}")),
                    (Err(said), _) => sums.wrong.push(format!("`{line}` in round {round} failed: {said}")),
                }
            }
        }
        self.note(&sums, n_resumed);
        let mut wrong = Vec::new();
        for (output, sums) in self.outputs.iter().zip(sums) {
            wrong.extend(sums.wrong.into_iter().map(|what| format!("{}: {what}", output.path)));
        }
        assert!(wrong.is_empty(), "{}\n{}", self.line, wrong.join("\n"));
    }

    /// A row for each file.
    fn note(&self, sums: &[Sums], n_resumed: u32) {
        let command = self.line.split(' ').next().unwrap_or_default();
        let name = format!("`{} {command}`", self.family);
        let resumed = if self.resume.is_some() { n_resumed.to_string() } else { "-".to_string() };
        for (output, Sums { absent, old, new, wrong, same }) in self.outputs.iter().zip(sums) {
            let n_faults = wrong.len();
            rounds::note(
                "kills",
                &[&name, &output.kind, &rounds::kills(), absent, old, new, &resumed, same, &n_faults],
            );
        }
    }
}

/// At which part of its time a command is killed: every second time about its end, when most files are written. A run may take a little longer than the one before.
fn share(round: u32, random: &mut Random) -> f32 {
    if matches!(round % 4, 1 | 2) { 0.9 + 0.2 * random.unit() } else { random.unit() }
}

/// Runs a program; it must end well. The time that it takes, else what it says.
fn ends(mut command: Command) -> Result<Duration, String> {
    let start = Instant::now();
    let mut running = Running::start(command.stdout(Stdio::null()));
    if end_of(&mut running.child, MOST).is_none() {
        running.kill();
        return Err(format!("it did not end in {} s: {}", MOST.as_secs(), running.said()));
    }
    let time = start.elapsed();
    running.end().map(|()| time)
}

/// The files of a folder and of all folders in it, by their paths from it.
fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner)).expect("a folder").map(|entry| entry.expect("an entry")) {
            let name = inner.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(name);
            } else {
                found.insert(name);
            }
        }
    }
    found
}

/// Copies a folder with all folders in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = to.join(entry.file_name().expect("a name"));
        if entry.is_dir() {
            copy(&entry, &name);
        } else {
            fs::copy(&entry, name).expect("a copy");
        }
    }
}

fn nothing(_: &Scratch) {}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A file whose every run has the same bytes.
fn same_bytes(path: &Path) -> Found {
    fs::read(path).map_err(text)
}

fn json(path: &Path) -> Result<Value, String> {
    serde_json::from_slice(&fs::read(path).map_err(text)?).map_err(text)
}

/// A file of `--json`: fields that every run has the same values of, by pointers.
fn fields<S: AsRef<str>>(path: &Path, pointers: &[S]) -> Found {
    let value = json(path)?;
    let field = |pointer: &S| {
        let pointer = pointer.as_ref();
        value.pointer(pointer).map(Value::to_string).ok_or_else(|| format!("no field {pointer}"))
    };
    Ok(pointers.iter().map(field).collect::<Result<Vec<_>, _>>()?.join("\n").into_bytes())
}

/// The values of fields of the entries of a list.
fn column(path: &Path, list: &str, names: &[&str]) -> Found {
    let value = json(path)?;
    let rows = value.pointer(list).and_then(Value::as_array).ok_or_else(|| format!("no list {list}"))?;
    let cell = |row: &Value, name: &&str| {
        row.get(*name).map(|cell| format!("{cell} ")).ok_or_else(|| format!("no field {name}"))
    };
    let cells = rows.iter().flat_map(|row| names.iter().map(move |name| cell(row, name)));
    Ok(cells.collect::<Result<String, _>>()?.into_bytes())
}

/// The lines of a journal, and what is behind the last line break: a kill may cut the last line, and the next run removes it.
pub fn journal(path: &Path) -> Found {
    lines_of(path).map(|lines| lines.concat().into_bytes())
}

/// The lines of a journal in one order: of games that are played side by side, another may be over first where some of them were over before.
fn pieces(path: &Path) -> Found {
    let mut lines = lines_of(path)?;
    lines.sort();
    Ok(lines.concat().into_bytes())
}

fn lines_of(path: &Path) -> Result<Vec<String>, String> {
    let text_of = fs::read_to_string(path).map_err(text)?;
    let whole = text_of.rfind('\n').map_or(0, |at| at + 1);
    let mut all = Vec::new();
    for (number, line) in text_of[..whole].lines().enumerate() {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        // A measurement, or another piece of work; the report of a spot has times of its own.
        let [exact, result] = [&line["exact"], &line["result"]].map(|found| found.get("by_hand").unwrap_or(found));
        all.push(format!("{} {exact} {result}\n", line["key"]));
    }
    Ok(all)
}

/// A drawing, whole: of numbers that do not depend on the time.
fn drawing(path: &Path) -> Found {
    let text = fs::read_to_string(path).map_err(text)?;
    match text.starts_with("<svg") && text.trim_end().ends_with("</svg>") {
        true => Ok(text.into_bytes()),
        false => Err("no whole SVG".into()),
    }
}
