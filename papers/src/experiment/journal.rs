//! What was measured, kept in a file as it is measured.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpplay::journal::{self, Contents, Heading, named, options_difference};
use warpplay::{Device, Error, Result, input_file};

use super::results::expect_checksum;

/// Version of the frame that a command's results are written in.
const FRAME: u32 = 2;

/// Publication, options and machine of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The publication.
    // Read of a command's journal too, so that it is refused by its name.
    #[serde(alias = "command")]
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
    #[serde(default)]
    pub cpu_name: String,
    /// Its threads.
    #[serde(default)]
    pub cpu_threads: usize,
    /// Whether the sizes are small.
    #[serde(default)]
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
            build: journal::build(crate::ptx::ALL),
            device: device.to_string(),
            device_name: device.name(),
            cpu_name: Device::cpu().name(),
            cpu_threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            quick,
            options,
            started: journal::now(),
        }
    }

    /// The first thing in which another run differs, with both values: publication, version, sizes and options. What goes on with the other run (`resumes`) must also be of
    /// the same build and machine.
    pub(super) fn difference(&self, other: &Self, resumes: bool) -> Option<String> {
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

impl Heading for Header {
    const OF: &'static str = "a publication";

    fn difference(&self, found: &Self) -> Option<String> {
        Header::difference(self, found, true)
    }
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

/// Measurements by their keys, in memory and, with a path, in a file of JSON lines. A line is on the disk before the next measurement begins, so that a run that is
/// killed loses the measurement that it was at and no other.
#[derive(Debug, Default)]
pub struct Journal {
    header: Option<Header>,
    records: BTreeMap<String, Record>,
    /// The items' sheets, in the order of the items; none in a journal's own file.
    sheets: Vec<Value>,
    file: journal::Journal,
}

impl Journal {
    /// One that is kept nowhere.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// A new one in a new file.
    ///
    /// # Errors
    /// As [`journal::Journal::create`].
    pub fn create(path: &Path, header: Header) -> Result<Self> {
        let file = journal::Journal::create(path, &header)?;
        Ok(Self { header: Some(header), file, ..Self::default() })
    }

    /// Goes on with a file.
    ///
    /// # Errors
    /// As [`journal::Journal::resume`].
    pub fn resume(path: &Path, header: &Header) -> Result<Self> {
        let (file, contents) = journal::Journal::resume(path, header)?;
        Ok(Self { file, ..Self::from(contents) })
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
            expect_checksum(value).map_err(|reason| Error::file(path, None, reason))?;
            return Ok(Self {
                header: Some(Header::deserialize(header).map_err(wrong)?),
                records: BTreeMap::deserialize(records).map_err(wrong)?,
                sheets: value.pointer("/report/sheets").and_then(Value::as_array).cloned().unwrap_or_default(),
                file: journal::Journal::default(),
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
            Err(error) if !is_lines => {
                Err(Error::file(path, Some(error.line() as u64), input_file::json_reason(&error)))
            }
            _ => Ok(Self::from(journal::parse(path, &text)?)),
        }
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
        let kept = (key.to_string(), record);
        self.file.append(std::slice::from_ref(&kept))?;
        self.records.extend([kept]);
        Ok(())
    }
}

impl From<Contents<Header, Record>> for Journal {
    fn from(contents: Contents<Header, Record>) -> Self {
        let Contents { header, records } = contents;
        Self { header: Some(header), records, ..Self::default() }
    }
}
