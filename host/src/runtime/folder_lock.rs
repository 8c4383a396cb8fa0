//! Folders that one process at a time writes to.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use crate::runtime::same_file::is_same_file;
use crate::{Error, Result};

/// The file that is locked; it stays when the lock is given back.
pub(crate) const NAME: &str = ".warpplay-lock";

/// Keeps other processes from writing to a folder while the file lives; `None` if one does.
///
/// # Errors
/// [`Error::File`] for a folder that takes no file, or a file system without locks.
pub(crate) fn take(folder: &Path) -> Result<Option<File>> {
    let path = folder.join(NAME);
    lock(open(&path)?, &path)
}

fn open(path: &Path) -> Result<File> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|error| Error::file(path, None, format!("cannot be written: {error}")))
}

/// Locks the file that was opened at a path.
fn lock(file: File, path: &Path) -> Result<Option<File>> {
    match file.try_lock() {
        // A process that gives up its start may have removed the file since it was opened, and a third have made and locked another: this lock would keep nobody out.
        Ok(()) => Ok(is_at(&file, path).then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(Error::file(path, None, format!("cannot be locked: {error}"))),
    }
}

/// Whether an open file is the one at a path; where the system does not tell, whether there is one.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(opened), Ok(found)) => is_same_file(&opened, &found).unwrap_or(true),
        _ => false,
    }
}

/// What is said where another process has the lock.
pub(crate) fn taken(folder: &Path) -> Error {
    Error::file(folder, None, "is being written by another process: wait for its end, or take another folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_lent_once() {
        let folder = tempfile::tempdir().unwrap();
        let first = take(folder.path()).unwrap();
        assert!(first.is_some() && take(folder.path()).unwrap().is_none());
        drop(first);
        assert!(take(folder.path()).unwrap().is_some());
    }

    /// Another process may remove the file between the two steps of [`take`], and a third make it anew.
    #[cfg(unix)]
    #[test]
    fn a_file_that_was_replaced_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let [removed, replaced] = [(), ()].map(|()| open(&path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(lock(removed, &path).unwrap().is_none());
        let third = take(folder.path()).unwrap();
        assert!(third.is_some() && lock(replaced, &path).unwrap().is_none());
    }
}
