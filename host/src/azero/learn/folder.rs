//! The folder of a run: made if it is not there, and used by one process at a time.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::report::FILE;
use crate::runtime::folder_lock;
use crate::{Error, Result};

/// File of the initial network.
pub(super) const INITIAL: &str = "initial.safetensors";
/// Prefix and suffix of the names of an iteration's files.
pub(super) const GAMES: [&str; 2] = ["games", "jsonl"];
pub(super) const TRAINING: [&str; 2] = ["training", "safetensors"];
pub(super) const NETWORK: [&str; 2] = ["network", "safetensors"];

/// Name of a file of an iteration.
pub(super) fn of_iteration([what, ending]: [&str; 2], iteration: u32) -> String {
    format!("{what}-{iteration:04}.{ending}")
}

/// Whether a run uses a file of this name in its folder; a caller's files must have other names.
pub fn is_run_file(name: &OsStr) -> bool {
    let is_of_iteration = |name: &str| {
        let parts = name.split_once('-').zip(name.rsplit_once('.'));
        parts.is_some_and(|((what, _), (_, ending))| [GAMES, TRAINING, NETWORK].contains(&[what, ending]))
    };
    name.to_str().is_some_and(|name| [folder_lock::NAME, INITIAL, FILE].contains(&name) || is_of_iteration(name))
}

/// Files and folders that the start of a run has made, the outermost first. Dropping this value removes them, unless the start has succeeded.
#[derive(Debug, Default)]
pub(super) struct Made(Vec<PathBuf>);

impl Made {
    /// Records a file or folder that will be made next, unless it already exists.
    pub fn note(&mut self, path: &Path) {
        if !path.exists() {
            self.0.push(path.to_path_buf());
        }
    }

    /// Keeps the files, after the start has succeeded.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            // A folder that somebody else has put something into stays, and what cannot be removed harms nobody.
            let _ = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
        }
    }
}

/// Makes the folder unless it exists, and locks it against other processes while the returned file lives.
///
/// # Errors
/// [`Error::File`] for a folder that cannot be made, or that another process uses.
pub(super) fn open(folder: &Path) -> Result<(File, Made)> {
    let mut made = Made::default();
    let mut above: Vec<&Path> = folder.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
    above.reverse();
    above.into_iter().for_each(|path| made.note(path));
    fs::create_dir_all(folder).map_err(|error| Error::file(folder, None, format!("cannot be made: {error}")))?;
    made.note(&folder.join(folder_lock::NAME));
    let Some(file) = folder_lock::take(folder)? else {
        // What is there belongs to the other process.
        made.keep();
        return Err(folder_lock::taken(folder));
    };
    Ok((file, made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_start_made_is_removed_unless_it_is_kept() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("a/b");
        drop(open(&folder).unwrap());
        assert!(!outer.path().join("a").exists(), "with the folders above it");
        let (lock, made) = open(&folder).unwrap();
        let error = open(&folder).unwrap_err().to_string();
        assert!(error.contains("is being written by another process: wait until it ends"), "{error}");
        made.keep();
        drop(lock);
        assert!(folder.join(folder_lock::NAME).exists());
        // What was there before stays.
        drop(open(&folder).unwrap());
        assert!(folder.join(folder_lock::NAME).exists());
    }

    #[test]
    fn files_of_a_run_are_known_by_their_names() {
        for name in
            ["learn.json", "initial.safetensors", "games-0001.jsonl", "network-100000.safetensors", ".warpplay-lock"]
        {
            assert!(is_run_file(OsStr::new(name)), "{name}");
        }
        for name in ["best.safetensors", "games.jsonl", "network-0001.json", "other-0001.safetensors"] {
            assert!(!is_run_file(OsStr::new(name)), "{name}");
        }
    }
}
