//! Files mapped into memory: the only file of the data sets that needs `unsafe`.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::runtime::atomic_file;
use crate::{Error, Result};

/// A file's bytes, mapped for reading. They begin at a page, so that every offset that is a multiple of 64 is aligned for any number.
#[derive(Debug)]
pub(super) struct Mapping(Mmap);

impl Mapping {
    /// Maps a whole file.
    ///
    /// The file must not be changed or cut while it is mapped: data sets are replaced by new files under new names, never overwritten.
    ///
    /// # Errors
    /// [`Error::File`] with the path and the system's reason.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| Error::file(path, None, format!("cannot be read: {error}"));
        atomic_file::expect_file(path)?;
        let file = File::open(path).map_err(failed)?;
        // SAFETY: the map is read-only and private to this value. What remains is that another program cuts or overwrites the file while it is mapped; this
        // library never does (files are written under a new name, synced, and renamed), and the documentation of data sets forbids it to others.
        unsafe { Mmap::map(&file) }.map(Self).map_err(failed)
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
