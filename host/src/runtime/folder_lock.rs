//! Folders that one process at a time writes to.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use crate::runtime::same_file::is_same_file;
use crate::{Error, Result};

/// Name of the file that is locked; the file remains when the lock is released.
pub(crate) const NAME: &str = ".warpplay-lock";
/// Number of attempts to lock a file that other processes may remove. Each removal comes from a process that gave up, so a second attempt is nearly always enough.
const ATTEMPTS: u32 = 100;

/// Keeps other processes from writing to a folder while the file lives; `None` if one does.
///
/// # Errors
/// [`Error::File`] for a folder in which no file can be created, or a file system without locks.
pub(crate) fn take(folder: &Path) -> Result<Option<File>> {
    take_opened(&folder.join(NAME), open)
}

/// Opens and locks a file, and starts over if the file was removed or replaced in between: a process that abandons its start removes it, and a third process may have
/// created and locked a new one, which this lock would not exclude.
pub(crate) fn take_opened(path: &Path, mut open: impl FnMut(&Path) -> Result<File>) -> Result<Option<File>> {
    for _ in 0..ATTEMPTS {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, path) => return Ok(Some(file)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(Error::file(path, None, format!("cannot be locked: {error}")));
            }
        }
    }
    Err(Error::file(path, None, "cannot be locked: other processes keep removing it"))
}

fn open(path: &Path) -> Result<File> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|error| Error::file(path, None, format!("cannot be written: {error}")))
}

/// Whether an open file is the one at a path; if the system cannot tell, whether a file exists there.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(opened), Ok(found)) => is_same_file(&opened, &found).unwrap_or(true),
        _ => false,
    }
}

/// The error if another process holds the lock.
pub(crate) fn taken(folder: &Path) -> Error {
    Error::file(folder, None, "is being written by another process: wait until it ends, or use another folder")
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

    /// Another process may remove the file between the two steps of [`take`]: then there is no other, and the folder is lent.
    #[cfg(unix)]
    #[test]
    fn a_file_that_was_removed_before_its_lock_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let mut removals = 2;
        let lent = take_opened(&path, |path| {
            let file = open(path);
            if removals > 0 {
                removals -= 1;
                fs::remove_file(path).unwrap();
            }
            file
        });
        let lent = lent.unwrap().expect("nobody has it");
        assert!(is_at(&lent, &path) && take(folder.path()).unwrap().is_none());
        drop(lent);
        let error = take_opened(&path, |path| {
            let file = open(path);
            fs::remove_file(path).unwrap();
            file
        });
        assert!(error.unwrap_err().to_string().contains("other processes keep removing it"));
    }

    /// A third may have made and locked another.
    #[cfg(unix)]
    #[test]
    fn a_file_that_was_replaced_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let mut replaced = Some(open(&path).unwrap());
        fs::remove_file(&path).unwrap();
        let third = take(folder.path()).unwrap();
        assert!(third.is_some());
        let lent = take_opened(&path, |path| replaced.take().map_or_else(|| open(path), Ok));
        assert!(lent.unwrap().is_none());
    }
}
