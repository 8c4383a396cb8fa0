//! Which files are read, and what is in them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Endings of record files.
const ENDINGS: [&str; 8] = ["csa", "kif", "kifu", "ki2", "ki2u", "usi", "sfen", "txt"];

/// Maximum nesting depth of folders; a greater depth means a loop of links.
const DEEPEST: usize = 64;

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
            } else if is_record(&path) {
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

/// Whether a file's name is that of a game record: it ends in `.csa`, `.kif`, `.kifu`, `.ki2`, `.ki2u`, `.usi`, `.sfen` or `.txt`, in upper or lower case, with or without `.gz`.
pub fn is_record(path: &Path) -> bool {
    ending(path).is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// A name's extension in lower case, ignoring `.gz`.
pub(super) fn ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if ending == "gz" { self::ending(Path::new(path.file_stem()?)) } else { Some(ending) }
}
