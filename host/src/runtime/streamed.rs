//! Files of state as in `sealed`, for tables that need not fit into memory twice: written tensor by tensor, and mapped when they are read.
//!
//! The checksums differ, so that a reader checks only what it uses. The header has one of itself, FNV-1a with the digits of the sum taken as `0`. It also holds one of each tensor,
//! over its 64-bit words (`fnv::Words`), the last filled up with zeros; it is checked when the tensor is first used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use safetensors::{Dtype, SafeTensors};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::runtime::atomic_file::AtomicFile;
use crate::runtime::fnv::{Fnv, Words};
use crate::runtime::input_file;
use crate::runtime::mapped::Mapping;
use crate::runtime::sealed::{DIGITS, Kind, digits_range, with_article};
use crate::runtime::tensors::{self, Planned};
use crate::{Error, Result};

/// Text before the digits of the header's checksum.
const MARK: &[u8] = br#"\"header_checksum\":\""#;
/// The largest header that is read: that of the format.
const MAX_HEADER: u64 = 100_000_000;

/// The metadata in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<T> {
    header_checksum: String,
    /// Checksums of the tensors, by name.
    sums: BTreeMap<String, String>,
    version: u32,
    library: String,
    content: T,
}

/// The checksum of a tensor.
struct Sum {
    words: Words<32>,
    /// Bytes that do not fill a word yet.
    rest: Vec<u8>,
}

impl Sum {
    fn new() -> Self {
        Self { words: Words::lane(0), rest: Vec::with_capacity(8) }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        if !self.rest.is_empty() {
            let n = bytes.len().min(8 - self.rest.len());
            self.rest.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            if let Some(&word) = self.rest.first_chunk() {
                self.words.add(u64::from_le_bytes(word));
                self.rest.clear();
            }
        }
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|&word| self.words.add(u64::from_le_bytes(word)));
        self.rest.extend_from_slice(rest);
    }

    fn digits(mut self) -> String {
        if !self.rest.is_empty() {
            self.rest.resize(8, 0);
            self.add(&[]);
        }
        format!("{:016x}", self.words.value())
    }
}

impl Kind {
    /// Writes a file tensor by tensor: first to a new file beside it, which is synced and then renamed. `each` is called with the number of every tensor, in order, and passes its
    /// bytes in parts to its second argument.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written; [`Error::Shape`] if `each` passes another number of bytes; errors of `each`.
    pub fn write_streamed(
        self,
        path: &Path,
        content: &impl Serialize,
        planned: &[Planned],
        mut each: impl FnMut(usize, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let no_sums = planned.iter().map(|tensor| (tensor.name.clone(), "0".repeat(DIGITS))).collect();
        let start = self.streamed_header(path, content, planned, no_sums)?;
        let mut file = AtomicFile::create(path)?;
        file.put(&start)?;
        let mut sums = BTreeMap::new();
        for (number, tensor) in planned.iter().enumerate() {
            let (mut sum, mut n_bytes) = (Sum::new(), 0);
            each(number, &mut |bytes| {
                sum.add(bytes);
                n_bytes += bytes.len();
                file.put(bytes)
            })?;
            if n_bytes != tensor.n_bytes() {
                return Err(Error::shape(format!("bytes of tensor {}", tensor.name), tensor.n_bytes(), n_bytes));
            }
            sums.insert(tensor.name.clone(), sum.digits());
        }
        // As long as the first one: only digits differ.
        file.rewrite_start(&self.streamed_header(path, content, planned, sums)?)?;
        file.finish()
    }

    fn streamed_header(
        self,
        path: &Path,
        content: &impl Serialize,
        planned: &[Planned],
        sums: BTreeMap<String, String>,
    ) -> Result<Vec<u8>> {
        let wrong = |reason: &str| Error::file(path, None, format!("cannot be written: {reason}"));
        let meta = Meta {
            header_checksum: "0".repeat(DIGITS),
            sums,
            version: self.version,
            library: env!("CARGO_PKG_VERSION").to_string(),
            content,
        };
        let meta = serde_json::to_string(&meta).map_err(|error| wrong(&error.to_string()))?;
        let mut header = tensors::header(path, planned, BTreeMap::from([(self.key.to_string(), meta)]))?;
        let digits = digits_range(&header, MARK).ok_or_else(|| wrong("the metadata has no field for a checksum"))?;
        let sum = Fnv::of(&header);
        header[digits].copy_from_slice(format!("{sum:016x}").as_bytes());
        Ok(header)
    }

    /// Maps a file and checks its header; returns its content and its tensors.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, is none of this kind or another version of it, has a damaged header, or is cut short.
    pub fn map<T: DeserializeOwned>(self, path: &Path) -> Result<(T, Streamed)> {
        let Self { key, name, .. } = self;
        let wrong = |reason: String| Error::file(path, None, reason);
        input_file::expect_file(path)?;
        let length = File::open(path).and_then(|file| file.metadata());
        if length.map_err(|error| wrong(format!("cannot be read: {error}")))?.len() == 0 {
            return Err(wrong(format!("the file is empty, expected {}", with_article(name))));
        }
        let map = Mapping::open(path)?;
        let header = header_of(&map).filter(|header| digits_range(header, MARK).is_some());
        let Some(mut header) = header.map(<[u8]>::to_vec) else {
            // Tells other files of the format from files that are none.
            tensors::parse(path, &map)?;
            return Err(wrong(format!("not {}: the metadata {key} with a checksum is missing", with_article(name))));
        };
        if let Some(digits) = digits_range(&header, MARK) {
            let said = String::from_utf8_lossy(&header[digits.clone()]).into_owned();
            header[digits].fill(b'0');
            let found = format!("{:016x}", Fnv::of(&header));
            if said != found {
                return Err(wrong(format!(
                    "damaged {name}: the checksum of its header is {found}, the file says {said}"
                )));
            }
        }
        tensors::parse(path, &map)?;
        let (length, header) = SafeTensors::read_metadata(&map).map_err(|error| wrong(error.to_string()))?;
        let Meta { mut sums, content, .. }: Meta<T> = self.meta(path, &header)?;
        let mut tensors = BTreeMap::new();
        for (tensor, info) in header.tensors() {
            let sum = sums.remove(&tensor);
            let sum = sum.ok_or_else(|| wrong(format!("the checksum of tensor {tensor} is missing")))?;
            let (first, end) = info.data_offsets;
            let planned = Planned { name: tensor.clone(), dtype: info.dtype, shape: info.shape.clone() };
            tensors.insert(tensor, Part { planned, range: 8 + length + first..8 + length + end, sum });
        }
        if let Some(tensor) = sums.keys().next() {
            return Err(wrong(format!("tensor {tensor} is missing")));
        }
        Ok((content, Streamed { kind: name, path: path.to_path_buf(), map, tensors, checked: Mutex::default() }))
    }

    /// Whether a file's header names this kind; the file may be damaged.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read.
    pub fn is_named_in(self, path: &Path) -> Result<bool> {
        input_file::expect_file(path)?;
        let mut header = Vec::new();
        let read = File::open(path).and_then(|mut file| {
            let mut length = [0; 8];
            match file.read_exact(&mut length) {
                Ok(()) => file.take(u64::from_le_bytes(length).min(MAX_HEADER)).read_to_end(&mut header),
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(0),
                Err(error) => Err(error),
            }
        });
        read.map_err(|error| Error::file(path, None, format!("cannot be read: {error}")))?;
        let key = format!("\"{}\":", self.key);
        Ok(header.windows(key.len()).any(|window| window == key.as_bytes()))
    }
}

/// The header of a file's bytes, with its length.
fn header_of(bytes: &[u8]) -> Option<&[u8]> {
    let length = u64::from_le_bytes(*bytes.first_chunk()?);
    if length > MAX_HEADER {
        return None;
    }
    bytes.get(..usize::try_from(length).ok()?.checked_add(8)?)
}

/// A tensor of a mapped file.
#[derive(Debug)]
struct Part {
    planned: Planned,
    range: Range<usize>,
    sum: String,
}

/// The tensors of a mapped file.
#[derive(Debug)]
pub struct Streamed {
    kind: &'static str,
    path: PathBuf,
    map: Mapping,
    tensors: BTreeMap<String, Part>,
    /// Names of those whose checksum was found right.
    checked: Mutex<BTreeSet<String>>,
}

impl Streamed {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of a tensor of this type and shape. The first call for a tensor reads all of it, for its checksum and for `check`, which says what is wrong with its values.
    ///
    /// # Errors
    /// [`Error::File`] names a tensor that is missing, has another type or shape or wrong values, or is damaged; and a file that was cut short since it was opened.
    pub fn tensor(
        &self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
        check: impl FnOnce(&[u8]) -> std::result::Result<(), String>,
    ) -> Result<&[u8]> {
        let wrong = |reason: String| Error::file(&self.path, None, reason);
        let Part { planned, range, sum } =
            self.tensors.get(name).ok_or_else(|| wrong(format!("tensor {name} is missing")))?;
        if planned.dtype != dtype || planned.shape != shape {
            let Planned { dtype: found, shape: found_shape, .. } = planned;
            return Err(wrong(format!("tensor {name} is {found} {found_shape:?}, expected {dtype} {shape:?}")));
        }
        self.map.expect_whole()?;
        let bytes = self.map.get(range.clone()).ok_or_else(|| wrong(format!("tensor {name} is cut short")))?;
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if !checked.contains(name) {
            let mut found = Sum::new();
            found.add(bytes);
            let (found, kind) = (found.digits(), self.kind);
            if found != *sum {
                return Err(wrong(format!(
                    "damaged {kind}: the checksum of tensor {name} is {found}, the file says {sum}"
                )));
            }
            check(bytes).map_err(|reason| wrong(format!("tensor {name}: {reason}")))?;
            checked.insert(name.to_string());
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const KIND: Kind = Kind { key: "warpplay_test", name: "test's file", version: 3 };

    fn planned() -> Vec<Planned> {
        let tensor = |name: &str, n: usize| Planned { name: name.to_string(), dtype: Dtype::U16, shape: vec![n, 3] };
        vec![tensor("one", 5), tensor("two", 0), tensor("three", 1)]
    }

    fn bytes(number: usize) -> Vec<u8> {
        (0..planned()[number].n_bytes()).map(|at| (7 * at + number) as u8).collect()
    }

    /// Written in parts of this many bytes.
    fn write(path: &Path, part: usize) {
        let each =
            |number: usize, put: &mut dyn FnMut(&[u8]) -> Result<()>| bytes(number).chunks(part).try_for_each(put);
        KIND.write_streamed(path, &"content", &planned(), each).expect("written");
    }

    fn read(path: &Path) -> Result<Vec<Vec<u8>>> {
        let (content, file): (String, _) = KIND.map(path)?;
        assert_eq!(content, "content");
        planned()
            .iter()
            .map(|tensor| file.tensor(&tensor.name, tensor.dtype, &tensor.shape, |_| Ok(())).map(<[u8]>::to_vec))
            .collect()
    }

    #[test]
    fn what_is_written_in_parts_is_read_and_damage_is_told_with_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        write(&path, 1);
        let whole = fs::read(&path).expect("written");
        for part in [2, 7, 8, 100] {
            write(&path, part);
            assert_eq!(fs::read(&path).expect("written"), whole, "parts of {part} bytes");
        }
        assert_eq!(read(&path).expect("whole"), (0..3).map(bytes).collect::<Vec<_>>());
        assert!(KIND.is_named_in(&path).expect("a file"));
        assert!(!Kind { key: "other", ..KIND }.is_named_in(&path).expect("a file"));
        // Every byte, and every length.
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).expect("written");
            let error = read(&path).expect_err("damaged").to_string();
            assert!(error.starts_with(&format!("{}: ", path.display())), "byte {at}: {error}");
            fs::write(&path, &whole[..at]).expect("written");
            assert!(read(&path).is_err(), "{at} bytes");
        }
        fs::write(&path, whole.iter().copied().chain([0]).collect::<Vec<_>>()).expect("written");
        assert!(read(&path).is_err(), "a byte more");
    }

    #[test]
    fn a_tensor_s_length_is_the_one_that_was_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let error = KIND.write_streamed(&path, &0, &planned(), |_, put| put(&[0; 30])).expect_err("30, not 0");
        assert_eq!(error.to_string(), "bytes of tensor two: expected 0, got 30");
        assert!(!path.exists());
    }
}
