//! Temporary folders.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder, deleted when it is dropped.
pub struct Folder(TempDir);

impl Folder {
    /// An empty folder.
    ///
    /// # Panics
    /// If the system gives none.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// The folder's own path.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Path of a file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Writes a file of the folder. Returns its path.
    ///
    /// # Panics
    /// If it cannot be written.
    #[track_caller]
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// The text of a file of the folder.
    ///
    /// # Panics
    /// If it is not there.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A file of the folder as JSON.
    ///
    /// # Panics
    /// If it is not there, or is none.
    #[track_caller]
    pub fn json(&self, name: &str) -> Value {
        let text = self.text(name);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Names of the files in the folder, sorted.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder()).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
