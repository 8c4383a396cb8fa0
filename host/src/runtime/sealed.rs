//! Files of state: safetensors with a line of metadata, JSON with a version, and a checksum over the whole file.
//!
//! The checksum is FNV-1a of all bytes of the file, those of its own digits taken as `0`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::Metadata;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::runtime::fnv::Fnv;
use crate::runtime::tensors::{self, Tensor};
use crate::runtime::{atomic_file, input_file};
use crate::{Error, Result};

/// Text before the checksum's digits: JSON within a JSON string.
const MARK: &[u8] = br#"\"checksum\":\""#;
/// Hexadecimal digits of the checksum.
pub(super) const DIGITS: usize = 16;

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Key of the metadata.
    pub key: &'static str,
    /// Name in error texts.
    pub name: &'static str,
    /// Version of the format.
    pub version: u32,
}

/// The metadata in JSON: the fields of every file, then those of its kind.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<T> {
    checksum: String,
    version: u32,
    library: String,
    content: T,
}

/// The field that every version of the format has.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// A name as a sentence has it.
pub(super) fn with_article(name: &str) -> String {
    format!("{} {name}", if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" })
}

impl Kind {
    /// Returns the bytes of a file; equal arguments give equal bytes. `metadata` holds entries for other readers.
    pub fn to_bytes(
        self,
        path: &Path,
        content: &impl Serialize,
        tensors: &[Tensor],
        mut metadata: BTreeMap<String, String>,
    ) -> Result<Vec<u8>> {
        let wrong = |reason: String| Error::file(path, None, format!("cannot be written: {reason}"));
        let meta = Meta {
            checksum: "0".repeat(DIGITS),
            version: self.version,
            library: env!("CARGO_PKG_VERSION").to_string(),
            content,
        };
        let meta = serde_json::to_string(&meta).map_err(|error| wrong(error.to_string()))?;
        metadata.insert(self.key.to_string(), meta);
        let mut bytes = tensors::to_bytes_described(path, tensors, metadata)?;
        let (_, sum) = seal(&mut bytes).ok_or_else(|| wrong("the metadata has no field for a checksum".into()))?;
        set_digits(&mut bytes, sum);
        Ok(bytes)
    }

    /// Checks the checksum and version of a file's bytes and returns its content and tensors. The checksum's digits are overwritten.
    pub fn parse<'b, T: DeserializeOwned>(self, path: &Path, bytes: &'b mut [u8]) -> Result<(T, SafeTensors<'b>)> {
        let Self { key, name, .. } = self;
        let wrong = |reason: String| Error::file(path, None, reason);
        if bytes.is_empty() {
            return Err(wrong(format!("the file is empty, expected {}", with_article(name))));
        }
        let Some((digits, sum)) = seal(bytes) else {
            // Tells other files of the format from files that are none.
            tensors::parse(path, bytes)?;
            return Err(wrong(format!("not {}: the metadata {key} with a checksum is missing", with_article(name))));
        };
        let (digits, found) = (String::from_utf8_lossy(&digits).into_owned(), format!("{sum:016x}"));
        if digits != found {
            return Err(wrong(format!("damaged {name}: its checksum is {found}, the file says {digits}")));
        }
        let file = tensors::parse(path, bytes)?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| wrong(error.to_string()))?;
        let meta: Meta<T> = self.meta(path, &header)?;
        Ok((meta.content, file))
    }

    /// The metadata of a header, after its version is checked.
    pub(super) fn meta<M: DeserializeOwned>(self, path: &Path, header: &Metadata) -> Result<M> {
        let Self { key, name, version } = self;
        let wrong = |reason: String| Error::file(path, None, reason);
        let text = header.metadata().as_ref().and_then(|entries| entries.get(key));
        let text = text.ok_or_else(|| {
            let keys = header.metadata().iter().flatten().map(|(key, _)| key.as_str());
            let mut ours: Vec<&str> = keys.filter(|key| key.starts_with("warpplay_")).collect();
            ours.sort_unstable();
            let found = if ours.is_empty() { String::new() } else { format!(", the file has {}", ours.join(" and ")) };
            wrong(format!("not {}: the metadata {key} is missing{found}", with_article(name)))
        })?;
        let read = |error: serde_json::Error| wrong(format!("metadata {key}: {error}"));
        let found: Version = serde_json::from_str(text).map_err(read)?;
        if found.version != version {
            return Err(wrong(format!("{name} of format version {}, expected {version}", found.version)));
        }
        serde_json::from_str(text).map_err(read)
    }

    /// Writes a file: first to a new file beside it, which is synced and then renamed.
    pub fn write(self, path: &Path, content: &impl Serialize, tensors: &[Tensor]) -> Result<()> {
        atomic_file::write(path, &self.to_bytes(path, content, tensors, BTreeMap::new())?)
    }

    /// Reads a file and hands its content and tensors to `open`.
    pub fn read<T: DeserializeOwned, R>(
        self,
        path: &Path,
        open: impl FnOnce(T, &SafeTensors<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut bytes = input_file::read(path)?;
        let (content, file) = self.parse(path, &mut bytes)?;
        open(content, &file)
    }
}

/// Takes the checksum's digits out of a file's bytes, leaving zeros, and computes the sum; `None` where the bytes hold none.
fn seal(bytes: &mut [u8]) -> Option<([u8; DIGITS], u64)> {
    let range = digits_range(bytes, MARK)?;
    let digits = <[u8; DIGITS]>::try_from(&bytes[range.clone()]).ok()?;
    bytes[range].fill(b'0');
    Some((digits, Fnv::of(bytes)))
}

/// Writes the digits of a sum into the header.
fn set_digits(bytes: &mut [u8], sum: u64) {
    if let Some(range) = digits_range(bytes, MARK) {
        bytes[range].copy_from_slice(format!("{sum:016x}").as_bytes());
    }
}

/// Updates the checksum of changed bytes.
#[cfg(test)]
pub(crate) fn reseal(bytes: &mut [u8]) {
    if let Some((_, sum)) = seal(bytes) {
        set_digits(bytes, sum);
    }
}

/// The position of the digits after `mark` within the header, which comes first.
pub(super) fn digits_range(bytes: &[u8], mark: &[u8]) -> Option<Range<usize>> {
    let length = u64::from_le_bytes(*bytes.first_chunk()?);
    let end = usize::try_from(length).ok()?.checked_add(8)?;
    let header = bytes.get(..end)?;
    let at = header.windows(mark.len()).position(|window| window == mark)? + mark.len();
    let range = at..at.checked_add(DIGITS)?;
    (range.end <= header.len()).then_some(range)
}
