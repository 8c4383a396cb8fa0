//! Result files that are never half-written.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use warpplay::{AtomicFile, Error};

use super::interrupt::ended_at_once;
use super::{OutputFlags, Usage};

/// A file to be written at the end of the work.
pub struct OutputFile {
    path: PathBuf,
    /// A device or a pipe is written as it is; a plain file is replaced whole.
    is_plain: bool,
}

impl OutputFile {
    /// Makes sure, before any work is done, that the file can be written. Changes nothing.
    ///
    /// # Errors
    /// Those of [`AtomicFile::create`]; a device that cannot be opened.
    pub fn prepare(path: &Path) -> Result<Self> {
        let kind = fs::metadata(path).ok().map(|found| found.file_type());
        let is_plain = kind.is_none_or(|kind| kind.is_file() || kind.is_dir());
        if is_plain {
            AtomicFile::create(path)?;
        } else if !kind.is_some_and(is_pipe) {
            // Opening a pipe waits for its reader.
            OpenOptions::new().write(true).open(path).with_context(|| cannot(path))?;
        }
        Ok(Self { path: path.to_path_buf(), is_plain })
    }

    /// [`prepare`](Self::prepare) where a path was given.
    ///
    /// # Errors
    /// As there.
    pub fn prepare_option(path: Option<&Path>) -> Result<Option<Self>> {
        path.map(Self::prepare).transpose()
    }

    /// As [`prepare`](Self::prepare), for what can only be written as a plain file.
    ///
    /// # Errors
    /// As there; and for a device or a pipe.
    pub fn prepare_file(path: &Path) -> Result<Self> {
        let file = Self::prepare(path)?;
        ensure!(file.is_plain, "{}: it is a device or a pipe, expected a file", cannot(path));
        Ok(file)
    }

    /// Whether it is a file that can be written again, and no device or pipe.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Writes the content; a plain file is as before or has all of it.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn write(&self, content: &str) -> Result<()> {
        if !self.is_plain {
            return ended_at_once(|| fs::write(&self.path, content)).with_context(|| cannot(&self.path));
        }
        let mut file = AtomicFile::create(&self.path)?;
        file.write_all(content.as_bytes()).with_context(|| cannot(&self.path))?;
        Ok(file.finish()?)
    }

    /// Writes a value as readable JSON.
    ///
    /// # Errors
    /// As [`write`](Self::write) and [`to_json_text`].
    pub fn write_json(&self, value: &impl Serialize) -> Result<()> {
        self.write(&to_json_text(value)?)
    }
}

/// Refuses to replace a file that is not one of those to be written, as `is_one` says. What is empty, or no plain file, is left to its writer.
///
/// # Errors
/// [`Error::File`] names the file.
pub fn expect_replaceable(path: &Path, is_one: impl FnOnce(&Path) -> bool) -> Result<()> {
    let holds_something = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0);
    if holds_something && !is_one(path) {
        let reason = "a file that holds something else is there already: remove it, or give another name";
        return Err(Error::file(path, None, reason).into());
    }
    Ok(())
}

fn cannot(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

#[cfg(unix)]
fn is_pipe(kind: fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(not(unix))]
fn is_pipe(_: fs::FileType) -> bool {
    false
}

impl OutputFlags {
    /// Makes sure that the file of `--json`, if there is one, can be written.
    ///
    /// # Errors
    /// As [`OutputFile::prepare`].
    pub fn json_file(&self) -> Result<Option<OutputFile>> {
        OutputFile::prepare_option(self.json.as_deref())
    }
}

/// Makes sure that no result would be written over what is read, or over another result, but those of `replaces`: pairs of a written and a read option
/// that may name one file. Each path comes with the option that gave it; paths of one option may be the same. Of a folder that is read, no file of a set is written over.
///
/// # Errors
/// [`Usage`] names both options and the path.
pub fn expect_apart(
    read: &[(&str, Option<&Path>)],
    written: &[(&str, Option<&Path>)],
    replaces: &[(&str, &str)],
) -> Result<()> {
    let mut taken: Vec<(&str, PathBuf)> =
        read.iter().filter_map(|&(option, path)| Some((option, resolved(path?)?))).collect();
    let n_read = taken.len();
    for &(option, path) in written {
        let Some(path) = path else { continue };
        // What goes to a device or a pipe is lost to nobody.
        if fs::metadata(path).is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
            continue;
        }
        let Some(file) = resolved(path) else { continue };
        let same = |(other, taken): &&(&str, PathBuf)| {
            *taken == file && option != *other && !replaces.contains(&(option, *other))
        };
        if let Some((other, _)) = taken.iter().find(same) {
            let path = path.display();
            return Err(Usage(format!("{option} and {other} name the same file {path}: each needs its own")).into());
        }
        let within = |(other, folder): &&(&str, PathBuf)| {
            option != *other && folder.is_dir() && file.starts_with(folder) && is_of_a_set(&file)
        };
        let replaced = |(other, taken): &(&str, PathBuf)| *taken == file && replaces.contains(&(option, *other));
        let is_new = !file.is_file() || taken[..n_read].iter().any(replaced);
        if let Some((other, _)) = taken[..n_read].iter().find(within).filter(|_| !is_new) {
            let path = path.display();
            return Err(Usage(format!("{option} names {path}, a file in the folder of {other}, which is read")).into());
        }
        taken.push((option, file));
    }
    Ok(())
}

/// Whether a file's name is one of those for which a folder is read: game records, a data set's parts, images and labels in MNIST's format.
fn is_of_a_set(file: &Path) -> bool {
    #[cfg(feature = "shogi")]
    if warpplay::shogi::records::is_record(file) || warpplay::shogi::dataset::is_part(file) {
        return true;
    }
    #[cfg(feature = "mlp")]
    if warpplay::mlp::Dataset::is_file(file) {
        return true;
    }
    // A program without these families reads no folders.
    let _ = file;
    false
}

/// The file that a path names; also one in folders that are yet to be made, as that of a drawing may be.
fn resolved(path: &Path) -> Option<PathBuf> {
    AtomicFile::resolved(path).ok().or_else(|| {
        let path = std::path::absolute(path).ok()?;
        let (there, folder) = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)))?;
        Some(folder.join(path.strip_prefix(there).ok()?))
    })
}

/// A value as readable JSON that ends with a line break.
///
/// # Errors
/// A map whose keys are no strings; none of ours has any.
pub fn to_json_text(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value).context("JSON")? + "\n")
}

/// A value as one line of JSON, with its line break.
///
/// # Errors
/// As [`to_json_text`].
pub fn to_json_line(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(value).context("JSON")? + "\n")
}
