//! Which files are read, and what is in them.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::runtime::input_file;
use crate::{Error, Result};

/// Endings of record files.
const ENDINGS: [&str; 8] = ["csa", "kif", "kifu", "ki2", "ki2u", "usi", "sfen", "txt"];
/// Folders inside folders: more is a loop of links.
const DEEPEST: usize = 64;
/// Most bytes of a file that is unpacked: a small one can hold more than any memory. A game takes some 600 bytes in USI and some thousand in the other formats, so these
/// are 50,000 to 400,000 games; and the text and its decoded copy are in memory together, on every thread.
///
/// Not read as a stream: which encoding and which format a file has is told from all of it.
pub(super) const MOST_UNPACKED: u64 = 256 << 20;

/// A file itself, or all record files below a folder, in the order of their names.
pub(super) fn below(path: &Path) -> Result<Vec<PathBuf>> {
    let failed = |path: &Path, error: std::io::Error| Error::file(path, None, format!("cannot be read: {error}"));
    let kind = fs::metadata(path).map_err(|error| failed(path, error))?;
    if kind.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    if !kind.is_dir() {
        return Err(Error::file(path, None, "cannot be read: it is a device or a pipe, expected a file or a folder"));
    }
    let mut found = Vec::new();
    let mut folders = vec![(path.to_path_buf(), 0)];
    // A folder that is reached twice, through links, is read once.
    let mut seen = HashSet::new();
    while let Some((folder, depth)) = folders.pop() {
        if depth > DEEPEST {
            return Err(Error::file(folder, None, format!("folders are nested more than {DEEPEST} deep")));
        }
        if !seen.insert(fs::canonicalize(&folder).map_err(|error| failed(&folder, error))?) {
            continue;
        }
        for entry in fs::read_dir(&folder).map_err(|error| failed(&folder, error))? {
            let path = entry.map_err(|error| failed(&folder, error))?.path();
            // What is named like a record and is none, such as a link that leads nowhere, is for the reader to report.
            if fs::metadata(&path).is_ok_and(|kind| kind.is_dir()) {
                folders.push((path, depth + 1));
            } else if ending(&path).is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        return Err(Error::file(
            path,
            None,
            format!("holds no game records: expected files ending in .{}", ENDINGS.join(", .")),
        ));
    }
    found.sort_unstable();
    Ok(found)
}

/// The bytes of a file; a device or a pipe, which may never end, is none.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    input_file::read(path).map_err(|error| match error {
        Error::File { reason, .. } => reason,
        error => error.to_string(),
    })
}

/// A name's ending in small letters, that before `.gz` where there is one.
pub(super) fn ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if ending == "gz" { self::ending(Path::new(path.file_stem()?)) } else { Some(ending) }
}

/// The bytes, unpacked where they are packed by gzip; no more than `most`.
pub(super) fn unpacked(bytes: &[u8], most: u64) -> Result<std::borrow::Cow<'_, [u8]>, String> {
    if !bytes.starts_with(&[0x1F, 0x8B]) {
        return Ok(bytes.into());
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes)
        .take(most + 1)
        .read_to_end(&mut text)
        .map_err(|error| format!("cannot be unpacked by gzip: {error}"))?;
    if text.len() as u64 > most {
        let most = crate::runtime::error::bytes(most);
        return Err(format!("unpacks to more than {most}, the most allowed: divide it into several files"));
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn no_more_is_unpacked_than_the_limit() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&[b'\n'; 2048]).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(unpacked(&packed, 2048).unwrap().len(), 2048);
        let error = unpacked(&packed, 2047).unwrap_err();
        assert!(
            error.starts_with("unpacks to more than 2") && error.ends_with("divide it into several files"),
            "{error}"
        );
        // What is not packed takes no more than its file.
        assert_eq!(unpacked(b"text", 2).unwrap().len(), 4);
    }
}
