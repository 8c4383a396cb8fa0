//! Folders that one process at a time writes to.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::{Error, Result};

/// The file that is locked; it stays when the lock is given back.
pub(crate) const NAME: &str = ".warpplay-lock";

/// Keeps other processes from writing to a folder while the file lives; `None` if one does.
///
/// # Errors
/// [`Error::File`] for a folder that takes no file, or a file system without locks.
pub(crate) fn take(folder: &Path) -> Result<Option<File>> {
    let path = folder.join(NAME);
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    let file = opened.map_err(|error| Error::file(&path, None, format!("cannot be written: {error}")))?;
    match file.try_lock() {
        // A process that gives up its start may have removed the file between these two steps: the lock would keep nobody out.
        Ok(()) => Ok(path.exists().then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(Error::file(&path, None, format!("cannot be locked: {error}"))),
    }
}

/// What is said where another process has the lock.
pub(crate) fn taken(folder: &Path) -> Error {
    Error::file(folder, None, "is being written by another process: wait for its end, or take another folder")
}
