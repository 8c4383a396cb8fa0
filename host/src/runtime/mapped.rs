//! Files mapped into memory: the only reader of files that needs `unsafe`.

use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::runtime::input_file;
use crate::{Error, Result};

/// A file's bytes, mapped for reading. They begin at a page, so that every offset that is a multiple of 64 is aligned for any number.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: Mmap,
    file: File,
    path: PathBuf,
}

impl Mapping {
    /// Maps a whole file.
    ///
    /// The file must not be changed or truncated while it is mapped: this library writes new files and renames them, and never overwrites one.
    ///
    /// # Errors
    /// [`Error::File`] with the path and the system's reason.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| Error::file(path, None, format!("cannot be read: {error}"));
        input_file::expect_file(path)?;
        let file = File::open(path).map_err(failed)?;
        // SAFETY: the map is read-only and private to this value. The remaining risk is that another program truncates or overwrites the file while it is mapped. This
        // library never does so (files are written under a new name, synced, and renamed), `docs/safety.md` forbids it to other programs, and `expect_whole` detects a truncated
        // file before the next piece of it is read.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        Ok(Self { map, file, path: path.to_path_buf() })
    }

    /// Checks that the file has kept its length: reading beyond a truncated end would kill the process.
    ///
    /// # Errors
    /// [`Error::File`] with the path and both lengths.
    pub fn expect_whole(&self) -> Result<()> {
        let failed = |error: std::io::Error| Error::file(&self.path, None, format!("cannot be read: {error}"));
        let length = self.file.metadata().map_err(failed)?.len();
        if length >= self.map.len() as u64 {
            return Ok(());
        }
        let reason = format!("has {length} bytes, and had {} when it was opened: it was cut short", self.map.len());
        Err(Error::file(&self.path, None, reason))
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}
