//! What was measured, kept in a file as it is measured.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpplay::{Device, Error, Result, input_file};
use warpplay_gpu::ptx::embedded;

/// Version of a journal's lines.
const SCHEMA: u32 = 1;
/// Version of the frame that a command's results are written in.
const FRAME: u32 = 2;
/// How a journal begins: a file with a part of this, or with a first line that begins so and was cut off, is a journal that a full disk ended.
const BEGINNING: &[u8] = br#"{"schema":1,"kind":"journal","#;

/// Publication, options and machine of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The publication.
    pub paper: String,
    /// Version of this crate.
    pub version: String,
    /// Checksum of the version and of all kernels of the program: builds of one version may differ in their kernels. Empty in files of builds that did not note it.
    #[serde(default)]
    pub build: String,
    /// The device, as `cuda:0`.
    pub device: String,
    /// Its name.
    pub device_name: String,
    /// Name of the host's processor.
    pub cpu_name: String,
    /// Its threads.
    pub cpu_threads: usize,
    /// Whether the sizes are small.
    pub quick: bool,
    /// The publication's options.
    pub options: Value,
    /// When it began: seconds since 1970 in UTC.
    pub started: u64,
}

impl Header {
    /// Of a run that begins now.
    pub fn new(paper: &str, options: Value, device: &Device, quick: bool) -> Self {
        Self {
            paper: paper.to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            build: build().to_string(),
            device: device.to_string(),
            device_name: device.name(),
            cpu_name: Device::cpu().name(),
            cpu_threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            quick,
            options,
            started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        }
    }

    /// The first thing in which another run differs, with both values: publication, version, sizes and options. What goes on with the other run (`resumes`) must also be of
    /// the same build and machine.
    pub(super) fn difference(&self, other: &Self, resumes: bool) -> Option<String> {
        let named = |name: &str, ours: &dyn ToString, theirs: &dyn ToString| {
            let (ours, theirs) = (ours.to_string(), theirs.to_string());
            (ours != theirs).then(|| format!("{name} {theirs}, and this run has {ours}"))
        };
        let known = |header: &Self| if header.build.is_empty() { "unknown".to_string() } else { header.build.clone() };
        let origins = || {
            named("build", &known(self), &known(other))
                .or_else(|| named("device", &self.device, &other.device))
                .or_else(|| named("device", &self.device_name, &other.device_name))
                .or_else(|| named("processor", &self.cpu_name, &other.cpu_name))
                .or_else(|| named("threads", &self.cpu_threads, &other.cpu_threads))
        };
        named("publication", &self.paper, &other.paper)
            .or_else(|| named("version", &self.version, &other.version))
            .or_else(|| named("quick", &self.quick, &other.quick))
            .or_else(|| options_difference(&self.options, &other.options))
            .or_else(|| resumes.then(origins).flatten())
    }
}

/// The checksum of [`Header::build`], computed once.
fn build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let mut sum = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut sum);
        for set in embedded::ALL.iter().chain(crate::ptx::ALL) {
            set.name.hash(&mut sum);
            for image in set.images {
                // A damaged text is an error where it is loaded.
                (image.arch, image.text().unwrap_or_default()).hash(&mut sum);
            }
        }
        format!("{:016x}", sum.finish())
    })
}

/// The first option that differs, by name where both are objects.
fn options_difference(ours: &Value, theirs: &Value) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) else {
        return Some(format!("options {theirs}, and this run has {ours}"));
    };
    let names = ours.keys().chain(theirs.keys());
    let differs = names.into_iter().find(|&name| ours.get(name) != theirs.get(name))?;
    let shown = |options: &serde_json::Map<String, Value>| {
        options.get(differs).filter(|value| !value.is_null()).map_or("none".into(), Value::to_string)
    };
    Some(format!("option {differs} {}, and this run has {}", shown(theirs), shown(ours)))
}

/// One measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What is the same whenever it is measured.
    pub exact: Value,
    /// What is nearly the same.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub near: Value,
    /// What is not: times.
    pub timed: Value,
    /// Name of the item that it was first measured for; empty in files of builds that did not note it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub item: String,
}

#[derive(Serialize, Deserialize)]
struct FirstLine {
    schema: u32,
    kind: String,
    header: Header,
}

#[derive(Serialize, Deserialize)]
struct RecordLine {
    key: String,
    #[serde(flatten)]
    record: Record,
}

/// Measurements by their keys, in memory and, with a path, in a file of JSON lines. A line is on the disk before the next measurement begins, so that a run that is
/// killed loses the measurement that it was at and no other.
#[derive(Debug, Default)]
pub struct Journal {
    header: Option<Header>,
    records: BTreeMap<String, Record>,
    /// The items' sheets, in the order of the items; none in a journal's own file.
    sheets: Vec<Value>,
    file: Option<(PathBuf, File)>,
}

impl Journal {
    /// One that is kept nowhere.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// A new one in a new file, which is locked against other processes.
    ///
    /// # Errors
    /// [`Error::File`] if there is such a file already: it may hold hours of work; or if it cannot be written.
    pub fn create(path: &Path, header: Header) -> Result<Self> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Error::file(path, None, "is there already: go on with it (resume), or name a new file")
            }
            _ => Error::file(path, None, format!("cannot be written: {error}")),
        };
        let file = OpenOptions::new().append(true).create_new(true).open(path).map_err(failed)?;
        lock(path, &file)?;
        let mut journal = Self { file: Some((path.to_path_buf(), file)), ..Self::default() };
        journal.begin(header).inspect_err(|_| {
            // Without its first line it is of no use, as on a full disk; the first error is the one to tell.
            let _ = fs::remove_file(path);
        })?;
        Ok(journal)
    }

    /// Writes the first line.
    fn begin(&mut self, header: Header) -> Result<()> {
        self.append(&FirstLine { schema: SCHEMA, kind: "journal".into(), header: header.clone() })?;
        self.header = Some(header);
        Ok(())
    }

    /// Goes on with a file. A last line that a kill or a full disk cut off is removed; if it is the first too, the run begins.
    ///
    /// # Errors
    /// [`Error::File`] if it is no journal, is used by another process, or is of another publication, version, build, device or set of options: both values are named.
    pub fn resume(path: &Path, header: &Header) -> Result<Self> {
        let failed = |error: io::Error| Error::file(path, None, format!("cannot be opened: {error}"));
        input_file::expect_file(path)?;
        let file = OpenOptions::new().read(true).append(true).open(path).map_err(failed)?;
        lock(path, &file)?;
        let mut bytes = fs::read(path).map_err(failed)?;
        let line_end = |bytes: &[u8]| bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut whole = line_end(&bytes);
        // A line break may stand behind what was cut off too, as an editor puts one.
        let last = line_end(&bytes[..whole.saturating_sub(1)]);
        if std::str::from_utf8(bytes[last..whole].trim_ascii_end()).is_ok_and(input_file::is_cut_off_json) {
            whole = last;
        }
        if whole == 0 && (bytes.starts_with(BEGINNING) || BEGINNING.starts_with(&bytes)) {
            file.set_len(0).map_err(failed)?;
            let mut journal = Self { file: Some((path.to_path_buf(), file)), ..Self::default() };
            journal.begin(header.clone())?;
            return Ok(journal);
        }
        // A file without a line break is read whole, to be told what is wrong with it.
        bytes.truncate(if whole == 0 { bytes.len() } else { whole });
        let mut journal = Self::parse(path, &input_file::text_of(path, bytes)?)?;
        if let Some(difference) = journal.header.as_ref().and_then(|found| header.difference(found, true)) {
            return Err(Error::file(path, None, format!("was measured with {difference}")));
        }
        file.set_len(whole as u64).map_err(failed)?;
        journal.file = Some((path.to_path_buf(), file));
        Ok(journal)
    }

    /// Reads one to compare with: a journal, or the JSON file of a run's results.
    ///
    /// # Errors
    /// [`Error::File`] if it is neither.
    pub fn read(path: &Path) -> Result<Self> {
        let text = input_file::read_text(path)?;
        let parsed = serde_json::from_str::<Value>(&text);
        if let Ok(value) = &parsed
            && let (Some(header), Some(records)) =
                (value.pointer("/report/header"), value.pointer("/report/measurements"))
        {
            let wrong = |error: serde_json::Error| {
                Error::file(path, None, format!("no file of a publication's results: {error}"))
            };
            if value["schema"] != FRAME {
                let reason = format!("field schema: {} is not known, this program reads {FRAME}", value["schema"]);
                return Err(Error::file(path, None, reason));
            }
            return Ok(Self {
                header: Some(Header::deserialize(header).map_err(wrong)?),
                records: BTreeMap::deserialize(records).map_err(wrong)?,
                sheets: value.pointer("/report/sheets").and_then(Value::as_array).cloned().unwrap_or_default(),
                file: None,
            });
        }
        let is_lines = text.lines().next().is_none_or(|line| serde_json::from_str::<Value>(line).is_ok());
        match parsed {
            Ok(value) if value["kind"] != "journal" => {
                let kind = value["kind"].as_str().map_or("no kind".to_string(), |kind| format!("kind {kind}"));
                let reason = format!("is of {kind}, expected a journal or the results of a publication");
                Err(Error::file(path, None, reason))
            }
            // Readable JSON has an object in many lines.
            Err(_) if !is_lines && input_file::is_cut_off_json(&text) => {
                Err(Error::file(path, None, "the file is cut off"))
            }
            Err(error) if !is_lines => Err(Error::file(path, Some(error.line() as u64), error.to_string())),
            _ => Self::parse(path, &text),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self> {
        let n_lines = text.lines().count() as u64;
        let mut lines = (1..).zip(text.lines());
        let wrong =
            |line, reason: String| Error::file(path, Some(line), format!("no journal of a publication: {reason}"));
        let (_, first) = lines.next().ok_or_else(|| wrong(1, "it is empty".into()))?;
        let first: FirstLine = serde_json::from_str(first).map_err(|error| wrong(1, error.to_string()))?;
        if first.schema != SCHEMA || first.kind != "journal" {
            return Err(wrong(
                1,
                format!("{} of schema {}, expected journal of schema {SCHEMA}", first.kind, first.schema),
            ));
        }
        let mut records = BTreeMap::new();
        let mut at = BTreeMap::new();
        for (number, line) in lines {
            let line: RecordLine =
                serde_json::from_str(line).map_err(|error| match input_file::is_cut_off_json(line) {
                    true if number == n_lines => {
                        Error::file(path, Some(number), "the line is cut off; --resume of its run removes it")
                    }
                    true => {
                        let reason = "the line is cut off, and others follow: without it, --resume of its run measures again what it held";
                        Error::file(path, Some(number), reason)
                    }
                    false => wrong(number, error.to_string()),
                })?;
            let before = at.insert(line.key.clone(), number);
            let old = records.insert(line.key.clone(), line.record.clone());
            if let (Some(before), Some(old)) = (before, old)
                && old != line.record
            {
                let reason = format!("{} is in line {before} too, with another result", line.key);
                return Err(Error::file(path, Some(number), reason));
            }
        }
        Ok(Self { header: Some(first.header), records, ..Self::default() })
    }

    /// What it was of; nothing of one in memory.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// An item's tables, figures and notes as the file has them.
    pub(super) fn sheet(&self, item: &str) -> Option<&Value> {
        self.sheets.iter().find(|sheet| sheet["item"] == item)
    }

    /// A measurement.
    pub fn get(&self, key: &str) -> Option<&Record> {
        self.records.get(key)
    }

    /// All of them.
    pub fn records(&self) -> &BTreeMap<String, Record> {
        &self.records
    }

    /// Keeps a measurement; one with the same key is replaced.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub fn insert(&mut self, key: &str, record: Record) -> Result<()> {
        self.append(&RecordLine { key: key.to_string(), record: record.clone() })?;
        self.records.insert(key.to_string(), record);
        Ok(())
    }

    fn append(&mut self, line: &impl Serialize) -> Result<()> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let written = serde_json::to_string(line).map_err(io::Error::from).and_then(|text| {
            file.write_all((text + "\n").as_bytes())?;
            file.sync_data()
        });
        written.map_err(|error| Error::file(&*path, None, format!("cannot be written: {error}")))
    }
}

fn lock(path: &Path, file: &File) -> Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Error::file(path, None, "is used by another process"),
        TryLockError::Error(error) => Error::file(path, None, format!("cannot be locked: {error}")),
    })
}
