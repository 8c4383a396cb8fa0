//! Data sets on disk.
//!
//! A data set is a folder with a file for each shard and `dataset.json`, which names them. Shards are named by their checksums and written whole, under another
//! name first; `dataset.json` comes last, so that a folder holds the old set or the new one and never a part of either. One process writes to a folder at a time, by
//! the lock of `.warpplay-lock`; readers need none. Numbers are those of this machine (little-endian).
//!
//! | bytes of a shard's file | what |
//! | --- | --- |
//! | 0 to 7 | `wpshogi\0` |
//! | 8 to 15 | version |
//! | 16 to 39 | numbers of parents, children and changes, 8 bytes each |
//! | 40 to 47 | checksum of all other bytes |
//! | from 64 | the nine columns of [`Shard`], each from a multiple of 64, zeros between |

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::checksum::Checksum;
use super::{Builder, Dataset, Origin, builder};
use crate::runtime::mapped::Mapping;
use crate::runtime::same_file::is_same_file;
use crate::runtime::{atomic_file, folder_lock, input_file};
use crate::shogi::Shard;
use crate::shogi::column::{Cell, Column};
use crate::shogi::records::Records;
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"wpshogi\0";
const VERSION: u64 = 1;
/// Bytes of the header; columns begin at multiples of it.
const HEADER: usize = 64;
const NAME: &str = "dataset.json";
/// Number of attempts of a reader, if a writer replaces the set meanwhile.
const TRIES: u32 = 8;

/// `dataset.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    version: u64,
    fingerprint: String,
    shards: Vec<Entry>,
    #[serde(flatten)]
    origin: Origin,
}

/// A shard's file.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    file: String,
    parents: u64,
    children: u64,
    changes: u64,
    checksum: String,
}

impl Dataset {
    /// Writes the set into a folder, which is made if it does not exist. An existing set stays readable until the new one is complete, and is then removed.
    ///
    /// # Errors
    /// [`Error::File`] with the path and the system's reason, such as a full disk, and if another process writes to the folder; the folder's set is then unchanged.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let _lock = lock(folder)?;
        let shards = self.shards.iter().map(|shard| write(folder, shard)).collect::<Result<Vec<Entry>>>()?;
        finish(folder, shards, self.fingerprint(), &self.origin)
    }

    /// Opens a saved set: its files are mapped into memory and read on use. All data is read once, to check it.
    ///
    /// The files must not be changed while the set, a clone of a shard or of a column lives; [`Dataset::save`] into the same folder is safe.
    ///
    /// # Errors
    /// [`Error::File`] for a folder without a set, and for a file that is missing, truncated, of another version, has a wrong checksum, or whose columns are not those of a shard.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        if !folder.is_dir() || !path.exists() {
            return Err(Error::file(folder, None, format!("holds no data set: expected a folder with {NAME}")));
        }
        let mut list = ShardList::read(&path)?;
        for _ in 1..TRIES {
            let found = read_set(folder, &path, &list.bytes);
            // Shards that are gone belong to a set that a writer has replaced since it was named.
            let now = if found.is_err() { ShardList::read(&path)? } else { return found };
            if now.is_same_file(&list) {
                return found;
            }
            list = now;
        }
        read_set(folder, &path, &list.bytes)
    }
}

/// `dataset.json` as it was read. The file stays open, so that no other file can be mistaken for it.
struct ShardList {
    file: File,
    bytes: Vec<u8>,
}

impl ShardList {
    fn read(path: &Path) -> Result<Self> {
        input_file::expect_file(path)?;
        let failed = |error: io::Error| Error::file(path, None, format!("cannot be read: {error}"));
        let mut file = File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        Ok(Self { file, bytes })
    }

    /// Whether the file was not replaced between the two readings. Equal bytes do not prove it: a set may be replaced by another, and that by the first again.
    fn is_same_file(&self, other: &Self) -> bool {
        let same = match (self.file.metadata(), other.file.metadata()) {
            (Ok(one), Ok(two)) => is_same_file(&one, &two),
            _ => None,
        };
        same.unwrap_or(self.bytes == other.bytes)
    }
}

fn read_set(folder: &Path, path: &Path, bytes: &[u8]) -> Result<Dataset> {
    let manifest = manifest(path, bytes)?;
    let shards = manifest.shards.par_iter().map(|entry| read(folder, entry)).collect::<Result<Vec<Shard>>>()?;
    let set = Dataset { shards, origin: manifest.origin };
    let fingerprint = format!("{:016x}", set.fingerprint());
    if fingerprint != manifest.fingerprint {
        let reason = format!("its shards' fingerprint is {fingerprint}, expected {}", manifest.fingerprint);
        return Err(Error::file(path, None, reason));
    }
    Ok(set)
}

fn manifest(path: &Path, bytes: &[u8]) -> Result<Manifest> {
    let bad = |reason: String| Error::file(path, None, reason);
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| bad(format!("is not a data set: {error}")))?;
    if value["version"] != VERSION {
        return Err(bad(format!("is of version {}, expected {VERSION}: build the set again", value["version"])));
    }
    serde_json::from_value(value).map_err(|error| bad(format!("is not a data set: {error}")))
}

impl Builder {
    /// Builds a set and writes it to a folder shard by shard, so that only one is in memory at a time; then opens it.
    ///
    /// # Errors
    /// Those of [`Builder::build`], [`Dataset::save`] and [`Dataset::open`].
    pub fn write(&self, records: &Records, folder: &Path) -> Result<Dataset> {
        let lock = lock(folder)?;
        let (plan, origin) = self.plan(records)?;
        let (shards, fingerprint) = self.pool(|| {
            let mut entries = Vec::with_capacity(plan.len());
            let mut fingerprint = 0u64;
            for stretches in &plan {
                let shard = builder::make(stretches)?;
                fingerprint = fingerprint.wrapping_add(shard.fingerprint());
                entries.push(write(folder, &shard)?);
            }
            Ok::<_, Error>((entries, fingerprint))
        })??;
        finish(folder, shards, fingerprint, &origin)?;
        let set = Dataset::open(folder);
        drop(lock);
        set
    }
}

/// Makes the folder, and locks it against writes of other processes while the returned file lives.
fn lock(folder: &Path) -> Result<File> {
    fs::create_dir_all(folder).map_err(|error| Error::file(folder, None, format!("cannot be made: {error}")))?;
    folder_lock::take(folder)?.ok_or_else(|| folder_lock::taken(folder))
}

/// Names the shards in `dataset.json`, then removes those that the old one named and the new one does not.
fn finish(folder: &Path, shards: Vec<Entry>, fingerprint: u64, origin: &Origin) -> Result<()> {
    let path = folder.join(NAME);
    // What was no data set names nothing.
    let old = fs::read(&path).ok().and_then(|bytes| manifest(&path, &bytes).ok()).map_or(Vec::new(), |old| old.shards);
    let new = Manifest { version: VERSION, fingerprint: format!("{fingerprint:016x}"), shards, origin: origin.clone() };
    let text = serde_json::to_vec_pretty(&new)
        .map_err(|error| Error::file(&path, None, format!("cannot be written: {error}")))?;
    atomic_file::write(&path, &text)?;
    let is_named = |file: &str| new.shards.iter().any(|entry| entry.file == file);
    for Entry { file, .. } in old.iter().filter(|entry| !is_named(&entry.file)) {
        if is_shard(Path::new(file)) {
            // A file that cannot be removed is named by no set: it costs room alone.
            let _ = fs::remove_file(folder.join(file));
        }
    }
    Ok(())
}

/// Whether a name is that of a shard's file within the folder.
fn is_shard(name: &Path) -> bool {
    name.components().count() == 1
        && name.to_str().is_some_and(|name| name.starts_with("shard-") && name.ends_with(".wps"))
}

/// Whether a file's name is one of those that a data set has in its folder.
pub fn is_part(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == NAME || is_shard(Path::new(name)))
}

/// Positions of the columns, and the length of the file; `None` beyond the address space.
fn layout(parents: u64, children: u64, changes: u64) -> Option<([Range<usize>; 9], usize)> {
    let sizes = [
        parents.checked_mul(80)?,
        parents,
        parents.checked_mul(2)?,
        parents.checked_mul(8)?,
        parents.checked_add(1)?.checked_mul(4)?,
        parents.checked_mul(2)?,
        children.checked_mul(8)?,
        children.checked_add(1)?.checked_mul(4)?,
        changes.checked_mul(4)?,
    ];
    let mut at = HEADER;
    let mut columns = [const { 0..0 }; 9];
    for (column, size) in columns.iter_mut().zip(sizes) {
        let end = at.checked_add(usize::try_from(size).ok()?)?;
        *column = at..end;
        at = end.checked_next_multiple_of(HEADER)?;
    }
    Some((columns, at))
}

fn columns(shard: &Shard) -> [&[u8]; 9] {
    [
        shard.pieces.as_bytes(),
        shard.sides.as_bytes(),
        shard.plies.as_bytes(),
        shard.games.as_bytes(),
        shard.first_child.as_bytes(),
        shard.played.as_bytes(),
        shard.differences.as_bytes(),
        shard.first_change.as_bytes(),
        shard.changes.as_bytes(),
    ]
}

/// Writes a shard's file, named by its checksum.
fn write(folder: &Path, shard: &Shard) -> Result<Entry> {
    let counts = [shard.n_parents() as u64, shard.n_children() as u64, shard.changes.len() as u64];
    let (ranges, length) = layout(counts[0], counts[1], counts[2])
        .ok_or_else(|| Error::shape("a shard's file", "one that fits into memory", format!("{counts:?} cells")))?;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(MAGIC);
    for number in [VERSION, counts[0], counts[1], counts[2], 0] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for (column, range) in columns(shard).into_iter().zip(ranges) {
        if column.len() != range.len() {
            return Err(Error::shape("a column of a shard", range.len(), column.len()));
        }
        bytes.resize(range.start, 0);
        bytes.extend_from_slice(column);
    }
    bytes.resize(length, 0);
    let checksum = Checksum::of(&bytes);
    bytes[40..48].copy_from_slice(&checksum.to_le_bytes());
    let file = format!("shard-{checksum:016x}.wps");
    let path = folder.join(&file);
    // A file of this name that is damaged, or cannot be read, is replaced.
    if !fs::read(&path).is_ok_and(|found| found == bytes) {
        atomic_file::write(&path, &bytes)?;
    }
    let [parents, children, changes] = counts;
    Ok(Entry { file, parents, children, changes, checksum: format!("{checksum:016x}") })
}

/// Maps a shard's file and checks it.
fn read(folder: &Path, entry: &Entry) -> Result<Shard> {
    let path: PathBuf = folder.join(&entry.file);
    let bad = |reason: String| Error::file(&path, None, reason);
    if !is_shard(Path::new(&entry.file)) {
        return Err(bad("is not the name of a shard".to_owned()));
    }
    let mapping = Arc::new(Mapping::open(&path)?);
    if mapping.len() < HEADER {
        return Err(bad(format!("has {} bytes, a header has {HEADER}: it was cut short", mapping.len())));
    }
    let number = |at: usize| {
        mapping.get(at..at + 8).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    if mapping.get(..8) != Some(MAGIC.as_slice()) {
        return Err(bad("is not a shard of a data set".to_owned()));
    }
    if number(8) != VERSION {
        return Err(bad(format!("is of version {}, expected {VERSION}: build the set again", number(8))));
    }
    let counts = [number(16), number(24), number(32)];
    if counts != [entry.parents, entry.children, entry.changes] {
        return Err(bad(format!("holds other numbers of cells ({counts:?}) than {NAME} says")));
    }
    let (ranges, length) =
        layout(counts[0], counts[1], counts[2]).ok_or_else(|| bad("says that it is larger than memory".to_owned()))?;
    if mapping.len() != length {
        return Err(bad(format!("has {} bytes, expected {length}: it was cut short or added to", mapping.len())));
    }
    let checksum = format!("{:016x}", Checksum::of(&mapping));
    for (found, expected) in [(&checksum, &entry.checksum), (&format!("{:016x}", number(40)), &checksum)] {
        if found != expected {
            return Err(bad(format!("has the checksum {found}, expected {expected}: it was damaged")));
        }
    }
    let [pieces, sides, plies, games, first_child, played, differences, first_change, changes] = ranges;
    let shard = Shard {
        pieces: column(&mapping, pieces, &path)?,
        sides: column(&mapping, sides, &path)?,
        plies: column(&mapping, plies, &path)?,
        games: column(&mapping, games, &path)?,
        first_child: column(&mapping, first_child, &path)?,
        played: column(&mapping, played, &path)?,
        differences: column(&mapping, differences, &path)?,
        first_change: column(&mapping, first_change, &path)?,
        changes: column(&mapping, changes, &path)?,
    };
    shard.expect_sound("the shard").map_err(|error| bad(error.to_string()))?;
    Ok(shard)
}

fn column<T: Cell>(mapping: &Arc<Mapping>, range: Range<usize>, path: &Path) -> Result<Column<T>> {
    Column::mapped(mapping, range).ok_or_else(|| Error::file(path, None, "its columns are not aligned"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two sets that replace one another a reader may meet the same list twice, and have missed the other between.
    #[cfg(unix)]
    #[test]
    fn a_list_that_was_replaced_by_an_equal_one_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        atomic_file::write(&path, b"a").unwrap();
        let first = ShardList::read(&path).unwrap();
        assert!(ShardList::read(&path).unwrap().is_same_file(&first));
        for bytes in [b"b", b"a"] {
            atomic_file::write(&path, bytes).unwrap();
        }
        let now = ShardList::read(&path).unwrap();
        assert!(now.bytes == first.bytes && !now.is_same_file(&first));
    }
}
