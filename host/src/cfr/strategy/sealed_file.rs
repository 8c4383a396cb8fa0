//! What files of strategies and checkpoints have in common: safetensors with one line of metadata, JSON with a version, and a checksum over the whole file.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::SafeTensors;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::sealed::{DIGITS, seal, set_digits};
use crate::tensors::{self, Tensor};
use crate::{Error, Result, atomic_file};

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// Name of the metadata.
    pub key: &'static str,
    /// In errors.
    pub name: &'static str,
    /// Version of the format.
    pub version: u32,
}

/// The JSON: what every file has, then its own.
#[derive(Serialize, Deserialize)]
struct Meta<T> {
    checksum: String,
    version: u32,
    library: String,
    content: T,
}

impl Kind {
    /// Writes a file: to a new one beside it first, which is synced and then takes the name.
    pub fn write(self, path: &Path, content: &impl Serialize, tensors: &[Tensor]) -> Result<()> {
        let wrong = |reason: String| Error::file(path, None, format!("cannot be written: {reason}"));
        let meta = Meta {
            checksum: "0".repeat(DIGITS),
            version: self.version,
            library: env!("CARGO_PKG_VERSION").to_string(),
            content,
        };
        let meta = serde_json::to_string(&meta).map_err(|error| wrong(error.to_string()))?;
        let metadata = BTreeMap::from([(self.key.to_string(), meta)]);
        let mut bytes = tensors::to_bytes_described(path, tensors, metadata)?;
        let (_, sum) = seal(&mut bytes).ok_or_else(|| wrong("the metadata has no place for a checksum".into()))?;
        set_digits(&mut bytes, sum);
        atomic_file::write(path, &bytes)
    }

    /// Reads a file, checks checksum and version, and hands its content and tensors to `open`.
    pub fn read<T: DeserializeOwned, R>(
        self,
        path: &Path,
        open: impl FnOnce(T, &SafeTensors<'_>) -> Result<R>,
    ) -> Result<R> {
        let Self { key, name, version } = self;
        let wrong = |reason: String| Error::file(path, None, reason);
        let mut bytes = atomic_file::read(path)?;
        if bytes.is_empty() {
            return Err(wrong(format!("the file is empty, expected a {name}")));
        }
        let Some((digits, sum)) = seal(&mut bytes) else {
            // Tells other files of the format from files that are none.
            tensors::parse(path, &bytes)?;
            return Err(wrong(format!("no {name}: the metadata {key} with a checksum is missing")));
        };
        let (digits, found) = (String::from_utf8_lossy(&digits).into_owned(), format!("{sum:016x}"));
        if digits != found {
            return Err(wrong(format!("damaged {name}: its checksum is {found}, the file says {digits}")));
        }
        let file = tensors::parse(path, &bytes)?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| wrong(error.to_string()))?;
        let text = header.metadata().as_ref().and_then(|entries| entries.get(key));
        let text = text.ok_or_else(|| wrong(format!("no {name}: the metadata {key} is missing")))?;
        let read = |error: serde_json::Error| wrong(format!("metadata {key}: {error}"));
        let found: Meta<serde_json::Value> = serde_json::from_str(text).map_err(read)?;
        if found.version != version {
            return Err(wrong(format!("{name} of format version {}, expected {version}", found.version)));
        }
        open(serde_json::from_value(found.content).map_err(read)?, &file)
    }
}
