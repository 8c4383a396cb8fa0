//! A journal is a file that keeps each finished piece of long work at once, so that a killed run loses only the piece in progress.
//!
//! The builders of the families take a journal by `checkpoint(path)` and `resume(path)`; the program's flags have the same names. For work of one's own:
//!
//! ```
//! use serde_json::json;
//! use warpplay::Device;
//! use warpplay::journal::{Header, Journal, Piece, Target};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("squares");
//! let header = || Header::new("squares", json!({ "sign": 1 }), &[Device::cpu()]);
//! let (mut journal, _) = Journal::open::<Piece<u32>>(Some(&Target::New(path.clone())), header)?;
//! journal.append(&[("3".to_string(), Piece { result: 9, seconds: 0.5 })])?;
//! drop(journal); // or killed
//! let (_, finished) = Journal::open::<Piece<u32>>(Some(&Target::GoOn(path)), header)?;
//! assert_eq!(finished["3"].result, 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Journal`] | the file that pieces are added to |
//! | [`Target`] | where it is: a new file, or one to go on with |
//! | [`Header`], [`Heading`] | which run it is of: command, version, build, device, options; the trait of other headings |
//! | [`Piece`] | a finished piece of work, and its time |
//! | [`Contents`] | what a file holds |
//!
//! # The file
//!
//! ```text
//! {"schema":3,"kind":"journal","header":{…},"sum":"16 digits"}     the heading: which run it is of
//! {"key":"3", … the piece …,"sum":"16 digits"}                     a line for each piece: a game, a model, a spot, a measurement
//! ```
//!
//! Lines are on the disk before the next piece begins and end with a checksum, FNV-1a of the heading's checksum and the line without its own, so that a damaged line and one of
//! another run are refused. The file is locked: it belongs to one process at a time. [`Journal::resume`] goes on with it where build, device and options are the same.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpplay_gpu::ptx::{PtxSet, embedded};

use crate::runtime::fnv::Fnv;
use crate::runtime::input_file;
use crate::{Device, Error, Result};

/// Version of a journal's lines.
const SCHEMA: u32 = 3;
/// The first bytes of a journal. A file that holds only a part of these, or a truncated first line that begins with them, is a journal cut off by a full disk.
const BEGINNING: &[u8] = br#"{"schema":3,"kind":"journal","#;
/// Text before the digits of a line's checksum.
const SUM: &str = r#","sum":""#;
/// Text after the digits.
const END: &str = r#""}"#;
/// Digits of a checksum.
const DIGITS: usize = 16;

/// The first line of a journal, which identifies the run.
pub trait Heading: Clone + Serialize + DeserializeOwned {
    /// What a journal with this heading records, for error texts, such as `a publication`.
    const OF: &'static str;

    /// Describes the first field in which the run of the journal (`found`) differs from this run, with both values.
    fn difference(&self, found: &Self) -> Option<String>;
}

/// Command, options and devices of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The command, as `azero selfplay`.
    // Read of a publication's journal too, so that it is refused by its name.
    #[serde(alias = "paper")]
    pub command: String,
    /// Version of this crate.
    pub version: String,
    /// [`build`] of the program.
    pub build: String,
    /// The devices, as `cuda:0`, with commas between.
    pub device: String,
    /// Names of the devices.
    pub device_name: String,
    /// The options that affect the result of a piece.
    pub options: Value,
    /// When it began: seconds since 1970 in UTC.
    pub started: u64,
}

impl Header {
    /// Makes the heading of a run that begins now.
    pub fn new(command: &str, options: Value, devices: &[Device]) -> Self {
        let joined = |name: fn(&Device) -> String| devices.iter().map(name).collect::<Vec<_>>().join(", ");
        Self {
            command: command.to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            build: build(&[]),
            device: joined(Device::to_string),
            device_name: joined(Device::name),
            options,
            started: now(),
        }
    }
}

impl Heading for Header {
    const OF: &'static str = "a command";

    fn difference(&self, found: &Self) -> Option<String> {
        named("command", &self.command, &found.command)
            .or_else(|| named("version", &self.version, &found.version))
            .or_else(|| options_difference(&self.options, &found.options))
            .or_else(|| named("build", &self.build, &found.build))
            .or_else(|| named("device", &self.device, &found.device))
            .or_else(|| named("device", &self.device_name, &found.device_name))
    }
}

/// Seconds since 1970 in UTC.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Checksum of version and kernels of a program, including the kernels of `more` in addition to the library's: builds of one version may differ in their kernels.
pub fn build(more: &[PtxSet]) -> String {
    static OWN: OnceLock<u64> = OnceLock::new();
    let add = |sum: &mut DefaultHasher, set: &PtxSet| {
        set.name.hash(sum);
        for image in set.images {
            // A damaged text is an error where it is loaded.
            (image.arch, image.text().unwrap_or_default()).hash(sum);
        }
    };
    let own = OWN.get_or_init(|| {
        let mut sum = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut sum);
        embedded::ALL.iter().for_each(|set| add(&mut sum, set));
        sum.finish()
    });
    let mut sum = DefaultHasher::new();
    own.hash(&mut sum);
    more.iter().for_each(|set| add(&mut sum, set));
    format!("{:016x}", sum.finish())
}

/// Describes both values, if they differ.
pub fn named(name: &str, ours: &dyn ToString, found: &dyn ToString) -> Option<String> {
    let (ours, found) = (ours.to_string(), found.to_string());
    (ours != found).then(|| format!("{name} {found}, and this run has {ours}"))
}

/// Describes the first option that differs: by its name if both values are objects, or by its path, such as `a.seed`, in nested objects.
pub fn options_difference(ours: &Value, found: &Value) -> Option<String> {
    fn within(name: &str, ours: Option<&Value>, found: Option<&Value>) -> Option<String> {
        if ours == found {
            return None;
        }
        if let (Some(Value::Object(ours)), Some(Value::Object(found))) = (ours, found) {
            let mut names = ours.keys().chain(found.keys());
            let of = |inner: &str| if name.is_empty() { inner.to_string() } else { format!("{name}.{inner}") };
            return names.find_map(|inner| within(&of(inner), ours.get(inner), found.get(inner)));
        }
        let shown = |value: Option<&Value>| match value {
            None | Some(Value::Null) => "none".to_string(),
            Some(value) => value.to_string(),
        };
        let what = if name.is_empty() { "options".to_string() } else { format!("option {name}") };
        Some(format!("{what} {}, and this run has {}", shown(found), shown(ours)))
    }
    within("", Some(ours), Some(found))
}

/// Options as an object, except those in `without`, which do not affect the result of a piece.
pub fn options(options: &impl Serialize, without: &[&str]) -> Value {
    // Options are plain data, which always has a JSON form.
    let mut value = serde_json::to_value(options).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, _| !without.contains(&name.as_str()));
    }
    value
}

/// Parses a key that is a number; `None` unless it is written in its only valid form.
pub fn number(key: &str) -> Option<u64> {
    key.parse::<u64>().ok().filter(|number| number.to_string() == key)
}

/// A finished piece of work with its duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece<V, S = f64> {
    /// The result.
    pub result: V,
    /// Seconds.
    pub seconds: S,
}

/// The file of a journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A new file.
    New(PathBuf),
    /// The file of an earlier run, to be continued.
    GoOn(PathBuf),
}

/// The content of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents<H, R> {
    /// The heading, which identifies the run.
    pub header: H,
    /// The pieces by their keys.
    pub records: BTreeMap<String, R>,
}

#[derive(Serialize, Deserialize)]
struct FirstLine<H> {
    schema: u32,
    kind: String,
    header: H,
}

#[derive(Serialize)]
struct RecordLine<'a, R> {
    key: &'a str,
    #[serde(flatten)]
    record: &'a R,
}

/// The key of a line; the other fields belong to the record.
#[derive(Deserialize)]
struct Keyed {
    key: String,
}

/// A journal being written; the default one has no file.
#[derive(Debug, Default)]
pub struct Journal {
    file: Option<(PathBuf, File)>,
    /// Checksum of the heading.
    run: String,
}

impl Journal {
    /// Opens the journal that a builder was given: none, a new one, or one to continue; returns it with the pieces that it holds.
    ///
    /// # Errors
    /// As [`create`](Self::create) and [`resume`](Self::resume).
    pub fn open<R: DeserializeOwned + PartialEq>(
        target: Option<&Target>,
        header: impl FnOnce() -> Header,
    ) -> Result<(Self, BTreeMap<String, R>)> {
        match target {
            None => Ok((Self::default(), BTreeMap::new())),
            Some(Target::New(path)) => Ok((Self::create(path, &header())?, BTreeMap::new())),
            Some(Target::GoOn(path)) => {
                let (journal, contents) = Self::resume(path, &header())?;
                Ok((journal, contents.records))
            }
        }
    }

    /// Whether the journal has a file.
    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Creates a journal in a new file, which is locked against other processes.
    ///
    /// # Errors
    /// [`Error::File`] if the file already exists, since it may hold hours of work, or cannot be written.
    pub fn create<H: Heading>(path: &Path, header: &H) -> Result<Self> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let reason = match fs::metadata(path) {
                    Ok(kind) if kind.is_file() => "exists already: resume it, or name a new file",
                    Ok(_) => "is a folder, a device or a pipe: name a new file",
                    Err(_) => "is a link to a missing file: name a new file",
                };
                Error::file(path, None, reason)
            }
            _ => Error::file(path, None, format!("cannot be written: {error}")),
        };
        let file = OpenOptions::new().append(true).create_new(true).open(path).map_err(failed)?;
        lock(path, &file)?;
        let mut journal = Self { file: Some((path.to_path_buf(), file)), run: String::new() };
        journal.begin(header).inspect_err(|_| {
            // Without its first line it is of no use, as on a full disk; the first error is the one to tell.
            let _ = fs::remove_file(path);
        })?;
        Ok(journal)
    }

    /// Writes the first line.
    fn begin<H: Heading>(&mut self, header: &H) -> Result<()> {
        let line = FirstLine { schema: SCHEMA, kind: "journal".into(), header: header.clone() };
        let text = serde_json::to_string(&line).map_err(|error| self.cannot(error))?;
        self.run = sum("", &text);
        self.write(&sealed("", &text))
    }

    /// Continues a journal. If a kill or a full disk truncated the last line, that line is removed; if it is the first line, the run begins anew.
    ///
    /// # Errors
    /// [`Error::File`] if it is no journal, is used by another process, or belongs to a run with another command, version, build, device or set of options; the error names
    /// both values.
    pub fn resume<H: Heading, R: DeserializeOwned + PartialEq>(
        path: &Path,
        header: &H,
    ) -> Result<(Self, Contents<H, R>)> {
        let failed = |error: io::Error| Error::file(path, None, format!("cannot be opened: {error}"));
        input_file::expect_file(path)?;
        let file = OpenOptions::new().read(true).append(true).open(path).map_err(failed)?;
        lock(path, &file)?;
        let mut bytes = fs::read(path).map_err(failed)?;
        let line_end = |bytes: &[u8]| bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut whole = line_end(&bytes);
        // A line break may follow what was cut off too, as an editor puts one.
        let last = line_end(&bytes[..whole.saturating_sub(1)]);
        if std::str::from_utf8(bytes[last..whole].trim_ascii_end()).is_ok_and(input_file::is_cut_off_json) {
            whole = last;
        }
        if whole == 0 && (bytes.starts_with(BEGINNING) || BEGINNING.starts_with(&bytes)) {
            tracing::warn!("{}: contains no finished work; the run starts from the beginning", path.display());
            file.set_len(0).map_err(failed)?;
            let mut journal = Self { file: Some((path.to_path_buf(), file)), run: String::new() };
            journal.begin(header)?;
            return Ok((journal, Contents { header: header.clone(), records: BTreeMap::new() }));
        }
        // A file without a line break is read whole, to be told what is wrong with it.
        bytes.truncate(if whole == 0 { bytes.len() } else { whole });
        let text = input_file::text_of(path, bytes)?;
        // What another run has kept may be of another form: it is refused by its heading.
        let (found, run) = parse_header(path, &text)?;
        if let Some(difference) = header.difference(&found) {
            return Err(Error::file(path, None, format!("was made with {difference}")));
        }
        let contents = parse(path, &text)?;
        if whole as u64 != file.metadata().map_err(failed)?.len() {
            tracing::warn!(
                "{}: the last line was cut off; it is removed, and its piece of work is repeated",
                path.display()
            );
            file.set_len(whole as u64).map_err(failed)?;
        }
        Ok((Self { file: Some((path.to_path_buf(), file)), run }, contents))
    }

    /// Appends finished pieces with their keys. All of them are on the disk when the call returns.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written, or if a piece would not be read back equal, such as one with a number that is not finite; then nothing is written.
    pub fn append<R: Serialize + DeserializeOwned + PartialEq>(&mut self, records: &[(String, R)]) -> Result<()> {
        if self.file.is_none() || records.is_empty() {
            return Ok(());
        }
        let mut lines = String::new();
        for (key, record) in records {
            let line = serde_json::to_string(&RecordLine { key, record }).map_err(|error| self.cannot(error))?;
            if !serde_json::from_str::<R>(&line).is_ok_and(|read| read == *record) {
                return Err(
                    self.wrong(key, "cannot be kept: it contains a value that changes when it is written and read")
                );
            }
            lines += &sealed(&self.run, &line);
        }
        self.write(&lines)
    }

    fn write(&mut self, lines: &str) -> Result<()> {
        let Some((_, file)) = &mut self.file else { return Ok(()) };
        let written = file.write_all(lines.as_bytes()).and_then(|()| file.sync_data());
        written.map_err(|error| self.cannot(error))
    }

    fn cannot(&self, error: impl std::fmt::Display) -> Error {
        Error::file(self.path(), None, format!("cannot be written: {error}"))
    }

    fn path(&self) -> &Path {
        self.file.as_ref().map_or(Path::new(""), |(path, _)| path)
    }

    /// The error for a piece of the file that is not valid.
    pub fn wrong(&self, key: &str, reason: impl std::fmt::Display) -> Error {
        Error::file(self.path(), None, format!("{key}: {reason}"))
    }

    /// The error for a piece of the file that is not part of this run.
    pub fn not_asked(&self, key: &str) -> Error {
        self.wrong(key, "is in the file, but does not belong to this run")
    }
}

/// Checksum of a line's JSON object together with its run's checksum, which is empty for the heading.
fn sum(run: &str, object: &str) -> String {
    format!("{:016x}", Fnv::of(format!("{run}{object}").as_bytes()))
}

/// A line of a JSON object, with its checksum as the last field.
fn sealed(run: &str, object: &str) -> String {
    let fields = object.strip_suffix('}').unwrap_or(object);
    format!("{fields}{SUM}{}{END}\n", sum(run, object))
}

/// Checks the checksum of a line, which is JSON, and returns it.
fn expect_sum<'a>(run: &str, line: &'a str) -> Result<&'a str, String> {
    let parts = line.len().checked_sub(DIGITS + END.len()).and_then(|at| line.split_at_checked(at));
    let said = parts.and_then(|(before, said)| Some((before.strip_suffix(SUM)?, said.strip_suffix(END)?)));
    let Some((fields, said)) = said else { return Err("the line does not end with its checksum".to_string()) };
    let found = sum(run, &format!("{fields}}}"));
    let what = if run.is_empty() { "damaged" } else { "damaged, or of another run" };
    match said == found {
        true => Ok(said),
        false => Err(format!("the line is {what}: its checksum is {found}, the line says {said}")),
    }
}

fn wrong<H: Heading>(path: &Path, line: u64, reason: impl std::fmt::Display) -> Error {
    Error::file(path, Some(line), format!("not a journal of {}: {reason}", H::OF))
}

/// The heading, and its checksum.
fn parse_header<H: Heading>(path: &Path, text: &str) -> Result<(H, String)> {
    let line = text.lines().next().ok_or_else(|| wrong::<H>(path, 1, "it is empty"))?;
    if line.trim_end() == "{" {
        return Err(wrong::<H>(
            path,
            1,
            "it is one JSON value over many lines, as in a file of results; a journal has one value in each line",
        ));
    }
    let first: FirstLine<H> =
        serde_json::from_str(line).map_err(|error| wrong::<H>(path, 1, input_file::json_reason(&error)))?;
    if first.schema != SCHEMA || first.kind != "journal" {
        let found = format!("{} of schema {}, expected journal of schema {SCHEMA}", first.kind, first.schema);
        return Err(wrong::<H>(path, 1, found));
    }
    let run = expect_sum("", line).map_err(|reason| Error::file(path, Some(1), reason))?;
    Ok((first.header, run.to_string()))
}

/// Parses the text of a journal; `path` is for errors.
///
/// # Errors
/// [`Error::File`] names line and reason.
pub fn parse<H: Heading, R: DeserializeOwned + PartialEq>(path: &Path, text: &str) -> Result<Contents<H, R>> {
    let (header, run) = parse_header(path, text)?;
    let n_lines = text.lines().count() as u64;
    let mut records = BTreeMap::new();
    let mut at = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()).skip(1) {
        let failed = |error: serde_json::Error| match input_file::is_cut_off_json(line) {
            true if number == n_lines => {
                Error::file(path, Some(number), "the line is cut off; --resume of its run removes it")
            }
            true => {
                let reason = "the line is cut off, and others follow: remove it, and --resume of its run repeats its piece of work";
                Error::file(path, Some(number), reason)
            }
            false => wrong::<H>(path, number, input_file::json_reason(&error)),
        };
        // Twice: serde buffers what is flattened, and then reads no keys of maps that are numbers.
        let Keyed { key } = serde_json::from_str(line).map_err(failed)?;
        expect_sum(&run, line).map_err(|reason| Error::file(path, Some(number), reason))?;
        let record: R = serde_json::from_str(line).map_err(failed)?;
        if let (Some(before), Some(old)) = (at.insert(key.clone(), number), records.get(&key))
            && *old != record
        {
            let reason = format!("{key} is in line {before} too, with another result");
            return Err(Error::file(path, Some(number), reason));
        }
        records.insert(key, record);
    }
    Ok(Contents { header, records })
}

fn lock(path: &Path, file: &File) -> Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Error::file(path, None, "is used by another process"),
        TryLockError::Error(error) => Error::file(path, None, format!("cannot be locked: {error}")),
    })
}
