//! Programs that are killed at random times. What they were to write is then absent, the old file, or a whole new one; the next run is not held up by what is left, and
//! where it goes on from a checkpoint it comes to the same bits.

mod azero;
mod cfr;
mod mcts;
mod mlp;
mod papers;
mod shogi;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use warpplay_tests::programs::{Scratch, end_of, warpplay};

use crate::rounds;

/// Longer than any command takes here, however busy the machine is.
const MOST: Duration = Duration::from_secs(300);

/// What a whole file says that does not depend on the time at which it was written; else what is wrong with it.
type Found = Result<Vec<u8>, String>;

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

    /// Starts the command and kills it after this time; what is left of each file.
    fn kill_after(&self, scratch: &Scratch, time: Duration) -> Vec<After> {
        let old: Vec<_> = self.outputs.iter().map(|output| fs::read(scratch.path(output.path)).ok()).collect();
        let mut command = scratch.command(self.line);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        std::thread::sleep(time);
        // The signal that no program can hear.
        child.kill().expect("a child");
        child.wait().expect("a child");
        self.outputs.iter().zip(&old).map(|(output, old)| output.after(scratch, old.as_deref())).collect()
    }

    /// Kills the command so often; the sums go to the table.
    ///
    /// # Panics
    /// If a file is lost or damaged, or a run after a kill fails or comes to other bits.
    fn kill(&self) {
        let whole = self.scratch();
        let start = Instant::now();
        whole.ok(self.line);
        let duration = start.elapsed();
        let expected = self.read(&whole).into_iter().map(|found| found.expect("a whole run's file"));
        let expected: Vec<Vec<u8>> = expected.collect();
        let before = self.old.map(|(part, other)| {
            assert!(self.line.contains(part), "{}: no {part}", self.line);
            let scratch = self.scratch();
            scratch.ok(&self.line.replace(part, other));
            scratch
        });
        let mut random = rounds::random(self.line);
        let mut sums: Vec<Sums> = self.outputs.iter().map(|_| Sums::default()).collect();
        for round in 0..rounds::kills() {
            let scratch = self.scratch();
            if let Some(before) = before.as_ref().filter(|_| round % 2 == 1) {
                copy(before.folder(), scratch.folder());
            }
            // Every second time towards the end, when most files are written.
            let at = if round % 4 == 1 || round % 4 == 2 { 0.9 + 0.1 * random.unit() } else { random.unit() };
            let left = self.kill_after(&scratch, duration.mul_f32(at));
            // On from what the killed run has left, or again.
            let is_new = |file: &str| {
                self.outputs.iter().zip(&left).any(|(output, after)| output.path == file && matches!(after, After::New))
            };
            let line = self.resume.filter(|(file, _)| is_new(file)).map_or(self.line, |(_, line)| line);
            let said = ends(scratch.command(line));
            for (((found, expected), after), sums) in
                self.read(&scratch).iter().zip(&expected).zip(&left).zip(&mut sums)
            {
                sums.add(after);
                match (&said, found) {
                    (Ok(()), Ok(found)) if found == expected => sums.same += 1,
                    (Ok(()), Ok(_)) => sums.wrong.push(format!("`{line}` in round {round} came to other bits")),
                    (Ok(()), Err(error)) => sums.wrong.push(format!("after `{line}` in round {round}: {error}")),
                    (Err(said), _) => sums.wrong.push(format!("`{line}` in round {round} failed: {said}")),
                }
            }
        }
        self.note(&sums);
        let mut wrong = Vec::new();
        for (output, sums) in self.outputs.iter().zip(sums) {
            wrong.extend(sums.wrong.into_iter().map(|what| format!("{}: {what}", output.path)));
        }
        assert!(wrong.is_empty(), "{}\n{}", self.line, wrong.join("\n"));
    }

    /// A row for each file.
    fn note(&self, sums: &[Sums]) {
        let command = self.line.split(' ').next().unwrap_or_default();
        let name = format!("`{} {command}`", self.family);
        let resumes = if self.resume.is_some() { "yes" } else { "no" };
        for (output, Sums { absent, old, new, wrong, same }) in self.outputs.iter().zip(sums) {
            rounds::note(
                "kills",
                &[&name, &output.kind, &rounds::kills(), absent, old, new, &wrong.len(), &resumes, same],
            );
        }
    }
}

/// Runs a program; it must end well. Else what it says.
fn ends(mut command: Command) -> Result<(), String> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(text)?;
    let Some(status) = end_of(&mut child, MOST) else {
        let _ = child.kill();
        return Err(format!("it did not end in {} s", MOST.as_secs()));
    };
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).map_err(text)?;
    if status.success() { Ok(()) } else { Err(said) }
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
fn fields(path: &Path, pointers: &[&str]) -> Found {
    let value = json(path)?;
    let field =
        |pointer: &&str| value.pointer(pointer).map(Value::to_string).ok_or_else(|| format!("no field {pointer}"));
    Ok(pointers.iter().map(field).collect::<Result<Vec<_>, _>>()?.join("\n").into_bytes())
}

/// The values of a field of the entries of a list.
fn column(path: &Path, list: &str, names: &[&str]) -> Found {
    let value = json(path)?;
    let rows = value.pointer(list).and_then(Value::as_array).ok_or_else(|| format!("no list {list}"))?;
    let cell = |row: &Value, name: &&str| {
        row.get(*name).map(|cell| format!("{cell} ")).ok_or_else(|| format!("no field {name}"))
    };
    let cells = rows.iter().flat_map(|row| names.iter().map(move |name| cell(row, name)));
    Ok(cells.collect::<Result<String, _>>()?.into_bytes())
}

/// A drawing, whole.
fn drawing(path: &Path) -> Found {
    let text = fs::read_to_string(path).map_err(text)?;
    match text.starts_with("<svg") && text.trim_end().ends_with("</svg>") {
        true => Ok(Vec::new()),
        false => Err("no whole SVG".into()),
    }
}
