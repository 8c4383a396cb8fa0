//! Files that are either written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Writes `bytes` to `path`: to a new file beside it first, which is synced and then takes its name. Whatever fails, the file that was there stays as
/// it was, and no other is left.
///
/// # Errors
/// [`Error::File`] with the path and the system's reason.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |error: io::Error| Error::file(path, None, format!("cannot be written: {error}"));
    let mut target = path.to_path_buf();
    let mut permissions = None;
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {
            // A symbolic link goes on pointing to the file.
            target = fs::canonicalize(path).map_err(failed)?;
            permissions = Some(found.permissions());
        }
        // Renaming would replace a device or a pipe by a file.
        Ok(found) => {
            let what = if found.is_dir() { "a folder" } else { "a device or a pipe" };
            return Err(Error::file(path, None, format!("cannot be written: it is {what}, expected a file")));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    if target.file_name().is_none() {
        return Err(Error::file(path, None, "cannot be written: the path names no file"));
    }
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let beside = folder.join(format!(".warpplay-{}-{number}.part", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).open(&beside).map_err(failed)?;
    let written = fill(file, bytes, permissions).and_then(|()| fs::rename(&beside, &target));
    if let Err(error) = written {
        // The first error is the one to tell; a part that cannot be removed either is on a disk that is lost anyway.
        let _ = fs::remove_file(&beside);
        return Err(failed(error));
    }
    sync_folder(&folder).map_err(failed)
}

fn fill(mut file: File, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

/// Makes the new name last. Systems that cannot sync a folder keep names by themselves.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

/// Reads a whole file.
///
/// # Errors
/// As [`expect_file`].
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    expect_file(path)?;
    fs::read(path).map_err(|error| Error::file(path, None, format!("cannot be read: {error}")))
}

/// Makes sure, before it is opened, that something is a file: opening a pipe waits for a writer, and devices may never end.
///
/// # Errors
/// [`Error::File`] with the path and the reason.
pub(crate) fn expect_file(path: &Path) -> Result<()> {
    let failed = |error: io::Error| Error::file(path, None, format!("cannot be read: {error}"));
    if fs::metadata(path).map_err(failed)?.is_file() {
        return Ok(());
    }
    Err(Error::file(path, None, "cannot be read: it is a folder, a device or a pipe, expected a file"))
}
